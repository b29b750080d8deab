"""Memory spaces: what the address of a message counts in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemorySpace:
    """The flat address space, or one piece of host memory: a surface, local memory, scratch, the register file.

    ``pointer`` and ``size`` are SSA values of its first byte and its bytes, None for the flat space; ``number`` is a
    surface's, for faults; ``address_mask`` says which bits of an address count. With ``checked_elsewhere`` whoever
    accesses it has made sure that addresses are inside.
    """

    kind: int
    pointer: str | None = None
    size: str | None = None
    number: str = "0"
    address_mask: int | None = None
    checked_elsewhere: bool = False

    @property
    def is_flat(self) -> bool:
        return self.pointer is None
