"""Addresses that are an index of 32 bits for each lane, widened, times the size of an element, plus a pointer: ``p[i]``
of an ``int i`` in the flat space. Half as many vectors tell whether all of them are inside a buffer if the index is
looked at instead of the address.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.values import Value

LARGEST_FACTOR = 16


@dataclass(frozen=True, slots=True, eq=False)
class WideIndex:
    """``narrow``, a vector of numbers of 32 bits, extended to 64 with the sign that its type has, times ``factor``, a
    power of two, plus ``base``, a scalar of 64 bits (None for 0), modulo 2**64.
    """

    narrow: Value
    factor: int = 1
    base: Value | None = None

    def times(self, factor: int) -> WideIndex | None:
        """The same times a constant."""
        found = self.factor * factor
        possible = self.base is None and 0 < found <= LARGEST_FACTOR and not found & (found - 1)
        return replace(self, factor=found) if possible else None

    def plus(self, other: Value) -> WideIndex | None:
        """The same and a scalar."""
        if other.lanes > 1:
            return None
        return replace(
            self, base=other if self.base is None else self.base + other.builder.retype(other, self.base.type)
        )
