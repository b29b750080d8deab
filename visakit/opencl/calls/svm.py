"""Shared virtual memory (chapter 5.6) and the extension ``cl_intel_unified_shared_memory``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visakit.opencl import info
from visakit.opencl.calls import entry
from visakit.opencl.calls.enqueue import FILL_SIZES, Submission, check_map_flags, enqueues
from visakit.runtime import cl, host, svm
from visakit.runtime.allocation import Shared
from visakit.runtime.context import Context
from visakit.runtime.errors import CallError, require
from visakit.runtime.kernels import Kernel
from visakit.runtime.queue import Queue, free_when_done
from visakit.runtime.transfers import CommandAccesses, fill, nothing, shared_part

_SVM_FLAGS = cl.CL_MEM_READ_WRITE | cl.CL_MEM_WRITE_ONLY | cl.CL_MEM_READ_ONLY | cl.CL_MEM_SVM_FINE_GRAIN_BUFFER
_INDIRECT = (
    cl.CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
    cl.CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
    cl.CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL,
)


@entry
def clSVMAlloc(context: Context, flags: int, size: int, alignment: int) -> int:
    """The address of memory that host and devices share; 0 if the system has none left."""
    access = flags & (cl.CL_MEM_READ_WRITE | cl.CL_MEM_WRITE_ONLY | cl.CL_MEM_READ_ONLY)
    require(not flags & ~_SVM_FLAGS and access.bit_count() < 2, cl.CL_INVALID_VALUE, f"flags {flags:#x}")
    made = svm.allocate(context, size, alignment, flags=flags)
    return made.address if made else 0


@entry
def clSVMFree(context: Context, svm_pointer: int) -> None:
    """Free shared memory when no command uses it any more."""
    if svm_pointer:
        free_when_done(context, svm_pointer)


@enqueues
def clEnqueueSVMFree(queue: Queue, count: int, pointers: int, function: int, user_data: int) -> Submission:
    """Free shared memory, or call the program's function for that."""
    require(bool(count) == bool(pointers), cl.CL_INVALID_VALUE, "an array of pointers and its length belong together")
    given = host.read_sizes(pointers, count)
    require(all(given), cl.CL_INVALID_VALUE, "a pointer is null")

    def work() -> None:
        if function:
            copy = host.Sizes(given)
            host.call(function, "pipp", queue.handle, count, copy.address, user_data or None)
        else:
            for pointer in given:
                free_when_done(queue.context, pointer)

    return Submission(cl.CL_COMMAND_SVM_FREE, work)


def _copy(queue: Queue, blocking: int, target: int, source: int, size: int, command_type: int) -> Submission:
    require(target and source, cl.CL_INVALID_VALUE, "a pointer is null")
    apart = target + size <= source or source + size <= target
    require(apart, cl.CL_MEM_COPY_OVERLAP, "source and target overlap")
    for pointer in (target, source):
        svm.check_range(queue.context, pointer, size)
    read, changed = (shared_part(queue.context, pointer, size) for pointer in (source, target))
    return Submission(command_type, lambda: host.move(target, source, size), CommandAccesses(read, changed), blocking)


def _fill(queue: Queue, target: int, pattern: int, width: int, size: int, command_type: int) -> Submission:
    require(target and pattern, cl.CL_INVALID_VALUE, "a pointer is null")
    require(width in FILL_SIZES, cl.CL_INVALID_VALUE, "a pattern has 1, 2, 4, ... 128 bytes")
    require(not target % width and not size % width, cl.CL_INVALID_VALUE, "the range is no multiple of the pattern")
    svm.check_range(queue.context, target, size)
    bits = host.read(pattern, width)
    accesses = CommandAccesses(None, shared_part(queue.context, target, size))
    return Submission(command_type, lambda: fill(host.view(target, size), bits), accesses)


def _turn(pointers: Sequence[int], command_type: int) -> Submission:
    """A command that only takes its turn, as the host and all devices share the memory."""
    require(pointers and all(pointers), cl.CL_INVALID_VALUE, "a pointer is null")
    return Submission(command_type, nothing)


@enqueues
def clEnqueueSVMMemcpy(queue: Queue, blocking: int, target: int, source: int, size: int) -> Submission:
    """Copy bytes between places that must not overlap; each may be the program's own memory."""
    return _copy(queue, blocking, target, source, size, cl.CL_COMMAND_SVM_MEMCPY)


