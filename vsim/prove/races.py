"""The property ``races``: no two work-items conflict, unless a barrier is between their accesses.

Two work-items stand for any two: the kernel's run on symbols gives the accesses of one, and with other symbols those
of the other one. Symbols of the launch are those of both; ids, loaded values and rounds of loops are each
one's own.

Accesses of work-items of one group are apart if a barrier that both execute lies between them. A barrier in a branch
counts where the branch's condition holds; in a loop, rounds are told apart by their symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import z3

from vsim.analysis.unread import ReadElements, read_elements
from vsim.checks.votes import is_vote
from vsim.prove.bounds import PropertyViolation, inside, offset_in
from vsim.prove.verdict import Remark
from vsim.semantics.memory import execution_of
from vsim.symbolic import terms
from vsim.symbolic.launch import THREAD, SymbolicLaunch
from vsim.symbolic.limits import Undecided
from vsim.symbolic.memory import ExecutedMessage, LaneAccess
from vsim.symbolic.places import any_of
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.spaces import ATOMIC, LOCAL, READ, SCRATCH_MEMORY, SymbolicBuffer
from vsim.symbolic.symbols import NO_LANE, Uniformity
from vsim.symbolic.terms import Condition, Term, term_key
from vsim.symbolic.thread import SymbolicThread

PRIVATE = "private memory"
ANY_LANE = -2
MOST_CLASSES = 4
"""Different accesses of a message that are looked at one by one."""


class _Access(NamedTuple):
    """What a work-item does in one message: its memory, where it begins in it, and when it does it.

    Attributes:
        lane: its lane; :data:`ANY_LANE` where ``number`` says which one it is.
        ids: its local ids, one for each dimension; of a block message those of the first work-item of the thread.
        number: the number of its lane; None where it stands for other lanes that do the same.
    """

    message: ExecutedMessage
    lane: int
    buffer: SymbolicBuffer
    condition: Condition
    offset: Term
    ids: list[Term]
    number: Term | None


def violations(thread: SymbolicThread, solver: Solver) -> Iterator[PropertyViolation]:
    """The pairs of accesses that may conflict, one for each pair of instructions, and again if the solver has an
    example of it.

    Raises:
        Undecided: it is not clear which barriers lie between accesses, or a limit of the proof is reached.
    """
    launch = thread.launch
    _check_barriers(thread, solver)
    accesses = [a for message in _as_read(launch, thread.memory.messages) for a in _accesses(launch, solver, message)]
    found: dict[tuple[object, ...], bool] = {}
    for n, one in enumerate(accesses):
        for other in accesses[n:]:
            first, second = one.message, other.message
            key = id(first.function), first.number, id(second.function), second.number
            if not _may_conflict(one, other) or found.get(key):
                continue
            launch.limits.at(first.function, first.number)
            pair = _Pair(thread, one, other)
            for condition in pair.conditions():
                answer = solver.possible(condition)
                is_certain = answer.possible is Possible.YES
                is_new = answer.possible is not Possible.NO and (is_certain or key not in found)
                if is_new and not _is_of_vote(launch, one, other):
                    found[key] = is_certain
                    place, visible = _place(one, other, is_certain), pair.is_visible()
                    yield PropertyViolation(
                        place, condition, is_certain, second.number, visible, pair.second, pair.any_lanes
                    )
                    break


def _as_read(launch: SymbolicLaunch, messages: Sequence[ExecutedMessage]) -> Iterator[ExecutedMessage]:
    """Messages; of loads of vectors the elements that the program reads, as of the checks."""
    read: dict[int, dict[int, ReadElements]] = {}
    for message in messages:
        key = id(message.function)
        known = read.get(key)
        if known is None:
            known = read[key] = read_elements(message.function, launch.grf_size)
        own = known.get(message.number) if message.kind == READ else None
        if own is None or message.size % own.size:
            yield message
            continue
        step = message.size // own.size
        for first, count in own.runs:
            lanes = (a._replace(address=terms.plus(a.address, first * step, 64)) for a in message.lanes)
            yield message._replace(size=count * step, lanes=tuple(lanes))


def _is_of_vote(launch: SymbolicLaunch, one: _Access, other: _Access) -> bool:
    """Whether two accesses are of the same store that the compiler put into a vote."""
    message = one.message
    is_same = message.number == other.message.number and message.function is other.message.function
    return is_same and is_vote(launch.image, launch.kernel, message.function, message.number)


def _place(one: _Access, other: _Access, is_certain: bool) -> Remark:
    first, second = one.message, other.message
    what = "itself" if first.number == second.number else f"instruction {second.number}"
    may = "may conflict" if is_certain else "is not shown to be free of conflicts"
    why = f"as {first.kind} of '{one.buffer.name}' it {may} with {what} of another work-item"
    return Remark(first.function, first.number, why)


def _accesses(launch: SymbolicLaunch, solver: Solver, message: ExecutedMessage) -> Iterator[_Access]:
    """The accesses of a message to shared memory, those of lanes that do the same once.

    Raises:
        Undecided: it is not known which memory it is.
    """
    if message.space.kind == SCRATCH_MEMORY:
        return
    launch.limits.at(message.function, message.number)
    classes: dict[tuple[object, ...], LaneAccess] = {}
    for access in message.lanes:
        key = term_key(solver.nameless(access.guard)), term_key(solver.nameless(access.address))
        classes.setdefault(key, access)
    found = [*classes.values()]
    stand_for_others = len(found) < len(message.lanes)
    if stand_for_others and any(_knows_its_place(launch, access) for access in found):
        found, stand_for_others = [*message.lanes], False
    buffers = {b.name: b for access in found for b in launch.candidates(message.space, access.address)}
    if not buffers:
        raise Undecided("which memory it accesses is not known", message.function, message.number)
    for buffer in buffers.values():
        if buffer.name == PRIVATE:
            continue
        own = [_access(launch, message, access, buffer, stand_for_others) for access in found]
        one_by_one = len(own) <= MOST_CLASSES or stand_for_others or own[0].lane == NO_LANE
        yield from own if one_by_one else [_any_of(launch, own)]


def _knows_its_place(launch: SymbolicLaunch, access: LaneAccess) -> bool:
    """Whether an access depends on the number of the thread or on several lanes, so that one lane is not any."""
    names = launch.symbols.free(access.guard) | launch.symbols.free(access.address)
    return THREAD in names or len(launch.symbols.lanes_of(names)) > 1


def _access(
    launch: SymbolicLaunch,
    message: ExecutedMessage,
    access: LaneAccess,
    buffer: SymbolicBuffer,
    stands_for_others: bool,
) -> _Access:
    within = inside(message, access, buffer)
    condition = launch.simplified(terms.conjunction(access.guard, within))
    lane = max(access.lane, 0)
    ids = [launch.local_id(axis, lane) for axis in range(launch.geometry.dimensions)]
    execution = execution_of(message.function.instructions[message.number])
    of_thread = launch.simd > 1 and (
        access.lane == NO_LANE or execution is None or execution.size == 1 or execution.no_mask
    )
    if of_thread:  # The thread accesses it, for any of its work-items.
        name = launch.symbols.fresh("item")
        ids = [launch.symbols.number(f"{name}.{axis}", 16) for axis in range(len(ids))]
        stands_for_others = True
    offset = offset_in(message, access, buffer)
    own = NO_LANE if of_thread else access.lane
    return _Access(message, own, buffer, condition, offset, ids, None if stands_for_others else lane)


def _any_of(launch: SymbolicLaunch, accesses: Sequence[_Access]) -> _Access:
    """One of the accesses of a message, which a symbol chooses."""
    first = accesses[0]
    lane = launch.symbols.number(launch.symbols.fresh("lane"), 32)
    condition, offset, ids = first.condition, first.offset, first.ids
    for access in accesses[1:]:
        here = lane == access.number
        condition = terms.choice(here, access.condition, condition)
        offset = terms.pick(here, access.offset, offset, 64)
        ids = [terms.pick(here, x, y, 16) for x, y in zip(access.ids, ids, strict=True)]
    known = z3.Or(*[lane == access.number for access in accesses])
    return _Access(first.message, ANY_LANE, first.buffer, terms.conjunction(known, condition), offset, ids, lane)


def _may_conflict(one: _Access, other: _Access) -> bool:
    """Whether two accesses can be to the same memory and are not both reads, or both atomic."""
    kinds = {one.message.kind, other.message.kind}
    is_local = one.message.space.kind == LOCAL
    same = is_local == (other.message.space.kind == LOCAL) and one.buffer.name == other.buffer.name
    return same and kinds not in ({READ}, {ATOMIC})


# -- barriers --------------------------------------------------------------------------------------------------


def _check_barriers(thread: SymbolicThread, solver: Solver) -> None:
    """See that all work-items of a group execute a barrier, or none does.

    Raises:
        Undecided: some may and some may not.
    """
    for problem, _, _ in diverging(thread, solver):
        raise Undecided(problem.why, problem.function, problem.number)


def diverging(thread: SymbolicThread, solver: Solver) -> Iterator[tuple[Remark, Condition, Condition]]:
    """Barriers that work-items of one group may reach differently often, the condition under which one of them does not
    reach it, which is True where that is not known, and the condition that another one of its thread does.
    """
    launch = thread.launch
    for function, number, guards, _ in thread.barriers:
        launch.limits.at(function, number)
        lanes = [(s, g) for s, g in zip(thread.starts, guards, strict=True) if s is not False]
        if _is_uniform(launch, lanes):
            continue
        for start, guard in lanes:
            missing = launch.simplified(terms.conjunction(start, terms.negation(guard)))
            if missing is not False and solver.possible(missing).possible is not Possible.NO:
                others = any_of([g for s, g in lanes if s is True])
                yield Remark(function, number, "not all work-items of a group may reach this barrier"), missing, others
                break
    for condition, function, number in thread.barrier_loops:
        if not _of_group(launch, condition):
            why = "work-items of a group may run different numbers of rounds with a barrier"
            yield Remark(function, number, why), True, True


def _is_uniform(launch: SymbolicLaunch, lanes: Sequence[tuple[Condition, Condition]]) -> bool:
    """Whether a condition of the lanes that there are is one and the same for all work-items of a group."""
    rests: list[Condition] = []
    for start, guard in lanes:
        known = [] if isinstance(start, bool) else [(start, z3.BoolVal(True))]
        rests.append(launch.simplified(z3.substitute(terms.condition(guard), *known) if known else guard))
    return all(terms.same_term(rest, rests[0]) for rest in rests) and _of_group(launch, rests[0])


def _of_group(launch: SymbolicLaunch, condition: Condition) -> bool:
    symbols = launch.symbols
    return all(
        symbols.known[n].scope is not Uniformity.THREAD or n.startswith("round!")
        for n in symbols.free(condition)
        if n in symbols.known
    )


# -- two work-items --------------------------------------------------------------------------------------------


class _Pair:
    """Two accesses, of two work-items; the symbols of the second one end in ``'``."""

    def __init__(self, thread: SymbolicThread, one: _Access, other: _Access) -> None:
        self.thread, self.launch, self.one, self.other = thread, thread.launch, one, other
        self.symbols = thread.symbols
        self._names: dict[str, Term] = {}

    def conditions(self) -> Iterator[Condition]:
        """Conditions under which they conflict: in one group, and in different ones."""
        one, other = self.one, self.other
        offset, condition = self.second(other.offset), self.second(other.condition)
        overlap = self._overlap(one.offset, offset)
        both = terms.conjunction(terms.conjunction(one.condition, condition), overlap)
        both = terms.conjunction(both, terms.conjunction(self._lane(one), self.second(self._lane(other))))
        both = self.launch.simplified(both)
        if both is False:
            return
        same_group = [terms.equal(g, self.second(g), 32) for g in self.launch.group_ids if not isinstance(g, int)]
        differ = [
            terms.negation(terms.equal(x, y, 16)) for x, y in zip(one.ids, map(self.second, other.ids), strict=True)
        ]
        if one.message is other.message and NO_LANE in (one.lane, other.lane):
            thread = self.launch.thread_number()
            differ = [terms.negation(terms.equal(thread, self.second(thread), 32))]
        if differ:
            apart = z3.Or(*[terms.condition(c) for c in differ])
            for order in self._orders():
                yield self._with_facts(z3.And(terms.condition(both), apart, *same_group, *order))
        if one.message.space.kind != LOCAL and same_group:
            elsewhere = z3.Or(*[z3.Not(c) for c in same_group])
            yield self._with_facts(z3.And(terms.condition(both), elsewhere))

    @property
    def any_lanes(self) -> tuple[int, int]:
        """The lanes of the two that stand for any lane."""
        one, other = (a.lane if a.number is None else -1 for a in (self.one, self.other))
        return one, other

    def is_visible(self) -> Condition:
        """That the accesses are of different threads: two writes of one instruction of one thread are no finding."""
        if self.one.message.number != self.other.message.number or self.launch.geometry.dimensions != 1:
            return True
        ids = (self.one.ids[0], self.second(self.other.ids[0]))
        one, other = (z3.UDiv(terms.expression(n, 16), z3.BitVecVal(self.launch.simd, 16)) for n in ids)
        group = self.launch.group_ids[0]
        return terms.disjunction(one != other, terms.negation(terms.equal(group, self.second(group), 32)))

    def _lane(self, access: _Access) -> Condition:
        """Which work-item of its thread an access belongs to, in groups of one dimension."""
        if access.lane == NO_LANE and self.launch.geometry.dimensions == 1 and not self.launch.kernel.is_cm:
            own, simd = terms.expression(terms.extend(access.ids[0], 16, 32, False), 32), self.launch.simd
            first = self.launch.thread_number() * simd
            return z3.And(z3.ULE(first, own), z3.ULT(own, first + simd), z3.ULT(self.launch.thread_number(), 1 << 16))
        if access.number is None or self.launch.geometry.dimensions > 1 or self.launch.kernel.is_cm:
            return True
        own = terms.expression(terms.extend(access.ids[0], 16, 32, False), 32)
        thread = self.launch.thread_number()
        return z3.And(own == thread * self.launch.simd + access.number, z3.ULT(thread, 1 << 16))

    def _overlap(self, x: Term, y: Term) -> Condition:
        size, other = self.one.message.size, self.other.message.size
        x, y = terms.expression(x, 64), terms.expression(y, 64)
        return z3.And(z3.ULT(x, y + other), z3.ULT(y, x + size))

    # -- which accesses no barrier separates ---------------------------------------------------------------

    def _orders(self) -> Iterator[list[Condition]]:
        """Ways in which no barrier lies between the accesses of two work-items of a group, as conditions."""
        first, second = self.one.message, self.other.message
        common = [
            (n, k) for (n, k), (_, other) in zip(first.rounds, second.rounds, strict=False) if terms.same_term(k, other)
        ]
        equal: list[Condition] = []
        for _, number in common:
            phases = self.thread.loop_phases.get(number.decl().name())
            if phases is None or phases[0] == phases[1]:
                continue
            mine, its = number, self.second(number)
            for before, after, is_mine in ((first, second, True), (second, first, False)):
                between = [*range(before.phase, phases[1]), *range(phases[0], after.phase)]
                step = its == mine + 1 if is_mine else mine == its + 1
                later = (
                    step if self._has_certain_barrier(phases) else z3.ULT(mine, its) if is_mine else z3.ULT(its, mine)
                )
                yield [*equal, later, *self._none_executed(between)]
            equal.append(mine == its)
        low, high = sorted((first.phase, second.phase))
        yield [*equal, *self._none_executed(range(low, high))]

    def _has_certain_barrier(self, phases: tuple[int, int]) -> bool:
        """Whether each round of a loop has a barrier that is executed in any case."""
        own = [self._guard(n) for n in range(*phases)]
        return any(g is True for g in own)

    def _none_executed(self, phases: Sequence[int]) -> list[Condition]:
        """That none of some barriers is executed; one that may be another round's says nothing."""
        found: list[Condition] = []
        for n in phases:
            guard = self._guard(n)
            found += [] if guard is None else [terms.condition(terms.negation(guard))]
        return found

    def _guard(self, phase: int) -> Condition | None:
        """The condition under which a barrier is executed; None if it depends on the round of a loop."""
        _, _, guards, _ = self.thread.barriers[phase]
        for start, guard in zip(self.thread.starts, guards, strict=True):
            if start is True:
                if isinstance(guard, bool):
                    return guard
                names = self.symbols.free(guard)
                own = all(
                    self.symbols.known[n].scope is not Uniformity.THREAD for n in names if n in self.symbols.known
                )
                return guard if own else None
        return None

    def _starts(self) -> Iterator[Condition]:
        """Groups begin apart: what products say, where the solver knows products as symbols."""
        launch = self.launch
        for axis in range(launch.geometry.dimensions):
            size, group, start = launch.local_size[axis], launch.group_ids[axis], launch.group_starts[axis]
            if isinstance(size, int):
                continue
            group2, start2 = self.second(group), self.second(start)
            yield z3.Implies(z3.ULT(group, group2), z3.ULE(start + size, start2))
            yield z3.Implies(z3.ULT(group2, group), z3.ULE(start2 + size, start))
            yield z3.Implies(group == group2, start == start2)

    # -- the second work-item ------------------------------------------------------------------------------

    def second(self, term: Term) -> Term:
        """A term of the second work-item."""
        if isinstance(term, (int, bool)):
            return term
        names = [n for n in self.symbols.free(term) if n in self.symbols.known]
        pairs = [(self.symbols.expressions[n], self._named(n)) for n in names]
        return z3.substitute(term, *[(x, y) for x, y in pairs if not terms.same_term(x, y)])

    def _named(self, name: str) -> Term:
        own = self.symbols.known[name]
        if own.scope is Uniformity.LAUNCH:
            return self.symbols.expressions[name]
        if name not in self._names:
            is_its = own.lane in (NO_LANE, max(self.other.lane, 0))
            self._names[name] = z3.Const(
                f"{own.base}'" if is_its else f"{name}'", self.symbols.expressions[name].sort()
            )
        return self._names[name]

    def _with_facts(self, condition: Condition) -> Condition:
        """A condition with the facts about the symbols of the second work-item."""
        starts = list(self._starts())
        facts = self.symbols.about(self._names)
        if THREAD in self._names:
            facts += self.launch.links()
        facts = [self.second(f) for f in facts]
        return self.launch.simplified(z3.And(condition, *starts, *[terms.condition(f) for f in facts]))
