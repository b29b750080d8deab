"""OpenCL C, SPIR-V and LLVM IR to program binaries, by Intel's compiler driver ``ocloc`` in another process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from visakit import object_cache
from visakit.compiler import allocation, vector
from visakit.compiler.devices import DRIVER_SETTING, compiler_driver, known_devices, preferred_device
from visakit.compiler.includes import FOLDER, Place, Unknown, folders_of, texts_behind
from visakit.compiler.process import SERVICE, identity, run_once, variables
from visakit.diagnostics import Diagnostic, FormatError, Label, Span
from visakit.file_kinds import SPIRV, SourceLanguage, source_language
from visakit.long_work import long_work
from visakit.objects.zebin import OPTION
from visakit.usage import check_argument

_INPUT_OPTIONS: dict[SourceLanguage, list[str]] = {
    "cl": [], "spv": ["-spirv_input"], "bc": ["-llvm_input"], "ll": ["-llvm_input"],
}  # fmt: skip
_DEVICES = {
    "dg2": "acm-g10", "xehp": "xe-hp", "icl": "icllp", "tgl": "tgllp", "adl": "adl-s", "rpl": "rpl-s", "arl": "arl-h",
    "acm": "acm-g10", "ats-m": "ats-m150", "lnl": "lnl-m",
}  # fmt: skip
"""Names that not every version of the driver knows, or none, and those of devices that they mean."""
_LINE = re.compile(r"^(.+?):(\d{1,9}):(\d{1,9}): (fatal error|error|warning|note): (.+)$")
_BARE = re.compile(r"^(?:fatal )?(error|warning): (.+)$")
_FAILED = "backend compiler failed build."
_UNKNOWN_DEVICE = re.compile(r"Cannot get HW Info for device|Could not determine device target", re.IGNORECASE)
RELEASES = "https://github.com/intel/compute-runtime/releases"
_NO_BITCODE = "does not look like llvm bitcode"
EMPTY = b"\n"
"""A source without contents as the driver reads it: it takes an empty file for a missing one."""
_CHATTER = ("Command was: ", "Build failed with error code: ", "Compilation from IR", "Build succeeded")
"""Beginnings of the driver's lines that are not about the source."""


class Compiled(NamedTuple):
    """The result of a build: a zebin, and the compiler's warnings."""

    zebin: bytes
    warnings: list[Diagnostic]


def with_lines(options: str, language: SourceLanguage | None) -> str:
    """Build options with ``-g`` for OpenCL C, so that instructions have the lines of their source."""
    return options if language != "cl" or "-g" in options.split() else f"{options} -g".strip()


def compile_source(
    path: str,
    data: bytes,
    device: str | None,
    options: str,
    max_seconds: float | None,
    meanwhile: Callable[[], None] | None = None,
) -> Compiled:
    """The zebin of a source for a device, with vISA texts.

    Builds without warnings go to the user's cache, if all their headers are known.

    Args:
        device: a platform, or a device in the compiler's words; None for the newest that the compiler knows.
        options: build options, as ``clBuildProgram`` takes them.
        max_seconds: when to give up; None for never.
        meanwhile: what else can be done while the compiler runs, in another thread.

    Raises:
        FormatError: the compiler is missing, does not know the device, or finds errors in the source.
        UsageError: the options are no argument of a program.
    """
    check_argument(options, "build options")
    driver = compiler_driver()
    if driver is None:
        named = os.environ.get(DRIVER_SETTING)
        if named:
            raise _failed("C014", f"there is no compiler driver '{named}', which {DRIVER_SETTING} names", path)
        hint = "Debian and Ubuntu have it as intel-ocloc; or compile elsewhere and run the zebin"
        raise _failed("C014", "the compiler driver ocloc is not installed", path, hint)
    device = (device or preferred_device()).lower()
    device = _DEVICES.get(device, device)
    language = source_language(path, data) or "cl"
    options = _with_source_name(options, path, language)
    if language == "cl" and vector.OPTION not in options.split():
        options = allocation.options(options)
    name = ""
    behind = dependencies(data, options, [os.path.dirname(os.path.abspath(path))]) if language == "cl" else []
    if behind is not None:
        name = object_cache.key(data, language, device, options, variables(), *identity(driver), *behind)
        kept = object_cache.load(name)
        if kept is not None:
            return Compiled(kept, [])
    loading = threading.Thread(target=meanwhile, daemon=True) if meanwhile is not None else None
    if loading is not None:
        loading.start()
    with long_work(f"compiling {path} for {device}"):
        compiled = _run(driver, path, data, device, options, max_seconds)
    if loading is not None:
        loading.join()  # It holds locks of modules, which a fork would keep for ever.
    if name and not compiled.warnings:
        object_cache.save(name, compiled.zebin)
    return compiled


