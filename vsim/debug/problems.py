"""Errors of the debugger's commands and expressions: with their place in the command, and a hint."""

from __future__ import annotations

from visakit.diagnostics import DebugError, Diagnostic, Span

COMMAND, EXPRESSION, PLACE = "D001", "D002", "D003"
"""Codes: a command that cannot be done; an expression without a value; no place in the program."""


def problem(code: str, message: str, hint: str = "", at: Span | None = None) -> DebugError:
    """The error of a command.

    Args:
        at: the wrong part of its text.
    """
    return DebugError(Diagnostic(code, message, at, hint))


def part_of(text: str, start: int, end: int, file: str = "", line: int = 1) -> Span:
    """A part of a command as the place of an error."""
    return Span(file or "<command>", line, start + 1, max(1, end - start), text)
