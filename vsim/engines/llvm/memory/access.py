"""The path of every access: parts, pattern, bounds, and then a vector, one element, or scattered lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from visakit.isa.enums import ATOMIC_SOURCES, BFLOAT_ATOMICS
from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.affine import AffineLanes
from vsim.engines.llvm.ir.base_offset import shared_by_lanes
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.emitter import LIKELY, UNLIKELY
from vsim.engines.llvm.ir.joins import Emit, first_of, if_any
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.memory.atomics import PlainAtomics
from vsim.engines.llvm.memory.blocks import BlockLoads
from vsim.engines.llvm.memory.bounds import Bounds, CheckedBounds, FaultExit
from vsim.engines.llvm.memory.common_buffer import UnprovedAccess
from vsim.engines.llvm.memory.part import LanePart, first_active, last_active, masked, narrowed, proved_rows
from vsim.engines.llvm.memory.pattern import (
    AccessPattern,
    has_gaps_or_overlaps,
    keeps_apart,
    pattern_of,
    places_of,
    stride_of,
)
from vsim.engines.llvm.memory.scalarised import ScalarisedAccess
from vsim.engines.llvm.memory.scatter import OutOfLineAccess, ScatteredAccess
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.engines.llvm.memory.stream_prefetch import StreamPrefetcher
from vsim.engines.llvm.memory.stride import StridedAccess
from vsim.engines.llvm.memory.traits import AccessTraits
from vsim.engines.llvm.memory.vector import load_elements, load_row, store_row
from vsim.engines.llvm.memory.watch import AccessWatch


class PartAccess:
    """Loads and stores the lanes of a part by their pattern.

    ``unproved`` handles lanes without facts, ``strided`` lanes at other constant distances than their
    size; without these the lanes are tested for a row, else scattered. ``blocks`` loads blocks that may end beyond
    memory.
    """

    def __init__(self, b: Builder, bounds: Bounds, scatter: ScatteredAccess) -> None:
        self.b, self.bounds, self.scatter = b, bounds, scatter
        self.watch: AccessWatch | None = None
        self.unproved: UnprovedAccess | None = None
        self.strided: StridedAccess | None = None
        self.blocks: BlockLoads | None = None

    def load(self, part: LanePart) -> list[Value]:
        """The elements of each lane: a value with the first one of all lanes, one with the second, and so on; 0 for
        inactive lanes.
        """
        b, lanes = self.b, part.offset.lanes
        if part.space.zeros_beyond and self.blocks:
            return self.blocks.load(part)
        if lanes == 1:
            return self._load_scalar(part)
        vector = None if part.mask is True else b.broadcast(part.mask, lanes)
        if self.strided and has_gaps_or_overlaps(part):
            return self.strided.load(part, vector)
        if self.unproved and stride_of(part) is None:
            return self.unproved.load(part, vector)
        if nearby := self._row_nearby(part):
            return self._load_nearby(part, nearby, vector)
        pattern = pattern_of(part, vector)
        row = self.bounds.row_if_contiguous(part, pattern, vector)

        def contiguous() -> list[Value]:
            if vector is not None and not self.watch:
                return self.bounds.load_row(part, pattern.low, vector)
            pointer = row or self.bounds.row(part, pattern.low, vector)
            found = load_row(part, pointer, vector)
            if self.watch:
                self.watch.row(part, pointer, vector, stores=False)
            return found

        def uniform() -> list[Value]:
            lane = partial(first_active, b, vector, lanes)
            pointer = self.bounds.resolve(part, pattern.shared, part.size, lane)
            if self.watch:
                self.watch.one(part, pointer, vector, None)
            return [b.broadcast(v, lanes) for v in load_elements(b, pointer, part.element, part.count)]

        def scattered(rare: bool) -> list[Value]:
            return self.scatter.load(part, masked(part.space, part.offset), vector, rare)

        return self._by_pattern(pattern, contiguous, uniform, scattered)

    def shared(self, part: LanePart) -> Emit | None:
        """What loads the elements of lanes that are proved to share them; None of other lanes."""
        lanes = part.offset.lanes
        if lanes == 1 or part.mask is True or stride_of(part) != 0 or has_gaps_or_overlaps(part) or self.watch:
            return None
        if part.space.zeros_beyond and self.blocks:
            return None
        vector = self.b.broadcast(part.mask, lanes)
        pattern = pattern_of(part, vector)
        if pattern.uniform != "true":
            return None

        def load() -> list[Value]:
            lane = partial(first_active, self.b, vector, lanes)
            pointer = self.bounds.resolve(part, pattern.shared, part.size, lane)
            return load_elements(self.b, pointer, part.element, part.count)

        return load

    def _load_scalar(self, part: LanePart) -> list[Value]:
        """One offset for all lanes."""
        b, mask = self.b, part.mask

        def lane() -> str:
            return "0" if mask is True or mask.lanes == 1 else first_active(b, mask, mask.lanes)

        pointer = self.bounds.resolve(part, part.offset, part.size, lane)
        if self.watch:
            lanes = 1 if mask is True else mask.lanes
            self.watch.one(replace(part, lanes=lanes), pointer, None if lanes == 1 or mask is True else mask, None)
        return load_elements(b, pointer, part.element, part.count)

    def store(self, part: LanePart, values: list[Value]) -> list[Value]:
        """Store elements of each active lane; of lanes with one offset the highest wins."""
        b, lanes = self.b, part.lanes
        vector = None if part.mask is True else b.broadcast(part.mask, lanes)

        def single(offset: Value) -> list[Value]:
            last = last_active(b, vector, lanes)
            pointer = self.bounds.resolve(part, offset, part.size, partial(first_active, b, vector, lanes))
            for k, value in enumerate(values):
                element = value if value.lanes == 1 else b.lane(value, last)
                b.store(element, b.offset(pointer, k * part.element.size), 1)
            if self.watch:
                self.watch.one(part, pointer, vector, values)
            return []

        if part.offset.lanes == 1:
            return single(part.offset)
        values = [b.broadcast(v, lanes) for v in values]
        if self.strided and has_gaps_or_overlaps(part):
            self.strided.store(part, values, vector)
            return []
        if self.unproved and stride_of(part) is None:
            self.unproved.store(part, values, vector)
            return []
        if nearby := self._row_nearby(part):
            return self._store_nearby(part, nearby, values, vector)
        pattern = pattern_of(part, vector)
        row = self.bounds.row_if_contiguous(part, pattern, vector)

        def contiguous() -> list[Value]:
            pointer = row or self.bounds.row(part, pattern.low, vector)
            store_row(part, pointer, values, vector)
            if self.watch:
                self.watch.row(part, pointer, vector, stores=True)
            return []

        def scattered(rare: bool) -> list[Value]:
            self.scatter.store(part, masked(part.space, part.offset), values, vector, rare)
            return []

        return self._by_pattern(pattern, contiguous, lambda: single(pattern.shared), scattered)

    # -- rows whose bounds show that no lane wrapped around ------------------------------------------------

    def _row_nearby(self, part: LanePart) -> NearbyRow | None:
        """A row of lanes that are one if they are inside of a buffer."""
        known = part.offset.facts.affine
        if self.watch or known is None or stride_of(part) != part.size:
            return None
        low = self.b.retype(known.first_lane, part.offset.type)
        span = self.bounds.span_nearby(part, low, part.offset.lanes * part.size)
        return NearbyRow(known, low, *span) if span else None

    def _load_nearby(self, part: LanePart, row: NearbyRow, vector: Value | None) -> list[Value]:
        """The elements of all lanes, whether they are active or not."""
        away = partial(self.scatter.load, part, part.offset, vector, rare=True)
        at_an_edge = None if vector is None else partial(self.bounds.load_at_edge, part, row.low, vector)
        return self._unless_outside(row, partial(load_row, part, row.pointer, None), at_an_edge, away)

    def _store_nearby(self, part: LanePart, row: NearbyRow, values: list[Value], vector: Value | None) -> list[Value]:
        """Elements of each active lane."""

        def store(pointer: str) -> list[Value]:
            store_row(part, pointer, values, vector)
            return []

        def at_an_edge() -> list[Value]:
            return store(self.bounds.row(part, row.low, vector))

        def away() -> list[Value]:
            self.scatter.store(part, part.offset, values, vector, rare=True)
            return []

        return self._unless_outside(row, partial(store, row.pointer), None if vector is None else at_an_edge, away)

    def _unless_outside(self, row: NearbyRow, inside: Emit, at_an_edge: Emit | None, away: Emit) -> list[Value]:
        """Code for a row inside of its buffer; for one at an edge of it, of which some lanes are active; and for lanes
        that wrapped around.
        """
        b = self.b

        def outside() -> list[Value]:
            if at_an_edge is None:
                return away()
            return first_of(b, [(row.known.holds(), "", at_an_edge)], away, b.new_label("done"))

        return first_of(b, [(row.outside, UNLIKELY, outside)], inside, b.new_label("done"))

    def _by_pattern(
        self, pattern: AccessPattern, contiguous: Emit, uniform: Emit, scattered: Callable[[bool], list[Value]]
    ) -> list[Value]:
        """Code for each pattern of the lanes, behind the tests that remain; its values.

        Each pattern has separate checks: where several accesses share addresses, LLVM decides once for all of them.
        """
        if pattern.contiguous == "true":
            return contiguous()
        if pattern.uniform == "true":
            return uniform()
        done = self.b.new_label("done")
        arms = [
            (condition, weights, emit)
            for condition, weights, emit in ((pattern.contiguous, "", contiguous), (pattern.uniform, LIKELY, uniform))
            if condition != "false"
        ]
        return first_of(self.b, arms, lambda: scattered(pattern.proved), done)


class NearbyRow(NamedTuple):
    """Lanes that follow each other unless one of them wrapped around on the way to 64 bits: their affine lanes, the
    first one's offset, whether any is outside or did wrap around (i1), and else the host pointer of the first one.
    """

    known: AffineLanes
    low: Value
    outside: str
    pointer: str


class AtomicOperation(NamedTuple):
    """An atomic operation by the data port's name, its type and operands."""

    op: str
    element: DataType
    sources: list[Value]
    wanted: bool = True
    """The old values are used."""


