"""Simulated memory: buffers at 64-bit addresses, images, samplers."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import NamedTuple

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError
from visakit.forks import free_in_child
from visakit.objects.image import SLOT, SLOT_OFFSET
from vsim.launch.array_files import Take
from vsim.launch.arrays import Array, Bytes

HEAP_SLOT = 0x100
RESTING_SLOTS = 256
"""Slots that are not reused for a while after their buffers are freed, so that a dangling pointer is a fault."""
SLM_ADDRESS_MASK = 0x0FFF_FFFF
"""The compiler tags pointers to local memory with bit 28, so that none is null; the hardware ignores it."""
SLM_STEP, PAGE = 1 << 10, 1 << 16
"""Allocation unit in bytes of local memory and of mapped buffers: reads beyond an end reach its rest."""
UNDEFINED_BYTE = 0xFF
"""Shadow memory: all bits of a byte are undefined."""
Owner = weakref.ReferenceType[Array]
"""The array that some memory belongs to. numpy resizes no array with weak references, which would move the memory."""


class Buffer:
    """A range of simulated memory: bytes of the simulator's own, or those of a caller's array, which it does not keep.

    A running launch holds the arrays (:meth:`AddressSpace.hold`).

    Attributes:
        size: in bytes.
        room: bytes that kernels may read from its beginning on: zeros follow the first ``size`` bytes.
        host: the address of the bytes in this process.
        read_only: whether kernels must not write it: :meth:`AddressSpace.protect` decides.
        undefined: shadow memory of the same size: its set bits are undefined before and after a launch; None for
            defined memory.
    """

    __slots__ = ("_bytes", "_owner", "address", "host", "name", "read_only", "room", "size", "undefined", "writable")

    def __init__(
        self, name: str, address: int, data: Bytes, writable: bool = True, owner: Owner | None = None, room: int = 0
    ) -> None:
        place: tuple[int, bool] = data.__array_interface__["data"]
        self.name, self.address, self.writable = name, address, writable
        self.host, is_read_only = place
        self.size = data.nbytes
        self.room = max(room, self.size)
        self.read_only = is_read_only
        self._owner = owner
        self._bytes = data if owner is None else None
        self.undefined: Bytes | None = None

    def __repr__(self) -> str:
        return (
            f"<Buffer '{self.name}': {self.size} bytes at {self.address:#x}{', read-only' if self.read_only else ''}>"
        )

    @property
    def data(self) -> Bytes:
        """The bytes; empty after the end of the array's life."""
        if self._bytes is not None:
            return self._bytes
        owner = self._owner() if self._owner is not None else None
        if owner is None:
            return np.zeros(0, np.uint8)
        return np.asarray(_HostBytes(owner, self.host, self.size, self.read_only))

    @property
    def readable(self) -> Bytes:
        """The bytes with the following zeros that kernels may read."""
        data = self.data
        return data if self.room == data.size else np.asarray(_HostBytes(data, self.host, self.room, True))

    def part(self, name: str, address: int, size: int) -> Buffer:
        """A part of it under another name."""
        start = address - self.address
        room = self.room - start if start + size == self.size else 0
        part = Buffer(name, address, self.data[start : start + size], self.writable, self._owner, room)
        part.read_only = self.read_only
        return part


def shown_offset(offset: int, size: int) -> int:
    """An offset as a fault shows it: those of surfaces, which have 32 bits, may count from the end of these."""
    return offset - (1 << 32) if (1 << 31) <= offset < (1 << 32) and size <= 1 << 31 else offset


class _HostBytes:
    """The bytes at a place in this process, for numpy, with the array that they belong to."""

    def __init__(self, owner: Array, host: int, size: int, read_only: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (host, read_only), "shape": (size,), "typestr": "|u1", "version": 3}


