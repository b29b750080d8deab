"""Accesses of which one or two lanes are active, as in loops that lanes leave one after the other: their elements are
loaded or stored one by one, without a vector of places that is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from visakit.language import types
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.bounds import CheckedBounds
from vsim.engines.llvm.memory.part import LanePart, first_active, index_of, last_active, mask_bits, start_of
from vsim.semantics.core import unsigned_of

MOST = 2
"""Lanes: the first and the last active one."""


@dataclass(frozen=True)
class FewLanes:
    """The lanes of a part, at their offsets, of which those of a vector are active: one or two, if they are few."""

    b: Builder
    bounds: CheckedBounds
    part: LanePart
    offset: Value
    vector: Value

    def are_few(self) -> str:
        """Whether one or two lanes are active (i1)."""
        b = self.b
        b.declare("llvm.ctpop.i64", "i64", "i64")
        count = b.assign(f"call i64 @llvm.ctpop.i64(i64 {mask_bits(b, self.vector, self.part.lanes)})")
        less = b.assign(f"sub i64 {count}, 1")
        return b.assign(f"icmp ult i64 {less}, {MOST}")

    def load(self) -> list[Value]:
        """The elements of the active lanes; lanes that are not active have anything."""
        b, lanes, element = self.b, self.part.lanes, self.part.element
        first, last = self._number(first_active), self._number(last_active)
        places = [self._pointer(number) for number in (first, last)]
        t = unsigned_of(element.size)
        numbers = b.broadcast(b.cast(Value(b, types.UQ, 1, last), t), lanes)
        is_last = b.vector(list(range(lanes)), t) >= numbers
        found: list[Value] = []
        for k in range(self.part.count):
            one, other = (b.broadcast(b.load(element, 1, b.offset(p, k * element.size), 1), lanes) for p in places)
            found.append(b.select(is_last, other, one))
        return found

    def store(self, values: list[Value]) -> None:
        """An element of each active lane after the other; of lanes at one place the highest wins."""
        b, places = self.b, list[tuple[str, str]]()
        for find in (first_active, last_active):
            number = self._number(find)
            places.append((number, self._pointer(number)))
            b.store(b.lane(values[0], number), places[-1][1], 1)
        for k, value in list(enumerate(values))[1:]:
            for number, pointer in places:
                b.store(b.lane(value, number), b.offset(pointer, k * self.part.element.size), 1)

    def _number(self, find: Callable[[Builder, Value, int], str]) -> str:
        return find(self.b, self.vector, self.part.lanes)

    def _pointer(self, number: str) -> str:
        """Host pointer of a lane's place, which is checked."""
        part, index = self.part, index_of(self.part, self.offset)
        low = self.b.lane(index.narrow if index else self.offset, number)
        return self.bounds.resolve(part, start_of(low, index, self.offset), part.size, lambda: number)
