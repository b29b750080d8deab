"""Runs launches: batches of work-groups, as many threads at once as pay."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import Diagnostic, SimulationError
from visakit.language.program import Function
from vsim.checks.names import RACE
from vsim.engines.numpy.algebra import lane_bits
from vsim.engines.numpy.machine import BatchExecution, Refused, SavedExecution
from vsim.engines.numpy.memory import PartitionedSpace
from vsim.engines.numpy.observers import observers_of
from vsim.engines.numpy.registers import RegisterFile
from vsim.engines.numpy.threads import HardwareThreads, SavedThreads
from vsim.launch import threads
from vsim.launch.arrays import Array, Bools, Bytes, Dwords
from vsim.launch.dispatch import Dispatch
from vsim.launch.ndrange import Group, Size
from vsim.launch.payload import SCRATCH_HANDLE
from vsim.launch.schedule import PRIVATE_TURN_THREADS, TURN_THREADS
from vsim.memory.memory import SLM_ADDRESS_MASK
from vsim.observe.observer import Observer, listeners
from vsim.observe.positions import ThreadPosition
from vsim.observe.trace import Trace, group_number, shown_group

_MAXIMUM_SIMD = 32


def run(
    dispatch: Dispatch,
    max_seconds: float | None = None,
    look: Callable[[], None] | None = None,
    threads_at_once: int = TURN_THREADS,
    begun: Callable[[int, int], None] | None = None,
    besides: Sequence[Observer] = (),
) -> None:
    """Run a bound launch to its end.

    Args:
        look: is called now and then, and may end the run by raising something.
        threads_at_once: hardware threads of a batch.
        begun: is told how many groups have begun, and how many there are.
        besides: observers besides those of the launch.

    Raises:
        SimulationError: the program did something without a defined result, or took too long.
    """
    observers = [*observers_of(dispatch), *besides]
    for observer in observers:
        observer.launch_begin(dispatch)
    try:
        _run_batches(dispatch, observers, max_seconds, look, threads_at_once, begun)
    except SimulationError as error:
        for observer in observers:
            observer.launch_end(error)
        raise
    for observer in observers:
        observer.launch_end(None)


def _run_batches(
    dispatch: Dispatch,
    observers: Sequence[Observer],
    max_seconds: float | None,
    look: Callable[[], None] | None,
    threads_at_once: int,
    begun: Callable[[int, int], None] | None,
) -> None:
    """Run the groups of a launch, batch by batch; see :func:`run`."""
    started = time.monotonic()
    per_group = dispatch.threads_of(dispatch.group(0))
    groups_at_once = _groups_at_once(dispatch, threads_at_once // per_group)
    private_address = dispatch.private_memory(min(groups_at_once, dispatch.group_count) * per_group)
    batch: GroupBatch | None = None
    payloads = GroupPayloads(dispatch, private_address)

    def check_deadline() -> None:
        if max_seconds is not None and time.monotonic() - started > max_seconds:
            raise dispatch.timeout(max_seconds, batch.positions() if batch is not None else ())
        if look is not None:
            look()

    try:
        for first, count, groups in _batches(dispatch, groups_at_once):
            if begun is not None:
                begun(first, count)
            watching = [o for o in observers if any(o.watches(dispatch, group) for group in groups)]
            if batch is None or not batch.can_run(groups, watching):
                if batch is not None:
                    batch.end()
                batch = GroupBatch(dispatch, groups, payloads, watching)
            batch.run(groups, None if max_seconds is None and look is None else check_deadline)
            check_deadline()
    finally:
        if batch is not None:
            batch.end()


def _batches(dispatch: Dispatch, groups_at_once: int) -> Iterator[tuple[int, int, list[Group]]]:
    """The groups of each batch, in the order of the schedule; before them, the numbers of earlier groups and of all."""
    order = dispatch.schedule.order(dispatch.group_count) if dispatch.schedule else range(dispatch.group_count)
    begin, end = dispatch.part or (0, dispatch.group_count)
    for first in range(begin, end, groups_at_once):
        numbers = order[first : min(first + groups_at_once, end)]
        yield first - begin, end - begin, [dispatch.group(int(i)) for i in numbers]


def _groups_at_once(dispatch: Dispatch, wanted: int) -> int:
    """Work-groups of a batch: the wanted number, but fewer where each thread has private or scratch memory, and one
    where groups run one after the other.
    """
    if _one_by_one(dispatch) and not dispatch.overlaps_groups:
        return 1
    has_own = dispatch.has_private_memory or dispatch.scratch_size
    most = PRIVATE_TURN_THREADS if has_own else TURN_THREADS
    return max(1, min(most // dispatch.threads_of(dispatch.group(0)), wanted))


def _one_by_one(dispatch: Dispatch) -> bool:
    """Whether groups begin one after the other, as on the fast engine: what races find in atomics depends on it."""
    return RACE in dispatch.checks and not dispatch.is_round_robin


def refusal(dispatch: Dispatch, function: Function, number: int) -> SimulationError:
    """The error of an instruction that no engine can execute."""
    batch = GroupBatch(dispatch, [dispatch.group(0)], GroupPayloads(dispatch, 0))
    batch.execution.prepares_late = False
    step = batch.execution.prepare(function).steps[number]
    if isinstance(step, Refused):
        return SimulationError(step.diagnostics)
    instruction = function.instructions[number]
    message = f"the fast engine cannot execute instruction {number} of '{function.name}'"
    span, labels = dispatch.image.place(function, instruction)
    return SimulationError(Diagnostic("S020", message, span, "--engine numpy can", labels=labels))


@dataclass
class GroupPayloads:
    """The payloads of the threads of work-groups, which depend on nothing but a group's size: threads x bytes."""

    dispatch: Dispatch
    private_address: int
    """Where private memory is, of kernels that have some."""
    known: dict[tuple[int, int, int], Bytes] = field(default_factory=dict)

    def of(self, group: Group) -> Bytes:
        """The payloads of a group's threads."""
        found = self.known.get(group.size)
        if found is None:
            found = self.known[group.size] = threads.group_payload(self.dispatch, group, self.private_address)
        return found


