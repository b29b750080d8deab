"""Positions to which a launch under the debugger can go back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from vsim.debug.memory_log import OldPages
from vsim.engines.numpy.engine import GroupBatch, SavedBatch
from vsim.engines.numpy.observers.saving import SavedObserver

MOST_BYTES, MOST_CHECKPOINTS, FEWEST_CHECKPOINTS = 256 << 20, 2048, 64
"""Of checkpoints: memory that they may take, if it is enough for some."""


class LanePosition(NamedTuple):
    """A time of a launch: its part (groups that run together, mostly one), and executed instructions there."""

    part: int
    time: int


START = LanePosition(0, 0)


@dataclass
class Checkpoint:
    """A position to which the launch can go back: the batch there (None before its groups begin), and the pages that
    were written from there to the next checkpoint.

    Attributes:
        watching: the state of checks there.
        executed: instructions from there to the next checkpoint, by the identity of their function and their number;
            None if they were not counted.
    """

    position: LanePosition
    batch: GroupBatch | None = None
    saved: SavedBatch | None = None
    watching: SavedObserver | None = None
    pages: OldPages = field(default_factory=OldPages)
    executed: set[tuple[int, int]] | None = field(default_factory=set)

    @property
    def size(self) -> int:
        """Bytes of memory that it takes, its pages apart."""
        return sum(own.size for own in (self.saved, self.watching) if own is not None)


class Checkpoints(list[Checkpoint]):
    """The checkpoints of a launch, in their order."""

    def add(self, checkpoint: Checkpoint) -> None:
        """Add the last one, and forget others if these are too many."""
        room = MOST_BYTES // max(1, checkpoint.size)
        if len(self) >= max(FEWEST_CHECKPOINTS, min(room, MOST_CHECKPOINTS)):
            self.thin()
        self.append(checkpoint)

    def thin(self) -> None:
        """Forget every other of the older half of them, but for the first."""
        kept: list[Checkpoint] = []
        for n, checkpoint in enumerate(self):
            if n % 2 and n < len(self) // 2:
                kept[-1].pages.absorb(checkpoint.pages)
                kept[-1].executed = _both(kept[-1].executed, checkpoint.executed)
            else:
                kept.append(checkpoint)
        self[:] = kept

    def before(self, position: LanePosition) -> Checkpoint:
        """The last checkpoint at a position or before it."""
        return next(c for c in reversed(self) if c.position <= position)

    def end_of_last(self, end: LanePosition, wanted: Callable[[Checkpoint], bool]) -> LanePosition:
        """Where the last stretch between checkpoints ends, before a position or with it, that is wanted; the beginning
        of the launch if none is.
        """
        for n in range(len(self) - 1, -1, -1):
            if self[n].position < end and wanted(self[n]):
                return min([end, *(c.position for c in self[n + 1 : n + 2])])
        return START


def _both(a: set[tuple[int, int]] | None, b: set[tuple[int, int]] | None) -> set[tuple[int, int]] | None:
    return None if a is None or b is None else a | b
