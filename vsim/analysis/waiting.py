"""Which functions can stop in their middle, as their hardware thread waits for others."""

from __future__ import annotations

from visakit.isa.record import Access, Flow, MemoryKind
from visakit.language.program import Function, Instruction
from visakit.objects.image import LinkedImage
from vsim.analysis.reachability import reachable
from vsim.analysis.spin_loops import spins
from vsim.semantics.messages import flow_of
from vsim.semantics.refused import RAW_MESSAGES


def touches_memory(instruction: Instruction) -> bool:
    """Whether an instruction reads or writes memory that other threads can access."""
    desc = instruction.desc
    return desc.memory is not MemoryKind.NONE or desc.access is not Access.NONE or desc.semantics in RAW_MESSAGES


def group_barriers(function: Function) -> list[int]:
    """The instructions at which threads wait for their whole work-group."""
    return [n for n, i in enumerate(function.instructions) if i.desc.flow is Flow.BARRIER]


def waiting_functions(image: LinkedImage, kernel: Function, takes_turns: bool = False) -> list[Function]:
    """The functions that a kernel can run, including the kernel, in which a thread can wait: at a barrier, in a spin
    loop, or in a function that they call.

    Args:
        takes_turns: threads also wait for their turn, in front of each access to memory.
    """
    reached = reachable(image, kernel)
    found = [
        f
        for f in reached.functions
        if any(_waits(f.instructions[n], image.grf_size, takes_turns) for n in reached.of(f))
        or spins(f, image.grf_size)
    ]
    known = {id(f) for f in found}
    while True:
        callers = [
            f
            for f in reached.functions
            if id(f) not in known and any(_calls(image, f, f.instructions[n], known) for n in reached.of(f))
        ]
        if not callers:
            return found
        found += callers
        known |= {id(f) for f in callers}


def _waits(instruction: Instruction, grf_size: int, takes_turns: bool) -> bool:
    return flow_of(instruction, grf_size).is_barrier or (takes_turns and touches_memory(instruction))


def _calls(image: LinkedImage, caller: Function, instruction: Instruction, known: set[int]) -> bool:
    """Whether an instruction may call one of some functions."""
    flow = instruction.desc.flow
    if flow is Flow.CALL_FUNCTION:
        callee = image.callee(caller, instruction.args["name"])
        return callee is not None and id(callee) in known
    return flow is Flow.CALL_ADDRESS and any(id(f) in known for f in image.module.functions)
