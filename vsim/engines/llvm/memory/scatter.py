"""Scattered lanes: functions out of line go through the active lanes, or a gather or scatter
takes all of them at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.affine import AssumedMask
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.intrinsics import masked_read, masked_write
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.bounds import CheckedBounds
from vsim.engines.llvm.memory.part import LanePart, mask_bits, widened
from vsim.engines.llvm.memory.watch import AccessWatch
from vsim.engines.llvm.support.helpers import (
    LaneFunction,
    elements_function,
    has_pairs,
    lane_function,
    widened_function,
)
from vsim.engines.llvm.target import has_feature
from vsim.semantics.core import unsigned_of


class ScatteredAccess(Protocol):
    """How scattered lanes are accessed; ``rare``: on a way that is seldom taken."""

    def load(self, part: LanePart, offset: Value, vector: Value | None, rare: bool) -> list[Value]:
        """The elements of each lane; 0 for lanes that are not active."""

    def store(self, part: LanePart, offset: Value, values: list[Value], vector: Value | None, rare: bool) -> None:
        """Elements of each active lane; of lanes with one address the highest wins."""


def temporary_stride(lanes: int) -> int:
    """Bytes of temporary memory that a value of so many lanes gets."""
    return -(-lanes * 8 // 64) * 64


class OutOfLineAccess:
    """Loops over the active lanes, out of line; each lane is checked, and the function is left with the first one that
    is outside.
    """

    def __init__(self, b: Builder, bounds: CheckedBounds) -> None:
        self.b, self.bounds = b, bounds
        self.watch: AccessWatch | None = None

    def load(self, part: LanePart, offset: Value, vector: Value | None, rare: bool) -> list[Value]:
        b, lanes, count = self.b, part.lanes, part.count
        if not rare and not self.watch and count % 2 == 0 and 2 * part.element.size <= types.UQ.size:
            pairs = replace(part, element=unsigned_of(2 * part.element.size), count=count // 2)
            found = [b.regroup(v, part.element, 2 * lanes) for v in self.load(pairs, offset, vector, rare)]
            return [b.lanes(v, list(range(n, 2 * lanes, 2))) for v in found for n in range(2)]
        results = self.call("load", part, offset, vector, [], rare, count)
        step = temporary_stride(lanes)
        found = [b.load(part.element, lanes, b.offset(results, k * step), 64) for k in range(count)]
        if self.watch:
            self.watch.loop(part, offset, vector, None)
        return found

    def store(self, part: LanePart, offset: Value, values: list[Value], vector: Value | None, rare: bool) -> None:
        self.call("store", part, offset, vector, values, rare, len(values))
        if self.watch:
            self.watch.loop(part, offset, vector, values)

    def call(
        self,
        op: str,
        part: LanePart,
        offset: Value,
        vector: Value | None,
        sources: list[Value],
        rare: bool = False,
        count: int = 1,
    ) -> str:
        """Call the function for an operation; the pointer to the results, those of each element
        :func:`temporary_stride` bytes beyond those of the element before.

        Args:
            op: ``load``, ``store``, ``mapped`` or an atomic operation by the data port's word.
            sources: the operands of an atomic, the values of a store.
            count: consecutive elements of each lane, of loads and stores.
        """
        b, lanes, space, element = self.b, part.lanes, part.space, part.element
        operands = min(len(sources), 1) if count > 1 else len(sources)
        more = (count - 1) * element.size
        name = self._function(op, part, offset, operands, rare, count)
        position = temporary_stride(lanes)
        scratch = b.temporary(64 + position * (1 + max(count, 1 + len(sources))))
        if not (rare and self._offsets_from_narrow(scratch, offset)):
            b.store(b.broadcast(offset, lanes), scratch, 64)
        result = b.offset(scratch, position)
        pointers = []
        for k, value in enumerate(sources):
            at = b.offset(scratch, position * ((1 if count > 1 else 2) + k))
            b.store(b.broadcast(value, lanes), at, 64)
            if k < operands:
                pointers.append(f", ptr {at}")
        bits = mask_bits(b, vector, lanes)
        region = "" if space.is_flat else f", ptr {space.pointer}, i64 {space.size}"
        arguments = f"ptr %ctx, ptr {scratch}, ptr {result}, i64 {bits}, i64 {more}{region}{''.join(pointers)}"
        bad = b.assign(f"call i64 @{name}({arguments}){' #2' if rare else ''}")
        index = ir_type(offset.type, 1)

        def where() -> tuple[str, int, int, str]:
            at = b.assign(f"getelementptr {index}, ptr {scratch}, i64 {bad}")
            address = b.assign(f"load {index}, ptr {at}, align {offset.type.size}")
            return bad, 0, element.size + more, widened(b, address, offset.type)

        self.bounds.fault_if(b.assign(f"icmp sge i64 {bad}, 0"), part, where)
        return result

    def _function(self, op: str, part: LanePart, offset: Value, sources: int, rare: bool, count: int) -> str:
        """The name of the function, which the module links to."""
        helpers, space = self.bounds.helpers, part.space
        function = LaneFunction(
            op,
            space.is_flat,
            ir_type(offset.type, 1),
            part.element.size,
            part.lanes,
            sources,
            rare,
            own=space.kind in (cx.LOCAL, cx.SCRATCH),  # A group runs on one thread of the host.
            written=space.is_written,
        )
        name = function.name
        if name not in helpers:
            helpers[name] = lane_function(function)
        self.b.declare(name, "i64", function.arguments)
        if count == 1:
            return name
        name = function.name_for(count)
        if name not in helpers:
            helpers[name] = elements_function(function, count, temporary_stride(part.lanes))
            if has_pairs(function, count):
                helpers.setdefault(function.pair.name, lane_function(function.pair))
        self.b.declare(name, "i64", function.arguments)
        return name

    def _offsets_from_narrow(self, offsets: str, offset: Value) -> bool:
        """Store offsets that may have wrapped around before they were widened, computed from the narrow values.

        False if they are more than a multiple of that.
        """
        known = offset.facts.affine
        widening = known.widened() if known else None
        if known is None or widening is None or offset.type.size != 8:
            return False
        narrow, source = widening.affine, ir_type(widening.source, 1)
        if any(not isinstance(n, AssumedMask) for n in narrow.assumptions):
            return False
        name = f"widened_{'s' if widening.source.is_signed else 'z'}{source}"
        if name not in self.bounds.helpers:
            self.bounds.helpers[name] = widened_function(name, source, widening.source.is_signed)
        self.b.declare(name, "void", f"ptr, i64, i64, {source}, {source}, i64")
        row_stride = "0" if narrow.row_stride is None else narrow.row_stride.text
        shape = offset.lanes | known.first << 8 | narrow.row << 16 | narrow.stride << 32
        first = known.first_lane.text
        self.b.emit(
            f"call void @{name}(ptr {offsets}, i64 {first}, i64 {known.factor}, "
            f"{source} {narrow.first_lane.text}, {source} {row_stride}, i64 {shape}) #2"
        )
        return True


def gathers(element: DataType, lanes: int) -> bool:
    """Whether the host has a gather instruction for elements of this type."""
    return element.size in (4, 8) and lanes > 1 and has_feature("avx2")


def gathered(b: Builder, element: DataType, pointer: str, offsets: Value) -> Value:
    """The element of every lane, at offsets (ud or uq) below 2**31 that are known to be inside.

    The instruction of the host takes signed offsets of 32 bits.
    """
    return masked_read(b, "gather", element, _places(b, pointer, offsets), 1, b.all_lanes(offsets.lanes))


def scatters(element: DataType) -> bool:
    """Whether the host has a scatter instruction for elements of this type."""
    return element.size in (4, 8) and has_feature("avx512f")


def scattered(b: Builder, value: Value, pointer: str, offsets: Value, mask: Value) -> None:
    """Store the elements of the lanes of a mask, at offsets as in :func:`gathered`; of equal ones the highest lane
    wins.
    """
    masked_write(b, "scatter", value, _places(b, pointer, offsets), 1, mask)


def _places(b: Builder, pointer: str, offsets: Value) -> str:
    index = b.cast(b.retype(b.cast(b.retype(offsets, unsigned_of(offsets.type.size)), types.UD), types.D), types.Q)
    return b.assign(f"getelementptr i8, ptr {pointer}, {index.typed}")


class HardwareGather:
    """The host's own gathers and scatters, without checks: for addresses that are known to be inside."""

    def __init__(self, b: Builder) -> None:
        self.b = b

    def load(self, part: LanePart, offset: Value, vector: Value | None, rare: bool) -> list[Value]:
        assert vector
        return [
            masked_read(self.b, "gather", part.element, self._pointers(part, column), 4, vector)
            for column in part.elements_at(offset)
        ]

    def store(self, part: LanePart, offset: Value, values: list[Value], vector: Value | None, rare: bool) -> None:
        assert vector
        for value, column in zip(values, part.elements_at(offset), strict=True):
            masked_write(self.b, "scatter", value, self._pointers(part, column), 4, vector)

    def _pointers(self, part: LanePart, offset: Value) -> str:
        return self.b.assign(f"getelementptr i8, ptr {part.space.pointer}, {offset.typed}")
