"""The command ``vasm``."""

from typing import Annotated

import typer

from vasm.driver import AssemblyOptions, Emit, assemble_files, choose_warnings, write_template
from visa.command import (
    DIAGNOSTICS,
    ErrorFormat,
    Explain,
    Json,
    ListPlatforms,
    Version,
    application,
    flag,
    option,
    platform_option,
    positive,
)
from visa.diagnostics import UsageError
from visa.reporting import is_for_people, report

OUTPUT, MAKE, CHECKS, INLINE = "Output", "Rules for make", "Checks", "Inline assembly"
NEW = "A new kernel"


def _warning_names() -> list[str]:
    from visa.catalog import warning_codes

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
        ("vasm --explain V010", "what a message means"),
    )
)
def app(
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="Texts, - for standard input.")] = None,
    output: Annotated[str | None, option("-o", "FILE", "Output file, - for standard output.", OUTPUT)] = None,
    out_dir: Annotated[str | None, option("--out-dir", "DIR", "Directory for several outputs.", OUTPUT)] = None,
    emit: Annotated[Emit, option("--emit", None, "An ELF object or bare CISA bytes.", OUTPUT)] = "obj",
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
        str, option("--args", "LIST", "Arguments of the new kernel: NAME:TYPE, NAME:TYPE* for arrays.", NEW)
    ] = "y:float*, x:float*, a:float",
    max_errors: Annotated[
        int, option("--max-errors", "N", "Errors in a file to stop after.", DIAGNOSTICS, parser=positive)
    ] = 20,
    explain: Explain = None,
    error_format: ErrorFormat = "human",
    as_json: Json = False,
    list_platforms: ListPlatforms = False,
    version: Version = False,
) -> int:
    """Assemble vISA text, or text for the CTM target."""
    if new:
        write_template(new, platform, arguments, files or ())
        return 0
    if not files:
        raise UsageError("there is no input; see vasm --help")
    if scan:
        return _scan(files, platform, max_errors)
    silent, fatal = choose_warnings(warnings or (), fatal_warnings)
    options = AssemblyOptions(
        output, out_dir, emit, platform, debug, make_rule, make_rule_file, listing, max_errors, silent, fatal, inline
    )
    found = assemble_files(files, options)
    report(found)
    return int(any(d.severity == "error" for d in found))
