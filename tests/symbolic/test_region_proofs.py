"""Regions for all contents: each lane of a source, and of a destination, is the element that the manual's formula says."""

from random import Random

import pytest

pytest.importorskip("z3", reason="needs the extra prove (z3-solver)")

import z3
from support.scalar import SIZES

from visakit.language.platforms import find
from visakit.language.program import FIRST_VARIABLE
from visakit.text.parser import parse_module
from vsim.semantics.registers import layout_of
from vsim.symbolic.algebra import SymbolicAlgebra
from vsim.symbolic.registers import SymbolicRegisters, unknown
from vsim.symbolic.sequence import run_sequence

SOURCE, RESULT = FIRST_VARIABLE, FIRST_VARIABLE + 1
BYTES = 1024


def drawn(seed):
    """A type, a region in two registers of 32 bytes, its first element, and the step of the destination."""
    random = Random(seed)
    t = random.choice(("ub", "w", "ud", "f", "df"))
    lanes = random.choice((4, 8, 16))
    width = random.choice([w for w in (1, 2, 4, 8, 16) if w <= lanes])
    vertical, horizontal = random.choice((0, 1, 2, 4, 8)), random.choice((0, 1, 2, 4))
    last = (lanes // width - 1) * vertical + (width - 1) * horizontal
    first = random.randrange(max(1, 64 // SIZES[t] - last)) % (32 // SIZES[t])
    return t, lanes, (vertical, width, horizontal), first, random.choice((1, 2))


@pytest.mark.parametrize("seed", range(40))
def test_a_copy_takes_the_elements_of_the_region(seed):
    t, lanes, (vertical, width, horizontal), first, step = drawn(seed)
    size = SIZES[t]
    text = [".version 4.1", '.kernel "k"']
    text += [f".decl {name} v_type=G type={t} num_elts={BYTES // size} align=GRF" for name in "SD"]
    text += [f"mov (M1, {lanes}) D(0,0)<{step}> S(0,{first})<{vertical};{width},{horizontal}>"]
    (function,) = parse_module("\n".join(text) + "\n", platform="tgllp").kernels
    grf_size = find("tgllp").grf_size
    registers = SymbolicRegisters(layout_of(function, grf_size), unknown)
    run_sequence(function, grf_size, registers, SymbolicAlgebra())
    before = SymbolicRegisters(registers.layout, unknown)
    for lane in range(lanes):
        element = first + lane // width * vertical + lane % width * horizontal
        got, wanted = registers.read(RESULT, lane * step * size, size), before.read(SOURCE, element * size, size)
        assert z3.is_true(z3.simplify(got == wanted)), lane
        if step == 2:
            between = (lane * step + 1) * size
            kept = registers.read(RESULT, between, size) == before.read(RESULT, between, size)
            assert z3.is_true(z3.simplify(kept)), lane
