"""One launch under the debugger: it runs forward to a position, and goes back to one.

Groups run one after the other (groups that wait for each other together), and the count of instructions that the
threads of a group have executed, all in step, is the time. Checkpoints have registers and the pages of memory that were
written since the one before; going back is to restore one and to run forward. Unwatched groups run on the fast
engine, consecutive ones as one launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from visakit.diagnostics import SimulationError
from visakit.language.program import Function
from vsim.checks.names import RACE, UNDEFINED
from vsim.checks.selection import Wanted
from vsim.checks.undefined_memory import PRIVATE_MEMORY
from vsim.debug.checkpoints import Checkpoint, Checkpoints, LanePosition
from vsim.debug.footprints import EDIT, Executed, Recorder, Use
from vsim.debug.watcher import Halt, Watcher
from vsim.engines.numpy.engine import GroupBatch, GroupPayloads
from vsim.engines.numpy.machine import BatchExecution
from vsim.engines.numpy.memory import MessageAccess
from vsim.engines.numpy.observers import observers_of
from vsim.engines.numpy.observers.saving import Rewinds, together
from vsim.launch.arrays import Array, Bytes, address_of
from vsim.launch.launch import Launch
from vsim.launch.ndrange import Group
from vsim.launch.schedule import PRIVATE_TURN_THREADS, TURN_THREADS, Schedule
from vsim.memory.memory import Buffer
from vsim.observe.observer import Event, Frame, Observer
from vsim.program import Program
from vsim.semantics.algebra import Machine
from vsim.semantics.registers import layout_of

INTERVAL, LEAST_INTERVAL = 1000, 250
"""Instructions between two checkpoints; at least so many where a barrier asks for one."""
SEARCH_INTERVAL = 100
"""Instructions between two checkpoints while a launch is searched backwards: the next step is near."""


class _Monitor(Observer):
    """Tells an execution what happens."""

    interrupts = True
    engine: BatchExecution
    """Of the batch that runs."""

    def __init__(self, execution: SteppedLaunch) -> None:
        self.execution = execution

    def chooses(self, function: Function, number: int) -> bool:
        return not function.instructions[number].desc.is_directive

    def prepare(self, engine: BatchExecution) -> None:
        self.engine = engine

    def machine(self, machine: Machine) -> Machine:
        running = self.engine.running
        layout = layout_of(machine.function, machine.grf_size)
        return self.execution.recorder.around(machine, running, layout)

    def before(self, event: Event) -> None:
        self.execution.before(event)

    def after(self, event: Event) -> None:
        self.execution.time += 1
        self.execution.watcher.after(event)

    def access(self, event: Event, access: MessageAccess) -> None:
        self.execution.access(event, access)

    def barrier(self, event: Event, signals: bool) -> None:
        self.execution.wants_checkpoint = True

    def call(self, event: Event, frame: Frame) -> None:
        if not frame.is_subroutine:
            frame.registers.birth = self.execution.time
        self.execution.watcher.called(event, frame)


Edit = Callable[[], Iterable[Use]]
"""Changes something, and gives the places."""


class SteppedLaunch:
    """One launch that is debugged.

    Args:
        engine: runs the unwatched groups.

    Attributes:
        batch: the groups that run now; None between parts.
        time: instructions that they have executed.
        fault: the error at the position, if the next instruction ends the launch.
        edits: changes that the user has made, by position: they happen each time the launch gets there.
    """

    def __init__(
        self,
        program: Program,
        launch: Launch,
        watcher: Watcher,
        schedule: Schedule | None = None,
        check: Wanted = "",
        engine: str = "auto",
    ) -> None:
        self.program, self.launch, self.watcher, self.schedule, self.check = program, launch, watcher, schedule, check
        self.engine = engine
        self.recorder = Recorder()
        self.part, self.time = 0, 0
        self.batch: GroupBatch | None = None
        self.fault: SimulationError | None = None
        self.edits: dict[LanePosition, list[Edit]] = {}
        self._edited: LanePosition | None = None
        """Where edits have happened last, so that they happen once each time the launch comes there."""
        self.limit: LanePosition | None = None
        self.first_time = -1
        """The time at which the watcher is not asked, as the launch has stopped there."""
        self.wants_checkpoint = self._begins = False
        """Whether the next instruction gets a checkpoint: soon, or as the first one of its groups."""
        self._marked_at = 0
        self.interval = INTERVAL
        """Instructions between two checkpoints."""
        self.native_groups = 0
        self.interrupt = self.is_native = False
        """Set by another thread, or by a signal: the launch halts at the next instruction; whether the fast engine
        runs.
        """
        self.number = 0
        """Of the instruction that was told last."""
        self._batches: dict[tuple[object, ...], GroupBatch] = {}
        self._prepared: dict[int, list[dict[str, object]]] = {}
        """What observers have made for each batch, by the identity of the batch."""
        self.checkpoints = Checkpoints()
        self._bind()
        self.parts = list(self._parts())
        self._mark()

    def _bind(self) -> None:
        """Make the launch, with new findings."""
        own = (_Monitor(self),)
        self.dispatch = self.program.bind(self.launch, self.schedule, None, False, None, self.check, own)
        implicit = self.dispatch.arguments.implicit
        if implicit is not None:
            implicit[0].data[: len(implicit[1])] = np.frombuffer(implicit[1], np.uint8)
        self.held = self.program.memory.hold()
        self.observers = observers_of(self.dispatch)
        for observer in self.observers:
            observer.launch_begin(self.dispatch)
        self._batches.clear()

    def _parts(self) -> Iterator[tuple[int, ...]]:
        """The groups that run together, by their places in the order of the launch."""
        dispatch, at_once = self.dispatch, 1
        if dispatch.overlaps_groups:
            has_own = dispatch.has_private_memory or dispatch.scratch_size
            most = PRIVATE_TURN_THREADS if has_own else TURN_THREADS
            at_once = max(1, most // dispatch.threads_of(dispatch.group(0)))
        for first in range(0, dispatch.group_count, at_once):
            yield tuple(range(first, min(first + at_once, dispatch.group_count)))

    def groups_of(self, part: int) -> list[Group]:
        """The groups of a part."""
        dispatch = self.dispatch
        numbers = self.parts[part]
        if dispatch.schedule is not None:
            order = dispatch.schedule.order(dispatch.group_count)
            return [dispatch.group(int(order[n])) for n in numbers]
        return [dispatch.group(n) for n in numbers]

    def part_of(self, group: int) -> int:
        """The part in which a group runs."""
        schedule, count = self.dispatch.schedule, self.dispatch.group_count
        place = group if schedule is None else schedule.order(count).tolist().index(group)
        return place // len(self.parts[0])

    # -- where it is ---------------------------------------------------------------------------------------

    @property
    def position(self) -> LanePosition:
        """Where the launch is."""
        return LanePosition(self.part, self.time)

    @property
    def has_ended(self) -> bool:
        """Whether all groups have run."""
        return self.part == len(self.parts)

    # -- forward -------------------------------------------------------------------------------------------

    def run(self, limit: LanePosition | None = None) -> bool:
        """Run forward, until the watcher halts, to a position, to a fault or to the end; whether the watcher halted.

        Raises:
            KeyboardInterrupt: the user interrupts; the launch can go on.
        """
        self.limit, self.fault = limit, None
        while not self.has_ended and (limit is None or self.position < limit or self.batch is None):
            if self.batch is None and not self._enter(limit):
                return False
            assert self.batch is not None
            try:
                self.batch.proceed(None)
            except (Halt, KeyboardInterrupt) as stop:
                self._stay()
                if isinstance(stop, KeyboardInterrupt):
                    raise
                return self.limit is None or self.position != self.limit
            except SimulationError as error:
                self._stop_at_fault(error)
                return False
            self._leave()
        return False

    def _enter(self, limit: LanePosition | None) -> bool:
        """Begin the next part that is watched, or the one of a limit; those before it run on the fast engine. False if
        the launch has ended, or is where the limit is.
        """
        end = len(self.parts) if limit is None else min(limit.part, len(self.parts))
        chosen = self.part
        while chosen < end and not self.watcher.wants(self.groups_of(chosen)) and self._can_skip:
            chosen += 1
        if chosen > self.part:
            self._run_natively(chosen)
        if self.has_ended:
            return False
        groups = self.groups_of(self.part)
        self.batch = self._batch_of(groups)
        self.time, self.first_time = 0, -1
        self._clear_private_memory()
        self.batch.begin(groups)
        self._begins = True
        return True

    @property
    def _can_skip(self) -> bool:
        """Whether groups may run on the fast engine: some checks compare groups, and know those of one engine alone."""
        findings = self.dispatch.findings
        compares = findings is not None and not findings.checks.isdisjoint((RACE, UNDEFINED))
        return not (self.dispatch.overlaps_groups or compares)

    def _run_natively(self, end: int) -> None:
        """Run the parts before one without looking; a fault in them is found again on the reference engine."""
        checkpoint = self.checkpoints[-1]
        checkpoint.executed = None
        checkpoint.pages.keep_all(self._memory())
        begin = self.part
        first, behind = self.parts[begin][0], self.parts[end - 1][-1] + 1
        # Where results depend on the order of groups, it is that of the debugger: one after the other.
        step = 1 if self.dispatch.needs_order else behind - first
        try:
            self.is_native = True
            for number in range(first, behind, step):
                self.program.execute(replace(self.dispatch, observers=(), part=(number, number + step)), self.engine)
        except KeyboardInterrupt:
            checkpoint.pages.restore()
            self.interrupt = False
            raise
        except SimulationError:
            checkpoint.pages.restore()
            self._find_fault(end)
            return
        finally:
            self.is_native = False
        self.part = end
        self.native_groups += end - begin
        self._mark()

    def halt(self) -> None:
        """Halt the launch at the next instruction, or let the fast engine run in vain: of a signal handler.

        Raises:
            KeyboardInterrupt: the fast engine runs.
        """
        self.interrupt = True
        if self.is_native:
            raise KeyboardInterrupt

    def _find_fault(self, end: int) -> None:
        """Run parts one by one until one faults, which then is the current one; it runs under the watcher next."""
        while self.part < end:
            pages = self.checkpoints[-1].pages
            self.checkpoints[-1].executed = None
            pages.keep_all(self._memory())
            number = self.parts[self.part][0]
            try:
                self.program.execute(replace(self.dispatch, observers=(), part=(number, number + 1)), self.engine)
            except SimulationError:
                pages.restore()
                return
            self.part += 1
            self._mark()

    def shares(self, data: Bytes) -> bool:
        """Whether an array is memory that groups share, and no memory of a batch."""
        start = address_of(data)
        return any(address_of(own) <= start < address_of(own) + own.size for own in self._memory() if own.size)

    def _memory(self) -> list[Bytes]:
        """All memory that groups share."""
        images = [s.bytes for s in set(self.dispatch.all_surfaces) if not isinstance(s, Buffer)]
        return [*(b.data for b in self.program.memory.buffers()), *images]

    def _batch_of(self, groups: list[Group]) -> GroupBatch:
        """The batch for groups of these sizes; it is prepared once."""
        key = tuple(g.size for g in groups), self._private_address(groups)
        found = self._batches.get(key)
        if found is None:
            watching = list(self.observers)
            payloads = GroupPayloads(self.dispatch, key[1])
            before = [dict(vars(observer)) for observer in watching]
            found = self._batches[key] = GroupBatch(self.dispatch, groups, payloads, watching)
            news = [
                {name: value for name, value in vars(observer).items() if old.get(name, self) is not value}
                for observer, old in zip(watching, before, strict=True)
            ]
            self._prepared[id(found)] = news
        self._attend(found)
        return found

    def _attend(self, batch: GroupBatch) -> None:
        """Give observers their parts of a batch again."""
        for observer, news in zip(self.observers, self._prepared[id(batch)], strict=True):
            vars(observer).update(news)

    def _private_address(self, groups: list[Group]) -> int:
        if not self.dispatch.has_private_memory:
            return 0
        threads = sum(self.dispatch.threads_of(g) for g in groups)
        return self.program.memory.block(PRIVATE_MEMORY, self.dispatch.private_size * threads).address

    def _clear_private_memory(self) -> None:
        if self.dispatch.has_private_memory:
            data = self.program.memory.blocks[PRIVATE_MEMORY].data
            self.checkpoints[-1].pages.keep_all([data])
            data[:] = 0

    def _stay(self) -> None:
        """The batch stops in front of an instruction, and can go on there."""
        assert self.batch is not None
        self.batch.execution.running.activation.pc = self.number
        self.first_time = self.time

    def _stop_at_fault(self, error: SimulationError) -> None:
        """Go back in front of the instruction that has ended the launch: its registers are as it found them."""
        self.go_to(self.position, anew=True)
        self.fault = error

    def _leave(self) -> None:
        """The threads of a part have ended."""
        assert self.batch is not None
        self.batch, self.part, self.time, self.first_time = None, self.part + 1, 0, -1
        if self.has_ended:
            for observer in self.observers:
                observer.launch_end(None)
        self._mark()

    # -- events --------------------------------------------------------------------------------------------

    def before(self, event: Event) -> None:
        """An instruction comes next: checkpoints are made here, edits happen, and the launch may halt.

        Raises:
            Halt: the launch is at the limit, or the watcher wants to look.
        """
        self.number = event.number
        due = self.time - self._marked_at
        if due >= self.interval or self._begins or (self.wants_checkpoint and due >= LEAST_INTERVAL):
            assert self.batch is not None
            self.batch.execution.running.activation.pc = event.number
            self._mark()
        if self.edits:
            self._happen()
        if self.limit is not None and self.limit == (self.part, self.time):
            raise Halt
        if self.interrupt:
            self.interrupt = False
            raise KeyboardInterrupt
        executed = self.checkpoints[-1].executed
        if executed is not None:
            executed.add((id(event.function), event.number))
        if self.time != self.first_time:
            self.watcher.before(event)
        else:
            self.watcher.goes_on(event)
        if self.recorder.steps is not None and self.batch is not None:
            self.recorder.begin(event, self.time, self.batch.execution.running)

    def _happen(self) -> None:
        """Make the changes that the user has made here, unless they have happened since the launch came here."""
        if self.edits and self._edited != self.position:
            self._edited = self.position
            for edit in self.edits.get(self.position, ()):
                self._change(edit)

    def _change(self, edit: Edit) -> None:
        uses, steps = list(edit()), self.recorder.steps
        if steps is not None and self.batch is not None:
            activation = self.batch.execution.running.activation
            steps.append(Executed(self.time, activation.function, EDIT, activation, activation.active, uses))

    def access(self, event: Event, access: MessageAccess) -> None:
        """Pages that are written are kept."""
        if access.writes and self.batch is not None:
            threads = self.batch.threads
            self.checkpoints[-1].pages.keep_written(access, (threads.slm.data, threads.scratch.data))
        self.recorder.accessed_next(access)
        self.watcher.access(event, access)

    # -- checkpoints ---------------------------------------------------------------------------------------

    def _mark(self) -> None:
        """Make a checkpoint."""
        self.wants_checkpoint, self._marked_at, self._begins = False, self.time, False
        saved = self.batch.saved() if self.batch is not None else None
        watching = together(*(o.saved() for o in self.observers if isinstance(o, Rewinds)))
        self.checkpoints.add(Checkpoint(self.position, self.batch, saved, watching))

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go back to a checkpoint; those behind it are forgotten."""
        while self.checkpoints[-1] is not checkpoint:
            self.checkpoints.pop().pages.restore()
        checkpoint.pages.restore()
        self.part, self.time = checkpoint.position
        self._marked_at, self._edited, self._begins = self.time, None, False
        self.batch, self.fault, self.first_time = checkpoint.batch, None, -1
        if checkpoint.batch is not None and checkpoint.saved is not None:
            self._attend(checkpoint.batch)
            checkpoint.batch.restore(checkpoint.saved)
        if checkpoint.watching is not None:
            checkpoint.watching.restore()

    def go_to(self, position: LanePosition, anew: bool = False) -> None:
        """Go to a position, forward or back, without stops on the way.

        Args:
            anew: also where the launch seems to be there.
        """
        watcher, self.watcher = self.watcher, Watcher()
        try:
            if anew or position < self.position or self.checkpoints.before(position).position > self.position:
                self.restore(self.checkpoints.before(position))
            if position != self.position or (self.batch is None and not self.has_ended):
                self.run(position)
            elif self.batch is not None:
                self._happen()
                self.first_time = self.time  # A checkpoint is here; the launch stops as it does elsewhere.
        finally:
            self.watcher = watcher
        self.limit = None

    def edit(self, change: Edit) -> None:
        """Change registers or memory now, and each time that the launch is here again."""
        own = self.edits.setdefault(self.position, [])
        if not own and self.batch is not None:
            self._mark()  # A checkpoint has the state before all changes at its time.
        change()
        own.append(change)
        self._edited = self.position

    def restart(self) -> None:
        """Go back to the beginning of the launch, in front of its first group."""
        self.restore(self.checkpoints[0])

    def rows(self, group: int, thread: int) -> int | None:
        """The row of a thread in the batch that runs; None if it is not there."""
        if self.batch is None:
            return None
        groups, threads = self.batch.numbers()
        found: Array = np.flatnonzero((groups == group) & (threads == thread))
        return int(found[0]) if found.size else None
