"""Files to text: the work of the command ``vdis``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vasm.annotation import Annotations
from visakit.diagnostics import Diagnostic, FormatError, Span, UsageError, VisaError, did_you_mean
from visakit.file_kinds import source_language
from visakit.files import check_outputs, make_directory, read_bytes, write_bytes
from visakit.language.program import Module
from visakit.language.source_lines import printable
from visakit.objects.elf import is_ctm
from visakit.objects.lines import Lines, read_lines
from visakit.usage import check_platform

MAXIMUM_STEM = 200
"""Characters of a kernel's name that the name of its file has; file systems have room for 255."""


class Printed(NamedTuple):
    """What of a file is shown, and how.

    Attributes:
        kernels: names of kernels and functions; empty for all.
        annotations: comments beside the text.
        keep_going: whether what can be read of a damaged file is shown.
        platform: the device of a source, None for the newest that the compiler knows; which zebin of a container is
            meant, None for the only one.
        build_options: options for the compiler of a source.
    """

    kernels: Sequence[str] = ()
    annotations: Annotations = Annotations()
    keep_going: bool = False
    platform: str | None = None
    build_options: str = ""


class Disassembly(NamedTuple):
    """The text of a file, its damage, and the names of all its kernels and functions."""

    text: str
    damage: list[Diagnostic]
    names: list[str]


def disassemble_files(paths: Sequence[str], selection: Printed) -> tuple[bytes, list[Diagnostic]]:
    """The texts of files one behind the other, with the name of each in front if there are several.

    A file that cannot be read does not stop the others.

    Returns:
        The text, and diagnostics.

    Raises:
        UsageError: an annotation does not go with a file.
    """
    texts, found = [], list[Diagnostic]()
    known: dict[str, None] = {}
    for path in paths:
        try:
            text, damage, names = disassemble_file(path, selection)
        except UsageError:
            raise
        except VisaError as error:
            found += error.diagnostics
            continue
        found += damage
        known |= dict.fromkeys(names)
        if text:
            texts.append(f"// {printable(path)}\n{text}" if len(paths) > 1 else text)
    if all(d.severity == "warning" for d in found):
        found += [_unknown(name, known, paths) for name in selection.kernels if name not in known]
    return "\n".join(texts).encode("utf-8", "surrogateescape"), found


def _unknown(name: str, known: Iterable[str], paths: Sequence[str]) -> Diagnostic:
    """What is said of a kernel or function that no file has."""
    hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
    message = f"there is no kernel or function '{name}'"
    return Diagnostic("C016", message, Span(_shown(paths[0]), 0) if len(paths) == 1 else None, hint)


def _shown(path: str) -> str:
    return "<stdin>" if path == "-" else path


def disassemble_file(path: str, selection: Printed) -> Disassembly:
    """Text of an object, an image or a bare module. Texts of a zebin are shown as the compiler wrote them.

    A source is compiled; the compiler's warnings join the damage.

    Raises:
        FormatError: the file is damaged, or the source does not compile.
        AssemblyError: the texts of a zebin, of which offsets or bytes are wanted, have errors.
        UsageError: something is wanted that text of the CTM target does not have.
    """
    name = _shown(path)
    data, damage = _compiled(read_bytes(path), name, selection)
    if is_ctm(data):
        from visakit.ctm import printer, program

        if selection.kernels or any(selection.annotations):
            raise UsageError(
                f"'{name}' is for the CTM target: --kernel, --offsets, --bytes and --source do not go with it"
            )
        return Disassembly(printer.print_module(program.read_module(data, name)), [], [])
    from visakit.objects.zebin import find_zebin, read_zebin

    zebin = find_zebin(data, name, check_platform(selection.platform))
    lines: Lines = {}
    if zebin is not None:
        found = read_zebin(*zebin)
        names = [t.name for t in found.texts]
        if not any(selection.annotations):
            return Disassembly(found.text(selection.kernels), damage, names)
        from vasm.assembler import assemble_text

        module = assemble_text(found.text(selection.kernels), name).module
    else:
        module, lines = _module_and_lines(data, name, damage if selection.keep_going else None)
        names = [f.name for f in module.all_functions]
    folders = ("", os.path.dirname(path))
    return Disassembly(_module_text(module, lines, folders, selection), damage, names)


def _compiled(data: bytes, name: str, selection: Printed) -> tuple[bytes, list[Diagnostic]]:
    """The compiler's program binary of a source, and its warnings; other files unchanged.

    Raises:
        FormatError: it does not compile.
        UsageError: there are build options, and the file is no source.
    """
    options = selection.build_options
    if source_language(name, data) is None:
        if options:
            raise UsageError(f"--build-options is for the compiler of a source; '{name}' is not a source")
        return data, []
    from visakit.compiler.ocloc import compile_source

    if selection.annotations.source and "-g" not in options.split():
        options = f"{options} -g".strip()  # The lines are in the text then.
    found = compile_source(name, data, selection.platform, options, None)
    return found.zebin, found.warnings


def _module_and_lines(data: bytes, name: str, damage: list[Diagnostic] | None) -> tuple[Module, Lines]:
    """The module in an object, an image or a bare file, and the source lines that an object has of it."""
    from visakit.binary import read_module
    from visakit.objects.container import LINES, module_bytes, read_container

    module = read_module(module_bytes(data, name), name, keep_going=damage)
    contents = read_container(data, name).sections.get(LINES, b"") if data[:4] == b"\x7fELF" else b""
    return module, read_lines(contents, name) if damage is None else {}


def _module_text(module: Module, lines: Lines, folders: Sequence[str], selection: Printed) -> str:
    """The text of the kernels and functions that are wanted; empty if a module has none of them."""
    if selection.kernels:
        kernels, functions = (
            [f for f in group if f.name in selection.kernels] for group in (module.kernels, module.functions)
        )
        if not kernels and not functions:
            return ""
        module = Module(module.version, kernels, functions)
    if any(selection.annotations):
        from vasm.annotation import annotated_text

        return annotated_text(module, selection.annotations, lines, folders, not selection.keep_going)
    from visakit.text.printer import print_module

    return print_module(module, strict=not selection.keep_going)


def split_file(path: str, directory: str, selection: Printed) -> list[Diagnostic]:
    """Write each text of a zebin, or of a compiled source, into its own file, and the ze_info.

    Returns:
        What the compiler warns of.

    Raises:
        FormatError: the file is no zebin, or damaged, or has no texts; the source does not compile.
        UsageError: a file would replace the input.
    """
    from visakit.objects.zebin import find_zebin, read_zebin

    name = _shown(path)
    data, warnings = _compiled(read_bytes(path), name, selection)
    found = find_zebin(data, name, check_platform(selection.platform))
    if found is None:
        message = "this is not a zebin, which has a text for each kernel and function"
        raise FormatError(Diagnostic("C010", message, Span(name, 0), "vdis prints objects and images without --split"))
    zebin = read_zebin(*found)
    files: dict[str, bytes] = {}
    for text in zebin.texts:
        stem = re.sub(r"[^\w.$-]|^\.", "_", text.name, flags=re.ASCII)[:MAXIMUM_STEM] or "_"
        number = 0
        while (file := f"{stem}.{number}.visaasm" if number else f"{stem}.visaasm") in files:
            number += 1
        files[file] = text.text.encode()
    files["ze_info.yaml"] = zebin.ze_info.encode()
    paths = [os.path.join(directory, file) for file in files]
    check_outputs(paths, [path])
    make_directory(directory)
    for target, contents in zip(paths, files.values(), strict=True):
        write_bytes(target, contents)
    return warnings
