"""What instructions see of a thread beside its operands: surface and sampler variables, the modes of %cr0, symbols."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from visakit.language.program import Instruction
from visakit.language.types import DataType
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import Mask
from vsim.engines.numpy.faults import Faults
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.launch.arrays import Bools, Dwords
from vsim.launch.dispatch import Dispatch
from vsim.semantics.registers import CR0


class BatchThreadState:
    """Thread state for the instructions of one function; see :class:`vsim.semantics.algebra.Machine`."""

    def __init__(self, prepared: PreparedFunction, running: Running, dispatch: Dispatch, faults: Faults) -> None:
        self.prepared, self.running, self.dispatch, self.faults = prepared, running, dispatch, faults

    def state_reader(self, kind: int, index: int, element: int) -> Callable[[], Dwords]:
        """An element of a surface or sampler variable."""
        self._check_element(kind, index, element)
        return lambda: self.running.activation.registers.state(kind, index, element)

    def state_writer(self, kind: int, index: int, element: int) -> Callable[[Dwords, Mask], None]:
        """Stores an element of a surface or sampler variable under a mask."""
        self._check_element(kind, index, element)
        return lambda value, mask: np.copyto(
            self.running.activation.registers.state(kind, index, element), value, where=mask
        )

    def _check_element(self, kind: int, index: int, element: int) -> None:
        if text := self.prepared.layout.missing_state(kind, index, element):
            raise self.faults.cannot(text, self.prepared.instruction)

    def symbol_address(self, instruction: Instruction) -> int | None:
        """Address of the function or data symbol that faddr names; None if it is not defined."""
        return self.dispatch.image.symbol_address(self.prepared.function, instruction.args["name"])

    def rounding(self) -> Dwords | None:
        """Rounding mode of %cr0; None if the program never changes it."""
        if not self.dispatch.float_modes.rounding:
            return None
        # Bits 4 and 5: 0 nearest even, 1 up, 2 down, 3 towards zero.
        return (self._control() >> np.uint32(4)) & np.uint32(3)

    def denormals(self, data_type: DataType) -> Bools | None:
        """The threads whose %cr0 asks for zeros instead of the denormals of a type; None if none ever does."""
        modes = self.dispatch.float_modes
        bit = modes.flushed.get(data_type)
        if bit is None:
            return None
        return (self._control() & np.uint32(bit)) == 0 if modes.written else np.ones((1, 1), np.bool_)

    def _control(self) -> Dwords:
        return self.running.threads.predefined(CR0).view(np.uint32)[:, :1]
