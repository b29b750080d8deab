"""Calls of the program: a refusal becomes a status, and no other exception leaves Python."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import TextIO

from visakit.opencl.calls import Call, load
from visakit.opencl.interface import served_points
from visakit.runtime import cl, host
from visakit.runtime.context import say
from visakit.runtime.errors import CallError, PartialSuccess, interrupted
from visakit.runtime.interface import EntryPoint
from visakit.runtime.objects import note_call, set_dispatch_table
from visakit.runtime.settings import TRACE_SETTING

Export = Callable[..., int | None]
"""A function of the driver, as C calls it."""


def exports(trace: TextIO | None = None) -> dict[str, Export]:
    """All functions that Python serves, by name.

    Args:
        trace: gets a line for each call.
    """
    calls = load()
    served = served_points()
    made = {point.name: _guarded(point, calls[point.name]) for point in served}
    if trace is not None:
        lines = _Trace(trace)
        made = {point.name: _traced(point, made[point.name], lines) for point in served}
    return made


def _guarded(point: EntryPoint, function: Call) -> Export:
    name = point.name
    if point.result == "i32":

        def status(*given: int) -> int:
            note_call(name)
            try:
                function(*given)
            except CallError as problem:
                _LAST.reason = problem.reason
                return problem.status
            except BaseException as error:
                return _mistake(name, error)
            return cl.CL_SUCCESS

        return status
    nothing = None if point.result == "none" else 0
    if not point.has_error_parameter:

        def plain(*given: int) -> int | None:
            note_call(name)
            try:
                return function(*given) or nothing
            except CallError as problem:
                _LAST.reason = problem.reason
            except BaseException as error:
                _mistake(name, error)
            return nothing

        return plain

    def made(*given: int) -> int:
        note_call(name)
        try:
            result = function(*given)
            host.write_u32(given[-1], cl.CL_SUCCESS)
            return result or 0
        except CallError as problem:
            _LAST.reason = problem.reason
            host.write_u32(given[-1], problem.status)
            return problem.handle if isinstance(problem, PartialSuccess) else 0
        except BaseException as error:
            host.write_u32(given[-1], _mistake(name, error))
        return 0

    return made


_LAST = threading.local()
"""Why the last call of a thread was refused: for the trace."""


def _mistake(name: str, error: BaseException) -> int:
    """The status for an exception that is no refusal: memory is exhausted, the user interrupts, or the driver has a
    bug, which is reported. An exception that reached C would look like success.
    """
    if not isinstance(error, Exception):
        interrupted(error)
        return cl.CL_OUT_OF_HOST_MEMORY
    if isinstance(error, MemoryError):
        return cl.CL_OUT_OF_HOST_MEMORY
    say(f"visakit: a mistake of the driver in {name}; please report it:\n{traceback.format_exc()}")
    return cl.CL_OUT_OF_HOST_MEMORY


class _Trace:
    """Where lines go, until that fails; the program's calls do not."""

    def __init__(self, stream: TextIO) -> None:
        self.stream: TextIO | None = stream

    def write(self, line: str) -> None:
        """One more line, if lines still go anywhere."""
        stream = self.stream
        if stream is None:
            return
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError) as error:  # ValueError: the program has closed its standard error.
            self.stream = None
            if stream is not sys.stderr:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()  # Its buffer would be written at the end of the interpreter.
            name = getattr(stream, "name", "the trace")
            say(f"visakit: {name}: {getattr(error, 'strerror', None) or error}; calls are not traced any more")


def _traced(point: EntryPoint, function: Export, trace: _Trace) -> Export:
    """A call that is traced: parameters, result, reason of a refusal, duration."""

    def traced(*given: int) -> int | None:
        _LAST.reason = ""
        started = time.perf_counter()
        result = function(*given)
        microseconds = (time.perf_counter() - started) * 1e6
        shown = (f"{name}={_shown(kind, value)}" for (kind, name), value in zip(point.parameters, given, strict=True))
        line = f"{point.name}({', '.join(shown)})"
        if point.result == "i32":
            line += f" = {cl.STATUS_NAMES.get(result or 0, str(result))}"
        elif point.result == "ptr":
            line += f" = {result or 0:#x}"
        reason = f": {_LAST.reason}" if _LAST.reason else ""
        trace.write(f"{line}{reason} [{microseconds:.0f} us]")
        return result

    return traced


def _shown(kind: str, value: int) -> str:
    return f"{value:#x}" if kind in ("ptr", "u64") else str(value)


def open_trace() -> TextIO | None:
    """The stream of the trace of calls; None without a trace."""
    path = os.environ.get(TRACE_SETTING)
    if not path:
        return None
    if path == "-":
        return sys.stderr
    try:
        return open(path, "a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        say(f"visakit: {path}: {error.strerror}; calls are not traced")
        return None


def connect(table: int, define: Callable[[str, Export], None]) -> None:
    """Make the functions of a library ours.

    Args:
        table: the address of the library's dispatch table.
        define: registers a function for the library's callback of a name.
    """
    set_dispatch_table(table)
    for name, function in exports(open_trace()).items():
        define(name, function)
