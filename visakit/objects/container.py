"""Objects and images: ELF64 files around a CISA module (design: docs/files.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.file_kinds import kind_of
from visakit.objects.elf import (
    EM_INTELGT,
    EM_NONE,
    ET_EXEC,
    ET_REL,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_NOTE,
    SHT_PROGBITS,
    Elf,
    ElfSymbol,
    Section,
    is_ctm,
    read_elf,
)

NOTE_OWNER, NOTE_PLATFORM = b"visakit\0", 1

VISA, LINES, INDEX, ZE_INFO, LAUNCH, NOTE = (
    ".visa",
    ".visa.lines",
    ".visa.index",
    ".ze_info",
    ".visa.launch",
    ".note.visakit",
)
DATA_PREFIX = ".visa.data."
COMPATIBILITY = ".note.intelgt.compat"
"""Section of every program binary of the compiler, also of one without kernels, which has no ze_info."""
OLDER_BINARY = "Intel(R) OpenCL Device Binary"
"""The section with the native code in binaries of compilers up to 2022, unless a zebin was requested."""
TEXTS_OPTION = "-cl-intel-emit-zebin-visa-sections"
"""The build option that puts vISA texts into program binaries."""
OLDER_BINARY_HINT = (
    "it is a program binary of the compiler's older format, which has no texts: compile again with: "
    f'ocloc compile ... --format zebin -internal_options "{TEXTS_OPTION}"'
)


@dataclass(eq=False, repr=False)
class Container:
    """The contents of an object or image."""

    executable: bool
    sections: dict[str, bytes] = field(default_factory=dict)
    symbols: list[ElfSymbol] = field(default_factory=list)
    platform: str = ""
    grf_size: int = 0

    def write(self) -> bytes:
        """The ELF file; the same contents give the same bytes."""
        elf = Elf(ET_EXEC if self.executable else ET_REL, EM_INTELGT, symbols=self.symbols)
        for name, data in self.sections.items():
            align = 16 if name.startswith((VISA, DATA_PREFIX)) else 1
            elf.sections.append(Section(name, SHT_PROGBITS, data, align, flags=_flags(name)))
        if self.platform:
            content = f"{self.platform} {self.grf_size}".encode() + b"\0"
            content += bytes(-len(content) % 4)
            note = struct.pack("<III", len(NOTE_OWNER), len(content), NOTE_PLATFORM) + NOTE_OWNER + content
            elf.sections.append(Section(NOTE, SHT_NOTE, note, 4))
        return elf.write()


def _flags(section: str) -> int:
    """Kinds of sections for tools for ELF files, such as nm and size: code, data, or neither."""
    if section == VISA:
        return SHF_ALLOC | SHF_EXECINSTR
    return SHF_ALLOC if section.startswith(DATA_PREFIX) else 0


def _bad(name: str, message: str, hint: str = "") -> FormatError:
    return FormatError(Diagnostic("C010", message, Span(name, 0), hint))


def read_container(data: bytes, name: str, with_symbols: bool = True) -> Container:
    """Parse an object or image written by these tools; ``with_symbols`` is false for users of the module alone.

    Raises:
        FormatError: it has another format, or is damaged.
    """
    elf = read_elf(data, name, with_symbols)
    if elf.machine not in (EM_INTELGT, EM_NONE) or elf.section(VISA) is None:
        names, hint = {s.name for s in elf.sections}, ""
        if ZE_INFO in names:
            hint = "it is a zebin: vdis prints the texts in it, vlink and vsim read it unchanged"
        elif COMPATIBILITY in names:
            hint = (
                "the compiler left nothing of the source: there is no kernel, and functions without one stay only with "
                "IGC_FunctionControl=4"
            )
        elif OLDER_BINARY in names:
            hint = OLDER_BINARY_HINT
        elif is_ctm(data):
            hint = "it is for the CTM target: vlink links its objects with each other, vsim runs its images"
        raise _bad(name, "this ELF file holds no vISA module (no section .visa)", hint)
    container = Container(elf.type == ET_EXEC, {}, elf.symbols)
    for section in elf.sections:
        if section.name == NOTE:
            words = section.data[12 + len(NOTE_OWNER) :].split(b"\0")[0].decode(errors="replace").split()
            if len(words) == 2 and words[1] in ("32", "64"):
                container.platform, container.grf_size = words[0], int(words[1])
        elif section.name in (VISA, LINES, ZE_INFO, LAUNCH) or section.name.startswith((DATA_PREFIX, ".visa.")):
            container.sections[section.name] = section.data
    return container


def module_bytes(data: bytes, name: str) -> bytes:
    """The CISA module of a bare ``.isa``, an object or an image.

    Raises:
        FormatError: the bytes have another format.
    """
    if data[:4] == b"CISA":
        return data
    if data[:4] == b"\x7fELF":
        return read_container(data, name).sections[VISA]
    what = "it is empty" if not data else "it begins with neither 'CISA' nor an ELF header"
    raise FormatError(not_taken("C010", "an object, an image nor a CISA module", data, name, what))


def not_taken(code: str, wanted: str, data: bytes, name: str, otherwise: str = "") -> Diagnostic:
    """The message about a file of another kind than expected: its kind, and the command that takes it.

    Args:
        wanted: follows "neither" in the message.
        otherwise: the message about a file of unknown kind.
    """
    kind = kind_of(name, data)
    if kind is None:
        return Diagnostic(code, f"this is neither {wanted}{otherwise and ': '}{otherwise}", Span(name, 0))
    return Diagnostic(code, f"this is {kind.title}, neither {wanted}", Span(name, 0), kind.cure)
