"""Finding exits: where a check finds something, it is recorded, and the thread continues.

The branch is predicted not to be taken, and its code is placed after all other code, as with faults (``faults.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.emitter import UNLIKELY
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.support.findings import keyed_number_of


class Observed(NamedTuple):
    """What a finding's record says of its first instance, as i64: texts of constants or SSA names.

    Attributes:
        lane: of the thread; -1 where it is about the whole thread.
        address, other: their meaning depends on the code (:mod:`vsim.checks.kinds`).
        times: how often it was seen here: once, or in so many lanes.
    """

    lane: str = "-1"
    address: str = "0"
    other: str = "0"
    times: str = "1"


class FindingExits:
    """The places of one function at which checks find something."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state

    def report_if(self, condition: str, code: str, details: Callable[[], Observed] = Observed) -> None:
        """Record a finding at the instruction that is lowered if a condition (i1) holds, and go on in any case.

        Args:
            code: that of the finding, K001 to K999.
            details: emits the rest of the record on the way there; its value numbers are forgotten behind it.
        """
        state, b = self.state, self.state.b
        found, behind, before, hot = b.new_label("found"), b.new_label("unfound"), b.mark(), b.lines
        b.branch(condition, found, behind, UNLIKELY)
        b.lines = state.cold
        b.label(found, before)
        self._record(code, details())
        b.jump(behind)
        b.lines = hot
        b.label(behind, before)

    def report(self, code: str, details: Observed) -> None:
        """Record a finding at the instruction that is lowered, on every path to this place."""
        self._record(code, details)

    def epoch(self) -> str:
        """How many barriers of its group the thread has passed, as i64; not to be kept across a barrier."""
        state, b = self.state, self.state.b
        if state.module.takes_turns:
            record = b.assign(f"load ptr, ptr {b.offset('%worker', cx.WORKER_THREAD)}, align 8")
            return b.assign(f"load i64, ptr {b.offset(record, cx.RECORD_DEPARTURES)}, align 8")
        if state.dispatch.has_barrier:
            return b.assign(f"load i64, ptr {b.offset('%worker', cx.WORKER_EPOCH)}, align 8")
        return "0"

    def first_lane(self, bits: str) -> str:
        """The lowest lane of a mask's bits (i64, not 0), as i64."""
        b = self.state.b
        b.declare("llvm.cttz.i64", "i64", "i64, i1")
        return b.assign(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)")

    def lanes_in(self, bits: str) -> str:
        """How many lanes a mask's bits (i64) have, as i64."""
        b = self.state.b
        b.declare("llvm.ctpop.i64", "i64", "i64")
        return b.assign(f"call i64 @llvm.ctpop.i64(i64 {bits})")

    def _record(self, code: str, details: Observed) -> None:
        state, b = self.state, self.state.b
        site = (state.module.number(state.function) << 32) + state.at.pc
        values = (
            *(str(keyed_number_of(code)), str(site), state.thread),
            *(details.lane, self.epoch(), details.address, details.other, details.times),
        )
        b.emit(f"call void @record_finding(ptr %ctx, ptr %worker, {', '.join(f'i64 {v}' for v in values)})")
