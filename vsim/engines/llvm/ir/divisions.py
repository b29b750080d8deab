"""Divisions of unsigned integers that compilers write as operations on floats, for platforms without an instruction.

The text estimates the quotient of ``n`` and ``d`` and corrects it in one of these ways::

    rest = n - estimate * d
    quotient = estimate - (rest >= d)        # a comparison is -1 where it holds
    remainder = rest - (rest < d ? 0 : d)

The estimate is the quotient or one less, which page 175 proves, so both are what their names say. To know an estimate,
the builder writes it once more, with the functions of the semantics, for the ``n`` and ``d`` of the rest: value
numbering must find each instruction of it, so that nothing new is emitted, and the result must be the text's. The
estimate and its rest are there as well; LLVM removes unused ones.

By zero, the estimate is 0 (of 0 * infinity and NaN), the corrected quotient 1 and the remainder ``n``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from visakit.language.types import UD, F
from vsim.engines.llvm.ir.emitter import NotEmitted
from vsim.semantics.conversion import convert
from vsim.semantics.rounded import ADD, FMA, INV, MUL, RoundedOp, compute
from vsim.semantics.rounding import TO_ZERO

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder
    from vsim.engines.llvm.ir.values import Value

_LESS = 0xB4C00000
"""What is added to a reciprocal, times itself: the bits of the float -1.5 * 2**-22."""


class DivisionPart(Enum):
    """What a value is in a division."""

    DIFFERENCE = "n - d of dwords"
    PRODUCT = "n * d of dwords, of which one may be an estimate"
    REST = "n - estimate * d"
    FITS = "the rest is at least d"
    CORRECTION = "-1 where the rest is at least d, else 0"
    EXCEEDED = "the rest is less than d"
    EXCESS = "0 where the rest is less than d, else d"
    SUM = "n + d of dwords, of which one may be an estimate or a rest"


class Division(NamedTuple):
    """A part of a division of n by d."""

    part: DivisionPart
    n: Value
    d: Value
    """Of a sum, a difference and a product the operands."""
    estimate: Value | None = None


def difference(x: Value, y: Value, found: Value) -> Value:
    """The difference ``found`` of two values as a part of a division, or the quotient or remainder that it is."""
    known, whole = y.facts.division, x.facts.division
    if known is None or (known.part is DivisionPart.PRODUCT and x.constant is None):
        rest = known and (_rest(x, known.n, known.d) or _rest(x, known.d, known.n))
        return found.with_facts(division=rest or Division(DivisionPart.DIFFERENCE, x, y)) if _is_dword(x) else found
    sums = [(whole.n, whole.d), (whole.d, whole.n)] if whole and whole.part is DivisionPart.SUM else []
    for corrected, addend in ((x, None), *sums):
        if _corrects(known, corrected):
            result = (_quotient if known.part is DivisionPart.CORRECTION else _remainder)(known.n, known.d)
            result = x.builder.retype(result, x.type)
            return result if addend is None else result + addend
    return found


def _corrects(known: Division, x: Value) -> bool:
    """Whether a correction is that of an estimate, or an excess that of a rest."""
    if known.part is DivisionPart.CORRECTION:
        return known.estimate is not None and x.text == known.estimate.text
    rest = x.facts.division
    if known.part is not DivisionPart.EXCESS or rest is None:
        return False
    return rest.part is DivisionPart.REST and rest.n.text == known.n.text and rest.d.text == known.d.text


def _rest(n: Value, estimate: Value, d: Value) -> Division | None:
    """What ``n - estimate * d`` is, if that is the estimate of a quotient; it dominates this place then."""
    b = n.builder
    if estimate.depth or d.constant is not None:
        return None
    names = estimate.text, n.text, d.text  # Emits values that wait for a use.
    found = _repeated(b, _estimate, b.retype(n, UD), b.retype(d, UD))
    return Division(DivisionPart.REST, n, d, estimate) if found is not None and found.text == names[0] else None


def product(x: Value, y: Value) -> Division | None:
    """What a product is in a division."""
    return Division(DivisionPart.PRODUCT, x, y) if _is_dword(x) else None


def regrouped(x: Value, y: Value) -> Value | None:
    """``(p - q) + y`` as ``(p + y) - q``, if ``p + y`` was emitted before: texts split their dividends."""
    for one, other in ((x, y), (y, x)):
        known = one.facts.division
        if known and known.part is DivisionPart.DIFFERENCE and (first := _repeated(x.builder, _sum, known.n, other)):
            return first - known.d
    return None


def total(x: Value, y: Value) -> Division | None:
    """What a sum is in a division."""
    return Division(DivisionPart.SUM, x, y) if _is_dword(x) else None


def comparison(x: Value, y: Value, name: str) -> Division | None:
    """What the mask is in which x is less than y (``lt``), or at least as large (``ge``)."""
    known = x.facts.division
    if not known or known.part is not DivisionPart.REST or x.type.is_signed or name not in ("lt", "ge"):
        return None
    if y.text != known.d.text:
        return None
    return known._replace(part=DivisionPart.FITS if name == "ge" else DivisionPart.EXCEEDED)


def selection(mask: Value, x: Value, y: Value) -> Division | None:
    """What the selection of x where a mask holds, else y, is."""
    known = mask.facts.division
    if not known or known.part is not DivisionPart.EXCEEDED or x.constant != 0 or y.text != known.d.text:
        return None
    return known._replace(part=DivisionPart.EXCESS)


def masked(x: Value, y: Value) -> Division | None:
    """What ``x & y`` is in a division."""
    for one, other in ((x, y), (y, x)):
        known = one.facts.division
        if known and known.part is DivisionPart.CORRECTION and other.text == known.d.text:
            return known._replace(part=DivisionPart.EXCESS)
    return None


def negation(x: Value) -> Division | None:
    """What the negation of a mask that became an integer is."""
    known = x.facts.division
    return known._replace(part=DivisionPart.CORRECTION) if known and known.part is DivisionPart.FITS else None


def _quotient(n: Value, d: Value) -> Value:
    b, one = n.builder, n.builder.const(1, UD)
    n, d = b.retype(n, UD), b.retype(d, UD)
    by_zero = d == b.const(0, UD)
    return b.select(by_zero, one, b.udiv(n, b.select(by_zero, one, d)))


def _remainder(n: Value, d: Value) -> Value:
    b = n.builder
    return b.retype(n, UD) - _quotient(n, d).binary(b.retype(d, UD), "mul", "")


def _repeated(b: Builder, compute: Callable[[Value, Value], Value], x: Value, y: Value) -> Value | None:
    """What was computed of two values in a place that dominates this one; None if it was not."""
    if b.repeats:
        return None
    b.repeats = True
    try:
        found = compute(x, y)
        return found if found.text else None
    except NotEmitted:
        return None
    finally:
        b.repeats = False


def _sum(x: Value, y: Value) -> Value:
    return x + y


def _is_dword(x: Value) -> bool:
    return x.type.is_integer and x.type.size == UD.size


def _estimate(n: Value, d: Value) -> Value:
    """The quotient, or one less, as texts compute it, which round towards zero."""
    b = n.builder

    def real(x: Value) -> Value:
        found: Value = convert(b, x, UD, F, rounding=TO_ZERO)
        return found

    def whole(x: Value) -> Value:
        found: Value = convert(b, x, F, UD)
        return found

    def result(op: RoundedOp, *operands: Value) -> Value:
        found: Value = compute(b, op, F, F, TO_ZERO, operands)
        return found

    divisor, dividend = real(d), real(n)
    inverse = result(INV, divisor)
    inverse = result(FMA, inverse, b.float_of_bits(_LESS, F), inverse)
    first = whole(result(MUL, dividend, inverse))
    low_divisor, low_dividend = real(d - whole(divisor)), real(n - whole(dividend))
    taken = real(first)
    rest = result(FMA, b.negate(divisor), taken, dividend)
    low_rest = result(FMA, b.negate(low_divisor), taken, low_dividend)
    return whole(result(MUL, inverse, result(ADD, rest, low_rest))) + first
