"""The full-screen view of the debugger (``visakit debug --tui``), with Textual, of the extra ``debug``.

All panels are in one window. Commands and keys run in a separate thread, so that the window answers meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.suggester import Suggester
from textual.widgets import Footer, Input, RichLog, Static

from vsim.debug import panels
from vsim.debug.console import Console
from vsim.debug.panels import PanelLine
from vsim.debug.session import Session

STYLES = {
    "": "",
    panels.HERE: "reverse",
    panels.STOP: "red",
    panels.GREY: "bright_black",
    panels.CHANGED: "bold yellow",
}
KEYS = (
    ("f5", "continue", "Continue"), ("shift+f5", "reverse-continue", "Back"),
    ("f10", "next", "Next"), ("shift+f10", "reverse-next", "Next back"),
    ("f11", "step", "Step"), ("shift+f11", "reverse-step", "Step back"),
    ("f8", "stepi", "Instruction"), ("shift+f8", "reverse-stepi", "Instruction back"),
)  # fmt: skip
"""Keys, and the commands that they run."""


class Panel(Static):
    """Lines about a session.

    Args:
        shows: makes them, for a height.
    """

    def __init__(self, name: str, shows: Callable[[Session, int], Iterable[PanelLine]]) -> None:
        super().__init__(id=name, markup=False)
        self.shows, self.border_title = shows, name

    def show(self, session: Session) -> None:
        """Show where the session is now."""
        height = max(1, self.content_size.height or 1)
        text = Text()
        for number, line in enumerate(self.shows(session, height)):
            if number == height:
                break
            text.append(("\n" if number else "") + line.text, STYLES[line.mark])
        self.update(text)


class CommandInput(Input):
    """The line for commands, with its history: up and down."""

    def __init__(self, suggester: Suggester) -> None:
        super().__init__(placeholder="a command, as 'break 12'; 'help' lists them", suggester=suggester)
        self.history: list[str] = []
        self.at = 0

    def on_key(self, event: events.Key) -> None:
        if event.key in ("up", "down") and self.history:
            self.at = max(0, min(len(self.history), self.at + (1 if event.key == "down" else -1)))
            self.value = self.history[self.at] if self.at < len(self.history) else ""
            self.cursor_position = len(self.value)


class ConsoleWords(Suggester):
    """Completes the last word of a command."""

    def __init__(self, window: DebuggerWindow) -> None:
        super().__init__(use_cache=False)
        self.window = window

    async def get_suggestion(self, value: str) -> str | None:
        found = [] if self.window.is_busy else self.window.debugger.complete(value)
        beginning = value.split(" ")[-1]
        return value + found[0][len(beginning) :] if found and beginning else None


class DebuggerWindow(App[int]):
    """The window.

    Args:
        commands: run first.

    Attributes:
        debugger: runs commands, and writes into the panel for output.
        is_busy: whether a command runs.
    """

    CSS = """
    Panel, RichLog { border: round $primary; padding: 0 1; height: 1fr; }
    Panel { text-wrap: nowrap; text-overflow: ellipsis; }
    #source, #instructions { width: 1fr; }
    #code, #registers { height: 2fr; }
    #output, #left { width: 2fr; }
    #memory { width: 1fr; }
    #title { height: 1; text-style: bold; }
    Vertical { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"run('{command}')", text) for key, command, text in KEYS),
        Binding("ctrl+c", "interrupt", "Interrupt", priority=True),
        Binding("ctrl+q", "leave", "Quit", priority=True),
    ]

    def __init__(self, session: Session, commands: Sequence[str] = ()) -> None:
        super().__init__()
        self.session = session
        self.debugger = Console(session, self.say)
        self.waiting = [*commands] or ["start"]
        """Commands that are yet to run."""
        self.is_busy = False
        registers, memory = panels.Values(panels.register_names), panels.Values(panels.memory_names)
        self.panels = [
            Panel("source", panels.source), Panel("instructions", panels.instructions),
            Panel("registers", registers.lines), Panel("lanes", panels.lanes), Panel("threads", panels.threads),
            Panel("memory", memory.lines),
        ]  # fmt: skip

    def compose(self) -> ComposeResult:
        source, instructions, registers, lanes, threads, memory = self.panels
        output = RichLog(id="output", wrap=True, markup=False, min_width=1)
        output.border_title, output.can_focus = "output", False
        yield Static(id="title", markup=False)
        with Horizontal():
            with Vertical(id="left"):
                with Horizontal(id="code"):
                    yield source
                    yield instructions
                with Horizontal():
                    yield output
                    yield memory
            with Vertical():
                yield registers
                yield lanes
                yield threads
        yield CommandInput(ConsoleWords(self))
        yield Footer()

    def on_mount(self) -> None:
        self.title = "visakit debug"
        self.query_one(CommandInput).focus()
        self.call_after_refresh(self.run_commands, [])

    def on_resize(self) -> None:
        if not self.is_busy:
            self.call_after_refresh(self.show)

    # -- commands ------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Write into the panel for output, from the thread of commands."""
        self.call_from_thread(self.query_one("#output", RichLog).write, Text.from_ansi(text))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        line, own = event.value, self.query_one(CommandInput)
        if line.strip():
            own.history.append(line)
        own.at, own.value = len(own.history), ""
        self.run_commands([line])

    def action_run(self, command: str) -> None:
        """Run a command of a key."""
        self.run_commands([command])

    def run_commands(self, lines: Iterable[str]) -> None:
        """Queue commands after the running ones."""
        self.waiting += lines
        if not self.is_busy:
            self.is_busy = True
            self.debugger.width = max(1, self.query_one("#output").content_size.width - 2)
            self.run_worker(self._work, thread=True, exit_on_error=True)

    def _work(self) -> None:
        """Run what waits; in the thread of commands."""
        while self.waiting and not self.debugger.has_ended:
            line = self.waiting.pop(0)
            if line.strip():
                self.say(f"> {line.strip()}")
            self.debugger.run(line)
        self.call_from_thread(self._rest)

    def _rest(self) -> None:
        """No command runs any more."""
        self.is_busy = False
        if self.debugger.has_ended:
            self.exit(0)
        elif self.waiting:
            self.run_commands([])
        else:
            self.show()

    def show(self) -> None:
        """Show where the launch is now."""
        self.query_one("#title", Static).update(panels.title(self.session))
        for panel in self.panels:
            panel.show(self.session)

    def action_interrupt(self) -> None:
        """Stop the launch at its next instruction."""
        self.session.execution.interrupt = self.is_busy

    def action_leave(self) -> None:
        """Leave the debugger."""
        self.action_interrupt()
        self.waiting.clear()
        self.debugger.has_ended = True
        if not self.is_busy:
            self.exit(0)


def show(session: Session, commands: Sequence[str]) -> int:
    """Debug in a window: run commands first; without any, stop at the first instruction."""
    return DebuggerWindow(session, commands).run() or 0
