"""The texts of programs, as files: their sources and the compiler's vISA, so that the places that messages cite can be
opened.

A program that is built in memory has no files. Messages call its texts ``program 1(saxpy.visaasm)``, and its source by
the name that the compiler was told. A text that a message cites is written, and the message names the file: in the
folder of ``--keep-texts``, which gets all texts of all programs, else in a new folder among the temporary ones.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from weakref import WeakValueDictionary
from zlib import crc32

from visakit.diagnostics import Diagnostic, Span, VisaError
from visakit.file_kinds import source_language
from visakit.files import make_directory, write_bytes
from visakit.runtime.errors import first_message, say
from visakit.runtime.settings import kept_texts

_NO_NAME, _LONGEST = re.compile(r"[^\w.-]+"), 100
_WRITTEN: dict[str, int] = {}
"""Hashes of the contents of written files."""
_KNOWN: WeakValueDictionary[str, ProgramTexts] = WeakValueDictionary()
"""The texts of programs by their names in messages."""


class ProgramTexts:
    """The texts of a program for a device.

    Args:
        name: the program's name in messages.
        platform: of the device.
        source: OpenCL C or SPIR-V; None for a program of a binary.
        binary: the zebin.
    """

    def __init__(self, name: str, platform: str, source: bytes | None, binary: bytes) -> None:
        self.name, self.platform, self.source, self.binary = name, platform, source, binary
        self.program = name.partition(" for ")[0]
        self.source_place = os.path.abspath(self.program)
        _KNOWN[name] = _KNOWN[self.program] = self
        if kept_texts():
            for file in self._files:
                self.path(file)

    @cached_property
    def _files(self) -> Mapping[str, tuple[str, bytes]]:
        """Name of a file, and its contents, by the text's name in messages."""
        from visakit.objects.zebin import find_zebin, read_zebin, text_name

        found: dict[str, tuple[str, bytes]] = {}
        if self.source is not None:
            found[self.source_place] = source_file(self.program, self.source), self.source
        try:
            zebin = find_zebin(self.binary, self.name, self.platform)
            texts = read_zebin(*zebin).texts if zebin else []
        except VisaError:
            return found
        for text in texts:
            file = f"{_stem(self.name)}-{_stem(text.name)}.visaasm"
            found[text_name(zebin[1] if zebin else "", text)] = file, text.text.encode()
        return found

    @cached_property
    def _contents(self) -> Mapping[str, str]:
        return {name: data.decode("utf-8", "replace") for name, (_, data) in self._files.items()}

    def contents(self) -> Mapping[str, str]:
        """The texts, by their names in messages."""
        return self._contents

    def path(self, name: str) -> str | None:
        """The file of a text, which is written; None if there is no such text, or it cannot be written."""
        file, data = self._files.get(name, ("", b""))
        return _written(file, data) if file else None


def keep_source(name: str, source: bytes | None) -> None:
    """Write the source of a program that is to be built, if texts are kept: the compiler may find errors in it."""
    if source is not None and kept_texts():
        _written(source_file(name, source), source)


def source_file(name: str, source: bytes) -> str:
    """The name of the file for the source of a program."""
    return f"{_stem(name)}.{source_language('', source) or 'cl'}"


def in_files(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics that cite files, which are written, in the place of texts of programs."""
    return [
        replace(d, span=d.span and _in_file(d.span), labels=tuple(replace(n, span=_in_file(n.span)) for n in d.labels))
        for d in diagnostics
    ]


def _in_file(span: Span) -> Span:
    texts = _KNOWN.get(span.file.partition("(")[0]) or _KNOWN.get(os.path.basename(span.file))
    path = texts.path(span.file) if texts and span.line else None
    return replace(span, file=path) if path else span


def _stem(name: str) -> str:
    """A name as part of a file's: what such names cannot have is replaced, and long ones of C++ are cut; different
    names stay different.
    """
    found = _NO_NAME.sub("-", name)[:_LONGEST].lstrip(".")
    return found if found in (name, name.replace(" ", "-")) else f"{found}-{crc32(name.encode()):08x}"


def _written(file: str, data: bytes) -> str | None:
    """The path of a file with some contents, which is there from now on; None if it cannot be written."""
    try:
        path = os.path.join(_folder(), file)
        if _WRITTEN.get(path) != hash(data):
            write_bytes(path, data)
    except (VisaError, OSError) as error:
        if kept_texts():
            _say_not_kept(first_message(error) if isinstance(error, VisaError) else f"{error.strerror}")
        return None
    _WRITTEN[path] = hash(data)
    return path


@cache
def _say_not_kept(reason: str) -> None:
    """Say, once, that texts which the user asked for are missing."""
    say(f"visakit: texts are not kept in {kept_texts()}: {reason}")


@cache
def _folder() -> str:
    """The folder for texts."""
    kept = kept_texts()
    if not kept:
        return tempfile.mkdtemp(prefix="visakit-texts-")
    make_directory(kept)
    return kept