class MemoryAccess:
    """Memory instructions of one function, each lane of which is checked."""

    def __init__(
        self,
        b: Builder,
        leave: FaultExit,
        helpers: dict[str, str],
        prefetcher: StreamPrefetcher,
        traits: AccessTraits,
    ) -> None:
        self.b, self.leave, self.prefetcher, self.separates_writes = b, leave, prefetcher, traits.separates_writes
        self.watch: AccessWatch | None = None
        self.shares = False
        """Whether an element that all lanes share is one scalar."""
        self.place_count = 0
        """Number of places that the lanes of the emitted accesses go to."""
        self.scattered: dict[int, int] = {}
        """Instructions that access elements of lanes which are not proved to follow each other, and the bytes for one
        lane.
        """
        self.own: dict[int, bool] = {}
        """Instructions that access memory, and whether their lanes are proved not to overlap."""
        bounds = CheckedBounds(b, leave, helpers)
        self.out_of_line = OutOfLineAccess(b, bounds)
        self.parts = PartAccess(b, bounds, self.out_of_line)
        scalarised = ScalarisedAccess(b, helpers, traits.instructions)
        unproved = UnprovedAccess(b, bounds, self.out_of_line, scalarised, prefetcher, traits)
        self.parts.unproved, self.parts.blocks = unproved, BlockLoads(b, bounds)
        self.parts.strided = StridedAccess(b, bounds, self.out_of_line, scalarised)
        self.plain_atomics = PlainAtomics(b, self.out_of_line, unproved, traits.is_alone)

    def watched_by(self, watch: AccessWatch) -> None:
        """Let a check watch all accesses."""
        assert self.parts.unproved and self.parts.strided
        self.watch = self.parts.watch = self.out_of_line.watch = watch
        self.parts.unproved.watch = self.parts.strided.watch = watch

    def load(self, space: MemorySpace, address: Value, element: DataType, mask: Mask, count: int = 1) -> list[Value]:
        """``count`` consecutive elements for each lane; where the mask does not hold, 0 or what others load."""
        if self.watch:
            self.watch.begin(max(address.lanes, 1 if mask is True else mask.lanes))
        parts: list[list[Value]] = []
        last_base = ""
        for offset, own, first in proved_rows(narrowed(space, address), count * element.size, mask):
            base = offset.facts.affine.first_lane.text if offset.facts.affine and own is True else ""
            if base and base == last_base:  # a row at the same place as the one before it
                parts.append(parts[-1])
            else:
                part = LanePart(space, offset, own, element, count, offset.lanes, first)
                self._note_places(part, max(address.lanes, 1 if mask is True else mask.lanes))
                parts.append(self._load_part(part, own))
            last_base = base
        if len(parts) == 1:
            return parts[0]
        columns = zip(*parts, strict=True)
        own_lanes = address.lanes // len(parts)
        return [self.b.concat([self.b.broadcast(v, own_lanes) for v in column]) for column in columns]

    def _note_places(self, part: LanePart, lanes: int) -> None:
        """Note where the lanes of a part go, of so many of the access."""
        places, n = places_of(part), self.prefetcher.at()
        self.place_count += places
        self.own[n] = self.own.get(n, True) and 1 < part.offset.lanes == lanes and keeps_apart(part)
        if places > 1:
            self.scattered[n] = part.count * part.element.size

    def _load_part(self, part: LanePart, mask: Mask) -> list[Value]:
        """The elements of each lane of a part; one of all lanes where these are proved to share it."""
        if mask is True and self.shares and not self.watch and (place := shared_by_lanes(part.offset)):
            return self.parts.load(replace(part, offset=place))
        if part.is_one_row():
            return self.parts.load(part)
        if shared := self.parts.shared(part):
            # One element is the same for all lanes, whether any lane loads it or not.
            found = if_any(self.b, mask, shared)
            return found if self.shares else [self.b.broadcast(v, part.lanes) for v in found]
        return if_any(self.b, mask, partial(self.parts.load, part))

    def store(self, space: MemorySpace, address: Value, values: list[Value], mask: Mask) -> None:
        """Consecutive elements for each active lane; of lanes with one address the highest wins."""
        space = space.for_writes() if self.separates_writes else space
        element, count = values[0].type, len(values)
        lanes = max(address.lanes, *(v.lanes for v in values), 1 if mask is True else mask.lanes)
        if self.watch:
            self.watch.begin(lanes)
        for offset, own, first in proved_rows(narrowed(space, address), count * element.size, mask):
            own_lanes = lanes if address.lanes == 1 else offset.lanes
            part = LanePart(space, offset, own, element, count, own_lanes, first)
            self._note_places(part, lanes)
            emit = partial(self.parts.store, part, self._own_values(values, part, lanes))
            if part.is_one_row():
                emit()
            else:
                if_any(self.b, own, emit)

    def _own_values(self, values: list[Value], part: LanePart, lanes: int) -> list[Value]:
        """The lanes of the values that belong to a part."""
        if part.lanes == lanes:
            return values
        own = list(range(part.first, part.first + part.lanes))
        return [self.b.lanes(v, own) for v in values]

    def mapped(self, space: MemorySpace, address: Value, size: int, mask: Mask) -> Mask:
        """The lanes whose first and last byte are inside a buffer (between two buffers there is always a gap)."""
        b, lanes = self.b, max(address.lanes, 1 if mask is True else mask.lanes)
        vector = None if mask is True else b.broadcast(mask, lanes)
        part = LanePart(space, address, mask, types.UB, 1, lanes)
        found = mask
        for offset in (address, address + b.const(size - 1, address.type)):
            results = self.out_of_line.call("mapped", part, b.broadcast(masked(space, offset), lanes), vector, [])
            inside = b.load(types.UB, lanes, results, 64) != b.const(0, types.UB)
            found = inside if found is True else found & inside
        return found

    def atomic(self, space: MemorySpace, address: Value, operation: AtomicOperation, mask: Mask, lanes: int) -> Value:
        """Atomic operations of so many lanes in their order; the old values: 0 where the mask does not hold, arbitrary
        if they are not ``wanted``. Address and sources may be scalars.
        """
        op, element, sources, wanted = operation
        b = self.b
        space = space.for_writes() if self.separates_writes else space
        vector = None if mask is True else b.broadcast(mask, lanes)
        offset = b.broadcast(masked(space, narrowed(space, address)), lanes)
        part = LanePart(space, offset, mask, element, 1, lanes)
        if self.watch is None and self.plain_atomics.handles(op, part):
            return self.plain_atomics.act(op, part, vector, sources, wanted)
        found = b.load(element, lanes, self.out_of_line.call(op, part, offset, vector, sources), 64)
        if self.watch:
            self.watch.begin(lanes)
            self.watch.changed(part, offset, vector, lambda: self._only_read(op, found, sources))
        return found

    def _only_read(self, op: str, found: Value, sources: list[Value]) -> Value | None:
        """The lanes of an atomic operation that have changed nothing; None if there cannot be any."""
        b = self.b
        if op == "load":
            return b.all_lanes(found.lanes)
        if ATOMIC_SOURCES.get(op) != 2:
            return None
        wanted = b.broadcast(b.bitcast(sources[0], found.type), found.lanes)
        if op in BFLOAT_ATOMICS:
            shift = b.const(16, types.UD)
            found, wanted = (b.bitcast(b.cast(x, types.UD) << shift, types.F) for x in (found, wanted))
        elif op != "cmpxchg":
            real = {t.size: t for t in (types.HF, types.F, types.DF)}[found.type.size]
            found, wanted = b.bitcast(found, real), b.bitcast(wanted, real)
        return found != wanted
