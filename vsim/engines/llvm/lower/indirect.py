"""Indirect regions: registers at addresses in address variables. Compilers use them for private arrays that each lane
indexes differently.

The register file holds all variables with a taken address. A place is checked against the variable whose address the
program writes to the address variable, and against all variables only if it is outside of that one. Elements one behind
the other, at one address for all lanes or at addresses with a constant distance, are one vector where all are inside of
it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import NamedTuple

from visakit.language import types
from visakit.language.operands import Indirect
from visakit.language.types import DataType
from vsim.analysis.arrays.lane_writes import LaneWrites
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.affine import AffineLanes
from vsim.engines.llvm.ir.constant_masks import only_lane
from vsim.engines.llvm.ir.emitter import UNLIKELY
from vsim.engines.llvm.ir.joins import first_of
from vsim.engines.llvm.ir.types import MASK, ir_type
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.memory.access import MemoryAccess
from vsim.engines.llvm.memory.part import LanePart, affine_under, first_active
from vsim.engines.llvm.memory.scatter import gathered, gathers, scattered, scatters
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.semantics.operands import indirect_elements

UNUSED = 0
"""A place of the file in front of all variables, which inactive lanes write."""
ReadAddresses = Callable[[int, list[int]], Value]
"""Reads elements of an address variable by number, UD."""


class _Row(NamedTuple):
    """Elements one behind the other: their places, the host pointer of the first, and whether any may be outside of the
    variables whose addresses are taken for the operand (i1).
    """

    place: Value
    pointer: str
    outside: str


class IndirectRegions:
    """The indirect regions of one function in its register file, or in that of the shadows of registers.

    ``checks``: whether an address outside of all variables is a fault.
    """

    def __init__(
        self,
        state: FunctionState,
        masks: Masks,
        access: MemoryAccess,
        addresses: ReadAddresses,
        file: str,
        checks: bool,
    ) -> None:
        self.state, self.masks, self.access = state, masks, access
        self.addresses, self.file, self.checks = addresses, file, checks

    def read(self, op: Indirect, count: int, own: DataType) -> Value:
        """Inactive lanes read any element of the register file. With lenient reads, lanes with an address outside of
        all variables read 0.
        """
        state, b = self.state, self.state.b
        state.registers.flush(state.storage.in_file, forget=False)
        mask: Mask = True if state.dispatch.lenient_reads else self._executing()
        row = self._row(op, count, own.size)
        if row is None:
            place = self._places(op, count)
            row = self._row_of_lanes(op, place, own.size, mask)
        if row:
            arms = [(row.outside, UNLIKELY, lambda: [self._read_away(op, row.place, own, count, mask)])]
            return first_of(b, arms, lambda: [b.load(own, count, row.pointer, 1)], b.new_label("row"))[0]
        return self._read_lanes(op, place, own, count, mask)

    def _read_lanes(self, op: Indirect, place: Value, own: DataType, count: int, mask: Mask) -> Value:
        """Elements that may lie anywhere."""
        state, b = self.state, self.state.b
        if state.dispatch.lenient_reads:
            found = self._in_file(self._held(place, own), own, count)
            return b.select(self._outside(place, own.size), b.const(0, own), found)
        self._check(op, place, own.size, count, mask)
        return self._in_file(place if mask is True and self.checks else self._held(place, own), own, count)

    def _read_away(self, op: Indirect, place: Value, own: DataType, count: int, mask: Mask) -> Value:
        """Elements of a row that is not inside of the variables for which it is meant, in little code."""
        if self.state.dispatch.lenient_reads or not self.checks:
            return self._read_lanes(op, place, own, count, mask)
        part = self._part(op, place, count, own, mask)
        vector = None if part.mask is True else self.state.b.broadcast(part.mask, count)
        return self.access.out_of_line.load(part, part.offset, vector, rare=True)[0]

    def _part(self, op: Indirect, place: Value, count: int, own: DataType, mask: Mask) -> LanePart:
        """Lanes of the register file, whose places are checked."""
        self._check(op, place, own.size, count, mask)
        file = MemorySpace(cx.REGISTER, self.file, str(self.state.layout.file_size))
        return LanePart(file, place, mask, own, 1, count)

    def write(self, op: Indirect, count: int, value: Value, mask: Mask) -> None:
        """Write lanes under a mask."""
        state, b = self.state, self.state.b
        state.registers.flush(state.storage.in_file, forget=True)
        lane = None if mask is True or mask.lanes != count else only_lane(mask)
        if mask is not True and lane is not None:
            self._write_lane(op, count, lane, b.lane(b.broadcast(value, count), lane), b.lane(mask, lane))
        elif row := self._row(op, count, value.type.size):
            value, vector = b.broadcast(value, count), None if mask is True else b.broadcast(mask, count)
            self._write_row(op, row, value, vector)
        else:
            part = self._part(op, self._places(op, count), count, value.type, mask)
            place = b.cast(b.broadcast(part.offset, count), types.UQ)
            self.access.store(part.space, place, [b.broadcast(value, count)], mask)
        state.registers.flush(state.storage.in_file, forget=True)

    def _write_row(self, op: Indirect, row: _Row, value: Value, vector: Value | None) -> None:
        """Elements of a row; those of inactive lanes are written again, as nothing else sees the file."""
        b, count = self.state.b, value.lanes

        def away() -> list[Value]:
            part = self._part(op, row.place, count, value.type, True if vector is None else vector)
            self.access.out_of_line.store(part, part.offset, [value], vector, rare=True)
            return []

        inside = partial(self._write_inside, row, value, vector)
        first_of(b, [(row.outside, UNLIKELY, away)], inside, b.new_label("row"))

    def _write_inside(self, row: _Row, value: Value, vector: Value | None) -> list[Value]:
        """Elements of a row that is inside of its variables."""
        b = self.state.b
        old = value if vector is None else b.load(value.type, value.lanes, row.pointer, 1)
        b.store(value if vector is None else b.select(vector, value, old), row.pointer, 1)
        return []

    def write_lanes(self, writes: LaneWrites, value: Value, mask: Mask) -> None:
        """Write the element of each lane to a separate place, lane after lane."""
        state, b, count = self.state, self.state.b, writes.execution.size
        state.registers.flush(state.storage.in_file, forget=True)
        op, size = writes.target, value.type.size
        added = b.vector([op.offset + lane * size for lane in range(count)], types.UD)
        added = added.with_facts(affine=AffineLanes(b.const(op.offset, types.UD), size, count))
        places = self.addresses(op.var, [op.element + lane for lane in range(count)]) + added
        active = b.all_lanes(count) if mask is True else b.broadcast(mask, count)
        value = b.broadcast(value, count)

        def apart() -> list[Value]:
            self._write_apart(writes, value, places, active)
            return []

        if row := self._row_of_lanes(op, places, size, mask):
            inside = partial(self._write_inside, row, value, None if mask is True else active)
            first_of(b, [(row.outside, UNLIKELY, apart)], inside, b.new_label("row"))
        else:
            apart()
        state.registers.flush(state.storage.in_file, forget=True)

    def _write_apart(self, writes: LaneWrites, value: Value, places: Value, active: Value) -> None:
        """Write elements at places of which nothing is known."""
        state, b, count, op, size = self.state, self.state.b, value.lanes, writes.target, value.type.size

        def check() -> None:
            for lane, state.at.pc in enumerate(writes.instructions):
                self._check_all(b.lane(places, lane), size, b.lane(active, lane), lane)
            state.at.pc = writes.first

        self._if_outside(places, size, self._roots(op) or None, active, check)
        if scatters(value.type):
            scattered(b, value, self.file, places, active)
        else:
            places = b.select(active, places, b.const(UNUSED, types.UD))
            for lane in range(count):
                b.store(b.lane(value, lane), self._pointer(b.cast(b.lane(places, lane), types.UQ)), 1)

    # -- places ------------------------------------------------------------------------------------------------

    def _places(self, op: Indirect, count: int) -> Value:
        """Byte offsets of the lanes in the register file, UD."""
        b, (chosen, added) = self.state.b, indirect_elements(op, count)
        base = self.addresses(op.var, chosen)
        same = len(set(added)) == 1
        return base + (b.const(added[0], types.UD) if same else b.vector(added, types.UD))

    def _row(self, op: Indirect, count: int, size: int) -> _Row | None:
        """The elements of an operand, if they lie one behind the other and their variables are known."""
        b, roots, (chosen, added) = self.state.b, self._roots(op), indirect_elements(op, count)
        if count == 1 or not roots or len({*chosen}) > 1 or added != [added[0] + n * size for n in range(count)]:
            return None
        place = self.addresses(op.var, chosen[:1]) + b.const(added[0], types.UD)
        outside = b.any(self._outside(place, count * size, roots))
        places = place + b.vector([n * size for n in range(count)], types.UD)
        return _Row(places, self._pointer(b.cast(place, types.UQ)), outside)

    def _row_of_lanes(self, op: Indirect, places: Value, size: int, mask: Mask) -> _Row | None:
        """The elements of lanes with an address each, if it is proved that they lie one behind the other where no lane
        has wrapped around, and their variables are known.
        """
        b, roots = self.state.b, self._roots(op)
        known = affine_under(places, mask).facts.affine
        if known is None or not roots or not 1 < places.lanes == known.row or known.stride != size:
            return None
        place, holds = b.retype(known.first_lane, types.UD), known.holds()
        outside = b.any(self._outside(place, places.lanes * size, roots))
        if holds != "true":
            outside = b.assign(f"or i1 {outside}, {b.assign(f'xor i1 {holds}, true')}")
        return _Row(places, self._pointer(b.cast(place, types.UQ)), outside)

    def _outside(self, place: Value, size: int, roots: set[int] | None = None) -> Value:
        """The lanes with an address outside of all variables, or outside of some root variables."""
        b, layout = self.state.b, self.state.layout
        ranges = layout.file_ranges
        if roots is not None:
            ranges = [(layout.file_offsets[r], layout.file_offsets[r] + layout.file_sizes[r]) for r in sorted(roots)]
        limits = [(begin, end - begin - size) for begin, end in ranges if end - begin >= size]
        tests = [(place - b.const(begin, types.UD)) > b.const(last, types.UD) for begin, last in limits]
        return reduce(operator.and_, tests) if tests else place == place

    def _check(self, op: Indirect, place: Value, size: int, count: int, mask: Mask) -> None:
        """A fault if an active lane has an address outside of all variables."""
        b = self.state.b
        if mask is not True and mask.lanes != count:
            mask = Value(b, MASK, 1, b.any(mask))
        self._if_far(op, place, size, mask, lambda: self._check_all(place, size, mask))

    def _if_far(self, op: Indirect, place: Value, size: int, mask: Mask, check: Callable[[], None]) -> None:
        """Check places if a lane of the mask is outside of the variable whose address is taken for the operand."""
        if not self.checks:
            return
        roots = self._roots(op)
        if len(roots) != 1 or len(self.state.layout.file_ranges) <= 1:
            check()
            return
        self._if_outside(place, size, roots, mask, check)

    def _roots(self, op: Indirect) -> set[int]:
        """The variables whose addresses are taken for the operand."""
        layout = self.state.layout
        return layout.targets.get(op.var, set()) & layout.file_offsets.keys()

    def _if_outside(
        self, place: Value, size: int, roots: set[int] | None, mask: Mask, check: Callable[[], None]
    ) -> None:
        """Check places if a lane of the mask is outside of all variables, or of some root variables."""
        b = self.state.b

        def far() -> list[Value]:
            check()
            return []

        outside = self._outside(place, size, roots) & mask
        first_of(b, [(b.any(outside), UNLIKELY, far)], list, b.new_label("near"))

    def _check_all(self, place: Value, size: int, mask: Mask, first: int = 0) -> None:
        """A fault if a lane of the mask has an address outside of all variables; ``first``: the number of lane 0."""
        b, bad = self.state.b, self._outside(place, size) & mask

        def where() -> tuple[str, int, int, str]:
            lane = str(first) if bad.lanes == 1 else first_active(b, bad, bad.lanes)
            at = b.assign(f"extractelement {place.typed}, i64 {lane}") if place.lanes > 1 else place.text
            return lane, 0, size, b.assign(f"sext i32 {at} to i64")

        self.access.leave(b.any(bad), cx.REGISTER, "0", "0", where)

    def _executing(self) -> Mask:
        """The lanes for which the instruction of this moment executes."""
        at = self.state.at
        if at.execution is None:
            return True
        predicate = self.state.function.instructions[at.pc].args.get("pred")
        mask = self.masks.mask(at.execution, predicate)()
        half = at.execution.half(self.state.function.split_lanes)
        running = True if half is None else self.masks.running(half.offset, half.size)
        if running is True:
            return mask
        some = Value(self.state.b, MASK, 1, self.state.b.any(running))
        return some if mask is True else self.state.b.broadcast(some, mask.lanes) & mask

    # -- the file ----------------------------------------------------------------------------------------------

    def _held(self, place: Value, own: DataType) -> Value:
        """Places of elements in the register file, an arbitrary one for lanes that are not in it."""
        b = self.state.b
        limit = b.const(max(self.state.layout.file_size - own.size, 0), types.UD)
        return b.select(place < limit, place, limit)

    def _in_file(self, place: Value, own: DataType, count: int) -> Value:
        """The elements of lanes in the register file."""
        b = self.state.b
        if place.lanes > 1 and gathers(own, place.lanes):
            return gathered(b, own, self.file, place)
        wide = b.cast(place, types.UQ)
        if place.lanes == 1:
            return b.load(own, 1, self._pointer(wide), 1)
        pointers = b.assign(f"getelementptr i8, ptr {self.file}, {wide.typed}")
        parts = []
        for lane in range(count):
            pointer = b.assign(f"extractelement <{count} x ptr> {pointers}, i64 {lane}")
            parts.append(b.load(own, 1, pointer, 1))
        text = "poison"
        for lane, part in enumerate(parts):
            text = b.assign(f"insertelement {ir_type(own, count)} {text}, {part.typed}, i64 {lane}")
        return Value(b, own, count, text)

    def _pointer(self, place: Value) -> str:
        return self.state.b.assign(f"getelementptr i8, ptr {self.file}, i64 {place.text}")

    def _write_lane(self, op: Indirect, count: int, lane: int, value: Value, active: Value) -> None:
        """The one lane that may be active."""
        b, size = self.state.b, value.type.size
        chosen, added = indirect_elements(op, count)
        place = self.addresses(op.var, [chosen[lane]]) + b.const(added[lane], types.UD)
        self._if_far(op, place, size, active, lambda: self._check_all(place, size, active, lane))
        used = b.select(active, place, b.const(UNUSED, types.UD))
        b.store(value, self._pointer(b.cast(used, types.UQ)), 1)
