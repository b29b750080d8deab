"""The access pattern of the lanes: a row, one address, or scattered; proved patterns, and tests for unproved ones."""

from __future__ import annotations

from dataclasses import dataclass

from visakit.language import types
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import LanePart, byte_steps, first_active, masked

LARGEST_OWN = 4096
"""Largest distance between lanes that do not overlap, in bytes: none wraps around to another one."""


@dataclass
class AccessPattern:
    """Where a row begins or would begin (``low``), and the offset of all lanes if they share it (``shared``).

    Whether they are a row, or share an offset, is a condition each (i1, perhaps constant). ``proved``: the conditions
    follow from facts about the lanes, so that they nearly always hold.
    """

    low: Value
    shared: Value
    contiguous: str = "false"
    uniform: str = "false"
    proved: bool = False


def stride_of(part: LanePart) -> int | None:
    """The constant distance of the lanes in bytes, if it is proved that all of them are one row with such a one."""
    known = part.offset.facts.affine
    return known.stride if known is not None and known.row == part.offset.lanes and not known.steps else None


def has_gaps_or_overlaps(part: LanePart) -> bool:
    """Whether all lanes are proved to be at constant distances, and neither at one place nor one behind the other."""
    known = part.offset.facts.affine
    return known is not None and (bool(known.steps) or stride_of(part) not in (None, 0, part.size))


def keeps_apart(part: LanePart) -> bool:
    """Whether the lanes are proved not to overlap, whichever of them are active."""
    known, stride, mask = part.offset.facts.affine, stride_of(part), part.space.address_mask
    if known is None or stride is None or known.assumptions or not part.size <= stride <= LARGEST_OWN:
        return False
    return mask is None or stride % (mask & -mask) == 0


def places_of(part: LanePart) -> int:
    """To how many places the lanes of an access go: one if it is proved that they share it or follow each other."""
    stride = stride_of(part)
    return 1 if part.offset.lanes == 1 or stride in (0, part.size) else part.offset.lanes


def pattern_of(part: LanePart, vector: Value | None) -> AccessPattern:
    """The pattern of the active lanes if it is proved; else the test for a row is emitted."""
    offset, t = part.offset, part.offset.type
    b, known, stride = offset.builder, offset.facts.affine, stride_of(part)
    if known is not None and stride is not None:
        low = b.retype(known.first_lane, t)
        if stride == part.size:
            return AccessPattern(low, low, contiguous=known.holds(), proved=True)
        if stride == 0:
            return AccessPattern(low, low, uniform=known.holds(), proved=True)
        return AccessPattern(low, low)
    offset = masked(part.space, offset)
    first = first_active(b, vector, offset.lanes)
    at_first = b.lane(offset, first)
    low = at_first
    if first != "0":
        low = at_first - b.cast(Value(b, types.UQ, 1, first), t) * b.const(part.size, t)
    same = offset == low + byte_steps(b, t, offset.lanes, part.size)
    return AccessPattern(low, at_first, b.all(same if vector is None else same | ~vector))
