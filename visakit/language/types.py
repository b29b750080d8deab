"""Data types of vISA: text name, binary code, size and value range (manual, chapter 2)."""

from __future__ import annotations

from dataclasses import dataclass

from visakit.forks import cached_property

UNSIGNED, SIGNED, FLOAT, VECTOR, BOOL = "unsigned", "signed", "float", "vector", "bool"


@dataclass(frozen=True, eq=False, repr=False)
class DataType:
    """One data type. ``size`` is in bytes; packed vectors (v, uv, vf) are four bytes of immediate."""

    name: str
    code: int
    size: int
    kind: str

    @property
    def bits(self) -> int:
        return self.size * 8

    @cached_property
    def is_float(self) -> bool:
        return self.kind == FLOAT

    @cached_property
    def is_signed(self) -> bool:
        return self.kind == SIGNED

    @cached_property
    def is_integer(self) -> bool:
        return self.kind in (SIGNED, UNSIGNED)

    @cached_property
    def is_element(self) -> bool:
        """Whether elements of registers can have it: packed vectors and booleans are only immediates and predicates."""
        return self.kind not in (VECTOR, BOOL)

    @property
    def minimum(self) -> int:
        """Smallest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def maximum(self) -> int:
        """Largest value of an integer type."""
        return (1 << (self.bits - 1)) - 1 if self.is_signed else (1 << self.bits) - 1

    def __repr__(self) -> str:
        return self.name


UD = DataType("ud", 0, 4, UNSIGNED)
D = DataType("d", 1, 4, SIGNED)
UW = DataType("uw", 2, 2, UNSIGNED)
W = DataType("w", 3, 2, SIGNED)
UB = DataType("ub", 4, 1, UNSIGNED)
B = DataType("b", 5, 1, SIGNED)
DF = DataType("df", 6, 8, FLOAT)
F = DataType("f", 7, 4, FLOAT)
V = DataType("v", 8, 4, VECTOR)
VF = DataType("vf", 9, 4, VECTOR)
BOOL_TYPE = DataType("bool", 10, 1, BOOL)
UQ = DataType("uq", 11, 8, UNSIGNED)
UV = DataType("uv", 12, 4, VECTOR)
Q = DataType("q", 13, 8, SIGNED)
HF = DataType("hf", 14, 2, FLOAT)
BF = DataType("bf", 15, 2, FLOAT)

ALL = (UD, D, UW, W, UB, B, DF, F, V, VF, BOOL_TYPE, UQ, UV, Q, HF, BF)
BY_NAME = {t.name: t for t in ALL}
BY_CODE = {t.code: t for t in ALL}
UNSIGNED_BY_SIZE = {t.size: t for t in ALL if t.kind == UNSIGNED}
SIGNED_BY_SIZE = {t.size: t for t in ALL if t.kind == SIGNED}

ALIGNMENTS = ("byte", "word", "dword", "qword", "oword", "GRF", "2GRF", "hword", "32word", "64word")
"""Alignment names in the order of their binary codes."""

ALIGNMENT_BYTES = (1, 2, 4, 8, 16, 32, 64, 32, 64, 128)
"""Least sizes of these types, in bytes."""
ALIGNMENT_CODES: dict[str, int] = {name: code for code, name in enumerate(ALIGNMENTS)} | {
    "GRFx2": 6,
    "wordx32": 8,
    "wordx64": 9,
}
ALIGNMENT_OF_BYTES = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4, 32: 7, 64: 8, 128: 9}
