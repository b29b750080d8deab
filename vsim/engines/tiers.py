"""What runs while native code is made: the reference engine, which may end first.

LLVM takes seconds for a large kernel, the reference engine less for a small launch of it. So where compiling takes
longer than a moment, the launch begins on the reference engine. If native code is ready before it ends, the memory is
put back as it was and the launch begins anew: nothing of it depends on how far the other had come.
"""

from __future__ import annotations

from collections.abc import Callable

from vsim.engines.restart import must_wait, snapshot_of
from vsim.launch.dispatch import Dispatch

THREADS_AT_ONCE = 256
"""Hardware threads of a batch: few, so that an instruction takes microseconds and the end of compiling is seen soon."""
SHORT_THREADS, SHORT_INSTRUCTIONS = 256, 2000
"""Hardware threads and instructions, each of which runs once at most, that the reference engine runs within some 40 ms:
sooner than native code is made.
"""


class NativeCodeIsReady(Exception):
    """The reference engine stopped, as native code can run the launch."""


def is_short(dispatch: Dispatch) -> bool:
    """Whether the reference engine runs a launch sooner than its native code is made, whatever the data are."""
    summary = dispatch.signature.summary
    threads = dispatch.group_count * dispatch.threads_of(dispatch.group(0))
    if summary.repeats or threads > SHORT_THREADS or summary.instructions > SHORT_INSTRUCTIONS:
        return False
    return not dispatch.image.module.functions and not must_wait(dispatch)


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
