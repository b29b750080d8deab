"""Counts of accesses to memory, by instruction and by buffer: bytes, cache lines, strides, banks, atomics, reuse.

The reference engine tells of each access. A *message* is one execution of an instruction by one hardware thread; all
accesses of its lanes belong to it. Cache lines have 64 bytes. Local memory has 16 banks of 4 bytes, as Intel's guide to
optimisation for oneAPI describes it; other widths of banks would give other conflicts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from visakit.isa.record import MemoryKind
from visakit.language.program import Function
from vsim.engines.numpy.memory import BufferPart, MessageAccess
from vsim.launch.arrays import Array, Offsets
from vsim.launch.bound_launch import BoundLaunch
from vsim.memory.images import SurfaceImage
from vsim.observe.observer import Event, Observer
from vsim.profile.counts import LINE_BYTES
from vsim.semantics.refused import RAW_MESSAGES

BANKS, BANK_BYTES = 16, 4
GLOBAL, LOCAL, SCRATCH, IMAGE = "global", "local", "scratch", "image"
IRREGULAR, ONE_LANE = "irregular", "one lane"
_LINE_BITS, _OFFSET_BITS, _SPACE_BITS = 6, 36, 12
_ROW_BITS = _OFFSET_BITS + _SPACE_BITS
"""A place is a number: the thread's row, the number of the memory, and the offset there."""


@dataclass
class MessageCounts:
    """What the messages of one instruction did.

    Attributes:
        messages: executions by threads with active lanes.
        read, written: bytes that lanes read and wrote; an atomic does both.
        lines: cache lines that messages transferred.
        used: bytes of these lines that lanes accessed, each once.
        unaligned: messages whose bytes follow each other, and that touch one line more than aligned ones would.
        strides: messages by the bytes from each lane to the next, where these are the same for all lanes.
        passes, fewest_passes: turns of the banks of local memory that messages took, and the fewest possible.
        atomics: atomic operations of lanes.
        serial: turns of atomics, where lanes of a message at one address wait for each other.
        hottest: the most atomic operations at one address in a launch.
    """

    messages: int = 0
    read: int = 0
    written: int = 0
    lines: int = 0
    used: int = 0
    unaligned: int = 0
    strides: Counter[str] = field(default_factory=Counter)
    passes: int = 0
    fewest_passes: int = 0
    atomics: int = 0
    serial: int = 0
    hottest: int = 0

    def add(self, other: MessageCounts) -> None:
        """Add the counts of other launches."""
        hottest = max(self.hottest, other.hottest)
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.hottest = hottest


