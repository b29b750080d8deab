"""Functions of programs in files of all kinds, with their platforms and the compiler's data of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from visakit.diagnostics import (
    AssemblyError,
    Collector,
    CostError,
    Diagnostic,
    FileError,
    FormatError,
    LinkError,
    Span,
    did_you_mean,
)
from visakit.file_kinds import is_visa_text, source_language
from visakit.files import read_bytes
from visakit.language.platforms import Platform, find
from visakit.language.program import Function, Module
from vsim.cost.compiled import CompilerNumbers, beside, of_ze_info
from vsim.cost.folders import files_with_visa

_PLATFORM_WORD = "//Platform:"
_VOID_PROGRAM = "Intel_Symbol_Table_Void_Program"
"""The kernel without code that the compiler adds to programs with exported symbols."""


class CostedFunction(NamedTuple):
    """A kernel or function of a program."""

    function: Function
    platform: Platform
    file: str
    compiled: CompilerNumbers | None = None


def subjects(
    paths: Sequence[str], platform: str | None, build_options: str = "", problems: list[Diagnostic] | None = None
) -> list[CostedFunction]:
    """The kernels and functions of some files and folders.

    Args:
        platform: of texts that do not say theirs, the device of sources, which zebin of a container; None for none.
        problems: gets the errors of files in folders; without it they are raised.

    Raises:
        FileError: a file cannot be read.
        FormatError, AssemblyError, LinkError: a file has another format, is damaged, or has errors.
        CostError: Q002, no platform is known; Q003, there is nothing in a folder, or it shows the state of the system.
    """
    found: list[CostedFunction] = []
    own: list[Diagnostic] = [] if problems is None else problems
    for path in paths:
        if not os.path.isdir(path):
            found += _in_file(path, read_bytes(path), platform, build_options)
            continue
        inside = _without_copies([one for name in files_with_visa(path) for one in _in_folder(name, platform, own)])
        if problems is None and own:
            raise AssemblyError(own)
        if not inside and not own:
            hint = "dumps have vISA texts (.visaasm), or program binaries with vISA in them"
            raise CostError(Diagnostic("Q003", "no file in the folder has vISA", Span(path, 0), hint))
        found += inside
    return found


def _without_copies(found: Sequence[CostedFunction]) -> list[CostedFunction]:
    """Subjects without those of program binaries whose text is a dump of the same folder."""
    dumped = {(os.path.dirname(s.file), s.function.name) for s in found if s.file.endswith(".visaasm")}
    return [s for s in found if s.file.endswith(".visaasm") or (os.path.dirname(s.file), s.function.name) not in dumped]


def _in_folder(path: str, platform: str | None, problems: list[Diagnostic]) -> list[CostedFunction]:
    """The subjects of a file of a folder; none of native code without texts, and of files with errors, which go to
    ``problems``.
    """
    try:
        return _in_file(path, read_bytes(path), platform, "")
    except FormatError:
        return []
    except (AssemblyError, LinkError, CostError, FileError) as error:
        problems += error.diagnostics
        return []


def _is_binary(data: bytes) -> bool:
    """Whether bytes begin as an object, an image, a program binary or a module does."""
    return data[:4] in (b"\x7fELF", b"CISA") or data[:8] == b"!<arch>\n"


def _in_file(path: str, data: bytes, platform: str | None, build_options: str) -> list[CostedFunction]:
    if source_language(path, data):
        from vsim.sources.programs import loaded

        data = loaded(path, data, platform, build_options).data
    return of_program(path, data, platform)


def of_program(path: str, data: bytes, platform: str | None) -> list[CostedFunction]:
    """The kernels and functions of a program that is no source.

    Raises:
        FormatError, AssemblyError: it has another format, is damaged, or has errors.
        CostError: Q002, its platform is not known.
    """
    if is_visa_text(data) and not _is_binary(data):
        return _in_text(path, data.decode("utf-8", "replace"), platform, beside(path))
    if data[:4] == b"CISA":
        from visakit.binary import read_module

        return _of_module(read_module(data, path), path, _known(platform, path))
    from vsim.sources.zebins import is_compiled

    return _in_zebin(data, path, platform) if is_compiled(data) else _in_container(data, path, platform)


def _in_text(path: str, text: str, platform: str | None, compiled: CompilerNumbers | None) -> list[CostedFunction]:
    from visakit.text.parser import parse_module

    said = _said(text) or (compiled.platform if compiled else "")
    own = find(said) if said else None
    known = own if platform is None and own is not None else _known(platform, path)
    collector = Collector()
    module = parse_module(text, path, known.name, collector)
    if collector.error_count:
        raise AssemblyError([d for d in collector.items if d.severity == "error"])
    return _of_module(module, path, known, compiled)


def _said(text: str) -> str:
    """The platform that a compiler's text names in its last lines; empty if it does not."""
    at = text.rfind(_PLATFORM_WORD)
    return text[at + len(_PLATFORM_WORD) :].split("\n")[0].strip() if at >= 0 else ""


def _in_zebin(data: bytes, path: str, platform: str | None) -> list[CostedFunction]:
    from visakit.objects.image import parse_ze_info
    from visakit.objects.zebin import find_zebin, read_zebin, text_name

    wanted = find(platform) if platform else None
    found = find_zebin(data, path, wanted.name if wanted else None)
    zebin = read_zebin(*(found or (data, path)))
    tree = parse_ze_info(zebin.ze_info, zebin.name)
    rows: list[CostedFunction] = []
    for text in zebin.texts:
        compiled = of_ze_info(tree, text.name) if text.is_kernel else None
        rows += _in_text(text_name(zebin.name, text), text.text, zebin.platform or platform, compiled)
    return rows


def _in_container(data: bytes, path: str, platform: str | None) -> list[CostedFunction]:
    """The functions of an object or image."""
    from visakit.binary import read_module
    from visakit.objects.container import LINES, VISA, not_taken, read_container
    from visakit.objects.lines import read_lines

    if data[:4] != b"\x7fELF":
        raise FormatError(not_taken("C010", "a vISA text, an object, an image nor a program binary", data, path))
    container = read_container(data, path)
    module = read_module(container.sections[VISA], path)
    lines = read_lines(container.sections.get(LINES, b""), path)
    for function in module.all_functions:
        function.file, numbers = lines.get(function.name, ("", []))
        for i, line in zip(function.instructions, numbers, strict=False):
            i.line = line
    own = find(container.platform) if container.platform else None
    return _of_module(module, path, own or _known(platform, path))


def _of_module(
    module: Module, path: str, platform: Platform, compiled: CompilerNumbers | None = None
) -> list[CostedFunction]:
    return [
        CostedFunction(function, platform, path, compiled)
        for function in module.all_functions
        if function.name != _VOID_PROGRAM
    ]


def _known(platform: str | None, path: str) -> Platform:
    """The platform that is asked for.

    Raises:
        CostError: Q002, no such platform.
    """
    found = find(platform) if platform else None
    if found is None:
        message = "the file does not say its platform, so the size and the number of registers are unknown"
        raise CostError(Diagnostic("Q002", message, Span(path, 0), "name it with --platform NAME"))
    return found


def chosen(found: Sequence[CostedFunction], names: Sequence[str]) -> list[CostedFunction]:
    """The subjects of some names; all without names.

    Raises:
        CostError: Q003, there is no function of a name.
    """
    known = {s.function.name for s in found}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(sorted(known)) or 'none'}"
            raise CostError(Diagnostic("Q003", f"there is no kernel or function '{name}'", None, hint))
    return [s for s in found if s.function.name in names or not names]
