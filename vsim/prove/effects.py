"""What a work-item leaves in memory, by two kernels: where it may differ.

Effects are compared between barriers, region by region. Stores that are equal one by one leave the same; else the
question is whether any place of the region can have other contents after all stores of the one and of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import z3

from vsim.prove.lane_pair import Difference, ItemEffect, LanePair
from vsim.symbolic import terms
from vsim.symbolic.contents import FIRST_EPOCH, MEMORY, is_aligned
from vsim.symbolic.spaces import WRITE
from vsim.symbolic.terms import Condition, Term

LOCAL_REGION = "local"
PLACE = z3.BitVec("place", 64)


def differences(pair: LanePair, last_phase: int) -> Iterator[Difference]:
    """Where the effects of a work-item may differ, and where the second kernel may access memory outside.

    Args:
        last_phase: the number of barriers that the threads pass.
    """
    found = [_by_region(pair.effects(side)) for side in (0, 1)]
    for key in sorted({*found[0], *found[1]}):
        if key[1] == LOCAL_REGION and key[0] == last_phase:
            continue
        yield from _Region(pair, found[0].get(key, []), found[1].get(key, [])).differences()
    known = {a.key for a in pair.accesses(0)}
    for access in pair.accesses(1):
        if access.key not in known:
            why = "it may access memory outside where the other kernel does not"
            own = pair.decide(Difference(1, access.access.function, access.access.number, why, access.outside))
            if own is not None:
                yield own


def _by_region(effects: Sequence[ItemEffect]) -> dict[tuple[int, str], list[ItemEffect]]:
    found: dict[tuple[int, str], list[ItemEffect]] = {}
    for own in effects:
        found.setdefault((own.effect.phase, own.effect.region), []).append(own)
    return found


class _Region:
    """The effects on one region between two barriers."""

    def __init__(self, pair: LanePair, first: Sequence[ItemEffect], second: Sequence[ItemEffect]) -> None:
        self.pair, self.sides = pair, (first, second)

    def differences(self) -> Iterator[Difference]:
        """Where they may differ: at most one difference."""
        kinds = {own.effect.kind for side in self.sides for own in side}
        mismatch = self._first_mismatch(*self.sides)
        if mismatch is None:
            return
        if kinds == {WRITE}:
            mismatch = self._contents_differ(mismatch)
        if mismatch is not None:
            yield mismatch

    def _first_mismatch(self, first: Sequence[ItemEffect], second: Sequence[ItemEffect]) -> Difference | None:
        """The first effects that are not shown to be equal; None if all are."""
        for one, other in zip(first, second, strict=False):
            for question in _questions(one, other):
                found = self.pair.decide(question)
                if found is not None:
                    return found
        if len(first) == len(second):
            return None
        longer = 0 if len(first) > len(second) else 1
        own = self.sides[longer][min(len(first), len(second))]
        return self.pair.decide(_difference(longer, own, "the other kernel does not do it", own.guard))

    # -- all stores together -------------------------------------------------------------------------------

    def _contents_differ(self, mismatch: Difference) -> Difference | None:
        """Whether some place may have other contents; the mismatch of single stores says where to look."""
        size = self._element()
        first, second = (self._contents(side, size) for side in self.sides)
        question = z3.And(PLACE & (size - 1) == 0, _unequal(first, second, 8 * size))
        return self.pair.decide(mismatch._replace(condition=question))

    def _element(self) -> int:
        """Bytes of the elements of which all stores are made."""
        effects = [own for side in self.sides for own in side]
        sizes = [own.size for own in effects]
        size = min(sizes)
        whole = all(n % size == 0 for n in sizes) and all(is_aligned(own.offset, size) for own in effects)
        return size if whole and not size & (size - 1) else 1

    def _contents(self, effects: Sequence[ItemEffect], size: int) -> Term:
        """The contents of the region at :data:`PLACE` after some stores."""
        region = self.sides[0][0].effect.region if self.sides[0] else self.sides[1][0].effect.region
        name = f"{MEMORY}.{region}.{FIRST_EPOCH}.{size}"
        found: Term = z3.Function(name, z3.BitVecSort(64), z3.BitVecSort(8 * size))(PLACE)
        for own in effects:
            for k in range(0, own.size, size):
                here = terms.equal(terms.plus(own.offset, k, 64), PLACE, 64)
                part = terms.extract(own.values[0], 8 * k, 8 * size, 8 * own.size)
                found = terms.pick(terms.conjunction(own.guard, here), part, found, 8 * size)
        return found


def _questions(one: ItemEffect, other: ItemEffect) -> Iterator[Difference]:
    """How two effects may differ."""
    shapes = [(own.effect.kind, own.effect.op, own.size, len(own.values)) for own in (one, other)]
    if shapes[0] != shapes[1]:
        yield _difference(0, one, "the other kernel does something else", one.guard)
        return
    why = "it is done under another condition"
    yield _difference(0, one, why, terms.difference(one.guard, other.guard), (one.guard, other.guard))
    for why, x, y, bits in [
        ("it goes to another place", one.offset, other.offset, 64),
        *(("its value is another one", x, y, 8 * one.size) for x, y in zip(one.values, other.values, strict=True)),
    ]:
        yield _difference(0, one, why, terms.conjunction(one.guard, _unequal(x, y, bits)), (x, y))


def _difference(
    side: int, own: ItemEffect, why: str, condition: Condition, differing: tuple[Term, ...] = ()
) -> Difference:
    effect = own.effect
    return Difference(side, effect.function, effect.number, why, condition, differing or own.values)


def _unequal(x: Term, y: Term, bits: int) -> Condition:
    return terms.negation(terms.equal(x, y, bits))
