"""Numbers that Intel's compiler reports of a kernel: in ze_info, in the heads of its dumps (``.asm``), and in its
statistics (``.stats.json``, which the option ``-dumpVISAJsonStats`` of the finalizer writes).
"""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from visakit.diagnostics import FileError
from visakit.files import read_text
from visakit.objects.yaml_lines import Tree

_REGISTERS = re.compile(r"^//\.thread_config numGRF=(\d+)", re.MULTILINE)
_SPILLED = re.compile(r"^//\.spill size (\d+)", re.MULTILINE)
_PLATFORM = re.compile(r"^//\.platform (\w+)", re.MULTILINE)
_HEAD = 1 << 20
"""Characters of a dump that may belong to its head, which lists all declarations."""


class CompilerNumbers(NamedTuple):
    """What the compiler made of a kernel; None where it does not say.

    Attributes:
        registers: of a thread.
        spill_bytes, private_bytes: of a thread's memory, for spills and for private arrays.
        pressure: registers before allocation.
        platform: the compiler's name of it; empty where it does not say.
    """

    registers: int | None = None
    spill_bytes: int | None = None
    private_bytes: int | None = None
    pressure: int | None = None
    platform: str = ""


def _number(tree: object, key: str) -> int | None:
    value = tree.get(key) if isinstance(tree, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def of_ze_info(tree: Tree, kernel: str) -> CompilerNumbers | None:
    """The numbers in ze_info; None without the kernel."""
    for entry in tree.get("kernels") or []:
        if isinstance(entry, dict) and entry.get("name") == kernel:
            environment = entry.get("execution_env")
            if isinstance(environment, dict):
                registers = _number(environment, "grf_count")
                spilled = _number(environment, "spill_size")
                return CompilerNumbers(
                    registers,
                    spilled or (0 if registers else None),
                    _number(environment, "private_size"),
                )
    return None


def beside(path: str) -> CompilerNumbers | None:
    """The numbers in the compiler's dumps beside a vISA text of the same dump; None without any."""
    stem = path.removesuffix(".visaasm")
    if stem == path:
        return None
    found = CompilerNumbers()
    head = _text(stem + ".asm")[:_HEAD]
    if registers := _REGISTERS.search(head):
        spilled, platform = _SPILLED.search(head), _PLATFORM.search(head)
        found = found._replace(
            registers=int(registers[1]),
            spill_bytes=int(spilled[1]) if spilled else 0,
            platform=platform[1] if platform else "",
        )
    try:
        statistics = json.loads(_text(stem + ".stats.json") or "null")
    except (ValueError, RecursionError):
        statistics = None
    for row in statistics if isinstance(statistics, list) else []:
        found = found._replace(
            registers=_number(row, "numGRFTotal") or found.registers,
            spill_bytes=_number(row, "GRFSpillSize"),
            pressure=_number(row, "maxGRFPressurePreRA"),
        )
        break
    return found if found != CompilerNumbers() else None


def _text(path: str) -> str:
    """A dump; empty without it, or if it cannot be read."""
    if not os.path.isfile(path):
        return ""
    try:
        return read_text(path)
    except FileError:
        return ""
