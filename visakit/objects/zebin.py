"""Zebins: the compiler's program binaries, and the vISA texts in them.

With the option ``-cl-intel-emit-zebin-visa-sections`` the compiler puts the text of every kernel and function into the
sections ``.visaasm`` of the file, beside ``.ze_info`` and data (``ZEBinWriter/zebin/spec/elf.md`` of its public
sources). Several devices give an ``ar`` archive of zebins.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.language.platforms import find, of_architecture, of_core, of_product
from visakit.objects.archive import archive_members, is_archive
from visakit.objects.container import COMPATIBILITY, OLDER_BINARY, OLDER_BINARY_HINT, TEXTS_OPTION
from visakit.objects.elf import EM_INTELGT, ET_EXEC, Elf, Section, read_elf
from visakit.objects.image import ZeInfo, parse_ze_info
from visakit.objects.ze_info import ZeInfoError, kernel_info

OPTION = TEXTS_OPTION
SHT_VISAASM = 0xFF000013
_ZE_INFO, _TEXT, _SPIRV, _NOTES = ".ze_info", ".visaasm", ".spv", COMPATIBILITY
_NOTE_OWNER, _NOTE_PRODUCT, _NOTE_CORE, _NOTE_CONFIGURATION = b"IntelGT", 1, 2, 6
_HEAD = re.compile(r'^\.(kernel|global_function)[ \t]+"([^"\n]*)"', re.MULTILINE)
_SIMD = re.compile(r"^\.kernel_attr SimdSize=(\d{1,4})\b", re.MULTILINE)
_CM = re.compile(r"^\.kernel_attr Target=\"cm\"", re.MULTILINE)
_INPUT = re.compile(r"^\.input \S+ offset=(\d{1,9}) size=(\d{1,9})", re.MULTILINE)
_PLATFORM = re.compile(r"^//Platform: (\w+)", re.MULTILINE)


class ZebinText(NamedTuple):
    """The text of a kernel or function, with its name in it."""

    name: str
    is_kernel: bool
    text: str


@dataclass
class Zebin:
    """The vISA contents of a zebin.

    Attributes:
        name: the file's name in messages.
        texts: for each kernel its text, then those of the functions that were compiled with it.
        ze_info: the YAML.
        platform: the target; empty if the file does not say, or :mod:`visakit.language.platforms` does not have it.
    """

    name: str
    texts: list[ZebinText]
    ze_info: str
    platform: str

    def text(self, names: Sequence[str] = ()) -> str:
        """All texts as one, which assembles, or those of kernels and functions with these names."""
        return "\n".join(t.text.rstrip("\n") + "\n" for t in self.texts if not names or t.name in names)


def text_name(name: str, text: ZebinText) -> str:
    """What messages call a text of a zebin that has a name."""
    return f"{name}({text.name}.visaasm)"


def is_zebin(data: bytes) -> bool:
    """Whether bytes are a zebin, with texts or without."""
    elf = _compiled(data, _ZE_INFO)
    return elf is not None and elf.section(_ZE_INFO) is not None and elf.section(".visa") is None


def is_older_binary(data: bytes) -> bool:
    """Whether bytes are a program binary of the format that compilers wrote before zebins."""
    return data[:4] == b"\x7fELF" and OLDER_BINARY.encode() + b"\0" in data


def has_no_kernels(data: bytes) -> bool:
    """Whether bytes are the compiler's result for a source without a kernel: a zebin without ze_info."""
    elf = _compiled(data, _NOTES)
    return elf is not None and elf.section(_NOTES) is not None and not any(elf.section(s) for s in (_ZE_INFO, ".visa"))


def _compiled(data: bytes, section: str) -> Elf | None:
    """A file for Intel's GPUs that is no image and has the name of a section in it; None for other bytes."""
    if data[:5] != b"\x7fELF\2" or len(data) < 64 or section.encode() + b"\0" not in data:
        return None
    kind, machine = struct.unpack_from("<HH", data, 16)
    if kind == ET_EXEC or machine != EM_INTELGT:
        return None
    try:
        return read_elf(data, "")
    except FormatError:
        return None