@enqueues
def clEnqueueSVMMemFill(queue: Queue, pointer: int, pattern: int, width: int, size: int) -> Submission:
    """Repeat a pattern of 1, 2, 4, ... 128 bytes in shared memory."""
    return _fill(queue, pointer, pattern, width, size, cl.CL_COMMAND_SVM_MEMFILL)


@enqueues
def clEnqueueSVMMap(queue: Queue, blocking: int, flags: int, pointer: int, size: int) -> Submission:
    """Let the program access shared memory, where it is not fine-grained."""
    check_map_flags(flags)
    require(size, cl.CL_INVALID_VALUE, "the range is empty")
    allocation, part = svm.find(queue.context, pointer), shared_part(queue.context, pointer, size)
    accesses = None
    if allocation is not None and part is not None and not allocation.is_fine:
        accesses = CommandAccesses.of_map(part, flags, allocation.mapped.setdefault(pointer, []))
    return _turn([pointer], cl.CL_COMMAND_SVM_MAP)._replace(accesses=accesses, blocking=blocking)


@enqueues
def clEnqueueSVMUnmap(queue: Queue, pointer: int) -> Submission:
    """End the accesses of the program."""
    allocation = svm.find(queue.context, pointer)
    turns = allocation.mapped.get(pointer, []) if allocation is not None else []
    ended = turns[:1]
    del turns[:1]
    return _turn([pointer], cl.CL_COMMAND_SVM_UNMAP)._replace(unmapped=ended)


@enqueues
def clEnqueueSVMMigrateMem(queue: Queue, count: int, pointers: int, sizes: int, flags: int) -> Submission:
    """Only takes its turn: all devices share the host's memory."""
    known = cl.CL_MIGRATE_MEM_OBJECT_HOST | cl.CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
    require(count and pointers and not flags & ~known, cl.CL_INVALID_VALUE, "there is no memory, or no such flag")
    return _turn(host.read_sizes(pointers, count), cl.CL_COMMAND_SVM_MIGRATE_MEM)


@entry
def clSetKernelArgSVMPointer(kernel: Kernel, arg_index: int, arg_value: int) -> None:
    """Set an argument to an address."""
    kernel.set_pointer(arg_index, arg_value)


@entry
def clSetKernelArgMemPointerINTEL(kernel: Kernel, arg_index: int, arg_value: int) -> None:
    """Set an argument to an address."""
    kernel.set_pointer(arg_index, arg_value)


@entry
def clSetKernelExecInfo(kernel: Kernel, name: int, size: int, value: int) -> None:
    """Check a list of pointers or a flag; kernels may follow each pointer to memory of the context anyway."""
    none = name == cl.CL_KERNEL_EXEC_INFO_SVM_PTRS and not size and not value
    require(value or none, cl.CL_INVALID_VALUE, "there is no value")
    if name == cl.CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM:
        require(size == 4, cl.CL_INVALID_VALUE, "it is a truth value")
        require(not host.read_u32(value), cl.CL_INVALID_OPERATION, "not all memory of the program is shared")
    elif name == cl.CL_KERNEL_EXEC_INFO_SVM_PTRS:
        require((size or none) and not size % host.POINTER, cl.CL_INVALID_VALUE, "it is an array of pointers")
    else:
        require(name in (*_INDIRECT, cl.CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL), cl.CL_INVALID_VALUE, f"{name:#x}")
    # Kernels may follow every pointer to memory of the context.


def _usm(context: int, device: int | None, properties: int, size: int, alignment: int, kind: int) -> int:
    context_object = Context.find(context)
    chosen = context_object.device(device) if device else None
    require(chosen or kind != cl.CL_MEM_TYPE_DEVICE_INTEL, cl.CL_INVALID_DEVICE, "there is no device")
    given = host.properties(properties)
    known = all(name == cl.CL_MEM_ALLOC_FLAGS_INTEL for name, _ in given)
    require(known, cl.CL_INVALID_PROPERTY, "a property is not known")
    power = not alignment & (alignment - 1) and alignment <= 128
    require(power, cl.CL_INVALID_VALUE, f"the alignment is a power of two up to 128, found {alignment}")
    largest = context_object.maximum_allocation
    require(0 < size <= largest, cl.CL_INVALID_BUFFER_SIZE, f"an allocation has 1 to {largest} bytes, found {size}")
    made = svm.allocate(context_object, size, alignment, kind, dict(given).get(cl.CL_MEM_ALLOC_FLAGS_INTEL, 0), chosen)
    if made is None:
        raise CallError(cl.CL_OUT_OF_RESOURCES, "the system has no memory left")
    return made.address


