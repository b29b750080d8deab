"""Transcendental functions of floats as close as the hardware is asked to be, and no closer (``--precision manual``).

The ways are those of :mod:`vsim.semantics.mathematics`, in floats instead of doubles: twice as many lanes at a time,
half as many terms, no conversions. Sines and cosines are off by less than 2**-22 up to 2**20; of powers and logarithms
less than three units in the last place are wrong. Both engines compute the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from visakit.language.types import UD, D, DataType, F
from vsim.semantics.algebra import Algebra, Fused, Lanes

_HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
"""Pi/2 in three floats."""
_SIN = (-0.166666641831398, 0.008332747966051102, -0.00019587890710681677)
"""(sin x / x - 1) / x**2 of x**2 between -pi/4 and pi/4, interpolated at the zeros of a Chebyshev polynomial."""
_COS = (-0.5, 0.04166664928197861, -0.0013887588866055012, 2.4463788577122614e-05)
"""(cos x - 1) / x**2 in the same way."""
_EXP2 = (
    0.6931471824645996, 0.24022650718688965, 0.055503569543361664, 0.009618083015084267, 0.0013390863314270973,
    0.00015453163359779865,
)  # fmt: skip
"""(2**x - 1) / x between -1/2 and 1/2."""
_LOG2 = (2.885390043258667, 0.9617988467216492, 0.5767151713371277, 0.4317176938056946)
"""log2((1 + s) / (1 - s)) / s of s**2."""
_LARGEST_ANGLE = 2.0**20


def polynomial(a: Algebra, fused: Fused, coefficients: Sequence[float], x: Lanes, t: DataType) -> Lanes:
    """By Horner's rule; the constant term comes first."""
    total = a.const(coefficients[-1], t)
    for c in reversed(coefficients[:-1]):
        total = fused(total, x, a.const(c, t))
    return total


def clamped(a: Algebra, x: Lanes, low: float, high: float, t: DataType) -> Lanes:
    """x between two numbers, in the form that hosts have an instruction for; of NaN the higher one."""
    least, most = a.const(low, t), a.const(high, t)
    below = a.select(x < most, x, most)
    return a.select(below > least, below, least)


def _polynomial(a: Algebra, coefficients: Sequence[float], x: Lanes) -> Lanes:
    return polynomial(a, a.fma, coefficients, x, F)


def sine(a: Algebra, x: Lanes, quarters: int) -> Lanes:
    """The sine of x + quarters * pi/2 of f lanes; from 2**20 on that of 0, of infinities NaN."""
    held = a.select(a.absolute(x) < a.const(_LARGEST_ANGLE, F), x, a.const(0.0, F))
    turns = a.rint(held * a.const(2 / math.pi, F))
    rest = held
    for part in _HALF_PI:
        rest = a.fma(turns, a.const(-part, F), rest)
    square = rest * rest
    sine = a.fma(rest * square, _polynomial(a, _SIN, square), rest)
    cosine = a.fma(square, _polynomial(a, _COS, square), a.const(1.0, F))
    quadrant, none = a.cast(turns, D) + a.const(quarters, D), a.const(0, D)
    value = a.select((quadrant & a.const(1, D)) == none, sine, cosine)
    value = a.select((quadrant & a.const(2, D)) == none, value, a.negate(value))
    return a.select(a.absolute(x) < a.const(math.inf, F), value, a.const(math.nan, F))


def exp2(a: Algebra, x: Lanes) -> Lanes:
    """2**x of f lanes; whole powers are exact."""
    held = _held(a, x)
    whole = a.rint(held)
    rest = held - whole
    value = a.fma(rest, _polynomial(a, _EXP2, rest), a.const(1.0, F))
    return _scaled(a, x, value, whole)


def exp2_of_whole(a: Algebra, x: Lanes) -> Lanes:
    """2**x of f lanes that are whole numbers, exact."""
    return _scaled(a, x, a.const(1.0, F), _held(a, x))


def _held(a: Algebra, x: Lanes) -> Lanes:
    """The exponent of a power that is 0 or infinity beyond."""
    return clamped(a, x, -160.0, 129.0, F)


def _scaled(a: Algebra, x: Lanes, value: Lanes, whole: Lanes) -> Lanes:
    """A value times 2**whole; where x is NaN, x."""
    n = a.cast(whole, D)
    half = n >> a.const(1, D)  # Two products, of which only the last rounds a subnormal result.
    return a.select(x == x, value * _power_of_two(a, half) * _power_of_two(a, n - half), x)


def _power_of_two(a: Algebra, n: Lanes) -> Lanes:
    """2**n of D lanes as f, n from -126 to 127."""
    return a.bitcast((n + a.const(127, D)) << a.const(23, D), F)


def log2(a: Algebra, x: Lanes) -> Lanes:
    """Logarithm to base 2 of f lanes: NaN below zero, -inf at zero; of whole powers exact."""
    mantissa, exponent = split(a, x)
    one = a.const(1.0, F)
    s = a.fdiv(mantissa - one, mantissa + one)
    value = a.fma(s, _polynomial(a, _LOG2, s * s), a.cast(exponent, F))
    value = a.select(x == a.const(0.0, F), a.const(-math.inf, F), value)
    value = a.select(x < a.const(0.0, F), a.const(math.nan, F), value)
    return a.select((x == a.const(math.inf, F)) | (x != x), x, value)


def split(a: Algebra, x: Lanes) -> tuple[Lanes, Lanes]:
    """Positive f lanes as a mantissa between sqrt(1/2) and sqrt(2), and a power of two, D."""
    tiny = x < a.const(2.0**-126, F)
    bits = a.bitcast(a.select(tiny, x * a.const(2.0**24, F), x), UD)
    exponent = a.bitcast(bits >> a.const(23, UD), D) - a.const(127, D)
    mantissa = a.bitcast((bits & a.const((1 << 23) - 1, UD)) | a.const(127 << 23, UD), F)
    large = mantissa > a.const(math.sqrt(2), F)
    mantissa = a.select(large, mantissa * a.const(0.5, F), mantissa)
    return mantissa, exponent + a.mask_to_int(large, D) - a.select(tiny, a.const(24, D), a.const(0, D))
