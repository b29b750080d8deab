"""Calls of the program: a refusal becomes a result, and no other exception leaves Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TextIO

from visakit.levelzero import ze
from visakit.levelzero.calls import load
from visakit.levelzero.errors import result_of
from visakit.levelzero.interface import served_points
from visakit.runtime.calls import Answer, guarded
from visakit.runtime.interface import EntryPoint
from visakit.runtime.objects import cells
from visakit.runtime.settings import watches_races
from visakit.runtime.tracing import Export, exported, open_trace


def exports(trace: TextIO | None = None) -> dict[str, Export]:
    """All functions that Python serves, by name.

    Args:
        trace: gets a line for each call.
    """
    calls = load()
    made = [(point, guarded(point.name, calls[point.name], _answer(point))) for point in served_points()]
    return exported(made, ze.STATUS_NAMES, trace)


def _answer(point: EntryPoint) -> Answer:
    """What C gets: a result; or an object or number, and a certain number where the call is refused."""
    refusal = point.refusal

    def answer(given: Sequence[int], status: int, made: int) -> int:
        if not status:
            return made
        return result_of(status) if refusal is None else refusal

    return answer


def connect(define: Callable[[str, Export], None], show_states: Callable[[int, int, int, int], None]) -> None:
    """Make the functions of a library ours.

    Args:
        define: registers a function for the library's callback of a name.
        show_states: lets C see whether objects are done; it gets begin, end and size of handles, and whether C answers
            calls by that.
    """
    trace = open_trace()
    for name, function in exports(trace).items():
        define(name, function)
    in_c = trace is None and not watches_races()  # Traces have all calls, and races depend on the program's waits.
    show_states(cells().start, cells().stop, cells().step, in_c)
