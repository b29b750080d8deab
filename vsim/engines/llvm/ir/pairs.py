"""Pairs: of words, and of vectors one behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.language import types
from vsim.engines.llvm.ir.values import Value

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder


def lanes_of_one_half(b: Builder, x: Value, indices: list[int]) -> Value | None:
    """Lanes of one of two vectors that were put one behind the other: lanes of that one. None for other lanes."""
    half = x.lanes // 2
    if x.facts.concatenated is None or min(indices) // half != max(indices) // half:
        return None
    return b.retype(b.lanes(x.facts.concatenated[min(indices) // half], [i % half for i in indices]), x.type)


def repeated_pair(b: Builder, x: Value, indices: list[int]) -> Value | None:
    """A pair of words of one dword, repeated: a dword in all lanes, which compiles faster than a choice among words.
    None for other lanes.
    """
    first, count = indices[0], len(indices)
    in_dwords = x.type.size == types.UW.size and first % 2 == x.lanes % 2 == count % 2 == 0
    if not in_dwords or count == 2 or indices != [first, first + 1] * (count // 2):
        return None
    dwords = b.regroup(x, types.UD, x.lanes // 2)
    return b.regroup(b.broadcast(b.lanes(dwords, [first // 2] * (count // 2)), count // 2), x.type, count)
