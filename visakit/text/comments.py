"""Comments of a text."""

from __future__ import annotations

import re

from visakit.diagnostics import AssemblyError, Diagnostic, Span

_BLOCK_COMMENT = re.compile(r'/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*"|//[^\n]*', re.DOTALL)
_VISIBLE = re.compile(r"[^\n]")
_MOST_BRACES = 16
"""Scopes that open, or close, in one line."""
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|(//)')


def strip_block_comments(text: str, file: str) -> str:
    """Blank out ``/* */``, keeping line numbers and columns.

    Raises:
        AssemblyError: a comment does not end.
    """
    if "/*" not in text:
        return text

    def blank(m: re.Match[str]) -> str:
        if not m[0].startswith("/*"):
            return m[0]
        if len(m[0]) < 4 or not m[0].endswith("*/"):
            at = m.start()
            line = text.count("\n", 0, at) + 1
            column = at - (text.rfind("\n", 0, at) + 1)
            place = Span(file, line, column + 1, 2, text.split("\n")[line - 1])
            raise AssemblyError(Diagnostic("V002", "this comment does not end", place, "close it with */"))
        return _VISIBLE.sub(" ", m[0])

    return _BLOCK_COMMENT.sub(blank, text)


def scope_parts(line: str) -> list[str]:
    """The statements of a line: braces before and behind a statement are scopes of their own; columns stay.

    Braces of attributes, ``{NoMask}`` or ``attrs={Input}``, have their other half in the statement.
    """
    before: list[str] = []
    while len(before) < _MOST_BRACES and (rest := line.lstrip())[:1] in ("{", "}") and rest[1:].strip():
        behind = len(line) - len(rest) + 1
        before.append(line[:behind])
        line = " " * behind + line[behind:]
    after: list[str] = []
    while (
        len(after) < _MOST_BRACES and (rest := line.rstrip()).endswith("}") and len(rest.strip()) > 1 and _closes(rest)
    ):
        after.append(" " * (len(rest) - 1) + "}")
        line = rest[:-1]
    return [*before, line, *reversed(after)]


def _closes(line: str) -> bool:
    """Whether a line closes more braces than it opens."""
    words = _QUOTED.sub(lambda m: m[1] or "", line)
    return words.count("}") > words.count("{")


def strip_line_comment(line: str) -> str:
    """The line without ``// ...``."""
    at = line.find("//")
    if at < 0:
        return line
    if '"' not in line[:at]:
        return line[:at]
    for m in _QUOTED.finditer(line):
        if m[1]:
            return line[: m.start()]
    return line
