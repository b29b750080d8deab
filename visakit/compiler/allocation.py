"""The finalizer's debug data: which hardware registers have the variables of vISA.

DWARF names hardware registers, and the compiler gives the table of them with its debug dumps alone (IGC's debug keys).
"""

from __future__ import annotations

from pathlib import Path

from visakit.objects.allocation import ALLOCATION, DWARF
from visakit.objects.elf import with_sections

FOLDER = "tables"
"""The folder for dumps, in the driver's working directory."""
_OPTION = "-igc_opts"


def options(given: str) -> str:
    """Build options that also ask for the data, where they ask for DWARF and do not set debug keys."""
    words = given.split()
    if "-g" not in words or _OPTION in words:
        return given
    return f"{given} {_OPTION} 'ShaderDumpEnable=1,DumpToCustomDir={FOLDER}'"


def with_allocations(zebin: bytes, folder: str) -> bytes:
    """A zebin with the data that the compiler has left in a folder."""
    added: dict[str, bytes] = {}
    for number, path in enumerate(sorted(Path(folder, FOLDER).glob("*.dbg"))):
        dwarf = path.with_suffix(".elf")
        if dwarf.is_file():
            added |= {f"{ALLOCATION}{number}": path.read_bytes(), f"{DWARF}{number}": dwarf.read_bytes()}
    return with_sections(zebin, "program", added) if added else zebin
