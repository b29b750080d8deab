"""Operands: regions of registers, immediates, parts of messages, state; how they are read and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from visakit.language import types
from visakit.language.operands import (
    CONSECUTIVE,
    Address,
    General,
    Immediate,
    Indirect,
    Raw,
    Region,
    VectorOperand,
    region_elements,
)
from visakit.language.types import DataType
from vsim.analysis.arrays.lane_writes import LaneWrites
from vsim.engines.llvm import CannotExecute
from vsim.engines.llvm.ir.affine import AffineLanes
from vsim.engines.llvm.ir.intrinsics import spreadable
from vsim.engines.llvm.ir.pairs import row_of
from vsim.engines.llvm.ir.types import literal
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.indirect import IndirectRegions
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.storage import ADDRESS, PREDICATE, VARIABLE, Key, file_of, state_key
from vsim.engines.llvm.memory.access import MemoryAccess
from vsim.semantics.core import unsigned_of
from vsim.semantics.operands import indirect_elements, packed_elements
from vsim.semantics.registers import operand_type

Read = Callable[[], Value]
Write = Callable[[Value, Mask], None]


class Elements(NamedTuple):
    """The elements of a register that the lanes of an operand are; ``one``: all lanes are the same element.

    ``step``: how far they are apart, if they begin with the first and all are equally far; else 0.
    """

    numbers: list[int]
    one: bool
    consecutive: bool
    last: int
    step: int


@cache
def elements(count: int, region: Region = CONSECUTIVE) -> Elements:
    """The elements of a region; without one, as many as there are lanes, one after the other."""
    return listed(region_elements(region, count))


def listed(numbers: Sequence[int]) -> Elements:
    """Elements by number."""
    numbers, count = list(numbers), len(numbers)
    step = numbers[1] if count > 1 else 0
    regular = step > 0 and numbers == list(range(0, count * step, step))
    return Elements(numbers, len(set(numbers)) == 1, numbers == list(range(count)), max(numbers), step * regular)


class Window(NamedTuple):
    """Elements that are touched together: from a byte of a variable on, so many, and which of them are meant."""

    low: int
    wide: int
    numbers: list[int]


class Words(NamedTuple):
    """Words of 2 or 4 bytes, each of which has one of equally distant elements in it."""

    type: DataType
    low: int
    """Byte of the first word."""
    shift: int
    """The lowest bit of the element in its word."""


class Operands:
    """The operands of one function."""

    variables = VARIABLE
    """The kind of the registers that general operands are."""
    checks_addresses = True
    """Whether indirect operands are checked."""

    def __init__(self, state: FunctionState, masks: Masks, access: MemoryAccess) -> None:
        self.state, self.masks = state, masks
        file, checks = file_of((self.variables, 0)), self.checks_addresses
        self.indirect = IndirectRegions(state, masks, access, self._read_addresses, file, checks)

    def element(self, data_type: DataType) -> DataType:
        """The type of elements of a register whose variable has some type."""
        return types.UW if data_type is types.BF else data_type

    def type_of(self, op: VectorOperand) -> DataType:
        """The type of an operand's elements."""
        return operand_type(self.state.function, op)

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        """Reads lanes of an operand in its own type, bf as uw."""
        if isinstance(op, General):
            return self._region_reader(op, count, by_lane)
        if isinstance(op, Immediate):
            return lambda: self._immediate(op, count)
        if isinstance(op, Address):
            width = max(1, min(op.width, count))
            self._check_elements(op.var, op.offset, op.offset + width)
            key, low = (ADDRESS, op.var), 4 * op.offset
            if 1 < width < count:
                index = listed([lane % width for lane in range(count)])
                return lambda: self._read(key, low, index, types.UD)
            return lambda: self.state.registers.read(key, low, width, types.UD)
        if isinstance(op, Indirect):
            self._check_addresses(op, count)
            return lambda: self.indirect.read(op, count, self.element(op.type))
        raise CannotExecute(f"an operand of class {type(op).__name__}")

    def writer(self, op: VectorOperand, count: int) -> Write:
        """Writes lanes that have the operand's type under a mask."""
        if isinstance(op, General):
            key, low, index, _ = self._region(op, count)
            if op.var == 0:
                return lambda value, mask: None
            return lambda value, mask: self.write(key, low, index, value, mask)
        if isinstance(op, Address):
            self._check_elements(op.var, op.offset, op.offset + count)
            key, low, index = (ADDRESS, op.var), 4 * op.offset, elements(count)
            return lambda value, mask: self.write(key, low, index, self.state.b.cast(value, types.UD), mask)
        if isinstance(op, Indirect):
            self._check_addresses(op, count)
            return lambda value, mask: self.indirect.write(op, count, value, mask)
        raise CannotExecute(f"an operand of class {type(op).__name__}")

    def write_lanes(self, writes: LaneWrites) -> Callable[[], None]:
        """Writes the element of each lane to a separate place, in an indirect region."""
        read, mask = self.reader(writes.source, writes.execution.size), self.masks.mask(writes.execution, None)
        return lambda: self.indirect.write_lanes(writes, read(), mask())

    # -- regions -------------------------------------------------------------------------------------------

    def _region(self, op: General, count: int) -> tuple[Key, int, Elements, DataType]:
        """Register, byte of the first element and elements of a region."""
        state = self.state
        data_type, index = state.function.variable_type(op.var), elements(count, op.region)
        root, low, _ = state.layout.place(op)
        if op.var and not state.layout.holds(root, low, low + (index.last + 1) * data_type.size):
            raise CannotExecute("a region outside its variable")
        return (self.variables, root), low, index, data_type

    def _region_reader(self, op: General, count: int, by_lane: bool) -> Read:
        b = self.state.b
        key, low, index, data_type = self._region(op, count)
        register_type = self.element(data_type)
        if op.var == 0:
            return lambda: b.const(0, register_type)
        return lambda: self._read(key, low, index, register_type, by_lane)

    def _window(self, key: Key, low: int, index: Elements, data_type: DataType) -> Window:
        """What to touch for the elements of ``index``: a power of two of elements from a multiple of their step on,
        where the variable has them. So elements that lie between each other, as halves of qwords do, share a window.
        """
        step, size = max(1, index.step) * data_type.size, data_type.size
        before = low % step // size if low % size == 0 else 0
        span = before + index.last + 1
        wide = 1 << (span - 1).bit_length()
        if low + (wide - before) * size > self.state.storage.size(key):
            wide, before = index.last + 1, 0
        return Window(low - before * size, wide, [before + n for n in index.numbers])

    def _read(self, key: Key, low: int, index: Elements, data_type: DataType, by_lane: bool = False) -> Value:
        b, registers, count = self.state.b, self.state.registers, len(index.numbers)
        if index.one:
            return registers.read(key, low + index.last * data_type.size, 1, data_type)
        if index.consecutive:
            running = self.masks.reading(count) if by_lane else None
            found = registers.read(key, low, count, data_type, running, self.masks.first_lane())
            return (
                self.state.prefetcher.read(key[1], low, found) if b.tracks_base_offset and key[0] == VARIABLE else found
            )
        number = self._row(key, low, index, data_type)
        if number is not None:
            running = self.masks.reading(count) if by_lane else None
            qwords = registers.read(key, low - 4 * number, count, types.UQ, running, self.masks.first_lane())
            return row_of(b, qwords, number, data_type)
        words = self._words(key, low, index, data_type)
        if words is not None:
            running = self.masks.reading(count) if by_lane else None
            read = registers.read(key, words.low, count, words.type, running, self.masks.first_lane())
            if read.facts.interleaved is None:
                part = read >> b.const(words.shift, words.type) if words.shift else read
                return b.bitcast(b.cast(part, unsigned_of(data_type.size)), data_type)
        low, wide, numbers = self._window(key, low, index, data_type)
        whole = b.broadcast(registers.read(key, low, wide, data_type), wide)
        return b.lanes(whole, numbers)

    def _row(self, key: Key, low: int, index: Elements, data_type: DataType) -> int | None:
        """Whether elements are the low (0) or the high dwords (1) of consecutive qwords; None for others."""
        if index.step != 2 or data_type.size != types.UD.size or not data_type.is_integer or low % 4:
            return None
        end = low - low % 8 + types.UQ.size * len(index.numbers)
        return low // 4 % 2 if end <= self.state.storage.size(key) else None

    def _words(self, key: Key, low: int, index: Elements, data_type: DataType) -> Words | None:
        """The words in which elements with gaps lie: shifts of such are cheaper than picks among all bytes."""
        size = index.step * data_type.size
        if index.step < 2 or size not in (1, 2, 4):
            return None
        first = low - low % size
        if first + len(index.numbers) * size > self.state.storage.size(key):
            return None
        return Words(unsigned_of(size), first, 8 * (low - first))

    def write(self, key: Key, low: int, index: Elements, value: Value, mask: Mask) -> None:
        """Write elements of a register under a mask."""
        b, registers, count = self.state.b, self.state.registers, len(index.numbers)
        if value.lanes > count:
            value = b.lanes(value, list(range(count)))
        if mask is not True and mask.lanes > count:
            mask = b.lanes(mask, list(range(count)))
        number = self._row(key, low, index, value.type)
        if number is not None:
            running, row = None if mask is True else self.masks.running_of(count), b.broadcast(value, count)
            registers.write_row(key, low - 4 * number, number, row, mask, running, self.masks.first_lane())
            return
        words = None if index.consecutive else self._words(key, low, index, value.type)
        if words is not None:
            low, value = words.low, self._in_words(key, words, count, value)
        elif not index.consecutive:
            self._write_affine(key, low, index, value, mask)
            return
        if mask is True:
            registers.write(key, low, count, value)
        else:
            running = self.masks.running_of(count)
            registers.write_predicated(key, low, count, value, mask, running, self.masks.first_lane())

    def _in_words(self, key: Key, words: Words, count: int, value: Value) -> Value:
        """Words with an element of each replaced."""
        b, t, size = self.state.b, words.type, value.type.size
        kept = b.const(~(((1 << 8 * size) - 1) << words.shift), t)
        element = b.cast(b.bitcast(value, unsigned_of(size)), t)
        old = self.state.registers.read(key, words.low, count, t)
        return (old & kept) | (element << b.const(words.shift, t) if words.shift else element)

    def _write_affine(self, key: Key, low: int, index: Elements, value: Value, mask: Mask) -> None:
        """Elements with gaps: what lies between them is read and written back."""
        b, registers, t = self.state.b, self.state.registers, value.type
        low, wide, numbers = self._window(key, low, index, t)
        old = b.broadcast(registers.read(key, low, wide, t), wide)
        value = b.broadcast(value, len(numbers))
        if mask is not True:
            value = b.select(mask, value, b.lanes(old, numbers))
        if t.size == types.UD.size:
            value = b.bitcast(spreadable(b, b.bitcast(value, types.UD), wide), t)
        spread = b.lanes(value, [numbers.index(i) if i in numbers else 0 for i in range(wide)])
        picks = [wide + i if i in numbers else i for i in range(wide)]
        whole = b.mixed(old, spread, picks) if wide > 1 else spread
        registers.write(key, low, wide, whole)

    def address_of(self, op: General) -> Read:
        """Byte address of a register operand, as address variables hold it (type UD): its place in the register
        file.
        """
        state = self.state
        address = state.layout.address_of(op)
        if address is None:
            raise CannotExecute(f"the address of '{state.function.variable_name(op.var)}'")
        return lambda: state.b.const(address, types.UD)

    # -- immediates ----------------------------------------------------------------------------------------

    def _immediate(self, op: Immediate, count: int) -> Value:
        b, t = self.state.b, op.type
        packed = packed_elements(op)
        if packed is not None:
            return self._packed_floats(packed, count) if t is types.VF else self._packed_integers(packed, t, count)
        own = types.UW if t is types.BF else t
        value = op.bits & ((1 << 8 * t.size) - 1)
        if t.is_float and t is not types.BF:
            return b.float_of_bits(value, t)
        return b.const(value, own)

    def _packed_integers(self, packed: Sequence[float], t: DataType, count: int) -> Value:
        """Packed integers, repeated over the lanes, which are at constant distances from the first one."""
        b, own = self.state.b, types.W if t is types.V else types.UW
        values = [int(v) for v in packed]
        if count == 1:
            return b.const(values[0], own)
        found = b.vector([values[i % len(values)] for i in range(count)], own)
        row, stride = min(count, len(values)), values[1] - values[0]
        if values[:row] == list(range(values[0], values[0] + row * stride, stride or 1)):
            row_stride = None if row == count else b.const(0, own)
            affine = AffineLanes(b.const(values[0], own), stride, row, row_stride, min(values) >= 0)
            return found.with_facts(affine=affine)
        if row == count:
            steps = tuple(v - values[0] for v in values[:row])
            affine = AffineLanes(b.const(values[0], own), 0, row, small=min(values) >= 0, steps=steps)
            return found.with_facts(affine=affine)
        return found

    def _packed_floats(self, packed: Sequence[float], count: int) -> Value:
        """Packed floats, repeated over the lanes."""
        b = self.state.b
        if count == 1:
            return b.const(packed[0], types.F)
        texts = [f"float {literal(packed[i % len(packed)], types.F)}" for i in range(count)]
        return Value(b, types.F, count, "<" + ", ".join(texts) + ">")

    # -- indirect regions ----------------------------------------------------------------------------------

    def _read_addresses(self, variable: int, chosen: list[int]) -> Value:
        """Elements of an address variable by number."""
        return self._read((ADDRESS, variable), 0, listed(chosen), types.UD, by_lane=True)

    def _check_addresses(self, op: Indirect, count: int) -> None:
        chosen, _ = indirect_elements(op, count)
        self._check_elements(op.var, min(chosen), max(chosen) + 1)

    def _check_elements(self, variable: int, first: int, end: int) -> None:
        if not self.state.layout.has_elements(variable, first, end):
            raise CannotExecute("elements that an address variable does not have")

    # -- messages, predicates, state -----------------------------------------------------------------------

    def _raw(self, op: Raw, offset: int, size: int) -> tuple[Key, int]:
        """Register and first byte of a part of a message."""
        root, start = self.state.layout.root(op.var)
        low = start + op.offset + offset
        if not self.state.layout.holds(root, low, low + size):
            raise CannotExecute("a message outside its variable")
        return (self.variables, root), low

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        """Reads consecutive elements at a byte offset into a raw operand."""
        if op.var == 0:
            return lambda: self.state.b.const(0, data_type)
        key, low = self._raw(op, offset, count * data_type.size)

        def read() -> Value:
            running = self.masks.reading(count) if by_lane else None
            return self.state.registers.read(key, low, count, data_type, running, self.masks.first_lane())

        return read

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        """Writes consecutive elements at a byte offset into a raw operand."""
        if op.var == 0:
            return lambda value, mask: None
        key, low = self._raw(op, offset, count * data_type.size)
        return lambda value, mask: self.write(key, low, elements(count), value, mask)

    def predicate_writer(self, index: int, offset: int, count: int) -> Write:
        """Writes lanes of a predicate."""

        def write(value: Value, mask: Mask) -> None:
            if mask is not True and value.lanes == 1:
                self.state.alike.add(index)
            self.write((PREDICATE, index), offset, elements(count), value, mask)

        return write

    def state_reader(self, kind: int, index: int, element: int) -> Read:
        """Reads an element of a surface or sampler variable."""
        key = self._state_key(kind, index, element)
        return lambda: self.state.registers.read(key, 0, 1, types.UD)

    def state_writer(self, kind: int, index: int, element: int) -> Write:
        """Writes an element of a surface or sampler variable."""
        key = self._state_key(kind, index, element)
        return lambda value, mask: self.write(key, 0, elements(1), self.state.b.cast(value, types.UD), mask)

    def _state_key(self, kind: int, index: int, element: int) -> Key:
        if element >= self.state.function.state_elements(kind, index):
            raise CannotExecute("elements that a surface or sampler variable does not have")
        return state_key(kind, index, element)
