"""The catalogue of messages, ``docs/errors.md``: titles, pages, and the names of warnings."""

from __future__ import annotations

import functools
import re

from visakit.resources import resource

_HEADING = re.compile(r"^## (\w\d{3}): (.+)$", re.MULTILINE)

_BLOCK = re.compile(r'^```text(?: title="(\S+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@functools.cache
def catalog() -> dict[str, tuple[str, str]]:
    """Title and text of every message by code."""
    text = resource("errors.md", "docs").read_text(encoding="utf-8")
    headings = list(_HEADING.finditer(text))
    ends = [m.start() for m in headings[1:]] + [len(text)]
    return {m[1]: (m[2], text[m.end() : end].strip()) for m, end in zip(headings, ends, strict=True)}


def warning_codes() -> dict[str, str]:
    """Codes of the warnings by name; a code is its own name."""
    names = {title.removesuffix(" (off)"): code for code, (title, _) in catalog().items() if code[0] == "W"}
    return names | {code: code for code in names.values()}


def explain(code: str) -> str:
    """The page of a message.

    Raises:
        KeyError: there is no such code.
    """
    title, text = catalog()[code.upper()]
    return f"{code.upper()}: {title}\n\n{_BLOCK.sub(_indented, text)}\n"


def _indented(block: re.Match[str]) -> str:
    """A block of code as a terminal shows it: under its file's name, indented."""
    return (f"{block[1]}:\n" if block[1] else "") + re.sub(r"^(?=.)", "    ", block[2], flags=re.MULTILINE).rstrip("\n")
