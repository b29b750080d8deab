"""Commands over buffers and kernels (chapters 5.2 and 5.10)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from visakit.opencl.calls import entry
from visakit.opencl.calls.contexts import give_event
from visakit.opencl.ranges import read_range
from visakit.runtime import cl, ending, host
from visakit.runtime.calls import Call
from visakit.runtime.context import Context
from visakit.runtime.errors import CallError, require
from visakit.runtime.events import Event, find_events
from visakit.runtime.kernels import Kernel
from visakit.runtime.memory import Buffer, Mapping, Memory
from visakit.runtime.order import Turn
from visakit.runtime.queue import Queue
from visakit.runtime.rectangles import Rectangle, copy_rectangle, overlap
from visakit.runtime.transfers import CommandAccesses, fill, nothing
from vsim.launch.arrays import address_of

FILL_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
_MIGRATION = cl.CL_MIGRATE_MEM_OBJECT_HOST | cl.CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
_MAP = cl.CL_MAP_READ | cl.CL_MAP_WRITE | cl.CL_MAP_WRITE_INVALIDATE_REGION


class Submission(NamedTuple):
    """A command that a function submits to its queue.

    Attributes:
        type: one of ``CL_COMMAND_...``.
        blocking: whether the function returns only when the command is over.
        accesses: the memory that a command other than a kernel reads and changes, or maps.
        unmapped: the accesses of the program to the memory that the command unmaps.
        address: the address that the function returns; None if it returns a status.
    """

    type: int
    work: Callable[[], None]
    accesses: CommandAccesses | None = None
    blocking: int = 0
    unmapped: Sequence[Turn] = ()
    address: int | None = None


def enqueues(function: Callable[..., Submission]) -> Call:
    """Decorator of the functions of OpenCL that submit a command: checks the wait list, and hands out the event.

    The function of OpenCL takes a queue, the parameters of the decorated one, and a wait list (length and address) and
    the address of an event. The decorated function gets the queue, checks its parameters, and returns the command.
    """
    end = function.__code__.co_argcount

    @functools.wraps(function)
    def enqueue(queue: Queue, *given: int) -> int | None:
        num, events, event = given[end - 1 : end + 2]
        waits = find_events(events, num, queue.context)
        submission = function(queue, *given[: end - 1])
        _submit(queue, submission, waits, event)
        return submission.address

    return entry(enqueue)


def _submit(queue: Queue, submission: Submission, waits: Sequence[Event], event: int) -> None:
    """Add a command to a queue, hand its event out, and wait for a blocking command.

    Raises:
        CallError: the blocking command failed.
    """
    work, accesses = submission.work, submission.accesses
    if accesses is not None and queue.context.order is not None:
        work = accesses.watched(queue, work)
    turns = accesses.mapped if accesses is not None else None
    made = queue.add(submission.type, work, waits, maps=turns is not None, unmapped=submission.unmapped)
    if turns is not None and made.turn is not None and made.turn.mapped is not None:
        turns.append(made.turn.mapped)
    if submission.blocking:
        made.wait()
        status = made.status
        give_event(made, event)
        if status < 0:
            queue.failure = 0
            raise CallError(status, "the command failed")
    else:
        give_event(made, event)


def own_buffer(context: Context, handle: int) -> Buffer:
    """A buffer of a context."""
    buffer = Memory.find(handle)
    require(isinstance(buffer, Buffer), cl.CL_INVALID_MEM_OBJECT, "the memory is no buffer")
    require(buffer.context is context, cl.CL_INVALID_CONTEXT, "the buffer is of another context")
    assert isinstance(buffer, Buffer)
    return buffer


def _transfer(
    queue: Queue, buffer: int, blocking: int, offset: int, size: int, pointer: int, reads: bool
) -> Submission:
    """Copy a part of a buffer to the program's memory, or the other way."""
    memory = own_buffer(queue.context, buffer)
    require(pointer, cl.CL_INVALID_VALUE, "there is no place to read to" if reads else "there is nothing to write")
    data = memory.part(offset, size)
    memory.check_host(reads=reads, writes=not reads)
    ends = (pointer, address_of(data)) if reads else (address_of(data), pointer)

    def work() -> None:
        host.move(*ends, size)
        if not reads:
            memory.note_defined(offset, size)

    command = cl.CL_COMMAND_READ_BUFFER if reads else cl.CL_COMMAND_WRITE_BUFFER
    return Submission(
        command, work, CommandAccesses.of_host((memory, Rectangle.of_part(offset, size)), reads), blocking
    )


