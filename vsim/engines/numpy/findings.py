"""What checks find in a batch of threads that run in lock step."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from visakit.language.program import Function
from vsim.checks.findings import Site, Who, site_of
from vsim.checks.kinds import Instance, ended_instance, finding_of
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import any_lane
from vsim.launch.arrays import Array, Bools, Offsets
from vsim.launch.dispatch import Dispatch

Place = tuple[Function, int]
"""An instruction: its function and its number there."""


class BatchFindings:
    """Tells the launch what checks find; ``epochs`` says how many barriers lie behind each thread of the batch."""

    def __init__(self, dispatch: Dispatch, running: Running, epochs: Offsets) -> None:
        assert dispatch.findings is not None
        self.dispatch, self.running, self.epochs, self.found = dispatch, running, epochs, dispatch.findings
        self.checks = dispatch.checks
        self.functions = dispatch.image.module.all_functions
        self.meetings: Offsets = np.zeros(running.threads.count, np.int64)
        """How often each thread has come to the barrier of its group."""
        self.sites: Offsets = np.zeros(running.threads.count, np.int64)
        """Where each of them did so the last time."""

    def report(
        self,
        code: str,
        place: Place,
        lanes: Bools,
        address: Array | int = 0,
        other: Array | int = 0,
        is_by_lane: bool = True,
    ) -> None:
        """Something was found in some lanes (threads x lanes) at an instruction; nothing if there are none.

        Args:
            address, other: numbers for each lane, or one for all; see :mod:`vsim.checks.kinds`.
            is_by_lane: whether lanes are those of the thread; else they are parts of what it does as a whole.
        """
        rows, columns = np.nonzero(lanes)
        if not rows.size:
            return
        groups, threads = self.running.threads.numbers()
        first = np.lexsort((columns, threads[rows], groups[rows]))[0]
        row, lane = int(rows[first]), int(columns[first])
        numbers = [int(np.broadcast_to(np.asarray(n), lanes.shape)[row, lane]) for n in (address, other)]
        self._add(code, place, row, lane if is_by_lane else -1, numbers, rows.size)

    def first(self, lanes: Bools) -> Who:
        """The first of some lanes (threads x lanes) in the order of groups, threads and lanes."""
        rows, columns = np.nonzero(lanes)
        groups, threads = self.running.threads.numbers()
        first = np.lexsort((columns, threads[rows], groups[rows]))[0]
        return self._who(int(rows[first]), int(columns[first]))

    def report_threads(
        self,
        code: str,
        place: Place,
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
        self._add(code, place, row, lane, numbers, chosen.size)

    def report_absent(self, code: str, place: Place) -> None:
        """Report the running threads with work-items that do not run with the others; the first one is named."""
        activation = self.running.activation
        absent = self.running.threads.work_items() & ~activation.active & activation.active_rows[:, None]
        self.report_threads(code, place, any_lane(absent), absent.argmax(axis=1))

    def restart(self) -> None:
        """Other threads begin."""
        self.meetings[:] = 0

    def meet(self, place: Place) -> None:
        """The running threads come to the barrier of their groups. Of groups that are complete then, those are reported
        that came to another instruction than thread 0.
        """
        rows = self.running.activation.active_rows
        self.meetings[rows] += 1
        self.sites[rows] = site_of(self.functions, *place).number
        groups, names = self.running.threads.numbers()
        for group in np.unique(groups[rows]):
            own = groups == group
            first = int(np.flatnonzero(own & (names == 0))[0])
            if (self.meetings[own] != self.meetings[first]).any():
                continue
            for row in np.flatnonzero(own & (self.sites != self.sites[first])):
                site, who = int(self.sites[row]), Who(int(group), int(names[row]), -1, int(self.meetings[row]) - 1)
                instance = Instance(Site(site >> 32, site & 0xFFFF_FFFF), who, other=int(self.sites[first]))
                self.found.add(finding_of(self.dispatch, "K022", instance))

    def report_ended(self, place: Place, row: int, living: Collection[int]) -> None:
        """Report a barrier at which a thread waits for ever, with how many of its group have ended.

        Args:
            living: the rows of threads that have not.
        """
        groups, names = self.running.threads.numbers()
        own = np.flatnonzero(groups == groups[row])
        ended = sum(int(r) not in living for r in own)
        who = Who(int(groups[row]), int(names[row]))
        instance = ended_instance(self.dispatch, *place, who, ended)
        self.found.add(finding_of(self.dispatch, "K020", instance))

    def _add(self, code: str, place: Place, row: int, lane: int, numbers: list[int], count: int) -> None:
        address, other = (n & (1 << 64) - 1 for n in numbers)
        instance = Instance(site_of(self.functions, *place), self._who(row, lane), address, other, count)
        self.found.add(finding_of(self.dispatch, code, instance))

    def _who(self, row: int, lane: int) -> Who:
        threads = self.running.threads
        groups, names = threads.numbers()
        whole = row if threads.rows is None else int(threads.rows[row])
        return Who(int(groups[row]), int(names[row]), lane, int(self.epochs[whole]))
