"""Sums of 64 bits that are written as two of 32 and a carry.

Compilers for platforms without integers of 64 bits add the dwords of two numbers so::

    addc (M1, 8) LOW(0,0)<1> C(0,0)<1> X(0,0)<1;1,0> Y(0,0)<0;1,0>
    add  (M1, 8) HIGH(0,0)<1> X_HIGH(0,0)<1;1,0> Y_HIGH(0,0)<0;1,0>
    add  (M1, 8) HIGH(0,0)<1> C(0,0)<1;1,0> HIGH(0,0)<1;1,0>

Where both dwords become a qword, the builder adds qwords instead, so that an address has the facts of other addresses,
such as its pointer and its index. A high dword knows its qword where that is a register's, or the extension of an
index: then it is the signs of the low one, ``asr`` by 31.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from visakit.language import types

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder
    from vsim.engines.llvm.ir.values import Value


DEEPEST = 4
"""Sums of sums of so many levels are taken apart; the operands of deeper ones count as dwords."""


class SumPart(Enum):
    """Of a sum of 64 bits."""

    LOW = 0
    """The dword x + y."""
    CARRY = 1
    """1 where x + y went around, else 0."""
    HIGH = 2
    """The carry plus what else belongs to the high dword."""


class CarriedSum(NamedTuple):
    """A part of a sum whose low dword is x + y."""

    part: SumPart
    x: Value
    y: Value
    high: Value | None = None
    """Of a high dword: the other operand beside the carry."""


class HighDword(NamedTuple):
    """The qwords that high dwords belong to, and their low dwords."""

    low: Value
    qwords: Value


def dwords_of(qwords: Value) -> list[Value]:
    """The low and the high dwords of integers of 64 bits."""
    b, bits = qwords.builder, qwords.builder.retype(qwords, types.UQ)
    low, high = (b.cast(x, types.UD) for x in (bits, bits >> b.const(32, types.UQ)))
    return [low, high.with_facts(high_of=HighDword(low, bits))]


def signs(x: Value) -> HighDword:
    """What the signs of dwords are: the high dwords of their extensions."""
    b = x.builder
    return HighDword(x, b.retype(b.cast(b.retype(x, types.D), types.Q), types.UQ))


def part_of_sum(x: Value, y: Value) -> CarriedSum:
    """The part of a sum of qwords that the sum of two values is, if they are dwords."""
    for carry, rest in ((x.facts.carried, y), (y.facts.carried, x)):
        if carry and carry.part is SumPart.CARRY:
            return carry._replace(part=SumPart.HIGH, high=rest)
    return CarriedSum(SumPart.LOW, x, y)


def carry_of(total: Value, operand: Value) -> CarriedSum | None:
    """The part of a sum of qwords that the mask is in which a sum is less than one of its operands, without signs."""
    carried = total.facts.carried
    if carried is None or carried.part is not SumPart.LOW or total.type.is_signed or not total.type.is_integer:
        return None
    return carried._replace(part=SumPart.CARRY) if operand is carried.x or operand is carried.y else None


def qwords_of_sum(b: Builder, low: Value, high: Value, depth: int = 0) -> Value | None:
    """Qwords that are a sum, from their dwords; None if the dwords do not belong to one.

    Args:
        depth: of how many sums these are an operand.
    """
    lower, upper = low.facts.carried, high.facts.carried
    if depth == DEEPEST or not lower or not upper or lower.part is not SumPart.LOW or upper.part is SumPart.LOW:
        return None
    x, y = lower.x, lower.y
    if upper.x is not x or upper.y is not y:
        return None
    first, second = _shared(x, y, upper.high)
    return _qwords(b, x, first, depth + 1) + _qwords(b, y, second, depth + 1)


def _shared(x: Value, y: Value, high: Value | None) -> tuple[Value | None, Value | None]:
    """The high dwords for two low ones. Which of them gets which makes no difference to the sum: those of one qword
    belong together, or those of scalars.
    """
    if high is None:
        return None, None
    whole = high.facts.carried
    one, other = (whole.x, whole.y) if whole and whole.part is SumPart.LOW else (high, None)
    if _whole(x, one) or _whole(y, other):
        return one, other
    if _whole(y, one) or _whole(x, other) or _is_same(x) != _is_same(one):
        return other, one
    return one, other


def _whole(low: Value, high: Value | None) -> Value | None:
    """The qwords that dwords are known to belong to."""
    known = high and (high.facts.high_of or _scalar(high).facts.high_of)
    return known.qwords if known and known.low.text in (low.text, _scalar(low).text) else None


def _is_same(value: Value) -> bool:
    """Whether all lanes are known to be equal."""
    return _scalar(value).lanes == 1


def _scalar(value: Value) -> Value:
    """The lane that stands for all of them, if they are known to be equal; else the value."""
    known = value.facts.affine
    if value.lanes == 1 or not known or known.stride or known.steps or known.row_stride or known.assumptions:
        return value
    return known.first_lane


def _qwords(b: Builder, low: Value, high: Value | None, depth: int) -> Value:
    """Qwords of any dwords; of low ones alone the others are zeros."""
    if high is not None and (known := _whole(low, high) or qwords_of_sum(b, low, high, depth)) is not None:
        return known
    found = b.cast(b.retype(_scalar(low), types.UD), types.UQ)
    if high is None:
        return found
    return found + (b.cast(b.retype(_scalar(high), types.UD), types.UQ) << b.const(32, types.UQ))
