"""What the semantics drive while a function is prepared for a batch of threads, put together from its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np

from visakit.diagnostics import Diagnostic, SimulationError
from visakit.language.program import Function, Instruction
from vsim.analysis.control_flow import control_flow
from vsim.analysis.spin_loops import spin_branches
from vsim.engines.numpy.activation import Activation, Running, SavedActivation
from vsim.engines.numpy.algebra import NumpyAlgebra, any_lane, lane_bits
from vsim.engines.numpy.barriers import BatchBarriers, GroupBarrier, NamedBarriers, NamedWait
from vsim.engines.numpy.calls import BatchCalls
from vsim.engines.numpy.control_flow import BatchControlFlow
from vsim.engines.numpy.events import BatchEvent, follows_instructions, observed
from vsim.engines.numpy.faults import Faults
from vsim.engines.numpy.images import BatchImages
from vsim.engines.numpy.masks import BatchMasks
from vsim.engines.numpy.messages import BatchMessages
from vsim.engines.numpy.operands import BatchOperands
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.engines.numpy.registers import RegisterFile, RegisterKind, SavedRegisters, View
from vsim.engines.numpy.scheduler import SavedScheduler, Scheduler
from vsim.engines.numpy.spaces import BatchSpaces
from vsim.engines.numpy.thread_state import BatchThreadState
from vsim.engines.numpy.threads import HardwareThreads
from vsim.launch.arrays import Array
from vsim.launch.dispatch import Dispatch
from vsim.launch.threads import state_defaults
from vsim.observe.observer import Observer, listeners
from vsim.semantics import SEMANTICS
from vsim.semantics.algebra import Machine, Step
from vsim.semantics.registers import CE0, reads_lanes


class NumpyMachine:
    """The :class:`~vsim.semantics.algebra.Machine` for one function: each of its methods is one of a part."""

    def __init__(self, prepared: PreparedFunction, batch: BatchExecution) -> None:
        dispatch, running, scheduler = batch.dispatch, batch.running, batch.scheduler
        self.prepared, self.function, self.grf_size = prepared, prepared.function, dispatch.grf_size
        self.running = running
        self.algebra = NumpyAlgebra(dispatch.exact)
        self.faults = faults = Faults(prepared.function, dispatch, running)

        operands = BatchOperands(prepared, running, faults, self.grf_size)
        self.type_of, self.address_of = operands.type_of, operands.address_of
        self.reader, self.writer = operands.reader, operands.writer
        self.raw_reader, self.raw_writer = operands.raw_reader, operands.raw_writer

        masks = BatchMasks(prepared, running)
        self.mask, self.thread_mask, self.predicate_bits = masks.mask, masks.thread_mask, masks.predicate_bits
        self.predicate_reader, self.predicate_writer = masks.predicate_reader, masks.predicate_writer
        self.predicate_as_integer = masks.predicate_as_integer
        self.predicate_from_integer = masks.predicate_from_integer

        state = BatchThreadState(prepared, running, dispatch, faults)
        self.state_reader, self.state_writer = state.state_reader, state.state_writer
        self.symbol_address, self.rounding, self.denormals = state.symbol_address, state.rounding, state.denormals

        spaces = BatchSpaces(running, dispatch)
        self.flat, self.slm, self.urb = spaces.flat, spaces.slm, spaces.urb
        self.surface, self.surface_by_handle = spaces.surface, spaces.surface_by_handle
        self.for_blocks = spaces.for_blocks
        images = BatchImages(running, faults, dispatch, spaces)
        self.image, self.image_by_handle, self.pixel = images.image, images.image_by_handle, images.pixel
        self.with_image, self.with_sampler, self.sampler = images.with_image, images.with_sampler, images.sampler

        messages = BatchMessages(running, faults, batch.observers)
        self.load, self.store = messages.load, messages.store
        self.load_elements, self.store_elements = messages.load_elements, messages.store_elements
        self.atomic, self.mapped = messages.atomic, messages.mapped
        self.require_shape, self.require_length = messages.require_shape, messages.require_length

        modes = dispatch.float_modes
        spins = dispatch.signature.summary.spins
        together = dispatch.checks or spins or any(o.interrupts for o in batch.observers)
        may_narrow = not (modes.rounding or (modes.flushed and modes.written) or together)
        branches = spin_branches(control_flow(prepared.function), prepared.layout) if spins else frozenset()
        flow = BatchControlFlow(prepared, running, scheduler, dispatch.lanes, may_narrow, branches, batch.observers)
        self.goto, self.jump, self.switch, self.leave = flow.goto, flow.jump, flow.switch, flow.leave
        calls = BatchCalls(prepared, running, scheduler, faults, dispatch, batch.prepare, batch.observers)
        self.call, self.call_function, self.call_address = calls.call, calls.call_function, calls.call_address
        barriers = BatchBarriers(
            prepared, running, scheduler, batch.group_barrier, batch.named_barriers, batch.observers
        )
        self.barrier, self.named_barrier = barriers.barrier, barriers.named_barrier

    def cannot(self, text: str, instruction: Instruction | None = None) -> SimulationError:
        """The error that an instruction cannot be executed: by default the one which is being prepared."""
        return self.faults.cannot(text, instruction or self.prepared.instruction)

    def decoded(self, instruction: Instruction, prepare: Callable[[int], Step]) -> Step:
        """Sends a raw message by the step for the value of its descriptor, in the threads that have this value."""
        running, prepared, number = self.running, self.prepared, self.prepared.here
        read, steps = self.reader(instruction.args["desc"], 1), dict[int, Step]()

        def step() -> None:
            activation = running.activation
            values = np.broadcast_to(read(), (running.threads.count, 1))
            for value in np.unique(values[activation.active_rows]).tolist():
                if value not in steps:
                    prepared.here = number
                    steps[value] = prepare(value)
                with activation.only(values == value):
                    steps[value]()

        return step


class Refused:
    """The step of an instruction that cannot be executed, as its operands reach beyond their variables, for example."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics

    def __call__(self) -> NoReturn:
        """Raise the error."""
        raise SimulationError(self.diagnostics)


