"""Memory that kernels and the program know by the same address: SVM, and Intel's unified shared memory.

The simulated address of such memory is chosen as that of any buffer, and memory of the process is mapped there.
"""

from __future__ import annotations

from visakit.objects.image import SLOT_OFFSET
from visakit.runtime import cl, host
from visakit.runtime.allocation import ADDRESSES, Shared, is_mapped, map_memory, readable, unmap_memory
from visakit.runtime.context import Context
from visakit.runtime.device import Device
from visakit.runtime.errors import require
from visakit.runtime.objects import current_call
from visakit.runtime.settings import has_whole_pages

_WORDS = {
    cl.CL_MEM_TYPE_UNKNOWN_INTEL: "SVM", cl.CL_MEM_TYPE_HOST_INTEL: "host", cl.CL_MEM_TYPE_DEVICE_INTEL: "device",
    cl.CL_MEM_TYPE_SHARED_INTEL: "shared",
}  # fmt: skip
"""The name of allocations in reports."""
LARGEST_ALIGNMENT = 1 << 30
"""In bytes: less than a slot of buffers has."""


def allocate(
    context: Context, size: int, alignment: int, kind: int = cl.CL_MEM_TYPE_UNKNOWN_INTEL, flags: int = 0,
    device: Device | None = None,
) -> Shared | None:  # fmt: skip
    """New memory, zero; None if the system has none left, or the alignment is invalid."""
    largest = context.maximum_allocation
    if not 0 < size <= largest or alignment & (alignment - 1) or alignment > LARGEST_ALIGNMENT:
        return None
    room, skipped = readable(size), max(alignment - SLOT_OFFSET, 0)
    try:
        while not map_memory(address := context.space.reserve(skipped + size) + skipped, room):
            pass  # Another context of the process has memory there.
    except MemoryError:
        return None
    name = f"{_WORDS[kind]} allocation {next(context.allocations)}, made by {current_call()}"
    data = host.view(address, room if has_whole_pages() else size)
    buffer = context.space.allocate(name, data, address=address, room=room)
    context.shared[address] = allocation = Shared(buffer, size, kind, flags, device)
    return allocation


def find(context: Context, pointer: int) -> Shared | None:
    """The allocation that a pointer is in."""
    buffer = context.space.slots.get(pointer >> 32)
    allocation = context.shared.get(buffer.address) if buffer is not None else None
    inside = allocation is not None and allocation.address <= pointer < allocation.address + allocation.size
    return allocation if inside else None


def give_back(context: Context, found: Shared) -> None:
    """Give an allocation back when no kernel of the context is running."""
    with context.space.launch_lock:
        unmap_memory(found.address, found.buffer.room)
        context.space.free(found.buffer)  # Last: an address with a slot and without an allocation is refused.


def check_range(context: Context, pointer: int, size: int) -> None:
    """Refuse a range that begins in an allocation and exceeds it, and one where there is no memory, as after a free;
    other memory belongs to the program.
    """
    allocation = find(context, pointer)
    room = ADDRESSES - pointer if allocation is None else allocation.address + allocation.size - pointer
    require(size <= room, cl.CL_INVALID_VALUE, f"{size} bytes at {pointer:#x}, of which {room} are there")
    if allocation is None:  # Memory that is freed keeps its slot until all commands before are over.
        is_there = pointer >> 32 not in context.space.slots and is_mapped(pointer, size)
        require(is_there, cl.CL_INVALID_VALUE, f"there is no memory for {size} bytes at {pointer:#x}")


def check_pointer(context: Context, pointer: int) -> None:
    """Refuse a pointer for kernels to memory that they do not know."""
    known = not pointer or find(context, pointer) is not None
    require(known, cl.CL_INVALID_ARG_VALUE, f"{pointer:#x} is in no memory that was allocated for kernels")
