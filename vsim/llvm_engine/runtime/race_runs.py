"""The runs of a launch that the race check watches: one that checks, and where it found suspicious memory one that
records, from the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from visa.diagnostics import SimulationError
from visa.program import Function
from vsim.arrays import Array, Bytes, Words
from vsim.checks import races
from vsim.checks.accesses import RECORD, Records
from vsim.checks.findings import Findings
from vsim.checks.queued import LaunchAccesses, Ranges, united
from vsim.checks.selection import RACE, Checking
from vsim.dispatch import PRIVATE_MEMORY, Dispatch
from vsim.images import SurfaceImage
from vsim.llvm_engine import Unsupported
from vsim.llvm_engine.plan import LaunchPlan
from vsim.llvm_engine.runtime import context as cx
from vsim.llvm_engine.runtime.race import (
    CHOSEN,
    FINE,
    LARGEST_UNIT,
    PLACE_BITS,
    RECORDING,
    WHOLE,
    RaceBlock,
    Window,
    shadow,
)
from vsim.llvm_engine.runtime.tables import address
from vsim.memory import Buffer

_PLACES = (1 << PLACE_BITS) - 1
SMALLEST_WINDOW = _COMPARED = 1 << 20
"""Bytes."""
DWORD_BITS = LARGEST_UNIT.bit_length() - 1
Units = tuple[Words, Words]
"""Dwords of global memory, and offsets in local memory in dwords."""
RunOnce = Callable[[Dispatch, "RaceRun"], LaunchPlan]
"""Runs a launch, with what compiled code is to find."""


class RaceRun:
    """One run: what compiled code finds, and which units are marked when it begins.

    Args:
        units: dwords of global memory to record, and offsets in local memory in dwords; None for a run that checks.
        window: the global memory whose words are kept.
    """

    def __init__(self, dispatch: Dispatch, units: Units | None = None, window: Window = WHOLE) -> None:
        self.dispatch, self.units = dispatch, units
        self.block = RaceBlock(dispatch, units is not None, window)
        self.marked: list[Words] = []

    def begin(self, plan: LaunchPlan) -> None:
        """Put what code finds in place."""
        plan.context[cx.RACE // 8] = address(self.block.words)
        private = self.dispatch.memory.blocks.get(PRIVATE_MEMORY)
        if self.units is not None:
            inside, offsets = self.units
            self._mark(inside)
            for worker in plan.workers:
                self._mark(offsets + np.uint64((address(worker.slm) & _PLACES) >> DWORD_BITS))
        elif private is not None:  # Nobody else's, and not worth a place in the list.
            for bits in range(DWORD_BITS + 1) if FINE in self.dispatch.checks else (DWORD_BITS,):
                first = (private.host & _PLACES) >> bits
                self._mark(np.arange(first, first + (private.size >> bits) + 1, dtype=np.uint64))

    def _mark(self, units: Words) -> None:
        shadow().set_marks(units, 1)
        self.marked.append(units)

    def ranges(self) -> list[tuple[int, int, bool]]:
        """What compiled code touches besides, by address, size and whether it writes: for code that checks itself."""
        own = [(address(array), array.nbytes, True) for array in (self.block.words, self.block.list)]
        return [*own, (shadow().writes, shadow().size, True)]

    def end(self) -> None:
        """Take all marks away."""
        for units in self.marked:
            shadow().set_marks(units, 0)
        if not self.block.recording:
            shadow().set_marks(self.block.listed, 0)

    def accesses(self, again: _Again) -> LaunchAccesses:
        """What the run did to global memory, as its words tell: units whose words have ids of this launch."""
        found: list[list[Ranges]] = [[np.zeros((0, 2), np.uint64)], [np.zeros((0, 2), np.uint64)]]
        bits = DWORD_BITS
        for host, size in _memories(self.dispatch):
            begin, end = (host & _PLACES) >> bits, ((host + size - 1) & _PLACES) >> bits
            for words, ranges in zip((shadow().reads, shadow().writes), found, strict=True):
                own = self._own(words, begin, end + 1)
                edges = np.flatnonzero(np.diff(np.concatenate([[False], own, [False]]).astype(np.int8)))
                places = (edges.astype(np.uint64) + np.uint64(begin)) << np.uint64(bits)
                ranges.append((places + np.uint64(host & ~_PLACES)).reshape(-1, 2))
        read, changed = map(united, found)
        return LaunchAccesses(read, changed, again.accesses_to)

    def _own(self, words: int, begin: int, end: int) -> npt.NDArray[np.bool_]:
        """Of which of the dwords from a number on the words are of this launch."""
        first = self.block.words[cx.RACE_FIRST_ID // 8]
        count = self.block.words[cx.RACE_ALL_ID // 8] + self.block.words[cx.RACE_SPAN // 8] - first
        found: npt.NDArray[np.bool_] = shadow().words(words, begin, end - begin) - np.uint32(first) < np.uint32(count)
        return found

    def windows(self) -> list[Window]:
        """The memory that the run has written, in windows of which words, one for each byte, take as much as it all."""
        return windows([(host & _PLACES, size) for host, size in _memories(self.dispatch)], self._has_written)

    def _has_written(self, first: int, size: int) -> bool:
        """Whether a word for writes of some memory is of this launch."""
        end = (first + size + LARGEST_UNIT - 1) >> DWORD_BITS
        return bool(self._own(shadow().writes, first >> DWORD_BITS, end).any())

    def suspicious(self, plan: LaunchPlan) -> Units:
        """Dwords of global memory that were marked, and offsets of those in local memory."""
        found, bits = self.block.listed, self.block.unit_bits
        local, offsets = np.zeros(found.size, bool), [np.zeros(0, np.uint64)]
        for worker in plan.workers:
            first = np.uint64((address(worker.slm) & _PLACES) >> bits)
            own = (found >= first) & (found < first + np.uint64(-(-worker.slm.size >> bits)))
            local |= own
            offsets.append(found[own] - first)
        of_dwords = np.uint64(DWORD_BITS - bits)
        return chosen(np.unique(found[~local] >> of_dwords)), chosen(np.unique(np.concatenate(offsets) >> of_dwords))

    @property
    def is_too_coarse(self) -> bool:
        """Whether more dwords are suspicious than can be recorded, and several threads may have had parts of them."""
        return self.block.count > CHOSEN and self.block.has_narrow


def windows(memories: Sequence[Window], has_written: Callable[[int, int], bool]) -> list[Window]:
    """The parts of memories that are written, in windows of an eighth of all memory each.

    A window goes on over what lies between two memories, of which nothing is kept.

    Args:
        memories: places and bytes.
        has_written: whether something is written in so many bytes from a place on.
    """
    pieces = sorted({(place & -LARGEST_UNIT, place + size) for place, size in memories})
    largest = max(sum(end - first for first, end in pieces) >> 3, SMALLEST_WINDOW)
    step = max(largest >> 4 & -LARGEST_UNIT, LARGEST_UNIT)
    found: list[list[int]] = []
    room = 0
    for first, end in pieces:
        for place in range(first, end, step):
            size = min(step, end - place)
            is_written = has_written(place, size)
            if is_written and room < size:
                found.append([place, place])
                room = largest
            if is_written:
                found[-1][1] = max(found[-1][1], place + size)
            room -= size
    return [(first, end - first) for first, end in found] or [WHOLE]


def chosen(units: Words) -> Words:
    """Of many units the lowest, and as many evenly from the others."""
    if units.size <= CHOSEN:
        return units
    half = CHOSEN // 2
    return np.concatenate([units[:half], units[half :: -(-(units.size - half) // half)]])


class SavedMemory:
    """Room for the contents of memory, which is kept: the system's first look at each page costs more than a copy."""

    def __init__(self) -> None:
        self.room: Bytes = np.zeros(0, np.uint8)

    def copies(self, arrays: Sequence[Array]) -> list[Bytes]:
        """Copies of arrays, until the next ones."""
        ends = np.cumsum([0, *(a.nbytes for a in arrays)])
        if self.room.size < ends[-1]:
            self.room = np.zeros(int(ends[-1]), np.uint8)
        found = [self.room[start:end] for start, end in pairwise(ends.tolist())]
        _restore([f.view(a.dtype).reshape(a.shape) for f, a in zip(found, arrays, strict=True)], arrays)
        return found


