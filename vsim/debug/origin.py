"""The origin of a value: which instruction of which thread wrote it, from what, and so on to the kernel's arguments.

The launch is searched backwards, from checkpoint to checkpoint: between two of them it runs forward once more, and all
operands are recorded (:mod:`vsim.debug.footprints`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import Span
from visakit.language.program import FIRST_PREDICATE, FIRST_VARIABLE, Function
from vsim.debug.checkpoints import LanePosition
from vsim.debug.execution import SteppedLaunch
from vsim.debug.footprints import ADDRESS, EDIT, FILE, MEMORY, PREDICATE, Executed, Holder, Use
from vsim.debug.places import Places, Spot
from vsim.debug.values import lane_list, shown_element
from vsim.engines.numpy.registers import RegisterFile
from vsim.launch import threads
from vsim.launch.arrays import Array, address_of
from vsim.semantics.registers import Layout

MOST_NODES, MOST_GROUPS = 24, 256
"""Writers that are found, and groups whose writes are searched."""
_EVER = 1 << 60


@dataclass
class ValueOrigin:
    """Bytes, and what wrote them.

    Attributes:
        name: of the variable or memory, with its elements.
        value: before the instruction that reads it; empty if it is not known.
        spot: the instruction that wrote it; None if nothing of the group did.
        position: when.
        thread: group and thread.
        lanes: that wrote it.
        reads: the places that the instruction read.
        ends: why nothing wrote it: where the value comes from.
    """

    name: str
    value: str = ""
    spot: Spot | None = None
    span: Span | None = None
    position: LanePosition | None = None
    thread: tuple[int, int] = (0, 0)
    lanes: tuple[int, ...] = ()
    reads: list[ValueOrigin] = field(default_factory=list)
    ends: str = ""


class _Wanted(NamedTuple):
    """Bytes whose writer is looked for, before a time."""

    origin: ValueOrigin
    holder: Holder
    bytes: Array
    row: int
    before: int
    beside: list[ValueOrigin]
    """What is read together with it."""


def same(a: Holder, b: Holder) -> bool:
    """Whether two holders are one: a function that is called again, as the launch runs once more, has new registers."""
    if a.kind != b.kind or a.number != b.number:
        return False
    if a.owner is b.owner:
        return True
    return a.owner is not None and b.owner is not None and _identity(a.owner) == _identity(b.owner)


def _identity(registers: RegisterFile) -> tuple[int, int]:
    return registers.birth, id(registers.layout.function)


class OriginSearch:
    """Finds the origin of one value.

    Args:
        most: how many writers are found.
    """

    def __init__(self, execution: SteppedLaunch, places: Places, most: int = MOST_NODES) -> None:
        self.execution, self.places, self.most = execution, places, most
        self.namer = _Namer(execution)
        self.found = 0
        self.part, self.numbers = execution.part, self._numbers()
        self.known: dict[tuple[int, Holder, bytes], ValueOrigin] = {}
        """Origins by time and bytes: what several instructions read is followed once."""

    def run(self, name: str, value: str, holder: Holder, wanted: Array, row: int) -> list[ValueOrigin]:
        """The origins of bytes that a thread has now, one for each instruction that wrote some of them. The launch is
        where it was afterwards.
        """
        execution = self.execution
        here, roots = execution.position, [ValueOrigin(name, value)]
        open_ = [_Wanted(roots[0], holder, wanted, row, here.time, roots)]
        end = here
        try:
            if here.time == 0 and execution.edits.get(here):
                open_ = self._resolve(open_, self._edits(here))
            while open_ and (end.time > 0 or end.part > 0):
                if end.time == 0:  # Only memory has contents from before.
                    end, open_ = LanePosition(end.part - 1, _EVER), self._before_the_group(open_, here.part - end.part)
                    continue
                end, steps = self._record(end)
                open_ = self._resolve(open_, steps)
        finally:
            execution.recorder.steps = None
            execution.go_to(here, anew=True)
        for left in open_:
            left.origin.ends = self._end(left)
        return roots

    def _numbers(self) -> tuple[Array, Array] | None:
        batch = self.execution.batch
        return None if batch is None else batch.numbers()

    def _before_the_group(self, open_: list[_Wanted], groups: int) -> list[_Wanted]:
        """What earlier groups may have written: bytes of buffers; the others come from nowhere else."""
        left = []
        for wanted in open_:
            if wanted.holder.kind == MEMORY and self.namer.is_buffer(wanted.bytes) and groups < MOST_GROUPS:
                left.append(wanted._replace(before=_EVER))
            else:
                wanted.origin.ends = self._end(wanted)
        return left

    def _record(self, end: LanePosition) -> tuple[LanePosition, list[Executed]]:
        """The instructions from the last checkpoint before a position up to it."""
        execution = self.execution
        execution.restore(execution.checkpoints.before(LanePosition(end.part, end.time - 1)))
        if execution.part < end.part or execution.batch is None:
            execution.go_to(LanePosition(end.part, 0))
        begin = execution.position
        self.part, self.numbers = begin.part, self._numbers()
        steps = execution.recorder.steps = []
        execution.go_to(end if end.time < _EVER else LanePosition(end.part + 1, 0))
        execution.recorder.steps = None
        return begin, steps

    def _edits(self, start: LanePosition) -> list[Executed]:
        """The changes that the user has made in front of the first instruction of groups."""
        execution = self.execution
        steps = execution.recorder.steps = []
        execution.go_to(start, anew=True)
        execution.recorder.steps = None
        return steps

    def _resolve(self, open_: list[_Wanted], steps: list[Executed]) -> list[_Wanted]:
        """Find writers among instructions, the last one first; gives the places without a writer."""
        for step in reversed(steps):
            writes = [u for u in step.uses if u.writes]
            if not writes:
                continue
            left: list[_Wanted] = []
            for wanted in open_:
                left += self._matched(wanted, step, writes)
            open_ = left
        return open_

    def _matched(self, wanted: _Wanted, step: Executed, writes: list[Use]) -> Iterator[_Wanted]:
        """What is wanted next, if an instruction has written it; else the same."""
        if step.time >= wanted.before + (step.number == EDIT):
            yield wanted
            return
        for use in writes:
            rows = range(len(step.active)) if use.holder.kind == MEMORY else [wanted.row]
            if not same(use.holder, wanted.holder):
                continue
            for row in rows:
                elements = use.elements(row, wanted.bytes)
                if elements.size:
                    yield from self._written(wanted, step, use, row, elements)
                    return
        yield wanted

    def _written(self, wanted: _Wanted, step: Executed, use: Use, row: int, elements: Array) -> Iterator[_Wanted]:
        """An instruction has written it: from what?"""
        origin, count = wanted.origin, use.of_row(row).shape[0]
        if step.number == EDIT:
            origin.ends = f"set by the user at {step.time}"
            yield from self._rest(wanted, step, use.of_row(row)[elements])
            return
        known = self.known.setdefault((step.time, use.holder, elements.tobytes()), origin)
        if known is not origin:
            origin.spot, origin.span, origin.position, origin.thread, origin.lanes, origin.reads = (
                known.spot, known.span, known.position, known.thread, known.lanes, known.reads
            )  # fmt: skip
            return
        self.found += 1
        assert self.numbers is not None
        groups, numbers = self.numbers
        origin.spot = Spot(step.function, step.number)
        origin.span = self.places.span(origin.spot)
        origin.position = LanePosition(self.part, step.time)
        origin.thread = int(groups[row]), int(numbers[row])
        origin.lanes = tuple(elements.tolist())
        yield from self._rest(wanted, step, use.of_row(row)[elements])
        seen: list[tuple[Holder, bytes]] = []
        for read in step.uses:
            if read.writes:
                continue
            own = self._elements(read, count, elements, row)
            columns = read.of_row(row)[own].reshape(-1)
            key = read.holder, columns.tobytes()
            if not columns.size or any(same(read.holder, h) and key[1] == k for h, k in seen):
                continue
            seen.append(key)
            child = ValueOrigin(self.namer.name(read.holder, columns, step.function), _shown(read, row, own))
            origin.reads.append(child)
            if self.found < self.most:
                yield _Wanted(child, read.holder, columns, row, step.time, origin.reads)
            else:
                child.ends = "..."

    def _rest(self, wanted: _Wanted, step: Executed, written: Array) -> Iterator[_Wanted]:
        """The bytes that were written before, if an instruction has not written all."""
        rest = np.setdiff1d(wanted.bytes, written.reshape(-1))
        if rest.size:
            other = ValueOrigin(self.namer.name(wanted.holder, rest, step.function))
            wanted.beside.append(other)
            yield wanted._replace(origin=other, bytes=rest, before=step.time)

    @staticmethod
    def _elements(read: Use, count: int, elements: Array, row: int) -> Array:
        """The elements of a source that belong to written ones: those of the same lanes, or all."""
        have = read.of_row(row).shape[0]
        own = elements if have == count else np.arange(have)
        if read.lanes is not None:
            lanes = np.broadcast_to(read.lanes[row if len(read.lanes) > 1 else 0], (have,))
            own = own[lanes[own]]
        return own

    def _end(self, wanted: _Wanted) -> str:
        """Where a value comes from that nothing of the group has written."""
        holder = wanted.holder
        if holder.kind == MEMORY:
            return self.namer.memory_end(wanted.bytes)
        if holder.owner is None:
            return "set when the thread begins"
        if holder.kind in (PREDICATE, ADDRESS):
            return "never written: undefined"
        return self.namer.input_of(holder, wanted.bytes) or "never written: undefined"


class _Namer:
    """Names of bytes, for people."""

    def __init__(self, execution: SteppedLaunch) -> None:
        self.execution, self.dispatch = execution, execution.dispatch

    def name(self, holder: Holder, columns: Array, function: Function) -> str:
        """Bytes of a holder, as elements of it."""
        if holder.kind == PREDICATE:
            return function.predicates[holder.number - FIRST_PREDICATE].name + _numbers(columns)
        if holder.kind == ADDRESS:
            return function.addresses[holder.number].name + _numbers(columns)
        if holder.kind == MEMORY:
            return self._memory_name(columns)
        root, at = self._root(holder, int(columns.min()))
        size = function.variable_type(root).size
        return function.variable_name(root) + _numbers(np.unique((columns - at) // size))

    @staticmethod
    def _root(holder: Holder, first: int) -> tuple[int, int]:
        """The root variable of a byte, and where it begins in the holder."""
        if holder.kind != FILE or holder.owner is None:
            return holder.kind, 0
        layout: Layout = holder.owner.layout
        at, root = max((at, root) for root, at in layout.file_offsets.items() if at <= first)
        return root, at

    def is_buffer(self, columns: Array) -> bool:
        """Whether bytes are of a buffer, which all groups share."""
        return self.dispatch.memory.at_host(int(columns.min())) is not None

    def _memory_name(self, columns: Array) -> str:
        first, last = int(columns.min()), int(columns.max())
        buffer = self.dispatch.memory.at_host(first)
        if buffer is None:
            return "+".join(map(str, self._own_memory(first)))
        offset = first - buffer.host
        return f"{self.dispatch.name_of(buffer)}+{offset}" + (f" to {last - buffer.host}" if last - first > 8 else "")

    def _own_memory(self, address: int) -> tuple[str, int]:
        """A byte of memory of a group or a thread, as its name and the offset there."""
        batch = self.execution.batch
        spaces = (("slm", batch.threads.slm), ("scratch", batch.threads.scratch)) if batch is not None else ()
        for name, space in spaces:
            offset = address - address_of(space.data)
            if 0 <= offset < space.data.size:
                return name, offset - int(space.base[space.base <= offset].max())
        return "memory", address

    def memory_end(self, columns: Array) -> str:
        """Where memory has its contents from that no thread of the group has written."""
        buffer = self.dispatch.memory.at_host(int(columns.min()))
        if buffer is None:
            return "memory that the group has not written: undefined"
        return f"'{self.dispatch.name_of(buffer)}', as the launch gave it"

    def input_of(self, holder: Holder, columns: Array) -> str:
        """What of the payload a variable was filled with; empty if it is no input."""
        assert holder.owner is not None
        layout: Layout = holder.owner.layout
        if not layout.function.is_kernel:
            return ""
        first = int(columns.min())
        for variable, offset, size in threads.input_places(self.dispatch):
            root, start = layout.root(variable)
            own, at = self._root(holder, first)
            if own == root and start <= first - at < start + size:
                return self._payload(
                    offset + first - at - start, layout.function.variables[variable - FIRST_VARIABLE].name
                )
        return ""

    def _payload(self, offset: int, variable: str) -> str:
        signature = self.dispatch.signature
        if self.dispatch.by_inputs:
            return f"argument '{variable}'"
        for at, own in signature.layout.arguments:
            if at <= offset < at + own.size:
                return f"argument '{signature.buffer_name(own.argument)}'"
        for at, own in signature.layout.range_values:
            if at <= offset < at + 12:
                return f"{own.kind} of the launch"
        if signature.layout.local_ids_at <= offset < signature.layout.local_ids_at + 192:
            return "local ids of the thread"
        return "the payload of the thread"


def _numbers(numbers: Array) -> str:
    words = lane_list(sorted({int(n) for n in numbers}))
    return words if words.startswith("[") else f"[{words}]"


def _shown(use: Use, row: int, elements: Array) -> str:
    """The value of elements that were read; empty if it is not known."""
    if use.values is None:
        return ""
    own = use.values[row if len(use.values) > 1 else 0]
    if own.size == 1:
        return shown_element(own[0])
    chosen = own[elements] if own.ndim == 1 and elements.size and elements.max() < own.size else own[:0]
    words = [shown_element(v) for v in chosen[:4]]
    if not words:
        return ""
    return words[0] if len(words) == 1 else "{" + " ".join(words) + (" ..." if chosen.size > 4 else "") + "}"


def lines(
    origin: ValueOrigin, places: Places, prefix: str = "", seen: set[tuple[str, LanePosition]] | None = None
) -> Iterator[str]:
    """An origin as an indented list, each step below the value that it wrote; second reads of places are left out."""
    seen = set() if seen is None else seen
    value = f" = {origin.value}" if origin.value else ""
    if origin.spot is None:
        yield f"{prefix}{origin.name}{value}: {origin.ends}"
        return
    assert origin.position is not None
    if (origin.name, origin.position) in seen:
        yield f"{prefix}{origin.name}{value}: as above, at {origin.position.time}"
        return
    where = f"{origin.span.file}:{origin.span.line}, " if origin.span is not None and origin.span.line else ""
    lanes = lane_list(origin.lanes)
    yield (
        f"{prefix}{origin.name}{value}: {places.text(origin.spot)} ({where}{origin.spot.function.name}"
        f"+{origin.spot.number}), {origin.thread[0]}.{origin.thread[1]}:{lanes} at {origin.position.time}"
    )
    seen.add((origin.name, origin.position))
    for read in origin.reads:
        yield from lines(read, places, prefix + "  ", seen)
