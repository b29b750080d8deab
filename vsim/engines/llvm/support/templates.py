"""Template files of LLVM IR.

A file ``NAME.ll`` holds sections, each behind a line ``;; SECTION``. In a section ``$name`` or ``${name}`` stands for a
value: one that is given, or a field of the structures in :mod:`abi` by its name there. A line that holds only a
placeholder for an empty text disappears.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

from vsim.engines.llvm import abi

_FIELDS = {name: str(value) for name, value in vars(abi).items() if name.isupper() and isinstance(value, int)}


@cache
def _sections(file: str) -> dict[str, Template]:
    """The sections of a template file by name."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (Path(__file__).parent / f"{file}.ll").read_text().splitlines():
        if line.startswith(";; "):
            lines = found.setdefault(line[3:].strip(), [])
        elif not line.startswith(";"):
            lines.append(line)
    return {name: Template("\n".join(text).strip("\n")) for name, text in found.items()}


def fill(file: str, section: str, **values: str | int) -> str:
    """The text of a section with its placeholders filled in.

    Raises:
        KeyError: there is no such section, or a placeholder has no value.
    """
    text = _sections(file)[section].substitute(_FIELDS, **values)
    return "\n".join(line for line in text.splitlines() if line.strip())
