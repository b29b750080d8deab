"""The debugger in the process of a program whose launch it debugs: at the program's terminal, or with scripts alone.

The program's standard input and output stay the program's. The prompt is at the terminal that controls the process;
without one, what scripts show goes to standard error.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal, TextIO

from visakit.diagnostics import VisaError, render_human
from vsim.command.debugger import PROMPT, Scripts, run_scripts
from vsim.command.prompt import Terminal, typed_lines
from vsim.debug.console import Console
from vsim.debug.session import Session
from vsim.debug.stops import Stop
from vsim.debug.watching import Arrives

TERMINAL = "/dev/tty"
_INTERRUPT = b"\x03"
_LOOK = 0.05
"""Seconds between two looks for the end of a command."""


class Released(Exception):
    """``continue`` at the end of the launch, or at its fault: the program gets the result."""


class ProgramSession(Session):
    """A session for one launch of a program."""

    def begin(self) -> Stop:
        """Go to the first instruction of the kernel, or of its source where lines of it are known."""
        stop = self.go_to(0, 0)
        kernel = self.execution.dispatch.kernel.name
        return stop if self.places.find(kernel, self.here) == self.here else self.advance(kernel)

    def detach(self) -> Stop | None:
        stop = super().detach()
        if stop is not None and stop.reason in ("end", "fault"):
            stop.lines.pop()  # How to go on.
        return stop

    def leave(self) -> None:
        """Give the program the results of the launch.

        Raises:
            Released: always.
        """
        raise Released

    def resume(self, arrives: Arrives | None = None) -> Stop:
        """Run until something stops the launch.

        Raises:
            Released: the launch has ended, or its fault was shown.
            DebugError: D001, a step at the end of the launch.
        """
        execution = self.execution
        if arrives is None and (execution.has_ended or execution.fault is not None):
            raise Released
        stop = super().resume(arrives)
        if stop.reason == "end":
            stop.lines.append("'continue' gives the program its results")
        elif stop.reason == "fault":
            stop.lines.append("note: 'continue' reports the fault to the program")
        return stop


class _ProgramConsole(Console):
    def show_results(self) -> None:
        """The kernel's printf goes to the program's output when the program continues."""


def debug_launch(session: ProgramSession, scripts: Scripts, title: str) -> int | None:
    """Debug a launch from its beginning: with scripts, then at the prompt unless it is a batch.

    Args:
        title: of the launch, which is shown first.

    Returns:
        The exit status of the program; None if it continues.
    """
    with ExitStack() as held:
        terminal = None if scripts.is_batch else _terminal(held)
        shown = terminal.shown if terminal is not None else sys.stderr

        def say(text: str) -> None:
            print(text, file=shown, flush=True)

        console = _ProgramConsole(session, say, terminal is not None and "NO_COLOR" not in os.environ)
        say(title)
        try:
            console.show_stop(session.begin())
            if not run_scripts(console, scripts):
                return 1
            if scripts.is_batch or console.has_ended:
                return int(console.failed)
            if terminal is None:
                say(f"error: there is no terminal for the debugger's prompt: the program ends ('{TERMINAL}')")
                return 1
            _prompt(console, terminal)
        except Released:
            return None
        except VisaError as error:  # A script is gone.
            say("\n".join(map(render_human, error.diagnostics)))
            return 1
    return 0


def _terminal(held: ExitStack) -> Terminal | None:
    """The terminal of the process, whose keys send no signals to the program; None without a terminal."""
    try:
        typed, shown = (held.enter_context(_open(mode)) for mode in ("r", "w"))
        held.enter_context(_without(typed.fileno(), termios.ISIG))
    except (OSError, termios.error):
        return None
    return Terminal(typed, shown, [])


def _open(mode: Literal["r", "w"]) -> TextIO:
    return open(TERMINAL, mode, encoding="utf-8", errors="replace")


def _prompt(console: Console, terminal: Terminal) -> None:
    """Run the typed commands, up to ``quit`` or the end of the input."""
    for text in typed_lines(console, PROMPT, terminal):
        _run(console, text, terminal)
        while not console.has_ended and terminal.ahead and "\n" in terminal.ahead[0]:
            line, _, terminal.ahead[0] = terminal.ahead[0].partition("\n")
            console.write(PROMPT + line)
            _run(console, line, terminal)
        if console.has_ended:
            return


def _run(console: Console, text: str, terminal: Terminal) -> None:
    with _interrupts(console.session, terminal):
        console.run(text)


@contextmanager
def _without(terminal: int, bits: int) -> Iterator[None]:
    """A terminal without some of its local modes."""
    before = termios.tcgetattr(terminal)
    own = list(before)
    own[3] &= ~bits
    termios.tcsetattr(terminal, termios.TCSANOW, own)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


@contextmanager
def _interrupts(session: Session, terminal: Terminal) -> Iterator[None]:
    """The key of an interrupt stops the launch (the signal would end the program); other keys are for the prompt."""
    has_ended, number, keys = threading.Event(), terminal.typed.fileno(), bytearray()

    def look() -> None:
        while not has_ended.is_set():
            if select.select([number], [], [], _LOOK)[0]:
                found = os.read(number, 64)
                session.execution.interrupt |= _INTERRUPT in found
                keys.extend(found)

    with _without(number, termios.ICANON | termios.ECHO):
        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        try:
            yield
        finally:
            has_ended.set()
            looking.join()
    text = keys.decode("utf-8", "replace").replace("\r", "\n")
    before = terminal.ahead.pop() if terminal.ahead else ""
    terminal.ahead.append(before + "".join(c for c in text if c.isprintable() or c == "\n"))
