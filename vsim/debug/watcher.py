"""What an execution asks where to halt."""

from __future__ import annotations

from collections.abc import Sequence

from vsim.engines.numpy.memory import MessageAccess
from vsim.launch.ndrange import Group
from vsim.observe.observer import Event, Frame


class Halt(Exception):
    """Raised by a watcher in :meth:`Watcher.before`: the batch stops there, and continues later."""


class Watcher:
    """Decides where a launch halts; this one halts nowhere. Each method may be called again for the same position."""

    def wants(self, groups: Sequence[Group]) -> bool:
        """Whether anything in these groups is watched."""
        return False

    def before(self, event: Event) -> None:
        """Threads execute an instruction next."""

    def goes_on(self, event: Event) -> None:
        """The launch continues with an instruction in front of which it has halted."""

    def after(self, event: Event) -> None:
        """They have executed it."""

    def access(self, event: Event, access: MessageAccess) -> None:
        """Lanes access memory next."""

    def called(self, event: Event, frame: Frame) -> None:
        """Lanes call a function."""
