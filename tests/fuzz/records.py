"""Variables of a thread that a text loads from memory when it begins and stores when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from support.scalar import SIZES

LANES = 32
"""Elements of the variables, of which narrower threads use the first."""


@dataclass(frozen=True)
class Variable:
    """A variable of a thread's record: name, type and number of elements."""

    name: str
    type: str
    count: int = LANES

    @property
    def bytes(self) -> int:
        """Its size in whole registers of any platform."""
        return -(-self.count * SIZES[self.type] // 64) * 64

    @property
    def declaration(self) -> str:
        """Its declaration."""
        return f".decl {self.name} v_type=G type={self.type} num_elts={self.bytes // SIZES[self.type]} align=GRF"


def place_of(element: int, size: int, register: int) -> str:
    """Row and column of an element of so many bytes."""
    row, column = divmod(element * size, register)
    return f"({row},{column // size})"


def moves(variables: Iterable[Variable], load: bool, record: str = "") -> list[str]:
    """Lines that load variables from ``IN``, or store them to ``OUT``, by way of ``AT``.

    Args:
        record: a scalar, where the record of the thread begins; at 0 without one.
    """
    at, lines = 0, []
    for v in variables:
        for piece in range(0, v.bytes, 64):
            lines.append(f"add (M1_NM, 1) AT(0,0)<1> {'IN' if load else 'OUT'}(0,0)<0;1,0> {at + piece}:ud")
            lines += [f"add (M1_NM, 1) AT(0,0)<1> AT(0,0)<0;1,0> {record}"] if record else []
            lines.append(f"svm_block_{'ld' if load else 'st'} (4) AT(0,0)<0;1,0> {v.name}.{piece}")
        at += v.bytes
    return lines
