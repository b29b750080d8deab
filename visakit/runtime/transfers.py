"""Memory that commands other than kernels access, for the check of races between commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.objects import current_call
from visakit.runtime.order import Turn
from visakit.runtime.queue import Queue
from visakit.runtime.rectangles import Rectangle
from visakit.runtime.svm import find
from vsim.checks.accesses import RECORD, LaunchAccesses
from vsim.checks.findings import MAPPED
from vsim.checks.queued import united
from vsim.launch.arrays import Bytes

FILL_BLOCK = 16 << 10


class HostMemory(Protocol):
    """Memory: a buffer, an image, an allocation."""

    @property
    def host(self) -> int:
        """Its address in this process."""


Part = tuple[HostMemory, Rectangle]
"""Bytes of some memory."""


@dataclass(frozen=True)
class CommandAccesses:
    """The parts of memory that a command reads and changes; None for none.

    Attributes:
        mapped: receives the turn of the program's accesses, if the command maps the part for the program. The command
            itself changes nothing.
    """

    read: Part | None = None
    changed: Part | None = None
    mapped: list[Turn] | None = None

    @classmethod
    def of_host(cls, part: Part, reads: bool) -> CommandAccesses:
        """A copy of memory to the program, or from it."""
        return cls(part) if reads else cls(None, part)

    @classmethod
    def of_map(cls, part: Part, flags: int, turns: list[Turn]) -> CommandAccesses:
        """Memory that a command maps, by its flags. Only the program may read memory that is mapped for writing."""
        return cls(None, part, turns) if flags & ~cl.CL_MAP_READ else cls(part, None, turns)

    def watched(self, queue: Queue, work: Callable[[], None]) -> Callable[[], None]:
        """The work of a command, followed by a report of its races. No kernel runs during the report: the check may run
        kernels again, on restored memory.
        """
        context, name = queue.context, current_call()

        def both() -> None:
            with context.space.launch_lock:
                work()
                command = queue.running
                if context.order is None or command is None or command.event.turn is None:
                    return
                turn, whose = command.event.turn, name
                if turn.mapped is not None:
                    turn, whose = turn.mapped, MAPPED + name
                elif not context.order.compares(turn):
                    return
                said = context.order.accessed(turn, whose, self._accesses(), self)
            if said:
                context.report_all(said)

        return both

    def _accesses(self) -> LaunchAccesses:
        read, changed = (
            united([np.zeros((0, 2), np.uint64) if part is None else part[1].rows(part[0].host)])
            for part in (self.read, self.changed)
        )
        return LaunchAccesses(read, changed, lambda ranges: np.zeros(0, RECORD))


def shared_part(context: Context, pointer: int, size: int) -> Part | None:
    """Bytes that kernels know by the program's address; None for other memory of the program."""
    allocation = find(context, pointer)
    return None if allocation is None else (allocation.buffer, Rectangle.of_part(pointer - allocation.address, size))


def nothing() -> None:
    """The work of a command that only takes its turn."""


def fill(data: Bytes, pattern: bytes) -> None:
    """Fill memory with a repeated pattern, in blocks of many patterns; the last one may be cut."""
    size = max(FILL_BLOCK // len(pattern), 1) * len(pattern)
    block = host.repeated(host.as_array(pattern), size)
    whole = data.size - data.size % size
    data[:whole].reshape(-1, size)[:] = block
    data[whole:] = block[: data.size - whole]
