"""Files to text: what the command ``vdis`` does with its input."""

from __future__ import annotations

import os
import re

from visa.diagnostics import Diagnostic, FormatError, Span
from visa.elf import is_ctm
from visa.files import check_outputs, make_directory, read_bytes, write_bytes

MAXIMUM_STEM = 200
"""Characters of a kernel's name that the name of its file has; file systems have room for 255."""


def disassemble_file(
    path: str, keep_going: bool = False, platform: str | None = None
) -> tuple[bytes, list[Diagnostic]]:
    """Text of an object, an image or a bare module, and what is damaged in it if ``keep_going`` allows that.

    A zebin has its texts already.

    Args:
        platform: which zebin of a container is meant; None for the only one.

    Raises:
        FormatError: the file is damaged.
    """
    data, name = read_bytes(path), "<stdin>" if path == "-" else path
    if is_ctm(data):
        from ctm import printer, program

        return printer.print_module(program.read_module(data, name)).encode(), []
    from visa.cisa import read_module
    from visa.container import module_bytes
    from visa.text.printer import print_module
    from visa.zebin import find_zebin, read_zebin

    zebin = find_zebin(data, name, platform)
    if zebin is not None:
        return read_zebin(*zebin).text().encode(), []
    damage: list[Diagnostic] = []
    module = read_module(module_bytes(data, name), name, keep_going=damage if keep_going else None)
    return print_module(module, strict=not keep_going).encode("utf-8", "surrogateescape"), damage


def split_file(path: str, directory: str, platform: str | None = None) -> list[str]:
    """Write each text of a zebin into a file of its own, and the ze_info; the paths of the files.

    Args:
        platform: which zebin of a container is meant; None for the only one.

    Raises:
        FormatError: the file is no zebin, or damaged, or has no texts.
        UsageError: a file would replace the zebin.
    """
    from visa.zebin import find_zebin, read_zebin

    data, name = read_bytes(path), "<stdin>" if path == "-" else path
    found = find_zebin(data, name, platform)
    if found is None:
        message = "this is no zebin, which has a text for each kernel and function"
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
    return paths
