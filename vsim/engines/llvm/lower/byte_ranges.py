"""Byte ranges of registers with the SSA values that they hold within a block, and writes under a mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from vsim.engines.llvm.ir.values import Mask, Value


class Halves(NamedTuple):
    """Two masks into which a condition parts another one: the one from before, and what holds in the first of them."""

    whole: Mask
    condition: Value


@dataclass
class PredicatedWrite:
    """How a value came about that was written under a mask: lanes outside the mask are those of ``old``."""

    mask: Value
    fresh: Value
    old: Value

    def holds_for(self, running: Value) -> bool:
        """Whether all lanes of a mask are fresh."""
        return self.mask.text == running.text or self.mask.text in running.facts.implies


@dataclass
class ByteRange:
    """A byte range of a register with its value.

    A ``dirty`` one is stored at the block's end; of one that is not ``stored`` storage may know nothing; one that is
    not ``whole`` has lanes that are in storage only.
    """

    low: int
    high: int
    value: Value
    dirty: bool
    stored: bool = True
    whole: bool = True
    predicated: PredicatedWrite | None = None
    by_all: bool = False
    """Whether all lanes that run have written it, of one that is not whole."""

    def __post_init__(self) -> None:
        self.stored = self.stored and not self.dirty

    @property
    def size(self) -> int:
        return self.high - self.low
