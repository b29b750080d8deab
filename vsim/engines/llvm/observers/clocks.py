"""The timeline of a launch's threads, of the clocks that compiled code keeps (``support/clocks.ll``)."""

from __future__ import annotations

import ctypes

import numpy as np

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.tables import Range, address
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Offsets, Words
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Observer, listeners
from vsim.observe.timeline import Slice, Timeline, Waits

_EMPTY = ctypes.CFUNCTYPE(None)


class ThreadTimes(CompiledObserver):
    """The clocks of one launch's threads."""

    records: Words
    rings: Words

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch, self.functions = dispatch, dispatch.image.module.all_functions
        self.waits: Words = np.zeros((sum(len(f.instructions) for f in self.functions), cx.WAIT_SIZE // 8), np.uint64)
        self.list: Words = np.zeros((cx.CLOCKS_ROOM, cx.CLOCK_RECORD // 8), np.uint64)
        self.block: Words = np.zeros(cx.CLOCKS_SIZE // 8, np.uint64)
        self.emptied: list[Offsets] = []
        self.empties = _EMPTY(self._empty)

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
            self.block[offset // 8] = address(array)
        self.block[cx.CLOCKS_EMPTY // 8] = ctypes.cast(self.empties, ctypes.c_void_p).value or 0
        engine.context[cx.CLOCKS // 8] = address(self.block)

    def ranges(self) -> list[Range]:
        arrays = (self.block, self.records, self.rings, self.waits, self.list)
        return [(address(a), a.nbytes, True) for a in arrays]

    def _empty(self) -> None:
        """Take what the list has, for compiled code that has filled it."""
        used = int(self.block[cx.CLOCKS_USED // 8])
        self.emptied.append(self.list[:used].astype(np.int64))
        self.block[cx.CLOCKS_USED // 8] = 0

    def launch_end(self, error: Exception | None) -> None:
        self._empty()
        timeline, first = Timeline(end=int(self.block[cx.CLOCKS_LONGEST // 8])), 0
        for group, thread, number, begin, end in np.concatenate(self.emptied).tolist():
            name = "barrier" if number >= 0 else self.dispatch.kernel.name
            timeline.slices.append(Slice(group, thread, name, begin, end))
            if number < 0:
                timeline.lengths[group, thread] = end
        for function in self.functions:
            for number in range(len(function.instructions)):
                threads, waited, longest, _ = self.waits[first + number].tolist()
                if threads:
                    timeline.waits[function.name, number] = Waits(threads, waited, longest)
            first += len(function.instructions)
        for tell in listeners(self.dispatch.observers, Observer.timed):
            tell(timeline)
