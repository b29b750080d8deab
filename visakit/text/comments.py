"""Comments of a text."""

from __future__ import annotations

import re

from visakit.diagnostics import AssemblyError, Diagnostic, Span

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_VISIBLE = re.compile(r"[^\n]")


def blank_comments(text: str, file: str) -> str:
    """The text without ``// ...`` and with blanks in place of ``/* */``, so that line numbers and columns stay.

    The grammar has comments, too. They go before it reads lines, as a comment may reach over several of them, and as
    lines that differ in a comment alone are equal.

    Raises:
        AssemblyError: a comment does not end.
    """
    if "/*" not in text and "//" not in text:
        return text

    def blank(m: re.Match[str]) -> str:
        found = m[0]
        if found[0] == '"':
            return found
        if found[1] == "/":
            return ""
        if len(found) < 4 or not found.endswith("*/"):
            at = m.start()
            line = text.count("\n", 0, at) + 1
            column = at - (text.rfind("\n", 0, at) + 1)
            place = Span(file, line, column + 1, 2, text.split("\n")[line - 1])
            raise AssemblyError(Diagnostic("V002", "this comment does not end", place, "close it with */"))
        return _VISIBLE.sub(" ", found)

    return _STRING_OR_COMMENT.sub(blank, text)
