"""Control flow (manual: "Control flow instructions"). What a jump does to lanes is the engine's business; here stands which lanes jump where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from visa import types
from visa.operands import Execution
from visa.program import Instruction
from vsim.semantics.algebra import Lanes, Machine, Mask, Step
from vsim.semantics.core import SEMANTICS, nothing, semantics, source


class FlowMachine(Machine, Protocol):
    """Control flow of an engine. Lanes that leave by ``goto`` wait at its label; the smallest place at which lanes wait runs first."""

    def goto(self, label: int, lanes: Callable[[], Mask]) -> Step:
        """These lanes go on at the label."""

    def jump(self, label: int, taken: Callable[[], Mask] | None) -> Step:
        """All lanes of the threads for which ``taken`` holds go on at the label."""

    def switch(self, labels: tuple[int, ...], index: Callable[[], Lanes]) -> Step:
        """All lanes of a thread go on at the label with that number; beyond the last at the next instruction."""

    def call(self, label: int, lanes: Callable[[], Mask], instruction: Instruction) -> Step:
        """These lanes run a subroutine of the same body and come back."""

    def call_function(self, name: int, lanes: Callable[[], Mask], instruction: Instruction) -> Step:
        """These lanes run the function that a string names."""

    def call_address(self, address: Callable[[], Lanes], lanes: Callable[[], Mask], instruction: Instruction) -> Step:
        """Each thread's lanes run the function at its address."""

    def leave(self, lanes: Callable[[], Mask]) -> Step:
        """These lanes return from the subroutine or function, or end in the kernel."""

    def barrier(self, signal: bool, wait: bool, instruction: Instruction, group: Callable[[], Any] | None = None) -> Step: ...


def _lanes(m: Machine, instruction: Instruction) -> Callable[[], Mask]:
    """Lanes that take a SIMD jump or call: of size 1 without a predicate all that are active."""
    args = instruction.args
    execution: Execution = args["exec"]
    if execution.size == 1 and args["pred"] is None:
        return m.mask(Execution(32, 0), None)
    return m.mask(execution, args["pred"])


@semantics("goto")
def goto(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    args = instruction.args
    if args["exec"].size == 1 and args["pred"] is not None:
        return jmp(m, instruction)
    return m.goto(args["label"], _lanes(m, instruction))


@semantics("jmp")
def jmp(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    """The predicate counts for the whole thread."""
    pred = instruction.args["pred"]
    taken = m.predicate_bits(pred, Execution(1, 0) if not pred.mode else Execution(32, 0)) if pred else None
    return m.jump(instruction.args["label"], taken)


@semantics("switchjmp")
def switchjmp(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    return m.switch(instruction.args["labels"], source(m, instruction.args["index"], 1, types.UD))


@semantics("call")
def call(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    return m.call(instruction.args["label"], _lanes(m, instruction), instruction)


@semantics("fcall")
def fcall(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    return m.call_function(instruction.args["name"], _lanes(m, instruction), instruction)


@semantics("ifcall")
def ifcall(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    """Only the low 32 bits of the address count."""
    return m.call_address(source(m, instruction.args["func_addr"], 1, types.UD), _lanes(m, instruction), instruction)


@semantics("ret", "fret")
def ret(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    return m.leave(_lanes(m, instruction))


@semantics("barrier")
def barrier(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    return m.barrier(True, True, instruction)


@semantics("sbarrier.signal")
def sbarrier_signal(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    return m.barrier(True, False, instruction)


@semantics("sbarrier.wait")
def sbarrier_wait(m: FlowMachine, instruction: Instruction) -> Step:  # type: ignore[misc]
    return m.barrier(False, True, instruction)


for _name in (
    ".label", ".function", ".file", ".loc", "lifetime", "yield", "fence_global", "fence_local", "fence_sw", "lsc_fence", "sampler_cache_flush", "wait",
):  # fmt: skip
    SEMANTICS[_name] = nothing
