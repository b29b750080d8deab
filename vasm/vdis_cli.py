"""The command ``vdis``."""

from __future__ import annotations

from typing import Annotated

import typer

from visa.command import ErrorFormat, run, show_version
from visa.diagnostics import Diagnostic
from visa.files import read_bytes, report, write_bytes


def vdis(
    file: Annotated[str, typer.Argument(help="An object, an image or a bare .isa; - for standard input.")],
    output: Annotated[str, typer.Option("-o", help="Output file, - for standard output.")] = "-",
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Print what can be read of a damaged file.")] = False,
    error_format: Annotated[ErrorFormat, typer.Option(help="Style of diagnostics.")] = ErrorFormat.human,
    version: Annotated[bool, typer.Option("--version", callback=show_version("vdis"), is_eager=True, help="Show the version.")] = False,
) -> None:
    """Disassemble to text that assembles to the same bytes."""
    from visa.cisa import read_module
    from visa.container import module_bytes
    from visa.text.printer import print_module

    name = "<stdin>" if file == "-" else file
    data = read_bytes(file)
    damage: list[Diagnostic] = []
    module = read_module(module_bytes(data, name), name, keep_going=damage if keep_going else None)
    write_bytes(output, print_module(module).encode("utf-8", "surrogateescape"))
    if damage:
        report(damage, error_format, "vdis")
        raise typer.Exit(1)


def main() -> None:
    """Entry point."""
    run("vdis", vdis)
