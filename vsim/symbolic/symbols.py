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

from vsim.symbolic.terms import Condition, Term

NO_LANE = -1


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
        self._free: dict[int, tuple[Term, frozenset[str]]] = {}

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
        work = [term]
        while work:
            last = work[-1]
            key = last.get_id()
            if key in self._free:
                work.pop()
                continue
            children = last.children()
            missing = [c for c in children if c.get_id() not in self._free]
            if missing:
                work += missing
                continue
            found: frozenset[str] = frozenset()
            if not children and last.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                found = frozenset([last.decl().name()])
            elif len(children) == 1:
                found = self._free[children[0].get_id()][1]
            elif children:
                found = frozenset().union(*(self._free[c.get_id()][1] for c in children))
            self._free[key] = last, found
            work.pop()
        return self._free[term.get_id()][1]

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
        left = [(f, own) for f in self.facts if self.lanes_of(own := self.free(f)) <= lanes]
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
