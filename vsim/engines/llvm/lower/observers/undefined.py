"""Shadows of registers and memory for the check of undefined values in compiled code.

Shadows of registers are registers of separate kinds, so that they live where values do: in SSA form within blocks, in
stack slots between them. LLVM removes the code for values that are always defined. Shadows of memory have the same
offsets: of buffers in slots far behind the buffers' slots in the address space (``observers/shadow_memory.py``), of
local memory and scratch in the worker's memory.
"""

from __future__ import annotations

from dataclasses import replace

from visakit.language import types
from visakit.language.operands import Raw, VectorOperand
from visakit.language.program import ARG, FIRST_VARIABLE, RETVAL, Instruction
from visakit.language.types import DataType
from vsim.checks.findings import site_of
from vsim.checks.shadow_machine import STORED
from vsim.checks.undefined import UndefinedMachine
from vsim.checks.undefined_memory import number_of
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.types import MASK
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.faults import FaultExits
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.observers.findings import FindingExits, Observed
from vsim.engines.llvm.lower.operands import Operands, Read, Write, elements
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.lower.storage import UNDEFINED_BITS, UNDEFINED_LANES
from vsim.engines.llvm.memory.access import MemoryAccess
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.observe.observer import Observer
from vsim.semantics.algebra import Lanes, Machine
from vsim.semantics.core import unsigned_of


def type_of_value(value: Lanes, /) -> DataType | None:
    """The type of a lane value's elements; None for a mask."""
    return None if value.type is MASK else value.type


class ShadowOperands(Operands):
    """The shadows of operands: undefined bits, in unsigned types."""

    variables = UNDEFINED_BITS
    checks_addresses = False  # The operand itself has been checked.

    def element(self, data_type: DataType) -> DataType:
        """The type of the undefined bits of elements."""
        return unsigned_of(data_type.size)


class CompiledShadows:
    """The :class:`~vsim.checks.undefined.ShadowMachine` for one function."""

    def __init__(self, state: FunctionState, masks: Masks, exits: FaultExits, findings: FindingExits) -> None:
        self.state, self.masks, self.findings = state, masks, findings
        helpers, traits = state.module.helpers, state.access_traits
        self.access = MemoryAccess(state.b, exits.leave_if, helpers, state.prefetcher, traits)
        self.operands = ShadowOperands(state, masks, self.access)
        self.type_of_lanes = type_of_value

    # -- registers -----------------------------------------------------------------------------------------

    def is_tracked(self, variable: int) -> bool:
        """Whether a variable has a shadow."""
        root, _ = self.state.layout.root(variable)
        return root >= FIRST_VARIABLE or root in (ARG, RETVAL)

    def reader(self, op: VectorOperand, count: int, by_lane: bool) -> Read:
        """The undefined bits of a register operand."""
        return self.operands.reader(op, count, by_lane)

    def writer(self, op: VectorOperand, count: int) -> Write:
        """Stores undefined bits of a register operand."""
        return self.operands.writer(op, count)

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool) -> Read:
        """The undefined bits of a part of a raw operand."""
        return self.operands.raw_reader(op, offset, count, unsigned_of(data_type.size), by_lane)

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        """Stores them."""
        return self.operands.raw_writer(op, offset, count, unsigned_of(data_type.size))

    def predicate_reader(self, index: int, offset: int, count: int) -> Read:
        """The undefined lanes of a predicate."""
        return self.masks.lanes_reader((UNDEFINED_LANES, index), offset, count)

    def predicate_writer(self, index: int, offset: int, count: int) -> Write:
        """Stores them."""
        key = (UNDEFINED_LANES, index)
        return lambda value, mask: self.operands.write(key, offset, elements(count), value, mask)

    def predicate_as_integer(self, index: int) -> Read:
        """The undefined lanes of a predicate as the bits of one UD lane."""
        return self.masks.lanes_as_integer((UNDEFINED_LANES, index))

    def nowhere(self, count: int) -> Value:
        """The mask that holds in none of so many lanes."""
        b = self.state.b
        return Value(b, MASK, count, b.splat_literal("false", MASK, count))

    def is_defined(self, shadow: Value) -> bool:
        """Whether it is known that a shadow is all zeros."""
        return shadow.constant == 0 or shadow.text in ("zeroinitializer", "false")

    def any_lane(self, mask: Value) -> Value:
        """One lane: whether a mask holds in any."""
        return Value(self.state.b, MASK, 1, self.state.b.any(mask))

    # -- memory --------------------------------------------------------------------------------------------

    def beside(self, space: MemorySpace, address: Value) -> tuple[MemorySpace, Value] | None:
        """The memory of shadows of a space, and the address there."""
        return self._beside(space, address, space.undefined, cx.UNDEFINED_SLOTS)

    def origins(self, space: MemorySpace, address: Value) -> tuple[MemorySpace, Value] | None:
        """Where it is noted which instruction has left undefined bytes."""
        return self._beside(space, address, space.origins, cx.ORIGIN_SLOTS)

    def _beside(
        self, space: MemorySpace, address: Value, pointer: str | None, slots: int
    ) -> tuple[MemorySpace, Value] | None:
        if space.is_flat:
            b = self.state.b
            moved = b.cast(address, types.UQ) + b.const(slots << 32, types.UQ)
            return space, moved.with_facts(narrow=None)
        if pointer is None:
            return None
        size = space.size
        if slots == cx.ORIGIN_SLOTS:  # whole dwords
            b = self.state.b
            size = b.assign(f"and i64 {b.assign(f'add i64 {space.size}, 3')}, -4")
        return replace(space, pointer=pointer, size=size, writable=None), address

    def load_elements(
        self, space: MemorySpace, address: Value, data_type: DataType, count: int, mask: Mask, instruction: Instruction
    ) -> list[Value]:
        """Consecutive elements for each lane."""
        return self.access.load(space, address, data_type, mask, count)

    def store_elements(
        self, space: MemorySpace, address: Value, values: list[Value], mask: Mask, instruction: Instruction
    ) -> None:
        """Consecutive elements of each lane."""
        self.access.store(space, address, values, mask)

    # -- findings ------------------------------------------------------------------------------------------

    def report(self, code: str, lanes: Value) -> None:
        """A finding of the instruction that is lowered if a mask holds in any lane."""
        b = self.state.b
        condition = b.any(lanes)

        def details() -> Observed:
            execution = self.state.at.execution
            first = 0 if execution is None else execution.offset
            if lanes.lanes == 1:
                return Observed(str(first))
            bits = b.assign(f"zext i{lanes.lanes} {b.packed(lanes)} to i64") if lanes.lanes < 64 else b.packed(lanes)
            lane = self.findings.first_lane(bits)
            return Observed(b.assign(f"add i64 {lane}, {first}") if first else lane)

        self.findings.report_if(condition, code, details)

    def note_left(self, lanes: Value) -> int:
        """Note that the instruction that is lowered leaves undefined bytes."""
        self.report(STORED, lanes)
        state = self.state
        return number_of(site_of(state.dispatch.image.module.all_functions, state.function, state.at.pc))


class UndefinedChecks(Observer):
    """Runs the semantics of one function on values with shadows."""

    def __init__(self, state: FunctionState, masks: Masks, exits: FaultExits, findings: FindingExits) -> None:
        self.shadows = CompiledShadows(state, masks, exits, findings)

    def machine(self, machine: Machine) -> Machine:
        return UndefinedMachine(machine, self.shadows)
