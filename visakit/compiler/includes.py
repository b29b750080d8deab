"""Headers that a source of OpenCL C includes; with the source they are the input of the compiler."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.files import NoRegularFileError, open_regular

Place = str | Mapping[str, bytes]
"""Where the compiler looks for headers: a folder, or texts by their names."""
MAXIMUM_HEADERS = 256
MAXIMUM_TEXT = 1 << 24
"""Bytes of a header; of a source that includes a larger one nothing is kept."""
_SPLICE = re.compile(rb"\\[ \t]*\r?\n")
_INCLUDE = re.compile(rb"""^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)""", re.MULTILINE)
_HOUR = r"__(?:DATE|TIME|TIMESTAMP)__|\b__(?:D|T|DA|TI|DAT|TIM|DATE|TIME|TIMES\w*)_?\b"
"""The macros of the hour, or the beginning of one, which another macro may put together."""
_ELSEWHERE = re.compile(rb"include|import|embed|\?\?|" + _HOUR.encode())
"""Other parts of a source, its spliced lines joined, that may depend on other files or the time."""
FOLDER = re.compile(r'(?<!\S)-I\s*(?:"([^"]+)"|([^\s"]+))')
"""A build option that names a folder of headers, with quotes in the first group or without in the second."""
_OTHER = re.compile(r"(?<!\S)-[iI]|(?<!\S)@|include|import|embed|" + _HOUR)


class Unknown(Exception):
    """The headers of a source cannot be determined."""


def folders_of(options: str) -> list[str]:
    """The folders that build options name, in their order.

    Raises:
        Unknown: they may name other files, too, or the hour.
    """
    rest = FOLDER.sub("", options)
    if _OTHER.search(rest):
        raise Unknown
    return [os.path.abspath(option[1] or option[2]) for option in FOLDER.finditer(options)]


def texts_behind(source: bytes, places: Sequence[Place]) -> list[str | bytes]:
    """The names and texts of all headers that a source may include, and these in turn, as the compiler finds them.

    Raises:
        Unknown: a header is missing, is named by a macro, or there are too many; or a text has another dependency.
        FormatError: C015, one is no file, so that the compiler might read it for ever.
    """
    texts: dict[tuple[int, str], bytes] = {}
    waiting = [(source, -1, "")]
    while waiting:
        text, place, folder = waiting.pop()
        for name, is_beside in _included(text):
            where = _find(name, places, place if is_beside else -1, folder)
            if where not in texts:
                texts[where] = header = _read(places[where[0]], where[1]) or b""
                waiting.append((header, where[0], os.path.dirname(where[1])))
        if len(texts) > MAXIMUM_HEADERS:
            raise Unknown
    return [part for (_, name), text in texts.items() for part in (name, text)]


def _included(text: bytes) -> Iterator[tuple[str, bool]]:
    """The headers that a text includes, and whether each is first looked up beside the text."""
    joined = _SPLICE.sub(b"", text)
    if _ELSEWHERE.search(_INCLUDE.sub(b"", joined)):
        raise Unknown
    for match in _INCLUDE.finditer(joined):
        name = (match[1] or match[2]).decode("utf-8", "surrogateescape")
        if name.startswith("/"):
            raise Unknown
        yield name, match[1] is not None


def _find(name: str, places: Sequence[Place], beside: int, folder: str) -> tuple[int, str]:
    """The place of a header, by its number, and its name there; ``beside`` is the place of the including file."""
    tried = [(beside, os.path.join(folder, name))] if beside >= 0 else []
    tried += [(number, name) for number in range(len(places))]
    for number, path in tried:
        if _read(places[number], path) is not None:
            return number, path
    raise Unknown


def _read(place: Place, name: str) -> bytes | None:
    if not isinstance(place, str):
        return place.get(os.path.normpath(name))
    path = os.path.join(place, name)
    try:
        with open_regular(path) as stream:
            text = stream.read(MAXIMUM_TEXT + 1)
    except NoRegularFileError:
        raise FormatError(Diagnostic("C015", "this is included, and is not a file", Span(path, 0))) from None
    except (OSError, ValueError):  # a folder, too, which compilers pass over
        return None
    if len(text) > MAXIMUM_TEXT:
        raise Unknown
    return text
