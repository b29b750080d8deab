"""Loads at one address in launches with lenient reads: bytes that follow each other, of which the first must be inside
its buffer; behind the buffer's end there are zeros.

Compilers widen loads at an address that all lanes share, and drop the surplus. The usual way is one check
and a vector load; a block that goes beyond the end is put together out of line, in temporary memory.
"""

from __future__ import annotations

from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.emitter import UNLIKELY
from vsim.engines.llvm.ir.joins import first_of
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.bounds import CheckedBounds
from vsim.engines.llvm.memory.part import LanePart, scalar_offset
from vsim.engines.llvm.memory.pattern import pattern_of
from vsim.engines.llvm.memory.vector import load_elements, load_row
from vsim.engines.llvm.support.helpers import block_function


class BlockLoads:
    """Loads of blocks of one function."""

    def __init__(self, b: Builder, bounds: CheckedBounds) -> None:
        self.b, self.bounds = b, bounds

    def load(self, part: LanePart) -> list[Value]:
        """The elements of the lane, or the element of each lane, which are proved to follow each other; 0 for those
        that are not active.
        """
        b, lanes = self.b, part.offset.lanes
        vector = None if part.mask is True or lanes == 1 else b.broadcast(part.mask, lanes)
        low = part.offset if lanes == 1 else pattern_of(part, vector).low
        outside, pointer = self.bounds.span(part, low, lanes * part.size)

        def load(at: str) -> list[Value]:
            return load_elements(b, at, part.element, part.count) if lanes == 1 else load_row(part, at, vector)

        def behind() -> list[Value]:
            return load(self._with_zeros(part, low, vector))

        return first_of(b, [(outside, UNLIKELY, behind)], lambda: load(pointer), b.new_label("done"))

    def _with_zeros(self, part: LanePart, low: Value, vector: Value | None) -> str:
        """Where the bytes of a block are put together that begins inside and ends beyond its memory.

        A fault, if it begins outside, unless no lane is active.
        """
        b, space, size = self.b, part.space, part.offset.lanes * part.size
        name = "block_flat" if space.is_flat else "block_region"
        helpers = self.bounds.helpers
        if name not in helpers:
            helpers[name] = block_function(name, space.is_flat)
        memory, types_of = "ptr %ctx", "ptr"
        if not space.is_flat:
            memory, types_of = f"ptr {space.pointer}, i64 {space.size}", "ptr, i64"
        b.declare(name, "i1", f"{types_of}, i64, i64, ptr")
        address, block = scalar_offset(space, low), b.temporary(size)
        found = b.assign(f"call i1 @{name}({memory}, i64 {address}, i64 {size}, ptr {block}) #2")
        bad = b.assign(f"xor i1 {found}, true")
        if vector is not None:
            bad = b.assign(f"and i1 {bad}, {b.any(vector)}")
        self.bounds.fault_if(bad, part, lambda: ("0", part.size, part.size, address))
        return block
