"""What instructions read and write, as terms: regions, immediates, messages, address variables, predicates, masks."""

from __future__ import annotations

from collections.abc import Callable

from visakit.diagnostics import Diagnostic, SimulationError, Span
from visakit.language import types
from visakit.language.operands import (
    CONSECUTIVE,
    Address,
    Execution,
    General,
    Immediate,
    Indirect,
    PredicateControl,
    Raw,
    VectorOperand,
    region_elements,
)
from visakit.language.program import Function, Instruction
from visakit.language.types import DataType
from visakit.text.printer import FunctionPrinter
from vsim.semantics.operands import indirect_elements, packed_elements
from vsim.semantics.registers import operand_type
from vsim.symbolic import terms
from vsim.symbolic.algebra import AnyMask, SymbolicAlgebra, SymbolicLanes, SymbolicMask, spread
from vsim.symbolic.floats import float_bits
from vsim.symbolic.registers import SymbolicRegisters, pieces_of
from vsim.symbolic.terms import Condition, Term

LARGEST_SEARCH = 512
"""Elements among which a symbolic register address may choose."""

Read = Callable[[], SymbolicLanes]
Write = Callable[[SymbolicLanes, AnyMask], None]
ReadMask = Callable[[], AnyMask]


def cannot_execute(
    function: Function, text: str, instruction: Instruction, span: Span | None = None
) -> SimulationError:
    """The error that the symbolic engine cannot execute an instruction."""
    shown = FunctionPrinter(function).instruction(instruction)
    message = f"{text} in '{shown}' ('{function.name}')"
    return SimulationError(Diagnostic("S020", message, span or Span(function.file, instruction.line)))


