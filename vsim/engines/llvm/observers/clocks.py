"""The timeline of a launch's threads, of the clocks that compiled code keeps (``support/clocks.ll``)."""

from __future__ import annotations

import ctypes
from collections import Counter

import numpy as np

from vsim.analysis.control_flow import control_flow
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.tables import Range
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.observers.values import CountedValues
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Offsets, Words, address_of
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Observer, listeners
from vsim.observe.timeline import Path, Slice, Timeline, Waits

_OF_HOST = ctypes.CFUNCTYPE(None)
FEW_STACKS = 1 << 12
"""Stacks of calls that there is room for at first."""
_MIXES = 11400714819323198485
"""The multiplier of ``clock_call``."""


class ThreadTimes(CompiledObserver):
    """The clocks of one launch's threads."""

    records: Words
    rings: Words

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch, self.functions = dispatch, dispatch.image.module.all_functions
        self.places = [(f, number) for f in self.functions for number in range(len(f.instructions))]
        """Functions and instructions by number among all of the module."""
        self.waits: Words = np.zeros((len(self.places), cx.WAIT_SIZE // 8), np.uint64)
        self.list: Words = np.zeros((cx.CLOCKS_ROOM, cx.CLOCK_RECORD // 8), np.uint64)
        self.block: Words = np.zeros(cx.CLOCKS_SIZE // 8, np.uint64)
        self.emptied: list[Offsets] = []
        self.empties, self.makes = _OF_HOST(self._empty), _OF_HOST(self._make)
        self.blocks_ran = CountedValues(self.block[cx.CLOCKS_VALUES // 8 :])
        self.keys = [0]
        """Of the stacks of calls: the number of the caller's stack, and the callee."""
        self.paths: list[Path] = [(dispatch.kernel.name,)]
        self._make_room(FEW_STACKS)

    def prepare(self, engine: LaunchPlan) -> None:
        self.records = np.zeros(engine.thread_slots * cx.CLOCK_SIZE // 8, np.uint64)
        self.rings = np.zeros(engine.thread_slots * cx.CLOCK_RING // 8, np.uint64)
        arrays = {
            cx.CLOCKS_RECORDS: self.records,
            cx.CLOCKS_RINGS: self.rings,
            cx.CLOCKS_WAITS: self.waits,
            cx.CLOCKS_LIST: self.list,
        }
        for offset, array in arrays.items():
            self.block[offset // 8] = address_of(array)
        for offset, function in {cx.CLOCKS_EMPTY: self.empties, cx.CLOCKS_MAKES: self.makes}.items():
            self.block[offset // 8] = ctypes.cast(function, ctypes.c_void_p).value or 0
        engine.context[cx.CLOCKS // 8] = address_of(self.block)

    def ranges(self) -> list[Range]:
        arrays = (self.block, self.records, self.rings, self.waits, self.list, self.stacks, self.callers)
        return [*((address_of(a), a.nbytes, True) for a in arrays), *self.blocks_ran.ranges()]

    # -- what compiled code calls --------------------------------------------------------------------------

    def _empty(self) -> None:
        """Empty the list, which compiled code has filled."""
        used = int(self.block[cx.CLOCKS_USED // 8])
        self.emptied.append(self.list[:used].astype(np.int64))
        self.block[cx.CLOCKS_USED // 8] = 0

    def _make(self) -> None:
        """Number the stack of calls that compiled code asks for."""
        self._add(int(self.block[cx.CLOCKS_WANTED // 8]))
        if 2 * len(self.keys) > len(self.callers):
            self._make_room(2 * len(self.callers))

    def _add(self, key: int) -> None:
        stack, callee = key >> 32, (key & 0xFFFF_FFFF) - 2
        function, number = self.places[callee // 2]
        name = function.name
        if callee % 2:
            name = f"{name}:{function.labels[number].name}"
        self.paths.append((*self.paths[stack], name))
        self.keys.append(key)
        self._enter(len(self.keys) - 1)

    def _make_room(self, count: int) -> None:
        """Tables for so many stacks of calls."""
        self.callers: Words = np.zeros(count, np.uint64)
        self.stacks: Words = np.zeros((2 * count, 2), np.uint64)
        self.block[cx.CLOCKS_CALLERS // 8], self.block[cx.CLOCKS_STACKS // 8] = map(
            address_of, (self.callers, self.stacks)
        )
        self.block[cx.CLOCKS_STACKS_MASK // 8] = 2 * count - 1
        for number in range(1, len(self.keys)):
            self._enter(number)

    def _enter(self, number: int) -> None:
        """Enter a stack into the tables."""
        key, mask = self.keys[number], len(self.stacks) - 1
        at = (key * _MIXES & (1 << 64) - 1) >> 32 & mask
        while self.stacks[at, 0]:
            at = at + 1 & mask
        self.stacks[at] = key, number
        self.callers[number] = key >> 32

    # -- the end -------------------------------------------------------------------------------------------

    def launch_end(self, error: Exception | None) -> None:
        self._empty()
        timeline = Timeline(end=int(self.block[cx.CLOCKS_LONGEST // 8]))
        self._slices(timeline)
        for number in np.flatnonzero(self.waits[:, cx.WAIT_THREADS // 8]).tolist():
            threads, waited, longest, _ = self.waits[number].tolist()
            function, instruction = self.places[number]
            timeline.waits[function.name, instruction] = Waits(threads, waited, longest)
        self._stacks(timeline)
        for tell in listeners(self.dispatch.observers, Observer.timed):
            tell(timeline)

    def _slices(self, timeline: Timeline) -> None:
        """The parts of the first threads' time."""
        calls: dict[tuple[int, int], list[tuple[str, int]]] = {}
        for group, thread, number, begin, end in np.concatenate(self.emptied).tolist():
            name, own = "barrier", calls.setdefault((group, thread), [])
            if number <= cx.CLOCK_CALL:
                own.append((self.paths[cx.CLOCK_CALL - number][-1], begin))
                continue
            if number == cx.CLOCK_RETURN:
                name, begin = own.pop()
                if begin == end:  # No lane called.
                    continue
            if number == cx.CLOCK_ENDS:
                name, timeline.lengths[group, thread] = self.dispatch.kernel.name, end
            timeline.slices.append(Slice(group, thread, name, begin, end))

    def _stacks(self, timeline: Timeline) -> None:
        """How often instructions of blocks executed by stack of calls, in a kernel that calls."""
        ends: dict[int, dict[int, int]] = {}
        for key, blocks in self.blocks_ran.found().items():
            found = timeline.stacks.setdefault(self.paths[key - 1], Counter())
            for first, count in blocks.tolist():
                function, start = self.places[first]
                if id(function) not in ends:
                    ends[id(function)] = dict(control_flow(function).blocks())
                for number in range(start, ends[id(function)][start]):
                    if not function.instructions[number].desc.is_directive:
                        found[function.name, number] += count
