"""Floats as bit-vectors: operations that are exact on the bits, and two models of the rest.

Comparisons, signs and absolute values are formulas on bits, exact in both models. Sums, products, quotients, roots and
fused sums are

* IEEE 754's, by the solver's own theory (:class:`ExactFloats`): slow for products, quotients and roots of f and df;
* functions of which nothing is known but laws that hold bit for bit (:class:`UninterpretedFloats`): two programs that
  compute the same operations of the same operands are equal, and others may wrongly look different.

Conversions and roundings to whole numbers are exact in both. The NaN that an operation makes is one quiet NaN, as the
manual leaves its bits open; a conversion or rounding of a NaN keeps the bits of it that fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import z3

from visakit.language.types import BF, DF, HF, DataType, F
from vsim.symbolic.terms import (
    Condition,
    Term,
    any_bits,
    below,
    both_bits,
    conjunction,
    difference,
    disjunction,
    equal,
    exclusive,
    expression,
    extract,
    folded,
    negation,
    shift_left,
)

FRACTION = {HF: 10, BF: 7, F: 23, DF: 52}
"""Bits of the fraction."""
_SORTS = {HF: z3.Float16(), F: z3.Float32(), DF: z3.Float64()}
_NUMPY = {HF: "f2", F: "f4", DF: "f8"}
NEAREST, UP, DOWN, TO_ZERO = 0, 1, 2, 3
_MODES = {NEAREST: z3.RNE(), UP: z3.RTP(), DOWN: z3.RTN(), TO_ZERO: z3.RTZ()}


# -- bits ------------------------------------------------------------------------------------------------------


def float_bits(value: float, t: DataType) -> int:
    """The bits of a number, rounded to a type."""
    with np.errstate(over="ignore"):
        return int.from_bytes(np.array(value, _NUMPY[t]).tobytes(), "little")


def float_of(bits: int, t: DataType) -> float:
    """The number that bits are."""
    return float(np.frombuffer(bits.to_bytes(t.size, "little"), _NUMPY[t])[0])


def _sign(t: DataType) -> int:
    return 1 << (t.bits - 1)


def _infinity(t: DataType) -> int:
    return _sign(t) - (1 << FRACTION[t])


def _quiet(t: DataType) -> int:
    return 1 << (FRACTION[t] - 1)


def quiet_nan(t: DataType) -> int:
    """The bits of the NaN that operations make."""
    return _infinity(t) | _quiet(t)


def negative(x: Term, t: DataType) -> Term:
    """The number with the other sign."""
    return exclusive(x, _sign(t), t.bits)


def absolute(x: Term, t: DataType) -> Term:
    """The number without its sign."""
    return both_bits(x, _sign(t) - 1, t.bits)


def is_nan(x: Term, t: DataType) -> Condition:
    """Whether bits are a NaN."""
    return below(_infinity(t), absolute(x, t), t.bits, False)


def _ordered(x: Term, y: Term, t: DataType) -> Condition:
    return conjunction(negation(is_nan(x, t)), negation(is_nan(y, t)))


def _zeros(x: Term, y: Term, t: DataType) -> Condition:
    return equal(any_bits(absolute(x, t), absolute(y, t), t.bits), 0, t.bits)


def float_equal(x: Term, y: Term, t: DataType) -> Condition:
    """Whether numbers are equal: both zeros are, no NaN is."""
    return conjunction(_ordered(x, y, t), disjunction(equal(x, y, t.bits), _zeros(x, y, t)))


def float_below(x: Term, y: Term, t: DataType, or_equal: bool = False) -> Condition:
    """Whether x < y, or x <= y."""
    minus_x, minus_y = below(x, 0, t.bits, True), below(y, 0, t.bits, True)
    # Of numbers below zero the one with the larger bits is less.
    less = difference(below(x, y, t.bits, False), conjunction(minus_x, negation(equal(x, y, t.bits))))
    same_sign = negation(difference(minus_x, minus_y))
    found = disjunction(conjunction(same_sign, less), conjunction(negation(same_sign), minus_x))
    same = disjunction(equal(x, y, t.bits), _zeros(x, y, t))
    found = disjunction(found, same) if or_equal else conjunction(found, negation(_zeros(x, y, t)))
    return conjunction(_ordered(x, y, t), found)


# -- the solver's theory ---------------------------------------------------------------------------------------


def _number(x: Term, t: DataType) -> Term:
    return z3.fpBVToFP(expression(x, t.bits), _SORTS[t])


def _result(number: Term, t: DataType, nan: Term, *operands: Term) -> Term:
    """The bits of a number, with those of its NaN; folded where the operands are constant."""
    found = z3.If(z3.fpIsNaN(number), expression(nan, t.bits), z3.fpToIEEEBV(number))
    return _folded(found, *operands)


def _folded(found: Term, *operands: Term) -> Term:
    return folded(found) if all(isinstance(x, int) for x in operands) else found


def whole(x: Term, t: DataType, mode: int) -> Term:
    """The whole number at a float in a direction."""
    return _result(z3.fpRoundToIntegral(_MODES[mode], _number(x, t)), t, any_bits(x, _quiet(t), t.bits), x)


def resized(x: Term, source: DataType, target: DataType, mode: int = NEAREST) -> Term:
    """A float as another type of floats, rounded."""
    number = z3.fpFPToFP(_MODES[mode], _number(x, source), _SORTS[target])
    return _result(number, target, _nan_resized(x, source, target), x)


def _nan_resized(x: Term, source: DataType, target: DataType) -> Term:
    """A NaN as one of another type: its sign, the high bits of its fraction, and quiet."""
    sign = extract(x, source.bits - 1, 1, source.bits)
    sign = sign if isinstance(sign, int) else z3.ZeroExt(target.bits - 1, sign)
    had, has = FRACTION[source], FRACTION[target]
    kept = extract(x, max(had - has, 0), min(had, has), source.bits)
    kept = kept if isinstance(kept, int) else z3.ZeroExt(target.bits - min(had, has), kept)
    fraction = shift_left(kept, max(has - had, 0), target.bits)
    high = any_bits(shift_left(sign, target.bits - 1, target.bits), quiet_nan(target), target.bits)
    return any_bits(high, fraction, target.bits)


def of_integer(x: Term, source: DataType, target: DataType) -> Term:
    """An integer as a float, to nearest even."""
    convert = z3.fpSignedToFP if source.is_signed else z3.fpUnsignedToFP
    return _folded(z3.fpToIEEEBV(convert(_MODES[NEAREST], expression(x, source.bits), _SORTS[target])), x)


def to_integer(x: Term, source: DataType, target: DataType) -> Term:
    """A float as an integer, towards zero; it fits."""
    convert = z3.fpToSBV if target.is_signed else z3.fpToUBV
    return _folded(convert(_MODES[TO_ZERO], _number(x, source), z3.BitVecSort(target.bits)), x)


_OPERATIONS: dict[str, Callable[..., Term]] = {
    "fadd": z3.fpAdd,
    "fmul": z3.fpMul,
    "fdiv": z3.fpDiv,
    "fma": z3.fpFMA,
    "sqrt": z3.fpSqrt,
}


class FloatModel(Protocol):
    """What operations on floats are."""

    def operation(self, op: str, t: DataType, operands: tuple[Term, ...], mode: int = NEAREST) -> Term:
        """The bits of ``fadd``, ``fmul``, ``fdiv``, ``fma`` or ``sqrt`` of floats of a type, rounded in a mode."""


class ExactFloats:
    """IEEE 754, by the solver's theory of floats."""

    def operation(self, op: str, t: DataType, operands: tuple[Term, ...], mode: int = NEAREST) -> Term:
        number = _OPERATIONS[op](_MODES[mode], *[_number(x, t) for x in operands])
        return _result(number, t, quiet_nan(t), *operands)


