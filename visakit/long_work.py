"""Messages at a terminal about work that takes long once. The library itself prints nothing."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from time import monotonic
from typing import TextIO

from visakit.diagnostics import printable

DELAY = 0.5
"""Seconds that work takes before it is spoken of."""
INTERVAL = 1.0
Show = Callable[[str], AbstractContextManager[None]]


def _quiet(what: str) -> AbstractContextManager[None]:
    return contextlib.nullcontext()


_SHOW: list[Show] = [_quiet]


def long_work(what: str) -> AbstractContextManager[None]:
    """A context for work that takes long; a command at a terminal shows its name, and for how long it has run."""
    return _SHOW[0](what)


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can clear a line."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def show_long_work(wanted: bool) -> None:
    """From now on tell of long work on standard error, or do not."""
    _SHOW[0] = _shown if wanted else _quiet


@contextlib.contextmanager
def _shown(what: str) -> Iterator[None]:
    """Show a line after a moment, keep its seconds current, and clear it at the end."""
    stream = os.dup(sys.stderr.fileno())  # A run of a C compiler redirects standard error.
    done = threading.Event()
    watch = threading.Thread(target=_keep_current, args=(what, stream, done), daemon=True)
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()
        os.close(stream)


def _keep_current(what: str, stream: int, done: threading.Event) -> None:
    started = monotonic()
    if done.wait(DELAY):
        return
    with contextlib.suppress(OSError):
        while True:
            os.write(stream, f"\r\x1b[2K{_line(what, monotonic() - started, stream)}".encode("utf-8", "replace"))
            if done.wait(INTERVAL):
                break
        os.write(stream, b"\r\x1b[2K")


def _line(what: str, seconds: float, stream: int) -> str:
    """A line that fits into the terminal: one that is broken could not be cleared."""
    try:
        width = os.get_terminal_size(stream).columns or 80  # Some terminals have no size.
    except OSError:
        width = 80
    end = f": {seconds:.0f} s"
    return f"{printable(what)[: max(0, width - len(end) - 1)]}{end}"
