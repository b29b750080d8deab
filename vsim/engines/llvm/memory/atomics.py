"""Atomic operations on memory that one thread of the host sees alone: plain loads and stores, lane after lane. Local
memory and scratch are such memory, and all memory where a launch has one worker for the order of its results
(docs/decisions/0135-plain-atomics.md). Programs may not use atomics on that memory meanwhile (docs/opencl.md).

One comparison of all offsets checks that the active lanes are inside, then a loop visits them; unrolled code is slower
(docs/decisions/0120-atomics-in-a-loop.md). A compare-and-exchange with a constant first looks at all places at once:
where no active lane finds the constant, no lane changes memory (docs/decisions/0193-a-look-before-the-exchange.md).
Operations on floats, and lanes outside, use the functions out of line.
"""

from __future__ import annotations

from dataclasses import replace

from visakit.language.types import DataType
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.emitter import UNLIKELY
from vsim.engines.llvm.ir.joins import first_of
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.common_buffer import CommonBuffer, InsideLanes, UnprovedAccess
from vsim.engines.llvm.memory.part import LanePart, mask_bits, widened
from vsim.engines.llvm.memory.scatter import OutOfLineAccess, temporary_stride
from vsim.engines.llvm.support.helpers import ORDERS, READ_MODIFY_WRITE
from vsim.semantics.core import unsigned_of

_ONE = ("inc", "dec")
"""Operations whose operand is 1."""
_COMPARE = "cmpxchg"


class PlainAtomics:
    """Atomic operations of one function on memory that no other thread of the host sees."""

    def __init__(self, b: Builder, out_of_line: OutOfLineAccess, unproved: UnprovedAccess, is_alone: bool) -> None:
        self.b, self.out_of_line, self.unproved, self.is_alone = b, out_of_line, unproved, is_alone

    def handles(self, op: str, part: LanePart) -> bool:
        """Whether an operation has code inline."""
        own = self.is_alone or part.space.kind in (cx.LOCAL, cx.SCRATCH)
        known = op in READ_MODIFY_WRITE or op == _COMPARE
        return own and part.lanes > 1 and known and self.unproved.admits(part.lanes * part.count)

    def act(self, op: str, part: LanePart, vector: Value | None, sources: list[Value], wanted: bool) -> Value:
        """Old values, 0 where the mask does not hold; just 0 where they are not ``wanted``.

        Args:
            part: its offset has all lanes, and all bits of it count.
        """
        b, t = self.b, unsigned_of(part.element.size)
        given = [b.bitcast(s, t) for s in sources]
        looks = wanted and op == _COMPARE and not given[0].text.startswith("%")
        common = self.unproved.inside_lanes if looks else self.unproved.common_buffer
        found = common(part, part.offset, vector)

        def results(old: Value) -> list[Value]:
            return [old] if wanted else []

        def outside() -> list[Value]:
            at = self.out_of_line.call(op, part, part.offset, vector, given, rare=True)
            return results(b.load(t, part.lanes, at, 64))

        def active() -> list[Value]:
            return results(self._active(op, t, part, found, vector, given, wanted))

        def inside() -> list[Value]:
            if not looks:
                return active()
            old = self.unproved.scalarised.load(replace(part, element=t), found.pointer, found.offsets, vector)[0]
            equal = old == given[0]
            changes = b.any(equal if vector is None else equal & vector)
            return first_of(b, [(changes, "", active)], lambda: [old], b.new_label("done"))

        values = first_of(b, [(found.outside, UNLIKELY, outside)], inside, b.new_label("done"))
        return b.bitcast(values[0], part.element) if wanted else b.const(0, part.element)

    def _active(
        self,
        op: str,
        t: DataType,
        part: LanePart,
        found: CommonBuffer | InsideLanes,
        vector: Value | None,
        sources: list[Value],
        wanted: bool,
    ) -> Value:
        """A loop through the active lanes."""
        b, lanes, step = self.b, part.lanes, temporary_stride(part.lanes)
        scratch = b.temporary(64 + step * (2 + len(sources)))
        results = b.offset(scratch, step)
        b.store(found.offsets, scratch, 64)
        if wanted:
            b.store(b.broadcast(b.const(0, t), lanes), results, 64)
        places = [b.offset(scratch, (2 + k) * step) for k in range(len(sources))]
        for source, at in zip(sources, places, strict=True):
            if source.lanes > 1:
                b.store(source, at, 64)

        def lane(number: str) -> None:
            def element(at: str, data_type: DataType) -> str:
                return b.assign(f"getelementptr {ir_type(data_type, 1)}, ptr {at}, i64 {number}")

            def loaded(at: str, data_type: DataType) -> Value:
                return b.load(data_type, 1, element(at, data_type), data_type.size)

            offset = widened(b, loaded(scratch, found.offsets.type).text, found.offsets.type)
            operands = [s if s.lanes == 1 else loaded(at, t) for s, at in zip(sources, places, strict=True)]
            pointer = b.offset(found.pointer, offset)
            old = b.load(t, 1, pointer, 1)
            if wanted:  # In front of the new value: else LLVM makes a branch over the load of an operand.
                b.store(old, element(results, t), t.size)
            b.store(self._new(op, t, old, operands), pointer, 1)

        b.for_each_bit(mask_bits(b, vector, lanes), lane)
        return b.load(t, lanes, results, 64) if wanted else b.const(0, t)

    def _new(self, op: str, t: DataType, old: Value, operands: list[Value]) -> Value:
        """What one lane's operation leaves."""
        b = self.b
        if op == _COMPARE:
            return b.select(old == operands[0], operands[1], old)
        word, operand = READ_MODIFY_WRITE[op], b.const(1, t) if op in _ONE else operands[0]
        if order := ORDERS.get(word):
            stays = b.assign(f"icmp {order} {old.typed}, {operand.text}")
            return Value(b, t, 1, b.assign(f"select i1 {stays}, {old.typed}, {operand.typed}"))
        return operand if op == "xchg" else Value(b, t, 1, b.assign(f"{word} {old.typed}, {operand.text}"))
