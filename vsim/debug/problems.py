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


def without_place(text: str, use: str) -> DebugError:
    """The error of a value that is nowhere, and so cannot be ``use``, such as ``watched``."""
    if text.isidentifier():
        hint = "'print' shows it; elsewhere it may be in a register"
        return problem(COMMAND, f"'{text}' is a constant of the compiler here, and cannot be {use}", hint)
    return problem(COMMAND, f"'{text}' is a result, and cannot be {use}", "name a variable or memory")


def part_of(text: str, start: int, end: int, file: str = "", line: int = 1) -> Span:
    """A part of a command as the place of an error."""
    return Span(file or "<command>", line, start + 1, max(1, end - start), text)
