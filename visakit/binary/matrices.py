"""Forms of the address of a block message in bytes (docs/cisa.md, "Matrices").

Three forms follow the payload: six operands; six operands, of which the last two have an offset of four bytes each; or
a register, the payload, and two offsets. No field distinguishes them. Operands do: they have a region with a width, and
numbers of 32 bits, and offsets are too small to look like either.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from visakit.isa.enums import MATRIX_OFFSETS, MATRIX_OPERANDS, OFFSETS_OF_BLOCKS
from visakit.language import types
from visakit.language.operands import General, Immediate
from visakit.language.program import FIRST_VARIABLE, Fields, Variable

_GENERAL, _IMMEDIATE = 9, 6
"""Bytes of a register and of a number of 32 bits."""
_NUMBER = 5
"""The tag of a number."""
_PLACES = 5
"""Operands before the last one, y."""
_FIRST_CONFUSED = 1 << 12
"""Byte offset of the data from which on they could look like the region of an operand."""
_LAST_STRIDE = 7
"""The largest code of a stride or width."""
_NAMES = ("base", "surface_width", "surface_height", "surface_pitch", "x", "y")


def _operand(data: bytes, position: int, end: int, variables: Sequence[Variable]) -> int:
    """Bytes of the scalar operand at a place; 0 if no operand is there."""
    tag = data[position] if position < end else -1
    if tag == _NUMBER and position + _IMMEDIATE <= end:
        return _IMMEDIATE if data[position + 1] in (types.UD.code, types.D.code) else 0
    if tag or position + _GENERAL > end:
        return 0
    var, _, _, region = struct.unpack_from("<IBBH", data, position + 1)
    known = 0 < var < FIRST_VARIABLE + len(variables)
    strides = region & 15, region >> 4 & 15, region >> 8
    return _GENERAL if known and strides[1] and max(strides) <= _LAST_STRIDE else 0


def addressing_of(data: bytes, position: int, end: int, variables: Sequence[Variable]) -> int:
    """The form of the address at a place: bits of :mod:`visakit.isa.enums`."""
    for number in range(_PLACES):
        size = _operand(data, position, end, variables)
        if not size:
            # Of six damaged operands, the reader reports the error.
            return MATRIX_OFFSETS if number in (1, 2) else MATRIX_OPERANDS
        position += size
    if _operand(data, position + 4, end, variables):
        return MATRIX_OPERANDS | MATRIX_OFFSETS
    return MATRIX_OPERANDS


def illegal_matrix(args: Fields) -> str:
    """Why the form of an address could not be told from its bytes; empty if it can."""
    form = args["addressing"]
    if form not in (MATRIX_OPERANDS, MATRIX_OFFSETS, MATRIX_OPERANDS | MATRIX_OFFSETS):
        return f"{form} is not a form of the address of a matrix"
    if not isinstance(args["base"], General):
        return "the address of a matrix is not in a register"
    if not all(_is_place(args[n]) for n in _NAMES[: len(_NAMES) if form & MATRIX_OPERANDS else 1]):
        return "a matrix is said by scalar registers, and numbers of 32 bits"
    return _illegal_offsets(form, args) or _confusing(form, args)


def _is_place(op: object) -> bool:
    """Whether an operand looks like one (:func:`_operand`)."""
    if isinstance(op, Immediate):
        return op.type in (types.UD, types.D)
    return isinstance(op, General) and op.var > 0 and op.region[1] is not None


def _illegal_offsets(form: int, args: Fields) -> str:
    if not form & MATRIX_OFFSETS:
        return ""
    offsets = args["x_offset"], args["y_offset"]
    if any(n not in OFFSETS_OF_BLOCKS for n in offsets):
        return f"an offset of a block is not between {OFFSETS_OF_BLOCKS[0]} and {OFFSETS_OF_BLOCKS[-1]}"
    return "both offsets of a block are 0 and can be left out" if form & MATRIX_OPERANDS and not any(offsets) else ""


def _confusing(form: int, args: Fields) -> str:
    """A rule for bytes that could be an operand or an offset."""
    y, data = args.get("y"), args["src1"].offset if "src1" in args else 0
    if form == MATRIX_OPERANDS and isinstance(y, Immediate) and y.bits >> 16 & 0xFF == _NUMBER:
        return f"the number {y.bits:#x} as y could not be told from an offset; put it into a register"
    if (form == MATRIX_OFFSETS or isinstance(y, Immediate)) and data >= _FIRST_CONFUSED:
        return f"the data of a block begin at byte {data} of their variable, and must before byte {_FIRST_CONFUSED}"
    return ""
