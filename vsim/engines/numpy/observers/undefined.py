"""Shadows of registers and memory for the check of undefined values on the reference engine.

A register file has a second one of the same layout, whose bits are 1 where the first one's are undefined; so operands
are found in both by the same code. Buffers, local memory and scratch have shadows at the same offsets. Arrays of the
caller count as defined. The initial contents of local, scratch and private memory, and of registers other than inputs
and the numbers of the thread, count as undefined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from visakit.language.operands import Execution, Raw, VectorOperand
from visakit.language.program import ARG, FIRST_VARIABLE, RETVAL
from visakit.language.types import DataType
from vsim.checks.findings import site_of
from vsim.checks.undefined import UndefinedMachine
from vsim.checks.undefined_memory import MemoryBeside, UndefinedCheck, number_of
from vsim.engines.numpy.activation import Activation, Running
from vsim.engines.numpy.algebra import DTYPES, Mask, NumpyAlgebra, any_lane
from vsim.engines.numpy.machine import BatchExecution, NumpyMachine
from vsim.engines.numpy.masks import BatchMasks
from vsim.engines.numpy.memory import FlatSpace, PartitionedSpace, Space, SurfaceSpace
from vsim.engines.numpy.messages import BatchMessages
from vsim.engines.numpy.observers.findings import BatchFindings
from vsim.engines.numpy.observers.saving import ArrayHistory, SavedObserver, together
from vsim.engines.numpy.operands import BatchOperands, Read, Write
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.engines.numpy.registers import RegisterFile, RegisterKind
from vsim.engines.numpy.scheduler import Scheduler
from vsim.engines.numpy.threads import HardwareThreads
from vsim.launch import threads
from vsim.launch.arrays import Array, Bools, Bytes
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import UNDEFINED_BYTE, AddressSpace, Buffer
from vsim.observe.observer import Event, Observer
from vsim.semantics.algebra import Lanes, Machine
from vsim.semantics.conversion import element_type

_TYPES: dict[np.dtype[np.generic], DataType] = {dtype: t for t, dtype in reversed(DTYPES.items())}
_NUMPY = NumpyAlgebra()


def type_of_array(values: Lanes, /) -> DataType | None:
    """The type of the elements of an array; None for a mask."""
    return _TYPES.get(values.dtype)


class UndefinedObserver(Observer):
    """Prepares the functions of a launch that is checked for undefined values."""

    running: Running
    predefined: dict[int, Bytes]
    """Shadows of the batch's predefined registers."""
    spaces: dict[int, Bytes]
    """Those of local and scratch memory."""

    def __init__(self, findings: BatchFindings) -> None:
        self.findings, self.check, self.history = findings, UndefinedCheck(findings.dispatch), ArrayHistory()
        self.scheduler: Scheduler | None = None
        """That of the batch; None before one is prepared."""

    @property
    def lane(self) -> int:
        """The first lane that the instruction which executes is about."""
        execution: Execution | None = self.running.event.instruction.args.get("exec")
        return 0 if execution is None else execution.offset

    def launch_end(self, error: Exception | None) -> None:
        if error is None:
            self.check.end()

    def prepare(self, engine: BatchExecution) -> None:
        self.running, self.predefined, self.spaces = engine.running, {}, {}
        self.scheduler = engine.scheduler

    def saved(self) -> SavedObserver:
        """Memory that was not used yet begins anew."""
        live = () if self.scheduler is None else tuple(self.scheduler.live)
        files = list({id(a.registers): a.registers for a in live}.values())
        shadows = [file.shadow for file in files]
        arrays = [array for shadow in shadows if shadow is not None for array in shadow.arrays.values()]
        own = [*self.predefined.values(), *self.spaces.values()] if live else []
        memory, left = list(self.check.arrays()), dict(self.check.left)
        known = {id(array) for array in (*own, *memory)}

        def restore() -> None:
            for number, data in self.predefined.items() if live else ():
                data[:] = data if id(data) in known else _start_of(number)
            for data in self.spaces.values() if live else ():
                data[:] = data if id(data) in known else UNDEFINED_BYTE
            for file, shadow in zip(files, shadows, strict=True):
                file.shadow = shadow
            self.check.left = dict(left)
            for beside in (self.check.validity, self.check.origins):
                beside.begin_anew(known)

        return together(self.history.contents([*arrays, *own, *memory]), SavedObserver(0, restore))

    def machine(self, machine: Machine) -> Machine:
        inner = cast("NumpyMachine", machine)
        return UndefinedMachine(machine, BatchShadows(self, inner.prepared, inner))

    def threads_begin(self, event: Event) -> None:
        """Only the inputs of threads are defined."""
        self.check.begin()
        for number, data in self.predefined.items():
            data[:] = _start_of(number)
        for data in self.spaces.values():
            data[:] = UNDEFINED_BYTE

    # -- shadows -------------------------------------------------------------------------------------------

    def registers(self) -> RegisterFile:
        """The shadows of the registers of the activation that runs."""
        return self.shadow_of(self.running.activation)

    def shadow_of(self, activation: Activation) -> RegisterFile:
        """The shadows of an activation's registers; subroutines share those of their function."""
        registers = activation.registers
        if registers.shadow is None:
            registers.shadow = self._new(activation.prepared, registers)
        return registers.shadow

    def _new(self, prepared: PreparedFunction, registers: RegisterFile) -> RegisterFile:
        arrays: dict[tuple[RegisterKind, int], Array] = {}
        for (kind, number), array in registers.arrays.items():
            if kind is RegisterKind.ADDRESS:
                arrays[kind, number] = array
            elif kind is RegisterKind.VARIABLE and number < FIRST_VARIABLE:
                arrays[kind, number] = self._predefined_shadow(number, array.shape)
            else:
                value = UNDEFINED_BYTE if array.dtype == np.uint8 else True
                arrays[kind, number] = np.full(array.shape, value, array.dtype)
        for _, at, size in prepared.layout.carried:
            arrays[RegisterKind.FILE, 0][:, at : at + size] = 0
        found = registers.beside(arrays)
        if prepared.function.is_kernel:
            for var, _, size in threads.input_places(self.check.dispatch):
                root, start = prepared.layout.root(var)
                data = found.bytes_of(root)
                if data is not None:
                    data[:, start : start + size] = 0
        return found

    def _predefined_shadow(self, number: int, shape: tuple[int, ...]) -> Bytes:
        found = self.predefined.get(number)
        if found is None:
            found = self.predefined[number] = np.full(shape, _start_of(number), np.uint8)
        return found

    def local(self, space: PartitionedSpace) -> PartitionedSpace | None:
        """The shadow of local or scratch memory; None for the memory of an image."""
        own = self.running.threads
        if space is not own.slm and space is not own.scratch:
            return None
        key = 0 if space is own.slm else 1
        found = self.spaces.get(key)
        if found is None:
            found = self.spaces[key] = np.full(space.data.shape, UNDEFINED_BYTE, np.uint8)
        return replace(space, data=found)

    # -- findings ------------------------------------------------------------------------------------------

    def active(self, lanes: Mask) -> Bools:
        """A mask as threads x lanes, without threads that are not here."""
        here = self.running.activation.threads
        return np.broadcast_to(lanes & here, (self.running.threads.count, np.shape(lanes)[1]))


