"""Lowers one function: block by block, twice where values flow between blocks.

The first emission is thrown away; :mod:`dry_run` learns from it what each block needs of the others. What prepares an
instruction is kept for the second one, unless it emitted something. A function of one block is emitted once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from visakit.language import types
from visakit.language.program import Function
from visakit.language.types import DataType
from vsim.analysis.control_flow import control_flow
from vsim.analysis.lockstep import Place
from vsim.analysis.read_only_loops import only_reads_memory
from vsim.analysis.waiting import touches_memory
from vsim.analysis.walks import lanes_that_walk, strays
from vsim.engines.llvm import CannotExecute, Unsupported
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.types import MASK
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.affine_registers import AffineRegisters, Places
from vsim.engines.llvm.lower.assembly import assemble
from vsim.engines.llvm.lower.block_use import NOTHING_NEEDED, BlockNeeds, BlockUse
from vsim.engines.llvm.lower.calls import stack_address
from vsim.engines.llvm.lower.control_flow import ControlFlowLowering
from vsim.engines.llvm.lower.dry_run import StorageUse, storage_use
from vsim.engines.llvm.lower.faults import FaultExits
from vsim.engines.llvm.lower.machine import LoweringMachine
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.module import ModuleState
from vsim.engines.llvm.lower.observers.findings import FindingExits
from vsim.engines.llvm.lower.observers.selection import observers_of
from vsim.engines.llvm.lower.prologue import Prologue
from vsim.engines.llvm.lower.state import ENTRY, FunctionState, Position
from vsim.engines.llvm.lower.storage import VARIABLE, Key
from vsim.engines.llvm.passes import sanitize
from vsim.engines.llvm.support import cooperative, driver
from vsim.engines.llvm.target import is_sanitized
from vsim.launch.threads import local_id_variables
from vsim.observe.observer import Observer, listeners
from vsim.semantics import SEMANTICS
from vsim.semantics.algebra import Machine
from vsim.semantics.core import unsigned_of
from vsim.semantics.registers import CE0, reads_lanes

Needs = Callable[[int], BlockNeeds]
Kept = TypeVar("Kept")
_NOTES = ("helpers", "place_count", "parts_lanes", "strays", "walks")
"""What an emission notes of a kernel in its module."""
MOST_ATTEMPTS = 3
"""So many times is a function emitted under assumptions on the shapes of its registers, before it is without any."""


def lower(module: ModuleState, function: Function) -> str:
    """The text of a function.

    Raises:
        Unsupported: it needs something that only the reference engine does.
    """
    helpers, places = dict(module.helpers), module.place_count
    lowering = FunctionLowering(module, function)
    text = lowering.text()
    if not lowering.may_go_one_way():
        return text
    return _lowered_one_way(module, function, lowering, helpers, places) or text


def _lowered_one_way(
    module: ModuleState, function: Function, before: FunctionLowering, helpers: dict[str, str], places: int
) -> str | None:
    """The text of a function in which each lane of a thread is known to take some branches as the others do; None where
    that is not known of any. All are assumed to be such; the wrong ones are left out, until the rest is so.

    Args:
        before: an emission in which one was so, or whose predicate has one bit for all lanes that run.
        helpers, places: those of the module before that.
    """
    kept, one_way = {name: getattr(module, name) for name in _NOTES}, frozenset(before.flow.scalar)
    while one_way:
        module.helpers, module.place_count = dict(helpers), places
        lowering = FunctionLowering(module, function, one_way)
        text, found = lowering.text(), lowering.one_way()
        if one_way <= found:
            module.parts_threads = True
            return text
        one_way &= found
    for name, note in kept.items():
        setattr(module, name, note)
    return None


class FunctionLowering:
    """Emits the blocks of one function.

    Args:
        one_way: see :attr:`FunctionState.one_way`.
    """

    def __init__(self, module: ModuleState, function: Function, one_way: frozenset[int] = frozenset()) -> None:
        self.state = FunctionState(module, function, one_way)
        self.exits = FaultExits(self.state)
        self.masks = Masks(self.state)
        self.observers = observers_of(self.state, self.masks, self.exits, FindingExits(self.state))
        self.flow = ControlFlowLowering(self.state, self.masks, self.exits, self.observers)
        self.machine = LoweringMachine(self.state, self.masks, self.flow, self.exits, self.observers)
        self.semantics_on = self._observed_machine()
        """What the semantics drive: the machine, or one around it."""
        self.before, self.after = listeners(self.observers, Observer.before), listeners(self.observers, Observer.after)
        self.ran = listeners(self.observers, Observer.ran)
        self.ends = dict(control_flow(function).blocks()) if self.ran else {}
        """Of the blocks that the text has, where some branches become masks: the first instructions, and the ends."""
        self.sanitized = is_sanitized()
        self.yields = module.dispatch.is_round_robin
        self.prepared: dict[int, Callable[[], object]] = {}
        """What emits an instruction, for the second emission; nothing does where only counters are wanted."""
        self.prepared |= dict.fromkeys(self.state.left_out, _leave_out)
        self.prepared |= {n: self.machine.write_lanes(writes) for n, writes in self.state.lane_writes.items()}
        if module.only_counts:
            self.prepared |= {n: _leave_out for n, i in enumerate(function.instructions) if touches_memory(i)}
        self.refused: set[int] = set()
        """Instructions that no engine can execute."""

    def _observed_machine(self) -> Machine:
        machine: Machine = self.machine
        for observer in self.observers:
            observer.prepare(self.machine)
            machine = observer.machine(machine)
        return machine

    def text(self) -> str:
        """The function as IR."""
        state = self.state
        if state.flow.leaves_subroutine(state.jump_lanes):
            raise Unsupported(
                "jumps between subroutines: lanes wait, and come back, where the text has their subroutine"
            )
        text = self._text()
        self._note_lanes()
        return text

    def _note_lanes(self) -> None:
        """Note what decides how lanes go over work-items, and how many lanes a thread has."""
        state, module, access = self.state, self.state.module, self.machine.access
        module.place_count += access.place_count
        if state.is_kernel:
            parting = {pc for pc, is_scalar in self.flow.scalar.items() if not is_scalar}
            module.own_places = {n for n, is_own in access.own.items() if is_own}
            module.parts_lanes = any(pc in parting for pc, _ in state.flow.backward)
            apart = not module.parts_lanes and access.scattered
            module.walks = lanes_that_walk(state.flow, state.layout, access.scattered) if apart else 0
            ids = {state.layout.root(variable)[0] for variable in local_id_variables(state.dispatch)}
            scattered = access.scattered.keys()
            module.strays = strays(state.flow, state.layout, parting, scattered, ids, state.left_out)

    def one_way(self) -> frozenset[int]:
        """The branches of which the last emission has seen that all running lanes take them, or none."""
        return frozenset(pc for pc, is_scalar in self.flow.scalar.items() if is_scalar)

    def may_go_one_way(self) -> bool:
        """Whether all running lanes were seen to take a branch, or none, or to have one bit of its predicate."""
        if not self._knows_ways():
            return False
        instructions = self.state.function.instructions
        predicates = (instructions[pc].args["pred"] for pc in self.flow.scalar)
        return any(self.flow.scalar.values()) or any(p and p.var in self.state.alike for p in predicates)

    def _knows_ways(self) -> bool:
        """Whether branches count as those of threads: not where checks watch lanes."""
        state = self.state
        return state.is_kernel and not state.dispatch.checks and not state.module.takes_turns

    def _text(self) -> str:
        state = self.state
        if state.is_straight:
            visible = state.storage.is_visible
            straight = BlockNeeds(visible, NOTHING_NEEDED.carries, NOTHING_NEEDED.sees)
            uses = self._emit({}, {}, {}, lambda block: straight, keep=False)
            if self.refused:  # without what their preparation has emitted
                uses = self._emit({}, {}, {}, lambda block: straight, keep=False)
            return assemble(state, self.flow.recursion, uses[ENTRY].exposed)
        helpers = dict(state.module.helpers)
        uses = self._emit({}, None, None, lambda block: NOTHING_NEEDED, keep=True)
        use = storage_use(state, uses)
        found = self._settled(use, helpers)
        state.prefetcher.end()
        return assemble(state, self.flow.recursion, use.unwritten | found.slots(use.unwritten))

    def _settled(self, use: StorageUse, helpers: Mapping[str, str]) -> AffineRegisters:
        """Emit the function until its blocks keep the assumptions about registers, and accesses were analysed under
        the same assumptions before; gives these.

        Args:
            helpers: those of the module before the first emission.
        """
        state = self.state
        learner = state.registers.affine_registers
        shapes, results = learner.learned(use), state.registers.denormal_registers.learned()
        finds_lockstep = state.find_lockstep()
        agrees, attempts = learner.relied_only_on(shapes) and not finds_lockstep, 0
        while True:
            state.module.helpers.clear()
            state.module.helpers.update(helpers)
            if not agrees:
                state.prefetcher.begin_anew()
            self._emit(use.extents, shapes, results, lambda block: use.needs(state, block), keep=False)
            found, wrong = state.registers.affine_registers, state.registers.denormal_registers.wrong
            if found.wrong or wrong:
                attempts += 1
                shapes = {} if attempts >= MOST_ATTEMPTS else _without(shapes, found.wrong)
                results = {} if attempts >= MOST_ATTEMPTS else _without(results, wrong)
                agrees = False
            elif agrees or not state.prefetcher.buffers:
                return found
            else:
                agrees = True

    def _emit(
        self,
        extents: Mapping[Key, int],
        shapes: Mapping[Key, Places] | None,
        results: Mapping[Key, DataType] | None,
        needs: Needs,
        keep: bool,
    ) -> dict[int, BlockUse]:
        """Emit the function; gives the effects of its blocks on storage.

        Args:
            shapes: the assumed shapes of registers in storage; None: see :class:`AffineRegisters`.
            results: registers that hold results of operations on floats alone; None: see :class:`DenormalRegisters`.
            keep: keep prepared instructions.
        """
        state = self.state
        state.begin(extents, shapes, results)
        self.exits.begin()
        self.flow.scalar.clear()
        self.machine.access.place_count = 0
        self.machine.access.shares = shapes is None or bool(state.one_way)
        self.machine.access.scattered.clear()
        self.machine.access.own.clear()
        full = state.is_kernel and state.module.full
        uses = {ENTRY: state.registers.begin_block(needs(ENTRY), full)}
        self._enter_function()
        if not state.is_straight or not state.flow.starts:
            state.registers.end_block(ENTRY, state.at.running)
            state.b.jump(self.flow.entrance(0))
        for start, end in state.flow.blocks():
            if start in state.reconvergence.points:
                self.flow.reconverge(start)
            if not state.is_straight:
                state.b.label(f"block{start}")
                all_run = full and start in state.reconvergence.converged
                uses[start] = state.registers.begin_block(needs(start), all_run)
            self._block(start, end, keep)
        for subroutine in state.flow.subroutines:
            self.flow.return_from_subroutine(subroutine)
        self._leave_function()
        return uses

    def _keep_scalar(self, place: Place) -> None:
        """Keep the scalar of the lockstep register that the instruction has written in all lanes that run."""
        state, running = self.state, self.masks.reading(self.state.lanes)
        root, low, size = place
        value = state.registers.read((VARIABLE, root), low, state.lanes, unsigned_of(size), running)
        state.lockstep.keep(place, value, running)

    # -- blocks --------------------------------------------------------------------------------------------

    def _block(self, start: int, end: int, keep: bool) -> None:
        """The instructions of a block, and the way to the next one."""
        state = self.state
        converged = start in state.reconvergence.converged
        running: Mask = self.masks.work_items() if converged else self.masks.load_running()
        if running is not True:  # A thread without running lanes continues elsewhere.
            state.b.nonempty.add(running.text)
        at = state.at = Position(start, running, converged)
        self._place_in_others(at)
        for pc in range(start, end):
            self.flow.masked.meet(pc)
            if pc in self.ends:
                for tell in self.ran:
                    tell(state.function, pc, self.ends[pc], 1, at.running)
            at.pc, at.execution, at.sources = pc, state.instructions[pc].args.get("exec"), {}
            self._instruction(pc, keep)
            if at.left:
                return
        self.flow.masked.meet(end)
        state.registers.end_block(start, at.running)
        state.b.jump(self.flow.entrance(end))

    def _place_in_others(self, at: Position) -> None:
        """Find the block in which all lanes of this one ran, so that facts proved about its lanes hold here, too."""
        around = self.state.around
        while around and not self.state.registers.needs.lies_in(around[-1].block):
            around.pop()
        if at.running is True:
            return
        if around:
            at.around = around[-1]
            outer = at.around.running
            assert outer is not True
            at.running = at.running.within(outer)
        around.append(at)

    def _instruction(self, pc: int, keep: bool) -> None:
        """Prepare an instruction, unless that was done, and emit it; one that cannot be prepared is a fault."""
        if self.sanitized:
            self.state.b.lines.append(sanitize.marker(pc))
        instruction = self.state.instructions[pc]
        emit = self.prepared.get(pc)
        if emit is None:
            b = self.state.b
            b.assigned = False
            emit = self._refuse
            if pc not in self.refused:
                self.machine.sources.begin(instruction)
                try:
                    emit = SEMANTICS[instruction.desc.semantics](self.semantics_on, instruction)
                except CannotExecute:
                    self.refused.add(pc)
            if keep and not b.assigned:
                self.prepared[pc] = emit
        if self.yields and touches_memory(instruction):
            self.machine.waiting.suspension.let_others_run()
        self.state.prefetcher.before(pc, only_reads_memory(instruction))
        for tell in self.before:
            tell(self.state.event)
        self.state.registers.pc = pc
        if reads_lanes(self.state.layout, instruction):
            running = Value(self.state.b, types.UQ, 1, self.masks.bits(self.masks.running_vector()))
            self.state.registers.write((VARIABLE, CE0), 0, 1, self.state.b.cast(running, types.UD))
        emit()
        if place := self.state.lockstep.written.get(pc):
            self._keep_scalar(place)
        if pc in self.state.prefetcher.inductions.slots:
            self.state.prefetcher.increment(pc, self.masks.mask(instruction.args["exec"], None)())
        for tell in self.after:
            tell(self.state.event)

    def _refuse(self) -> None:
        """Emit the fault of an instruction that no engine can execute; a block runs in some lane, but each side of a
        branch that became a mask may not.
        """
        at = self.state.at
        some = "true" if at.whole is None or at.running is True else self.state.b.any(at.running)
        self.exits.leave_if(some, cx.REFUSED, "0", "0", lambda: ("0", 0, 0, "0"))

    # -- beginning and end ---------------------------------------------------------------------------------

    def _enter_function(self) -> None:
        state, b = self.state, self.state.b
        if not state.is_kernel:
            mask = Value(b, MASK, state.lanes, "%mask")
            state.at = Position(ENTRY, mask, converged=False)
            self.masks.set_running(mask)
            state.storage.carry_in()
            Prologue(state, self.masks).states()
            return
        if state.shares:
            b.emit(f"store i64 %thread, ptr {b.offset('%shared', cx.SHARED_THREAD)}, align 8")
            b.emit(f"store i64 0, ptr {b.offset('%shared', cx.SHARED_DEPTH)}, align 8")
            b.emit(f"store i64 {stack_address(b)}, ptr {b.offset('%shared', cx.SHARED_STACK)}, align 8")
            if state.dispatch.checks:
                b.emit(f"store i64 {self.masks.work_item_bits()}, ptr {b.offset('%shared', cx.SHARED_ITEMS)}, align 8")
        for tell in listeners(self.observers, Observer.threads_begin):
            tell(state.event)
        state.at = Position(ENTRY, self.masks.work_items(), converged=True)
        self.masks.run_all()
        Prologue(state, self.masks).emit()

    def _leave_function(self) -> None:
        """The ways out: faults, then the usual one."""
        b = self.state.b
        if self.exits.record():
            if self.state.is_coroutine:
                b.jump("exit")
            else:
                b.emit("ret void")
        b.label("exit")
        for tell in listeners(self.observers, Observer.threads_end) if self.state.is_kernel else ():
            tell(self.state.event)
        if self.state.is_coroutine and not self.state.is_kernel:
            self.state.storage.carry_out()
        if self.state.is_coroutine:
            b.lines.append(cooperative.function_end() if self.state.module.takes_turns else driver.coroutine_exit())
        elif self.state.is_kernel:
            b.jump("next")
        else:
            self.state.storage.carry_out()
            b.emit("ret void")


def _leave_out() -> None:
    """Emit nothing."""


def _without(found: Mapping[Key, Kept], wrong: set[Key]) -> dict[Key, Kept]:
    return {key: kept for key, kept in found.items() if key not in wrong}
