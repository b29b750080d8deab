"""Places that launches are to reach, and the conditions under which a lane of a run on symbols reaches them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from visakit.language.program import Function
from vsim.symbolic import terms
from vsim.symbolic.terms import Condition, identity
from vsim.symbolic.thread import SymbolicThread


class Goal(NamedTuple):
    """What launches are looked for.

    Attributes:
        name: in messages.
        spots: instructions, by function and number; one of them is to execute.
        way: of a branch, whether a lane is to take it, or not to take it; None if it is to execute.
    """

    name: str
    spots: tuple[tuple[Function, int], ...]
    way: bool | None = None


class ReachConditions:
    """The conditions of a thread that has run."""

    def __init__(self, thread: SymbolicThread) -> None:
        self.reached: dict[tuple[int, int], list[Sequence[Condition]]] = {}
        """By function and number the conditions under which lanes execute an instruction."""
        self.ways: dict[tuple[int, int], list[tuple[Sequence[Condition], Sequence[Condition]]]] = {}
        """Likewise of branches, with the conditions under which lanes take it."""
        for function, number, guards in thread.reached:
            self.reached.setdefault((id(function), number), []).append(guards)
        for function, number, guards, taken in thread.ways:
            self.ways.setdefault((id(function), number), []).append((guards, taken))

    def of(self, goal: Goal) -> Iterator[tuple[Function, int, Condition]]:
        """The different conditions under which a lane reaches a goal."""
        seen = dict[tuple[int, int, int], Condition]()
        for function, number in goal.spots:
            for condition in self._conditions(function, number, goal.way):
                key = id(function), number, -1 if condition is True else identity(condition)
                if condition is not False and key not in seen:
                    seen[key] = condition  # A term that lives keeps its identity.
                    yield function, number, condition

    def _conditions(self, function: Function, number: int, way: bool | None) -> Iterator[Condition]:
        key = id(function), number
        if way is None:
            yield from itertools.chain(*self.reached.get(key, ()))
            return
        for guards, taken in self.ways.get(key, ()):
            for guard, own in zip(guards, taken, strict=True):
                yield terms.conjunction(guard, own if way else terms.negation(own))
