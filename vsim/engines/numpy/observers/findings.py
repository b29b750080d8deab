"""What checks find in a batch of threads that run in lock step."""

from __future__ import annotations

import numpy as np

from vsim.checks.findings import Who, site_of
from vsim.checks.kinds import Instance, finding_of
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.machine import BatchExecution
from vsim.engines.numpy.observers.saving import SavedObserver
from vsim.launch.arrays import Array, Bools, Offsets
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Event, Observer


class BatchFindings(Observer):
    """Tells the launch what checks find."""

    running: Running
    """What runs of the batch that does."""
    epochs: Offsets
    """How many barriers of its group each thread of it has passed."""

    def __init__(self, dispatch: Dispatch) -> None:
        assert dispatch.findings is not None
        self.dispatch, self.add = dispatch, dispatch.findings.add
        self.functions = dispatch.image.module.all_functions

    def prepare(self, engine: BatchExecution) -> None:
        self.running, self.epochs = engine.running, engine.group_barrier.departures

    def saved(self) -> SavedObserver:
        assert self.dispatch.findings is not None
        return SavedObserver(0, self.dispatch.findings.saved())

    def report(
        self,
        code: str,
        event: Event,
        lanes: Bools,
        address: Array | int = 0,
        other: Array | int = 0,
        is_by_lane: bool = True,
    ) -> None:
        """Report a finding in lanes (threads x lanes) of an instruction; nothing for no lanes.

        Args:
            address, other: numbers for each lane, or one for all; see :mod:`vsim.checks.kinds`.
            is_by_lane: whether lanes are the thread's; else they are parts of an action of the whole thread.
        """
        rows, columns = np.nonzero(lanes)
        if not rows.size:
            return
        groups, threads = self.running.threads.numbers()
        first = np.lexsort((columns, threads[rows], groups[rows]))[0]
        row, lane = int(rows[first]), int(columns[first])
        numbers = [int(np.broadcast_to(np.asarray(n), lanes.shape)[row, lane]) for n in (address, other)]
        self._add(code, event, row, lane if is_by_lane else -1, numbers, rows.size)

    def first(self, lanes: Bools) -> Who:
        """The first of some lanes (threads x lanes) in the order of groups, threads and lanes."""
        rows, columns = np.nonzero(lanes)
        groups, threads = self.running.threads.numbers()
        first = np.lexsort((columns, threads[rows], groups[rows]))[0]
        return self._who(int(rows[first]), int(columns[first]))

    def report_threads(
        self,
        code: str,
        event: Event,
        rows: Bools,
        lanes: Array | int = -1,
        address: Array | int = 0,
        other: Array | int = 0,
    ) -> None:
        """Something was found in some threads at an instruction, which is about each thread as a whole.

        Args:
            lanes: the lane of each thread that it names; -1 for none.
            address, other: numbers for each thread, or one for all.
        """
        chosen = np.flatnonzero(rows)
        if not chosen.size:
            return
        groups, threads = self.running.threads.numbers()
        row = int(chosen[np.lexsort((threads[chosen], groups[chosen]))[0]])
        lane, *numbers = (int(np.broadcast_to(np.asarray(n), rows.shape)[row]) for n in (lanes, address, other))
        self._add(code, event, row, lane, numbers, chosen.size)

    def _add(self, code: str, event: Event, row: int, lane: int, numbers: list[int], count: int) -> None:
        address, other = (n & (1 << 64) - 1 for n in numbers)
        instance = Instance(
            site_of(self.functions, event.function, event.number), self._who(row, lane), address, other, count
        )
        self.add(finding_of(self.dispatch, code, instance))

    def _who(self, row: int, lane: int) -> Who:
        threads = self.running.threads
        groups, names = threads.numbers()
        whole = row if threads.rows is None else int(threads.rows[row])
        return Who(int(groups[row]), int(names[row]), lane, int(self.epochs[whole]))
