"""Which bytes of registers and memory instructions read and write, recorded while they execute.

A machine around the engine's own tells the places of operands, which follow from the text but for indirect ones;
accesses to memory are the events of observers. So no instruction is described twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np

from visakit.diagnostics import SimulationError
from visakit.language.operands import (
    CONSECUTIVE,
    Address,
    Execution,
    General,
    Indirect,
    PredicateControl,
    Raw,
    VectorOperand,
    region_elements,
)
from visakit.language.program import FIRST_VARIABLE, Function
from visakit.language.types import DataType
from vsim.engines.numpy.activation import Activation, Running
from vsim.engines.numpy.algebra import Mask
from vsim.engines.numpy.memory import MessageAccess
from vsim.engines.numpy.registers import RegisterFile, RegisterKind
from vsim.launch.arrays import Array, address_of
from vsim.observe.observer import Event
from vsim.semantics.algebra import Lanes, Machine, Read, ReadMask, Write
from vsim.semantics.operands import indirect_elements
from vsim.semantics.registers import Layout

FILE, PREDICATE, ADDRESS, MEMORY = -1, -2, -3, -4
"""Kinds of places in place of a root variable: the file of variables whose addresses are taken, and no variables."""


class Holder(NamedTuple):
    """What has bytes: a variable of an activation (the threads' own where ``owner`` is None), a predicate, an address
    variable, or memory.

    Attributes:
        kind: the number of a root variable, or one of the constants above.
        number: of the predicate or address variable.
    """

    owner: RegisterFile | None
    kind: int
    number: int = 0


class Use(NamedTuple):
    """An operand of one executed instruction.

    Attributes:
        columns: bytes of each element: elements x bytes, or threads x elements x bytes; of predicates bits, of memory
            addresses in this process.
        lanes: the elements that are used: threads x elements, one row for all threads; None for all.
        values: the values that were read, threads x elements; None where they are not known.
    """

    holder: Holder
    writes: bool
    columns: Array
    lanes: Array | None = None
    values: Array | None = None

    def of_row(self, row: int) -> Array:
        """The bytes of each element in a thread."""
        found: Array = self.columns if self.columns.ndim == 2 else self.columns[row if len(self.columns) > 1 else 0]
        return found

    def elements(self, row: int, wanted: Array) -> Array:
        """The elements that have any of some bytes in a thread, and are not masked."""
        hit = np.isin(self.of_row(row), wanted).any(axis=1)
        if self.lanes is not None:
            hit = hit & np.broadcast_to(self.lanes[row if len(self.lanes) > 1 else 0], hit.shape)
        found: Array = np.flatnonzero(hit)
        return found


EDIT = -1
"""In place of the number of an instruction: the user has changed something in front of the next one."""


class Executed(NamedTuple):
    """One executed instruction: when, where, in which threads, and its operands."""

    time: int
    function: Function
    number: int
    activation: Activation
    active: Array
    uses: list[Use]


class Recorder:
    """Records executed instructions while :attr:`steps` is a list."""

    def __init__(self) -> None:
        self.steps: list[Executed] | None = None
        self.running: Running | None = None

    def begin(self, event: Event, time: int, running: Running) -> None:
        """An instruction executes next."""
        if self.steps is not None:
            activation = running.activation
            self.steps.append(Executed(time, event.function, event.number, activation, activation.active, []))

    def use(self, use: Use) -> None:
        """It uses an operand."""
        if self.steps:
            self.steps[-1].uses.append(use)

    def accessed_next(self, access: MessageAccess) -> None:
        """It accesses memory."""
        if not self.steps:
            return
        try:
            parts = access.parts()
        except SimulationError:
            return
        places = np.zeros(access.address.size, np.int64)
        for data, offsets, lanes in parts:
            places[slice(None) if lanes is None else lanes] = offsets + address_of(data)
        columns = access.spread(places)[..., None] + np.arange(access.size)
        if access.kind != "write":
            self.use(Use(Holder(None, MEMORY), False, columns, access.mask))
        if access.writes:
            self.use(Use(Holder(None, MEMORY), True, columns, access.mask))

    def around(self, machine: Machine, running: Running, layout: Layout) -> Machine:
        """A machine that tells operands."""
        return cast("Machine", _RecordingMachine(machine, self, running, layout))


def holder_of(layout: Layout, registers: RegisterFile, root: int) -> tuple[Holder, int]:
    """Where the bytes of a root variable are, and how far behind the beginning of the holder."""
    if root < FIRST_VARIABLE:
        return Holder(None, root), 0
    at = layout.file_offsets.get(root)
    return (Holder(registers, root), 0) if at is None else (Holder(registers, FILE), at)


class _RecordingMachine:
    """The machine of the semantics, whose readers and writers tell a recorder of their places."""

    def __init__(self, inner: Machine, recorder: Recorder, running: Running, layout: Layout) -> None:
        self._inner, self._recorder, self._running, self._layout = inner, recorder, running, layout

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def _tell(
        self,
        holder: Callable[[], tuple[Holder, Array]],
        writes: bool,
        lanes: Mask | None = None,
        values: Array | None = None,
    ) -> None:
        where, columns = holder()
        own = None if lanes is None or lanes is True else np.array(lanes)
        kept = np.array(values) if isinstance(values, np.ndarray) else None
        self._recorder.use(Use(where, writes, columns, own, kept))

    def _read(self, read: Read, holder: Callable[[], tuple[Holder, Array]] | None) -> Read:
        if holder is None:
            return read
        recorder = self._recorder

        def told() -> Lanes:
            values = read()
            if recorder.steps is not None:
                self._tell(holder, False, None, values)
            return values

        return told

    def _write(self, write: Write, holder: Callable[[], tuple[Holder, Array]] | None) -> Write:
        if holder is None:
            return write
        recorder = self._recorder

        def told(value: Lanes, mask: Mask) -> None:
            if recorder.steps is not None:
                self._tell(holder, True, self._running.activation.threads if mask is True else mask)
            write(value, mask)

        return told

    # -- places --------------------------------------------------------------------------------------------

    def _register(
        self, var: int, begin: int, numbers: tuple[int, ...], size: int
    ) -> Callable[[], tuple[Holder, Array]]:
        root, start = self._layout.root(var)
        columns = np.array(numbers)[:, None] * size + (start + begin) + np.arange(size)

        def found() -> tuple[Holder, Array]:
            holder, at = holder_of(self._layout, self._running.activation.registers, root)
            return holder, columns + at

        return found

    def _operand(self, op: VectorOperand, count: int) -> Callable[[], tuple[Holder, Array]] | None:
        if isinstance(op, General) and op.var:
            size = self._layout.function.variable_type(op.var).size
            begin = op.row * self._layout.grf_size + op.col * size
            return self._register(op.var, begin, region_elements(op.region, count), size)
        if isinstance(op, Address):
            return self._other(ADDRESS, op.var, op.offset, min(count, max(1, op.width)))
        return self._indirect(op, count) if isinstance(op, Indirect) else None

    def _other(self, kind: int, number: int, first: int, count: int) -> Callable[[], tuple[Holder, Array]]:
        columns = np.arange(first, first + count)[:, None]
        return lambda: (Holder(self._running.activation.registers, kind, number), columns)

    def _indirect(self, op: Indirect, count: int) -> Callable[[], tuple[Holder, Array]]:
        elements, within = indirect_elements(op, count)

        def found() -> tuple[Holder, Array]:
            registers = self._running.activation.registers
            addresses = registers.arrays[RegisterKind.ADDRESS, op.var][:, elements].astype(np.int64)
            self._recorder.use(Use(Holder(registers, ADDRESS, op.var), False, np.array(elements)[:, None]))
            return Holder(registers, FILE), (addresses + np.array(within))[..., None] + np.arange(op.type.size)

        return found

    # -- operands ------------------------------------------------------------------------------------------

    def reader(self, op: VectorOperand, count: int, by_lane: bool = True) -> Read:
        return self._read(self._inner.reader(op, count, by_lane), self._operand(op, count))

    def writer(self, op: VectorOperand, count: int) -> Write:
        holder = self._operand(op, count)
        if isinstance(op, Address):
            holder = self._other(ADDRESS, op.var, op.offset, count)
        return self._write(self._inner.writer(op, count), holder)

    def _raw(self, op: Raw, offset: int, count: int, data_type: DataType) -> Callable[[], tuple[Holder, Array]] | None:
        if not op.var:
            return None
        return self._register(op.var, op.offset + offset, region_elements(CONSECUTIVE, count), data_type.size)

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool = False) -> Read:
        read = self._inner.raw_reader(op, offset, count, data_type, by_lane)
        return self._read(read, self._raw(op, offset, count, data_type))

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        return self._write(
            self._inner.raw_writer(op, offset, count, data_type), self._raw(op, offset, count, data_type)
        )

    def mask(self, execution: Execution, predicate: PredicateControl | None) -> ReadMask:
        mask = self._inner.mask(execution, predicate)
        if predicate is None:
            return mask
        return self._read(mask, self._other(PREDICATE, predicate.var, execution.offset, execution.size))

    def predicate_bits(self, predicate: PredicateControl, execution: Execution) -> Read:
        holder = self._other(PREDICATE, predicate.var, execution.offset, execution.size)
        return self._read(self._inner.predicate_bits(predicate, execution), holder)

    def predicate_reader(self, index: int, offset: int, count: int) -> Read:
        return self._read(
            self._inner.predicate_reader(index, offset, count), self._other(PREDICATE, index, offset, count)
        )

    def predicate_writer(self, index: int, offset: int, count: int) -> Write:
        return self._write(
            self._inner.predicate_writer(index, offset, count), self._other(PREDICATE, index, offset, count)
        )

    def predicate_as_integer(self, index: int) -> Read:
        count = self._layout.function.predicate_bits(index)
        return self._read(self._inner.predicate_as_integer(index), self._other(PREDICATE, index, 0, count))
