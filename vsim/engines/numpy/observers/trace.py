"""What the instructions of chosen threads read and write, as lines of a trace.

Readers and writers of instructions report their values (``observed_machine.py``), and these are noted here. So a line
shows the effect of the semantics, and no instruction is described twice.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import SimulationError, Span
from visakit.language.operands import Execution
from visakit.language.program import Function
from visakit.language.types import DataType
from visakit.text.printer import FunctionPrinter
from vsim.command.shown import shown_tree
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.algebra import DTYPES, Mask
from vsim.engines.numpy.machine import BatchExecution
from vsim.engines.numpy.memory import FlatSpace, MessageAccess, Space, SurfaceSpace
from vsim.launch.arrays import Array, Bools
from vsim.launch.bound_launch import BoundLaunch
from vsim.launch.ndrange import Group
from vsim.memory.memory import Buffer
from vsim.observe.observer import Event, ObservedOperand, Observer
from vsim.observe.trace import Trace, instruction_places, shown_place, shown_values
from vsim.semantics.memory import execution_of

LANES = 32


class Transfer(NamedTuple):
    """Elements of an operand, threads x elements (one row if all threads have the same), and whether each belongs to
    the lane of its number.
    """

    name: str
    values: Array
    by_lane: bool


class MessageNote(NamedTuple):
    """An access of lanes to memory: names or bases of it by thread, addresses and lanes, threads x lanes; how many
    bytes each lane accesses.
    """

    space: Space
    surfaces: Array | None
    address: Array
    mask: Array
    size: int


class Accessed(NamedTuple):
    """A byte of memory: its name, its offset there, and its address, -1 where it has none."""

    name: str
    offset: int
    address: int


Item = Transfer | MessageNote


@dataclass(eq=False)
class Note:
    """What one step does in some of the threads that run; ``rows`` are their numbers among these."""

    event: Event
    rows: list[int]
    active: Bools
    chosen: Bools
    """The chosen lanes of all threads."""
    outer: Note | None
    """The note of the step within which this one runs: a loop of few threads runs within its branch."""
    reads: list[Item] = field(default_factory=list)
    writes: list[Item] = field(default_factory=list)
    mask: Array | None = None
    """The lanes in which it takes effect, from ``first`` on; None for the running lanes."""
    first: int = 0

    def of_rows(self, values: Array) -> Array:
        """A copy of the threads' rows of an array of all threads."""
        return np.array(values[self.rows] if len(values) > 1 else values)

    def transfer(self, operand: ObservedOperand, values: Array) -> Transfer:
        """What they have of an operand."""
        return Transfer(operand.name, _as(self.of_rows(values), operand.shown_as), operand.by_lane)


