"""How often the instructions of a launch executed, from the counters of compiled code for its blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visakit.language.program import Function
from vsim.analysis.control_flow import control_flow
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.coverage import COUNTER_SIZE
from vsim.engines.llvm.host.tables import Range, address
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Words
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Observer, listeners


class RunCounts(CompiledObserver):
    """The counters of a launch, of which observers are told when it is over."""

    tables: Words
    """Those of each worker that runs at the same time as others: workers x counters x (threads, lanes)."""
    compiled: Sequence[Function]

    def __init__(self, dispatch: Dispatch) -> None:
        self.functions = dispatch.image.module.all_functions
        self.tells = listeners(dispatch.observers, Observer.ran)

    def prepare(self, engine: LaunchPlan) -> None:
        self.compiled, at_once = engine.kernel.functions, engine.jobs.size * 8 // cx.JOB_SIZE
        count = sum(len(f.instructions) for f in self.functions)
        self.tables = np.zeros((at_once, count, COUNTER_SIZE // 8), np.uint64)
        for number, worker in enumerate(engine.workers):
            worker.block[cx.WORKER_COUNTERS // 8] = address(self.tables[number % at_once])

    def ranges(self) -> list[Range]:
        return [(address(self.tables), self.tables.nbytes, True)]

    def launch_end(self, error: Exception | None) -> None:
        totals, first = self.tables.sum(axis=0), 0
        for function in self.functions:
            own = totals[first : first + len(function.instructions)]
            first += len(own)
            if own.any() and any(function is c for c in self.compiled):
                for start, end in control_flow(function).blocks():
                    threads, lanes = own[start].tolist()
                    for tell in self.tells if threads else ():
                        tell(function, start, end, threads, lanes)
