"""An activation of a function in threads of a batch, and how its registers and memory are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from visakit.language.program import Function
from vsim.debug.execution import SteppedLaunch
from vsim.debug.footprints import ADDRESS, MEMORY, PREDICATE, Holder
from vsim.debug.locations import Location, array_of, shadow_of
from vsim.debug.problems import EXPRESSION, problem
from vsim.debug.source.variables import SourceVariables
from vsim.debug.values import DebugValue, type_name
from vsim.engines.numpy.activation import Activation
from vsim.engines.numpy.registers import RegisterFile
from vsim.launch.arrays import Array, Bytes, DType
from vsim.memory.memory import Buffer

MOST_ELEMENTS = 4096
"""Elements that an expression shows at once."""


@dataclass
class NamedMemory:
    """Memory that a name means, with the type of its elements: a buffer, local memory, scratch memory."""

    name: str
    data: Bytes
    dtype: DType
    starts: Array
    """Where it begins in ``data``, for each thread, or one for all."""
    size: int


@dataclass
class StoppedThreads:
    """Threads of the batch that runs, in an activation of a function.

    Attributes:
        rows: of the threads.
        number: the next instruction of the function.
        sources: the variables of its source.
        is_caller: whether the function waits for one that it has called.
    """

    execution: SteppedLaunch
    activation: Activation | None
    rows: Array
    number: int = 0
    sources: SourceVariables | None = None
    is_caller: bool = False

    @property
    def function(self) -> Function:
        """The function whose variables are meant."""
        return self.execution.dispatch.kernel if self.activation is None else self.activation.function

    @property
    def registers(self) -> RegisterFile:
        """Its registers.

        Raises:
            DebugError: D002, no thread runs.
        """
        if self.activation is None:
            raise problem(EXPRESSION, "no thread has registers here", "'run' or 'start' begins the launch")
        return self.activation.registers

    @property
    def simd(self) -> int:
        """Lanes of a thread."""
        return self.execution.dispatch.lanes

    def at(self, location: Location, shown: str, by_lane: bool, name: str) -> DebugValue:
        """The value of registers."""
        batch = self.execution.batch
        assert batch is not None
        own = array_of(location.holder, batch.threads)[self.rows]
        columns, shadow = location.columns, shadow_of(location.holder)
        unknown = None
        if location.holder.kind in (PREDICATE, ADDRESS):
            data = own[:, columns[:, 0]]
            if shadow is not None:
                unknown = shadow[self.rows[0], columns[:, 0]].astype(bool)
        else:
            data = np.ascontiguousarray(own[:, columns]).view(location.dtype)[..., 0]
            if shadow is not None:
                unknown = shadow[self.rows[0]][columns].any(axis=1)
        return DebugValue(data, shown, by_lane, name, unknown, location)

    def elements(self, memory: NamedMemory, index: Array, count: int = 1) -> DebugValue:
        """Elements of memory: those with some numbers (rows x n), and from each on so many.

        Raises:
            DebugError: D002, they are outside.
        """
        size = memory.dtype.itemsize
        if index.size * count > MOST_ELEMENTS:
            raise problem(EXPRESSION, f"{index.size * count} elements are too many to show, up to {MOST_ELEMENTS}")
        numbers = (index[..., None] + np.arange(count)).reshape(index.shape[0], -1)
        if memory.starts.shape[1] > 1 and numbers.shape[1] not in (1, index.shape[1] if count == 1 else 1):
            raise problem(EXPRESSION, f"each lane has '{memory.name}': name one element", f"as {memory.name}[0]")
        limit = memory.size // size
        if limit <= 0:
            raise problem(EXPRESSION, f"'{memory.name}' has no elements: its size is {memory.size} bytes")
        if numbers.size and (numbers.min() < 0 or numbers.max() >= limit):
            wrong = int(numbers.min() if numbers.min() < 0 else numbers.max())
            raise problem(EXPRESSION, f"'{memory.name}' has elements 0 to {limit - 1}, and no {wrong}")
        columns = (numbers * size + memory.starts)[..., None] + np.arange(size)
        data = np.ascontiguousarray(memory.data[columns]).view(memory.dtype)[..., 0]
        location = Location(Holder(None, MEMORY), columns, memory.dtype, self.rows, memory.data, memory.name)
        by_lane = count == 1 and columns.shape[1] == self.simd > 1
        name = f"{memory.name}[{int(numbers[0, 0])}]" if numbers.size == 1 else memory.name
        return DebugValue(data, type_name(memory.dtype), by_lane, name, None, location)

    def at_address(self, address: int, dtype: DType, count: int) -> DebugValue:
        """Elements at an address of the 64-bit space.

        Raises:
            DebugError: D002, there is no memory.
        """
        buffer = self.execution.program.memory.slots.get(address >> 32)
        if not isinstance(buffer, Buffer) or not 0 <= address - buffer.address < buffer.size:
            raise problem(EXPRESSION, f"there is no memory at {address:#x}", "'info buffers' lists addresses")
        offset = address - buffer.address
        name = self.execution.dispatch.name_of(buffer)
        memory = NamedMemory(name, buffer.data[offset:], dtype, np.zeros((1, 1), np.int64), buffer.size - offset)
        return self.elements(memory, np.zeros((1, 1), np.int64), count)
