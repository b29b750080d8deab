"""Instructions in a row on symbolic registers: no memory, no branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, cast

from visakit.language.program import Function, Instruction
from vsim.semantics import SEMANTICS
from vsim.semantics.algebra import Machine, Step
from vsim.semantics.registers import FloatModes, float_modes
from vsim.symbolic.algebra import SymbolicAlgebra
from vsim.symbolic.registers import SymbolicRegisters
from vsim.symbolic.thread_state import SymbolicThreadState


class SequenceMachine(SymbolicThreadState):
    """What the semantics drive while instructions run in a row."""

    def decoded(self, instruction: Instruction, prepare: Callable[[int], Step]) -> NoReturn:
        """A raw message works on memory."""
        raise self.cannot("a sequence works on registers alone")

    def __getattr__(self, name: str) -> NoReturn:
        """Memory, images, barriers and control flow."""
        if name.startswith("_"):
            raise AttributeError(name)
        raise self.cannot("a sequence works on registers alone")


def run_sequence(
    function: Function,
    grf_size: int,
    registers: SymbolicRegisters,
    algebra: SymbolicAlgebra,
    instructions: Sequence[Instruction] | None = None,
    modes: FloatModes | None = None,
) -> None:
    """Execute instructions of a function, by default all of them, on registers.

    Args:
        modes: how the program uses %cr0; by default, how this function does.

    Raises:
        SimulationError: an instruction cannot be executed; needs memory or branches, for example.
    """
    machine = SequenceMachine(function, grf_size, registers, algebra, modes or float_modes([function]))
    for instruction in function.instructions if instructions is None else instructions:
        machine.instruction = instruction
        SEMANTICS[instruction.desc.semantics](cast(Machine, machine), instruction)()
