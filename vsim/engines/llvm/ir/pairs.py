"""Pairs of vectors, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from vsim.engines.llvm.ir.affine import AssumedMask
from vsim.engines.llvm.ir.facts import Facts
from vsim.engines.llvm.ir.interleaved import Interleaved
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Rematerialized, Value

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder


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


def mixed_text(x: Value, y: Value, picks: Sequence[int]) -> str:
    """The instruction of :meth:`vsim.engines.llvm.ir.builder.Builder.mixed`."""
    text = ", ".join(f"i32 {p}" if p >= 0 else "i32 poison" for p in picks)
    first, second = (v.typed if v.lanes > 1 else _vector_of_one(v) for v in (x, y))
    return f"shufflevector {first}, {second}, <{len(picks)} x i32> <{text}>"


def _vector_of_one(x: Value) -> str:
    """A scalar as a vector with its type, which instructions about vectors ask for."""
    vector = f"<1 x {ir_type(x.type, 1)}>"
    return f"{vector} {x.builder.assign(f'insertelement {vector} poison, {x.typed}, i64 0')}"
