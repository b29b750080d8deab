"""Functions prepared for a batch of threads."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import Protocol

from visakit.isa.record import Flow
from visakit.language.program import Function, Instruction
from vsim.analysis.control_flow import control_flow
from vsim.engines.numpy.registers import RegisterFile, View
from vsim.engines.numpy.threads import HardwareThreads
from vsim.launch.arrays import Bools
from vsim.semantics.algebra import Step
from vsim.semantics.registers import layout_of


class BarrierWait(Protocol):
    """An instruction that waits: the condition on which threads continue, and a note of it when they do."""

    def opened(self) -> Bools:
        """The threads that may go on."""

    def passed(self, rows: Bools) -> None:
        """These threads go on."""


class PreparedFunction:
    """A function prepared for execution: a step for each instruction, and the views of registers that the steps need.

    A step returns whether lanes moved: the running lanes do not simply go on at the next instruction.

    Args:
        states: class, index and number of the surface and sampler variables that begin with one.
        late: steps are made, and ask for views, when instructions execute for the first time.
    """

    def __init__(
        self, function: Function, grf_size: int, states: list[tuple[int, int, int]], late: bool = False
    ) -> None:
        self.function, self.states, self.late = function, states, late
        self.layout = layout_of(function, grf_size)
        self.labels = {i.args["label"]: n for n, i in enumerate(function.instructions) if i.desc.flow.is_label}
        self.steps: list[Step] = []
        self.here = 0
        """Number of the instruction that is being prepared."""
        self.barriers: dict[int, BarrierWait] = {}
        """What waits at barriers, by the pc behind them, where lanes go on."""
        self._views: list[View] = []
        self._numbers: dict[View, int] = {}

    @cached_property
    def _leaving(self) -> list[int]:
        """Instructions that may need other threads or activations: barriers, calls, ends."""
        flows = enumerate(i.desc.flow for i in self.function.instructions)
        return [n for n, flow in flows if flow not in (Flow.NEXT, Flow.LABEL) and not flow.is_branch]

    @cached_property
    def _backward(self) -> tuple[tuple[int, int], ...]:
        """Branches that go back, with their targets."""
        return control_flow(self.function).backward

    def can_run_alone(self, begin: int, end: int) -> bool:
        """Whether threads that are in these instructions need no other threads or activations until they are behind
        them; branches may lead there, but not in front of them.
        """
        if bisect_left(self._leaving, begin) < bisect_left(self._leaving, end):
            return False
        inside = slice(*(bisect_left(self._backward, (at, 0)) for at in (begin, end)))
        return all(target >= begin for _, target in self._backward[inside])

    @property
    def place(self) -> tuple[Function, int]:
        """The instruction that is being prepared, by function and number."""
        return self.function, self.here

    @property
    def following(self) -> int:
        """Where lanes go on behind the instruction that is being prepared."""
        return self.here + 1

    @property
    def instruction(self) -> Instruction:
        """The instruction that is being prepared."""
        return self.function.instructions[self.here]

    def view(self, view: View) -> int:
        """The number that a view has in the register files of this function's activations."""
        found = self._numbers.get(view)
        if found is None:
            found = self._numbers[view] = len(self._views)
            self._views.append(view)
        return found

    def over(self, registers: RegisterFile) -> RegisterFile:
        """The registers of another preparation of the function, with the views of this one."""
        return RegisterFile(self.layout, self._views, registers.arrays)

    def new_registers(self, threads: HardwareThreads) -> RegisterFile:
        """Fresh registers for an activation."""
        registers = RegisterFile.fresh(self.layout, self._views, threads, late=self.late)
        for kind, index, number in self.states:
            registers.state(kind, index, 0)[:] = number
        return registers
