"""The check of divergence: lanes that a whole thread leaves behind, blocks whose lane is off, threads that come to
different barriers, or to none.
"""

from __future__ import annotations

import numpy as np

from visakit.language.program import Function
from vsim.checks.findings import Site, Who, site_of
from vsim.checks.kinds import Instance, ended_instance, finding_of
from vsim.checks.lanes import BLOCK_OFF, code_of_lanes_left, lane_of_block
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import any_lane
from vsim.engines.numpy.machine import BatchExecution
from vsim.engines.numpy.observers.findings import BatchFindings
from vsim.engines.numpy.observers.saving import SavedObserver, contents
from vsim.engines.numpy.scheduler import Scheduler
from vsim.launch.arrays import Bools, Offsets
from vsim.observe.observer import Event, Observer


class DivergenceObserver(Observer):
    """Looks for lanes and threads that an instruction leaves out."""

    running: Running
    scheduler: Scheduler
    meetings: Offsets
    """How often each thread of the batch has come to the barrier of its group."""
    sites: Offsets
    """Where each of them did so the last time."""

    def __init__(self, findings: BatchFindings) -> None:
        self.findings = findings

    def prepare(self, engine: BatchExecution) -> None:
        self.running, self.scheduler = engine.running, engine.scheduler
        self.meetings, self.sites = np.zeros((2, engine.threads.count), np.int64)

    def threads_begin(self, event: Event) -> None:
        self.meetings[:] = 0

    def saved(self) -> SavedObserver:
        return contents([self.meetings, self.sites] if hasattr(self, "meetings") else [])

    def skips(self, event: Event, end: int, taken: Bools) -> None:
        waiting = self.running.activation.waiting
        code = code_of_lanes_left(event.instruction)
        points = sorted((p for p in waiting if event.number < p < end), reverse=True)
        if not code or not points:
            return
        left, where = np.zeros_like(waiting[points[0]]), np.zeros(taken.size, np.int64)
        for point in points:
            left = left | waiting[point]
            where = np.where(any_lane(waiting[point]), point, where)
        number = site_of(self.findings.functions, event.function, event.number).function
        there = taken & any_lane(left)
        for point in points:
            site = Site(number, point).number
            self.findings.report_threads(code, event, there & (where == point), left.argmax(axis=1), other=site)

    def chooses(self, function: Function, number: int) -> bool:
        return lane_of_block(function.instructions[number]) is not None

    def before(self, event: Event) -> None:
        """A block is not moved if its lane is off."""
        active, lane = self.running.activation.active, lane_of_block(event.instruction)
        assert lane is not None
        self.findings.report_threads(BLOCK_OFF, event, any_lane(active) & ~active[:, lane], lane)

    # -- barriers ------------------------------------------------------------------------------------------

    def barrier(self, event: Event, signals: bool) -> None:
        """Report threads with work-items that are not there; the first one is named."""
        activation = self.running.activation
        absent = self.running.threads.work_items() & ~activation.active & activation.active_rows[:, None]
        self.findings.report_threads("K021", event, any_lane(absent), absent.argmax(axis=1))
        if signals:
            self._meet(event)

    def _meet(self, event: Event) -> None:
        """The running threads come to the barrier of their groups. Of groups that are complete then, those are reported
        that came to another instruction than thread 0.
        """
        rows = self.running.activation.active_rows
        self.meetings[rows] += 1
        self.sites[rows] = site_of(self.findings.functions, event.function, event.number).number
        groups, names = self.running.threads.numbers()
        for group in np.unique(groups[rows]):
            own = groups == group
            first = int(np.flatnonzero(own & (names == 0))[0])
            if (self.meetings[own] != self.meetings[first]).any():
                continue
            for row in np.flatnonzero(own & (self.sites != self.sites[first])):
                site, who = int(self.sites[row]), Who(int(group), int(names[row]), -1, int(self.meetings[row]) - 1)
                instance = Instance(Site(site >> 32, site & 0xFFFF_FFFF), who, other=int(self.sites[first]))
                self.findings.add(finding_of(self.findings.dispatch, "K022", instance))

    def stuck(self, event: Event, row: int) -> None:
        """Report the barrier with how many of its group have ended."""
        groups, names = self.running.threads.numbers()
        living = self.scheduler.places()
        ended = sum(int(r) not in living for r in np.flatnonzero(groups == groups[row]))
        who, dispatch = Who(int(groups[row]), int(names[row])), self.findings.dispatch
        instance = ended_instance(dispatch, event.function, event.number, who, ended)
        self.findings.add(finding_of(dispatch, "K020", instance))
