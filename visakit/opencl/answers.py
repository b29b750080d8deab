"""Answers to questions about contexts, queues, events, memory and programs."""

from __future__ import annotations

import struct

from visakit.opencl import info
from visakit.opencl.info import Answers
from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.device import Platform, platform
from visakit.runtime.errors import CallError, require
from visakit.runtime.events import Callback, Event
from visakit.runtime.images import AXES, LAYERED, Image, Sampler
from visakit.runtime.memory import Buffer, Memory
from visakit.runtime.programs import Build, Program
from visakit.runtime.queue import Queue


def read_properties(address: int) -> bytes:
    """The properties of a new context as they were given.

    Raises:
        CallError: a property is not known, or names another platform.
    """
    if not address:
        return b""
    pairs = host.properties(address)
    names = [name for name, _ in pairs]
    for name, value in pairs:
        if name == cl.CL_CONTEXT_PLATFORM:
            require(value == platform().handle, cl.CL_INVALID_PLATFORM, "the platform is another driver's")
        elif name == cl.CL_CONTEXT_INTEROP_USER_SYNC:
            require(value in (0, 1), cl.CL_INVALID_PROPERTY, f"{value:#x} is no truth value")
        else:
            raise CallError(cl.CL_INVALID_PROPERTY, f"{name:#x} is no property of contexts here")
        require(names.count(name) == 1, cl.CL_INVALID_PROPERTY, "a property is given twice")
    return host.pack_properties(pairs)


def find_platform(handle: int) -> Platform:
    """The platform; null is it, too."""
    return Platform.find(handle) if handle else platform()


CONTEXT_ANSWERS: Answers[Context] = {
    cl.CL_CONTEXT_REFERENCE_COUNT: lambda c: info.u32(c.references),
    cl.CL_CONTEXT_NUM_DEVICES: lambda c: info.u32(len(c.devices)),
    cl.CL_CONTEXT_DEVICES: lambda c: info.handles(c.devices),
    cl.CL_CONTEXT_PROPERTIES: lambda c: c.properties,
}


_TIMES = (
    cl.CL_PROFILING_COMMAND_QUEUED, cl.CL_PROFILING_COMMAND_SUBMIT, cl.CL_PROFILING_COMMAND_START,
    cl.CL_PROFILING_COMMAND_END, cl.CL_PROFILING_COMMAND_COMPLETE,
)  # fmt: skip


def callback_of(event: Event, function: int, user_data: int) -> Callback:
    """A callback of the program for an event, which stays alive until it is called."""

    def tell(status: int) -> None:
        event.seen()
        host.call(function, "pip", event.handle, status, user_data or None)

    return tell


def profiling_time(event: Event, name: int) -> bytes:
    """When a command came to a state.

    Raises:
        CallError: the queue has no profiling, or the command has not come so far.
    """
    queue = event.queue
    is_noted = queue is not None and queue.is_profiling and event.is_over and event.status == cl.CL_COMPLETE
    require(name in _TIMES, cl.CL_INVALID_VALUE, f"{name:#x} is no time of a command")
    require(is_noted, cl.CL_PROFILING_INFO_NOT_AVAILABLE, "the queue notes no times, or the command is not complete")
    return info.u64(event.times[min(_TIMES.index(name), 3)])


EVENT_ANSWERS: Answers[Event] = {
    cl.CL_EVENT_COMMAND_QUEUE: lambda e: info.handle(e.queue),
    cl.CL_EVENT_CONTEXT: lambda e: info.handle(e.context),
    cl.CL_EVENT_COMMAND_TYPE: lambda e: info.u32(e.command_type),
    cl.CL_EVENT_COMMAND_EXECUTION_STATUS: lambda e: info.u32(e.seen()),
    cl.CL_EVENT_REFERENCE_COUNT: lambda e: info.u32(e.references),
}


QUEUE_ANSWERS: Answers[Queue] = {
    cl.CL_QUEUE_CONTEXT: lambda q: info.handle(q.context),
    cl.CL_QUEUE_DEVICE: lambda q: info.handle(q.device),
    cl.CL_QUEUE_REFERENCE_COUNT: lambda q: info.u32(q.references),
    cl.CL_QUEUE_PROPERTIES: lambda q: info.u64(q.properties),
    cl.CL_QUEUE_PROPERTIES_ARRAY: lambda q: q.given,
    cl.CL_QUEUE_DEVICE_DEFAULT: lambda q: info.handle(None),
}


