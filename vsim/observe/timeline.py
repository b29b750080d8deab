"""Threads of a launch on a timeline of instructions: calls, barriers, and the time that threads wait at them.

The clock of a thread counts the instructions that it executes. All groups begin at 0, as on a machine with room for all
of them; a thread that waits at the barrier of its group continues when the last one has arrived. No machine has these
times: they show which threads wait for which, and for how much work.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

MAXIMUM_THREADS = 1024
"""Threads of a launch whose slices are kept."""
Path = tuple[str, ...]
"""The names of active functions and subroutines, from the kernel on."""


class Slice(NamedTuple):
    """A part of a thread's time: a call, or waiting at a barrier; by linear numbers of group and thread."""

    group: int
    thread: int
    name: str
    begin: int
    end: int


@dataclass
class Waits:
    """How often threads came to a barrier, and the instructions that they waited there, together and at most."""

    threads: int = 0
    waited: int = 0
    longest: int = 0

    def add(self, other: Waits) -> None:
        """Add the waits of other launches."""
        self.threads, self.waited = self.threads + other.threads, self.waited + other.waited
        self.longest = max(self.longest, other.longest)


@dataclass
class Timeline:
    """The timelines of a launch.

    Attributes:
        lengths: the end of each of the first threads by group and thread: instructions executed and waited.
        end: that of the last thread.
        slices: of the first threads, outer ones after those inside of them.
        waits: by function and number of a barrier.
        stacks: executed instructions by active functions and line of code: function and number; empty where no
            function is called.
    """

    lengths: dict[tuple[int, int], int] = field(default_factory=dict)
    end: int = 0
    slices: list[Slice] = field(default_factory=list)
    waits: dict[tuple[str, int], Waits] = field(default_factory=dict)
    stacks: dict[Path, Counter[tuple[str, int]]] = field(default_factory=dict)
