"""The prompt: history and completion where prompt_toolkit is installed (the extra ``debug``), else plain lines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple, TextIO

from vsim.debug.console import Console


class Terminal(NamedTuple):
    """A terminal beside standard input and output: its input, its output, and keys typed early."""

    typed: TextIO
    shown: TextIO
    ahead: list[str]


def typed_lines(console: Console, prompt: str, terminal: Terminal | None = None) -> Iterator[str]:
    """Lines that the user types, up to the end of the input.

    Args:
        terminal: where; None for standard input and output.
    """
    try:
        yield from _lines_of_toolkit(console, prompt, terminal)
    except ImportError:
        yield from _plain_lines(prompt) if terminal is None else _lines_of(terminal, prompt)


def _lines_of(terminal: Terminal, prompt: str) -> Iterator[str]:
    while True:
        ahead = _ahead(terminal)
        print(prompt + ahead, end="", file=terminal.shown, flush=True)
        line = terminal.typed.readline()
        if not line:
            return
        yield ahead + line


def _ahead(terminal: Terminal | None) -> str:
    return terminal.ahead.pop() if terminal is not None and terminal.ahead else ""


def _plain_lines(prompt: str) -> Iterator[str]:
    while True:
        try:
            yield input(prompt)
        except EOFError:
            print()
            return


def _lines_of_toolkit(console: Console, prompt: str, terminal: Terminal | None) -> Iterator[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory
    from prompt_toolkit.input import create_input
    from prompt_toolkit.output import create_output

    class PromptWords(Completer):
        """Commands, names and places."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            beginning = document.text_before_cursor.lstrip().split(" ")[-1]
            for word in console.complete(document.text_before_cursor):
                yield Completion(word, -len(beginning))

    history: History = InMemoryHistory()
    path = os.environ.get("VISAKIT_HISTORY", os.path.expanduser("~/.visakit_history"))
    if path != "off":
        history = FileHistory(path)
    session: PromptSession[str] = PromptSession(
        history=history,
        completer=PromptWords(),
        complete_while_typing=False,
        enable_history_search=True,
        input=create_input(terminal.typed) if terminal is not None else None,
        output=create_output(terminal.shown) if terminal is not None else None,
    )
    while True:
        try:
            # The thread of a program may have a loop already.
            yield session.prompt(prompt, default=_ahead(terminal), in_thread=terminal is not None)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
