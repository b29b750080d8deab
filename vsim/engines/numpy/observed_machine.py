"""The machine of a launch whose observers want operands: its readers and writers tell what goes through them."""

from __future__ import annotations

from collections.abc import Callable

from visakit.isa.record import Rule
from visakit.language.operands import (
    SURFACE,
    Execution,
    Immediate,
    PredicateControl,
    Raw,
    VectorOperand,
)
from visakit.language.program import FIRST_PREDICATE
from visakit.language.types import DataType
from visakit.text.printer import FunctionPrinter
from vsim.engines.numpy.algebra import Mask
from vsim.engines.numpy.machine import BatchExecution, NumpyMachine
from vsim.engines.numpy.operand_names import operand_name, raw_name, raw_type
from vsim.engines.numpy.operands import Read, Write
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.launch.arrays import Array, Bools
from vsim.observe.observer import ObservedOperand, Observer, listeners
from vsim.semantics.memory import execution_of


class ObservedMachine(NumpyMachine):
    """The :class:`~vsim.semantics.algebra.Machine` for one function, with events for operands."""

    def __init__(self, prepared: PreparedFunction, batch: BatchExecution) -> None:
        super().__init__(prepared, batch)
        self.running, self.printer = batch.running, FunctionPrinter(prepared.function)
        self.reads, self.writes = listeners(batch.observers, Observer.read), listeners(batch.observers, Observer.write)
        self.masked = listeners(batch.observers, Observer.masked)
        self.plain = NumpyMachine(prepared, batch)
        self.reader, self.writer = self._reader, self._writer
        self.raw_reader, self.raw_writer = self._raw_reader, self._raw_writer
        self.mask, self.predicate_bits = self._mask, self._predicate_bits
        self.predicate_reader, self.predicate_writer = self._predicate_reader, self._predicate_writer
        self.predicate_as_integer = self._predicate_as_integer
        self.state_reader, self.state_writer = self._state_reader, self._state_writer

    def _telling_reader(self, operand: ObservedOperand, read: Read) -> Read:
        """A reader that tells observers the values."""
        running, reads = self.running, self.reads

        def told() -> Array:
            values = read()
            for tell in reads:
                tell(running.event, operand, values)
            return values

        return told

    def _telling_writer(self, operand: ObservedOperand, write: Write) -> Write:
        """A writer that tells observers the values."""
        running, writes = self.running, self.writes

        def told(value: Array, mask: Mask) -> None:
            for tell in writes:
                tell(running.event, operand, value)
            write(value, mask)

        return told

    # -- operands ------------------------------------------------------------------------------------------

    def _reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        read = self.plain.reader(op, count, by_lane)
        if isinstance(op, Immediate):
            return read
        return self._telling_reader(ObservedOperand(operand_name(self.printer, op), by_lane), read)

    def _writer(self, op: VectorOperand, count: int) -> Write:
        return self._telling_writer(ObservedOperand(operand_name(self.printer, op)), self.plain.writer(op, count))

    def _raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        read = self.plain.raw_reader(op, offset, count, data_type, by_lane)
        is_systolic = Rule.SYSTOLIC in self.prepared.instruction.desc.rules
        is_of_lanes = by_lane or (self._is_of_lanes(count) and not is_systolic)
        return self._telling_reader(self._raw(op, offset, data_type, is_of_lanes), read) if op.var else read

    def _raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        write, is_of_lanes = self.plain.raw_writer(op, offset, count, data_type), self._is_of_lanes(count)
        return self._telling_writer(self._raw(op, offset, data_type, is_of_lanes), write) if op.var else write

    def _raw(self, op: Raw, offset: int, data_type: DataType, by_lane: bool) -> ObservedOperand:
        """A raw operand at a byte offset, shown in the type of its variable if that has the size of its elements."""
        shown_as = raw_type(self.printer, op, data_type)
        return ObservedOperand(raw_name(self.printer, op, offset), by_lane, shown_as)

    def _is_of_lanes(self, count: int) -> bool:
        """Whether so many elements of the instruction that is prepared are one for each of its lanes."""
        execution = execution_of(self.prepared.instruction)
        return execution is not None and execution.size == count

    # -- masks, predicates and states ----------------------------------------------------------------------

    def _mask(self, execution: Execution, predicate: PredicateControl | None) -> Callable[[], Mask]:
        mask, bits = self.plain.mask(execution, predicate), None
        if predicate is not None:
            bits = self._predicate_bits(predicate, execution)

        def told() -> Mask:
            if bits is not None:
                bits()
            found = mask()
            for tell in self.masked:
                tell(self.running.event, found, execution)
            return found

        return told

    def _predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Callable[[], Bools]:
        name = ("!" if predicate.inverse else "") + self._predicate(predicate.var)
        name += f".{predicate.mode}" if predicate.mode else ""
        return self._telling_reader(ObservedOperand(name), self.plain.predicate_bits(predicate, execution))

    def _predicate(self, index: int) -> str:
        return self.function.predicates[index - FIRST_PREDICATE].name

    def _predicate_reader(self, index: int, offset: int, count: int) -> Callable[[], Bools]:
        read = self.plain.predicate_reader(index, offset, count)
        return self._telling_reader(ObservedOperand(self._predicate(index)), read)

    def _predicate_writer(self, index: int, offset: int, count: int) -> Callable[[Bools, Mask], None]:
        write = self.plain.predicate_writer(index, offset, count)
        return self._telling_writer(ObservedOperand(self._predicate(index)), write)

    def _predicate_as_integer(self, index: int) -> Read:
        return self._telling_reader(
            ObservedOperand(self._predicate(index), False), self.plain.predicate_as_integer(index)
        )

    def _state(self, kind: int, index: int, element: int) -> ObservedOperand:
        name = self.function.surface_name(index) if kind == SURFACE else self.function.sampler_name(index)
        return ObservedOperand(f"{name}({element})", by_lane=False)

    def _state_reader(self, kind: int, index: int, element: int) -> Read:
        return self._telling_reader(self._state(kind, index, element), self.plain.state_reader(kind, index, element))

    def _state_writer(self, kind: int, index: int, element: int) -> Write:
        operand = self._state(kind, index, element)._replace(by_lane=True)
        return self._telling_writer(operand, self.plain.state_writer(kind, index, element))
