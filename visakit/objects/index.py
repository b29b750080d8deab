"""Section ``.visa.index``: facts for a linker about the kernels and functions of an object, in place of their code.

It begins with a checksum of the module that it describes; for another module it is ignored. The numbers of functions
and calls follow, a record for each, and the names of the calls.
"""

from __future__ import annotations

import functools
import struct
import zlib
from typing import NamedTuple

from visakit.language.calls import KINDS, Call, calls_of
from visakit.language.program import Function

_HEAD = struct.Struct("<III")
_FUNCTION = struct.Struct("<IIiii?")
_CALL = struct.Struct("<IBIBBI")
_SILENT = -1
_SIZE_ATTRIBUTES = ("ArgSize", "RetValSize", "SimdSize")


class DeclaredSizes(NamedTuple):
    """Registers of arguments and return value, and lanes, as a function declares them; None if it is silent."""

    arguments: int | None
    return_value: int | None
    simd: int | None

    @classmethod
    def of(cls, function: Function) -> DeclaredSizes:
        """The sizes among the attributes of a function."""
        sizes = (function.attribute(name) for name in _SIZE_ATTRIBUTES)
        arguments, result, simd = (a.integer if a else None for a in sizes)
        return cls(arguments, result, function.lanes if function.is_cm else simd)


class Description(NamedTuple):
    """The number of instructions of a kernel or function, its declarations, its calls and the names that they mean."""

    instructions: int
    sizes: DeclaredSizes
    is_exported: bool
    calls: list[Call]
    names: list[str]

    @classmethod
    def of(cls, function: Function) -> Description:
        """That of a function which was read."""
        calls = calls_of(function)
        names = [function.strings[call.string] for call in calls]
        return cls(len(function.instructions), DeclaredSizes.of(function), function.is_exported, calls, names)

    def fits(self, function: Function) -> bool:
        """Whether its names of calls are those of a function that was read later."""
        strings = function.strings
        return all(
            c.string < len(strings) and strings[c.string] == n for c, n in zip(self.calls, self.names, strict=True)
        )


def write_index(descriptions: list[Description], data: bytes) -> bytes:
    """Contents of the section for the functions of a module and its bytes; none where a function declares a size that
    has no room.
    """
    calls = [call for d in descriptions for call in d.calls]
    try:
        functions = [
            _FUNCTION.pack(d.instructions, len(d.calls), *(_SILENT if n is None else n for n in d.sizes), d.is_exported)
            for d in descriptions
        ]
    except struct.error:
        return b""
    names = b"\0".join(name.encode("utf-8", "surrogateescape") for d in descriptions for name in d.names)
    head = _HEAD.pack(zlib.crc32(data), len(descriptions), len(calls))
    return b"".join([head, *functions, *(_CALL.pack(*call) for call in calls), names])


def read_index(section: bytes, data: bytes) -> list[Description] | None:
    """The record of each function; None if the section belongs to other bytes.

    Raises:
        ValueError: it belongs to these, and makes no sense.
    """
    if len(section) < _HEAD.size:
        return None
    checksum, functions, calls = _HEAD.unpack_from(section)
    if checksum != zlib.crc32(data):
        return None
    first = _HEAD.size + functions * _FUNCTION.size
    end = first + calls * _CALL.size
    if end > len(section):
        raise ValueError("it ends too early")
    records = [Call._make(fields) for fields in _CALL.iter_unpack(section[first:end])]
    names = section[end:].decode("utf-8", "surrogateescape").split("\0") if calls else []
    descriptions, position = [], 0
    for instructions, count, arguments, return_value, simd, is_exported in _FUNCTION.iter_unpack(
        section[_HEAD.size : first]
    ):
        declared, end = _declared(arguments, return_value, simd), position + count
        descriptions.append(
            Description(instructions, declared, is_exported, records[position:end], names[position:end])
        )
        position = end
    if position != calls or len(names) != calls or not {call.kind for call in records} <= set(KINDS):
        raise ValueError("it has other calls than it says")
    return descriptions


@functools.cache
def _declared(*sizes: int) -> DeclaredSizes:
    return DeclaredSizes(*(None if n == _SILENT else n for n in sizes))
