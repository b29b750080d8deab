"""JSON that people write: syntax errors in words, and the places of all parts of the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from visakit.diagnostics import Diagnostic, Label, Span, VisaError
from visakit.forks import cached_property

LONGEST_LINE = 160
"""Characters of a line that messages show; files of programs have all in one."""
_BLANKS = re.compile(r"[ \t\r\n]*")
_WORDS = {
    "Expecting value": "a value is missing",
    "Expecting property name": "a key in double quotes is missing",
    "Expecting ',' delimiter": "a comma, or the end of a list or object, is missing",
    "Expecting ':' delimiter": "a colon is missing after the key",
    "Extra data": "text follows the end",
    "Unterminated string": "this string does not end",
    "Invalid control character": "this string does not end in its line",
    "Invalid \\": "a backslash begins no escape sequence",
}
"""Python's messages, which differ between versions, and their replacements."""


def read_json(text: str, file: str, code: str, error_type: type[VisaError]) -> object:
    """The value of a launch file.

    Raises:
        VisaError: of this code and type: it is no JSON, or has a key twice; the message shows the line.
    """
    objects = _Objects()
    try:
        value = json.loads(text, object_pairs_hook=objects.make)
    except json.JSONDecodeError as error:
        place, end = error.pos, len(text[: error.pos].rstrip())
        message = next((words for said, words in _WORDS.items() if error.msg.startswith(said)), error.msg)
        hint = (
            "JSON has no comments" if text[place : place + 2] in ("//", "/*") or text[place : place + 1] == "#" else ""
        )
        if text[end - 1 : end] == "," and text[place : place + 1] in ("}", "]"):
            place = end - 1  # as later Pythons have it
        if text[place : place + 1] == "," and text[place + 1 :].lstrip()[:1] in ("}", "]"):
            message, hint = "a comma follows the last part", "leave out the comma"
        elif text[place : place + 1] == "'":
            hint = "JSON has double quotes"
        span = span_in(text, file, place, place + 1)
    except (ValueError, RecursionError) as error:
        message, span, hint = str(error), Span(file, 0), ""
    else:
        if objects.keys_repeat:
            raise error_type(JsonPlaces(text, file, {}).repeated_keys(code))
        return value
    raise error_type(Diagnostic(code, f"the launch file is not JSON: {message}", span, hint))


class _Objects:
    """Makes the objects of a text, and notes whether one has a key twice."""

    def __init__(self) -> None:
        self.keys_repeat = False

    def make(self, entries: list[tuple[str, object]]) -> dict[str, object]:
        """An object of its entries."""
        made = dict(entries)
        self.keys_repeat |= len(made) < len(entries)
        return made


def span_in(text: str, file: str, start: int, end: int) -> Span:
    """The span of a part of a text from one character to before another, cut at the end of the line."""
    line = text.count("\n", 0, start) + 1
    first = text.rfind("\n", 0, start) + 1
    shown = text[first:].partition("\n")[0]
    return Span(file, line, start - first + 1, max(1, end - start), shown if len(shown) <= LONGEST_LINE else "")


class JsonPlaces:
    """The places of the parts of a valid JSON text, by their names in messages.

    Args:
        names: names of the entries of the lists and objects at a key: ``{"args": "argument"}`` makes the second
            entry at ``args`` ``FILE, argument 1``. Others go by their keys.
    """

    def __init__(self, text: str, file: str, names: Mapping[str, str]) -> None:
        self.text, self.file, self.names = text, file, names

    @cached_property
    def _parts(self) -> dict[str, tuple[int, int]]:
        """Beginnings and ends by words; found when they are first needed."""
        spans: dict[str, tuple[int, int]] = {}
        pending = [(self._behind_blanks(0), self.file, "")]
        while pending:
            start, words, key = pending.pop()
            for begin, value, end, name in self._entries(start):
                child = f"{words}, {f'{self.names[key]} {name}' if key in self.names else name}"
                spans.setdefault(child, (begin, end))
                pending.append((value, words if name in self.names else child, str(name)))
        return spans

    def _entries(self, start: int) -> Iterator[tuple[int, int, int, int | str]]:
        """The entries of a list or object: where the entry, its value and the rest begin; its number or key."""
        text, opened = self.text, self.text[start : start + 1]
        if opened not in ("{", "["):
            return
        at, number, decoder = self._behind_blanks(start + 1), 0, json.JSONDecoder()
        while text[at] not in "]}":
            begin, name = at, number
            if opened == "{":
                key, at = decoder.raw_decode(text, at)
                at = self._behind_blanks(self._behind_blanks(at) + 1)
            end = decoder.raw_decode(text, at)[1]
            yield begin, at, end, key if opened == "{" else name
            at, number = self._behind_blanks(end), number + 1
            if text[at] == ",":
                at = self._behind_blanks(at + 1)

    def repeated_keys(self, code: str) -> list[Diagnostic]:
        """Errors of this code about keys that their object has already."""
        found: dict[int, Diagnostic] = {}
        pending = [self._behind_blanks(0)]
        while pending:
            firsts: dict[int | str, int] = {}
            for begin, value, _, key in self._entries(pending.pop()):
                pending.append(value)
                if (first := firsts.setdefault(key, begin)) != begin:
                    note = Label(self._key_span(first), "it is here, too")
                    message, hint = f"the object has the key '{key}' twice", "leave one of them out"
                    found[begin] = Diagnostic(code, message, self._key_span(begin), hint, (note,))
        return [found[begin] for begin in sorted(found)]

    def _key_span(self, begin: int) -> Span:
        return span_in(self.text, self.file, begin, json.JSONDecoder().raw_decode(self.text, begin)[1])

    def _behind_blanks(self, at: int) -> int:
        blanks = _BLANKS.match(self.text, at)
        assert blanks is not None
        return blanks.end()

    def words(self, span: Span) -> str:
        """The words for the part at a span; those of the file if the span is no part."""
        spans = {span_in(self.text, self.file, *ends): words for words, ends in self._parts.items()}
        return spans.get(span, self.file)

    def span(self, words: str) -> Span | None:
        """The span of a part, or of its smallest known container; None without one."""
        while words not in self._parts:
            words, comma, _ = words.rpartition(", ")
            if not comma:
                return None
        return span_in(self.text, self.file, *self._parts[words])

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Have errors about parts of the text show their lines."""
        try:
            yield
        except VisaError as error:
            raise type(error)([self._placed(d) for d in error.diagnostics]) from None

    def _placed(self, d: Diagnostic) -> Diagnostic:
        span = self.span(d.span.file) if d.span and not d.span.line and d.span.file.startswith(self.file) else None
        return replace(d, span=span) if span else d
