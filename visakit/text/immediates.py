"""The bits of immediates (manual, chapter 3)."""

from __future__ import annotations

import struct

from visakit.language import types
from visakit.text.problem import Problem


def integer_bits(value: int, data_type: types.DataType, text: str) -> int:
    """The stored bits of an integer; ``text`` is how it was written.

    Raises:
        Problem: it does not fit into the type.
    """
    stored = 64 if data_type.size == 8 and data_type.is_integer else 32
    if data_type.is_integer:
        bits = data_type.bits
        # The compiler prints narrow immediates sign-extended to 32 bits, in hex.
        extended = stored == 32 and bits < 32 and (1 << 32) - (1 << (bits - 1)) <= value < 1 << 32
        if not (-(1 << (bits - 1)) <= value < 1 << bits or extended):
            raise Problem(
                "V021",
                f"{text} does not fit into type {data_type}",
                f"{data_type} holds {data_type.minimum} to {data_type.maximum}",
            )
    elif not -(1 << 31) <= value < 1 << 32:
        raise Problem("V021", f"{text} does not fit into the 32 bits of type {data_type}")
    return value & (1 << stored) - 1


def bits_as_float(value: int, data_type: types.DataType, text: str) -> int:
    """The bits of a float that is written as an integer: that integer.

    Raises:
        Problem: it has more bits than the type.
    """
    limit = 32 if data_type is types.F else data_type.bits
    if not -(1 << (limit - 1)) <= value < 1 << limit:
        raise Problem("V021", f"the bits {text} do not fit into type {data_type}")
    return value & ((1 << 64) - 1 if data_type is types.DF else 0xFFFFFFFF)


def float_bits(value: float, data_type: types.DataType, text: str) -> int:
    """The bits of a float in a type, rounded to nearest even.

    Raises:
        Problem: it is too large for the type.
    """
    try:
        if data_type is types.BF:
            bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
            return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        packed, unpacked = {types.F: ("<f", "<I"), types.DF: ("<d", "<Q"), types.HF: ("<e", "<H")}[data_type]
        return int(struct.unpack(unpacked, struct.pack(packed, value))[0])
    except OverflowError:
        raise Problem("V021", f"{text} does not fit into type {data_type}") from None
