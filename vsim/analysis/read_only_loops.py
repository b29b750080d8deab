"""Loops in which a thread only computes and reads memory. Within such a loop a loaded value stays valid, as far as a
program may rely on that.
"""

from __future__ import annotations

from collections.abc import Sequence

from visakit.isa.record import Access, Flow, MemoryKind
from visakit.language.operands import General, Immediate
from visakit.language.program import Instruction
from vsim.analysis.control_flow import ControlFlow
from vsim.analysis.named_registers import computed_from, variables
from vsim.semantics.refused import RAW_MESSAGES
from vsim.semantics.registers import Layout

_MESSAGES = ("sync", "lsc")
"""Categories whose instructions order accesses to memory, or wait, if they neither read nor write."""
LARGEST_STEP = 16
"""Largest step of a loop's induction variable in elements or bytes: a loop may cover all elements in several."""
_WITHIN = (Flow.NEXT, Flow.LABEL, Flow.GOTO, Flow.JUMP, Flow.SWITCH)


def only_reads_memory(instruction: Instruction) -> bool:
    """Whether an instruction neither writes memory, nor orders accesses to it, nor lets others run."""
    desc = instruction.desc
    if desc.flow not in _WITHIN or desc.semantics in RAW_MESSAGES:
        return False
    silent = desc.access is Access.NONE and desc.memory is MemoryKind.NONE and desc.category not in _MESSAGES
    return desc.access is Access.LOAD or silent


def is_increment(instruction: Instruction) -> bool:
    """Whether an instruction changes a variable by a small number, as those do that count elements or their bytes."""
    args = instruction.args
    dst, operands = args.get("dst"), [a for name, a in args.items() if name != "dst"]
    itself = isinstance(dst, General) and any(isinstance(o, General) and o.var == dst.var for o in operands)
    return itself and any(isinstance(o, Immediate) and 0 < o.bits <= LARGEST_STEP for o in operands)


def read_only_loops(flow: ControlFlow, layout: Layout) -> dict[int, range]:
    """The instructions of read-only loops with an induction variable, and for each its innermost loop. Loads at
    addresses that depend on values loaded in the loop are left out: their addresses depend on data and are not
    consecutive. A loop is the range between a backward branch and its target.
    """
    found: dict[int, range] = {}
    taken: set[int] = set()
    for branch, target in sorted(flow.backward, key=lambda way: way[0] - way[1]):
        inside = set(range(target, branch + 1)) - taken
        taken |= inside
        body = flow.function.instructions[target : branch + 1]
        if all(only_reads_memory(i) for i in body) and any(is_increment(i) for i in body):
            loop = range(target, branch + 1)
            found |= dict.fromkeys(inside - _led_by_data(loop, body, layout), loop)
    return found


def _led_by_data(places: range, body: Sequence[Instruction], layout: Layout) -> set[int]:
    """The loads of a loop whose addresses depend on values that the loop loads; the order of instructions is
    ignored.
    """
    reads = [variables(layout, *(op for name, op in i.args.items() if name != "dst")) for i in body]
    writes = [variables(layout, i.args.get("dst")) for i in body]
    loads = [n for n, i in enumerate(body) if i.desc.access is Access.LOAD]
    data = computed_from((root for n in loads for root in writes[n]), reads, writes)
    return {places[n] for n in loads if reads[n] & data}
