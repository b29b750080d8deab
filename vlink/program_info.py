"""The compiler's data about a program beside its code: ``ze_info``, and in a zebin constant and global data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.objects.elf import STT_FUNC, Relocation, read_elf
from visakit.objects.image import ZeInfo, parse_ze_info

DATA_SECTIONS = {
    ".data.const": False,
    ".data.const.string": False,
    ".data.global": True,
    ".bss.const": False,
    ".bss.global": True,
}
"""Data sections of a zebin and whether kernels may write them."""

_BEHIND = {".data.const": ".bss.const", ".data.global": ".bss.global"}
"""Zeros that drivers append to data: the kernel gets one address for both."""

R_ADDRESS, R_LOW, R_HIGH = 1, 2, 3
"""Relocations of a zebin: 64 bits of an address, its low half, its high half."""


class DataSymbol(NamedTuple):
    """A name for a part of a data section; offset and size in bytes."""

    section: str
    offset: int
    size: int


@dataclass
class ProgramInfo:
    """ze_info as a tree, and the data of a zebin: its data sections and the symbols and relocations in them."""

    name: str
    tree: ZeInfo
    sections: dict[str, bytes] = field(default_factory=dict)
    symbols: dict[str, DataSymbol] = field(default_factory=dict)
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
        return ProgramInfo(name, parse_ze_info(text, name))
    elf = read_elf(data, name)
    description = elf.section(".ze_info")
    if description is None:
        raise FormatError(Diagnostic("L004", "this ELF file is not a zebin: it has no section .ze_info", Span(name, 0)))
    tree = parse_ze_info(description.data.decode("utf-8", "replace"), name)
    sections = {s.name: s.data for s in elf.sections if s.name in DATA_SECTIONS}
    symbols = {
        s.name: DataSymbol(s.section, s.value, s.size)
        for s in elf.symbols
        if s.section in DATA_SECTIONS and s.kind != STT_FUNC
    }
    for begun, zeros in _BEHIND.items():
        if zeros in sections:
            start = len(sections.get(begun, b""))
            sections[begun] = sections.get(begun, b"") + sections.pop(zeros)
            for symbol, found in symbols.items():
                if found.section == zeros:
                    symbols[symbol] = DataSymbol(begun, start + found.offset, found.size)
    return ProgramInfo(name, tree, sections, symbols, [r for r in elf.relocations if r.section in sections])
