"""The race check on the reference engine: every access is noted, and the whole launch is analysed when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from visakit.language.operands import Execution
from visakit.language.program import Function, Instruction
from vsim.analysis.exchanges import is_for_lanes, ordering_steps
from vsim.analysis.unread import ReadElements, read_elements
from vsim.checks import races
from vsim.checks.accesses import (
    ARRIVAL,
    ATOMIC,
    ATOMIC_READ,
    DEPARTURE,
    GLOBAL,
    LOCAL,
    NO_LANE,
    READ,
    WHOLE,
    WRITE,
    AccessLog,
    fence_of,
)
from vsim.checks.queued import of_records
from vsim.checks.selection import RACE
from vsim.engines.numpy.memory import BufferPart, FlatSpace, ImageSpace, MessageAccess, Space, SurfaceSpace
from vsim.launch.arrays import Array, Bools
from vsim.launch.dispatch import PRIVATE_MEMORY, Dispatch
from vsim.semantics.algebra import Step
from vsim.semantics.messages import meaning

if TYPE_CHECKING:
    from vsim.engines.numpy.engine import GroupBatch


class RaceLog:
    """The accesses of a launch."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch, self.log = dispatch, AccessLog()
        self.functions = dispatch.image.module.all_functions
        self.numbers: dict[int, int] = {}
        """Of each function, by its identity."""
        self.one_by_one = not dispatch.is_round_robin
        """Groups begin one after the other, as on the fast engine: what they find in atomics depends on the order."""

    def number_of(self, function: Function) -> int:
        """The number of a function in the image."""
        found = self.numbers.get(id(function))
        if found is None:
            found = self.numbers[id(function)] = next(n for n, f in enumerate(self.functions) if f is function)
        return found

    def report(self) -> None:
        """Find what raced, and add it to the launch's findings."""
        findings = self.dispatch.findings
        assert findings is not None
        records = self.log.records()
        races.report(records, findings, self._name)
        if findings.keeps_accesses:
            findings.accesses = of_records(records)

    def _name(self, space: int, address: int) -> str:
        """The memory at an address of the host, or an offset in local memory."""
        return races.memory_name(self.dispatch, space, address)


def race_log(dispatch: Dispatch) -> RaceLog | None:
    """The log of a launch; None where the check does not watch it."""
    return RaceLog(dispatch) if RACE in dispatch.checks else None


