"""Register-indirect operands: each lane's address is an offset in the register file.

The variables whose addresses are taken lie there one behind the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from visa.operands import Indirect
from vsim.arrays import Array, Bytes, Offsets
from vsim.numpy_engine.activation import Running
from vsim.numpy_engine.algebra import DTYPES, Mask, broadcast
from vsim.numpy_engine.faults import Faults
from vsim.numpy_engine.prepared import PreparedFunction
from vsim.numpy_engine.registers import FILE_BYTES, address_view
from vsim.operands import indirect_elements


class IndirectOperands:
    """Readers and writers of indirect operands of one function."""

    def __init__(self, prepared: PreparedFunction, running: Running, faults: Faults) -> None:
        self.prepared, self.running, self.faults = prepared, running, faults

    def _offsets(self, op: Indirect, count: int) -> Callable[[], Offsets]:
        """Each lane's byte offset in the file, threads x lanes."""
        running, view = self.running, self.prepared.view(address_view(op.var))
        elements, within = indirect_elements(op, count)
        first = elements[0]
        columns = slice(first, first + 1) if len(set(elements)) == 1 else np.array(elements)
        added = np.array([within], np.int64)
        return lambda: running.views[view][:, columns].astype(np.int64) + added

    def reader(self, op: Indirect, count: int) -> Callable[[], Array]:
        """Lanes at their addresses; those outside read what is nearest."""
        running, offsets, file_view = self.running, self._offsets(op, count), self.prepared.view(FILE_BYTES)
        dtype = DTYPES[op.type]
        size = dtype.itemsize

        def read() -> Array:
            file = running.views[file_view]
            at = np.clip(offsets(), 0, file.shape[1] - size)
            if size > 1 and not (at % size).any():
                return np.take_along_axis(file.view(dtype), at // size, 1)
            rows = np.arange(file.shape[0])[:, None, None]
            return np.ascontiguousarray(file[rows, at[..., None] + np.arange(size)]).view(dtype)[..., 0]

        return read

    def writer(self, op: Indirect, count: int) -> Callable[[Array, Mask], None]:
        """Stores lanes at their addresses; of lanes with one address the last wins.

        Raises:
            SimulationError: a lane that executes has an address outside, when the writer is called.
        """
        running, offsets, file_view = self.running, self._offsets(op, count), self.prepared.view(FILE_BYTES)
        dtype = DTYPES[op.type]
        size = dtype.itemsize

        def write(value: Array, mask: Mask) -> None:
            file = running.views[file_view]
            shape = (file.shape[0], count)
            at = broadcast(self._checked(offsets(), size, file, mask), shape)
            data = np.ascontiguousarray(broadcast(value.astype(dtype, copy=False), shape)).view(np.uint8)
            data = data.reshape(*shape, size)
            rows, lanes = np.nonzero(np.broadcast_to(mask, shape))
            for k in range(size):
                file[rows, at[rows, lanes] + k] = data[rows, lanes, k]

        return write

    def _checked(self, offsets: Offsets, size: int, file: Bytes, mask: Mask) -> Offsets:
        bad = ((offsets < 0) | (offsets + size > file.shape[1])) & mask
        if bad.any():
            row, lane = (int(found[0]) for found in np.nonzero(bad))
            address = int(np.broadcast_to(offsets, bad.shape)[row, lane])
            raise self.faults.at(
                row, lane, f"register address {address} lies outside the registers whose addresses are taken"
            )
        return np.clip(offsets, 0, file.shape[1] - size)