class SavedExecution(NamedTuple):
    """Where the lanes of a batch are, its registers and barriers, between two instructions."""

    activations: list[tuple[Activation, SavedActivation]]
    registers: list[tuple[RegisterFile, SavedRegisters]]
    scheduler: SavedScheduler
    running: tuple[Activation, RegisterFile | None]
    group_barrier: tuple[Array, ...]
    named_barriers: tuple[Array, ...]
    waits: list[tuple[NamedWait, Array]]


class BatchExecution:
    """The execution of a batch of threads: its functions, each prepared once, and what their activations share.

    Args:
        groups: the number of each thread's work-group in the batch.
        observers: the observers that watch any of these work-groups.
        private_address: where private memory is, of kernels that have some.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        threads: HardwareThreads,
        groups: Array,
        observers: Sequence[Observer] = (),
        private_address: int = 0,
    ) -> None:
        self.dispatch, self.threads, self.observers = dispatch, threads, observers
        self.private_address = private_address
        self.running = Running(threads)
        self.scheduler = Scheduler(self.running, observers)
        self.group_barrier, self.named_barriers = GroupBarrier(groups), NamedBarriers(groups, observers)
        self.follows_instructions = follows_instructions(observers)
        self.tells_operands = any(listeners(observers, e) for e in (Observer.read, Observer.write, Observer.masked))
        self.prepares_late = not any(listeners(observers, e) for e in (Observer.prepare, Observer.machine))
        """Whether instructions that never execute need no steps: no observer looks at registers from outside."""
        self._prepared: dict[int, PreparedFunction] = {}
        for prepare in listeners(observers, Observer.prepare):
            prepare(self)

    def prepare(self, function: Function) -> PreparedFunction:
        """The code of a function, prepared once for the batch."""
        found = self._prepared.get(id(function))
        if found is None:
            states = state_defaults(self.dispatch, function)
            late = self.prepares_late and not self.tells_operands
            found = PreparedFunction(function, self.dispatch.grf_size, states, late)
            if self.dispatch.image.register_overrun:
                found.layout.allow_overrun()
            self._prepared[id(function)] = found
            machine = self._machine(found)
            for number in range(len(function.instructions)):
                first = partial(self._first_step, found, machine, number)
                found.steps.append(first if late else self._step(found, machine, number))
        return found

    def _first_step(self, prepared: PreparedFunction, machine: Machine, number: int) -> object:
        """Make the step of an instruction, and execute it."""
        step = prepared.steps[number] = self._step(prepared, machine, number)
        return step()

    def _step(self, prepared: PreparedFunction, machine: Machine, number: int) -> Step:
        """The step of an instruction."""
        prepared.here = number
        instruction = prepared.instruction
        try:
            step = SEMANTICS[instruction.desc.semantics](machine, instruction)
        except SimulationError as error:
            step = Refused(error.diagnostics)
        if reads_lanes(prepared.layout, instruction) and not isinstance(step, Refused):
            step = self._behind_lanes(prepared, step)
        if self.follows_instructions:
            step = observed(prepared.function, number, step, self.running, self.observers)
        return step

    def _machine(self, prepared: PreparedFunction) -> Machine:
        """What the semantics drive."""
        if self.tells_operands:
            from vsim.engines.numpy.observed_machine import ObservedMachine  # which few launches want

            machine: Machine = ObservedMachine(prepared, self)
        else:
            machine = NumpyMachine(prepared, self)
        for around in listeners(self.observers, Observer.machine):
            machine = around(machine)
        return machine

    def _behind_lanes(self, prepared: PreparedFunction, step: Step) -> Step:
        """A step, before which %ce0 gets the lanes that run."""
        running, view = self.running, prepared.view(View(RegisterKind.VARIABLE, CE0, np.dtype("u4")))

        def behind() -> object:
            running.views[view][:, 0] = lane_bits(running.activation.active)
            return step()

        return behind

    def start(self, function: Function, lanes: Array) -> Activation:
        """Lanes of the kernel begin, with registers, memory and barriers in their initial states."""
        self.threads.restart()
        self.running.restart()
        self.scheduler.restart()
        self.group_barrier.restart()
        self.named_barriers.restart()
        prepared = self.prepare(function)
        activation = Activation(prepared, prepared.new_registers(self.threads), 0, lanes)
        self.scheduler.start(activation)
        event = self.running.event = BatchEvent(function, 0, self.running)
        for tell in listeners(self.observers, Observer.threads_begin):
            tell(event)
        return activation

    def saved(self) -> SavedExecution:
        """A copy of the threads' state, for :meth:`restore`."""
        live, barriers = self.scheduler.live, [b for p in self._prepared.values() for b in p.barriers.values()]
        files = {id(a.registers): a.registers for a in live}
        return SavedExecution(
            [(a, a.saved()) for a in live],
            [(file, file.saved()) for file in files.values()],
            self.scheduler.saved(),
            self.running.saved(),
            self.group_barrier.saved(),
            self.named_barriers.saved(),
            [(b, b.numbers) for b in barriers if isinstance(b, NamedWait)],
        )

    def restore(self, saved: SavedExecution) -> None:
        """Put the threads back to a saved state; later calls are forgotten."""
        for activation, own in saved.activations:
            activation.restore(own)
        for file, contents in saved.registers:
            file.restore(contents)
        self.scheduler.restore(saved.scheduler)
        self.running.restore(saved.running)
        self.group_barrier.restore(saved.group_barrier)
        self.named_barriers.restore(saved.named_barriers)
        for wait, numbers in saved.waits:
            wait.numbers = numbers

    def run(self, check_deadline: Callable[[], None] | None) -> None:
        """Run the threads to their end; see :meth:`Scheduler.run`."""
        self.scheduler.run(check_deadline, self._deadlock)

    def end(self) -> None:
        """Let go of the steps, which refer to this execution."""
        for prepared in self._prepared.values():
            prepared.steps.clear()

    def _deadlock(self, live: list[Activation]) -> SimulationError:
        """The error of the first thread that waits, which is at one barrier."""
        blocked = [(int(any_lane(lanes).argmax()), a, pc) for a in live for pc, lanes in a.blocked.items()]
        row, activation, pc = min(blocked, key=lambda found: found[0])
        function = activation.prepared.function
        for tell in listeners(self.observers, Observer.stuck):
            tell(BatchEvent(function, pc - 1, self.running), row)
        message = "a barrier waits for threads of the work-group that never arrive"
        faults = Faults(function, self.dispatch, self.running)
        return faults.at(row, 0, message, function.instructions[pc - 1])
