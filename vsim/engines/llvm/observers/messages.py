"""Counts of messages to memory: the tables that compiled code counts in (``support/messages.ll``)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.surfaces import table_entries
from vsim.engines.llvm.host.tables import Range, address, aligned
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Offsets, Words
from vsim.launch.dispatch import Dispatch
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

_EMPTY = ctypes.CFUNCTYPE(None)
_DIRECT = {
    "messages": cx.SITE_MESSAGES, "read": cx.SITE_READ, "written": cx.SITE_WRITTEN, "lines": cx.SITE_LINES,
    "used": cx.SITE_USED, "unaligned": cx.SITE_UNALIGNED, "passes": cx.SITE_PASSES, "fewest_passes": cx.SITE_FEWEST,
    "atomics": cx.SITE_ATOMICS, "serial": cx.SITE_SERIAL,
}  # fmt: skip


class CountedMessages(CompiledObserver):
    """The tables of one launch: counts of all instructions of the module, and of all memories."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch, self.functions = dispatch, dispatch.image.module.all_functions
        self.sites: Words = np.zeros((sum(len(f.instructions) for f in self.functions), cx.SITE_SIZE // 8), np.uint64)
        self.table: Words = np.zeros(((1 << cx.MESSAGES_TABLE_BITS), cx.MESSAGES_RECORD // 8), np.uint64)
        self.intervals: Words = np.zeros(2 * cx.MESSAGE_INTERVALS, np.uint64)
        self.block: Words = aligned(cx.MESSAGES_SIZE).view(np.uint64)
        self.emptied: list[Offsets] = []
        self.empties = _EMPTY(self._empty)
        self._find_memories()

    def _find_memories(self) -> None:
        """Give each buffer and image a number; those at one place of the process are one."""
        memory, entries = self.dispatch.memory, list(table_entries(self.dispatch))
        hosts = dict.fromkeys([*(b.host for b in memory.slots.values()), *(s.host for _, s in entries)])
        numbers = {host: n for n, host in enumerate(hosts, cx.SCRATCH_MEMORY + 1)}
        of_threads = [BufferCounts("local memory", LOCAL, 0), BufferCounts("scratch memory", SCRATCH, 0)]
        self.found = [*of_threads, *(memory_at(self.dispatch, host) for host in hosts)]
        self.memories: Words = np.zeros((len(self.found), cx.MEMORY_SIZE // 8), np.uint64)
        self.slots: Words = np.zeros(max(memory.slots, default=0) + 1, np.uint64)
        self.last: list[Words] = []
        self.memories[:2, cx.MEMORY_KIND // 8] = cx.MEMORY_BANKED, cx.MEMORY_OTHER
        for number, counts in enumerate(self.found):
            own = self.memories[number]
            own[cx.MEMORY_BASE // 8] = number << cx.MESSAGE_OFFSET_BITS
            lines = 0 if counts is None else -(-counts.size // LINE_BYTES)
            self.last.append(np.zeros(lines + LINES_BEHIND, np.uint64))
            own[cx.MEMORY_LAST // 8] = address(self.last[-1])
        for slot, buffer in memory.slots.items():
            number = numbers[buffer.host]
            self.memories[number, cx.MEMORY_START // 8] = buffer.address
            self.slots[slot] = self._memory(number)
        self.surfaces = [(entry, self._memory(numbers[surface.host])) for entry, surface in entries]

    def _memory(self, number: int) -> int:
        return address(self.memories) + number * cx.MEMORY_SIZE

    def prepare(self, engine: LaunchPlan) -> None:
        """Counts of surfaces are found by their table."""
        for entry, at in self.surfaces:
            engine.surfaces[(entry * cx.SURFACE_ENTRY + cx.SURFACE_COUNTS) // 8] = at
        fields = {
            cx.MESSAGES_TABLE: address(self.table),
            cx.MESSAGES_EMPTY: ctypes.cast(self.empties, ctypes.c_void_p).value or 0,
            cx.MESSAGES_SITES: address(self.sites),
            cx.MESSAGES_MEMORIES: address(self.memories),
            cx.MESSAGES_SLOTS: address(self.slots),
            cx.MESSAGES_INTERVALS: address(self.intervals),
        }
        for offset, value in fields.items():
            self.block[offset // 8] = value
        engine.context[cx.MESSAGES // 8] = address(self.block)

    def ranges(self) -> list[Range]:
        arrays = [self.sites, self.table, self.intervals, self.block, self.memories, self.slots, *self.last]
        return [(address(a), a.nbytes, True) for a in arrays]

    def _empty(self) -> None:
        """Take what the table has, for compiled code that has filled half of it."""
        self.emptied.append(self.table[self.table[:, 0] != 0].view(np.int64))
        self.table[:] = 0
        self.block[cx.MESSAGES_TABLE_COUNT // 8] = 0

    def launch_end(self, error: Exception | None) -> None:
        self._empty()
        of_values, first = self._values(), 0
        of_instructions = listeners(self.dispatch.observers, Observer.sent)
        of_memories = listeners(self.dispatch.observers, Observer.served)
        for function in self.functions:
            for number in range(len(function.instructions)):
                if self.sites[first + number, cx.SITE_MESSAGES // 8]:
                    counts = self._counts(first + number, of_values)
                    for tell in of_instructions:
                        tell(function, number, counts)
            first += len(function.instructions)
        totals = MemoryTotals()
        for number, new in enumerate(self.found):
            self._add(number, new, totals)
        for counts_of_memory in totals.found.values():
            for tell_memory in of_memories:
                tell_memory(counts_of_memory)

    def _values(self) -> dict[int, Offsets]:
        """By key of the table values and how often each was seen: values x 2."""
        records = np.concatenate(self.emptied)
        records = records[np.lexsort((records[:, 1], records[:, 0]))]
        if not len(records):
            return {}
        keys, values = records[:, 0], records[:, 1]
        begins = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]) | (values[1:] != values[:-1])))
        found = np.column_stack((values[begins], np.add.reduceat(records[:, 2], begins)))
        of_keys, at = np.unique(keys[begins], return_index=True)
        return dict(zip(of_keys.tolist(), np.split(found, at[1:]), strict=True))

    def _counts(self, site: int, of_values: dict[int, Offsets]) -> MessageCounts:
        own, key = self.sites[site], address(self.sites) + site * cx.SITE_SIZE
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

    def _add(self, number: int, new: BufferCounts | None, totals: MemoryTotals) -> None:
        """Add what was done to a memory, if anything, to the counts of its name."""
        read, written, atomics, lines = self.memories[number, cx.MEMORY_READ // 8 : cx.MEMORY_REUSE // 8].tolist()
        if new is None or not (read or written):
            return
        counts = totals.of(new)
        counts.read, counts.written = counts.read + read, counts.written + written
        counts.atomics, counts.lines = counts.atomics + atomics, counts.lines + lines
        counts.footprint += int(np.count_nonzero(self.last[number])) * LINE_BYTES
        for power, count in enumerate(self.memories[number, cx.MEMORY_REUSE // 8 :].tolist()):
            if count:
                counts.reuse[1 << power] += count
