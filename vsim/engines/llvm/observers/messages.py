"""Counts of messages to memory: the tables that compiled code counts in (``support/messages.ll``)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.surfaces import table_entries
from vsim.engines.llvm.host.tables import Range, aligned
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.observers.values import CountedValues
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Offsets, Words, address_of
from vsim.launch.dispatch import Dispatch
from vsim.memory.memory import Buffer
from vsim.observe.messages import (
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
from vsim.observe.observer import Observer, listeners

_DIRECT = {
    "messages": cx.SITE_MESSAGES, "read": cx.SITE_READ, "written": cx.SITE_WRITTEN, "lines": cx.SITE_LINES,
    "used": cx.SITE_USED, "unaligned": cx.SITE_UNALIGNED, "passes": cx.SITE_PASSES, "fewest_passes": cx.SITE_FEWEST,
    "atomics": cx.SITE_ATOMICS, "serial": cx.SITE_SERIAL,
}  # fmt: skip


class _Memories:
    """The memories of a launch, each with a number: local and scratch memory, then buffers and images; those at one
    place of the process are one.

    Attributes:
        found: name, kind and size of each; None for memory without a name.
        counts: the fields ``MEMORY_`` of :mod:`abi`.
        slots, surfaces: the place of the counts of a buffer by its slot, and of an entry in the table of surfaces.
    """

    def __init__(self, dispatch: Dispatch) -> None:
        slots, entries = dispatch.memory.slots, list(table_entries(dispatch))
        rooms: dict[int, int] = {}
        for one in (*slots.values(), *(surface for _, surface in entries)):
            rooms[one.host] = max(rooms.get(one.host, 0), one.room if isinstance(one, Buffer) else one.array.nbytes)
        of_threads = [BufferCounts("local memory", LOCAL, 0), BufferCounts("scratch memory", SCRATCH, 0)]
        self.found = [*of_threads, *(memory_at(dispatch, host) for host in rooms)]
        self.last: list[Words] = [
            np.zeros(-(-room // LINE_BYTES) + LINES_BEHIND, np.uint64) for room in (0, 0, *rooms.values())
        ]
        """Of each memory the number of the last use of each of its lines."""
        self.counts: Words = np.zeros((len(self.found), cx.MEMORY_SIZE // 8), np.uint64)
        self.counts[:2, cx.MEMORY_KIND // 8] = cx.MEMORY_BANKED, cx.MEMORY_OTHER
        for number, last in enumerate(self.last):
            own = self.counts[number]
            own[cx.MEMORY_BASE // 8], own[cx.MEMORY_LAST // 8] = number << cx.MESSAGE_OFFSET_BITS, address_of(last)
        numbers = {host: n for n, host in enumerate(rooms, cx.SCRATCH_MEMORY + 1)}
        self.slots: Words = np.zeros((max(slots, default=0) + 1, cx.MESSAGES_SLOT // 8), np.uint64)
        for slot, buffer in slots.items():
            self.slots[slot] = self._counts_of(numbers[buffer.host]), buffer.address
        self.surfaces = [(entry, self._counts_of(numbers[surface.host])) for entry, surface in entries]

    def _counts_of(self, number: int) -> int:
        return address_of(self.counts) + number * cx.MEMORY_SIZE

    def totals(self) -> MemoryTotals:
        """The counts of memories that were accessed."""
        totals = MemoryTotals()
        for own, new, last in zip(self.counts, self.found, self.last, strict=True):
            read, written, atomics, lines = own[cx.MEMORY_READ // 8 : cx.MEMORY_REUSE // 8].tolist()
            if new is None or not (read or written):
                continue
            counts = totals.of(new)
            counts.read, counts.written = counts.read + read, counts.written + written
            counts.atomics, counts.lines = counts.atomics + atomics, counts.lines + lines
            counts.footprint += int(np.count_nonzero(last)) * LINE_BYTES
            for power, count in enumerate(own[cx.MEMORY_REUSE // 8 :].tolist()):
                if count:
                    counts.reuse[1 << power] += count
        return totals


class CountedMessages(CompiledObserver):
    """The tables of one launch: counts of all instructions of the module, and of all memories."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch, self.functions = dispatch, dispatch.image.module.all_functions
        self.sites: Words = np.zeros((sum(len(f.instructions) for f in self.functions), cx.SITE_SIZE // 8), np.uint64)
        self.intervals: Words = np.zeros(2 * cx.MESSAGE_INTERVALS, np.uint64)
        self.block: Words = aligned(cx.MESSAGES_SIZE).view(np.uint64)
        self.values = CountedValues(self.block[cx.MESSAGES_VALUES // 8 :])
        self.memories = _Memories(dispatch)

    def prepare(self, engine: LaunchPlan) -> None:
        """Counts of surfaces are found by their table."""
        for entry, at in self.memories.surfaces:
            engine.surfaces[(entry * cx.SURFACE_ENTRY + cx.SURFACE_COUNTS) // 8] = at
        fields = {
            cx.MESSAGES_SITES: address_of(self.sites),
            cx.MESSAGES_MEMORIES: address_of(self.memories.counts),
            cx.MESSAGES_SLOTS: address_of(self.memories.slots),
            cx.MESSAGES_INTERVALS: address_of(self.intervals),
        }
        for offset, value in fields.items():
            self.block[offset // 8] = value
        engine.context[cx.MESSAGES // 8] = address_of(self.block)

    def ranges(self) -> list[Range]:
        memories = self.memories
        arrays = [self.sites, self.intervals, self.block, memories.counts, memories.slots, *memories.last]
        return [*((address_of(a), a.nbytes, True) for a in arrays), *self.values.ranges()]

    def launch_end(self, error: Exception | None) -> None:
        of_values, first = self.values.found(), 0
        of_instructions = listeners(self.dispatch.observers, Observer.sent)
        of_memories = listeners(self.dispatch.observers, Observer.served)
        for function in self.functions:
            for number in range(len(function.instructions)):
                if self.sites[first + number, cx.SITE_MESSAGES // 8]:
                    counts = self._counts(first + number, of_values)
                    for tell in of_instructions:
                        tell(function, number, counts)
            first += len(function.instructions)
        for counts_of_memory in self.memories.totals().found.values():
            for tell_memory in of_memories:
                tell_memory(counts_of_memory)

    def _counts(self, site: int, of_values: dict[int, Offsets]) -> MessageCounts:
        own, key = self.sites[site], address_of(self.sites) + site * cx.SITE_SIZE
        counts = MessageCounts()
        for name, at in _DIRECT.items():
            setattr(counts, name, int(own[at // 8]))
        for name, number in self._strides(own, of_values.get(key)):
            counts.strides[name] += number
        operations = of_values.get(key + 1)
        counts.hottest = 0 if operations is None else int(operations[:, 1].max())
        return counts

    @staticmethod
    def _strides(own: Words, values: Offsets | None) -> Iterator[tuple[str, int]]:
        """Strides of an instruction's messages and how many have each."""
        rows = str(own[cx.SITE_ROW // 8])
        named = {cx.SITE_ALONE: ONE_LANE, cx.SITE_IRREGULAR: IRREGULAR, cx.SITE_ROWS: rows}
        yield from ((name, int(own[at // 8])) for at, name in named.items() if own[at // 8])
        yield from ((str(stride), count) for stride, count in ([] if values is None else values.tolist()))
