"""Compilations of large kernels in a separate process, for a command.

The process is a fork. So the reference engine and the translator, which are Python both, run at once; and where the
reference engine ends first, the command ends with the result, while the process keeps the native code for the next one
(page 84 of the decisions).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import NoReturn

import visakit.start
from visakit import cache
from visakit.object_cache import FOLDER

try:
    import fcntl
    import resource
except ImportError:  # no fork either
    pass

BUDGET_SECONDS = 60
"""Processor time that a compilation may take."""
LIFE_SECONDS = 600
"""Time after which its process ends, whatever it waits for."""
LOCK = "behind"
"""File beside the objects of the cache: a compilation that continues after its command has a lock on it."""
_LOCK: list[int] = []
"""The open file of the lock, which this process shares with all compilations that it starts."""


def is_allowed() -> bool:
    """Whether this process may compile in others: it is a command's, whose threads are known."""
    return hasattr(os, "fork") and visakit.start.is_at_work()


class ForkedCompilation:
    """A process that makes native code.

    Args:
        make: gives the code as bytes, and keeps it in the cache.
    """

    def __init__(self, make: Callable[[], bytes]) -> None:
        self.started = perf_counter()
        self.result: bytes | None = None
        with contextlib.suppress(OSError):
            _lock_file()
        self.pipe, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Threads of libraries are idle.
            self.process = os.fork()
        if not self.process:
            _compile(make, writer)
        os.close(writer)

    def is_over(self) -> bool:
        """Whether the process has code, or has ended."""
        return self.wait(0)

    def wait(self, seconds: float | None) -> bool:
        """Wait until so many seconds after its beginning; whether it is over."""
        left = None if seconds is None else max(0.0, self.started + seconds - perf_counter())
        return self.result is not None or bool(select.select([self.pipe], [], [], left)[0])

    def packed(self) -> bytes:
        """The code; empty if the process found none, for whatever reason."""
        if self.result is None:
            with open(self.pipe, "rb") as stream:
                self.result = stream.read()
            os.waitpid(self.process, 0)
        return self.result

    def abandon(self) -> None:
        """End it."""
        if self.result is None:
            self.result = b""
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process, signal.SIGKILL)
            os.close(self.pipe)
            os.waitpid(self.process, 0)

    def leave(self) -> bool:
        """Let it continue after this process, unless a compilation of another process does; whether it continues."""
        try:
            fcntl.flock(_lock_file(), fcntl.LOCK_EX | fcntl.LOCK_NB)  # The process shares the open file.
        except OSError:
            self.abandon()
            return False
        return True


def _lock_file() -> int:
    """The open file of the lock.

    Raises:
        OSError: nothing is cached.
    """
    if not _LOCK:
        folder = cache.private_directory(FOLDER, create=True)
        if folder is None:
            raise OSError
        _LOCK.append(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    return _LOCK[0]


def _compile(make: Callable[[], bytes], writer: int) -> NoReturn:
    """What the process does: it has no terminal, no streams and no files of its parent."""
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        first = 3
        for kept in sorted((writer, *_LOCK, os.sysconf("SC_OPEN_MAX"))):
            os.closerange(first, kept)
            first = kept + 1
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LIFE_SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (BUDGET_SECONDS, BUDGET_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = make()
        with open(writer, "wb") as out:
            out.write(code)
    finally:
        os._exit(0)
