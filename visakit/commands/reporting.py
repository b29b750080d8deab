"""Output of a command on standard error: diagnostics of the library, wrong usage, interrupts.

In the styles for people and GNU it is written at once. In the styles for programs (JSON, SARIF) it is one document,
which is written when the command ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

import visakit.start
from visakit.diagnostics import Diagnostic, VisaWarning, render

DOCUMENTS = ("json", "sarif")
"""The styles that make one document of all diagnostics."""


class Reporter:
    """Where the diagnostics of one run of a command go.

    Args:
        tool: the name of the command.
        style: one of :data:`visakit.diagnostics.STYLES`.
        always: whether a document is written where there is nothing to say, too.
    """

    def __init__(self, tool: str = "visakit", style: str = "human", always: bool = True) -> None:
        self.tool, self.style, self.always = tool, style, always
        self.collected: list[Diagnostic] = []

    def report(self, items: Sequence[Diagnostic]) -> None:
        """Report diagnostics; in colour only on a terminal."""
        if self.style in DOCUMENTS:
            self.collected += items
        elif items:
            color = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
            say(render(items, self.style, color, self.tool))

    def fail(self, code: str, message: str) -> None:
        """Report an error of the command: a line that begins with its name, or one more diagnostic of the document."""
        if self.style in DOCUMENTS:
            self.collected.append(Diagnostic(code, message))
        else:
            say(f"{self.tool}: {message}")

    def interrupted(self) -> None:
        """Report an interrupt, and write the document."""
        self.fail("U004", "interrupted")
        self.close()

    def close(self) -> None:
        """Write the document, if it is one."""
        if self.style in DOCUMENTS and (self.collected or self.always):
            say(render(self.collected, self.style, False, self.tool))


_CURRENT = [Reporter()]


def begin_report(tool: str, style: str, always: bool = True) -> Reporter:
    """Begin the report of a run of a command."""
    _CURRENT[0] = Reporter(tool, style, always)
    is_document = style in DOCUMENTS
    if is_document:
        import json  # noqa: F401  # A handler of signals cannot load it.
    visakit.start.interrupted_by(_CURRENT[0].interrupted if is_document else None)
    return _CURRENT[0]


def report(items: Sequence[Diagnostic]) -> None:
    """Report diagnostics in the style of the running command."""
    _CURRENT[0].report(items)


def is_for_people() -> bool:
    """Whether the command that runs speaks to people, and not to a program."""
    return _CURRENT[0].style == "human"


def say(text: str) -> None:
    """Write a line to standard error; a closed stream is not another error."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def show_warnings() -> None:
    """From now on warnings of the library are reported as diagnostics are."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if isinstance(message, VisaWarning):
            report(message.diagnostics)
        else:
            usual(message, category, filename, lineno, file, line)

    usual, warnings.showwarning = warnings.showwarning, show
