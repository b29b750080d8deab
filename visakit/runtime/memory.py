"""Buffers: memory with an address for kernels and one for the program, which are two views of the same bytes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from visakit.forks import free_in_child
from visakit.objects.image import SLOT
from visakit.runtime import cl, host, svm
from visakit.runtime.allocation import readable
from visakit.runtime.context import Context
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import ApiObject, current_call
from visakit.runtime.order import Turn
from visakit.runtime.rectangles import Rectangle
from visakit.runtime.settings import has_whole_pages, watches_undefined
from vsim.launch.arrays import Bytes, address_of
from vsim.memory.memory import UNDEFINED_BYTE

ALIGNMENT = 128
"""Alignment in bytes: that of the largest type on the device; also of host memory."""
_KERNEL_ACCESS = cl.CL_MEM_READ_WRITE | cl.CL_MEM_WRITE_ONLY | cl.CL_MEM_READ_ONLY
_HOST_ACCESS = cl.CL_MEM_HOST_WRITE_ONLY | cl.CL_MEM_HOST_READ_ONLY | cl.CL_MEM_HOST_NO_ACCESS
_HOST_POINTER = cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_ALLOC_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR
_KNOWN = _KERNEL_ACCESS | _HOST_ACCESS | _HOST_POINTER | cl.CL_MEM_KERNEL_READ_AND_WRITE


def check_flags(flags: int, host_ptr: int) -> int:
    """The flags of new memory, completed with the defaults.

    Raises:
        CallError: they do not go together, or with the pointer.
    """
    use, alloc, copy = (
        flags & bit for bit in (cl.CL_MEM_USE_HOST_PTR, cl.CL_MEM_ALLOC_HOST_PTR, cl.CL_MEM_COPY_HOST_PTR)
    )
    require(not flags & ~_KNOWN, cl.CL_INVALID_VALUE, f"flags {flags:#x} are not known")
    for group in (_KERNEL_ACCESS, _HOST_ACCESS):
        require((flags & group).bit_count() < 2, cl.CL_INVALID_VALUE, "flags about access exclude each other")
    require(not (use and (alloc or copy)), cl.CL_INVALID_VALUE, "flags about host memory exclude each other")
    require(bool(host_ptr) == bool(use or copy), cl.CL_INVALID_HOST_PTR, "host pointer and flags do not fit")
    return flags if flags & _KERNEL_ACCESS else flags | cl.CL_MEM_READ_WRITE


@dataclass(eq=False)
class Mapping:
    """A part of memory that the program has mapped; of an image, the rows to bring back where it was copied.

    Attributes:
        turns: accesses of the program to it, one for each mapping, if races are checked.
    """

    pointer: int
    count: int = 1
    unmap: Callable[[], None] | None = None
    turns: list[Turn] = field(default_factory=list)


class Memory(ApiObject):
    """Base of buffers and images.

    Attributes:
        data: the bytes.
        size: in bytes.
        creator: the call that made it.
        maps: the current mappings.
        given: the properties that it was made with.
    """

    invalid = cl.CL_INVALID_MEM_OBJECT
    title = "memory object"
    kind: int

    def __init__(self, context: Context, flags: int, data: Bytes, host_ptr: int, given: bytes = b"") -> None:
        super().__init__()
        self.context, self.flags, self.data, self.given = context, flags, data, given
        self.size = data.nbytes
        self.host_ptr = host_ptr if flags & cl.CL_MEM_USE_HOST_PTR else 0
        self.creator = current_call()
        self.maps: list[Mapping] = []
        self.endings: list[Callable[[], None]] = []
        self.lock = free_in_child(threading.Lock())

    @property
    def name(self) -> str:
        """Its name in reports of faults."""
        return f"buffer {self.number}"

    @property
    def host(self) -> int:
        """The address of the bytes in this process."""
        return address_of(self.data)

    @property
    def parent(self) -> Memory | None:
        """The memory that it is a part of."""
        return None

    @property
    def offset(self) -> int:
        """Where it begins in its parent."""
        return 0

    def before_end(self, function: Callable[[], None]) -> None:
        """Register a destructor; the latest is called first, and the bytes are freed last."""
        if not self.endings:
            endings, data = self.endings, self.data
            self.at_end(lambda: _end(endings, data))
        self.endings.append(function)

    def note_mapping(self, mapping: Mapping) -> Mapping:
        """Record the mapping of a part; returns the record of all mappings of the part."""
        with self.lock:
            known = next((m for m in self.maps if m.pointer == mapping.pointer and m.unmap is None), None)
            if known is not None and mapping.unmap is None:
                known.count += 1
                return known
            self.maps.append(mapping)
            return mapping

    def take_mapping(self, pointer: int) -> Mapping:
        """Forget a mapping once.

        Raises:
            CallError: nothing is mapped there.
        """
        with self.lock:
            mapping = next((m for m in self.maps if m.pointer == pointer), None)
            require(mapping is not None, cl.CL_INVALID_VALUE, f"nothing is mapped at {pointer:#x}")
            assert mapping is not None
            mapping.count -= 1
            if not mapping.count:
                self.maps.remove(mapping)
            return mapping

    @property
    def map_count(self) -> int:
        """How often parts of it are mapped."""
        return sum(mapping.count for mapping in self.maps)

    def check_host(self, reads: bool, writes: bool) -> None:
        """Refuse accesses of the host that the flags exclude."""
        forbidden = cl.CL_MEM_HOST_NO_ACCESS
        forbidden |= cl.CL_MEM_HOST_WRITE_ONLY if reads else 0
        forbidden |= cl.CL_MEM_HOST_READ_ONLY if writes else 0
        require(not self.flags & forbidden, cl.CL_INVALID_OPERATION, "the memory was made for other accesses")


class Buffer(Memory):
    """A buffer or a part of one.

    Attributes:
        address: its address in kernels.
        undefined: undefined bits, if undefined values are checked; None if all bits count as defined.
    """

    kind = cl.CL_MEM_OBJECT_BUFFER

    def __init__(
        self,
        context: Context,
        flags: int,
        data: Bytes,
        host_ptr: int = 0,
        given: bytes = b"",
        whole: tuple[Buffer, int] | None = None,
    ) -> None:
        super().__init__(context, flags, data, host_ptr, given)
        self._whole = whole
        self.undefined: Bytes | None = None
        if whole is None:
            has_contents = flags & (cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR)
            if watches_undefined() and not has_contents:
                self.undefined = np.full(self.size, UNDEFINED_BYTE, np.uint8)
        elif whole[0].undefined is not None:
            self.undefined = whole[0].undefined[whole[1] : whole[1] + self.size]
        self.address: int = self._place() if whole is None else whole[0].address + whole[1]

    def _place(self) -> int:
        """Its address: that of the memory that it shares with others, or a new one."""
        space = self.context.space
        shared = shared_address(self.context, self.host, self.size)
        if shared is not None:
            return shared
        room = 0 if self.flags & cl.CL_MEM_USE_HOST_PTR else readable(self.size)
        data = host.view(self.host, room) if room and has_whole_pages() else self.data
        simulated = space.allocate(self.name, data, room=room)
        simulated.undefined = self.undefined
        self.at_end(lambda: space.free(simulated))
        return simulated.address

    @property
    def parent(self) -> Buffer | None:
        return self._whole[0] if self._whole else None

    @property
    def offset(self) -> int:
        return self._whole[1] if self._whole else 0

    def note_defined(self, offset: int = 0, size: int | None = None) -> None:
        """The program has written ``size`` bytes, or all from the offset on."""
        if self.undefined is not None:
            self.undefined[offset : None if size is None else offset + size] = 0

    def note_copied(self, offset: int, given: Buffer, start: int, size: int) -> None:
        """The program has copied bytes of a buffer from ``start`` on."""
        if self.undefined is not None:
            bits = 0 if given.undefined is None else given.undefined[start : start + size]
            self.undefined[offset : offset + size] = bits

    def note_box(self, box: Rectangle, copied: tuple[Buffer, Rectangle] | None = None) -> None:
        """The program has written the bytes of a box, or copied them from a box of a buffer."""
        if self.undefined is not None:
            given, other = copied or (self, box)
            known = None if copied is None else given.undefined
            box.of_bytes(self.undefined)[...] = 0 if known is None else other.of_bytes(known)

    def part(self, offset: int, size: int, what: str = "range") -> Bytes:
        """Bytes of it.

        Raises:
            CallError: they are outside of the memory.
        """
        inside = offset + size <= self.size
        require(size and inside, cl.CL_INVALID_VALUE, f"{what} of {size} bytes at {offset} is not in {self.size} bytes")
        return self.data[offset : offset + size]


def _end(endings: list[Callable[[], None]], data: Bytes) -> None:
    """Call the destructors; the bytes (``data``) are freed after them."""
    while endings:
        endings.pop()()


def shared_address(context: Context, pointer: int, size: int) -> int | None:
    """The address of host memory that kernels know by the same address; None for other memory."""
    buffer = context.space.slots.get(pointer // SLOT)
    if buffer is None or buffer.host != buffer.address:
        return None
    return pointer if buffer.address <= pointer and pointer + size <= buffer.address + buffer.size else None


def host_bytes(size: int, room: int = 0) -> Bytes:
    """New memory, zero, at a multiple of the alignment; ``room`` bytes of zeros are there if these are more.

    Raises:
        CallError: the system has none left.
    """
    try:
        raw = np.zeros(max(size, room) + ALIGNMENT, np.uint8)
    except MemoryError:
        raise CallError(cl.CL_MEM_OBJECT_ALLOCATION_FAILURE, f"the system has no {size} bytes left") from None
    start = -address_of(raw) % ALIGNMENT
    return raw[start : start + size]


def create_buffer(context: Context, flags: int, size: int, host_ptr: int, given: bytes = b"") -> Buffer:
    """A new buffer.

    Raises:
        CallError: flags, size or pointer are invalid.
    """
    flags = check_flags(flags, host_ptr)
    largest = context.maximum_allocation
    require(0 < size <= largest, cl.CL_INVALID_BUFFER_SIZE, f"a buffer has 1 to {largest} bytes, found {size}")
    if flags & cl.CL_MEM_USE_HOST_PTR:
        shared = svm.find(context, host_ptr)
        fits = shared is None or host_ptr + size <= shared.address + shared.size
        require(
            fits, cl.CL_INVALID_BUFFER_SIZE, f"the allocation at {host_ptr:#x} has less than {size} bytes behind it"
        )
        return Buffer(context, flags, host.view(host_ptr, size), host_ptr, given)
    data = host_bytes(size, readable(size))
    if flags & cl.CL_MEM_COPY_HOST_PTR:
        host.move(address_of(data), host_ptr, size)
    return Buffer(context, flags, data, 0, given)


def create_sub_buffer(whole: Buffer, flags: int, origin: int, size: int) -> Buffer:
    """A part of a buffer as a buffer.

    Raises:
        CallError: it exceeds the buffer, is not aligned, or has other access flags.
    """
    require(whole.parent is None, cl.CL_INVALID_MEM_OBJECT, "a part of a buffer has no parts")
    require(not flags & (_HOST_POINTER | ~_KNOWN), cl.CL_INVALID_VALUE, f"flags {flags:#x} are not for parts")
    for group in (_KERNEL_ACCESS, _HOST_ACCESS):
        require((flags & group).bit_count() < 2, cl.CL_INVALID_VALUE, "flags about access exclude each other")
        own, wanted = whole.flags & group, flags & group
        open_to_all = (0, cl.CL_MEM_READ_WRITE)
        fits = not wanted or own in open_to_all or wanted == own or wanted == cl.CL_MEM_HOST_NO_ACCESS
        require(fits, cl.CL_INVALID_VALUE, "the part wants accesses that the buffer was not made for")
        flags |= 0 if wanted else own
    flags |= whole.flags & _HOST_POINTER
    require(size, cl.CL_INVALID_BUFFER_SIZE, "the part is empty")
    require(origin + size <= whole.size, cl.CL_INVALID_VALUE, "the part exceeds the buffer")
    require(not origin % ALIGNMENT, cl.CL_MISALIGNED_SUB_BUFFER_OFFSET, f"{origin} is no multiple of {ALIGNMENT}")
    host_ptr = whole.host_ptr + origin if whole.host_ptr else 0
    return Buffer(whole.context, flags, whole.data[origin : origin + size], host_ptr, whole=(whole, origin))
