"""Rows of lanes as vectors: consecutive elements of each lane lie between those of the next one, and are put in order
by shuffles.

A row of which all lanes are active is taken as a whole, which most are: a masked store delays the loads behind it, and
processors without masks for elements of a size take them lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.language.types import DataType
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.halves import qwords_of_halves
from vsim.engines.llvm.ir.intrinsics import masked_read, masked_write
from vsim.engines.llvm.ir.joins import first_of
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import LanePart
from vsim.engines.llvm.target import vector_bits

_REGISTER = 8
"""Dwords of a register of AVX2."""


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
    if _fills_halves(vectors):
        parts = [part for v in vectors for part in _registers(b, v)]
        groups = [parts[n : n + 4] for n in range(0, len(parts), 4)]
        halves = [
            _mixed_halves(b, [(g[0], g[2], 0), (g[0], g[2], 1), (g[1], g[3], 0), (g[1], g[3], 1)]) for g in groups
        ]
        apart = [_every_other(b, group, _REGISTER // 2) for group in halves]
        return [b.concat(list(registers)) for registers in zip(*apart, strict=True)]
    if _is_power_of_two(count):
        return _every_other(b, vectors, lanes)
    return [_picked(b, vectors, [divmod(i * count + k, lanes) for i in range(lanes)]) for k in range(count)]


def _every_other(b: Builder, vectors: list[Value], chunk: int) -> list[Value]:
    """Every other element of neighbours, then of these: the pattern of an FFT, in each chunk of the vectors."""
    if len(vectors) == 1:
        return vectors
    pairs, lanes = list(zip(vectors[0::2], vectors[1::2], strict=True)), vectors[0].lanes
    places = [(base + side, chunk) for base in range(0, lanes, chunk) for side in (0, lanes)]
    picks = [[at for start, size in places for at in range(start + first, start + size, 2)] for first in (0, 1)]
    even, odd = ([b.mixed(x, y, pick) for x, y in pairs] for pick in picks)
    return [v for both in zip(*(_every_other(b, half, chunk) for half in (even, odd)), strict=True) for v in both]


def interleaved(b: Builder, values: list[Value]) -> list[Value]:
    """The opposite: vectors as memory holds them."""
    count, lanes = len(values), values[0].lanes
    if (qwords := _qwords(b, values)) is not None:
        regrouped = [b.regroup(row, values[0].type, 2 * lanes) for row in interleaved(b, qwords)]
        return [b.lanes(row, list(range(at, at + lanes))) for row in regrouped for at in (0, lanes)]
    if _fills_halves(values):
        rows: list[Value] = []
        for group in zip(*(_registers(b, value) for value in values), strict=True):
            g = _in_turn(b, list(group), _REGISTER // 2)
            rows += _mixed_halves(b, [(g[0], g[1], 0), (g[2], g[3], 0), (g[0], g[1], 1), (g[2], g[3], 1)])
        return [b.concat(rows[n : n + len(rows) // 4]) for n in range(0, len(rows), len(rows) // 4)]
    if _is_power_of_two(count):
        return _in_turn(b, values, lanes)
    return [
        _picked(b, values, [(e % count, e // count) for e in range(k * lanes, (k + 1) * lanes)]) for k in range(count)
    ]


def _qwords(b: Builder, values: list[Value]) -> list[Value] | None:
    """Qwords, if that is what all pairs of dwords are known to be."""
    if len(values) % 2 or values[0].lanes == 1:
        return None
    found = [qwords_of_halves(b, low, high) for low, high in zip(values[0::2], values[1::2], strict=True)]
    known = [qwords for qwords in found if qwords is not None]
    return known if len(known) == len(found) else None


def _in_turn(b: Builder, values: list[Value], chunk: int) -> list[Value]:
    """The opposite of :func:`_every_other`."""
    if len(values) == 1:
        return values
    even, odd, lanes = _in_turn(b, values[0::2], chunk), _in_turn(b, values[1::2], chunk), values[0].lanes
    order = [i // 2 + lanes * (i % 2) for i in range(chunk)]
    halves = [[base + start + at for base in range(0, lanes, chunk) for at in order] for start in (0, chunk // 2)]
    return [b.mixed(x, y, half) for x, y in zip(even, odd, strict=True) for half in halves]


def _fills_halves(vectors: list[Value]) -> bool:
    """Whether the elements of a lane are four dwords, and so fill half of a register of AVX2, whose instructions mix
    elements within halves.
    """
    lanes = vectors[0].lanes
    are_four = len(vectors) == vectors[0].type.size == 4
    return are_four and vector_bits() == 32 * _REGISTER and lanes >= _REGISTER and _is_power_of_two(lanes)


def _registers(b: Builder, vector: Value) -> list[Value]:
    """The registers that hold a vector."""
    return [b.lanes(vector, [*range(n, n + _REGISTER)]) for n in range(0, vector.lanes, _REGISTER)]


def _mixed_halves(b: Builder, pairs: list[tuple[Value, Value, int]]) -> list[Value]:
    """Of each pair of vectors the lower halves (0) or the upper ones (1), end to end."""
    half = pairs[0][0].lanes // 2
    return [b.mixed(x, y, [s + n * half + i for s in (0, 2 * half) for i in range(half)]) for x, y, n in pairs]


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
