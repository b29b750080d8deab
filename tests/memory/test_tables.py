"""Loads at an index whose range is known: from a table that is whole inside its buffer, or from a part of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probe import Probe, translated
from support.programs import build_text
from support.strategies import ENGINES, RUNNING, effort

from visakit import SimulationError
from vsim.program import Program

LOADS = {1: "d8u32", 2: "d16u32", 4: "d32"}
BYTES = np.random.default_rng(7).integers(0, 256, 1024, "u1")


def lines(size, mask, lanes):
    """Each lane loads an element of some bytes at its number, of which some bits count."""
    return [
        f"and (M1, {lanes}) INDEX(0,0)<1> NUMBER(0,0)<1;1,0> {mask:#x}:ud",
        f"mov (M1, {lanes}) PLACE(0,0)<1> INDEX(0,0)<1;1,0>",
        f"shl (M1, {lanes}) PLACE(0,0)<1> PLACE(0,0)<1;1,0> {size.bit_length() - 1}:ud",
        f"add (M1, {lanes}) PLACE(0,0)<1> PLACE(0,0)<1;1,0> TABLE(0,0)<0;1,0>",
        f"lsc_load.ugm (M1, {lanes}) DATA:{LOADS[size]} flat[PLACE]:a64",
    ]


@pytest.mark.parametrize("size", LOADS)
@pytest.mark.parametrize("lanes", [16, 32])
@effort(10)
@given(st.sampled_from([1, 15, 37, 63, 127, 255]), st.integers(1, 1100), st.integers(0, 1 << 30), RUNNING)
def test_elements_of_tables(size, lanes, mask, held, seed, running):
    """Tables of any size in buffers of any size: values, or the fault of the first lane outside, are the same."""
    numbers = np.random.default_rng(seed).integers(0, 1 << 32, lanes, "u4")
    found = []
    for engine in ENGINES:
        probe = Probe("bmg", lanes=lanes, running=running)
        probe.buffer("TABLE", BYTES[:held])
        probe.fill(
            NUMBER=("ud", numbers), INDEX=("ud", [0] * lanes), DATA=("ud", [0] * lanes), PLACE=("uq", [0] * lanes)
        )
        probe.lines += lines(size, mask, lanes)
        try:
            found.append(probe.run(engine)["DATA"].tolist())
        except SimulationError as problem:
            found.append(str(problem))
    assert found[0] == found[1]


@pytest.mark.parametrize(("mask", "is_table"), [(63, True), (255, True), (0xFFFF, False)])
def test_bytes_of_small_tables_are_permuted(mask, is_table):
    """A lookup with a small range of indices is a permutation of rows; with a large range it is not."""
    declared = [f".decl {n} v_type=G type={t} num_elts={count} align=GRF" for n, t, count in (
        ("NUMBER", "ud", 16), ("INDEX", "ud", 16), ("DATA", "ud", 16), ("PLACE", "uq", 16), ("TABLE", "uq", 1))]  # fmt: skip
    head = [".version 4.2", '.kernel "k"', *declared, ".input TABLE offset=64 size=8", ".kernel_attr SimdSize=16"]
    text = [*head, *lines(1, mask, 16), "lsc_store.ugm (M1, 16) flat[PLACE]:a64 DATA:d32", "ret (M1, 1)", ""]
    program = Program(build_text("\n".join(text), "bmg"))
    assert ("pshuf" in translated(program, [np.zeros(1 << 16, "u1")])) is is_table
