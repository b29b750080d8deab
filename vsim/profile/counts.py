"""Exact counts of a kernel's launches: executions, lanes and the ways of branches, by instruction.

Both engines count alike: compiled code has counters, the reference engine counts as it executes.
"""

from __future__ import annotations

import numpy as np

from visakit.forks import cached_property
from visakit.language.program import Function
from vsim.analysis.active_lanes import LaneRule, LanesFrom, counted_at, lane_rules, may_divide
from vsim.launch.arrays import Offsets
from vsim.launch.bound_launch import BoundLaunch
from vsim.observe.observer import Observer


class FunctionCounts:
    """The counts of one function, an element for each instruction.

    Attributes:
        executions: how often hardware threads executed it.
        running: lanes that ran then, summed up.
    """

    def __init__(self, function: Function, lanes: int) -> None:
        self.function, self.lanes = function, lanes
        counts: tuple[Offsets, ...] = tuple(np.zeros((5, len(function.instructions)), np.int64))
        self.executions, self.running, self.counted, self.all_took, self.some_took = counts

    @cached_property
    def rules(self) -> list[LaneRule]:
        """The rule for the active lanes of each instruction."""
        return lane_rules(self.function, self.lanes)

    @cached_property
    def counted_at(self) -> list[int | None]:
        """The instruction that has the count of the active lanes of each."""
        return counted_at(self.function, self.rules)

    def add(self, other: FunctionCounts) -> None:
        """Add the counts of other launches."""
        for name in ("executions", "running", "counted", "all_took", "some_took"):
            own: Offsets = getattr(self, name)
            own += getattr(other, name)

    def active(self, number: int) -> int:
        """The lanes in which an instruction took effect, summed up."""
        at = self.counted_at[number]
        if at is not None:
            return int(self.counted[at])
        if self.rules[number].source is LanesFrom.RUNNING:
            return int(self.running[number])
        return int(self.executions[number]) * self.rules[number].width

    def ways(self, number: int) -> tuple[int, int, int] | None:
        """Of a branch the threads that took it with all their lanes, with none, and with some; None of others."""
        if not may_divide(self.function, self.function.instructions[number], self.lanes):
            return None
        taken, both = int(self.all_took[number]), int(self.some_took[number])
        return taken, int(self.executions[number]) - taken - both, both


class Counts(Observer):
    """Counts the effects of instructions of a kernel, and of all functions that it calls, in its launches.

    Attributes:
        functions: the counts of functions that executed, in the order in which they were first seen.
    """

    def __init__(self) -> None:
        self.lanes = 0
        self._counts: dict[int, FunctionCounts] = {}

    @property
    def functions(self) -> list[FunctionCounts]:
        return list(self._counts.values())

    def launch_begin(self, launch: BoundLaunch) -> None:
        self.lanes = launch.lanes

    def ran(self, function: Function, start: int, end: int, threads: int, lanes: int) -> None:
        own = self._of(function)
        own.executions[start:end] += threads
        own.running[start:end] += lanes

    def took_effect(self, function: Function, number: int, lanes: int) -> None:
        self._of(function).counted[number] += lanes

    def branched(self, function: Function, number: int, taken: int, both: int) -> None:
        own = self._of(function)
        own.all_took[number] += taken
        own.some_took[number] += both

    def add(self, other: Counts) -> None:
        """Add the counts of other launches of the kernel."""
        self.lanes = other.lanes
        for counts in other.functions:
            self._of(counts.function).add(counts)

    def _of(self, function: Function) -> FunctionCounts:
        found = self._counts.get(id(function))
        if found is None:
            found = self._counts[id(function)] = FunctionCounts(function, self.lanes)
        return found
