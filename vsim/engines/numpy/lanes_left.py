"""The check of divergence at instructions of a whole thread: lanes that wait elsewhere, blocks whose lane is off."""

from __future__ import annotations

import numpy as np

from visakit.language.program import Function
from vsim.checks.findings import Site, site_of
from vsim.checks.lanes import BLOCK_OFF, code_of_lanes_left, lane_of_block
from vsim.engines.numpy.algebra import any_lane
from vsim.engines.numpy.findings import BatchFindings, Place
from vsim.launch.arrays import Bools
from vsim.semantics.algebra import Step


class BatchLanesLeft:
    """Looks for lanes that an instruction leaves out."""

    def __init__(self, findings: BatchFindings) -> None:
        self.findings, self.running = findings, findings.running

    def behind(self, place: Place, end: int, rows: Bools) -> None:
        """Report lanes that wait between an instruction and another one of its activation.

        Args:
            end: the number of the other one.
            rows: the threads that go there.
        """
        function, pc = place
        code = code_of_lanes_left(function.instructions[pc])
        waiting = self.running.activation.waiting
        points = sorted((p for p in waiting if pc < p < end), reverse=True)
        if not code or not points:
            return
        left, where = np.zeros_like(waiting[points[0]]), np.zeros(rows.size, np.int64)
        for point in points:
            left = left | waiting[point]
            where = np.where(any_lane(waiting[point]), point, where)
        number, there = site_of(self.findings.functions, function, pc).function, rows & any_lane(left)
        for point in points:
            site = Site(number, point).number
            self.findings.report_threads(code, place, there & (where == point), left.argmax(axis=1), other=site)

    def before(self, function: Function, number: int, step: Step) -> Step:
        """A step, before which a block is reported that is not moved, as its lane is off."""
        lane = lane_of_block(function.instructions[number])
        if lane is None:
            return step

        def checked() -> object:
            active = self.running.activation.active
            self.findings.report_threads(BLOCK_OFF, (function, number), any_lane(active) & ~active[:, lane], lane)
            return step()

        return checked
