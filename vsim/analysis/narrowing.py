"""Threads of fewer lanes: a kernel for threads whose work-items are in their first lanes alone.

An instruction works for those lanes only; the payload of a message keeps its layout. An instruction for other lanes
becomes a mark without effect, so that numbers of instructions stay the same.

Example: ``add (M1, 32) V1(0,0)<1> V2(0,0)<1;1,0> 0x1:d`` for 16 lanes is ``add (M1, 16)``, of ``mov (M5, 16)`` is
nothing left.
"""

from __future__ import annotations

from dataclasses import replace

from visakit.isa import instruction_set
from visakit.isa.record import Access, Flow, Payload
from visakit.language.operands import Execution
from visakit.language.program import Function, Instruction
from vsim.analysis.arrays.lane_writes import LaneWrites, lane_writes
from vsim.analysis.register_accesses import Accesses
from vsim.analysis.uniformity import is_lanewise
from vsim.semantics.registers import layout_of

_LAID_OUT = frozenset((Payload.CHANNELS, Payload.DWORD, Payload.QWORDS, Payload.BLOCKS, Payload.ELEMENTS))
"""Payloads of messages that may execute for fewer lanes than they are laid out for."""


def narrowed(kernel: Function, lanes: int, independent: bool, grf_size: int) -> Function:
    """A kernel whose threads have work-items in their first ``lanes`` lanes alone.

    Instructions with an operand beyond its variable, which fault, stay unchanged.

    Args:
        independent: no lane reads what belongs to another one (:mod:`vsim.analysis.lanes.independence`), so that
            instructions that ignore the mask need not execute for the other lanes, either.
        grf_size: bytes of a register.
    """
    layout = layout_of(kernel, grf_size)
    accesses = Accesses(kernel, layout)
    instructions = [
        i if other is not i and accesses.beyond(i) else other
        for i in kernel.instructions
        for other in (_narrowed(i, lanes, independent),)
    ]
    if independent:
        for writes in lane_writes(kernel, layout, [(0, len(instructions))]):
            _keep_writes(instructions, writes, lanes)
    if not independent:
        return replace(kernel, instructions=instructions)
    predicates = [replace(p, elements=min(p.elements, lanes)) for p in kernel.predicates]
    return replace(kernel, instructions=instructions, predicates=predicates)


def _keep_writes(instructions: list[Instruction], writes: LaneWrites, lanes: int) -> None:
    """Keep writes of the first lanes alone, of which a single one needs no predicate."""
    for lane, n in enumerate(writes.instructions, writes.execution.offset):
        if lane >= lanes:
            instructions[n - 1], instructions[n] = _mark(instructions[n - 1]), _mark(instructions[n])
        elif lanes == 1:
            instructions[n - 1] = _mark(instructions[n - 1])
            instructions[n] = replace(instructions[n], args={**instructions[n].args, "pred": None})


def may_split(kernel: Function) -> bool:
    """Whether a thread of independent lanes may become several: messages are by lane and follow the mask, but scalar
    loads.
    """
    return all(_may_repeat(i) for i in kernel.instructions if i.desc.access is not Access.NONE)


def _may_repeat(message: Instruction) -> bool:
    """Whether a message may execute once for each part of a thread."""
    execution = message.args.get("exec")
    if execution is None or execution.size == 1:
        return message.desc.access is Access.LOAD
    return not execution.no_mask


def _narrowed(i: Instruction, lanes: int, independent: bool) -> Instruction:
    """An instruction for the first lanes; unchanged if no other lanes execute it, or if its effect is not lanewise."""
    desc, execution = i.desc, i.args.get("exec")
    if execution is None or execution.size == 1 or execution.offset + execution.size <= lanes:
        return i
    if execution.no_mask and not independent:
        return i
    if desc.flow is Flow.GOTO and not execution.offset:
        return _for_lanes(i, Execution(lanes, execution.mask))
    is_simple = desc.access is Access.NONE or desc.payload in _LAID_OUT
    if desc.flow is not Flow.NEXT or not is_lanewise(i) or not is_simple:
        return i
    if execution.offset >= lanes:
        return _mark(i)
    return _for_lanes(i, Execution(lanes - execution.offset, execution.mask, execution.size))


def _mark(i: Instruction) -> Instruction:
    """An instruction without effect in place of one."""
    return Instruction(instruction_set().by_mnemonic[".loc"][0], {"line": i.line}, i.line)


def _for_lanes(i: Instruction, execution: Execution) -> Instruction:
    return replace(i, args={**i.args, "exec": execution})
