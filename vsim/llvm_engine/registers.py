"""Registers while a function is emitted: values of the current block, written to stack slots where other blocks need them.

Storage is bytes. Within a block the latest value of each byte range is an SSA value; reads find it there, also in parts or under another
element type. What a block leaves behind for others goes to the variable's stack slot, which LLVM turns into SSA again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from visa import types
from visa.types import DataType
from vsim.llvm_engine.ir import MASK, Builder, Value, ir_type

Key = tuple[str, int]
"""Storage class ("V" variable, "A" address, "T" state, "P" predicate) and number."""


def _anything(_: object) -> bool:
    return True


_BY_SIZE = {1: types.UB, 2: types.UW, 4: types.UD, 8: types.UQ}


@dataclass
class Merge:
    """How a value came about that was written under a mask: lanes outside the mask are those of ``old``."""

    mask: Value
    fresh: Value
    old: Value

    def holds_for(self, running: Value) -> bool:
        """Whether all lanes of a mask are fresh."""
        return self.mask.text == running.text or self.mask.text in running.inside


@dataclass
class ByteRange:
    """A byte range with its value. A dirty one is stored at the block's end; of a carried one storage may know nothing; one that is not ``whole``
    has lanes that are in storage only."""

    low: int
    high: int
    value: Value
    dirty: bool
    stored: bool = True
    whole: bool = True
    merge: Merge | None = None

    def __post_init__(self) -> None:
        self.stored = self.stored and not self.dirty


@dataclass
class BlockUse:
    """What a block does to storage: read before written, written, how many bytes of it for all lanes, written in some lanes (so that what others read
    depends on what was there)."""

    exposed: set[Key] = field(default_factory=set)
    written: set[Key] = field(default_factory=set)
    covered: dict[Key, int] = field(default_factory=dict)
    merged: set[Key] = field(default_factory=set)


class Registers:
    """The storage of one function. ``pointer`` gives the stack slot of a key, ``size`` its bytes."""

    def __init__(self, builder: Builder, pointer: Callable[[Key], str], size: Callable[[Key], int]) -> None:
        self.b, self.pointer, self.size = builder, pointer, size
        self.entries: dict[Key, list[ByteRange]] = {}
        self.use = BlockUse()
        self.live_out: Callable[[Key], bool] | None = None
        self.kept: Callable[[int], bool] = _anything
        self.carried: dict[Key, tuple[int, list[ByteRange]]] = {}
        self.always: Callable[[Key], bool] = lambda key: False
        self.extents: dict[Key, int] = {}
        """How far the accesses to each key go."""

    def begin_block(
        self, live_out: Callable[[Key], bool] | None = None, kept: Callable[[int], bool] = _anything
    ) -> BlockUse:
        """Forget the values of the last block, but for those that were left for good by a block that counts here (``kept``).

        ``live_out``: whether other blocks read a key; None while that is being learned, and nothing needs to be stored.
        """
        self.entries = {}
        self.use = BlockUse()
        self.live_out, self.kept = live_out, kept
        return self.use

    def _known(self, key: Key) -> list[ByteRange]:
        """The values of a key in this block."""
        found = self.entries.get(key)
        if found is None:
            block, left = self.carried.get(key, (None, []))
            kept = left if block is not None and self.kept(block) else []
            found = self.entries[key] = [ByteRange(e.low, e.high, e.value, False, False) for e in kept]
        return found

    def end_block(self) -> None:
        """Store what other blocks need. Predicates are stored whole, so that every block finds them in one form."""
        for key, entries in self.entries.items():
            dirty = [e for e in entries if e.dirty]
            if not dirty:
                continue
            self.use.written.add(key)
            self.use.covered[key] = sum(e.high - e.low for e in dirty if e.whole)
            if not all(e.whole for e in dirty):
                self.use.merged.add(key)
            if self.live_out is not None and (self.live_out(key) or self.always(key)):
                if key[0] == "P" and (len(entries) > 1 or entries[0].high - entries[0].low < self.size(key)):
                    entries = self.entries[key] = [ByteRange(0, self.size(key), self._whole(key, entries), True)]
                for e in entries:
                    self._store(key, e)

    def carry(self, block: int, keys: Callable[[Key], bool]) -> None:
        """Keep the values that a block leaves for the blocks that it dominates: no other block writes these keys, and some reads them."""
        for key, entries in self.entries.items():
            if keys(key):
                self.carried[key] = block, [ByteRange(e.low, e.high, e.value.settled(), False) for e in entries]

    def _store(self, key: Key, e: ByteRange) -> None:
        if not e.stored:
            whole = self.b.broadcast(e.value, (e.high - e.low) // e.value.type.size)
            self.b.store(whole, self.b.offset(self.pointer(key), e.low), _align(e.low))
            e.dirty, e.stored = False, True

    def flush(self, keys: Callable[[Key], bool], forget: bool) -> None:
        """Bring storage up to date, before someone else reads it; forget values that someone else may write."""
        for key in list(self.entries):
            if keys(key):
                for e in self.entries[key]:
                    if e.dirty:
                        self.use.written.add(key)
                    self._store(key, e)
                if forget:
                    del self.entries[key]

    # -- contiguous ranges ---------------------------------------------------------------------------------

    def read(self, key: Key, low: int, count: int, data_type: DataType, running: Value | None = None) -> Value:
        """``count`` consecutive elements from a byte offset on; ``running``: a mask of as many lanes, outside of which the elements do not matter."""
        size = data_type.size
        high = self._reach(key, low + count * size)
        entries = self._known(key)
        for e in entries:
            if (
                running is not None
                and (merge := e.merge)
                and (e.low, e.high, merge.fresh.type.size) == (low, high, size)
                and merge.holds_for(running)
            ):
                return self.b.bitcast(merge.fresh, data_type) if merge.fresh.type is not data_type else merge.fresh
            if e.low <= low and e.high >= high:
                found = self._part(e, low, count, data_type)
                if found is not None:
                    return found
        if key[0] == "P":
            whole = self._whole(key, entries)
            self.entries[key] = [ByteRange(0, self.size(key), whole, any(e.dirty for e in entries))]
            return self.read(key, low, count, data_type)
        touching = [e for e in entries if e.low < high and e.high > low]
        if touching:
            joined = self._joined(touching, low, high, count, data_type)
            if joined is not None:
                apart = [e for e in entries if e.low >= high or e.high <= low]
                self.entries[key] = [
                    *apart,
                    ByteRange(low, high, joined, any(e.dirty for e in touching), all(e.stored for e in touching)),
                ]
                return joined
            for e in touching:
                if e.dirty:
                    self.use.written.add(key)
                self._store(key, e)
        self.use.exposed.add(key)
        value = self.b.load(data_type, count, self.b.offset(self.pointer(key), low), _align(low))
        if not touching:
            entries.append(ByteRange(low, high, value, False))
        return value

    def _whole(self, key: Key, entries: list[ByteRange]) -> Value:
        """All lanes of a predicate: storage overlaid with the values of this block."""
        b, lanes = self.b, self.size(key)
        ordered = sorted(entries, key=lambda e: e.low)
        if sum(e.high - e.low for e in ordered) == lanes and len({e.high - e.low for e in ordered}) == 1:
            return b.concat([b.broadcast(e.value, e.high - e.low) for e in ordered])
        self.use.exposed.add(key)
        whole = b.load(ordered[0].value.type if ordered else MASK, lanes, self.pointer(key), 64)
        for e in ordered:
            count = e.high - e.low
            if count == 1:
                whole = b.value(MASK, lanes, f"insertelement {whole.typed}, {e.value.typed}, i64 {e.low}")
                continue
            wide = b.shuffle(b.broadcast(e.value, count), [i % count for i in range(lanes)])
            picks = ", ".join(f"i32 {lanes + (i - e.low) if e.low <= i < e.high else i}" for i in range(lanes))
            whole = b.value(MASK, lanes, f"shufflevector {whole.typed}, {wide.typed}, <{lanes} x i32> <{picks}>")
        return whole

    def _part(self, e: ByteRange, low: int, count: int, data_type: DataType) -> Value | None:
        """Elements out of one entry, perhaps under another element type."""
        b, value, size = self.b, e.value, data_type.size
        total = e.high - e.low
        if value.type.size != size:
            if total % size or (low - e.low) % size:
                return None
            lanes = total // size
            whole = b.broadcast(value, total // value.type.size) if value.lanes * value.type.size != total else value
            value = b.value(_BY_SIZE[size], lanes, f"bitcast {whole.typed} to {ir_type(_BY_SIZE[size], lanes)}")
        elif (low - e.low) % size:
            return None
        first = (low - e.low) // size
        if value.lanes * size == total and count * size != total:
            value = b.shuffle(value, list(range(first, first + count)))
        return b.bitcast(value, data_type) if value.type is not data_type else value

    def _joined(self, touching: list[ByteRange], low: int, high: int, count: int, data_type: DataType) -> Value | None:
        """Elements that lie in several entries which together cover them, if halves, quarters and so on can be put together."""
        size = data_type.size
        ordered = sorted(touching, key=lambda e: e.low)
        if ordered[0].low != low or ordered[-1].high != high or any(a.high != c.low for a, c in pairwise(ordered)):
            return None
        if any((e.high - e.low) % size for e in ordered):
            return None
        parts: list[Value] = []
        for e in ordered:
            lanes = (e.high - e.low) // size
            part = self._part(e, e.low, lanes, data_type)
            if part is None:
                return None
            parts.append(self.b.broadcast(part, lanes))
            while len(parts) > 1 and parts[-1].lanes == parts[-2].lanes:
                parts[-2:] = [self.b.concat(parts[-2:])]
        return parts[0] if len(parts) == 1 else None

    def merge(self, key: Key, low: int, count: int, value: Value, mask: Value) -> None:
        """Consecutive elements of the lanes for which a mask holds. The others are put to them where that is needed."""
        old, whole, note = self._before(key, low, count, value.type, mask)
        value = value if value.lanes in (1, count) else self.b.broadcast(value, count)
        self.write(key, low, count, self.b.merge(mask, value, old, note))
        entry = self.entries[key][-1]
        entry.whole, entry.merge = whole, Merge(mask, value, old)

    def _before(
        self, key: Key, low: int, count: int, data_type: DataType, mask: Value
    ) -> tuple[Value, bool, Callable[[], None] | None]:
        """Elements that are about to be overwritten under a mask, whether they are known without storage, and whom to tell when they are needed."""
        b, high = self.b, low + count * data_type.size
        use = self.use

        def note() -> None:
            use.exposed.add(key)

        touching = [e for e in self._known(key) if e.low < high and e.high > low]
        if not touching:
            if key[0] == "P":
                stored = b.shuffle(b.load(MASK, self.size(key), self.pointer(key), 64), list(range(low, high)))
            else:
                stored = b.load(data_type, count, b.offset(self.pointer(key), low), _align(low))
            return stored, False, note
        (only,) = touching if len(touching) == 1 else (None,)
        if (
            only
            and (merge := only.merge)
            and (only.low, only.high, merge.old.type) == (low, high, data_type)
            and merge.mask.text == mask.text
        ):
            return merge.old, only.whole, None if only.whole else note
        if (
            only
            and only.low <= low
            and only.high >= high
            and (found := self._part(only, low, count, data_type)) is not None
        ):
            return found, only.whole, None
        return self.read(key, low, count, data_type), True, None

    def _reach(self, key: Key, high: int) -> int:
        if high > self.extents.get(key, 0):
            self.extents[key] = high
        return high

    def write(self, key: Key, low: int, count: int, value: Value) -> None:
        """Consecutive elements; a scalar value stands for all of them."""
        high = self._reach(key, low + count * value.type.size)
        entries = self._known(key)
        kept = []
        for e in entries:
            if e.high <= low or e.low >= high:
                kept.append(e)
            elif e.low < low or e.high > high:
                kept += self._remains(key, e, low, high)
        kept.append(ByteRange(low, high, value if value.lanes in (1, count) else self.b.broadcast(value, count), True))
        self.entries[key] = kept

    def _remains(self, key: Key, e: ByteRange, low: int, high: int) -> list[ByteRange]:
        """What is left of an entry when a range in it is overwritten."""
        size = e.value.type.size
        pieces = []
        for start, end in ((e.low, min(low, e.high)), (max(high, e.low), e.high)):
            if start >= end:
                continue
            if (start - e.low) % size or (end - start) % size:
                self._store(key, e)
                self.use.written.add(key)
                return []
            count = (end - start) // size
            part = self._part(e, start, count, e.value.type)
            assert part is not None
            pieces.append(ByteRange(start, end, part, e.dirty, whole=e.whole))
        return pieces


def _align(offset: int) -> int:
    """Largest power of two up to 64 that divides an offset into 64-aligned storage."""
    return 64 if offset == 0 else min(64, offset & -offset)