_COMMUTES = {"fadd": 2, "fmul": 2, "fma": 2}
"""How many operands at the beginning may change places."""


class UninterpretedFloats:
    """Functions of which no more is known than their results for constants, and laws that hold bit for bit.

    The laws, for all numbers and all NaNs but their bits: x + y = y + x, x * y = y * x, also in x * y + z; and x / c =
    x * (1 / c) where c is a power of two whose reciprocal is a normal number.
    """

    def __init__(self) -> None:
        self.exact = ExactFloats()
        self.used: set[str] = set()
        """The functions that were asked for."""

    def operation(self, op: str, t: DataType, operands: tuple[Term, ...], mode: int = NEAREST) -> Term:
        if all(isinstance(x, int) for x in operands):
            return self.exact.operation(op, t, operands, mode)
        if op == "fdiv" and isinstance(operands[1], int) and (other := _reciprocal(operands[1], t)) is not None:
            op, operands = "fmul", (operands[0], other)
        whole = [expression(x, t.bits) for x in operands]
        count = _COMMUTES.get(op, 0)
        whole[:count] = sorted(whole[:count], key=lambda x: int(x.get_id()))
        name = f"{op}.{t.name}" + (f".{mode}" if mode else "")
        self.used.add(name)
        return z3.Function(name, *[z3.BitVecSort(t.bits)] * (len(whole) + 1))(*whole)


def _reciprocal(bits: int, t: DataType) -> int | None:
    """The bits of 1 / x for a power of two whose reciprocal is normal, as x is; else None."""
    exponent = bits >> FRACTION[t] & ((1 << (t.bits - 1 - FRACTION[t])) - 1)
    bias = (1 << (t.bits - 2 - FRACTION[t])) - 1
    if bits & ((1 << FRACTION[t]) - 1) or not 0 < exponent < 2 * bias:
        return None
    return bits & _sign(t) | (2 * bias - exponent) << FRACTION[t]
