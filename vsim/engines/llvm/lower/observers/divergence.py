"""The check of divergence: lanes that a whole thread leaves behind, blocks whose lane is off, threads that come to
different barriers.
"""

from __future__ import annotations

from vsim.analysis.waiting import group_barriers
from vsim.checks.findings import Site
from vsim.checks.lanes import BLOCK_OFF, code_of_lanes_left, lane_of_block
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.observers.findings import FindingExits, Observed
from vsim.engines.llvm.lower.state import FunctionState
from vsim.observe.observer import Event, Observer


class DivergenceChecks(Observer):
    """Looks for lanes and threads that an instruction leaves out."""

    def __init__(self, state: FunctionState, masks: Masks, findings: FindingExits) -> None:
        self.state, self.masks, self.findings = state, masks, findings

    def skips(self, event: Event, end: int, taken: str | None) -> None:
        """Report lanes that wait in between.

        Args:
            taken: an i1 that says whether the thread goes there; None if it does.
        """
        state, b = self.state, self.state.b
        code = code_of_lanes_left(event.instruction)
        if not code or state.at.converged:
            return
        points = state.reconvergence.points_between(state.at.pc, end)
        if not points:
            return
        bits = [self.masks.bits(self._waiting(p)) for p in points]
        left = bits[0]
        for more in bits[1:]:
            left = b.assign(f"or i64 {left}, {more}")
        found = b.assign(f"icmp ne i64 {left}, 0")
        if taken is not None:
            found = b.assign(f"and i1 {found}, {taken}")

        def details() -> Observed:
            number = state.module.number(state.function)
            other = str(Site(number, points[-1]).number)
            for point, lanes in list(zip(points, bits, strict=True))[-2::-1]:
                here = b.assign(f"icmp ne i64 {lanes}, 0")
                other = b.assign(f"select i1 {here}, i64 {Site(number, point).number}, i64 {other}")
            return Observed(self.findings.first_lane(left), other=other)

        self.findings.report_if(found, code, details)

    def _waiting(self, point: int) -> Value:
        """The lanes that wait at a point."""
        state, b = self.state, self.state.b
        slot = f"%wait{state.reconvergence.points[point]}"
        return state.mask_value(b.assign(f"load {state.mask_ir}, ptr {slot}, align 8"))

    def before(self, event: Event) -> None:
        """Report a block that is not moved, as its lane is off."""
        b, running = self.state.b, self.state.at.running
        if running is True:
            return
        lane = lane_of_block(event.instruction)
        if lane is None:
            return
        bits = self.masks.bits(running)
        own = b.assign(f"and i64 {b.assign(f'lshr i64 {bits}, {lane}')}, 1")
        off = b.assign(f"icmp eq i64 {own}, 0")
        some = b.assign(f"icmp ne i64 {bits}, 0")
        self.findings.report_if(b.assign(f"and i1 {off}, {some}"), BLOCK_OFF, lambda: Observed(str(lane)))

    # -- barriers ------------------------------------------------------------------------------------------

    def barrier(self, event: Event, signals: bool) -> None:
        """Report work-items of the thread that are not there with it, and threads that come to different barriers."""
        self._look_for_absent()
        state = self.state
        if signals and (len(group_barriers(state.function)) > 1 or state.module.takes_turns):
            site = Site(state.module.number(state.function), event.number)
            state.b.emit(f"call void @meet(ptr %ctx, ptr %worker, i64 {site.number}, i64 {state.thread})")

    def _look_for_absent(self) -> None:
        b, running = self.state.b, self.state.at.running
        if running is True:
            return
        absent = b.assign(
            f"and i64 {self.masks.work_item_bits()}, {b.assign(f'xor i64 {self.masks.bits(running)}, -1')}"
        )
        some = b.assign(f"icmp ne i64 {absent}, 0")
        self.findings.report_if(some, "K021", lambda: Observed(self.findings.first_lane(absent)))
