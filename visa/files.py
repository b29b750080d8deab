"""Reading and writing files as all commands do: ``-`` is a standard stream, output appears complete or not at all."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from visa.diagnostics import Diagnostic, FileError, Span, UsageError, VisaWarning, render

__all__ = ["MAXIMUM_INPUT", "UsageError", "read_bytes", "read_text", "report", "show_warnings", "write_bytes"]

MAXIMUM_INPUT = 1 << 30


def _failure(path: str, error: OSError) -> FileError:
    return FileError(Diagnostic("F001", f"{error.strerror or error}", Span(path, 0)))


def read_bytes(path: str) -> bytes:
    """The contents of a file or of standard input.

    Raises:
        FileError: it cannot be read, or is too large.
    """
    try:
        if path == "-":
            return sys.stdin.buffer.read()
        size = os.path.getsize(path) if os.path.isfile(path) else 0
        if size <= MAXIMUM_INPUT:
            with open(path, "rb") as f:
                return f.read()
    except OSError as error:
        raise _failure(path, error) from None
    raise FileError(Diagnostic("F002", f"the file has {size} bytes, more than {MAXIMUM_INPUT}", Span(path, 0)))


def read_text(path: str) -> str:
    """A UTF-8 text file.

    Raises:
        FileError: it cannot be read or is not text.
    """
    data = read_bytes(path)
    if b"\0" in data[:4096]:
        hint = "this is an object; disassemble it with vdis" if data[:4] in (b"CISA", b"\x7fELF") else ""
        raise FileError(Diagnostic("F003", "this is a binary file, not vISA text", Span(path, 0), hint))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(
            Diagnostic("F004", f"byte {data[error.start]:#04x} is not UTF-8 text", Span(path, line, 1))
        ) from None


def write_bytes(path: str, data: bytes) -> None:
    """Write beside the target, then rename; nothing is left behind on failure.

    ``-`` is standard output, and never a terminal for binary data.

    Raises:
        FileError: it cannot be written.
        UsageError: it would go to a terminal.
    """
    if path == "-":
        if sys.stdout.isatty() and b"\0" in data:
            raise UsageError("binary output is not written to a terminal; use -o FILE or a pipe")
        rest = memoryview(data)
        while rest:  # Unbuffered (PYTHONUNBUFFERED), a write may take a part of the data only.
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
        return
    import tempfile

    directory = os.path.dirname(os.path.abspath(path))
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as f:
                f.write(data)
            return
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as f:
                f.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise _failure(path, error) from None


def make_directory(path: str) -> None:
    """Make a directory and those above it; one that exists is fine.

    Raises:
        FileError: it cannot be made.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise _failure(path, error) from None


def report(items: Sequence[Diagnostic], style: str, tool: str) -> None:
    """Write diagnostics to standard error, in colour only on a terminal."""
    if items or style in ("json", "sarif"):
        color = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        print(render(items, style, color, tool), file=sys.stderr)


def show_warnings(tool: str) -> None:
    """From now on warnings of the library are lines on standard error, as diagnostics are."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if isinstance(message, VisaWarning):
            report(message.diagnostics, "human", tool)
        else:
            usual(message, category, filename, lineno, file, line)

    usual, warnings.showwarning = warnings.showwarning, show
