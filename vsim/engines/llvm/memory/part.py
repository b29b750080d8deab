"""Parts of an access: lanes that are handled together, and which of them are active."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from visakit.language.types import DataType
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.index import WideIndex
from vsim.engines.llvm.ir.types import ir_type, overload
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.engines.llvm.target import has_feature

SHORTEST_AFFINE_ROW = 8
"""Lanes of a row from which on a separate part pays if its lanes overlap or leave gaps."""


@dataclass(frozen=True)
class LanePart:
    """Lanes of an access.

    Every lane accesses ``count`` consecutive elements of a type from its byte offset in the space on. ``lanes`` are as
    many as the offset has, or as the mask has if one offset serves all; ``first`` is the number of the first of them in
    the instruction.
    """

    space: MemorySpace
    offset: Value
    mask: Mask
    element: DataType
    count: int
    lanes: int
    first: int = 0

    @property
    def size(self) -> int:
        """Bytes of each lane."""
        return self.count * self.element.size

    def is_one_row(self) -> bool:
        """Whether the lanes are proved to follow each other: such an access needs no active lane."""
        known = self.offset.facts.affine
        return known is not None and 1 < self.offset.lanes == known.row and known.stride == self.size

    def elements_at(self, offset: Value) -> Iterator[Value]:
        """Offsets of the first, second, ... elements of all lanes."""
        b = offset.builder
        for k in range(self.count):
            yield offset + b.const(k * self.element.size, offset.type) if k else offset


def rows(offset: Value, mask: Mask, length: int) -> Iterator[tuple[Value, Mask, int]]:
    """Offsets and mask in rows of so many lanes, with the number of each row's first lane."""
    if length >= offset.lanes:
        yield offset, mask, 0
        return
    b = offset.builder
    for first in range(0, offset.lanes, length):
        row = list(range(first, first + length))
        yield b.lanes(offset, row), mask if mask is True or mask.lanes == 1 else b.lanes(mask, row), first


def proved_rows(offset: Value, size: int, mask: Mask) -> Iterator[tuple[Value, Mask, int]]:
    """An access by rows, where the lanes of each row are at a constant distance; else in one."""
    offset = affine_under(offset, mask)
    known = offset.facts.affine
    if known is None or known.steps or (known.stride not in (0, size) and known.row < SHORTEST_AFFINE_ROW):
        yield offset, mask, 0
    else:
        yield from rows(offset, mask, known.row)


def affine_under(offset: Value, mask: Mask) -> Value:
    """The offset with the facts that hold for the lanes inside the mask."""
    known = offset.facts.affine
    if known is None or not known.masks:
        return offset
    inside = mask is not True and known.holds_inside(mask.facts.implies | {mask.text})
    found = offset.copy(offset.type)
    return found.with_facts(affine=known.within_masks()) if inside else found


# -- active lanes ----------------------------------------------------------------------------------------------


def mask_bits(b: Builder, vector: Value | None, lanes: int) -> str:
    """A mask (None for all lanes) as the bits of an i64."""
    if vector is None:
        return str((1 << lanes) - 1) if lanes < 64 else "-1"
    if lanes == 1:
        return b.assign(f"zext i1 {vector.text} to i64")
    packed = b.packed(vector)
    return packed if lanes == 64 else b.assign(f"zext i{lanes} {packed} to i64")


def first_active(b: Builder, vector: Value | None, lanes: int) -> str:
    """The first active lane; without active lanes the last lane, as an index beyond the lanes would be poison."""
    if vector is None:
        return "0"
    b.declare("llvm.cttz.i64", "i64", "i64, i1")
    bits = b.assign(f"or i64 {mask_bits(b, vector, lanes)}, {1 << lanes - 1}")
    return b.assign(f"call i64 @llvm.cttz.i64(i64 {bits}, i1 true)")


def at_first_active(b: Builder, x: Value, vector: Value | None) -> Value:
    """The element of the first active lane, of 4 or 8 bytes, as offsets have; without active lanes that of any lane.

    An element at a place that is known when the code runs goes through memory; the host's instruction that moves active
    lanes to the front takes half as long, where one vector has all lanes.
    """
    size = x.lanes * x.type.size
    moves = size in (16, 32, 64) and has_feature("avx512f" if size == 64 else "avx512vl")
    if vector is None or not moves:
        return b.lane(x, first_active(b, vector, x.lanes))
    name = f"llvm.x86.avx512.mask.compress.{overload(ir_type(x.type, 1), x.lanes)}"
    b.declare(name, x.ir, f"{x.ir}, {x.ir}, {vector.ir}")
    return b.lane(b.value(x.type, x.lanes, f"call {x.ir} @{name}({x.typed}, {x.typed}, {vector.typed})"), 0)


def last_active(b: Builder, vector: Value | None, lanes: int) -> str:
    """The last active lane; without active lanes the first lane."""
    if vector is None:
        return str(lanes - 1)
    b.declare("llvm.ctlz.i64", "i64", "i64, i1")
    bits = b.assign(f"or i64 {mask_bits(b, vector, lanes)}, 1")
    behind = b.assign(f"call i64 @llvm.ctlz.i64(i64 {bits}, i1 true)")
    return b.assign(f"sub i64 63, {behind}")


# -- addresses -------------------------------------------------------------------------------------------------


def narrowed(space: MemorySpace, address: Value) -> Value:
    """An address as the space takes it: 32 bits within surfaces and local memory, 64 in the flat space."""
    return address if space.is_flat or address.facts.narrow is None else address.facts.narrow


def masked(space: MemorySpace, offset: Value) -> Value:
    """The bits of an offset that count."""
    return offset if space.address_mask is None else offset & offset.builder.const(space.address_mask, offset.type)


def widened(b: Builder, text: str, data_type: DataType) -> str:
    """A scalar offset of any type as an i64, without a sign."""
    bits = data_type.bits
    if bits == 64:
        return text
    return b.assign(f"zext i{bits} {text} to i64") if text.startswith("%") else str(int(text) & (1 << bits) - 1)


def scalar_offset(space: MemorySpace, offset: Value) -> str:
    """A scalar offset as an i64 that counts in the space."""
    return widened(offset.builder, masked(space, offset).text, offset.type)


def byte_steps(b: Builder, data_type: DataType, lanes: int, size: int) -> Value:
    """How far from lane 0 the other lanes of a row are."""
    return b.vector([i * size for i in range(lanes)], data_type)


def start_of(low: Value, index: WideIndex | None, offset: Value) -> Value:
    """The offset of a lane, from its index or itself."""
    if index is None:
        return low
    assert index.base
    b, t = low.builder, offset.type
    return b.cast(low, t) * b.const(index.factor, t) + b.retype(index.base, t)


def index_of(part: LanePart, offset: Value) -> WideIndex | None:
    """The index of 32 bits of flat addresses that were computed from a pointer argument."""
    index = offset.facts.wide_index
    known = part.space.is_flat and offset.facts.base_pointer and index and index.base
    return index if known and index and index.narrow.lanes == offset.lanes else None
