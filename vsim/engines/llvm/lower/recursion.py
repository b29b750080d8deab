"""Subroutines that call themselves, by way of others or not.

The lanes that a call of a subroutine holds, the place behind it, and the lanes that wait inside have one stack slot
each (:mod:`control_flow`), which is enough as long as a subroutine runs once at a time. A call of one that may run
already puts the contents of these slots into a frame, and its return takes them back.
"""

from __future__ import annotations

from vsim.engines.llvm import Unsupported
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.workers import LARGEST_FRAME, MAXIMUM_DEPTH
from vsim.engines.llvm.lower.faults import FaultExits
from vsim.engines.llvm.lower.state import FunctionState

CELL = 8
"""Bytes of a slot in a frame."""
FRAMES = MAXIMUM_DEPTH + 1
"""Calls of no lanes are no fault at any depth: they save their slots, too, and take them back at once."""


class Recursion:
    """The frames of one function's recursive subroutines."""

    def __init__(self, state: FunctionState, exits: FaultExits) -> None:
        self.state, self.exits = state, exits
        self.saved = {target: self._slots(target) for target in sorted(state.flow.recursive)}
        """For each recursive subroutine the stack slots that a call saves, with their types."""
        frame = CELL * max(map(len, self.saved.values()), default=0)
        self.frame = frame
        if frame * FRAMES > LARGEST_FRAME:
            raise Unsupported(f"frames of the recursive subroutines of '{state.function.name}' do not fit on a stack")

    def _slots(self, target: int) -> list[tuple[str, str]]:
        """The slots of a subroutine, and the waiting masks of all that can call it again."""
        state = self.state
        around = state.flow.recursive_with(target)
        waiting = {n for point, n in state.reconvergence.points.items() if state.flow.subroutine_of(point) in around}
        masks = [f"%held{target}", *(f"%wait{n}" for n in sorted(waiting))]
        return [(f"%site{target}", "i32"), *((name, state.mask_ir) for name in masks)]

    def declaration(self) -> tuple[list[str], list[str]]:
        """Lines that make the frames, and that clear their number for each thread; none without recursion."""
        if not self.saved:
            return [], []
        made = [f"  %frames = alloca [{self.frame * FRAMES} x i8], align 64", "  %nested = alloca i64, align 8"]
        return made, ["  store i64 0, ptr %nested, align 8"]

    def push(self, target: int, some: str) -> None:
        """Before lanes go to a subroutine: save its slots; a fault if calls are nested too deep.

        Args:
            some: whether there are such lanes (i1).
        """
        if target not in self.saved:
            return
        state, b = self.state, self.state.b
        depth = b.offset("%shared", cx.SHARED_DEPTH)
        deeper = b.assign(f"add i64 {b.assign(f'load i64, ptr {depth}, align 8')}, 1")
        too_many = b.assign(f"icmp ugt i64 {deeper}, {MAXIMUM_DEPTH}")
        self.exits.leave_if(b.assign(f"and i1 {too_many}, {some}"), cx.DEPTH, "0", "0", lambda: ("0", 0, 0, deeper))
        b.emit(f"store i64 {deeper}, ptr {depth}, align 8")
        number = b.assign("load i64, ptr %nested, align 8")
        b.emit(f"store i64 {b.assign(f'add i64 {number}, 1')}, ptr %nested, align 8")
        for (slot, ir), cell in zip(self.saved[target], self._cells(target, number), strict=True):
            held = b.assign(f"load {ir}, ptr {slot}, align 4")
            b.emit(f"store {ir} {held}, ptr {cell}, align 8")
            if slot.startswith("%wait"):
                b.emit(f"store {state.mask_ir} zeroinitializer, ptr {slot}, align 8")

    def pop(self, target: int) -> None:
        """At the end of a subroutine: take its slots back."""
        if target not in self.saved:
            return
        b = self.state.b
        for pointer in ("%nested", b.offset("%shared", cx.SHARED_DEPTH)):
            before = b.assign(f"load i64, ptr {pointer}, align 8")
            b.emit(f"store i64 {b.assign(f'sub i64 {before}, 1')}, ptr {pointer}, align 8")
        number = b.assign("load i64, ptr %nested, align 8")
        for (slot, ir), cell in zip(self.saved[target], self._cells(target, number), strict=True):
            b.emit(f"store {ir} {b.assign(f'load {ir}, ptr {cell}, align 8')}, ptr {slot}, align 4")

    def _cells(self, target: int, number: str) -> list[str]:
        """Pointers to the cells of a frame."""
        b = self.state.b
        frame = b.assign(f"getelementptr [{self.frame} x i8], ptr %frames, i64 {number}")
        return [b.offset(frame, CELL * n) for n in range(len(self.saved[target]))]
