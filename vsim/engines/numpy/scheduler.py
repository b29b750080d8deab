"""Which activation of a batch runs next, and which of its lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import SimulationError
from visakit.language.program import Function
from vsim.engines.numpy.activation import Activation, Running
from vsim.engines.numpy.algebra import any_lane
from vsim.launch.arrays import Bools
from vsim.observe.observer import Observer, listeners

DEADLINE_MOVES = 16
"""How often lanes move from one look at the clock to the next."""


class SavedScheduler(NamedTuple):
    """Which activations live, and which threads rest or have not begun."""

    live: list[Activation]
    resting: Bools | None
    later: list[Bools]


class Scheduler:
    """Runs the activations of a batch: the one called last first, in it the lanes with the smallest pc.

    Args:
        observers: the observers that watch the batch.
    """

    def __init__(self, running: Running, observers: Sequence[Observer] = ()) -> None:
        self.running = running
        self.returned, self.ran = listeners(observers, Observer.returned), listeners(observers, Observer.ran)
        self.live: list[Activation] = []
        self.check_deadline: Callable[[], None] | None = None
        self._moves = 0
        self._resting: Bools | None = None
        self._later: list[Bools] = []
        """Threads that have not begun, the next ones last."""

    def saved(self) -> SavedScheduler:
        """What lives, rests and waits."""
        return SavedScheduler(list(self.live), self._resting, list(self._later))

    def restore(self, saved: SavedScheduler) -> None:
        """Bring it back."""
        self.live, self._resting, self._later = list(saved.live), saved.resting, list(saved.later)

    def restart(self) -> None:
        """Forget the threads of before, which an observer may have stopped."""
        self.live, self._resting, self._later = [], None, []

    def start(self, activation: Activation) -> None:
        """An activation begins: it runs next."""
        self.live.append(activation)
        self.running.enter(activation)

    def run(
        self, check_deadline: Callable[[], None] | None, deadlock: Callable[[list[Activation]], SimulationError]
    ) -> None:
        """Run until every lane has ended.

        Args:
            check_deadline: is called now and then.
            deadlock: makes the error where lanes of some activations wait at barriers for threads that never arrive.

        Raises:
            SimulationError: an access outside a buffer, or threads that wait for each other.
        """
        self.check_deadline = check_deadline
        with np.errstate(all="ignore"):
            while self.live:
                activation = next((a for a in reversed(self.live) if a.running or a.waiting), None)
                if activation is None:
                    if self._return_some() or self._wake():
                        continue
                    raise deadlock(self.live)
                self.running.enter(activation)
                self.run_activation(activation)
                if activation.has_ended:
                    self._return_from(activation)

    def run_activation(self, activation: Activation, limit: int | None = None) -> None:
        """Run an activation until it calls, is blocked or ends; with a limit, until its lanes wait there or behind."""
        prepared = activation.prepared
        steps, function = prepared.steps, prepared.function
        end = len(steps) if limit is None else limit
        horizon = end + 1 if limit is None else end
        while activation.running or activation.resume(horizon):
            stop = activation.reconverge(end)
            first, active, pc = activation.pc, activation.active, activation.pc
            moved = False
            while pc < stop and not moved:
                moved = bool(steps[pc]())
                pc += 1
            for tell in self.ran:
                tell(function, first, pc, int(np.count_nonzero(any_lane(active))), int(np.count_nonzero(active)))
            if moved:
                if self.running.activation is not activation:
                    return
                self._look_at_the_clock()
            elif pc < end:
                activation.pc = pc
            elif limit is None:
                activation.stop()
            else:
                activation.split((end, activation.active))

    def _look_at_the_clock(self) -> None:
        self._moves += 1
        if self.check_deadline is not None and self._moves % DEADLINE_MOVES == 0:
            self.check_deadline()

    def _return_from(self, activation: Activation) -> None:
        """An activation whose lanes have all left gives them back to its caller."""
        self.live.remove(activation)
        if activation.back is not None:
            caller, pc, lanes = activation.back
            self._tell_return(activation, lanes)
            caller.children -= 1
            caller.wait(pc, lanes)

    def _tell_return(self, activation: Activation, lanes: Bools) -> None:
        for tell in self.returned:
            tell(activation, any_lane(lanes))

    def _return_some(self) -> bool:
        """Let threads return from an activation before others that a barrier holds up in it; whether there are any."""
        for activation in reversed(self.live):
            if activation.back is None:
                continue
            left = activation.rows_inside()
            for child in self.live:
                if child.back is not None and child.back.activation is activation:
                    left |= any_lane(child.back.lanes)
            caller, pc, lanes = activation.back
            done = lanes & ~left[:, None]
            if done.any():
                activation.back = activation.back._replace(lanes=lanes & left[:, None])
                self._tell_return(activation, done)
                caller.wait(pc, done)
                return True
        return False

    def rest(self, rows: Bools) -> None:
        """No lane of these threads runs until no other thread can: they wait for what others write."""
        self._resting = rows if self._resting is None else self._resting | rows
        self.hold(rows)

    def _wake(self) -> bool:
        """Let the threads that rest go on, and the next ones begin; whether there are any."""
        rows, self._resting = self._resting, None
        if self._later:
            later = self._later.pop()
            rows = later if rows is None else rows | later
        if rows is None:
            return False
        for activation in self.live:
            activation.let_go(rows)
        return True

    def admit(self, activation: Activation, parts: list[Bools]) -> None:
        """Let the threads of an activation that begins go on part by part, as none of those before can any more."""
        self._later = parts[:0:-1]
        activation.split((activation.pc, activation.active))
        self.hold(~parts[0])

    def hold(self, rows: Bools) -> None:
        """No lane of these threads runs: each of them waits at a barrier, or for what others write."""
        for activation in self.live:
            activation.hold(rows)

    def places(self) -> dict[int, tuple[Function, int, bool]]:
        """For each thread that has not ended the function and instruction at which it is, and whether a barrier holds
        it up there. A thread is where its last call is, and there where its first lanes are.
        """
        found: dict[int, tuple[Function, int, bool]] = {}
        for activation in reversed(self.live):
            function = activation.prepared.function
            for pc, lanes in sorted(activation.waiting.items()):
                self._place(found, lanes, (function, pc, False))
            if activation.running:
                self._place(found, activation.active, (function, activation.pc, False))
            for pc, lanes in sorted(activation.blocked.items()):
                self._place(found, lanes, (function, pc - 1, True))
            for pc, lanes in sorted(activation.held.items()):
                self._place(found, lanes, (function, pc, False))
        return dict(sorted(found.items()))

    @staticmethod
    def _place(found: dict[int, tuple[Function, int, bool]], lanes: Bools, place: tuple[Function, int, bool]) -> None:
        for row in np.flatnonzero(any_lane(lanes)).tolist():
            found.setdefault(row, place)

    def release(self) -> None:
        """Let blocked threads go on for which their barrier is open now."""
        for activation in self.live:
            for pc, lanes in list(activation.blocked.items()):
                barrier = activation.prepared.barriers[pc]
                ready = barrier.opened() & any_lane(lanes)
                if ready.any():
                    barrier.passed(ready)
                    activation.wait(pc, lanes & ready[:, None])
                    for other in self.live:
                        other.let_go(ready)
                    left = lanes & ~ready[:, None]
                    if left.any():
                        activation.blocked[pc] = left
                    else:
                        del activation.blocked[pc]
