"""Effects of blocks on registers, and the registers that the rest of a function needs from a block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vsim.engines.llvm.lower.storage import Key

ENTRANCE = -1
"""The number of the entry as an instruction, which writes the function's inputs."""
Keys = Callable[[Key], bool]
"""A set of registers, by a test."""


@dataclass
class BlockUse:
    """What a block does to storage."""

    exposed: set[Key] = field(default_factory=set)
    """Registers that it reads before it writes them."""
    written: set[Key] = field(default_factory=set)
    covered: dict[Key, int] = field(default_factory=dict)
    """Bytes that it writes in all lanes."""
    covered_by_all: dict[Key, int] = field(default_factory=dict)
    """Bytes that it writes in all lanes that run."""
    merged: set[Key] = field(default_factory=set)
    """Registers written in some lanes only, so that later readers depend on their old values."""


@dataclass(frozen=True)
class BlockNeeds:
    """What the rest of the function wants of a block.

    ``stores``: registers that other blocks read from storage. ``carries``: registers that no other block writes, whose
    values serve in all blocks that this one dominates. ``sees``: whether values that another block carries serve in
    this one. ``lies_in``: whether all lanes that run in this one ran in another block when that was run last.
    ``dead_if_inactive``: registers that are dead in inactive lanes, so that the block may overwrite them there.
    """

    stores: Keys
    carries: Keys
    sees: Callable[[int], bool]
    lies_in: Callable[[int], bool] = lambda block: False
    dead_if_inactive: Keys = lambda key: False


NOTHING_NEEDED = BlockNeeds(lambda key: False, lambda key: False, lambda block: True)
"""Of a block that is all of its function, or whose function is only looked at."""
