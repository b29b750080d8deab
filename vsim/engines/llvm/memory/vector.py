"""Rows of lanes as vectors: consecutive elements of each lane lie between those of the next one, and are put in order
by shuffles.

A row of which all lanes are active is taken as a whole, which most are: a masked store delays the loads behind it, and
processors without masks for elements of a size take them lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.language.types import DataType
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.intrinsics import masked_read, masked_write
from vsim.engines.llvm.ir.joins import first_of
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import LanePart


def load_row(part: LanePart, pointer: str, vector: Value | None) -> list[Value]:
    """The elements of a row from a host pointer on: a vector for the first elements of all lanes, one for the second,
    ...

    Args:
        vector: the active lanes, None for all; the others give 0.
    """
    b, element, lanes = part.offset.builder, part.element, part.offset.lanes
    step = lanes * element.size

    def load(mask: Value | None) -> list[Value]:
        masks = _masks(b, mask, lanes, part.count)
        return deinterleaved(b, [_load(b, b.offset(pointer, k * step), element, lanes, m) for k, m in masks])

    return whole_or_masked(b, vector, load)


def store_row(part: LanePart, pointer: str, values: list[Value], vector: Value | None) -> None:
    """The opposite of :func:`load_row`."""
    b, lanes = part.offset.builder, values[0].lanes
    step, rows = lanes * part.element.size, interleaved(b, values)

    def store(mask: Value | None) -> list[Value]:
        for row, (k, m) in zip(rows, _masks(b, mask, lanes, part.count), strict=True):
            store_masked(b, b.offset(pointer, k * step), row, m)
        return []

    whole_or_masked(b, vector, store)


def whole_or_masked(b: Builder, vector: Value | None, access: Callable[[Value | None], list[Value]]) -> list[Value]:
    """What an access gives: without a mask where all lanes are active, else under it."""
    if vector is None:
        return access(None)
    return first_of(b, [(b.all(vector), "", lambda: access(None))], lambda: access(vector), b.new_label("done"))


def load_elements(b: Builder, pointer: str, data_type: DataType, count: int) -> list[Value]:
    """Consecutive elements at a host pointer, the same for all lanes."""
    return [b.load(data_type, 1, b.offset(pointer, k * data_type.size), 1) for k in range(count)]


def _load(b: Builder, pointer: str, data_type: DataType, lanes: int, mask: Value | None) -> Value:
    if mask is None:
        return b.load(data_type, lanes, pointer, 1)
    return masked_read(b, "load", data_type, pointer, 1, mask)


def store_masked(b: Builder, pointer: str, value: Value, mask: Value | None) -> None:
    """A vector of consecutive elements, where the mask holds; None for everywhere."""
    if mask is None:
        b.store(value, pointer, 1)
    else:
        masked_write(b, "store", value, pointer, 1, mask)


def _masks(b: Builder, vector: Value | None, lanes: int, count: int) -> list[tuple[int, Value | None]]:
    """Numbers and masks of the vectors that the elements of all lanes fill, if each lane has ``count`` of them."""
    if vector is None or count == 1:
        return [(k, vector) for k in range(count)]
    return [(k, b.lanes(vector, [(k * lanes + i) // count for i in range(lanes)])) for k in range(count)]


def deinterleaved(b: Builder, vectors: list[Value]) -> list[Value]:
    """Vectors as memory holds them, one behind the other, as one vector for each of a lane's elements."""
    count, lanes = len(vectors), vectors[0].lanes
    if count > 2 and _is_power_of_two(count):
        # Every other element of neighbours, then of these: the pattern of an FFT.
        pairs = list(zip(vectors[0::2], vectors[1::2], strict=True))
        even, odd = ([b.mixed(x, y, range(first, 2 * lanes, 2)) for x, y in pairs] for first in (0, 1))
        return [v for both in zip(deinterleaved(b, even), deinterleaved(b, odd), strict=True) for v in both]
    return [_picked(b, vectors, [divmod(i * count + k, lanes) for i in range(lanes)]) for k in range(count)]


def interleaved(b: Builder, values: list[Value]) -> list[Value]:
    """The opposite: vectors as memory holds them."""
    count, lanes = len(values), values[0].lanes
    if count > 2 and _is_power_of_two(count):
        even, odd = interleaved(b, values[0::2]), interleaved(b, values[1::2])
        halves = [[i // 2 + lanes * (i % 2) + start for i in range(lanes)] for start in (0, lanes // 2)]
        return [b.mixed(x, y, half) for x, y in zip(even, odd, strict=True) for half in halves]
    return [
        _picked(b, values, [(e % count, e // count) for e in range(k * lanes, (k + 1) * lanes)]) for k in range(count)
    ]


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0


def _picked(b: Builder, vectors: list[Value], sources: list[tuple[int, int]]) -> Value:
    """A vector of lanes that are given as vector and lane; two vectors are mixed at a time."""
    lanes, found = vectors[0].lanes, vectors[0]
    for number, other in enumerate(vectors[1:], 1):
        picks = [
            lane if n == 0 and number == 1 else i if n < number else lanes + lane if n == number else -1
            for i, (n, lane) in enumerate(sources)
        ]
        found = b.mixed(found, other, picks)
    return found
