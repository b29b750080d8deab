"""Control flow of lanes: execution masks at reconvergence points, branches, subroutines, returns.

A divergent branch forward adds the lanes that take it to the waiting mask of its target and runs on with the rest; one
backward lets the lanes that leave the loop wait behind it. A reconvergence point first gathers the lanes that wait
there; if no lane runs, control continues at the next point. Where the analysis proves that all lanes are together,
masks are constants and branches plain ones.

Labels: ``checkN`` gathers waiting lanes and enters block ``blockN``, which begins with instruction N; ``returnN`` ends
the subroutine at N; ``exit`` ends the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visakit.language.program import Function, Instruction
from vsim.analysis.control_flow import covers_all, takes_all
from vsim.analysis.uniformity import takes_one_way
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.constant_masks import constant_mask
from vsim.engines.llvm.ir.types import MASK
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.faults import FaultExits
from vsim.engines.llvm.lower.masked_branches import MaskedBranches
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.recursion import Recursion
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.suspension import Suspension
from vsim.observe.observer import Observer, listeners
from vsim.semantics.flow import has_followers, reach

Step = Callable[[], None]
Lanes = Callable[[], Mask]


class ControlFlowLowering:
    """Branches, subroutines and returns of one function."""

    def __init__(self, state: FunctionState, masks: Masks, exits: FaultExits, observers: Sequence[Observer]) -> None:
        self.state, self.masks, self.exits = state, masks, exits
        self.skips, self.branched = listeners(observers, Observer.skips), listeners(observers, Observer.branched)
        self.recursion = Recursion(state, exits)
        self.around_calls: list[tuple[Callable[[Function, int | None], None], Callable[[bool], None]]] = []
        """What emits code in front of calls of functions and of subroutines (by label), and behind them: of functions
        that is where the call is.
        """
        self.suspension = Suspension(state)
        self.scalar: dict[int, bool] = {}
        """Whether the condition of a branch about all lanes is one scalar in this emission, by its instruction."""
        self.masked = MaskedBranches(state)

    # -- blocks --------------------------------------------------------------------------------------------

    def entrance(self, pc: int) -> str:
        """The label by which a block is entered: a reconvergence point first gathers the lanes that wait there."""
        if pc >= self.state.flow.end:
            return "exit"
        return f"check{pc}" if pc in self.state.reconvergence.points else f"block{pc}"

    def next_waiting(self, pc: int) -> str:
        """The label for a thread without running lanes: the next point where some may wait, or the way out."""
        following = self.state.reconvergence.next_point(pc)
        if following is not None:
            return self.entrance(following)
        subroutine = self.state.flow.subroutine_of(pc)
        return f"return{subroutine}" if subroutine in self.state.flow.subroutines else "exit"

    def reconverge(self, point: int) -> None:
        """Emit the head of a reconvergence point, where the lanes that wait there run again."""
        state, b = self.state, self.state.b
        waiting_mask = self._waiting_mask(point)
        b.label(f"check{point}")
        if point in state.reconvergence.converged:
            b.emit(f"store {state.mask_ir} zeroinitializer, ptr {waiting_mask}, align 8")
            self.masks.run_all()
            b.jump(f"block{point}")
            return
        running = self.masks.load_running()
        waiting = state.mask_value(b.assign(f"load {state.mask_ir}, ptr {waiting_mask}, align 8"))
        both = running | waiting
        b.emit(f"store {state.mask_ir} zeroinitializer, ptr {waiting_mask}, align 8")
        self.masks.set_running(both)
        b.branch(b.any(both), f"block{point}", self.next_waiting(point))

    def leave_block(self) -> None:
        """End the registers of the block, before its branch is emitted."""
        self.state.registers.end_block(self.state.at.block, self.state.at.running)
        self.state.at.left = True

    def return_from_subroutine(self, subroutine: int) -> None:
        """Emit the end of a subroutine: the lanes that its call held run again behind it."""
        state, b = self.state, self.state.b
        b.label(f"return{subroutine}")
        for _, returned in self.around_calls:
            returned(False)
        held = state.mask_value(b.assign(f"load {state.mask_ir}, ptr %held{subroutine}, align 8"))
        self.masks.set_running(held)
        site = b.assign(f"load i32, ptr %site{subroutine}, align 4")
        self.recursion.pop(subroutine)
        # A call has stored one of these numbers. A way to the function's end instead would lead there from every
        # subroutine, and what LLVM does for each of them would grow with their number.
        *others, last = (self.entrance(after) for after in state.flow.return_sites[subroutine])
        arms = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(others))
        b.emit(f"switch i32 {site}, label %{last} [ {arms} ]" if others else f"br label %{last}")

    def _poll(self) -> None:
        """At the end of a loop, or before a subroutine that calls others: leave if the run is to stop."""
        b = self.state.b
        stop = b.assign(f"load volatile i64, ptr {b.offset('%ctx', cx.STOP)}, align 8")
        stopped = b.assign(f"icmp ne i64 {stop}, 0")
        self.exits.leave_if(stopped, cx.STOPPED, "0", "0", lambda: ("0", 0, 0, "0"))

    # -- lanes ---------------------------------------------------------------------------------------------

    def taken(self, lanes: Lanes, instruction: Instruction, if_any: bool = False) -> Mask:
        """The lanes for which the mask of a jump, call or return holds: a mask of all lanes, or True for all that run.

        They are running ones; for a call that ignores the execution mask any. ``if_any``: see
        :func:`vsim.semantics.flow.has_followers`.
        """
        total, b = self.state.lanes, self.state.b
        part = reach(instruction)
        ignores_mask = instruction.desc.flow.is_call and part.no_mask
        if takes_all(instruction, self.state.jump_lanes) and not ignores_mask:
            return True
        value, size = lanes(), min(part.size, total)
        if value is True:
            value = b.all_lanes(size)
        elif value.lanes == 1:
            value = b.broadcast(value, size)
        if part.offset or value.lanes < total:
            first, end = part.offset, part.offset + value.lanes
            zeros = Value(b, value.type, value.lanes, "zeroinitializer")
            value = b.mixed(value, zeros, [i - first if first <= i < end else value.lanes for i in range(total)])
        elif value.lanes > total:
            value = b.lanes(value, list(range(total)))
        running = b.all_lanes(total) if ignores_mask else self.masks.running_vector()
        chosen = value if ignores_mask else value & running
        if not has_followers(self.state.function, part):
            return chosen
        within = constant_mask(b, ((1 << part.size) - 1) << part.offset, total)
        some = b.any(chosen) if if_any else b.any(running & within & ~value)
        goes = b.broadcast(Value(b, value.type, 1, some if if_any else b.assign(f"xor i1 {some}, true")), total)
        return chosen | (running & ~within & goes)

    def _wait(self, pc: int, lanes: Value) -> None:
        """Lanes go on at a reconvergence point later; behind the last instruction they have ended."""
        if pc >= self.state.flow.end:
            return
        b, waiting_mask = self.state.b, self._waiting_mask(pc)
        old = self.state.mask_value(b.assign(f"load {lanes.ir}, ptr {waiting_mask}, align 8"))
        b.emit(f"store {(old | lanes).typed}, ptr {waiting_mask}, align 8")

    def _waiting_mask(self, point: int) -> str:
        """The stack slot of the lanes that wait at a reconvergence point."""
        return f"%wait{self.state.reconvergence.points[point]}"

    def _nobody_waits_between(self, pc: int, target: int) -> bool:
        """Whether no lanes can wait between a forward branch and its target."""
        following = self.state.reconvergence.next_point(pc)
        return self.state.at.converged or following is None or following >= target

    # -- branches ------------------------------------------------------------------------------------------

    def goto(self, label: int, lanes: Lanes) -> Step:
        """These lanes go on at the label."""
        state, pc = self.state, self.state.at.pc
        instruction, target = state.function.instructions[pc], state.flow.labels[label]
        if pc in state.flow.masked:
            return lambda: self._part(target, self._condition(instruction))

        def whole() -> Mask:
            condition = lanes()
            if covers_all(instruction, state.jump_lanes):
                self.scalar[pc] = condition is not True and condition.lanes == 1
            return condition

        def step() -> None:
            b = state.b
            predicate = instruction.args.get("pred")
            if takes_one_way(instruction, state.uniform, state.jump_lanes) and predicate is not None:
                condition = self.masks.first_bit(predicate)
                self._tell_branch(condition)
                self._branch_uniform(pc, target, condition)
                return
            if pc in state.one_way:
                found = whole()
                one = "false" if found is True or found.lanes > 1 else found.text
                self._tell_branch(one)
                self._branch_uniform(pc, target, one)
                return
            taken = self.taken(whole, instruction, if_any=target <= pc)
            if taken is True:
                self._branch_uniform(pc, target, None)
                return
            rest = self.masks.running_vector() & ~taken
            self._tell_ways(taken, rest)
            if target > pc:
                self._wait(target, taken)
                self.masks.set_running(rest)
                some = b.any(rest)
                self.leave_block()
                b.branch(some, self.entrance(pc + 1), self.next_waiting(pc))
            else:
                self._wait(pc + 1, rest)
                self.masks.set_running(taken)
                some = b.any(taken)
                self.leave_block()
                self._branch_back(pc, target, some)

        return step

    def _part(self, target: int, condition: Value | None) -> None:
        """A goto changes the mask alone: the lanes for which a condition holds (None: all) wait at its target."""
        if condition is not None and self.branched:
            running = self.masks.running_vector()
            self._tell_ways(condition & running, ~condition & running)
        self.masked.part(target, condition)

    def _condition(self, instruction: Instruction) -> Value | None:
        """What must hold in a lane so that it takes a goto that is about all lanes; None for nothing."""
        state, predicate = self.state, instruction.args["pred"]
        if predicate is None:
            return None
        if takes_one_way(instruction, state.uniform, state.jump_lanes):
            return Value(state.b, MASK, 1, self.masks.first_bit(predicate))
        value = self.masks.predicate_bits(predicate, instruction.args["exec"])()
        return state.b.lanes(value, list(range(state.lanes))) if value.lanes > state.lanes else value

    def jump(self, label: int, taken: Callable[[], Value] | None) -> Step:
        """All lanes of the thread go on at the label, if its predicate holds."""
        state, pc = self.state, self.state.at.pc
        target, predicate = state.flow.labels[label], state.function.instructions[pc].args.get("pred")

        def step() -> None:
            condition = None if predicate is None else self.masks.first_bit(predicate)
            self._tell_skip(target, condition)
            if condition is not None:
                self._tell_branch(condition)
            self._branch_uniform(pc, target, condition)

        return step

    def _branch_uniform(self, pc: int, target: int, condition: str | None) -> None:
        """All running lanes go to the target if the condition holds."""
        b = self.state.b
        if target <= pc:
            self.leave_block()
            self._branch_back(pc, target, condition)
            return
        direct = self._nobody_waits_between(pc, target)
        running = self.masks.running_vector()
        self.leave_block()
        if direct:
            if condition is None:
                b.jump(self.entrance(target))
            else:
                b.branch(condition, self.entrance(target), self.entrance(pc + 1))
            return
        if condition is not None:
            leaving = b.new_label("leaving")
            b.branch(condition, leaving, self.entrance(pc + 1))
            b.label(leaving)
        self._all_wait(pc, target, running)

    def _branch_back(self, pc: int, target: int, condition: str | None) -> None:
        """Go back to the target if the condition holds; in a spin loop other threads run before that."""
        b, spins = self.state.b, pc in self.state.spin_branches
        back = b.new_label("again") if spins else self.entrance(target)
        self._poll()
        if condition is None:
            b.jump(back)
        else:
            b.branch(condition, back, self.entrance(pc + 1))
        if spins:
            b.label(back)
            self.suspension.let_others_run()
            b.jump(self.entrance(target))

    def _all_wait(self, pc: int, target: int, running: Value) -> None:
        """All running lanes wait at a reconvergence point, as others may wait in front of it."""
        self._wait(target, running)
        self.masks.stop_running()
        self.state.b.jump(self.next_waiting(pc))

    def switch(self, labels: tuple[int, ...], index: Callable[[], Value]) -> Step:
        """All lanes of the thread go on at the label with that number; beyond the last at the next instruction."""
        state, pc = self.state, self.state.at.pc
        targets = [state.flow.labels[label] for label in labels]

        def step() -> None:
            b = state.b
            value = index()
            for n, target in enumerate(targets):
                if self.skips:
                    self._tell_skip(target, b.assign(f"icmp eq i32 {value.text}, {n}"))
            running = self.masks.running_vector()
            direct = all(self._nobody_waits_between(pc, target) for target in targets)
            self.leave_block()
            cases = [(b.new_label("case"), target) for target in targets]
            arms = " ".join(f"i32 {n}, label %{name}" for n, (name, _) in enumerate(cases))
            b.emit(f"switch i32 {value.text}, label %{self.entrance(pc + 1)} [ {arms} ]")
            for name, target in cases:
                b.label(name)
                if target > pc and not direct:
                    self._all_wait(pc, target, running)
                    continue
                if target <= pc:
                    self._poll()
                b.jump(self.entrance(target))

        return step

    # -- subroutines ---------------------------------------------------------------------------------------

    def leave(self, lanes: Lanes) -> Step:
        """These lanes return from the subroutine or function, or end in the kernel."""
        state, pc = self.state, self.state.at.pc
        instruction = state.function.instructions[pc]

        def step() -> None:
            b = state.b
            taken = self.taken(lanes, instruction)
            if self.skips:
                self._tell_skip(state.flow.subroutine_end(pc), None if taken is True else b.any(taken))
            if taken is True:
                # Where all lanes are together none waits: a converged point further down is for lanes that come there.
                following = "exit" if state.at.converged else self.next_waiting(pc)
                self.masks.stop_running()
                self.leave_block()
                b.jump(following)
                return
            rest = self.masks.running_vector() & ~taken
            self._tell_ways(taken, rest)
            self.masks.set_running(rest)
            some = b.any(rest)
            self.leave_block()
            b.branch(some, self.entrance(pc + 1), self.next_waiting(pc))

        return step

    def _tell_skip(self, end: int, condition: str | None) -> None:
        for tell in self.skips:
            tell(self.state.event, end, condition)

    def _tell_branch(self, taken: str, both: str = "false") -> None:
        """Tell of a branch of which this thread takes all lanes, or some: each an i1."""
        for tell in self.branched:
            tell(self.state.function, self.state.at.pc, taken, both)

    def _tell_ways(self, taken: Value, rest: Value) -> None:
        """The same of one that some lanes take, and others do not."""
        if self.branched:
            b = self.state.b
            some, others = b.any(taken), b.any(rest)
            only = b.assign(f"xor i1 {others}, true")
            self._tell_branch(b.assign(f"and i1 {some}, {only}"), b.assign(f"and i1 {some}, {others}"))

    def call(self, label: int, lanes: Lanes, instruction: Instruction) -> Step:
        """These lanes run a subroutine of the same function and come back."""
        state, pc = self.state, self.state.at.pc
        target = state.flow.labels[label]

        def step() -> None:
            b = state.b
            taken = self.taken(lanes, instruction, if_any=True)
            running = self.masks.running_vector()
            number = state.flow.return_sites[target].index(pc + 1)
            for called, _ in self.around_calls:
                called(state.function, label)
            self.recursion.push(target, "true" if taken is True else b.any(taken))
            b.emit(f"store {running.typed}, ptr %held{target}, align 8")
            b.emit(f"store i32 {number}, ptr %site{target}, align 4")
            some = "true"
            if taken is True:
                self.masks.set_running(running)
            else:
                self.masks.set_running(taken)
                some = b.any(taken)
            self.leave_block()
            if state.flow.reached[target]:  # Calls of subroutines that call none take as long as the text lets them.
                self._poll()
            b.branch(some, self.entrance(target), f"return{target}")

        return step
