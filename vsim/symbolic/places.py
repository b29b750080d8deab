"""Where the lanes of a thread are: sets of lanes under conditions, which branches split and reconvergence joins.

A :class:`Part` has a condition for each lane. A branch splits it into two, the lanes that take it and the others. A
*place* is the parts that wait at one pc. When both halves of a part meet at a place, the part itself is there again, so
that conditions do not grow from branch to branch: behind ``if (c) ... else ...`` each lane runs under the condition of
before, and not under ``c or not c``.
"""

from __future__ import annotations

from collections.abc import Sequence

from vsim.symbolic import terms
from vsim.symbolic.terms import Condition


class Part:
    """Lanes under conditions; a half of another part, or the lanes with which a thread begins."""

    __slots__ = ("guards", "parent")

    def __init__(self, guards: Sequence[Condition], parent: Part | None = None) -> None:
        self.guards, self.parent = tuple(guards), parent


Place = frozenset[Part]
"""The parts that are at one pc."""
NOWHERE: Place = frozenset()


def joined(*places: Place) -> Place:
    """The parts of several places, with each part in the place of its halves."""
    found = set().union(*places)
    work = list(found)
    while work:
        part = work.pop()
        parent = part.parent
        if parent is None or part not in found:
            continue
        other = next((p for p in found if p is not part and p.parent is parent), None)
        if other is not None:
            found -= {part, other}
            found.add(parent)
            work.append(parent)
    return frozenset(found)


def guards_of(place: Place, count: int) -> tuple[Condition, ...]:
    """For each of ``count`` lanes the condition under which it is there."""
    parts = sorted(place, key=lambda p: id(p))
    if len(parts) == 1:
        return parts[0].guards
    found: list[Condition] = [False] * count
    for part in parts:
        found = [terms.disjunction(x, y) for x, y in zip(found, part.guards, strict=True)]
    return tuple(found)


def any_of(guards: Sequence[Condition]) -> Condition:
    """Whether any lane is there: each condition counts once, and none that says more than another one.

    The first lane of a thread is a work-item, so that its condition is mostly the shortest one, and the only one left.
    """
    if any(guard is True for guard in guards):
        return True
    different = {terms.identity(guard): guard for guard in guards if guard is not False}
    found: Condition = False
    kept: list[set[int]] = []
    for parts, guard in sorted(((_parts(own), own) for own in different.values()), key=lambda pair: len(pair[0])):
        if not any(shorter <= parts for shorter in kept):
            kept.append(parts)
            found = terms.disjunction(found, guard)
    return found


def _parts(condition: Condition) -> set[int]:
    return {terms.identity(part) for part in terms.parts_of(condition)}


def split(place: Place, taken: Sequence[Condition]) -> tuple[Place, Place]:
    """The lanes for which a condition holds, and the others."""
    chosen, others = set(), set()
    for part in place:
        pairs = [(g, terms.same_term(g, c) or c) for g, c in zip(part.guards, taken, strict=True)]
        if all(g is False or c is True for g, c in pairs):
            chosen.add(part)
        elif all(g is False or c is False for g, c in pairs):
            others.add(part)
        else:
            chosen.add(Part([terms.conjunction(g, c) for g, c in pairs], part))
            others.add(Part([terms.conjunction(g, terms.negation(c)) for g, c in pairs], part))
    return frozenset(chosen), frozenset(others)
