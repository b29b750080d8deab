"""The race check on the reference engine: every access is noted, and the whole launch is analysed when it is over."""

from __future__ import annotations

from functools import partial

import numpy as np

from visakit.diagnostics import SimulationError
from visakit.language.operands import Execution
from visakit.language.program import Function, Instruction
from vsim.analysis.exchanges import is_for_lanes, ordering_steps
from vsim.analysis.unread import ReadElements, read_elements
from vsim.checks import races
from vsim.checks.accesses import (
    ARRIVAL,
    ATOMIC_READ,
    DEPARTURE,
    GLOBAL,
    KINDS,
    LOCAL,
    NO_LANE,
    READ,
    WHOLE,
    AccessLog,
    fence_of,
)
from vsim.checks.queued import of_records
from vsim.engines.numpy.machine import BatchExecution
from vsim.engines.numpy.memory import BufferPart, FlatSpace, ImageSpace, MessageAccess, Space, SurfaceSpace
from vsim.engines.numpy.observers.saving import SavedObserver, contents, together
from vsim.launch.arrays import Array, Bools, address_of
from vsim.launch.bound_launch import PRIVATE_MEMORY
from vsim.launch.dispatch import TIMEOUT, Dispatch
from vsim.observe.observer import Event, Observer
from vsim.semantics.messages import meaning


