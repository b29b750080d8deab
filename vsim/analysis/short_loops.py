"""Loops of few accesses to memory: code spends its time there, and there is little of it."""

from __future__ import annotations

from itertools import accumulate

from vsim.analysis.control_flow import ControlFlow
from vsim.analysis.waiting import touches_memory


def short_loops(flow: ControlFlow, most: int) -> frozenset[int]:
    """The instructions of loops that access memory at no more than so many places."""
    instructions = flow.function.instructions
    before = [0, *accumulate(touches_memory(i) for i in instructions)]
    changes = [0] * len(before)
    """By how many more loops an instruction is in than the one before it."""
    for branch, target in flow.backward:
        if before[branch + 1] - before[target] <= most:
            changes[target] += 1
            changes[branch + 1] -= 1
    return frozenset(n for n, loops in enumerate(accumulate(changes)) if loops)
