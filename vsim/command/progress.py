"""A progress bar for long launches, on a terminal: groups begun, all groups, and the remaining time.

A separate thread reads counters that the engines have anyway, so that the bar costs a launch nothing.
"""

from __future__ import annotations

import sys
import threading
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from visakit.long_work import is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from vsim.launch.dispatch import GroupProgress

DELAY = 1.0
"""Seconds that a launch takes before the bar appears."""
INTERVAL = 0.2


class HasProgress(Protocol):
    """A program with launches."""

    def progress(self) -> GroupProgress | None:
        """Progress of the running launch; None if no launch runs, or its progress is unknown."""


class Shown(NamedTuple):
    """A bar on the terminal."""

    bar: Progress
    task: TaskID


class ProgressWatch:
    """Watches the launches of a program.

    Args:
        stream: the terminal.
    """

    def __init__(self, program: HasProgress, stream: TextIO) -> None:
        self.program, self.stream = program, stream
        self.lock = threading.Lock()
        self.current: tuple[str, float] | None = None
        """The kernel that runs, and since when."""
        self.shown: Shown | None = None
        self.thread: threading.Thread | None = None

    def begin(self, kernel: str) -> None:
        """A launch begins."""
        self.current = kernel, monotonic()
        if self.thread is None:
            self.thread = threading.Thread(target=self._watch, daemon=True)
            self.thread.start()

    def end(self) -> None:
        """It has ended: from now on others may write to the terminal."""
        self.current = None
        with self.lock:
            if self.shown is not None:
                self.shown.bar.stop()
                self.shown = None

    def _watch(self) -> None:
        pause = threading.Event()
        while not pause.wait(INTERVAL):
            self.look(monotonic())

    def look(self, now: float) -> None:
        """Show how far the launch is, if it has taken long enough."""
        with self.lock:
            if self.current is None or now - self.current[1] < DELAY:
                return
            if self.shown is None:
                self.shown = _bar(self.current[0], self.stream)
            kernel, groups = self.current[0], self.program.progress()
            bar, task = self.shown
            if groups is None:
                bar.update(task, total=None, description=f"{kernel}: making native code, once")
            else:
                bar.update(task, completed=groups.begun, total=groups.total, description=kernel)


def _bar(kernel: str, stream: TextIO) -> Shown:
    """A bar that is taken away when it stops. Before something is known it only says how long it has taken."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TextColumn("groups,"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    bar = Progress(
        *columns,
        console=Console(file=stream),
        transient=True,
        refresh_per_second=4,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.start()
    return Shown(bar, bar.add_task(kernel, total=None))


def watch_on_terminal(program: HasProgress) -> ProgressWatch | None:
    """The watch that shows a bar on a terminal that can move its cursor; else None."""
    return ProgressWatch(program, sys.stderr) if is_terminal(sys.stderr) else None
