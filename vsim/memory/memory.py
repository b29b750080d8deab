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
"""Slots that rest after their buffers are gone, so that a pointer that was kept too long finds nothing for a while."""
SLM_ADDRESS_MASK = 0x0FFF_FFFF
"""The compiler tags pointers to local memory with bit 28, so that none is null; the hardware ignores it."""
SLM_STEP, PAGE = 1 << 10, 1 << 16
"""Bytes in which a device hands out local memory, and in which it maps buffers: reads behind an end find them."""
UNDEFINED_BYTE = 0xFF
"""Beside memory: nobody has defined any bit of a byte."""
Owner = weakref.ReferenceType[Array]
"""The array that some memory belongs to. numpy resizes no array with weak references, which would move the memory."""


class Buffer:
    """A range of simulated memory: bytes of the simulator's own, or those of a caller's array, which it does not keep.

    Whoever runs a launch holds the arrays meanwhile (:meth:`AddressSpace.hold`).

    Attributes:
        size: in bytes.
        room: bytes that kernels may read from its beginning on: behind the size there are as many zeros beside it.
        host: where the bytes lie in this process.
        read_only: whether kernels must not write it: :meth:`AddressSpace.protect` decides.
        undefined: as many bytes, whose bits say which of its own nobody has defined before a launch, and after it; None
            for memory that is defined.
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
        """The bytes; none if they were those of an array that is gone."""
        if self._bytes is not None:
            return self._bytes
        owner = self._owner() if self._owner is not None else None
        if owner is None:
            return np.zeros(0, np.uint8)
        return np.asarray(_HostBytes(owner, self.host, self.size, self.read_only))

    @property
    def readable(self) -> Bytes:
        """The bytes with the zeros behind them that kernels may read."""
        data = self.data
        return data if self.room == data.size else np.asarray(_HostBytes(data, self.host, self.room, True))

    def part(self, name: str, address: int, size: int) -> Buffer:
        """A part of it under another name."""
        start = address - self.address
        room = self.room - start if start + size == self.size else 0
        found = Buffer(name, address, self.data[start : start + size], self.writable, self._owner, room)
        found.read_only = self.read_only
        return found


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
"""What samplers can be told; OpenCL's words are among them."""


class SamplerState(NamedTuple):
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


Place = tuple[int, int]
"""Where an array lies in this process, and its size in bytes."""


class Guarded(NamedTuple):
    """A part of a buffer with addresses of its own: at them lies the whole buffer, of which it is what ends before
    ``end`` and begins at ``start``.
    """

    whole: Buffer
    """The buffer under the addresses that it has besides."""
    start: int
    end: int


