"""The tests of the race check: whether words of units, in a row or scattered, admit a race."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from visakit.language import types
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.race import ATOMICS, MIXED, PLACE_BITS, WRITTEN
from vsim.engines.llvm.ir.intrinsics import masked_read, masked_write
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.observers.race_ids import RaceIds
from vsim.engines.llvm.memory.part import mask_bits


class Test(NamedTuple):
    """Units that are tested at once: which of them are suspicious, and what updates their words if none is."""

    suspicious: Value
    update: Callable[[], None]


class RaceWords:
    """Words and marks of units of ``unit`` bytes; in a launch that records, marks alone.

    ``windowed``: words are kept of a window of global memory. Others stay empty, and nothing meets them.
    """

    def __init__(self, ids: RaceIds, unit: int, recording: bool, windowed: bool) -> None:
        self.ids, self.b, self.unit, self.recording, self.windowed = ids, ids.b, unit, recording, windowed

    # -- places --------------------------------------------------------------------------------------------

    def place(self, pointer: str, offsets: Value | None = None) -> Value:
        """The bits of a host pointer that choose its words; of pointers with offsets (uq) from it."""
        b = self.b
        whole = Value(b, types.UQ, 1, b.assign(f"ptrtoint ptr {pointer} to i64"))
        if offsets is not None:
            whole = b.broadcast(whole, offsets.lanes) + offsets
        return whole & b.const((1 << PLACE_BITS) - 1, types.UQ)

    def misplaced(self, place: Value, size: int) -> Value | None:
        """Whether places are not multiples of a power of two; None if all are."""
        if size == 1:
            return None
        b = self.b
        return (place & b.const(size - 1, types.UQ)) != b.const(0, types.UQ)

    def unit_of(self, place: Value) -> Value:
        """The places of the units that contain places."""
        return place & self.b.const(-self.unit, types.UQ)

    def units_of_row(self, place: Value, size: int, lanes: int, vector: Value | None) -> tuple[int, Value]:
        """The most units that a row of lanes of ``size`` bytes, less than a unit each, can touch; and a mask of the
        units that active lanes (None for all) touch.
        """
        b, per_unit = self.b, self.unit // size
        count = 1 << (-(-(lanes + per_unit - 1) // per_unit) - 1).bit_length()
        first = (place >> b.const(size.bit_length() - 1, types.UQ)) & b.const(per_unit - 1, types.UQ)
        bits = Value(b, types.UQ, 1, mask_bits(b, vector, lanes)) << first
        steps = b.vector([per_unit * i for i in range(count)], types.UQ)
        inside = (b.broadcast(bits, count) >> steps) & b.const((1 << per_unit) - 1, types.UQ)
        return count, inside != b.const(0, types.UQ)

    def _pointers(self, field: int, place: Value, size: int) -> str:
        """Pointers to words or marks, ``size`` bytes for each unit."""
        b, unit = self.b, self.unit
        if unit > size:
            place = place >> b.const((unit // size).bit_length() - 1, types.UQ)
        elif size > unit:
            place = place << b.const((size // unit).bit_length() - 1, types.UQ)
        start = b.hoist(f"inttoptr i64 {self.ids.field(field)} to ptr")
        return b.assign(f"getelementptr i8, ptr {start}, {place.typed}")

    # -- tests ---------------------------------------------------------------------------------------------

    def row(self, place: Value, first: int, ids: Value, mask: Value | None, stores: bool, is_local: bool) -> Test:
        """Units that follow each other, from a number behind a place on; ``ids`` says whose each of them is."""
        width = ids.lanes
        b = self.b
        if self.recording:
            marks = b.offset(self._pointers(cx.RACE_MARKS, place, 1), first)
            return self._test(b.load(types.UB, width, marks, 1) != b.const(0, types.UB), mask, lambda: None)
        pointer = b.offset(self._pointers(cx.RACE_WORDS, place, 4), 4 * first)
        suspicious, word = self._judged(b.load(types.UD, width, pointer, 1), ids, stores, is_local)

        def update() -> None:
            target, words, kept = pointer, b.broadcast(word, width), mask
            if self.windowed and not is_local:
                if width == 1:
                    target = self._pointer_of_kept(target, place + b.const(self.unit * first, types.UQ))
                else:
                    steps = b.vector([self.unit * (first + i) for i in range(width)], types.UQ)
                    kept = self._kept(b.broadcast(place, width) + steps, mask)
            if kept is None:
                b.store(words, target, 1)
            else:
                masked_write(b, "store", words, target, 1, kept)

        return self._test(suspicious, mask, update)

    def scattered(
        self, place: Value, ids: Value, mask: Value, stores: bool, is_local: bool, shared: Callable[[Value], None]
    ) -> Test:
        """Units anywhere, of lanes with ``ids``. Where lanes that are told apart store to the same unit, ``shared``
        gets those of them whose words were replaced; where they read it, the word becomes that of many.
        """
        b = self.b
        if self.recording:
            marks = masked_read(b, "gather", types.UB, self._pointers(cx.RACE_MARKS, place, 1), 1, mask)
            return self._test(marks != b.const(0, types.UB), mask, lambda: None)
        pointer = self._pointers(cx.RACE_WORDS, place, 4)
        suspicious, word = self._judged(masked_read(b, "gather", types.UD, pointer, 4, mask), ids, stores, is_local)

        def update() -> None:
            kept = self._kept(place, mask) if self.windowed and not is_local else mask
            words = b.broadcast(word, mask.lanes)
            masked_write(b, "scatter", words, pointer, 4, kept)
            if not self.ids.step:
                return
            found = masked_read(b, "gather", types.UD, pointer, 4, kept)
            replaced = (found != words) & kept
            if stores:
                shared(replaced)
            else:
                flags = (found | words) & b.const(self.ids.flags, types.UD)
                masked_write(b, "scatter", self._of_many(ids, is_local) | flags, pointer, 4, replaced)

        return self._test(suspicious, mask, update)

    def _kept(self, place: Value, mask: Value | None) -> Value:
        """A mask of the places in the window, among the places under a mask."""
        b = self.b
        first, size = (Value(b, types.UQ, 1, self.ids.field(f)) for f in (cx.RACE_WINDOW, cx.RACE_WINDOW_SIZE))
        inside = (place - first) < size
        return inside if mask is None else inside & mask

    def _pointer_of_kept(self, pointer: str, place: Value) -> str:
        """The pointer to the word of a place, or to where words go of which none is kept."""
        sink = self.b.offset(self.b.field("%ctx", cx.RACE, "ptr"), cx.RACE_SINK)
        return self.b.assign(f"select i1 {self._kept(place, None).text}, ptr {pointer}, ptr {sink}")

    @staticmethod
    def _test(suspicious: Value, mask: Value | None, update: Callable[[], None]) -> Test:
        return Test(suspicious if mask is None else suspicious & mask, update)

    def _of_many(self, me: Value, is_local: bool) -> Value:
        """The words of units that several lanes with these ids have read."""
        b, ids, traits = self.b, self.ids, self.ids.traits
        if not (is_local or traits.barriers):
            return b.broadcast(ids.number(cx.RACE_ALL_ID), me.lanes)
        many = ids.group() + ids.number(cx.RACE_SPAN) - b.const(1 << traits.shift, types.UD)
        return many + (me & b.const(ids.epochs, types.UD)) if traits.barriers else b.broadcast(many, me.lanes)

    def _judged(self, word: Value, me: Value, stores: bool, is_local: bool) -> tuple[Value, Value]:
        """Which units may race, and their new words; ``race.ll`` says the same of single lanes."""
        b, ids, traits = self.b, self.ids, self.ids.traits
        differs = word ^ me
        other = differs >= b.const(1 << traits.shift, types.UD)
        inside = None
        if is_local or traits.barriers:
            inside = (word - ids.group()) < ids.number(cx.RACE_SPAN)
        theirs = inside if is_local and inside is not None else word >= ids.number(cx.RACE_FIRST_ID)
        peer = other & theirs
        """Of another thread, and not ordered by a barrier: in the group, if there are barriers, else anywhere."""
        if traits.barriers:
            assert inside is not None
            together = (differs & b.const(ids.epochs, types.UD)) == b.const(0, types.UD)
            peer = other & together & inside
        away = None if is_local or inside is None else theirs & ~inside
        if stores:
            return (peer if away is None else peer | away), me | b.const(WRITTEN, types.UD)
        changed = self._has(word, WRITTEN | ATOMICS if traits.atomics else WRITTEN)
        suspicious = peer & changed
        kept = word
        if traits.atomics:  # What it has read besides, an atomic of another thread races with.
            kept = word | ((word >> b.const(ATOMICS.bit_length() - 1, types.UD)) & b.const(WRITTEN, types.UD))
        if inside is None:
            return suspicious, b.select(other, b.select(theirs, ids.number(cx.RACE_ALL_ID), me), kept)
        many = ids.group() + ids.number(cx.RACE_SPAN) - b.const(1 << traits.shift, types.UD)
        if not traits.barriers:  # Local memory; words of other groups stand for its earlier life.
            return suspicious, b.select(inside, b.select(other, many, kept), me)
        many = many + (me & b.const(ids.epochs, types.UD))
        if is_local:
            new = b.select(peer, many, me)
            return suspicious, b.select(differs < b.const(1 << traits.flags, types.UD), kept, new)
        assert away is not None
        mixed = b.const(MIXED, types.UD)
        behind = me | b.select(self._has(word, ids.flags), mixed, b.const(0, types.UD))
        new = b.select(inside, behind, me)
        new = b.select(peer, many | (word & mixed), new)
        new = b.select(differs < b.const(1 << traits.flags, types.UD), kept, new)
        suspicious = suspicious | (away & self._has(word, ids.flags))
        return suspicious, b.select(away, ids.number(cx.RACE_ALL_ID), new)

    def _has(self, word: Value, flags: int) -> Value:
        """Whether words have any of some flags."""
        return (word & self.b.const(flags, types.UD)) != self.b.const(0, types.UD)