def find_zebin(data: bytes, name: str, platform: str | None = None) -> tuple[bytes, str] | None:
    """A zebin, or the one for a platform out of the compiler driver's container of several; None for other bytes.

    Args:
        platform: the canonical name of the requested platform; None for any.

    Returns:
        The contents, and their name in messages.

    Raises:
        FormatError: no zebin is for that platform, or several are and none was requested; the archive is damaged, or of
            the format before zebins.
    """
    if not is_archive(data):
        return (data, name) if is_zebin(data) else None
    members = list(archive_members(data, name))
    zebins = [(contents, f"{name}({member})") for member, contents in members if is_zebin(contents)]
    if not zebins:
        if any(is_older_binary(contents) for _, contents in members):
            raise _bad(name, "C011", "this container holds native code and no vISA text", OLDER_BINARY_HINT)
        return None
    platforms = [_platform(read_elf(contents, member)) for contents, member in zebins]
    if platform is None and len(zebins) > 1:
        raise _no_choice(f"it holds programs for {len(zebins)} devices", platforms, name)
    for own, zebin in zip(platforms, zebins, strict=True):
        if platform in (None, own):
            return zebin
    raise _no_choice(f"it holds no program for {platform}", platforms, name)


def _no_choice(message: str, platforms: Sequence[str], name: str) -> FormatError:
    known = ", ".join(dict.fromkeys(p for p in platforms if p)) or "none of the platforms that the tools know"
    return _bad(name, "C013", message, f"choose one with --platform: {known}")


def read_zebin(data: bytes, name: str) -> Zebin:
    """The texts of a zebin, with the names of their kernels.

    Raises:
        FormatError: it is damaged, has no texts, or they do not fit its ze_info.
    """
    elf = read_elf(data, name)
    description = elf.section(_ZE_INFO)
    if description is None:
        raise _bad(name, "C011", "this ELF file is not a zebin: it has no section .ze_info")
    sections = [s.data for s in elf.sections if s.name == _TEXT or s.name.startswith(_TEXT + ".")]
    sections = sections or [s.data for s in elf.sections if s.type == SHT_VISAASM]
    if not sections:
        hint = f'compile again with: ocloc compile ... -internal_options "{OPTION}"'
        message = "this zebin holds native code, which cannot be disassembled, and no vISA text"
        raise _bad(name, "C011", message, hint)
    ze_info = description.data.decode("utf-8", "replace")
    texts = [_read_text(contents, name) for contents in sections]
    return Zebin(name, _named(texts, parse_ze_info(ze_info, name), name), ze_info, _platform(elf))


def _bad(name: str, code: str, message: str, hint: str = "") -> FormatError:
    return FormatError(Diagnostic(code, message, Span(name, 0), hint))


def _read_text(contents: bytes, name: str) -> ZebinText:
    """One section, under the compiler's name."""
    text = contents.rstrip(b"\0").decode("utf-8", "replace").replace("\r\n", "\n")
    head = _HEAD.search(text)
    if head is None:
        raise _bad(name, "C012", "a section .visaasm holds neither a kernel nor a function")
    return ZebinText(head[2], head[1] == "kernel", text)


def _kernels(tree: ZeInfo) -> list[str]:
    """Names of the kernels that ze_info describes."""
    return [str(k.get("name")) for k in tree.get("kernels") or [] if isinstance(k, dict)]


def _named(texts: list[ZebinText], tree: ZeInfo, name: str) -> list[ZebinText]:
    """The texts under the names that ze_info has: older compilers call every kernel ``kernel``, and keep the order."""
    described = _kernels(tree)
    written = [t.name for t in texts if t.is_kernel]
    if len(set(written)) == len(written) and set(written) <= set(described):
        return texts
    if len(written) != len(described):
        message = f"there are texts of {len(written)} kernels, and ze_info describes {len(described)}"
        raise _bad(name, "C012", message)
    names = iter(described)
    return [_renamed(t, next(names), tree, name) if t.is_kernel else t for t in texts]


def _renamed(text: ZebinText, kernel: str, tree: ZeInfo, name: str) -> ZebinText:
    """A kernel's text under its name in ze_info, if SIMD size and payload are those of ze_info."""
    simd = _SIMD.search(text.text)
    try:
        info = kernel_info(tree, kernel, int(simd[1]) if simd else 8)
    except ZeInfoError as error:
        raise _bad(name, "C012", f"ze_info of kernel '{kernel}': {error}") from None
    if info is not None and simd and not _CM.search(text.text) and int(simd[1]) != info.simd_size:
        message = f"the text in the place of kernel '{kernel}' is SIMD{simd[1]}, ze_info has SIMD{info.simd_size}"
        raise _bad(name, "C012", message)
    if info is not None:
        used = max((int(offset) + int(size) for offset, size in _INPUT.findall(text.text)), default=0)
        given = info.per_thread_size + max((p.offset + p.size for p in info.payload), default=0)
        # A register or two precede them; both parts are filled up to registers, of 64 bytes at most.
        if used > given + 4 * 64:
            message = f"the text in the place of kernel '{kernel}' reads {used} bytes of payload, ze_info has {given}"
            raise _bad(name, "C012", message)
    head = _HEAD.search(text.text)
    assert head is not None
    if '"' in kernel or not kernel.isprintable():
        raise _bad(name, "C012", f"{kernel!r:.80} is not the name of a kernel")
    return ZebinText(kernel, True, text.text[: head.start(2)] + kernel + text.text[head.end(2) :])


