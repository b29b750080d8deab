"""The compiler driver as programs need it: whole programs, and objects that are linked later.

An object is SPIR-V, a library LLVM's bitcode; a program linked of them goes through the compiler's second half.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from visakit import object_cache
from visakit.compiler.ocloc import EMPTY, compile_source, dependencies, said, with_lines
from visakit.compiler.process import SERVICE, identity, variables
from visakit.diagnostics import Diagnostic, VisaError, printable, render
from visakit.file_kinds import BITCODE, SPIRV
from visakit.objects.zebin import OPTION
from visakit.runtime.device import Device, compiler
from visakit.runtime.settings import keeps_lines

ARGUMENT_INFORMATION = "-cl-kernel-arg-info"
UNKNOWN_OPTIONS = "Unrecognized build options"
_LINK_OPTIONS = ("-create-library", "-enable-link-options")


class Made(NamedTuple):
    """The compiler's result: bytes, empty if it found errors, and its log."""

    data: bytes
    log: str

    @property
    def has_unknown_options(self) -> bool:
        """Whether the compiler was given an unknown option."""
        return not self.data and UNKNOWN_OPTIONS in self.log


def log_of(items: Sequence[Diagnostic]) -> str:
    """Diagnostics as a log shows them."""
    return render(items) + "\n" if items else ""


def whole_program(name: str, source: bytes, device: Device, options: str) -> Made:
    """A zebin of OpenCL C or SPIR-V."""
    try:
        words = f"{absolute_includes(_with_lines(options, source))} {ARGUMENT_INFORMATION}"
        made = compile_source(name, source, device.model.device, words, None)
    except VisaError as error:
        return Made(b"", log_of(error.diagnostics))
    return Made(made.zebin, log_of(made.warnings))


def _with_lines(options: str, source: bytes) -> str:
    """Options that keep the lines of a source in OpenCL C, if that is wanted."""
    if not keeps_lines():
        return options
    return with_lines(options, None if source.startswith(SPIRV) else "cl")


def object_of(name: str, source: bytes, device: Device, options: str, headers: Mapping[str, bytes]) -> Made:
    """SPIR-V of OpenCL C, with headers that are given as texts."""
    options = _with_lines(options, source)
    try:
        behind = dependencies(source, options, [headers, os.getcwd()])
    except VisaError as error:
        return Made(b"", log_of(error.diagnostics))
    make = partial(_object, name, source, device, options, headers)
    return make() if behind is None else _kept(("object", source, device.model.device, options, *behind), make)


def linked(name: str, parts: Sequence[bytes], device: Device, options: str, is_library: bool) -> Made:
    """A zebin, or a library, of objects and libraries."""
    make = partial(_linked, name, parts, device, options, is_library)
    return _kept(("linked", *parts, device.model.device, options, is_library), make)


def _kept(parts: Sequence[object], make: Callable[[], Made]) -> Made:
    """The compiler's result for parts, from the user's cache if possible; results with a log are not cached."""
    driver = compiler()
    if driver is None:
        return make()
    name = object_cache.key(*parts, variables(), *identity(driver))
    kept = object_cache.load(name)
    if kept is not None:
        return Made(kept, "")
    made = make()
    if made.data and not made.log:
        object_cache.save(name, made.data)
    return made


def _object(name: str, source: bytes, device: Device, options: str, headers: Mapping[str, bytes]) -> Made:
    with tempfile.TemporaryDirectory(prefix="visakit-") as folder:
        for path, contents in headers.items():
            place = Path(folder, "headers", path)
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(contents)
            except OSError as error:
                return Made(b"", f"error: the header '{printable(path):.80}' is no file: {error.strerror}\n")
        Path(folder, "source.cl").write_bytes(source or EMPTY)
        given = f"{absolute_includes(options)} -I {folder}/headers -I {os.getcwd()} {ARGUMENT_INFORMATION}"
        words = ["compile", "-file", "source.cl", "-device", device.model.device, "-spv_only", "-output", "program"]
        return _run([*words, "-output_no_suffix", "-options", given.strip()], folder, ("program.spv", "program"), name)


def _linked(name: str, parts: Sequence[bytes], device: Device, options: str, is_library: bool) -> Made:
    with tempfile.TemporaryDirectory(prefix="visakit-") as folder:
        words = ["link"]
        for number, part in enumerate(parts):
            file = f"part{number}.{'bc' if part.startswith(BITCODE) else 'spv'}"
            Path(folder, file).write_bytes(part)
            words += ["-file", file]
        made = _run([*words, "-out", "whole.bc"], folder, ("whole.bc",), name)
        if is_library or not made.data:
            return made
        words = ["compile", "-file", "whole.bc", "-llvm_input", "-device", device.model.device, "--format", "zebin"]
        words += ["-internal_options", OPTION, "-output", "program", "-output_no_suffix"]
        given = " ".join(word for word in options.split() if word not in _LINK_OPTIONS)
        words += ["-options", given] if given else []
        return _run(words, folder, ("program.bin", "program"), name)


def _run(words: Sequence[str], folder: str, outputs: Sequence[str], name: str) -> Made:
    """One run of the compiler driver in a folder."""
    driver = compiler()
    if driver is None:
        return Made(b"", "the compiler driver ocloc is not installed\n")
    try:
        code, output = SERVICE.run(driver, words, folder)
    except OSError as error:
        return Made(b"", f"the compiler driver cannot be run: {error.strerror}\n")
    made = next((p for o in outputs if (p := Path(folder, o)).is_file()), None)
    log = log_of(list(said(output, name)))
    if code or made is None:
        return Made(b"", log or output)
    return Made(made.read_bytes(), log)


def absolute_includes(options: str) -> str:
    """Build options with the folders of headers as the program means them: the compiler runs in another one."""
    if "-I" not in options:
        return options
    found: list[str] = []
    words = iter(shlex.split(options, posix=False))
    for word in words:
        if word.startswith("-I"):
            folder = (word[2:] or next(words, "")).strip("\"'")
            path = os.path.abspath(folder)
            found += ["-I", f'"{path}"' if " " in path else path]
        else:
            found.append(word)
    return " ".join(found)


def is_spirv(data: bytes) -> bool:
    """Whether bytes are a module of SPIR-V."""
    return data.startswith(SPIRV)


def is_bitcode(data: bytes) -> bool:
    """Whether bytes are a library."""
    return data.startswith(BITCODE)
