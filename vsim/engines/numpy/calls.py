"""Calls of subroutines and functions: lanes run another activation and come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from visakit.diagnostics import SimulationError
from visakit.language.calls import size_difference, uncallable
from visakit.language.program import Function, Instruction
from vsim.analysis.control_flow import control_flow
from vsim.engines.numpy.activation import Activation, ReturnPoint, Running
from vsim.engines.numpy.algebra import Mask, any_lane
from vsim.engines.numpy.control_flow import Step, taken_lanes
from vsim.engines.numpy.faults import Faults
from vsim.engines.numpy.prepared import PreparedFunction
from vsim.engines.numpy.scheduler import Scheduler
from vsim.launch.arrays import Bools, Dwords
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Observer, listeners

MAXIMUM_DEPTH = 1000


class BatchCalls:
    """Calls of one function; see :class:`vsim.semantics.algebra.Machine`. ``prepare`` gives the code of a callee."""

    def __init__(
        self,
        prepared: PreparedFunction,
        running: Running,
        scheduler: Scheduler,
        faults: Faults,
        dispatch: Dispatch,
        prepare: Callable[[Function], PreparedFunction],
        observers: Sequence[Observer] = (),
    ) -> None:
        self.prepared, self.running, self.scheduler = prepared, running, scheduler
        self.faults, self.image, self.lanes, self.prepare = faults, dispatch.image, dispatch.lanes, prepare
        self.called = listeners(observers, Observer.call)

    def call(self, label: int, lanes: Callable[[], Mask], instruction: Instruction) -> Step:
        """These lanes run a subroutine of the same function and come back."""
        prepared, target = self.prepared, self.prepared.labels[label]
        # Others are nested as deep as the text has them: the fast engine, where they are jumps, does not count them.
        counts = target in control_flow(prepared.function).recursive

        def enter(taken: Bools, back: ReturnPoint) -> None:
            registers = self.running.activation.registers
            self._start(Activation(prepared, registers, target, taken, back, counts))

        return self._call(lanes, instruction, enter, counts)

    def call_function(self, name: int, lanes: Callable[[], Mask], instruction: Instruction) -> Step:
        """These lanes run the function that a string names."""
        function = self.prepared.function
        callee = self.image.callee(function, name)

        def enter(taken: Bools, back: ReturnPoint) -> None:
            if callee is None:
                raise self._fault(taken, f"function '{function.strings[name]}' is not defined", instruction)
            if callee.is_cm is not self.prepared.function.is_cm:
                address = self.image.function_address(self.image.module.all_functions.index(callee))
                raise self._fault(taken, uncallable(callee, address, self.lanes), instruction)
            self._start_function(callee, taken, back)

        return self._call(lanes, instruction, enter)

    def call_address(self, address: Callable[[], Dwords], lanes: Callable[[], Mask], instruction: Instruction) -> Step:
        """Each thread's lanes run the function at its address."""

        def enter(taken: Bools, back: ReturnPoint) -> None:
            values = np.broadcast_to(address(), (self.running.threads.count, 1))
            for value in np.unique(values[any_lane(taken)]):
                chosen = taken & (values == value)
                callee = self.image.function_at(int(value))
                if callee is None or callee.lanes != self.lanes:
                    raise self._fault(chosen, uncallable(callee, int(value), self.lanes), instruction)
                problem = size_difference(instruction, callee)
                if problem:
                    raise self._fault(chosen, f"{problem},", instruction)
                self._start_function(callee, chosen, back._replace(lanes=back.lanes & (values == value)))

        return self._call(lanes, instruction, enter)

    def _call(
        self,
        lanes: Callable[[], Mask],
        instruction: Instruction,
        enter: Callable[[Bools, ReturnPoint], None],
        counts: bool = True,
    ) -> Step:
        """The common part of calls: lanes that do not take part wait behind the call for the others.

        ``counts``: the depth of such calls is limited.
        ``enter`` gets the lanes that run the callee, and the pc where the running lanes of their threads continue:
        behind the call.
        """
        following = self.prepared.following
        taken = taken_lanes(self.running, lanes, self.prepared.function, instruction, self.lanes, if_any=True)

        def step() -> bool:
            chosen = taken()
            if not chosen.any():
                return False
            activation = self.running.activation
            if counts and activation.depth >= MAXIMUM_DEPTH:
                raise self._fault(chosen, f"calls are nested more than {MAXIMUM_DEPTH} deep", instruction, False)
            back = activation.active & any_lane(chosen)[:, None]
            activation.split((following, activation.active & ~back))
            enter(chosen, ReturnPoint(activation, following, back))
            return True

        return step

    def _start_function(self, callee: Function, lanes: Bools, back: ReturnPoint) -> None:
        prepared = self.prepare(callee)
        self._start(Activation(prepared, prepared.new_registers(self.running.threads), 0, lanes, back))

    def _start(self, activation: Activation) -> None:
        for tell in self.called:
            tell(self.running.event, activation)
        self.scheduler.start(activation)

    def _fault(
        self, lanes: Bools, message: str, instruction: Instruction, shows_registers: bool = True
    ) -> SimulationError:
        """An error of the first thread among lanes."""
        row = int(np.flatnonzero(any_lane(lanes))[0])
        registers = self.faults.registers(row, 0, instruction) if shows_registers else ()
        return self.faults.at(row, 0, message, instruction, registers)
