"""Where steps end, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable

from vsim.debug.checkpoints import LanePosition
from vsim.debug.watching import Arrives, CaughtCall, Mark

Choose = Callable[[list[Mark]], LanePosition | None]
"""Finds in the instructions before the position where a step backwards ends; None for farther back."""


def step_ends(line: tuple[str, int], call: CaughtCall, over: bool, instruction: bool) -> Arrives:
    """Where a step forward ends."""

    def ends(mark: Mark) -> bool:
        if over and mark.call.depth > call.depth:
            return False
        return instruction or mark.line != line or mark.call != call

    return ends


def last_where(arrives: Arrives) -> Choose:
    """The last instruction for which something holds."""
    return lambda marks: next((mark.position for mark in reversed(marks) if arrives(mark)), None)


class StepBack:
    """Where a step backwards ends: at the first instruction of a line, which the lane came to before."""

    def __init__(self, depth: int, over: bool, instruction: bool) -> None:
        self.depth, self.over, self.instruction = depth, over, instruction

    def __call__(self, marks: list[Mark]) -> LanePosition | None:
        own = [m for m in marks if not self.over or m.call.depth <= self.depth]
        if not own:
            return None
        if self.instruction:
            return own[-1].position
        n = len(own) - 1
        while n > 0 and own[n - 1].line == own[n].line and own[n - 1].call == own[n].call:
            n -= 1
        return own[n].position if n > 0 or marks[0].position.time == 0 else None
