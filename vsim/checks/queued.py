"""Races of launches: the accesses of each to global memory, and conflicts of launches that nothing orders.

An engine leaves the ranges of memory that a launch read and changed, and a function that returns the accesses to some
of them. Where the ranges of two launches overlap and one of them is written, these accesses are compared.
Commands of queues that copy memory take part with the ranges alone, and so does the program with memory that it has
mapped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from visakit.diagnostics import Diagnostic
from vsim.checks.accesses import ATOMIC_READ, GLOBAL, READ, RECORD, WRITE, LaunchAccesses, Ranges, Records
from vsim.checks.findings import MAPPED

if TYPE_CHECKING:
    from vsim.launch.dispatch import Dispatch

KEPT = 32
"""Launches whose accesses are kept at most, to be compared with later ones; and as many mappings."""


@dataclass(frozen=True)
class QueuedLaunch:
    """A launch of a program that queues commands, or another command that reads or changes memory.

    Attributes:
        number: of the command.
        apart: commands that were queued before it, and that nothing orders with it.
        of: the launch; of another command its name, of the program's accesses that which :data:`MAPPED` says.
        held: what must live as long as the launch may be looked at.
    """

    number: int
    apart: frozenset[int]
    of: Dispatch | str
    accesses: LaunchAccesses
    held: object = None

    @property
    def is_program(self) -> bool:
        """Whether it is an access of the program to mapped memory."""
        return isinstance(self.of, str) and self.of.startswith(MAPPED)


class QueuedLaunches:
    """The launches that later ones may race with."""

    def __init__(self) -> None:
        self.known: list[QueuedLaunch] = []

    def ended(self, launch: QueuedLaunch) -> list[Diagnostic]:
        """End a launch: its races are added to its findings, races of other commands are returned."""
        said: list[Diagnostic] = []
        for other in self.known:
            is_apart = other.number in launch.apart or launch.number in other.apart
            if is_apart and not (launch.is_program and other.is_program):
                said += _compare(launch, other)
        self.known.append(launch)
        kept = [[one for one in self.known if one.is_program is mapped][-KEPT:] for mapped in (False, True)]
        self.known = [*kept[0], *kept[1]]
        return said

    def keep(self, wanted: Callable[[QueuedLaunch], bool]) -> None:
        """Forget the launches that nothing which comes can be unordered with."""
        self.known = [one for one in self.known if wanted(one)]


def _compare(launch: QueuedLaunch, other: QueuedLaunch) -> list[Diagnostic]:
    mine, theirs = launch.accesses, other.accesses
    both = [
        meeting(mine.changed, theirs.changed),
        meeting(mine.changed, theirs.read),
        meeting(mine.read, theirs.changed),
    ]
    shared = united(both)
    if not shared.size:
        return []
    if isinstance(launch.of, str):
        if isinstance(other.of, str):
            return [_of_commands(launch, other, shared)]
        return _after_its_report(other.of, theirs.records(shared), launch.of, mine)
    records = mine.records(shared)
    others = _of_command(records, theirs) if isinstance(other.of, str) else theirs.records(shared)
    _report(launch.of, records, other.of, others)
    return []


def _report(dispatch: Dispatch, records: Records, other: Dispatch | str, others: Records) -> None:
    """Add the races of a launch with another one, or with another command, to its findings."""
    from vsim.checks.races import report_launches

    report_launches((dispatch, records), (other, others))


def _after_its_report(dispatch: Dispatch, records: Records, command: str, theirs: LaunchAccesses) -> list[Diagnostic]:
    """The races of a command with a launch whose findings have been reported."""
    from vsim.checks.findings import Findings
    from vsim.checks.report import diagnostics

    assert dispatch.findings is not None
    again = replace(dispatch, findings=Findings(dispatch.findings.checking))
    _report(again, records, command, _of_command(records, theirs))
    return diagnostics(again)


def _of_command(records: Records, accesses: LaunchAccesses) -> Records:
    """A command's accesses to the places of other accesses, clipped to its ranges."""
    own = records[(records["kind"] <= ATOMIC_READ) & (records["space"] == GLOBAL)]
    places = np.unique(np.stack([own["address"], own["address"] + own["size"]], 1).astype(np.uint64), axis=0)
    found: list[Records] = [np.zeros(0, RECORD)]
    for ranges, kind in ((accesses.read, READ), (accesses.changed, WRITE)):
        if not (ranges.size and places.size):
            continue
        at = np.searchsorted(ranges[:, 1], places[:, 0], side="right").clip(max=len(ranges) - 1)
        first, end = np.maximum(places[:, 0], ranges[at, 0]), np.minimum(places[:, 1], ranges[at, 1])
        inside = first < end
        part: Records = np.zeros(int(inside.sum()), RECORD)
        part["address"], part["size"], part["kind"] = first[inside], (end - first)[inside], kind
        found.append(part)
    return np.concatenate(found)


def _of_commands(one: QueuedLaunch, other: QueuedLaunch, shared: Ranges) -> Diagnostic:
    """Of two commands that are no launches, and conflict in ranges; the second one may be the program."""
    if one.is_program:
        one, other = other, one
    kinds = ["a write" if meeting(side.accesses.changed, shared).size else "a read" for side in (one, other)]
    if other.is_program:
        mapped = str(other.of).removeprefix(MAPPED)
        message = f"{kinds[0]} by {one.of} and {kinds[1]} of the same place, which {mapped} has mapped meanwhile"
        return Diagnostic("K004", f"a command and the program race: {message}", None, hint(True))
    message = f"{kinds[0]} by {one.of} and {kinds[1]} by {other.of} of the same place"
    ordered = "and no event, barrier or wait orders the two"
    return Diagnostic("K004", f"commands race: {message}, {ordered}", None, hint(False))


def hint(is_mapped: bool) -> str:
    """What to do about commands that race, or about one with memory that is mapped."""
    if is_mapped:
        return "unmap the memory first, and let the command come after that, or map it when the command is over"
    return "let the second command wait for the event of the first, or put a barrier between them"


def of_records(records: Records) -> LaunchAccesses:
    """What a launch did whose accesses were all recorded."""
    own = records[(records["kind"] <= ATOMIC_READ) & (records["space"] == GLOBAL)]
    reads = (own["kind"] == READ) | (own["kind"] == ATOMIC_READ)
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
