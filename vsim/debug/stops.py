"""What stops a launch: breakpoints, watchpoints and catchpoints, and the stop that they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from vsim.debug.checkpoints import START, LanePosition
from vsim.debug.expressions import Expression
from vsim.debug.places import Spot
from vsim.debug.threads import Threads

if TYPE_CHECKING:
    from vsim.debug.locations import Location
    from vsim.launch.arrays import Array

BREAK, WATCH, READ_WATCH, ACCESS_WATCH, CATCH = "breakpoint", "watchpoint", "rwatch", "awatch", "catchpoint"
EVENTS = ("fault", "barrier", "call", "check", "launch")
"""What can be caught."""
TITLES = {
    BREAK: "breakpoint", WATCH: "hw watchpoint", READ_WATCH: "read watchpoint", ACCESS_WATCH: "acc watchpoint",
    CATCH: "catchpoint",
}  # fmt: skip


@dataclass
class Breakpoint:
    """A breakpoint, watchpoint or catchpoint.

    Attributes:
        what: its subject in the user's words: a place, an expression, an event.
        spots: the instructions of a breakpoint.
        condition: must hold in a lane.
        threads: the lanes that it is for; None for all.
        ignore: how many hits do not stop.
        hits: how often it was hit.
        commands: lines that run at a stop.
        log: text that is shown instead of stopping, with expressions in braces; empty for a stop.
        watched: of a watchpoint the expression.
        location: of a watchpoint on memory where it is.
        function: of one on a register the function that has it.
    """

    number: int
    kind: str
    what: str
    spots: tuple[Spot, ...] = ()
    condition: Expression | None = None
    threads: Threads | None = None
    temporary: bool = False
    enabled: bool = True
    ignore: int = 0
    hits: int = 0
    commands: list[str] = field(default_factory=list)
    log: str = ""
    watched: Expression | None = None
    location: Location | None = None
    function: str = ""

    @property
    def is_watch(self) -> bool:
        """Whether it watches a value."""
        return self.kind in (WATCH, READ_WATCH, ACCESS_WATCH)


class Hit(NamedTuple):
    """Something that stops the launch.

    Attributes:
        breakpoint: that was hit; None for a step.
        lanes: of which it was hit, threads of the batch x 32.
        text: the message about it.
        back: where a launch that runs backwards stops for it.
    """

    breakpoint: Breakpoint | None
    lanes: Array
    text: str
    back: LanePosition


@dataclass
class Stop:
    """Where and why a launch stopped.

    Attributes:
        reason: ``breakpoint``, ``watchpoint``, ``catchpoint``, ``step``, ``fault``, ``begin`` (nothing is before it),
            ``end`` (of the launch), ``launch``, ``interrupt``.
        lines: the messages about it.
        numbers: of the breakpoints.
        position: the time.
    """

    reason: str
    lines: list[str] = field(default_factory=list)
    numbers: tuple[int, ...] = ()
    position: LanePosition = START