def _owner(array: Array) -> Array:
    """The array whose memory an array shows a part of, or itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def allocation(array: Array) -> Array:
    """The memory that an array was allocated with, if all of that can be a buffer; else the array."""
    owner = _owner(array)
    start, size = int(array.__array_interface__["data"][0]), array.nbytes
    first = int(owner.__array_interface__["data"][0])
    if owner.dtype.hasobject or not owner.flags.forc or not first <= start <= start + size <= first + owner.nbytes:
        return array
    whole = owner.view(np.ndarray)
    return whole if whole.flags.c_contiguous else whole.T


ADDRESSING = (
    "none", "clamp_edge", "clamp_to_edge", "clamp", "clamp_border", "repeat", "mirror", "mirrored_repeat",
)  # fmt: skip
FILTERS = ("nearest", "linear")
COMPARISONS = ("le", "lt", "ge", "gt", "eq", "ne", "always", "never")
"""Options of a sampler; OpenCL's words are among them."""


class SamplerState(NamedTuple):
    """How coordinates become texels.

    Attributes:
        normalized: whether coordinates go from 0 to 1 along each axis, else from 0 to the size.
        addressing: of coordinates outside: none, clamp_edge (or clamp_to_edge), clamp_border (or clamp), repeat, or
            mirror (or mirrored_repeat).
        filter: nearest or linear.
        compare: comparison of reference and texel: le, lt, ge, gt, eq, ne, always or never.
    """

    normalized: bool = False
    addressing: str = "none"
    filter: str = "nearest"
    compare: str = "le"


Place = tuple[int, int]
"""The address of an array in this process, and its size in bytes."""


class Guarded(NamedTuple):
    """A part of a buffer with a separate address range, which shows the whole buffer: the part is the bytes from
    ``start`` to before ``end``.
    """

    whole: Buffer
    """The buffer under the addresses that it has besides."""
    start: int
    end: int


