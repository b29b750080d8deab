"""Writes the examples of ``docs/errors.md`` out of the golden files (``make docs``): input, message, mended input.

The page of a code keeps its words; its example, from the line ``Example:`` on, is written anew.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.golden_files import Golden, read  # noqa: E402

PAGE = ROOT / "docs" / "errors.md"
GOLDENS = ROOT / "tests" / "golden"
WIDTH = 116
LONGEST_INPUT = 24
"""Lines of an input that an example shows in full."""
ENTRY = re.compile(r"^## (\w\d{3}): .*\n(?:(?!^## ).*\n?)*", re.MULTILINE)
NEXT = re.compile(r"(?:\S.*: )?(?:error|warning): |v\w+: |\[$")
"""The line that begins another message, or the report as JSON."""


def chosen() -> dict[str, tuple[str, Golden]]:
    """The golden file that shows each code: one with mended input first, then the shortest."""
    found: dict[str, tuple[tuple[bool, bool, int, str], str, Golden]] = {}
    for path in sorted(GOLDENS.rglob("*.test")):
        golden, name = read(path.read_text()), path.relative_to(GOLDENS).as_posix()
        for code in set(re.findall(r"\[(\w\d{3})\]$", golden.stderr, re.MULTILINE)):
            order = (not golden.mends, not path.stem.startswith(code), len(golden.head), name)
            if code not in found or order < found[code][0]:
                found[code] = (order, name, golden)
    return {code: (name, golden) for code, (_, name, golden) in found.items()}


def message(golden: Golden, code: str) -> list[str]:
    """The lines of the first message with the code, its notes and hint included, wrapped."""
    lines = golden.stderr.rstrip("\n").split("\n")
    start = next(n for n, line in enumerate(lines) if line.endswith(f"[{code}]"))
    end = next((n for n in range(start + 1, len(lines)) if NEXT.match(lines[n])), len(lines))
    return [part for line in lines[start:end] for part in _wrapped(line)]


def _wrapped(line: str) -> list[str]:
    if len(line) <= WIDTH or re.match(r" *\d* \| ", line):
        return [line[:WIDTH]]
    return textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _block(lines: list[str], title: str = "") -> list[str]:
    return [f'```text title="{title}"' if title else "```text", *lines, "```", ""]


def _inputs(golden: Golden) -> list[str]:
    """The inputs that are short texts."""
    out = []
    for name, contents in golden.files.items():
        lines = contents.decode("utf-8", "replace").rstrip("\n").split("\n")
        shown = "".join(lines).isprintable() and len(lines) <= LONGEST_INPUT and max(map(len, lines)) <= WIDTH
        out += _block(lines, name) if shown and lines != [""] else []
    return out


def _mends(golden: Golden) -> list[str]:
    """What belongs in place of a line or of the command."""
    out = []
    for place, text in golden.mends:
        if not text:
            out += [f"Mended: without {place}.", ""]
        elif place == "command":
            out += ["Mended:", "", *_block(_wrapped(f"$ {text}"))]
        else:
            out += [f"Mended, {place}:", "", *_block(text.split(r"\n"))]
    return out


def example(golden: Golden, code: str) -> str:
    """Input, message and mended input as Markdown."""
    commands = [part for command in golden.commands for part in _wrapped(f"$ {command}")]
    lines = ["Example:", "", *_inputs(golden), *_block([*commands, *message(golden, code)]), *_mends(golden)]
    return "\n".join(lines).rstrip() + "\n"


def document() -> str:
    """The catalogue of messages with the examples as the golden files have them now."""
    examples = chosen()

    def entry(found: re.Match[str]) -> str:
        words = re.split(r"^Example:$", found[0], maxsplit=1, flags=re.MULTILINE)[0].rstrip() + "\n"
        return words + ("\n" + example(examples[found[1]][1], found[1]) if found[1] in examples else "") + "\n"

    return ENTRY.sub(entry, PAGE.read_text()).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(document())
