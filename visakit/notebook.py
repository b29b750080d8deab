"""HTML for notebooks: tables, diagnostics and vISA text. Every text in it is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from visakit.diagnostics import Diagnostic, printable, render_human

_TOKEN = re.compile(
    r"(?P<comment>//.*)|(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<directive>^\s*\.\w+)"
    r"|(?P<mnemonic>^\s*(?:\([^)]*\)\s*)?[A-Za-z_][\w.]*(?!\w*:))"
    r"|(?P<number>(?<![\w%.])-?(?:0[xX][0-9a-fA-F]+|\d[\d.]*)(?::\w+)?)"
)
_STYLES = {
    "comment": "color:#6a737d", "string": "color:#22863a", "directive": "color:#6f42c1",
    "mnemonic": "color:#005cc5;font-weight:bold", "number": "color:#b31d28",
}  # fmt: skip
MAXIMUM_LINES = 400
"""Lines of a text that a notebook shows."""


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a title and a row of heads."""
    cells = "".join(f"<th>{_text(word)}</th>" for word in head)
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><caption>{_text(title)}</caption><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def diagnostics(items: Iterable[Diagnostic]) -> str:
    """Diagnostics with their source lines, as commands show them."""
    shown = "\n".join(render_human(d) for d in items)
    return f"<pre>{escape(shown)}</pre>" if shown else ""


def highlighted(text: str) -> str:
    """vISA text in colours; of long ones the first lines."""
    lines = text.splitlines()
    more = f"\n... {len(lines) - MAXIMUM_LINES} more lines" if len(lines) > MAXIMUM_LINES else ""
    return f"<pre>{chr(10).join(map(_line, lines[:MAXIMUM_LINES]))}{more}</pre>"


def _line(line: str) -> str:
    parts, end = list[str](), 0
    for match in _TOKEN.finditer(line):
        style = _STYLES[str(match.lastgroup)]
        parts += [escape(line[end : match.start()]), f'<span style="{style}">{escape(match[0])}</span>']
        end = match.end()
    return "".join([*parts, escape(line[end:])])


def _text(value: object) -> str:
    return escape(printable(value))


def escape(text: str) -> str:
    """A text whose signs mean themselves in HTML, as in :func:`html.escape`, which takes a millisecond to load."""
    for sign, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot"), ("'", "#x27")):
        text = text.replace(sign, f"&{name};")
    return text
