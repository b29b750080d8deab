"""How the lanes of an access lie: in a row, at one address, or scattered; what is proved,
and the tests of what is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from visa import types
from vsim.llvm_engine.ir.values import Value
from vsim.llvm_engine.memory.part import LanePart, byte_steps, first_active, masked


@dataclass
class AccessPattern:
    """Where a row begins or would begin (``low``), and the offset of all lanes if they share it (``shared``).

    Whether they are a row, or share an offset, is a condition each (i1, perhaps constant). ``proved``: the conditions
    follow from what is known of the lanes, so that they nearly always hold.
    """

    low: Value
    shared: Value
    contiguous: str = "false"
    uniform: str = "false"
    proved: bool = False


def pattern_of(part: LanePart, vector: Value | None) -> AccessPattern:
    """How the active lanes of an access lie, as far as it is proved; else the tests are emitted."""
    offset, t = part.offset, part.offset.type
    b, known = offset.builder, offset.strided
    if known is not None and known.row == offset.lanes:
        low = b.retype(known.first_lane, t)
        if known.stride == part.size:
            return AccessPattern(low, low, contiguous=known.holds(), proved=True)
        if known.stride == 0:
            return AccessPattern(low, low, uniform=known.holds(), proved=True)
        return AccessPattern(low, low)
    offset = masked(part.space, offset)
    first = first_active(b, vector, offset.lanes)
    at_first = b.lane(offset, first)
    low = at_first
    if first != "0":
        low = at_first - b.cast(Value(b, types.UQ, 1, first), t) * b.const(part.size, t)
    same, equal = offset == low + byte_steps(b, t, offset.lanes, part.size), offset == at_first
    if vector is not None:
        outside = ~vector
        same, equal = same | outside, equal | outside
    return AccessPattern(low, at_first, b.all(same), b.all(equal))
