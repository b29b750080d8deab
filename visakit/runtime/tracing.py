"""What surrounds every call of a driver: its trace, and exceptions that are no refusals."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from visakit.runtime import cl
from visakit.runtime.errors import interrupted, say
from visakit.runtime.interface import EntryPoint
from visakit.runtime.settings import TRACE_SETTING

Export = Callable[..., int | None]
"""A function of a driver, as C calls it."""


_LAST = threading.local()
"""Why the last call of a thread was refused: for the trace."""


def note_reason(reason: str) -> None:
    """Remember why a call is refused."""
    _LAST.reason = reason


def mistake(name: str, error: BaseException) -> int:
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


class CallTrace:
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


def exported(
    made: Sequence[tuple[EntryPoint, Export]], names: Mapping[int, str], trace: TextIO | None
) -> dict[str, Export]:
    """Functions of a driver by name.

    Args:
        names: of statuses.
        trace: gets a line for each call.
    """
    if trace is None:
        return {point.name: function for point, function in made}
    lines = CallTrace(trace)
    return {point.name: _traced(point, function, lines, names) for point, function in made}


def _traced(point: EntryPoint, function: Export, trace: CallTrace, names: Mapping[int, str]) -> Export:
    """A call that is traced: parameters, result, reason of a refusal, duration.

    Args:
        names: of statuses.
    """

    def call(*given: int) -> int | None:
        _LAST.reason = ""
        started = time.perf_counter()
        result = function(*given)
        microseconds = (time.perf_counter() - started) * 1e6
        shown = (f"{name}={_shown(kind, value)}" for (kind, name), value in zip(point.parameters, given, strict=True))
        line = f"{point.name}({', '.join(shown)})"
        if point.result == "i32":
            line += f" = {names.get(result or 0, str(result))}"
        elif point.result != "none":
            line += f" = {_shown(point.result, result or 0)}"
        reason = f": {_LAST.reason}" if _LAST.reason else ""
        trace.write(f"{line}{reason} [{microseconds:.0f} us]")
        return result

    return call


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
