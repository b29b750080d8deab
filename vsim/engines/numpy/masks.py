"""Execution masks and predicates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from visakit.language.operands import Execution, PredicateControl
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import Mask, both
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.engines.numpy.registers import predicate_view
from vsim.launch.arrays import Array, Bools, Dwords


class BatchMasks:
    """Masks for the instructions of one function; see :class:`vsim.semantics.algebra.Machine`."""

    def __init__(self, prepared: PreparedFunction, running: Running) -> None:
        self.prepared, self.running = prepared, running

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> Callable[[], Mask]:
        """Lanes that execute: the execution mask (all lanes with NoMask) and the predicate."""
        running, offset, size = self.running, execution.offset, execution.size
        bits = self.predicate_bits(predicate, execution) if predicate else None
        if execution.no_mask:
            if bits is None:
                return self.thread_mask
            return lambda: both(running.activation.threads, bits())
        if bits is None:
            return lambda: running.activation.lanes(offset, size)
        return lambda: both(running.activation.lanes(offset, size), bits())

    def thread_mask(self) -> Mask:
        """All lanes of the threads that run."""
        return self.running.activation.threads

    def _columns(self, index: int, part: slice) -> Callable[[], Bools]:
        running, view = self.running, self.prepared.view(predicate_view(index))
        return lambda: running.views[view][:, part]

    def _bits_of(self, index: int) -> int:
        return self.prepared.function.predicate_bits(index)

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Callable[[], Bools]:
        """The predicate for each lane; ``any`` and ``all`` ask for every bit that it has."""
        mode, inverse = predicate.mode, predicate.inverse
        part = slice(execution.offset, execution.offset + execution.size)
        read = self._columns(predicate.var, slice(self._bits_of(predicate.var)) if mode else part)

        def bits() -> Bools:
            found = read()
            if mode:
                found = (np.logical_or if mode == "any" else np.logical_and).reduce(found, axis=1, keepdims=True)
            return ~found if inverse else found

        return bits

    def predicate_reader(self, index: int, offset: int, count: int) -> Callable[[], Bools]:
        """Some bits of a predicate."""
        return self._columns(index, slice(offset, offset + count))

    def predicate_writer(self, index: int, offset: int, count: int) -> Callable[[Bools, Mask], None]:
        """Stores some bits of a predicate under a mask."""
        columns = self._columns(index, slice(offset, offset + count))

        def write(value: Bools, mask: Mask) -> None:
            if mask is True:
                columns()[:] = value
            else:
                np.copyto(columns(), value, where=mask)

        return write

    def predicate_as_integer(self, index: int) -> Callable[[], Dwords]:
        """All bits of a predicate as one lane."""
        count = self._bits_of(index)
        columns = self._columns(index, slice(0, count))
        weights = (np.uint32(1) << np.arange(count, dtype=np.uint32)).reshape(1, count)
        return lambda: (columns() * weights).sum(axis=1, keepdims=True, dtype=np.uint32)

    def predicate_from_integer(self, value: Array, count: int) -> Bools:
        """Bits 0 to count-1 of lane 0 as a mask."""
        found: Bools = (value >> np.arange(count, dtype=np.uint32)) & np.uint32(1) != 0
        return found
