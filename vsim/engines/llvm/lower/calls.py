"""Calls of functions: native calls, whose depth is limited, with the registers that all functions of a thread share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from visakit.language.calls import size_difference
from visakit.language.program import Function, Instruction
from vsim.analysis.control_flow import takes_all
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.workers import MAXIMUM_DEPTH, NESTED_BYTES
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.control_flow import ControlFlowLowering, Lanes, Step
from vsim.engines.llvm.lower.faults import FaultExits
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.suspension import Suspension
from vsim.engines.llvm.memory.bounds import Where
from vsim.observe.observer import Observer, listeners


def stack_address(b: Builder) -> str:
    """How far down the stack is used, as i64."""
    b.declare("llvm.frameaddress.p0", "ptr", "i32")
    frame = b.assign("call ptr @llvm.frameaddress.p0(i32 0)")
    return b.assign(f"ptrtoint ptr {frame} to i64")


class LoweredCall(NamedTuple):
    """A call that is lowered: of one function, or, where it is None, of any function at an address."""

    function: Function | None


class Calls:
    """Calls of functions out of one function."""

    def __init__(
        self,
        state: FunctionState,
        masks: Masks,
        flow: ControlFlowLowering,
        exits: FaultExits,
        observers: Sequence[Observer],
    ) -> None:
        self.state, self.masks, self.flow, self.exits = state, masks, flow, exits
        self.called, self.returned = listeners(observers, Observer.call), listeners(observers, Observer.returned)
        self.around = flow.around_calls
        self.suspension = Suspension(state)

    def call_function(self, name: int, lanes: Lanes, instruction: Instruction) -> Step:
        """These lanes run the function that a string names."""
        state, image = self.state, self.state.dispatch.image
        target = image.callee(state.function, name)

        def step() -> None:
            mask = self._lanes(lanes, instruction)
            depth = self._enter()
            if target is None:
                self._fail(cx.UNDEFINED, mask, instruction, lambda: ("0", 0, 0, "0"))
                self._return(depth, None)
                return
            if target.is_cm is not state.function.is_cm:
                address = image.function_address(image.module.all_functions.index(target))
                self._fail(cx.CALL, mask, instruction, lambda: ("0", 0, 0, str(address)))
                self._return(depth, None)
                return
            frame = self._tell_call(target)
            self._call(target, mask, depth)
            self._return(depth, frame)

        return step

    def call_address(self, address: Callable[[], Value], lanes: Lanes, instruction: Instruction) -> Step:
        """The lanes of each thread run the function at its address: a switch over all functions of the same width."""
        state = self.state

        def step() -> None:
            b = state.b
            value = address()
            mask = self._lanes(lanes, instruction)
            depth = self._enter()
            frame = self._tell_call(None)
            done, wild = b.new_label("done"), b.new_label("wild")
            arms = [(b.new_label("target"), at, f) for at, f in self._candidates()]
            text = " ".join(f"i32 {at}, label %{label}" for label, at, _ in arms)
            b.emit(f"switch i32 {value.text}, label %{wild} [ {text} ]")

            def where() -> tuple[str, int, int, str]:
                return "0", 0, 0, b.assign(f"zext i32 {value.text} to i64")

            for label, _, function in arms:
                b.label(label)
                if size_difference(instruction, function):
                    self._fail(cx.CALL_SIZES, mask, instruction, where)
                else:
                    self._call(function, mask, depth)
                b.jump(done)
            b.label(wild)
            self._fail(cx.CALL, mask, instruction, where)
            b.jump(done)
            b.label(done)
            self._return(depth, frame)

        return step

    def _tell_call(self, function: Function | None) -> LoweredCall:
        frame = LoweredCall(function)
        for tell in self.called:
            tell(self.state.event, frame)
        return frame

    def _fail(self, kind: int, mask: Value, instruction: Instruction, where: Where) -> None:
        """Leave the function if any lane takes the call."""
        some = "true" if takes_all(instruction, self.state.jump_lanes) else self.state.b.any(mask)
        self.exits.leave_if(some, kind, "0", "0", where)

    def _lanes(self, lanes: Lanes, instruction: Instruction) -> Value:
        taken = self.flow.taken(lanes, instruction, if_any=True)
        return self.masks.running_vector() if taken is True else taken

    def _candidates(self) -> list[tuple[int, Function]]:
        """Functions that an address may mean, with their addresses."""
        image = self.state.dispatch.image
        first = len(image.module.kernels)
        numbered = enumerate(image.module.functions, first)
        return [(image.function_address(n), f) for n, f in numbered if f.lanes == self.state.lanes]

    def _enter(self) -> str:
        """Store shared registers and count how deep calls are nested; gives how deep they were."""
        b = self.state.b
        self.state.registers.flush(self.state.storage.is_shared, forget=True)
        self.state.storage.carry_out()
        pointer = b.offset("%shared", cx.SHARED_DEPTH)
        depth = b.assign(f"load i64, ptr {pointer}, align 8")
        deeper = b.assign(f"add i64 {depth}, 1")
        b.emit(f"store i64 {deeper}, ptr {pointer}, align 8")
        too_many = b.assign(f"icmp ugt i64 {deeper}, {MAXIMUM_DEPTH}")
        start = b.assign(f"load i64, ptr {b.offset('%shared', cx.SHARED_STACK)}, align 8")
        used = b.assign(f"sub i64 {start}, {stack_address(b)}")
        too_much = b.assign(f"icmp sgt i64 {used}, {NESTED_BYTES}")
        too_deep = b.assign(f"or i1 {too_many}, {too_much}")
        self.exits.leave_if(too_deep, cx.DEPTH, "0", "0", lambda: ("0", 0, 0, deeper))
        return depth

    def _return(self, depth: str, frame: LoweredCall | None) -> None:
        """Restore the depth; leave if the callee failed or the run must stop.

        Args:
            frame: the call as observers know it; None without a callee.
        """
        b = self.state.b
        b.emit(f"store i64 {depth}, ptr {b.offset('%shared', cx.SHARED_DEPTH)}, align 8")
        fault = b.assign(f"load i64, ptr {b.offset('%ctx', cx.FAULT)}, align 8")
        stop = b.assign(f"load volatile i64, ptr {b.offset('%ctx', cx.STOP)}, align 8")
        either = b.assign(f"or i64 {fault}, {stop}")
        failed = b.assign(f"icmp ne i64 {either}, 0")
        b.leave_if(failed, "exit", "returned")
        for tell in self.returned if frame is not None else ():
            tell(frame, self.state.thread)
        self.state.storage.carry_in()

    def _call(self, function: Function, mask: Value, depth: str) -> None:
        """Call a function if any lane is to run it; ``depth``: how deep calls are nested so far."""
        b, name = self.state.b, self.state.module.symbol(function)
        waits = self.state.module.can_wait(function)

        def call() -> None:
            for called, _ in self.around:
                called(function, None)
            if waits:
                self._begin(name, mask, depth)
            else:
                b.emit(f"call void {name}(ptr %ctx, ptr %worker, ptr %shared, {mask.typed})")
            for _, returned in self.around:
                returned(True)

        b.if_then(b.any(mask), call, ("call", "called"))

    def _begin(self, name: str, mask: Value, depth: str) -> None:
        """Call a function in which the thread can wait: it begins, and runs when this one has suspended."""
        b, lanes = self.state.b, self.state.lanes
        bits = b.assign(f"bitcast {mask.typed} to i{lanes}")
        handle = b.assign(f"call ptr {name}(ptr %ctx, ptr %worker, ptr %shared, i{lanes} {bits})")
        refused = b.assign(f"icmp eq ptr {handle}, null")
        self.exits.leave_if(refused, cx.FRAMES, "0", "0", lambda: ("0", 0, 0, depth))
        self.suspension.go_on_elsewhere()
