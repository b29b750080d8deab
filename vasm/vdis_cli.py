"""The command ``vdis``."""

from __future__ import annotations

import argparse

from visa.command import parser, run
from visa.diagnostics import Diagnostic
from visa.elf import is_ctm
from visa.files import read_bytes, report, write_bytes


def options() -> argparse.ArgumentParser:
    """The command line."""
    p = parser("vdis", "Disassemble to text that assembles to the same bytes.")
    p.add_argument("file", help="an object, an image or a bare .isa; - for standard input")
    p.add_argument(
        "-o", dest="output", metavar="FILE", default="-", help="output file, - for standard output (default: -)"
    )
    p.add_argument("--keep-going", action="store_true", help="print what can be read of a damaged file")
    return p


def vdis(given: argparse.Namespace) -> int:
    """Disassemble one file."""
    name = "<stdin>" if given.file == "-" else given.file
    data = read_bytes(given.file)
    if is_ctm(data):
        from ctm import printer, program

        write_bytes(given.output, printer.print_module(program.read_module(data, name)).encode())
        return 0
    from visa.cisa import read_module
    from visa.container import module_bytes
    from visa.text.printer import print_module

    damage: list[Diagnostic] = []
    module = read_module(module_bytes(data, name), name, keep_going=damage if given.keep_going else None)
    write_bytes(given.output, print_module(module).encode("utf-8", "surrogateescape"))
    if damage:
        report(damage, given.error_format, "vdis")
    return 1 if damage else 0


def main() -> None:
    """Entry point."""
    run("vdis", options(), vdis)
