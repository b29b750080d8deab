"""Stores of lanes that walk: each lane writes a separate row, one element after the other, as in ``for (k = 0; k < n;
k++) out[row * n + k] = sum``.

In such a loop the place of a lane is a number from in front of the loop plus a counter. What distances the lanes have
is for others to say: an emission knows it (``memory/pattern.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

from visakit.isa.record import Access, Pipe
from visakit.language.operands import Immediate
from visakit.language.program import Instruction
from vsim.analysis.control_flow import ControlFlow
from vsim.analysis.named_registers import variables
from vsim.analysis.read_only_loops import is_increment
from vsim.semantics.registers import Layout

MOST_WORK = 8
"""Instructions for each access of all lanes, up to which a loop does little else."""
_HEAVY = 8
"""How many times as much work it is to divide, or to compute a root, a power or a sine."""
_ADDRESSES = ("addr", "offsets", "addresses")
"""The fields of messages with a place for each lane."""
_LARGEST_SHIFT = 4
"""Of a counter to its bytes."""


def walking_stores(flow: ControlFlow, layout: Layout) -> frozenset[int]:
    """The stores of innermost loops that do little else, whose lanes walk."""
    found: set[int] = set()
    taken: set[int] = set()
    for branch, target in sorted(flow.backward, key=lambda way: way[0] - way[1]):
        places = range(target, branch + 1)
        body = flow.function.instructions[target : branch + 1]
        if taken.isdisjoint(places) and _does_little(body):
            loop = _Loop(body, layout)
            found |= {n for n, i in zip(places, body, strict=True) if i.desc.access is Access.STORE and loop.walks(i)}
        taken.update(places)
    return frozenset(found)


def _does_little(body: Sequence[Instruction]) -> bool:
    """Whether a loop has few instructions for each access."""
    work = accesses = 0
    for i in body:
        lanes = i.args["exec"].size if "exec" in i.args else 1
        if lanes > 1 and i.desc.access is not Access.NONE:
            accesses += lanes
        elif lanes > 1:
            work += lanes * (_HEAVY if i.desc.pipe is Pipe.EM else 1)
    return work <= MOST_WORK * accesses


class _Loop:
    """The instructions of a loop by the registers that they write."""

    def __init__(self, body: Sequence[Instruction], layout: Layout) -> None:
        self.layout = layout
        self.writers: dict[int, list[Instruction]] = {}
        for i in body:
            for root in variables(layout, i.args.get("dst")):
                self.writers.setdefault(root, []).append(i)

    def walks(self, store: Instruction) -> bool:
        """Whether the addresses of a store are sums of loop invariants and counters of the loop."""
        todo = list(variables(self.layout, *(store.args.get(name) for name in _ADDRESSES)))
        known, counts = set(todo), False
        while todo:
            for i in self.writers.get(todo.pop(), ()):
                if is_increment(i):
                    counts = True
                elif not _adds(i):
                    return False
                else:
                    new = variables(self.layout, i.args.get("src0"), i.args.get("src1")) - known
                    known |= new
                    todo += new
        return counts


def _adds(i: Instruction) -> bool:
    """Whether an instruction adds, copies, or multiplies by the size of an element."""
    shift = i.args.get("src1")
    is_size = i.desc.semantics == "shl" and isinstance(shift, Immediate) and shift.bits <= _LARGEST_SHIFT
    return is_size or i.desc.semantics in ("add", "mov")
