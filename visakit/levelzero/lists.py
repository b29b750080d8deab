"""Command lists, which record commands or execute them at once, and command queues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from visakit.levelzero import ze
from visakit.levelzero.events import FOREVER, Signal, finish
from visakit.runtime import cl
from visakit.runtime.context import Context
from visakit.runtime.device import Device
from visakit.runtime.errors import require
from visakit.runtime.events import CHANGED
from visakit.runtime.objects import ASK, DONE, ApiObject, ApiState
from visakit.runtime.queue import Queue
from visakit.runtime.transfers import CommandAccesses

Work = Callable[[Queue], None]
"""Is done in a queue."""


def nothing(queue: Queue) -> None:
    """The work of a command that only takes its turn."""


class ListOperation(NamedTuple):
    """A command of a list.

    Attributes:
        type: one of ``CL_COMMAND_...``.
        accesses: the memory that a command other than a kernel reads and changes.
        waits: states that must be signalled before.
        signal: a state that it signals.
        restarts: whether the state is reset when the command is submitted.
    """

    type: int
    work: Work
    accesses: CommandAccesses | None = None
    waits: Sequence[Signal] = ()
    signal: Signal | None = None
    restarts: bool = False

    def submit(self, queue: Queue) -> None:
        """Add it to a queue."""
        work = partial(self.work, queue)
        if self.accesses is not None and queue.context.order is not None:
            work = partial(self.accesses.watched(queue, work))
        signal = self.signal
        if signal is not None and self.restarts:
            signal.change(cl.CL_QUEUED)
        made = queue.add(self.type, work, self.waits)
        if signal is not None:
            signal.turn = made.turn
            made.follow(lambda status: signal.change(status, (made.times[2], made.times[3])))
        made.release()  # The program gets no event of OpenCL.


class CommandList(ApiObject):
    """A list of commands.

    Attributes:
        queue: of an immediate list, which executes commands at once; None for a list that records them.
        ordinal: the number of its group of queues; lists of other groups than 0 only copy.
        is_closed: whether a list that records takes no more commands: it ignores them.
    """

    invalid = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    title = "command list"

    def __init__(
        self, context: Context, device: Device, flags: int = 0, queue: ListQueue | None = None, ordinal: int = 0
    ) -> None:
        super().__init__()
        self.context, self.device, self.flags, self.queue, self.ordinal = context, device, flags, queue, ordinal
        self.operations: list[ListOperation] = []
        self.is_closed = False
        if queue is not None:
            queue.tell(self)

    def is_gone(self) -> None:
        if self.queue is not None:
            self.queue.is_gone()

    def takes(self, operation: ListOperation) -> bool:
        """Whether it takes a command, or ignores it.

        Raises:
            CallError: it launches a kernel in a list for copies.
        """
        launches = operation.type == cl.CL_COMMAND_NDRANGE_KERNEL
        require(not (launches and self.ordinal), ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "the list only copies")
        return self.queue is not None or not self.is_closed

    def append(self, operation: ListOperation) -> None:
        """Take a command, which the list takes.

        Raises:
            CallError: a command of a synchronous list failed.
        """
        if self.queue is None:
            self.operations.append(operation)
        else:
            operation.submit(self.queue.core)
            self.queue.finish_synchronous()

    def submit(self, queue: Queue) -> None:
        """Execute all commands of a list that records."""
        for operation in self.operations:
            operation.submit(queue)


class ListQueue(ApiObject):
    """A queue, or that of an immediate list.

    Attributes:
        core: executes the commands, one after the other.
        ordinal: the number of its group; 0 for the group that does everything.
        index: its number in the group, which has one queue.
    """

    invalid = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    title = "command queue"
    index = 0

    def __init__(
        self, context: Context, device: Device, flags: int, mode: int, priority: int, ordinal: int
    ) -> None:  # fmt: skip
        super().__init__()
        self.flags, self.mode, self.priority, self.ordinal = flags, mode, priority, ordinal
        self.core = Queue(context, device, cl.CL_QUEUE_PROFILING_ENABLE)
        self.core.runs_at_once = True
        self.tell(self)

    def tell(self, other: ApiObject) -> None:
        """Let an object of the program show the state of the queue to C."""
        state = ApiState(other.handle)
        state.set(DONE)
        self.core.states.append(state)

    def is_gone(self) -> None:
        with CHANGED:
            states, self.core.states = self.core.states, []
            for state in states:
                state.set(ASK)
        self.core.release()

    @property
    def context(self) -> Context:
        """Its context."""
        return self.core.context

    def finish_synchronous(self) -> None:
        """Wait for all commands, if the program wants every command to be over."""
        if self.mode == ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS:
            finish(self.core, FOREVER)
