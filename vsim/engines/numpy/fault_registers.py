"""The registers that the instruction of a fault reads, with their values in the lane of the fault.

Which registers these are, and in which order, the semantics say: they are prepared once more on a machine that keeps
the sources that they ask for. The reference engine then reads its registers. The fast engine numbers sources in the
same order (``lower/fault_sources.py``), and its record of a fault has their bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import RegisterValue, SimulationError
from visakit.language.operands import PredicateControl, Raw, VectorOperand
from visakit.language.program import FIRST_PREDICATE, Function
from visakit.language.types import DataType
from visakit.text.printer import FunctionPrinter
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import DTYPES
from vsim.engines.numpy.machine import BatchExecution, NumpyMachine
from vsim.engines.numpy.operand_names import operand_name, raw_name, raw_type
from vsim.engines.numpy.operands import Read
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.launch.dispatch import Dispatch
from vsim.launch.threads import first_lane
from vsim.observe.trace import shown_number
from vsim.semantics import SEMANTICS
from vsim.semantics.memory import execution_of
from vsim.semantics.operands import is_lane_source

NOT_RECORDED = "?"
"""The value of a register that native code did not record."""


class SourceRegister(NamedTuple):
    """A register that an instruction reads, as elements of a type: one for each lane, or one for all."""

    name: str
    type: DataType
    is_scalar: bool
    read: Read


class _SourceMachine(NumpyMachine):
    """A machine for one instruction that keeps its sources."""

    def __init__(self, prepared: PreparedFunction, batch: BatchExecution) -> None:
        super().__init__(prepared, batch)
        self.sources: list[SourceRegister] = []
        self.running, self.printer = batch.running, FunctionPrinter(prepared.function)
        self.execution = execution_of(prepared.instruction)
        self.plain_reader, self.plain_raw_reader = self.reader, self.raw_reader
        self.reader, self.raw_reader = self._reader, self._raw_reader

    def _reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        read = self.plain_reader(op, count, by_lane)
        if is_lane_source(op, count, by_lane, self.execution):
            self.sources.append(SourceRegister(operand_name(self.printer, op), self.type_of(op), count == 1, read))
        return read

    def _raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        read = self.plain_raw_reader(op, offset, count, data_type, by_lane)
        if is_lane_source(op, count, by_lane, self.execution):
            shown_as = raw_type(self.printer, op, data_type) or data_type
            self.sources.append(SourceRegister(raw_name(self.printer, op, offset), shown_as, count == 1, read))
        return read


def read_registers(
    dispatch: Dispatch, running: Running, function: Function, number: int | None, row: int, lane: int
) -> tuple[RegisterValue, ...]:
    """The registers that an instruction reads in a lane of a thread which runs on the reference engine.

    Args:
        row: the thread's number in the batch.
        lane: counted from the first one of the instruction.
    """
    machine = None if number is None else _sources_of(dispatch, function, number)
    if machine is None:
        return ()
    machine.running.views = machine.prepared.over(running.activation.registers).views
    values: list[int | None] = []
    for source in machine.sources:
        elements = source.read()
        own = elements[row if len(elements) > 1 else 0]
        at = 0 if source.is_scalar else lane
        values.append(int(own[at].view(f"u{own.itemsize}")) if at < own.size else None)
    return _registers(machine, values, lane + first_lane(machine.prepared.instruction))


def recorded_registers(
    dispatch: Dispatch, function: Function, number: int, values: Sequence[int | None], lane: int
) -> tuple[RegisterValue, ...]:
    """The registers that an instruction reads, out of the fast engine's record of a fault.

    Args:
        values: the bits of its sources, in the order of the semantics; None for one that was not recorded.
        lane: of the thread.
    """
    machine = _sources_of(dispatch, function, number)
    return () if machine is None else _registers(machine, values, lane, NOT_RECORDED)


def _sources_of(dispatch: Dispatch, function: Function, number: int) -> _SourceMachine | None:
    """A machine with the sources of an instruction; None if it cannot be prepared."""
    from vsim.engines.numpy.engine import GroupBatch, GroupPayloads

    batch = GroupBatch(dispatch, [dispatch.group(0)], GroupPayloads(dispatch, 0)).execution
    prepared = PreparedFunction(function, dispatch.grf_size, [])
    if dispatch.image.register_overrun:
        prepared.layout.allow_overrun()
    prepared.here = number
    machine, instruction = _SourceMachine(prepared, batch), function.instructions[number]
    try:
        SEMANTICS[instruction.desc.semantics](machine, instruction)
    except SimulationError:
        return None
    return machine


def _registers(
    machine: _SourceMachine, values: Sequence[int | None], lane: int, missing: str = ""
) -> tuple[RegisterValue, ...]:
    """The predicate of an instruction and its sources with their bits.

    The lane executes, so it has the bit that its predicate asks for; of a block it may be another one.

    Args:
        missing: shown for sources whose bits are None; they are left out if this is empty.
    """
    function, execution, found = machine.function, machine.execution, list[RegisterValue]()
    predicate: PredicateControl | None = machine.prepared.instruction.args.get("pred")
    is_of_lanes = execution is not None and (execution.size == 1 or not all(s.is_scalar for s in machine.sources))
    if predicate is not None and not predicate.mode and is_of_lanes:
        name = function.predicates[predicate.var - FIRST_PREDICATE].name
        found.append(RegisterValue(name, "bool", lane, str(int(not predicate.inverse))))
    for source, bits in zip(machine.sources, values, strict=False):
        if bits is not None:
            dtype = DTYPES[source.type]
            number = np.array(bits, np.uint64).astype(f"u{dtype.itemsize}").view(dtype)[()]
            found.append(RegisterValue(source.name, str(source.type), lane, shown_number(number)))
        elif missing:
            found.append(RegisterValue(source.name, str(source.type), lane, missing))
    return tuple(found)
