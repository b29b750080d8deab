"""Options and arguments of a launch from Python: their types and ranges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, Span, UsageError
from vsim.observe.observer import Observer


def listed(args: object) -> tuple[object, ...]:
    """The arguments of a launch, given in something that is neither a list nor a tuple."""
    if isinstance(args, Sequence) and not isinstance(args, (str, bytes)):
        return tuple(args)
    hint = "put it into a list" if isinstance(args, np.ndarray) else ""
    message = f"'args' is a list of the kernel's arguments, found {type(args).__name__}"
    raise LaunchError(Diagnostic("S003", message, Span("<launch>", 0), hint))


def check_limits(threads: object, max_seconds: object) -> None:
    """Raise LaunchError where the options of a launch make no sense."""
    if threads is not None and (not isinstance(threads, (int, np.integer)) or threads < 1):
        raise _bad_option("threads", "a whole number from 1 on", threads)
    if max_seconds is not None and (not isinstance(max_seconds, (int, float, np.number)) or not max_seconds >= 0):
        raise _bad_option("max_seconds", "a number of seconds", max_seconds)


def _bad_option(name: str, wanted: str, value: object) -> LaunchError:
    return LaunchError(Diagnostic("S002", f"'{name}' is {wanted}, found {value!r}", Span("<launch>", 0)))


def checked_observers(observers: Sequence[Observer]) -> tuple[Observer, ...]:
    """The observers of a launch.

    Raises:
        UsageError: an element of the list is no observer.
    """
    for observer in observers:
        if not isinstance(observer, Observer):
            raise UsageError(f"an observer is a vsim.Observer, found {type(observer).__name__}")
    return tuple(observers)
