"""Bounds checks: the host pointers of an access whose bytes are inside their buffer; an access outside leaves the
function.

An address of the flat space is looked up in the table of slots (4 GiB each, one buffer at most), which gives the
buffer's base, host pointer and size; an empty slot has size 0. If the address was computed from a pointer
argument, the buffer of that pointer is tried first: its entry is the same for the whole launch, so the look-up is
hoisted out of all loops.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.affine import BasePointer
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.emitter import INVARIANT_LOAD, UNLIKELY
from vsim.engines.llvm.ir.joins import first_of
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import LanePart, mask_bits, scalar_offset
from vsim.engines.llvm.memory.pattern import AccessPattern
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.engines.llvm.memory.vector import load_row
from vsim.engines.llvm.support.helpers import row_function

NEVER = "false"
"""A condition that is known not to hold."""
Where = Callable[[], tuple[str, int, int, str]]
"""Emits the fields of a fault in its exit: lane, step to the next lane's address, bytes of each lane, address."""
FaultExit = Callable[[str, int, str, str, Where], None]
"""Called with (condition, kind, number, size, where): leaves the function if the condition holds."""


class Bounds(Protocol):
    """How an access finds its bytes."""

    def resolve(self, part: LanePart, offset: Value, count: int, lane: Callable[[], str]) -> str:
        """Host pointer of ``count`` bytes at a scalar offset; ``lane`` emits the lane that a fault names."""

    def row(self, part: LanePart, low: Value, vector: Value | None) -> str:
        """Host pointer of lane 0's element, where lanes follow each other."""

    def row_if_contiguous(self, part: LanePart, pattern: AccessPattern, vector: Value | None) -> str | None:
        """The row's host pointer, if its bounds can be part of the test that lanes follow each other."""

    def load_row(self, part: LanePart, low: Value, vector: Value) -> list[Value]:
        """The elements of lanes that follow each other, of which some are active; the others give anything."""

    def load_at_edge(self, part: LanePart, low: Value, vector: Value) -> list[Value]:
        """The same of lanes that reach beyond a buffer; inactive ones give 0."""

    def span_nearby(self, part: LanePart, low: Value, count: int) -> tuple[str, str] | None:
        """Of a row of ``count`` bytes whether it is outside or lanes wrapped around (i1), and else its host
        pointer; None where that is not one test.
        """


