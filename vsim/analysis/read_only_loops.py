"""Loops in which a thread only computes and reads memory. Within such a loop a loaded value stays valid, as far as a
program may rely on that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from visakit.isa.record import Access, Flow, MemoryKind
from visakit.language.operands import General, Immediate
from visakit.language.program import Instruction
from vsim.analysis.control_flow import ControlFlow
from vsim.analysis.named_registers import ComputedRegisters, variables
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
    body = flow.function.instructions
    if not flow.backward:
        return {}
    others = [n for n, i in enumerate(body) if not only_reads_memory(i)]
    increments = [n for n, i in enumerate(body) if is_increment(i)]
    loaded: dict[int, _LoadedValues] = {}
    found: dict[int, range] = {}
    for loop, own in flow.loops():
        if not _has_any(others, loop) and _has_any(increments, loop):
            inside = set(own)
            if loads := [n for n in own if body[n].desc.access is Access.LOAD]:
                values = loaded.setdefault(loop.start, _LoadedValues(body, layout, loop.start))
                values.grow(loop.stop)
                inside.difference_update(n for n in loads if values.lead(n))
            found |= dict.fromkeys(inside, loop)
    return found


def _has_any(numbers: Sequence[int], loop: range) -> bool:
    """Whether one of some numbers, in ascending order, is in a loop."""
    n = bisect_left(numbers, loop.start)
    return n < len(numbers) and numbers[n] < loop.stop


class _LoadedValues:
    """The registers that depend on values which a loop loads; the order of instructions is ignored. The loop grows from
    one branch back to its beginning to the next.
    """

    def __init__(self, body: Sequence[Instruction], layout: Layout, start: int) -> None:
        self._body, self._layout = body, layout
        self._end = start
        self._reads: dict[int, frozenset[int]] = {}
        """The variables that each instruction reads."""
        self._values = ComputedRegisters[int]()

    def grow(self, end: int) -> None:
        """Let the loop end in front of an instruction."""
        for n in range(self._end, end):
            i = self._body[n]
            results = variables(self._layout, i.args.get("dst"))
            reads = variables(self._layout, *(op for name, op in i.args.items() if name != "dst"))
            self._reads[n] = reads
            self._values.add_instruction(reads, results)
            if i.desc.access is Access.LOAD:
                self._values.add(results)
        self._end = max(self._end, end)

    def lead(self, load: int) -> bool:
        """Whether they lead a load to its address."""
        return not self._values.found.isdisjoint(self._reads[load])
