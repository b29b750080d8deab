"""ELF files (System V ABI, chapter 4), as much as objects, images and zebins use: little-endian, 32 or 64 bits.

One module reads and writes, because both follow from the same three record layouts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from visakit.diagnostics import Diagnostic, FormatError, Span

ET_REL, ET_EXEC = 1, 2
EM_NONE, EM_INTELGT, EM_ATI_R5XX = 0, 205, 122
"""Machines; GNU strip and objcopy, which do not know the other two, write EM_NONE."""
SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL = 0, 1, 2, 3, 4, 7, 8, 9
STB_LOCAL, STB_GLOBAL = 0, 1
STT_NOTYPE, STT_OBJECT, STT_FUNC = 0, 1, 2
SHN_UNDEF, SHN_LORESERVE, SHN_ABS = 0, 0xFF00, 0xFFF1
MAXIMUM_NOBITS = 1 << 28
"""Bytes that the sections without contents of a file may have together."""

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


@dataclass(repr=False)
class Section:
    """A section; ``link`` and ``info`` are numbers of sections or counts, depending on the type."""

    name: str
    type: int
    data: bytes
    align: int = 1
    link: int = 0
    info: int = 0
    entry_size: int = 0
    flags: int = 0


@dataclass
class ElfSymbol:
    """An entry of the symbol table; ``section`` is a name, empty for undefined and ``*`` for absolute."""

    name: str
    value: int = 0
    size: int = 0
    kind: int = STT_FUNC
    binding: int = STB_GLOBAL
    section: str = ""


@dataclass
class Relocation:
    """An entry of a relocation section; ``section`` is the relocated one."""

    section: str
    offset: int
    kind: int
    symbol: str
    addend: int = 0


@dataclass(repr=False)
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
    symbols: list[ElfSymbol] = field(default_factory=list)
    relocations: list[Relocation] = field(default_factory=list)
    segments: list[tuple[int, int, str]] = field(default_factory=list)
    """Type, flags and the section that it is; written, not read."""

    def section(self, name: str) -> Section | None:
        """The first section of a name."""
        return next((s for s in self.sections if s.name == name), None)

    # -- writing -------------------------------------------------------------------------------------------

    def write(self) -> bytes:
        """The bytes of the file: sections, relocations, symbols and strings. The same parts give the same bytes."""
        symbols = sorted(self.symbols, key=lambda s: s.binding != STB_LOCAL)
        sections = [*self.sections, *self._relocation_sections(symbols)]
        sections += self._symbol_sections(symbols, len(sections) + 2)
        names = _StringTable()
        name_offsets = [names.add(name) for name in [*(s.name for s in sections), ".shstrtab"]]
        sections.append(Section(".shstrtab", SHT_STRTAB, bytes(names.data)))

        contents = bytearray(_IDENT + _HEADER[self.bits].size + _SEGMENT[self.bits].size * len(self.segments))
        offsets: list[int] = []
        for s in sections:
            contents.extend(bytes(-len(contents) % (s.align or 1)))
            offsets.append(len(contents))
            contents.extend(s.data)
        contents.extend(bytes(-len(contents) % 8))
        head = self._file_header(len(contents), 1 + len(sections))
        head += self._program_headers({s.name: offset for s, offset in zip(sections, offsets, strict=True)})
        contents[: len(head)] = head
        headers = [bytes(_SECTION[self.bits].size)]
        for s, name, offset in zip(sections, name_offsets, offsets, strict=True):
            row = (name, s.type, s.flags, 0, offset, len(s.data), s.link, s.info, s.align, s.entry_size)
            headers.append(_SECTION[self.bits].pack(*row))
        return bytes(contents) + b"".join(headers)

    def _relocation_sections(self, symbols: list[ElfSymbol]) -> list[Section]:
        """A section for each that relocations change; ``symbols`` in the order of the symbol table."""
        layout, word = _RELA[self.bits], self.bits // 8
        indices = {s.name: i + 1 for i, s in enumerate(symbols)}
        numbers = self._section_numbers()
        changed = list(dict.fromkeys(r.section for r in self.relocations))
        symbol_table = 1 + len(self.sections) + len(changed)
        sections = []
        for name in changed:
            own = [r for r in self.relocations if r.section == name]
            data = b"".join(layout.pack(r.offset, _info(self.bits, indices[r.symbol], r.kind), r.addend) for r in own)
            sections.append(Section(f".rela{name}", SHT_RELA, data, word, symbol_table, numbers[name], layout.size))
        return sections

    def _symbol_sections(self, symbols: list[ElfSymbol], string_table: int) -> list[Section]:
        """The symbol table, and after it its strings, a section with the given number."""
        layout, word = _SYMBOL[self.bits], self.bits // 8
        strings, numbers = _StringTable(), self._section_numbers() | {"": SHN_UNDEF, "*": SHN_ABS}
        rows = [bytes(layout.size)]
        rows += [_symbol_entry(self.bits, strings.add(s.name), s, numbers[s.section]) for s in symbols]
        first_global = 1 + sum(s.binding == STB_LOCAL for s in symbols)
        table = Section(".symtab", SHT_SYMTAB, b"".join(rows), word, string_table, first_global, layout.size)
        return [table, Section(".strtab", SHT_STRTAB, bytes(strings.data))]

    def _section_numbers(self) -> dict[str, int]:
        return {s.name: i + 1 for i, s in enumerate(self.sections)}

    def _file_header(self, section_table: int, section_count: int) -> bytes:
        """The ELF header; the section headers begin at ``section_table``, the last section has their names."""
        bits, size = self.bits, _IDENT + _HEADER[self.bits].size
        segment_table, segment_size = (size, _SEGMENT[bits].size) if self.segments else (0, 0)
        row = (self.type, self.machine, 1, self.entry, segment_table, section_table, self.flags, size)
        counts = (segment_size, len(self.segments), _SECTION[bits].size, section_count, section_count - 1)
        ident = b"\x7fELF" + bytes([bits // 32, 1, 1, self.os_abi, self.abi_version]) + bytes(7)
        return ident + _HEADER[bits].pack(*row, *counts)

    def _program_headers(self, offsets: dict[str, int]) -> bytes:
        """A program header for each segment, which is one section of the file."""
        by_name = {s.name: s for s in self.sections}
        out = b""
        for kind, flags, name in self.segments:
            size, align, start = len(by_name[name].data), by_name[name].align, offsets[name]
            if self.bits == 32:
                out += _SEGMENT[32].pack(kind, start, 0, 0, size, size, flags, align)
            else:
                out += _SEGMENT[64].pack(kind, flags, start, 0, 0, size, size, align)
        return out


class _StringTable:
    """A string table under construction; equal strings share their place."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self.offsets: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        """The offset of a string."""
        at = self.offsets.get(text)
        if at is None:
            at = self.offsets[text] = len(self.data)
            self.data += text.encode("utf-8", "surrogateescape") + b"\0"
        return at


def _symbol_entry(bits: int, name: int, s: ElfSymbol, section: int) -> bytes:
    info = s.binding << 4 | s.kind
    if bits == 64:
        return _SYMBOL[64].pack(name, info, 0, section, s.value, s.size)
    return _SYMBOL[32].pack(name, s.value, s.size, info, 0, section)


def _info(bits: int, symbol: int, kind: int) -> int:
    return symbol << (32 if bits == 64 else 8) | kind


# -- reading ---------------------------------------------------------------------------------------------------


def read_elf(data: bytes, name: str, with_symbols: bool = True) -> Elf:
    """Sections, symbols and relocations of a file; or only its sections.

    Raises:
        FormatError: it is not a little-endian ELF file, or it is damaged.
    """
    try:
        return _Reader(data).elf(with_symbols)
    except (ValueError, struct.error, IndexError) as error:
        raise FormatError(Diagnostic("C010", f"this is not a readable ELF file: {error}", Span(name, 0))) from None


def with_sections(data: bytes, name: str, added: Mapping[str, bytes]) -> bytes:
    """A file with more sections, by name, after its own, which do not change.

    Raises:
        FormatError: it is damaged.
    """
    read_elf(data, name, False)
    bits, out = 32 * data[4], bytearray(data)
    head = list(_HEADER[bits].unpack_from(data, _IDENT))
    table, size, count, strings = head[5], *head[10:]
    rows = [list(_SECTION[bits].unpack_from(data, table + n * size)) for n in range(count)]
    names = bytearray(data[rows[strings][4] : rows[strings][4] + rows[strings][5]])
    for own, contents in added.items():
        rows.append([len(names), SHT_PROGBITS, 0, 0, len(out), len(contents), 0, 0, 1, 0])
        names += own.encode() + b"\0"
        out += contents
    rows[strings][4:6] = len(out), len(names)
    out += names
    out += bytes(-len(out) % 8)
    head[5], head[11] = len(out), len(rows)
    out[_IDENT : _IDENT + _HEADER[bits].size] = _HEADER[bits].pack(*head)
    return bytes(out) + b"".join(_SECTION[bits].pack(*row).ljust(size, b"\0") for row in rows)


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

    def elf(self, with_symbols: bool) -> Elf:
        bits = self.bits
        kind, machine, _, entry, _, table, flags, _, _, _, entry_size, count, strings = _HEADER[bits].unpack_from(
            self.data, _IDENT
        )
        if table + count * entry_size > len(self.data) or (count and entry_size < _SECTION[bits].size):
            raise ValueError("the section headers lie outside the file")
        rows = [_SECTION[bits].unpack_from(self.data, table + i * entry_size) for i in range(count)]
        self.check_sizes(rows)
        elf = Elf(kind, machine, bits, entry, flags, self.data[7], self.data[8])
        if rows and strings >= count:
            raise ValueError("there is no table of section names")
        names = self.contents(rows[strings]) if rows else b""
        for row in rows:
            name, section_type, section_flags, _, _, _, link, info, align, size = row
            elf.sections.append(
                Section(_text(names, name), section_type, self.contents(row), align, link, info, size, section_flags)
            )
        if with_symbols:
            self.symbols_and_relocations(elf)
        elf.sections = [s for s in elf.sections if s.type != SHT_NULL]
        return elf

    def symbols_and_relocations(self, found: Elf) -> None:
        """Read them out of the sections of a file."""
        tables: dict[int, list[ElfSymbol]] = {}
        for s in found.sections:
            if s.type == SHT_SYMTAB:
                symbols = tables[id(s)] = list(self.symbols(s, found.sections))
                found.symbols += [symbol for symbol in symbols if symbol.name]
        for s in found.sections:
            if s.type in (SHT_REL, SHT_RELA):
                found.relocations += self.relocations(s, found.sections, tables)

    def check_sizes(self, rows: list[tuple[int, ...]]) -> None:
        """Refuse sections that have more bytes together than the file, before any are copied."""
        empty = sum(row[5] for row in rows if row[1] == SHT_NOBITS)
        if empty > MAXIMUM_NOBITS:
            raise ValueError(f"sections without contents claim {empty} bytes, more than {MAXIMUM_NOBITS}")
        if sum(row[5] for row in rows if row[1] not in (SHT_NULL, SHT_NOBITS)) > len(self.data):
            raise ValueError("its sections lie outside the file or over each other")

    def contents(self, row: tuple[int, ...]) -> bytes:
        _, section_type, _, _, offset, size, *_ = row
        if section_type == SHT_NULL:
            return b""
        if section_type == SHT_NOBITS:
            return bytes(size)
        if offset + size > len(self.data):
            raise ValueError(f"a section of {size} bytes at {offset:#x} lies outside the file")
        return self.data[offset : offset + size]

    def symbols(self, table: Section, sections: list[Section]) -> Iterator[ElfSymbol]:
        strings, wide = _linked(table, sections).data, self.bits == 64
        names = [s.name for s in sections]
        if names:
            names[SHN_UNDEF] = ""
        for row in _rows(_SYMBOL[self.bits], table.data):
            name, info, _, where, value, size = row if wide else (row[0], row[3], row[4], row[5], row[1], row[2])
            if SHN_LORESERVE > where >= len(names):
                raise ValueError(f"a symbol is in section {where}, but there are {len(sections)}")
            section = names[where] if where < SHN_LORESERVE else "*"
            kind = info & 15
            binding = STB_LOCAL if info >> 4 == STB_LOCAL else STB_GLOBAL
            kind = kind if kind in (STT_FUNC, STT_OBJECT) else STT_NOTYPE
            yield ElfSymbol(_text(strings, name), value, size, kind, binding, section)

    def relocations(
        self, table: Section, sections: list[Section], tables: dict[int, list[ElfSymbol]]
    ) -> Iterator[Relocation]:
        """``tables``: symbols that were read already, by the identity of their section."""
        linked = _linked(table, sections)
        symbols = tables.get(id(linked)) or list(self.symbols(linked, sections))
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
