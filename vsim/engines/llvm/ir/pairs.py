"""Pairs of vectors: one behind the other, or as the low and the high dwords of qwords."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.affine import AssumedMask
from vsim.engines.llvm.ir.carries import qwords_of_sum
from vsim.engines.llvm.ir.facts import Facts
from vsim.engines.llvm.ir.halves import Half, qwords_of_halves
from vsim.engines.llvm.ir.interleaved import Interleaved
from vsim.engines.llvm.ir.intrinsics import spreadable
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Rematerialized, Value

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder


_PIECE = 16
"""Dwords that are picked out of qwords at once: of the longest vector of a processor."""


def lanes_of_one_half(b: Builder, x: Value, indices: list[int]) -> Value | None:
    """Lanes of one of two vectors that were put one behind the other: lanes of that one. None for other lanes."""
    half = x.lanes // 2
    if x.facts.concatenated is None or min(indices) // half != max(indices) // half:
        return None
    return b.retype(b.lanes(x.facts.concatenated[min(indices) // half], [i % half for i in indices]), x.type)


def concatenated(b: Builder, x: Value, y: Value) -> Value:
    """Two vectors of equal length, or two scalars, end to end."""
    n = x.lanes
    if n == 1:
        vector = ir_type(x.type, 2)
        first = b.assign(f"insertelement {vector} poison, {x.typed}, i64 0")
        return b.value(x.type, 2, f"insertelement {vector} {first}, {y.typed}, i64 1")
    both, affine = b.mixed(x, y, range(2 * n)), None
    if x.facts.affine and y.facts.affine:
        parts = ((x.facts.affine, 0), (y.facts.affine, n))
        one, other = (half.with_masks(partial(_in_whole_mask, b, first=at)) for half, at in parts)
        affine = one.followed_by(other)
    both.facts = Facts(affine, interleaved=_interleaved(x, y), concatenated=(x, y))
    return both


def _interleaved(x: Value, y: Value) -> Interleaved | None:
    """The rows of two vectors that are interleaved from as many rows, each pair of rows end to end."""
    first, second = (v.facts.interleaved.all_rows(v) if v.facts.interleaved else [] for v in (x, y))
    if not first or [row.type for row in first] != [row.type for row in second]:
        return None

    def row(one: Value, other: Value) -> Value:
        text = partial(mixed_text, one, other, range(2 * one.lanes))
        return Rematerialized(x.builder, one.type, 2 * one.lanes, text, max(one.depth, other.depth) + 1)

    return Interleaved([row(one, other) for one, other in zip(first, second, strict=True)], 0)


def _in_whole_mask(b: Builder, mask: AssumedMask, first: int) -> AssumedMask:
    """An assumed mask of one half of a vector, as a mask of the whole; the half begins at lane ``first``."""
    if not mask.first and (part := b.mask_parts.get(mask.name)):
        mask = AssumedMask(*part)
    return mask.shifted(-first)


def row_of(b: Builder, qwords: Value, number: int, data_type: DataType) -> Value:
    """The low (0) or the high dwords (1) of qwords."""
    numbers, rows = list(range(number, 2 * qwords.lanes, 2)), qwords.facts.interleaved
    part = rows.part(data_type, numbers) if rows else None
    if part:
        return b.bitcast(b.lanes(*part), data_type)
    dwords = b.regroup(qwords, data_type, 2 * qwords.lanes)
    # LLVM permutes for each piece; of all at once it makes conversions, and inserts the results into one another.
    row = b.concat([b.lanes(dwords, numbers[n : n + _PIECE]) for n in range(0, len(numbers), _PIECE)])
    return row.with_facts(half=Half(number, qwords))


def with_row(b: Builder, qwords: Value, number: int, row: Value, note: Callable[[], None] | None) -> Value:
    """Qwords with other low (0) or high dwords (1); ``note`` is told where the rest of them is needed."""
    n, rows = row.lanes, Interleaved.of_pair(qwords.facts.interleaved, number, row)
    low, high = rows.rows
    if low and high:
        if (known := qwords_of_sum(b, low, high) or qwords_of_halves(b, low, high)) is not None:
            return b.broadcast(known, n).with_facts(interleaved=rows)
        one, other = (spreadable(b, b.bitcast(x, types.UD), 2 * n) for x in (low, high))
        both = b.mixed(one, other, [i // 2 + i % 2 * n for i in range(2 * n)])
        return b.regroup(both.with_facts(interleaved=rows), types.UQ, n)

    def text() -> str:
        if note:
            note()
        old = b.regroup(b.broadcast(qwords, n), types.UD, 2 * n)
        spread = b.lanes(spreadable(b, b.bitcast(row, types.UD), 2 * n), [i // 2 for i in range(2 * n)])
        whole = b.mixed(old, spread, [i + 2 * n * (i % 2 == number) for i in range(2 * n)])
        return f"bitcast {whole.typed} to {ir_type(types.UQ, n)}"

    return Rematerialized(b, types.UQ, n, text, max(qwords.depth, row.depth) + 1, Facts(interleaved=rows))


def mixed_text(x: Value, y: Value, picks: Sequence[int]) -> str:
    """The instruction of :meth:`vsim.engines.llvm.ir.builder.Builder.mixed`."""
    text = ", ".join(f"i32 {p}" if p >= 0 else "i32 poison" for p in picks)
    first, second = (v.typed if v.lanes > 1 else _vector_of_one(v) for v in (x, y))
    return f"shufflevector {first}, {second}, <{len(picks)} x i32> <{text}>"


def _vector_of_one(x: Value) -> str:
    """A scalar as a vector with its type, which instructions about vectors ask for."""
    vector = f"<1 x {ir_type(x.type, 1)}>"
    return f"{vector} {x.builder.assign(f'insertelement {vector} poison, {x.typed}, i64 0')}"
