"""Memory spaces, and messages that load and store for many lanes at once.

Each lane is checked against the bounds of its buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from visakit.language.program import Instruction
from visakit.objects.image import SLOT
from vsim.engines.numpy.algebra import Mask, broadcast
from vsim.launch.arrays import Array, Bools, Bytes, DType, Dwords, Offsets
from vsim.launch.payload import SCRATCH_HANDLE
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import AddressSpace, Buffer

Fault = Callable[[int, int, str | Buffer, int, int], Exception]
"""Makes the error for (row, lane, memory or its name, offset, its size)."""
_SLOT_BITS = np.uint64(SLOT.bit_length() - 1)
READ_ONLY = -1
"""For the size of a buffer, where it may not be written."""


class BufferPart(NamedTuple):
    """Lanes of a message that access one buffer: its bytes, checked offsets, which of the active lanes (None: all)."""

    data: Bytes
    offsets: Offsets
    lanes: Bools | None


class _Outside(NamedTuple):
    """A lane that accesses no byte of a buffer, by its position among the active lanes."""

    position: int
    what: str | Buffer
    offset: int
    size: int


@dataclass
class FlatSpace:
    """The 64-bit address space; with ``zeros_beyond`` lanes read zeros beyond the end of the first one's buffer."""

    memory: AddressSpace
    zeros_beyond: bool = False
    rows: ClassVar[int] = 1

    def parts(self, access: MessageAccess) -> Iterator[BufferPart]:
        """The lanes of a message by the buffer at their address, or at that of the first lane of their thread."""
        address = access.address if access.first is None else access.first
        for slot, lanes in _by_value(address >> _SLOT_BITS):
            address = access.address if lanes is None else access.address[lanes]
            buffer = self.memory.slots.get(slot)
            if buffer is None:
                access.missing("", address, lanes)
            else:
                offsets = access.in_buffer(address - np.uint64(buffer.address), buffer, lanes)
                yield BufferPart(buffer.data if access.writes else buffer.readable, offsets, lanes)


@dataclass
class PartitionedSpace:
    """Memory of which every thread or work-group has a part: all bytes, and each thread's first one (threads x 1)."""

    zeros_beyond: ClassVar[bool] = False
    name: str
    data: Bytes
    base: Offsets
    size: int
    address_mask: int = 0xFFFF_FFFF_FFFF_FFFF
    room: int = 0
    """Bytes that may be read, if these are more than may be written."""

    @property
    def rows(self) -> int:
        """Threads that it is for; 1 if it is the same for all."""
        return int(self.base.shape[0])

    def parts(self, access: MessageAccess) -> Iterator[BufferPart]:
        """The lanes of a message: each in the part of its thread."""
        offsets = access.checked(access.address & np.uint64(self.address_mask), self.size, self.name, None, self.room)
        yield BufferPart(self.data, offsets + access.per_lane(self.base), None)


class ImageSpace(PartitionedSpace):
    """The texels of an image, which all threads see."""


@dataclass
class SurfaceSpace:
    """Surfaces by number: one number for each thread, threads x 1; ``scratch`` is that of threads with its handle.

    With ``zeros_beyond`` lanes read zeros beyond the end of a buffer that the first one is in.
    """

    number: Dwords
    table: Mapping[int, Buffer | SurfaceImage]
    scratch: PartitionedSpace | None = None
    zeros_beyond: bool = False

    @property
    def rows(self) -> int:
        """Threads that it is for."""
        return int(self.number.shape[0])

    def parts(self, access: MessageAccess) -> Iterator[BufferPart]:
        """The lanes of a message by the surface of their thread."""
        for number, lanes in _by_value(access.per_lane(self.number)):
            address = access.address if lanes is None else access.address[lanes]
            buffer = self.table.get(number)
            if self.scratch is not None and number == SCRATCH_HANDLE:
                offsets = access.checked(address, self.scratch.size, self.scratch.name, lanes)
                base = access.per_lane(self.scratch.base)
                yield BufferPart(self.scratch.data, offsets + (base if lanes is None else base[lanes]), lanes)
            elif isinstance(buffer, Buffer):
                data = buffer.data if access.writes else buffer.readable
                yield BufferPart(data, access.in_buffer(address, buffer, lanes), lanes)
            elif isinstance(buffer, SurfaceImage):
                data = buffer.bytes
                yield BufferPart(data, access.checked(address, data.size, buffer.name, lanes), lanes)
            else:
                access.missing(f"surface {number}", address, lanes)


Space = FlatSpace | PartitionedSpace | SurfaceSpace


def _by_value(values: Array) -> Iterator[tuple[int, Bools | None]]:
    """Each value that occurs, and which elements have it: None if all of them have."""
    first = values[0]
    if (values == first).all():
        yield int(first), None
    else:
        for value in np.unique(values):
            yield int(value), values == value


class Act(NamedTuple):
    """What a message does: ``read``, ``write`` or ``atomic``, its instruction, and the elements that lanes store.

    The instruction of a raw message is the equivalent one.
    """

    kind: str
    instruction: Instruction | None = None
    values: list[Array] | None = None


