"""Barriers: threads of a work-group wait for each other (manual: barrier, sbarrier, nbarrier)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from visakit.language.program import Instruction
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.prepared import BarrierWait, PreparedFunction
from vsim.engines.numpy.scheduler import Scheduler
from vsim.launch.arrays import Bools, Dwords, Offsets
from vsim.observe.observer import Observer, listeners

NAMED_BARRIERS = 32
Counts = Offsets


class GroupBarrier:
    """The barrier that every work-group has.

    A thread may go on when all threads of its group have arrived more often than it has gone on.
    """

    def __init__(self, groups: npt.NDArray[np.intp]) -> None:
        """``groups``: the number of each thread's group in the batch."""
        self.groups = groups
        self.arrivals: Counts = np.zeros(groups.size, np.int64)
        self.departures: Counts = np.zeros(groups.size, np.int64)

    def restart(self) -> None:
        """Nobody has arrived."""
        self.arrivals[:] = self.departures[:] = 0

    def saved(self) -> tuple[Counts, ...]:
        """Copies of the counts."""
        return self.arrivals.copy(), self.departures.copy()

    def restore(self, saved: tuple[Counts, ...]) -> None:
        """Bring them back."""
        self.arrivals[:], self.departures[:] = saved

    def arrive(self, rows: Bools) -> None:
        """These threads arrive."""
        self.arrivals[rows] += 1

    def opened(self) -> Bools:
        """The threads that may go on."""
        least = np.full(int(self.groups.max()) + 1, np.iinfo(np.int64).max)
        np.minimum.at(least, self.groups, self.arrivals)
        found: Bools = least[self.groups] > self.departures
        return found

    def passed(self, rows: Bools) -> None:
        """These threads go on."""
        self.departures[rows] += 1


class NamedBarriers:
    """The numbered barriers of every work-group: how many threads have arrived at each, and how often it has opened."""

    def __init__(self, groups: npt.NDArray[np.intp], observers: Sequence[Observer] = ()) -> None:
        self.groups = groups
        self.arrived, self.departed = listeners(observers, Observer.arrived), listeners(observers, Observer.departed)
        count = int(groups.max(initial=0)) + 1
        self.arrivals: Counts = np.zeros((count, NAMED_BARRIERS, 2), np.int64)
        """Producers and consumers."""
        self.openings: Counts = np.zeros((count, NAMED_BARRIERS), np.int64)
        self.waits: Counts = np.zeros((groups.size, NAMED_BARRIERS), np.int64)
        """How often each had opened when a thread came to it as a consumer, and how often it has waited since."""

    def restart(self) -> None:
        """Nobody has arrived."""
        self.arrivals[:] = self.openings[:] = self.waits[:] = 0

    def saved(self) -> tuple[Counts, ...]:
        """Copies of the counts."""
        return self.arrivals.copy(), self.openings.copy(), self.waits.copy()

    def restore(self, saved: tuple[Counts, ...]) -> None:
        """Bring them back."""
        self.arrivals[:], self.openings[:], self.waits[:] = saved

    def arrive(self, row: int, number: int, wanted: int) -> None:
        """A thread arrives at a barrier; what ``wanted`` says: :meth:`vsim.semantics.algebra.Machine.named_barrier`."""
        barrier = self.groups[row], number
        for tell in self.arrived:
            tell(np.array([row]), np.array([number]))
        produces, consumes = wanted >> 16 & 1, wanted >> 17 & 1
        if consumes:
            self.waits[row, number] = self.openings[barrier]
        self.arrivals[barrier] += (produces, consumes)
        if (self.arrivals[barrier] >= (wanted & 0xFF, wanted >> 8 & 0xFF)).all():
            self.arrivals[barrier] = 0
            self.openings[barrier] += 1


class NamedWait:
    """An instruction that waits for named barriers: each thread for the one with its number."""

    def __init__(self, barriers: NamedBarriers) -> None:
        self.barriers, self._rows = barriers, np.arange(barriers.groups.size)
        self.numbers: Dwords = np.zeros(barriers.groups.size, np.uint32)

    def opened(self) -> Bools:
        """The threads whose barrier has opened more often than they have waited for it."""
        barriers = self.barriers
        openings = barriers.openings[barriers.groups, self.numbers]
        found: Bools = openings > barriers.waits[self._rows, self.numbers]
        return found

    def passed(self, rows: Bools) -> None:
        """These threads have waited."""
        chosen, numbers = self._rows[rows], self.numbers[rows]
        for tell in self.barriers.departed:
            tell(chosen, numbers)
        self.barriers.waits[chosen, numbers] += 1


class BatchBarriers:
    """Barrier instructions of one function; see :class:`vsim.semantics.algebra.Machine`."""

    def __init__(
        self,
        prepared: PreparedFunction,
        running: Running,
        scheduler: Scheduler,
        group: GroupBarrier,
        named: NamedBarriers,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.prepared, self.running, self.scheduler, self.group, self.named = prepared, running, scheduler, group, named
        self.listeners = listeners(observers, Observer.barrier)

    def _tell(self, signals: bool) -> None:
        for tell in self.listeners:
            tell(self.running.event, signals)

    def barrier(self, signal: bool, wait: bool, instruction: Instruction) -> Callable[[], bool]:
        """Arrive at the group's barrier, wait until all its threads have arrived, or both."""
        following = self.prepared.following
        self.prepared.barriers[following] = self.group

        def step() -> bool:
            self._tell(signal)
            if signal:
                self.group.arrive(self.running.activation.active_rows)
            if wait:
                return self._wait(self.group, following)
            self.scheduler.release()
            return False

        return step

    def named_barrier(
        self, number: Callable[[], Dwords], arrivals: Callable[[], Dwords] | None, instruction: Instruction
    ) -> Callable[[], bool]:
        """Arrive at a barrier that opens after so many arrivals.

        Without ``arrivals`` wait until it has opened once more than this thread has waited for it.
        """

        def numbers() -> Dwords:
            self._tell(False)
            return self._per_thread(number()) & np.uint32(NAMED_BARRIERS - 1)

        if arrivals is not None:
            return self._arrive(numbers, arrivals)
        following, here = self.prepared.following, NamedWait(self.named)
        self.prepared.barriers[following] = here

        def wait() -> bool:
            here.numbers = np.where(self.running.activation.active_rows, numbers(), here.numbers)
            return self._wait(here, following)

        return wait

    def _arrive(self, numbers: Callable[[], Dwords], arrivals: Callable[[], Dwords]) -> Callable[[], bool]:
        def arrive() -> bool:
            wanted, found = self._per_thread(arrivals()), numbers()
            for row in np.flatnonzero(self.running.activation.active_rows):
                self.named.arrive(int(row), int(found[row]), int(wanted[row]))
            self.scheduler.release()
            return False

        return arrive

    def _per_thread(self, values: Dwords) -> Dwords:
        return np.broadcast_to(values, (self.running.threads.count, 1))[:, 0]

    def _wait(self, barrier: BarrierWait, following: int) -> bool:
        """Let the running threads go on for which a barrier is open, and block the others."""
        activation = self.running.activation
        rows = activation.active_rows
        ready = barrier.opened() & rows
        barrier.passed(ready)
        all_ready = bool((ready == rows).all())
        if not all_ready:
            activation.block(following, activation.active & ~ready[:, None])
            activation.split((following, activation.active & ready[:, None]))
            self.scheduler.hold(rows & ~ready)
        self.scheduler.release()
        return not all_ready
