"""Reconvergence: where lanes that went different ways wait for each other, and where all lanes of a thread are known to
run together.

The rule of both engines: of the places at which lanes of a thread are, the one with the smallest pc runs first (thread
frontiers with the pc as priority). So lanes that jump forward wait at their target until the others come by, and lanes
that leave a loop wait behind it. Such a place is a *reconvergence point*. A point is *converged* if no lane can be
waiting anywhere else when it runs: there the execution mask is full, and is known when code is made.

Example: lanes of ``(P1) goto ELSE`` wait at ELSE while the others run what lies between. ELSE is a reconvergence point;
it is converged if it is also where the others come to, unless an enclosing jump still holds lanes further down::

    0 (P1) goto (M1, 16) ELSE      some lanes wait at 2
    1 add ...                      runs with the others
    2 ELSE: mul ...                all meet: converged
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate

from vsim.analysis.control_flow import ControlFlow, takes_all
from vsim.analysis.uniformity import takes_one_way


@dataclass(frozen=True)
class Reconvergence:
    """Where lanes of a function may wait (``points``, ascending), and the blocks that all lanes run together
    (``converged``).
    """

    flow: ControlFlow
    points: Mapping[int, int]
    """With the number of the mask in which lanes that wait there are kept: points that never hold lanes at the same
    time share one, so that nested loops by the hundred need as many as the deepest nest.
    """
    converged: frozenset[int]
    opened: Mapping[int, int]
    """For each point the first instruction of its subroutine at which lanes may wait there, in this order."""
    following: tuple[int, ...]
    """The next point behind each instruction at which lanes may wait when it is run, the function's end where there is
    none.
    """

    def next_point(self, pc: int) -> int | None:
        """The next reconvergence point behind an instruction, in its subroutine, at which lanes may wait."""
        return self.following[pc] if self.following[pc] < self.flow.end else None

    def waiting(self) -> dict[int, list[int]]:
        """For each block the points of its subroutine at which lanes may wait when it is run."""
        found, coming, end = {}, list(self.opened.items())[::-1], self.flow.end
        points = list[int]()
        for start in self.flow.starts:
            while coming and coming[-1][1] <= start:
                points.append(coming.pop()[0])
            points = [p for p in points if start < p < end]
            found[start] = points[:]
        return found

    def points_between(self, pc: int, end: int) -> list[int]:
        """The points behind an instruction and before another one of its subroutine at which lanes may wait when it is
        run, ascending.
        """
        return sorted(p for p in self.points if pc < p < end and self.opened.get(p, 0) <= pc)


@dataclass(frozen=True)
class _Branch:
    """A jump or return after which lanes may wait at ``waiting``; lanes that have ended count as waiting at the
    function's end.
    """

    pc: int
    waiting: int


def reconvergence(
    flow: ControlFlow,
    uniform: frozenset[int],
    lanes: int,
    starts_full: bool,
    one_way: frozenset[int] = frozenset(),
) -> Reconvergence:
    """The reconvergence points of a function.

    Args:
        uniform: predicates that are equal in all lanes.
        lanes: of a thread.
        starts_full: all lanes of a thread run when it begins; else nothing is known to be converged.
        one_way: further branches that all lanes that run them take, or none.
    """
    points, divergent, uniform_branches = _branches(flow, uniform, lanes, one_way)
    ways_back = _WaysBack(flow.backward)
    converged = _converged(flow, divergent, uniform_branches, ways_back) if starts_full else frozenset()
    inside = sorted(p for p in points if p < flow.end)
    found = sorted((min(branch, ways_back.first_run(branch, point)), point) for point, branch in points.items())
    opened = {point: first for first, point in found}
    # Lanes wait in a subroutine while it calls others, which have separate masks.
    masks = {p: n for n, p in enumerate(inside)} if flow.subroutines else _masks(inside, opened)
    return Reconvergence(flow, masks, converged, opened, _following(flow, opened))


def _branches(
    flow: ControlFlow, uniform: frozenset[int], lanes: int, known: frozenset[int] = frozenset()
) -> tuple[dict[int, int], list[_Branch], list[_Branch]]:
    """The points, with the first branch to each; the branches that may split lanes; and the branches that do not."""
    points: dict[int, int] = {}
    divergent: list[_Branch] = []
    uniform_branches: list[_Branch] = []
    for n, i in enumerate(flow.function.instructions):
        kind = i.desc.flow
        if not flow.ends_block(n):
            continue
        if kind.is_branch:
            one_way = n in known or takes_one_way(i, uniform, lanes)
            for target in flow.targets(i):
                # Of a backward jump that splits, the lanes that leave the loop wait.
                waiting = target if one_way or target > n else n + 1
                (uniform_branches if one_way else divergent).append(_Branch(n, waiting))
                if waiting > n:
                    points.setdefault(waiting, n)
        elif kind.ends_lanes and not takes_all(i, lanes):
            divergent.append(_Branch(n, flow.end))
    return points, divergent, uniform_branches


class _WaysBack:
    """The branches that lead back, of which the lowest target between two instructions is looked up."""

    def __init__(self, backward: Sequence[tuple[int, int]]) -> None:
        ordered = sorted(backward)
        self.sources = [pc for pc, _ in ordered]
        self.lowest = [[target for _, target in ordered]]
        """The lowest targets of 1, 2, 4, ... branches that follow each other, by the first of them."""
        while 2 << len(self.lowest) - 1 <= len(ordered):
            last, half = self.lowest[-1], 1 << len(self.lowest) - 1
            self.lowest.append([min(x, y) for x, y in zip(last, last[half:], strict=False)])

    def first_run(self, branch: int, waiting: int) -> int:
        """The first instruction that may run while lanes wait for which a branch made them wait.

        The others run what lies between, and go back with the branches there, but not with those behind: lanes that
        wait run before these.
        """
        first, begin = branch + 1, branch
        while True:
            lowest = self._lowest(bisect_left(self.sources, begin), bisect_left(self.sources, waiting), first)
            if lowest == first:
                return first
            first = lowest
            begin = min(first, branch)

    def _lowest(self, start: int, end: int, least: int) -> int:
        """The lowest target of some of the branches; not more than ``least``."""
        if start >= end:
            return least
        level = (end - start).bit_length() - 1
        row = self.lowest[level]
        return min(least, row[start], row[end - (1 << level)])


def waiting_ranges(
    flow: ControlFlow, uniform: frozenset[int], lanes: int, converged: frozenset[int]
) -> list[tuple[int, int]]:
    """Where lanes may wait while others run: the first instruction that these may run then, and the point.

    Args:
        uniform, lanes: as of :func:`reconvergence`.
        converged: the blocks that all lanes run together.
    """
    _, divergent, uniform_branches = _branches(flow, uniform, lanes)
    ways_back = _WaysBack(flow.backward)
    splitting = [*divergent, *(b for b in uniform_branches if flow.block_of(b.pc) not in converged)]
    found: dict[int, int] = {}
    for branch in splitting:
        if branch.waiting > branch.pc:
            first = ways_back.first_run(branch.pc, branch.waiting)
            found[branch.waiting] = min(first, found.get(branch.waiting, first))
    return [(first, point) for point, first in found.items()]


def _masks(points: Sequence[int], opened: Mapping[int, int]) -> dict[int, int]:
    """A number for each point, which it has in common with points that are behind it before lanes may wait there."""
    numbers, held, free = dict.fromkeys(points, 0), list[tuple[int, int]](), list[int]()
    for point, first in opened.items():
        if point not in numbers:
            continue
        while held and held[0][0] < first:
            heappush(free, heappop(held)[1])
        numbers[point] = heappop(free) if free else len(held)
        heappush(held, (point, numbers[point]))
    return numbers


def _following(flow: ControlFlow, opened: Mapping[int, int]) -> tuple[int, ...]:
    """For each instruction the next point at which lanes may wait when it is run, the function's end without one."""
    coming, heap = list(opened.items())[::-1], list[int]()
    found = []
    for pc in range(flow.end + 1):
        while coming and coming[-1][1] <= pc:
            heappush(heap, coming.pop()[0])
        while heap and heap[0] <= pc:
            heappop(heap)
        found.append(min(heap[0], flow.end) if heap else flow.end)
    return tuple(found)