def run(dispatch: Dispatch, once: RunOnce, saved: SavedMemory) -> None:
    """Run a launch, and find its races.

    Args:
        saved: room for what the memory held before.

    Raises:
        Unsupported: the check cannot watch it.
    """
    findings = dispatch.findings
    assert findings is not None
    written = _written(dispatch)
    before: Sequence[Array] = saved.copies(written)
    if findings.keeps_accesses:
        before = [b.copy() for b in before]
    first = RaceRun(dispatch)
    try:
        plan = once(dispatch, first)
    finally:
        first.end()
    again = _Again(dispatch, once, written, before)
    if findings.keeps_accesses:
        findings.accesses = first.accesses(again)
    units = again.finer(first.windows()) if first.is_too_coarse else first.suspicious(plan)
    if units[0].size or units[1].size:
        records = again.recorded(units)
        races.report(records, findings, partial(races.memory_name, dispatch))


@dataclass(frozen=True)
class _Again:
    """A launch that can run again from the memory that it had before, to record accesses."""

    dispatch: Dispatch
    once: RunOnce
    written: Sequence[Array]
    before: Sequence[Array]

    def recorded(self, units: Units) -> Records:
        """The accesses to dwords of global memory, and to offsets in local memory; memory is as it was."""
        run, plan = self._run(units, RECORDING)
        return _renumbered(run.block.records, self.dispatch, plan.kernel.functions)

    def finer(self, windows: Sequence[Window]) -> Units:
        """The dwords that are suspicious if units are smaller, as :meth:`RaceRun.suspicious` gives them."""
        found: list[Units] = []
        for window in windows:
            shadow().forget()
            try:
                run, plan = self._run(None, RACE, FINE, window=window)
            finally:
                shadow().forget()
            found.append(run.suspicious(plan))
        inside, offsets = (np.unique(np.concatenate(parts)) for parts in zip(*found, strict=True))
        return chosen(inside), chosen(offsets)

    def _run(self, units: Units | None, *checks: str, window: Window = WHOLE) -> tuple[RaceRun, LaunchPlan]:
        """Run the launch again, from the memory that it had before; then memory is as it was."""
        both = zip(self.before, self.written, strict=True)
        before = [b.view(w.dtype).reshape(w.shape) for b, w in both]
        after = [b if _is_same(w, b) else w.copy() for w, b in zip(self.written, before, strict=True)]
        _restore(self.written, before)
        dispatch = replace(self.dispatch, findings=Findings(Checking(frozenset(checks))), coverage=None)
        run = RaceRun(dispatch, units, window)
        try:
            plan = self.once(dispatch, run)
        finally:
            run.end()
            _restore(self.written, after)
        return run, plan

    def accesses_to(self, ranges: Ranges) -> Records:
        """The accesses to global memory; none if the launch cannot run again."""
        found = [np.zeros(0, np.uint64)]
        first, end = (((edge & _PLACES) >> DWORD_BITS).tolist() for edge in (ranges[:, 0], ranges[:, 1] - np.uint64(1)))
        found += [np.arange(a, b + 1, dtype=np.uint64) for a, b in zip(first, end, strict=True)]
        try:
            return self.recorded((chosen(np.unique(np.concatenate(found))), np.zeros(0, np.uint64)))
        except SimulationError:  # Memory that it had is gone.
            return np.zeros(0, RECORD)