class TraceObserver(Observer):
    """Notes what steps do, and writes a line for each chosen thread that takes part."""

    running: Running
    """What runs of the batch that does."""

    def __init__(self, dispatch: BoundLaunch, trace: Trace) -> None:
        self.dispatch, self.trace = dispatch, trace
        self.note: Note | None = None
        """That of the step which runs, if one of its threads is chosen."""
        self.functions: dict[int, tuple[list[Span], Bools]] = {}
        self.shown: dict[tuple[int, int], ShownStep] = {}

    def launch_begin(self, launch: BoundLaunch) -> None:
        self.trace.begin(launch.kernel.name, launch.simd, launch.nd_range)

    def watches(self, launch: BoundLaunch, group: Group) -> bool:
        return self.trace.is_about(launch, group)

    def prepare(self, engine: BatchExecution) -> None:
        self.running, self.note = engine.running, None

    def threads_begin(self, event: Event) -> None:
        self.running.threads.chosen(self.trace)  # Groups and lanes match although no instruction is chosen.

    def _instructions(self, function: Function) -> tuple[list[Span], Bools]:
        """Where the instructions of a function stand, and which of them are chosen."""
        found = self.functions.get(id(function))
        if found is None:
            places = instruction_places(self.dispatch.image, function)
            found = self.functions[id(function)] = places, self.trace.instructions_of(function, places)
        return found

    def chooses(self, function: Function, number: int) -> bool:
        return bool(self._instructions(function)[1][number]) and not function.instructions[number].desc.is_directive

    def before(self, event: Event) -> None:
        activation, lanes = self.running.activation, self.running.threads.chosen(self.trace)
        rows = np.flatnonzero(activation.active_rows & lanes.any(axis=1)).tolist()
        if rows:
            self.note = Note(event, rows, activation.active[rows], lanes, self.note)

    def after(self, event: Event) -> None:
        note = self._note_of(event)
        if note is None:
            return
        self.note = note.outer
        shown, execution = self._shown(event), execution_of(event.instruction)
        for n, row in enumerate(note.rows):
            self._write(row, shown, _Line(self.dispatch, note, n, execution), note.chosen[row])

    def _shown(self, event: Event) -> ShownStep:
        function, number = event.function, event.number
        found = self.shown.get((id(function), number))
        if found is None:
            text, places = FunctionPrinter(function).instruction(event.instruction), self.functions[id(function)][0]
            found = self.shown[id(function), number] = ShownStep(function.name, number, text, places[number])
        return found

    def fault(self, event: Event, error: SimulationError) -> None:
        self.after(event)

    def _note_of(self, event: Event) -> Note | None:
        """The note of an instruction that executes; None if it gets no line."""
        return self.note if self.note is not None and self.note.event is event else None

    def _write(self, row: int, shown: ShownStep, line: _Line, chosen: Bools) -> None:
        """A line for a thread, if lanes of it are chosen in which the instruction takes effect, and touch the memory
        that is chosen.
        """
        lanes = line.lanes & chosen if line.is_by_lane else line.lanes
        if not lanes.any() and line.is_by_lane and line.lanes.any():
            return  # Other lanes than the chosen ones.
        if self.trace.selection.memory:
            touching = line.touching(self.trace, lanes)
            if touching is None:
                return
            lanes = touching
        self.trace.written = True
        numbers = np.flatnonzero(lanes).tolist()
        if self.trace.as_json:
            group, thread = self.running.threads.member(row)
            self.trace.write_json({"group": group, "thread": thread} | shown.tree(numbers) | line.tree(lanes))
            return
        mask = sum(1 << lane for lane in numbers)
        read, written = (" ".join(line.shown(item, lanes) for item in items) for items in line.items)
        out = f"{self.running.threads.name(row)} {shown.function}+{shown.number} {shown_place(shown.place)} "
        out += f"{mask:0{max(1, self.dispatch.lanes // 4)}x} {shown.text}"
        self.trace.write(out + (f" ; {read}" if read else "") + (f" -> {written}" if written else ""))

    # -- what goes through readers, writers and messages ---------------------------------------------------

    def read(self, event: Event, operand: ObservedOperand, values: Array) -> None:
        note = self._note_of(event)
        if note is not None:
            note.reads.append(note.transfer(operand, values))

    def write(self, event: Event, operand: ObservedOperand, values: Array) -> None:
        note = self._note_of(event)
        if note is not None:
            note.writes.append(note.transfer(operand, values))

    def masked(self, event: Event, mask: Mask, execution: Execution) -> None:
        note = self._note_of(event)
        if note is None or (mask is True and not execution.no_mask):
            return
        lanes = np.ones((1, 1), bool) if mask is True else note.of_rows(mask)
        note.mask = np.broadcast_to(lanes, (len(lanes), execution.size))
        note.first = execution.offset

    def access(self, event: Event, access: MessageAccess) -> None:
        note, space = self._note_of(event), access.space
        if note is None:
            return
        surfaces = note.of_rows(space.number) if isinstance(space, SurfaceSpace) else None
        address, mask = note.of_rows(access.spread(access.address)), note.of_rows(access.mask)
        (note.writes if access.writes else note.reads).append(MessageNote(space, surfaces, address, mask, access.size))


class ShownStep(NamedTuple):
    """An instruction, as each line about it shows it."""

    function: str
    number: int
    text: str
    place: Span

    def tree(self, lanes: list[int]) -> dict[str, object]:
        """The fields of a line that is JSON."""
        return {
            "function": self.function, "instruction": self.number, "text": self.text,
            "file": self.place.file, "line": self.place.line, "lanes": lanes,
        }  # fmt: skip


