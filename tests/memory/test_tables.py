"""Loads at an index whose range is known: from a table that is whole inside its buffer, or from a part of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probe import Probe, translated
from support.programs import build_text
from support.strategies import ENGINES, RUNNING, effort

from visakit import SimulationError
from visakit.language import types
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.near import small_lanes
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import LanePart
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.engines.llvm.memory.tables import table_of
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


def outcome(engine, table, fill, code, lanes, running):
    """What each lane loads from a table, or the error."""
    probe = Probe("bmg", lanes=lanes, running=running)
    probe.buffer("TABLE", table)
    probe.fill(DATA=("ud", [0] * lanes), **fill)
    probe.lines += code
    try:
        return probe.run(engine)["DATA"].tolist()
    except SimulationError as problem:
        return str(problem)


@pytest.mark.parametrize("size", LOADS)
@pytest.mark.parametrize("lanes", [16, 32])
@effort(10)
@given(st.sampled_from([1, 15, 37, 63, 127, 255]), st.integers(1, 1100), st.integers(0, 1 << 30), RUNNING)
def test_elements_of_tables(size, lanes, mask, held, seed, running):
    """Tables of any size in buffers of any size: values, or the fault of the first lane outside, are the same."""
    numbers = np.random.default_rng(seed).integers(0, 1 << 32, lanes, "u4")
    fill = {"NUMBER": ("ud", numbers), "INDEX": ("ud", [0] * lanes), "PLACE": ("uq", [0] * lanes)}
    found = [outcome(engine, BYTES[:held], fill, lines(size, mask, lanes), lanes, running) for engine in ENGINES]
    assert found[0] == found[1]


def lines_behind_a_scalar(kind, mask, lanes):
    """Each lane loads a byte at the sum of a scalar and a number of which some bits count, in a type that may wrap
    around before it is extended.
    """
    return [
        f"and (M1, {lanes}) INDEX(0,0)<1> NUMBER(0,0)<1;1,0> {mask:#x}:{kind}",
        f"add (M1, {lanes}) INDEX(0,0)<1> INDEX(0,0)<1;1,0> FIRST(0,0)<0;1,0>",
        f"mov (M1, {lanes}) PLACE(0,0)<1> INDEX(0,0)<1;1,0>",
        f"add (M1, {lanes}) PLACE(0,0)<1> PLACE(0,0)<1;1,0> TABLE(0,0)<0;1,0>",
        f"lsc_load.ugm (M1, {lanes}) DATA:d8u32 flat[PLACE]:a64",
    ]


MANY_BYTES = np.random.default_rng(8).integers(0, 256, 70_000, "u1")
ENDS = {"ud": 1 << 32, "d": 1 << 31, "uw": 1 << 16, "w": 1 << 15}


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("lanes", [8, 16, 32])
@effort(8)
@given(
    st.sampled_from([15, 63, 90, 127, 255]),
    st.integers(1, 70_000),
    st.one_of(st.integers(0, 600), st.integers(-300, -1), st.integers(32_600, 32_767)),
    st.integers(0, 1 << 30),
    RUNNING,
)
def test_tables_that_begin_at_a_scalar(kind, lanes, mask, held, first, seed, running):
    """Tables at the sum of a scalar and a small number; some sums wrap around in a narrow type, to another place of the
    same buffer.
    """
    first = ENDS[kind] + first if first < 0 else first
    numbers = np.random.default_rng(seed).integers(0, 1 << 15, lanes, "u2")
    fill = {
        "NUMBER": (kind, numbers),
        "INDEX": (kind, [0] * lanes),
        "PLACE": ("q", [0] * lanes),
        "FIRST": (kind, [first]),
    }
    code = lines_behind_a_scalar(kind, mask, lanes)
    found = [outcome(engine, MANY_BYTES[:held], fill, code, lanes, running) for engine in ENGINES]
    assert found[0] == found[1]


@pytest.mark.parametrize("held", [40, 64, 65, 100, 200, 256])
def test_lanes_that_wrap_around_in_words(held):
    """A byte behind 65,530 is in front of the table's end: the words of these lanes have wrapped around."""
    probe = Probe("bmg", lanes=16)
    probe.buffer("TABLE", MANY_BYTES)
    numbers = np.arange(16, dtype="u2") * 16
    probe.fill(
        NUMBER=("uw", numbers), INDEX=("uw", [0] * 16), DATA=("ud", [0] * 16), PLACE=("uq", [0] * 16),
        FIRST=("uw", [65536 - held]),
    )  # fmt: skip
    probe.lines += lines_behind_a_scalar("uw", 255, 16)
    places = (numbers.astype("u4") + 65536 - held) % 65536
    assert probe.run("llvm")["DATA"].tolist() == MANY_BYTES[places].tolist()


@pytest.mark.parametrize(("mask", "is_table"), [(63, True), (255, True), (0xFFFF, False)])
def test_bytes_of_small_tables_are_permuted(mask, is_table):
    """A lookup with a small range of indices is a permutation of rows; with a large range it is not."""
    declared = [f".decl {n} v_type=G type={t} num_elts={count} align=GRF" for n, t, count in (
        ("NUMBER", "ud", 16), ("INDEX", "ud", 16), ("DATA", "ud", 16), ("PLACE", "uq", 16), ("TABLE", "uq", 1))]  # fmt: skip
    head = [".version 4.2", '.kernel "k"', *declared, ".input TABLE offset=64 size=8", ".kernel_attr SimdSize=16"]
    text = [*head, *lines(1, mask, 16), "lsc_store.ugm (M1, 16) flat[PLACE]:a64 DATA:d32", "ret (M1, 1)", ""]
    program = Program(build_text("\n".join(text), "bmg"))
    text = translated(program, [np.zeros(1 << 16, "u1")])
    assert any(word in text for word in ("pshuf", "permvar", "vpermi2var")) is is_table


def test_scalars_near_the_end_of_offsets_are_tested():
    """A buffer may have more than 4 GiB: whether a sum of 32 bits wraps around there is tested, and where the scalar is
    a constant 0 it is not.
    """
    b = Builder({})
    b.begin("entry")
    small = b.cast(Value(b, types.UB, 8, "%numbers"), types.UD)
    near = small_lanes(small)
    assert near is not None and (near.most, near.scalar.constant, near.wraps()) == (255, 0, None)
    total = small + Value(b, types.UD, 1, "%first")
    assert total.facts.near is not None and total.facts.near.wraps() is None
    wide = b.cast(total, types.UQ)
    assert wide.facts.near is not None and wide.facts.near.wraps()
    assert "icmp ugt i32 %first, -256" in "\n".join(b.lines)
    table = table_of(b, LanePart(MemorySpace(cx.SURFACE, "%surface", "%size"), total, True, types.UB, 1, 8))
    assert table is not None and table.wraps
    assert small_lanes(b.cast(Value(b, types.UW, 8, "%words"), types.UD)) is None
    times = total.facts.near.times(3), total.facts.near.times(8), total.facts.near.times(None)
    assert times == (None, None, None)
    assert near.widened(types.UB, types.UD) is None, "255 steps of a byte may wrap around from any place"
