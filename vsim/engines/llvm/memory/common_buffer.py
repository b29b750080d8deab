"""Common-buffer check: lanes without facts. One comparison of all offsets checks that they are inside one buffer; then
they are loaded or stored inline, as a row, as one element, or lane by lane.

The buffer is that of the pointer argument from which the addresses were computed, or that of the first active lane's
address. Lanes in several buffers and lanes outside use the functions out of line, which find the faulty lane.
Inactive lanes load at the first active lane's place, which is inside; their stores go to temporary memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce

from visakit.language import types
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.emitter import LIKELY, UNLIKELY
from vsim.engines.llvm.ir.index import WideIndex
from vsim.engines.llvm.ir.joins import Emit, first_of, phi
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.bounds import CheckedBounds
from vsim.engines.llvm.memory.few_lanes import FewLanes
from vsim.engines.llvm.memory.part import (
    SHORTEST_AFFINE_ROW,
    LanePart,
    at_first_active,
    first_active,
    index_of,
    masked,
    rows,
    start_of,
)
from vsim.engines.llvm.memory.scalarised import ScalarisedAccess, words_of
from vsim.engines.llvm.memory.scatter import OutOfLineAccess, gathered, gathers
from vsim.engines.llvm.memory.stream_prefetch import PREFETCH_BYTES, Stream, StreamPrefetcher
from vsim.engines.llvm.memory.tables import Table, picked, table_of
from vsim.engines.llvm.memory.traits import AccessTraits
from vsim.engines.llvm.memory.vector import load_elements, load_row, store_row
from vsim.engines.llvm.memory.watch import AccessWatch

CHECKED_LANES = 1024
"""So many lanes of a function's accesses are checked inline, the others out of line with all that follows: the code
for it takes time to compile. Of a function that is a single block two for each instruction are, if that is more.
"""
LOOP_LANES, MOST_IN_LOOP = 512, 256
"""So many lanes of accesses in short loops are checked inline beyond that, as loops may come last that take most of the
time; short are those whose accesses have so many lanes.
"""
MOST_BESIDE_TABLES = 512
"""So many lanes are checked inline where a table is not whole inside its buffer, besides: an index may be known to be
less than 256, and the table shorter.
"""
STORES_COUNT = 2
"""Lanes that one of a store counts for: out of line it takes little longer, as its elements are read from memory."""


@dataclass(frozen=True)
class CommonBuffer:
    """Lanes inside one buffer.

    ``outside``: whether they are not (i1). ``pointer``: host pointer of the buffer, ``limit``: the lowest offset that
    is outside. ``offsets`` (ud or uq) of all lanes, and ``at_first``: that of the first active one.
    """

    outside: str
    pointer: str
    limit: Value
    offsets: Value
    at_first: Value


@dataclass(frozen=True)
class RowAccess:
    """Lanes that follow each other: a part of an access, the host pointer of its first lane, and the active lanes (None
    for all).
    """

    part: LanePart
    pointer: str
    vector: Value | None


def checked_lanes(instructions: int, is_straight: bool) -> int:
    """How many lanes of a function are checked inline."""
    return max(CHECKED_LANES, 2 * instructions) if is_straight else CHECKED_LANES


class UnprovedAccess:
    """Loads and stores of lanes of which nothing is proved, in one function."""

    def __init__(
        self,
        b: Builder,
        bounds: CheckedBounds,
        out_of_line: OutOfLineAccess,
        scalarised: ScalarisedAccess,
        prefetcher: StreamPrefetcher,
        traits: AccessTraits,
    ) -> None:
        self.b, self.bounds, self.out_of_line, self.scalarised = b, bounds, out_of_line, scalarised
        self.prefetcher, self.row, self.strays = prefetcher, traits.row, traits.strays
        self.most, self.short_loops = checked_lanes(traits.instructions, traits.is_straight), traits.short_loops
        self.watch: AccessWatch | None = None

    def load(self, part: LanePart, vector: Value | None) -> list[Value]:
        """The elements of each lane; 0 for lanes that are not active."""
        offset = masked(part.space, part.offset)
        if not self.watch and self._is_inside(part, offset):
            return self._load_inside(part, offset)
        table = None if self.watch else table_of(self.b, part)
        if table:
            return self._load_from_table(part, offset, vector, table)
        return self._load_unknown(part, offset, vector)

    def _load_from_table(self, part: LanePart, offset: Value, vector: Value | None, table: Table) -> list[Value]:
        """The elements of lanes that are inside of a table, if the whole table is inside of a buffer."""
        b = self.b
        outside, pointer = self.bounds.span(part, table.start, table.size)
        if table.wraps is not None:
            outside = b.assign(f"or i1 {outside}, {table.wraps}")

        def inside() -> list[Value]:
            if table.permuted:
                return [picked(b, part, table, pointer)]
            places = b.cast(table.numbers, types.UD) << b.const(table.factor.bit_length() - 1, types.UD)
            if gathers(part.element, part.lanes):
                return [gathered(b, part.element, pointer, places)]
            return self.scalarised.load(part, pointer, places, None)

        def unknown() -> list[Value]:
            b.lanes_beside_tables += part.lanes
            if b.lanes_beside_tables > MOST_BESIDE_TABLES:
                return self.out_of_line.load(part, offset, vector, rare=True)
            return self._load_anywhere(part, offset, vector)

        return first_of(b, [(outside, UNLIKELY, unknown)], inside, b.new_label("done"))

    def _load_unknown(self, part: LanePart, offset: Value, vector: Value | None) -> list[Value]:
        """The elements of lanes that may be anywhere."""
        if not self.admits(part.lanes * words_of(part)):
            return self.out_of_line.load(part, offset, vector, rare=False)
        return self._load_anywhere(part, offset, vector)

    def _load_anywhere(self, part: LanePart, offset: Value, vector: Value | None) -> list[Value]:
        """The same, inline."""
        stream = self.prefetcher.stream(part, offset, vector)
        if stream is None:
            return self._load(part, offset, vector)
        return self._load_stream(part, offset, vector, stream)

    def _is_inside(self, part: LanePart, offset: Value) -> bool:
        """Whether every lane, active or not, is inside a memory of known size."""
        most = self.b.ranges.of(offset.text) if part.space.least else None
        return most is not None and most + part.size <= part.space.least

    def _load_inside(self, part: LanePart, offset: Value) -> list[Value]:
        """The elements of lanes that are known to be inside."""
        assert part.space.pointer
        b = self.b
        if part.count == 1 and gathers(part.element, part.lanes):
            return [gathered(b, part.element, part.space.pointer, b.broadcast(offset, part.lanes))]
        return self.scalarised.load(part, part.space.pointer, offset, None)

    def _load_stream(self, part: LanePart, offset: Value, vector: Value | None, stream: Stream) -> list[Value]:
        """Lanes whose elements may have been loaded ahead, or may be so now; else as any others. Those that are not
        active give anything.
        """
        b = self.b
        hit, miss, stream_continues, fill, rest, done = map(
            b.new_label, ("way", "other", "ahead", "fill", "rest", "done")
        )
        b.branch(stream.hits(), hit, miss, LIKELY)
        before = b.mark()
        b.label(hit, before)
        ways = [(stream.load(), b.jump(done))]
        b.label(miss, before)
        b.branch(stream.continues(), stream_continues, rest)
        between = b.mark()
        b.label(stream_continues, between)
        found = self.common_buffer(part, offset, vector)
        b.branch(self._contains(part, found, PREFETCH_BYTES), fill, rest)
        b.label(fill, b.mark())
        ways.append((stream.fill(self.scalarised.helpers, found.pointer, found.offsets), b.jump(done)))
        b.label(rest, between)
        ways.append((self._load(part, offset, vector, stream), b.jump(done)))
        b.label(done, before)
        return [phi(b, list(column), [end for _, end in ways]) for column in zip(*(v for v, _ in ways), strict=True)]

    def _load(self, part: LanePart, offset: Value, vector: Value | None, stream: Stream | None = None) -> list[Value]:
        """Lanes that are tested for a row first; a stream restarts with them."""
        b, lanes = self.b, part.lanes

        def uniform(found: CommonBuffer) -> list[Value]:
            pointer = b.offset(found.pointer, b.cast(found.at_first, types.UQ).text)
            if self.watch:
                self.watch.one(part, pointer, vector, None)
            return [b.broadcast(v, lanes) for v in load_elements(b, pointer, part.element, part.count)]

        def lane_by_lane(found: CommonBuffer) -> list[Value]:
            if stream:
                stream.begin()
            return self._load_lane_by_lane(part, found, vector)

        def scattered() -> list[Value]:
            found = self.common_buffer(part, offset, vector)

            def inside() -> list[Value]:
                if self.strays:
                    return lane_by_lane(found)
                same = b.all(found.offsets == b.broadcast(found.at_first, lanes))
                return first_of(
                    b, [(same, LIKELY, partial(uniform, found))], partial(lane_by_lane, found), b.new_label("done")
                )

            outside = partial(self.out_of_line.load, part, offset, vector, rare=True)
            return first_of(b, [(found.outside, UNLIKELY, outside)], inside, b.new_label("done"))

        if self.strays:
            return self._unless_few(part, offset, vector, FewLanes.load, scattered)
        follow, found = self._rows(part, offset, vector)
        return first_of(b, [(follow, "", partial(self._load_rows, found))], scattered, b.new_label("done"))

    def _load_rows(self, found: list[RowAccess]) -> list[Value]:
        loaded = []
        for row in found:
            loaded.append(load_row(row.part, row.pointer, None))  # The lanes that are not active are inside, too.
            if self.watch:
                self.watch.row(row.part, row.pointer, row.vector, stores=False)
        return [self.b.concat(list(column)) for column in zip(*loaded, strict=True)]

    def _load_lane_by_lane(self, part: LanePart, found: CommonBuffer, vector: Value | None) -> list[Value]:
        """The elements of lanes one by one; inactive lanes load the first active lane's element."""
        values = self.scalarised.load(part, found.pointer, found.offsets, None)
        if self.watch:
            self.watch.each(part, found.pointer, found.offsets, vector, None)
        return values

    def store(self, part: LanePart, values: list[Value], vector: Value | None) -> None:
        """Elements of each active lane; of lanes with one address the highest wins."""
        b = self.b
        offset = masked(part.space, part.offset)
        if not self.admits(STORES_COUNT * part.lanes * part.count):
            self.out_of_line.store(part, offset, values, vector, rare=False)
            return

        def contiguous() -> list[Value]:
            for row in found:
                first = row.part.first - part.first
                own = [b.lanes(v, list(range(first, first + row.part.lanes))) for v in values]
                store_row(row.part, row.pointer, own, row.vector)
                if self.watch:
                    self.watch.row(row.part, row.pointer, row.vector, stores=True)
            return []

        def scattered() -> list[Value]:
            found = self.common_buffer(part, offset, vector)

            def inside() -> list[Value]:
                self.scalarised.store(part, found.pointer, found.offsets, values, vector)
                if self.watch:
                    self.watch.each(part, found.pointer, found.offsets, vector, values)
                return []

            return first_of(b, [(found.outside, UNLIKELY, outside)], inside, b.new_label("done"))

        def store_few(few: FewLanes) -> list[Value]:
            few.store(values)
            return []

        def outside() -> list[Value]:
            self.out_of_line.store(part, offset, values, vector, rare=True)
            return []

        if self.strays:
            self._unless_few(part, offset, vector, store_few, scattered)
            return
        follow, found = self._rows(part, offset, vector)
        first_of(b, [(follow, "", contiguous)], scattered, b.new_label("done"))

    def _unless_few(
        self, part: LanePart, offset: Value, vector: Value | None, few: Callable[[FewLanes], list[Value]], many: Emit
    ) -> list[Value]:
        """Code for one or two active lanes, and for more."""
        if vector is None:
            return many()
        lanes = FewLanes(self.b, self.bounds, part, offset, vector)
        return first_of(self.b, [(lanes.are_few(), "", partial(few, lanes))], many, self.b.new_label("done"))

    def admits(self, lanes: int) -> bool:
        """Whether so many more lanes are checked inline."""
        self.b.checked_lanes += lanes
        if self.b.checked_lanes > self.most and self.prefetcher.at() in self.short_loops:
            self.b.loop_lanes += lanes
            return self.b.loop_lanes <= LOOP_LANES
        return self.b.checked_lanes <= self.most

    # -- the test of all lanes -----------------------------------------------------------------------------

    def _contains(self, part: LanePart, found: CommonBuffer, count: int) -> str:
        """Whether so many bytes from each lane on are inside (i1)."""
        b = self.b
        limit = b.call("usub.sat", found.limit, b.const(count - part.size, found.limit.type))
        fit = b.all(found.offsets < b.broadcast(limit, part.lanes))
        inside = b.assign(f"xor i1 {found.outside}, true")
        return b.assign(f"and i1 {fit}, {inside}")

    def common_buffer(self, part: LanePart, offset: Value, vector: Value | None) -> CommonBuffer:
        """The lanes, if they are inside one buffer, and whether they are."""
        b, lanes = self.b, offset.lanes
        first = first_active(b, vector, lanes)
        index = index_of(part, offset)
        if index:
            pointer, limit, numbers, end = self._elements_in_buffer(part, offset, index)
        else:
            pointer, limit, numbers = self._offsets_in_buffer(part, offset, first)
            end = limit
        at_first = at_first_active(b, numbers, vector)
        if vector is not None:
            numbers = b.select(vector, numbers, b.broadcast(at_first, lanes))
        outside = b.any(numbers >= b.broadcast(end, lanes))
        if index:
            shift = b.const(index.factor.bit_length() - 1, types.UD)
            numbers, at_first = numbers << shift, at_first << shift
        return CommonBuffer(outside, pointer, limit, numbers, at_first)

    def _offsets_in_buffer(self, part: LanePart, offset: Value, first: str) -> tuple[str, Value, Value]:
        """Host pointer of the buffer, the lowest offset from which on a lane is outside, and the lanes' offsets."""
        b, space = self.b, part.space
        if not space.is_flat:
            assert space.pointer and space.size
            limit = self.bounds.limit(space.size, part.size)
            if offset.type.size == 8:
                return space.pointer, Value(b, types.UQ, 1, limit), b.retype(offset, types.UQ)
            b.declare("llvm.umin.i64", "i64", "i64, i64")
            held = b.assign(f"call i64 @llvm.umin.i64(i64 {limit}, i64 {(1 << 32) - 1})")
            return space.pointer, b.cast(Value(b, types.UQ, 1, held), types.UD), b.retype(offset, types.UD)
        base, pointer, size = self.bounds.buffer_at(part, offset, lambda: b.lane(offset, first).text)
        in_buffer = b.retype(offset, types.UQ) - b.broadcast(Value(b, types.UQ, 1, base), offset.lanes)
        return pointer, Value(b, types.UQ, 1, self.bounds.limit(size, part.size)), in_buffer

    def _elements_in_buffer(self, part: LanePart, offset: Value, index: WideIndex) -> tuple[str, Value, Value, Value]:
        """The same of lanes that differ by an index of 32 bits, and which of them are outside.

        The element at which the pointer is in its buffer, less than 2**30, is added to the index modulo 2**32. Negative
        sums become 2**31 or more, all others keep their value; so a sum below 2**31 is the number of an element.
        Where the pointer is in front of the buffer, between two elements or farther in, no lane counts as inside.
        """
        b, lanes = self.b, offset.lanes
        assert offset.facts.base_pointer and index.base
        base, pointer, size = self.bounds.buffer_at(part, offset, lambda: "0")
        limit, shift = self.bounds.limit(size, part.size), index.factor.bit_length() - 1
        b.declare("llvm.umin.i64", "i64", "i64, i64")
        b.declare("llvm.fshr.i64", "i64", "i64, i64, i64")
        distance = b.assign(f"sub i64 {index.base.text}, {base}")
        element = b.assign(f"call i64 @llvm.fshr.i64(i64 {distance}, i64 {distance}, i64 {shift})")
        possible = b.assign(f"icmp ult i64 {element}, {1 << 30}")
        held = b.assign(f"call i64 @llvm.umin.i64(i64 {limit}, i64 {(1 << 32) - 1})")
        rounded = b.assign(f"add i64 {held}, {index.factor - 1}")
        elements = b.assign(f"lshr i64 {rounded}, {shift}")
        elements = b.assign(f"call i64 @llvm.umin.i64(i64 {elements}, i64 {1 << 31})")
        elements = b.assign(f"select i1 {possible}, i64 {elements}, i64 0")
        first = b.cast(Value(b, types.UQ, 1, element), types.UD)
        at = b.retype(index.narrow, types.UD) + b.broadcast(first, lanes)
        end = b.cast(Value(b, types.UQ, 1, elements), types.UD)
        return pointer, b.cast(Value(b, types.UQ, 1, held), types.UD), at, end

    def _rows(self, part: LanePart, offset: Value, vector: Value | None) -> tuple[str, list[RowAccess]]:
        """Whether the lanes of each row of local ids follow each other and all are inside, active or not (i1), and the
        rows then: a rim or a guard of a picture keeps that from being proved, and hardly ever from being so.

        Lanes that differ by an index of 32 bits are compared by it. The index of the first lane of each row must be
        less than 2**30 in size, so that the indices of the others do not wrap around.
        """
        b, lanes, index = self.b, offset.lanes, index_of(part, offset)
        index = index if index and part.size % index.factor == 0 else None
        compared, step = (index.narrow, part.size // index.factor) if index else (offset, part.size)
        length = self.row if SHORTEST_AFFINE_ROW <= self.row < lanes else lanes
        starts, tests, found = [], [], []
        steps = b.vector([n % length * step for n in range(lanes)], compared.type)
        begins = compared - steps  # where the row of each lane begins, if that is one
        for own, mask, first in rows(offset, True if vector is None else vector, length):
            given = None if mask is True else mask
            if length == lanes:
                low = at_first_active(b, begins, vector)
            else:
                low = b.lane(compared if index else own, str(first) if index else "0")
            start = start_of(low, index, offset).with_facts(base_pointer=offset.facts.base_pointer)
            one = replace(part, offset=own, mask=mask, lanes=length, first=part.first + first)
            outside, pointer = self.bounds.span(one, start, length * part.size)
            small = [_is_small(low)] if index else []
            tests += [b.assign(f"xor i1 {outside}, true"), *small]
            starts.append(b.broadcast(low, length))
            found.append(RowAccess(one, pointer, given))
        follow = begins == b.concat(starts)
        tests.insert(0, b.all(follow if vector is None else follow | ~vector))
        return reduce(lambda x, y: b.assign(f"and i1 {x}, {y}"), tests), found


def _is_small(index: Value) -> str:
    """Whether an index is less than 2**30 in size (i1)."""
    b = index.builder
    small = b.retype(index, types.UD) + b.const(1 << 30, types.UD) < b.const(1 << 31, types.UD)
    return small.text
