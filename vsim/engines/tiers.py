"""What runs while native code is made, or instead of it: the reference engine, which may end first.

LLVM takes seconds for a large kernel, the reference engine less for a small launch of it. So where compiling takes
longer than a moment, the launch begins on the reference engine. If native code is ready before it ends, the memory is
put back as it was and the launch begins anew: nothing of it depends on how far the other had come.

Launches of a kernel that may run once are tried before anything is compiled, until they took as long together as
native code does (:class:`Trials`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import numpy as np

from visakit.collector import paused_collection
from visakit.diagnostics import SimulationError
from vsim.engines.numpy.memory import MessageAccess
from vsim.engines.restart import must_wait, snapshot_of
from vsim.launch.arrays import Bytes, Offsets
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Event, Observer

THREADS_AT_ONCE = 512
"""Hardware threads of a batch: few, so that an instruction takes microseconds and the end of compiling is seen soon;
with half as many, instructions take a fifth more time a thread.
"""
SHORT_THREADS, SHORT_INSTRUCTIONS = 256, 4000
"""Hardware threads and instructions of launches that the reference engine is tried with."""
SOON_SECONDS, SOON_SECONDS_PER_INSTRUCTION = 0.1, 0.0002
"""Processor time that such a launch gets there, the longer of the two: a third of what native code takes to be made."""
TIMES_SOON = 3
"""How many times that all launches of a kernel get together."""


class _Late(Exception):
    """The reference engine stopped, as a launch takes longer."""


class NativeCodeIsReady(Exception):
    """The reference engine stopped, as native code can run the launch."""


class _WrittenBytes(Observer):
    """What a launch has written, as it was before."""

    def __init__(self) -> None:
        self.kept: list[tuple[Bytes, Offsets, Bytes]] = []

    def access(self, event: Event, access: MessageAccess) -> None:
        if access.writes:
            with contextlib.suppress(SimulationError):  # A fault follows, and nothing is written.
                for data, offsets, _ in access.parts():
                    places = (offsets[:, None] + np.arange(access.size)).reshape(-1)
                    self.kept.append((data, places, data[places]))

    def restore(self) -> None:
        """Put all of it back."""
        for data, places, contents in reversed(self.kept):
            data[places] = contents


class Trials:
    """Launches of kernels that may run once, on the reference engine: at most twice the time passes that the better of
    both engines would take.
    """

    def __init__(self) -> None:
        self.left: dict[str, float] = {}
        """Processor time that a kernel still gets, in seconds."""

    def has_begun(self, dispatch: Dispatch) -> bool:
        """Whether a launch of the kernel was tried, or given up."""
        return dispatch.kernel.name in self.left

    def is_over(self, dispatch: Dispatch) -> bool:
        """Whether no further launch of the kernel is tried."""
        return self.left.get(dispatch.kernel.name, 1) <= 0

    def give_up(self, dispatch: Dispatch) -> None:
        """Try no further launch of the kernel."""
        self.left[dispatch.kernel.name] = 0.0

    @paused_collection()
    def ends_soon(self, dispatch: Dispatch, max_seconds: float | None) -> bool:
        """Run a launch on the reference engine, if it ends sooner than its native code would be made; else its memory
        is as it was.

        Raises:
            SimulationError: the program did something without a defined result, or took too long.
        """
        summary, count = dispatch.signature.summary, dispatch.group_count * dispatch.threads_of(dispatch.group(0))
        soon = max(SOON_SECONDS, summary.instructions * SOON_SECONDS_PER_INSTRUCTION)
        is_long = summary.spins or count > SHORT_THREADS or summary.instructions > SHORT_INSTRUCTIONS
        begun = time.thread_time()
        if is_long or must_wait(dispatch) or not _has_ended(dispatch, max_seconds, begun + soon):
            self.give_up(dispatch)
            return False
        left = self.left.get(dispatch.kernel.name, TIMES_SOON * soon)
        self.left[dispatch.kernel.name] = left - (time.thread_time() - begun)
        return True


def _has_ended(dispatch: Dispatch, max_seconds: float | None, until: float) -> bool:
    """Run a launch on the reference engine; if it is late, its memory is as it was.

    The program may write other memory meanwhile, so only bytes that the launch has written are put back.
    """
    from vsim.engines.numpy.engine import run

    if not dispatch.signature.summary.repeats and not dispatch.image.module.functions:
        run(dispatch, max_seconds, threads_at_once=THREADS_AT_ONCE)
        return True
    written = _WrittenBytes()

    def look() -> None:
        if time.thread_time() > until:
            raise _Late

    try:
        run(dispatch, max_seconds, look, THREADS_AT_ONCE, besides=[written])
    except _Late:
        written.restore()
        return False
    return True


@paused_collection()
def overtake(dispatch: Dispatch, max_seconds: float | None, is_ready: Callable[[], bool]) -> bool:
    """Run a launch on the reference engine until native code is ready; whether it came to its end.

    A launch whose result depends on the order of its groups waits for native code, so that it is the same every time;
    so do launches with a schedule or observers, and those over much memory.

    Raises:
        SimulationError: the program did something without a defined result, or took too long.
    """
    from vsim.engines.numpy.engine import run

    snapshot = None if must_wait(dispatch) else snapshot_of(dispatch)
    if snapshot is None:
        return False

    def look() -> None:
        if is_ready():
            raise NativeCodeIsReady

    try:
        run(dispatch, max_seconds, look, THREADS_AT_ONCE)
    except NativeCodeIsReady:
        snapshot.restore()
        return False
    return True
