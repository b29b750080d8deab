"""The end of the process: what programs release then is left alone.

C++ programs keep objects of OpenCL in static variables, whose destructors release them after ``main`` has returned. By
then the C library has destroyed what LLVM keeps in static variables of its own, which the release of a kernel's code
would use. So the shared library of the driver is told that the process ends by a function of ``atexit`` that is
registered behind LLVM's, and thus called before them; from then on ``clRelease...`` does nothing, and the memory goes
with the process.
"""

from __future__ import annotations

from collections.abc import Callable

_waiting: list[Callable[[], int]] = []
"""What has the end of the process watched, until it was called."""


def set_watcher(watch: Callable[[], int]) -> None:
    """What registers the function of ``atexit``; it gives zero."""
    _waiting[:] = [watch]


def watch() -> None:
    """Have the end of the process watched from now on; LLVM is there, as something has been executed."""
    while _waiting:
        _waiting.pop()()
