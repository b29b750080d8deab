"""The launches of a command line for the debugger, and the debugger itself, with or without a prompt."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from visakit.commands.reporting import say
from visakit.diagnostics import UsageError
from visakit.files import read_text
from visakit.long_work import is_terminal
from vsim.checks.selection import Wanted
from vsim.command import driver
from vsim.command.driver import CommandLine
from vsim.command.session import LaunchSession, ResultOptions
from vsim.debug.console import Console
from vsim.debug.session import Session
from vsim.launch.launch import Launch
from vsim.launch.options import LaunchOptions
from vsim.program import Program
from vsim.sources.programs import Loaded, linked

PROMPT = "(visakit) "


class Scripts(NamedTuple):
    """What runs before the prompt, or instead of it."""

    files: Sequence[str] = ()
    commands: Sequence[str] = ()
    is_batch: bool = False


class _Launches(LaunchSession):
    """Notes the launches of a command line, and runs none."""

    def __init__(self, program: Program, allow_paths: bool) -> None:
        super().__init__(program, ResultOptions(), output=sys.stdout, allow_paths=allow_paths)
        self.launches: list[Launch] = []

    def run_one(self, launch: Launch, where: str, index: int = 0) -> None:
        self.launches.append(launch)


def launches_of(program: Program, name: str, line: CommandLine, allow_paths: bool) -> list[Launch]:
    """The launches of a command line.

    Args:
        name: of the program.

    Raises:
        VisaError: as of :func:`vsim.command.driver.run_launches`.
    """
    session = _Launches(program, allow_paths)
    if line.captured is not None:
        from vsim.sources.replay import Tolerance, replayed

        return [replayed(line.captured, program, Tolerance(line.relative, line.absolute)).launch]
    driver.run_launches(session, name, line)
    return session.launches


def debugged(
    loaded: Loaded,
    line: CommandLine,
    allow_paths: bool,
    schedule: str | None = None,
    check: Wanted = "",
    engine: str = "auto",
) -> Session:
    """A debugging session for the launches of a command line.

    Raises:
        VisaError: the program or a launch is wrong.
    """
    program = Program(linked(loaded))
    program.memory.limit = driver.machine_memory()
    launches = launches_of(program, loaded.name, line, allow_paths)
    return Session(program, launches, schedule=schedule, check=check, engine=engine)


def debug_command_line(
    program: Program, name: str, line: CommandLine, allow_paths: bool, options: LaunchOptions
) -> int:
    """Debug the launches of the command ``vsim`` at a prompt.

    Raises:
        VisaError: a launch is wrong.
    """
    launches, schedule = launches_of(program, name, line, allow_paths), options.get("schedule")
    engine, check = options.get("engine", "auto"), options.get("check", "")
    return debug(Session(program, launches, schedule=schedule, check=check, engine=engine), Scripts())


def debug(session: Session, scripts: Scripts) -> int:
    """Debug: run scripts, then lines from standard input unless it is a batch; 1 if a script was wrong.

    Raises:
        FileError: a script cannot be read.
    """
    is_prompt = is_terminal(sys.stdin)
    console = Console(session, _say, is_terminal(sys.stdout) and "NO_COLOR" not in os.environ, say)
    with interrupts(lambda: session.execution.halt()):
        if not run_scripts(console, scripts):
            return 1
        if not scripts.is_batch and not console.has_ended:
            for text in _lines(console, is_prompt):
                session.execution.interrupt = False  # An interrupt at the prompt is for nothing that runs.
                console.run(text)
                sys.stdout.flush()
                if console.has_ended:
                    break
    return int(console.failed and not is_prompt)


def debug_in_window(session: Session, scripts: Scripts) -> int:
    """Debug in a window that fills the terminal: run scripts, then the user's commands.

    Raises:
        UsageError: there is no terminal, or Textual is not installed.
    """
    try:
        from vsim.command.screen import show
    except ImportError:
        raise UsageError("--tui needs Textual: pip install 'visakit[debug]'") from None
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise UsageError("--tui needs a terminal; --batch runs commands without one")
    return show(session, [*(f"source {path}" for path in scripts.files), *scripts.commands])


def run_scripts(console: Console, scripts: Scripts) -> bool:
    """Run scripts; whether all were right.

    Raises:
        FileError: one cannot be read.
    """
    parts = ((path, read_text(path).splitlines()) for path in scripts.files)
    return all(console.script(_echoed(console, lines), name) for name, lines in parts) and console.script(
        _echoed(console, scripts.commands), "--command"
    )


def _echoed(console: Console, lines: Iterable[str]) -> Iterator[str]:
    """Lines, each shown as if it were typed."""
    for line in lines:
        if line.strip():
            console.write(PROMPT + line.strip())
        yield line


def _say(text: str) -> None:
    print(text)


def _lines(console: Console, is_prompt: bool) -> Iterator[str]:
    """Lines that the user types, or of a pipe."""
    if is_prompt:
        from vsim.command.prompt import typed_lines

        yield from typed_lines(console, PROMPT)
        return
    yield from _echoed(console, (line for line in sys.stdin if line.strip()))


@contextmanager
def interrupts(halt: Callable[[], None]) -> Iterator[None]:
    """An interrupt stops the launch, and not the debugger.

    Args:
        halt: stops the launch that runs.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        halt()

    old = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, stop)
    except ValueError:  # No thread but the main one may.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
