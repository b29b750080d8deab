"""Code sinking and loop-invariant code motion: registers of innermost loops are for what their likely ways need.

A bounds check of a loop has a way for bytes in other buffers, at an edge, or outside, which is hardly ever taken. It
reads addresses that the loop itself does not need, as the loop has the offsets in the likely buffer. LLVM's loop
strength reduction does not know that the way is cold: each such address gets a counter, and registers are spilled in
the loop. So values that cold ways alone need sink there, and are computed from copies that LLVM cannot see through
(inline assembly without an instruction). Invariants move in front of the loop: addresses of rows are sums that were
kept apart, and emitted at the access (``ir/affine.py``).

Only innermost loops of a thread count. Values, not memory, move: no load, store or call does.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from vsim.engines.llvm.ir.emitter import NAME
from vsim.engines.llvm.passes.blocks import Block, reachable
from vsim.engines.llvm.passes.lines import DEFINED_OPERATIONS, Line
from vsim.engines.llvm.passes.loops import InnermostLoops

MAXIMUM_LINES = 2000
"""Lines of a function; loops of longer ones are hardly short of registers for addresses."""
DEEPEST = 16
"""Steps of a computation that a cold way repeats."""


def sink_into_cold_ways(code: InnermostLoops) -> None:
    """Let innermost loops compute neither invariants nor what cold ways alone need."""
    if code.line_count > MAXIMUM_LINES:
        return
    found = _ColdWays(code)
    for header, loop in code.loops.items():
        found.move_invariants(header, loop)
    found.sink()


class _ColdWays:
    """The cold ways out of a function's innermost loops, and the values that they need."""

    def __init__(self, code: InnermostLoops) -> None:
        self.code, self.blocks, self.first, self.hot, self.loops = code, code.blocks, code.first, code.hot, code.loops
        self.home, self.definitions = code.home, code.definitions

    # -- what does not change ------------------------------------------------------------------------------

    def move_invariants(self, header: str, loop: Set[str]) -> None:
        """Move scalars that do not change in a loop to the end of the block in front of it.

        All ways into the loop must lead through its header: operands from outside dominate the block then.
        """
        outside = [name for name in self.blocks[header].before if name not in loop]
        ways = {name: block.successors if name != header else () for name, block in self.blocks.items()}
        if len(outside) != 1 or loop & reachable(ways, self.first) != {header}:
            return
        above = self.blocks[outside[0]]
        for name in [name for name in self.blocks if name in loop]:
            body = self.blocks[name].body
            moved = [line for line in body if self._moves(line, loop, above)]
            self.blocks[name].body = [line for line in body if line not in moved]

    def _moves(self, line: Line, loop: Set[str], above: Block) -> bool:
        """Whether a line does not change in a loop; then it was moved."""
        if line.opcode not in DEFINED_OPERATIONS or "<" in line.operation:
            return False
        if any(self.home.get(name) in loop for name in line.uses):
            return False
        above.body.append(line)
        self.home[line.result] = above.name
        return True

    # -- what cold ways need -------------------------------------------------------------------------------

    def sink(self) -> None:
        """Let values that cold ways out of the loops alone need sink there."""
        inside = set[str]().union(*self.loops.values())
        needed = self._needed()
        for name, block in self.blocks.items():
            is_entry = name not in self.hot and len(block.before) == 1 and block.before[0] in inside
            if is_entry:
                copies = _Copies(
                    self.code, name, {value for value, home in self.home.items() if home in inside}, needed
                )
                for other in sorted(self._way(name)):  # The same text in each process.
                    self._rename(self.blocks[other], copies)
                block.body[:0] = copies.lines

    def _needed(self) -> set[str]:
        """Values that hot blocks need for their effects and branches."""
        found = set[str]()
        worklist = [name for block in self._hot_blocks() for name in NAME.findall(block.end.text)]
        for block in self._hot_blocks():
            worklist += [name for line in block.body if not _is_pure(line) for name in line.uses]
            for _, values in block.phis.values():
                worklist += [value for here, value in values.items() if here in self.hot]
        while worklist:
            name = worklist.pop()
            if name not in found:
                found.add(name)
                if name in self.definitions and self.home[name] in self.hot:
                    worklist += self.definitions[name].uses
        return found

    def _hot_blocks(self) -> Iterator[Block]:
        return (block for name, block in self.blocks.items() if name in self.hot)

    def _way(self, entry: str) -> set[str]:
        """The cold blocks that are reached through one of them alone."""
        found, worklist = set[str](), [entry]
        while worklist:
            name = worklist.pop()
            block = self.blocks.get(name)
            if block and name not in found and (name == entry or found.issuperset(block.before)):
                found.add(name)
                worklist += block.successors
        return found

    def _rename(self, block: Block, copies: _Copies) -> None:
        """Let a block of a cold way read copies."""
        block.body = [
            Line(f"  {line.result} = {text}" if line.result else f"  {text}")
            for line in block.body
            for text in (copies.renamed(line.operation),)
        ]
        block.end = block.end._replace(text=copies.renamed(block.end.text), condition=copies.of(block.end.condition))
        for other in block.successors:
            for _, values in self.blocks[other].phis.values() if other in self.blocks else ():
                values[block.name] = copies.of(values[block.name])


class _Copies:
    """What a cold way computes, at its entry, of values of the loops.

    Args:
        values: of the loops.
        needed: those of them that hot blocks need.
    """

    def __init__(self, code: InnermostLoops, entry: str, values: Set[str], needed: Set[str]) -> None:
        self.code, self.entry, self.values, self.needed = code, entry, values, needed
        self.lines: list[Line] = []
        self.names: dict[str, str] = {}
        """The copy of each value that was asked for."""

    def renamed(self, text: str, depth: int = 0) -> str:
        """A text that reads copies."""
        return NAME.sub(lambda name: self.of(name[0], depth), text)

    def of(self, name: str, depth: int = 0) -> str:
        """The name of a copy of a value; its own name where it may well be read."""
        if name not in self.names:
            self.names[name] = self._made(name, depth) if name in self.values else name
        return self.names[name]

    def _made(self, name: str, depth: int) -> str:
        line, copy = self.code.definitions.get(name), f"{name}.{self.entry}"
        if line and name not in self.needed and _is_pure(line) and depth < DEEPEST:
            self.lines.append(Line(f"  {copy} = {self.renamed(line.operation, depth + 1)}"))
        elif self.code.type_of(name) == "i64":
            self.lines.append(Line(f'  {copy} = call i64 asm "", "=r,0"(i64 {name})'))
        else:
            return name
        return copy


def _is_pure(line: Line) -> bool:
    return bool(line.result) and line.opcode in DEFINED_OPERATIONS
