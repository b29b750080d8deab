"""Buffers (chapter 5.2 and 5.5)."""

from __future__ import annotations

from visakit.opencl.calls import entry
from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.errors import CallError, require
from visakit.runtime.memory import Buffer, Memory, create_buffer, create_sub_buffer


@entry
def clCreateBuffer(context: Context, flags: int, size: int, host_ptr: int, errcode_ret: int) -> int:
    """A buffer, in the program's memory where the flags say so."""
    return create_buffer(context, flags, size, host_ptr).handle


@entry
def clCreateBufferWithProperties(
    context: Context, properties: int, flags: int, size: int, host_ptr: int, errcode_ret: int
) -> int:
    """A buffer as of :func:`clCreateBuffer`, with a list of properties, which must be empty."""
    require(not host.properties(properties), cl.CL_INVALID_PROPERTY, "buffers have no properties here")
    return create_buffer(context, flags, size, host_ptr, bytes(8) if properties else b"").handle


@entry
def clCreateSubBuffer(buffer: Buffer, flags: int, create_type: int, create_info: int, errcode_ret: int) -> int:
    """A part of a buffer, which shares its memory."""
    is_region = create_type == cl.CL_BUFFER_CREATE_TYPE_REGION
    require(is_region and create_info, cl.CL_INVALID_VALUE, "a part of a buffer is given as a region")
    origin, size = host.read_sizes(create_info, 2)
    return create_sub_buffer(buffer, flags, origin, size).handle


@entry
def clSetMemObjectDestructorCallback(memobj: Memory, pfn_notify: int, user_data: int) -> None:
    """Register a function that is called before the memory goes; the latest is called first."""
    require(pfn_notify, cl.CL_INVALID_VALUE, "there is no function to call")
    handle = memobj.handle
    memobj.before_end(lambda: host.call(pfn_notify, "pp", handle, user_data or None))


@entry
def clCreatePipe(
    context: Context, flags: int, packet_size: int, max_packets: int, properties: int, errcode_ret: int
) -> int:
    """Refused: no device has pipes."""
    raise CallError(cl.CL_INVALID_OPERATION, "no device has pipes")


@entry
def clGetPipeInfo(pipe: int, name: int, size: int, value: int, size_ret: int) -> None:
    """Refused: no device has pipes."""
    raise CallError(cl.CL_INVALID_MEM_OBJECT, f"{pipe:#x} is no pipe: no device has them")
