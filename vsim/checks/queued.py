"""Races of launches: what each did to global memory, and whether two that nothing orders conflict.

An engine leaves of a launch which memory it read and changed, as ranges, and a function that gives the accesses to some
of it. Where the ranges of two launches meet and one of them changes what is there, these accesses are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vsim.checks.accesses import ATOMIC, GLOBAL, READ, Records

if TYPE_CHECKING:
    from vsim.dispatch import Dispatch

KEPT = 32
"""Launches whose accesses are kept at most, to be compared with later ones."""
Ranges = npt.NDArray[np.uint64]
"""Host addresses, first and behind the last, n x 2; in ascending order, and without places in common."""


@dataclass(frozen=True)
class LaunchAccesses:
    """What a launch did to global memory.

    Attributes:
        read, changed: where it read, and where it wrote or had atomics; ranges may hold more, never less.
        records: gives the accesses to ranges, and may give more.
    """

    read: Ranges
    changed: Ranges
    records: Callable[[Ranges], Records]


@dataclass(frozen=True)
class QueuedLaunch:
    """A launch of a program that queues commands.

    Attributes:
        number: of the command.
        apart: commands that were queued before it, and that nothing orders with it.
        held: what must live as long as the launch may be looked at.
    """

    number: int
    apart: frozenset[int]
    dispatch: Dispatch
    accesses: LaunchAccesses
    held: object = None


class QueuedLaunches:
    """The launches that later ones may race with."""

    def __init__(self) -> None:
        self.known: list[QueuedLaunch] = []

    def ended(self, launch: QueuedLaunch) -> None:
        """A launch has ended: what it races with is added to its findings."""
        for other in self.known:
            if other.number in launch.apart or launch.number in other.apart:
                _compare(launch, other)
        self.known = [*self.known, launch][-KEPT:]

    def keep(self, wanted: Callable[[QueuedLaunch], bool]) -> None:
        """Forget the launches that nothing which comes can be unordered with."""
        self.known = [one for one in self.known if wanted(one)]


def _compare(launch: QueuedLaunch, other: QueuedLaunch) -> None:
    from vsim.checks.races import report_launches

    mine, theirs = launch.accesses, other.accesses
    both = [
        meeting(mine.changed, theirs.changed),
        meeting(mine.changed, theirs.read),
        meeting(mine.read, theirs.changed),
    ]
    shared = united(both)
    if shared.size:
        report_launches((launch.dispatch, mine.records(shared)), (other.dispatch, theirs.records(shared)))


def of_records(records: Records) -> LaunchAccesses:
    """What a launch did whose accesses were all recorded."""
    own = records[(records["kind"] <= ATOMIC) & (records["space"] == GLOBAL)]
    reads = own["kind"] == READ
    read, changed = (_places(own[chosen]) for chosen in (reads, ~reads))
    return LaunchAccesses(read, changed, lambda ranges: own)


def _places(records: Records) -> Ranges:
    first = records["address"].astype(np.uint64)
    return united([np.stack([first, first + records["size"].astype(np.uint64)], 1)])


# -- ranges ----------------------------------------------------------------------------------------------------


def united(parts: list[Ranges]) -> Ranges:
    """What is in any of the ranges, which may overlap."""
    return _at_depth(np.concatenate(parts), 1)


def meeting(one: Ranges, other: Ranges) -> Ranges:
    """What is in both."""
    return _at_depth(np.concatenate([one, other]), 2)


def _at_depth(ranges: Ranges, depth: int) -> Ranges:
    """Where so many of the ranges lie over each other."""
    edges = np.concatenate([ranges[:, 0], ranges[:, 1]])
    steps = np.repeat([1, -1], len(ranges))
    order = np.lexsort((-steps, edges))
    level = np.cumsum(steps[order])
    inside = np.concatenate([[False], level >= depth]).astype(np.int8)
    changes = np.diff(inside)
    first, end = edges[order][changes == 1], edges[order][changes == -1]
    found = np.stack([first, end], 1)
    return found[found[:, 0] < found[:, 1]]
