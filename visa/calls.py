"""Section ``.visa.calls``: what the instructions of an object refer to by name, so that a linker need not decode them.

It begins with a checksum of the module that it describes; of another module, or of none, nothing in it counts.
"""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from visa.isa import FORMS, InstructionDesc
from visa.isa.record import Flow
from visa.program import Function, Instruction, Module

_CALL, _ADDRESS = range(2)
_RECORD = struct.Struct("<IBIBBI")


class Call(NamedTuple):
    """An instruction that calls a function by its name, or takes the address of a function or of data.

    ``number`` counts the instructions of the function, ``kind`` says which of the two it is, ``string`` is the index of
    the name, the sizes of arguments and return value are in registers, ``line`` is the source line (0 where unknown).
    """

    number: int
    kind: int
    string: int
    arg_grf: int = 0
    ret_grf: int = 0
    line: int = 0

    @property
    def takes_address(self) -> bool:
        """Whether it takes an address and calls nothing."""
        return self.kind == _ADDRESS

    @property
    def mnemonic(self) -> str:
        """The mnemonic of the instruction, for messages."""
        return _mnemonics()[self.kind]


def _kind(desc: InstructionDesc) -> int:
    return _CALL if desc.flow is Flow.CALL_FUNCTION else _ADDRESS


@functools.cache
def _mnemonics() -> dict[int, str]:
    return {_kind(desc): desc.mnemonic for desc in FORMS if desc.names_symbol}


class SizeMismatch(NamedTuple):
    """A call that passes another number of registers than its callee declares."""

    function: Function
    instruction: Instruction
    field: str
    target: Function
    attribute: str
    declared: int


def differing_sizes(instruction: Instruction, target: Function) -> Iterator[tuple[str, str, int]]:
    """The sizes of a call that are not those which its callee declares: the field, the attribute and its value."""
    for field, attribute in (("arg_grf", "ArgSize"), ("ret_grf", "RetValSize")):
        declared = target.attribute(attribute)
        if declared is not None and declared.integer != instruction.args[field]:
            yield field, attribute, declared.integer


def size_difference(instruction: Instruction, target: Function) -> str:
    """What is wrong with the sizes of a call, in words; empty if nothing."""
    for field, attribute, declared in differing_sizes(instruction, target):
        what = "arguments" if field == "arg_grf" else "return value"
        passed = f"the call passes {instruction.args[field]} registers of {what}"
        return f"{passed}, '{target.name}' declares {attribute}={declared}"
    return ""


def uncallable(target: Function | None, address: int, lanes: int) -> str:
    """Why a thread of so many lanes cannot call what is at an address, in words."""
    if target is None:
        return f"there is no function at address {address:#x}"
    return f"function '{target.name}' at address {address:#x} is for {target.simd_size} lanes, the thread has {lanes},"


def mismatched_sizes(module: Module) -> Iterator[SizeMismatch]:
    """The calls of a module's functions by name whose sizes are not those of the callee, if that is in the module."""
    functions = {f.name: f for f in module.functions}
    for function in module.all_functions:
        for i in function.instructions:
            if not i.desc.names_symbol or i.desc.flow is not Flow.CALL_FUNCTION:
                continue
            target = functions.get(function.strings[i.args["name"]])
            if target is not None:
                for field, attribute, declared in differing_sizes(i, target):
                    yield SizeMismatch(function, i, field, target, attribute, declared)


def calls_of(function: Function) -> list[Call]:
    """The calls of a function, by its instructions."""
    return [
        Call(n, _kind(i.desc), i.args["name"], i.args.get("arg_grf", 0), i.args.get("ret_grf", 0), i.line)
        for n, i in enumerate(function.instructions)
        if i.desc.names_symbol
    ]


def write_calls(module: Module, data: bytes) -> bytes:
    """Contents of the section for a module and its bytes."""
    out = [struct.pack("<I", zlib.crc32(data))]
    for function in module.all_functions:
        calls = calls_of(function)
        out += [struct.pack("<II", len(function.instructions), len(calls)), *(_RECORD.pack(*c) for c in calls)]
    return b"".join(out)


def read_calls(section: bytes, data: bytes) -> list[tuple[int, list[Call]]] | None:
    """For each function the number of its instructions and its calls; None if the section belongs to other bytes."""
    if len(section) < 4 or struct.unpack_from("<I", section)[0] != zlib.crc32(data):
        return None
    found, position = [], 4
    try:
        while position < len(section):
            instructions, count = struct.unpack_from("<II", section, position)
            position += 8
            end = position + count * _RECORD.size
            if end > len(section):
                return None
            found.append((instructions, [Call(*fields) for fields in _RECORD.iter_unpack(section[position:end])]))
            position = end
    except struct.error:
        return None
    return found


def describes(calls: list[tuple[int, list[Call]]], module: Module) -> bool:
    """Whether what :func:`read_calls` found fits the functions of a module."""
    functions = module.all_functions
    return len(calls) == len(functions) and all(
        c.kind in (_CALL, _ADDRESS) and c.string < len(function.strings) and c.number < count
        for (count, found), function in zip(calls, functions, strict=True)
        for c in found
    )
