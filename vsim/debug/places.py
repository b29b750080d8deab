"""Places in a program: source lines, instructions, labels, functions; and the texts that belong to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from visakit.diagnostics import Span, did_you_mean
from visakit.language.program import Function
from visakit.language.source_lines import SourcePlace, source_lines
from visakit.objects.image import LinkedImage
from visakit.text.printer import FunctionPrinter
from visakit.usage import whole_number
from vsim.debug.problems import PLACE, problem
from vsim.observe.positions import next_instruction
from vsim.observe.trace import instruction_places


class Spot(NamedTuple):
    """An instruction of a function. Functions are the same if they are one object."""

    function: Function
    number: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spot) and self.function is other.function and self.number == other.number

    def __hash__(self) -> int:
        return hash((id(self.function), self.number))


class Places:
    """The places of an image. Texts of programs that are built in memory get files, which the user can open."""

    def __init__(self, image: LinkedImage) -> None:
        self.image = image
        self.functions = image.module.all_functions
        self._spans: dict[int, list[Span]] = {}
        self._printers: dict[int, FunctionPrinter] = {}
        self.files = image.source_files()
        self._written: dict[str, str] = {}
        """The files of texts, by the names of these."""

    def spans(self, function: Function) -> list[Span]:
        """Where the instructions of a function stand; line 0 where that is unknown."""
        found = self._spans.get(id(function))
        if found is None:
            found = [*map(self._in_file, instruction_places(self.image, function))]
            self._spans[id(function)] = found
        return found

    def _in_file(self, span: Span) -> Span:
        return replace(span, file=self._path(span.file))

    def _path(self, file: str) -> str:
        """The path of a file. A text of the program is written first; the debugger knows it by the new path."""
        texts, path = self.files.texts, self._written.get(file)
        if path is None:
            path = self._written[file] = self.image.file_of_text(file) or file
            texts |= {path: texts[file]} if file in texts else {}
        return path

    def span(self, spot: Spot) -> Span:
        """Where an instruction stands."""
        spans = self.spans(spot.function)
        return spans[min(spot.number, len(spans) - 1)] if spans else Span(self.image.file, 0)

    def line_key(self, spot: Spot) -> tuple[str, int]:
        """File and line of an instruction; without a line the instruction itself."""
        span = self.span(spot)
        return (span.file, span.line) if span.line else (f"<{spot.function.name}>", spot.number)

    def text(self, spot: Spot) -> str:
        """The instruction as vISA text."""
        return self.instruction_text(spot.function, spot.number)

    def instruction_text(self, function: Function, number: int) -> str:
        """An instruction of a function as text."""
        printer = self._printers.get(id(function))
        if printer is None:
            printer = self._printers[id(function)] = FunctionPrinter(function)
        return printer.instruction(function.instructions[number])

    def is_text(self, spot: Spot) -> bool:
        """Whether the source of an instruction is its vISA text."""
        line = spot.function.instructions[spot.number].line if spot.function.instructions else 0
        return bool(line) and self.span(spot) == self._in_file(self.image.span(spot.function, line))

    def source_text(self, span: Span) -> str:
        """The line of a place; empty if its file is not at hand."""
        return self.files.text(SourcePlace(span.file, span.line)) if span.line else ""

    def label_before(self, function: Function, number: int) -> str:
        """The last label at an instruction or before it; empty without one."""
        for n in range(min(number, len(function.instructions) - 1), -1, -1):
            instruction = function.instructions[n]
            if instruction.desc.flow.is_label:
                return function.labels[instruction.args["label"]].name
        return ""

    # -- places that the user names ------------------------------------------------------------------------

    def find(self, text: str, here: Spot) -> Spot:
        """The instruction of ``FILE:LINE``, ``LINE``, ``*NUMBER``, ``*FUNCTION+NUMBER``, ``FUNCTION``, ``LABEL`` or
        ``FUNCTION:LABEL``.

        Args:
            here: whose function and file are meant where the text names none.

        Raises:
            DebugError: D003, there is no such place.
        """
        if text.startswith("*"):
            return self._instruction(text[1:].strip(), here)
        file, colon, rest = text.rpartition(":")
        line = whole_number(rest)
        if line is not None:
            return self._line(file if colon else "", line, here)
        function = self._function(text)
        if function is not None:
            return self.first(function)
        owner = self._function(file) if colon else here.function
        if owner is not None:
            for n, instruction in enumerate(owner.instructions):
                if instruction.desc.flow.is_label and owner.labels[instruction.args["label"]].name == rest:
                    return Spot(owner, next_instruction(owner, n))
        raise problem(PLACE, f"there is no function or label '{text}'", did_you_mean(rest, list(self.names(here))))

    def all_at(self, text: str, here: Spot) -> list[Spot]:
        """All instructions of a line, or the one of another place; as :meth:`find`.

        Raises:
            DebugError: D003, there is no such place.
        """
        found = self.find(text, here)
        file, _, rest = text.rpartition(":")
        line = None if text.startswith("*") else whole_number(rest)
        if line is None:
            return [found]
        wanted = file or self._default_file(here)
        kinds = [(own(found.function)[found.number], own) for own in (self.spans, self._text_spans)]
        span, spans_of = min((kind for kind in kinds if _is_from(kind[0], wanted, line)), key=lambda kind: kind[0].line)
        return [
            Spot(function, number)
            for function in self.functions
            for number, own in enumerate(spans_of(function))
            if (own.file, own.line) == (span.file, span.line) and not function.instructions[number].desc.is_directive
        ]

    def later_line(self, text: str, here: Spot) -> int:
        """The line of the instructions that :meth:`all_at` gives for a line without any; 0 for other places."""
        line = None if text.startswith("*") else whole_number(text.rpartition(":")[2])
        if line is None:
            return 0
        function, number = self.all_at(text, here)[0]
        lines = [spans_of(function)[number].line for spans_of in (self.spans, self._text_spans)]
        return 0 if line in lines else min(own for own in lines if own > line)

    def first(self, function: Function) -> Spot:
        """Where a function begins: of one that was compiled with -g at its first instruction with a source line."""
        lines = source_lines(function)
        found = (n for n, line in enumerate(lines) if line and not function.instructions[n].desc.is_directive)
        return Spot(function, next(found, next_instruction(function, 0)))

    def _default_file(self, here: Spot) -> str:
        """The file that a line without one is of: the source that was compiled, where lines of it are known."""
        origin = source_lines(here.function)
        files = (p.file for p in (*origin[here.number :], *origin) if p is not None)
        return next(map(self._path, files), self.span(here).file)

    def names(self, here: Spot) -> Iterator[str]:
        """Functions of the image, and labels of a function."""
        yield from (f.name for f in self.functions)
        yield from (label.name for label in here.function.labels)

    def _function(self, name: str) -> Function | None:
        return next((f for f in self.functions if f.name == name), None)

    def _instruction(self, text: str, here: Spot) -> Spot:
        name, plus, digits = text.rpartition("+")
        function = self._function(name) if plus else here.function
        number = whole_number(digits)
        if function is None:
            raise problem(PLACE, f"there is no function '{name}'", did_you_mean(name, [f.name for f in self.functions]))
        if number is None or number >= len(function.instructions):
            last = len(function.instructions) - 1
            raise problem(PLACE, f"'{function.name}' has instructions 0 to {last}, and no '{digits}'")
        return Spot(function, next_instruction(function, number))

    def _line(self, file: str, line: int, here: Spot) -> Spot:
        """The first instruction of a line, or of the next one that has some."""
        wanted = file or self._default_file(here)
        best: tuple[int, Spot] | None = None
        known = set[str]()
        for function in [here.function, *(f for f in self.functions if f is not here.function)]:
            for place in (self.spans(function), self._text_spans(function)):
                for number, span in enumerate(place):
                    if not span.line or function.instructions[number].desc.is_directive:
                        continue
                    known.add(span.file)
                    if _is_from(span, wanted, line) and (best is None or span.line < best[0]):
                        best = span.line, Spot(function, number)
        if best is None:
            hint = f"lines are known of {', '.join(sorted(known))}" if known else "assemble or compile it with -g"
            raise problem(PLACE, f"no instruction is of line {line} of '{wanted}' or behind it", hint)
        return best[1]

    def _text_spans(self, function: Function) -> list[Span]:
        """Lines of the vISA text."""
        return [self._in_file(self.image.span(function, i.line)) for i in function.instructions]


def _is_file(own: str, wanted: str) -> bool:
    return own == wanted or own.endswith("/" + wanted)


def _is_from(span: Span, file: str, line: int) -> bool:
    """Whether a place is in a file, at a line or behind it."""
    return span.line >= line and _is_file(span.file, file)
