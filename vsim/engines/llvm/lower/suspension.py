"""How a thread lets others run, in the middle of a function.

Where threads take turns (``support/cooperative.ll``) it says in its record why it stops, and where.
"""

from __future__ import annotations

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.lower.state import FunctionState


class Suspension:
    """Suspends one function, which is a coroutine, at the place that is being emitted."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state

    def let_others_run(self) -> None:
        """Let each of the other threads have its turn."""
        self.stop(str(cx.TURN))

    def go_on_elsewhere(self) -> None:
        """The thread continues in the function that its record names, and then here."""
        self._suspend_as(str(cx.GO_ON))

    def stop(self, why: str) -> None:
        """Stop, with the place in the thread's record."""
        state, b = self.state, self.state.b
        site = (state.module.number(state.function) << 32) + state.at.pc
        b.emit(f"store i64 {site}, ptr {b.offset('%record', cx.RECORD_SITE)}, align 8")
        self._suspend_as(why)

    def _suspend_as(self, why: str) -> None:
        b = self.state.b
        b.emit(f"store i64 {why}, ptr {b.offset('%record', cx.RECORD_STATE)}, align 8")
        self.suspend()

    def suspend(self) -> None:
        """Suspend, and go on behind it."""
        b = self.state.b
        suspended = b.assign("call i8 @llvm.coro.suspend(token none, i1 false)")
        resumed = b.new_label("resumed")
        b.emit(f"switch i8 {suspended}, label %suspend [ i8 0, label %{resumed} i8 1, label %cleanup ]")
        b.label(resumed)