class _Line:
    """What a note says of one of its threads."""

    def __init__(self, dispatch: BoundLaunch, note: Note, n: int, execution: Execution | None) -> None:
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

    def _values(self, item: Transfer, lanes: Bools) -> Array:
        """The elements of a transfer that belong to lanes, or all of them."""
        values, part = self._own(item.values), lanes[self.part]
        is_by_lane = item.by_lane and values.size == part.size and values.dtype != bool
        return values[part] if is_by_lane else values

    def shown(self, item: Item, lanes: Bools) -> str:
        """What the thread read or wrote: of elements by lane those of the lanes."""
        if isinstance(item, Transfer):
            return f"{item.name}={shown_values(self._values(item, lanes))}"
        places = self._accessed(item, self._lanes_of(item, lanes))
        names = {place.name for place in places}
        name = names.pop() if len(names) == 1 else "memory"
        at = np.array([place.address if name == "memory" else place.offset for place in places], np.int64)
        return f"{name}+{shown_values(at)}" if name != "memory" else f"memory{shown_values(at.astype(np.uint64))}"

    def tree(self, lanes: Bools) -> dict[str, object]:
        """What the thread read and wrote, as JSON."""
        reads, writes = ([self._tree(item, lanes) for item in items] for items in self.items)
        return {"reads": reads, "writes": writes}

    def _tree(self, item: Item, lanes: Bools) -> dict[str, object]:
        if isinstance(item, Transfer):
            return {"name": item.name, "type": item.values.dtype.name, "values": shown_tree(self._values(item, lanes))}
        places = self._accessed(item, self._lanes_of(item, lanes))
        memory = [place.name for place in places]
        return {"memory": memory, "offsets": [place.offset for place in places], "size": item.size}

    def touching(self, trace: Trace, lanes: Bools) -> Bools | None:
        """The lanes that access memory of the trace's selection, all lanes for a message of the whole thread; None if
        no part of the instruction accesses it.
        """
        found, by_lane = np.zeros(LANES, bool), True
        is_any = False
        for item in itertools.chain(*self.items):
            if not isinstance(item, MessageNote):
                continue
            own = self._lanes_of(item, lanes)
            touched = trace.memory_lanes(self._accessed(item, own), item.size)
            is_any |= bool(touched.any())
            numbers = np.flatnonzero(own)[touched]
            if own.size == lanes[self.part].size:
                found[numbers + self.part.start] = True
            else:
                by_lane = False
        return None if not is_any else found if by_lane else lanes

    def _lanes_of(self, item: MessageNote, lanes: Bools) -> Bools:
        """A mask of the addresses of an access that belong to lanes; all used addresses of a thread's message."""
        _, mask = np.broadcast_arrays(self._own(item.address), self._own(item.mask))
        part = lanes[self.part]
        return mask & part if mask.size == part.size else mask

    def _accessed(self, item: MessageNote, lanes: Bools) -> list[Accessed]:
        """Where in memory lanes were."""
        address, _ = np.broadcast_arrays(self._own(item.address), lanes)
        at: list[int] = address[lanes].tolist()
        if isinstance(item.space, FlatSpace):
            return [self._flat(item.space, a) for a in at]
        if isinstance(item.space, SurfaceSpace) and item.surfaces is not None:
            number = int(self._own(item.surfaces)[0])
            surface = item.space.table.get(number)
            name = self.dispatch.name_of(surface) if isinstance(surface, Buffer) else f"surface {number}"
        else:
            name = getattr(item.space, "name", "memory")
        return [Accessed(name, a, -1) for a in at]

    def _flat(self, space: FlatSpace, address: int) -> Accessed:
        """A place of the address space: in the buffer that has it."""
        found = space.memory.slots.get(address >> 32)
        if found is None:
            return Accessed("memory", address, address)
        return Accessed(self.dispatch.name_of(found), address - found.address, address)


def _as(values: Array, data_type: DataType | None) -> Array:
    """Elements as those of another type of their size."""
    if data_type is None or values.dtype == bool or values.dtype.itemsize != data_type.size:
        return values
    return np.ascontiguousarray(values).view(DTYPES[data_type])
