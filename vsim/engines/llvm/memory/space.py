"""Memory spaces: the memory that a message's addresses count in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vsim.engines.llvm import abi as cx


@dataclass(frozen=True)
class MemorySpace:
    """The flat address space, or one piece of host memory: a surface, local memory, scratch, the register file.

    ``pointer`` and ``size`` are SSA values of its first byte and its bytes, None for the flat space; ``number`` is a
    surface's, for faults; ``address_mask`` gives the relevant bits of an address. With ``checked_elsewhere`` the code
    of the access has proved that addresses are inside. ``writable`` is the size for writes: 0 where the memory
    is read-only, less than the size where there are zeros behind its end; None where that is the same. In launches that
    are checked for undefined values ``undefined`` and ``origins`` are the first bytes of the memory's shadow and of
    the table of writers of undefined bytes. Where accesses outside arguments are checked, ``address`` is
    the address of a surface's first byte in the flat space. ``least`` is the least size of the memory in any launch.
    Where messages are counted, ``counts`` is where the counts of the memory are.
    With ``zeros_beyond`` an access may begin inside and end beyond the memory: the bytes beyond are zeros.
    """

    kind: int
    pointer: str | None = None
    size: str | None = None
    number: str = "0"
    address_mask: int | None = None
    checked_elsewhere: bool = False
    writable: str | None = None
    undefined: str | None = None
    origins: str | None = None
    address: str | None = None
    counts: str | None = None
    zeros_beyond: bool = False
    least: int = 0

    @property
    def is_flat(self) -> bool:
        return self.pointer is None

    @property
    def is_written(self) -> bool:
        """Whether it is the flat space as writes see it, without read-only buffers."""
        return self.kind == cx.FLAT_WRITTEN

    def for_writes(self) -> MemorySpace:
        """The space as writes see it in a launch where they see other sizes than reads."""
        if self.is_flat:
            return replace(self, kind=cx.FLAT_WRITTEN)
        kind = cx.SURFACE_WRITTEN if self.kind == cx.SURFACE else self.kind
        return replace(self, kind=kind, size=self.writable) if self.writable else self
