"""What the compiler says about a program beside its code: ``ze_info``, and in a zebin constant and global data."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from visa.diagnostics import Diagnostic, FormatError, Span
from visa.elf import STT_FUNC, Relocation, read_elf
from visa.image import parse_ze_info

DATA_SECTIONS = {
    ".data.const": False,
    ".data.const.string": False,
    ".data.global": True,
    ".bss.const": False,
    ".bss.global": True,
}
"""Data sections of a zebin and whether kernels may write them."""

R_ADDRESS, R_LOW, R_HIGH = 1, 2, 3


@dataclass
class ProgramInfo:
    """ze_info as a tree, and the data of a zebin. ``symbols`` are (section, offset, size) by name."""

    name: str
    tree: dict[str, Any]
    text: str
    sections: dict[str, bytes] = field(default_factory=dict)
    symbols: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    relocations: list[Relocation] = field(default_factory=list)


def read_program_info(data: bytes, name: str) -> ProgramInfo:
    """ze_info as YAML text or inside a zebin.

    Raises:
        FormatError: it is neither.
    """
    if data[:4] != b"\x7fELF":
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise FormatError(
                Diagnostic("L004", "this is neither a zebin nor the YAML text of ze_info", Span(name, 0))
            ) from None
        return ProgramInfo(name, parse_ze_info(text, name), text)
    elf = read_elf(data, name)
    description = elf.section(".ze_info")
    if description is None:
        raise FormatError(Diagnostic("L004", "this ELF file is no zebin: it has no section .ze_info", Span(name, 0)))
    text = description.data.decode("utf-8", "replace")
    info = ProgramInfo(name, parse_ze_info(text, name), text)
    info.sections = {s.name: s.data for s in elf.sections if s.name in DATA_SECTIONS}
    info.symbols = {
        s.name: (s.section, s.value, s.size) for s in elf.symbols if s.section in DATA_SECTIONS and s.kind != STT_FUNC
    }
    info.relocations = [r for r in elf.relocations if r.section in info.sections]
    return info


def patch(contents: bytearray, relocation: Relocation, address: int) -> bool:
    """Apply one relocation; False if it lies outside the section or is of an unknown kind."""
    width = 8 if relocation.kind == R_ADDRESS else 4
    if relocation.kind not in (R_ADDRESS, R_LOW, R_HIGH) or relocation.offset + width > len(contents):
        return False
    value = address + relocation.addend
    value = value >> 32 if relocation.kind == R_HIGH else value
    fmt = "<Q" if width == 8 else "<I"
    (old,) = struct.unpack_from(fmt, contents, relocation.offset)
    struct.pack_into(fmt, contents, relocation.offset, (old + value) & ((1 << 8 * width) - 1))
    return True
