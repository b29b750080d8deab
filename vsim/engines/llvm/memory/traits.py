"""What the code of accesses depends on besides their lanes."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple


class AccessTraits(NamedTuple):
    """Properties of a function and its launch that the code of accesses depends on."""

    separates_writes: bool
    """Writes see other sizes of memory than reads."""
    instructions: int
    """Number of the function's instructions."""
    row: int
    """Lanes of a row of consecutive local ids; 0: unknown."""
    is_straight: bool
    """The function is one block."""
    is_alone: bool
    """No other thread of the host touches memory while the launch runs."""
    short_loops: Set[int]
    """Instructions in loops of few accesses."""
    strays: bool
    """Each lane goes over memory by itself, so that lanes hardly ever are a row or at one place."""
