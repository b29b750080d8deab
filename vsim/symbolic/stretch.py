"""Registers while the lanes that run do not change: a stretch of instructions under conditions.

In a stretch the conditions of its lanes are taken as true. What it writes becomes part of the registers when it ends:
an element that lane 3 wrote is ``If(condition of lane 3, new, old)``, one that the whole thread wrote ``If(any lane
runs, new, old)``. So the terms within a branch have no conditions of it, and constants there stay constant.

An element belongs to the lane that wrote it; before another lane, or the thread, touches it, it is *settled*, which
gives it its condition at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vsim.symbolic import terms
from vsim.symbolic.places import any_of
from vsim.symbolic.registers import Piece, SymbolicRegisters, pieces_of
from vsim.symbolic.terms import Condition

THREAD = -1
"""The owner of an element that the whole thread wrote."""
VARIABLE, PREDICATE, ADDRESS, STATE = range(4)


class Stretch:
    """Instructions that run under conditions, one for each lane; ``registers`` are the changed ones."""

    def __init__(self, guards: Sequence[Condition], registers: SymbolicRegisters) -> None:
        self.guards, self.registers = tuple(guards), registers
        self.any = any_of(guards)
        self.base = registers.copy()
        self.owners: dict[tuple[int, int], dict[int, int]] = {}
        """By kind and number of a variable, the owners of its bytes, bits or elements."""

    @property
    def is_certain(self) -> bool:
        """Whether all lanes run."""
        return all(g is True for g in self.guards)

    # -- accesses ------------------------------------------------------------------------------------------

    def read(self, kind: int, number: int, indices: Iterable[int], lane: int) -> None:
        """A lane, or :data:`THREAD`, is about to read."""
        owners = self.owners.get((kind, number))
        if not owners:
            return
        foreign = [n for n in indices if owners.get(n, THREAD) not in (THREAD, lane)]
        if foreign:
            self._settle(kind, number, foreign, owners)

    def write(self, kind: int, number: int, indices: Sequence[int], lane: int) -> bool:
        """A lane, or :data:`THREAD`, is about to write; whether its own condition must be part of the value."""
        owners = self.owners.setdefault((kind, number), {})
        if lane != THREAD and all(owners.get(n, lane) == lane for n in indices):
            owners.update(dict.fromkeys(indices, lane))
            return False
        foreign = [n for n in indices if owners.get(n, THREAD) != THREAD]
        if foreign:
            self._settle(kind, number, foreign, owners)
        owners.update(dict.fromkeys(indices, THREAD))
        return lane != THREAD

    def open(self, kind: int, number: int, count: int) -> None:
        """Any element of a variable may change next, each under its own conditions."""
        self.write(kind, number, range(count), THREAD)

    def settle(self) -> None:
        """Give all elements their conditions: another instruction looks at any of them."""
        for (kind, number), owners in self.owners.items():
            own = [n for n, owner in owners.items() if owner != THREAD]
            if own:
                self._settle(kind, number, own, owners)

    # -- conditions ----------------------------------------------------------------------------------------

    def _settle(self, kind: int, number: int, indices: list[int], owners: dict[int, int]) -> None:
        for lane in {owners[n] for n in indices}:
            own = sorted(n for n in indices if owners[n] == lane)
            self._merge(kind, number, own, self.guards[lane])
        for n in indices:
            owners[n] = THREAD

    def _merge(self, kind: int, number: int, indices: list[int], guard: Condition) -> None:
        """Let elements have their new contents under a condition, else those of before."""
        if guard is True:
            return
        if kind == VARIABLE:
            self._merge_bytes(number, indices, guard)
        elif kind == PREDICATE:
            new, old = self.registers.predicate(number), self.base.predicate(number)
            for n in indices:
                new[n] = terms.choice(guard, new[n], old[n])
        elif kind == ADDRESS:
            found, before = self.registers.address(number), self.base.address(number)
            for n in indices:
                found[n] = terms.pick(guard, found[n], before[n], 32)

    def _merge_bytes(self, root: int, indices: list[int], guard: Condition) -> None:
        pieces = self.registers.bytes_of(root)
        wanted, position = set(indices), 0
        while position < len(indices):
            at = indices[position]
            size = _element(pieces, at, wanted)
            new, old = self.registers.read(root, at, size), self.base.read(root, at, size)
            pieces[at : at + size] = pieces_of(terms.pick(guard, new, old, 8 * size), size)
            position += size

    def end(self) -> None:
        """Merge the writes into the registers."""
        for (kind, number), owners in self.owners.items():
            lanes: dict[int, list[int]] = {}
            for n, owner in owners.items():
                lanes.setdefault(owner, []).append(n)
            for owner, indices in lanes.items():
                guard = self.any if owner == THREAD else self.guards[owner]
                self._merge(kind, number, sorted(indices), guard)
        if self.any is not True:
            self._merge_states()

    def _merge_states(self) -> None:
        for key, value in self.registers.states.items():
            self.registers.states[key] = terms.pick(self.any, value, self.base.state(*key), 32)


def _element(pieces: list[Piece], at: int, wanted: set[int]) -> int:
    """How many bytes from one on are a whole term, all of them wanted; 1 if the byte is a part of a larger one."""
    first = pieces[at]
    if first.byte or not all(at + k in wanted for k in range(first.size)):
        return 1
    is_whole = all(
        p.byte == k and p.size == first.size and terms.same_term(p.whole, first.whole)
        for k, p in enumerate(pieces[at : at + first.size])
    )
    return first.size if is_whole else 1
