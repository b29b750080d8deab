"""Types and constants of LLVM IR for the element types of vISA."""

from __future__ import annotations

import struct
from functools import cache

from visakit.language import types
from visakit.language.types import DataType

IR_TYPES: dict[DataType, str] = {
    types.UD: "i32", types.D: "i32", types.UW: "i16", types.W: "i16", types.UB: "i8", types.B: "i8", types.DF: "double",
    types.F: "float", types.UQ: "i64", types.Q: "i64", types.HF: "half", types.BF: "i16",
}  # fmt: skip
MASK = DataType("mask", 99, 1, types.BOOL)
"""One bit a lane: execution masks, predicates and results of comparisons."""
_OVERLOADS = {"i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "float": "f32", "double": "f64",
              "half": "f16", "ptr": "p0"}  # fmt: skip


@cache
def ir_type(data_type: DataType, lanes: int) -> str:
    """The LLVM type of a lane value: a scalar for one lane, else a vector."""
    scalar = "i1" if data_type is MASK else IR_TYPES[data_type]
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


@cache
def overload(scalar: str, lanes: int) -> str:
    """What the name of an overloaded intrinsic has for a type, such as ``v16f32``."""
    return _OVERLOADS[scalar] if lanes == 1 else f"v{lanes}{_OVERLOADS[scalar]}"


@cache
def splat(element: str, lanes: int) -> str:
    """A constant vector of equal elements, each given with its type."""
    return "<" + ", ".join([element] * lanes) + ">"


def literal(value: int | float, data_type: DataType) -> str:
    """A constant of a scalar type."""
    if data_type is MASK:
        return "true" if value else "false"
    if data_type is types.DF:
        return "0x" + struct.pack(">d", value).hex()
    if data_type is types.F:
        return "0x" + struct.pack(">d", struct.unpack("<f", struct.pack("<f", value))[0]).hex()
    if data_type is types.HF:
        return "0xH" + struct.pack(">e", value).hex()
    bits = data_type.size * 8
    value = int(value) & ((1 << bits) - 1)
    return str(value - (1 << bits) if value >> (bits - 1) else value)
