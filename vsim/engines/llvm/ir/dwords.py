"""Dwords of qwords: sums of 64 bits that compilers write as operations on their low and high dwords.

Devices without integers of 64 bits compute the address ``pointer + index`` so::

    asr  (M1, 8) SIGN INDEX 31            the high dwords of the index as qwords
    addc (M1, 8) LOW CARRY P(0,0) INDEX   the low dwords of the sum
    add  (M1, 8) HIGH P(0,1) SIGN
    add  (M1, 8) HIGH CARRY HIGH          the high ones
    mov  (M1, 8) ADDRESS(0,0)<2> LOW
    mov  (M1, 8) ADDRESS(0,1)<2> HIGH

A value of each step knows which part of which qwords it is; from low and high dwords of the same qwords the sum of
qwords is made, whose lanes are known (:mod:`affine`), and LLVM drops the steps without readers.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from visakit.language import types

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.values import Value


class DwordPart(Enum):
    """What a dword is of one qword, or of the sum of two."""

    LOW = auto()
    """Of two: whose second one may be the extension of a dword, with zeros or its sign."""
    CARRY = auto()
    """The carry from the low dwords of the two into the high ones, as a mask or an integer."""
    HIGH = auto()
    """Of two: without that carry."""


class Qword(NamedTuple):
    """A lane value of 64 bits, None where that is not known, and its low dwords."""

    value: Value | None
    low: Value


class DwordOf(NamedTuple):
    """The dword that a value is: of one qword, or of the sum of two. ``low``: of these the low dwords of the sum."""

    part: DwordPart
    qwords: tuple[Qword, ...]
    low: Value | None = None

    def carry(self, addend: Value) -> DwordOf | None:
        """What the comparison is whether the low dwords of a sum are less than one of its addends."""
        is_addend = len(self.qwords) == 2 and addend.text in (q.low.text for q in self.qwords)
        return self._replace(part=DwordPart.CARRY) if is_addend and self.part is DwordPart.LOW else None


def dwords_of(qword: Value) -> list[Value]:
    """The low and the high dwords of integers of 64 bits."""
    b, bits = qword.builder, qword.builder.retype(qword, types.UQ)
    low, high = (b.cast(x, types.UD) for x in (bits, bits >> b.const(32, types.UQ)))
    known = (Qword(bits, low),)
    return [
        low.with_facts(dword_of=DwordOf(DwordPart.LOW, known)),
        high.with_facts(dword_of=DwordOf(DwordPart.HIGH, known)),
    ]


def signs(x: Value) -> DwordOf:
    """What the signs of dwords are: the high dwords of their extensions."""
    b = x.builder
    return DwordOf(DwordPart.HIGH, (Qword(b.retype(b.cast(b.retype(x, types.D), types.Q), types.UQ), x),))


def dwords_of_sum(x: Value, y: Value, total: Value) -> DwordOf | None:
    """What the sum of two dwords is, of which one is known to be a dword of qwords at least."""
    for one, other in ((x, y), (y, x)):
        mine, others = one.facts.dword_of, other.facts.dword_of
        if mine is None:
            continue
        if mine.part is DwordPart.LOW and len(mine.qwords) == 1:
            return DwordOf(DwordPart.LOW, (*mine.qwords, Qword(None, other)), total)
        if others is None or others.part is not DwordPart.HIGH:
            continue
        if mine.part is DwordPart.HIGH and len(mine.qwords) == len(others.qwords) == 1:
            return DwordOf(DwordPart.HIGH, mine.qwords + others.qwords)
        if mine.part is DwordPart.CARRY and len(others.qwords) == 2:
            return _high_with_carry(mine, others)
    return None


def with_carry(integer: Value, mask: Value) -> Value:
    """An integer that is 1 where a mask holds, which may be a carry."""
    return integer.with_facts(dword_of=mask.facts.dword_of) if mask.facts.dword_of else integer


def _high_with_carry(carry: DwordOf, high: DwordOf) -> DwordOf | None:
    """What the high dwords of a sum are with its carry, if that is the carry of the same sum."""
    added, (first, second) = {q.low.text for q in carry.qwords}, high.qwords
    if added != {first.low.text, second.low.text} or not (first.value and second.value and carry.low):
        return None
    return DwordOf(DwordPart.HIGH, (Qword(first.value + second.value, carry.low),))


def whole_qwords(low: Value, high: Value) -> Value | None:
    """The qwords with these low and high dwords, if they are known as a sum."""
    known = high.facts.dword_of
    if known is None or known.part is not DwordPart.HIGH or len(known.qwords) > 1 or low.type.size != types.UD.size:
        return None
    whole = known.qwords[0]
    found = whole.value is not None and whole.value.lanes == low.lanes and whole.low.text == low.text
    return whole.value if found else None
