"""Objects and images: ELF64 files around a CISA module (design: docs/architecture.md, "Files").

Only what these files need of ELF is written here; reading goes through pyelftools.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass, field

from visa.diagnostics import Diagnostic, FormatError, Span

EM_INTELGT = 205
ET_REL, ET_EXEC = 1, 2
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOTE = 1, 2, 3, 7
SHF_ALLOC, SHF_EXECINSTR = 2, 4
STB_LOCAL, STB_GLOBAL = 0, 1
STT_NOTYPE, STT_OBJECT, STT_FUNC = 0, 1, 2
NOTE_OWNER, NOTE_PLATFORM = b"visakit\0", 1

VISA, LINES, ZE_INFO, LAUNCH, NOTE = ".visa", ".visa.lines", ".ze_info", ".visa.launch", ".note.visakit"
DATA_PREFIX = ".visa.data."


@dataclass
class Symbol:
    """An entry of the symbol table; ``section`` is a name, or empty for undefined and ``*`` for absolute."""

    name: str
    value: int = 0
    size: int = 0
    kind: int = STT_FUNC
    binding: int = STB_GLOBAL
    section: str = VISA


@dataclass
class Container:
    """The contents of an object or image."""

    executable: bool
    sections: dict[str, bytes] = field(default_factory=dict)
    symbols: list[Symbol] = field(default_factory=list)
    platform: str = ""
    grf_size: int = 0

    def write(self) -> bytes:
        """The ELF file; the same contents give the same bytes."""
        sections = dict(self.sections)
        if self.platform:
            content = f"{self.platform} {self.grf_size}".encode() + b"\0"
            content += bytes(-len(content) % 4)
            sections[NOTE] = struct.pack("<III", len(NOTE_OWNER), len(content), NOTE_PLATFORM) + NOTE_OWNER + content
        names = list(sections)
        numbers = {name: i + 1 for i, name in enumerate(names)}
        strings = bytearray(b"\0")

        def string(text: str) -> int:
            at = len(strings)
            strings.extend(text.encode("utf-8", "surrogateescape") + b"\0")
            return at

        ordered = sorted(self.symbols, key=lambda s: s.binding != STB_LOCAL)
        table = bytearray(24)
        for s in ordered:
            index = {"": 0, "*": 0xFFF1}.get(s.section) if s.section in ("", "*") else numbers[s.section]
            table += struct.pack("<IBBHQQ", string(s.name), s.binding << 4 | s.kind, 0, index or 0, s.value, s.size)
        first_global = 1 + sum(1 for s in ordered if s.binding == STB_LOCAL)
        section_names = bytearray(b"\0")
        headers = [bytes(64)]
        body = bytearray(64)

        def section(name: str, kind: int, flags: int, data: bytes, link: int = 0, info: int = 0, align: int = 1, entry: int = 0) -> None:
            body.extend(bytes(-len(body) % align))
            at = len(section_names)
            section_names.extend(name.encode() + b"\0")
            headers.append(struct.pack("<IIQQQQIIQQ", at, kind, flags, 0, len(body), len(data), link, info, align, entry))
            body.extend(data)

        for name in names:
            if name == NOTE:
                section(name, SHT_NOTE, 0, sections[name], align=4)
            else:
                section(name, SHT_PROGBITS, 0, sections[name], align=16 if name.startswith((VISA, DATA_PREFIX)) else 1)
        section(".symtab", SHT_SYMTAB, 0, bytes(table), len(names) + 2, first_global, 8, 24)
        section(".strtab", SHT_STRTAB, 0, bytes(strings))
        section_names_at = len(headers)
        at = len(section_names)
        section_names.extend(b".shstrtab\0")
        headers.append(struct.pack("<IIQQQQIIQQ", at, SHT_STRTAB, 0, 0, len(body), len(section_names), 0, 0, 1, 0))
        body.extend(section_names)
        body.extend(bytes(-len(body) % 8))
        start = len(body)
        ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
        body[:64] = ident + struct.pack(
            "<HHIQQQIHHHHHH", ET_EXEC if self.executable else ET_REL, EM_INTELGT, 1, 0, 0, start, 0, 64, 0, 0, 64, len(headers), section_names_at
        )
        return bytes(body) + b"".join(headers)


def _bad(name: str, message: str, hint: str = "") -> FormatError:
    return FormatError(Diagnostic("C010", message, Span(name, 0), hint))


def read_elf(data: bytes, name: str) -> tuple[int, int, dict[str, bytes], list[Symbol]]:
    """Type, machine, sections and symbols of any ELF file.

    Raises:
        FormatError: it is not an ELF file or it is damaged.
    """
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        elf = ELFFile(io.BytesIO(data))
        sections: dict[str, bytes] = {}
        symbols: list[Symbol] = []
        names: list[str] = []
        if elf["e_shoff"] + elf["e_shnum"] * 64 > len(data):
            raise ValueError("the section headers lie outside the file")
        for s in elf.iter_sections():
            names.append(s.name)
            if s["sh_type"] == "SHT_NOBITS":
                sections[s.name] = bytes(min(s["sh_size"], 1 << 32))
            elif s["sh_type"] != "SHT_NULL":
                if s["sh_offset"] + s["sh_size"] > len(data):
                    raise ValueError(f"section {s.name} lies outside the file")
                sections[s.name] = data[s["sh_offset"] : s["sh_offset"] + s["sh_size"]]
        for s in elf.iter_sections():
            if isinstance(s, SymbolTableSection):
                for e in s.iter_symbols():
                    if not e.name:
                        continue
                    where = e["st_shndx"]
                    section = "" if where == "SHN_UNDEF" else "*" if where == "SHN_ABS" else names[where] if isinstance(where, int) else "*"
                    kind = {"STT_FUNC": STT_FUNC, "STT_OBJECT": STT_OBJECT}.get(e["st_info"]["type"], STT_NOTYPE)
                    binding = STB_LOCAL if e["st_info"]["bind"] == "STB_LOCAL" else STB_GLOBAL
                    symbols.append(Symbol(e.name, e["st_value"], e["st_size"], kind, binding, section))
        (machine,) = struct.unpack_from("<H", data, 18)
        kind = {"ET_REL": ET_REL, "ET_EXEC": ET_EXEC}.get(elf.header["e_type"], 0)
    except FormatError:
        raise
    except Exception as error:  # pyelftools raises whatever the damage leads it to
        raise _bad(name, f"this is not a readable ELF file: {error}") from None
    return kind, machine, sections, symbols


def read_container(data: bytes, name: str) -> Container:
    """Parse an object or image written by these tools.

    Raises:
        FormatError: it is something else, or damaged.
    """
    kind, machine, sections, symbols = read_elf(data, name)
    if machine != EM_INTELGT or VISA not in sections:
        hint = "a zebin holds native code; its vISA comes from the compiler's text dumps" if any(s.startswith(".text.") for s in sections) else ""
        raise _bad(name, "this ELF file holds no vISA module (no section .visa)", hint)
    container = Container(kind == ET_EXEC, {}, symbols)
    for section, content in sections.items():
        if section == NOTE:
            words = content[12 + len(NOTE_OWNER) :].split(b"\0")[0].decode(errors="replace").split()
            if len(words) == 2 and words[1].isdigit():
                container.platform, container.grf_size = words[0], int(words[1])
        elif section in (VISA, LINES, ZE_INFO, LAUNCH) or section.startswith((DATA_PREFIX, ".visa.")):
            container.sections[section] = content
    return container


def module_bytes(data: bytes, name: str) -> bytes:
    """The CISA module of a bare ``.isa``, an object or an image.

    Raises:
        FormatError: the bytes are none of these.
    """
    if data[:4] == b"CISA":
        return data
    if data[:4] == b"\x7fELF":
        return read_container(data, name).sections[VISA]
    what = "it is empty" if not data else "it begins with neither 'CISA' nor an ELF header"
    raise _bad(name, f"this is neither an object, an image nor a CISA module: {what}")
