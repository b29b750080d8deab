"""The check of divergence at instructions of a whole thread: lanes that wait elsewhere, blocks whose lane is off."""

from __future__ import annotations

from visakit.language.program import Instruction
from vsim.checks.findings import Site
from vsim.checks.lanes import BLOCK_OFF, code_of_lanes_left, lane_of_block
from vsim.checks.selection import DIVERGENCE
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.checks.findings import Details, FindingExits
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState


class LanesLeft:
    """Looks for lanes that an instruction leaves out; nothing is emitted where the check does not run."""

    def __init__(self, state: FunctionState, masks: Masks, findings: FindingExits) -> None:
        self.state, self.masks, self.findings = state, masks, findings
        self.wanted = DIVERGENCE in state.dispatch.checks

    def behind(self, instruction: Instruction, end: int, condition: str | None) -> None:
        """Report lanes that wait between the instruction that is lowered and another one of its subroutine.

        Args:
            end: the other one.
            condition: an i1 that says whether the thread goes there; None if it does.
        """
        state, b = self.state, self.state.b
        code = code_of_lanes_left(instruction)
        if not (self.wanted and code) or state.at.converged:
            return
        points = state.reconvergence.points_between(state.at.pc, end)
        if not points:
            return
        bits = [self.masks.bits(self._waiting(p)) for p in points]
        left = bits[0]
        for more in bits[1:]:
            left = b.assign(f"or i64 {left}, {more}")
        found = b.assign(f"icmp ne i64 {left}, 0")
        if condition is not None:
            found = b.assign(f"and i1 {found}, {condition}")

        def details() -> Details:
            number = state.module.number(state.function)
            other = str(Site(number, points[-1]).number)
            for point, lanes in list(zip(points, bits, strict=True))[-2::-1]:
                here = b.assign(f"icmp ne i64 {lanes}, 0")
                other = b.assign(f"select i1 {here}, i64 {Site(number, point).number}, i64 {other}")
            return Details(self.findings.first_lane(left), other=other)

        self.findings.report_if(found, code, details)

    def _waiting(self, point: int) -> Value:
        """The lanes that wait at a point."""
        state, b = self.state, self.state.b
        slot = f"%wait{state.reconvergence.points[point]}"
        return state.mask_value(b.assign(f"load {state.mask_ir}, ptr {slot}, align 8"))

    def before(self, instruction: Instruction) -> None:
        """Report a block that is not moved, as its lane is off."""
        b, running = self.state.b, self.state.at.running
        if not self.wanted or running is True:
            return
        lane = lane_of_block(instruction)
        if lane is None:
            return
        bits = self.masks.bits(running)
        own = b.assign(f"and i64 {b.assign(f'lshr i64 {bits}, {lane}')}, 1")
        off = b.assign(f"icmp eq i64 {own}, 0")
        some = b.assign(f"icmp ne i64 {bits}, 0")
        self.findings.report_if(b.assign(f"and i1 {off}, {some}"), BLOCK_OFF, lambda: Details(str(lane)))
