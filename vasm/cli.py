"""The command ``vasm``."""

from typing import Annotated

import typer

from vasm.driver import AssemblyOptions, Emit, assemble_files, choose_warnings, write_template
from visakit.commands.command import (
    application,
    flag,
    max_errors_option,
    option,
    platform_option,
)
from visakit.commands.reporting import is_for_people, report
from visakit.diagnostics import MAXIMUM_ERRORS, UsageError
from visakit.usage import exclude

OUTPUT, MAKE, CHECKS, INLINE = "Output", "Rules for make", "Checks", "Inline assembly"
NEW = "A new kernel"
ARGUMENTS = "y:float*, x:float*, a:float"


def _warning_names() -> list[str]:
    from visakit.catalog import warning_codes

    names = [name for name in warning_codes() if "-" in name]
    return [prefix + name for prefix in ("", "no-", "error=") for name in names]


def _scan(files: list[str], platform: str | None, max_errors: int) -> int:
    """Check the inline assembly in sources of other languages."""
    from vasm.scan import scan_files

    result = scan_files(files, platform, max_errors)
    report(result.found)
    if is_for_people():
        left = f", {result.skipped} left out, which macros put together" if result.skipped else ""
        print(f"{result.checked} checked{left}, {len(result.found)} errors")
    return int(bool(result.found))


@application(
    (
        ("vasm kernel.visaasm --platform tgllp -g", "kernel.o, checked for Tiger Lake, with source lines"),
        ("vasm a.visaasm b.visaasm --out-dir build", "many files in one run"),
        ("vasm - -o kernel.isa < kernel.visaasm", "bare CISA bytes from standard input"),
        ("vasm kernel.visaasm -W error=out-of-bounds", "one kind of warning is an error"),
        ("vasm --scan gemm.cpp kernel.py", "check the inline assembly of other languages' sources"),
        ("vasm --new k.visaasm --platform bmg --args 'y:float*, a:float'", "a kernel to start from"),
        ("vasm --explain V010", "explain a message"),
    )
)
def app(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="Texts, - for standard input.")] = None,
    output: Annotated[str | None, option("-o", "FILE", "Output file, - for standard output.", OUTPUT)] = None,
    out_dir: Annotated[str | None, option("--out-dir", "DIR", "Directory for several outputs.", OUTPUT)] = None,
    emit: Annotated[
        Emit | None,
        option("--emit", None, "An ELF object or bare CISA bytes; else as -o ends: .isa for bytes.", OUTPUT),
    ] = None,
    debug: Annotated[bool, flag("-g", "Keep source lines in the object.", OUTPUT)] = False,
    listing: Annotated[str | None, option("--listing", "FILE", "Write offsets, bytes and lines.", OUTPUT)] = None,
    make_rule: Annotated[bool, flag("-MD", "Write a make rule beside the output.", MAKE)] = False,
    make_rule_file: Annotated[str | None, option("-MF", "FILE", "Write the make rule to this file.", MAKE)] = None,
    platform: Annotated[str | None, platform_option("Check against this platform.", CHECKS)] = None,
    inline: Annotated[
        bool, flag("--inline", "The texts are inline assembly, with %0 or $0 for operands.", INLINE)
    ] = False,
    scan: Annotated[bool, flag("--scan", "Check the inline assembly in C++, Python or LLVM IR.", INLINE)] = False,
    warnings: Annotated[
        list[str] | None,
        option(
            "-W",
            "NAME",
            "no-NAME silences a warning, NAME shows it, error=NAME makes it an error.",
            CHECKS,
            autocompletion=_warning_names,
        ),
    ] = None,
    fatal_warnings: Annotated[bool, flag("--fatal-warnings", "Warnings are errors.", CHECKS)] = False,
    new: Annotated[str | None, option("--new", "FILE", "Write a kernel to start from.", NEW)] = None,
    arguments: Annotated[
        str | None,
        option("--args", "LIST", f"Arguments of the new kernel: NAME:TYPE, NAME:TYPE* for arrays; {ARGUMENTS}.", NEW),
    ] = None,
    max_errors: Annotated[int | None, max_errors_option("in a file")] = None,
) -> int:
    """Assemble vISA text, or text for the CTM target."""
    of_assembly: dict[str, object] = {
        "-o": output, "--out-dir": out_dir, "--emit": emit, "-g": debug, "--listing": listing, "-MD": make_rule,
        "-MF": make_rule_file, "-W": warnings, "--fatal-warnings": fatal_warnings, "--inline": inline,
    }  # fmt: skip
    if new:
        exclude("--new", of_assembly | {"--scan": scan, "--max-errors": max_errors}, ", which writes a text")
        write_template(new, platform, arguments or ARGUMENTS, files or ())
        return 0
    if arguments is not None:
        raise UsageError("--args goes with --new")
    if not files:
        raise UsageError("there is no input; see vasm --help")
    most = max_errors or MAXIMUM_ERRORS
    if scan:
        exclude("--scan", of_assembly, ", which writes nothing")
        return _scan(files, platform, most)
    silent, fatal = choose_warnings(warnings or (), fatal_warnings)
    options = AssemblyOptions(
        output, out_dir, emit, platform, debug, make_rule, make_rule_file, listing, most, silent, fatal, inline
    )
    found = assemble_files(files, options)
    report(found)
    return int(any(d.severity == "error" for d in found))