def with_text(data: bytes, name: str, text: bytes, kernel: str) -> bytes:
    """A zebin with a vISA text in place of its native code and of the texts that it has.

    Args:
        kernel: the name of the kernel in the text, if it is the only one there and ze_info has no such name: compilers
            call it ``kernel`` in some of their dumps.

    Raises:
        FormatError: it is damaged.
    """
    elf = read_elf(data, name)
    info = elf.section(_ZE_INFO)
    described = _kernels(parse_ze_info(info.data.decode("utf-8", "replace"), name)) if info else []
    heads = [h for h in _HEAD.finditer(text.decode("utf-8", "replace")) if h[1] == "kernel"]
    if len(heads) == 1 and heads[0][2] not in described:
        text = text.replace(heads[0][0].encode(), f'.kernel "{kernel}"'.encode(), 1)
    return _with_sections(elf, [text])


def with_texts(data: bytes, name: str, texts: Sequence[bytes]) -> bytes:
    """A zebin with vISA texts in place of its native code and of the texts that it has.

    Raises:
        FormatError: it is damaged.
    """
    return _with_sections(read_elf(data, name), texts)


def _with_sections(elf: Elf, texts: Sequence[bytes]) -> bytes:
    """The bytes of a zebin whose only code is some texts."""
    dropped = (".rel", ".text", ".symtab", ".strtab", ".shstrtab", _TEXT)
    elf.sections = [s for s in elf.sections if not s.name.startswith(dropped)]
    names = {s.name for s in elf.sections}
    elf.symbols = [s for s in elf.symbols if s.section in names]
    known = {s.name for s in elf.symbols}
    elf.relocations = [r for r in elf.relocations if r.section in names and r.symbol in known]
    elf.sections += [Section(f"{_TEXT}.{n}" if n else _TEXT, SHT_VISAASM, text) for n, text in enumerate(texts)]
    for section in elf.sections:
        section.align = max(section.align, 1)
    return elf.write()


def spirv_of(data: bytes) -> bytes:
    """The SPIR-V that a zebin was compiled from; nothing where it does not hold it."""
    elf = _compiled(data, _SPIRV)
    section = elf.section(_SPIRV) if elf else None
    return section.data if section else b""


def platform_of(data: bytes, name: str) -> str:
    """The platform of a zebin, with texts or without; empty for other bytes, and where it does not tell.

    Raises:
        FormatError: it is damaged.
    """
    return _platform(read_elf(data, name)) if is_zebin(data) else ""


def _platform(elf: Elf) -> str:
    """The platform in the notes of a zebin, else in a text."""
    notes = {kind: value for s in elf.sections if s.name == _NOTES for kind, value in _notes(s.data)}
    platform = None
    if len(configuration := notes.get(_NOTE_CONFIGURATION, b"")) == 4:
        (word,) = struct.unpack("<I", configuration)
        platform = of_architecture(word >> 22, word >> 14 & 0xFF)
    for s in elf.sections:
        if platform is None and s.name.startswith(_TEXT):
            said = _PLATFORM.search(s.data.decode("utf-8", "replace"))
            platform = find(said[1]) if said else None
    for kind, of_family in ((_NOTE_PRODUCT, of_product), (_NOTE_CORE, of_core)):
        if platform is None and len(family := notes.get(kind, b"")) == 4:
            platform = of_family(struct.unpack("<I", family)[0])
    return platform.name if platform else ""


def _notes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kinds and contents of the compiler's notes in a section, up to the first damaged one."""
    position = 0
    while position + 12 <= len(data):
        owner_size, size, kind = struct.unpack_from("<III", data, position)
        start = position + 12 + (owner_size + 3) // 4 * 4
        if data[position + 12 : position + 12 + owner_size].rstrip(b"\0") == _NOTE_OWNER:
            yield kind, data[start : start + size]
        position = start + (size + 3) // 4 * 4
