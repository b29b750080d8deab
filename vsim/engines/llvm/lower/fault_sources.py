"""What an instruction reads of registers, for the records of its faults.

The semantics ask both engines for readers of the sources in the same order, so a source is a number; the reference
engine gives its name later (:mod:`vsim.engines.numpy.fault_registers`). A fault exit records the bits of the sources in
the faulting lane.
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.language import types
from visakit.language.operands import Execution, Raw, VectorOperand
from visakit.language.program import Instruction
from visakit.language.types import DataType
from vsim.analysis.waiting import touches_memory
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.operands import Operands, Read
from vsim.engines.llvm.lower.state import FunctionState
from vsim.semantics.memory import execution_of
from vsim.semantics.operands import is_lane_source

NOT_KNOWN = ["0", *["poison"] * cx.FAULT_SOURCES]
"""The fields of a record that has no sources."""


class NotedSources:
    """The readers of operands that note the sources of messages and calls."""

    def __init__(self, state: FunctionState, operands: Operands) -> None:
        self.state, self.operands = state, operands
        self.count = cx.FAULT_SOURCES
        """Sources of the instruction that is prepared, so far."""
        self.execution: Execution | None = None

    def begin(self, instruction: Instruction) -> None:
        """Prepare an instruction."""
        is_noted = touches_memory(instruction) or instruction.desc.flow.calls_function
        self.count = 0 if is_noted else cx.FAULT_SOURCES
        self.execution = execution_of(instruction) if is_noted else None

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        """:meth:`Operands.reader`."""
        return self._noted(self.operands.reader(op, count, by_lane), op, count, by_lane)

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        """:meth:`Operands.raw_reader`."""
        return self._noted(self.operands.raw_reader(op, offset, count, data_type, by_lane), op, count, by_lane)

    def _noted(self, read: Read, op: VectorOperand | Raw, count: int, by_lane: bool) -> Read:
        if self.count >= cx.FAULT_SOURCES or not is_lane_source(op, count, by_lane, self.execution):
            return read
        number, state = self.count, self.state
        self.count += 1

        def noted() -> Value:
            found = state.at.sources[number] = read()
            return found

        return noted


def recorded(state: FunctionState, first: str, lane: Callable[[], str | None], is_row: bool) -> list[str]:
    """What a fault exit records of the sources: which are given, and their bits in a lane.

    Of lanes at constant distances, as addresses often have, the first one is recorded with the distance: no code looks
    for the lane. Kernels with barriers pay for vectors: their coroutines do so also with lanes that may have wrapped
    around on the way to a wider type, if they did not, and record no other vector where a row of lanes is outside.

    Args:
        first: the lane (i64), or the first one of a row.
        lane: emits the lane; None if it is not known.
        is_row: one of several lanes that follow each other is outside.
    """
    b, given, fields = state.b, state.b.const(0, types.UQ), NOT_KNOWN[1:]
    for number, value in state.at.sources.items():
        element, stride = _lane_zero(value, int(first) if is_row and first.isdecimal() else None, state.is_coroutine)
        bits = b.const(1 << number | stride << cx.stride_bit(number), types.UQ)
        if element is None:
            at = None if is_row and state.is_coroutine else lane()
            if at is None:
                continue
            element = b.lane(value, at)
        elif value.facts.affine and (holds := value.facts.affine.holds()) != "true":
            bits = b.value(types.UQ, 1, f"select i1 {holds}, {bits.typed}, i64 0")
        fields[number] = b.cast(b.bitcast(element, types.UNSIGNED_BY_SIZE[element.type.size]), types.UQ).text
        given = given | bits
    return [given.text, *fields]


def _lane_zero(value: Value, row_begin: int | None, may_assume: bool) -> tuple[Value | None, int]:
    """What lane 0 of a value is, if other lanes follow from it, and how far they are apart; None if they do not.

    Args:
        row_begin: the first one of the lanes that may be asked for, if they are one row.
        may_assume: that the lanes did not wrap around on the way to a wider type.
    """
    if value.lanes == 1:
        return value, 0
    known = value.facts.affine
    if known is None or known.steps or not 0 <= known.stride <= cx.LARGEST_STRIDE:
        return None, 0
    if known.masks if may_assume else known.assumptions:
        return None, 0
    if known.row >= value.lanes:
        return known.first_lane, known.stride
    if row_begin is None or row_begin % known.row:
        return None, 0
    moved = known.first_lane.builder.const(
        -row_begin * known.stride & ((1 << known.root.type.bits) - 1), known.root.type
    )
    return known.of_row(row_begin // known.row).deferred("add", moved), known.stride
