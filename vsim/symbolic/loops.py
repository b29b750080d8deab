"""Loops of a thread: run round by round where the number of rounds does not depend on symbols, else closed.

To *close* a loop its first instruction is reached once, in the state of any round. Registers that the loop writes are
symbols there, except registers that grow by the same term in each round: ``i`` is ``start + step * K`` in round ``K``.
The round is the first, or the condition of the branch back held at the end of the round before. So one run
of the loop's instructions stands for all rounds. After the loop its registers are symbols again, but growing registers
have their value of the last round.

Example: in the round ``K`` of ``for (i = 0; i < n; i++)``, ``i`` is ``K``, and ``K == 0 or K < n`` holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import z3

from vsim.analysis.control_flow import control_flow
from vsim.symbolic import terms
from vsim.symbolic.limits import Undecided
from vsim.symbolic.loop_terms import (
    ROUND_BITS,
    Cell,
    distinct_conditions,
    equal_terms,
    fits_32_bits,
    grown_term,
    guard_prefixes,
    same_terms,
    separate_cells,
    where_known,
    without_guard,
)
from vsim.symbolic.places import NOWHERE, Part, Place, any_of, guards_of, joined, split
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.registers import SymbolicRegisters, pieces_of
from vsim.symbolic.snapshot import ThreadSnapshot
from vsim.symbolic.spaces import READ
from vsim.symbolic.stretch import PREDICATE, VARIABLE
from vsim.symbolic.symbols import NO_LANE
from vsim.symbolic.terms import Condition, Term
from vsim.symbolic.thread import SymbolicActivation, SymbolicThread

MOST_STEPS = 1500
"""Instructions that rounds of a loop run before it is closed."""
MOST_ROUNDS = 1 << 62
_QUESTION_SECONDS = 2.0


def run_loop(thread: SymbolicThread, activation: SymbolicActivation, loop: range, place: Place) -> None:
    """Run lanes that come to the first instruction of a loop until they have left it.

    Raises:
        Undecided: the loop has several entries, or jumps out of it to places before it.
    """
    check_loop(activation, loop)
    key = id(activation.machine.function), loop.start
    activation.open_loops.add(loop.start)
    if key in thread.closed or not _unrolled(thread, activation, loop, place):
        thread.closed.add(key)
        _Closing(thread, activation, loop, place).run()
    activation.open_loops.remove(loop.start)


def check_loop(activation: SymbolicActivation, loop: range) -> None:
    """See that a loop has one entry.

    Raises:
        Undecided: it has several, or jumps out of it to places before it.
    """
    function = activation.machine.function
    flow = control_flow(function)
    for pc, instruction in enumerate(function.instructions):
        if not instruction.desc.flow.is_branch:
            continue
        for target in flow.targets(instruction):
            enters = pc not in loop and target in loop and target != loop.start
            if enters or (pc in loop and target < loop.start):
                raise Undecided("a loop has several entries or leaves to places before it", function, pc)


def _unrolled(thread: SymbolicThread, activation: SymbolicActivation, loop: range, place: Place) -> bool:
    """Run the rounds of a loop one after the other; whether their number is known. Else nothing has happened."""
    before, steps = ThreadSnapshot(thread, activation), thread.steps
    current = place
    while thread.steps - steps < MOST_STEPS:
        thread.run_stretch(activation, loop.start, current)
        thread.run_activation(activation, loop.start + 1, loop.stop)
        again = activation.waiting.pop(loop.start, None)
        if again is None:
            return True
        if again != place:
            break
        current = again
    before.restore(thread, activation)
    return False


class _Round(NamedTuple):
    """What one run of a loop's instructions did: the places of lanes that go back, and the conditions of it by lane."""

    back: Place
    again: tuple[Condition, ...]
    is_uniform: bool
    exits: dict[int, Place]


