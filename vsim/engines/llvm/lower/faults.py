"""Fault exits: where something without a defined result would happen, the function is left with a record of what and
who.

The branch is predicted not to be taken, and its target follows all other code. All exits of a function meet in
one block, which calls the recorder once.
"""

from __future__ import annotations

from visakit.language import types
from vsim.analysis.arrays.constant_indices import Unrolled
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.emitter import UNLIKELY
from vsim.engines.llvm.ir.joins import phi
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.fault_sources import NOT_KNOWN, recorded
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.memory.bounds import Where
from vsim.engines.llvm.support.helpers import first_outside_function


class FaultExits:
    """The fault exits of one function."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.exits: list[tuple[tuple[str, ...], str]] = []
        """What each exit records, and its block."""

    def begin(self) -> None:
        """Begin an emission."""
        self.exits = []

    def leave_if(self, condition: str, kind: int, number: str, size: str, where: Where) -> None:
        """Leave the function if the condition (i1) holds, with a fault record.

        Args:
            kind, number, size: of the memory, or what else it was about.
            where: emits the rest of the record on the way out.
        """
        b = self.state.b
        bad, good, before, hot = b.new_label("fault"), b.new_label("ok"), b.mark(), b.lines
        b.branch(condition, bad, good, UNLIKELY)
        b.lines = self.state.cold
        b.label(bad, before)
        lane, step, count, address = where()
        i = self.state.function.instructions[self.state.at.pc]
        pc = i.number if isinstance(i, Unrolled) else self.state.at.pc
        place = (str(kind), str(pc), lane, str(step), str(count), address, number, size)
        sources = NOT_KNOWN
        if kind in cx.OF_ONE_LANE:
            sources = recorded(self.state, lane, lambda: self._first_outside(lane, size, step, address), bool(step))
        record = (*place, *sources)
        self.exits.append((record, b.jump("faults")))
        b.lines = hot
        b.label(good, before)

    def _first_outside(self, lane: str, size: str, step: int, address: str) -> str | None:
        """The lane that is outside a piece of memory, of some that follow each other; None in the flat space."""
        b, helpers = self.state.b, self.state.module.helpers
        if not step:
            return lane
        if size == "0":
            return None
        helpers.setdefault("first_outside", first_outside_function())
        b.declare("first_outside", "i64", "i64, i64, i64, i64")
        return b.assign(f"call i64 @first_outside(i64 {lane}, i64 {address}, i64 {size}, i64 {step}) #2")

    def record(self) -> bool:
        """Emit the block in which all exits meet; False if the function has no exits. The caller ends the block."""
        if not self.exits:
            return False
        state, b = self.state, self.state.b
        b.label("faults")
        ends = [end for _, end in self.exits]
        columns = zip(*(values for values, _ in self.exits), strict=True)
        record = [phi(b, [Value(b, types.UQ, 1, text) for text in column], ends).typed for column in columns]
        record.insert(1, f"i64 {state.module.number(state.function)}")
        b.emit(f"call void @record_fault(ptr %ctx, ptr %worker, {', '.join(record)}, i64 {state.thread})")
        return True
