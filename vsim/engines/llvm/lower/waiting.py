"""Barriers: where the kernel alone waits, at the group's barrier, it suspends and the driver resumes its threads in
phases; else threads take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visakit.language import types
from visakit.language.program import Instruction
from vsim.analysis.waiting import group_barriers
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.suspension import Suspension
from vsim.observe.observer import Observer, listeners

Step = Callable[[], None]


class ThreadWaits:
    """The places of one function at which its thread waits."""

    def __init__(
        self,
        state: FunctionState,
        masks: Masks,
        observers: Sequence[Observer],
    ) -> None:
        self.state, self.masks = state, masks
        self.comes = listeners(observers, Observer.barrier)
        self.arrived, self.departed = listeners(observers, Observer.arrived), listeners(observers, Observer.departed)
        self.passed: list[Step] = []
        """What emits code behind the barrier of the group."""
        self.suspension = Suspension(state)
        self.has_several = len(group_barriers(state.function)) > 1

    def barrier(self, signal: bool, wait: bool, instruction: Instruction) -> Step:
        """Arrive at the barrier of the work-group, wait until all its threads have, or both."""

        def step() -> None:
            if self.state.is_coroutine:  # Else the thread is alone in its group.
                self._tell(signal)
                self._wait(signal, wait)
            for tell in self.passed if wait else ():
                tell()

        return step

    def _wait(self, signal: bool, wait: bool) -> None:
        """Arrive, wait, or both."""
        if not self.state.module.takes_turns:
            if self.has_several:
                self._note_place()
            self.suspension.suspend()
            return
        if signal:
            self._count_arrival()
        if wait:
            self.suspension.stop(str(cx.GROUP_BARRIER))

    def named_barrier(
        self, number: Callable[[], Value], arrivals: Callable[[], Value] | None, instruction: Instruction
    ) -> Step:
        """Arrive at a barrier that opens after so many arrivals; without ``arrivals`` wait for it."""

        def step() -> None:
            b = self.state.b
            self._tell(signals=False)
            n = b.cast(number() & b.const(cx.NAMED_BARRIERS - 1, types.UD), types.UQ).text
            if arrivals is None:
                self.suspension.stop(b.assign(f"add i64 {n}, {cx.FIRST_NAMED}"))
                for tell in self.departed:
                    tell(self.state.thread, n)
            else:
                for tell in self.arrived:
                    tell(self.state.thread, n)
                b.emit(f"call void @arrive(ptr %worker, ptr %record, i64 {n}, i64 {b.cast(arrivals(), types.UQ).text})")

        return step

    def _tell(self, signals: bool) -> None:
        for tell in self.comes:
            tell(self.state.event, signals)

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