def dependencies(source: bytes, options: str, places: Sequence[Place]) -> list[str | bytes] | None:
    """Headers that the compiler reads besides the source; None if they cannot be determined.

    Args:
        places: folders of headers, which follow those of the options.
    """
    if source.startswith(SPIRV):
        return []
    try:
        searched: list[Place] = [*folders_of(options), *places]
        headers = texts_behind(source, searched)
    except Unknown:
        return None
    return [*headers, *(place for place in searched if isinstance(place, str))] if headers else []


def _with_source_name(options: str, path: str, language: SourceLanguage) -> str:
    """Build options that make the compiler note the path of the source in its line tables (``-g``)."""
    words, place = options.split(), os.path.abspath(path)
    if "-g" not in words or "-s" in words or '"' in place or language != "cl":
        return options
    return f'{options} -s "{place}"'


def _failed(code: str, message: str, path: str, hint: str = "") -> FormatError:
    return FormatError(Diagnostic(code, message, Span(path, 0), hint))


def _folder(place: str) -> str:
    """The option that has a folder searched for includes; none for one that the driver's options cannot name."""
    return "" if '"' in place else f'-I "{place}"' if " " in place else f"-I {place}"


def _from_here(option: re.Match[str]) -> str:
    """The same with a folder that is named from the working directory of the user, where the driver does not run."""
    return _folder(os.path.abspath(option[1] or option[2])) or option[0]


def _words(path: str, language: SourceLanguage, device: str, options: str) -> list[str]:
    """The driver's options: it runs beside a copy of the source, and looks up headers beside the original."""
    words = ["compile", "-file", f"source.{language}", "-device", device, "--format", "zebin"]
    words += ["-internal_options", OPTION, "-output", "program", "-output_no_suffix", *_INPUT_OPTIONS[language]]
    if language == "cl":
        folder = os.path.dirname(os.path.abspath(path))
        options = f"{FOLDER.sub(_from_here, options)} {_folder(folder)}".strip()
    return [*words, *(["-options", options] if options else [])]


def _run(driver: str, path: str, data: bytes, device: str, options: str, max_seconds: float | None) -> Compiled:
    """One run of the driver in a new folder: it leaves files in its working directory."""
    with tempfile.TemporaryDirectory(prefix="visakit-") as folder:
        language = source_language(path, data) or "cl"
        is_vector = vector.is_vector(language, data) or vector.OPTION in options.split()
        try:
            if language == "ll":
                language, data = _as_bitcode(path, data, folder, max_seconds)
            words = _words(path, language, device, vector.options(options) if is_vector else options)
            Path(folder, words[2]).write_bytes(data or EMPTY)
            if max_seconds is None:
                code, output = SERVICE.run(driver, words, folder)
            else:
                code, output = run_once(driver, words, folder, max_seconds)
        except subprocess.TimeoutExpired:
            raise _failed("C015", f"the compiler took more than {max_seconds:g} seconds", path) from None
        except OSError as error:
            raise _failed("C014", f"the compiler driver cannot be run: {error.strerror}", path) from None
        items = list(said(output, path))
        program = next((p for n in ("program.bin", "program") if (p := Path(folder, n)).is_file()), None)
        if code or program is None:
            errors = [d for d in items if d.severity == "error"]
            if errors:
                raise FormatError(errors)
            raise _no_program(path, words[2], device, output, code)
        zebin = allocation.with_allocations(program.read_bytes(), folder)
        return Compiled(
            vector.with_its_texts(zebin, folder) if is_vector else zebin,
            [d for d in items if d.severity == "warning"],
        )


