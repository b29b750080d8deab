"""Calls of the program: a refusal becomes a status, and no other exception leaves Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TextIO

from visakit.opencl.calls import load
from visakit.opencl.interface import served_points
from visakit.runtime import cl, host
from visakit.runtime.calls import Answer, guarded
from visakit.runtime.interface import EntryPoint
from visakit.runtime.objects import cells
from visakit.runtime.tracing import Export, exported, open_trace


def exports(trace: TextIO | None = None) -> dict[str, Export]:
    """All functions that Python serves, by name.

    Args:
        trace: gets a line for each call.
    """
    calls = load()
    made = [(point, guarded(point.name, calls[point.name], _answer(point))) for point in served_points()]
    return exported(made, cl.STATUS_NAMES, trace)


def _answer(point: EntryPoint) -> Answer:
    """What C gets: a status; or an object, with the status in its place, if there is one."""
    if point.result == "i32":
        return lambda given, status, made: status
    if not point.has_error_parameter:
        nothing = None if point.result == "none" else 0
        return lambda given, status, made: made or nothing

    def with_status(given: Sequence[int], status: int, made: int) -> int:
        host.write_u32(given[-1], status)
        return made

    return with_status


def connect(define: Callable[[str, Export], None], show_states: Callable[[int, int, int, int], None]) -> None:
    """Make the functions of a library ours.

    Args:
        define: registers a function for the library's callback of a name.
        show_states: lets C see whether events are complete; it gets begin, end and size of handles.
    """
    for name, function in exports(open_trace()).items():
        define(name, function)
    show_states(cells().start, cells().stop, cells().step, 0)
