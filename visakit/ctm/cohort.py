"""Groups of processors at the same place of a program: one step serves them all."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from vsim.launch.arrays import Array, Bools, Offsets


@dataclass(frozen=True, order=True, slots=True)
class LoopFrame:
    """A frame of the loop stack: who began it in which slot, its integer constant, the turns left, aL."""

    op: int
    entry: int
    integer: int
    count: int
    al: int


State = tuple[tuple[tuple[int, int], ...], tuple[LoopFrame, ...], tuple[int, ...], bool]
"""Where groups stand: the way there in the order of the program, frames, return addresses, whether there is an ALU
result. Groups of one state take the same next step."""


@dataclass
class Cohort:
    """Groups in one state, in ascending order.

    Attributes:
        here: their processors: an index for arrays of all processors.
        last: the slot of the instruction that they executed last.
        steps: how many instructions they executed, at most: groups that waited for others lag behind.
        limit: the value of ``steps`` at which the first of them has executed too many.
    """

    groups: Offsets
    here: slice | Offsets
    limit: int
    pc: int = 0
    last: int = 0
    frames: tuple[LoopFrame, ...] = ()
    addresses: tuple[int, ...] = ()
    result_valid: bool = False
    steps: int = 0

    @property
    def state(self) -> State:
        """Where the groups stand."""
        turns = [(f.entry, -f.count) for f in self.frames]
        way = (*turns, *((a - 1, 0) for a in self.addresses), (self.pc, 0))
        return way, self.frames, self.addresses, self.result_valid


class Waiting:
    """Cohorts that wait for their turn: the cohort furthest behind in the program comes first, and cohorts that meet in
    one state continue together.

    Args:
        size: processors of a group.
        maximum: instructions that a group may execute.

    Attributes:
        lag: instructions that each group executed less than its cohort says.
        places: how many cohorts wait in a slot.
    """

    def __init__(self, size: int, groups: int, maximum: int) -> None:
        self.size, self.maximum = size, maximum
        self.lag: Offsets = np.zeros(groups, np.int64)
        self.places: Counter[int] = Counter()
        self._by_state: dict[State, Cohort] = {}
        self._order: list[State] = []

    def __bool__(self) -> bool:
        return bool(self._order)

    def all_groups(self) -> Cohort:
        """The cohort that a launch begins with."""
        return self._cohort(np.arange(len(self.lag)))

    def push(self, cohort: Cohort) -> None:
        """Wait, and join the waiting cohorts of the same state."""
        state = cohort.state
        other = self._by_state.get(state)
        if other is None:
            heapq.heappush(self._order, state)
            self._by_state[state] = cohort
            self.places[cohort.pc] += 1
            return
        steps = max(cohort.steps, other.steps)
        for one in (cohort, other):
            self.lag[one.groups] += steps - one.steps
        together = np.sort(np.concatenate([cohort.groups, other.groups]))
        self._by_state[state] = self._cohort(together, replace(cohort, steps=steps))

    def pop(self) -> Cohort:
        """The cohort that is furthest behind."""
        cohort = self._by_state.pop(heapq.heappop(self._order))
        self.places[cohort.pc] -= 1
        return cohort

    def meets(self, cohort: Cohort) -> bool:
        """Whether processors wait in the slot of a cohort."""
        return self.places[cohort.pc] > 0

    def part(self, cohort: Cohort, chosen: Bools) -> Cohort:
        """Some groups of a cohort."""
        return self._cohort(cohort.groups[chosen], cohort)

    def _cohort(self, groups: Offsets, like: Cohort | None = None) -> Cohort:
        """Groups in the state of a cohort, or at the beginning."""
        first, last = int(groups[0]), int(groups[-1]) + 1
        here: slice | Array = slice(first * self.size, last * self.size)
        if last - first != len(groups):
            here = (groups[:, None] * self.size + np.arange(self.size)).ravel()
        limit = self.maximum + int(self.lag[groups].min())
        return replace(like, groups=groups, here=here, limit=limit) if like else Cohort(groups, here, limit)
