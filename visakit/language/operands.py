"""Operands of vISA instructions (manual, chapter 3), as values: names are indices into the enclosing function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from visakit.language.types import DataType

# Source and destination modifiers, by binary code.
NO_MODIFIER, ABS, NEG, NEG_ABS, SAT, NOT = range(6)
MODIFIER_TEXT = {NO_MODIFIER: "", ABS: "(abs)", NEG: "(-)", NEG_ABS: "(-abs)", NOT: "(~)", SAT: ""}

Region = tuple[int | None, int | None, int | None]
"""Vertical stride, width, horizontal stride in elements; None where the encoding has none."""

VERTICAL_STRIDES, REGION_WIDTHS, HORIZONTAL_STRIDES = (0, 1, 2, 4, 8, 16, 32), (1, 2, 4, 8, 16), (0, 1, 2, 4)
"""Values of the parts of a region."""
ADDRESS_WIDTHS = (1, 2, 4, 8, 16)
"""How many elements of an address variable an operand names."""
INDIRECT_OFFSETS = range(-512, 512)
"""Bytes that can be added to the address in an indirect operand."""
SCALAR: Region = (0, 1, 0)
CONSECUTIVE: Region = (None, None, 1)
SURFACE, SAMPLER = 0, 1


@cache
def region_elements(region: Region, count: int) -> tuple[int, ...]:
    """Numbers of the elements that a region takes, counted from its first one (manual, chapter 3).

    ``<8;4,2>`` takes 0, 2, 4, 6, then 8, 10, 12, 14: rows of ``width`` elements, ``horizontal`` apart in a row, rows
    ``vertical`` apart.
    """
    vertical, width, horizontal = region[0] or 0, region[1], region[2] or 0
    if width is None:
        return tuple(lane * horizontal for lane in range(count))
    return tuple(lane // width * vertical + lane % width * horizontal for lane in range(count))


@dataclass(frozen=True, slots=True)
class General:
    """A region of a general variable; ``row`` counts GRFs, ``col`` elements."""

    var: int
    row: int
    col: int
    region: Region
    modifier: int = NO_MODIFIER


@dataclass(frozen=True, slots=True)
class Address:
    """Elements of an address variable; lanes beyond ``width`` use them again. A destination's width has no meaning."""

    var: int
    offset: int
    width: int
    modifier: int = NO_MODIFIER


@dataclass(frozen=True, slots=True)
class Predicate:
    """A whole predicate variable as an operand."""

    var: int
    modifier: int = NO_MODIFIER


@dataclass(frozen=True, slots=True)
class Indirect:
    """Register-indirect region: the address variable's elements hold byte addresses of registers."""

    var: int
    element: int
    offset: int
    region: Region
    type: DataType
    modifier: int = NO_MODIFIER


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant; ``bits`` are the stored bits (8 bytes for df, q and uq, else 4)."""

    type: DataType
    bits: int
    modifier: int = NO_MODIFIER


@dataclass(frozen=True, slots=True)
class State:
    """An element of a surface or sampler variable."""

    kind: int
    var: int
    offset: int
    modifier: int = NO_MODIFIER


@dataclass(frozen=True, slots=True)
class Raw:
    """A variable from a byte offset on, as messages use it. Variable 0 is %null."""

    var: int
    offset: int


NULL = Raw(0, 0)
VectorOperand = General | Address | Predicate | Indirect | Immediate | State


def with_modifier(op: VectorOperand, modifier: int) -> VectorOperand:
    """The operand with another modifier."""
    return replace(op, modifier=modifier)


@dataclass(frozen=True, slots=True)
class PredicateControl:
    """The predicate of an instruction: ``mode`` is "" for one bit a lane, "any" or "all" for the whole flag."""

    var: int
    inverse: bool = False
    mode: str = ""


class Execution(NamedTuple):
    """Execution size and mask control. ``offset`` is the first lane (M1 0, M2 4 ... M8 28)."""

    size: int
    mask: int
    payload: int = 0
    """Lanes for which the payload of a message, or a wide product, is laid out, if it executes for fewer; else 0."""

    @property
    def offset(self) -> int:
        """The first lane."""
        return (self.mask & 7) * 4

    @property
    def no_mask(self) -> bool:
        """Whether all lanes execute, including lanes that control flow has disabled."""
        return self.mask >= 8

    def half(self, lanes: int) -> Execution | None:
        """Of an instruction without a mask in a thread of 32 lanes: the half that it works for; None for both of them.

        Compilers split instructions for 32 lanes; the halves do not affect each other.
        """
        if not self.no_mask or lanes < MAXIMUM_LANES or self.size > MAXIMUM_LANES // 2:
            return None
        return _HALVES[self.offset >= MAXIMUM_LANES // 2]

    @property
    def is_aligned(self) -> bool:
        """Whether the first lane is a multiple of the size, or of the four lanes of the smallest mask."""
        return self.size < 4 or not self.offset % self.size

    @property
    def is_within(self) -> bool:
        """Whether all lanes are lanes of a thread."""
        return self.offset + self.size <= MAXIMUM_LANES

    def __str__(self) -> str:
        return f"(M{(self.mask & 7) + 1}{'_NM' if self.no_mask else ''}, {self.size})"


EXEC_SIZES = (1, 2, 4, 8, 16, 32)
MAXIMUM_LANES = 32
_HALVES = Execution(16, 0), Execution(16, 4)
ACTIVE_LANES, EVERY_LANE = Execution(MAXIMUM_LANES, 0), Execution(MAXIMUM_LANES, 8)
"""All of a thread's lanes that run, and all of them."""