class AddressSpace:
    """Buffers by their 4 GiB slot. Addresses are the same in every run: they depend on the order of allocations and
    releases alone.

    Arrays stay mapped as long as they live, in the hands of the caller, or of the address space if it keeps them.
    Several programs may share an address space; their launches wait for each other (``running``).
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
        """Slots that were used, in the order in which they are used again."""
        self.blocks: dict[str, Buffer] = {}
        self.arrays: dict[Place, Buffer] = {}
        self.owners: dict[Place, Owner] = {}
        self.kept: dict[Place, Array] = {}
        self.guarded: dict[int, Guarded] = {}
        """By slot, the parts of buffers that have addresses of their own (:meth:`guard`)."""
        self.lock = free_in_child(threading.RLock())
        self.running = free_in_child(threading.RLock())
        self.limit: int | None = None
        """Bytes that launches may take; None for as many as there are."""

    def __repr__(self) -> str:
        return f"<AddressSpace of {len({*self.slots.values()})} buffers>"

    def allocate(
        self, name: str, data: Bytes, writable: bool = True, address: int | None = None, room: int = 0
    ) -> Buffer:
        """Give bytes an address, by default in a slot that is free; ``room`` is that of the buffer."""
        with self.lock:
            if address is None:
                address = self._free_slots(_slot_count(data.size)) * SLOT + SLOT_OFFSET
            buffer = Buffer(name, address, data, writable, room=room)
            self._show(buffer)
            return buffer

    def _show(self, buffer: Buffer) -> None:
        """Enter a buffer into the slots that it lies in."""
        self.changes += 1  # First: an interrupt may come at any time.
        for slot in _slots_of(buffer):
            self.slots[slot] = buffer

    def _free_slots(self, count: int) -> int:
        """The first of so many free slots that follow each other."""
        if count == 1 and len(self.resting) > RESTING_SLOTS:
            return self.resting.popleft()
        self.next_slot += count
        return self.next_slot - count

    def reserve(self, size: int) -> int:
        """An address for so many bytes that :meth:`allocate` has not given out, and will not."""
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
                self.resting.append(slot)  # Those beyond were chosen by who asked for them: data of programs.

    def map(self, array: Array, name: str, keep: bool = False) -> Buffer:
        """The buffer of an array: the one that it got before, a part of one in whose memory it lies, or a new one.

        Args:
            keep: keep the array alive until it is unmapped.
        """
        start, size = int(array.__array_interface__["data"][0]), array.nbytes
        place = (start, size)
        if keep:
            self.hold()  # What is gone may have been at the same place.
            self.kept[place] = array
        found = self.arrays.get(place)
        return found if found is not None else self._map_new(array, name, place)

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
                found = self.arrays[place] = Buffer(name, address, as_bytes(array), owner=owner)
                if found.read_only:
                    self.read_only.add(address)
                self._show(found)
            except BaseException:  # An interrupt: a slot whose owner is not known would outlive its array.
                self._forget(place)
                raise
            return found

    def guard(self, part: Buffer) -> Buffer:
        """A part of a larger buffer under addresses of its own, so that they tell whose they are; others as they are.

        The whole buffer lies at them, too, in the same memory of the host and as far from a multiple of 4 GiB: an
        address beyond the part leads to the same byte as it would without. They stay as long as the buffer.
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
        """By slot, where what belongs to its addresses begins, and its bytes, where reads find more than that."""
        found = {slot: (b.address, b.size) for slot, b in self.slots.items() if b.room > b.size}
        return found | {s: (self.slots[s].address + g.start, g.end - g.start) for s, g in self.guarded.items()}

    def protect(self, buffer: Buffer, read_only: bool) -> None:
        """Say whether kernels must leave a buffer alone, and the one that it is a part of."""
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
        found = self.arrays.get(place)
        if found is not None:
            self._free(found)
        self.arrays.pop(place, None)
        self.owners.pop(place, None)
        self.kept.pop(place, None)

    def hold(self) -> list[Array]:
        """The memory of all mapped arrays, which must stay while a launch runs. Those that are gone are unmapped."""
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
        """Check that so many bytes may be taken besides those of all buffers.

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
        """What checks that the arrays of one launch may be taken together, each before it is read."""
        taken = 0

        def take(size: int) -> None:
            nonlocal taken
            taken += size
            self.check(taken)

        return take

    def buffers(self) -> list[Buffer]:
        """All buffers, each once whatever other addresses it has."""
        return list(dict.fromkeys(b for slot, b in self.slots.items() if slot not in self.guarded))

    def unguarded(self, address: int) -> int:
        """The address that a byte of a buffer has by itself."""
        guarded = self.guarded.get(address // SLOT)
        return address if guarded is None else address - self.slots[address // SLOT].address + guarded.whole.address

    def behind(self, address: int) -> Buffer | None:
        """What lies in a buffer from an address on."""
        whole = self.slots.get(address // SLOT)
        offset = address - whole.address if whole is not None else -1
        if whole is None or not 0 <= offset < whole.size:
            return None
        return whole.part(whole.name, address, whole.size - offset)

    def block(self, name: str, size: int) -> Buffer:
        """Memory of the simulator's own, kept from launch to launch; its contents are those of the last launch."""
        found = self.blocks.get(name)
        if found is None or found.size < size:
            self.check(size)
            if found is not None:
                self._free(found)
            found = self.blocks[name] = self.allocate(name, np.zeros(size, np.uint8))
        return found


def _slot_count(size: int) -> int:
    """Slots that a buffer of a size takes."""
    return 1 + (SLOT_OFFSET + size) // SLOT


def _slots_of(buffer: Buffer) -> range:
    """The slots that a buffer lies in."""
    return range(buffer.address // SLOT, (buffer.address + max(buffer.size, 1) - 1) // SLOT + 1)


def as_bytes(array: Array) -> Bytes:
    """The memory of a contiguous array as bytes, without a copy."""
    return array.reshape(-1).view(np.uint8)
