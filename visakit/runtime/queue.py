"""Command queues: commands, their order, and the thread that runs them."""

from __future__ import annotations

import os
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from visakit.forks import awaited_thread
from visakit.runtime import cl, svm
from visakit.runtime.context import Context
from visakit.runtime.device import Device, host_nanoseconds
from visakit.runtime.errors import CallError, interrupted
from visakit.runtime.events import CHANGED, RUNNING, Awaited, CommandQueue, Event, failed, has_ended, wait_within
from visakit.runtime.objects import ASK, DONE, PENDING, ApiState, tell_busy
from visakit.runtime.order import Turn
from vsim.engines.llvm.host import shutdown

FAULT_SETTING = "VISAKIT_OPENCL_ON_FAULT"
"""Environment variable: ``stop`` ends the program at the first command that fails, else it continues."""


@dataclass(slots=True, eq=False)
class Command:
    """Something that a queue is to do.

    Attributes:
        work: does it; raises :class:`CallError` with the status that the event is to have where it cannot be done.
        waits: events that must be over before.
        is_barrier: whether later commands of the queue wait for it, and it waits for earlier ones.
    """

    event: Event
    work: Callable[[], None]
    waits: Sequence[Awaited]
    is_barrier: bool = False


class Queue(CommandQueue):
    """A queue of commands of one device.

    Commands are run one at a time, by a thread of the queue, or by a thread of the program that waits for one of them.

    Attributes:
        properties: bits of profiling and order; ``given`` are the properties as the program gave them.
        failure: the status of the last failed command, until :meth:`finish` returns it; 0 for none.
        runs_at_once: whether commands that wait for nothing run in the thread that queues them. Programs in Python may
            hold Python's lock while they wait for a thread that waits for a command, which then is over.
        states: of objects of the program that are done when the queue is.
    """

    invalid = cl.CL_INVALID_COMMAND_QUEUE
    title = "command queue"

    def __init__(self, context: Context, device: Device, properties: int, given: bytes = b"") -> None:
        super().__init__()
        self.context, self.device, self.properties, self.given = context, device, properties, given
        self.commands: deque[Command] = deque()
        self.running: Command | None = None
        self.failure = 0
        self.has_thread = self.runs_at_once = False
        self.states: list[ApiState] = []
        self.order = context.order.queue(self.is_in_order) if context.order is not None else None
        context.queues.add(self)
        _QUEUES.add(self)

    @property
    def is_profiling(self) -> bool:
        """Whether the program may ask for times."""
        return bool(self.properties & cl.CL_QUEUE_PROFILING_ENABLE)

    @property
    def is_in_order(self) -> bool:
        """Whether each command waits for the one before."""
        return not self.properties & cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE

    def add(
        self,
        command_type: int,
        work: Callable[[], None],
        waits: Sequence[Awaited],
        is_barrier: bool = False,
        is_last: bool = False,
        maps: bool = False,
        unmapped: Sequence[Turn] = (),
    ) -> Event:
        """Take a command; gives its event.

        Args:
            is_last: it is over only when all that was queued before it is.
            maps: it maps memory for the program.
            unmapped: accesses of the program to the memory that it unmaps.
        """
        event = Event(self.context, command_type, self)
        with CHANGED:
            if self.order is not None and self.context.order is not None:
                before = [*(e.turn for e in waits), *unmapped]
                event.turn = self.context.order.take(self.order, before, is_barrier, is_last)
                if maps:
                    self.context.order.map(event.turn)
            self.commands.append(Command(event, work, waits, is_barrier))
            _BUSY.add(self)
            self._tell()
            if not self.runs_at_once:
                self._call_thread()
        if not self.has_thread or self.runs_at_once or shutdown.is_ending():
            self._run_here()
        return event

    def _call_thread(self) -> None:
        """Let the queue's thread run commands. The caller holds the lock."""
        if self.has_thread:
            CHANGED.notify_all()
        else:
            self.has_thread = self._begin()
        tell_busy(len(_BUSY))

    def _run_here(self) -> None:
        """Run commands in the thread of the caller; the queue's thread runs commands that wait for something."""
        if not (self.runs_at_once and getattr(RUNNING, "command", False)):
            self._run_what_can_run()
        with CHANGED:
            if self.runs_at_once and self.commands:
                self._call_thread()

    def _tell(self) -> None:
        """Tell C the state of the queue. The caller holds the lock."""
        if self.states:
            busy = self.commands or self.running is not None
            state = ASK if self.failure else PENDING if busy else DONE
            for one in self.states:
                one.set(state)

    def _rest(self) -> None:
        """A command is over, and its callbacks, too. The caller holds the lock."""
        if not self.commands and self.running is None:
            _BUSY.discard(self)
            if self.has_thread:
                tell_busy(len(_BUSY))

    def _begin(self) -> bool:
        """Begin a thread that runs commands; false if the system has none left."""
        try:
            threading.Thread(target=_serve, args=(weakref.ref(self),), daemon=True).start()
        except RuntimeError:
            return False
        self.at_end(_wake)
        return True

    def _runs_one(self) -> bool:
        """Run the next ready command in the thread of the caller; whether a command was ready."""
        with CHANGED:
            command = self.take()
        if command is not None:
            self.run(command)
        return command is not None

    def _run_what_can_run(self) -> None:
        """Run commands in the thread of the caller, as far as they wait for nothing else."""
        while self._runs_one():
            pass

    def flush(self) -> None:
        """Commands of the queue count as submitted."""
        with CHANGED:
            waiting = [command.event for command in self.commands]
        for event in waiting:
            event.advance(cl.CL_SUBMITTED)

    def finish(self) -> None:
        """Wait for all commands.

        Raises:
            CallError: one of them failed, and the program was not told by this way so far.
        """
        self.drain()
        self._seen()

    def finish_within(self, nanoseconds: int) -> bool:
        """Wait for all commands for a time; whether they are over.

        Raises:
            CallError: one of them failed, and the program was not told by this way so far.
        """
        end = host_nanoseconds() + nanoseconds
        if not all(wait_within(event, end - host_nanoseconds()) for event in self.pending()):
            return False
        self._seen()
        return True

    def _seen(self) -> None:
        """The program sees the end of all commands."""
        if self.order is not None and self.context.order is not None:
            with CHANGED:
                self.context.order.seen_all_of(self.order)
        if self.failure:
            with CHANGED:
                status, self.failure = self.failure, 0
                self._tell()
            raise CallError(status, "a command of the queue failed")

    def drain(self) -> None:
        """Wait for all commands, however they end."""
        for event in self.pending():
            event.wait()

    def pending(self) -> list[Event]:
        """The events of unfinished commands."""
        with CHANGED:
            return [c.event for c in [*([self.running] if self.running else []), *self.commands]]

    def unfinished(self) -> list[Event]:
        """The events of unfinished commands; empty for a queue in order, whose order implies them."""
        return [] if self.is_in_order else self.pending()

    def forget_parent(self) -> None:
        """In the child of a fork: the commands are its parent's, and so is the thread; here they end with a status."""
        lost = self.pending()
        for event in lost:
            event.callbacks.clear()
            event.follower = None
            event.advance(cl.CL_OUT_OF_RESOURCES)
        self.commands.clear()
        self.running, self.has_thread = None, False
        self.failure = cl.CL_OUT_OF_RESOURCES if lost else self.failure
        self._tell()

    def help_until(self, event: Awaited) -> None:
        """Run ready commands in the caller's thread, until a command is over or another thread runs it."""
        while not event.is_over and self._runs_one():
            pass

    def take(self) -> Command | None:
        """The next command that can run here; None if no command can, or one is running. The caller holds the lock.

        While a thread ends the process, it alone runs commands: the others may not begin work in LLVM.
        """
        if self.running is not None or has_ended() or not shutdown.may_begin():
            return None
        for command in self.commands:
            is_first = command is self.commands[0]
            if (is_first or not command.is_barrier) and all(event.is_over for event in command.waits):
                self.commands.remove(command)
                self.running = command
                return command
            if self.is_in_order or command.is_barrier:
                return None
        return None

    def run(self, command: Command) -> None:
        """Run a command that was taken."""
        event, status = command.event, cl.CL_OUT_OF_RESOURCES
        innocent = (cl.CL_COMPLETE, cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        try:
            event.advance(cl.CL_RUNNING)
            status = self._execute(command)
        finally:  # The queue continues after any exception in the thread.
            with CHANGED:
                if event.turn is not None and self.context.order is not None:
                    self.context.order.run(event.turn)
                self.running = None
                self.failure = self.failure if status in innocent else status
                due = event.reach(status)  # With ``running``, as who waits for the queue looks for both.
            for callback in due:
                callback(status)
            with CHANGED:
                self._rest()
                self._tell()
        if status not in innocent and os.environ.get(FAULT_SETTING) == "stop":
            os._exit(1)

    def _execute(self, command: Command) -> int:
        """Do it; 0, or the status that its event gets."""
        if failed(command.waits):
            return cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
        outer, RUNNING.command = getattr(RUNNING, "command", False), True
        try:
            command.work()
        except CallError as problem:
            return problem.status
        except shutdown.ProcessEndsError:
            return cl.CL_OUT_OF_RESOURCES
        except MemoryError:
            return cl.CL_OUT_OF_HOST_MEMORY
        except Exception:  # An exception that leaves the thread would end the program.
            self.context.report("visakit: a mistake of the driver; please report it:\n" + traceback.format_exc())
            return cl.CL_OUT_OF_RESOURCES
        except BaseException as interrupt:
            interrupted(interrupt)
            return cl.CL_OUT_OF_RESOURCES
        finally:
            RUNNING.command = outer
        return cl.CL_COMPLETE


_BUSY: set[Queue] = set()
"""Queues with commands, kept alive until their commands are over."""

_QUEUES: weakref.WeakSet[Queue] = weakref.WeakSet()


def live_queues() -> list[Queue]:
    """All queues of the process."""
    return list(_QUEUES)


def free_when_done(context: Context, pointer: int) -> bool:
    """Give an allocation back when all that is queued now is over, which may use it; whether there is one at the
    address. The program knows it no more at once.
    """
    allocation = context.shared.pop(pointer, None)
    if allocation is None:
        return False
    waits = [event for queue in list(context.queues) if isinstance(queue, Queue) for event in queue.pending()]
    left = len(waits)

    def one_is_over(_: int) -> None:
        nonlocal left
        with CHANGED:
            left -= 1
            is_last = not left
        if is_last:
            svm.give_back(context, allocation)

    for event in waits:
        event.when(cl.CL_COMPLETE, one_is_over)
    if not waits:
        svm.give_back(context, allocation)
    return True


def _forget_parent() -> None:
    for queue in list(_QUEUES):
        queue.forget_parent()
    _BUSY.clear()
    tell_busy(0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


def _wake() -> None:
    """Wake the threads of queues, which end if their queue was freed."""
    with CHANGED:
        CHANGED.notify_all()


def _serve(reference: weakref.ref[Queue]) -> None:
    """The thread of a queue: runs ready commands, until the queue is freed."""
    with awaited_thread():
        while _serve_one(reference):
            pass


def _serve_one(reference: weakref.ref[Queue]) -> bool:
    """Wait for a command and run it; false when the queue was freed. A waiting thread keeps no queue alive."""
    with CHANGED:
        while True:
            queue = reference()
            if queue is None:
                return False
            command = queue.take()
            if command is not None:
                break
            del queue
            if reference() is not None:
                CHANGED.wait()
    queue.run(command)
    return True
