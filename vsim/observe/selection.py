"""Which part of what executes a trace is about: work-items, instructions, memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from visakit.diagnostics import Span, UsageError
from visakit.language.program import Function
from vsim.command.numbers import ALL_NUMBERS, Numbers, parse_numbers

GROUPS, THREADS, LANES, ITEM = "--trace-groups", "--trace-threads", "--trace-lanes", "--trace-item"
LINES, VARIABLES, INSTRUCTIONS, MEMORY = "--trace-lines", "--trace-variables", "--trace-instructions", "--trace-memory"
NO_BUFFERS = {"local": "local memory", "scratch": "scratch memory"}
"""What traces call memory that is no buffer, by the word for it."""
MAXIMUM_BYTE = 1 << 64

Item = tuple[int, int, int]
"""The global id of a work-item."""


class SourceLines(NamedTuple):
    """Lines of a source file; of any file where ``file`` is empty."""

    text: str
    file: str
    numbers: Numbers

    def has(self, place: Span) -> bool:
        """Whether a place is in one of them; a file may be named by the end of its path."""
        is_own = not self.file or place.file == self.file or place.file.endswith("/" + self.file)
        return bool(place.line) and is_own and place.line in self.numbers


class Instructions(NamedTuple):
    """Instructions by their numbers, of one function or any, or by a pattern of their mnemonics."""

    text: str
    function: str = ""
    numbers: Numbers | None = None

    def has(self, function: Function, number: int) -> bool:
        """Whether an instruction of a function is one of them."""
        if self.numbers is None:
            return fnmatchcase(function.instructions[number].desc.mnemonic, self.text)
        return self.function in ("", function.name) and number in self.numbers


class MemoryRange(NamedTuple):
    """Bytes of a buffer, of local or of scratch memory; without a name, of the address space."""

    text: str
    name: str
    first: int = 0
    end: int = MAXIMUM_BYTE

    def touches(self, name: str, offset: int, address: int, size: int) -> bool:
        """Whether so many bytes at an offset in memory of a name, or at an address (-1 for none), are of the range.

        The memory of several arguments has all their names.
        """
        if not self.name:
            return address >= 0 and self.first < address + size and address < self.end
        is_own = name == NO_BUFFERS.get(self.name) or self.name in name.split(" or ")
        return is_own and self.first < offset + size and offset < self.end


@dataclass(frozen=True, eq=False)
class Selection:
    """What a trace shows; of an empty tuple, everything."""

    groups: Numbers = ALL_NUMBERS
    threads: Numbers = ALL_NUMBERS
    lanes: Numbers = ALL_NUMBERS
    items: tuple[Item, ...] = ()
    lines: tuple[SourceLines, ...] = ()
    variables: tuple[str, ...] = ()
    instructions: tuple[Instructions, ...] = ()
    memory: tuple[MemoryRange, ...] = ()

    def asked(self) -> Iterator[tuple[str, str]]:
        """Option and text of each part, which something that executes must match."""
        for option, numbers in ((GROUPS, self.groups), (THREADS, self.threads), (LANES, self.lanes)):
            if numbers.text:
                yield option, numbers.text
        yield from ((ITEM, shown_item(item)) for item in self.items)
        yield from ((LINES, lines.text) for lines in self.lines)
        yield from ((VARIABLES, name) for name in self.variables)
        yield from ((INSTRUCTIONS, own.text) for own in self.instructions)
        yield from ((MEMORY, own.text) for own in self.memory)


def shown_item(item: Item) -> str:
    """A work-item as the command line names it."""
    return ",".join(map(str, item))


def parse_items(texts: list[str]) -> tuple[Item, ...]:
    """Work-items out of texts such as ``5`` and ``5,2``.

    Raises:
        UsageError: one is no such text.
    """
    found = []
    for text in texts:
        ids = [_number(part) for part in text.split(",")]
        if len(ids) > 3 or None in ids:
            raise UsageError(f"{ITEM} takes a global id X or X,Y or X,Y,Z, found '{text}'")
        x, y, z = [n or 0 for n in (*ids, 0, 0)][:3]
        found.append((x, y, z))
    return tuple(found)


def parse_lines(text: str) -> tuple[SourceLines, ...]:
    """Source lines out of a list such as ``12,20-24,sums.cl:3``.

    Raises:
        UsageError: it is no such list.
    """
    found = []
    for part in _parts(text):
        file, _, numbers = part.rpartition(":")
        found.append(SourceLines(part, file, parse_numbers(numbers, LINES)))
    return tuple(found)


def parse_instructions(text: str) -> tuple[Instructions, ...]:
    """Instructions out of a list such as ``12-18,twice+3,svm_*``.

    Raises:
        UsageError: it is no such list.
    """
    found = []
    for part in _parts(text):
        function, _, numbers = part.rpartition("+")
        if function or numbers[:1].isdigit():
            found.append(Instructions(part, function, parse_numbers(numbers, INSTRUCTIONS)))
        else:
            found.append(Instructions(part))
    return tuple(found)


def parse_memory(text: str) -> tuple[MemoryRange, ...]:
    """Ranges of memory out of a list such as ``y,x:0-63,local:128,0x10000010000-0x1000001003f``.

    Raises:
        UsageError: it is no such list.
    """
    found = []
    for part in _parts(text):
        name, colon, numbers = part.rpartition(":")
        if not colon and _number(part.partition("-")[0]) is None:
            found.append(MemoryRange(part, part))
            continue
        low, dash, high = numbers.partition("-")
        first, last = _number(low), _number(high if dash else low)
        if first is None or last is None or not first <= last < MAXIMUM_BYTE or (colon and not name):
            raise UsageError(f"{MEMORY} takes NAME, NAME:FIRST-LAST in bytes, or addresses FIRST-LAST, found '{part}'")
        found.append(MemoryRange(part, name, first, last + 1))
    return tuple(found)


def parse_names(text: str) -> tuple[str, ...]:
    """Names of variables out of a list."""
    return tuple(_parts(text))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _number(text: str) -> int | None:
    """A whole number in decimal or hexadecimal digits."""
    digits, base = (text[2:], 16) if text[:2].lower() == "0x" else (text, 10)
    if not digits.isascii() or not digits.isalnum() or len(digits) > 20:
        return None
    try:
        return int(digits, base)
    except ValueError:
        return None
