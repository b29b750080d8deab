"""Lanes near a scalar: it plus a small number for each lane, as indices of tables are that begin at a number which is
the same for all lanes.

Example: ``table[row * 256 + byte]``, where ``row`` counts in a loop and ``byte`` is a number of the lane. The scalars
are emitted on demand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vsim.engines.llvm.ir.base_offset import vector_and_scalar

if TYPE_CHECKING:
    from visakit.language.types import DataType
    from vsim.engines.llvm.ir.values import Value

LARGEST_NUMBER = 1024
"""A larger number is not small."""


@dataclass(frozen=True, slots=True, eq=False)
class NearLanes:
    """``small``, a vector of unsigned numbers that are at most ``most``, times ``factor``, a power of two, plus
    ``scalar``, modulo two to the power of the bits of the scalar.

    If ``narrow`` is set, that held for it in its type at first, and the sum was extended to the type of the scalar: the
    above is true only if no lane wrapped around before (:meth:`wraps`).
    """

    small: Value
    most: int
    scalar: Value
    factor: int = 1
    narrow: Value | None = None
    reach: int = 0
    """How far the lanes are from the narrow scalar at most."""

    def plus(self, other: Value) -> NearLanes:
        """The same and a scalar."""
        b = self.scalar.builder
        return replace(self, scalar=self.scalar.deferred("add", b.retype(other, self.scalar.type)))

    def times(self, factor: int | None) -> NearLanes | None:
        """The same times a constant."""
        if not factor or factor & (factor - 1) or factor * self.factor * self.most > LARGEST_NUMBER:
            return None
        by = self.scalar.builder.const(factor, self.scalar.type)
        return replace(self, scalar=self.scalar.deferred("mul", by), factor=factor * self.factor)

    def widened(self, source: DataType, to: DataType) -> NearLanes | None:
        """The same, extended from one type to a wider one."""
        b, reach = self.scalar.builder, self.most * self.factor
        if self.narrow or reach >= 1 << source.bits - 1:
            return None
        narrow = b.retype(self.scalar, source)
        return replace(self, scalar=b.cast(narrow, to, deferred=True), narrow=narrow, reach=reach)

    def wraps(self) -> str | None:
        """Whether a lane may have wrapped around (i1); None if none has."""
        return None if self.narrow is None else wraps_within(self.narrow, self.reach)


def wraps_within(scalar: Value, reach: int) -> str:
    """Whether a scalar is so near to the end of its type that a sum with a number up to ``reach`` wraps around (i1)."""
    b, end = scalar.builder, (1 << scalar.type.bits - scalar.type.is_signed) - 1
    return (scalar > b.const(end - reach, scalar.type)).text


def near_sum(x: Value, y: Value) -> NearLanes | None:
    """The sum of two values, of which one is the same for all lanes, and the other small or near a scalar."""
    parts = vector_and_scalar(x, y, "add")
    if parts is None:
        return None
    vector, scalar = parts
    known = vector.facts.near or small_lanes(vector)
    return known and known.plus(scalar)


def small_lanes(x: Value) -> NearLanes | None:
    """A vector that is known to be small, near to zero."""
    b = x.builder
    most = b.ranges.of(x.emitted_text) if x.lanes > 1 else None
    return None if most is None or most > LARGEST_NUMBER else NearLanes(x, most, b.const(0, x.type))
