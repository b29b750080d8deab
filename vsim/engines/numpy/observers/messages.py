"""Counts of messages to memory on the reference engine, for observers that want them.

All accesses of a message are kept until its end; then those of all threads are counted together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from visakit.isa.record import MemoryKind
from visakit.language.program import Function
from vsim.engines.numpy.memory import BufferPart, MessageAccess, PartitionedSpace
from vsim.launch.arrays import Array, Offsets, address_of
from vsim.launch.bound_launch import BoundLaunch
from vsim.observe.messages import (
    BANK_BYTES,
    BANKS,
    GLOBAL,
    IMAGE,
    IRREGULAR,
    LINE_BYTES,
    LINES_BEHIND,
    LOCAL,
    ONE_LANE,
    SCRATCH,
    BufferCounts,
    MemoryTotals,
    MessageCounts,
    memory_at,
)
from vsim.observe.observer import Event, Observer, listeners
from vsim.semantics.refused import RAW_MESSAGES

_LINE_BITS, _OFFSET_BITS, _SPACE_BITS = 6, 36, 12
_ROW_BITS = _OFFSET_BITS + _SPACE_BITS
"""A place is a number: the thread's row, the number of the memory, and the offset there."""


class _Accesses(NamedTuple):
    """Accesses of lanes, an element for each."""

    rows: Offsets
    offsets: Offsets
    space: int
    size: int
    kind: str

    @property
    def places(self) -> Offsets:
        return (self.rows << _ROW_BITS) | (self.space << _OFFSET_BITS) | self.offsets


class _Lanes(NamedTuple):
    """Lanes of an access: the rows of their threads, in ascending order, and their addresses."""

    rows: Offsets
    addresses: Offsets


