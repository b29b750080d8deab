"""Structures in the memory of the program, by the layout of their fields."""

from __future__ import annotations

import ctypes
import re
from typing import Any, ClassVar, Self

CType = Any  # ctypes has no public type for the types of fields.
_TYPES: dict[str, CType] = {
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
    "i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float, "f64": ctypes.c_double,
}  # fmt: skip
"""Types of fields by their words; each structure adds its own."""
_FIELD = re.compile(r"(\w+)(?:\[(\d+)\])? (\w+)")


class Structure(ctypes.Structure):
    """A structure of C. Pointers and handles are numbers.

    Attributes:
        number: what its field ``stype`` says, if it has one.
    """

    number: ClassVar[int] = 0

    @classmethod
    def at(cls, address: int) -> Self:
        """The structure at an address, in place."""
        return cls.from_address(address)

    @classmethod
    def bytes(cls) -> int:
        """Its size."""
        return ctypes.sizeof(cls)

    def place(self, name: str) -> int:
        """The address of a field."""
        return ctypes.addressof(self) + int(getattr(type(self), name).offset)


def structure(name: str, layout: str, number: int = 0) -> type[Structure]:
    """A structure.

    Args:
        layout: of each field its type, perhaps a count in brackets, and its name, with commas between them; a type may
            be a structure that was made before.
        number: of the structure's kind, for the field ``stype``.
    """
    found = []
    for kind, count, field in _FIELD.findall(layout):
        found.append((field, _TYPES[kind] * int(count) if count else _TYPES[kind]))
    made = type(name, (Structure,), {"_fields_": found, "number": number})
    _TYPES[name] = made
    return made