def _as_bitcode(path: str, text: bytes, folder: str, max_seconds: float | None) -> tuple[SourceLanguage, bytes]:
    """A text of LLVM IR as bitcode; the text where no ``llvm-as`` is installed, as the driver may take it.

    Raises:
        FormatError: no ``llvm-as`` reads it.
    """
    file = Path(folder, "source.ll")
    file.write_bytes(text)
    made, output = vector.bitcode(file, max_seconds)
    if made is not None:
        return "bc", made
    if errors := [d for d in said(output.replace("source.ll", path), path) if d.severity == "error"]:
        raise FormatError(errors)
    return "ll", text


def said(output: str, path: str) -> Iterator[Diagnostic]:
    """The errors and warnings in the compiler's output, each with its notes; a number is the source itself.

    Messages of later phases have no place, but sometimes the kernel's name on a separate line. Lines that only report
    the failure are dropped if another line gives the reason.
    """
    diagnostics: list[Diagnostic] = []
    lines = output.splitlines()
    for line, following in zip(lines, [*lines, ""][1:], strict=True):
        if match := _LINE.match(line):
            file, row, column, kind, message = match.groups()
            excerpt = "" if _LINE.match(following) else following
            place = Span(path if file.isdigit() or file == "source.cl" else file, int(row), int(column), text=excerpt)
            if kind != "note":
                diagnostics.append(_diagnostic(kind, message, place))
            elif diagnostics:
                diagnostics[-1] = replace(diagnostics[-1], labels=(*diagnostics[-1].labels, Label(place, message)))
        elif match := _BARE.match(line):
            more = following.strip() if following.startswith(("in kernel", "near line")) else ""
            message = f"{match[2].rstrip(':')}{', ' if more else ''}{more}"
            hint = f"vasm --scan {path} shows its place" if "inline assembly" in message else ""
            diagnostics.append(_diagnostic(match[1], message, Span(path, 0), hint))
    reasons = [d for d in diagnostics if d.message != _FAILED]
    yield from dict.fromkeys(reasons if any(d.severity == "error" for d in reasons) else diagnostics)


def _diagnostic(kind: str, message: str, place: Span, hint: str = "") -> Diagnostic:
    is_error = kind != "warning"
    return Diagnostic("C015" if is_error else "U003", message, place, hint, severity="error" if is_error else "warning")


def _no_program(path: str, file: str, device: str, output: str, code: int) -> FormatError:
    """The reason of a failed build, in the driver's output besides errors of the source."""
    if _UNKNOWN_DEVICE.search(output):
        known = ", ".join(known_devices())
        hint = f"it knows {known}; newer ones: {RELEASES}" if known else f"a newer one may know it: {RELEASES}"
        return _failed("C017", f"the installed ocloc does not compile for the device '{device}'", path, hint)
    if file.endswith(".ll") and _NO_BITCODE in output:
        hint = "llvm-as makes bitcode of it, which vsim and vdis take; its version of LLVM is that of the compiler"
        return _failed("C015", "the installed ocloc takes LLVM's bitcode, and not its text", path, hint)
    lines = [line.strip() for line in output.splitlines()]
    reasons = [line.removeprefix("Error: ") for line in lines if line and not line.startswith(_CHATTER)]
    if code < 0:
        name = next((s.name for s in signal.Signals if s == -code), f"signal {-code}")
        message = f"the compiler failed with {name}" + (f" and said: {reasons[-1]}" if reasons else "")
        hint = f"this is a fault of the compiler: -cl-opt-disable, another device or a newer one may help: {RELEASES}"
        return _failed("C015", message, path, hint)
    message = f"the compiler says: {reasons[0]}" if reasons else f"the compiler gives no reason, and ended with {code}"
    return _failed("C015", message, path)
