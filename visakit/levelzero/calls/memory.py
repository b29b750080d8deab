"""Memory that the program and kernels share, and reservations of addresses."""

from __future__ import annotations

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.calls.contexts import context_device
from visakit.levelzero.parameters import described, fill, find, flags, need, structure
from visakit.levelzero.structures import (
    ze_device_mem_alloc_desc_t,
    ze_host_mem_alloc_desc_t,
    ze_memory_allocation_properties_t,
    ze_memory_free_ext_desc_t,
)
from visakit.runtime import cl, host, svm
from visakit.runtime.context import Context
from visakit.runtime.device import Device
from visakit.runtime.errors import CallError, require
from visakit.runtime.queue import Queue, free_when_done
from vsim.memory.memory import PAGE

_DEVICE_FLAGS = (
    ze.ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED | ze.ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED
    | ze.ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT
)  # fmt: skip
_HOST_FLAGS = (
    ze.ZE_HOST_MEM_ALLOC_FLAG_BIAS_CACHED | ze.ZE_HOST_MEM_ALLOC_FLAG_BIAS_UNCACHED
    | ze.ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED | ze.ZE_HOST_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT
)  # fmt: skip
_ADDRESSES = 1 << 47
"""Bytes that a process has addresses for."""
_KINDS = {
    cl.CL_MEM_TYPE_HOST_INTEL: ze.ZE_MEMORY_TYPE_HOST, cl.CL_MEM_TYPE_DEVICE_INTEL: ze.ZE_MEMORY_TYPE_DEVICE,
    cl.CL_MEM_TYPE_SHARED_INTEL: ze.ZE_MEMORY_TYPE_SHARED,
}  # fmt: skip


def _allocate(context: Context, device: Device | None, size: int, alignment: int, kind: int, target: int) -> None:
    need(target)
    largest = context.maximum_allocation
    require(0 < size <= largest, ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE, f"{size} bytes; there are 1 to {largest}")
    known = alignment <= svm.LARGEST_ALIGNMENT
    require(known, ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, f"an alignment of {alignment}")
    power = 1 << max(alignment - 1, 0).bit_length()  # Intel's driver refuses no other numbers.
    made = svm.allocate(context, size, power, kind, 0, device)
    if made is None:
        raise CallError(ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "the system has no memory left")
    host.write_size(target, made.address)


@entry
def zeMemAllocShared(
    context: int, device_desc: int, host_desc: int, size: int, alignment: int, device: int, target: int
) -> None:
    """The address of memory that host and devices share."""
    own = find(Context, context)
    described(ze_device_mem_alloc_desc_t, device_desc, _DEVICE_FLAGS)
    described(ze_host_mem_alloc_desc_t, host_desc, _HOST_FLAGS)
    chosen = context_device(context, device)[1] if device else None
    _allocate(own, chosen, size, alignment, cl.CL_MEM_TYPE_SHARED_INTEL, target)


@entry
def zeMemAllocDevice(context: int, desc: int, size: int, alignment: int, device: int, target: int) -> None:
    """The address of memory of a device."""
    own, chosen = context_device(context, device)
    described(ze_device_mem_alloc_desc_t, desc, _DEVICE_FLAGS)
    _allocate(own, chosen, size, alignment, cl.CL_MEM_TYPE_DEVICE_INTEL, target)


@entry
def zeMemAllocHost(context: Context, desc: int, size: int, alignment: int, target: int) -> None:
    """The address of memory of the host."""
    described(ze_host_mem_alloc_desc_t, desc, _HOST_FLAGS)
    _allocate(context, None, size, alignment, cl.CL_MEM_TYPE_HOST_INTEL, target)


def _free(context: Context, pointer: int) -> None:
    need(pointer)
    there = free_when_done(context, pointer)
    require(there, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"nothing was allocated at {pointer:#x}")


@entry
def zeMemFree(context: Context, pointer: int) -> None:
    """Free memory when no command uses it any more."""
    _free(context, pointer)


@entry
def zeMemFreeExt(context: Context, desc: int, pointer: int) -> None:
    """The same; with the policy of blocking, after the commands of all queues."""
    confused = ze.ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES  # Intel's tests give it, and its driver takes it.
    given = structure(ze_memory_free_ext_desc_t, desc, confused)
    policies = ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE
    policies |= ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE
    if flags(given.freePolicy, policies) & ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE:
        for queue in list(context.queues):
            if isinstance(queue, Queue):
                queue.drain()
    _free(context, pointer)


@entry
def zeMemGetAllocProperties(context: Context, pointer: int, properties: int, device: int) -> None:
    """The kind and the device of the memory that has an address."""
    need(pointer)
    target = described(ze_memory_allocation_properties_t, properties)
    allocation = svm.find(context, pointer)
    kind = ze.ZE_MEMORY_TYPE_UNKNOWN if allocation is None else _KINDS.get(allocation.kind, ze.ZE_MEMORY_TYPE_UNKNOWN)
    identifier = 0 if allocation is None else allocation.address >> 32
    fill(target, {"type": kind, "id": identifier, "pageSize": PAGE if allocation else 0})
    if device:
        whose = allocation.device.handle if allocation is not None and allocation.device is not None else 0
        host.write_size(device, whose)


@entry
def zeMemGetAddressRange(context: Context, pointer: int, base: int, size: int) -> None:
    """The begin and the bytes of the memory that has an address."""
    need(pointer)
    allocation = svm.find(context, pointer)
    if allocation is None:
        raise CallError(ze.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, f"nothing was allocated at {pointer:#x}")
    host.write_size(base, allocation.address)
    host.write_size(size, allocation.size)


@entry
def zeMemGetPitchFor2dImage(context: int, device: int, width: int, height: int, element: int, pitch: int) -> None:
    """Bytes from row to row of an image in memory."""
    context_device(context, device)
    need(pitch)
    require(width and height and element, ze.ZE_RESULT_ERROR_INVALID_SIZE, "a size is 0")
    small = width * element * height < _ADDRESSES
    require(small, ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE, f"{height} rows of {width} elements of {element} bytes")
    host.write_size(pitch, width * element)
