"""The command ``vasm``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from visa.command import ErrorFormat, platform_name, run, show_version
from visa.diagnostics import AssemblyError, Collector, Diagnostic, VisaError
from visa.files import UsageError, read_text, report, write_bytes


def vasm(
    files: Annotated[list[str], typer.Argument(help="vISA texts, - for standard input.", show_default=False)],
    output: Annotated[str | None, typer.Option("-o", help="Output file, - for standard output.")] = None,
    out_dir: Annotated[str | None, typer.Option(help="Directory for the outputs of several inputs.")] = None,
    emit: Annotated[str, typer.Option(help="obj (an ELF object) or isa (bare CISA bytes).")] = "obj",
    platform: Annotated[str | None, typer.Option(callback=platform_name, help="Check against this platform.")] = None,
    debug: Annotated[bool, typer.Option("-g", help="Keep source lines in the object.")] = False,
    dependencies: Annotated[bool, typer.Option("-MD", help="Write a make rule beside the output.")] = False,
    dependency_file: Annotated[str | None, typer.Option("-MF", help="Name of the file with the make rule.")] = None,
    listing: Annotated[str | None, typer.Option(help="Write offsets, bytes and source lines.")] = None,
    error_format: Annotated[ErrorFormat, typer.Option(help="Style of diagnostics.")] = ErrorFormat.human,
    max_errors: Annotated[int, typer.Option(min=1, help="Stop after this many errors in a file.")] = 20,
    warning: Annotated[list[str] | None, typer.Option("-W", help="no-NAME silences a warning, NAME shows it, error=NAME makes it an error.")] = None,
    fatal_warnings: Annotated[bool, typer.Option("--fatal-warnings", help="Warnings are errors.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=show_version("vasm"), is_eager=True, help="Show the version.")] = False,
) -> None:
    """Assemble vISA text."""
    if emit not in ("obj", "isa"):
        raise UsageError("--emit takes obj or isa")
    if output and out_dir:
        raise UsageError("-o and --out-dir exclude each other")
    if output and len(files) > 1:
        raise UsageError("-o names one output, but there are several inputs; use --out-dir")
    bare = emit == "isa" or bool(output and output.endswith(".isa"))
    found: list[Diagnostic] = []
    failed = False
    for file in files:
        target = output or _target(file, out_dir, bare)
        try:
            text = read_text(file)
            from vasm.assembler import assemble_text

            assembly = assemble_text(text, file, platform, max_errors)
            kept = _select(assembly.warnings, warning or [], fatal_warnings)
            found += kept
            if any(d.severity == "error" for d in kept):
                failed = True
                continue
            write_bytes(target, assembly.isa if bare else assembly.object_bytes(debug))
            if listing:
                from vasm.listing import listing_text

                write_bytes(listing, listing_text(assembly, text).encode())
            if dependencies or dependency_file:
                rule = f"{target}: {file}\n"
                write_bytes(dependency_file or os.path.splitext(target)[0] + ".d", rule.encode())
        except AssemblyError as error:
            failed = True
            found += _select(error.diagnostics, warning or [], fatal_warnings)
        except VisaError as error:
            failed = True
            found += error.diagnostics
    if found or error_format in ("json", "sarif"):
        report(found, error_format, "vasm")
    if failed:
        raise typer.Exit(1)


def _target(file: str, out_dir: str | None, bare: bool) -> str:
    stem = "a" if file == "-" else os.path.splitext(os.path.basename(file) if out_dir else file)[0]
    name = stem + (".isa" if bare else ".o")
    if out_dir:
        os.makedirs(out_dir, exist_ok=True)
        return os.path.join(out_dir, name)
    return "-" if file == "-" else name


def _select(items: list[Diagnostic], options: list[str], fatal: bool) -> list[Diagnostic]:
    """Apply -W to the warnings."""
    silenced = {o.removeprefix("no-") for o in options if o.startswith("no-")}
    fatal_names = {o.removeprefix("error=") for o in options if o.startswith("error=")}
    kept = Collector(1 << 30)
    for d in items:
        if d.severity == "warning":
            if d.code in silenced:
                continue
            if fatal or d.code in fatal_names:
                d = Diagnostic(d.code, d.message, d.span, d.hint, d.labels, "error")
        kept.add(d)
    return kept.items


def main() -> None:
    """Entry point."""
    run("vasm", vasm)
