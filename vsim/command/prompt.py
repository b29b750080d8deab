"""The prompt: history and completion where prompt_toolkit is installed (the extra ``debug``), else plain lines."""

from __future__ import annotations

import os
from collections.abc import Iterator

from vsim.debug.console import Console


def typed_lines(console: Console, prompt: str) -> Iterator[str]:
    """Lines that the user types, up to the end of the input."""
    try:
        yield from _lines_of_toolkit(console, prompt)
    except ImportError:
        yield from _plain_lines(prompt)


def _plain_lines(prompt: str) -> Iterator[str]:
    while True:
        try:
            yield input(prompt)
        except EOFError:
            print()
            return


def _lines_of_toolkit(console: Console, prompt: str) -> Iterator[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory

    class Words(Completer):
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
        history=history, completer=Words(), complete_while_typing=False, enable_history_search=True
    )
    while True:
        try:
            yield session.prompt(prompt)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
