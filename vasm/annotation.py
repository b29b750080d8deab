"""Annotated disassembly: offsets, bytes and source lines as comments, so that the text still assembles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from visakit.binary.codec import Encoder
from visakit.language.program import Function, Module
from visakit.language.source_lines import SourceFiles, SourcePlace, printable, source_lines
from visakit.objects.lines import Lines
from visakit.text.printer import FunctionPrinter

BYTES_IN_A_LINE = 32
"""Bytes of an instruction beside it; further bytes follow in lines below."""


class Annotations(NamedTuple):
    """Comments beside the text.

    Attributes:
        offsets: where each instruction begins, in bytes from the first one of its function.
        bytes: the bytes of each instruction.
        source: the lines that instructions come from, by FILE and LOC, or by the lines of an object (``vasm -g``).
    """

    offsets: bool = False
    bytes: bool = False
    source: bool = False


def annotated_text(
    module: Module, wanted: Annotations, lines: Lines, folders: Sequence[str], strict: bool = True
) -> str:
    """The text of a module with comments about its instructions.

    Args:
        lines: of an object, the file and lines that it was assembled from.
        folders: where source files are looked for.

    Raises:
        FormatError: with ``strict``, the text would not assemble to the same module.
    """
    files = SourceFiles(folders)
    out = [f".version {module.version[0]}.{module.version[1]}"]
    for function in module.all_functions:
        out += _FunctionListing(function, wanted, lines, files).lines(strict)
    return "\n".join(out) + "\n"


class _FunctionListing:
    """The annotated text of one function."""

    def __init__(self, function: Function, wanted: Annotations, lines: Lines, files: SourceFiles) -> None:
        self.function, self.wanted, self.files = function, wanted, files
        self.codes = Encoder().encode(function.instructions) if wanted.offsets or wanted.bytes else []
        self.sources = _sources(function, lines) if wanted.source else []
        self.width = max(4, len(f"{sum(map(len, self.codes)):x}"))

    def lines(self, strict: bool) -> list[str]:
        """Its lines."""
        places: list[int] = []
        plain = FunctionPrinter(self.function).lines(strict, places)
        number_of = {place: number for number, place in enumerate(places)}
        out, shown, offset = [], None, 0
        blanks = " " * (self.width + 7) if self.wanted.offsets else ""
        for n, line in enumerate(plain):
            number = number_of.get(n)
            if number is None:
                out.append(blanks + line)
                continue
            place = self.sources[number] if self.sources else None
            if place is not None and place != shown:
                shown = place
                out.append(f"{blanks}{self._source(place)}")
            code = self.codes[number] if self.codes else b""
            head = f"/* {offset:0{self.width}x} */ " if self.wanted.offsets else ""
            first, *rest = self._bytes(code)
            if first:
                line += ("" if "/// $" in line else f" /// ${number}") + f": {first}"
            out.append(head + line)
            out += [f"{blanks}        // {more}" for more in rest]
            offset += len(code)
        return out

    def _bytes(self, code: bytes) -> Iterator[str]:
        """The bytes of an instruction in pieces; an empty one if they are not wanted."""
        if not self.wanted.bytes:
            yield ""
            return
        for start in range(0, len(code), BYTES_IN_A_LINE):
            yield code[start : start + BYTES_IN_A_LINE].hex(" ")

    def _source(self, place: SourcePlace) -> str:
        """The comment that shows a source line; where the file is not there, it says so."""
        text = self.files.text(place).strip()
        said = text or (f"({problem})" if (problem := self.files.problem(place.file)) else "")
        return f"// {printable(place.file)}:{place.line}: {printable(said)}".rstrip(": ")


def _sources(function: Function, lines: Lines) -> list[SourcePlace | None]:
    """The source line of each instruction: by the text's own directives, else by the lines of the object."""
    found = source_lines(function)
    if any(found) or function.name not in lines:
        return found
    file, numbers = lines[function.name]
    known = [SourcePlace(file, n) if n else None for n in numbers[: len(found)]]
    return known + [None] * (len(found) - len(known))
