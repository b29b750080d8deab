"""Register-indirect operands: each lane's address is an offset in the register file.

The variables whose addresses are taken lie there one behind the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from visakit.language.operands import Indirect
from visakit.language.program import Instruction
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import DTYPES, Mask, both, broadcast
from vsim.engines.numpy.faults import Faults
from vsim.engines.numpy.masks import BatchMasks
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.engines.numpy.registers import FILE_BYTES, address_view
from vsim.launch.arrays import Array, Bools, Bytes, Offsets
from vsim.semantics.operands import address_register, indirect_elements


class IndirectOperands:
    """Readers and writers of indirect operands of one function."""

    def __init__(self, prepared: PreparedFunction, running: Running, faults: Faults) -> None:
        self.prepared, self.running, self.faults = prepared, running, faults
        self.masks = BatchMasks(prepared, running)

    def _offsets(self, op: Indirect, count: int) -> Callable[[], Offsets]:
        """Each lane's byte offset in the file, threads x lanes."""
        running, view = self.running, self.prepared.view(address_view(op.var))
        elements, within = indirect_elements(op, count)
        self.check_elements(op.var, min(elements), max(elements) + 1)
        first = elements[0]
        columns = slice(first, first + 1) if len(set(elements)) == 1 else np.array(elements)
        added = np.array([within], np.int32)
        # Addresses wrap around, and those below 0 are outside.
        return lambda: (running.views[view][:, columns].view(np.int32) + added).astype(np.int64)

    def check_elements(self, variable: int, first: int, end: int) -> None:
        """Elements of an address variable must exist.

        Raises:
            SimulationError: they do not.
        """
        if text := self.prepared.layout.missing_elements(variable, first, end):
            raise self.faults.cannot(text, self.prepared.instruction)

    def _reading(self, count: int) -> Callable[[], Mask]:
        """The lanes for which the instruction that is being prepared reads so many elements."""
        args = self.prepared.instruction.args
        execution = args.get("exec")
        if execution is None:
            return self.masks.thread_mask
        mask = self.masks.mask(execution, args.get("pred"))
        half = execution.half(self.prepared.function.split_lanes)
        if half is not None:
            mask = self._in_a_half(self.masks.mask(half, None), mask)
        if execution.size == count:
            return mask

        def some() -> Mask:
            lanes = mask()
            return lanes if lanes is True else np.logical_or.reduce(lanes, axis=1, keepdims=True)

        return some

    def _in_a_half(self, half: Callable[[], Mask], mask: Callable[[], Mask]) -> Callable[[], Mask]:
        """The lanes of a mask where a lane of the half runs; results of other lanes are not used."""

        def lanes() -> Mask:
            running = half()
            return mask() if running is True else both(np.logical_or.reduce(running, axis=1, keepdims=True), mask())

        return lanes

    def reader(self, op: Indirect, count: int) -> Callable[[], Array]:
        """Lanes at their addresses; with lenient reads 0 where no variable lies.

        Raises:
            SimulationError: a lane that executes has an address outside, when the reader is called.
        """
        running, offsets, file_view = self.running, self._offsets(op, count), self.prepared.view(FILE_BYTES)
        mask, instruction = self._reading(count), self.prepared.instruction
        dtype = DTYPES[op.type]
        size = dtype.itemsize

        def elements(file: Bytes, at: Offsets) -> Array:
            if size > 1 and not (at % size).any():
                return np.take_along_axis(file.view(dtype), at // size, 1)
            rows = np.arange(file.shape[0])[:, None, None]
            return np.ascontiguousarray(file[rows, at[..., None] + np.arange(size)]).view(dtype)[..., 0]

        def read() -> Array:
            file = running.views[file_view]
            return elements(file, self._checked(offsets(), size, file, mask(), instruction))

        def read_leniently() -> Array:
            file, at = running.views[file_view], offsets()
            return np.where(self._inside(at, size), elements(file, _clipped(at, size, file)), dtype.type(0))

        return read_leniently if self.faults.dispatch.lenient_reads else read

    def writer(self, op: Indirect, count: int) -> Callable[[Array, Mask], None]:
        """Stores lanes at their addresses; of lanes with one address the last wins.

        Raises:
            SimulationError: a lane that executes has an address outside, when the writer is called.
        """
        running, offsets, file_view = self.running, self._offsets(op, count), self.prepared.view(FILE_BYTES)
        dtype, instruction = DTYPES[op.type], self.prepared.instruction
        size = dtype.itemsize

        def write(value: Array, mask: Mask) -> None:
            file = running.views[file_view]
            shape = (file.shape[0], count)
            at = broadcast(self._checked(offsets(), size, file, mask, instruction), shape)
            data = np.ascontiguousarray(broadcast(value.astype(dtype, copy=False), shape)).view(np.uint8)
            data = data.reshape(*shape, size)
            rows, lanes = np.nonzero(np.broadcast_to(mask, shape))
            for k in range(size):
                file[rows, at[rows, lanes] + k] = data[rows, lanes, k]

        return write

    def _checked(self, offsets: Offsets, size: int, file: Bytes, mask: Mask, instruction: Instruction) -> Offsets:
        bad = ~self._inside(offsets, size) & mask
        if bad.any():
            row, lane = (int(found[0]) for found in np.nonzero(bad))
            address = int(np.broadcast_to(offsets, bad.shape)[row, lane])
            registers = address_register(self.prepared.function, instruction, lane, address)
            raise self.faults.at(row, lane, self.prepared.layout.outside(address), instruction, registers)
        return _clipped(offsets, size, file)

    def _inside(self, offsets: Offsets, size: int) -> Bools:
        """Which elements lie within a variable."""
        inside = np.zeros(offsets.shape, np.bool_)
        for begin, end in self.prepared.layout.file_ranges:
            inside |= (offsets >= begin) & (offsets + size <= end)
        return inside


def _clipped(offsets: Offsets, size: int, file: Bytes) -> Offsets:
    """Offsets in the file, for those outside its last ones."""
    last = file.shape[1] - size
    return np.where((offsets < 0) | (offsets > last), last, offsets).astype(np.int64, copy=False)
