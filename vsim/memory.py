"""Simulated memory: buffers at 64-bit addresses, images, samplers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from visa.image import SLOT, SLOT_OFFSET
from vsim.arrays import Array, Bytes

HEAP_SLOT = 0x100
SLM_ADDRESS_MASK = 0x0FFF_FFFF
"""The compiler tags pointers to local memory with bit 28, so that none is null; the hardware ignores it."""


@dataclass(eq=False)
class Buffer:
    """A range of simulated memory; ``data`` are its bytes, those of the caller's array where it has one."""

    name: str
    address: int
    data: Bytes
    writable: bool = True

    @cached_property
    def size(self) -> int:
        return int(self.data.size)

    @cached_property
    def host(self) -> int:
        """Where the bytes lie in this process."""
        return int(self.data.__array_interface__["data"][0])


ADDRESSING = (
    "none", "clamp_edge", "clamp_to_edge", "clamp", "clamp_border", "repeat", "mirror", "mirrored_repeat",
)  # fmt: skip
FILTERS = ("nearest", "linear")
COMPARISONS = ("le", "lt", "ge", "gt", "eq", "ne", "always", "never")
"""What samplers can be told; OpenCL's words are among them."""


@dataclass(frozen=True)
class SamplerState:
    """How coordinates become texels.

    Attributes:
        normalized: whether coordinates go from 0 to 1 along each axis, else from 0 to the size.
        addressing: what lies outside: none, clamp_edge (or clamp_to_edge), clamp_border (or clamp), repeat, or mirror
            (or mirrored_repeat).
        filter: nearest or linear.
        compare: what sampling with comparison asks of reference and texel: le, lt, ge, gt, eq, ne, always or never.
    """

    normalized: bool = False
    addressing: str = "none"
    filter: str = "nearest"
    compare: str = "le"


@dataclass
class AddressSpace:
    """Buffers by 4 GiB slot. Addresses are the same in every run: they depend on the order of the allocations alone."""

    slots: dict[int, Buffer] = field(default_factory=dict)
    arrays: dict[int, Buffer] = field(default_factory=dict)
    changes: int = 0
    next_slot: int = HEAP_SLOT
    blocks: dict[str, Buffer] = field(default_factory=dict)

    def allocate(self, name: str, data: Bytes, writable: bool = True, address: int | None = None) -> Buffer:
        """Give bytes an address, by default in the next free slot."""
        if address is None:
            address = self.next_slot * SLOT + SLOT_OFFSET
            self.next_slot += 1 + (SLOT_OFFSET + data.size) // SLOT
        buffer = Buffer(name, address, data, writable)
        for slot in range(address // SLOT, (address + max(data.size, 1) - 1) // SLOT + 1):
            self.slots[slot] = buffer
        self.changes += 1
        return buffer

    def map(self, array: Array, name: str) -> Buffer:
        """The buffer of an array: the one that it got before, a part of one in whose memory it lies, or a new one."""
        key, size = int(array.__array_interface__["data"][0]), array.nbytes
        found = self.arrays.get(key)
        if found is not None and found.size == size:
            return found
        for start, whole in self.arrays.items():
            if start <= key and key + size <= start + whole.size:
                return Buffer(name, whole.address + key - start, as_bytes(array))
        found = self.arrays[key] = self.allocate(name, as_bytes(array))
        return found

    def unmap(self, array: Array) -> None:
        """Take the address of an array back."""
        found = self.arrays.pop(int(array.__array_interface__["data"][0]), None)
        self.slots = {slot: buffer for slot, buffer in self.slots.items() if buffer is not found}
        self.changes += 1

    def behind(self, address: int) -> Buffer | None:
        """What lies in a buffer from an address on."""
        whole = self.slots.get(address // SLOT)
        offset = address - whole.address if whole is not None else -1
        return (
            Buffer(whole.name, address, whole.data[offset:], whole.writable)
            if whole is not None and 0 <= offset < whole.size
            else None
        )

    def block(self, name: str, size: int) -> Buffer:
        """Memory of the simulator's own, kept from launch to launch; its contents are those of the last launch."""
        found = self.blocks.get(name)
        if found is None or found.size < size:
            found = self.blocks[name] = self.allocate(name, np.zeros(size, np.uint8))
        return found


def as_bytes(array: Array) -> Bytes:
    """The memory of a contiguous array as bytes, without a copy."""
    return array.reshape(-1).view(np.uint8)
