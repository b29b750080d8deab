"""Operands: readers and writers of regions, immediates, address variables and messages' registers.

A reader or writer is made once for each instruction; its function is called each time the instruction executes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visakit.diagnostics import SimulationError
from visakit.language import types
from visakit.language.operands import (
    CONSECUTIVE,
    Address,
    General,
    Immediate,
    Indirect,
    Raw,
    VectorOperand,
    region_elements,
)
from visakit.language.types import DataType
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import DTYPES, Mask, NumpyAlgebra
from vsim.engines.numpy.faults import Faults
from vsim.engines.numpy.indirect import IndirectOperands
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.engines.numpy.registers import RegisterKind, View, address_view
from vsim.launch.arrays import Array, DType
from vsim.semantics.operands import packed_elements
from vsim.semantics.registers import operand_type

Read = Callable[[], Array]
Write = Callable[[Array, Mask], None]
Columns = slice | npt.NDArray[np.intp]


class RegisterElements(NamedTuple):
    """Elements of a root variable: the byte at which the first one begins, and their numbers counted from there."""

    root: int
    begin: int
    numbers: tuple[int, ...]


@cache
def _columns_of(numbers: tuple[int, ...]) -> Columns:
    """The columns of a view that elements are: a slice where they are evenly spaced, or one for all lanes."""
    if len(set(numbers)) == 1:
        return slice(numbers[0], numbers[0] + 1, 1)
    step = numbers[1] - numbers[0]
    if step > 0 and all(b - a == step for a, b in itertools.pairwise(numbers)):
        return slice(numbers[0], numbers[-1] + 1, step)
    return np.array(numbers)


class BatchOperands:
    """Readers and writers for the instructions of one function; see :class:`vsim.semantics.algebra.Machine`."""

    def __init__(self, prepared: PreparedFunction, running: Running, faults: Faults, grf_size: int) -> None:
        self.prepared, self.running, self.faults, self.grf_size = prepared, running, faults, grf_size
        self.function, self.layout = prepared.function, prepared.layout
        self.indirect = IndirectOperands(prepared, running, faults)

    def type_of(self, op: VectorOperand) -> DataType:
        """Type of the elements of an operand."""
        return operand_type(self.function, op)

    def _cannot(self, text: str) -> SimulationError:
        return self.faults.cannot(text, self.prepared.instruction)

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        """Lanes of an operand in its own type."""
        if isinstance(op, General):
            elements, data_type = self._region(op, count)
            return _zero(data_type) if elements.root == 0 else self._read(elements, DTYPES[data_type])
        if isinstance(op, Immediate):
            value = immediate(op, count)
            return lambda: value
        if isinstance(op, Address):
            running, view = self.running, self.prepared.view(address_view(op.var))
            width = max(1, min(op.width, count))
            columns = self._address_elements(op, width)
            if 1 < width < count:
                lanes = np.resize(np.arange(op.offset, op.offset + width), count)
                return lambda: running.views[view][:, lanes]
            return lambda: running.views[view][:, columns]
        if isinstance(op, Indirect):
            return self.indirect.reader(op, count)
        raise self._cannot(f"an operand of class {type(op).__name__} cannot be read here")

    def writer(self, op: VectorOperand, count: int) -> Write:
        """Stores lanes that have the operand's type under a mask."""
        if isinstance(op, General):
            elements, data_type = self._region(op, count)
            return _write_nothing if elements.root == 0 else self._write(elements, DTYPES[data_type])
        if isinstance(op, Address):
            running, view = self.running, self.prepared.view(address_view(op.var))
            columns = self._address_elements(op, count)

            def write(value: Array, mask: Mask) -> None:
                np.copyto(running.views[view][:, columns], value.astype(np.uint32), where=mask)

            return write
        if isinstance(op, Indirect):
            return self.indirect.writer(op, count)
        raise self._cannot(f"an operand of class {type(op).__name__} cannot be written here")

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        """Consecutive elements at a byte offset into a raw operand."""
        if op.var == 0:
            return _zero(data_type, count)
        return self._read(self._message(op, offset, count, data_type.size), DTYPES[data_type])

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        """The writer that goes with :meth:`raw_reader`."""
        if op.var == 0:
            return _write_nothing
        return self._write(self._message(op, offset, count, data_type.size), DTYPES[data_type])

    def address_of(self, op: General) -> Read:
        """The address of a register operand, as address variables hold it."""
        address = self.layout.address_of(op)
        if address is None:
            raise self._cannot(f"the address of '{self.function.variable_name(op.var)}' cannot be taken")
        value = NumpyAlgebra().const(address, types.UD)
        return lambda: value

    def _address_elements(self, op: Address, count: int) -> slice:
        """The columns of so many elements of an address variable."""
        self.indirect.check_elements(op.var, op.offset, op.offset + count)
        return slice(op.offset, op.offset + count)

    # -- elements of variables -----------------------------------------------------------------------------

    def _region(self, op: General, count: int) -> tuple[RegisterElements, DataType]:
        """The elements of a region."""
        data_type = self.function.variable_type(op.var)
        begin = op.row * self.grf_size + op.col * data_type.size
        return self._elements(op.var, begin, region_elements(op.region, count), data_type.size, "a region"), data_type

    def _message(self, op: Raw, offset: int, count: int, size: int) -> RegisterElements:
        """Consecutive elements of a raw operand."""
        return self._elements(op.var, op.offset + offset, region_elements(CONSECUTIVE, count), size, "a message")

    def _elements(self, var: int, begin: int, numbers: tuple[int, ...], size: int, what: str) -> RegisterElements:
        if text := self.layout.overrun(var, begin, begin + (max(numbers) + 1) * size, what):
            raise self._cannot(text)
        root, start = self.layout.root(var)
        return RegisterElements(root, start + begin, numbers)

    def _columns(self, elements: RegisterElements, dtype: DType) -> tuple[int, Columns] | None:
        """View and columns of elements; None if they are not aligned."""
        first, rest = divmod(elements.begin, dtype.itemsize)
        if rest:
            return None
        columns = _columns_of(elements.numbers)
        view = self.prepared.view(View(RegisterKind.VARIABLE, elements.root, dtype))
        if isinstance(columns, slice):
            return view, slice(columns.start + first, columns.stop + first, columns.step)
        return view, columns + first

    def _bytes(self, elements: RegisterElements, size: int) -> tuple[int, npt.NDArray[np.intp]]:
        """View and columns of the single bytes of elements, elements x bytes."""
        view = self.prepared.view(View(RegisterKind.VARIABLE, elements.root, np.dtype("u1")))
        return view, np.array([[elements.begin + n * size + k for k in range(size)] for n in elements.numbers])

    def _read(self, elements: RegisterElements, dtype: DType) -> Read:
        running, aligned = self.running, self._columns(elements, dtype)
        if aligned is not None:
            view, columns = aligned
            return lambda: running.views[view][:, columns]
        view, columns_of_bytes = self._bytes(elements, dtype.itemsize)
        index = columns_of_bytes.reshape(-1)
        return lambda: np.ascontiguousarray(running.views[view][:, index]).view(dtype)

    def _write(self, elements: RegisterElements, dtype: DType) -> Write:
        aligned = self._columns(elements, dtype)
        if aligned is None:
            return self._write_bytes(elements, dtype)
        view, columns = aligned
        return self._write_columns(view, columns) if isinstance(columns, slice) else self._write_each(view, columns)

    def _write_columns(self, view: int, columns: slice) -> Write:
        """A writer of evenly spaced elements."""
        running = self.running

        def write(value: Array, mask: Mask) -> None:
            elements = running.views[view][:, columns]
            if mask is True:
                elements[:] = value
            elif value.shape == mask.shape == elements.shape:
                np.putmask(elements, mask, value)  # It takes a fourth of the time of what follows.
            else:
                np.copyto(elements, value, where=mask)

        return write

    def _write_each(self, view: int, columns: npt.NDArray[np.intp]) -> Write:
        """A writer of elements in any order; of lanes with the same element the last wins."""
        running = self.running

        def write(value: Array, mask: Mask) -> None:
            registers = running.views[view]
            if mask is True:
                registers[:, columns] = value
                return
            shape = (registers.shape[0], len(columns))
            lanes, data = np.broadcast_to(mask, shape), np.broadcast_to(value, shape)
            for lane, column in enumerate(columns):
                np.copyto(registers[:, column], data[:, lane], where=lanes[:, lane])

        return write

    def _write_bytes(self, elements: RegisterElements, dtype: DType) -> Write:
        """A writer of elements that are not aligned, lane by lane."""
        running, (view, columns) = self.running, self._bytes(elements, dtype.itemsize)

        def write(value: Array, mask: Mask) -> None:
            registers = running.views[view]
            shape = (registers.shape[0], len(columns))
            data = np.ascontiguousarray(np.broadcast_to(value, shape)).view(np.uint8).reshape(*shape, dtype.itemsize)
            lanes = np.broadcast_to(mask, shape)
            for lane, own in enumerate(columns):
                rows = lanes[:, lane]
                registers[np.ix_(rows, own)] = data[rows, lane]

        return write


def immediate(op: Immediate, count: int) -> Array:
    """The value of an immediate: one lane for all, or a lane each of a packed vector."""
    packed = packed_elements(op)
    if packed is not None:
        dtype = {types.V: "i2", types.UV: "u2", types.VF: "f4"}[op.type]
        return np.array([[packed[lane % len(packed)] for lane in range(count)]], dtype)
    bits = op.bits & ((1 << op.type.bits) - 1)
    return np.frombuffer(bits.to_bytes(op.type.size, "little"), DTYPES[op.type]).reshape(1, 1)


def _zero(data_type: DataType, count: int = 1) -> Read:
    """What %null reads as; a message has so many lanes also where it has all its addresses there."""
    zero = np.broadcast_to(NumpyAlgebra().const(0, data_type), (1, count))
    return lambda: zero


def _write_nothing(value: Array, mask: Mask) -> None:
    """What %null does with a result."""