class CheckedBounds:
    """Checks everything; the exit receives the description of the fault."""

    def __init__(self, b: Builder, leave: FaultExit, helpers: dict[str, str]) -> None:
        self.b, self.leave, self.helpers = b, leave, helpers

    def fault_if(self, condition: str, part: LanePart, where: Where) -> None:
        """Leave the function if the condition holds; ``where`` counts lanes from the part's first one."""

        def counted() -> tuple[str, int, int, str]:
            lane, step, count, address = where()
            if lane.isdecimal():
                lane = str(int(lane) + part.first)
            elif part.first:
                lane = self.b.assign(f"add i64 {lane}, {part.first}")
            return lane, step, count, address

        self.leave(condition, part.space.kind, part.space.number, part.space.size or "0", counted)

    def resolve(self, part: LanePart, offset: Value, count: int, lane: Callable[[], str]) -> str:
        address = scalar_offset(part.space, offset)
        if part.space.is_flat and offset.facts.base_pointer and offset.type.size == 8:
            outside, pointer = self._presume(part, offset, address, count)
            return self._else_elsewhere(
                f"passed {outside} {pointer}", (outside, pointer), lambda: self._anywhere(part, address, count, lane)
            )
        outside, pointer = self._locate(part.space, address, count)
        self._check(outside, part, lambda: (lane(), 0, count, address))
        return pointer

    def row(self, part: LanePart, low: Value, vector: Value | None) -> str:
        """Host pointer of lane 0's element. If not all lanes of the row are inside, the active ones must be."""
        b, size = self.b, part.size
        address = scalar_offset(part.space, low)
        outside, pointer = self.span(part, low, part.offset.lanes * size)
        if vector is None and not low.facts.base_pointer:
            self._check(outside, part, lambda: ("0", size, size, address))
            return pointer
        passed = f"passed {outside} {pointer} {vector.text if vector else ''}"
        bits = partial(mask_bits, b, vector, part.offset.lanes)
        return self._else_elsewhere(passed, (outside, pointer), lambda: self._active_part(part, low, bits()))

    def _else_elsewhere(self, passed: str, found: tuple[str, str], elsewhere: Callable[[], str]) -> str:
        """A host pointer, unless its bytes are outside of the memory where they were looked for (i1): then another one.

        Args:
            passed: a name for the test, which is made once.
            found: whether the bytes are outside, and the pointer if they are not.
        """
        b, (outside, pointer) = self.b, found
        if outside == NEVER:
            return pointer
        if passed in b.numbers:
            return b.numbers[passed]
        edge, way, here, before = b.new_label("edge"), b.new_label("way"), b.block, b.mark()
        b.branch(outside, edge, way, UNLIKELY)
        b.label(edge, before)
        moved = elsewhere()
        end = b.jump(way)
        b.label(way, before)
        return b.number(passed, b.assign(f"phi ptr [ {pointer}, %{here} ], [ {moved}, %{end} ]"))

    def _anywhere(self, part: LanePart, address: str, count: int, lane: Callable[[], str]) -> str:
        """Host pointer of bytes that may be in any buffer."""
        outside, pointer = self._locate(part.space, address, count)
        self.fault_if(outside, part, lambda: (lane(), 0, count, address))
        return pointer

    def load_row(self, part: LanePart, low: Value, vector: Value) -> list[Value]:
        """Of a row that is inside all lanes are loaded, whether they are active or not: that takes no mask."""
        outside, pointer = self.span(part, low, part.offset.lanes * part.size)
        if outside == NEVER:
            return load_row(part, pointer, None)
        inside, at_an_edge = partial(load_row, part, pointer, None), partial(self.load_at_edge, part, low, vector)
        return first_of(self.b, [(outside, UNLIKELY, at_an_edge)], inside, self.b.new_label("done"))

    def load_at_edge(self, part: LanePart, low: Value, vector: Value) -> list[Value]:
        """The active elements of lanes that follow each other, of which others may be outside."""
        return load_row(part, self._active_part(part, low, mask_bits(self.b, vector, part.offset.lanes)), vector)

    def row_if_contiguous(self, part: LanePart, pattern: AccessPattern, vector: Value | None) -> str | None:
        """In the flat space, where all lanes are active: whether they follow each other and
        all are inside is one test.
        """
        certain = pattern.contiguous in ("true", "false")
        if not part.space.is_flat or certain or not pattern.proved or vector is not None:
            return None
        outside, pointer = self.span(part, pattern.low, part.offset.lanes * part.size)
        inside = self.b.assign(f"xor i1 {outside}, true")
        pattern.contiguous = self.b.assign(f"and i1 {pattern.contiguous}, {inside}")
        return pointer

    def span(self, part: LanePart, low: Value, count: int) -> tuple[str, str]:
        """Whether any of ``count`` bytes from a scalar offset on is outside (i1), and its host pointer if none is."""
        address = scalar_offset(part.space, low)
        return (
            self._presume(part, low, address, count)
            if low.facts.base_pointer
            else self._locate(part.space, address, count)
        )

    def span_nearby(self, part: LanePart, low: Value, count: int) -> tuple[str, str] | None:
        """:meth:`span` of a row of lanes that begins at ``low``, where bytes inside are so near to the pointer argument
        from which an index of 32 bits counts that no lane wrapped around; others count as outside. None of other lanes.
        """
        known, b = part.offset.facts.affine, self.b
        if not part.space.is_flat or known is None or known.added is None:
            return None
        reach, argument = known.reach(), known.added.facts.base_pointer
        if not reach or argument is None or not argument.is_argument:
            return None
        base, host, size = self._buffer_of_argument(argument, part.space.is_written)
        b.declare("llvm.umin.i64", "i64", "i64, i64")
        given = b.hoist(f"sub i64 {self._given(argument)}, {base}")
        is_near = b.hoist(f"icmp ult i64 {given}, {reach}")
        far = b.hoist(f"add i64 {given}, {reach - count}")
        limit = b.hoist(f"call i64 @llvm.umin.i64(i64 {self.limit(size, count)}, i64 {far})")
        limit = b.hoist(f"select i1 {is_near}, i64 {limit}, i64 0")
        start = b.less(scalar_offset(part.space, low), base)
        return b.assign(f"icmp uge i64 {start}, {limit}"), b.assign(f"getelementptr i8, ptr {host}, i64 {start}")

    def buffer_at(self, part: LanePart, offset: Value, address: Callable[[], str]) -> tuple[str, str, str]:
        """Base, host pointer and size of the buffer in which flat addresses lie most likely: that of the pointer
        argument from which they were computed, else that of one ``address``.
        """
        if offset.facts.base_pointer:
            return self._buffer_of_argument(offset.facts.base_pointer, part.space.is_written)
        return self._buffer_of(address(), self.b.assign, part.space.is_written)

    def limit(self, size: str, count: int) -> str:
        """The lowest offset of ``count`` bytes in a memory of some size that are not all inside."""
        b = self.b
        b.declare("llvm.usub.sat.i64", "i64", "i64, i64")
        assign = b.hoist if size in b.levels else b.assign
        return size if count == 1 else assign(f"call i64 @llvm.usub.sat.i64(i64 {size}, i64 {count - 1})")

    # -- where things are ----------------------------------------------------------------------------------

    def _locate(self, space: MemorySpace, address: str, count: int) -> tuple[str, str]:
        """Whether any of ``count`` bytes from an address on is outside (i1), and the address's host pointer if it is
        not.
        """
        if space.pointer is None:
            base, pointer, size = self._buffer_of(address, self.b.assign, space.is_written)
            return self._within(self.b.assign(f"sub i64 {address}, {base}"), pointer, size, count)
        assert space.size
        return self._within(address, space.pointer, space.size, count, space.least)

    def _presume(self, part: LanePart, low: Value, address: str, count: int) -> tuple[str, str]:
        """:meth:`_locate` for an address that is most likely in the buffer of the pointer that it was computed from."""
        assert low.facts.base_pointer
        base, pointer, size = self._buffer_of_argument(low.facts.base_pointer, part.space.is_written)
        return self._within(self.b.less(address, base), pointer, size, count)

    def _buffer_of_argument(self, argument: BasePointer, written: bool) -> tuple[str, str, str]:
        """:meth:`_buffer_of` a pointer argument, found once for the launch."""
        given = self._given(argument)
        if argument.slots:
            given = self.b.hoist(f"add i64 {given}, {argument.slots << 32}")
        return self._buffer_of(given, self.b.hoist, written)

    def _given(self, argument: BasePointer) -> str:
        """The value of a pointer argument."""
        at = self.b.hoist(f"getelementptr i8, ptr {argument.payload}, i64 {argument.byte}")
        return self.b.hoist(f"load i64, ptr {at}, align 1, {INVARIANT_LOAD}")

    def _buffer_of(self, address: str, assign: Callable[[str], str], written: bool) -> tuple[str, str, str]:
        """Base address, host pointer and size of the buffer whose slot an address is in; the size is 0 if there is
        none.
        """
        b = self.b
        b.declare("llvm.umin.i64", "i64", "i64, i64")
        slot = assign(f"lshr i64 {address}, 32")
        slot = assign(f"call i64 @llvm.umin.i64(i64 {slot}, i64 {b.field('%ctx', cx.SLOT_COUNT)})")
        table = b.field("%ctx", cx.SLOT_TABLE, "ptr")
        if written:
            behind = b.hoist(f"add i64 {b.field('%ctx', cx.SLOT_COUNT)}, 1")
            table = b.hoist(f"getelementptr [{cx.SLOT_ENTRY} x i8], ptr {table}, i64 {behind}")
        entry = assign(f"getelementptr [{cx.SLOT_ENTRY} x i8], ptr {table}, i64 {slot}")
        places = (
            entry,
            assign(f"getelementptr i8, ptr {entry}, i64 8"),
            assign(f"getelementptr i8, ptr {entry}, i64 16"),
        )
        base, pointer, size = (
            assign(f"load {ir}, ptr {at}, align 8, {INVARIANT_LOAD}")
            for ir, at in zip(("i64", "ptr", "i64"), places, strict=True)
        )
        return base, pointer, size

    def _within(self, start: str, pointer: str, size: str, count: int, least: int = 0) -> tuple[str, str]:
        """Whether any of ``count`` bytes from an offset on is outside, and its host pointer."""
        b, outside = self.b, NEVER
        highest = b.ranges.of(start) if least else None
        if highest is None or highest + count > least:
            limit = self.limit(size, count)
            outside = b.assign(f"icmp uge i64 {start}, {limit}")
        return outside, b.assign(f"getelementptr i8, ptr {pointer}, i64 {start}")

    def _check(self, outside: str, part: LanePart, where: Where) -> None:
        """A fault, unless the same test was passed before."""
        passed = f"passed {outside}"
        if outside != NEVER and passed not in self.b.numbers:
            self.fault_if(outside, part, where)
            self.b.number(passed, outside)

    def _active_part(self, part: LanePart, low: Value, bits: str) -> str:
        """Host pointer of where lane 0's element is or would be, if the active lanes are
        inside; computed out of line.
        """
        b, index, space, size = self.b, ir_type(low.type, 1), part.space, part.size
        arguments, types_of, name = "ptr %ctx", "ptr", f"row_{'written' if space.is_written else 'flat'}_{index}_{size}"
        if not space.is_flat:
            arguments, types_of = f"ptr {space.pointer}, i64 {space.size}", "ptr, i64"
            name = f"row_region_{index}_{size}" + (f"_{space.address_mask:x}" if space.address_mask else "")
        if name not in self.helpers:
            self.helpers[name] = row_function(
                name, space.is_flat, index, size, space.address_mask, written=space.is_written
            )
        b.declare(name, "{ i64, ptr }", f"{types_of}, {index}, i64")
        found = b.assign(f"call {{ i64, ptr }} @{name}({arguments}, {low.typed}, i64 {bits}) #2")
        bad = b.assign(f"extractvalue {{ i64, ptr }} {found}, 0")
        moved = b.assign(f"extractvalue {{ i64, ptr }} {found}, 1")

        def where() -> tuple[str, int, int, str]:
            return bad, 0, size, b.assign(f"ptrtoint ptr {moved} to i64")

        self.fault_if(b.assign(f"icmp sge i64 {bad}, 0"), part, where)
        return moved


class UncheckedBounds:
    """Addresses that are known to be inside their memory, such as those of texels, whose coordinates were checked."""

    def __init__(self, b: Builder) -> None:
        self.b = b

    def resolve(self, part: LanePart, offset: Value, count: int, lane: Callable[[], str]) -> str:
        return self.b.assign(f"getelementptr i8, ptr {part.space.pointer}, i64 {scalar_offset(part.space, offset)}")

    def row(self, part: LanePart, low: Value, vector: Value | None) -> str:
        return self.b.assign(f"getelementptr i8, ptr {part.space.pointer}, i64 {scalar_offset(part.space, low)}")

    def row_if_contiguous(self, part: LanePart, pattern: AccessPattern, vector: Value | None) -> str | None:
        return None

    def load_row(self, part: LanePart, low: Value, vector: Value) -> list[Value]:
        return load_row(part, self.row(part, low, vector), vector)

    def load_at_edge(self, part: LanePart, low: Value, vector: Value) -> list[Value]:
        return self.load_row(part, low, vector)

    def span_nearby(self, part: LanePart, low: Value, count: int) -> tuple[str, str] | None:
        return None
