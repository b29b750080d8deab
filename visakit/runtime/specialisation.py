"""Specialisation constants of SPIR-V: values in the module that the program may replace before it is compiled.

The numbers are those of the specification of SPIR-V (2.3 and 3.52).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from visakit.runtime import cl
from visakit.runtime.errors import CallError, require

_HEADER_WORDS = 5
_DECORATE, _SPEC_ID = 71, 1
_TRUE, _FALSE, _CONSTANT = 48, 49, 50


def _instructions(words: tuple[int, ...]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Position, opcode and operands of each instruction."""
    position = _HEADER_WORDS
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        require(count and position + count <= len(words), cl.CL_INVALID_PROGRAM, "the module is damaged")
        yield position, opcode, words[position + 1 : position + count]
        position += count


def specialised(module: bytes, number: int, value: bytes) -> bytes:
    """The module with another value for the constant of a number.

    Raises:
        CallError: there is no such constant, or it has another size.
    """
    require(len(module) % 4 == 0, cl.CL_INVALID_PROGRAM, "the module is damaged")
    words = struct.unpack(f"<{len(module) // 4}I", module)
    targets = {
        operands[0] for _, opcode, operands in _instructions(words)
        if opcode == _DECORATE and operands[1:3] == (_SPEC_ID, number)
    }  # fmt: skip
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
