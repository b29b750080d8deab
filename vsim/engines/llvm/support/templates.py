"""Template files of LLVM IR.

A file ``NAME.ll`` holds sections, each behind a line ``;; SECTION``. In a section ``$name`` or ``${name}`` stands for a
value: one that is given, or a field of the structures in :mod:`abi` by its name there. A line that holds only a
placeholder for an empty text disappears. Fields are accessed with the pointer to their structure and their offset::

    %value = get TYPE, %structure, OFFSET
    set %structure, OFFSET, VALUE
    increase %structure, OFFSET, VALUE

The last two are for i64; ``%value.p`` is the address of what ``get`` has read.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from string import Template

from vsim.engines.llvm import abi

_FIELDS = {name: value for name, value in vars(abi).items() if name.isupper() and isinstance(value, int)}
_FIELDS |= {
    f"{name}_{axis}": _FIELDS[name] + 8 * n
    for name in ("COUNTS", "PARTIAL", "WORKER_GROUP")
    for n, axis in enumerate("YZ", 1)
}
_ACCESSES = [
    (
        re.compile(r"  %(\S+) = get (\S+), (\S+), (\S+)"),
        r"  %\1.p = getelementptr i8, ptr \3, i64 \4" "\n"
        r"  %\1 = load \2, ptr %\1.p, align 8",
    ),
    (
        re.compile(r"  set (\S+), (\S+), (\S+)"),
        r"  \1.\2.s = getelementptr i8, ptr \1, i64 \2" "\n"
        r"  store i64 \3, ptr \1.\2.s, align 8",
    ),
    (
        re.compile(r"  increase (\S+), (%?)(\S+), (\S+)"),
        r"  \1.\3.p = getelementptr i8, ptr \1, i64 \2\3" "\n"
        r"  \1.\3.o = load i64, ptr \1.\3.p, align 8" "\n"
        r"  \1.\3.n = add i64 \1.\3.o, \4" "\n"
        r"  store i64 \1.\3.n, ptr \1.\3.p, align 8",
    ),
]  # fmt: skip


def accesses(text: str) -> str:
    """LLVM IR for the accesses to fields in a text."""
    for access, ir in _ACCESSES:
        text = access.sub(ir, text)
    return text


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
    return {name: Template(accesses("\n".join(text).strip("\n"))) for name, text in found.items()}


def fill(file: str, section: str, **values: str | int) -> str:
    """The text of a section with its placeholders filled in.

    Raises:
        KeyError: there is no such section, or a placeholder has no value.
    """
    text = _sections(file)[section].substitute(_FIELDS, **values)
    return "\n".join(line for line in text.splitlines() if line.strip())
