"""Anchors: vectors that LLVM's code sinking must leave where they are computed.

LLVM moves what one block alone reads there (``MachineSink``), if that block may not be reached; and none behind a
bounds check is sure to be. So sums and selections wander from check to check, to where they are read last, while what
they are computed from, which they would replace, lives on: of a long sum all addends, in registers or on the stack. A
value is anchored if its operands take more bits there than it does. An anchor is a use of it in its own block, for
which no code is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from heapq import heappop, heappush

from vsim.engines.llvm.ir.emitter import NAME, UNLIKELY
from vsim.engines.llvm.passes.blocks import FUNCTION, Block, blocks_of, likely_blocks, loops_of
from vsim.engines.llvm.passes.lines import DEFINED_OPERATIONS, Line, bits_of, result_type

_DECLARATION = "declare void @llvm.fake.use(...)\n"
_MOVABLE = DEFINED_OPERATIONS | {
    *("fcmp", "fneg", "fadd", "fsub", "fmul", "sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc"),
    *("fma", "x86", "floor", "fabs", "minnum", "maxnum", "umin", "umax", "smin", "smax", "fshl", "fshr"),
}
"""What LLVM may move."""


def anchor(module: str) -> str:
    """The text of a module with anchors."""
    anchored = FUNCTION.sub(lambda function: _anchored(function[0]), module) if UNLIKELY in module else module
    return anchored if anchored == module else _DECLARATION + anchored


def _anchored(function: str) -> str:
    lines = function.split("\n")
    blocks = blocks_of(lines[1:-1], switches=True) if UNLIKELY in function else None
    if not blocks:
        return function
    values = _Values(blocks)
    anchors = {line.text: kind for name in values.likely for line, kind in values.anchors(name)}
    for n, text in enumerate(lines):
        if kind := anchors.get(text):
            lines[n] = f"{text}\n  call void (...) @llvm.fake.use({kind} {Line(text).result})"
    return "\n".join(lines)


def _has_effect(line: Line) -> bool:
    """Whether LLVM may keep a line whose result nothing reads."""
    return not line.result or line.opcode not in _MOVABLE


def _needed(blocks: dict[str, Block]) -> set[str]:
    """The values that lines with effects, branches and phis are computed from."""
    uses, worklist, found = dict[str, tuple[str, ...]](), list[str](), set[str]()
    for block in blocks.values():
        worklist += NAME.findall(block.end.text)
        worklist += [value for _, values in block.phis.values() for value in values.values()]
        for line in block.body:
            if _has_effect(line):
                worklist += line.uses
            else:
                uses[line.result] = line.uses
    while worklist:
        if (name := worklist.pop()) not in found:
            found.add(name)
            worklist += uses.get(name, ())
    return found


def _uses(blocks: dict[str, Block]) -> Iterator[tuple[str, str]]:
    """The block and the value of each use that LLVM does not remove."""
    needed = _needed(blocks)
    for name, block in blocks.items():
        for _, values in block.phis.values():
            yield from values.items()
        for line in block.body:
            if _has_effect(line) or line.result in needed:
                yield from ((name, value) for value in line.uses)
        yield from ((name, value) for value in NAME.findall(block.end.text))


class _Values:
    """Where the values of a function are computed and used.

    Args:
        blocks: of a function, the first one first.
    """

    def __init__(self, blocks: dict[str, Block]) -> None:
        self.blocks = blocks
        self.likely = likely_blocks(blocks)
        self.loops: dict[str, set[str]] = {name: set() for name in blocks}
        """The headers of the loops around each block."""
        for header, loop in loops_of({name: block.successors for name, block in blocks.items()}).items():
            for name in loop:
                self.loops[name].add(header)
        self.place = {name: n for n, name in enumerate(blocks) if name in self.likely}
        """The number of each block; of an unlikely one that of the block in front of it."""
        for name, block in blocks.items():
            if name not in self.place and len(block.before) == 1:
                self.place[name] = self.place.get(block.before[0], -1)
        self.home: dict[str, str] = {}
        self.kind: dict[str, str | None] = {}
        """The block and the type of each value."""
        self.users: dict[str, list[str]] = {}
        """The blocks that use a value, one for each use."""
        for name, block in blocks.items():
            for phi, (kind, _) in block.phis.items():
                self.home[phi], self.kind[phi] = name, kind
            for line in block.body:
                if line.result:
                    self.home[line.result], self.kind[line.result] = name, result_type(line.operation)
        for name, value in _uses(blocks):
            self.users.setdefault(value, []).append(name)

    def anchors(self, name: str) -> list[tuple[Line, str]]:
        """The lines of a block whose results are to stay, with the types of these."""
        body = self.blocks[name].body
        movable = {line.result: n for n, line in enumerate(body) if line.result and line.opcode in _MOVABLE}
        found = []
        for value, n in movable.items():
            kind, users = self.kind[value] or "", self.users.get(value, [])
            likely = [user for user in users if user in self.likely]
            if kind.startswith("<") and not kind.endswith(" i1>") and likely and name not in users:
                target = min(likely, key=self.place.__getitem__)
                if self._bits_kept(value, body, movable, target) > bits_of(kind):
                    found.append((body[n], kind))
        return found

    def _bits_kept(self, value: str, body: list[Line], movable: dict[str, int], target: str) -> int:
        """Bits that live up to another block if a value is computed there, and else do not.

        Args:
            body: the lines of the value's block.
            movable: numbers of the lines that LLVM may move.
        """
        uses, bits = Counter({value: len(self.users[value])}), 0
        """Uses by the value and by what moves with it."""
        waiting = [-movable[value]]
        while waiting:
            line = body[-heappop(waiting)]  # From the last one on: all lines that use it were seen.
            if uses[line.result] < len(self.users[line.result]):
                bits += self._bits_that_end(line.result, target)
                continue
            for operand in line.uses:
                uses[operand] += 1
                if uses[operand] > 1:
                    continue
                if operand in movable:
                    heappush(waiting, -movable[operand])
                else:
                    bits += self._bits_that_end(operand, target)
        return bits

    def _bits_that_end(self, value: str, target: str) -> int:
        """The bits of a value that does not live up to a block."""
        home = self.home.get(value)
        if home is None or self.loops[target] - self.loops[home]:
            return 0
        if any(self.place.get(user, -1) >= self.place[target] for user in self.users[value]):
            return 0
        kind = self.kind[value]
        return bits_of(kind) if kind and "{" not in kind else 64
