"""One work-item in two kernels: the terms of a lane of each, with common symbols for common inputs.

Both kernels have the same ids, arguments, sizes and contents of memory. Symbols of one kernel alone, such as undefined
registers, are renamed in the second kernel. Other lanes of the thread are the same work-items if the threads of both
kernels are equally wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import z3

from visakit.language.program import Function
from vsim.prove.bounds import fits
from vsim.prove.float_laws import FloatLaws
from vsim.prove.subject import Subject
from vsim.symbolic import terms
from vsim.symbolic.comparing import ComparedThread
from vsim.symbolic.contents import FIRST_EPOCH, MEMORY, Effect, SharedAccess, for_lane
from vsim.symbolic.launch import THREAD, SymbolicLaunch
from vsim.symbolic.queries import Answer, Possible, Solver, fold_term
from vsim.symbolic.spaces import READ
from vsim.symbolic.symbols import NO_LANE
from vsim.symbolic.terms import Condition, Term, identity, term_key

MOST_COMPARED = 8
"""Loads of the first kernel with which one of the second kernel is compared."""
_SHARED = ("group_start.", "group_count.")
_OF_EQUAL_THREADS = (THREAD, "active")


class Side(NamedTuple):
    """One of the two kernels: its launches on symbols, and its run."""

    subject: Subject
    launch: SymbolicLaunch
    thread: ComparedThread


class ItemEffect(NamedTuple):
    """An effect of the work-item, in the pair's symbols; elements are small enough to compare."""

    effect: Effect
    guard: Condition
    offset: Term
    size: int
    values: tuple[Term, ...]


class ItemAccess(NamedTuple):
    """An access of the work-item to memory that others see: the condition under which it is outside of it."""

    access: SharedAccess
    key: tuple[object, ...]
    guard: Condition
    outside: Condition


class Difference(NamedTuple):
    """A condition under which the kernels do not do the same.

    Attributes:
        side: the kernel (0 or 1) of the instruction.
        differing: terms that differ.
        is_certain: whether the solver has an example.
    """

    side: int
    function: Function
    number: int
    why: str
    condition: Condition
    differing: tuple[Term, ...] = ()
    is_certain: bool = False


