"""Section ``.visa.calls``: what the instructions of an object refer to by name, so that a linker need not decode them.

It begins with a checksum of the module that it describes; of another module, or of none, nothing in it counts.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from visa.program import Function, Module

_KINDS = ("fcall", "faddr")
_CALL = struct.Struct("<IBIBBI")


class Call(NamedTuple):
    """An fcall or faddr: number of the instruction, which of the two, the string that it names, sizes in registers, source line."""

    number: int
    kind: int
    string: int
    arg_grf: int = 0
    ret_grf: int = 0
    line: int = 0

    @property
    def mnemonic(self) -> str:
        return _KINDS[self.kind]


def calls_of(function: Function) -> list[Call]:
    """The calls of a function, by its instructions."""
    return [
        Call(n, _KINDS.index(i.desc.mnemonic), i.args["name"], i.args.get("arg_grf", 0), i.args.get("ret_grf", 0), i.line)
        for n, i in enumerate(function.instructions) if i.desc.mnemonic in _KINDS
    ]  # fmt: skip


def write_calls(module: Module, data: bytes) -> bytes:
    """Contents of the section for a module and its bytes."""
    out = [struct.pack("<I", zlib.crc32(data))]
    for function in module.all_functions:
        calls = calls_of(function)
        out += [struct.pack("<II", len(function.instructions), len(calls)), *(_CALL.pack(*c) for c in calls)]
    return b"".join(out)


def read_calls(section: bytes, data: bytes) -> list[tuple[int, list[Call]]] | None:
    """For each function the number of its instructions and its calls; None if the section does not belong to these bytes."""
    if len(section) < 4 or struct.unpack_from("<I", section)[0] != zlib.crc32(data):
        return None
    found, position = [], 4
    try:
        while position < len(section):
            instructions, count = struct.unpack_from("<II", section, position)
            position += 8
            end = position + count * _CALL.size
            if end > len(section):
                return None
            found.append((instructions, [Call(*fields) for fields in _CALL.iter_unpack(section[position:end])]))
            position = end
    except struct.error:
        return None
    return found


def whole(found: Iterable[tuple[int, list[Call]]], module: Module) -> bool:
    """Whether what was read fits the functions of a module."""
    functions, rows = module.all_functions, list(found)
    return len(rows) == len(functions) and all(
        c.kind < len(_KINDS) and c.string < len(b.strings) and c.number < count
        for (count, calls), b in zip(rows, functions, strict=True)
        for c in calls
    )
