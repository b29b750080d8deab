"""Source lines of a compiled program: the line of each instruction, and its text.

The directives ``FILE`` and ``LOC``, which compilers write with ``-g``, set them; each holds for the following text.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from visakit.diagnostics import Span
from visakit.isa.record import LINE
from visakit.language.program import Function

MAXIMUM_SOURCE = 16 << 20
"""Bytes of a source file that is shown; others are not looked into."""


class SourcePlace(NamedTuple):
    """A line of a source file, from 1 on."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def source_lines(function: Function) -> list[SourcePlace | None]:
    """For each instruction of a function the line that it comes from; None where FILE and LOC do not say."""
    places: list[SourcePlace | None] = []
    file, here = "", None
    for i in function.instructions:
        desc = i.desc
        if desc.names_file:
            file, here = function.strings[i.args["name"]], None
        elif desc.marks_line:
            line: int = i.args[LINE]
            here = SourcePlace(file, line) if file and line else None  # Compilers write line 0 for unknown lines.
        places.append(here)
    return places


class SourceFiles:
    """Source files as found on this machine, each read once.

    Args:
        folders: folders of files with relative names, and of files whose absolute path does not exist, by the last part
            of their names.
        within: only files in one of these folders are read: the name of a file in a foreign image may be any path of
            this machine.
        texts: contents by name, which need no files.
    """

    def __init__(self, folders: Sequence[str], within: bool = False, texts: Mapping[str, str] | None = None) -> None:
        self.folders, self.within = [os.path.realpath(f or ".") for f in folders], within
        self.texts = dict(texts or {})
        self._lines: dict[str, list[str] | str] = {}

    def text(self, place: SourcePlace) -> str:
        """The text of a line, without blanks at its end; empty if the file is unknown."""
        lines = self._read(place.file)
        known = not isinstance(lines, str) and 0 < place.line <= len(lines)
        return lines[place.line - 1].rstrip() if known else ""

    def span(self, place: SourcePlace) -> Span:
        """A line without the blanks around it, with its contents if these are known."""
        text = self.text(place)
        shown = text.lstrip()
        return Span(printable(place.file), place.line, 1 + len(text) - len(shown), len(shown) or 1, text)

    def lines(self, file: str) -> list[str] | None:
        """The lines of a file; None if it is not shown."""
        lines = self._read(file)
        return None if isinstance(lines, str) else lines

    def problem(self, file: str) -> str:
        """Why a file is not shown; empty if it is."""
        lines = self._read(file)
        return lines if isinstance(lines, str) else ""

    def _read(self, file: str) -> list[str] | str:
        """The lines of a file, or why it has none."""
        lines = self._lines.get(file)
        if lines is None:
            text = self.texts.get(file)
            lines = self._lines[file] = self._lines_of(file) if text is None else text.split("\n")
        return lines

    def _lines_of(self, file: str) -> list[str] | str:
        problem = "No such file or directory"
        names = [file, os.path.basename(file.replace("\\", "/"))]
        for path in dict.fromkeys(os.path.join(folder, name) for name in names for folder in self.folders if name):
            if self.within and not any(_is_in(path, folder) for folder in self.folders):
                continue
            try:
                status = os.stat(path)
                if not stat.S_ISREG(status.st_mode):
                    problem = "this is not a file"
                elif status.st_size > MAXIMUM_SOURCE:
                    problem = f"the file has more than {MAXIMUM_SOURCE} bytes"
                else:
                    with open(path, encoding="utf-8", errors="replace") as stream:
                        return stream.read().split("\n")
            except FileNotFoundError:
                pass
            except (OSError, ValueError) as error:
                problem = getattr(error, "strerror", None) or str(error)
        return problem


def _is_in(path: str, folder: str) -> bool:
    """Whether a file is inside a folder, after all links are followed."""
    return os.path.realpath(path).startswith(os.path.join(folder, ""))


def printable(text: str) -> str:
    """A line of a source as one of a listing: no character of it moves the cursor or ends the line."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "?" for c in text)