MEMORY_ANSWERS: Answers[Memory] = {
    cl.CL_MEM_TYPE: lambda m: info.u32(m.kind),
    cl.CL_MEM_FLAGS: lambda m: info.u64(m.flags),
    cl.CL_MEM_SIZE: lambda m: info.u64(m.size),
    cl.CL_MEM_HOST_PTR: lambda m: info.u64(m.host_ptr),
    cl.CL_MEM_MAP_COUNT: lambda m: info.u32(m.map_count),
    cl.CL_MEM_REFERENCE_COUNT: lambda m: info.u32(m.references),
    cl.CL_MEM_CONTEXT: lambda m: info.handle(m.context),
    cl.CL_MEM_ASSOCIATED_MEMOBJECT: lambda m: info.handle(m.parent),
    cl.CL_MEM_OFFSET: lambda m: info.u64(m.offset),
    cl.CL_MEM_USES_SVM_POINTER: lambda m: info.u32(_uses_svm(m)),
    cl.CL_MEM_PROPERTIES: lambda m: m.given,
}


def _uses_svm(memory: Memory) -> bool:
    """Whether it was made over memory that kernels know by the same address."""
    return isinstance(memory, Buffer) and bool(memory.host_ptr) and memory.address == memory.host_ptr


IMAGE_ANSWERS: Answers[Image] = {
    cl.CL_IMAGE_FORMAT: lambda i: struct.pack("<II", i.format.order, i.format.element),
    cl.CL_IMAGE_ELEMENT_SIZE: lambda i: info.u64(i.texel_bytes),
    cl.CL_IMAGE_ROW_PITCH: lambda i: info.u64(i.row_pitch),
    cl.CL_IMAGE_SLICE_PITCH: lambda i: info.u64(i.slice_pitch),
    cl.CL_IMAGE_WIDTH: lambda i: info.u64(i.shape.width),
    cl.CL_IMAGE_HEIGHT: lambda i: info.u64(i.shape.height if _has_height(i) else 0),
    cl.CL_IMAGE_DEPTH: lambda i: info.u64(i.shape.depth if i.kind == cl.CL_MEM_OBJECT_IMAGE3D else 0),
    cl.CL_IMAGE_ARRAY_SIZE: lambda i: info.u64(i.shape.layers if i.kind in LAYERED else 0),
    cl.CL_IMAGE_BUFFER: lambda i: info.handle(i.below),
    cl.CL_IMAGE_NUM_MIP_LEVELS: lambda i: info.u32(0),
    cl.CL_IMAGE_NUM_SAMPLES: lambda i: info.u32(0),
}


def _has_height(image: Image) -> bool:
    return AXES[image.kind] - (image.kind in LAYERED) > 1


SAMPLER_ANSWERS: Answers[Sampler] = {
    cl.CL_SAMPLER_REFERENCE_COUNT: lambda s: info.u32(s.references),
    cl.CL_SAMPLER_CONTEXT: lambda s: info.handle(s.context),
    cl.CL_SAMPLER_NORMALIZED_COORDS: lambda s: info.u32(s.normalized),
    cl.CL_SAMPLER_ADDRESSING_MODE: lambda s: info.u32(s.addressing),
    cl.CL_SAMPLER_FILTER_MODE: lambda s: info.u32(s.filter),
    cl.CL_SAMPLER_PROPERTIES: lambda s: s.given,
}


PROGRAM_ANSWERS: Answers[Program] = {
    cl.CL_PROGRAM_REFERENCE_COUNT: lambda p: info.u32(p.references),
    cl.CL_PROGRAM_CONTEXT: lambda p: info.handle(p.context),
    cl.CL_PROGRAM_NUM_DEVICES: lambda p: info.u32(len(p.builds)),
    cl.CL_PROGRAM_DEVICES: lambda p: info.handles(list(p.builds)),
    cl.CL_PROGRAM_SOURCE: lambda p: (b"" if p.is_intermediate else p.source or b"") + b"\0",
    cl.CL_PROGRAM_IL: lambda p: (p.source or b"") if p.is_intermediate else b"",
    cl.CL_PROGRAM_BINARY_SIZES: lambda p: info.sizes([len(b.binary) for b in p.builds.values()]),
    cl.CL_PROGRAM_NUM_KERNELS: lambda p: info.u64(len(p.kernel_names())),
    cl.CL_PROGRAM_KERNEL_NAMES: lambda p: info.text(";".join(p.kernel_names())),
    cl.CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT: lambda p: info.u32(0),
    cl.CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT: lambda p: info.u32(0),
}


BUILD_ANSWERS: Answers[Build] = {
    cl.CL_PROGRAM_BUILD_STATUS: lambda b: info.u32(b.status),
    cl.CL_PROGRAM_BUILD_OPTIONS: lambda b: info.text(b.options),
    cl.CL_PROGRAM_BUILD_LOG: lambda b: info.text(b.log),
    cl.CL_PROGRAM_BINARY_TYPE: lambda b: info.u32(b.binary_type),
    cl.CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: lambda b: info.u64(
        sum(data.size for data in b.loaded.data) if b.loaded else 0
    ),
}
