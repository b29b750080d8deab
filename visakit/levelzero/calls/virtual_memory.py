"""Reserved addresses and physical memory."""

from __future__ import annotations

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.calls.contexts import context_device
from visakit.levelzero.parameters import described, fill, find, need, structure
from visakit.levelzero.structures import ze_physical_mem_desc_t, ze_physical_mem_properties_t
from visakit.levelzero.virtual_memory import (
    PhysicalMemory,
    access_at,
    map_physical,
    release,
    reserve,
    set_access,
    unmap,
    whole_pages,
)
from visakit.runtime import host
from visakit.runtime.context import Context
from visakit.runtime.errors import require
from visakit.runtime.queue import free_when_done
from vsim.memory.memory import PAGE

_PLACES = ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE | ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST


def _checked(access: int) -> int:
    known = access in (
        ze.ZE_MEMORY_ACCESS_ATTRIBUTE_NONE, ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE,
        ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY,
    )  # fmt: skip
    require(known, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, f"the access {access}")
    return access


@entry
def zeVirtualMemReserve(context: Context, start: int, size: int, target: int) -> None:
    """Addresses without memory, in whole pages."""
    need(target)
    largest = context.maximum_allocation
    require(whole_pages(size) <= largest, ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE, f"there are up to {largest} bytes")
    host.write_size(target, reserve(context, size))


@entry
def zeVirtualMemFree(context: Context, pointer: int, size: int) -> None:
    """Give addresses back."""
    need(pointer)
    release(context, pointer, size)
    free_when_done(context, pointer)


@entry
def zeVirtualMemQueryPageSize(context: int, device: int, size: int, target: int) -> None:
    """Bytes of a page."""
    context_device(context, device)
    need(target)
    host.write_size(target, PAGE)


@entry
def zeVirtualMemMap(
    context: Context, pointer: int, size: int, memory: PhysicalMemory, offset: int, access: int
) -> None:
    """Put physical memory behind addresses, from the beginning of a page on."""
    need(pointer)
    require(not offset % PAGE and not pointer % PAGE, ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "it begins in a page")
    map_physical(context, pointer, whole_pages(size), memory, offset, _checked(access))


@entry
def zeVirtualMemUnmap(context: Context, pointer: int, size: int) -> None:
    """Take the memory behind addresses away."""
    need(pointer)
    unmap(context, pointer, whole_pages(size))


@entry
def zeVirtualMemSetAccessAttribute(context: Context, pointer: int, size: int, access: int) -> None:
    """Allow accesses to addresses: none, reads, or reads and writes."""
    need(pointer)
    whole_pages(size)
    set_access(context, pointer, _checked(access))


@entry
def zeVirtualMemGetAccessAttribute(context: Context, pointer: int, size: int, access: int, length: int) -> None:
    """The allowed accesses, and the bytes from an address on that have the same."""
    need(pointer, access, length)
    known, size_of_it = access_at(context, pointer)
    host.write_u32(access, known)
    host.write_size(length, size_of_it)


@entry
def zePhysicalMemCreate(context: int, device: int, desc: int, target: int) -> None:
    """Memory without addresses, in whole pages."""
    own = find(Context, context)
    given = described(ze_physical_mem_desc_t, desc, _PLACES)
    on_host = given.flags & ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST
    if device or not on_host:
        context_device(context, device)
    need(target)
    host.write_size(target, PhysicalMemory(own, whole_pages(given.size)).handle)


@entry
def zePhysicalMemDestroy(context: Context, memory: PhysicalMemory) -> None:
    """Let memory go."""
    memory.release()


@entry
def zePhysicalMemGetProperties(context: Context, memory: PhysicalMemory, properties: int) -> None:
    """The bytes of physical memory."""
    target = structure(ze_physical_mem_properties_t, properties)
    fill(target, {"size": memory.size})
