"""What commands that are no kernels do to buffers, for the check of races between commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from opencl.memory import Buffer
from opencl.objects import current_call
from opencl.queue import Queue
from opencl.rectangles import Rectangle
from visa.diagnostics import render
from vsim.checks.accesses import RECORD
from vsim.checks.queued import LaunchAccesses, united

Part = tuple[Buffer, Rectangle]
"""Bytes of a buffer."""


@dataclass(frozen=True)
class Transfer:
    """The parts of buffers that a command reads and changes; None for none."""

    read: Part | None = None
    changed: Part | None = None

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
                if not context.order.leaves_some_apart:
                    return
                said = context.order.transferred(command.event.turn, name, self._accesses(), self)
            if said:
                context.report(render(said))

        return both

    def _accesses(self) -> LaunchAccesses:
        read, changed = (
            united([np.zeros((0, 2), np.uint64) if part is None else part[1].rows(part[0].host)])
            for part in (self.read, self.changed)
        )
        return LaunchAccesses(read, changed, lambda ranges: np.zeros(0, RECORD))
