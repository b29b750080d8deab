"""Lanes at constant distances, which overlap or leave gaps: one scalar check of all the bytes from the first lane to
the last, then rows, vectors of which the lanes are picked, or the lanes one by one at constant offsets.

Example: ``a[i - 1] + a[i] + a[i + 1]``, which compilers make one message of three elements for each lane, 4 bytes
apart. Each of the three is a row. ``p[i].x`` of structures of four floats is one lane of every four of four vectors.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.emitter import UNLIKELY
from vsim.engines.llvm.ir.interleaved import Interleaved
from vsim.engines.llvm.ir.joins import Emit, first_of
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.bounds import CheckedBounds
from vsim.engines.llvm.memory.part import LanePart, masked
from vsim.engines.llvm.memory.pattern import stride_of
from vsim.engines.llvm.memory.scalarised import ScalarisedAccess
from vsim.engines.llvm.memory.scatter import OutOfLineAccess
from vsim.engines.llvm.memory.vector import load_row, store_masked, whole_or_masked
from vsim.engines.llvm.memory.watch import AccessWatch
from vsim.semantics.core import unsigned_of

LARGEST_PICK = 4
"""Largest distance of lanes, in elements, at which whole vectors are loaded and lanes are picked."""


_UNITS = (1, 2, 4)
"""Distances in bytes between overlapping elements of lanes that are loaded as rows of units of that size."""


class StridedAccess:
    """Loads and stores of lanes that are proved to be at constant distances, neither 0 nor their size."""

    def __init__(
        self, b: Builder, bounds: CheckedBounds, out_of_line: OutOfLineAccess, scalarised: ScalarisedAccess
    ) -> None:
        self.b, self.bounds, self.out_of_line, self.scalarised = b, bounds, out_of_line, scalarised
        self.watch: AccessWatch | None = None

    def load(self, part: LanePart, vector: Value | None) -> list[Value]:
        """The elements of each lane; 0 for lanes that are not active."""
        b, lanes, element, stride = self.b, part.lanes, part.element, stride_of(part) or 0
        elements_apart = stride // element.size
        picks = stride % element.size == 0 and part.count <= elements_apart <= LARGEST_PICK
        overlap = part.count == 1 and stride in _UNITS and stride < element.size
        outside, pointer = self._span(part, lanes * stride if picks else 0)

        def inside() -> list[Value]:
            if self.watch:
                self._watch(part, pointer, vector, None)
            if stride != element.size and not picks:
                return self.scalarised.load(part, pointer, _offsets(part), vector)
            if picks:
                whole = LanePart(part.space, part.offset, True, element, elements_apart, lanes)
                found = load_row(whole, pointer, None)[: part.count]
            else:
                places = [b.offset(pointer, k * element.size) for k in range(part.count)]
                found = [b.load(element, lanes, place, 1) for place in places]
            return found if vector is None else [b.select(vector, v, b.const(0, element)) for v in found]

        away = partial(self.out_of_line.load, part, masked(part.space, part.offset), vector, rare=True)
        if overlap:
            return self._overlapping(part, stride, vector, outside, pointer, away)
        return first_of(b, [(outside, UNLIKELY, away)], inside, b.new_label("done"))

    def _overlapping(
        self, part: LanePart, stride: int, vector: Value | None, outside: str, pointer: str, away: Emit
    ) -> list[Value]:
        """Elements that begin so near to each other that they overlap: put together of rows of what lies between the
        beginnings of two, so that who looks at that much of each element finds a row.
        """
        b, lanes, unit = self.b, part.lanes, unsigned_of(stride)
        count = part.element.size // stride

        def inside() -> list[Value]:
            rows = [b.load(unit, lanes, b.offset(pointer, stride * n), 1) for n in range(count)]
            return rows if vector is None else [b.select(vector, row, b.const(0, unit)) for row in rows]

        def taken_apart() -> list[Value]:
            units = b.regroup(away()[0], unit, lanes * count)
            return [b.lanes(units, list(range(n, lanes * count, count))) for n in range(count)]

        rows = first_of(b, [(outside, UNLIKELY, taken_apart)], inside, b.new_label("done"))
        return [b.regroup(_interleaved(b, rows), part.element, lanes)]

    def store(self, part: LanePart, values: list[Value], vector: Value | None) -> None:
        """Elements of each active lane, the first of all lanes, then the second of all lanes, and so on."""
        b, size = self.b, part.element.size
        outside, pointer = self._span(part)

        def inside() -> list[Value]:
            store()
            if self.watch:
                self._watch(part, pointer, vector, values)
            return []

        def store() -> None:
            if stride_of(part) != size:
                self.scalarised.store(part, pointer, _offsets(part), values, vector)
                return
            whole_or_masked(b, vector, rows)

        def rows(mask: Value | None) -> list[Value]:
            for k, value in enumerate(values):
                store_masked(b, b.offset(pointer, k * size), value, mask)
            return []

        def away() -> list[Value]:
            self.out_of_line.store(part, masked(part.space, part.offset), values, vector, rare=True)
            return []

        first_of(b, [(outside, UNLIKELY, away)], inside, b.new_label("done"))

    def _watch(self, part: LanePart, pointer: str, vector: Value | None, values: list[Value] | None) -> None:
        """Tell the check: of loads that overlap, elements of all lanes are rows."""
        assert self.watch
        if values is None and stride_of(part) == part.element.size:
            one = replace(part, count=1)
            for k in range(part.count):
                self.watch.row(one, self.b.offset(pointer, k * part.element.size), vector, stores=False, first=k)
        else:
            self.watch.each(part, pointer, _offsets(part), vector, values)

    def _span(self, part: LanePart, count: int = 0) -> tuple[str, str]:
        """Whether the lanes may be outside (i1), and the host pointer of the lowest one if they are not.

        Args:
            count: bytes from the lowest lane on that must be inside; 0: those of all lanes.
        """
        b, known, t = self.b, part.offset.facts.affine, part.offset.type
        assert known
        distances = known.distances()
        low = b.retype(known.first_lane, t).deferred("add", b.const(min(distances), t))
        count = count or max(distances) - min(distances) + part.size
        if nearby := self.bounds.span_nearby(part, low, count):
            return nearby
        outside, pointer = self.bounds.span(part, low, count)
        holds = known.holds()
        if holds != "true":
            outside = b.assign(f"or i1 {outside}, {b.assign(f'xor i1 {holds}, true')}")
        return outside, pointer


def _interleaved(b: Builder, rows: list[Value]) -> Value:
    """The first elements of vectors of one length, then the second ones, and so on (a power of two of vectors)."""
    parts, lanes = rows, rows[0].lanes
    while len(parts) > 1:
        half, order = len(parts) // 2, [place for n in range(lanes) for place in (n, lanes + n)]
        parts = [b.mixed(parts[n], parts[n + half], order) for n in range(half)]
        lanes *= 2
    return parts[0].with_facts(interleaved=Interleaved(tuple(rows), 0))


def _offsets(part: LanePart) -> list[int]:
    """Offsets of the lanes from the lowest one."""
    assert part.offset.facts.affine
    distances = part.offset.facts.affine.distances()
    return [distance - min(distances) for distance in distances]
