"""Generated programs: instructions out of the table on random operands; the engines must agree bit for bit."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from support.programs import build_text, same
from support.strategies import (
    ALU,
    COUNT,
    LANES,
    TYPES,
    VARIABLES,
    blocks,
    effort,
    initial,
    lines_of,
    program_text,
    result_types,
    seeds,
    source_types,
)  # fmt: skip

from visakit.isa import instruction_set
from vsim.program import Program


def run(text, size, seed, engine):
    data, out = initial(seed, size), np.zeros(size, np.uint8)
    Program(build_text(text, "xehp")).launch("k", 16, 16, [data, out], engine=engine)
    return out


@effort(10)
@given(blocks(), seeds)
def test_engines_agree(found, seed):
    lines = lines_of(found, itertools.count())
    text, size = program_text(lines)
    reference, fast = run(text, size, seed, "numpy"), run(text, size, seed, "llvm")
    at = 0
    for t, name in VARIABLES:
        dtype = np.dtype(TYPES[t])
        part = slice(at, at + LANES * dtype.itemsize)
        at = part.stop
        assert same(reference[part].view(dtype), fast[part].view(dtype)), (
            f"{name}: {reference[part].view(dtype)} {fast[part].view(dtype)}\n" + "\n".join(lines)
        )


def test_the_generator_reaches_most_of_the_table():
    assert len({f.mnemonic for f in ALU}) >= 40
    assert instruction_set().by_mnemonic["add"][0] in ALU


@pytest.mark.parametrize("desc", ALU, ids=lambda f: f.mnemonic)
def test_each_instruction_on_both_engines(desc):
    """Every instruction alone, on special values of each of its types."""
    suffix = ".x6a" if desc.mnemonic == "bfn" else ""
    sources = sum(1 for f in desc.fields if f.kind == "s")
    lines = []
    for t in sorted(source_types(desc) & result_types(desc)):
        names = " ".join(f"{t.upper()}_{k % COUNT}(0,0)<1;1,0>" for k in range(1, sources + 1))
        lines.append(f"{desc.mnemonic}{suffix} (M1, 16) {t.upper()}_0(0,0)<1> {names}")
    text, size = program_text(lines)
    reference, fast = run(text, size, 7, "numpy"), run(text, size, 7, "llvm")
    at = 0
    for t, name in VARIABLES:
        dtype = np.dtype(TYPES[t])
        part = slice(at, at + LANES * dtype.itemsize)
        at = part.stop
        assert same(reference[part].view(dtype), fast[part].view(dtype)), name
