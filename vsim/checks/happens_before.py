"""Which accesses are ordered by fences with atomics, by named barriers, or by these together with the group's barrier.

The records of a launch are gone through in the order of execution, and each thread has a vector clock: for every
other thread, the last access that precedes it. A fence *releases* earlier accesses: a thread that reads a later atomic
of this thread, and then executes a fence, which *acquires*, comes after them. Fences of group scope order the group's
threads alone. A barrier joins the clocks of its threads, and their released accesses.

Only the threads that access places in question have entries in the clocks.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from vsim.checks.accesses import (
    ARRIVAL,
    ATOMIC,
    ATOMIC_READ,
    DEPARTURE,
    DEVICE_FENCE,
    GROUP_FENCE,
    LOCAL,
    WRITE,
    Records,
)

Clock = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]


def may_order(records: Records) -> bool:
    """Whether anything but barriers of groups may order accesses of a launch."""
    kinds = records["kind"]
    fences = (kinds == GROUP_FENCE) | (kinds == DEVICE_FENCE)
    return bool((fences.any() and (kinds == ATOMIC).any()) or (kinds >= ARRIVAL).any())


class _Clocks:
    """What a thread knows at some point of its program.

    ``seen``: what comes before it. ``released`` what its last fences released, to its group and to all.
    """

    def __init__(self, count: int) -> None:
        self.seen, self.released = np.full(count, -1), [np.full(count, -1), np.full(count, -1)]

    def copy(self) -> _Clocks:
        """A copy."""
        found = _Clocks(0)
        found.seen, found.released = self.seen.copy(), [r.copy() for r in self.released]
        return found

    def join(self, other: _Clocks) -> None:
        """Come after what another one comes after."""
        np.maximum(self.seen, other.seen, out=self.seen)
        for mine, theirs in zip(self.released, other.released, strict=True):
            np.maximum(mine, theirs, out=mine)


class _Thread:
    """A thread, and how far it has come.

    ``acquired`` is what atomics found released, to the group and to all, which no fence has taken over yet. ``arrived``
    are its clocks at each of its arrivals at the group's barrier.
    """

    def __init__(self, count: int) -> None:
        self.now = _Clocks(count)
        self.acquired: list[Clock] = [np.full(count, -1), np.full(count, -1)]
        self.signals = self.waits = 0
        self.arrived: dict[int, _Clocks] = {}

    def at_arrival(self, number: int) -> _Clocks:
        """Its clocks at an arrival that it has made."""
        return self.arrived.get(number, self.now)


_TO_GROUP, _TO_ALL = 0, 1
Released = dict[tuple[int, int, int], Clock]


class _Replay:
    """The execution, replayed: threads, released accesses at each place, and the states of named barriers."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.threads: dict[tuple[int, int], _Thread] = {}
        self.groups: dict[int, list[_Thread]] = defaultdict(list)
        self.barriers: dict[tuple[int, int], _Clocks] = {}
        self.named: dict[tuple[int, int, int], _Clocks] = {}
        self.places: Released = {}

    def thread(self, group: int, number: int) -> _Thread:
        """A thread, which exists from now on."""
        found = self.threads.get((group, number))
        if found is None:
            found = self.threads[group, number] = _Thread(self.count)
            self.groups[group].append(found)
        return found

    def advance(self, thread: _Thread, group: int, signals: int, waits: int) -> None:
        """The thread has been at its group's barrier so often."""
        if signals > thread.signals:
            before = thread.now.copy()
            for number in range(thread.signals + 1, signals + 1):
                thread.arrived[number] = before
            thread.signals = signals
        if waits > thread.waits:
            thread.waits = waits
            opened = self.barriers.get((group, waits))
            if opened is None:
                opened = self.barriers[group, waits] = _Clocks(self.count)
                for other in self.groups[group]:
                    opened.join(other.at_arrival(waits))
            thread.now.join(opened)
            thread.arrived = {n: c for n, c in thread.arrived.items() if n >= waits}

    def fence(self, thread: _Thread, scope: int) -> None:
        """Apply acquired accesses, and release earlier ones, within a scope."""
        for wide in range(scope + 1):
            np.maximum(thread.now.seen, thread.acquired[wide], out=thread.now.seen)
        for wide in range(scope + 1):
            np.maximum(thread.now.released[wide], thread.now.seen, out=thread.now.released[wide])

    def atomic(self, thread: _Thread, group: int, place: tuple[int, int, int], changes: bool) -> None:
        """Acquire the accesses released at a place; a write also leaves the thread's released accesses there."""
        space, owner, address = place
        for scope, key in ((_TO_GROUP, (space, group + 1, address)), (_TO_ALL, (space, 0, address))):
            if scope == _TO_ALL and owner:
                continue  # local memory, which no other group sees
            known = self.places.get(key)
            if known is not None:
                np.maximum(thread.acquired[scope], known, out=thread.acquired[scope])
            if not changes:
                continue
            if known is None:
                self.places[key] = thread.now.released[scope].copy()
            else:
                np.maximum(known, thread.now.released[scope], out=known)

    def named_barrier(self, thread: _Thread, group: int, number: int, opening: int, arrives: bool) -> None:
        """Arrive at a named barrier that has opened so often, or go on as it opens for that time."""
        at = self.named.setdefault((group, number, opening), _Clocks(self.count))
        if arrives:
            at.join(thread.now)
        else:
            thread.now.join(at)