class SymbolicOperands:
    """A part of :class:`vsim.semantics.algebra.Machine`: operands, predicates and masks of one function's instructions.

    ``registers`` are those of the activation that runs; ``instruction`` is being prepared or executed;
    ``active`` says which of the 32 lanes run, for each of them or for all.
    """

    def __init__(
        self, function: Function, grf_size: int, registers: SymbolicRegisters, algebra: SymbolicAlgebra
    ) -> None:
        self.function, self.grf_size, self.layout = function, grf_size, registers.layout
        self.registers, self.algebra = registers, algebra
        self.instruction: Instruction = function.instructions[0]
        self.active: list[Condition] | bool = True
        self.thread_active: Condition = True
        """Whether the thread runs: where instructions without a mask execute."""

    def cannot(self, text: str, instruction: Instruction | None = None) -> SimulationError:
        """The error that an instruction cannot be executed: by default the one which is being prepared."""
        return cannot_execute(self.function, text, instruction or self.instruction)

    def type_of(self, op: VectorOperand) -> DataType:
        """Type of the elements of an operand."""
        return operand_type(self.function, op)

    # -- regions and immediates ----------------------------------------------------------------------------

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        """Lanes of an operand in its own type."""
        if isinstance(op, General):
            t = self.function.variable_type(op.var)
            return self._read(*self._region(op, count), t)
        if isinstance(op, Immediate):
            value = self._immediate(op, count)
            return lambda: value
        if isinstance(op, Address):
            width = max(1, min(op.width, count))
            self._check_elements(op.var, op.offset, op.offset + width)
            numbers = [op.offset + lane % width for lane in range(count)] if width > 1 else [op.offset]
            return lambda: self.algebra.of(types.UD, [self.registers.address(op.var)[n] for n in numbers])
        if isinstance(op, Indirect):
            return self._indirect_reader(op, count)
        raise self.cannot(f"an operand of class {type(op).__name__} cannot be read here")

    def writer(self, op: VectorOperand, count: int) -> Write:
        """Stores lanes that have the operand's type under a mask."""
        if isinstance(op, General):
            return self._write(*self._region(op, count), self.function.variable_type(op.var).size)
        if isinstance(op, Address):
            return self._address_writer(op, count)
        if isinstance(op, Indirect):
            return self._indirect_writer(op, count)
        raise self.cannot(f"an operand of class {type(op).__name__} cannot be written here")

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        """Consecutive elements at a byte offset into a raw operand."""
        return self._read(*self._message(op, offset, count, data_type.size), data_type)

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        """The writer that goes with :meth:`raw_reader`."""
        return self._write(*self._message(op, offset, count, data_type.size), data_type.size)

    def _region(self, op: General, count: int) -> tuple[int, list[int]]:
        """The root variable of a region and the offsets of its elements."""
        size = self.function.variable_type(op.var).size
        begin = op.row * self.grf_size + op.col * size
        return self._places(op.var, begin, region_elements(op.region, count), size, "a region")

    def _message(self, op: Raw, offset: int, count: int, size: int) -> tuple[int, list[int]]:
        return self._places(op.var, op.offset + offset, region_elements(CONSECUTIVE, count), size, "a message")

    def _places(self, var: int, begin: int, numbers: tuple[int, ...], size: int, what: str) -> tuple[int, list[int]]:
        if text := self.layout.overrun(var, begin, begin + (max(numbers) + 1) * size, what):
            raise self.cannot(text)
        root, start = self.layout.root(var)
        return root, [start + begin + n * size for n in numbers]

    def _read(self, root: int, offsets: list[int], t: DataType) -> Read:
        if root == 0:
            return lambda: self.algebra.const(0, t)
        if len(set(offsets)) == 1:
            offsets = offsets[:1]
        return lambda: self.algebra.of(t, [self.registers.read(root, at, t.size) for at in offsets])

    def _write(self, root: int, offsets: list[int], size: int) -> Write:
        count = len(offsets)

        def write(value: SymbolicLanes, mask: AnyMask) -> None:
            lanes = spread([True] if mask is True else mask.terms, count)
            for at, x, where in zip(offsets, spread(value.terms, count), lanes, strict=True):
                self.registers.write(root, at, size, x, where)

        return write if root else lambda value, mask: None

    def _immediate(self, op: Immediate, count: int) -> SymbolicLanes:
        packed = packed_elements(op)
        if packed is None:
            return self.algebra.of(op.type, [op.bits & ((1 << op.type.bits) - 1)])
        if op.type is types.VF:
            found: list[Term] = [float_bits(x, types.F) for x in packed]
        else:
            found = [int(x) & 0xFFFF for x in packed]
        return self.algebra.of(op.type, [found[lane % len(found)] for lane in range(count)])

    # -- addresses -----------------------------------------------------------------------------------------

    def address_of(self, op: General) -> Read:
        """The address of a register operand, as address variables hold it."""
        address = self.layout.address_of(op)
        if address is None:
            raise self.cannot(f"the address of '{self.function.variable_name(op.var)}' cannot be taken")
        value = self.algebra.const(address, types.UD)
        return lambda: value

    def _check_elements(self, variable: int, first: int, end: int) -> None:
        if text := self.layout.missing_elements(variable, first, end):
            raise self.cannot(text)

    def _address_writer(self, op: Address, count: int) -> Write:
        self._check_elements(op.var, op.offset, op.offset + count)

        def write(value: SymbolicLanes, mask: AnyMask) -> None:
            found = self.registers.address(op.var)
            lanes = spread([True] if mask is True else mask.terms, count)
            whole = self.algebra.cast(value, types.UD)
            for k, (x, where) in enumerate(zip(spread(whole.terms, count), lanes, strict=True), op.offset):
                found[k] = terms.pick(where, x, found[k], 32)

        return write

    def _indirect_offsets(self, op: Indirect, count: int) -> Callable[[], list[Term]]:
        elements, within = indirect_elements(op, count)
        self._check_elements(op.var, min(elements), max(elements) + 1)

        def offsets() -> list[Term]:
            found = self.registers.address(op.var)
            pairs = zip(elements, within, strict=True)
            return [terms.plus(found[k], added & 0xFFFFFFFF, 32) for k, added in pairs]

        return offsets

    def _candidates(self, address: Term, size: int) -> list[tuple[Condition, int, int]] | None:
        """Where a symbolic address may be: condition, root variable and offset; None for too many places.

        Raises:
            SimulationError: no variable lies at a constant address.
        """
        if isinstance(address, int):
            place = self.registers.place_of(address, size)
            if place is None:
                raise self.cannot(self.layout.outside(address))
            return [(True, *place)]
        places = self.registers.places(size, 1)
        low = terms.folded(terms.extract(address, 0, size.bit_length() - 1, 32)) if size > 1 else None
        if isinstance(low, int):
            places = [own for own in places if own[0] % size == low]
        if len(places) > LARGEST_SEARCH:
            return None
        return [(terms.equal(address, at, 32), root, offset) for at, root, offset in places]

    def anything(self, count: int, bits: int) -> list[Term]:
        """Elements of which nothing is known, where a register address may be one of too many.

        Raises:
            SimulationError: the machine follows all registers.
        """
        raise self.cannot(f"a register address that depends on inputs may be any of more than {LARGEST_SEARCH} places")

    def _forget(self, size: int) -> None:
        """Let all variables whose addresses are taken hold anything, in elements of a size."""
        for root in self.layout.file_sizes:
            pieces = self.registers.bytes_of(root)
            for n in range(0, len(pieces), size):
                own = min(size, len(pieces) - n)
                pieces[n : n + own] = pieces_of(self.anything(1, 8 * own)[0], own)

    def _indirect_reader(self, op: Indirect, count: int) -> Read:
        offsets, t = self._indirect_offsets(op, count), op.type

        def read_one(address: Term) -> Term | None:
            found: Term = 0
            places = self._candidates(address, t.size)
            for where, root, offset in places or ():
                found = terms.pick(where, self.registers.read(root, offset, t.size), found, t.bits)
            return None if places is None else found

        def read() -> SymbolicLanes:
            found = [read_one(address) for address in offsets()]
            if any(x is None for x in found):
                unknown = self.anything(count, t.bits)
                found = [y if x is None else x for x, y in zip(found, unknown, strict=True)]
            return self.algebra.of(t, found)

        return read

    def _indirect_writer(self, op: Indirect, count: int) -> Write:
        offsets, size = self._indirect_offsets(op, count), op.type.size

        def write(value: SymbolicLanes, mask: AnyMask) -> None:
            lanes = spread([True] if mask is True else mask.terms, count)
            for address, x, where in zip(offsets(), spread(value.terms, count), lanes, strict=True):
                places = self._candidates(address, size)
                if places is None:
                    return self._forget(size)
                for here, root, offset in places:
                    self.registers.write(root, offset, size, x, terms.conjunction(where, here))
            return None

        return write

    # -- masks and predicates ------------------------------------------------------------------------------

    def lanes(self, offset: int, size: int) -> AnyMask:
        """The lanes that run, of so many from one on."""
        if isinstance(self.active, bool):
            return True if self.active else SymbolicMask([False])
        return SymbolicMask(self.active[offset : offset + size])

    def thread_mask(self) -> AnyMask:
        """All lanes, where the thread runs."""
        return True if self.thread_active is True else SymbolicMask([self.thread_active])

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> ReadMask:
        """Lanes that execute: the execution mask (all lanes with NoMask) and the predicate."""
        bits = self.predicate_bits(predicate, execution) if predicate else None
        offset, size = execution.offset, execution.size

        def lanes() -> AnyMask:
            own = self.thread_mask() if execution.no_mask else self.lanes(offset, size)
            return own if bits is None else bits() & own

        return lanes

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Callable[[], SymbolicMask]:
        """The predicate for each lane; ``any`` and ``all`` ask for every bit that it has."""
        number, mode = predicate.var, predicate.mode

        def bits() -> SymbolicMask:
            found = self.registers.predicate(number)
            if mode:
                total: Condition = mode == "all"
                for bit in found[: self.function.predicate_bits(number)]:
                    total = (terms.disjunction if mode == "any" else terms.conjunction)(total, bit)
                mask = SymbolicMask([total])
            else:
                mask = SymbolicMask(found[execution.offset : execution.offset + execution.size])
            return ~mask if predicate.inverse else mask

        return bits

    def predicate_reader(self, index: int, offset: int, count: int) -> Callable[[], SymbolicMask]:
        """Some bits of a predicate."""
        return lambda: SymbolicMask(self.registers.predicate(index)[offset : offset + count])

    def predicate_writer(self, index: int, offset: int, count: int) -> Callable[[AnyMask, AnyMask], None]:
        """Stores some bits of a predicate under a mask."""

        def write(value: AnyMask, mask: AnyMask) -> None:
            found = self.registers.predicate(index)
            lanes = spread([True] if mask is True else mask.terms, count)
            values = spread([True] if value is True else value.terms, count)
            for k, (x, where) in enumerate(zip(values, lanes, strict=True), offset):
                found[k] = terms.choice(where, x, found[k])

        return write

    def predicate_as_integer(self, index: int) -> Read:
        """All bits of a predicate as one lane."""

        def read() -> SymbolicLanes:
            total: Term = 0
            for k, bit in enumerate(self.registers.predicate(index)[: self.function.predicate_bits(index)]):
                total = terms.any_bits(total, terms.pick(bit, 1 << k, 0, 32), 32)
            return self.algebra.of(types.UD, [total])

        return read

    def predicate_from_integer(self, value: SymbolicLanes, count: int) -> SymbolicMask:
        """Bits 0 to count-1 of lane 0 as a mask."""
        x, bits = value.terms[0], value.type.bits
        return SymbolicMask([terms.equal(terms.extract(x, k, 1, bits), 1, 1) for k in range(count)])
