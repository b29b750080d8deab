"""Lines of generated documents end at 120 columns; rows of tables and code stay whole."""

from __future__ import annotations

import re
import textwrap

WIDTH = 120


def folded(page: str) -> str:
    """The page with paragraphs and list items that have long lines folded anew."""
    out: list[str] = []
    code, paragraph = False, list[str]()

    def end() -> None:
        if any(len(line) > WIDTH for line in paragraph):
            indent = " " * len(re.match(r"\s*(?:[*-] )?", paragraph[0])[0])  # type: ignore[index]
            text = " ".join([paragraph[0], *(line.strip() for line in paragraph[1:])])
            out.extend(
                textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
            )
        else:
            out.extend(paragraph)
        paragraph.clear()

    for line in page.split("\n"):
        code ^= line.startswith("```")
        if code or not line.strip() or line.startswith(("|", "```", "#", "<")):
            end()
            out.append(line)
            continue
        if re.match(r"\s*[*-] ", line):
            end()
        paragraph.append(line)
    end()
    return "\n".join(out)
