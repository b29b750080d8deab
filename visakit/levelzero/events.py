"""Events, pools of them, and fences: the program resets and signals them itself, too."""

from __future__ import annotations

import weakref
from collections import deque

from visakit.levelzero import ze
from visakit.runtime import cl, host, svm
from visakit.runtime.context import Context
from visakit.runtime.device import host_nanoseconds
from visakit.runtime.errors import CallError, require
from visakit.runtime.events import CHANGED, wait_within
from visakit.runtime.objects import ASK, DONE, PENDING, ApiObject, ApiState
from visakit.runtime.order import Order, Turn
from visakit.runtime.queue import Queue, live_queues

FOREVER = 0xFFFF_FFFF_FFFF_FFFF
"""A time-out that never ends, in nanoseconds."""


_COUNTERS = 512
"""Counters that are made at once."""
_free_counters: deque[int] = deque()


class Counter:
    """A number in memory that kernels and the program may read. Its place serves another one later."""

    def __init__(self, context: Context) -> None:
        if not _free_counters:
            made = svm.allocate(context, _COUNTERS * host.POINTER, 0, cl.CL_MEM_TYPE_HOST_INTEL)
            if made is None:
                raise CallError(ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "the system has no memory left")
            del context.shared[made.address]  # The program cannot free it.
            _free_counters.extend(range(made.address, made.address + made.size, host.POINTER))
        self.address = _free_counters.popleft()
        host.write_size(self.address, 0)
        weakref.finalize(self, _free_counters.append, self.address).atexit = False

    def count(self, number: int, is_over: bool) -> None:
        """A command is over, or is to run again."""
        (seen,) = host.read_sizes(self.address, 1)
        host.write_size(self.address, max(seen, number) if is_over else number - 1)


class Signal:
    """A state that commands complete and wait for.

    Attributes:
        status: queued, complete, or a negative status of a failed command.
        times: when the last command that completed it began and ended, in nanoseconds.
        turn: the place of that command in the order of commands.
        state: what C sees of it; None if C sees another one.
        number: of the command, among the commands that signal its event.
        counter: counts these commands as they end; None if the program did not ask for its address.
    """

    def __init__(
        self,
        status: int = cl.CL_QUEUED,
        state: ApiState | None = None,
        number: int = 0,
        counter: Counter | None = None,
    ) -> None:
        self.times = (0, 0)
        self.turn: Turn | None = None
        self.state, self.number, self.counter = state, number, counter
        self._set(status)

    def _set(self, status: int) -> None:
        self.status = status
        if self.state is not None:
            self.state.set(DONE if status == cl.CL_COMPLETE else PENDING if status > cl.CL_COMPLETE else ASK)

    def count(self) -> None:
        """Write to the counter."""
        if self.counter is not None:
            self.counter.count(self.number, self.status == cl.CL_COMPLETE)

    @property
    def is_over(self) -> bool:
        """Whether it is signalled, or the command that was to signal it failed."""
        return self.status <= cl.CL_COMPLETE

    def change(self, status: int, times: tuple[int, int] = (0, 0)) -> None:
        """Signal or reset it."""
        with CHANGED:
            self.times = times
            self._set(status)
            self.count()
            CHANGED.notify_all()

    def hide(self) -> None:
        """Let C see it no more."""
        with CHANGED:
            if self.state is not None:
                self.state.set(ASK)
            self.state = None

    def signal(self) -> None:
        """Signal it by the program, or by a command without a duration."""
        now = host_nanoseconds()
        self.turn = None
        self.change(cl.CL_COMPLETE, (now, now))

    def ask(self, order: Order | None) -> None:
        """The program asks for it, and sees the end of the command that has signalled it.

        Raises:
            CallError: it is not signalled, or the command failed.
        """
        require(self.is_over, ze.ZE_RESULT_NOT_READY, "it is not signalled")
        if order is not None:
            with CHANGED:
                order.seen([self.turn])
        require(self.status >= 0, ze.ZE_RESULT_ERROR_DEVICE_LOST, "a command failed")


class EventPool(ApiObject):
    """A number of places for events."""

    invalid = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    title = "event pool"

    def __init__(self, context: Context, flags: int, count: int, counts: int) -> None:
        super().__init__()
        self.context, self.flags, self.count, self.counts = context, flags, count, counts


class ZeEvent(ApiObject):
    """An event.

    Attributes:
        pool: its pool; None for one without.
        counts: flags of an event that counts: it is reset when a command that signals it is appended; 0 for others.
        state: what commands that are appended now wait for.
    """

    invalid = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    title = "event"

    def __init__(self, context: Context, pool: EventPool | None, scopes: tuple[int, int], counts: int) -> None:
        super().__init__()
        self.context, self.pool, self.scopes, self.counts = context, pool, scopes, counts
        self.state = Signal(cl.CL_COMPLETE if counts else cl.CL_QUEUED, ApiState(self.handle))

    def is_gone(self) -> None:
        self.state.hide()

    def count_in_memory(self) -> tuple[int, int]:
        """The number of the command that was appended last, and the address of the number of the last one that is over.

        Raises:
            CallError: the event does not count, or no command signals it.
        """
        wrong = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
        require(self.counts and self.state.number, wrong, "no command signals the event and counts")
        with CHANGED:
            if self.state.counter is None:
                self.state.counter = Counter(self.context)
                self.state.count()
            return self.state.number, self.state.counter.address

    @property
    def has_times(self) -> bool:
        """Whether the program may ask for times."""
        wanted = ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ze.ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP
        return self.pool is None or bool(self.pool.flags & wanted)

    def appended(self) -> Signal:
        """The state that a command which is appended now signals."""
        if self.counts:
            with CHANGED:
                seen, self.state.state = self.state.state, None
                self.state = Signal(cl.CL_QUEUED, seen, self.state.number + 1, self.state.counter)
        return self.state

    def check_settable(self) -> None:
        """Refuse to signal or reset an event that counts."""
        require(not self.counts, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the event counts")


class Fence(ApiObject):
    """A fence of a queue."""

    invalid = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    title = "fence"

    def __init__(self, context: Context, is_signalled: bool) -> None:
        super().__init__()
        self.context = context
        self.state = Signal(cl.CL_COMPLETE if is_signalled else cl.CL_QUEUED, ApiState(self.handle))

    def is_gone(self) -> None:
        self.state.hide()


def wait_for(signal: Signal, timeout: int, order: Order | None) -> None:
    """Wait until a state is signalled; the program's thread helps if it waits forever.

    Args:
        order: of the commands of its context, if races are checked.

    Raises:
        CallError: the time is over (``ZE_RESULT_NOT_READY``), or the command failed.
    """
    if timeout == FOREVER:
        for queue in live_queues():
            if not signal.is_over:
                queue.help_until(signal)
    wait_within(signal, timeout)
    signal.ask(order)


def finish(queue: Queue, timeout: int) -> None:
    """Wait for all commands of a queue.

    Raises:
        CallError: the time is over, or a command failed.
    """
    if timeout == FOREVER:
        queue.finish()
    else:
        require(queue.finish_within(timeout), ze.ZE_RESULT_NOT_READY, "the time is over")
