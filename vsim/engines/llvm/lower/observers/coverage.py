"""Counters of each worker: how often blocks executed, in which lanes instructions took effect, which way branches
went.
"""

from __future__ import annotations

from visakit.language.program import Function
from vsim.analysis.active_lanes import counted_at, lane_rules
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.coverage import ACTIVE, BOTH, COUNTER_SIZE, LANES, TAKEN, THREADS, first_counter
from vsim.engines.llvm.ir.emitter import COUNTER
from vsim.engines.llvm.ir.values import Mask
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState
from vsim.observe.observer import Event, Observer


class _Counters(Observer):
    """The counters of one function."""

    def __init__(self, state: FunctionState, masks: Masks) -> None:
        self.state, self.masks = state, masks
        self.first = first_counter(state.dispatch.image.module, state.function)

    def _add(self, number: int, field: int, amount: str) -> None:
        """Add to a counter of an instruction."""
        b = self.state.b
        place = COUNTER_SIZE * (self.first + number) + field
        counter = b.offset(b.field("%worker", cx.WORKER_COUNTERS, "ptr"), place)
        old = b.assign(f"load i64, ptr {counter}, align 8, {COUNTER}")
        b.emit(f"store i64 {b.assign(f'add i64 {old}, {amount}')}, ptr {counter}, align 8")

    def _count(self, lanes: Mask, size: int) -> str:
        """The lanes of a mask, i64; ``size`` if it is all of them."""
        b = self.state.b
        if lanes is True:
            return str(size)
        if lanes.lanes == 1:  # One bit stands for all lanes.
            return b.assign(f"select i1 {lanes.text}, i64 {size}, i64 0")
        b.declare("llvm.ctpop.i64", "i64", "i64")
        return b.assign(f"call i64 @llvm.ctpop.i64(i64 {self.masks.bits(lanes)})")


class BlockCounters(_Counters):
    """The code that counts the threads that come to the blocks of one function, and the lanes that run there."""

    def ran(self, function: Function, start: int, end: int, threads: int, lanes: Mask) -> None:
        some = str(threads)
        if self.state.at.whole is not None and lanes is not True:  # A branch that became a mask: no lane may run.
            some = self.state.b.assign(f"select i1 {self.state.b.any(lanes)}, i64 {threads}, i64 0")
        self._add(start, THREADS, some)
        self._add(start, LANES, self._count(lanes, self.state.lanes))


class LaneCounters(_Counters):
    """The code that counts the lanes in which instructions of one function take effect, and the ways of branches."""

    def __init__(self, state: FunctionState, masks: Masks) -> None:
        super().__init__(state, masks)
        self.rules = lane_rules(state.function, state.lanes)
        self.counted_at = counted_at(state.function, self.rules)

    def before(self, event: Event) -> None:
        if self.counted_at[event.number] != event.number:
            return
        rule = self.rules[event.number]
        if rule.execution is not None:
            lanes = self.masks.mask(rule.execution, rule.predicate)()
            self._add(event.number, ACTIVE, self._count(lanes, rule.width))

    def branched(self, function: Function, number: int, taken: str, both: str) -> None:
        """``taken`` and ``both``: of this thread, each an i1."""
        b = self.state.b
        for field, way in ((TAKEN, taken), (BOTH, both)):
            if way != "false":
                self._add(number, field, b.assign(f"zext i1 {way} to i64"))
