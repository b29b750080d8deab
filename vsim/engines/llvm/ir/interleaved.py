"""Interleaved vectors: values whose elements alternate between several vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from visakit.language.types import DataType

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.values import Value


class Interleaved(NamedTuple):
    """Vectors of which a value has the first elements, then the second ones, and so on, from an element on.

    The value may have the same bits under another type.
    """

    rows: Sequence[Value | None]
    """None for one that is not known."""
    first: int

    @classmethod
    def of_pair(cls, before: Interleaved | None, number: int, row: Value) -> Interleaved:
        """Two rows: one is written, the other keeps its value if its elements have that size, too."""
        rows: list[Value | None] = [None, None]
        if before and len(before.rows) == 2 and not before.first:
            rows = [kept if kept and kept.type.size == row.type.size else None for kept in before.rows]
        rows[number] = row
        return cls(rows, 0)

    @property
    def lacks_row(self) -> bool:
        """Whether one of the vectors is not known."""
        return any(row is None for row in self.rows)

    def part(self, data_type: DataType, indices: list[int]) -> tuple[Value, list[int]] | None:
        """A row, and numbers of its elements, that are elements of the value, under a type, by number."""
        count, start = len(self.rows), self.first + indices[0]
        every = indices == list(range(indices[0], indices[0] + count * len(indices), count))
        row = self.rows[start % count]
        if not every or row is None or row.type.size != data_type.size:
            return None
        return row, [(self.first + i) // count for i in indices]

    def dwords_of_qwords(self) -> tuple[Value, Value] | None:
        """The low and the high dwords, if the value is made of such pairs of integers."""
        if len(self.rows) != 2 or self.first:
            return None
        low, high = self.rows
        if low is None or high is None or any(not x.type.is_integer or x.type.size != 4 for x in (low, high)):
            return None
        return low, high

    def all_rows(self, value: Value) -> list[Value]:
        """The rows, if they are known and a value is made of all of their elements; else none."""
        rows = [row for row in self.rows if row]
        size = sum(row.lanes * row.type.size for row in rows)
        is_all = not self.first and len(rows) == len(self.rows) and size == value.lanes * value.type.size
        return rows if is_all else []

    def from_element(self, data_type: DataType, first: int) -> Interleaved | None:
        """What the elements of the value are from one on, counted under a type."""
        row = self.rows[0] or self.rows[-1]
        return Interleaved(self.rows, self.first + first) if row and row.type.size == data_type.size else None
