"""How often the instructions of a launch executed, in how many lanes, from the counters of compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from visakit.language.program import Function
from vsim.analysis.control_flow import control_flow
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.coverage import ACTIVE, BOTH, COUNTER_SIZE, LANES, TAKEN, THREADS
from vsim.engines.llvm.host.tables import Range
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Words, address_of
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Observer, listeners

if TYPE_CHECKING:
    from vsim.engines.llvm.kernels import CompiledKernel


class RunCounts(CompiledObserver):
    """The counters of a launch, of which observers are told when it is over."""

    tables: Words
    """Those of each worker that runs at the same time as others: workers x instructions x counters."""
    kernel: CompiledKernel

    def __init__(self, dispatch: Dispatch) -> None:
        self.functions = dispatch.image.module.all_functions
        self.blocks_ran = listeners(dispatch.observers, Observer.ran)
        self.effects = listeners(dispatch.observers, Observer.took_effect)
        self.branches = listeners(dispatch.observers, Observer.branched)

    def prepare(self, engine: LaunchPlan) -> None:
        self.kernel, at_once = engine.kernel, engine.jobs.size
        if not self.kernel.blocks:
            self.kernel.blocks.extend(control_flow(function).blocks() for function in self.kernel.functions)
        count = sum(len(f.instructions) for f in self.functions)
        self.tables = np.zeros((at_once, count, COUNTER_SIZE // 8), np.uint64)
        for number, worker in enumerate(engine.workers):
            worker.block[cx.WORKER_COUNTERS // 8] = address_of(self.tables[number % at_once])

    def ranges(self) -> list[Range]:
        return [(address_of(self.tables), self.tables.nbytes, True)]

    def launch_end(self, error: Exception | None) -> None:
        totals, first = self.tables.sum(axis=0), 0
        blocks = {id(f): own for f, own in zip(self.kernel.functions, self.kernel.blocks, strict=True)}
        for function in self.functions:
            own = totals[first : first + len(function.instructions)]
            first += len(own)
            if own.any() and id(function) in blocks:
                self._tell(function, blocks[id(function)], own)

    def _tell(self, function: Function, blocks: Sequence[tuple[int, int]], own: Words) -> None:
        """Tell observers the counters of a function: instructions x counters."""
        of_blocks = own[[start for start, _ in blocks]][:, [THREADS // 8, LANES // 8]].tolist()
        for (start, end), (threads, lanes) in zip(blocks, of_blocks, strict=True):
            for tell in self.blocks_ran if threads else ():
                tell(function, start, end, threads, lanes)
        for took_effect in self.effects:
            for number in np.flatnonzero(own[:, ACTIVE // 8]).tolist():
                took_effect(function, number, int(own[number, ACTIVE // 8]))
        ways = own[:, [TAKEN // 8, BOTH // 8]]
        for branched in self.branches:
            for number in np.flatnonzero(ways.any(axis=1)).tolist():
                branched(function, number, *ways[number].tolist())