def _renumbered(records: Records, dispatch: Dispatch, compiled: Sequence[Function]) -> Records:
    """Records with the numbers that functions have in the image; compiled code has its own."""
    numbers = {id(f): n for n, f in enumerate(dispatch.image.module.all_functions)}
    known = np.array([numbers[id(f)] for f in compiled], np.uint32)
    records["function"] = known[records["function"]]
    return records


def _written(dispatch: Dispatch) -> list[Bytes | Array]:
    """The memory that a launch may write.

    Raises:
        Unsupported: some of it has the same places in the check's memory.
    """
    places = sorted(set(_memories(dispatch)), key=lambda memory: memory[0] & _PLACES)
    for (one, size), (other, _) in pairwise(places):
        if one >> PLACE_BITS != other >> PLACE_BITS and (one & _PLACES) + size > other & _PLACES:
            raise Unsupported("the check 'race', as buffers lie too far apart in memory")
    found: list[Bytes | Array] = [b.data for b in _buffers(dispatch) if not b.read_only]
    return [*found, *(i.array for i in _images(dispatch) if i.array.flags.writeable)]


def _memories(dispatch: Dispatch) -> Iterator[tuple[int, int]]:
    """Where buffers and images lie in the host's memory, and their bytes."""
    yield from ((b.host, b.size) for b in _buffers(dispatch))
    yield from ((i.host, i.array.nbytes) for i in _images(dispatch))


def _images(dispatch: Dispatch) -> list[SurfaceImage]:
    return [s for s in dispatch.all_surfaces if isinstance(s, SurfaceImage)]


def _buffers(dispatch: Dispatch) -> list[Buffer]:
    """All buffers that a kernel can reach but for those of the simulator's own."""
    own = dispatch.memory.blocks.get(PRIVATE_MEMORY)
    return [b for b in dispatch.memory.buffers() if b is not own and b.size]


def _is_same(one: Bytes | Array, other: Array) -> bool:
    """Whether bytes are the same; of other arrays it is not looked at."""
    if one.dtype != np.uint8 or one.ndim != 1:
        return False
    starts = range(0, one.size, _COMPARED)
    return all(np.array_equal(one[s : s + _COMPARED], other[s : s + _COMPARED]) for s in starts)


def _restore(places: Sequence[Bytes | Array], contents: Sequence[Array]) -> None:
    for place, content in zip(places, contents, strict=True):
        place[...] = content
