"""The command ``vasm``."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import replace

from visa.command import parser, platform_name, positive, run
from visa.diagnostics import QUIET, AssemblyError, Diagnostic, VisaError, did_you_mean
from visa.files import UsageError, read_text, report, write_bytes


def options() -> argparse.ArgumentParser:
    """The command line."""
    p = parser("vasm", "Assemble vISA text, or text for the CTM target.")
    p.add_argument("files", nargs="*", metavar="FILE", help="vISA texts, - for standard input")
    p.add_argument("-o", dest="output", metavar="FILE", help="output file, - for standard output")
    p.add_argument("--out-dir", metavar="DIR", help="directory for the outputs of several inputs")
    p.add_argument(
        "--emit", choices=("obj", "isa"), default="obj", help="an ELF object or bare CISA bytes (default: obj)"
    )
    p.add_argument("--platform", type=platform_name, metavar="NAME", help="check against this platform")
    p.add_argument("-g", dest="debug", action="store_true", help="keep source lines in the object")
    p.add_argument("-MD", dest="dependencies", action="store_true", help="write a make rule beside the output")
    p.add_argument("-MF", dest="dependency_file", metavar="FILE", help="name of the file with the make rule")
    p.add_argument("--listing", metavar="FILE", help="write offsets, bytes and source lines")
    p.add_argument(
        "--max-errors",
        type=positive,
        default=20,
        metavar="N",
        help="stop after this many errors in a file (default: 20)",
    )
    p.add_argument(
        "-W",
        dest="warnings",
        action="append",
        default=[],
        metavar="NAME",
        help="no-NAME silences a warning, NAME shows it, error=NAME makes it an error",
    )
    p.add_argument("--explain", metavar="CODE", help="print what a message means and exit")
    p.add_argument("--fatal-warnings", action="store_true", help="warnings are errors")
    return p


def vasm(given: argparse.Namespace) -> int:
    """Assemble every input; errors of all of them are reported together."""
    if given.explain:
        return _explain(given.explain)
    if not given.files:
        raise UsageError("there is no input; see vasm --help")
    silent, fatal = _warnings(given.warnings, given.fatal_warnings)
    if given.output and given.out_dir:
        raise UsageError("-o and --out-dir exclude each other")
    if given.output and len(given.files) > 1:
        raise UsageError("-o names one output, but there are several inputs; use --out-dir")
    found = [d for file in given.files for d in _assemble_file(file, given, silent, fatal)]
    if found or given.error_format in ("json", "sarif"):
        report(found, given.error_format, "vasm")
    return int(any(d.severity == "error" for d in found))


def _assemble_file(
    file: str, given: argparse.Namespace, silent: frozenset[str], fatal: frozenset[str]
) -> list[Diagnostic]:
    """Write the outputs of one input, if it has no errors; gives what there is to say about it."""
    bare = given.emit == "isa" or bool(given.output and given.output.endswith(".isa"))
    target = given.output or _target(file, given.out_dir, bare)
    found: list[Diagnostic] = []
    try:
        text = read_text(file)
        if is_ctm_text(file, text):
            from ctm.assembler import assemble

            write_bytes(target, assemble(text, file, given.max_errors).to_bytes())
            _make_rule(given, target, file)
            return found
        from vasm.assembler import assemble_text
        from visa.text.reader import line_reader

        assembly = assemble_text(text, file, given.platform, given.max_errors, silent)
        line_reader().keep()
        found = _judge(assembly.warnings, fatal)
        if any(d.severity == "error" for d in found):
            return found
        write_bytes(target, assembly.isa if bare else assembly.object_bytes(given.debug))
        if given.listing:
            from vasm.listing import listing_text

            write_bytes(given.listing, listing_text(assembly, text).encode())
        _make_rule(given, target, file)
    except AssemblyError as error:
        found = _judge(error.diagnostics, fatal)
    except UsageError:
        raise
    except VisaError as error:
        found += error.diagnostics
    return found


def is_ctm_text(file: str, text: str) -> bool:
    """Whether a text is for the CTM target: by its suffix, or because it says so."""
    return file.endswith(".ctm") or re.search(r"^\s*\.target\s+ctm\b", text, re.MULTILINE) is not None


def _make_rule(given: argparse.Namespace, target: str, file: str) -> None:
    if given.dependencies or given.dependency_file:
        write_bytes(given.dependency_file or os.path.splitext(target)[0] + ".d", f"{target}: {file}\n".encode())


def _explain(code: str) -> int:
    from visa.catalog import catalog, explain

    try:
        print(explain(code), end="")
    except KeyError:
        raise UsageError(
            f"there is no message '{code}'; {did_you_mean(code.upper(), catalog()) or 'see docs/errors.md'}"
        ) from None
    return 0


def _target(file: str, out_dir: str | None, bare: bool) -> str:
    stem = "a" if file == "-" else os.path.splitext(os.path.basename(file) if out_dir else file)[0]
    name = stem + (".isa" if bare else ".o")
    if out_dir:
        os.makedirs(out_dir, exist_ok=True)
        return os.path.join(out_dir, name)
    return "-" if file == "-" else name


def _warnings(options: list[str], all_fatal: bool) -> tuple[frozenset[str], frozenset[str]]:
    """Codes of the warnings that -W leaves silent, and of those that it makes errors."""
    if not options and not all_fatal:
        return QUIET, frozenset()
    from visa.catalog import warning_codes

    codes = warning_codes()
    silent, fatal = set(QUIET), set(codes.values()) if all_fatal else set()
    for option in options:
        name = option.removeprefix("no-").removeprefix("error=")
        if name not in codes:
            hint = did_you_mean(name, codes) or "they are " + ", ".join(n for n in codes if "-" in n)
            raise UsageError(f"-W {option}: there is no warning '{name}'; {hint}")
        (silent.add if option.startswith("no-") else silent.discard)(codes[name])
        if option.startswith("error="):
            fatal.add(codes[name])
    return frozenset(silent), frozenset(fatal)


def _judge(items: list[Diagnostic], fatal: frozenset[str]) -> list[Diagnostic]:
    """The diagnostics with fatal warnings as errors."""
    return [replace(d, severity="error") if d.code in fatal else d for d in items]


def main() -> None:
    """Entry point."""
    run("vasm", options(), vasm)