@enqueues
def clEnqueueReadBuffer(queue: Queue, buffer: int, blocking: int, offset: int, size: int, pointer: int) -> Submission:
    """Copy bytes of a buffer to the program's memory."""
    return _transfer(queue, buffer, blocking, offset, size, pointer, reads=True)


@enqueues
def clEnqueueWriteBuffer(queue: Queue, buffer: int, blocking: int, offset: int, size: int, pointer: int) -> Submission:
    """Copy bytes of the program's memory to a buffer."""
    return _transfer(queue, buffer, blocking, offset, size, pointer, reads=False)


@enqueues
def clEnqueueCopyBuffer(
    queue: Queue, source: int, target: int, source_offset: int, target_offset: int, size: int
) -> Submission:
    """Copy bytes between buffers; parts of one buffer must not overlap."""
    given, taken = own_buffer(queue.context, source), own_buffer(queue.context, target)
    a, b = given.part(source_offset, size), taken.part(target_offset, size)
    start, end = address_of(a), address_of(b)
    require(start + size <= end or end + size <= start, cl.CL_MEM_COPY_OVERLAP, "source and target overlap")

    def work() -> None:
        b[:] = a
        taken.note_copied(target_offset, given, source_offset, size)

    parts = (given, Rectangle.of_part(source_offset, size)), (taken, Rectangle.of_part(target_offset, size))
    return Submission(cl.CL_COMMAND_COPY_BUFFER, work, CommandAccesses(*parts))


@enqueues
def clEnqueueFillBuffer(
    queue: Queue, buffer: int, pattern: int, pattern_size: int, offset: int, size: int
) -> Submission:
    """Repeat a pattern of 1, 2, 4, ... 128 bytes in a part of a buffer."""
    memory = own_buffer(queue.context, buffer)
    require(pattern and pattern_size in FILL_SIZES, cl.CL_INVALID_VALUE, "a pattern has 1, 2, 4, ... 128 bytes")
    whole = not offset % pattern_size and not size % pattern_size
    require(whole, cl.CL_INVALID_VALUE, "the range is no multiple of the pattern")
    data = memory.part(offset, size)
    bits = host.read(pattern, pattern_size)

    def work() -> None:
        fill(data, bits)
        memory.note_defined(offset, size)

    return Submission(cl.CL_COMMAND_FILL_BUFFER, work, CommandAccesses(None, (memory, Rectangle.of_part(offset, size))))


def _rectangle(origin: int, region: Sequence[int], row: int, slice_: int) -> Rectangle:
    require(origin, cl.CL_INVALID_VALUE, "there is no origin")
    return Rectangle.of(host.read_sizes(origin, 3), region, row, slice_)


def _region(region: int) -> tuple[int, ...]:
    require(region, cl.CL_INVALID_VALUE, "there is no region")
    sizes = host.read_sizes(region, 3)
    require(all(sizes), cl.CL_INVALID_VALUE, "the region is empty")
    return sizes