def unordered(records: Records, rows: Indices, places: Indices) -> tuple[Indices, Indices]:
    """Conflicting units that nothing orders: of those of each place, pairs of positions among the units.

    Of accesses of one thread by one instruction the last one stands for all: if it comes before another thread's, they
    do. Of pairs of instructions at one place one conflict within groups is given, and one between groups, of the first
    threads each.

    Args:
        rows: which record each unit belongs to.
        places: a number for the memory of each unit.
    """
    source = _sources(records, rows)
    replay, order = _Replay(int(source.max(initial=-1)) + 1), np.lexsort((rows, records["sequence"][rows]))
    events = np.flatnonzero(records["kind"] >= ATOMIC)
    known: dict[int, dict[tuple[int, int, int, int], int]] = defaultdict(dict)
    found: dict[tuple[int, ...], _Conflict] = {}
    both = np.concatenate([order, ~events])
    sequence = np.concatenate([records["sequence"][rows[order]], records["sequence"][events]])
    for item in both[np.argsort(sequence, kind="stable")].tolist():
        record = records[rows[item] if item >= 0 else ~item]
        group, number = int(record["group"]), int(record["thread"])
        thread = replay.thread(group, number)
        replay.advance(thread, group, int(record["signals"]), int(record["waits"]))
        if item < 0:
            _happen(replay, thread, record)
            continue
        me, here = int(source[rows[item]]), known[int(places[item])]
        site = (int(record["function"]), int(record["instruction"]), int(record["kind"]))
        for (other, *its), earlier in here.items():
            if other != me and _conflict(its[2], site[2]):
                before = int(records["sequence"][rows[earlier]])
                if thread.now.seen[other] < before:
                    _keep_first(found, int(places[item]), _side(records, rows, earlier), _side(records, rows, item))
        here[(me, *site)] = item
        thread.now.seen[me] = int(record["sequence"])
    pairs = np.array([(a[-1], b[-1]) for a, b in found.values()], np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


_Side = tuple[int, ...]
"""Function, instruction, kind, group, thread and lane of an access, and its position."""
_Conflict = tuple[_Side, _Side]


def _side(records: Records, rows: Indices, position: int) -> _Side:
    record = records[rows[position]]
    names = ("function", "instruction", "kind", "group", "thread", "lane")
    return (*(int(record[name]) for name in names), position)


def _keep_first(found: dict[tuple[int, ...], _Conflict], place: int, one: _Side, other: _Side) -> None:
    """Of the conflicts of two instructions at a place keep that with the first threads, in whichever order they ran."""
    a, b = sorted((one, other))
    key = (place, *a[:3], *b[:3], a[3] == b[3])
    known = found.get(key)
    if known is None or (a[3:6], b[3:6]) < (known[0][3:6], known[1][3:6]):
        found[key] = a, b


def _sources(records: Records, rows: Indices) -> Indices:
    """By record, the number of its thread among the threads that access places in question; -1 for others."""
    threads = records["group"].astype(np.int64) << 32 | records["thread"]
    of_rows = np.unique(threads[rows])
    at = np.searchsorted(of_rows, threads).clip(max=max(of_rows.size - 1, 0))
    return np.where(of_rows[at] == threads, at, -1) if of_rows.size else np.full(threads.size, -1)


def _conflict(one: int, other: int) -> bool:
    """Whether accesses conflict by their kinds: one changes memory, and one is not atomic."""
    return not {one, other}.isdisjoint((WRITE, ATOMIC)) and min(one, other) <= WRITE


def _happen(replay: _Replay, thread: _Thread, record: np.void) -> None:
    """An atomic, fence or named barrier."""
    group, kind = int(record["group"]), int(record["kind"])
    if kind in (ATOMIC, ATOMIC_READ):
        space, address = int(record["space"]), int(record["address"])
        replay.atomic(thread, group, (space, group + 1 if space == LOCAL else 0, address), kind == ATOMIC)
    elif kind in (GROUP_FENCE, DEVICE_FENCE):
        replay.fence(thread, _TO_ALL if kind == DEVICE_FENCE else _TO_GROUP)
    else:
        replay.named_barrier(thread, group, int(record["number"]), int(record["opening"]), kind != DEPARTURE)
