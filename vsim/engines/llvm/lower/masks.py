"""Execution masks and predicates: which lanes an instruction executes for."""

from __future__ import annotations

from collections.abc import Callable

from visakit.language import types
from visakit.language.operands import Execution, PredicateControl
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.constant_masks import constant_mask
from vsim.engines.llvm.ir.types import MASK, ir_type
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.state import FunctionState, Position
from vsim.engines.llvm.lower.storage import PREDICATE, Key

Read = Callable[[], Value]


class Masks:
    """Masks and predicates of one function."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state

    # -- the execution mask --------------------------------------------------------------------------------

    def work_items(self) -> Mask:
        """A kernel's lanes that are work-items: True where every thread is full."""
        state, b, lanes = self.state, self.state.b, self.state.lanes
        if state.module.full:
            return True
        b.declare("llvm.umin.i64", "i64", "i64, i64")
        items = b.field("%variant", cx.VARIANT_ITEMS)
        left = b.hoist(f"sub i64 {items}, {b.hoist(f'mul i64 %thread, {lanes}')}")
        gone = b.hoist(f"sub i64 {lanes}, {b.hoist(f'call i64 @llvm.umin.i64(i64 {left}, i64 {lanes})')}")
        bits = b.hoist(f"lshr i64 {(1 << lanes) - 1}, {gone}")
        cut = b.hoist(f"trunc i64 {bits} to i{lanes}")
        return state.mask_value(b.hoist(f"bitcast i{lanes} {cut} to {state.mask_ir}"))

    def work_item_bits(self) -> str:
        """The same as bits, i64; in functions, too, of launches that checks watch."""
        state, b = self.state, self.state.b
        if not state.is_kernel:
            return b.field("%shared", cx.SHARED_ITEMS)
        items = self.work_items()
        return str((1 << state.lanes) - 1) if items is True else self.bits(items)

    def bits(self, lanes: Value) -> str:
        """A mask of lanes as bits, i64."""
        b = self.state.b
        packed = b.packed(lanes)
        return packed if lanes.lanes == 64 else b.assign(f"zext i{lanes.lanes} {packed} to i64")

    def run_all(self) -> None:
        """All work-items of the thread run from here on."""
        items = self.work_items()
        self.set_running(self.state.b.all_lanes(self.state.lanes) if items is True else items)

    def set_running(self, lanes: Value) -> None:
        """Store the execution mask, which the next block loads."""
        self.state.b.emit(f"store {lanes.typed}, ptr %em, align 8")

    def stop_running(self) -> None:
        """No lane of the thread runs from here on."""
        self.state.b.emit(f"store {self.state.mask_ir} zeroinitializer, ptr %em, align 8")

    def load_running(self) -> Value:
        """The execution mask that was stored last."""
        state = self.state
        return state.mask_value(state.b.assign(f"load {state.mask_ir}, ptr %em, align 8"))

    def running_vector(self) -> Value:
        """The lanes that run, as a value."""
        b, running, lanes = self.state.b, self.state.at.running, self.state.lanes
        return b.all_lanes(lanes) if running is True else b.broadcast(running, lanes)

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> Callable[[], Mask]:
        """Lanes that execute an instruction: the running ones (all lanes with NoMask) for which the predicate holds."""
        bits = self.predicate_bits(predicate, execution) if predicate else None

        def mask() -> Mask:
            running = True if execution.no_mask else self.running(execution.offset, execution.size)
            if bits is None:
                return running
            return bits() if running is True else running & bits()

        return mask

    def running(self, offset: int, size: int, place: Position | None = None) -> Mask:
        """The running lanes of a part of the execution mask; at another place than this one."""
        at, lanes = place or self.state.at, self.state.lanes
        if offset + size <= lanes and (at.running is True or at.running.lanes == 1 < lanes):
            return at.running
        if offset == 0 and size == lanes:
            return at.running
        found = at.running_parts.get((offset, size))
        if found is None:
            found = at.running_parts[offset, size] = self._running_part(at.running, offset, size)
            outer = at.around
            while outer is not None:
                if (part := outer.running_parts.get((offset, size))) is not None:
                    found = at.running_parts[offset, size] = found.within(part)
                    break
                outer = outer.around
        return found

    def _running_part(self, running: Mask, offset: int, size: int) -> Value:
        b, lanes = self.state.b, self.state.lanes
        full = b.all_lanes(lanes) if running is True else b.broadcast(running, lanes)
        if offset + size <= lanes:
            return b.lanes(full, list(range(offset, offset + size)))
        if offset >= lanes:
            return constant_mask(b, 0, size)
        zeros = self.state.mask_value("zeroinitializer")
        return b.mixed(full, zeros, [i if i < lanes else lanes for i in range(offset, offset + size)])

    def reading(self, count: int) -> Value | None:
        """The mask of the lanes for which the instruction of this moment reads so many elements; None for all."""
        execution = self.state.at.execution
        if execution is None or execution.no_mask or execution.size != count or count == 1:
            return None
        running = self.running(execution.offset, count)
        return None if running is True else running

    def first_lane(self) -> int:
        """The number of the first lane of the instruction of this moment."""
        execution = self.state.at.execution
        return execution.offset if execution else 0

    def running_of(self, count: int) -> Value | None:
        """The lanes that run in this block of those of the instruction of this moment, if it is one for so many."""
        execution = self.state.at.execution
        if execution is None or execution.size != count:
            return None
        running = self.running(execution.offset, count, self.state.at.whole)
        return None if running is True else running

    # -- predicates ----------------------------------------------------------------------------------------

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Read:
        """The predicate for each lane, as a mask; ``any`` and ``all`` ask for every bit that it has."""
        key = (PREDICATE, predicate.var)

        def bits() -> Value:
            state, b = self.state, self.state.b
            if predicate.mode:
                value = state.registers.read(key, 0, state.function.predicate_bits(predicate.var), MASK)
                value = Value(b, MASK, 1, b.any(value) if predicate.mode == "any" else b.all(value))
            else:
                running = self.reading(execution.size) if execution is state.at.execution else None
                value = state.registers.read(key, execution.offset, execution.size, MASK, running, execution.offset)
            return ~value if predicate.inverse else value

        return bits

    def first_bit(self, predicate: PredicateControl) -> str:
        """An i1 for a predicate that is the same in all lanes, or of which only the first counts."""
        bits = self.predicate_bits(predicate, Execution(1, 0))()
        return bits.text if bits.lanes == 1 else self.state.b.lane(bits, 0).text

    def predicate_reader(self, index: int, offset: int, count: int) -> Read:
        """Lanes of a predicate operand."""
        return self.lanes_reader((PREDICATE, index), offset, count)

    def lanes_reader(self, key: Key, offset: int, count: int) -> Read:
        """Lanes of a predicate or its shadow, of which those matter that run."""
        state = self.state
        return lambda: state.registers.read(key, offset, count, MASK, self.reading(count), self.first_lane())

    def predicate_as_integer(self, index: int) -> Read:
        """All bits of a predicate as one UD lane."""
        return self.lanes_as_integer((PREDICATE, index))

    def lanes_as_integer(self, key: Key) -> Read:
        """All lanes of a predicate or its shadow as the bits of one UD lane."""

        def read() -> Value:
            state, b = self.state, self.state.b
            count = state.function.predicate_bits(key[1])
            value = b.broadcast(state.registers.read(key, 0, count, MASK), count)
            if count == 1:
                return b.cast(value, types.UD)
            packed = b.packed(value)
            return Value(b, types.UD, 1, packed if count == 32 else b.assign(f"zext i{count} {packed} to i32"))

        return read

    def predicate_from_integer(self, value: Value, count: int) -> Value:
        """Bits 0 to count - 1 of lane 0 as a mask."""
        b = self.state.b
        if value.constant is not None:
            return constant_mask(b, value.constant, count)
        if count == 1:
            return b.value(MASK, 1, f"trunc i32 {value.text} to i1")
        packed = value.text if count == 32 else b.assign(f"trunc i32 {value.text} to i{count}")
        return b.value(MASK, count, f"bitcast i{count} {packed} to {ir_type(MASK, count)}")
