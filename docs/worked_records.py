"""What an example of an instruction consists of: the records that the tables of docs/worked_*.py are written in."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vsim.launch.launch import SamplerArgument

LANES = 8
SIGNED, UNSIGNED, FLOATS = "d", "ud", "f"
BFLOAT = "bf:ud"
"""Dwords with a number of bf in the low half each."""
INPUTS: dict[str, dict[str, list[float]]] = {
    SIGNED: {
        "A": [1, 2, 3, -4, 25, 100, -7, 2147483647],
        "B": [10, 20, -30, 40, 3, 7, 2, 1],
        "C": [5, 5, 5, 5, -1, -1, -1, -1],
    },
    UNSIGNED: {
        "UA": [1, 2, 3, 12, 255, 4096, 0x80000001, 0xFFFFFFFF],
        "UB": [4, 1, 8, 3, 5, 12, 31, 2],
        "UC": [0, 1, 2, 3, 240, 0xFF00, 0x12345678, 0xFFFFFFFF],
        "WEIGHTS": [10 * k + i for k in range(8) for i in range(8)],
    },
    FLOATS: {
        "FA": [1.0, 0.5, 2.5, -1.25, 3.5, 0.75, -2.5, 8.0],
        "FB": [2.0, 4.0, 0.5, 3.0, -1.0, 8.0, 2.0, 0.25],
        "FC": [0.25, 0.5, 1.0, 2.0, 4.0, 0.5, 1.5, 3.0],
        "FUV": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.5, 0.5, 0.5, 0.5, -2.0, -2.0, -2.0, -2.0],
        "FP": [1.0, 0.5, 2.5, 1.25, 3.5, 0.75, 2.25, 8.0],
    },
}
PREDICATE = 0b01011010
EACH_LANE = "for each lane i that executes:"
NUMBERS = [3, 0, 2, 7, 5, 1, 4, 6]
"""Elements that the lanes of a message read or write, none twice."""
EXCHANGED = [900, 901, 902, 903, 904, 905, 906, 907]


class Operation(NamedTuple):
    """The pseudo-code of an instruction's result in lane i, the types and kinds of its operands, and its suffix."""

    pseudo: str
    type: str
    sources: tuple[str, ...] = ()
    suffix: str = ""


class Message(NamedTuple):
    """A message: its line, statements of pseudo-code, what suffixes and offsets mean, and the type of its data.

    ``scale`` is by how much the offsets of neighbours in memory differ.
    """

    line: str
    pseudo: str
    meaning: str
    scale: int = 4
    type: str = UNSIGNED
    each: str = EACH_LANE


class Scene(NamedTuple):
    """Several lines, their pseudo-code, and a lane's elements of the variables afterwards.

    ``effect`` are statements of Python for lane i: the pseudo-code itself where it is Python, too. ``behind`` are
    subroutines, ``function`` is the body of a function ``f``.
    """

    lines: str
    pseudo: str
    effect: str = ""
    meaning: str = ""
    each: str = EACH_LANE
    behind: str = ""
    function: str = ""
    names: str = ""
    """What the pseudo-code calls variables: ``carry=E`` for instance."""
    platform: str = "dg2"


NOTHING: Mapping[str, tuple[str, Sequence[float]]] = {}


class Setting(NamedTuple):
    """Lines with own variables, memory or picture, and the contents of all of them afterwards.

    ``pseudo`` is Python for one lane, as ``effect`` is, where the pseudo-code is not. ``functions`` precede
    ``each``. Variables and memory have a type.
    """

    lines: str
    pseudo: str
    names: str = ""
    """What the pseudo-code calls variables: ``dst=D`` for instance."""
    inputs: Mapping[str, tuple[str, Sequence[float]]] = NOTHING
    results: Mapping[str, tuple[str, int]] = {"D": (UNSIGNED, 8)}
    """Types and elements of the variables that are written. They begin with sevens; those of a register that keep them are not shown."""
    meaning: str = ""
    effect: str = ""
    functions: str = ""
    each: str = EACH_LANE
    over: Mapping[str, Sequence[int]] = {"i": range(LANES)}
    """What the statements are executed for: each value of each of these names, the first slowest."""
    memory: tuple[str, Sequence[float]] | None = None
    """Elements of four bytes, at the pointer ``MEMORY`` and on the surface ``T8``."""
    urb: Sequence[int] = ()
    """Dwords of the buffer that the launch names ``%urb``."""
    addresses: Sequence[int] = ()
    """The lanes' bytes behind ``MEMORY`` in the variable ``ADDRESSES``."""
    picture: tuple[str, Sequence[object]] | None = None
    """The format of an image, the surface ``T8``, and its rows; ``r_u16:bf`` are numbers of bf in texels of 16 bits."""
    sampler: SamplerArgument | None = None
    setup: str = ""
    """Lines and declarations that the page leaves out."""
    declarations: str = ""
    attributes: tuple[str, ...] = ()
    threads: int = 1
    platform: str = "dg2"
    lanes: int = LANES
    hidden: str = ""
    """Inputs that the page describes instead of showing them."""


def _bits(x: int) -> str:
    return f"{x & 0xFFFFFFFF:032b}"


def _byte(x: int, k: int) -> int:
    return ((x >> 8 * k & 0xFF) ^ 0x80) - 0x80


def _half(code: int) -> float:
    return struct.unpack("<e", struct.pack("<H", code))[0]


def _code(half: float) -> int:
    return struct.unpack("<H", struct.pack("<e", half))[0]


HELPERS = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "sqrt": math.sqrt, "log2": math.log2, "sin": math.sin,
    "cos": math.cos, "bits": _bits, "byte": _byte, "half": _half, "code": _code,
}  # fmt: skip
EXPLAINED = {
    "bits": "the 32 bits of a number as digits, the highest first",
    "byte": "a signed byte of a number, 0 the lowest",
    "half": "the number of hf with these bits",
    "code": "the bits of a number of hf",
}
"""Functions of the pseudo-code that are neither Python's nor those of mathematics."""


class Example(NamedTuple):
    """What a page shows: pseudo-code, an example, and its lanes before and after, each row with its name."""

    pseudo: str
    meaning: str
    line: str
    rows: list[tuple[str, list[float]]]
    lanes: int = LANES
