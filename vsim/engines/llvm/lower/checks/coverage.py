"""Which blocks executed: a bit for each, kept in stack slots that LLVM promotes while a thread runs, and gathered when
it ends; and how often: counters of each worker.
"""

from __future__ import annotations

from visakit.language.program import Function
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.coverage import COUNTER_SIZE, first_counter, first_word
from vsim.engines.llvm.lower.checks.observers import LoweringObserver
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState
from vsim.semantics.algebra import Lanes


class CoverageMarks(LoweringObserver):
    """The code that marks the blocks of one function; the block at instruction n has bit n."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.first = first_word(state.dispatch.image.module, state.function)
        self.used = sorted({start // 64 for start in state.flow.starts})

    def slots(self) -> tuple[list[str], list[str]]:
        slots = [f"  %covered{word} = alloca i64, align 8" for word in self.used]
        return slots, [f"  store i64 0, ptr %covered{word}, align 8" for word in self.used]

    def ran(self, function: Function, start: int, end: int, threads: int, lanes: Lanes) -> None:
        b = self.state.b
        word, bit = divmod(start, 64)
        old = b.assign(f"load i64, ptr %covered{word}, align 8")
        signed = 1 << bit if bit < 63 else -(1 << 63)
        b.emit(f"store i64 {b.assign(f'or i64 {old}, {signed}')}, ptr %covered{word}, align 8")

    def leaves(self) -> None:
        """Add the bits to those of the other threads."""
        b = self.state.b
        table = b.assign(f"load ptr, ptr {b.offset('%ctx', cx.COVERAGE)}, align 8")
        for word in self.used:
            place = b.offset(table, 8 * (self.first + word))
            mine = b.assign(f"load i64, ptr %covered{word}, align 8")
            known = b.assign(f"load atomic i64, ptr {place} monotonic, align 8")
            fresh = b.assign(f"icmp ne i64 {b.assign(f'or i64 {mine}, {known}')}, {known}")
            self._add_if(fresh, place, mine)

    def _add_if(self, fresh: str, place: str, mine: str) -> None:
        b = self.state.b

        def add() -> None:
            b.assign(f"atomicrmw or ptr {place}, i64 {mine} monotonic")

        b.if_then(fresh, add, ("tell", "told"))


class BlockCounters(LoweringObserver):
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
