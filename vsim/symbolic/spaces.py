"""The kinds of memory that messages of a thread on symbols go to."""

from __future__ import annotations

from typing import NamedTuple

from vsim.symbolic.terms import Term

FLAT, LOCAL, SCRATCH_MEMORY, TABLE, HANDLES, URB = range(6)
"""Kinds of memory: by 64-bit address, of the group, of the thread, surfaces by number and by handle, the URB."""
WRITE, READ, ATOMIC = "write", "read", "atomic"


class SymbolicSpace(NamedTuple):
    """Where a message goes: a kind of memory, and the number or handle of a surface."""

    kind: int
    surface: Term = 0
