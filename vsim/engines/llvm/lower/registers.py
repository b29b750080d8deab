"""Registers while a function is emitted: SSA values within a block, written to storage where other blocks need them.

Storage is bytes. Within a block the latest value of each byte range is an SSA value; reads find it there, also in parts
or under another element type.

*Predicated writes.* A write under a mask leaves the other lanes as they were. The merged value is emitted where
on demand: instructions that execute under the same mask, or part of it, read the written value. Example, where
the merge is never emitted, as X is dead after the two::

    (P1) mul (M1, 16) X Y Y        X = {fresh: Y * Y, mask P1, old: X}
    (P1) add (M1, 16) Z X W        reads the fresh X: its lanes outside P1 do not matter

Parts of the lanes read parts of it (page 138).
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.pairs import with_row
from vsim.engines.llvm.ir.types import MASK
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.affine_registers import AffineRegisters
from vsim.engines.llvm.lower.block_use import ENTRANCE, NOTHING_NEEDED, BlockNeeds, BlockUse, Keys
from vsim.engines.llvm.lower.byte_ranges import (
    ByteRange,
    Halves,
    PredicatedWrite,
    fresh_part,
    halves_of,
    joined,
    part_of,
    scalar_of_halves,
)
from vsim.engines.llvm.lower.denormal_registers import DenormalRegisters
from vsim.engines.llvm.lower.storage import Key, Storage, is_predicate, is_variable


class Registers:
    """The registers of one emission of a function."""

    def __init__(
        self, b: Builder, storage: Storage, lanes: int, shapes: AffineRegisters, results: DenormalRegisters
    ) -> None:
        self.b, self.storage, self.lanes = b, storage, lanes
        self.affine_registers, self.denormal_registers = shapes, results
        self.ranges: dict[Key, list[ByteRange]] = {}
        self.use = BlockUse()
        self.needs = NOTHING_NEEDED
        self.carried: dict[Key, tuple[int, list[ByteRange]]] = {}
        """Values that a block left for the blocks that it dominates, with the number of the block."""
        self.extents: dict[Key, int] = {}
        """How far the accesses to each key go."""
        self.all_run = True
        """Whether all lanes run in this block."""
        self.lane_layouts: dict[Key, tuple[int, int]] = {}
        """Bytes of each lane and the first lane's byte, of registers that blocks in which not all lanes run access."""
        self.pc = ENTRANCE
        """The instruction that is emitted."""
        self.writers: dict[int, set[int]] = {}
        """The instructions that write each general variable, by its root."""
        self.crossed: set[Key] = set()
        """Registers of which lanes see elements of others that may not run."""
        self.halves: dict[tuple[str, str], Halves] = {}
        """Pairs of masks into which branches of this block parted the lanes, by their SSA names."""

    # -- blocks --------------------------------------------------------------------------------------------

    def begin_block(self, needs: BlockNeeds, all_run: bool = True) -> BlockUse:
        """Forget the values of the last block, except for values carried by a block
        that dominates this one. ``all_run``: all lanes run in this one.
        """
        self.ranges, self.all_run, self.halves = {}, all_run, {}
        self.use = BlockUse()
        self.needs = needs
        return self.use

    def _known(self, key: Key) -> list[ByteRange]:
        """The values of a register in this block."""
        found = self.ranges.get(key)
        if found is None:
            block, left = self.carried.get(key, (None, []))
            kept = left if block is not None and self.needs.sees(block) else []
            found = self.ranges[key] = [ByteRange(e.low, e.high, e.value, False, False) for e in kept]
        return found

    def end_block(self, block: int, running: Mask) -> None:
        """Carry on and store what other blocks need.

        Predicates are stored whole, so that every block finds them in one form.

        Args:
            running: the lanes that run in the block.
        """
        for key, ranges in self.ranges.items():
            if self.needs.carries(key):
                self.carried[key] = block, [ByteRange(e.low, e.high, e.value.emitted(), False) for e in ranges]
        for key, ranges in self.ranges.items():
            dirty = [e for e in ranges if e.dirty]
            if not dirty:
                continue
            self.use.written.add(key)
            self.use.covered[key] = sum(e.size for e in dirty if e.whole)
            self.use.covered_by_all[key] = sum(e.size for e in dirty if e.whole or e.by_all)
            if not all(e.whole for e in dirty):
                self.use.merged.add(key)
            for e in dirty:
                self.denormal_registers.learn(key, e.value)
            self._leave(block, key, ranges, running)

    def _leave(self, block: int, key: Key, ranges: list[ByteRange], running: Mask) -> None:
        """Store the parts of a register that other blocks need, as affine scalars where these suffice."""
        shapes, stores = self.affine_registers, self.needs.stores(key)
        if shapes.has(key) and (shapes.learns or stores):
            ranges = [e for e in ranges if e.dirty and not self._leave_affine(block, key, e, running)]
        if stores:
            self._store_all(key, ranges)

    def _leave_affine(self, block: int, key: Key, e: ByteRange, running: Mask) -> bool:
        """Leave a byte range to other blocks as affine scalars; whether it is stored so."""
        shapes, place = self.affine_registers, (e.low, e.high)
        if not shapes.learns:
            return e.whole and shapes.leave(key, place, e.value, running if self.needs.dead_if_inactive(key) else None)
        value = e.value if e.whole else None
        if e.by_all and e.predicated:
            value = e.predicated.fresh  # all that counts, if the others read nothing any more
            shapes.affine_in_running_lanes.setdefault(key, set()).add(block)
        shapes.learn(key, place, value, running, block)
        return False

    def _store_all(self, key: Key, ranges: list[ByteRange]) -> None:
        size = self.storage.size(key)
        if is_predicate(key) and (len(ranges) > 1 or ranges[0].size < size):
            ranges = self.ranges[key] = [ByteRange(0, size, self._whole(key, ranges), True)]
        self._store_ranges(key, ranges)

    def _store_ranges(self, key: Key, ranges: list[ByteRange]) -> None:
        """Store byte ranges in the order of their places.

        SROA of LLVM 22 joins stores to parts of a slot at the one of the last part, whether the values of the others
        are known there or not.
        """
        for e in sorted(ranges, key=lambda e: e.low):
            self._store(key, e)

    def _store(self, key: Key, e: ByteRange) -> None:
        if not e.stored:
            if e.dirty:
                self.affine_registers.differs(key, (e.low, e.high))
            value = self.denormal_registers.left(key, e.value)
            whole = self.b.broadcast(value, e.size // value.type.size)
            self.b.store(whole, self._address(key, e.low), _align(e.low))
            e.dirty, e.stored = False, True

    def _load(self, key: Key, low: int, count: int, data_type: DataType) -> Value:
        b, results = self.b, self.denormal_registers
        t, size = results.type_in(key, data_type), count * data_type.size
        if t is None:
            return b.load(data_type, count, self._address(key, low), _align(low))
        if low % t.size or size % t.size:
            results.differs(key)
            return b.load(data_type, count, self._address(key, low), _align(low))
        loaded = b.load(t, size // t.size, self._address(key, low), _align(low))
        found = b.without_denormals(loaded) or loaded
        return b.bitcast(found, data_type) if t.size == data_type.size else b.regroup(found, data_type, count)

    def _address(self, key: Key, low: int) -> str:
        return self.b.offset(self.storage.pointer(key), low)

    def flush(self, keys: Keys, forget: bool) -> None:
        """Bring storage up to date, before someone else reads it; forget values that someone else may write."""
        for key in list(self.ranges):
            if keys(key):
                if any(e.dirty for e in self.ranges[key]):
                    self.use.written.add(key)
                self._store_ranges(key, self.ranges[key])
                if forget:
                    del self.ranges[key]

    # -- reading -------------------------------------------------------------------------------------------

    def read(
        self, key: Key, low: int, count: int, data_type: DataType, running: Value | None = None, first: int = 0
    ) -> Value:
        """Consecutive elements of a register.

        Args:
            low: byte offset of the first one (of predicates its lane).
            running: a mask of as many lanes, outside of which the elements do not matter; None: they may be of any.
            first: the number of the first of these lanes.
        """
        if running is None and not self.all_run:
            self.crossed.add(key)
        elif running is not None:
            self._shape(key, low, data_type.size, first)
        return self._read(key, low, count, data_type, running)

    def _shape(self, key: Key, low: int, size: int, first: int) -> None:
        """Note the position of the lanes' elements in a register; if positions differ, lanes see each other's
        elements.
        """
        shape = size, (low - first * size) % (self.lanes * size)
        if self.lane_layouts.setdefault(key, shape) != shape:
            self.crossed.add(key)

    def _read(self, key: Key, low: int, count: int, data_type: DataType, running: Value | None = None) -> Value:
        high = self._reach(key, low + count * data_type.size)
        ranges = self._take_for_granted(key, low, high)
        for e in ranges:
            if running is not None and (fresh := fresh_part(self.b, e, low, count, data_type, running)) is not None:
                return fresh
            if e.low <= low and e.high >= high:
                found = part_of(self.b, e, low, count, data_type)
                if found is not None:
                    return found
        if is_predicate(key):
            whole = self._whole(key, ranges)
            self.ranges[key] = [ByteRange(0, self.storage.size(key), whole, any(e.dirty for e in ranges))]
            return self._read(key, low, count, data_type)
        touching = [e for e in ranges if e.low < high and e.high > low]
        if touching:
            return self._read_pieces(key, touching, low, count, data_type)
        self.use.exposed.add(key)
        loaded = self._load(key, low, count, data_type)
        value = self.affine_registers.lockstep.with_scalar(key, low, loaded, self.pc, running)
        ranges.append(ByteRange(low, high, value, False))
        return value

    def _take_for_granted(self, key: Key, low: int, high: int) -> list[ByteRange]:
        """The values of a register in this block, and the affine values that hold whichever block has written them."""
        ranges = self._known(key)
        for place in self.affine_registers.places(key):
            if place[0] < high and place[1] > low and not any(e.low < place[1] and e.high > place[0] for e in ranges):
                self.use.exposed.add(key)
                ranges.append(ByteRange(*place, self.affine_registers.load(key, place), False, False))
        return ranges

    def _read_pieces(self, key: Key, touching: list[ByteRange], low: int, count: int, data_type: DataType) -> Value:
        """Elements of which some byte ranges are known: put together from these, else by way of storage."""
        high = low + count * data_type.size
        if count == 1 and (scalar := scalar_of_halves(self.b, touching, low, data_type)) is not None:
            return scalar
        whole = joined(self.b, touching, low, high, data_type)
        if whole is not None:
            apart = [e for e in self.ranges[key] if e.low >= high or e.high <= low]
            dirty, stored = any(e.dirty for e in touching), all(e.stored for e in touching)
            self.ranges[key] = [*apart, ByteRange(low, high, whole, dirty, stored)]
            return whole
        if any(e.dirty for e in touching):
            self.use.written.add(key)
        self._store_ranges(key, touching)
        self.use.exposed.add(key)
        return self._load(key, low, count, data_type)

    def _whole(self, key: Key, ranges: list[ByteRange]) -> Value:
        """All lanes of a predicate: storage overlaid with the values of this block."""
        b, lanes = self.b, self.storage.size(key)
        ordered = sorted(ranges, key=lambda e: e.low)
        if sum(e.size for e in ordered) == lanes and len({e.size for e in ordered}) == 1:
            if all(e.value.lanes == 1 and e.value.text == ordered[0].value.text for e in ordered):
                return ordered[0].value  # A scalar, written to each part.
            return b.concat([b.broadcast(e.value, e.size) for e in ordered])
        self.use.exposed.add(key)
        whole = b.load(ordered[0].value.type if ordered else MASK, lanes, self.storage.pointer(key), 64)
        for e in ordered:
            if e.size == 1:
                whole = b.value(MASK, lanes, f"insertelement {whole.typed}, {e.value.typed}, i64 {e.low}")
                continue
            wide = b.lanes(b.broadcast(e.value, e.size), [i % e.size for i in range(lanes)])
            whole = b.mixed(whole, wide, [lanes + (i - e.low) if e.low <= i < e.high else i for i in range(lanes)])
        return whole

    # -- writing -------------------------------------------------------------------------------------------

    def write(self, key: Key, low: int, count: int, value: Value) -> ByteRange:
        """Consecutive elements; a scalar value stands for all of them."""
        self._look_into(value)
        written = self._put(key, low, count, value)
        written.whole = not _lacks_row(value)
        return written

    def _look_into(self, value: Value) -> None:
        """In the dry run, emit a written value: its sources may be in storage, and a later store would load
        them there. Half of the dwords of qwords would need the other half, which may follow.
        """
        if self.needs is NOTHING_NEEDED and not _lacks_row(value):
            value.emitted()

    def _note_writer(self, key: Key) -> None:
        if is_variable(key):
            self.writers.setdefault(key[1], set()).add(self.pc)

    def _put(self, key: Key, low: int, count: int, value: Value) -> ByteRange:
        self._note_writer(key)
        high = self._reach(key, low + count * value.type.size)
        kept = []
        for e in self._known(key):
            if e.high <= low or e.low >= high:
                kept.append(e)
            elif e.low < low or e.high > high:
                kept += self._remains(key, e, low, high)
        written = ByteRange(low, high, value if value.lanes in (1, count) else self.b.broadcast(value, count), True)
        self.ranges[key] = [*kept, written]
        return written

    def write_predicated(
        self, key: Key, low: int, count: int, value: Value, mask: Value, running: Value | None = None, first: int = 0
    ) -> None:
        """Consecutive elements of the lanes for which a mask holds. The others are put to them where that is needed.

        Args:
            running: the lanes that run, of as many as there are elements; None: it is not known which they are.
            first: the number of the first of these lanes.
        """
        if running is not None and first + count <= self.lanes:
            self._shape(key, low, value.type.size, first)
        elif running is not None or not self.all_run:  # lanes that the thread does not have never run
            self.crossed.add(key)
        value, union, first_half = self._with_other_half(key, low, count, value, mask)
        by_all = union is not True and running is not None and union.text == running.text
        if union is True or (by_all and self.needs.dead_if_inactive(key)):
            self.write(key, low, count, value)
            return
        mask = union
        high = low + count * value.type.size
        by_all = by_all or any(e.by_all and e.low <= low and e.high >= high for e in self._known(key))
        old, whole, note = self._before(key, low, count, value.type, mask, first_half)
        value = value if value.lanes in (1, count) else self.b.broadcast(value, count)
        self._look_into(value)
        written = self._put(key, low, count, self.b.merge(mask, value, old, note))
        written.predicated, written.whole = PredicatedWrite(mask, value, old), whole and not _lacks_row(value)
        written.by_all = by_all and not _lacks_row(value)

    def write_row(
        self, key: Key, low: int, number: int, row: Value, mask: Mask, running: Value | None = None, first: int = 0
    ) -> None:
        """The low (``number`` 0) or the high dwords (1) of consecutive qwords, the first of which begins at a byte; of
        the lanes for which a mask holds, as :meth:`write_predicated`.
        """
        count = row.lanes
        fresh = (fresh_part(self.b, e, low, count, types.UQ, mask) for e in self._known(key) if mask is not True)
        found = next((part for part in fresh if part is not None), None)
        before, _, note = (found, True, None) if found else self._before(key, low, count, types.UQ, mask, None)
        self._look_into(row)
        value = with_row(self.b, before, number, row, note)
        if mask is True:
            self.write(key, low, count, value)
        else:
            self.write_predicated(key, low, count, value, mask, running, first)

    def _with_other_half(
        self, key: Key, low: int, count: int, value: Value, mask: Value
    ) -> tuple[Value, Mask, ByteRange | None]:
        """A write under a mask, joined with the write of the other half of a branch to the same elements: value and
        mask for both, and the write before; without a write before, the value and mask themselves.
        """
        b, high = self.b, low + count * value.type.size
        touching = [e for e in self.ranges.get(key, ()) if e.low < high and e.high > low] if self.halves else []
        write = touching[0].predicated if len(touching) == 1 else None
        if write is None or (touching[0].low, touching[0].high) != (low, high):
            return value, mask, None
        halves = halves_of(b, self.halves, mask, write.mask)
        if halves is None or write.fresh.type.size != value.type.size:
            return value, mask, None
        both = b.merge(halves.condition, value, b.bitcast(write.fresh, value.type))
        return (both.with_facts(affine=None) if both.lanes == 1 else both), halves.whole, touching[0]

    def copy_in(self, key: Key, low: int, size: int, pointer: str) -> None:
        """Bytes of memory, straight into storage."""
        self._note_writer(key)
        self._reach(key, low + size)
        self.flush(lambda other: other == key, forget=True)
        self.denormal_registers.differs(key)
        self.use.written.add(key)
        self.use.covered[key] = size
        self.affine_registers.differs(key, (low, low + size))
        self.b.declare("llvm.memcpy.p0.p0.i64", "void", "ptr, ptr, i64, i1")
        to = self._address(key, low)
        self.b.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr align 1 {to}, ptr align 1 {pointer}, i64 {size}, i1 false)")

    def _before(
        self, key: Key, low: int, count: int, data_type: DataType, mask: Mask, first_half: ByteRange | None
    ) -> tuple[Value, bool, Callable[[], None] | None]:
        """Elements that are about to be overwritten under a mask, whether they are known without storage, and whom to
        tell when they are needed.

        Args:
            first_half: the elements that the lanes of the other half of a branch have written there.
        """
        high, use = low + count * data_type.size, self.use

        def note() -> None:
            use.exposed.add(key)

        if first_half is not None and first_half.predicated is not None:
            before = self.b.bitcast(first_half.predicated.old, data_type)
            return before, first_half.whole, None if first_half.whole else note
        known = self._known(key) if self.affine_registers.learns else self._take_for_granted(key, low, high)
        touching = [e for e in known if e.low < high and e.high > low]
        if not touching:
            return self._stored(key, low, high, count, data_type), False, note
        (only,) = touching if len(touching) == 1 else (None,)
        if only and (old := _overwritten(only, low, high, data_type, mask)) is not None:
            return old, only.whole, None if only.whole else note
        if only and only.low <= low and only.high >= high:
            found = part_of(self.b, only, low, count, data_type)
            if found is not None:
                return found, only.whole, None
        return self._read(key, low, count, data_type), True, None

    def _stored(self, key: Key, low: int, high: int, count: int, data_type: DataType) -> Value:
        """Elements out of storage."""
        if is_predicate(key):
            whole = self.b.load(MASK, self.storage.size(key), self.storage.pointer(key), 64)
            return self.b.lanes(whole, list(range(low, high)))
        return self._load(key, low, count, data_type)

    def _remains(self, key: Key, e: ByteRange, low: int, high: int) -> list[ByteRange]:
        """What is left of a byte range when a part of it is overwritten."""
        size = e.value.type.size
        pieces = []
        for start, end in ((e.low, min(low, e.high)), (max(high, e.low), e.high)):
            if start >= end:
                continue
            if (start - e.low) % size or (end - start) % size:
                self._store(key, e)
                self.use.written.add(key)
                return []
            part = part_of(self.b, e, start, (end - start) // size, e.value.type)
            assert part is not None
            pieces.append(ByteRange(start, end, part, e.dirty, e.stored, e.whole, by_all=e.by_all))
        return pieces

    def _reach(self, key: Key, high: int) -> int:
        if high > self.extents.get(key, 0):
            self.extents[key] = high
        return high


def _lacks_row(value: Value) -> bool:
    return value.facts.interleaved is not None and value.facts.interleaved.lacks_row


def _overwritten(e: ByteRange, low: int, high: int, data_type: DataType, mask: Mask) -> Value | None:
    """What was there before a predicated write, if it wrote just these elements under that mask."""
    write = e.predicated
    if write is None or mask is True or write.mask.text != mask.text:
        return None
    return write.old if (e.low, e.high, write.old.type) == (low, high, data_type) else None


def _align(offset: int) -> int:
    """Largest power of two up to 64 that divides an offset into 64-aligned storage."""
    return 64 if offset == 0 else min(64, offset & -offset)
