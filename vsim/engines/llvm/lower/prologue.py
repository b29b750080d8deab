"""The prologue of a kernel: the initial contents of a thread's registers.

The payload holds values that are uniform in a group. Local ids come from a table for the shape of the group;
where they are known to count up along rows, only the first one is loaded, and the lanes are affine. %r0 and the other
registers that identify a thread are computed where they are used.
"""

from __future__ import annotations

from itertools import pairwise
from math import gcd

from visakit.binary.declarations import VARIABLE
from visakit.binary.references import references
from visakit.language import types
from visakit.language.types import DataType
from vsim.analysis.reachability import touches_scratch
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.affine import AffineLanes, BasePointer
from vsim.engines.llvm.ir.emitter import INVARIANT_LOAD
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.storage import UNDEFINED_BITS, state_key
from vsim.engines.llvm.lower.storage import VARIABLE as REGISTER
from vsim.launch import threads
from vsim.launch.launch import dimensions
from vsim.launch.ndrange import MAXIMUM_GROUP_ITEMS
from vsim.launch.payload import SCRATCH_HANDLE
from vsim.semantics.core import unsigned_of

_LARGEST_LOADED = 1024
"""Bytes of an input up to which its elements become values; a larger one is copied, so that compilation stays short."""


class Prologue:
    """Emits the prologue of one kernel, and what one of another function has of it."""

    def __init__(self, state: FunctionState, masks: Masks) -> None:
        self.state, self.masks = state, masks

    def emit(self) -> None:
        """Inputs and state variables out of the payload, then what identifies the thread."""
        state, b = self.state, self.state.b
        payload, ids = b.field("%variant", cx.VARIANT_PAYLOAD, "ptr"), b.field("%variant", cx.VARIANT_IDS, "ptr")
        mine = b.assign(f"mul i64 %thread, {threads.id_row_bytes(state.dispatch) * 3}")
        ids = b.assign(f"getelementptr i8, ptr {ids}, i64 {mine}")
        for variable, offset, size in threads.input_places(state.dispatch):
            self._input(payload, ids, variable, offset, size)
        self.states()
        for kind, index, offset in threads.state_inputs(state.dispatch):
            value = b.load(types.UD, 1, b.offset(payload, offset), 1)
            state.registers.write(state_key(kind, index), 0, 1, value)
        self._identity()
        dispatch = state.dispatch
        if dispatch.scratch_size and touches_scratch(dispatch.image, state.module.kernel):
            self._fill_scratch(cx.WORKER_SCRATCH, 0)
            if dispatch.watches_undefined:
                self._fill_scratch(cx.WORKER_SCRATCH_UNDEFINED, -1)

    def _fill_scratch(self, place: int, byte: int) -> None:
        """Set the thread's part of scratch memory, which other threads and launches have used, or of its shadow."""
        b = self.state.b
        size = b.field("%ctx", cx.SCRATCH_SIZE)
        at = b.assign(f"mul i64 %thread, {size}")
        mine = b.assign(f"getelementptr i8, ptr {b.field('%worker', place, 'ptr')}, i64 {at}")
        b.declare("llvm.memset.p0.i64", "void", "ptr, i8, i64, i1")
        b.emit(f"call void @llvm.memset.p0.i64(ptr {mine}, i8 {byte}, i64 {size}, i1 false)")

    def states(self) -> None:
        """Surface and sampler variables that begin with a number."""
        state = self.state
        for kind, index, number in threads.state_defaults(state.dispatch, state.function):
            state.registers.write(state_key(kind, index), 0, 1, state.b.const(number, types.UD))

    # -- inputs --------------------------------------------------------------------------------------------

    def _input(self, payload: str, ids: str, variable: int, offset: int, size: int) -> None:
        """An input: local ids out of their table, anything else out of the payload."""
        dispatch = self.state.dispatch
        root, start = self.state.layout.root(variable)
        if dispatch.watches_undefined:
            self._is_defined(root, start, size)
        found, row = threads.local_id_bytes(dispatch), threads.id_row_bytes(dispatch)
        cuts = [at for at in range(found.start, found.stop + 1, row) if offset < at < offset + size]
        for low, high in pairwise([offset, *cuts, offset + size]):
            if low in found:
                self._local_ids(ids, low - found.start, high - low, root, start + low - offset)
            else:
                self._values(payload, low, high - low, root, start + low - offset)

    def _values(self, payload: str, offset: int, size: int, root: int, start: int) -> None:
        """Bytes of the payload that all threads of a group share, to a byte of a register."""
        if size > _LARGEST_LOADED:
            self.state.registers.copy_in((REGISTER, root), start, size, self.state.b.offset(payload, offset))
            return
        count, element = _elements_of(size)
        for k in range(count):
            value = self._payload_value(payload, offset + k * element.size, element)
            self.state.registers.write((REGISTER, root), start + k * element.size, 1, value)

    def _is_defined(self, root: int, start: int, size: int) -> None:
        """The bytes of an input are defined."""
        _, element = _elements_of(size)
        key, zero = (UNDEFINED_BITS, root), self.state.b.const(0, unsigned_of(element.size))
        self.state.registers.write(key, start, size // element.size, zero)

    def _payload_value(self, payload: str, at: int, element: DataType) -> Value:
        """A value of the payload; handles of images and samplers are known when code is made."""
        b, dispatch = self.state.b, self.state.dispatch
        words = [dispatch.handles.get(at + n) for n in range(0, element.size, 4)]
        if None not in words:
            return b.const(sum(w << 32 * n for n, w in enumerate(words) if w), element)
        value = b.argument(element, payload, at)
        is_pointer = element is types.UQ and at in dispatch.pointers
        return value.with_facts(base_pointer=BasePointer(payload, at)) if is_pointer else value

    def _local_ids(self, ids: str, offset: int, size: int, root: int, start: int) -> None:
        """Local ids along one axis from a byte of the thread's table on, to a byte of a register."""
        b, write, key = self.state.b, self.state.registers.write, (REGISTER, root)
        element = types.UB if size % 2 or offset % 2 else types.UW
        count, (axis, byte) = size // element.size, divmod(offset, threads.id_row_bytes(self.state.dispatch))
        is_known = self.state.module.row and element is types.UW
        known = max(0, min(count, self.state.dispatch.simd - byte // 2)) if is_known else 0
        if known:
            write(key, start, known, self._known_ids(ids, axis, byte // 2, known))
        if known < count:  # of lanes that count up in no known way, or that threads of this width do not have
            past = known * element.size
            value = b.load(element, count - known, b.offset(ids, offset + past), gcd(16, offset + past))
            write(key, start + past, count - known, value)

    def _known_ids(self, ids: str, axis: int, lane: int, count: int) -> Value:
        """The local ids of lanes from one on, which are work-items that count up or follow such."""
        b, at = self.state.b, self.state.b.offset(ids, axis * threads.id_row_bytes(self.state.dispatch))
        if axis == self.state.module.transposed and self.state.module.rows_are_whole:
            first = b.const(0, types.UW)
        else:
            first = b.value(types.UW, 1, f"load i16, ptr {at}, align 2, {INVARIANT_LOAD}")
            b.ranges.most[first.text] = self._most_id(axis)
        return self._counted_ids(axis, lane, count, first)

    def _most_id(self, axis: int) -> int:
        """The largest local id along an axis that lane 0 can have in any launch that this code is for."""
        module, required = self.state.module, self.state.dispatch.signature.required_size
        size = dimensions(required)[axis] if required else MAXIMUM_GROUP_ITEMS
        return size - (module.row if axis == module.transposed and size % module.row == 0 else 1)

    def _counted_ids(self, axis: int, start: int, count: int, first: Value) -> Value:
        """Local ids of lanes from one on; lane 0 has the first.

        Threads are whole rows, or part of one row, of their group: along a row x counts up, from row to row y does, or
        the other way round. Rows of one lane are one row of all of them along the next axis.
        """
        b, whole_row = self.state.b, self.state.module.row
        if whole_row == 1:
            axis, whole_row = (axis - 1) % 3, self.state.dispatch.simd
        if self.state.module.transposed and axis < 2:
            axis = 1 - axis
        if axis == 0:
            lanes = [i % whole_row for i in range(start, start + count)]
        elif axis == 1:
            lanes = [i // whole_row for i in range(start, start + count)]
        else:
            return first
        if not any(lanes):
            return first
        row = min(whole_row, count)
        if axis == 0:  # A thread begins in front of a row, or of a part of one that has all its lanes.
            first = first.with_low_zeros(whole_row.bit_length() - 1)
        row_stride = b.const(axis, first.type) if row < count else None
        value = b.broadcast(first, count) + b.vector(lanes, first.type)
        affine = AffineLanes(first, 1 if axis == 0 else 0, row, row_stride, small=True, offset=lanes[0])
        return value.with_facts(affine=affine)

    # -- identity ------------------------------------------------------------------------------------------

    def _identity(self) -> None:
        """%r0 and the other registers that say which thread this is, where the function reads them."""
        state, b = self.state, self.state.b

        def number(n: int) -> Value:
            return b.const(n, types.UQ)

        thread, group = Value(b, types.UQ, 1, "%thread"), [state.group_id(axis) for axis in range(3)]
        used = {
            state.layout.root(index)[0]
            for i in state.function.instructions
            for what, index in references(i)
            if what == VARIABLE
        }

        def word(register: int, index: int, value: Value, data_type: DataType = types.UD) -> None:
            if register in used or state.shares:
                narrow = b.cast(value, data_type, deferred=True)
                state.registers.write((REGISTER, register), index * data_type.size, 1, narrow)

        slot = Value(b, types.UQ, 1, b.field("%worker", cx.WORKER_SLOT)).deferred("add", thread)
        dwords = {
            1: group[0],
            2: thread.deferred("and", number(255)),
            5: slot.deferred("and", number(1023)),
            6: group[1],
            7: group[2],
        }
        for n in range(16):
            word(threads.R0, n, dwords.get(n, number(0)))
        word(threads.HW_ID, 0, slot)
        if state.function.version >= (4, 2):  # earlier texts do not know it
            word(threads.SCRATCH_LOCATION, 0, number(SCRATCH_HANDLE), types.UQ)
        for register, fields in zip(
            (threads.SR0, threads.MSG0), threads.slot_registers(state.dispatch.image.platform), strict=True
        ):
            word(register, 0, self._slot_register(fields, slot))
        if threads.SR0 in used or state.shares:
            word(threads.SR0, threads.DISPATCH_MASK, Value(b, types.UQ, 1, self.masks.work_item_bits()))
        for axis in range(3):
            word(threads.GROUP_ID + axis, 0, group[axis])
        if {threads.THREAD_X, threads.THREAD_X + 1} & used or state.shares:
            for axis, value in enumerate(self._thread_numbers()):
                word(threads.THREAD_X + axis, 0, value, types.UW)

    def _slot_register(self, fields: tuple[threads.SlotBits, ...], slot: Value) -> Value:
        """%sr0 or %msg0: bits of a thread's slot."""
        b = self.state.b
        total = b.const(0, types.UQ)
        for first, mask, to in fields:
            bits = slot.deferred("lshr", b.const(first, types.UQ))
            bits = bits.deferred("and", b.const(mask, types.UQ)) if mask else bits
            total = total.deferred("or", bits.deferred("shl", b.const(to, types.UQ)))
        return total

    def _thread_numbers(self) -> list[Value]:
        """%thread_x and %thread_y of hand-written kernels: the work-item's x in units of threads, and its y."""
        b, simd = self.state.b, self.state.dispatch.simd
        size = b.assign(f"load i64, ptr {b.offset('%ctx', cx.LOCAL_SIZE)}, align 8")
        ysize = b.assign(f"load i64, ptr {b.offset('%ctx', cx.LOCAL_SIZE + 8)}, align 8")
        linear = b.assign(f"mul i64 %thread, {simd}")
        x = b.assign(f"urem i64 {linear}, {size}")
        y = b.assign(f"urem i64 {b.assign(f'udiv i64 {linear}, {size}')}, {ysize}")
        found = []
        for axis, (local, per) in enumerate(((x, size), (y, ysize))):
            first = b.assign(f"load i64, ptr {b.offset('%ctx', cx.OFFSETS + 8 * axis)}, align 8")
            at = b.assign(f"add i64 {b.assign(f'mul i64 {self.state.group_id(axis).text}, {per}')}, {local}")
            at = b.assign(f"add i64 {at}, {first}")
            if axis == 0:
                at = b.assign(f"udiv i64 {at}, {simd}")
            found.append(Value(b, types.UQ, 1, at))
        return found


def _elements_of(size: int) -> tuple[int, DataType]:
    """As what elements an input of some bytes is loaded."""
    if size == 8:
        return 1, types.UQ
    if size % 4 == 0:
        return size // 4, types.UD
    return (size // 2, types.UW) if size % 2 == 0 else (size, types.UB)
