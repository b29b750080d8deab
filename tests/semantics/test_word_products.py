"""High halves of products of words or bytes with a constant, as compilers write quotients."""

import pytest
from support.probe import LANES, Probe
from support.strategies import ENGINES

from visakit.language import types
from vsim.engines.llvm import target
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.values import Value

FACTORS = (0x80808081, 0xCCCCCCCD, 0xAAAAAAAB, 0xFFFFFFFF, 0xFFFF0000, 0x80000000, 0xFFFF, 0x10000, 1, 0)
NUMBERS = {
    "uw": (0, 1, 254, 255, 256, 509, 510, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFEFF, 0xFF00, 0xFFFD, 0xFFFE, 0xFFFF),
    "ub": (0, 1, 2, 3, 5, 9, 10, 11, 84, 85, 127, 128, 170, 253, 254, 255),
    "w": (0, 1, -1, 255, -255, 256, -256, 0x7FFF, -0x7FFF, -0x8000, 3, -3, 10, -10, 100, -100),
}


@pytest.mark.parametrize("cpu", target.possible())
@pytest.mark.parametrize("source", NUMBERS)
def test_high_halves(source, cpu, monkeypatch):
    monkeypatch.setenv(target.VARIABLE, cpu)
    probe = Probe()
    probe.fill(X=(source, NUMBERS[source]), Y=("ud", [7] * LANES))
    probe.lines.append("mov (M1, 16) Y(0,0)<1> X(0,0)<1;1,0>")
    for n, factor in enumerate(FACTORS):
        probe.variable(f"LEFT{n}", "ud", [7] * LANES)
        probe.variable(f"RIGHT{n}", "ud", [7] * LANES)
        probe.lines += [
            f"mulh (M1, 16) LEFT{n}(0,0)<1> Y(0,0)<1;1,0> {factor}:ud",
            f"shr (M1, 16) RIGHT{n}(0,0)<1> LEFT{n}(0,0)<1;1,0> 7:ud",
        ]
    for run in map(probe.run, ENGINES):
        for n, factor in enumerate(FACTORS):
            wanted = [(x % 2**32) * factor >> 32 for x in NUMBERS[source]]
            assert run[f"LEFT{n}"][:LANES].tolist() == wanted, hex(factor)
            assert run[f"RIGHT{n}"][:LANES].tolist() == [x >> 7 for x in wanted], hex(factor)


@pytest.mark.parametrize(
    ("source", "lanes", "known"),
    [(types.UW, 16, True), (types.UB, 16, True), (types.W, 16, False), (types.UD, 16, False), (types.UW, 1, False)],
)
def test_products_of_words_alone(source, lanes, known):
    """Signed words are large dwords, and one lane needs no vector."""
    b = Builder({})
    b.begin("entry")
    x = b.cast(b.cast(Value(b, source, lanes, "%x"), types.UD), types.UQ)
    factor = b.const(0x80808081, types.UQ)
    for found in (b.high_product(x, factor), b.high_product(factor, x)):
        assert (found is not None and found.facts.half is None) == known
