"""The machine of a traced launch: its readers, writers and messages note what goes through them."""

from __future__ import annotations

from collections.abc import Callable

from visakit.isa.record import Rule
from visakit.language.operands import SURFACE, Execution, Immediate, PredicateControl, Raw, VectorOperand
from visakit.language.program import FIRST_PREDICATE, Instruction
from visakit.language.types import DataType
from vsim.engines.numpy.algebra import Mask
from vsim.engines.numpy.machine import BatchExecution, NumpyMachine
from vsim.engines.numpy.memory import Space
from vsim.engines.numpy.operand_names import operand_name, raw_name, raw_type
from vsim.engines.numpy.operands import Read, Write
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.engines.numpy.tracing import Notebook, StepRecorder
from vsim.launch.arrays import Array, Bools
from vsim.semantics.memory import execution_of


class TracedMachine(NumpyMachine):
    """The :class:`~vsim.semantics.algebra.Machine` for one function of a traced launch."""

    def __init__(self, prepared: PreparedFunction, batch: BatchExecution, recorder: StepRecorder) -> None:
        super().__init__(prepared, batch)
        self.notebook = Notebook(prepared.function, recorder)
        self.plain = NumpyMachine(prepared, batch)
        self.reader, self.writer = self._reader, self._writer
        self.raw_reader, self.raw_writer = self._raw_reader, self._raw_writer
        self.mask, self.predicate_bits = self._mask, self._predicate_bits
        self.predicate_reader, self.predicate_writer = self._predicate_reader, self._predicate_writer
        self.predicate_as_integer = self._predicate_as_integer
        self.state_reader, self.state_writer = self._state_reader, self._state_writer
        self.load, self.load_elements = self._load, self._load_elements
        self.store, self.store_elements = self._store, self._store_elements
        self.atomic = self._atomic

    # -- operands ------------------------------------------------------------------------------------------

    def _reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        read = self.plain.reader(op, count, by_lane)
        name = operand_name(self.notebook.printer, op)
        return read if isinstance(op, Immediate) else self.notebook.read(name, read, by_lane)

    def _writer(self, op: VectorOperand, count: int) -> Write:
        return self.notebook.write(operand_name(self.notebook.printer, op), self.plain.writer(op, count))

    def _raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        read, book = self.plain.raw_reader(op, offset, count, data_type, by_lane), self.notebook
        if not op.var:
            return read
        name, shown_as = raw_name(book.printer, op, offset), raw_type(book.printer, op, data_type)
        is_systolic = Rule.SYSTOLIC in self.prepared.instruction.desc.rules
        is_of_lanes = by_lane or (self._is_of_lanes(count) and not is_systolic)
        return book.read(name, read, is_of_lanes, shown_as)

    def _raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        write, book = self.plain.raw_writer(op, offset, count, data_type), self.notebook
        if not op.var:
            return write
        name, shown_as = raw_name(book.printer, op, offset), raw_type(book.printer, op, data_type)
        return book.write(name, write, self._is_of_lanes(count), shown_as)

    def _is_of_lanes(self, count: int) -> bool:
        """Whether so many elements of the instruction that is prepared are one for each of its lanes."""
        execution = execution_of(self.prepared.instruction)
        return execution is not None and execution.size == count

    # -- masks, predicates and states ----------------------------------------------------------------------

    def _mask(self, execution: Execution, predicate: PredicateControl | None) -> Callable[[], Mask]:
        mask, bits = self.plain.mask(execution, predicate), None
        if predicate is not None:
            bits = self._predicate_bits(predicate, execution)

        def noted() -> Mask:
            if bits is not None:
                bits()
            found = mask()
            self.notebook.note_mask(found, execution)
            return found

        return noted

    def _predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Callable[[], Bools]:
        name = ("!" if predicate.inverse else "") + self._predicate(predicate.var)
        name += f".{predicate.mode}" if predicate.mode else ""
        return self.notebook.read(name, self.plain.predicate_bits(predicate, execution), True)

    def _predicate(self, index: int) -> str:
        return self.function.predicates[index - FIRST_PREDICATE].name

    def _predicate_reader(self, index: int, offset: int, count: int) -> Callable[[], Bools]:
        return self.notebook.read(self._predicate(index), self.plain.predicate_reader(index, offset, count), True)

    def _predicate_writer(self, index: int, offset: int, count: int) -> Callable[[Bools, Mask], None]:
        return self.notebook.write(self._predicate(index), self.plain.predicate_writer(index, offset, count))

    def _predicate_as_integer(self, index: int) -> Read:
        return self.notebook.read(self._predicate(index), self.plain.predicate_as_integer(index), False)

    def _state(self, kind: int, index: int, element: int) -> str:
        name = self.function.surface_name(index) if kind == SURFACE else self.function.sampler_name(index)
        return f"{name}({element})"

    def _state_reader(self, kind: int, index: int, element: int) -> Read:
        return self.notebook.read(
            self._state(kind, index, element), self.plain.state_reader(kind, index, element), False
        )

    def _state_writer(self, kind: int, index: int, element: int) -> Write:
        return self.notebook.write(self._state(kind, index, element), self.plain.state_writer(kind, index, element))

    # -- memory --------------------------------------------------------------------------------------------

    def _load(self, space: Space, address: Array, data_type: DataType, mask: Mask, instruction: Instruction) -> Array:
        self.notebook.note_memory(space, address, data_type.size, mask, False)
        return self.plain.load(space, address, data_type, mask, instruction)

    def _load_elements(
        self, space: Space, address: Array, data_type: DataType, count: int, mask: Mask, instruction: Instruction
    ) -> list[Array]:
        self.notebook.note_memory(space, address, count * data_type.size, mask, False)
        return self.plain.load_elements(space, address, data_type, count, mask, instruction)

    def _store(self, space: Space, address: Array, value: Array, mask: Mask, instruction: Instruction) -> None:
        self.notebook.note_memory(space, address, value.dtype.itemsize, mask, True)
        self.plain.store(space, address, value, mask, instruction)

    def _store_elements(
        self, space: Space, address: Array, values: list[Array], mask: Mask, instruction: Instruction
    ) -> None:
        self.notebook.note_memory(space, address, len(values) * values[0].dtype.itemsize, mask, True)
        self.plain.store_elements(space, address, values, mask, instruction)

    def _atomic(
        self,
        space: Space,
        op: str,
        address: Array,
        data_type: DataType,
        sources: list[Array],
        mask: Mask,
        instruction: Instruction,
    ) -> Array:
        self.notebook.note_memory(space, address, data_type.size, mask, True)
        return self.plain.atomic(space, op, address, data_type, sources, mask, instruction)


class Tracer(StepRecorder):
    """Prepares the functions of a traced launch."""

    def machine(self, prepared: PreparedFunction, batch: BatchExecution) -> NumpyMachine:
        """The machine for a function, which notes what goes through it."""
        return TracedMachine(prepared, batch, self)