class AddressSpace:
    """Buffers by their 4 GiB slot. Addresses are the same in every run: they depend on the order of allocations and
    releases alone.

    Arrays stay mapped as long as they live, in the hands of the caller, or of the address space if it keeps them.
    Several programs may share an address space; their launches wait for each other (``launch_lock``).
    """

    def __init__(self) -> None:
        self.slots: dict[int, Buffer] = {}
        self.changes = 0
        self.read_only: set[int] = set()
        """Addresses of the buffers that kernels must not write."""
        self.protections = 0
        """How often that has changed."""
        self.next_slot = HEAP_SLOT
        self.resting: deque[int] = deque()
        """Freed slots, in their order of reuse."""
        self.blocks: dict[str, Buffer] = {}
        self.arrays: dict[Place, Buffer] = {}
        self.owners: dict[Place, Owner] = {}
        self.kept: dict[Place, Array] = {}
        self.guarded: dict[int, Guarded] = {}
        """By slot, the parts of buffers with separate addresses (:meth:`guard`)."""
        self.lock = free_in_child(threading.RLock())
        self.launch_lock = free_in_child(threading.RLock())
        """A launch holds it while it runs."""
        self.limit: int | None = None
        """Bytes that launches may take; None for as many as there are."""

    def __repr__(self) -> str:
        return f"<AddressSpace of {len({*self.slots.values()})} buffers>"

    def allocate(
        self, name: str, data: Bytes, writable: bool = True, address: int | None = None, room: int = 0
    ) -> Buffer:
        """Give bytes an address, by default in a free slot; ``room`` is that of the buffer."""
        with self.lock:
            if address is None:
                address = self._free_slots(_slot_count(data.size)) * SLOT + SLOT_OFFSET
            buffer = Buffer(name, address, data, writable, room=room)
            self._show(buffer)
            return buffer

    def _show(self, buffer: Buffer) -> None:
        """Enter a buffer into its slots."""
        self.changes += 1  # First: an interrupt may come at any time.
        for slot in _slots_of(buffer):
            self.slots[slot] = buffer

    def _free_slots(self, count: int) -> int:
        """The first of ``count`` consecutive free slots."""
        if count == 1 and len(self.resting) > RESTING_SLOTS:
            return self.resting.popleft()
        self.next_slot += count
        return self.next_slot - count

    def reserve(self, size: int) -> int:
        """An address for a number of bytes that :meth:`allocate` has not returned, and will not return."""
        with self.lock:
            return self._free_slots(_slot_count(size)) * SLOT + SLOT_OFFSET

    def free(self, buffer: Buffer) -> None:
        """Take the address of a buffer back that :meth:`allocate` gave."""
        with self.lock:
            self._free(buffer)

    def _free(self, buffer: Buffer) -> None:
        """Take the address of a buffer back."""
        self.changes += 1
        self.read_only.discard(buffer.address)
        for slot in [s for s, g in self.guarded.items() if g.whole is buffer]:
            del self.guarded[slot]
            own = self.slots.pop(slot)
            self.read_only.discard(own.address)
            self.resting.append(slot)
        for slot in _slots_of(buffer):
            if self.slots.pop(slot, None) is not None and slot < self.next_slot:
                self.resting.append(slot)  # Slots beyond have addresses chosen by their owners: data of programs.

    def map(self, array: Array, name: str, keep: bool = False) -> Buffer:
        """The buffer of an array: the present one, a part of one that contains its memory, or a new one.

        Args:
            keep: keep the array alive until it is unmapped.
        """
        start, size = int(array.__array_interface__["data"][0]), array.nbytes
        place = (start, size)
        if keep:
            self.hold()  # A freed array may have been at the same place.
            self.kept[place] = array
        buffer = self.arrays.get(place)
        return buffer if buffer is not None else self._map_new(array, name, place)

    def _map_new(self, array: Array, name: str, place: Place) -> Buffer:
        start, size = place
        with self.lock:
            for whole in self.arrays.values():
                if whole.host <= start and start + size <= whole.host + whole.size:
                    return whole.part(name, whole.address + start - whole.host, size)
            owner = weakref.ref(_owner(array))
            try:
                self.owners[place] = owner
                address = self._free_slots(_slot_count(size)) * SLOT + SLOT_OFFSET
                buffer = self.arrays[place] = Buffer(name, address, as_bytes(array), owner=owner)
                if buffer.read_only:
                    self.read_only.add(address)
                self._show(buffer)
            except BaseException:  # An interrupt: a slot whose owner is not known would outlive its array.
                self._forget(place)
                raise
            return buffer

    def guard(self, part: Buffer) -> Buffer:
        """A part of a larger buffer in a separate address range, which identifies the part; other buffers are
        unchanged.

        The range shows the whole buffer, with the same memory of the host and the same offset from a multiple of 4 GiB:
        an address beyond the part reaches the same byte as without the range. Ranges live as long as the buffer.
        """
        with self.lock:
            whole = self.slots.get(part.address // SLOT)
            if whole is None or part.size == whole.size or part.address // SLOT in self.guarded:
                return part
            start = part.address - whole.address
            own = next(
                (
                    self.slots[slot]
                    for slot, g in self.guarded.items()
                    if g.whole is whole and (g.start, g.end - g.start) == (start, part.size)
                ),
                None,
            )
            own = own or self._with_other_addresses(whole, start, part.size)
            return own.part(part.name, own.address + start, part.size)

    def _with_other_addresses(self, whole: Buffer, start: int, size: int) -> Buffer:
        """A buffer under other addresses, because of a part of it; later ones have larger addresses."""
        first, self.next_slot = self.next_slot, self.next_slot + len(_slots_of(whole))
        own = whole.part(whole.name, whole.address, whole.size)
        own.address = first * SLOT + whole.address % SLOT
        self._show(own)
        self.guarded |= dict.fromkeys(_slots_of(own), Guarded(whole, start, start + size))
        return own

    def readable_ranges(self) -> dict[int, tuple[int, int]]:
        """By slot, start and bytes of the range that its addresses belong to, if reads reach more than this range."""
        ranges = {slot: (b.address, b.size) for slot, b in self.slots.items() if b.room > b.size}
        return ranges | {s: (self.slots[s].address + g.start, g.end - g.start) for s, g in self.guarded.items()}

    def protect(self, buffer: Buffer, read_only: bool) -> None:
        """Set whether kernels must not write a buffer and its parent."""
        with self.lock:
            self.changes += 1
            self.protections += 1
            buffer.read_only = read_only
            whole = self.slots[buffer.address // SLOT]
            whole.read_only = read_only
            if read_only:
                self.read_only.add(whole.address)
            else:
                self.read_only.discard(whole.address)

    def unmap(self, array: Array) -> None:
        """Take the address of an array back."""
        start = int(array.__array_interface__["data"][0])
        with self.lock:
            for place in [p for p in (*self.arrays, *self.kept) if p[0] == start]:
                self._forget(place)

    def _forget(self, place: Place) -> None:
        buffer = self.arrays.get(place)
        if buffer is not None:
            self._free(buffer)
        self.arrays.pop(place, None)
        self.owners.pop(place, None)
        self.kept.pop(place, None)

    def hold(self) -> list[Array]:
        """The memory of all mapped arrays, which must stay alive while a launch runs. Freed arrays are unmapped."""
        held = []
        gone = False
        for owner in list(self.owners.values()):
            array = owner()
            if array is None:
                gone = True
            else:
                held.append(array)
        if gone:
            with self.lock:
                for place in [p for p, owner in self.owners.items() if owner() is None]:
                    self._forget(place)
        return held

    def check(self, more: int) -> None:
        """Check that a number of bytes is free besides those of all buffers.

        Raises:
            LaunchError: S041, it is more than the limit.
        """
        if self.limit is None:
            return
        total = more + sum(b.size for b in self.buffers())
        if total > self.limit:
            message = f"the launch takes {total:,} bytes of memory, the limit is {self.limit:,}"
            raise LaunchError(Diagnostic("S041", message, None, "--max-memory sets the limit"))

    def budget(self) -> Take:
        """A function that checks the sum of the arrays of one launch, each before it is read."""
        taken = 0

        def take(size: int) -> None:
            nonlocal taken
            taken += size
            self.check(taken)

        return take

    def buffers(self) -> list[Buffer]:
        """All buffers, each once even if it has several addresses."""
        return list(dict.fromkeys(b for slot, b in self.slots.items() if slot not in self.guarded))

    def at_host(self, address: int) -> Buffer | None:
        """The buffer with a byte of this process."""
        return next((b for b in self.buffers() if b.host <= address < b.host + b.size), None)

    def unguarded(self, address: int) -> int:
        """The address that a byte of a buffer has by itself."""
        guarded = self.guarded.get(address // SLOT)
        return address if guarded is None else address - self.slots[address // SLOT].address + guarded.whole.address

    def behind(self, address: int) -> Buffer | None:
        """The contents of a buffer from an address on."""
        whole = self.slots.get(address // SLOT)
        offset = address - whole.address if whole is not None else -1
        if whole is None or not 0 <= offset < whole.size:
            return None
        return whole.part(whole.name, address, whole.size - offset)

    def block(self, name: str, size: int) -> Buffer:
        """Memory that the simulator owns, kept from launch to launch; its contents are those of the last launch."""
        buffer = self.blocks.get(name)
        if buffer is None or buffer.size < size:
            self.check(size)
            if buffer is not None:
                self._free(buffer)
            buffer = self.blocks[name] = self.allocate(name, np.zeros(size, np.uint8))
        return buffer


def _slot_count(size: int) -> int:
    """Slots that a buffer of a size takes."""
    return 1 + (SLOT_OFFSET + size) // SLOT


def _slots_of(buffer: Buffer) -> range:
    """The slots of a buffer."""
    return range(buffer.address // SLOT, (buffer.address + max(buffer.size, 1) - 1) // SLOT + 1)


def as_bytes(array: Array) -> Bytes:
    """The memory of a contiguous array as bytes, without a copy."""
    return array.reshape(-1).view(np.uint8)
