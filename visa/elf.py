"""ELF files, as much of the format as objects, images and zebins use: little-endian, 32 or 64 bits (System V ABI, chapter 4).

Reading and writing stand beside each other, because both follow from the same three record layouts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from visa.diagnostics import Diagnostic, FormatError, Span

ET_REL, ET_EXEC = 1, 2
EM_INTELGT, EM_ATI_R5XX = 205, 122
SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL = 0, 1, 2, 3, 4, 7, 8, 9
STB_LOCAL, STB_GLOBAL = 0, 1
STT_NOTYPE, STT_OBJECT, STT_FUNC = 0, 1, 2
SHN_UNDEF, SHN_LORESERVE, SHN_ABS = 0, 0xFF00, 0xFFF1
MAXIMUM_NOBITS = 1 << 32

SHF_ALLOC, SHF_EXECINSTR = 2, 4
PT_LOAD, PT_NOTE = 1, 4
PF_X, PF_W, PF_R = 1, 2, 4

_HEADER = {32: struct.Struct("<HHIIIIIHHHHHH"), 64: struct.Struct("<HHIQQQIHHHHHH")}
_SECTION = {32: struct.Struct("<10I"), 64: struct.Struct("<IIQQQQIIQQ")}
_SEGMENT = {32: struct.Struct("<8I"), 64: struct.Struct("<IIQQQQQQ")}
_SYMBOL = {32: struct.Struct("<IIIBBH"), 64: struct.Struct("<IBBHQQ")}
_REL = {32: struct.Struct("<II"), 64: struct.Struct("<QQ")}
_RELA = {32: struct.Struct("<IIi"), 64: struct.Struct("<QQq")}
_IDENT = 16


@dataclass
class Section:
    """A section; ``link`` and ``info`` are numbers of sections or counts, as the type says."""

    name: str
    type: int
    data: bytes
    align: int = 1
    link: int = 0
    info: int = 0
    entry_size: int = 0
    flags: int = 0


@dataclass
class Symbol:
    """An entry of the symbol table; ``section`` is a name, empty for undefined and ``*`` for absolute."""

    name: str
    value: int = 0
    size: int = 0
    kind: int = STT_FUNC
    binding: int = STB_GLOBAL
    section: str = ""


@dataclass
class Relocation:
    """An entry of a relocation section; ``section`` is the one that it changes."""

    section: str
    offset: int
    kind: int
    symbol: str
    addend: int = 0


@dataclass
class Elf:
    """The parts of a file."""

    type: int
    machine: int
    bits: int = 64
    entry: int = 0
    flags: int = 0
    os_abi: int = 0
    abi_version: int = 0
    sections: list[Section] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    relocations: list[Relocation] = field(default_factory=list)
    segments: list[tuple[int, int, str]] = field(
        default_factory=list
    )  # type, flags and the section that it is; written, not read

    def section(self, name: str) -> Section | None:
        """The first section of a name."""
        return next((s for s in self.sections if s.name == name), None)

    # -- writing -------------------------------------------------------------------------------------------

    def write(self) -> bytes:
        """The bytes of the file: sections, then relocations, symbols and strings; the same parts give the same bytes."""
        bits = self.bits
        word, strings, names = bits // 8, _Strings(), _Strings()
        numbers = {s.name: i + 1 for i, s in enumerate(self.sections)}
        ordered = sorted(self.symbols, key=lambda s: s.binding != STB_LOCAL)
        places = {s.name: i + 1 for i, s in enumerate(ordered)}
        table = bytearray(_SYMBOL[bits].size)
        for s in ordered:
            where = {"": SHN_UNDEF, "*": SHN_ABS}.get(s.section)
            table += _symbol_entry(bits, strings.add(s.name), s, numbers[s.section] if where is None else where)
        changed = {r.section: numbers[r.section] for r in self.relocations}
        at_symbols = 1 + len(self.sections) + len(changed)
        sections = list(self.sections)
        for name, number in changed.items():
            rows = (
                _RELA[bits].pack(r.offset, _info(bits, places[r.symbol], r.kind), r.addend)
                for r in self.relocations
                if r.section == name
            )
            sections.append(
                Section(f".rela{name}", SHT_RELA, b"".join(rows), word, at_symbols, number, _RELA[bits].size)
            )
        first_global = 1 + sum(s.binding == STB_LOCAL for s in ordered)
        sections.append(
            Section(".symtab", SHT_SYMTAB, bytes(table), word, at_symbols + 1, first_global, _SYMBOL[bits].size)
        )
        sections.append(Section(".strtab", SHT_STRTAB, bytes(strings.data)))
        offsets = [names.add(s.name) for s in sections]
        offsets.append(names.add(".shstrtab"))
        sections.append(Section(".shstrtab", SHT_STRTAB, bytes(names.data)))
        header_size = _IDENT + _HEADER[bits].size
        function, headers = (
            bytearray(header_size + _SEGMENT[bits].size * len(self.segments)),
            [bytes(_SECTION[bits].size)],
        )
        offsets_of: dict[str, int] = {}
        for part, at in zip(sections, offsets, strict=True):
            function.extend(bytes(-len(function) % part.align))
            offsets_of[part.name] = len(function)
            headers.append(
                _SECTION[bits].pack(
                    at,
                    part.type,
                    part.flags,
                    0,
                    len(function),
                    len(part.data),
                    part.link,
                    part.info,
                    part.align,
                    part.entry_size,
                )
            )
            function.extend(part.data)
        function.extend(bytes(-len(function) % 8))
        by_name = {s.name: s for s in self.sections}
        for n, (kind, flags, name) in enumerate(self.segments):
            size, align, start = len(by_name[name].data), by_name[name].align, offsets_of[name]
            row = (
                (kind, start, 0, 0, size, size, flags, align)
                if bits == 32
                else (kind, flags, start, 0, 0, size, size, align)
            )
            _SEGMENT[bits].pack_into(function, header_size + n * _SEGMENT[bits].size, *row)
        segments = (header_size, _SEGMENT[bits].size, len(self.segments)) if self.segments else (0, 0, 0)
        ident = b"\x7fELF" + bytes([bits // 32, 1, 1, self.os_abi, self.abi_version]) + bytes(7)
        function[:header_size] = ident + _HEADER[bits].pack(
            self.type,
            self.machine,
            1,
            self.entry,
            segments[0],
            len(function),
            self.flags,
            header_size,
            *segments[1:],
            _SECTION[bits].size,
            len(headers),
            len(headers) - 1,
        )
        return bytes(function) + b"".join(headers)


class _Strings:
    """A string table under construction; equal strings share their place."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self.places: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        at = self.places.get(text)
        if at is None:
            at = self.places[text] = len(self.data)
            self.data += text.encode("utf-8", "surrogateescape") + b"\0"
        return at


