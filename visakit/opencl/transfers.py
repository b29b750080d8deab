"""What commands that are no kernels do to memory, for the check of races between commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from visakit.opencl import cl
from visakit.opencl.context import Context
from visakit.opencl.objects import current_call
from visakit.opencl.order import Turn
from visakit.opencl.queue import Queue
from visakit.opencl.rectangles import Rectangle
from visakit.opencl.svm import find
from vsim.checks.accesses import RECORD
from vsim.checks.findings import MAPPED
from vsim.checks.queued import LaunchAccesses, united


class Place(Protocol):
    """Memory: a buffer, an image, an allocation."""

    @property
    def host(self) -> int:
        """Where it lies in this process."""


Part = tuple[Place, Rectangle]
"""Bytes of some memory."""


@dataclass(frozen=True)
class Transfer:
    """The parts of memory that a command reads and changes; None for none.

    Attributes:
        mapped: of a command that maps the part for the program: where the turn of what it does there goes. The command
            itself changes nothing.
    """

    read: Part | None = None
    changed: Part | None = None
    mapped: list[Turn] | None = None

    @classmethod
    def of_map(cls, part: Part, flags: int, turns: list[Turn]) -> Transfer:
        """Of memory that is mapped, by the flags of that. What is mapped for writing nobody else may read."""
        return cls(None, part, turns) if flags & ~cl.CL_MAP_READ else cls(part, None, turns)

    def watched(self, queue: Queue, work: Callable[[], None]) -> Callable[[], None]:
        """What the command does, behind which its races are reported. No kernel runs meanwhile: one that is looked at
        runs again, in memory as it was.
        """
        context, name = queue.context, current_call()

        def both() -> None:
            with context.space.running:
                work()
                command = queue.running
                if context.order is None or command is None or command.event.turn is None:
                    return
                turn, whose = command.event.turn, name
                if turn.mapped is not None:
                    turn, whose = turn.mapped, MAPPED + name
                elif not context.order.compares(turn):
                    return
                said = context.order.transferred(turn, whose, self._accesses(), self)
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
    found = find(context, pointer)
    return None if found is None else (found.buffer, Rectangle.of_part(pointer - found.address, size))