@dataclass
class BufferCounts:
    """What launches did to a buffer, an image, local or scratch memory.

    Attributes:
        kind: ``global``, ``image``, ``local`` or ``scratch``.
        size: in bytes; 0 of local and scratch memory.
        lines: cache lines transferred.
        footprint: bytes of the different cache lines of a launch, of the largest one.
        reuse: how often a line was used again, by the line accesses to all memory since, rounded up to a power of two.
    """

    name: str
    kind: str
    size: int
    read: int = 0
    written: int = 0
    atomics: int = 0
    lines: int = 0
    footprint: int = 0
    reuse: Counter[int] = field(default_factory=Counter)

    def add(self, other: BufferCounts) -> None:
        """Add the counts of other launches."""
        for name in ("read", "written", "atomics", "lines", "reuse"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.footprint, self.size = max(self.footprint, other.footprint), max(self.size, other.size)


class _Accesses(NamedTuple):
    """Accesses of lanes, an element for each."""

    rows: Offsets
    space: int
    offsets: Offsets
    size: int
    kind: str

    @property
    def places(self) -> Offsets:
        return (self.rows << _ROW_BITS) | (self.space << _OFFSET_BITS) | self.offsets


class _Memory:
    """A buffer of a launch, with the last access to each of its lines."""

    def __init__(self, counts: BufferCounts, size: int) -> None:
        self.counts = counts
        self.last: Offsets = np.full(-(-size // LINE_BYTES) + 1, -1, np.int64)

    def touch(self, lines: Offsets, first: int) -> None:
        """Note accesses to lines, which have the numbers from ``first`` on among all."""
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


class MemoryObserver(Observer):
    """Counts the accesses of a launch.

    Attributes:
        messages: the counts of each instruction with accesses, by function and number.
        buffers: those of each memory, by name and kind.
    """

    launch: BoundLaunch

    def __init__(self) -> None:
        self.messages: dict[tuple[str, int], MessageCounts] = {}
        self.buffers: dict[tuple[str, str], BufferCounts] = {}
        self._memories: list[_Memory] = []
        self._numbers: dict[int, int] = {}
        self._seen: list[_Accesses] = []
        self._atomics: dict[tuple[str, int], Counter[int]] = {}
        self._time = 0

    def launch_begin(self, launch: BoundLaunch) -> None:
        self.launch = launch

    def chooses(self, function: Function, number: int) -> bool:
        desc = function.instructions[number].desc
        return desc.memory is not MemoryKind.NONE or desc.semantics in RAW_MESSAGES

    def before(self, event: Event) -> None:
        self._seen = []

    def accessed(self, event: Event, access: MessageAccess) -> None:
        positions = np.flatnonzero(access.mask.reshape(-1))
        for part in access.parts() if positions.size else ():
            own = positions if part.lanes is None else positions[part.lanes]
            rows, offsets = own // access.shape[1], part.offsets
            if access.shape[0] == 1:  # All threads do the same.
                rows, offsets = np.repeat(event.rows, own.size), np.tile(offsets, event.rows.size)
            number = self._number(access, part)
            self._seen.append(_Accesses(rows, number, offsets, access.size, access.kind))

    def after(self, event: Event) -> None:
        if not self._seen:
            return
        key = event.function.name, event.number
        counts = self.messages.setdefault(key, MessageCounts())
        counts.messages += np.unique(np.concatenate([seen.rows for seen in self._seen])).size
        for seen in self._seen:
            self._count_bytes(counts, seen)
        counts.strides.update(_strides(self._seen[0]))
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
                places = seen.places & ((1 << _ROW_BITS) - 1)
                sums = dict(zip(*(a.tolist() for a in np.unique(places, return_counts=True)), strict=True))
                self._atomics.setdefault(key, Counter()).update(sums)

    def launch_end(self, error: Exception | None) -> None:
        for key, operations in self._atomics.items():
            self.messages[key].hottest = max(operations.values())
        for memory in self._memories:
            memory.counts.footprint += int(np.count_nonzero(memory.last >= 0)) * LINE_BYTES

    # -- the memory of an access ---------------------------------------------------------------------------

    def _number(self, access: MessageAccess, part: BufferPart) -> int:
        """The number of the memory that lanes access."""
        host: int = part.data.__array_interface__["data"][0]
        number = self._numbers.get(host)
        if number is None:
            number = self._numbers[host] = len(self._memories)
            name, kind, size = self._memory(access, host)
            counts = self.buffers.setdefault((name, kind), BufferCounts(name, kind, 0))
            counts.size += size
            self._memories.append(_Memory(counts, size))
        return number

    def _memory(self, access: MessageAccess, host: int) -> tuple[str, str, int]:
        """The name, kind and size of memory by its address in this process; of local and scratch memory no size."""
        for buffer in self.launch.memory.buffers():
            if buffer.host == host and buffer.size:
                return self.launch.name_of(buffer), GLOBAL, buffer.room
        for surface in self.launch.all_surfaces:
            if isinstance(surface, SurfaceImage) and surface.host == host:
                return surface.name, IMAGE, surface.array.nbytes
        name: str = getattr(access.space, "name", "memory")
        return name, SCRATCH if "scratch" in name else LOCAL, 0

    def _kind(self, seen: _Accesses) -> str:
        return self._memories[seen.space].counts.kind

    # -- counts --------------------------------------------------------------------------------------------

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


def _strides(seen: _Accesses) -> Counter[str]:
    """Messages by stride."""
    _, begin, lanes = np.unique(seen.rows, return_index=True, return_counts=True)
    found = Counter({ONE_LANE: int(np.count_nonzero(lanes == 1))})
    places = seen.places
    steps = np.diff(places, append=places[-1:])
    steps[begin[1:] - 1] = 0  # No step leads from thread to thread.
    inner = np.ones(places.size, bool)
    inner[np.concatenate((begin[1:] - 1, [places.size - 1]))] = False
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
