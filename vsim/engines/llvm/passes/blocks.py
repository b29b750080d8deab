"""The text of a function, read back as blocks: what passes over it need to know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from vsim.analysis.dominators import Graph, immediate_dominators
from vsim.engines.llvm.passes.lines import ARM, LABEL, TARGET, TYPE, End, Line, read_end

FUNCTION = re.compile(r"^define .*?^}", re.MULTILINE | re.DOTALL)
ENDS = ("  br ", "  ret ", "  switch ", "  unreachable", "  indirectbr ")
"""What lines that end blocks begin with."""
_PHI = re.compile(rf"phi {TYPE} (.*)")
_NO_END = End("")


@dataclass
class Block:
    """A block; ``body`` holds the lines between its phis and its end."""

    name: str
    body: list[Line] = field(default_factory=list)
    end: End = _NO_END
    phis: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    """Type and values of each phi, the latter by the block that they come from."""
    before: list[str] = field(default_factory=list)
    """The blocks that it is reached from."""

    @property
    def successors(self) -> tuple[str, ...]:
        """The blocks behind it."""
        return self.end.targets


def blocks_of(lines: Iterable[str], switches: bool = False) -> dict[str, Block] | None:
    """Blocks by name, in the order of the text; None where one ends in another way than with a branch or a return.

    Args:
        switches: blocks may also end with switches.
    """
    blocks: dict[str, Block] = {}
    here: Block | None = None
    for text in lines:
        if label := text.endswith(":") and LABEL.fullmatch(text):
            here = blocks[label[1]] = Block(label[1])
        elif here is None or here.end.text or text.startswith(("  unreachable", "  indirectbr ")):
            return None
        elif text.startswith("  switch "):
            if not switches:
                return None
            here.end = End(text, targets=tuple(dict.fromkeys(TARGET.findall(text))))
        elif text.startswith(("  br ", "  ret ")):
            here.end = read_end(text)
        elif (line := Line(text)).operation.startswith("phi ") and (phi := _PHI.fullmatch(line.operation)):
            here.phis[line.result] = phi[1], {block: value for value, block in ARM.findall(phi[2])}
        else:
            here.body.append(line)
    for block in blocks.values():
        for other in block.successors:
            if other in blocks:
                blocks[other].before.append(block.name)
    return blocks


def reachable(ways: Mapping[str, Sequence[str]], first: str) -> set[str]:
    """The blocks that are reached from one, with it."""
    found, worklist = set[str](), [first]
    while worklist:
        name = worklist.pop()
        if name in ways and name not in found:
            found.add(name)
            worklist += ways[name]
    return found


def likely_blocks(blocks: Mapping[str, Block]) -> set[str]:
    """The blocks that are reached from the first one without an unlikely branch."""
    return reachable({name: block.end.likely_targets() for name, block in blocks.items()}, next(iter(blocks)))


def reaching(blocks: Mapping[str, Block], place: str) -> set[str]:
    """The blocks from which a way leads to a place."""
    found, worklist = set[str](), [name for name, block in blocks.items() if place in block.successors]
    while worklist:
        name = worklist.pop()
        if name not in found:
            found.add(name)
            worklist += blocks[name].before
    return found


def live_in(
    blocks: dict[str, Block], read: Mapping[str, Set[str]], written: Mapping[str, Set[str]]
) -> dict[str, set[str]]:
    """The names that are live at the beginning of each block.

    Args:
        read: names that a block reads, and does not write before.
        written: names that a block writes.
    """
    live, changed = {name: set(read[name]) for name in blocks}, True
    while changed:
        changed = False
        for name in reversed(blocks):
            behind = set[str]().union(*(live.get(other, ()) for other in blocks[name].successors))
            new = behind - written[name] - live[name]
            live[name] |= new
            changed |= bool(new)
    return live


def postdominators(blocks: Mapping[str, Block], end: str, without: Set[str]) -> dict[str, str]:
    """The immediate postdominator of each block: the first one behind it that all its ways to ``end`` lead through.

    Args:
        without: blocks that do not count.
    """
    names = [*blocks, end]
    number = {name: n for n, name in enumerate(names)}
    backwards: Graph = {n: set() for n in range(len(names))}
    for name, block in blocks.items():
        for other in block.successors:
            if other not in without:
                backwards[number[other]].add(number[name])
    immediate = immediate_dominators(backwards, number[end])
    return {names[n]: names[behind] for n, behind in immediate.items() if names[n] != end}


def loops_of(successors: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """The blocks of each loop, by its header."""
    before: dict[str, list[str]] = {name: [] for name in successors}
    for name, others in successors.items():
        for other in others:
            if other in before:
                before[other].append(name)
    loops: dict[str, set[str]] = {}
    for name, header in _back_edges(successors):
        found, worklist = loops.setdefault(header, {header}), [name]
        while worklist:
            block = worklist.pop()
            if block not in found:
                found.add(block)
                worklist += before[block]
    return loops


def innermost_loops(successors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The blocks of each loop without another one in it, in the order of the text, by the loop's header."""
    loops = loops_of(successors)
    innermost = {header: body for header, body in loops.items() if sum(name in loops for name in body) == 1}
    numbers = {name: n for n, name in enumerate(successors)}
    return {header: sorted(body, key=numbers.__getitem__) for header, body in innermost.items()}


def _back_edges(successors: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Edges to a block on the way to where they begin, from the first block on."""
    found: list[tuple[str, str]] = []
    first = next(iter(successors))
    way, seen = {first: iter(successors[first])}, {first}
    while way:
        name, others = next(reversed(way.items()))
        other = next(others, None)
        if other is None:
            del way[name]
        elif other in way:
            found.append((name, other))
        elif other in successors and other not in seen:
            seen.add(other)
            way[other] = iter(successors[other])
    return found
