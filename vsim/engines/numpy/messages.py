"""Messages to memory: loads, stores and atomics of the lanes of a mask."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from visakit.diagnostics import SimulationError
from visakit.language.program import Instruction
from visakit.language.types import DataType
from visakit.rules.message_sizes import length_difference, shape_difference
from vsim.engines.numpy import memory
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import DTYPES, Mask
from vsim.engines.numpy.atomics import atomic, only_reads
from vsim.engines.numpy.faults import Faults
from vsim.engines.numpy.memory import Act, MessageAccess, Space
from vsim.launch.arrays import Array, Bools
from vsim.observe.observer import Observer, listeners


class BatchMessages:
    """Messages of the instructions of one function; see :class:`vsim.semantics.algebra.Machine`."""

    def __init__(self, running: Running, faults: Faults, observers: Sequence[Observer] = ()) -> None:
        self.running, self.faults = running, faults
        self.access, self.accessed = listeners(observers, Observer.access), listeners(observers, Observer.accessed)

    def _access(self, space: Space, address: Array, mask: Mask, size: int, act: Act) -> MessageAccess:
        """The access of a message, which observers are told of."""
        access = self._unobserved(space, address, mask, size, act)
        for tell in self.access:
            tell(self.running.event, access)
        return access

    def _unobserved(self, space: Space, address: Array, mask: Mask, size: int, act: Act) -> MessageAccess:
        is_flat = isinstance(space, memory.FlatSpace)
        fault = partial(self.faults.outside, size=size, instruction=act.instruction, is_flat=is_flat)
        return MessageAccess(space, address, mask, size, fault, act)

    def _tell(self, access: MessageAccess) -> None:
        for tell in self.accessed:
            tell(self.running.event, access)

    def load(self, space: Space, address: Array, data_type: DataType, mask: Mask, instruction: Instruction) -> Array:
        """Read one element for each lane; lanes outside the mask give 0."""
        return self.load_elements(space, address, data_type, 1, mask, instruction)[0]

    def store(self, space: Space, address: Array, value: Array, mask: Mask, instruction: Instruction) -> None:
        """Write one element for each lane; of lanes with one address the highest wins."""
        self.store_elements(space, address, [value], mask, instruction)

    def load_elements(
        self, space: Space, address: Array, data_type: DataType, count: int, mask: Mask, instruction: Instruction
    ) -> list[Array]:
        """Read consecutive elements for each lane."""
        access = self._access(space, address, mask, count * data_type.size, Act("read", instruction))
        found = memory.load(access, DTYPES[data_type], count)
        self._tell(access)
        return found

    def store_elements(
        self, space: Space, address: Array, values: list[Array], mask: Mask, instruction: Instruction
    ) -> None:
        """Write consecutive elements for each lane: the first of all lanes, then the second, and so on."""
        size = len(values) * values[0].dtype.itemsize
        access = self._access(space, address, mask, size, Act("write", instruction, values))
        memory.store(access, values)
        self._tell(access)

    def atomic(
        self,
        space: Space,
        op: str,
        address: Array,
        data_type: DataType,
        sources: list[Array],
        mask: Mask,
        instruction: Instruction,
    ) -> Array:
        """Atomic operations in lane order; gives the old values."""
        access = self._access(space, address, mask, data_type.size, Act("atomic", instruction))
        found = atomic(access, op, DTYPES[data_type], sources)
        if self.accessed:
            access.only_read = only_reads(op, found, sources)
            self._tell(access)
        return found

    def require_shape(self, found: Array, wanted: int, mask: Mask, instruction: Instruction) -> None:
        """See that the payload of a block message has the shape of its instruction."""
        self._refuse((found != wanted) & mask, found, lambda shown: shape_difference(shown, wanted), instruction)

    def require_length(self, needed: Array, given: int, mask: Mask, instruction: Instruction) -> None:
        """See that a message has the registers that its payload asks for."""
        self._refuse((needed > given) & mask, needed, lambda shown: length_difference(shown, given), instruction)

    def _refuse(self, wrong: Bools, found: Array, text: Callable[[int], str], instruction: Instruction) -> None:
        """A fault of the first lane of a mask, with a text."""
        for row, lane in zip(*np.nonzero(wrong), strict=True):
            shown = int(np.broadcast_to(found, wrong.shape)[row, lane])
            raise self.faults.at(int(row), int(lane), text(shown), instruction)

    def mapped(self, space: Space, address: Array, size: int, mask: Mask) -> Bools:
        """The lanes of a mask that could read at their address."""
        shape = np.broadcast_shapes(address.shape, (self.running.threads.count, 1))
        found = np.zeros(shape, bool)
        for row, lane in zip(*np.nonzero(np.broadcast_to(mask, shape)), strict=True):
            one = np.zeros(shape, bool)
            one[row, lane] = True
            with contextlib.suppress(SimulationError):
                self._unobserved(space, np.broadcast_to(address, shape), one, size, Act("read")).parts()
                found[row, lane] = True
        return found
