"""One hardware thread of a launch on symbols: which lanes run which instructions, and their effects on memory.

The lanes with the smallest pc run first, as on the engines. Loops run round by round while the number of rounds does
not depend on symbols; others are closed (:mod:`vsim.symbolic.loops`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from visakit.diagnostics import SimulationError
from visakit.language.program import FIRST_VARIABLE, Function, Instruction
from vsim.analysis.control_flow import control_flow
from vsim.semantics import SEMANTICS
from vsim.semantics.algebra import Machine, Step
from vsim.semantics.registers import CE0, Layout, layout_of, reads_lanes
from vsim.symbolic import terms
from vsim.symbolic.limits import Undecided
from vsim.symbolic.loop_terms import Cell
from vsim.symbolic.machine import MAXIMUM_DEPTH, SymbolicMachine
from vsim.symbolic.memory import SymbolicMemory
from vsim.symbolic.operands import cannot_execute
from vsim.symbolic.places import NOWHERE, Part, Place, any_of, guards_of, joined, split
from vsim.symbolic.registers import PREDICATE_BITS, Piece, SymbolicRegisters
from vsim.symbolic.stretch import VARIABLE, Stretch
from vsim.symbolic.symbols import NO_LANE, Symbols
from vsim.symbolic.terms import Condition, Term

if TYPE_CHECKING:
    from vsim.symbolic.launch import SymbolicLaunch

MAXIMUM_LANES = 32


@dataclass
class SymbolicActivation:
    """A function, or subroutine of it, that lanes are in; ``waiting`` are lanes that continue at a pc."""

    machine: SymbolicMachine
    waiting: dict[int, Place] = field(default_factory=dict)
    depth: int = 0
    open_loops: set[int] = field(default_factory=set)
    """The loops that are being run, by the pc of their first instruction."""

    def wait(self, pc: int, place: Place) -> None:
        """Lanes go on at a pc."""
        if place:
            self.waiting[pc] = joined(self.waiting.get(pc, NOWHERE), place)


class SymbolicThread:
    """A thread of a launch, which runs as long as the launch's limits allow."""

    may_forget_registers = True
    """Whether registers may hold anything once a register address may be one of too many."""

    def __init__(self, launch: SymbolicLaunch) -> None:
        self.launch = launch
        self.symbols: Symbols = launch.symbols
        self.memory = SymbolicMemory(self)
        self.activation: SymbolicActivation
        self.place: Place = NOWHERE
        self.guards: Sequence[Condition] = ()
        self.number = 0
        self.phase = 0
        """Barriers that the thread has passed."""
        self.barriers: list[tuple[Function, int, Sequence[Condition], int]] = []
        self.branches: list[tuple[Function, int, Condition, Condition]] = []
        """Function, number, condition of each lane or the thread, and under which it runs."""
        self.reached: list[tuple[Function, int, Sequence[Condition]]] = []
        """Instructions that were run: function, number, and the conditions under which each lane runs it."""
        self.ways: list[tuple[Function, int, Sequence[Condition], Sequence[Condition]]] = []
        """Branches: function, number, the conditions under which each lane runs it, and those under which it takes
        it.
        """
        self._machines: dict[int, SymbolicMachine] = {}
        self._prepared: dict[int, list[Step | None]] = {}
        self._layouts: dict[int, Layout] = {}
        self._undefined = 0
        self.shared: SymbolicRegisters | None = None
        """Registers that hold the predefined variables of the thread."""
        self.starts: tuple[Condition, ...] = ()
        self.steps = 0
        """Instructions that were run."""
        self.closed: set[tuple[int, int]] = set()
        """Loops that are closed, by function and first instruction."""
        self.known_cells: dict[tuple[int, int], tuple[list[Cell], set[tuple[int, int, int]]]] = {}
        """Registers that loops wrote when they were entered last, by function and first instruction."""
        self.write_logs: list[tuple[SymbolicMachine, dict[tuple[int, int, int, int], int]]] = []
        """What loops that are being looked at write: lanes by kind, number, first byte and bytes."""
        self.loop_phases: dict[str, tuple[int, int]] = {}
        """By the name of a round's symbol, the barriers that the thread had passed before and after a round."""
        self.barrier_loops: list[tuple[Condition, Function, int]] = []
        """Of closed loops with barriers, the condition of another round, and where they begin."""
        self.loops: list[tuple[int, Term]] = []
        """The closed loops around the instruction, and their rounds."""

    # -- registers -----------------------------------------------------------------------------------------

    def layout(self, function: Function) -> Layout:
        """The layout of a function's registers."""
        found = self._layouts.get(id(function))
        if found is None:
            found = self._layouts[id(function)] = layout_of(function, self.launch.grf_size)
        return found

    def new_registers(self, function: Function) -> SymbolicRegisters:
        """Registers of an activation: undefined, with the predefined variables of the thread."""
        names = function.variable_name
        self._undefined += 1
        birth = self._undefined

        def contents(root: int, size: int) -> list[Piece]:
            if root < FIRST_VARIABLE:
                return self._predefined(root, size)
            whole = self.symbols.number(f"undefined.{names(root)}.{birth}", 8 * size, is_undefined=True)
            return [Piece(whole, size, k) for k in range(size)]

        def predicate(number: int) -> list[Condition]:
            name = f"undefined.P{number}.{birth}"
            return [self.symbols.condition(name, k, is_undefined=True) for k in range(PREDICATE_BITS)]

        found = SymbolicRegisters(self.layout(function), contents, predicate, check=self.launch.limits.check)
        found.states.update(self.launch.states_of(function))
        return found

    def _predefined(self, root: int, size: int) -> list[Piece]:
        """The bytes of a predefined variable, which all activations share."""
        if root not in self.launch.predefined:
            self.launch.predefined[root] = self.launch.start_value(root, size)
        return self.launch.predefined[root]

    def machine(self, function: Function) -> SymbolicMachine:
        """The machine of a function, with the registers of its latest activation."""
        found = self._machines.get(id(function))
        if found is None:
            found = self._machines[id(function)] = SymbolicMachine(self, function)
            self._prepared[id(function)] = [None] * len(function.instructions)
        return found

    # -- instructions --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the kernel to its end.

        Raises:
            Undecided: an instruction is not followed, or a limit is reached.
        """
        launch = self.launch
        machine = self.machine(launch.kernel)
        self.starts = launch.start_guards()
        launch.fill(machine.registers)
        activation = SymbolicActivation(machine)
        activation.wait(0, frozenset([Part(self.starts)]))
        self.run_activation(activation)

    def run_activation(self, activation: SymbolicActivation, low: int = 0, high: int | None = None) -> None:
        """Run the lanes of an activation that are from one pc to before another, until none are left there."""
        function = activation.machine.function
        end = len(function.instructions) if high is None else high
        loops = self.launch.loops_of(function)
        while True:
            pc = min((pc for pc in activation.waiting if low <= pc < end), default=None)
            if pc is None:
                return
            place = activation.waiting.pop(pc)
            if pc in loops and pc not in activation.open_loops:
                self.run_loop(activation, loops[pc], place)
            else:
                self.run_stretch(activation, pc, place)

    def run_loop(self, activation: SymbolicActivation, loop: range, place: Place) -> None:
        """Run lanes that come to the first instruction of a loop until they have left it."""
        from vsim.symbolic.loops import run_loop

        run_loop(self, activation, loop, place)

    def run_stretch(self, activation: SymbolicActivation, pc: int, place: Place) -> None:
        """Run lanes from a pc on until they part or meet others."""
        function = activation.machine.function
        loops, end = self.launch.loops_of(function), len(function.instructions)
        self.activation, self.place = activation, place
        self.guards = guards_of(place, self.launch.lanes)
        self._begin(activation.machine)
        moved = False
        while not moved and pc < end:
            moved = bool(self._step(activation.machine, pc))
            pc += 1
            if not moved and (pc in activation.waiting or pc in loops):
                activation.wait(pc, self.place)
                moved = True
        self._end(activation.machine)

    def _begin(self, machine: SymbolicMachine) -> None:
        guards = [*self.guards, *[False] * (MAXIMUM_LANES - len(self.guards))]
        machine.active = True if all(g is True for g in self.guards) else guards
        machine.stretch = None if machine.active is True else Stretch(self.guards, machine.registers)

    def _end(self, machine: SymbolicMachine) -> None:
        if machine.stretch is not None:
            machine.stretch.end()
            machine.stretch = None

    def _step(self, machine: SymbolicMachine, number: int) -> object:
        function = machine.function
        instruction = function.instructions[number]
        machine.instruction, machine.number, self.number = instruction, number, number
        self.steps += 1
        self.launch.limits.at(function, number)
        self.reached.append((function, number, self.guards))
        steps = self._prepared[id(function)]
        step = steps[number]
        if step is None:
            step = steps[number] = SEMANTICS[instruction.desc.semantics](cast(Machine, machine), instruction)
        if reads_lanes(machine.layout, instruction):
            self._show_lanes(machine)
        return step()

    def _show_lanes(self, machine: SymbolicMachine) -> None:
        """%ce0 gets the lanes that run."""
        bits: terms.Term = 0
        for k, guard in enumerate(self.guards):
            bits = terms.any_bits(bits, terms.pick(guard, 1 << k, 0, 32), 32)
        machine.registers.write(CE0, 0, 4, bits)

    def cannot(self, text: str, instruction: Instruction) -> SimulationError:
        """The error that an instruction cannot be followed."""
        function = self.activation.machine.function
        span, _ = self.launch.image.place(function, instruction)
        return cannot_execute(function, text, instruction, span)

    def note_write(
        self, machine: SymbolicMachine, kind: int, number: int, places: Sequence[Sequence[int]], lanes: Sequence[int]
    ) -> None:
        """Tell the loops around an instruction its writes."""
        for owner, log in self.write_logs:
            if owner is not machine and not (kind == VARIABLE and number < FIRST_VARIABLE):
                continue
            for at, lane in zip(places, lanes, strict=True):
                key = kind, number, at[0], len(at)
                log[key] = lane if log.get(key, lane) == lane else NO_LANE

    # -- control flow --------------------------------------------------------------------------------------

    def note_branch(self, conditions: Sequence[Condition]) -> None:
        """Remember a condition on which control flow depends."""
        function = self.activation.machine.function
        self.ways.append((function, self.number, self.guards, conditions))
        for guard, c in zip(self.guards, conditions, strict=True):
            if not isinstance(c, bool) and guard is not False:
                self.branches.append((function, self.number, c, guard))

    def split(self, taken: Sequence[Condition], target: int | None, following: int) -> bool:
        """The lanes for which a condition holds go on at a target, or leave; whether lanes moved."""
        self.note_branch(taken)
        taken = [c if isinstance(c, bool) else self.launch.simplified(c) for c in taken]
        chosen, others = split(self.place, taken)
        if not chosen:
            return False
        if target is not None:
            self.activation.wait(target, chosen)
        self.activation.wait(following, others)
        return True

    def switch(self, cases: Sequence[tuple[Condition, int]], following: int) -> bool:
        """The lanes go on where the first case that holds leads."""
        left = self.place
        for condition, target in cases:
            taken = [condition] * len(self.guards)
            self.note_branch(taken)
            chosen, left = split(left, taken)
            self.activation.wait(target, chosen)
        self.activation.wait(following, left)
        return True

    def call(
        self,
        machine: SymbolicMachine,
        target: int,
        taken: Sequence[Condition],
        following: int,
        instruction: Instruction,
    ) -> bool:
        """Lanes run a subroutine; all lanes of the thread go on when they are back."""
        caller, place = self.activation, self.place
        lanes = self._callers(taken, instruction)
        if lanes:
            self._enter(caller, SymbolicActivation(machine, depth=caller.depth + 1), target, lanes, instruction)
            self._resume(caller, place)
        return False

    def call_function(
        self, callee: Function, taken: Sequence[Condition], following: int, instruction: Instruction
    ) -> bool:
        """Lanes run a function with its own registers."""
        caller, place = self.activation, self.place
        lanes = self._callers(taken, instruction)
        if lanes:
            machine = self.machine(callee)
            outer = machine.registers
            machine.registers = self.new_registers(callee)
            self._enter(caller, SymbolicActivation(machine, depth=caller.depth + 1), 0, lanes, instruction)
            machine.registers = outer
            self._resume(caller, place)
        return False

    def _callers(self, taken: Sequence[Condition], instruction: Instruction) -> Place:
        """The lanes that run a callee: with NoMask also lanes that do not run in the caller."""
        from vsim.semantics.flow import reach

        self.note_branch(taken)
        chosen, _ = split(self.place, taken)
        if not chosen or not reach(instruction).no_mask:
            return chosen
        runs = any_of(guards_of(chosen, len(self.guards)))
        return frozenset([Part([terms.conjunction(runs, c) for c in taken])])

    def _enter(
        self,
        caller: SymbolicActivation,
        callee: SymbolicActivation,
        target: int,
        lanes: Place,
        instruction: Instruction,
    ) -> None:
        if callee.depth > MAXIMUM_DEPTH:
            text = f"calls are nested more than {MAXIMUM_DEPTH} deep"
            raise Undecided(text, caller.machine.function, self.number)
        number = self.number
        self._end(caller.machine)
        callee.wait(target, lanes)
        self.run_activation(callee)
        self.number = number

    def _resume(self, caller: SymbolicActivation, place: Place) -> None:
        self.activation, self.place = caller, place
        self.guards = guards_of(place, self.launch.lanes)
        caller.machine.instruction = caller.machine.function.instructions[self.number]
        caller.machine.number = self.number
        self._begin(caller.machine)

    # -- barriers ------------------------------------------------------------------------------------------

    def barrier(self, number: int, signal: bool, wait: bool, instruction: Instruction) -> bool:
        """The thread arrives at the group's barrier, or waits for it."""
        function = self.activation.machine.function
        if not (signal and wait):
            raise Undecided("halves of split barriers are not followed", function, number)
        self.barriers.append((function, number, self.guards, self.phase))
        self.phase += 1
        self.memory.forget_shared()
        return False

    def named_barrier(self, number: int, instruction: Instruction) -> None:
        """A barrier for some threads of the group."""
        raise Undecided("named barriers are not followed", self.activation.machine.function, number)


def loops_in(function: Function) -> dict[int, range]:
    """The loops of a function, by the pc of their first instruction; to behind their last branch back."""
    found: dict[int, range] = {}
    for pc, target in control_flow(function).backward:
        end = max(pc + 1, found[target].stop if target in found else 0)
        found[target] = range(target, end)
    return found
