"""Interleaving of chains in long straight code: a list scheduler in front of LLVM's.

Compilers unroll loops and leave the chain of one accumulator whole behind that of another. A processor looks a hundred
instructions ahead: where a chain is longer, it waits for each result of the first one, and then for each of the second.
LLVM's scheduler orders for registers and sees no end of this. Here lines are ordered by their distance from the end of
the longest chain, if that takes less time by a model of the processor, and the values fit its registers.

Loads and stores keep their order, and nothing passes a call with effects, so rounding modes and faults stay where they
are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from vsim.engines.llvm.passes.lines import Line, result_type
from vsim.engines.llvm.passes.recurrence import REGISTERS, latency_of, occupied_by, vectors_of

LEAST_LINES = 200
"""Lines of a section at least: two windows."""
WINDOW = 96
"""Instructions that wait for operands at once, roughly (Zen 5, Golden Cove)."""
LEAST_GAIN = 1.2
"""How many times longer the section must take in its old order."""
_MOVABLE = re.compile(
    r"(?:add|sub|mul|and|or|xor|shl|lshr|ashr|[if]cmp|select|f(?:add|sub|mul|div|neg)|[sz]ext|trunc|bitcast|fpext"
    r"|fptrunc|[su]itofp|fpto[su]i|freeze|getelementptr|(?:insert|extract)element|extractvalue|shufflevector"
    r"|call <?[\w ]+>? @llvm\.(?:fma|sqrt|fabs|copysign|floor|ceil|trunc|rint|roundeven|abs|fsh[lr]|bswap|bitreverse"
    r"|ctpop|ct[lt]z|[us](?:min|max|add\.sat|sub\.sat)|m(?:in|ax)num))\b"
)
"""What has no effect and no fault."""


def interleave(text: str, bits: int) -> str:
    """A module in which long sections of blocks run in another order, where that takes less time.

    Args:
        bits: of the processor's vectors.
    """
    blocks = text.split(":\n")  # Sections end at labels.
    return ":\n".join(_interleaved(b, bits) if b.count("\n") >= LEAST_LINES else b for b in blocks)


def _interleaved(block: str, bits: int) -> str:
    """A block whose long sections run in another order where that takes less time."""
    found: list[str] = []
    section: list[Line] = []
    for line in map(Line, block.split("\n")):
        if _may_move(line):
            section.append(line)
            continue
        found += _ordered(section, bits)
        found.append(line.text)
        section = []
    return "\n".join([*found, *_ordered(section, bits)])


def _may_move(line: Line) -> bool:
    """Whether a line can be part of a section."""
    plain = bool(line.place) and " volatile " not in line.operation
    return plain or bool(line.result and _MOVABLE.match(line.operation))


def _ordered(section: Sequence[Line], bits: int) -> list[str]:
    """The text of a section, in its new order where that is better."""
    texts = [line.text for line in section]
    if len(section) < LEAST_LINES:
        return texts
    graph, limit = _Graph(section, bits), REGISTERS[bits]
    old = range(len(texts))
    before = graph.cycles(old)
    if before < LEAST_GAIN * graph.least_cycles():
        return texts
    order = graph.schedule()
    if before < LEAST_GAIN * graph.cycles(order) or graph.vectors(order) > max(limit, graph.vectors(old)):
        return texts
    return [texts[n] for n in order]


class _Node(NamedTuple):
    """A line: the lines that it needs, and the cycles and vectors that it takes."""

    needs: Sequence[int]
    latency: float
    occupied: float
    vectors: int


class _Graph:
    """The lines of a section, by number, and their dependences."""

    def __init__(self, section: Sequence[Line], bits: int) -> None:
        self.nodes: list[_Node] = []
        self.users: list[list[int]] = [[] for _ in section]
        self.accesses = [n for n, line in enumerate(section) if line.place]
        where: dict[str, int] = {}
        for n, line in enumerate(section):
            needs = {where[x] for x in line.uses if x in where}
            if line.result:
                where[line.result] = n
            kind = result_type(line.operation) if line.result else None
            latency = latency_of(line) if line.result else 0
            vectors = vectors_of(kind, bits) if kind else 0
            self.nodes.append(_Node(tuple(needs), latency, occupied_by(line, bits), vectors))
            for x in needs:
                self.users[x].append(n)
        self.heights = [0.0] * len(section)
        """Cycles from a line's beginning to the end of the longest chain behind it."""
        for n in reversed(range(len(section))):
            behind = max((self.heights[x] for x in self.users[n]), default=0.0)
            self.heights[n] = self.nodes[n].latency + behind

    def least_cycles(self) -> float:
        """Cycles below which no order comes."""
        return max(max(self.heights), sum(node.occupied for node in self.nodes))

    def schedule(self) -> list[int]:
        """An order: of the lines whose operands are there, the one with the longest chain behind it goes first."""
        waits = [len(node.needs) for node in self.nodes]
        following = dict(pairwise(self.accesses))
        for n in following.values():
            waits[n] += 1
        times = [0.0] * len(waits)
        ready: list[tuple[float, int]] = []
        later = [(0.0, n) for n, count in enumerate(waits) if not count]
        order: list[int] = []
        now = 0.0
        while ready or later:
            if not ready:
                now = max(now, later[0][0])
            while later and later[0][0] <= now:
                n = heappop(later)[1]
                heappush(ready, (-self.heights[n], n))
            n = heappop(ready)[1]
            order.append(n)
            now += self.nodes[n].occupied
            ends = [(x, now + self.nodes[n].latency) for x in self.users[n]]
            if n in following:
                ends.append((following[n], now))
            for x, end in ends:
                waits[x] -= 1
                times[x] = max(times[x], end)
                if not waits[x]:
                    heappush(later, (times[x], x))
        return order

    def cycles(self, order: Sequence[int]) -> float:
        """Cycles that an order takes on a processor with a window."""
        done = [0.0] * len(self.nodes)
        begun: list[float] = []
        busy = 0.0
        for k, n in enumerate(order):
            node = self.nodes[n]
            begin = max((done[x] for x in node.needs), default=0.0)
            if k >= WINDOW:
                begin = max(begin, begun[k - WINDOW])
            busy += node.occupied
            done[n] = begin + node.latency
            begun.append(max(begin, begun[-1]) if begun else begin)
        return max(busy, *done)

    def vectors(self, order: Sequence[int]) -> int:
        """The most vectors that live at once in an order."""
        uses = [len(users) for users in self.users]
        live = most = 0
        for n in order:
            live += self.nodes[n].vectors if uses[n] else 0
            most = max(most, live)
            for x in self.nodes[n].needs:
                uses[x] -= 1
                live -= 0 if uses[x] else self.nodes[x].vectors
        return most
