"""The innermost loops of a thread, as passes read and change them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vsim.engines.llvm.ir.emitter import UNLIKELY
from vsim.engines.llvm.passes.blocks import ENDS, FUNCTION, Block, blocks_of, innermost_loops, likely_blocks
from vsim.engines.llvm.passes.lines import Line, result_type

LONG = 3000
"""Lines of a function without loops that no pass over loops is for."""
_THREADS = "begin"
"""The header of the loop over threads (``support/driver.ll``)."""


def with_changed_loops(module: str, *passes: Callable[[InnermostLoops], None]) -> str:
    """The text of a module whose functions passes have changed. Functions with other ends of blocks than branches and
    returns, such as coroutines and most jammed threads, stay the same, and so do long ones without loops.
    """

    def changed(function: str) -> str:
        lines = function.split("\n")
        outline = blocks_of(line for line in lines[1:-1] if line.endswith(":") or line.startswith(ENDS))
        if outline is None or (len(lines) > LONG and not InnermostLoops(outline).loops):
            return function
        blocks = blocks_of(lines[1:-1])
        assert blocks is not None
        code = InnermostLoops(blocks)
        for change in passes:
            change(code)
        return "\n".join([lines[0], *code.lines(), lines[-1]])

    return FUNCTION.sub(lambda function: changed(function[0]), module) if UNLIKELY in module else module


class InnermostLoops:
    """The innermost loops of a thread, without their cold ways.

    Args:
        blocks: of a function, the first one first; changed.
    """

    def __init__(self, blocks: dict[str, Block]) -> None:
        self.blocks = blocks
        self.first = next(iter(blocks))
        self.hot = likely_blocks(blocks)
        """Blocks that are reached without an unlikely branch."""
        found = innermost_loops({name: blocks[name].end.likely_targets() for name in blocks if name in self.hot})
        self.loops = {header: set(loop) for header, loop in found.items() if header != _THREADS}
        """Blocks of each loop, by header."""
        self.home = {phi: name for name, block in blocks.items() for phi in block.phis}
        """The block of each value."""
        self.definitions: dict[str, Line] = {}
        """The line of each value, unless it is a phi."""
        for name, block in blocks.items():
            for line in block.body:
                if line.result:
                    self.home[line.result], self.definitions[line.result] = name, line

    @property
    def line_count(self) -> int:
        """Lines of the function."""
        return sum(len(block.phis) + len(block.body) + 2 for block in self.blocks.values())

    def type_of(self, value: str) -> str | None:
        """The type of a value; None if it is not known."""
        if value in self.definitions:
            return result_type(self.definitions[value].operation)
        return self.blocks[self.home[value]].phis[value][0]

    def lines(self) -> Iterator[str]:
        """The text of all blocks."""
        for name, block in self.blocks.items():
            yield f"{name}:"
            for phi, (kind, values) in block.phis.items():
                yield f"  {phi} = phi {kind} {', '.join(f'[ {value}, %{here} ]' for here, value in values.items())}"
            yield from (line.text for line in block.body)
            yield block.end.text
