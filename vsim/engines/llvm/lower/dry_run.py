"""The dry run: facts about a function's storage from a first emission, which is thrown away.

The registers that a block reads and writes are known once its instructions were emitted. These give the live values
between blocks (only that is stored), how large stack slots must be, which begin with zeros, and which values can be
carried on in SSA form to the blocks that their only writer dominates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from visakit.isa.record import Flow
from vsim.analysis.control_flow import ControlFlow
from vsim.analysis.dominators import Dominators, Graph
from vsim.analysis.liveness import liveness
from vsim.engines.llvm.lower.block_use import BlockNeeds, BlockUse
from vsim.engines.llvm.lower.state import ENTRY, FunctionState
from vsim.engines.llvm.lower.storage import Key, is_predicate


@dataclass(frozen=True)
class StorageUse:
    """What the blocks of a function need of each other. Sets of registers are integers with a bit for each."""

    extents: Mapping[Key, int]
    """How far accesses to registers go, rounded to what storage can have."""
    unwritten: frozenset[Key]
    """Registers that are read before they are written: they begin with zeros."""
    bits: Mapping[Key, int]
    live_out: Mapping[int, int]
    stored: Mapping[int, int]
    """What other blocks read from storage, by block."""
    only_writer: Mapping[Key, int]
    """The block of registers that one block alone writes."""
    dominators: Dominators
    repeats: Mapping[int, int]
    """The block from which the first way back leads to a block or in front of it, of those from that block on."""
    dead_if_inactive: Mapping[int, int]
    """Registers that are dead in inactive lanes, per block (bit sets)."""

    def needs(self, state: FunctionState, block: int) -> BlockNeeds:
        """What the others want of a block."""
        live, stored, bits = self.live_out[block], self.stored[block], self.bits
        visible = state.storage.is_visible
        return BlockNeeds(
            stores=lambda key: bool(stored & bits.get(key, 0)) or visible(key),
            carries=lambda key: self.only_writer.get(key) == block and bool(live & bits.get(key, 0)),
            sees=lambda other: self.dominators.dominates(other, block),
            lies_in=lambda other: self._lies_in(block, other),
            dead_if_inactive=lambda key: self.is_dead_if_inactive(key, block),
        )

    def is_dead_if_inactive(self, key: Key, block: int) -> bool:
        """Whether a register is dead in inactive lanes while a block runs."""
        return bool(self.dead_if_inactive.get(block, 0) & self.bits.get(key, 0))

    def _lies_in(self, block: int, other: int) -> bool:
        """Whether all lanes that run in a block ran in another one when that was run last.

        All of them went through the other, as it dominates the block. It is not run again before they are there, as the
        lanes at the smallest pc run first, and none of those leads back that far.
        """
        return other < block <= self.repeats.get(other, -1) and self.dominators.dominates(other, block)


class _Uses:
    """What blocks do to storage, by block, with a bit for each register."""

    def __init__(self, state: FunctionState, uses: Mapping[int, BlockUse], extents: Mapping[Key, int]) -> None:
        self.state, self.uses, self.extents = state, uses, extents
        self.bits: dict[Key, int] = {}
        for use in uses.values():
            for key in use.exposed | use.written:
                self.bits.setdefault(key, 1 << len(self.bits))

    def as_bits(self, keys: Iterable[Key]) -> int:
        """A set of registers."""
        found = 0
        for key in keys:
            found |= self.bits[key]
        return found

    def exposed(self) -> dict[int, int]:
        """Registers that blocks read before they write them."""
        return {n: self.as_bits(use.exposed) for n, use in self.uses.items()}

    def killed(self) -> dict[int, int]:
        """Registers that blocks overwrite whole."""
        return {n: self._whole(use.covered) for n, use in self.uses.items()}

    def killed_by_all(self) -> dict[int, int]:
        """Registers that blocks overwrite whole in the lanes that run."""
        return {n: self._whole(use.covered_by_all) for n, use in self.uses.items()}

    def _whole(self, covered: Mapping[Key, int]) -> int:
        """The registers of which all bytes are covered."""
        size = self.state.storage.size
        return self.as_bits(k for k, count in covered.items() if count >= self.extents.get(k, size(k)))

    def dead_if_inactive(self, successors: Mapping[int, Iterable[int]], passed: Mapping[int, int]) -> dict[int, int]:
        """For each block the registers that are dead in inactive lanes while it runs: such lanes wait at points behind
        it, or behind the calls of its subroutine and at points behind these, and read nothing there before they write
        it. Registers with exchanges between lanes are left out.
        """
        state, registers, flow = self.state, self.state.registers, self.state.flow
        hidden = self.as_bits(k for k in self.bits if k not in registers.crossed and not state.storage.is_visible(k))
        live_in = liveness([ENTRY, *flow.starts], successors, self.exposed(), self.killed_by_all(), passed).live_in
        found = {}
        outside = dict.fromkeys((0, *flow.subroutines), 0) | dict.fromkeys(flow.recursive, -1)
        blocks, waiting = flow.blocks_by_subroutine(), state.reconvergence.waiting()
        for subroutine in sorted(outside, key=lambda s: -len(flow.reached.get(s, outside))):  # callers first
            for start, end in blocks[subroutine]:
                behind = outside[subroutine]
                for point in waiting[start]:
                    behind |= live_in[point]
                found[start] = hidden & ~behind
                for called in flow.called(end - 1):
                    outside[called] |= behind | live_in.get(end, 0)
        return found

    def only_writer(self) -> dict[Key, int]:
        """The block of each register with one writing block, for registers that only named accesses see."""
        writers: dict[Key, list[int]] = {}
        for n, use in self.uses.items():
            for key in use.written:
                writers.setdefault(key, []).append(n)
        hidden = (k for k in writers if not is_predicate(k) and not self.state.storage.is_visible(k))
        return {key: writers[key][0] for key in hidden if len(writers[key]) == 1}

    def unstored(self, only_writer: Mapping[Key, int], dominators: Dominators, live_out: Mapping[int, int]) -> int:
        """Registers that storage need not hold: all readers come behind the only writer and are dominated by it."""
        readers: dict[Key, list[int]] = {}
        for n, use in self.uses.items():
            for key in use.exposed | {k for k in use.merged if live_out[n] & self.bits[k]}:
                readers.setdefault(key, []).append(n)
        return self.as_bits(
            key
            for key, block in only_writer.items()
            if all(n > block and dominators.dominates(block, n) for n in readers.get(key, ()))
        )


def storage_use(state: FunctionState, uses: Mapping[int, BlockUse]) -> StorageUse:
    """The storage that a function uses, from what each of its blocks does to it (see :class:`BlockUse`)."""
    storage, flow = state.storage, state.flow
    reached = state.registers.extents.items()
    extents = {key: storage.rounded(key, high) for key, high in reached if not storage.is_visible(key)}
    found = _Uses(state, uses, extents)
    successors = _successors(state)
    next_point = state.reconvergence.next_point
    passed = {n: following for n in state.reconvergence.points if (following := next_point(n)) is not None}
    killed = found.killed()
    live = liveness([ENTRY, *flow.starts], successors, found.exposed(), killed, passed)
    dominators = Dominators(_emitted_graph(state, successors), ENTRY)
    only_writer = found.only_writer()
    unstored = found.unstored(only_writer, dominators, live.live_out)
    # Inputs may fill a register in part: the rest must not hold old values of the stack.
    unwritten = frozenset(key for key, bit in found.bits.items() if bit & live.live_in[0] & ~killed[ENTRY])
    stored = {n: out & ~unstored for n, out in live.live_out.items()}
    repeats = _repeats(flow, successors)
    dead_if_inactive = found.dead_if_inactive(successors, passed)
    return StorageUse(
        extents, unwritten, found.bits, live.live_out, stored, only_writer, dominators, repeats, dead_if_inactive
    )


def _repeats(flow: ControlFlow, successors: Mapping[int, Iterable[int]]) -> dict[int, int]:
    """For each block, the nearest one from it on, in its subroutine, that leads to it or in front of it; where none
    does, one behind all of these. Nothing of subroutines that may run again before they end.
    """
    found = {}
    for subroutine, blocks in flow.blocks_by_subroutine().items():
        if subroutine in flow.recursive:
            continue
        starts = [start for start, _ in blocks]
        inside = set(starts)
        back = sorted((target, n) for n in starts for target in successors[n] if target <= n and target in inside)
        heap, at, last = list[int](), 0, flow.subroutine_end(subroutine) - 1
        for start in starts:
            while at < len(back) and back[at][0] <= start:
                heappush(heap, back[at][1])
                at += 1
            while heap and heap[0] < start:
                heappop(heap)
            found[start] = heap[0] if heap else last
    return found


def _successors(state: FunctionState) -> dict[int, set[int]]:
    return {ENTRY: {0}} | {start: state.block_successors(end) for start, end in state.flow.blocks()}


def emitted_graph(state: FunctionState) -> Graph:
    """Edges between emitted blocks, from :data:`ENTRY` on; nodes below it are no blocks."""
    return _emitted_graph(state, _successors(state))


def _emitted_graph(state: FunctionState, successors: Mapping[int, Iterable[int]]) -> Graph:
    """Edges between emitted blocks.

    The code that gathers waiting lanes in front of a reconvergence point is a node (-2 - start), with an edge
    leads over the point's block to the next point if no lane runs. So is the end of a subroutine (-2 - end - start):
    a call that no lane takes goes there, and from there to whichever call was the last.
    """
    flow, points = state.flow, set(state.reconvergence.points)

    def entrance(start: int) -> int:
        return -2 - start if start in points else start

    def next_waiting(pc: int) -> set[int]:
        following = state.reconvergence.next_point(pc)
        if following is not None:
            return {entrance(following)}
        subroutine = flow.subroutine_of(pc)
        return {-2 - flow.end - subroutine} if subroutine in flow.subroutines else set()

    graph = {n: {entrance(s) for s in found} for n, found in successors.items()}
    for start, end in flow.blocks():
        last = state.function.instructions[end - 1]
        if last.desc.flow is Flow.CALL:
            graph[start] |= {-2 - flow.end - target for target in flow.targets(last)}
        elif last.desc.flow.ends_lanes:
            graph[start] |= next_waiting(end - 1)
    for start in points:
        converged = start in state.reconvergence.converged
        graph[-2 - start] = {start} if converged else {start, *next_waiting(start)}
    for subroutine in flow.subroutines:
        graph[-2 - flow.end - subroutine] = {entrance(s) for s in flow.return_sites[subroutine] if s < flow.end}
    return graph
