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

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
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
    points: tuple[int, ...]
    converged: frozenset[int]
    following: tuple[int, ...]
    """The next point behind each instruction at which lanes may wait when it is run, the function's end where there is
    none; empty for functions with subroutines.
    """

    def next_point(self, pc: int) -> int | None:
        """The next reconvergence point behind an instruction, in its subroutine, at which lanes may wait."""
        if self.following:
            return self.following[pc] if self.following[pc] < self.flow.end else None
        at = bisect_right(self.points, pc)
        inside = at < len(self.points) and self.points[at] < self.flow.subroutine_end(pc)
        return self.points[at] if inside else None


@dataclass(frozen=True)
class _Branch:
    """A jump or return after which lanes may wait at ``waiting``, which is the function's end
    for those that are gone.
    """

    pc: int
    waiting: int


def reconvergence(flow: ControlFlow, uniform: frozenset[int], lanes: int, starts_full: bool) -> Reconvergence:
    """The reconvergence points of a function.

    Args:
        uniform: predicates that are equal in all lanes.
        lanes: of a thread.
        starts_full: all lanes of a thread run when it begins; else nothing is known to be converged.
    """
    points: dict[int, int] = {}
    divergent: list[_Branch] = []
    uniform_branches: list[_Branch] = []
    for n, i in enumerate(flow.function.instructions):
        kind = i.desc.flow
        if not kind.is_terminator:
            continue
        if kind.is_branch:
            one_way = takes_one_way(i, uniform, lanes)
            for target in flow.targets(i):
                # Of a backward jump that splits, the lanes that leave the loop wait.
                waiting = target if one_way or target > n else n + 1
                (uniform_branches if one_way else divergent).append(_Branch(n, waiting))
                if waiting > n:
                    points.setdefault(waiting, n)
        elif kind.ends_lanes and not takes_all(i, lanes):
            divergent.append(_Branch(n, flow.end))
    converged = _converged(flow, divergent, uniform_branches) if starts_full else frozenset()
    following = () if flow.subroutines else _following(flow, points)
    return Reconvergence(flow, tuple(sorted(p for p in points if p < flow.end)), converged, following)


def _following(flow: ControlFlow, points: Mapping[int, int]) -> tuple[int, ...]:
    """For each instruction the next point at which lanes may wait when it is run, the function's end without one.

    Lanes wait at a point after one of its branches, so from the first of these on, or from where a way back leads that
    is open behind that one.

    Args:
        points: the first branch to each.
    """
    back = sorted(flow.backward)
    lowest = list(accumulate((target for _, target in reversed(back)), min))[::-1]

    def earliest(pc: int) -> int:
        while (at := bisect_left(back, (pc, 0))) < len(back) and lowest[at] < pc:
            pc = lowest[at]
        return pc

    opened = sorted((earliest(branch), point) for point, branch in points.items())
    found, heap, at = [], list[int](), 0
    for pc in range(flow.end + 1):
        while at < len(opened) and opened[at][0] <= pc:
            heappush(heap, opened[at][1])
            at += 1
        while heap and heap[0] <= pc:
            heappop(heap)
        found.append(min(heap[0], flow.end) if heap else flow.end)
    return tuple(found)


def _converged(flow: ControlFlow, divergent: list[_Branch], uniform: list[_Branch]) -> frozenset[int]:
    """Blocks of the main part that all lanes run together: the least fixed point, from none on.

    A uniform branch keeps lanes together only if they were so before it; lanes that end while others go on never come
    back.
    """
    ends = [n for n, i in enumerate(flow.function.instructions) if i.desc.flow.ends_lanes and n < flow.main_end]
    converged: set[int] = set()
    while True:
        splitting = [
            *divergent,
            *(b for b in uniform if b.waiting > b.pc and flow.block_of(b.pc) not in converged),
            *(_Branch(n, flow.end) for n in ends if flow.block_of(n) not in converged),
        ]
        found = {
            s for s in flow.starts if s < flow.main_end and not any(_may_wait_elsewhere(flow, s, b) for b in splitting)
        }
        if not found - converged:
            return frozenset(converged)
        converged |= found


def _may_wait_elsewhere(flow: ControlFlow, block: int, branch: _Branch) -> bool:
    """Whether lanes that a branch made wait may still wait, elsewhere, when a block runs."""
    if branch.waiting == block:
        return False
    if branch.pc < block < branch.waiting:
        return True
    # A loop can come back to the block while lanes wait behind it.
    return (
        branch.waiting > block
        and branch.pc >= block
        and any(target <= block and pc >= branch.pc for pc, target in flow.backward)
    )
