"""Local rewrites of the fast engine, for all inputs: their code runs on symbols instead of LLVM's values.

What LLVM itself makes of the text is not looked at. Products, quotients and roots rounded towards zero, and sums of
floats, take the solver hours: random numbers test those (``tests/semantics/test_values.py``).
"""

import pytest

pytest.importorskip("z3", reason="needs the extra prove (z3-solver)")

import z3

from visakit.language.types import DF, HF, F
from vsim.engines.llvm.ir import denormals, half_fma, toward_zero
from vsim.symbolic import floats
from vsim.symbolic.algebra import FloatLanes, SymbolicAlgebra

TACTICS = ("simplify", "propagate-values", "solve-eqs", "fpa2bv", "simplify", "bit-blast", "sat")


class Lanes(FloatLanes):
    """Floats that take notes of the engine's values, and forget them."""

    def with_facts(self, **facts):
        return self


class SymbolicBuilder(SymbolicAlgebra):
    """The engine's builder on symbols."""

    takes_zeros = False

    def __init__(self):
        super().__init__(floats.ExactFloats())

    def select(self, mask, x, y):
        found = super().select(mask, x, y)
        return Lanes(found.type, found.terms, self.model) if found.type.is_float else found

    def symbol(self, name, t):
        return self.of(t, [z3.BitVec(name, t.bits)])


def number(x, t):
    return z3.fpBVToFP(x, {HF: z3.Float16(), F: z3.Float32(), DF: z3.Float64()}[t])


def differ(got, wanted, t):
    """The solver's answer to the question whether bits differ; any NaN is any other."""
    solver = z3.Then(*TACTICS).solver()
    solver.add(got != wanted, z3.Not(z3.And(floats.is_nan(got, t), floats.is_nan(wanted, t))))
    return solver.check()


def test_double_to_half_by_way_of_a_float_that_is_rounded_to_odd():
    b = SymbolicBuilder()
    x = b.symbol("x", DF)
    got = b.cast(half_fma.rounded_to_odd(b, x), HF).terms[0]
    wanted = z3.fpToIEEEBV(z3.fpFPToFP(z3.RNE(), number(x.terms[0], DF), z3.Float16()))
    assert differ(got, wanted, HF) == z3.unsat


def test_double_to_half_by_way_of_the_nearest_float_is_not_proved():
    b = SymbolicBuilder()
    x = b.symbol("x", DF)
    got = b.cast(b.cast(x, F), HF).terms[0]
    wanted = z3.fpToIEEEBV(z3.fpFPToFP(z3.RNE(), number(x.terms[0], DF), z3.Float16()))
    assert differ(got, wanted, HF) != z3.unsat


def test_double_to_float_towards_zero_by_the_sign_of_the_error():
    b = SymbolicBuilder()
    x = b.symbol("x", DF)
    got = toward_zero._toward_zero(b, "fptrunc", F, [x]).terms[0]
    wanted = z3.fpToIEEEBV(z3.fpFPToFP(z3.RTZ(), number(x.terms[0], DF), z3.Float32()))
    assert differ(got, wanted, F) == z3.unsat


@pytest.mark.parametrize("t", [HF, F, DF], ids=lambda t: t.name)
def test_zeros_instead_of_denormals_by_the_exponent(t):
    b = SymbolicBuilder()
    x = b.symbol("x", t)
    value = number(x.terms[0], t)
    got = denormals._selected(b, x).terms[0]
    sign = x.terms[0] & (1 << t.bits - 1)
    assert differ(got, z3.If(z3.fpIsSubnormal(value), sign, x.terms[0]), t) == z3.unsat
