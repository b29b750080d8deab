"""What instructions see of a thread beside its operands: the modes of %cr0, surface and sampler variables."""

from __future__ import annotations

from typing import Literal

from visakit.language import types
from visakit.language.program import Function
from visakit.language.types import DataType
from vsim.semantics.registers import CR0, FloatModes
from vsim.symbolic import terms
from vsim.symbolic.algebra import AnyMask, SymbolicAlgebra, SymbolicLanes, SymbolicMask, spread
from vsim.symbolic.operands import Read, SymbolicOperands, Write
from vsim.symbolic.registers import SymbolicRegisters
from vsim.symbolic.terms import Term


class SymbolicThreadState(SymbolicOperands):
    """Operands and thread state of one function; see :class:`vsim.semantics.algebra.Machine`.

    Args:
        modes: how the program uses %cr0.
    """

    def __init__(
        self,
        function: Function,
        grf_size: int,
        registers: SymbolicRegisters,
        algebra: SymbolicAlgebra,
        modes: FloatModes,
    ) -> None:
        super().__init__(function, grf_size, registers, algebra)
        self.modes = modes

    def _control(self) -> Term:
        return self.registers.read(CR0, 0, 4)

    def rounding(self) -> SymbolicLanes | int | None:
        """Rounding mode of %cr0; None if the program never changes it."""
        if not self.modes.rounding:
            return None
        mode = terms.both_bits(terms.shift_right(self._control(), 4, 32, False), 3, 32)
        # None would mean that the instruction, once prepared, always rounds to the nearest.
        return mode if isinstance(mode, int) and mode else self.algebra.of(types.UD, [mode])

    def denormals(self, data_type: DataType) -> SymbolicMask | Literal[True] | None:
        """Where %cr0 asks for zeros instead of the denormals of a type; None if it never does."""
        bit = self.modes.flushed.get(data_type)
        if bit is None or not self.modes.written:
            return None if bit is None else True
        return SymbolicMask([terms.equal(terms.both_bits(self._control(), bit, 32), 0, 32)])

    def state_reader(self, kind: int, index: int, element: int) -> Read:
        """An element of a surface or sampler variable."""
        self._check_state(kind, index, element)
        return lambda: self.algebra.of(types.UD, [self.registers.state(kind, index, element)])

    def state_writer(self, kind: int, index: int, element: int) -> Write:
        """Stores an element of a surface or sampler variable under a mask."""
        self._check_state(kind, index, element)

        def write(value: SymbolicLanes, mask: AnyMask) -> None:
            where = True if mask is True else spread(mask.terms, 1)[0]
            old = self.registers.state(kind, index, element)
            self.registers.states[kind, index, element] = terms.pick(where, value.terms[0], old, 32)

        return write

    def _check_state(self, kind: int, index: int, element: int) -> None:
        if text := self.layout.missing_state(kind, index, element):
            raise self.cannot(text)