def _transfer_rectangle(
    queue: Queue, buffer: int, blocking: int, origin: int, host_origin: int, region: int,
    pitches: tuple[int, int], host_pitches: tuple[int, int], pointer: int, reads: bool,
) -> Submission:  # fmt: skip
    """Copy a rectangle of a buffer to the program's memory, or the other way."""
    memory = own_buffer(queue.context, buffer)
    require(pointer, cl.CL_INVALID_VALUE, "there is no place to read to" if reads else "there is nothing to write")
    sizes = _region(region)
    own = _rectangle(origin, sizes, *pitches)
    other = _rectangle(host_origin, sizes, *host_pitches)
    own.check(memory.size)
    memory.check_host(reads=reads, writes=not reads)
    outside = host.view(pointer, other.end)

    def work() -> None:
        if reads:
            copy_rectangle(memory.data, own, outside, other)
        else:
            copy_rectangle(outside, other, memory.data, own)
            memory.note_box(own)

    command = cl.CL_COMMAND_READ_BUFFER_RECT if reads else cl.CL_COMMAND_WRITE_BUFFER_RECT
    return Submission(command, work, CommandAccesses.of_host((memory, own), reads), blocking)


@enqueues
def clEnqueueReadBufferRect(
    queue: Queue, buffer: int, blocking: int, buffer_origin: int, host_origin: int, region: int,
    buffer_row: int, buffer_slice: int, host_row: int, host_slice: int, pointer: int,
) -> Submission:  # fmt: skip
    """Copy a box of a buffer to the program's memory; pitches are in bytes, 0 for no gaps."""
    places = buffer_origin, host_origin, region, (buffer_row, buffer_slice), (host_row, host_slice)
    return _transfer_rectangle(queue, buffer, blocking, *places, pointer, reads=True)


@enqueues
def clEnqueueWriteBufferRect(
    queue: Queue, buffer: int, blocking: int, buffer_origin: int, host_origin: int, region: int,
    buffer_row: int, buffer_slice: int, host_row: int, host_slice: int, pointer: int,
) -> Submission:  # fmt: skip
    """Copy a box of the program's memory to a buffer; pitches are in bytes, 0 for no gaps."""
    places = buffer_origin, host_origin, region, (buffer_row, buffer_slice), (host_row, host_slice)
    return _transfer_rectangle(queue, buffer, blocking, *places, pointer, reads=False)


@enqueues
def clEnqueueCopyBufferRect(
    queue: Queue, source: int, target: int, source_origin: int, target_origin: int, region: int,
    source_row: int, source_slice: int, target_row: int, target_slice: int,
) -> Submission:  # fmt: skip
    """Copy a box between buffers; boxes in one buffer have equal pitches and must not overlap."""
    given, taken = own_buffer(queue.context, source), own_buffer(queue.context, target)
    sizes = _region(region)
    own = _rectangle(source_origin, sizes, source_row, source_slice)
    other = _rectangle(target_origin, sizes, target_row, target_slice)
    own.check(given.size)
    other.check(taken.size)
    if given is taken:
        require(own.row == other.row and own.slice == other.slice, cl.CL_INVALID_VALUE, "pitches in a buffer differ")
    shared = given.host - taken.host
    require(not overlap(own, other, shared), cl.CL_MEM_COPY_OVERLAP, "source and target overlap")

    def work() -> None:
        copy_rectangle(given.data, own, taken.data, other)
        taken.note_box(other, (given, own))

    return Submission(cl.CL_COMMAND_COPY_BUFFER_RECT, work, CommandAccesses((given, own), (taken, other)))


@enqueues
def clEnqueueMapBuffer(queue: Queue, buffer: int, blocking: int, flags: int, offset: int, size: int) -> Submission:
    """Give the program the address of a part of a buffer, which is the buffer's own memory."""
    memory = own_buffer(queue.context, buffer)
    check_map_flags(flags)
    data = memory.part(offset, size)
    memory.check_host(reads=bool(flags & cl.CL_MAP_READ), writes=bool(flags & ~cl.CL_MAP_READ))
    pointer = address_of(data)
    mapping = memory.note_mapping(Mapping(pointer))

    def work() -> None:
        if flags & ~cl.CL_MAP_READ:  # The driver does not see the program's stores to it.
            memory.note_defined(offset, size)

    accesses = CommandAccesses.of_map((memory, Rectangle.of_part(offset, size)), flags, mapping.turns)
    return Submission(cl.CL_COMMAND_MAP_BUFFER, work, accesses, blocking, address=pointer)


