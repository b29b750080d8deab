"""How often blocks executed: counters of each worker."""

from __future__ import annotations

from visakit.language.program import Function
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.coverage import COUNTER_SIZE, first_counter
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState
from vsim.observe.observer import Observer
from vsim.semantics.algebra import Lanes


class BlockCounters(Observer):
    """The code that counts the threads that come to the blocks of one function, and the lanes that run there."""

    def __init__(self, state: FunctionState, masks: Masks) -> None:
        self.state, self.masks = state, masks
        self.first = first_counter(state.dispatch.image.module, state.function)

    def ran(self, function: Function, start: int, end: int, threads: int, lanes: Lanes) -> None:
        state, b = self.state, self.state.b
        counter = b.offset(b.field("%worker", cx.WORKER_COUNTERS, "ptr"), COUNTER_SIZE * (self.first + start))
        self._add(counter, str(threads))
        if lanes is True:
            self._add(b.offset(counter, 8), str(state.lanes))
        else:
            b.declare("llvm.ctpop.i64", "i64", "i64")
            bits = self.masks.bits(lanes)
            self._add(b.offset(counter, 8), b.assign(f"call i64 @llvm.ctpop.i64(i64 {bits})"))

    def _add(self, counter: str, number: str) -> None:
        b = self.state.b
        old = b.assign(f"load i64, ptr {counter}, align 8")
        b.emit(f"store i64 {b.assign(f'add i64 {old}, {number}')}, ptr {counter}, align 8")