class _Closing:
    """Closes one loop."""

    def __init__(self, thread: SymbolicThread, activation: SymbolicActivation, loop: range, place: Place) -> None:
        self.thread, self.activation, self.loop, self.place = thread, activation, loop, place
        self.launch, self.symbols = thread.launch, thread.symbols
        self.machine = activation.machine
        self.registers: SymbolicRegisters = self.machine.registers
        self.before = ThreadSnapshot(thread, activation)
        self.start = self.registers.copy()
        self.guards = guards_of(place, self.launch.lanes)
        self.any = any_of(self.guards)
        self.round = self.symbols.number(self.symbols.fresh("round"), ROUND_BITS)
        self.cells: list[Cell] = []
        self.states: set[tuple[int, int, int]] = set()
        self.header: dict[Cell, Term] = {}
        """What cells hold in any round."""
        self.steps: dict[Cell, Term] = {}
        """By what cells grow in each round."""
        self.touches_memory = True
        self.some: Place = NOWHERE
        self.inside: Sequence[Condition] = ()
        """The conditions of the lanes that execute a round."""
        self.in_loop: set[str] = set()
        """Names of the conditions that lanes are still in the loop."""
        self.born: set[str] = set()
        """Names of symbols that another round has others for."""
        self.solver = Solver(self.launch, _QUESTION_SECONDS)

    def run(self) -> None:
        """Run it."""
        self._find_cells()
        general = self._general_round()
        self._find_steps(general)
        facts = self._facts(general)
        self._restart()
        for cell in self.steps:
            other = self._get(self.start, cell) if general.is_uniform else self.header[cell]
            value = self._in_round(cell, self.round)
            self._set(
                cell, value if cell.lane == NO_LANE else terms.pick(self.inside[cell.lane], value, other, cell.bits)
            )
        for cell in self.cells:
            if cell not in self.steps:
                self._set(cell, self.header[cell])
        self.symbols.state(z3.ULT(self.round, MOST_ROUNDS), *facts)
        entry = self.place if general.is_uniform else self._some_lanes()
        self.thread.loops.append((self.loop.start, self.round))
        phase = self.thread.phase
        found = self._round(entry)
        self.thread.loops.pop()
        self.thread.loop_phases[self.round.decl().name()] = phase, self.thread.phase
        if self.thread.phase > phase:
            again = True if general.is_uniform else any_of(self.inside)
            for condition in distinct_conditions([again, *found.again]):
                self.thread.barrier_loops.append((condition, self.machine.function, self.loop.start))
        self._leave(found, general)

    # -- one round -----------------------------------------------------------------------------------------

    def _restart(self) -> None:
        self.before.restore(self.thread, self.activation)
        if self.touches_memory:
            self.thread.memory.forget_all()

    def _round(self, entry: Place) -> _Round:
        """Run the instructions of the loop once."""
        thread, activation = self.thread, self.activation
        outside = dict(activation.waiting)
        activation.waiting = {}
        thread.run_stretch(activation, self.loop.start, entry)
        thread.run_activation(activation, self.loop.start + 1, self.loop.stop)
        back = activation.waiting.pop(self.loop.start, NOWHERE)
        exits, activation.waiting = activation.waiting, outside
        again = guards_of(back, self.launch.lanes) if back else (False,) * self.launch.lanes
        return _Round(back, again, self._is_uniform(again), exits)

    def _is_uniform(self, again: Sequence[Condition]) -> bool:
        """Whether all lanes that run a round go on to the next one, or none does."""
        common: list[Term] | None = None
        for guard, condition in zip(self.guards, again, strict=True):
            if guard is False:
                continue
            own = without_guard(condition, guard)
            if own is None or (common is not None and not same_terms(own, common)):
                return False
            common = own
        return True

    def _some_lanes(self) -> Place:
        """The lanes that are still in the loop."""
        if not self.some:
            name = self.symbols.fresh("in_loop")
            inside = [self.symbols.condition(name, k) for k in range(self.launch.lanes)]
            self.in_loop = {c.decl().name() for c in inside}
            self.some = frozenset([Part([terms.conjunction(g, c) for g, c in zip(self.guards, inside, strict=True)])])
        return self.some

    # -- registers that the loop writes --------------------------------------------------------------------

    def _find_cells(self) -> None:
        """Find the registers that the loop writes: run it with symbols for them, until it writes no others.

        It begins with those of the loop's last entry, which may have left out branches of this one.
        """
        key = id(self.machine.function), self.loop.start
        self.cells, self.states = self.thread.known_cells.get(key, ([], set()))
        for _ in range(4):
            self._restart()
            self._havoc()
            log: dict[tuple[int, int, int, int], int] = {}
            self.thread.write_logs.append((self.machine, log))
            states, messages = dict(self.registers.states), len(self.thread.memory.messages)
            self._round(self.place)
            self.thread.write_logs.pop()
            changed = {k for k, value in self.registers.states.items() if not equal_terms(states.get(k), value)}
            stored = self.thread.memory.messages[messages:]
            cells = separate_cells([*log.items(), *(((c.kind, c.number, c.start, c.size), c.lane) for c in self.cells)])
            done = set(cells) == set(self.cells) and changed <= self.states
            self.cells, self.states = cells, self.states | changed
            self.touches_memory = any(m.kind != READ for m in stored) or self.thread.phase != self.before.phase
            if done:
                break
        else:
            function = self.machine.function
            raise Undecided("the registers that a loop writes are not known", function, self.loop.start)
        self.thread.known_cells[key] = self.cells, self.states

    def _havoc(self) -> None:
        """Let cells hold anything."""
        self.header = {}
        for cell in self.cells:
            name = self.symbols.fresh("any")
            if cell.kind == PREDICATE:
                self.header[cell] = self.symbols.condition(name, cell.lane)
            else:
                self.header[cell] = self.symbols.number(name, cell.bits, cell.lane)
            self._set(cell, self.header[cell])
        for key in self.states:
            self.registers.states[key] = self.symbols.number(self.symbols.fresh("state"), 32)

    def _set(self, cell: Cell, value: Term) -> None:
        if cell.kind == VARIABLE:
            where = slice(cell.start, cell.start + cell.size)
            self.registers.bytes_of(cell.number)[where] = pieces_of(value, cell.size)
        elif cell.kind == PREDICATE:
            self.registers.predicate(cell.number)[cell.start] = value
        else:
            self.registers.address(cell.number)[cell.start] = value

    def _get(self, registers: SymbolicRegisters, cell: Cell) -> Term:
        if cell.kind == VARIABLE:
            return registers.read(cell.number, cell.start, cell.size)
        if cell.kind == PREDICATE:
            return registers.predicate(cell.number)[cell.start]
        return registers.address(cell.number)[cell.start]

    # -- how cells grow ------------------------------------------------------------------------------------

    def _general_round(self) -> _Round:
        """Run a round from cells that hold anything; first as if all lanes stayed together."""
        found = self._round_of_anything(self.place)
        return found if found.is_uniform else self._round_of_anything(self._some_lanes())._replace(is_uniform=False)

    def _round_of_anything(self, place: Place) -> _Round:
        self._restart()
        before = len(self.symbols.known)
        self._havoc()
        self.inside = guards_of(place, self.launch.lanes)
        found = self._round(place)
        self.born = {*[*self.symbols.known][before:], *self.in_loop}
        return found

    def _find_steps(self, general: _Round) -> None:
        prefixes = [guard_prefixes(c, g) for c, g in zip(general.again, self.inside, strict=True)]
        levels = range(max(len(own) for own in prefixes))
        whole = [any_of([own[min(n, len(own) - 1)] for own in prefixes]) for n in levels]
        for cell in self.cells:
            if cell.kind != VARIABLE or cell.size not in (1, 2, 4, 8):
                continue
            new = self._get(self.registers, cell)
            known = whole if cell.lane == NO_LANE else [*whole, *prefixes[cell.lane]]
            grown = self.launch.simplified(terms.less(where_known(new, known), self.header[cell], cell.bits))
            if isinstance(grown, int):
                self.steps[cell] = grown

    def _in_round(self, cell: Cell, number: Term) -> Term:
        """What a cell that grows holds in a round that its lane, or the thread, runs."""
        return grown_term(self._begun(cell), self.steps[cell], number, cell.bits)

    def _begun(self, cell: Cell) -> Term:
        """What a cell held when its lane, or the thread, came to the loop."""
        return self.launch.simplified(where_known(self._get(self.start, cell), self._known(cell.lane)))

    def _known(self, lane: int) -> list[Condition]:
        return [self.any] if lane == NO_LANE else [self.any, self.guards[lane]]

    # -- facts of a round ----------------------------------------------------------------------------------

    def _facts(self, general: _Round) -> list[Condition]:
        """What holds in any round, for lanes that run it."""
        again = self._conditions(general)
        previous = self._renamed(again, self.round - 1)
        by_lane: dict[int, list[Condition]] = {}
        for lane, (inside, condition) in enumerate(zip(self.inside, previous, strict=True)):
            if inside is False:
                continue
            fact = terms.disjunction(self.round == 0, condition)
            if general.is_uniform:
                by_lane[NO_LANE] = [fact]
                break
            by_lane[lane] = [terms.disjunction(terms.negation(inside), fact)]
        self._add_ranges(again, by_lane)
        return [fact for own in by_lane.values() for fact in own]

    def _conditions(self, general: _Round) -> list[Condition]:
        """For each lane the condition of the branch back at the end of a round that it runs."""
        found = []
        for guard, condition in zip(self.inside, general.again, strict=True):
            own = without_guard(condition, guard)
            found.append(condition if own is None else z3.And(*own) if own else True)
        return found

    def _renamed(self, conditions: Sequence[Condition], number: Term) -> list[Condition]:
        """Conditions of a round as those of another one: with its cells, and other symbols for the unknown."""
        names = frozenset[str]().union(*(self.symbols.free(c) for c in conditions))
        born, pairs = self.born & names, list[tuple[Term, Term]]()
        for cell, header in self.header.items():
            name = header.decl().name()
            if cell in self.steps and name in names:
                pairs.append((header, terms.expression(self._in_round(cell, number), cell.bits)))
                born.discard(name)
        again = self.symbols.fresh("other")
        for name in born:
            own, known = self.symbols.expressions[name], self.symbols.known[name]
            base = f"{again}.{known.base}"
            if z3.is_bool(own):
                other = self.symbols.condition(base, known.lane)
            else:
                other = self.symbols.number(base, own.size(), known.lane)
            pairs.append((own, other))
        return [c if isinstance(c, bool) else self.launch.simplified(z3.substitute(c, *pairs)) for c in conditions]

    def _add_ranges(self, again: Sequence[Condition], by_lane: dict[int, list[Condition]]) -> None:
        """Add that counters in the conditions have not wrapped around, where the solver shows that no round does it."""
        names = frozenset[str]().union(*(self.symbols.free(c) for c in again))
        shown: dict[tuple[object, ...], int | None] = {}
        for cell, step in self.steps.items():
            if not step or cell.bits != 32 or self.header[cell].decl().name() not in names:
                continue
            own = cell.lane if cell.lane in by_lane else NO_LANE
            lane = next((k for k, g in enumerate(self.inside) if g is not False), 0) if own == NO_LANE else own
            start = self._begun(cell)
            nameless = self.solver.nameless
            key = own == NO_LANE, step, *(terms.term_key(nameless(t)) for t in (start, again[lane], self.inside[lane]))
            if key not in shown:
                known = [self.inside[lane], *by_lane.get(own, [])]
                shown[key] = self._range_kept(start, step, again[lane], known)
            signed = shown[key]
            if signed is not None:
                fact = fits_32_bits(start, step, self.round, bool(signed))
                by_lane.setdefault(own, []).append(terms.disjunction(terms.negation(self.inside[lane]), fact))

    def _range_kept(self, start: Term, step: int, again: Condition, known: Sequence[Condition]) -> int | None:
        """Whether a counter keeps within the numbers with a sign (1), or those without (0); None for neither."""
        (condition,) = self._renamed([again], self.round)
        for signed in (1, 0):
            now, then = (fits_32_bits(start, step, number, bool(signed)) for number in (self.round, self.round + 1))
            question = [self.launch.simplified(c) for c in (*known, now, condition, terms.negation(then))]
            if self._cannot(*self._from_any(start, question)) or self._cannot(*question):
                return signed
        return None

    def _from_any(self, start: Term, question: Sequence[Condition]) -> list[Condition]:
        """A question with any start of a counter, which many lanes have in common."""
        if isinstance(start, int):
            return [*question]
        symbol = z3.BitVec("any start", start.size())
        return [c if isinstance(c, bool) else z3.substitute(c, (start, symbol)) for c in question]

    def _cannot(self, *conditions: Condition) -> bool:
        return self.solver.possible(*conditions).possible is Possible.NO

    # -- behind the loop -----------------------------------------------------------------------------------

    def _leave(self, found: _Round, general: _Round) -> None:
        """Lanes leave the loop; the registers that it wrote have their values of each lane's last round."""
        last = self.symbols.fresh("last_round")
        conditions, is_uniform = self._conditions(general), general.is_uniform
        at_bottom = set(found.exits) == {self.loop.stop} and self._leaves_at_bottom()
        rounds: dict[int, Term] = {}
        for cell in self.cells:
            lane = NO_LANE if is_uniform else cell.lane
            value: Term = None
            if at_bottom and cell in self.steps:
                if lane not in rounds:
                    rounds[lane] = self._last_round(last, lane, conditions, is_uniform)
                value = self._in_round(cell, rounds[lane] + 1)
            elif cell.kind == PREDICATE:
                value = self.symbols.condition(self.symbols.fresh("after"), cell.lane)
            else:
                value = self.symbols.number(self.symbols.fresh("after"), cell.bits, cell.lane)
            guard, before = self.any if cell.lane == NO_LANE else self.guards[cell.lane], self._get(self.start, cell)
            merge = terms.choice if cell.kind == PREDICATE else partial(terms.pick, bits=cell.bits)
            self._set(cell, merge(guard, value, before))
        for key in self.states:
            self.registers.states[key] = self.symbols.number(self.symbols.fresh("state"), 32)
        self._go_on(found)
        if self.touches_memory:
            self.thread.memory.forget_all()

    def _last_round(self, name: str, lane: int, conditions: Sequence[Condition], is_uniform: bool) -> Term:
        """The symbol of the last round of a lane, or of all: the condition of the branch back did not hold in it."""
        number = self.symbols.number(name, ROUND_BITS, lane)
        index = lane if lane != NO_LANE else next((k for k, g in enumerate(self.guards) if g is not False), 0)
        own = conditions[index]
        (ends,) = self._renamed([own], number)
        (went_on,) = self._renamed([own], number - 1)
        self.symbols.state(z3.ULT(number, MOST_ROUNDS))
        if lane != NO_LANE or is_uniform:
            guard = self.any if lane == NO_LANE else self.guards[lane]
            left = terms.disjunction(terms.negation(guard), terms.negation(ends))
            before = terms.disjunction(terms.disjunction(terms.negation(guard), number == 0), went_on)
            self.symbols.state(left, before)
        return number

    def _leaves_at_bottom(self) -> bool:
        """Whether lanes leave the loop at its last instruction alone."""
        flow = control_flow(self.machine.function)
        for pc in self.loop:
            instruction = self.machine.function.instructions[pc]
            kind = instruction.desc.flow
            if kind.ends_lanes or (
                kind.is_branch and pc != self.loop.stop - 1 and self._leaves(flow.targets(instruction))
            ):
                return False
        return True

    def _leaves(self, targets: Sequence[int]) -> bool:
        return any(target not in self.loop or target == self.loop.start for target in targets)

    def _go_on(self, found: _Round) -> None:
        """Lanes wait where they leave the loop: if there are several places, any of them at any."""
        targets = sorted(found.exits)
        ends = any(self.machine.function.instructions[pc].desc.flow.ends_lanes for pc in self.loop)
        left = self.place
        choices: list[int | None] = [*targets, *([None] if ends else [])]
        for target in choices[:-1]:
            chosen, left = split(left, self._choice())
            if target is not None:
                self.activation.waiting[target] = joined(self.activation.waiting.get(target, NOWHERE), chosen)
        if choices and choices[-1] is not None:
            target = choices[-1]
            self.activation.waiting[target] = joined(self.activation.waiting.get(target, NOWHERE), left)

    def _choice(self) -> list[Condition]:
        name = self.symbols.fresh("leaves")
        return [self.symbols.condition(name, k) for k in range(self.launch.lanes)]