@entry
def clHostMemAllocINTEL(context: int, properties: int, size: int, alignment: int, errcode_ret: int) -> int:
    """The address of memory of the host."""
    return _usm(context, None, properties, size, alignment, cl.CL_MEM_TYPE_HOST_INTEL)


@entry
def clDeviceMemAllocINTEL(
    context: int, device: int, properties: int, size: int, alignment: int, errcode_ret: int
) -> int:
    """The address of memory of a device."""
    return _usm(context, device, properties, size, alignment, cl.CL_MEM_TYPE_DEVICE_INTEL)


@entry
def clSharedMemAllocINTEL(
    context: int, device: int, properties: int, size: int, alignment: int, errcode_ret: int
) -> int:
    """The address of memory that host and devices share."""
    return _usm(context, device, properties, size, alignment, cl.CL_MEM_TYPE_SHARED_INTEL)


@entry
def clMemFreeINTEL(context: Context, pointer: int) -> None:
    """Free memory when no command uses it any more."""
    require(
        not pointer or free_when_done(context, pointer),
        cl.CL_INVALID_VALUE,
        f"nothing was allocated at {pointer:#x}",
    )


@entry
def clMemBlockingFreeINTEL(context: Context, pointer: int) -> None:
    """Wait for the commands of all queues, then free memory."""
    require(not pointer or pointer in context.shared, cl.CL_INVALID_VALUE, f"nothing was allocated at {pointer:#x}")
    for queue in list(context.queues):
        if isinstance(queue, Queue):
            queue.drain()
    if pointer:
        free_when_done(context, pointer)


_ANSWERS: dict[int, Callable[[Shared], bytes]] = {
    cl.CL_MEM_ALLOC_TYPE_INTEL: lambda s: info.u32(s.kind),
    cl.CL_MEM_ALLOC_BASE_PTR_INTEL: lambda s: info.u64(s.address),
    cl.CL_MEM_ALLOC_SIZE_INTEL: lambda s: info.u64(s.size),
    cl.CL_MEM_ALLOC_DEVICE_INTEL: lambda s: info.handle(s.device),
    cl.CL_MEM_ALLOC_FLAGS_INTEL: lambda s: info.u64(s.flags),
}


@entry
def clGetMemAllocInfoINTEL(context: Context, pointer: int, name: int, size: int, value: int, size_ret: int) -> None:
    """Answer a question about the allocation that has an address; other addresses have the type "unknown"."""
    allocation = svm.find(context, pointer)
    if allocation is not None:
        info.answer(_ANSWERS, allocation, name, size, value, size_ret)
        return
    require(name in _ANSWERS, cl.CL_INVALID_VALUE, f"{name:#x} is no question that has an answer here")
    unknown = info.u32(cl.CL_MEM_TYPE_UNKNOWN_INTEL) if name == cl.CL_MEM_ALLOC_TYPE_INTEL else info.u64(0)
    info.give(unknown, size, value, size_ret)


@enqueues
def clEnqueueMemFillINTEL(queue: Queue, target: int, pattern: int, width: int, size: int) -> Submission:
    """Repeat a pattern of 1, 2, 4, ... 128 bytes in memory."""
    return _fill(queue, target, pattern, width, size, cl.CL_COMMAND_MEMFILL_INTEL)


@enqueues
def clEnqueueMemcpyINTEL(queue: Queue, blocking: int, target: int, source: int, size: int) -> Submission:
    """Copy bytes between places that must not overlap."""
    return _copy(queue, blocking, target, source, size, cl.CL_COMMAND_MEMCPY_INTEL)


@enqueues
def clEnqueueMigrateMemINTEL(queue: Queue, pointer: int, size: int, flags: int) -> Submission:
    """Only takes its turn: all devices share the host's memory."""
    return _turn([pointer], cl.CL_COMMAND_MIGRATEMEM_INTEL)


@enqueues
def clEnqueueMemAdviseINTEL(queue: Queue, pointer: int, size: int, advice: int) -> Submission:
    """Only takes its turn: advice changes nothing."""
    return _turn([pointer], cl.CL_COMMAND_MEMADVISE_INTEL)
