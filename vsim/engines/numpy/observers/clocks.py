"""The clocks of threads on the reference engine, for observers that want a timeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from visakit.isa.record import Flow
from visakit.language.program import Function
from vsim.engines.numpy.activation import Activation
from vsim.engines.numpy.machine import BatchExecution
from vsim.launch.arrays import Bools, Offsets
from vsim.observe.observer import Event, Observer, listeners
from vsim.observe.timeline import MAXIMUM_THREADS, Path, Slice, Timeline, Waits


class _Threads:
    """The clocks of a batch of threads, an element for each row; the first ``shown`` of them have slices."""

    def __init__(self, groups: Offsets, threads: Offsets, shown: int) -> None:
        self.shown = shown
        self.groups, self.threads, count = groups, threads, groups.size
        self.clock, self.arrival = np.zeros((2, count), np.int64)
        self.signals, self.waits = np.zeros((2, count), np.int64)
        self.waiting = np.zeros(count, bool)
        self.site: dict[int, tuple[str, int]] = {}
        """By row the barrier at which the thread waits."""
        self.calls: list[list[tuple[str, int]]] = [[] for _ in range(count)]
        self.openings: dict[tuple[int, int], int] = {}
        """By group and number of a barrier's use the last arrival."""

    def arrive(self, rows: Offsets) -> None:
        """Threads arrive at the barriers of their groups."""
        for row in rows.tolist():
            key = int(self.groups[row]), int(self.signals[row])
            self.openings[key] = max(self.openings.get(key, 0), int(self.clock[row]))
        self.signals[rows] += 1

    def leave(self, rows: Offsets) -> Offsets:
        """Threads leave the barriers of their groups; gives how long each has waited."""
        uses = zip(self.groups[rows].tolist(), self.waits[rows].tolist(), strict=True)
        last = np.array([self.openings.get(use, 0) for use in uses], np.int64)
        waited: Offsets = np.maximum(0, last - self.arrival[rows])
        self.clock[rows] += waited
        self.waits[rows] += 1
        self.waiting[rows] = False
        return waited


class ClockObserver(Observer):
    """Keeps the clocks of the threads of a launch, and their actions.

    Args:
        observers: get the timeline at the launch's end.
    """

    interrupts = True  # So that rows are those of the batch: few threads do not run on without the others.
    batch: BatchExecution
    now: _Threads

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.timeline, self.tells = Timeline(), listeners(observers, Observer.timed)
        self._paths = WeakKeyDictionary[Activation, Path]()

    def prepare(self, engine: BatchExecution) -> None:
        self.batch = engine

    def chooses(self, function: Function, number: int) -> bool:
        return not function.instructions[number].desc.is_directive

    # -- threads -------------------------------------------------------------------------------------------

    def threads_begin(self, event: Event) -> None:
        shown = max(0, MAXIMUM_THREADS - len(self.timeline.lengths))
        self.now = _Threads(event.groups, event.threads, shown)

    def threads_end(self, event: Event) -> None:
        now, lengths = self.now, self.timeline.lengths
        for row, (group, thread) in enumerate(zip(now.groups.tolist(), now.threads.tolist(), strict=True)):
            while now.calls[row]:
                self._close(row)
            self._show(row, self.batch.dispatch.kernel.name, 0)
            if row < now.shown:
                lengths[group, thread] = int(now.clock[row])
        self.timeline.end = max(self.timeline.end, int(now.clock.max()))

    def launch_end(self, error: Exception | None) -> None:
        for tell in self.tells:
            tell(self.timeline)

    def _show(self, row: int, name: str, begin: int) -> None:
        """Keep a part of a thread's time that ends now, if the thread is one of the first."""
        now = self.now
        if row >= now.shown:
            return
        place = int(now.groups[row]), int(now.threads[row])
        self.timeline.slices.append(Slice(*place, name, begin, int(now.clock[row])))

    # -- instructions --------------------------------------------------------------------------------------

    def before(self, event: Event) -> None:
        rows, now = event.rows, self.now
        if now.waiting[rows].any():
            self._leave(rows[now.waiting[rows]])
        now.clock[rows] += 1
        path = self._path(self.batch.running.activation)
        self.timeline.stacks.setdefault(path, Counter())[event.function.name, event.number] += rows.size

    def _path(self, activation: Activation) -> Path:
        found = self._paths.get(activation)
        return found if found is not None else (activation.function.name,)

    # -- barriers ------------------------------------------------------------------------------------------

    def barrier(self, event: Event, signals: bool) -> None:
        """Threads arrive at the barrier of their group, wait there, or both; named barriers are not followed."""
        rows, now = event.rows, self.now
        if signals:
            now.arrive(rows)
        if event.instruction.desc.flow is Flow.BARRIER:
            now.arrival[rows], now.waiting[rows] = now.clock[rows], True
            now.site.update(dict.fromkeys(rows.tolist(), (event.function.name, event.number)))

    def _leave(self, rows: Offsets) -> None:
        """Threads go on behind the barrier at which they wait."""
        before, waited = self.now.clock[rows].tolist(), self.now.leave(rows).tolist()
        for row, begin, time in zip(rows.tolist(), before, waited, strict=True):
            self.timeline.waits.setdefault(self.now.site[row], Waits()).add(Waits(1, time, time))
            if time:
                self._show(row, "barrier", begin)

    # -- calls ---------------------------------------------------------------------------------------------

    def call(self, event: Event, frame: Activation) -> None:
        path = self._path(self.batch.running.activation)
        label = event.instruction.args.get("label") if frame.is_subroutine else None
        name = frame.function.name if label is None else f"{frame.function.name}:{event.function.labels[label].name}"
        self._paths[frame] = (*path, name)
        for row in np.flatnonzero(frame.active_rows).tolist():
            self.now.calls[row].append((name, int(self.now.clock[row])))

    def returned(self, frame: Activation, rows: Bools) -> None:
        for row in np.flatnonzero(rows).tolist():
            if self.now.calls[row]:
                self._close(row)

    def _close(self, row: int) -> None:
        self._show(row, *self.now.calls[row].pop())
