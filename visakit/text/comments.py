"""Comments of a text."""

from __future__ import annotations

import re

from visakit.diagnostics import AssemblyError, Diagnostic, Span

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_VISIBLE = re.compile(r"[^\n]")


def without_comments(lines: list[str], file: str) -> list[str]:
    """The lines of a text without ``// ...``, and with blanks in place of ``/* */``, so that columns stay.

    The grammar has comments, too. They go before it reads lines, as a comment may reach over several of them, and as
    lines that differ in a comment alone are equal.

    Raises:
        AssemblyError: a comment does not end.
    """
    distinct = dict.fromkeys(lines)  # Unrolled loops repeat theirs.
    if any("/*" in line for line in distinct):
        return _without_blocks("\n".join(lines), file).split("\n")
    code = {line: _without_end(line) if '"' in line else line.partition("//")[0] for line in distinct}
    return [code[line] for line in lines]


def _without_end(line: str) -> str:
    """A line with a string, without its comment."""
    return _STRING_OR_COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else "", line)


def _without_blocks(text: str, file: str) -> str:
    """A text without comments of either kind."""

    def blank(m: re.Match[str]) -> str:
        found = m[0]
        if found[0] == '"':
            return found
        if found[1] == "/":
            return ""
        if len(found) < 4 or not found.endswith("*/"):
            line, column = text.count("\n", 0, m.start()) + 1, m.start() - (text.rfind("\n", 0, m.start()) + 1)
            place = Span(file, line, column + 1, 2, text.split("\n")[line - 1])
            raise AssemblyError(Diagnostic("V002", "this comment does not end", place, "close it with */"))
        return _VISIBLE.sub(" ", found)

    return _STRING_OR_COMMENT.sub(blank, text)
