"""Comments of a text."""

from __future__ import annotations

import re

from visa.diagnostics import AssemblyError, Diagnostic, Span

_BLOCK_COMMENT = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|//[^\n]*', re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|(//)')


def strip_block_comments(text: str, file: str) -> str:
    """Blank out ``/* */``, keeping line numbers and columns.

    Raises:
        AssemblyError: a comment does not end.
    """
    if "/*" not in text:
        return text

    def blank(m: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/*") else m[0]

    text = _BLOCK_COMMENT.sub(blank, text)
    rest = _BLOCK_COMMENT.sub(lambda m: " " * len(m[0]), text)
    if "/*" in rest:
        at = rest.index("/*")
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1)
        place = Span(file, line, column + 1, 2, text.splitlines()[line - 1])
        raise AssemblyError(Diagnostic("V002", "this comment does not end", place, "close it with */"))
    return text


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
