"""Decodes the printf buffer that kernels fill: records of a format string's address and typed values."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING

from vsim.memory.memory import AddressSpace, Buffer
from vsim.observe import c_format
from vsim.observe.c_format import Directive

if TYPE_CHECKING:
    from vsim.launch.dispatch import Dispatch

_CODES = {1: "<bxxx", 2: "<hxx", 3: "<i", 4: "<f", 5: "<Q", 6: "<q", 7: "<Q", 8: "<d"}
"""How a value is stored, by the code of its type."""
_VECTORS = {9: "b", 10: "h", 11: "i", 12: "q", 13: "f", 14: "d"}
"""The elements of a vector, by the code of its type; their number is before them, each has four bytes or more."""
_STRING, _POINTER = 5, 7
_BITS = {"hh": 8, "h": 16, "l": 64, "ll": 64}
"""Bits of an integer by the length in its directive; others have 32."""
_DIRECTIVE = re.compile(
    r"%(?P<flags>[-+ #0]*+)(?P<width>\d*+)(?P<precision>(?:\.\d*+)?+)(?P<vector>(?:v\d++)?+)(?P<length>hh|hl|h|ll|l|)"
    r"(?P<kind>[diouxXfFeEgGaAcsp%])"
)

MAXIMUM_WIDTH = 4095
"""Characters that a width or precision may ask for; C promises no more."""
MAXIMUM_TEXT = 1 << 26
"""Characters that a launch may print. Records of eight bytes may print texts of 64 KiB each."""
_NO_ROOM = 0xFFFF_FFFF
"""The first half of the address in the record that did not fit into the buffer; its other half is not written."""
_REST = "\n<the rest of the kernel's output is left out>\n"

Value = str | float | tuple[float, ...]
"""A text, a number or a vector."""


def _buffer(memory: AddressSpace, address: int) -> Buffer | None:
    """The buffer that holds an address."""
    buffer = memory.slots.get(address >> 32)
    return buffer if buffer is not None and buffer.address <= address < buffer.address + buffer.size else None


def string_at(memory: AddressSpace, address: int) -> str:
    """The text at an address, up to its end."""
    buffer = _buffer(memory, address)
    if buffer is None:
        return f"<no string at {address:#x}>"
    data = buffer.data[address - buffer.address :]
    end = bytes(data[:65536]).find(b"\0")
    return bytes(data[: end if end >= 0 else 65536]).decode("utf-8", "replace")


def _formatted(m: re.Match[str], value: Value) -> str:
    """One value as its directive says; the elements of a vector with commas between them.

    Raises:
        TypeError, ValueError, OverflowError: it says something else of it.
    """
    if isinstance(value, tuple):
        return ",".join(_formatted(m, element) for element in value)
    kind, precision = m["kind"], m["precision"]
    bits = 64 if kind == "p" else _BITS.get(m["length"], 32)
    digits = min(int(precision[1:] or 0), MAXIMUM_WIDTH) if precision else None
    directive = Directive(m["flags"], min(int(m["width"] or 0), MAXIMUM_WIDTH), digits, bits, kind)
    if kind == "s":
        return c_format.text(directive, str(value))
    if kind == "c":
        return c_format.character(directive, int(value))
    if kind in "diouxXp":
        return c_format.integer(directive, int(value))
    return c_format.real(directive, float(value))


Part = str | re.Match[str]
"""A part of a format: literal text, or a directive."""


def _parts(text: str) -> list[Part]:
    """A format at its directives."""
    found: list[Part] = []
    literal, behind = list[str](), 0
    for m in _DIRECTIVE.finditer(text):
        literal.append(text[behind : m.start()])
        behind = m.end()
        if m["kind"] == "%":
            literal.append("%")
        else:
            found += ["".join(literal), m]
            literal = []
    return [*found, "".join([*literal, text[behind:]])]


def _shown(m: re.Match[str], value: Value) -> str:
    try:
        return _formatted(m, value)
    except (TypeError, ValueError, OverflowError):  # what C leaves undefined: a number for a text, and the like
        return str(value)


@dataclass(frozen=True)
class PrintfRecords:
    """What a launch printed: records of a format string's address and typed values, and the memory of the strings.

    Attributes:
        is_cut: the kernel printed more than the buffer holds.
    """

    data: bytes
    memory: AddressSpace
    is_cut: bool = False

    @classmethod
    def of(cls, buffer: Buffer, memory: AddressSpace, begin: int = 0) -> PrintfRecords:
        """The records in a buffer that kernels print to.

        Args:
            begin: where the buffer has the place of the next record, as bytes from its beginning; records follow.
        """
        end = int(buffer.data[begin : begin + 4].view("<u4")[0])
        return cls(bytes(buffer.data[begin : min(buffer.size, end)]), memory, end > buffer.size)

    def text(self) -> str:
        """What they say, in their order."""
        return self.text_until(None)[0]

    def text_until(self, end: float | None) -> tuple[str, bool]:
        """What they say, and whether that is all: texts beyond a size, or beyond a time of the clock, are left out.

        Args:
            end: as :func:`time.perf_counter` has it.
        """
        out, length = list[str](), 0
        for piece in self._pieces():
            if length > MAXIMUM_TEXT or (end is not None and perf_counter() > end):
                return "".join([*out, _REST]), False
            out.append(piece)
            length += len(piece)
        return "".join(out), True

    def in_time(self, dispatch: Dispatch, started: float, max_seconds: float | None) -> str | PrintfRecords:
        """What a launch printed; where its time is limited, the text: the limit holds for what that takes, too.

        Raises:
            SimulationError: S040, it takes longer.
        """
        if max_seconds is None:
            return self
        text, is_all = self.text_until(started + max_seconds)
        if is_all or perf_counter() <= started + max_seconds:
            return text
        error = dispatch.timeout(max_seconds)
        error.printf = text
        raise error

    def _pieces(self) -> Iterator[str]:
        """The parts of the printed text. Thousands of records have the same format, and may have the same texts."""
        data, position = self.data, 4
        formats = cache(lambda address: _parts(string_at(self.memory, address)))
        while position + 8 <= len(data):
            (address,) = struct.unpack_from("<Q", data, position)
            if self.is_cut and address & _NO_ROOM == _NO_ROOM:
                break
            position += 8
            for part in formats(address):
                if isinstance(part, str):
                    if part:
                        yield part
                    continue
                value: Value = 0
                if position + 8 <= len(data):
                    value, position = self._value(position, part["kind"] == "s")
                yield _shown(part, value)
            while self._is_surplus(position):
                _, position = self._value(position)
        if self.is_cut:
            yield _REST

    def _is_surplus(self, position: int) -> bool:
        """Whether a value that no directive takes stands there: type and value are no address of a text."""
        if position + 8 > len(self.data):
            return False
        code, address = *struct.unpack_from("<I", self.data, position), *struct.unpack_from("<Q", self.data, position)
        return (code in _CODES or code in _VECTORS) and _buffer(self.memory, address) is None

    def _value(self, position: int, is_text: bool = False) -> tuple[Value, int]:
        """A value behind its type, and the position behind it; bytes beyond the end of the buffer are 0.

        A text that the compiler does not know for one (it is empty, or has an end before its end) is a pointer to it.
        """
        (code,) = struct.unpack_from("<I", self.data, position)
        position += 4
        if code in _VECTORS:
            if position + 4 > len(self.data):
                return 0, len(self.data)
            (count,) = struct.unpack_from("<I", self.data, position)
            size = struct.calcsize(_VECTORS[code])
            count = max(0, min(count, (len(self.data) - position - 4) // size))
            values = struct.unpack_from(f"<{count}{_VECTORS[code]}", self.data, position + 4)
            return values, position + 4 + count * max(size, 4)
        layout = struct.Struct(_CODES.get(code, "<i"))
        if position + layout.size > len(self.data):
            return 0, len(self.data)
        (value,) = layout.unpack_from(self.data, position)
        is_string = code == _STRING or (is_text and code == _POINTER)
        return string_at(self.memory, value) if is_string else value, position + layout.size


def show(text: str) -> None:
    """What a kernel printed, on standard output, as OpenCL's printf has it."""
    if text and sys.stdout is not None:
        sys.stdout.write(text)
