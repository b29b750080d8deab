"""Calls of the program: a refusal becomes a status, and no other exception leaves Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from visakit.opencl.calls import Call, load
from visakit.opencl.interface import served_points
from visakit.runtime import cl, host
from visakit.runtime.errors import CallError, PartialSuccess
from visakit.runtime.interface import EntryPoint
from visakit.runtime.objects import cells, note_call
from visakit.runtime.tracing import Export, exported, mistake, note_reason, open_trace


def exports(trace: TextIO | None = None) -> dict[str, Export]:
    """All functions that Python serves, by name.

    Args:
        trace: gets a line for each call.
    """
    calls = load()
    made = [(point, _guarded(point, calls[point.name])) for point in served_points()]
    return exported(made, cl.STATUS_NAMES, trace)


def _guarded(point: EntryPoint, function: Call) -> Export:
    name = point.name
    if point.result == "i32":

        def status(*given: int) -> int:
            note_call(name)
            try:
                function(*given)
            except CallError as problem:
                note_reason(problem.reason)
                return problem.status
            except BaseException as error:
                return mistake(name, error)
            return cl.CL_SUCCESS

        return status
    nothing = None if point.result == "none" else 0
    if not point.has_error_parameter:

        def plain(*given: int) -> int | None:
            note_call(name)
            try:
                return function(*given) or nothing
            except CallError as problem:
                note_reason(problem.reason)
            except BaseException as error:
                mistake(name, error)
            return nothing

        return plain

    def made(*given: int) -> int:
        note_call(name)
        try:
            result = function(*given)
            host.write_u32(given[-1], cl.CL_SUCCESS)
            return result or 0
        except CallError as problem:
            note_reason(problem.reason)
            host.write_u32(given[-1], problem.status)
            return problem.handle if isinstance(problem, PartialSuccess) else 0
        except BaseException as error:
            host.write_u32(given[-1], mistake(name, error))
        return 0

    return made


def connect(define: Callable[[str, Export], None], show_states: Callable[[int, int, int, int], None]) -> None:
    """Make the functions of a library ours.

    Args:
        define: registers a function for the library's callback of a name.
        show_states: lets C see whether events are complete; it gets begin, end and size of handles.
    """
    for name, function in exports(open_trace()).items():
        define(name, function)
    show_states(cells().start, cells().stop, cells().step, 0)
