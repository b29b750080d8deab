"""The property ``divergence``: all work-items of a group come to a barrier equally often."""

from __future__ import annotations

from collections.abc import Iterator

from vsim.prove.bounds import PropertyViolation
from vsim.prove.races import diverging
from vsim.symbolic.queries import Solver
from vsim.symbolic.thread import SymbolicThread


def violations(thread: SymbolicThread, solver: Solver) -> Iterator[PropertyViolation]:
    """The barriers that some work-items of a group may not reach."""
    for place, condition, others in diverging(thread, solver):
        yield PropertyViolation(place, condition, condition is not True, visible=others)
