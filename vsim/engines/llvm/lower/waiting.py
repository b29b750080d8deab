"""Barriers: where the kernel alone waits, at the group's barrier, it suspends and the driver resumes its threads in
phases; else threads take turns.
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.language import types
from visakit.language.program import Instruction
from vsim.analysis.waiting import group_barriers
from vsim.checks.findings import Site
from vsim.checks.selection import DIVERGENCE
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.checks.findings import Details, FindingExits
from vsim.engines.llvm.lower.checks.race import RaceWatch
from vsim.engines.llvm.lower.control_flow import ControlFlowLowering
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.suspension import Suspension

Step = Callable[[], None]


class ThreadWaits:
    """The places of one function at which its thread waits."""

    def __init__(
        self,
        state: FunctionState,
        masks: Masks,
        flow: ControlFlowLowering,
        findings: FindingExits,
        races: RaceWatch | None = None,
    ) -> None:
        self.state, self.masks, self.flow, self.findings, self.races = state, masks, flow, findings, races
        self.suspension = Suspension(state)
        self.has_several = len(group_barriers(state.function)) > 1

    def barrier(self, signal: bool, wait: bool, instruction: Instruction) -> Step:
        """Arrive at the barrier of the work-group, wait until all its threads have, or both."""

        def step() -> None:
            if not self.state.is_coroutine:
                return  # The thread is alone in its group.
            self._look_for_absent()
            if signal:
                self._meet()
            if not self.state.module.takes_turns:
                if self.has_several:
                    self._note_place()
                self.suspension.suspend()
                return
            if signal:
                self._count_arrival()
            if wait:
                self.suspension.stop(str(cx.GROUP_BARRIER))

        return self._between_blocks(step)

    def named_barrier(
        self, number: Callable[[], Value], arrivals: Callable[[], Value] | None, instruction: Instruction
    ) -> Step:
        """Arrive at a barrier that opens after so many arrivals; without ``arrivals`` wait for it."""

        def step() -> None:
            b = self.state.b
            self._look_for_absent()
            n = b.cast(number() & b.const(cx.NAMED_BARRIERS - 1, types.UD), types.UQ).text
            if arrivals is None:
                self.suspension.stop(b.assign(f"add i64 {n}, {cx.FIRST_NAMED}"))
                if self.races:
                    self.races.departed(n)
            else:
                if self.races:
                    self.races.arrived(n)
                b.emit(f"call void @arrive(ptr %worker, ptr %record, i64 {n}, i64 {b.cast(arrivals(), types.UQ).text})")

        return self._between_blocks(step)

    def _between_blocks(self, barrier: Step) -> Step:
        """A barrier; a block ends before it if there are many, so that values that live across are in stack slots."""
        if not self.state.barriers_end_blocks:
            return barrier

        def step() -> None:
            self.flow.leave_block()
            barrier()
            self.state.b.jump(self.flow.entrance(self.state.at.pc + 1))

        return step

    def _meet(self) -> None:
        """Tell which barrier the thread comes to, where a check wants to know and there are several."""
        state = self.state
        if DIVERGENCE in state.dispatch.checks and (self.has_several or state.module.takes_turns):
            site = Site(state.module.number(state.function), state.at.pc)
            state.b.emit(f"call void @meet(ptr %ctx, ptr %worker, i64 {site.number}, i64 {state.thread})")

    def _look_for_absent(self) -> None:
        """Where a check wants to know, report work-items of the thread that are not at the barrier with it."""
        state, b = self.state, self.state.b
        running = state.at.running
        if DIVERGENCE not in state.dispatch.checks or running is True:
            return
        absent = b.assign(
            f"and i64 {self.masks.work_item_bits()}, {b.assign(f'xor i64 {self.masks.bits(running)}, -1')}"
        )
        some = b.assign(f"icmp ne i64 {absent}, 0")
        self.findings.report_if(some, "K021", lambda: Details(self.findings.first_lane(absent)))

    def _note_place(self) -> None:
        """Note where the thread waits, for the fault that others never come."""
        b = self.state.b
        sites = b.offset(b.field("%worker", cx.WORKER_HANDLES, "ptr"), cx.HANDLE_SITES)
        place = b.assign(f"getelementptr i64, ptr {sites}, i64 %thread")
        b.emit(f"store i64 {self.state.at.pc}, ptr {place}, align 8")

    def _count_arrival(self) -> None:
        b = self.state.b
        place = b.offset("%record", cx.RECORD_ARRIVALS)
        before = b.assign(f"load i64, ptr {place}, align 8")
        b.emit(f"store i64 {b.assign(f'add i64 {before}, 1')}, ptr {place}, align 8")