class MessageAccess:
    """One message: the addresses of its active lanes; ``size`` bytes at each must be inside one
    buffer, which is writable if the message writes.

    Attributes:
        address: the addresses of the active lanes, one after the other.
        mask: the active lanes: threads x lanes of the message, one row where all threads do the same.
        only_read: the lanes of an atomic operation, shaped like ``mask``, that have only read, once that is known.
    """

    def __init__(self, space: Space, address: Array, mask: Mask, size: int, fault: Fault, act: Act) -> None:
        self.space, self.size, self.fault = space, size, fault
        self.kind, self.instruction, self.values = act
        self.writes = self.kind != "read"
        self.only_read: Array | None = None
        lanes = np.ones((1, 1), bool) if mask is True else mask
        self.shape = np.broadcast_shapes(address.shape, lanes.shape, (space.rows, 1))
        self.mask = broadcast(lanes, self.shape)
        self.all = mask is True or bool(self.mask.all())
        self.address = self.per_lane(address)
        self.first = self.per_lane(address[:, :1]) if space.zeros_beyond else None
        """The address of the first lane of each one's thread, where others read zeros beyond the end of its buffer."""
        self._outside: list[_Outside] = []

    def per_lane(self, values: Array) -> Array:
        """The values of the active lanes, one after the other."""
        full = broadcast(values, self.shape)
        return full.reshape(-1) if self.all else full[self.mask]

    def spread(self, values: Array) -> Array:
        """Values of the active lanes back in their places, 0 elsewhere."""
        if self.all:
            return values.reshape(self.shape)
        out = np.zeros(self.shape, values.dtype)
        out[self.mask] = values
        return out

    def parts(self) -> list[BufferPart]:
        """The active lanes by buffer.

        Raises:
            SimulationError: a lane is outside; the first one is told.
        """
        found = list(self.space.parts(self)) if self.address.size else []
        if self._outside:
            outside = min(self._outside, key=lambda o: o.position)
            position = outside.position if self.all else int(np.flatnonzero(self.mask.reshape(-1))[outside.position])
            row, lane = divmod(position, self.shape[1])
            raise self.fault(row, lane, outside.what, outside.offset, outside.size)
        return found

    def in_buffer(self, offsets: Array, buffer: Buffer, lanes: Bools | None) -> Offsets:
        """Offsets in a buffer; notes the first one that is not inside, or that may not be written."""
        before = len(self._outside)
        if self.first is not None:
            steps = self.address - self.first
            steps = steps if lanes is None else steps[lanes]
            first: Offsets = self.checked(offsets - steps, buffer.size, buffer, lanes, buffer.room, 1)
            return first + steps.astype(np.int64)
        found = self.checked(offsets, buffer.size, buffer, lanes, buffer.room)
        if self.writes and buffer.read_only and len(self._outside) == before:
            position = 0 if lanes is None else int(np.flatnonzero(lanes)[0])
            self._outside.append(_Outside(position, buffer, int(found[0]), READ_ONLY))
        return found

    def checked(
        self, offsets: Array, size: int, what: str | Buffer, lanes: Bools | None, room: int = 0, count: int = 0
    ) -> Offsets:
        """Offsets in a buffer of a size as signed integers; notes the first one from which on ``count`` bytes (all of a
        lane's) are not inside. Reads may reach ``room`` bytes.
        """
        signed = offsets.astype(np.int64, copy=False)
        limit = size if self.writes else max(room, size)
        bad = (signed < 0) | (signed > limit - (count or self.size))
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            position = first if lanes is None else int(np.flatnonzero(lanes)[first])
            self._outside.append(_Outside(position, what, int(signed[first]), size))
        return signed

    def missing(self, name: str, address: Array, lanes: Bools | None) -> None:
        """Notes that lanes access a buffer that does not exist."""
        position = 0 if lanes is None else int(np.flatnonzero(lanes)[0])
        self._outside.append(_Outside(position, name, int(address[0]), 0))


def gather(data: Bytes, offsets: Offsets, dtype: DType) -> Array:
    """The elements at byte offsets."""
    size = dtype.itemsize
    if size == 1:
        return data[offsets]
    if not (offsets & (size - 1)).any():
        return data[: data.size // size * size].view(dtype)[offsets // size]
    index = offsets[..., None] + np.arange(size)
    return np.ascontiguousarray(data[index]).view(dtype)[..., 0]


def gather_with_zeros(data: Bytes, offsets: Offsets, dtype: DType) -> Array:
    """The elements at byte offsets, with zeros behind the end."""
    index = offsets[..., None] + np.arange(dtype.itemsize)
    found = np.where(index < data.size, data[np.minimum(index, data.size - 1)], 0).astype(np.uint8, copy=False)
    return found.view(dtype)[..., 0]


def scatter(data: Bytes, offsets: Offsets, values: Array) -> None:
    """Write elements at byte offsets; of those at one offset the last wins."""
    size = values.dtype.itemsize
    if size == 1:
        data[offsets] = values
    elif not (offsets & (size - 1)).any():
        data[: data.size // size * size].view(values.dtype)[offsets // size] = values
    else:
        index = offsets[..., None] + np.arange(size)
        data[index] = np.ascontiguousarray(values)[..., None].view(np.uint8).reshape(index.shape)


def load(access: MessageAccess, dtype: DType, count: int) -> list[Array]:
    """Consecutive elements for each lane, 0 outside the mask."""
    parts, found = access.parts(), []
    elements = gather if access.first is None else gather_with_zeros
    for k in range(count):
        if len(parts) == 1 and parts[0].lanes is None:
            values = elements(parts[0].data, parts[0].offsets + k * dtype.itemsize, dtype)
        else:
            values = np.zeros(access.address.size, dtype)
            for data, offsets, lanes in parts:
                values[lanes] = elements(data, offsets + k * dtype.itemsize, dtype)
        found.append(access.spread(values))
    return found


def store(access: MessageAccess, values: list[Array]) -> None:
    """Consecutive elements for each active lane, the first of all lanes first; of lanes with one address the last wins.

    Raises:
        SimulationError: a lane is outside; nothing is written then.
    """
    parts = access.parts()
    for k, value in enumerate(values):
        active = access.per_lane(value)
        for data, offsets, lanes in parts:
            scatter(data, offsets + k * value.dtype.itemsize, active if lanes is None else active[lanes])
