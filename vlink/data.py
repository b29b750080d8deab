"""Constant and global data: where each section goes, and relocations in it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from visakit.diagnostics import Diagnostic, Span
from visakit.objects.elf import ElfSymbol, Relocation
from visakit.objects.image import DATA_BASE, SLOT, SLOT_OFFSET, DataSection
from vlink.errors import LinkErrors
from vlink.program_info import DATA_SECTIONS, R_ADDRESS, R_HIGH, R_LOW, DataSymbol, ProgramInfo


@dataclass
class DataLayout:
    """The data of an image: its sections in the order of their addresses, and the symbols in them.

    ``first_slot`` is the number of the first slot of the address space's range for data.
    """

    sections: dict[str, DataSection] = field(default_factory=dict)
    symbols: dict[str, DataSymbol] = field(default_factory=dict)
    first_slot: int = 0

    def address(self, symbol: DataSymbol) -> int:
        """The simulated address of a symbol."""
        return self.sections[symbol.section].address + symbol.offset


def lay_out_data(infos: Sequence[ProgramInfo], user_data: Mapping[str, bytes], first_slot: int = 0) -> DataLayout:
    """Give every data section of the zebins, and the contents of every ``--data``, a slot of the address space."""
    layout = DataLayout(first_slot=first_slot)
    for index, info in enumerate(infos):
        for section, contents in info.sections.items():
            _place(layout, _name_in_image(section, index), contents, DATA_SECTIONS[section])
        for name, symbol in info.symbols.items():
            if symbol.section not in info.sections:
                continue  # Its section is of another type, or there are several of that name.
            layout.symbols.setdefault(name, symbol._replace(section=_name_in_image(symbol.section, index)))
    for name, contents in user_data.items():
        section = f"user.{name}"
        _place(layout, section, contents, writable=True)
        layout.symbols[name] = DataSymbol(section, 0, len(contents))
    return layout


def _place(layout: DataLayout, name: str, contents: bytes, writable: bool) -> None:
    address = DATA_BASE + (layout.first_slot + len(layout.sections)) * SLOT + SLOT_OFFSET
    layout.sections[name] = DataSection(name, address, contents, writable)


def _name_in_image(section: str, index: int) -> str:
    """The name of the section of a zebin with that index; only those of the first zebin keep their names."""
    return section.lstrip(".") + (f".{index}" if index else "")


def relocated_names(infos: Sequence[ProgramInfo]) -> set[str]:
    """The names whose addresses occur in data."""
    return {r.symbol for info in infos for r in info.relocations}


def apply_relocations(
    layout: DataLayout,
    infos: Sequence[ProgramInfo],
    symbols: Sequence[ElfSymbol],
    undefined_allowed: bool,
    errors: LinkErrors,
) -> list[DataSection]:
    """The data sections with the addresses of functions and data filled in; ``symbols`` are those of the image."""
    addresses: dict[str, int] = {}
    for s in symbols:
        if s.section:
            addresses.setdefault(s.name, s.value)
    contents = {name: bytearray(section.contents) for name, section in layout.sections.items()}
    for index, info in enumerate(infos):
        for r in info.relocations:
            own = info.symbols.get(r.symbol)
            if own is not None:
                address: int | None = layout.address(own._replace(section=_name_in_image(own.section, index)))
            else:
                address = addresses.get(r.symbol)
            if address is None:
                if not undefined_allowed:
                    message = f"'{r.symbol}' is not defined; data in {r.section} at {r.offset:#x} refers to it"
                    errors.add(Diagnostic("L013", message, Span(info.name, 0)))
            elif not _patch(contents[_name_in_image(r.section, index)], r, address):
                message = f"relocation of kind {r.kind} at {r.section}+{r.offset:#x} cannot be applied"
                errors.add(Diagnostic("L018", message, Span(info.name, 0)))
    return [DataSection(s.name, s.address, bytes(contents[s.name]), s.writable) for s in layout.sections.values()]


def _patch(contents: bytearray, relocation: Relocation, address: int) -> bool:
    """Apply one relocation; False if it is outside of the section or of an unknown kind."""
    width = 8 if relocation.kind == R_ADDRESS else 4
    if relocation.kind not in (R_ADDRESS, R_LOW, R_HIGH) or relocation.offset + width > len(contents):
        return False
    value = address + relocation.addend
    value = value >> 32 if relocation.kind == R_HIGH else value
    fmt = "<Q" if width == 8 else "<I"
    (old,) = struct.unpack_from(fmt, contents, relocation.offset)
    struct.pack_into(fmt, contents, relocation.offset, (old + value) & ((1 << 8 * width) - 1))
    return True