class BatchRaces:
    """Notes what the threads of one batch access; see :class:`vsim.engines.numpy.messages.MessageWatch`."""

    def __init__(self, whole: RaceLog, batch: GroupBatch) -> None:
        self.whole, self.batch = whole, batch
        self.execution = batch.execution
        self.steps = np.zeros(self.execution.group_barrier.arrivals.size, np.uint32)
        """How often each thread has ordered its work-items."""
        self.ordering: dict[int, frozenset[int]] = {}
        """By function the instructions that do."""
        self.read: dict[int, dict[int, ReadElements]] = {}
        """By function the loads of which some elements are not read."""
        self.raw_message: int | None = None
        """The number of the raw message that executes; None for other instructions."""

    # -- accesses ------------------------------------------------------------------------------------------

    def loaded(self, function: Function, instruction: Instruction, access: MessageAccess) -> None:
        """A load."""
        self._note(function, instruction, access, READ)

    def stored(self, function: Function, instruction: Instruction, access: MessageAccess, values: list[Array]) -> None:
        """A store, which has happened."""
        self._note(function, instruction, access, WRITE, values)

    def changed(
        self, function: Function, instruction: Instruction, access: MessageAccess, only_read: Array | None
    ) -> None:
        """An atomic."""
        self._note(function, instruction, access, ATOMIC, only_read=only_read)

    def _note(
        self,
        function: Function,
        instruction: Instruction,
        access: MessageAccess,
        kind: int,
        values: list[Array] | None = None,
        only_read: Array | None = None,
    ) -> None:
        space, threads = access.space, self.execution.running.threads
        if not (access.address.size and self._is_of_program(space)):
            return
        sequence = self.whole.log.begin()
        positions = np.flatnonzero(access.mask.reshape(-1))
        for part in access.parts():
            if not self._is_shared(part):
                continue
            own = positions if part.lanes is None else positions[part.lanes]
            rows, lanes = np.divmod(own, access.shape[1])
            addresses = self._addresses(space, part, rows)
            lost, kinds = np.zeros(own.size, bool), np.full(own.size, kind)
            if only_read is not None:
                looks = access.per_lane(only_read)
                kinds[looks if part.lanes is None else looks[part.lanes]] = ATOMIC_READ
            if values is not None:
                mine = [access.per_lane(v) for v in values]
                lost = _lost(rows, part.offsets, mine if part.lanes is None else [m[part.lanes] for m in mine])
            if access.shape[0] == 1:  # the same access by all threads
                everybody = np.flatnonzero(self.execution.running.activation.active_rows)
                rows, lanes = np.repeat(everybody, own.size), np.tile(lanes, everybody.size)
                addresses, lost, kinds = (np.tile(column, everybody.size) for column in (addresses, lost, kinds))
            place, who = self._place(function, instruction), self._who(rows)
            for start, size in self._read_of(function, place["instruction"], access.size, kind):
                self.whole.log.add(
                    rows.size,
                    **place,
                    **who,
                    address=addresses + np.uint64(start),
                    sequence=sequence,
                    size=size,
                    lane=_lane_numbers(instruction, access.shape[1], lanes),
                    items=self._items(instruction, access.shape[1], rows, lanes),
                    kind=kinds,
                    space=LOCAL if space is threads.slm else GLOBAL,
                    lost=lost,
                )

    def _is_of_program(self, space: Space) -> bool:
        """Whether it is memory of the program, and not what another check has beside it, or a thread's own."""
        dispatch = self.whole.dispatch
        if isinstance(space, FlatSpace):
            return space.memory is dispatch.memory
        if isinstance(space, SurfaceSpace):
            return dispatch.has_table(space.table)
        return isinstance(space, ImageSpace) or space is self.execution.running.threads.slm

    def _is_shared(self, part: BufferPart) -> bool:
        """Whether other threads can reach the memory: private memory belongs to one at a time."""
        private = self.whole.dispatch.memory.blocks.get(PRIVATE_MEMORY)
        return private is None or private.host != part.data.__array_interface__["data"][0]

    def _addresses(self, space: Space, part: BufferPart, rows: Array) -> Array:
        local = self.execution.running.threads.slm
        if space is local:
            start = -local.base[rows, 0]
        else:
            start = np.array(part.data.__array_interface__["data"][0])
        found: Array = (part.offsets + start).astype(np.uint64)
        return found

    def _place(self, function: Function, instruction: Instruction) -> dict[str, int]:
        number = number_in(function, instruction) if self.raw_message is None else self.raw_message
        return {"function": self.whole.number_of(function), "instruction": number}

    def _who(self, rows: Array) -> dict[str, Array]:
        """Group, thread, arrivals and departures of rows of the running threads."""
        running, barrier = self.execution.running.threads, self.execution.group_barrier
        groups, threads = running.numbers()
        whole = rows if running.rows is None else running.rows[rows]
        counts: dict[str, Array] = {
            "signals": barrier.arrivals[whole],
            "waits": barrier.departures[whole],
            "steps": self.steps[whole],
        }
        return {"group": groups[rows], "thread": threads[rows], **counts}

    def _read_of(self, function: Function, number: int, size: int, kind: int) -> list[tuple[int, int]]:
        """The parts of what each lane loads that the program reads, first byte and bytes; of other accesses all."""
        if kind != READ:
            return [(0, size)]
        known = self.read.get(id(function))
        if known is None:
            known = self.read[id(function)] = read_elements(function, self.whole.dispatch.grf_size)
        found = known.get(number)
        if found is None:
            return [(0, size)]
        element = size // found.size
        return [(start * element, count * element) for start, count in found.runs]

    def _items(self, instruction: Instruction, width: int, rows: Array, lanes: Array) -> Array:
        """The lanes whose accesses these are, as bits."""
        execution: Execution | None = instruction.args.get("exec")
        running = np.packbits(self.execution.running.activation.active, 1, "little").view("<u4").astype(np.uint64)[:, 0]
        found: Array = running[rows]
        if execution is None or not is_for_lanes(execution) or width not in (1, execution.size):
            found = found | np.uint64(WHOLE)
        elif width == 1:
            found = found & np.uint64(((1 << execution.size) - 1) << execution.offset)
        else:
            found = np.uint64(1) << (lanes + execution.offset).astype(np.uint64)
        return found

    # -- events --------------------------------------------------------------------------------------------

    def step(self, function: Function, number: int, instruction: Instruction, step: Step) -> Step:
        """The step of an instruction, which notes fences, and of raw messages their number."""
        if self.whole.dispatch.races_of_items and number in self._ordering(function):
            step = self._ordered(step)
        means = meaning(instruction, self.whole.dispatch.grf_size)
        kind = fence_of(means)
        if kind is None:
            return step if means is instruction else self._of_raw_message(number, step)

        def fence() -> object:
            rows = np.flatnonzero(self.execution.running.activation.active_rows)
            self._event(rows, kind, function=self.whole.number_of(function), instruction=number)
            return step()

        return fence

    def _ordering(self, function: Function) -> frozenset[int]:
        """The instructions of a function that order the work-items of a thread."""
        found = self.ordering.get(id(function))
        if found is None:
            found = self.ordering[id(function)] = ordering_steps(function, self.whole.dispatch.grf_size)
        return found

    def _ordered(self, step: Step) -> Step:
        """A step in front of which the work-items of each thread are ordered."""

        def act() -> object:
            running = self.execution.running
            rows = np.flatnonzero(np.count_nonzero(running.activation.active, axis=1) > 1)
            self.steps[rows if running.threads.rows is None else running.threads.rows[rows]] += 1
            return step()

        return act

    def _of_raw_message(self, number: int, step: Step) -> Step:
        """The step of a raw message: the instruction that accesses memory for it is none of the function's."""

        def act() -> object:
            self.raw_message = number
            try:
                return step()
            finally:
                self.raw_message = None

        return act

    def arrived(self, row: int, number: int, openings: int) -> None:
        """A thread arrives at a named barrier that has opened so often."""
        self._event(np.array([row]), ARRIVAL, number=number, opening=openings)

    def departed(self, rows: Bools, numbers: Array, waits: Array) -> None:
        """Threads go on at the named barriers with these numbers, for which they have waited so often before."""
        self._event(np.flatnonzero(rows), DEPARTURE, number=numbers, opening=waits)

    def _event(self, rows: Array, kind: int, **columns: Array | int) -> None:
        sequence = self.whole.log.begin()
        self.whole.log.add(rows.size, **self._who(rows), sequence=sequence, lane=NO_LANE, kind=kind, **columns)


