"""Lanes one by one, inline: the elements of each are loaded or stored at an offset of its own, which is known to be
inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visa import types
from visa.types import DataType
from vsim.llvm_engine.ir.builder import Builder
from vsim.llvm_engine.ir.types import ir_type
from vsim.llvm_engine.ir.values import Value
from vsim.llvm_engine.memory.part import LanePart

Offsets = Value | Sequence[int]
"""An offset for each lane: a vector (ud or uq), or constants."""
_WORDS: dict[int, DataType] = {1: types.UB, 2: types.UW, 4: types.UD, 8: types.UQ}


def load_lanes(part: LanePart, pointer: str, offsets: Offsets, vector: Value | None) -> list[Value]:
    """The elements of each lane; 0 for lanes that are not active, whose offsets must be inside, too."""
    b, lanes, element = part.offset.builder, part.lanes, part.element
    values: list[Value] = []
    for k, count in _words(part):
        word = _WORDS[element.size * count]
        base, vector_type, text = b.offset(pointer, k * element.size), ir_type(word, lanes), "poison"
        for i in range(lanes):
            value = b.load(word, 1, _place(b, base, offsets, i), 1)
            text = b.assign(f"insertelement {vector_type} {text}, {value.typed}, i64 {i}")
        loaded = Value(b, word, lanes, text)
        if vector is not None:
            loaded = b.select(vector, loaded, b.const(0, word))
        elements = b.regroup(loaded, element, lanes * count)
        values += [b.lanes(elements, list(range(n, lanes * count, count))) for n in range(count)]
    return values


def store_lanes(part: LanePart, pointer: str, offsets: Offsets, values: list[Value], vector: Value | None) -> None:
    """Elements of each active lane, lane by lane, so that of lanes with one offset the highest wins.

    What inactive lanes would store goes to memory of the moment, so that no lane needs a branch.
    """
    b, lanes = part.offset.builder, part.lanes
    for k, value in enumerate(values):
        base = b.offset(pointer, k * part.element.size)
        places = None if vector is None else _active_places(b, base, offsets, vector)
        for i in range(lanes):
            place = _place(b, base, offsets, i)
            if places is not None:
                place = b.assign(f"extractelement <{lanes} x ptr> {places}, i64 {i}")
            b.store(b.lane(value, i), place, 1)


def _active_places(b: Builder, base: str, offsets: Offsets, vector: Value) -> str:
    """Host pointers of the active lanes, and of memory of the moment for the others."""
    lanes = vector.lanes
    wide = b.cast(offsets, types.UQ) if isinstance(offsets, Value) else b.vector(offsets, types.UQ)
    inside = b.assign(f"getelementptr i8, ptr {base}, {wide.typed}")
    one = b.assign(f"insertelement <{lanes} x ptr> poison, ptr {b.scratch(64)}, i64 0")
    nowhere = b.assign(f"shufflevector <{lanes} x ptr> {one}, <{lanes} x ptr> poison, <{lanes} x i32> zeroinitializer")
    return b.assign(f"select {vector.typed}, <{lanes} x ptr> {inside}, <{lanes} x ptr> {nowhere}")


def _place(b: Builder, base: str, offsets: Offsets, lane: int) -> str:
    """Host pointer of a lane."""
    if isinstance(offsets, Value):
        return b.offset(base, b.cast(b.lane(offsets, lane), types.UQ).text)
    return b.offset(base, offsets[lane])


def _words(part: LanePart) -> Iterator[tuple[int, int]]:
    """Elements of each lane that are loaded as one word: number of the first, and how many."""
    k = 0
    while k < part.count:
        count = 2 if k + 1 < part.count and 2 * part.element.size in _WORDS else 1
        yield k, count
        k += count
