"""Control flow (manual: "Control flow instructions"). What a jump does to lanes is the engine's business; here stands which lanes jump where."""

from __future__ import annotations

from collections.abc import Callable

from visa import types
from visa.operands import Execution
from visa.program import Instruction
from vsim.semantics.algebra import Machine, Mask, Step
from vsim.semantics.core import SEMANTICS, nothing, semantics, source


def _lanes(m: Machine, instruction: Instruction) -> Callable[[], Mask]:
    """Lanes that take a SIMD jump or call: of size 1 without a predicate all that are active."""
    args = instruction.args
    execution: Execution = args["exec"]
    if execution.size == 1 and args["pred"] is None:
        return m.mask(Execution(32, 0), None)
    return m.mask(execution, args["pred"])


@semantics("goto")
def goto(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    if args["exec"].size == 1 and args["pred"] is not None:
        return jmp(m, instruction)
    return m.goto(args["label"], _lanes(m, instruction))


@semantics("jmp")
def jmp(m: Machine, instruction: Instruction) -> Step:
    """The predicate counts for the whole thread."""
    pred = instruction.args["pred"]
    taken = m.predicate_bits(pred, Execution(1, 0) if not pred.mode else Execution(32, 0)) if pred else None
    return m.jump(instruction.args["label"], taken)


@semantics("switchjmp")
def switchjmp(m: Machine, instruction: Instruction) -> Step:
    return m.switch(instruction.args["labels"], source(m, instruction.args["index"], 1, types.UD))


@semantics("call")
def call(m: Machine, instruction: Instruction) -> Step:
    return m.call(instruction.args["label"], _lanes(m, instruction), instruction)


@semantics("fcall")
def fcall(m: Machine, instruction: Instruction) -> Step:
    return m.call_function(instruction.args["name"], _lanes(m, instruction), instruction)


@semantics("ifcall")
def ifcall(m: Machine, instruction: Instruction) -> Step:
    """Only the low 32 bits of the address count."""
    return m.call_address(source(m, instruction.args["func_addr"], 1, types.UD), _lanes(m, instruction), instruction)


@semantics("ret", "fret")
def ret(m: Machine, instruction: Instruction) -> Step:
    return m.leave(_lanes(m, instruction))


@semantics("barrier")
def barrier(m: Machine, instruction: Instruction) -> Step:
    return m.barrier(True, True, instruction)


@semantics("sbarrier.signal")
def sbarrier_signal(m: Machine, instruction: Instruction) -> Step:
    return m.barrier(True, False, instruction)


@semantics("sbarrier.wait")
def sbarrier_wait(m: Machine, instruction: Instruction) -> Step:
    return m.barrier(False, True, instruction)


@semantics("nbarrier.signal")
def nbarrier_signal(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    return m.named_barrier(
        source(m, args["barrier_id"], 1, types.UD), source(m, args["thread_count"], 1, types.UD), instruction
    )


@semantics("nbarrier.wait")
def nbarrier_wait(m: Machine, instruction: Instruction) -> Step:
    return m.named_barrier(source(m, instruction.args["barrier_id"], 1, types.UD), None, instruction)


for _name in (
    ".label", ".function", ".file", ".loc", "lifetime", "yield", "fence_global", "fence_local", "fence_sw", "lsc_fence", "sampler_cache_flush", "wait",
):  # fmt: skip
    SEMANTICS[_name] = nothing
