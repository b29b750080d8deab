"""Symbols of a launch: inputs, ids, and values of which nothing is known but facts.

A symbol belongs to a *scope*, which says for which work-items it is the same: all of a launch, those of a group, those
of a thread, or one. Symbols of a lane have equal names but for the lane's number, so that formulas about lanes that do
the same differ in nothing else.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

import z3

from vsim.symbolic.terms import Condition, Term, identity

NO_LANE = -1


def _is_value(leaf: Term) -> bool:
    return bool(leaf.decl().kind() != z3.Z3_OP_UNINTERPRETED)


class Uniformity(enum.Enum):
    """For which work-items a symbol has one value."""

    LAUNCH = enum.auto()
    GROUP = enum.auto()
    THREAD = enum.auto()


class SymbolOrigin(NamedTuple):
    """What a symbol stands for.

    Attributes:
        base: its name without the lane.
        lane: the lane that it belongs to; :data:`NO_LANE` for those of all lanes of the scope.
        is_undefined: whether it stands for the contents of an undefined register.
        is_input: whether a launch can be chosen so that it has any value that the facts leave: an argument or an id.
    """

    base: str
    lane: int
    scope: Uniformity
    is_undefined: bool = False
    is_input: bool = False


class Symbols:
    """The symbols of one execution, by their names, and the facts about them."""

    def __init__(self) -> None:
        self.known: dict[str, SymbolOrigin] = {}
        self.expressions: dict[str, Term] = {}
        self.facts: list[Condition] = []
        self._count = 0
        self._free: dict[int, frozenset[str]] = {}
        """Names of symbols by the identity of nodes, which live as long as the terms that are kept."""
        self._kept: list[Term] = []
        self._subjects: dict[int, tuple[Condition, frozenset[str], frozenset[int]]] = {}
        """Facts by their objects, with their symbols and the lanes of these."""

    def number(
        self,
        name: str,
        bits: int,
        lane: int = NO_LANE,
        scope: Uniformity = Uniformity.THREAD,
        is_undefined: bool = False,
        is_input: bool = False,
    ) -> Term:
        """A bit-vector; a symbol of the same name and lane is the same."""
        whole = name if lane == NO_LANE else f"{name}@{lane}"
        if whole not in self.known:
            self.known[whole] = SymbolOrigin(name, lane, scope, is_undefined, is_input)
            self.expressions[whole] = z3.BitVec(whole, bits)
        return self.expressions[whole]

    def condition(
        self, name: str, lane: int = NO_LANE, scope: Uniformity = Uniformity.THREAD, is_undefined: bool = False
    ) -> Condition:
        """A boolean."""
        whole = name if lane == NO_LANE else f"{name}@{lane}"
        if whole not in self.known:
            self.known[whole] = SymbolOrigin(name, lane, scope, is_undefined)
            self.expressions[whole] = z3.Bool(whole)
        return self.expressions[whole]

    def fresh(self, name: str) -> str:
        """A name that no symbol has."""
        self._count += 1
        return f"{name}!{self._count}"

    def state(self, *facts: Condition) -> None:
        """Facts that hold in every launch that is looked at."""
        self.facts += [f for f in facts if f is not True]

    def free(self, term: Term) -> frozenset[str]:
        """The names of the symbols in a term."""
        if isinstance(term, (int, bool)):
            return frozenset()
        key = identity(term)
        found = self._free.get(key)
        if found is None:
            self._kept.append(term)
            found = self._find_free(term, key)
        return found

    def _find_free(self, term: Term, key: int) -> frozenset[str]:
        """Walks over the solver's nodes, for which its Python would make an object each."""
        context, known, work = term.ctx_ref(), self._free, [term.as_ast()]
        while work:
            last = work[-1]
            if last.value in known:
                work.pop()
                continue
            children = [z3.Z3_get_app_arg(context, last, n) for n in range(z3.Z3_get_app_num_args(context, last))]
            missing = [c for c in children if c.value not in known]
            if missing:
                work += missing
                continue
            sets = {id(own): own for own in (known[c.value] for c in children) if own}
            found = frozenset[str]().union(*sets.values()) if len(sets) != 1 else next(iter(sets.values()))
            if not children:
                leaf = z3.z3._to_expr_ref(last, term.ctx)
                found = frozenset([leaf.decl().name()]) if z3.is_const(leaf) and not _is_value(leaf) else found
            known[last.value] = found
        return known[key]

    def lanes_of(self, names: Iterable[str]) -> frozenset[int]:
        """The lanes that symbols belong to."""
        found = (self.known[n].lane for n in names if n in self.known)
        return frozenset(lane for lane in found if lane != NO_LANE)

    def about(self, names: Iterable[str]) -> list[Condition]:
        """The facts that may say something about some symbols, directly or by way of others; of other lanes' symbols
        they say nothing.
        """
        known, found = set(names), list[Condition]()
        lanes = self.lanes_of(known)
        subjects = map(self._subject, self.facts)
        left = [(fact, own) for fact, own, its in subjects if its <= lanes]
        changed = True
        while changed:
            changed, rest = False, []
            for fact, own in left:
                if own & known or not own:
                    found.append(fact)
                    changed, known = True, known | own
                else:
                    rest.append((fact, own))
            left = rest
        return found

    def _subject(self, fact: Condition) -> tuple[Condition, frozenset[str], frozenset[int]]:
        found = self._subjects.get(id(fact))
        if found is None:
            names = self.free(fact)
            found = self._subjects[id(fact)] = fact, names, self.lanes_of(names)
        return found
