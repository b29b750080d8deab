"""What the instructions of chosen threads read and write, as lines of a trace.

The machine that prepares instructions gives out readers and writers; here each of them also notes what goes through
it. So a line shows what the semantics did, and nothing is said twice about an instruction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from visakit.language.operands import Execution, Raw
from visakit.language.program import Function
from visakit.language.types import DataType
from visakit.text.printer import FunctionPrinter
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import DTYPES, Mask
from vsim.engines.numpy.memory import FlatSpace, Space, SurfaceSpace
from vsim.engines.numpy.operands import Read, Write
from vsim.launch.arrays import Array, Bools
from vsim.launch.dispatch import Dispatch
from vsim.memory.memory import Buffer
from vsim.observe.trace import Trace, shown_values
from vsim.semantics.algebra import Step

LANES = 32


class Transfer(NamedTuple):
    """Elements of an operand, threads x elements (one row if all threads have the same), and whether each belongs to
    the lane of its number.
    """

    name: str
    values: Array
    by_lane: bool


class MessageNote(NamedTuple):
    """An access of lanes to memory: names or bases of it by thread, addresses and lanes, threads x lanes."""

    space: Space
    surfaces: Array | None
    address: Array
    mask: Array


@dataclass(eq=False)
class Note:
    """What one step does in some of the threads that run; ``rows`` are their numbers among these."""

    rows: list[int]
    active: Bools
    reads: list[Transfer | MessageNote] = field(default_factory=list)
    writes: list[Transfer | MessageNote] = field(default_factory=list)
    mask: Array | None = None
    """The lanes in which it takes effect, from ``first`` on; None for those that run."""
    first: int = 0

    def of_rows(self, values: Array) -> Array:
        """What the threads have of an array of all threads, as it is now."""
        return np.array(values[self.rows] if len(values) > 1 else values)


class StepRecorder:
    """Notes what steps do, and writes a line for each chosen thread that takes part."""

    def __init__(self, dispatch: Dispatch, running: Running, trace: Trace) -> None:
        self.dispatch, self.running, self.trace = dispatch, running, trace
        self.note: Note | None = None
        """That of the step which runs, if one of its threads is chosen."""

    def begin(self) -> None:
        """Threads start; nothing is noted yet."""

    def traced(self, function: Function, number: int, step: Step) -> Step:
        """A step that writes lines about itself."""
        instruction = function.instructions[number]
        if instruction.desc.is_directive:
            return step
        head = f"{function.name}+{number}"
        text = FunctionPrinter(function).instruction(instruction)
        execution: Execution | None = instruction.args.get("exec")

        def run() -> object:
            activation, threads = self.running.activation, self.running.threads
            rows = np.flatnonzero(activation.active_rows & threads.chosen(self.trace)).tolist()
            if not rows:
                return step()
            outer = self.note
            self.note = note = Note(rows, activation.active[rows])
            try:
                return step()
            finally:
                self.note = outer
                for n, row in enumerate(rows):
                    self._write(threads.name(row), head, text, _Line(self.dispatch, note, n, execution))

        return run

    def _write(self, name: str, head: str, text: str, line: _Line) -> None:
        lanes = line.lanes & [lane in self.trace.lanes for lane in range(LANES)] if line.is_by_lane else line.lanes
        if not lanes.any() and line.is_by_lane and line.lanes.any():
            return  # Other lanes than the chosen ones.
        mask = sum(1 << int(lane) for lane in np.flatnonzero(lanes))
        read, written = (" ".join(line.shown(item, lanes) for item in items) for items in line.items)
        out = f"{name} {head} {mask:0{max(1, self.dispatch.lanes // 4)}x} {text}"
        self.trace.write(out + (f" ; {read}" if read else "") + (f" -> {written}" if written else ""))


class _Line:
    """What a note says of one of its threads."""

    def __init__(self, dispatch: Dispatch, note: Note, n: int, execution: Execution | None) -> None:
        self.dispatch, self.n = dispatch, n
        self.items = (note.reads, note.writes)
        self.is_by_lane = execution is None or execution.size > 1
        first, size = (execution.offset, execution.size) if execution else (0, LANES)
        self.part = slice(first, first + size)
        self.lanes = np.zeros(LANES, bool)
        """Those in which the instruction takes effect."""
        if note.mask is None:
            self.lanes[self.part] = note.active[n, self.part]
        else:
            own = self._own(note.mask)
            self.lanes[note.first : note.first + own.size] = own

    def _own(self, values: Array) -> Array:
        own: Array = values[self.n if len(values) > 1 else 0]
        return own

    def shown(self, item: Transfer | MessageNote, lanes: Bools) -> str:
        """What the thread read or wrote: of elements by lane those of the lanes."""
        part = lanes[self.part]
        if isinstance(item, MessageNote):
            return self._memory(item, part)
        values = self._own(item.values)
        if item.by_lane and values.size == part.size and values.dtype != bool:
            values = values[part]
        return f"{item.name}={shown_values(values)}"

    def _memory(self, item: MessageNote, part: Bools) -> str:
        """Where in memory the lanes were: offsets in a buffer, or addresses of several."""
        address, mask = np.broadcast_arrays(self._own(item.address), self._own(item.mask))
        at = address[mask & part] if mask.size == part.size else address[mask]
        if isinstance(item.space, FlatSpace):
            slots = {int(a) >> 32 for a in at}
            found = item.space.memory.slots.get(slots.pop()) if len(slots) == 1 else None
            if found is None:
                return f"memory{shown_values(at)}"
            name, at = self.dispatch.name_of(found), at - np.uint64(found.address)
        elif isinstance(item.space, SurfaceSpace) and item.surfaces is not None:
            number = int(self._own(item.surfaces)[0])
            surface = item.space.table.get(number)
            name = self.dispatch.name_of(surface) if isinstance(surface, Buffer) else f"surface {number}"
        else:
            name = getattr(item.space, "name", "memory")
        return f"{name}+{shown_values(at.astype(np.int64))}"


class Notebook:
    """Where the readers, writers and messages of a machine for one function note what goes through them."""

    def __init__(self, function: Function, recorder: StepRecorder) -> None:
        self.function, self.recorder, self.printer = function, recorder, FunctionPrinter(function)

    def read(self, name: str, read: Read, by_lane: bool, shown_as: DataType | None = None) -> Read:
        """A reader that notes what it gives."""
        recorder = self.recorder

        def noted() -> Array:
            values = read()
            if recorder.note is not None:
                recorder.note.reads.append(Transfer(name, _as(recorder.note.of_rows(values), shown_as), by_lane))
            return values

        return noted

    def write(self, name: str, write: Write, shown_as: DataType | None = None) -> Write:
        """A writer that notes what it gets."""
        recorder = self.recorder

        def noted(value: Array, mask: Mask) -> None:
            if recorder.note is not None:
                recorder.note.writes.append(Transfer(name, _as(recorder.note.of_rows(value), shown_as), True))
            write(value, mask)

        return noted

    def raw_name(self, op: Raw, offset: int) -> str:
        """A raw operand with a byte offset."""
        return f"{self.function.variable_name(op.var)}.{op.offset + offset}"

    def raw_type(self, op: Raw, data_type: DataType) -> DataType | None:
        """The type that elements of a raw operand are shown in: that of its variable, if it has their size."""
        own = self.function.variable_type(op.var)
        return own if own.size == data_type.size and own in DTYPES else None

    def note_mask(self, mask: Mask, execution: Execution) -> None:
        """The lanes in which the step takes effect."""
        note = self.recorder.note
        if note is None or (mask is True and not execution.no_mask):
            return
        lanes = np.ones((1, 1), bool) if mask is True else note.of_rows(mask)
        note.mask = np.broadcast_to(lanes, (len(lanes), execution.size))
        note.first = execution.offset

    def note_memory(self, space: Space, address: Array, mask: Mask, writes: bool) -> None:
        """An access of lanes to memory."""
        note = self.recorder.note
        if note is None:
            return
        surfaces = note.of_rows(space.number) if isinstance(space, SurfaceSpace) else None
        lanes = np.array([[True]]) if mask is True else note.of_rows(mask)
        (note.writes if writes else note.reads).append(MessageNote(space, surfaces, note.of_rows(address), lanes))


def _as(values: Array, data_type: DataType | None) -> Array:
    """Elements as those of another type of their size."""
    if data_type is None or values.dtype == bool or values.dtype.itemsize != data_type.size:
        return values
    return np.ascontiguousarray(values).view(DTYPES[data_type])
