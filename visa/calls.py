"""Section ``.visa.calls``: what the instructions of an object refer to by name, so that a linker need not decode them.

It begins with a checksum of the module that it describes; of another module, or of none, nothing in it counts.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from visa.program import Body, Module

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


def calls_of(body: Body) -> list[Call]:
    """The calls of a body, by its instructions."""
    return [
        Call(n, _KINDS.index(i.form.mnemonic), i.args["name"], i.args.get("arg_grf", 0), i.args.get("ret_grf", 0), i.line)
        for n, i in enumerate(body.instructions) if i.form.mnemonic in _KINDS
    ]  # fmt: skip


def write_calls(module: Module, data: bytes) -> bytes:
    """Contents of the section for a module and its bytes."""
    out = [struct.pack("<I", zlib.crc32(data))]
    for body in module.bodies:
        calls = calls_of(body)
        out += [struct.pack("<II", len(body.instructions), len(calls)), *(_CALL.pack(*c) for c in calls)]
    return b"".join(out)


def read_calls(section: bytes, data: bytes) -> list[tuple[int, list[Call]]] | None:
    """For each body the number of its instructions and its calls; None if the section does not belong to these bytes."""
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
    """Whether what was read fits the bodies of a module."""
    bodies, rows = module.bodies, list(found)
    return len(rows) == len(bodies) and all(
        c.kind < len(_KINDS) and c.string < len(b.strings) and c.number < count for (count, calls), b in zip(rows, bodies, strict=True) for c in calls
    )
