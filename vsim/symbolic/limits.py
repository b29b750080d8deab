"""Limits of a proof: its time and its memory, which all work on terms asks for.

Terms grow without a bound, and the solver's own time limit is a wish: a watch in its own thread interrupts a question
that takes too long or too much, and remembers that a limit is reached. Work that is not a question asks
:meth:`Limits.check`.
"""

from __future__ import annotations

import gc
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event, Thread

import z3

from visakit.language.program import Function

MEGABYTES = 4096
"""Memory that a proof may take, if nothing else is said."""
_MEGABYTE = 1 << 20
_MUCH_MEMORY = 512 * _MEGABYTE
"""A process that has more when a proof begins looks for terms of earlier ones first."""
_PERIOD = 0.05
"""Seconds between two looks of the watch."""
_GRACE = 0.3
"""Seconds after which a question is interrupted that does not end by itself."""


class Undecided(Exception):
    """Nothing can be said: an instruction is not followed, or a limit is reached."""

    def __init__(self, why: str, function: Function | None, number: int, hint: str = "") -> None:
        super().__init__(why)
        self.why, self.function, self.number, self.hint = why, function, number, hint


def memory_in_use() -> int:
    """Bytes of memory of the process; where the system does not say it, the most that it ever had."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most << 10
    return pages * resource.getpagesize()


def answer_of(solver: z3.Solver) -> z3.CheckSatResult:
    """The answer to the solver's question: ``unknown`` if it fails.

    Raises:
        KeyboardInterrupt: the user interrupts it, which Z3 takes as the end of its question alone.
    """
    try:
        found = solver.check()
    except z3.Z3Exception:
        return z3.unknown
    finally:
        _let_interrupts_end_calls()
    if found == z3.unknown and "keyboard" in solver.reason_unknown():
        raise KeyboardInterrupt
    return found


def _let_interrupts_end_calls() -> None:
    """Undo a change of Z3, which leaves Python's handler of interrupts so that calls of the system go on after one."""
    signal.siginterrupt(signal.SIGINT, True)


class Limits:
    """The limits of a proof, of which one part after the other is begun.

    Args:
        seconds: of a part.
        megabytes: that the proof may take beside the memory that was in use before.
    """

    def __init__(self, seconds: float = float("inf"), megabytes: int = MEGABYTES) -> None:
        self.seconds, self.megabytes = seconds, megabytes
        self.place: tuple[Function, int] | None = None
        """The instruction that is being looked at."""
        if memory_in_use() > _MUCH_MEMORY:
            gc.collect()  # Terms of an earlier proof are in circles, and slow down each question to the solver.
        self._before = memory_in_use()
        self._question_ends: float | None = None
        self._takes_too_much = False
        self.begin()

    def begin(self, seconds: float | None = None) -> None:
        """Begin a part of the proof, which has so many seconds."""
        self.deadline = time.monotonic() + (self.seconds if seconds is None else seconds)

    def shortened(self, seconds: float) -> AbstractContextManager[None]:
        """An attempt, which has so many seconds if they are left."""
        return self._until(min(self.deadline, time.monotonic() + seconds))

    def extended(self, seconds: float) -> AbstractContextManager[None]:
        """An attempt, which has so many seconds even if fewer are left."""
        return self._until(max(self.deadline, time.monotonic() + seconds))

    @contextmanager
    def _until(self, deadline: float) -> Iterator[None]:
        whole, self.deadline = self.deadline, deadline
        try:
            yield
        finally:
            self.deadline = whole

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.deadline - time.monotonic()

    @property
    def are_reached(self) -> bool:
        """Whether the time is up, or the memory."""
        return self._takes_too_much or time.monotonic() > self.deadline

    def check(self) -> None:
        """Go on only if no limit is reached.

        Raises:
            Undecided: one is; with the instruction that was being looked at.
        """
        if not self.are_reached:
            return
        function, number = self.place or (None, 0)
        if self._takes_too_much:
            why, hint = (
                f"the proof takes more than {self.megabytes} MB of memory",
                "give more by --memory, or assume more",
            )
        else:
            why, hint = "the time is up", "give more by --seconds, or assume more"
        raise Undecided(why, function, number, hint)

    def at(self, function: Function, number: int) -> None:
        """Go on with an instruction.

        Raises:
            Undecided: a limit is reached.
        """
        self.place = function, number
        self.check()

    # -- the watch -----------------------------------------------------------------------------------------

    @contextmanager
    def watched(self) -> Iterator[None]:
        """See that questions end, and that memory does not grow beyond its limit."""
        ends = Event()
        watch = Thread(target=self._watch, args=(ends,), name="limits", daemon=True)
        watch.start()
        try:
            yield
        finally:
            ends.set()
            watch.join()
            _let_interrupts_end_calls()

    @contextmanager
    def question(self, seconds: float) -> Iterator[None]:
        """A question to the solver, which may take so long."""
        self._question_ends = time.monotonic() + seconds + _GRACE
        try:
            yield
        finally:
            self._question_ends = None

    def _watch(self, ends: Event) -> None:
        context = z3.main_ctx()
        while not ends.wait(_PERIOD):
            self._takes_too_much = memory_in_use() - self._before > self.megabytes * _MEGABYTE
            end = self._question_ends
            if end is not None and (self._takes_too_much or time.monotonic() > end):
                context.interrupt()
