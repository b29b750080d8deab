"""Specialisation constants of SPIR-V: values in the module that the program may replace before it is compiled.

The names by which modules are linked are read here, too. The numbers are those of the specification of SPIR-V (2.3 and
3.52).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from visakit.objects import spirv
from visakit.runtime import cl
from visakit.runtime.errors import CallError, require

_DECORATE, _SPEC_ID = 71, 1
_TRUE, _FALSE, _CONSTANT = 48, 49, 50
_INTEGER, _REAL = 21, 22
_LINKAGE, _IMPORT = 41, 1


def _words(module: bytes) -> tuple[int, ...]:
    try:
        return spirv.words(module)
    except ValueError as error:
        raise CallError(cl.CL_INVALID_PROGRAM, str(error)) from None


def _instructions(words: tuple[int, ...]) -> Iterator[spirv.SpirvInstruction]:
    try:
        yield from spirv.instructions(words)
    except ValueError as error:
        raise CallError(cl.CL_INVALID_PROGRAM, str(error)) from None


def _constants_of(words: tuple[int, ...], number: int) -> set[int]:
    """Ids of the specialisation constants of a number."""
    return {
        operands[0] for _, opcode, operands in _instructions(words)
        if opcode == _DECORATE and operands[1:3] == (_SPEC_ID, number)
    }  # fmt: skip


def specialised(module: bytes, number: int, value: bytes) -> bytes:
    """The module with another value for the constant of a number.

    Raises:
        CallError: there is no such constant, or it has another size.
    """
    words = _words(module)
    targets = _constants_of(words, number)
    changed = list(words)
    is_known = False
    for position, opcode, operands in _instructions(words):
        if opcode not in (_TRUE, _FALSE, _CONSTANT) or operands[1] not in targets:
            continue
        is_known = True
        if opcode == _CONSTANT:
            literals = len(operands) - 2
            fits = len(value) <= 4 * literals and (literals == 1 or len(value) == 8)
            require(fits, cl.CL_INVALID_VALUE, f"the constant has {4 * literals} bytes, found {len(value)}")
            changed[position + 3 : position + 3 + literals] = struct.unpack(
                f"<{literals}I", value.ljust(4 * literals, b"\0")
            )
        else:
            require(len(value) == 1, cl.CL_INVALID_VALUE, f"a truth value has a byte, found {len(value)}")
            changed[position] = words[position] & ~0xFFFF | (_TRUE if any(value) else _FALSE)
    if not is_known:
        raise CallError(cl.CL_INVALID_SPEC_ID, f"the module has no specialisation constant {number}")
    return struct.pack(f"<{len(changed)}I", *changed)


def constant_size(module: bytes, number: int) -> int:
    """Bytes of the specialisation constant of a number; a truth value has one.

    Raises:
        CallError: the module is damaged, or has no such constant.
    """
    words = _words(module)
    targets = _constants_of(words, number)
    widths = {
        operands[0]: operands[1] // 8 for _, opcode, operands in _instructions(words) if opcode in (_INTEGER, _REAL)
    }
    for _, opcode, operands in _instructions(words):
        if opcode in (_TRUE, _FALSE, _CONSTANT) and operands[1] in targets:
            return widths.get(operands[0], 4) if opcode == _CONSTANT else 1
    raise CallError(cl.CL_INVALID_SPEC_ID, f"the module has no specialisation constant {number}")


class Linkage(NamedTuple):
    """Names of functions and data that a module takes from others, and gives them."""

    imports: tuple[str, ...]
    exports: tuple[str, ...]


def linkage(module: bytes) -> Linkage:
    """The names by which a module is linked with others.

    Raises:
        CallError: it is damaged.
    """
    found: tuple[list[str], list[str]] = ([], [])
    for _, opcode, operands in _instructions(_words(module)):
        if opcode == _DECORATE and operands[1] == _LINKAGE:
            name = spirv.text(operands[2:-1])
            if not name.startswith("__spirv_"):  # The compiler has these.
                found[operands[-1] != _IMPORT].append(name)
    return Linkage(tuple(found[0]), tuple(found[1]))
