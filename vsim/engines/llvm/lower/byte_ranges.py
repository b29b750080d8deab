"""Byte ranges of registers with the SSA values that they hold within a block, and writes under a mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.halves import qwords_of_halves
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.semantics.core import unsigned_of


class Halves(NamedTuple):
    """Two masks into which a condition parts another one: the one from before, and what holds in the first of them."""

    whole: Mask
    condition: Value


def halves_of(b: Builder, known: Mapping[tuple[str, str], Halves], one: Value, other: Value) -> Halves | None:
    """How two masks are halves of one, or the same lanes of such halves, which are known by their SSA names."""
    found = known.get((one.text, other.text))
    if found is not None:
        return found
    first, second = b.mask_parts.get(one.text), b.mask_parts.get(other.text)
    if first is None or second is None or first[1] != second[1] or one.lanes != other.lanes:
        return None
    found = known.get((first[0], second[0]))
    if found is None:
        return None
    own = list(range(first[1], first[1] + one.lanes))
    return Halves(True if found.whole is True else b.lanes(found.whole, own), b.lanes(found.condition, own))


@dataclass
class PredicatedWrite:
    """How a value came about that was written under a mask: lanes outside the mask are those of ``old``."""

    mask: Value
    fresh: Value
    old: Value

    def holds_for(self, running: Value, lane: int) -> bool:
        """Whether all lanes of a mask are fresh, the first of which is ``lane`` of those written."""
        if self.mask.text == running.text or self.mask.text in running.facts.implies:
            return True
        parts = running.builder.mask_parts
        (whole, first), (own, start) = (parts.get(m.text, (m.text, 0)) for m in (running, self.mask))
        return (whole, first) == (own, start + lane)


@dataclass
class ByteRange:
    """A byte range of a register with its value.

    A ``dirty`` one is stored at the block's end; of one that is not ``stored`` storage may know nothing; one that is
    not ``whole`` has lanes that are in storage only.
    """

    low: int
    high: int
    value: Value
    dirty: bool
    stored: bool = True
    whole: bool = True
    predicated: PredicatedWrite | None = None
    by_all: bool = False
    """Whether all lanes that run have written it, of one that is not whole."""

    def __post_init__(self) -> None:
        self.stored = self.stored and not self.dirty

    @property
    def size(self) -> int:
        return self.high - self.low


def part_of(b: Builder, e: ByteRange, low: int, count: int, data_type: DataType) -> Value | None:
    """Elements out of one byte range, perhaps under another element type; None where these do not fit."""
    value, size = e.value, data_type.size
    if (low - e.low) % size:
        return None
    if value.type.size != size:
        if e.size % size:
            return None
        whole = b.broadcast(value, e.size // value.type.size)
        value = b.regroup(whole, unsigned_of(size), e.size // size)
    first = (low - e.low) // size
    if value.lanes * size == e.size and count * size != e.size:
        value = b.lanes(value, list(range(first, first + count)))
    return b.bitcast(value, data_type) if value.type is not data_type else value


def fresh_part(b: Builder, e: ByteRange, low: int, count: int, data_type: DataType, running: Value) -> Value | None:
    """Elements that a predicated write gave the lanes of a mask, if it wrote them all."""
    write, size = e.predicated, data_type.size
    if write is None or write.fresh.type.size != size or low < e.low or low + count * size > e.high:
        return None
    first, rest = divmod(low - e.low, size)
    if rest or not write.holds_for(running, first):
        return None
    fresh = write.fresh
    if fresh.lanes > count:
        fresh = b.lanes(fresh, list(range(first, first + count)))
    return b.bitcast(fresh, data_type) if fresh.type is not data_type else fresh


def scalar_of_halves(b: Builder, touching: Sequence[ByteRange], low: int, data_type: DataType) -> Value | None:
    """A scalar qword whose dwords were written one by one, as compilers without integers of 64 bits do."""
    ordered = sorted(touching, key=lambda e: e.low)
    if data_type.size != types.UQ.size or [(e.low, e.high) for e in ordered] != [(low, low + 4), (low + 4, low + 8)]:
        return None
    if any(e.value.lanes != 1 or e.value.type.size != types.UD.size for e in ordered):
        return None
    if (known := qwords_of_halves(b, *(e.value for e in ordered))) is not None:
        return b.bitcast(known, data_type)
    first, second = (b.cast(b.bitcast(e.value, types.UD), types.UQ) for e in ordered)
    return b.bitcast(first | second << b.const(32, types.UQ), data_type)


def joined(b: Builder, touching: Sequence[ByteRange], low: int, high: int, data_type: DataType) -> Value | None:
    """Elements in several byte ranges that together cover them, if halves, quarters and so on can be concatenated
    together.
    """
    size = data_type.size
    ordered = sorted(touching, key=lambda e: e.low)
    gaps = ordered[0].low != low or ordered[-1].high != high or any(a.high != c.low for a, c in pairwise(ordered))
    if gaps or any(e.size % size for e in ordered):
        return None
    parts: list[Value] = []
    for e in ordered:
        part = part_of(b, e, e.low, e.size // size, data_type)
        if part is None:
            return None
        parts.append(b.broadcast(part, e.size // size))
        while len(parts) > 1 and parts[-1].lanes == parts[-2].lanes:
            parts[-2:] = [b.concat(parts[-2:])]
    return parts[0] if len(parts) == 1 else None