def _start_of(number: int) -> int:
    """What the shadow of a predefined register begins with."""
    return UNDEFINED_BYTE if number in (ARG, RETVAL) else 0


class ShadowRunning:
    """What operands ask of what runs: its registers are those of the shadows."""

    def __init__(self, observer: UndefinedObserver, running: Running) -> None:
        self.observer, self.running = observer, running

    @property
    def views(self) -> Mapping[int, Array]:
        """The views of the shadows' registers."""
        return self.observer.registers().views

    @property
    def activation(self) -> Activation:
        """What runs."""
        return self.running.activation

    @property
    def threads(self) -> HardwareThreads:
        """The threads that run."""
        return self.running.threads


class BatchShadows:
    """The :class:`~vsim.checks.undefined.ShadowMachine` for one function."""

    def __init__(self, observer: UndefinedObserver, prepared: PreparedFunction, inner: NumpyMachine) -> None:
        self.observer, self.check, self.prepared = observer, observer.check, prepared
        running = cast("Running", ShadowRunning(observer, observer.running))
        self.operands = BatchOperands(prepared, running, inner.faults, inner.grf_size)
        masks = BatchMasks(prepared, running)
        self.predicate_reader, self.predicate_writer = masks.predicate_reader, masks.predicate_writer
        self.predicate_as_integer = masks.predicate_as_integer
        unwatched = BatchMessages(observer.running, inner.faults)
        self.load_elements, self.store_elements = unwatched.load_elements, unwatched.store_elements
        self.type_of_lanes = type_of_array

    # -- registers -----------------------------------------------------------------------------------------

    def reader(self, op: VectorOperand, count: int, by_lane: bool) -> Read:
        """The undefined bits of a register operand."""
        return _as_bits(self.operands.reader(op, count, by_lane))

    def writer(self, op: VectorOperand, count: int) -> Write:
        """Stores undefined bits of a register operand."""
        return _from_bits(self.operands.writer(op, count), element_type(self.operands.type_of(op)))

    def raw_reader(self, op: Raw, offset: int, count: int, data_type: DataType, by_lane: bool) -> Read:
        """The undefined bits of a part of a raw operand."""
        return _as_bits(self.operands.raw_reader(op, offset, count, data_type, by_lane))

    def raw_writer(self, op: Raw, offset: int, count: int, data_type: DataType) -> Write:
        """Stores them."""
        return _from_bits(self.operands.raw_writer(op, offset, count, data_type), data_type)

    def nowhere(self, count: int) -> Mask:
        """The mask that holds in none of so many lanes."""
        return np.zeros((1, count), bool)

    def is_defined(self, shadow: Array) -> bool:
        """Whether a shadow is all zeros."""
        return not shadow.any()

    def any_lane(self, mask: Mask) -> Mask:
        """One lane: whether a mask holds in any."""
        return np.logical_or.reduce(mask, axis=1, keepdims=True)

    # -- memory --------------------------------------------------------------------------------------------

    def is_tracked(self, variable: int) -> bool:
        """Whether a variable has a shadow."""
        root, _ = self.prepared.layout.root(variable)
        return root >= FIRST_VARIABLE or root in (ARG, RETVAL)

    def beside(self, space: Space, address: Array) -> tuple[Space, Array] | None:
        """The memory of shadows of a space, with the same addresses."""
        found = self._beside(space, self.check.validity)
        return None if found is None else (found, address)

    def origins(self, space: Space, address: Array) -> tuple[Space, Array] | None:
        """Where it is kept which instruction has left undefined bytes."""
        found = None if isinstance(space, PartitionedSpace) else self._beside(space, self.check.origins)
        return None if found is None else (found, address)

    def _beside(self, space: Space, memory: MemoryBeside) -> Space | None:
        if isinstance(space, FlatSpace):
            return FlatSpace(cast("AddressSpace", _Slots(memory)))
        if isinstance(space, PartitionedSpace):
            return self.observer.local(space)
        table: Mapping[int, Buffer | SurfaceImage] = {n: memory.of(b) for n, b in space.table.items()}
        return SurfaceSpace(space.number, table, self.observer.local(space.scratch) if space.scratch else None)

    # -- findings ------------------------------------------------------------------------------------------

    def report(self, code: str, lanes: Mask) -> None:
        """A finding of the instruction that executes if a mask holds in any lane."""
        active = self.observer.active(lanes)
        self.observer.findings.report_threads(
            code, self.observer.running.event, any_lane(active), self.observer.lane + active.argmax(axis=1)
        )

    def note_left(self, lanes: Mask) -> int:
        """Note that the instruction that executes leaves undefined bytes."""
        active = self.observer.active(lanes)
        event = self.observer.running.event
        site = site_of(self.observer.findings.functions, event.function, event.number)
        if active.any():
            who = self.observer.findings.first(active)
            self.check.note(site, who._replace(lane=who.lane + self.observer.lane))
        return number_of(site)


def _as_bits(read: Read) -> Read:
    """What a reader of shadows gives, as unsigned integers."""

    def bits() -> Array:
        found = read()
        return found if found.dtype.kind == "u" else _NUMPY.bitcast(found, _unsigned(found))

    return bits


def _unsigned(values: Array) -> DataType:
    return _TYPES[np.dtype(f"u{values.dtype.itemsize}")]


def _from_bits(write: Write, data_type: DataType) -> Write:
    """A writer of undefined bits as elements of a type of their size."""
    if data_type.is_integer and not data_type.is_signed:
        return write
    return lambda bits, mask: write(_NUMPY.bitcast(bits, data_type), mask)


@dataclass(frozen=True)
class _Slots:
    """An address space of which only the slots matter."""

    memory: MemoryBeside

    @property
    def slots(self) -> _Slots:
        """What finds the buffer of a slot, as dictionaries do."""
        return self

    def get(self, number: int) -> Buffer | None:
        """The shadow of the buffer of a slot."""
        return self.memory.slot(number)
