"""Which blocks executed: a bit for each, kept in stack slots that LLVM promotes while a thread runs, and gathered when
it ends.
"""

from __future__ import annotations

from visakit.language.program import Function
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.coverage import first_word
from vsim.engines.llvm.lower.checks.observers import LoweringObserver
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
