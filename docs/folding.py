"""Lines of generated documents end at 120 columns; rows of tables and code stay whole."""

from __future__ import annotations

import re
import textwrap

WIDTH = 120


def folded(page: str) -> str:
    """The page with long lines of its paragraphs and lists in several lines."""
    out, code = [], False
    for line in page.split("\n"):
        code ^= line.startswith("```")
        if code or len(line) <= WIDTH or line.startswith("|"):
            out.append(line)
            continue
        indent = " " * len(re.match(r"\s*(?:[*-] )?", line)[0])  # type: ignore[index]
        out += textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(out)