class _Memory:
    """A buffer of a launch, with the last access to each of its lines."""

    def __init__(self, counts: BufferCounts, size: int) -> None:
        self.counts = counts
        self.last: Offsets = np.full(-(-size // LINE_BYTES) + LINES_BEHIND, -1, np.int64)

    def touch(self, lines: Offsets, first: int) -> None:
        """Note accesses to lines, which have the numbers from ``first`` on among all."""
        if (beyond := int(lines.max()) + 1 - self.last.size) > 0:  # An image at the place of a smaller buffer.
            self.last = np.append(self.last, np.full(beyond, -1, np.int64))
        times = first + np.arange(lines.size)
        order = np.argsort(lines, kind="stable")
        sorted_lines, before = lines[order], np.empty(lines.size, np.int64)
        again = np.concatenate(([False], sorted_lines[1:] == sorted_lines[:-1]))
        before[order] = np.where(again, np.concatenate(([0], times[order][:-1])), self.last[sorted_lines])
        self.last[sorted_lines] = times[order]  # Of equal lines the last one stays.
        distances = (times - before)[before >= 0]
        powers = np.ceil(np.log2(np.maximum(distances, 1))).astype(np.int64)
        for power, count in zip(*np.unique(powers, return_counts=True), strict=True):
            self.counts.reuse[1 << int(power)] += int(count)


class MessageObserver(Observer):
    """Counts the messages of a launch.

    Args:
        observers: get the counts at the launch's end.
    """

    launch: BoundLaunch

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self.counts: dict[tuple[str, int], MessageCounts] = {}
        self.tells = listeners(observers, Observer.sent), listeners(observers, Observer.served)
        self.totals = MemoryTotals()
        self._functions: dict[str, Function] = {}
        self._memories: list[_Memory] = []
        self._numbers: dict[int, int] = {}
        self._seen: list[_Accesses] = []
        self._lanes: list[_Lanes] = []
        self._atomics: dict[tuple[str, int], Counter[tuple[int, int]]] = {}
        self._time = 0

    def launch_begin(self, launch: BoundLaunch) -> None:
        self.launch = launch

    def chooses(self, function: Function, number: int) -> bool:
        desc = function.instructions[number].desc
        return desc.memory is not MemoryKind.NONE or desc.semantics in RAW_MESSAGES

    def before(self, event: Event) -> None:
        self._seen, self._lanes = [], []

    def accessed(self, event: Event, access: MessageAccess) -> None:
        positions = np.flatnonzero(access.mask.reshape(-1))
        if not positions.size:
            return

        def of_threads(rows: Offsets, values: Array) -> tuple[Offsets, Array]:
            if access.shape[0] > 1:
                return rows, values
            return np.repeat(event.rows, rows.size), np.tile(values, event.rows.size)  # All threads do the same.

        rows = positions // access.shape[1]
        addresses = access.address.astype(np.uint64, copy=False)
        if isinstance(access.space, PartitionedSpace):
            addresses = addresses & np.uint64(access.space.address_mask)
        self._lanes.append(_Lanes(*of_threads(rows, addresses.view(np.int64))))
        for part in access.parts():
            own = rows if part.lanes is None else rows[part.lanes]
            number = self._number(access, part)
            self._seen.append(_Accesses(*of_threads(own, part.offsets), number, access.size, access.kind))

    def after(self, event: Event) -> None:
        if not self._seen:
            return
        self._functions[event.function.name] = event.function
        key = event.function.name, event.number
        counts = self.counts.setdefault(key, MessageCounts())
        counts.messages += np.unique(np.concatenate([lanes.rows for lanes in self._lanes])).size
        self._count_strides(counts)
        for seen in self._seen:
            self._count_bytes(counts, seen)
        cached = [seen for seen in self._seen if self._kind(seen) in (GLOBAL, IMAGE)]
        if cached:
            self._count_lines(counts, cached)
        for seen in self._seen:
            if self._kind(seen) == LOCAL:
                passes, fewest = _bank_passes(seen)
                counts.passes, counts.fewest_passes = counts.passes + passes, counts.fewest_passes + fewest
            if seen.kind == "atomic":
                counts.atomics += seen.rows.size
                counts.serial += _turns(seen)
                self._atomics.setdefault(key, Counter()).update(self._operations(event, seen))

    def launch_end(self, error: Exception | None) -> None:
        for key, operations in self._atomics.items():
            self.counts[key].hottest = max(operations.values())
        for memory in self._memories:
            memory.counts.footprint += int(np.count_nonzero(memory.last >= 0)) * LINE_BYTES
        of_instructions, of_memories = self.tells
        for (name, number), counts in self.counts.items():
            for tell in of_instructions:
                tell(self._functions[name], number, counts)
        for memory_counts in self.totals.found.values():
            for tell_memory in of_memories:
                tell_memory(memory_counts)

    # -- the memory of an access ---------------------------------------------------------------------------

    def _number(self, access: MessageAccess, part: BufferPart) -> int:
        """The number of the memory that lanes access."""
        host = address_of(part.data)
        number = self._numbers.get(host)
        if number is None:
            number = self._numbers[host] = len(self._memories)
            new = memory_at(self.launch, host)
            if new is None:
                name: str = getattr(access.space, "name", "memory")
                new = BufferCounts(name, SCRATCH if "scratch" in name else LOCAL, 0)
            self._memories.append(_Memory(self.totals.of(new), new.size))
        return number

    def _kind(self, seen: _Accesses) -> str:
        return self._memories[seen.space].counts.kind

    # -- counts --------------------------------------------------------------------------------------------

    def _count_strides(self, counts: MessageCounts) -> None:
        """The strides of the first access with lanes of each thread."""
        done = np.zeros(0, np.int64)
        for rows, addresses in self._lanes:
            fresh = ~np.isin(rows, done) if done.size else np.ones(rows.size, bool)
            if fresh.any():
                counts.strides.update(_strides(rows[fresh], addresses[fresh]))
                done = np.union1d(done, rows)

    def _operations(self, event: Event, seen: _Accesses) -> dict[tuple[int, int], int]:
        """Atomic operations by place: of memory that each group has for itself, by group too."""
        places = seen.places & ((1 << _ROW_BITS) - 1)
        groups = np.zeros_like(places)
        if self._kind(seen) not in (GLOBAL, IMAGE):
            groups = event.groups[np.searchsorted(event.rows, seen.rows)]
        found, counts = np.unique(np.stack((groups, places)), axis=1, return_counts=True)
        return dict(zip(zip(*found.tolist(), strict=True), counts.tolist(), strict=True))

    def _count_bytes(self, counts: MessageCounts, seen: _Accesses) -> None:
        memory, moved = self._memories[seen.space].counts, seen.rows.size * seen.size
        for target in (counts, memory):
            target.read += moved if seen.kind != "write" else 0
            target.written += moved if seen.kind != "read" else 0
        memory.atomics += seen.rows.size if seen.kind == "atomic" else 0

    def _count_lines(self, counts: MessageCounts, accesses: list[_Accesses]) -> None:
        starts = np.concatenate([seen.places for seen in accesses])
        ends = np.concatenate([seen.places + seen.size for seen in accesses])
        lines = _touched(starts, ends)
        rows, used, is_row = _used(starts, ends)
        per_row = np.bincount(np.searchsorted(rows, lines >> (_ROW_BITS - _LINE_BITS)), minlength=rows.size)
        counts.lines += lines.size
        counts.used += int(used.sum())
        counts.unaligned += int(np.count_nonzero(is_row & (per_row > -(-used // LINE_BYTES))))
        spaces = (lines >> (_OFFSET_BITS - _LINE_BITS)) & ((1 << _SPACE_BITS) - 1)
        for space in np.unique(spaces).tolist():
            own = lines[spaces == space] & ((1 << (_OFFSET_BITS - _LINE_BITS)) - 1)
            memory = self._memories[space]
            memory.counts.lines += own.size
            memory.touch(own, self._time)
            self._time += own.size


def _touched(starts: Offsets, ends: Offsets) -> Offsets:
    """The lines of each message between some places, each once, in the order of threads."""
    first, last = starts >> _LINE_BITS, (ends - 1) >> _LINE_BITS
    counts = last - first + 1
    if counts.max() > 1:
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        first = np.repeat(first, counts) + within
    return np.unique(first)


def _used(starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets, Array]:
    """The threads of messages, the different bytes that each accesses, and whether these follow each other."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    reached = np.maximum.accumulate(ends)
    before = np.concatenate(([0], reached[:-1]))
    fresh = np.maximum(0, ends - np.maximum(starts, before))
    rows, begin = np.unique(starts >> _ROW_BITS, return_index=True)
    used = np.add.reduceat(fresh, begin)
    return rows, used, np.maximum.reduceat(ends, begin) - starts[begin] == used


def _strides(threads: Offsets, addresses: Offsets) -> Counter[str]:
    """Messages by stride."""
    _, begin, lanes = np.unique(threads, return_index=True, return_counts=True)
    found = Counter({ONE_LANE: int(np.count_nonzero(lanes == 1))})
    steps = np.diff(addresses, append=addresses[-1:])
    steps[begin[1:] - 1] = 0  # No step leads from thread to thread.
    inner = np.ones(addresses.size, bool)
    inner[np.concatenate((begin[1:] - 1, [addresses.size - 1]))] = False
    big = np.iinfo(np.int64).max
    least = np.minimum.reduceat(np.where(inner, steps, big), begin)
    most = np.maximum.reduceat(np.where(inner, steps, -big), begin)
    several = lanes > 1
    found[IRREGULAR] = int(np.count_nonzero(several & (least != most)))
    for stride, count in zip(*np.unique(least[several & (least == most)], return_counts=True), strict=True):
        found[str(int(stride))] = int(count)
    return Counter({name: count for name, count in found.items() if count})


def _bank_passes(seen: _Accesses) -> tuple[int, int]:
    """Turns of the banks that messages take, and the fewest that so many dwords need."""
    first, last = seen.offsets // BANK_BYTES, (seen.offsets + seen.size - 1) // BANK_BYTES
    counts = last - first + 1
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    dwords = np.unique((np.repeat(seen.rows, counts) << _OFFSET_BITS) | (np.repeat(first, counts) + within))
    rows = dwords >> _OFFSET_BITS
    banks, turns = np.unique(rows * BANKS + dwords % BANKS, return_counts=True)
    _, begin = np.unique(banks // BANKS, return_index=True)
    _, sizes = np.unique(rows, return_counts=True)
    return int(np.maximum.reduceat(turns, begin).sum()), int((-(-sizes // BANKS)).sum())


def _turns(seen: _Accesses) -> int:
    """Turns that atomics of messages take if lanes at one address follow each other, and others do not."""
    places, counts = np.unique(seen.places, return_counts=True)
    _, begin = np.unique(places >> _ROW_BITS, return_index=True)
    return int(np.maximum.reduceat(counts, begin).sum())
