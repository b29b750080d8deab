"""Where the compiler's finalizer keeps the variables of vISA: its debug data, which its dumps leave beside a program.

For each function it has the native offset of each vISA instruction, and the hardware registers of each variable. DWARF
speaks of native offsets and hardware registers, so this translates it to vISA.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

ALLOCATION, DWARF = ".visakit.allocation.", ".visakit.dwarf."
"""Sections of a zebin that have this data, and the ELF file with DWARF that goes with it, for each kernel with its
functions; numbers follow the names. The zebin's own DWARF is that of some kernels alone.
"""
MAGIC = 0xDEADD010
_GRF = 2
_TAILS = (("HHH", "I"), ("H", "H"))
"""What follows the frame in this compiler and in older ones: fields up to the count of registers that a callee saves,
and the count of registers that a caller saves.
"""


class AllocatedVariable(NamedTuple):
    """A variable of vISA in hardware registers, for some instructions.

    Attributes:
        name: without zeros in front of its number: ``V34``.
        first, last: instructions of vISA.
        register, byte: where it begins.
    """

    name: str
    first: int
    last: int
    register: int
    byte: int


@dataclass
class Allocation:
    """One function.

    Attributes:
        begin: where its native code begins.
        offsets: instructions of vISA, and native offsets in the kernel's code, in ascending order of both.
    """

    name: str
    begin: int
    offsets: list[tuple[int, int]] = field(default_factory=list)
    variables: list[AllocatedVariable] = field(default_factory=list)

    def offset_of(self, number: int) -> int | None:
        """Where the native code of an instruction begins, or of the next one that has some; None without any code."""
        at = min(bisect_left(self.offsets, (number, 0)), len(self.offsets) - 1)
        return self.offsets[at][1] if self.offsets else None

    def number_at(self, offset: int) -> int:
        """The instruction to which native code belongs."""
        return min(((abs(own - offset), number) for number, own in self.offsets), default=(0, 0))[1]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def numbers(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def number(self, form: str) -> int:
        return self.numbers(form)[0]

    def text(self) -> str:
        size = self.number("H")
        self.at += size
        return self.data[self.at - size : self.at].decode("utf-8", "replace")

    def places(self, form: str) -> Iterator[tuple[int, ...]]:
        """Intervals of a variable: first, last, kind of variable, kind of place, register, byte."""
        for _ in range(self.number("H")):
            yield self.numbers(f"{form}BBHH")


def read_allocations(data: bytes) -> list[Allocation]:
    """The functions of a kernel.

    Raises:
        ValueError: the data is damaged, or of a version that is not known.
    """
    for tail in _TAILS:
        reader = _Reader(data)
        try:
            magic, count = reader.numbers("IH")
            if magic != MAGIC:
                break
            found = [_function(reader, tail) for _ in range(count)]
        except struct.error:
            continue
        if reader.at == len(data):
            return found
    raise ValueError("the compiler's allocation of registers cannot be read")


def _function(reader: _Reader, tail: tuple[str, str]) -> Allocation:
    own = Allocation(reader.text(), reader.number("I"))
    for _ in range(reader.number("I")):
        reader.numbers("II")  # Bytes of the binary form, and native offsets.
    offsets = [reader.numbers("II") for _ in range(reader.number("I"))]
    own.offsets = sorted((index, own.begin + offset) for index, offset in offsets)
    for _ in range(reader.number("I")):
        name = reader.text()
        for first, last, _, kind, register, byte in reader.places("HH"):
            if kind == _GRF:
                own.variables.append(AllocatedVariable(name, first, last, register, byte))
    for _ in range(reader.number("H")):  # Subroutines.
        reader.text()
        reader.numbers("II")
        list(reader.places("HH"))
    reader.number("H")
    for _ in range(3):  # Pointers of the frame.
        if reader.number("B"):
            list(reader.places("II"))
    before, callers = tail
    for _ in range(reader.numbers(before)[-1]):
        _saved(reader)
    for _ in range(reader.number(callers)):
        _saved(reader)
    return own


def _saved(reader: _Reader) -> None:
    for _ in range(reader.numbers("IH")[1]):
        reader.numbers("HHBHH")