class RaceObserver(Observer):
    """Notes what threads access, and what orders them."""

    engine: BatchExecution
    """What executes the batch that runs."""
    steps: Array
    """How often each of its threads has ordered its work-items."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch, self.log = dispatch, AccessLog()
        self.functions = dispatch.image.module.all_functions
        self.numbers = {id(function): number for number, function in enumerate(self.functions)}
        self.ordering: dict[int, frozenset[int]] = {}
        """By function the instructions that order the work-items of a thread."""
        self.read_elements: dict[int, dict[int, ReadElements]] = {}
        """By function the loads of which some elements are not read."""

    def launch_end(self, error: Exception | None) -> None:
        """Find what raced, before a fault, too, and add it to the launch's findings."""
        findings = self.dispatch.findings
        if findings is None or (isinstance(error, SimulationError) and error.diagnostics[0].code == TIMEOUT):
            return
        records = self.log.records()
        races.report(records, findings, partial(races.memory_name, self.dispatch))
        if findings.keeps_accesses:
            findings.accesses = of_records(records)

    def prepare(self, engine: BatchExecution) -> None:
        self.engine, self.steps = engine, np.zeros(engine.threads.count, np.uint32)

    def saved(self) -> SavedObserver:
        sequence, count = self.log.sequence, self.log.count
        steps = contents([self.steps] if hasattr(self, "steps") else [])
        return together(steps, SavedObserver(0, lambda: self.log.forget(sequence, count)))

    # -- accesses ------------------------------------------------------------------------------------------

    def accessed(self, event: Event, access: MessageAccess) -> None:
        space, threads, instruction = access.space, self.engine.running.threads, access.instruction
        if instruction is None or not (access.address.size and self._is_of_program(space)):
            return
        kind = KINDS.index(access.kind)
        sequence = self.log.begin()
        positions = np.flatnonzero(access.mask.reshape(-1))
        for part in access.parts():
            if not self._is_shared(part):
                continue
            own = positions if part.lanes is None else positions[part.lanes]
            rows, lanes = np.divmod(own, access.shape[1])
            addresses = self._addresses(space, part, rows)
            lost, kinds = _outcome(access, part, rows, kind)
            if access.shape[0] == 1:  # the same access by all threads
                everybody = np.flatnonzero(self.engine.running.activation.active_rows)
                rows, lanes = np.repeat(everybody, own.size), np.tile(lanes, everybody.size)
                addresses, lost, kinds = (np.tile(column, everybody.size) for column in (addresses, lost, kinds))
            place, who = self._place(event), self._who(rows)
            for start, size in self._read_of(event, access.size, kind):
                self.log.add(
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
        dispatch = self.dispatch
        if isinstance(space, FlatSpace):
            return space.memory is dispatch.memory
        if isinstance(space, SurfaceSpace):
            return dispatch.has_table(space.table)
        return isinstance(space, ImageSpace) or space is self.engine.running.threads.slm

    def _is_shared(self, part: BufferPart) -> bool:
        """Whether other threads can reach the memory: private memory belongs to one at a time."""
        private = self.dispatch.memory.blocks.get(PRIVATE_MEMORY)
        return private is None or private.host != address_of(part.data)

    def _addresses(self, space: Space, part: BufferPart, rows: Array) -> Array:
        local = self.engine.running.threads.slm
        if space is local:
            start = -local.base[rows, 0]
        else:
            start = np.array(address_of(part.data))
        found: Array = (part.offsets + start).astype(np.uint64)
        return found

    def _place(self, event: Event) -> dict[str, int]:
        return {"function": self.numbers[id(event.function)], "instruction": event.number}

    def _who(self, rows: Array) -> dict[str, Array]:
        """Group, thread, arrivals and departures of rows of the running threads."""
        running, barrier = self.engine.running.threads, self.engine.group_barrier
        groups, threads = running.numbers()
        whole = rows if running.rows is None else running.rows[rows]
        counts: dict[str, Array] = {
            "signals": barrier.arrivals[whole],
            "waits": barrier.departures[whole],
            "steps": self.steps[whole],
        }
        return {"group": groups[rows], "thread": threads[rows], **counts}

    def _read_of(self, event: Event, size: int, kind: int) -> list[tuple[int, int]]:
        """The parts of what each lane loads that the program reads, first byte and bytes; of other accesses all."""
        if kind != READ:
            return [(0, size)]
        known = self.read_elements.get(id(event.function))
        if known is None:
            known = self.read_elements[id(event.function)] = read_elements(event.function, self.dispatch.grf_size)
        found = known.get(event.number)
        if found is None:
            return [(0, size)]
        element = size // found.size
        return [(start * element, count * element) for start, count in found.runs]

    def _items(self, instruction: Instruction, width: int, rows: Array, lanes: Array) -> Array:
        """The lanes whose accesses these are, as bits."""
        execution: Execution | None = instruction.args.get("exec")
        running = np.packbits(self.engine.running.activation.active, 1, "little").view("<u4").astype(np.uint64)[:, 0]
        found: Array = running[rows]
        if execution is None or not is_for_lanes(execution) or width not in (1, execution.size):
            found = found | np.uint64(WHOLE)
        elif width == 1:
            found = found & np.uint64(((1 << execution.size) - 1) << execution.offset)
        else:
            found = np.uint64(1) << (lanes + execution.offset).astype(np.uint64)
        return found

    # -- events --------------------------------------------------------------------------------------------

    def chooses(self, function: Function, number: int) -> bool:
        return self._orders(function, number) or self._fence(function, number) is not None

    def _fence(self, function: Function, number: int) -> int | None:
        return fence_of(meaning(function.instructions[number], self.dispatch.grf_size))

    def _orders(self, function: Function, number: int) -> bool:
        """Whether an instruction orders the work-items of a thread, and that matters."""
        found = self.ordering.get(id(function))
        if found is None:
            found = ordering_steps(function, self.dispatch.grf_size) if self.dispatch.races_of_items else frozenset()
            self.ordering[id(function)] = found
        return number in found

    def before(self, event: Event) -> None:
        running, kind = self.engine.running, self._fence(event.function, event.number)
        if kind is not None:
            self._event(event.rows, kind, **self._place(event))
        if self._orders(event.function, event.number):
            rows = np.flatnonzero(np.count_nonzero(running.activation.active, axis=1) > 1)
            self.steps[rows if running.threads.rows is None else running.threads.rows[rows]] += 1

    def arrived(self, rows: Array, numbers: Array) -> None:
        barriers = self.engine.named_barriers
        self._event(rows, ARRIVAL, number=numbers, opening=barriers.openings[barriers.groups[rows], numbers])

    def departed(self, rows: Array, numbers: Array) -> None:
        self._event(rows, DEPARTURE, number=numbers, opening=self.engine.named_barriers.waits[rows, numbers])

    def _event(self, rows: Array, kind: int, **columns: Array | int) -> None:
        sequence = self.log.begin()
        self.log.add(rows.size, **self._who(rows), sequence=sequence, lane=NO_LANE, kind=kind, **columns)


def _outcome(access: MessageAccess, part: BufferPart, rows: Array, kind: int) -> tuple[Bools, Array]:
    """The lanes of a part of an access that have lost their stores (:func:`_lost`), and the kind of access of each."""
    lanes = slice(None) if part.lanes is None else part.lanes
    lost, kinds = np.zeros(rows.size, bool), np.full(rows.size, kind)
    if access.only_read is not None:
        kinds[access.per_lane(access.only_read)[lanes]] = ATOMIC_READ
    if access.values is not None:
        lost = _lost(rows, part.offsets, [access.per_lane(v)[lanes] for v in access.values])
    return lost, kinds


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