def check_map_flags(flags: int) -> None:
    """Refuse flags that say nothing that can be done."""
    exclusive = not flags & cl.CL_MAP_WRITE_INVALIDATE_REGION or flags == cl.CL_MAP_WRITE_INVALIDATE_REGION
    require(not flags & ~_MAP and exclusive, cl.CL_INVALID_VALUE, f"{flags:#x} are no flags of a mapping")


@enqueues
def clEnqueueUnmapMemObject(queue: Queue, memobj: int, pointer: int) -> Submission:
    """End a mapping; of an image in the program's memory, copy it back."""
    memory = Memory.find(memobj)
    require(memory.context is queue.context, cl.CL_INVALID_CONTEXT, "the memory is of another context")
    mapping = memory.take_mapping(pointer)
    ended = mapping.turns[:1]
    del mapping.turns[:1]
    return Submission(cl.CL_COMMAND_UNMAP_MEM_OBJECT, mapping.unmap or nothing, unmapped=ended)


@enqueues
def clEnqueueMigrateMemObjects(queue: Queue, count: int, objects: int, flags: int) -> Submission:
    """Only takes its turn: all devices share the host's memory."""
    require(count and objects, cl.CL_INVALID_VALUE, "there is no memory to move")
    require(not flags & ~_MIGRATION, cl.CL_INVALID_VALUE, f"{flags:#x} are no flags of a move")
    memories = Memory.find_all(objects, count)
    same = all(memory.context is queue.context for memory in memories)
    require(same, cl.CL_INVALID_CONTEXT, "the memory is of another context")
    return Submission(cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, nothing)


@enqueues
def clEnqueueNDRangeKernel(
    queue: Queue, kernel: int, dimensions: int, offset: int, size: int, local: int
) -> Submission:
    """Run a kernel with the arguments that it has now; an empty range only takes its turn."""
    return _run_kernel(queue, kernel, (dimensions, offset, size, local), cl.CL_COMMAND_NDRANGE_KERNEL)


@enqueues
def clEnqueueTask(queue: Queue, kernel: int) -> Submission:
    """Run a kernel with one work-item."""
    one = host.Sizes([1])
    return _run_kernel(queue, kernel, (1, 0, one.address, one.address), cl.CL_COMMAND_TASK)


def _run_kernel(queue: Queue, kernel: int, sizes: tuple[int, int, int, int], command_type: int) -> Submission:
    """Run a kernel; ``sizes`` are the dimensions, and the addresses of offset, global and local size."""
    kernel_object, device = Kernel.find(kernel), queue.device
    require(kernel_object.program.context is queue.context, cl.CL_INVALID_CONTEXT, "the kernel is of another context")
    built = device in kernel_object.signatures
    require(built, cl.CL_INVALID_PROGRAM_EXECUTABLE, "the program is not built for the device of the queue")
    given = kernel_object.given()
    whole = read_range(kernel_object, device, *sizes)
    kernel_object.check_local(device)
    if 0 in whole[0]:  # OpenCL 2.1: an empty ND-range only takes its turn.
        return Submission(command_type, nothing)
    ending.load()

    def work() -> None:
        command = queue.running
        kernel_object.run(device, whole, given, command.event.turn if command is not None else None)

    return Submission(command_type, work)


@entry
def clEnqueueNativeKernel(command_queue: Queue, *_: int) -> None:
    """Refused: the device does not run functions of the host."""
    raise CallError(cl.CL_INVALID_OPERATION, "the device does not run functions of the host")
