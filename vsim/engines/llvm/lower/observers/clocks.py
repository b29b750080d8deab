"""The clocks of threads, in compiled code: each block adds its instructions when a thread comes to it, and functions
out of line are called where the thread begins, comes to the barrier of its group, leaves it, calls, returns and ends
(``support/clocks.ll``).
"""

from __future__ import annotations

from visakit.language.program import Function
from vsim.analysis.control_flow import control_flow
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.coverage import first_counter
from vsim.engines.llvm.ir.values import Mask
from vsim.engines.llvm.lower.machine import LoweringMachine
from vsim.engines.llvm.lower.state import FunctionState
from vsim.observe.observer import Event, Observer


class ThreadClocks(Observer):
    """The code of one function for the clocks of threads."""

    def __init__(self, state: FunctionState) -> None:
        self.state, self.blocks = state, dict(control_flow(state.function).blocks())
        self.first = first_counter(state.dispatch.image.module, state.function)
        self.has_calls = state.shares or bool(state.flow.subroutines)

    def prepare(self, engine: LoweringMachine) -> None:
        engine.waiting.passed.append(self._left)
        engine.around_calls.append((self._called, self._returned))

    def threads_begin(self, event: Event) -> None:
        self._call("clock_begin", ctx="%ctx", worker="%worker", clock=self._clock(), thread=self.state.thread)

    def threads_end(self, event: Event) -> None:
        self._call("clock_end", ctx="%ctx", clock=self._clock())

    def ran(self, function: Function, start: int, end: int, threads: int, lanes: Mask) -> None:
        b, count = self.state.b, str(self._instructions(start, end))
        if self.state.at.whole is not None and lanes is not True:  # A branch that became a mask: no lane may run.
            count = b.assign(f"select i1 {b.any(lanes)}, i64 {count}, i64 0")
        if self.has_calls:
            self._call("clock_ran", ctx="%ctx", clock=self._clock(), number=str(self.first + start), count=count)
            return
        place = b.offset(self._clock(), cx.CLOCK_TIME)
        old = b.assign(f"load i64, ptr {place}, align 8")
        b.emit(f"store i64 {b.assign(f'add i64 {old}, {count}')}, ptr {place}, align 8")

    def barrier(self, event: Event, signals: bool) -> None:
        if signals:
            self._call("clock_arrive", ring=self._ring(), clock=self._clock(), later=self._later())

    def _left(self) -> None:
        """The thread continues behind the barrier of its group."""
        b, number = self.state.b, self.first + self.state.at.pc
        waits = b.field(self._block(), cx.CLOCKS_WAITS, "ptr")
        site, later = b.offset(waits, number * cx.WAIT_SIZE), self._later()
        given = {"ring": self._ring(), "clock": self._clock(), "site": site, "number": str(number), "later": later}
        self._call("clock_leave", ctx="%ctx", **given)

    def _called(self, function: Function, label: int | None) -> None:
        """The thread calls a function, or a subroutine of this one by the number of its label."""
        callee = first_counter(self.state.dispatch.image.module, function) + (label or 0)
        number = str(2 * callee + (label is not None) + 2)
        self._call("clock_call", ctx="%ctx", clock=self._clock(), callee=number, later=self._later())

    def _returned(self, later: bool) -> None:
        """The thread returns: to behind the call, or from a subroutine, whose call has ended a block."""
        self._call("clock_return", ctx="%ctx", clock=self._clock(), later=self._later() if later else "0")

    def _instructions(self, start: int, end: int) -> int:
        return sum(not i.desc.is_directive for i in self.state.function.instructions[start:end])

    def _later(self) -> str:
        """The instructions behind this one that the clock has already."""
        pc = self.state.at.pc
        return str(next(self._instructions(pc + 1, end) for start, end in self.blocks.items() if start <= pc < end))

    def _block(self) -> str:
        return self.state.b.field("%ctx", cx.CLOCKS, "ptr")

    def _of_group(self, field: int, size: int) -> str:
        """Where an array of records for the threads that live has those of the group."""
        b = self.state.b
        slot = b.field("%worker", cx.WORKER_SLOT)
        return b.hoist(f"getelementptr [{size} x i8], ptr {b.field(self._block(), field, 'ptr')}, i64 {slot}")

    def _clock(self) -> str:
        records = self._of_group(cx.CLOCKS_RECORDS, cx.CLOCK_SIZE)
        return self.state.b.hoist(f"getelementptr [{cx.CLOCK_SIZE} x i8], ptr {records}, i64 {self.state.thread}")

    def _ring(self) -> str:
        return self._of_group(cx.CLOCKS_RINGS, cx.CLOCK_RING)

    def _call(self, name: str, **given: str) -> None:
        """Call a function out of line with pointers and numbers."""
        b, pointers = self.state.b, ("ctx", "worker", "clock", "ring", "site")
        types = ["ptr" if key in pointers else "i64" for key in given]
        b.declare(name, "void", ", ".join(types))
        b.emit(f"call void @{name}({', '.join(f'{t} {v}' for t, v in zip(types, given.values(), strict=True))})")
