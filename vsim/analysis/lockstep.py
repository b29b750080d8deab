"""Lockstep variables: vectors of a loop that are the same in all lanes which are still in it.

Compilers keep a counter for each lane where lanes leave a loop one by one and read the counter behind it::

    mov (M1, 16) N(0,0)<1> 0x0:d              in the block in front of the loop
    LOOP:
    add (M1, 16) AT(0,0)<1> HERE(0,0)<1;1,0> N(0,0)<1;1,0>
    ...
    (P1) goto (M1, 16) DONE
    add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> 0x1:w
    (P2) goto (M1, 16) LOOP

As lanes at the smallest pc run first, those of a loop go through its rounds together: all enter at its head, which
only the block in front of it and its last instruction lead to; all that go on have come to the last instruction before
one goes back; and lanes that leave wait behind it. The result of an instruction of each round is the same in these
lanes if its sources are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from visakit.isa.record import Access, Flow
from visakit.language.operands import General, region_elements
from visakit.language.program import FIRST_VARIABLE, Instruction
from vsim.analysis.control_flow import ControlFlow
from vsim.analysis.dominators import Dominators, Graph
from vsim.analysis.uniformity import is_scalar
from vsim.semantics.registers import Layout

_LANEWISE = ("add", "mov")
"""Instructions that count; their results are the same in lanes with the same sources."""
_WITHIN = (Flow.NEXT, Flow.LABEL, Flow.GOTO)

Place = tuple[int, int, int]
"""A root variable, the byte at which its lanes begin, and the bytes of a lane."""


@dataclass
class LockstepLoop:
    """A loop whose lanes go through its rounds together; ``front`` is the block in front of it."""

    flow: ControlFlow
    places: range
    front: range
    dominators: Dominators
    repeated: Sequence[range]
    """The loops in it."""
    writers: dict[Place, list[int]] = field(default_factory=dict)
    """The instructions that write each lockstep variable: the last one in front of the loop, and those in it."""

    def holds(self, place: Place, pc: int) -> bool:
        """Whether all lanes that run at an instruction of the loop find there what its last writer has written."""
        before = [n for n in self.writers.get(place, ()) if n < pc]
        if not before or pc not in self.places:
            return False
        here, block_of = self.flow.block_of(pc), self.flow.block_of
        return all(self.dominators.dominates(block_of(n), here) for n in before if n in self.places)

    def runs_once(self, pc: int) -> bool:
        """Whether each lane that comes to the end of a round has run an instruction once in it."""
        block_of = self.flow.block_of
        always = self.dominators.dominates(block_of(pc), block_of(self.places[-1]))
        return always and not any(pc in places for places in self.repeated)


def _accesses_memory(body: Sequence[Instruction]) -> bool:
    """Whether a loop accesses memory, and no lane leaves the function in it."""
    return all(i.desc.flow in _WITHIN for i in body) and any(i.desc.access is not Access.NONE for i in body)


def lockstep_loops(
    flow: ControlFlow, layout: Layout, lanes: int, writers: Mapping[int, Set[int]]
) -> list[LockstepLoop]:
    """The loops of a function that access memory and have lockstep variables, the innermost ones first.

    Args:
        flow: with all gotos as branches.
        lanes: of a thread.
        writers: the instructions that write each root variable.
    """
    if flow.subroutines:
        return []
    found, ways = [], _Ways(flow, lanes)
    ordered = {root: sorted(places) for root, places in writers.items()}
    written: dict[int, list[int]] = {}
    for root, places in writers.items():
        for n in places:
            written.setdefault(n, []).append(root)
    for latch, header in sorted(flow.backward, key=lambda way: way[0] - way[1]):
        loop = ways.loop(range(header, latch + 1))
        if loop is not None:
            roots = {root for n in loop.places for root in written.get(n, ())}
            loop.writers = _lockstep_writers(flow, layout, loop, lanes, {root: ordered[root] for root in roots})
            found += [loop] if loop.writers else []
    return found


class _Ways:
    """The ways between the blocks of a function."""

    def __init__(self, flow: ControlFlow, lanes: int) -> None:
        self.flow = flow
        self.after = {start: flow.successors(end - 1, lanes) for start, end in flow.blocks()}
        self.before: dict[int, list[int]] = {}
        for start, found in self.after.items():
            for n in found:
                self.before.setdefault(n, []).append(start)

    def loop(self, places: range) -> LockstepLoop | None:
        """The loop between the target of a branch back and this branch, if lanes go through the rounds together: ways
        lead into it from the block in front of it alone, and back, or in front of it, from its last block alone.
        """
        flow, header = self.flow, places.start
        inside = flow.backward[bisect_left(flow.backward, (header, 0)) : bisect_left(flow.backward, (places[-1], 0))]
        leads_back = any(target <= header for _, target in inside)
        if leads_back or not _accesses_memory(flow.function.instructions[header : places.stop]):
            return None
        starts = flow.starts[bisect_left(flow.starts, header) : bisect_left(flow.starts, places.stop)]
        entries = [(way, n) for n in starts for way in self.before.get(n, ()) if way not in places]
        front = flow.block_of(header - 1) if header else -1
        if entries != [(front, header)]:
            return None
        graph: Graph = {start: {n for n in self.after[start] if n in places and n != header} for start in starts}
        repeated = [range(t, s + 1) for s, t in inside]
        return LockstepLoop(flow, places, range(front, header), Dominators(graph, header), repeated)


def _lockstep_writers(
    flow: ControlFlow, layout: Layout, loop: LockstepLoop, lanes: int, writers: Mapping[int, Sequence[int]]
) -> dict[Place, list[int]]:
    """The writers of the lockstep variables: the greatest fixed point, from all variables on that instructions with
    lanewise results alone write.
    """
    instructions = flow.function.instructions
    for places in writers.values():
        first = bisect_left(places, loop.places.start)
        inside = places[first : bisect_left(places, loop.places.stop)]
        written = {_result(layout, instructions[n], lanes) for n in inside}
        place = written.pop() if len(written) == 1 else None
        if place and all(map(loop.runs_once, inside)):
            last = [n for n in places[max(first - 1, 0) : first] if n in loop.front]
            own = [n for n in last if _result(layout, instructions[n], lanes) == place]
            loop.writers[place] = [*own, *inside]
    while True:
        wrong = [
            place
            for place, own in loop.writers.items()
            if not all(_has_same_sources(layout, instructions[n], loop, n, lanes) for n in own)
        ]
        if not wrong:
            return _carried(flow, layout, loop, lanes)
        for place in wrong:
            del loop.writers[place]


def _carried(flow: ControlFlow, layout: Layout, loop: LockstepLoop, lanes: int) -> dict[Place, list[int]]:
    """The lockstep variables that a round takes from the one before, and the variables in their sums."""
    todo = [place for place, own in loop.writers.items() if own[0] in loop.front]
    found = dict[Place, list[int]]()
    while todo:
        place = todo.pop()
        if place in loop.writers and place not in found:
            found[place] = loop.writers[place]
            for n in found[place]:
                sources = (op for op in _sources(flow.function.instructions[n]) if isinstance(op, General))
                todo += [source for op in sources if (source := _consecutive(layout, op, lanes))]
    return found


def _result(layout: Layout, instruction: Instruction, lanes: int) -> Place | None:
    """What an instruction writes with lanewise results, if these are consecutive, for all lanes."""
    args = instruction.args
    dst, execution = args.get("dst"), args.get("exec")
    if instruction.desc.semantics not in _LANEWISE or args.get("pred") is not None or not isinstance(dst, General):
        return None
    if execution is None or execution.no_mask or (execution.offset, execution.size) != (0, lanes):
        return None
    return _consecutive(layout, dst, lanes)


def _consecutive(layout: Layout, op: General, lanes: int) -> Place | None:
    """The place of an operand with an integer for each lane, one behind the other."""
    if not op.var or not layout.function.variable_type(op.var).is_integer:
        return None
    root, low, size = layout.place(op)
    plain = list(region_elements(op.region, lanes)) == list(range(lanes))
    own = root >= FIRST_VARIABLE and root not in layout.file_offsets
    return (root, low, size) if plain and own else None


def _has_same_sources(layout: Layout, instruction: Instruction, loop: LockstepLoop, pc: int, lanes: int) -> bool:
    """Whether all lanes have the same sources: constants, scalars and lockstep variables."""
    for op in _sources(instruction):
        if is_scalar(op):
            continue
        place = _consecutive(layout, op, lanes) if isinstance(op, General) else None
        if place is None or not loop.holds(place, pc):
            return False
    return True


def _sources(instruction: Instruction) -> list[object]:
    return [op for name, op in instruction.args.items() if name.startswith("src")]
