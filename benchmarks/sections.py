"""Sections of docs/measurements/performance.md that other benchmarks write, and that ``make bench`` keeps."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "docs"))

from folding import folded

PAGE = Path(__file__).parent.parent / "docs" / "measurements" / "performance.md"
CORPUS, SHAPES, FIRST_RESULT = "Compile time over the corpus", "Compile time by size", "First results"
VECTOR = "Vector kernels"
KEPT = (VECTOR, CORPUS, SHAPES, FIRST_RESULT)


def section(page: str, title: str) -> str:
    """A section of the page, with its heading; nothing if it has none of this title."""
    found = re.search(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", page, re.M | re.S)
    return found[0].rstrip("\n") + "\n" if found else ""


def with_section(page: str, title: str, lines: list[str]) -> str:
    """The page with this section as its last, in place of the one of the same title."""
    rest = page.replace(section(page, title), "").rstrip("\n")
    return folded("\n".join([rest, "", f"## {title}", "", *lines, ""]))


def with_kept(new: str, old: str) -> str:
    """A new page with the sections of the old one that others wrote."""
    for title in KEPT:
        if kept := section(old, title):
            new = new.rstrip("\n") + "\n\n" + kept
    return folded(new)


def machine() -> str:
    """The machine in words: its CPU, what of that is in the code, and what else it had to do."""
    text = Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*: (.*)", text)
    flags = set(re.findall(r"\b(avx2|avx512f|avx512vl|avx512bw|avx512_vnni)\b", text))
    found = f"{name[1] if name else 'unknown'}, {text.count('processor')} CPUs, {', '.join(sorted(flags))}"
    return f"{found}; load {os.getloadavg()[2]:.0f}"
