"""The order of a context's commands, independent of the times of their execution, for the check of races.

A command follows the commands whose events it waits for, earlier commands of an in-order queue or before a barrier,
their predecessors, and every command whose end the program has seen when it queues the command: by waiting for it, or
by asking for its status. Threads of the program count as one.

Accesses of the program to memory that a command has mapped also count as a command: it follows the mapping, and
precedes the successors of the command that unmaps the memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from visakit.diagnostics import Diagnostic
    from vsim.checks.accesses import LaunchAccesses
    from vsim.checks.queued import QueuedLaunches
    from vsim.launch.dispatch import Dispatch

Numbers = frozenset[int]


@dataclass(eq=False)
class Turn:
    """The place of a command in the order.

    Attributes:
        number: of the command, counted in the order of submission.
        before: its predecessors, without those whose end the program has seen.
        apart: earlier commands without an order between them and this one.
        is_open: whether it waits for an event that the program itself completes, whose predecessors are unknown.
        mapped: accesses of the program to the memory that the command maps; None if it maps none.
    """

    number: int
    before: Numbers
    apart: Numbers
    is_open: bool = False
    mapped: Turn | None = None


@dataclass
class QueueOrder:
    """Predecessors of the next command of a queue: all its commands, or the predecessors of its last barrier."""

    in_order: bool
    commands: Numbers = frozenset()
    behind: Numbers = frozenset()
    is_open: bool = False


@dataclass
class Order:
    """The commands of a context that have not run, or whose end the program has not seen."""

    live: set[int] = field(default_factory=set)
    waiting: dict[int, Turn] = field(default_factory=dict)
    queues: list[bool] = field(default_factory=list)
    """Of each queue that there was, whether it is in order."""
    count: int = 0
    mapped: set[int] = field(default_factory=set)
    """The turns of the program's accesses to mapped memory."""
    launches: QueuedLaunches | None = None

    def queue(self, in_order: bool) -> QueueOrder:
        """A new queue."""
        self.queues.append(in_order)
        return QueueOrder(in_order)

    def take(self, queue: QueueOrder, waits: Iterable[Turn | None], is_barrier: bool, is_last: bool) -> Turn:
        """A command is queued.

        Args:
            waits: of the events that it waits for; None for one that the program completes.
            is_barrier: whether all that follows in the queue comes after it.
            is_last: whether it comes after all that is in the queue.
        """
        known = list(waits)
        before = queue.commands if queue.in_order or is_last else queue.behind
        before = before.union(*(t.before | {t.number} for t in known if t is not None)) & self.live
        is_open = queue.is_open or any(t is None or t.is_open for t in known)
        self.count += 1
        turn = Turn(self.count, before, frozenset(self.live) - before, is_open)
        self.live.add(turn.number)
        self.waiting[turn.number] = turn
        queue.commands = (queue.commands & self.live) | before | {turn.number}
        if queue.in_order or is_barrier:
            queue.behind, queue.is_open = (queue.behind & self.live) | before | {turn.number}, is_open
        return turn

    def map(self, turn: Turn) -> None:
        """A command maps memory: the program's accesses to it follow the command, and precede commands that wait for
        it."""
        self.count += 1
        turn.mapped = Turn(self.count, turn.before | {turn.number}, turn.apart, turn.is_open)
        self.live.add(self.count)
        self.mapped.add(self.count)

    def seen(self, turns: Iterable[Turn | None]) -> None:
        """The program has seen the end of commands; commands that it queues from now on follow them."""
        for turn in turns:
            if turn is not None:
                self.live -= turn.before | {turn.number}

    def seen_all_of(self, queue: QueueOrder) -> None:
        """The program has seen that all commands of a queue are over."""
        self.live -= queue.commands

    def run(self, turn: Turn) -> None:
        """A command has run, or never will."""
        self.waiting.pop(turn.number, None)

    # -- launches ------------------------------------------------------------------------------------------

    def compares(self, turn: Turn) -> bool:
        """Whether there may be commands without an order: in several queues, in one that is out of order, or as memory
        was mapped when the command was queued.
        """
        self.mapped &= self.live
        return len(self.queues) > 1 or not all(self.queues) or not self.mapped.isdisjoint(turn.apart)

    def begins(self, turn: Turn, dispatch: Dispatch) -> None:
        """A launch begins: it records its accesses if other commands may run at the same time."""
        if dispatch.findings is not None:
            dispatch.findings.keeps_accesses = self.compares(turn)

    def ended(self, turn: Turn, dispatch: Dispatch, held: object) -> None:
        """A launch has ended: its accesses are compared with those of unordered commands."""
        if dispatch.findings is not None and dispatch.findings.accesses is not None:
            self.accessed(turn, dispatch, dispatch.findings.accesses, held)

    def accessed(self, turn: Turn, of: Dispatch | str, accesses: LaunchAccesses, held: object) -> list[Diagnostic]:
        """A command has read and changed memory; the races of it.

        Args:
            of: the launch, or the name of the function that the program has called.
        """
        from vsim.checks.queued import QueuedLaunch, QueuedLaunches

        if self.launches is None:
            self.launches = QueuedLaunches()
        live, waiting = frozenset(self.live), list(self.waiting.values())
        wanted, coming = live.union(*(t.apart for t in waiting)), {t.number for t in waiting}
        self.launches.keep(lambda one: one.number in wanted or not coming.isdisjoint(one.apart))
        apart = turn.apart & live if turn.is_open else turn.apart
        return self.launches.ended(QueuedLaunch(turn.number, apart, of, accesses, held))
