"""The runs of a launch that the race check watches: one that checks, and where it found suspicious memory one that
records, from the same memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from visa.program import Function
from vsim.arrays import Array, Bytes, Words
from vsim.checks import races
from vsim.checks.accesses import Records
from vsim.checks.findings import Findings
from vsim.checks.selection import Checking
from vsim.dispatch import PRIVATE_MEMORY, Dispatch
from vsim.llvm_engine import Unsupported
from vsim.llvm_engine.plan import LaunchPlan
from vsim.llvm_engine.runtime import context as cx
from vsim.llvm_engine.runtime.race import CHOSEN, PLACE_BITS, RECORDING, RaceBlock, shadow
from vsim.llvm_engine.runtime.tables import address
from vsim.memory import Buffer

_PLACES = (1 << PLACE_BITS) - 1
RunOnce = Callable[[Dispatch, "RaceRun"], LaunchPlan]
"""Runs a launch, with what compiled code is to find."""


class RaceRun:
    """One run: what compiled code finds, and which units are marked when it begins.

    Args:
        units: those of global memory to record, and offsets in local memory in units; None for a run that checks.
    """

    def __init__(self, dispatch: Dispatch, units: tuple[Words, Words] | None = None, unit_bits: int = 0) -> None:
        self.dispatch, self.units, self.unit_bits = dispatch, units, unit_bits
        self.block = RaceBlock(dispatch, units is not None)
        self.marked: list[Words] = []

    def begin(self, plan: LaunchPlan) -> None:
        """Put what code finds in place."""
        plan.context[cx.RACE // 8] = address(self.block.words)
        private = self.dispatch.memory.blocks.get(PRIVATE_MEMORY)
        if self.units is not None:
            inside, offsets = self.units
            self._mark(inside)
            for worker in plan.workers:
                self._mark(offsets + np.uint64((address(worker.slm) & _PLACES) >> self.unit_bits))
        elif private is not None:  # Nobody else's, and not worth a place in the list.
            for bits in range(3):
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
            if self.block.count > self.block.list.size:
                shadow().clear_marks()
            else:
                shadow().set_marks(self.block.listed, 0)

    def suspicious(self, plan: LaunchPlan) -> tuple[Words, Words]:
        """Units of global memory that were marked, and offsets of those in local memory."""
        found, bits = self.block.listed, self.block.unit_bits
        local, offsets = np.zeros(found.size, bool), [np.zeros(0, np.uint64)]
        for worker in plan.workers:
            first = np.uint64((address(worker.slm) & _PLACES) >> bits)
            own = (found >= first) & (found < first + np.uint64(-(-worker.slm.size >> bits)))
            local |= own
            offsets.append(found[own] - first)
        return chosen(found[~local]), chosen(np.unique(np.concatenate(offsets)))


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
    written = _written(dispatch)
    before = saved.copies(written)
    first = RaceRun(dispatch)
    try:
        plan = once(dispatch, first)
    finally:
        first.end()
    units = first.suspicious(plan)
    if not units[0].size and not units[1].size:
        return
    after = [w.copy() for w in written]
    _restore(written, [b.view(w.dtype).reshape(w.shape) for b, w in zip(before, written, strict=True)])
    again = replace(dispatch, findings=Findings(Checking(frozenset([RECORDING]))), coverage=None)
    second = RaceRun(again, units, first.block.unit_bits)
    try:
        plan = once(again, second)
    finally:
        second.end()
        _restore(written, after)
    assert dispatch.findings is not None
    records = _renumbered(second.block.records, dispatch, plan.kernel.functions)
    races.report(records, dispatch.findings, partial(races.memory_name, dispatch))


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
    buffers = sorted(_buffers(dispatch), key=lambda b: b.host & _PLACES)
    for one, other in pairwise(buffers):
        apart = one.host >> PLACE_BITS != other.host >> PLACE_BITS
        if apart and (one.host & _PLACES) + one.size > other.host & _PLACES:
            raise Unsupported("the check 'race', as buffers lie too far apart in memory")
    found: list[Bytes | Array] = [b.data for b in buffers if not b.read_only]
    images = (s for s in (*dispatch.surfaces.values(), *dispatch.images.values()) if not isinstance(s, Buffer))
    return [*found, *(i.array for i in images if i.array.flags.writeable)]


def _buffers(dispatch: Dispatch) -> list[Buffer]:
    """All buffers that a kernel can reach but for those of the simulator's own."""
    own = dispatch.memory.blocks.get(PRIVATE_MEMORY)
    return [b for b in dispatch.memory.buffers() if b is not own and b.size]


def _restore(places: Sequence[Bytes | Array], contents: Sequence[Array]) -> None:
    for place, content in zip(places, contents, strict=True):
        place[...] = content
