"""Shadow memory for the check of undefined values: undefined bytes, and the instructions that left them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field

import numpy as np

from vsim.checks.findings import Finding, Site, Who
from vsim.checks.kinds import KINDS
from vsim.checks.shadow_machine import STORED
from vsim.launch.arrays import Array, Bytes, address_of
from vsim.launch.dispatch import Dispatch
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import UNDEFINED_BYTE, AddressSpace, Buffer

PRIVATE_MEMORY = "private memory"
_FUNCTION_SHIFT = 20
"""Bits of an instruction's number below the function's number; functions have fewer instructions than that."""


def number_of(site: Site) -> int:
    """The number of an instruction in the memory of origins, from 1 on."""
    return (site.function << _FUNCTION_SHIFT | site.instruction) + 1


def site_at(number: int) -> Site:
    """The instruction with a number."""
    return Site(number - 1 >> _FUNCTION_SHIFT, (number - 1) & ((1 << _FUNCTION_SHIFT) - 1))


@dataclass(eq=False)
class MemoryBeside:
    """Memory beside that of a launch: for every buffer as many bytes, with the same addresses."""

    memory: AddressSpace
    name: str
    follows: bool = False
    """Whether it begins with what earlier launches and the program have left undefined."""
    slots: dict[int, Buffer] = field(default_factory=dict)
    others: dict[int, Buffer] = field(default_factory=dict)
    """Those of buffers without an address, by the place of their bytes."""

    def of(self, buffer: Buffer | SurfaceImage) -> Buffer:
        """The shadow of a buffer, or of an image's memory."""
        if isinstance(buffer, Buffer) and buffer.address:
            slot = self.slot(buffer.address >> 32)
            if slot is not None:
                return slot.part(buffer.name, buffer.address, buffer.room)
        data = buffer.data if isinstance(buffer, Buffer) else buffer.bytes
        place = address_of(data)
        found = self.others.get(place)
        if found is None:
            found = self.others[place] = Buffer(buffer.name, 0, np.zeros(_rounded(data.size), np.uint8))
        return found

    def slot(self, number: int) -> Buffer | None:
        """The shadow of the buffer in a slot of the address space."""
        found, buffer = self.slots.get(number), self.memory.slots.get(number)
        if buffer is None:
            return None
        guarded = self.memory.guarded.get(number)
        if guarded is not None:  # The same memory under other addresses.
            whole = self.slot(guarded.whole.address >> 32)
            assert whole is not None
            return Buffer(buffer.name, buffer.address, whole.data)
        if found is None or found.size < buffer.room:
            found = self.slots[number] = Buffer(buffer.name, buffer.address, np.zeros(_rounded(buffer.room), np.uint8))
            self._begin(found, buffer)
        return found

    def _begin(self, found: Buffer, buffer: Buffer) -> None:
        """What a buffer begins with."""
        found.data[:] = 0
        if self.follows:
            found.data[buffer.size : buffer.room] = UNDEFINED_BYTE
        if self.follows and buffer.undefined is not None:
            found.data[: buffer.size] = buffer.undefined

    def begin_anew(self, kept: Container[int]) -> None:
        """Let all buffers but some, by the identity of their bytes, be as before their first use."""
        for number, found in self.slots.items():
            buffer = self.memory.slots.get(number)
            if id(found.data) not in kept and buffer is not None:
                self._begin(found, buffer)
        for found in self.others.values():
            if id(found.data) not in kept:
                found.data[:] = 0


def _rounded(size: int) -> int:
    return -(-size // 4) * 4 + 4


class UndefinedCheck:
    """The check of undefined values of one launch."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch = dispatch
        self.validity = MemoryBeside(dispatch.memory, "undefined bits", follows=True)
        self.origins = MemoryBeside(dispatch.memory, "origins")
        self.left: dict[Site, Who] = {}
        """Who was the first to store undefined bytes at an instruction; at the end it shows which of them stay."""

    def note(self, site: Site, who: Who) -> None:
        """Somebody has stored undefined bytes at an instruction."""
        self.left[site] = min(self.left.get(site, who), who)

    def begin(self) -> None:
        """Groups begin: private memory has nothing that they have written."""
        block = self.dispatch.memory.blocks.get(PRIVATE_MEMORY)
        if block is not None:
            self.validity.of(block).data[:] = UNDEFINED_BYTE

    def arrays(self) -> Iterator[Array]:
        """The contents of all memory beside that of the launch, and what later launches find."""
        for beside in (self.validity, self.origins):
            yield from (buffer.data for buffer in (*beside.slots.values(), *beside.others.values()))
        for known in self.dispatch.memory.buffers():
            if known.undefined is not None:
                yield known.undefined

    def end(self) -> None:
        """Report undefined bytes in buffers at the end of the launch, and keep them for later launches."""
        for number, beside in self.validity.slots.items():
            known = self.dispatch.memory.slots.get(number)
            if known is not None and known.undefined is not None:
                known.undefined[:] = beside.data[: known.size]
        blocks = {b.address for b in self.dispatch.memory.blocks.values()}
        for number, origin in self.origins.slots.items():
            buffer, shadow = self.dispatch.memory.slots.get(number), self.validity.slots.get(number)
            if buffer is not None and shadow is not None and buffer.address not in blocks:
                self._end_of(buffer, shadow.data, origin.data)
        for place, origin in self.origins.others.items():
            self._end_of(origin, self.validity.others[place].data, origin.data)

    def _end_of(self, buffer: Buffer, shadow: Bytes, origin: Bytes) -> None:
        undefined = np.flatnonzero(shadow)
        if not undefined.size:
            return
        whole = origin.size // 4 * 4
        sites = origin[:whole].view(np.uint32)[undefined // 4]
        findings = self.dispatch.findings
        assert findings is not None
        kind = KINDS[STORED]
        for number in np.unique(sites[sites != 0]).tolist():
            own = undefined[sites == number]
            site = site_at(number)
            memory = f"'{self.dispatch.name_of(buffer)}' at offset {int(own[0])}"
            findings.add(
                Finding(STORED, kind.check, kind.message, site, self.left[site], memory, None, kind.hint, int(own.size))
            )
