"""What ``--show`` shows of results: parts of arrays, in the words of numpy's slices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import EllipsisType
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import UsageError
from vsim.launch.arrays import Array

Index = int | slice | EllipsisType
_FORM = re.compile(r"([^\[\]=\s]+)(?:\[([^\[\]]*)\])?")
_NUMBER = re.compile(r"[+-]?\d{1,18}")
_WIDTH = 100


class ShownPart(NamedTuple):
    """A part of an argument: as it was written, name or number of the argument, an index for each axis."""

    text: str
    name: str
    places: tuple[Index, ...]

    def of(self, array: Array) -> object:
        """The part of an array.

        Raises:
            IndexError: the array has no such element, or not so many axes.
        """
        return array[self.places]


def parse_parts(values: Sequence[str]) -> list[ShownPart]:
    """Parts out of values such as ``y``, ``y[3]``, ``y[:8]``, ``y[-4:]``, ``y[::64]``, ``image[0,:4,...]``.

    Raises:
        UsageError: one of them has another form.
    """
    found = []
    for text in values:
        match = _FORM.fullmatch(text)
        if match is None:
            raise UsageError(f"--show takes NAME_OR_INDEX or NAME_OR_INDEX[START:STOP:STEP,...], found '{text}'")
        words = match[2].split(",") if match[2] is not None else []
        found.append(ShownPart(text, match[1], tuple(_index(word.strip(), text) for word in words)))
    return found


def _index(word: str, text: str) -> Index:
    """The index of one axis."""
    if word == "...":
        return ...
    pieces = [piece.strip() for piece in word.split(":")]
    numbers = [int(piece) if _NUMBER.fullmatch(piece) else None for piece in pieces]
    if any(piece and number is None for piece, number in zip(pieces, numbers, strict=True)) or len(pieces) > 3:
        raise UsageError(f"--show takes numbers, START:STOP:STEP and ... in brackets, found '{word}' in '{text}'")
    if len(pieces) == 3 and numbers[2] == 0:
        raise UsageError(f"a step of 0 leads nowhere: '{text}'")
    if len(pieces) == 1:
        if numbers[0] is None:
            raise UsageError(f"--show misses an index in '{text}'")
        return numbers[0]
    return slice(*numbers)


def shown_text(part: ShownPart, value: object) -> str:
    """A part as one or several lines; numpy leaves out the middle of long ones."""
    head = f"{part.text} = "
    return head + np.array2string(np.asarray(value), max_line_width=_WIDTH, prefix=head)


def shown_tree(value: object) -> object:
    """A part for JSON, where infinite numbers and NaNs are texts."""
    listed = np.asarray(value).tolist()
    return _plain(listed)


def _plain(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, complex) or (isinstance(value, float) and not np.isfinite(value)):
        return str(value)
    return value
