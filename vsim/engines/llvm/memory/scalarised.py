"""Scalarised accesses: each lane is loaded or stored separately, at an offset that is proved to be inside.

That is done inline for so many lanes of a function as its size allows; code for each lane takes time to compile, and of
a small function it would be most of that. Beyond them functions out of line go through the lanes. Elements of which
each lane has four or more are moved as one vector for each lane, and the vectors of all lanes are transposed: of a
structure of the program's, or a vector such as ``float8``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from visakit.language import types
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import LanePart, mask_bits
from vsim.engines.llvm.memory.vector import deinterleaved, interleaved
from vsim.engines.llvm.support.helpers import lanes_inside_function
from vsim.semantics.core import unsigned_of

Offsets = Value | Sequence[int]
"""An offset for each lane: a vector (ud or uq), or constants."""


LEAST_WHOLE = 4
"""So many elements of each lane, or more, are moved as one vector."""
INLINE_LANES, INLINE_PER_INSTRUCTION = 96, 2
"""So many lanes are handled inline in any function, and so many more for each instruction that it has."""


class ScalarisedAccess:
    """Loads and stores of lanes of one function; inline as long as there are no more than so many of them."""

    def __init__(self, b: Builder, helpers: dict[str, str], instructions: int) -> None:
        self.b, self.helpers, self.most = b, helpers, INLINE_LANES + INLINE_PER_INSTRUCTION * instructions

    def load(self, part: LanePart, pointer: str, offsets: Offsets, vector: Value | None) -> list[Value]:
        """The elements of each lane; 0 for lanes that are not active, whose offsets must be inside, too."""
        if self.admits(part.lanes * words_of(part)):
            return load_lanes(part, pointer, offsets, vector)
        b, values = self.b, list[Value]()
        if _is_whole(part):
            result, row = self._call("load", part.size, part, pointer, offsets), part.lanes * part.element.size
            found = [b.load(part.element, part.lanes, b.offset(result, k * row), 1) for k in range(part.count)]
            return _where(b, vector, deinterleaved(b, found))
        for k, count in _words(part):
            word = unsigned_of(part.element.size * count)
            result = self._call("load", word.size, part, self.b.offset(pointer, k * part.element.size), offsets)
            values += _elements(part, self.b.load(word, part.lanes, result, 64), count, vector)
        return values

    def store(self, part: LanePart, pointer: str, offsets: Offsets, values: list[Value], vector: Value | None) -> None:
        """Elements of each active lane, lane by lane, so that of lanes with one offset the highest wins."""
        if self.admits(part.lanes * (1 if _stores_whole(part, offsets) else len(values))):
            store_lanes(part, pointer, offsets, values, vector)
            return
        bits, size = mask_bits(self.b, vector, part.lanes), part.element.size
        if _stores_whole(part, offsets):
            self._call("store", part.size, part, pointer, offsets, (interleaved(self.b, values), bits))
            return
        for k, value in enumerate(values):
            self._call("store", size, part, self.b.offset(pointer, k * size), offsets, ([value], bits))

    def admits(self, lanes: int) -> bool:
        """Whether so many more lanes are handled inline."""
        self.b.inline_lanes += lanes
        return self.b.inline_lanes <= self.most

    def _call(
        self,
        op: str,
        size: int,
        part: LanePart,
        pointer: str,
        offsets: Offsets,
        stored: tuple[list[Value], str] | None = None,
    ) -> str:
        """Call the function for a load or store of so many bytes of each lane, which are vectors one behind the other;
        gives where they are in temporary memory.
        """
        b, lanes = self.b, part.lanes
        places = offsets if isinstance(offsets, Value) else b.vector(offsets, types.UQ)
        index = ir_type(places.type, 1)
        name = f"each_{op}_{index}_{size}_{lanes}"
        if name not in self.helpers:
            self.helpers[name] = lanes_inside_function(name, op, index, size, lanes)
        scratch = b.temporary(lanes * (8 + size) + 64)
        data = b.offset(scratch, -(-lanes * 8 // 64) * 64)
        b.store(b.broadcast(places, lanes), scratch, 64)
        arguments, ends = "ptr, ptr, ptr", ""
        if stored:
            for k, value in enumerate(stored[0]):
                b.store(value, b.offset(data, k * lanes * value.type.size), 64 if k == 0 else 1)
            arguments, ends = "ptr, ptr, ptr, i64", f", i64 {stored[1]}"
        b.declare(name, "void", arguments)
        b.emit(f"call void @{name}(ptr {pointer}, ptr {scratch}, ptr {data}{ends}) #2")
        return data


def words_of(part: LanePart) -> int:
    """How many loads each lane takes."""
    return 1 if _is_whole(part) else len(list(_words(part)))


def _is_whole(part: LanePart) -> bool:
    """Whether the elements of each lane can be moved as one vector."""
    return part.count >= LEAST_WHOLE and part.count & (part.count - 1) == 0 and part.lanes % part.count == 0


def _stores_whole(part: LanePart, offsets: Offsets) -> bool:
    """Whether they are stored so: where lanes might overlap, the second elements of all of them come behind the first
    ones.
    """
    if not _is_whole(part) or isinstance(offsets, Value):
        return False
    return all(after - before >= part.size for before, after in pairwise(sorted(offsets)))


def load_lanes(part: LanePart, pointer: str, offsets: Offsets, vector: Value | None) -> list[Value]:
    """The elements of each lane; 0 for lanes that are not active, whose offsets must be inside, too."""
    b, lanes, element = part.offset.builder, part.lanes, part.element
    if _is_whole(part):
        each = [b.load(element, part.count, place(b, pointer, offsets, i), 1) for i in range(lanes)]
        return _where(b, vector, deinterleaved(b, [b.concat(row) for row in _rows(each, lanes // part.count)]))
    values: list[Value] = []
    for k, count in _words(part):
        word = unsigned_of(element.size * count)
        base, vector_type, text = b.offset(pointer, k * element.size), ir_type(word, lanes), "poison"
        for i in range(lanes):
            value = b.load(word, 1, place(b, base, offsets, i), 1)
            text = b.assign(f"insertelement {vector_type} {text}, {value.typed}, i64 {i}")
        values += _elements(part, Value(b, word, lanes, text), count, vector)
    return values


def _elements(part: LanePart, loaded: Value, count: int, vector: Value | None) -> list[Value]:
    """The elements of each lane out of words that hold ``count`` of them; 0 for lanes that are not active."""
    b, lanes = part.offset.builder, part.lanes
    if vector is not None:
        loaded = b.select(vector, loaded, b.const(0, loaded.type))
    elements = b.regroup(loaded, part.element, lanes * count)
    return [b.lanes(elements, list(range(n, lanes * count, count))) for n in range(count)]


def store_lanes(part: LanePart, pointer: str, offsets: Offsets, values: list[Value], vector: Value | None) -> None:
    """Elements of each active lane, lane by lane, so that of lanes with one offset the highest wins.

    What inactive lanes would store goes to temporary memory, so that no lane needs a branch.
    """
    b, lanes, count = part.offset.builder, part.lanes, part.count
    if _stores_whole(part, offsets):
        rows, each = interleaved(b, values), lanes // count
        whole = [b.lanes(rows[i // each], list(range(i % each * count, (i % each + 1) * count))) for i in range(lanes)]
        _store_lane_values(part, pointer, offsets, whole, vector)
        return
    for k, value in enumerate(values):
        base = b.offset(pointer, k * part.element.size)
        _store_lane_values(part, base, offsets, [b.lane(value, i) for i in range(lanes)], vector)


def _store_lane_values(part: LanePart, base: str, offsets: Offsets, values: list[Value], vector: Value | None) -> None:
    """A value for each active lane, at its offset from a host pointer."""
    b = part.offset.builder
    places = None if vector is None else _active_places(b, base, offsets, vector, part.size)
    for i, value in enumerate(values):
        at = place(b, base, offsets, i)
        if places is not None:
            at = b.assign(f"extractelement <{part.lanes} x ptr> {places}, i64 {i}")
        b.store(value, at, 1)


def _active_places(b: Builder, base: str, offsets: Offsets, vector: Value, size: int) -> str:
    """Host pointers of the active lanes, and of so many bytes of temporary memory for the others."""
    lanes = vector.lanes
    wide = b.cast(offsets, types.UQ) if isinstance(offsets, Value) else b.vector(offsets, types.UQ)
    inside = b.assign(f"getelementptr i8, ptr {base}, {wide.typed}")
    one = b.assign(f"insertelement <{lanes} x ptr> poison, ptr {b.temporary(max(size, 64))}, i64 0")
    nowhere = b.assign(f"shufflevector <{lanes} x ptr> {one}, <{lanes} x ptr> poison, <{lanes} x i32> zeroinitializer")
    return b.assign(f"select {vector.typed}, <{lanes} x ptr> {inside}, <{lanes} x ptr> {nowhere}")


def place(b: Builder, base: str, offsets: Offsets, lane: int) -> str:
    """Host pointer of a lane. Two dwords leave a vector together: one extraction and a shift take less than two."""
    if not isinstance(offsets, Value):
        return b.offset(base, offsets[lane])
    if offsets.type.size == types.UD.size and offsets.lanes > 2 and offsets.lanes % 2 == 0:
        pair = b.lane(b.regroup(offsets, types.UQ, offsets.lanes // 2), lane // 2)
        return b.offset(base, b.assign(f"lshr i64 {pair.text}, 32" if lane % 2 else f"and i64 {pair.text}, 4294967295"))
    return b.offset(base, b.cast(b.lane(offsets, lane), types.UQ).text)


def _where(b: Builder, vector: Value | None, values: list[Value]) -> list[Value]:
    """Values of the active lanes, 0 of the others."""
    return values if vector is None else [b.select(vector, v, b.const(0, v.type)) for v in values]


def _rows(values: list[Value], count: int) -> list[list[Value]]:
    """So many values at a time."""
    return [values[n : n + count] for n in range(0, len(values), count)]


def _words(part: LanePart) -> Iterator[tuple[int, int]]:
    """Elements of each lane that are loaded as one word: number of the first, and how many."""
    k = 0
    while k < part.count:
        count = 2 if k + 1 < part.count and 2 * part.element.size <= types.UQ.size else 1
        yield k, count
        k += count
