"""How a call is refused, and how a user learns of it."""

from __future__ import annotations

import _thread
import contextlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from visakit.diagnostics import VisaError


class CallError(Exception):
    """A call that fails with a status of OpenCL, without an effect.

    Attributes:
        status: the negative number that the program gets.
        reason: the reason in words, for the trace.
        handle: the object that the program gets nevertheless; 0 for none.
    """

    handle = 0

    def __init__(self, status: int, reason: str = "") -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class PartialSuccess(CallError):
    """A call that gives an object and a status other than success, too."""

    def __init__(self, handle: int, status: int) -> None:
        super().__init__(status)
        self.handle = handle


def require(condition: object, status: int, reason: str = "") -> None:
    """Refuse a call unless a condition holds."""
    if not condition:
        raise CallError(status, reason)


@contextmanager
def refused_as(status: int, instead_of: int | None = None) -> Iterator[None]:
    """Let refusals within have another status, for the same reason: all of them, or those of one status."""
    try:
        yield
    except CallError as problem:
        if instead_of not in (None, problem.status):
            raise
        raise CallError(status, problem.reason) from None


def interrupted(interrupt: BaseException) -> None:
    """Say to the program, if it is one in Python, that it was interrupted while it called the driver.

    Nothing may leave a call but its status, so the interrupt comes again when the call is over.
    """
    if isinstance(interrupt, KeyboardInterrupt):
        again = threading.Timer(0.02, _thread.interrupt_main)
        again.daemon = True
        again.start()


def first_message(error: VisaError) -> str:
    """The first line of an error, without its place."""
    return error.diagnostics[0].message


def say(message: str) -> None:
    """Write to standard error, which not every program has, or can be written to."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(message, file=sys.stderr, flush=True)