def _lost(rows: Array, offsets: Array, values: list[Array]) -> Bools:
    """The lanes that stored something else than what their thread left at their places.

    Elements are stored one after the other, each by all lanes: of a thread's at one place the last one stays. Where
    elements may overlap in part, that is asked of each byte.
    """
    count, size = len(values), values[0].itemsize
    lanes = np.tile(np.arange(rows.size), count)
    places = np.concatenate([offsets + k * size for k in range(count)])
    stored = np.ascontiguousarray(np.concatenate(values)).view(f"u{size}")
    if np.any((places - places[:1]) % size):
        lanes, stored = np.repeat(lanes, size), stored.view("u1")
        places = np.repeat(places, size) + np.tile(np.arange(size), places.size)
    order = np.lexsort((np.arange(lanes.size), places, rows[lanes]))
    last = np.ones(order.size, bool)
    last[:-1] = (np.diff(places[order]) != 0) | (np.diff(rows[lanes[order]]) != 0)
    ends = np.flatnonzero(last)
    stays = order[ends[np.searchsorted(ends, np.arange(order.size))]]
    found = np.zeros(rows.size, bool)
    np.logical_or.at(found, lanes[order], stored[order] != stored[stays])
    return found


def _lane_numbers(instruction: Instruction, width: int, lanes: Array) -> Array | int:
    """Lanes of the thread for those of a message; blocks have elements in the place of lanes.

    Where all lanes do the same, the first one stands for them.
    """
    execution = instruction.args.get("exec")
    if execution is None or execution.size == 1 or width not in (1, execution.size):
        return NO_LANE
    found: Array = lanes + execution.offset
    return found


def number_in(function: Function, instruction: Instruction) -> int:
    """The number of an instruction; of one that stands for another, that of the other."""
    for number, known in enumerate(function.instructions):
        if known is instruction:
            return number
    return next(
        n
        for n, known in enumerate(function.instructions)
        if known.desc is instruction.desc and {**known.args, "exec": None} == {**instruction.args, "exec": None}
    )
