"""What a check that watches accesses is told, where they are lowered: in which way lanes lie, and where in the host's
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import LanePart
from vsim.engines.llvm.memory.scalarised import Offsets

OnlyRead = Callable[[], Value | None]


class AccessWatch(Protocol):
    """Is told of every access of lanes that are inside their memory, behind its loads or stores.

    ``values`` are the stored values, None for a load; ``vector`` the active lanes, None for all.
    """

    def begin(self, lanes: int) -> None:
        """A message of so many lanes."""

    def row(self, part: LanePart, pointer: str, vector: Value | None, stores: bool, first: int = 0) -> None:
        """Lanes that follow each other from a host pointer on; ``first`` is the number of their first element."""

    def one(self, part: LanePart, pointer: str, vector: Value | None, values: Sequence[Value] | None) -> None:
        """Lanes that all access the same place."""

    def each(
        self, part: LanePart, pointer: str, offsets: Offsets, vector: Value | None, values: Sequence[Value] | None
    ) -> None:
        """Lanes at arbitrary offsets from a host pointer."""

    def loop(self, part: LanePart, offset: Value, vector: Value | None, values: Sequence[Value] | None) -> None:
        """Lanes with addresses of the space that a function out of line has gone through."""

    def changed(self, part: LanePart, offset: Value, vector: Value | None, only_read: OnlyRead) -> None:
        """Lanes of an atomic operation; ``only_read`` emits which of them have changed nothing, None for none."""
