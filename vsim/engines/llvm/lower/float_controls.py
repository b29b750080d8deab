"""What %cr0 says of floats where an instruction is lowered: known by analysis, else read from the register."""

from __future__ import annotations

from visakit.forks import cached_property
from visakit.language import types
from visakit.language.types import DataType
from vsim.analysis.rounding import UNKNOWN, ZEROS, Bits, after, control_bits, rounding_mode
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.dry_run import emitted_graph
from vsim.engines.llvm.lower.state import ENTRY, FunctionState
from vsim.engines.llvm.lower.storage import VARIABLE
from vsim.semantics.registers import CR0


class FloatControls:
    """The float controls of one function."""

    def __init__(self, state: FunctionState) -> None:
        self.state = state
        self.place, self.bits = (ENTRY, 0), UNKNOWN
        """A block and an instruction in it, and what %cr0 is known to hold in front of that."""

    def rounding(self) -> Value | int | None:
        """The rounding mode here: a value, or a number where it is known; None where it is known to be nearest."""
        if not self.state.dispatch.float_modes.rounding:
            return None
        known = rounding_mode(self._known_bits())
        if known is not None:
            return known or None
        b = self.state.b
        return (self._control() >> b.const(4, types.UD)) & b.const(3, types.UD)

    def denormals(self, data_type: DataType) -> Mask | None:
        """Where %cr0 asks for zeros instead of the denormals of a type; None: nowhere, True: everywhere."""
        modes = self.state.dispatch.float_modes
        bit = modes.flushed.get(data_type)
        if bit is None or not modes.written:
            return None if bit is None else True
        known = self._known_bits()
        if known.known & bit:
            return None if known.value & bit else True
        b = self.state.b
        return (self._control() & b.const(bit, types.UD)) == b.const(0, types.UD)

    def _control(self) -> Value:
        return self.state.registers.read((VARIABLE, CR0), 0, 1, types.UD)

    def _known_bits(self) -> Bits:
        """What is known of %cr0 in front of the instruction that is lowered; they are asked for in their order."""
        state, at = self.state, self.state.at
        block, pc = self.place
        if block != at.block or pc > at.pc:
            block, pc, self.bits = at.block, at.block, self._at_blocks.get(at.block, UNKNOWN)
        for instruction in state.function.instructions[pc : at.pc]:
            self.bits = after(state.function, state.layout, instruction, self.bits)
        self.place = block, at.pc
        return self.bits

    @cached_property
    def _at_blocks(self) -> dict[int, Bits]:
        state = self.state
        entry = ENTRY, ZEROS if state.is_kernel else UNKNOWN
        return control_bits(state.function, state.layout, dict(state.flow.blocks()), emitted_graph(state), entry)
