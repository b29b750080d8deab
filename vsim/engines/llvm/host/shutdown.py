"""Who is at work in LLVM, and the end of that.

The C library's exit destroys LLVM's static variables. So a handler that runs before it keeps other threads from
starting work in LLVM, and waits for threads that have started.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 60.0
"""How long the end waits for work: the largest kernels take about as long."""


class ProcessEndsError(Exception):
    """The process ends: no native code is made any more."""


class _Work:
    """The threads that work in LLVM; ``last`` is the thread that ends the process."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.threads: list[int] = []
        self.last: int | None = None


_WORK = _Work()


@contextmanager
def in_llvm() -> Iterator[None]:
    """While LLVM works for this thread.

    Raises:
        ProcessEndsError: it does no more.
    """
    me = threading.get_ident()
    with _WORK.changed:
        if not may_begin():
            raise ProcessEndsError
        _WORK.threads.append(me)
    try:
        yield
    finally:
        with _WORK.changed:
            _WORK.threads.remove(me)
            _WORK.changed.notify_all()


def may_begin() -> bool:
    """Whether this thread may begin work in LLVM: no other thread ends the process."""
    return _WORK.last in (None, threading.get_ident())


def is_ending() -> bool:
    """Whether a thread ends the process."""
    return _WORK.last is not None


def end() -> None:
    """Let no other thread begin, and wait until none is at work."""
    with _WORK.changed:
        _WORK.last = threading.get_ident()
        _others_leave()


def _others_leave() -> None:
    """Wait until no other thread is at work; the caller lets none begin."""
    me = threading.get_ident()
    _WORK.changed.wait_for(lambda: all(thread == me for thread in _WORK.threads), PATIENCE_SECONDS)


def _before_fork() -> None:
    """Keep other threads out of LLVM while this one forks: the child would find the locks of LLVM closed for ever."""
    _WORK.changed.acquire()
    _others_leave()


def _in_child() -> None:
    """The others' threads are not there."""
    mine = [thread for thread in _WORK.threads if thread == threading.get_ident()]
    _WORK.__init__()  # type: ignore[misc]
    _WORK.threads = mine


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_WORK.changed.release, after_in_child=_in_child)
