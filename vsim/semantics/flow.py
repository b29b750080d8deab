"""Control flow and synchronisation (manual: chapter 3, "Control Flow"; chapter 6, "Control Flow" and "Synchronization
Instructions").

What a jump does to lanes is the engine's business (it makes the lanes that leave wait at a reconvergence point); here
stands which lanes jump where. Fences, flushes and marks do nothing: memory has one order, and that is the order of the
instructions.
"""

from __future__ import annotations

from visakit.isa.record import Flow
from visakit.language import types
from visakit.language.operands import ACTIVE_LANES, EVERY_LANE, MAXIMUM_LANES, Execution
from visakit.language.program import Function, Instruction
from vsim.semantics.algebra import Algebra, Lanes, Machine, ReadMask, Step
from vsim.semantics.core import SEMANTICS, nothing, semantics, source


def reach(instruction: Instruction) -> Execution:
    """The lanes that a SIMD jump, call or return is about.

    Those of its mask and size; of size 1 those of the whole thread, which a scalar call takes whether they run or not,
    as its callee's call mask begins with all ones. With NoMask a call takes lanes that do not run, too.
    """
    execution: Execution = instruction.args["exec"]
    flow = instruction.desc.flow
    if execution.size > 1 and flow is not Flow.END:
        return execution
    return EVERY_LANE if flow.is_call else ACTIVE_LANES


def has_followers(function: Function, part: Execution) -> bool:
    """Whether lanes outside a jump, call or return follow its lanes.

    In a function for one work-item a thread (``Target="cm"``) jumps are as wide as the code around them, and the
    program does not use the lanes beyond. They follow the thread: back in a loop, or into a callee, with any other
    lane; forward, or out of a callee, with the last one.
    """
    return function.is_cm and part.size < MAXIMUM_LANES


def _lanes(m: Machine, instruction: Instruction) -> ReadMask:
    """Lanes that take a SIMD jump, call or return, of :func:`reach`: a predicate of size 1 is about all of them."""
    args = instruction.args
    execution, predicate = args["exec"], args["pred"]
    if execution.size > 1 or predicate is None:
        return m.mask(reach(instruction), predicate)
    return m.mask(Execution(1, execution.mask | EVERY_LANE.mask), predicate)


# -- jumps -----------------------------------------------------------------------------------------------------


@semantics("goto")
def goto(m: Machine, instruction: Instruction) -> Step:
    """The lanes that take it go on at the label, the others at the next instruction; a scalar one is a jump."""
    args = instruction.args
    if args["exec"].size == 1 and args["pred"] is not None:
        return jmp(m, instruction)
    return m.goto(args["label"], _lanes(m, instruction))


@semantics("jmp")
def jmp(m: Machine, instruction: Instruction) -> Step:
    """The whole thread continues at the label, or at the next instruction if the predicate does not hold."""
    pred = instruction.args["pred"]
    taken = m.predicate_bits(pred, Execution(1, 0)) if pred else None
    return m.jump(instruction.args["label"], taken)


@semantics("switchjmp")
def switchjmp(m: Machine, instruction: Instruction) -> Step:
    """The whole thread continues at the label with the index's number; beyond the last, at the next instruction."""
    return m.switch(instruction.args["labels"], source(m, instruction.args["index"], 1, types.UD))


# -- calls -----------------------------------------------------------------------------------------------------


@semantics("call")
def call(m: Machine, instruction: Instruction) -> Step:
    """The lanes that take it run a subroutine of the same function, and all go on together when they are back.

    A scalar call, and one with NoMask, has lanes run it that do not run before and behind it.
    """
    return m.call(instruction.args["label"], _lanes(m, instruction), instruction)


@semantics("fcall")
def fcall(m: Machine, instruction: Instruction) -> Step:
    """The lanes that take it run the function of a name; %arg, %retval, %sp and %fp are shared with it."""
    return m.call_function(instruction.args["name"], _lanes(m, instruction), instruction)


@semantics("ifcall")
def ifcall(m: Machine, instruction: Instruction) -> Step:
    """The lanes that take it run the function at an address, of which only the low 32 bits count."""
    return m.call_address(source(m, instruction.args["func_addr"], 1, types.UD), _lanes(m, instruction), instruction)


@semantics("ret", "fret")
def ret(m: Machine, instruction: Instruction) -> Step:
    """The lanes that take it leave the subroutine or function; in a kernel they end."""
    return m.leave(_lanes(m, instruction))


# -- barriers --------------------------------------------------------------------------------------------------


@semantics("barrier")
def barrier(m: Machine, instruction: Instruction) -> Step:
    """Arrive at the work-group's barrier and wait until all its threads have."""
    return m.barrier(True, True, instruction)


@semantics("sbarrier.signal")
def sbarrier_signal(m: Machine, instruction: Instruction) -> Step:
    """The first half of a split barrier: arrive, and go on."""
    return m.barrier(True, False, instruction)


@semantics("sbarrier.wait")
def sbarrier_wait(m: Machine, instruction: Instruction) -> Step:
    """The second half of a split barrier: wait until all threads have arrived."""
    return m.barrier(False, True, instruction)


@semantics("nbarrier.signal")
def nbarrier_signal(m: Machine, instruction: Instruction) -> Step:
    """Arrive at a named barrier, which opens when as many threads have arrived as ``thread_count`` says."""
    args, a = instruction.args, m.algebra
    number, count = (source(m, args[n], 1, types.UD) for n in ("barrier_id", "thread_count"))

    def arrival() -> Lanes:
        n = count() & a.const(0xFF, types.UD)
        return n | (n << a.const(8, types.UD)) | a.const(3 << 16, types.UD)

    return m.named_barrier(number, arrival, instruction)


@semantics("roles")
def nbarrier_signal_roles(m: Machine, instruction: Instruction) -> Step:
    """Arrive at a named barrier as producer and consumer (0), producer (1) or consumer (2).

    It opens when as many of both have arrived as the operands say.
    """
    args, a = instruction.args, m.algebra
    names = ("barrier_id", "role", "producers", "consumers")
    number, role, producers, consumers = (source(m, args[n], 1, types.UD) for n in names)

    return m.named_barrier(number, lambda: arrival(a, role(), producers(), consumers()), instruction)


def arrival(a: Algebra, role: Lanes, producers: Lanes, consumers: Lanes) -> Lanes:
    """An arrival at a named barrier as machines take it: expected producers and consumers, and the thread's role."""
    byte, one = a.const(0xFF, types.UD), a.const(1, types.UD)
    produces = ~(role >> one) & one
    consumes = ~role & one
    wanted = (producers & byte) | ((consumers & byte) << a.const(8, types.UD))
    return wanted | (produces << a.const(16, types.UD)) | (consumes << a.const(17, types.UD))


@semantics("nbarrier.wait")
def nbarrier_wait(m: Machine, instruction: Instruction) -> Step:
    """Wait until a named barrier opens."""
    return m.named_barrier(source(m, instruction.args["barrier_id"], 1, types.UD), None, instruction)


# -- without effect on results ---------------------------------------------------------------------------------

_MARKS = (".label", ".function", ".file", ".loc", "lifetime")
_HINTS = ("yield", "wait", "sampler_cache_flush", "fence_global", "fence_local", "fence_sw", "lsc_fence")

SEMANTICS |= dict.fromkeys((*_MARKS, *_HINTS), nothing)
