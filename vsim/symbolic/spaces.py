"""Memory of a launch on symbols: the spaces of messages, buffers, and loaded elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import z3

from vsim.symbolic import terms
from vsim.symbolic.terms import Condition, Term

FLAT, LOCAL, SCRATCH_MEMORY, TABLE, HANDLES, URB = range(6)
"""Kinds of memory: by 64-bit address, of the group, of the thread, surfaces by number and by handle, the URB."""
WRITE, READ, ATOMIC = "write", "read", "atomic"


class SymbolicSpace(NamedTuple):
    """Where a message goes: a kind of memory, and the number or handle of a surface."""

    kind: int
    surface: Term = 0


@dataclass
class SymbolicBuffer:
    """Memory at an address, of a size that may be a symbol of 64 bits; ``argument`` is the number of its argument."""

    name: str
    address: int
    size: Term
    is_writable: bool = True
    argument: int | None = None


@dataclass
class LoadedValue:
    """A symbol of a load: the bytes at ``address + offset``."""

    symbol: Term
    space: SymbolicSpace
    address: Term
    offset: int
    size: int


@dataclass
class KnownElements:
    """What is assumed of each element of an array: a condition on a symbol that stands for any of them."""

    symbol: Term
    condition: Condition = True

    def of(self, element: Term) -> Condition:
        """The condition on an element."""
        if isinstance(self.condition, bool):
            return self.condition
        return z3.substitute(self.condition, (self.symbol, terms.expression(element, self.symbol.size())))
