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

from visakit.diagnostics import SimulationError
from visakit.language.program import Function
from vsim.checks import races
from vsim.checks.accesses import RECORD, LaunchAccesses, Ranges, Records
from vsim.checks.findings import Findings
from vsim.checks.names import RACE, RACE_ITEMS
from vsim.checks.queued import united
from vsim.checks.selection import Checking
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.race import (
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
from vsim.engines.llvm.host.tables import Range, WorkerMemory
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Array, Bytes, Words, address_of
from vsim.launch.bound_launch import PRIVATE_MEMORY
from vsim.launch.dispatch import TIMEOUT, Dispatch
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import Buffer

_PLACES = (1 << PLACE_BITS) - 1
SMALLEST_WINDOW = _PIECE = 1 << 20
"""Bytes."""
_LARGE = 32 << 20
"""Bytes of memory whose words are given back before a launch runs again."""
DWORD_BITS = LARGEST_UNIT.bit_length() - 1
Flags = npt.NDArray[np.bool_]
Units = tuple[Words, Words]
"""Dwords of global memory, and offsets in local memory in dwords."""
RunOnce = Callable[[Dispatch, CompiledObserver], None]
"""Runs a launch with one more observer."""


class RaceRun(CompiledObserver):
    """One run: what compiled code finds, and which units are marked when it begins.

    Args:
        units: dwords of global memory to record, and offsets in local memory in dwords; None for a run that checks.
        window: the global memory whose words are kept.
    """

    def __init__(self, dispatch: Dispatch, units: Units | None = None, window: Window = WHOLE) -> None:
        self.dispatch, self.units = dispatch, units
        self.block = RaceBlock(dispatch, units is not None, window)
        self.marked: list[Words] = []
        self.workers: Sequence[WorkerMemory] = ()
        self.compiled: Sequence[Function] = ()
        """The functions, as the code has numbers for them."""

    def prepare(self, engine: LaunchPlan) -> None:
        self.workers, self.compiled = engine.workers, engine.kernel.functions
        engine.context[cx.RACE // 8] = address_of(self.block.words)
        private = self.dispatch.memory.blocks.get(PRIVATE_MEMORY)
        if self.units is not None:
            inside, offsets = self.units
            self._mark(inside)
            for worker in engine.workers:
                self._mark(offsets + np.uint64((address_of(worker.slm) & _PLACES) >> DWORD_BITS))
        elif private is not None:  # Nobody else's, and not worth a place in the list.
            for bits in range(DWORD_BITS + 1) if FINE in self.dispatch.checks else (DWORD_BITS,):
                first = (private.host & _PLACES) >> bits
                self._mark(np.arange(first, first + (private.size >> bits) + 1, dtype=np.uint64))

    def _mark(self, units: Words) -> None:
        shadow().set_marks(units, 1)
        self.marked.append(units)

    def ranges(self) -> list[Range]:
        own = [
            (address_of(array), array.nbytes, True) for array in (self.block.words, self.block.list, self.block.steps)
        ]
        return [*own, (shadow().start, shadow().size, True)]

    def end(self) -> None:
        """Take all marks away."""
        for units in self.marked:
            shadow().set_marks(units, 0)
        if not self.block.recording:
            shadow().set_marks(self.block.listed, 0)

    def accesses(self, again: _Again) -> LaunchAccesses:
        """What the run did to global memory, as its words tell: units whose words have ids of this launch."""
        read, changed = [np.zeros((0, 2), np.uint64)], [np.zeros((0, 2), np.uint64)]
        for host, size in _memories(self.dispatch):
            begin, end = (host & _PLACES) >> DWORD_BITS, ((host + size - 1) & _PLACES) >> DWORD_BITS
            own, written = self._own(begin, end + 1)
            for which, ranges in ((own & ~written, read), (written, changed)):
                edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(np.int8)))
                places = (edges.astype(np.uint64) + np.uint64(begin)) << np.uint64(DWORD_BITS)
                ranges.append((places + np.uint64(host & ~_PLACES)).reshape(-1, 2))
        return LaunchAccesses(united(read), united(changed), again.accesses_to)

    def _own(self, begin: int, end: int) -> tuple[Flags, Flags]:
        """Of which of the dwords from a number on the words are of this launch, and say that it has written them."""
        first = self.block.words[cx.RACE_FIRST_ID // 8]
        count = self.block.words[cx.RACE_ALL_ID // 8] + self.block.words[cx.RACE_SPAN // 8] - first
        words = shadow().words(begin, end - begin)
        own: Flags = words - np.uint32(first) < np.uint32(count)
        flags = np.uint32((1 << int(self.block.words[cx.RACE_FLAGS // 8])) - 1)
        return own, own & ((words & flags) != 0)

    def written(self, first: int, end: int) -> Flags:
        """Which of the dwords from a number on the run has written."""
        return self._own(first, end)[1]

    def windows(self) -> list[Window]:
        """The memory that the run has written, in windows of which words, one for each byte, take as much as it all."""
        return windows([(host & _PLACES, size) for host, size in _memories(self.dispatch)], self._has_written)

    def _has_written(self, first: int, size: int) -> bool:
        """Whether a word of some memory says that this launch has written it."""
        end = (first + size + LARGEST_UNIT - 1) >> DWORD_BITS
        return bool(self.written(first >> DWORD_BITS, end).any())

    def suspicious(self) -> Units:
        """Dwords of global memory that were marked, and offsets of those in local memory."""
        found, bits = self.block.listed, self.block.unit_bits
        local, offsets = np.zeros(found.size, bool), [np.zeros(0, np.uint64)]
        for worker in self.workers:
            first = np.uint64((address_of(worker.slm) & _PLACES) >> bits)
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

    A window may span the gap between two memories; nothing of the gap is kept.

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
        for copy, array in zip(found, arrays, strict=True):
            copy.view(array.dtype).reshape(array.shape)[...] = array
        return found


class ChangedMemory:
    """The memory that a run has written, dword for dword: its contents are exchanged while the launch runs again.

    Other bytes of the buffers are not touched: they may be mapped or shared, and the program may write there meanwhile.

    Args:
        arrays: the memory that it may have written. Of an array with gaps all counts as written.
        before: its contents before, in bytes.
    """

    def __init__(self, run: RaceRun, arrays: Sequence[Array], before: Sequence[Bytes]) -> None:
        self.arrays, self.before = arrays, before
        self.parts: list[tuple[Bytes, Bytes, int, Bytes]] = []
        """Of each piece that has some: memory, contents before, place of the first byte in its dword, and packed flags
        of dwords.
        """
        self.whole: list[tuple[Array, Array]] = []
        for array, old in zip(arrays, before, strict=True):
            if array.flags.c_contiguous:
                self._add(run, array.reshape(-1).view(np.uint8), old)
            else:
                self.whole.append((array, old.view(array.dtype).reshape(array.shape)))

    def _add(self, run: RaceRun, memory: Bytes, old: Bytes) -> None:
        first, start = address_of(memory) & _PLACES, 0
        while start < memory.size:
            end = min(start + _PIECE - ((first + start) & (LARGEST_UNIT - 1)), memory.size)
            units = (first + start) >> DWORD_BITS, (first + end + LARGEST_UNIT - 1) >> DWORD_BITS
            written = run.written(*units)
            if written.any():
                place = (first + start) & (LARGEST_UNIT - 1)
                self.parts.append((memory[start:end], old[start:end], place, np.packbits(written)))
            start = end

    def put_back(self) -> Callable[[], None]:
        """Let memory have its contents from before; the result lets it have the present ones again."""
        after = [memory.copy() for memory, *_ in self.parts]
        whole = [array.copy() for array, _ in self.whole]
        for memory, old, place, flags in self.parts:
            _put(memory, old, place, flags)
        for array, contents in self.whole:
            array[...] = contents

        def end() -> None:
            for (memory, _, place, flags), new in zip(self.parts, after, strict=True):
                _put(memory, new, place, flags)
            for (array, _), contents in zip(self.whole, whole, strict=True):
                array[...] = contents

        return end


def _put(memory: Bytes, contents: Bytes, place: int, flags: Bytes) -> None:
    """Replace the dwords of memory that flags are set of; its first byte is at a place in a dword."""
    chosen = np.repeat(np.unpackbits(flags).view(np.bool_), LARGEST_UNIT)[place : place + memory.size]
    if chosen.all():
        memory[:] = contents
    else:
        np.copyto(memory, contents, where=chosen)


def run(dispatch: Dispatch, once: RunOnce, saved: SavedMemory) -> None:
    """Run a launch, and find its races.

    Args:
        saved: room for the earlier contents of the memory.

    Raises:
        Unsupported: the check cannot watch it.
    """
    findings = dispatch.findings
    assert findings is not None
    written = _written(dispatch)
    before = saved.copies(written)
    if findings.keeps_accesses:
        before = [b.copy() for b in before]
    first = RaceRun(dispatch)
    try:
        once(dispatch, first)
    except SimulationError as error:
        first.end()
        if (
            error.diagnostics[0].code != TIMEOUT and first.block.count
        ):  # The report of the fault has what raced before it.
            _find(dispatch, first, _Again(dispatch, once, ChangedMemory(first, written, before)))
        raise
    except BaseException:
        first.end()
        raise
    first.end()
    if findings.keeps_accesses or first.block.count:
        again = _Again(dispatch, once, ChangedMemory(first, written, before))
        if findings.keeps_accesses:
            findings.accesses = first.accesses(again)
        _find(dispatch, first, again)


def _find(dispatch: Dispatch, first: RaceRun, again: _Again) -> None:
    """Find the races of a launch that has run."""
    findings = dispatch.findings
    assert findings is not None
    units = again.finer(first.windows()) if first.is_too_coarse else first.suspicious()
    if units[0].size or units[1].size:
        if sum(b.nbytes for b in again.changed.before) >= _LARGE:
            shadow().forget()  # What they say is taken, and the memory is needed.
        races.report(again.recorded(units), findings, partial(races.memory_name, dispatch))


@dataclass(frozen=True)
class _Again:
    """A launch that can run again from the memory that it had before, to record accesses."""

    dispatch: Dispatch
    once: RunOnce
    changed: ChangedMemory

    @property
    def _of_items(self) -> frozenset[str]:
        """The check that tells work-items apart, if it watches the launch."""
        return self.dispatch.checks & {RACE_ITEMS}

    def recorded(self, units: Units) -> Records:
        """The accesses to dwords of global memory, and to offsets in local memory; memory is as it was."""
        run = self._run(units, RECORDING, *self._of_items)
        return _renumbered(run.block.records, self.dispatch, run.compiled)

    def finer(self, windows: Sequence[Window]) -> Units:
        """The dwords that are suspicious if units are smaller, as :meth:`RaceRun.suspicious` gives them."""
        found: list[Units] = []
        for window in windows:
            shadow().forget()
            try:
                run = self._run(None, RACE, FINE, *self._of_items, window=window)
            finally:
                shadow().forget()
            found.append(run.suspicious())
        inside, offsets = (np.unique(np.concatenate(parts)) for parts in zip(*found, strict=True))
        return chosen(inside), chosen(offsets)

    def _run(self, units: Units | None, *checks: str, window: Window = WHOLE) -> RaceRun:
        """Run the launch again, from the memory that it had before; then memory is as it was.

        Raises:
            SimulationError: memory that it had is gone.
        """
        end = self.changed.put_back()
        dispatch = replace(self.dispatch, findings=Findings(Checking(frozenset(checks))), observers=())
        run = RaceRun(dispatch, units, window)
        try:
            self.once(dispatch, run)
        except SimulationError:
            if not run.workers:
                raise
            # The launch ends with a fault, and does so again.
        finally:
            run.end()
            end()
        return run

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
    """Addresses of buffers and images in the host's memory, and their bytes."""
    yield from ((b.host, b.size) for b in _buffers(dispatch))
    yield from ((i.host, i.array.nbytes) for i in _images(dispatch))


def _images(dispatch: Dispatch) -> list[SurfaceImage]:
    return [s for s in dispatch.all_surfaces if isinstance(s, SurfaceImage)]


def _buffers(dispatch: Dispatch) -> list[Buffer]:
    """All buffers that a kernel can reach but for those of the simulator's own."""
    own = dispatch.memory.blocks.get(PRIVATE_MEMORY)
    return [b for b in dispatch.memory.buffers() if b is not own and b.size]
