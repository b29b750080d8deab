"""Files to text: what the command ``vdis`` does with its input."""

from __future__ import annotations

from visa.diagnostics import Diagnostic
from visa.elf import is_ctm
from visa.files import read_bytes


def disassemble_file(path: str, keep_going: bool = False) -> tuple[bytes, list[Diagnostic]]:
    """Text of an object, an image or a bare module, and what is damaged in it if ``keep_going`` allows that.

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

    damage: list[Diagnostic] = []
    module = read_module(module_bytes(data, name), name, keep_going=damage if keep_going else None)
    return print_module(module, strict=not keep_going).encode("utf-8", "surrogateescape"), damage
