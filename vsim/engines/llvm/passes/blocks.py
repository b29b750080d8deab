"""The text of a function, read back as blocks: what passes over it need to know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from vsim.analysis.dominators import Graph, immediate_dominators
from vsim.engines.llvm.ir.emitter import LIKELY, UNLIKELY

NAME = re.compile(r"%[\w.]+")
RESULT = re.compile(r"  (%[\w.]+) = (.*)")
BRANCH = re.compile(r"  br i1 (\S+), label %([\w.]+), label %([\w.]+)(.*)")
JUMP = re.compile(r"  br label %([\w.]+)")
VECTOR = re.compile(r"<(\d+) x (\w+)>")
_LABEL = re.compile(r"([\w.]+):")
_TYPE = r"(<\d+ x \w+>|\{[^{}]*\}|\w+)"
_PHI = re.compile(rf"phi {_TYPE} (.*)")
_ARM = re.compile(r"\[ (.*?), %([\w.]+) \]")
_FIRST_TYPE = re.compile(
    rf"(?:add|sub|mul|and|or|xor|shl|lshr|ashr|[us]div|[us]rem|f(?:add|sub|mul|div|rem|neg)|load(?: volatile)?|freeze)"
    rf"(?: nuw| nsw| exact| contract)* {_TYPE}"
)
_LAST_TYPE = re.compile(
    rf"(?:[sz]ext|trunc|bitcast|fpext|fptrunc|[us]itofp|fpto[us]i|ptrtoint|inttoptr)\b.* to {_TYPE}$"
)
_CALL = re.compile(rf"call {_TYPE} @")
_SELECT = re.compile(rf"select (?:i1|<\d+ x i1>) (?:%[\w.]+|true|false), {_TYPE} ")
_EXTRACT = re.compile(r"extractelement <\d+ x (\w+)>")
_INSERT = re.compile(r"insertelement (<\d+ x \w+>)")
_COMPARE = re.compile(rf"[if]cmp \w+ {_TYPE}")
_SHUFFLE = re.compile(r"shufflevector <\d+ x (\w+)> .*<(\d+) x i32> [^%]*$")
_MEMBER = re.compile(r"extractvalue \{([^{}]*)\} %[\w.]+, (\d+)$")
_BITS = {"ptr": 64, "float": 32, "double": 64, "half": 16}


def result_type(text: str) -> str | None:
    """The type of an instruction's result; None if it is not known here."""
    if text.startswith("getelementptr"):
        return "ptr"
    for pattern in (_FIRST_TYPE, _LAST_TYPE, _CALL, _SELECT, _EXTRACT, _INSERT):
        if found := pattern.match(text):
            return str(found[1])
    if found := _COMPARE.match(text):
        vector = VECTOR.fullmatch(found[1])
        return f"<{vector[1]} x i1>" if vector else "i1"
    if found := _SHUFFLE.match(text):
        return f"<{found[2]} x {found[1]}>"
    if found := _MEMBER.match(text):
        return str(re.findall(r"<[^>]*>|\w+", found[1])[int(found[2])])
    return None


def bits_of(kind: str) -> int:
    """Bits of a value of a type."""
    if vector := VECTOR.fullmatch(kind):
        return int(vector[1]) * bits_of(vector[2])
    return _BITS.get(kind) or int(kind[1:])


@dataclass
class Block:
    """A block; ``body`` holds the lines between its phis and its last instruction."""

    name: str
    body: list[str] = field(default_factory=list)
    end: str = ""
    phis: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    """Type and values of each phi, the latter by the block that they come from."""
    before: list[str] = field(default_factory=list)
    """The blocks that it is reached from."""

    def successors(self) -> list[str]:
        """The blocks behind it."""
        if found := BRANCH.fullmatch(self.end):
            return [found[2], found[3]]
        return [found[1]] if (found := JUMP.fullmatch(self.end)) else []

    def likely_successors(self) -> list[str]:
        """The blocks behind it, without one that is seldom reached."""
        found = BRANCH.fullmatch(self.end)
        if found and found[4] in (UNLIKELY, LIKELY):
            return [found[3] if found[4] == UNLIKELY else found[2]]
        return self.successors()


def blocks_of(lines: Iterable[str]) -> dict[str, Block] | None:
    """Blocks by name, in the order of the text; None where one ends in another way than with a branch or a return."""
    blocks: dict[str, Block] = {}
    here: Block | None = None
    for line in lines:
        if label := _LABEL.fullmatch(line):
            here = blocks[label[1]] = Block(label[1])
        elif here is None or here.end or line.startswith(("  switch ", "  unreachable", "  indirectbr ")):
            return None
        elif line.startswith(("  br ", "  ret ")):
            same = (branch := BRANCH.fullmatch(line)) and branch[2] == branch[3]
            here.end = f"  br label %{branch[2]}" if branch and same else line
        elif (result := RESULT.fullmatch(line)) and (phi := _PHI.fullmatch(result[2])):
            here.phis[result[1]] = phi[1], {block: value for value, block in _ARM.findall(phi[2])}
        else:
            here.body.append(line)
    for block in blocks.values():
        for other in block.successors():
            if other in blocks:
                blocks[other].before.append(block.name)
    return blocks


def reaching(blocks: Mapping[str, Block], place: str) -> set[str]:
    """The blocks from which a way leads to a place."""
    found, worklist = set[str](), [name for name, block in blocks.items() if place in block.successors()]
    while worklist:
        name = worklist.pop()
        if name not in found:
            found.add(name)
            worklist += blocks[name].before
    return found


def postdominators(blocks: Mapping[str, Block], end: str, without: Set[str]) -> dict[str, str]:
    """The immediate postdominator of each block: the first one behind it that all its ways to ``end`` lead through.

    Args:
        without: blocks that do not count.
    """
    names = [*blocks, end]
    number = {name: n for n, name in enumerate(names)}
    backwards: Graph = {n: set() for n in range(len(names))}
    for name, block in blocks.items():
        for other in block.successors():
            if other not in without:
                backwards[number[other]].add(number[name])
    immediate = immediate_dominators(backwards, number[end])
    return {names[n]: names[behind] for n, behind in immediate.items() if names[n] != end}


def innermost_loops(successors: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """The blocks of each loop without another one in it, in the order of the text, by the loop's header."""
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
    return {
        header: [name for name in successors if name in body]
        for header, body in loops.items()
        if not any(other in body for other in loops if other != header)
    }


def _back_edges(successors: Mapping[str, list[str]]) -> list[tuple[str, str]]:
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