class SavedBatch(NamedTuple):
    """A batch between two instructions: see :meth:`GroupBatch.saved`. Buffers are no part of it."""

    groups: list[Group]
    threads: SavedThreads
    execution: SavedExecution

    @property
    def size(self) -> int:
        """Bytes of its registers and memory, about."""
        own = self.threads.slm.nbytes + self.threads.scratch.nbytes
        return own + sum(a.nbytes for _, saved in self.execution.registers for a in saved.arrays.values())


class GroupBatch:
    """The threads of some work-groups of given sizes: prepared once, run for many groups."""

    def __init__(
        self,
        dispatch: Dispatch,
        groups: list[Group],
        payloads: GroupPayloads,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.dispatch, self.groups, self.observers = dispatch, groups, observers
        self.sizes = [g.size for g in groups]
        counts = [dispatch.threads_of(g) for g in groups]
        orders = {c: dispatch.schedule.order(c) if dispatch.schedule else np.arange(c) for c in set(counts)}
        self.members = [(n, int(t)) for n, c in enumerate(counts) for t in orders[c]]
        """By row of the batch: which of the groups the thread is in, and which of its threads it is."""
        self.group_numbers = np.array([n for n, _ in self.members])
        self.thread_numbers = np.array([t for _, t in self.members])
        self.payload = np.concatenate([payloads.of(g)[orders[c]] for g, c in zip(groups, counts, strict=True)])
        self.lanes = np.zeros((len(self.members), _MAXIMUM_SIMD), bool)
        for row, (n, t) in enumerate(self.members):
            self.lanes[row, : threads.lane_count(dispatch, groups[n], t)] = True
        self.threads = HardwareThreads(self, len(self.members), self._local_memory(), self._scratch_memory())
        self.execution = BatchExecution(dispatch, self.threads, self.group_numbers, observers, payloads.private_address)
        self.chosen_lanes: Bools | None = None

    def can_run(self, groups: list[Group], observers: Sequence[Observer]) -> bool:
        """Whether it serves other groups, too: of the same sizes, and with the same observers."""
        return self.sizes == [g.size for g in groups] and self.observers == observers

    def _local_memory(self) -> PartitionedSpace:
        room, size = self.dispatch.slm_room, self.dispatch.slm_size
        taken = max(room, 4)
        data = np.zeros(taken * len(self.groups), np.uint8)
        base = (self.group_numbers * taken).reshape(-1, 1)
        return PartitionedSpace("local memory", data, base, size, SLM_ADDRESS_MASK, room)

    def _scratch_memory(self) -> PartitionedSpace:
        room, size = max(self.dispatch.scratch_size, 4), self.dispatch.scratch_size
        count = len(self.members)
        base = (np.arange(count) * room).reshape(-1, 1)
        return PartitionedSpace("scratch memory", np.zeros(room * count, np.uint8), base, size)

    def run(self, groups: list[Group], check_deadline: Callable[[], None] | None) -> None:
        """Run groups of these sizes to their end."""
        self.begin(groups)
        self.proceed(check_deadline)

    def begin(self, groups: list[Group]) -> None:
        """Groups of these sizes begin; :meth:`proceed` runs them."""
        self.groups, self.chosen_lanes = groups, None
        activation = self.execution.start(self.dispatch.kernel, self.lanes)
        self._fill_inputs(activation.registers)
        self._fill_states(activation.registers)
        if _one_by_one(self.dispatch):
            self.execution.scheduler.admit(activation, [self.group_numbers == n for n in range(len(groups))])

    def proceed(self, check_deadline: Callable[[], None] | None) -> None:
        """Run the groups to their end, from where an observer has stopped them (:attr:`Observer.interrupts`)."""
        event = self.execution.running.event
        self.execution.run(check_deadline)
        for tell in listeners(self.observers, Observer.threads_end):
            tell(event)

    def end(self) -> None:
        """Let go of threads and registers, which refer to each other, unless an observer may look at them: their memory
        is free at once, and Python need not search all objects for it.
        """
        if self.execution.prepares_late:
            self.execution.end()
            del self.execution, self.threads

    def saved(self) -> SavedBatch:
        """Registers, barriers, lanes and the memory of threads and groups, between two instructions."""
        return SavedBatch(self.groups, self.threads.saved(), self.execution.saved())

    def restore(self, saved: SavedBatch) -> None:
        """Go on from there, after a stop."""
        self.groups, self.chosen_lanes = saved.groups, None
        self.threads.restore(saved.threads)
        self.execution.restore(saved.execution)

    # -- what threads find when they start -----------------------------------------------------------------

    def _fill_inputs(self, registers: RegisterFile) -> None:
        """The payload goes into the variables that are inputs."""
        for var, offset, size in threads.input_places(self.dispatch):
            root, start = registers.layout.root(var)
            data = registers.bytes_of(root)
            if data is not None:
                data[:, start : start + size] = self.payload[:, offset : offset + size]

    def _fill_states(self, registers: RegisterFile) -> None:
        """Surface and sampler variables whose numbers the payload has."""
        for kind, index, offset in threads.state_inputs(self.dispatch):
            words = np.ascontiguousarray(self.payload[:, offset : offset + 4]).view(np.uint32)
            registers.state(kind, index, 0)[:, 0] = words[:, 0]

    def start_value(self, register: int, data: Bytes) -> None:
        """Write what threads find in a predefined register when they start over its zeros, threads x bytes."""
        words = data.view(np.uint32)
        axis = register - threads.GROUP_ID
        if register == threads.R0:
            data[:] = threads.r0_of(self._group_ids(), self.thread_numbers)
        elif 0 <= axis < 3:
            words[:, 0] = self._group_ids()[:, axis]
        elif register == threads.HW_ID:
            words[:, 0] = np.arange(len(self.members))
        elif register == threads.SCRATCH_LOCATION:
            words[:, 0] = SCRATCH_HANDLE
        elif register in (threads.SR0, threads.MSG0):
            sr0, msg0 = threads.slot_registers(self.dispatch.image.platform)
            fields = sr0 if register == threads.SR0 else msg0
            words[:, 0] = [threads.slot_value(fields, slot) for slot in range(len(self.members))]
            if register == threads.SR0:
                words[:, threads.DISPATCH_MASK] = lane_bits(self.lanes)
        elif register in (threads.THREAD_X, threads.THREAD_X + 1):
            data.view(np.uint16)[:, 0] = self._thread_numbers()[register - threads.THREAD_X]

    def _group_ids(self) -> Dwords:
        ids: Dwords = np.array([g.id for g in self.groups], np.uint32)[self.group_numbers]
        return ids

    def _thread_numbers(self) -> tuple[list[int], list[int]]:
        """%thread_x and %thread_y of all threads."""
        items = [threads.work_item(self.dispatch, self.groups[n], t, 0) for n, t in self.members]
        return [x // self.dispatch.simd & 0xFFFF for x, _, _ in items], [y & 0xFFFF for _, y, _ in items]

    def positions(self) -> list[ThreadPosition]:
        """Where the threads are that have not ended."""
        return [
            ThreadPosition(self.groups[self.members[row][0]], self.members[row][1], *place)
            for row, place in self.execution.scheduler.places().items()
        ]

    # -- work-items ----------------------------------------------------------------------------------------

    def pixels(self) -> list[Array]:
        """x and y of the work-items of all threads, threads x 32."""
        ids = [
            [threads.work_item(self.dispatch, self.groups[n], t, lane)[:2] for lane in range(_MAXIMUM_SIMD)]
            for n, t in self.members
        ]
        both = np.array(ids, np.int32)
        return [both[..., 0], both[..., 1]]

    def name(self, row: int) -> str:
        """Group and thread of a row, for traces."""
        n, t = self.members[row]
        return f"{shown_group(self.dispatch.nd_range, self.groups[n])} t{t}"

    def numbers(self) -> tuple[Array, Array]:
        """The linear number of the group and the thread of each row."""
        groups = np.array([group_number(self.dispatch.nd_range, g) for g in self.groups], np.int64)
        return groups[self.group_numbers], self.thread_numbers

    def work_items(self) -> Bools:
        """The lanes of all threads that are work-items."""
        return self.lanes

    def member(self, row: int) -> tuple[Size, int]:
        """The id of the group, and the thread, of a row."""
        n, t = self.members[row]
        return self.groups[n].id, t

    def chosen(self, trace: Trace) -> Bools:
        """The lanes that a trace is about, threads x 32."""
        if self.chosen_lanes is None:
            self.chosen_lanes = np.array([trace.lanes_of(self.dispatch, self.groups[n], t) for n, t in self.members])
        return self.chosen_lanes

    def describe(self, row: int, lane: int) -> str:
        """Lane, thread and work-item of a row."""
        n, t = self.members[row]
        return threads.describe(self.dispatch, self.groups[n], t, lane)
