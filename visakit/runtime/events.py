"""Events: status of commands, waiting threads, and callbacks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from visakit.forks import holds_lock
from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.device import host_nanoseconds
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import DONE, ApiObject
from visakit.runtime.order import Turn

CHANGED = threading.Condition()
"""Held while the status of an event changes; waiting threads wait on it."""
RUNNING = threading.local()
"""``command``: whether the thread is running one."""
_has_ended = False
Callback = Callable[[int], None]
"""Is told the status."""


class Awaited(Protocol):
    """Something that commands and the program wait for: an event.

    Attributes:
        turn: the place of the command that completes it in the order of commands; None if the program does.
    """

    turn: Turn | None

    @property
    def status(self) -> int:
        """The status; negative if it went wrong."""

    @property
    def is_over(self) -> bool:
        """Whether nothing waits for it any more."""


class CommandQueue(ApiObject):
    """A queue, as events see it."""

    @property
    def is_profiling(self) -> bool:
        """Whether the program may ask for times."""
        raise NotImplementedError

    def help_until(self, event: Awaited) -> None:
        """Run ready commands in the caller's thread, until a command is over or another thread runs it."""
        raise NotImplementedError


class Event(ApiObject):
    """The state of a command.

    Attributes:
        queue: of the command; None for a user event, which the program itself completes.
        status: queued, submitted, running, complete, or a negative status of a failed command.
        turn: the place of the command in the order of commands, for the check of races; None without it.
        times: when it became each of these, in nanoseconds.
    """

    invalid = cl.CL_INVALID_EVENT
    title = "event"

    def __init__(self, context: Context, command_type: int, queue: CommandQueue | None = None) -> None:
        super().__init__()
        self.context, self.command_type, self.queue = context, command_type, queue
        self.status: int = cl.CL_QUEUED if queue is not None else cl.CL_SUBMITTED
        self.times = [host_nanoseconds(), 0, 0, 0]
        self.callbacks: list[tuple[int, Callback]] = []
        self.follower: Callback | None = None
        """See :meth:`follow`."""
        self.turn: Turn | None = None

    @property
    def is_over(self) -> bool:
        """Whether the command has run, or never will."""
        return self.status <= cl.CL_COMPLETE

    def advance(self, status: int) -> None:
        """Advance the status, and call the callbacks of it. The status never goes back."""
        for callback in self.reach(status):
            callback(status)

    def reach(self, status: int) -> list[Callback]:
        """Advance the status; gives the callbacks of it, which are called without :data:`CHANGED`."""
        with CHANGED:
            if status >= self.status:
                return []
            self._note(status)
            due = [c for at, c in self.callbacks if status <= at] if self.callbacks else []
            if due:
                self.callbacks = [entry for entry in self.callbacks if status > entry[0]]
            if status <= cl.CL_COMPLETE:
                CHANGED.notify_all()
            return due

    def _note(self, status: int) -> None:
        now = host_nanoseconds()
        step = cl.CL_QUEUED - max(status, cl.CL_COMPLETE)
        for earlier in range(step + 1):
            self.times[earlier] = self.times[earlier] or now
        if status <= cl.CL_COMPLETE and self.follower is not None:
            self.follower(status)
        self.status = status
        if status == cl.CL_COMPLETE:
            host.write_u32(self.handle + host.POINTER, DONE)

    def follow(self, callback: Callback) -> None:
        """Register a function that sets what shows the end of the command, before threads that wait for the end see
        it. The caller of the function holds :data:`CHANGED`.
        """
        with CHANGED:
            if self.is_over:
                callback(self.status)
            else:
                self.follower = callback

    def when(self, status: int, callback: Callback) -> None:
        """Register a callback for a status of the command; it is called at once if the command has reached it."""
        with CHANGED:
            if self.status > status:
                self.callbacks.append((status, callback))
                return
        callback(min(self.status, status))

    def wait(self) -> None:
        """Wait until the command is over.

        Raises:
            CallError: the process ends, and the command with it.
        """
        if not self.is_over and _is_needed():
            return
        if self.queue is not None:
            self.queue.help_until(self)
        with CHANGED:
            while not self.is_over:
                require(not _has_ended, cl.CL_OUT_OF_RESOURCES, "the process ends")
                CHANGED.wait()
            self.seen()

    def seen(self) -> int:
        """The program sees the status; gives it."""
        order = self.context.order
        if order is not None and self.is_over:
            with CHANGED:
                order.seen([self.turn])
        return self.status


def _is_needed() -> bool:
    """Whether commands may need this thread before they are over: it runs one, or holds a lock that they take.

    Such a thread does not wait. Python's collector may run destructors of the program in it, at any allocation, and
    these free memory or release queues.
    """
    return getattr(RUNNING, "command", False) or CHANGED._is_owned() or holds_lock()  # type: ignore[attr-defined]


def wait_within(awaited: Awaited, nanoseconds: int) -> bool:
    """Wait for a time until something is over; whether it is.

    Raises:
        CallError: the process ends.
    """
    end = host_nanoseconds() + nanoseconds
    is_needed = not awaited.is_over and _is_needed()
    with CHANGED:
        while not awaited.is_over:
            require(not _has_ended, cl.CL_OUT_OF_RESOURCES, "the process ends")
            left = end - host_nanoseconds()
            if left <= 0 or is_needed:
                return False
            CHANGED.wait(min(left / 1e9, threading.TIMEOUT_MAX))
    return True


def let_go() -> None:
    """The process ends: waiting threads return, and no command begins."""
    global _has_ended
    with CHANGED:
        _has_ended = True
        CHANGED.notify_all()


def has_ended() -> bool:
    """Whether the process ends."""
    return _has_ended


if hasattr(os, "register_at_fork"):
    # Whoever held it is not there.
    os.register_at_fork(after_in_child=lambda: CHANGED.__init__(threading.RLock()))  # type: ignore[misc]


def find_events(address: int, count: int, context: Context | None = None) -> list[Event]:
    """The events of a wait list.

    Raises:
        CallError: it is no such list, or an event is of another context.
    """
    if not address and not count:
        return []
    require(address and count, cl.CL_INVALID_EVENT_WAIT_LIST, "a wait list and its length belong together")
    try:
        events = Event.find_all(address, count)
    except CallError as problem:
        raise CallError(cl.CL_INVALID_EVENT_WAIT_LIST, problem.reason) from None
    contexts = {e.context for e in events} | ({context} if context else set())
    require(len(contexts) == 1, cl.CL_INVALID_CONTEXT, "events are of different contexts")
    return events


def wait_for(events: Iterable[Event]) -> None:
    """Wait for all events.

    Raises:
        CallError: one of the commands failed.
    """
    given = list(events)
    for event in given:
        event.wait()
    if any(event.status < 0 for event in given):
        raise CallError(cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "a command that was waited for failed")


def failed(events: Sequence[Awaited]) -> bool:
    """Whether one of them went wrong."""
    return any(event.status < 0 for event in events)
