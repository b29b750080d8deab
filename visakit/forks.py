"""The locks of the process: the child of a fork finds them free, as the thread that held one is not there."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
Lock = TypeVar("Lock")
_LOCKS: weakref.WeakSet[object] = weakref.WeakSet()
_RLOCK = type(threading.RLock())


def free_in_child(lock: Lock) -> Lock:
    """A lock of :mod:`threading` that is free in the child of a fork, but an RLock that the forking thread holds."""
    _LOCKS.add(lock)
    return lock


def holds_lock() -> bool:
    """Whether this thread holds one of the RLocks."""
    return any(_is_held(lock) for lock in list(_LOCKS))


def awaited_thread() -> contextlib.AbstractContextManager[object]:
    """A context in which commands wait for this thread, so that it waits for none (:func:`holds_lock`)."""
    return free_in_child(threading.RLock())


class cached_property(functools.cached_property[Value]):
    """The class of the library, whose lock (before Python 3.12) a fork's child finds free."""

    def __init__(self, func: Callable[..., Value]) -> None:
        super().__init__(func)
        if (lock := getattr(self, "lock", None)) is not None:
            free_in_child(lock)


def _is_held(lock: object) -> bool:
    return isinstance(lock, _RLOCK) and lock._is_owned()  # type: ignore[attr-defined]


def _free_all() -> None:
    for lock in list(_LOCKS):
        if not _is_held(lock):
            lock._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
