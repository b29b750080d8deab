"""Files to files: the work of the command ``vasm``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from visakit.diagnostics import (
    MAXIMUM_ERRORS,
    QUIET,
    AssemblyError,
    Diagnostic,
    FileError,
    Span,
    UsageError,
    VisaError,
    did_you_mean,
)
from visakit.file_kinds import HEAD_BYTES, VISA_TEXT, kind_of
from visakit.files import check_outputs, make_directory, read_text, write_bytes, write_text
from visakit.usage import exclude

Emit = Literal["obj", "isa"]


class AssemblyOptions(NamedTuple):
    """How texts are assembled and which files are written; the defaults suit a plain assembly."""

    output: str | None = None
    out_dir: str | None = None
    emit: Emit | None = None
    """None for an object, unless the name of the output says otherwise."""
    platform: str | None = None
    debug: bool = False
    """Keep source lines in the object."""
    make_rule: bool = False
    """Write a make rule beside the output."""
    make_rule_file: str | None = None
    listing: str | None = None
    max_errors: int = MAXIMUM_ERRORS
    silent: frozenset[str] = QUIET
    """Codes of the warnings that are not reported."""
    fatal: frozenset[str] = frozenset()
    """Codes of the warnings that are errors."""
    inline: bool = False
    """The texts are inline assembly (:mod:`vasm.inline`)."""


def assemble_files(files: Sequence[str], options: AssemblyOptions) -> list[Diagnostic]:
    """Assemble every file and write its outputs, unless it has errors; gives what there is to say about all of them.

    Raises:
        UsageError: the options do not fit the files.
    """
    if options.output and options.out_dir:
        raise UsageError("-o and --out-dir exclude each other")
    if options.debug and _is_bare(options):
        raise UsageError("-g keeps source lines in an object; bare CISA bytes have no place for them")
    if options.output and len(files) > 1:
        raise UsageError("-o names one output, but there are several inputs; use --out-dir")
    # An object among the inputs would be its own output; that it is no text is the better message.
    texts = [file for file in files if options.output or _target(file, options) != file]
    check_outputs((path for file in files for path in _outputs(file, options)), texts)
    return [d for file in files for d in _assemble_file(file, options)]


def _assemble_file(file: str, options: AssemblyOptions) -> list[Diagnostic]:
    """Write the outputs of one input, if it has no errors; gives what there is to say about it."""
    found: list[Diagnostic] = []
    try:
        target = _target(file, options)
        if options.out_dir:
            make_directory(options.out_dir)
        text = read_text(file, VISA_TEXT)
        if not options.inline:
            _check_kind(file, text)
        check_outputs([target], [file])
        if is_ctm_text(file, text):
            from visakit.ctm.assembler import assemble
            from visakit.ctm.grammar import line_grammar

            _check_ctm(options)
            made = assemble(text, file, options.max_errors).to_bytes()
            line_grammar().keep()
            _write_make_rule(options, target, file)
            write_bytes(target, made)
            return found
        from vasm.assembler import assemble_text
        from visakit.text.reader import line_reader

        if options.inline:
            from vasm.inline import InlineText, StatementSource, own_snippet

            inline = InlineText(own_snippet(text), StatementSource(text, file))
            assembly = inline.assemble(options.platform, options.max_errors, options.silent)
        else:
            assembly = assemble_text(text, file, options.platform, options.max_errors, options.silent)
        line_reader().keep()
        found = _judge(assembly.warnings, options.fatal)
        if any(d.severity == "error" for d in found):
            return found
        if options.listing:
            from vasm.listing import listing_text

            write_text(options.listing, listing_text(assembly, text))
        _write_make_rule(options, target, file)
        # Last, so that it is not there where one of the others cannot be written.
        write_bytes(target, assembly.isa if _is_bare(options) else assembly.object_bytes(options.debug))
    except AssemblyError as error:
        found = _judge(error.diagnostics, options.fatal)
    except UsageError:
        raise
    except VisaError as error:
        found += error.diagnostics
    return found


def _check_kind(file: str, text: str) -> None:
    """Refuse texts in other languages, of which each line would be an error.

    Raises:
        FileError: F006, it is one.
    """
    kind = None if file.endswith(".ctm") else kind_of(file, text[:HEAD_BYTES].encode())
    if kind is not None and kind.title != VISA_TEXT:
        name = "<stdin>" if file == "-" else file
        raise FileError(Diagnostic("F006", f"this is {kind.title}, not {VISA_TEXT}", Span(name, 0), kind.cure))


def _check_ctm(options: AssemblyOptions) -> None:
    """Refuse what texts for the CTM target do not have.

    Raises:
        UsageError: it was asked for.
    """
    others: dict[str, object] = {"--emit isa": _is_bare(options), "--platform": options.platform, "-g": options.debug}
    others |= {"--listing": options.listing, "--inline": options.inline}
    exclude("texts for the CTM target", others)


def is_ctm_text(file: str, text: str) -> bool:
    """Whether a text is for the CTM target: by its suffix, or because it says so."""
    return file.endswith(".ctm") or (".target" in text and re.search(r"^\s*\.target\s+ctm\b", text, re.M) is not None)


def _write_make_rule(options: AssemblyOptions, target: str, file: str) -> None:
    path = _make_rule(options, target)
    if path:
        write_text(path, f"{target}: {file}\n")


def _make_rule(options: AssemblyOptions, target: str) -> str | None:
    """Where the rule for make goes; None if none is wanted."""
    beside = os.path.splitext(target)[0] + ".d" if options.make_rule else None
    return options.make_rule_file or beside


def _outputs(file: str, options: AssemblyOptions) -> list[str | None]:
    """What one input is made into."""
    target = _target(file, options)
    return [target, options.listing, _make_rule(options, target)]


def _is_bare(options: AssemblyOptions) -> bool:
    """Whether the output is the bytes of the module alone."""
    if options.emit is None:
        return bool(options.output and options.output.endswith(".isa"))
    return options.emit == "isa"


def _target(file: str, options: AssemblyOptions) -> str:
    """The output of one input."""
    if options.output:
        return options.output
    stem = "a" if file == "-" else os.path.splitext(os.path.basename(file) if options.out_dir else file)[0]
    name = stem + (".isa" if _is_bare(options) else ".o")
    if options.out_dir:
        return os.path.join(options.out_dir, name)
    return "-" if file == "-" else name


def write_template(path: str, platform: str | None, arguments: str, files: Sequence[str]) -> None:
    """Write a kernel to start from, and nothing over a file that is there.

    Args:
        platform: canonical name of the platform that it is for; Tiger Lake if missing.
        arguments: ``NAME:TYPE`` or ``NAME:TYPE*``, separated by commas.
        files: what else the command line names, which must be nothing.

    Raises:
        UsageError: the file exists, its name cannot name a kernel, or the arguments have another form.
    """
    from vasm.template import template

    if files:
        raise UsageError("--new writes a text and assembles none; give it without other files")
    if os.path.exists(path):
        raise UsageError(f"--new: '{path}' exists already")
    if not re.fullmatch(r"[A-Za-z_]\w*\.visaasm", os.path.basename(path), re.ASCII):
        raise UsageError("--new takes NAME.visaasm, the kernel being called NAME: letters, digits and underscores")
    write_text(path, template(path, platform or "tgllp", arguments))


def choose_warnings(choices: Iterable[str], all_fatal: bool) -> tuple[frozenset[str], frozenset[str]]:
    """Codes of the silenced warnings, and of the warnings that count as errors.

    A choice is ``no-NAME``, which silences a warning, ``NAME``, which shows it, or ``error=NAME``.

    Raises:
        UsageError: there is no such warning.
    """
    if not choices and not all_fatal:
        return QUIET, frozenset()
    from visakit.catalog import warning_codes

    codes = warning_codes()
    silent, fatal = set(QUIET), set(codes.values()) if all_fatal else set()
    for choice in choices:
        # Some names begin with no-, too.
        silenced = choice.startswith("no-") and choice not in codes
        name = choice.removeprefix("no-") if silenced else choice.removeprefix("error=")
        if name not in codes:
            hint = did_you_mean(name, codes) or "they are " + ", ".join(n for n in codes if "-" in n)
            hint = "--fatal-warnings makes errors of all" if name == "error" else hint
            raise UsageError(f"-W {choice}: there is no warning '{name}'; {hint}")
        (silent.add if silenced else silent.discard)(codes[name])
        if choice.startswith("error="):
            fatal.add(codes[name])
    return frozenset(silent), frozenset(fatal)


def _judge(items: list[Diagnostic], fatal: frozenset[str]) -> list[Diagnostic]:
    """The diagnostics with fatal warnings as errors."""
    return [replace(d, severity="error") if d.code in fatal else d for d in items]