class LanePair:
    """A lane of each kernel that the same work-item may be in.

    Args:
        written: the regions of memory that one of the kernels writes.
    """

    def __init__(
        self, sides: tuple[Side, Side], lanes: tuple[int, int], written: frozenset[str], laws: FloatLaws, solver: Solver
    ) -> None:
        self.sides, self.lanes, self.written, self.laws, self.solver = sides, lanes, written, laws, solver
        self.symbols = sides[0].launch.symbols
        self._renamings = ([*_active(sides[0], lanes[0])], [*_active(sides[1], lanes[1]), *self._second_symbols()])
        self._known: tuple[dict[int, tuple[Term, Term]], dict[int, tuple[Term, Term]]] = ({}, {})
        self._settled: tuple[dict[int, tuple[Term, Term]], dict[int, tuple[Term, Term]]] = ({}, {})
        self._offsets: dict[str, list[Term]] = {}
        """By the function of a memory, where the first kernel loads from it."""
        self.takes_inside = False
        """Whether terms are equal only if the second kernel stays inside of its memory."""
        self.facts = self._facts()
        self._links = [self.term(1, c) for c in sides[1].launch.links()]
        self._inside: dict[int, list[Condition]] = {}
        self._effects: dict[int, list[ItemEffect]] = {}
        self._accesses: dict[int, list[ItemAccess]] = {}
        self.outside: list[Difference] = []
        """Differences where the second kernel alone leaves its memory."""

    # -- symbols -------------------------------------------------------------------------------------------

    def _second_symbols(self) -> list[tuple[Term, Term]]:
        """The second kernel's symbols and their names in the pair."""
        first, second = (side.launch for side in self.sides)
        pairs = [(term, first.arguments[n]) for n, term in second.arguments.items() if n in first.arguments]
        sizes = {b.argument: b.size for b in first.buffers if b.argument is not None}
        pairs += [(b.size, sizes[b.argument]) for b in second.buffers if b.argument in sizes]
        pairs += [(size, first.local_sizes[n]) for n, size in second.local_sizes.items() if n in first.local_sizes]
        pairs = [(x, y) for x, y in pairs if not isinstance(x, int)]
        done = {x.decl().name() for x, _ in pairs}
        for name, symbol in second.symbols.expressions.items():
            if name not in done and (other := self._name(name)) != name:
                pairs.append((symbol, z3.Const(other, symbol.sort())))
        return pairs

    def _name(self, name: str) -> str:
        second = self.sides[1].launch
        own = second.symbols.known[name]
        is_equally_wide = self.sides[0].launch.lanes == second.lanes
        if own.base in _OF_EQUAL_THREADS and is_equally_wide:
            return name
        if not own.is_input and not own.base.startswith(_SHARED):
            return f"B.{name}"
        if own.lane == NO_LANE or is_equally_wide:
            return name
        return f"{own.base}@{self.lanes[0]}" if own.lane == self.lanes[1] else f"B.{name}"

    def term(self, side: int, term: Term) -> Term:
        """A term of a kernel in the pair's symbols, equal to others by the laws where that is easily seen."""
        if isinstance(term, (int, bool)):
            return term
        launch = self.sides[side].launch
        key = identity(term)
        known = self._known[side]
        if key not in known:
            pairs = self._renamings[side]
            found = launch.simplified(z3.substitute(launch_term(launch, term), *pairs))
            if not isinstance(found, (int, bool)):
                found = launch.simplified(fold_term(found, self._settled[side], _children, self._settle(side)))
            known[key] = term, found
        return known[key][1]

    def _settle(self, side: int) -> Callable[[Term, list[Term]], Term]:
        def settle(own: Term, new: list[Term]) -> Term:
            if not new:
                return own
            if own.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                found = self._function(side, own.decl().name(), own, new)
                if found is not None:
                    return found
            if all(x.eq(y) for x, y in zip(own.children(), new, strict=True)):
                return own
            return own.decl()(*new)

        return settle

    def _function(self, side: int, name: str, own: Term, new: list[Term]) -> Term | None:
        if name.startswith(MEMORY + "."):
            kind, region, *epoch, size = name.split(".")
            if region not in self.written and "old" not in epoch:
                name = f"{kind}.{region}.{FIRST_EPOCH}.{size}"
            return self._loaded(side, z3.Function(name, new[0].sort(), own.sort()), region, new[0])
        return self.laws.made(name, [z3.simplify(x) for x in new])

    def _loaded(self, side: int, function: Term, region: str, offset: Term) -> Term:
        """The contents of memory at an offset; at one that is always equal to one of the first kernel, those there."""
        known = self._offsets.setdefault(function.name(), [])
        if any(offset.eq(other) for other in known):
            return function(offset)
        if side == 0:
            known.append(offset)
            return function(offset)
        for other in known[:MOST_COMPARED]:
            if self._is_same_place(region, offset, other, function.range().size() // 8):
                return function(other)
        return function(offset)

    def _is_same_place(self, region: str, offset: Term, other: Term, size: int) -> bool:
        differ = self.sides[0].launch.simplified(offset != other)
        if isinstance(differ, bool):
            return not differ
        if self.symbols.free(offset) != self.symbols.free(other):
            return False
        if self.solver.possible(differ).possible is Possible.NO:
            return True
        room = next((b.size for b in self.sides[0].launch.buffers if f"argument {b.argument}" == region), None)
        if room is None or self.solver.possible(differ, fits(room, offset, size)).possible is not Possible.NO:
            return False
        self.takes_inside = True
        return True

    # -- facts ---------------------------------------------------------------------------------------------

    def _facts(self) -> list[Condition]:
        """The facts about the second kernel that the first one does not have."""
        own, lane = self.sides[1].launch.symbols, self.lanes[1]
        is_equally_wide = self.sides[0].launch.lanes == self.sides[1].launch.lanes
        known = {identity(f) for f in self.symbols.facts}
        found = []
        for fact in own.facts:  # few of them have floats or loads, whose laws are not needed
            if not is_equally_wide and own.lanes_of(own.free(fact)) - {lane}:
                continue
            renamed = self.sides[1].launch.simplified(z3.substitute(fact, *self._renamings[1]))
            if renamed is not True and not (renamed is not False and identity(renamed) in known):
                found.append(renamed)
        return found

    def inside(self, side: int) -> list[Condition]:
        """That a kernel's accesses are inside their memory."""
        if side not in self._inside:
            found = {
                term_key(a.outside): terms.negation(a.outside) for a in self.accesses(side) if a.outside is not False
            }
            self._inside[side] = list(found.values())
        return self._inside[side]

    def decide(self, difference: Difference) -> Difference | None:
        """A difference, if it can be in a launch in which both kernels stay inside of their memory.

        A difference that can only be where the second kernel does not is put to :attr:`outside`.
        """
        if difference.condition is False:
            return None
        answer = Answer(Possible.NO)
        for known in ([], self.inside(0), [*self.inside(0), *self.inside(1)]):
            before, answer = answer, self.possible(difference.condition, *known)
            if answer.possible is Possible.NO:
                if len(known) > len(self.inside(0)) and before.possible is Possible.YES:
                    self.outside.append(difference)
                return None
        return difference._replace(is_certain=answer.possible is Possible.YES)

    def possible(self, *conditions: Condition) -> Answer:
        """Whether conditions can hold for a work-item."""
        return self.solver.possible(*conditions, *self._facts_about(conditions))

    def _facts_about(self, conditions: Sequence[Condition]) -> list[Condition]:
        has_thread = any(f"B.{THREAD}" in self.symbols.free(c) for c in conditions)
        return [*self.facts, *(self._links if has_thread else ())]

    def question(self, condition: Condition) -> Condition:
        """A condition with the facts of the pair, for a launch that shows it."""
        found = condition
        for fact in (*self._facts_about([condition]), *self.inside(0)):
            found = terms.conjunction(found, fact)
        return found

    # -- effects -------------------------------------------------------------------------------------------

    def effects(self, side: int) -> list[ItemEffect]:
        """The effects of the work-item, in order."""
        if side not in self._effects:
            self._effects[side] = self._effects_of(side)
        return self._effects[side]

    def _effects_of(self, side: int) -> list[ItemEffect]:
        found, lane = [], self.lanes[side]
        for effect in self.sides[side].thread.contents.effects:
            guard = self.term(side, for_lane(effect, lane))
            if guard is False:
                continue
            values = tuple(self.term(side, value) for value in effect.values)
            found.append(ItemEffect(effect, guard, self.term(side, effect.offset), effect.size, values))
        return found

    def accesses(self, side: int) -> list[ItemAccess]:
        """The accesses of the work-item to memory that others see, each once."""
        if side not in self._accesses:
            found: dict[tuple[object, ...], ItemAccess] = {}
            for access in self.sides[side].thread.contents.accesses:
                guard = self.term(side, for_lane(access, self.lanes[side]))
                if guard is False:
                    continue
                offset = self.term(side, access.offset)
                key = (
                    access.kind == READ,
                    access.buffer.argument,
                    access.size,
                    term_key(guard),
                    term_key(offset),
                )
                if key not in found:
                    found[key] = ItemAccess(access, key, guard, self._outside(side, access, guard, offset))
            self._accesses[side] = list(found.values())
        return self._accesses[side]

    def _outside(self, side: int, access: SharedAccess, guard: Condition, offset: Term) -> Condition:
        within = fits(self.term(side, access.buffer.size), offset, access.size)
        if access.kind != READ and not access.buffer.is_writable:
            within = False
        return self.sides[0].launch.simplified(terms.conjunction(guard, terms.negation(within)))

    def shape(self) -> tuple[Term, ...]:
        """All that is asked about the pair, of nameless lanes: pairs of equal shapes have the same answers."""
        found: list[Term] = [*self.facts]
        for side, lane in enumerate(self.lanes):
            found += [self.term(side, guards[lane]) for guards in self.sides[side].thread.dropped]
            for effect in self.effects(side):
                found += [effect.guard, effect.offset, *effect.values]
            found += [access.outside for access in self.accesses(side)]
        return tuple(self.solver.nameless(x) for x in found)

    def other_lanes(self, *found: Term) -> bool:
        """Whether terms depend on other work-items of the thread."""
        names = frozenset[str]().union(*(self.symbols.free(x) for x in found))
        lanes = {n.rpartition("@")[2] for n in names if "@" in n}
        return bool(lanes - {str(self.lanes[0]), str(self.lanes[1])})


def launch_term(launch: SymbolicLaunch, term: Term) -> Term:
    """A term, simplified with the facts of its launch."""
    found = launch.simplified(term)
    if isinstance(found, bool):
        return z3.BoolVal(found)
    return terms.expression(found, term.size()) if isinstance(found, int) else found


def _active(side: Side, lane: int) -> list[tuple[Term, Term]]:
    """That the work-item is there."""
    own = side.launch.symbols.expressions.get(f"active@{lane}")
    return [] if own is None else [(own, z3.BoolVal(True))]


def _children(term: Term) -> list[Term]:
    found: list[Term] = term.children()
    return found