def _converged(
    flow: ControlFlow, divergent: list[_Branch], uniform: list[_Branch], ways_back: _WaysBack
) -> frozenset[int]:
    """Blocks of the main part that all lanes run together: the greatest fixed point, from all on.

    A uniform branch keeps lanes together only if they were so before it; lanes that end while others continue never
    come back. A branch that ran before has made every waiting lane wait. So, if all lanes were together in all blocks
    found up to some moment, they are together in the next block, too, and loops need no separate proof.
    """
    ends = [n for n, i in enumerate(flow.function.instructions) if i.desc.flow.ends_lanes and n < flow.main_end]
    converged = {s for s in flow.starts if s < flow.main_end}
    while True:
        splitting = [
            *divergent,
            *(b for b in uniform if b.waiting > b.pc and flow.block_of(b.pc) not in converged),
            *(_Branch(n, flow.end) for n in ends if flow.block_of(n) not in converged),
        ]
        alone = _nobody_waits(flow, splitting, ways_back)
        found = {s for s in converged if alone[s]}
        if found == converged:
            return frozenset(converged)
        converged = found


def _nobody_waits(flow: ControlFlow, splitting: list[_Branch], ways_back: _WaysBack) -> list[bool]:
    """For each instruction, whether no lanes that one of these branches made wait may still wait, elsewhere, when a
    block that begins there runs.
    """
    changes = [0] * (flow.end + 2)
    for branch in splitting:
        changes[ways_back.first_run(branch.pc, branch.waiting)] += 1
        changes[branch.waiting] -= 1
    return [waiting == 0 for waiting in accumulate(changes)]