def _symbol_entry(bits: int, name: int, s: Symbol, where: int) -> bytes:
    info = s.binding << 4 | s.kind
    return (
        _SYMBOL[64].pack(name, info, 0, where, s.value, s.size)
        if bits == 64
        else _SYMBOL[32].pack(name, s.value, s.size, info, 0, where)
    )


def _info(bits: int, symbol: int, kind: int) -> int:
    return symbol << (32 if bits == 64 else 8) | kind


# -- reading ---------------------------------------------------------------------------------------------------


def read_elf(data: bytes, name: str) -> Elf:
    """Sections, symbols and relocations of a file.

    Raises:
        FormatError: it is not a little-endian ELF file, or it is damaged.
    """
    try:
        return _Reader(data).elf()
    except (ValueError, struct.error, IndexError) as error:
        raise FormatError(Diagnostic("C010", f"this is not a readable ELF file: {error}", Span(name, 0))) from None


def is_ctm(data: bytes) -> bool:
    """Whether bytes begin as an object or image of the CTM target does."""
    return data[:5] == b"\x7fELF\1" and len(data) > 20 and struct.unpack_from("<H", data, 18)[0] == EM_ATI_R5XX


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        if data[:4] != b"\x7fELF" or len(data) < _IDENT:
            raise ValueError("it does not begin with an ELF header")
        if data[4] not in (1, 2) or data[5] != 1:
            raise ValueError("it is neither a 32-bit nor a 64-bit little-endian file")
        self.bits = 32 * data[4]

    def elf(self) -> Elf:
        bits = self.bits
        kind, machine, _, entry, _, table, flags, _, _, _, entry_size, count, strings = _HEADER[bits].unpack_from(
            self.data, _IDENT
        )
        if table + count * entry_size > len(self.data) or (count and entry_size < _SECTION[bits].size):
            raise ValueError("the section headers lie outside the file")
        rows = [_SECTION[bits].unpack_from(self.data, table + i * entry_size) for i in range(count)]
        found = Elf(kind, machine, bits, entry, flags, self.data[7], self.data[8])
        if rows and strings >= count:
            raise ValueError("there is no table of section names")
        names = self.contents(rows[strings]) if rows else b""
        for row in rows:
            name, section_type, section_flags, _, _, _, link, info, align, size = row
            found.sections.append(
                Section(_text(names, name), section_type, self.contents(row), align, link, info, size, section_flags)
            )
        for s in found.sections:
            if s.type == SHT_SYMTAB:
                found.symbols += [symbol for symbol in self.symbols(s, found.sections) if symbol.name]
        for s in found.sections:
            if s.type in (SHT_REL, SHT_RELA):
                found.relocations += self.relocations(s, found.sections)
        found.sections = [s for s in found.sections if s.type != SHT_NULL]
        return found

    def contents(self, row: tuple[int, ...]) -> bytes:
        _, section_type, _, _, offset, size, *_ = row
        if section_type == SHT_NULL:
            return b""
        if section_type == SHT_NOBITS:
            if size > MAXIMUM_NOBITS:
                raise ValueError(f"a section without contents claims {size} bytes")
            return bytes(size)
        if offset + size > len(self.data):
            raise ValueError(f"a section of {size} bytes at {offset:#x} lies outside the file")
        return self.data[offset : offset + size]

    def symbols(self, table: Section, sections: list[Section]) -> Iterator[Symbol]:
        strings = _linked(table, sections).data
        for row in _rows(_SYMBOL[self.bits], table.data):
            name, info, _, where, value, size = (
                row if self.bits == 64 else (row[0], row[3], row[4], row[5], row[1], row[2])
            )
            if SHN_LORESERVE > where >= len(sections):
                raise ValueError(f"a symbol lies in section {where}, but there are {len(sections)}")
            section = "" if where == SHN_UNDEF else "*" if where >= SHN_LORESERVE else sections[where].name
            kind = info & 15
            binding = STB_LOCAL if info >> 4 == STB_LOCAL else STB_GLOBAL
            yield Symbol(
                _text(strings, name),
                value,
                size,
                kind if kind in (STT_FUNC, STT_OBJECT) else STT_NOTYPE,
                binding,
                section,
            )

    def relocations(self, table: Section, sections: list[Section]) -> Iterator[Relocation]:
        symbols = list(self.symbols(_linked(table, sections), sections))
        if table.info >= len(sections):
            raise ValueError(f"relocations for section {table.info}, but there are {len(sections)}")
        shift = 32 if self.bits == 64 else 8
        for row in _rows((_RELA if table.type == SHT_RELA else _REL)[self.bits], table.data):
            index = row[1] >> shift
            if index >= len(symbols):
                raise ValueError(f"a relocation names symbol {index}, but there are {len(symbols)}")
            yield Relocation(
                sections[table.info].name,
                row[0],
                row[1] & ((1 << shift) - 1),
                symbols[index].name,
                row[2] if len(row) > 2 else 0,
            )


def _rows(layout: struct.Struct, data: bytes) -> Iterator[tuple[int, ...]]:
    return layout.iter_unpack(data[: len(data) // layout.size * layout.size])


def _linked(table: Section, sections: list[Section]) -> Section:
    if table.link >= len(sections):
        raise ValueError(f"section {table.name} refers to section {table.link}, but there are {len(sections)}")
    return sections[table.link]


def _text(strings: bytes, at: int) -> str:
    if at >= len(strings) and at:
        raise ValueError("a name lies outside its string table")
    end = strings.find(b"\0", at)
    return strings[at : end if end >= 0 else len(strings)].decode("utf-8", "surrogateescape")
