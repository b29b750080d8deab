"""Commands over buffers and kernels (chapters 5.2 and 5.10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from visakit.opencl import cl, ending, host
from visakit.opencl.calls import entry
from visakit.opencl.calls.contexts import give_event
from visakit.opencl.context import Context
from visakit.opencl.errors import Refused, require
from visakit.opencl.events import Event, find_events
from visakit.opencl.kernels import Kernel
from visakit.opencl.memory import Buffer, Mapping, Memory
from visakit.opencl.order import Turn
from visakit.opencl.queue import Queue
from visakit.opencl.ranges import read_range
from visakit.opencl.rectangles import Rectangle, copy_rectangle, overlap
from visakit.opencl.transfers import Transfer
from vsim.launch.arrays import Bytes

FILL_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
FILL_BLOCK = 16 << 10
_MIGRATION = cl.CL_MIGRATE_MEM_OBJECT_HOST | cl.CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
_MAP = cl.CL_MAP_READ | cl.CL_MAP_WRITE | cl.CL_MAP_WRITE_INVALIDATE_REGION


def submit(
    queue: Queue,
    command_type: int,
    work: Callable[[], None],
    waits: Sequence[Event],
    event: int,
    blocking: int = 0,
    transfer: Transfer | None = None,
    unmapped: Sequence[Turn] = (),
) -> None:
    """Give a queue a command, hand its event out, and wait for it if the program does.

    Args:
        transfer: what a command that is no kernel reads and changes, or maps.
        unmapped: what the program did in memory that the command unmaps.

    Raises:
        Refused: the program waits, and it failed.
    """
    if transfer is not None and queue.context.order is not None:
        work = transfer.watched(queue, work)
    turns = transfer.mapped if transfer is not None else None
    made = queue.add(command_type, work, waits, maps=turns is not None, unmapped=unmapped)
    if turns is not None and made.turn is not None and made.turn.mapped is not None:
        turns.append(made.turn.mapped)
    if blocking:
        made.wait()
        status = made.status
        give_event(made, event)
        if status < 0:
            queue.failure = 0
            raise Refused(status, "the command failed")
    else:
        give_event(made, event)


def own_buffer(context: Context, handle: int) -> Buffer:
    """A buffer of a context."""
    found = Memory.find(handle)
    require(isinstance(found, Buffer), cl.CL_INVALID_MEM_OBJECT, "the memory is no buffer")
    require(found.context is context, cl.CL_INVALID_CONTEXT, "the buffer is of another context")
    assert isinstance(found, Buffer)
    return found


def address_of(data: Bytes) -> int:
    """Where bytes lie."""
    return int(data.__array_interface__["data"][0])


def _transfer(
    reads: bool,
    command_queue: int,
    buffer: int,
    blocking: int,
    offset: int,
    size: int,
    pointer: int,
    num: int,
    events: int,
    event: int,
) -> None:
    """Enqueue a copy of a part of a buffer to the program's memory, or the other way."""
    queue = Queue.find(command_queue)
    memory = own_buffer(queue.context, buffer)
    require(pointer, cl.CL_INVALID_VALUE, "there is no place to read to" if reads else "there is nothing to write")
    data = memory.part(offset, size)
    waits = find_events(events, num, queue.context)
    memory.check_host(reads=reads, writes=not reads)
    ends = (pointer, address_of(data)) if reads else (address_of(data), pointer)

    def work() -> None:
        host.move(*ends, size)
        if not reads:
            memory.note_defined(offset, size)

    command = cl.CL_COMMAND_READ_BUFFER if reads else cl.CL_COMMAND_WRITE_BUFFER
    part = memory, Rectangle.of_part(offset, size)
    submit(queue, command, work, waits, event, blocking, Transfer(part) if reads else Transfer(None, part))


@entry
def clEnqueueReadBuffer(
    command_queue: int,
    buffer: int,
    blocking: int,
    offset: int,
    size: int,
    pointer: int,
    num: int,
    events: int,
    event: int,
) -> None:
    _transfer(True, command_queue, buffer, blocking, offset, size, pointer, num, events, event)


@entry
def clEnqueueWriteBuffer(
    command_queue: int,
    buffer: int,
    blocking: int,
    offset: int,
    size: int,
    pointer: int,
    num: int,
    events: int,
    event: int,
) -> None:
    _transfer(False, command_queue, buffer, blocking, offset, size, pointer, num, events, event)


@entry
def clEnqueueCopyBuffer(
    command_queue: int, source: int, target: int, source_offset: int, target_offset: int, size: int,
    num: int, events: int, event: int,
) -> None:  # fmt: skip
    queue = Queue.find(command_queue)
    given, taken = own_buffer(queue.context, source), own_buffer(queue.context, target)
    a, b = given.part(source_offset, size), taken.part(target_offset, size)
    start, end = address_of(a), address_of(b)
    require(start + size <= end or end + size <= start, cl.CL_MEM_COPY_OVERLAP, "source and target overlap")
    waits = find_events(events, num, queue.context)

    def work() -> None:
        b[:] = a
        taken.note_copied(target_offset, given, source_offset, size)

    parts = (given, Rectangle.of_part(source_offset, size)), (taken, Rectangle.of_part(target_offset, size))
    submit(queue, cl.CL_COMMAND_COPY_BUFFER, work, waits, event, transfer=Transfer(*parts))


@entry
def clEnqueueFillBuffer(
    command_queue: int, buffer: int, pattern: int, pattern_size: int, offset: int, size: int,
    num: int, events: int, event: int,
) -> None:  # fmt: skip
    queue = Queue.find(command_queue)
    memory = own_buffer(queue.context, buffer)
    require(pattern and pattern_size in FILL_SIZES, cl.CL_INVALID_VALUE, "a pattern has 1, 2, 4, ... 128 bytes")
    whole = not offset % pattern_size and not size % pattern_size
    require(whole, cl.CL_INVALID_VALUE, "the range is no multiple of the pattern")
    data = memory.part(offset, size)
    bits = host.read(pattern, pattern_size)
    waits = find_events(events, num, queue.context)

    def work() -> None:
        fill(data, bits)
        memory.note_defined(offset, size)

    transfer = Transfer(None, (memory, Rectangle.of_part(offset, size)))
    submit(queue, cl.CL_COMMAND_FILL_BUFFER, work, waits, event, transfer=transfer)


def fill(data: Bytes, pattern: bytes) -> None:
    """Fill memory with a pattern over and over, so many of them at a time that each is a long copy."""
    block = host.repeated(host.as_array(pattern), FILL_BLOCK)
    whole = data.size - data.size % FILL_BLOCK
    data[:whole].reshape(-1, FILL_BLOCK)[:] = block
    data[whole:] = block[: data.size - whole]


def _rectangle(origin: int, region: Sequence[int], row: int, slice_: int) -> Rectangle:
    require(origin, cl.CL_INVALID_VALUE, "there is no origin")
    return Rectangle.of(host.read_sizes(origin, 3), region, row, slice_)


def _region(region: int) -> tuple[int, ...]:
    require(region, cl.CL_INVALID_VALUE, "there is no region")
    found = host.read_sizes(region, 3)
    require(all(found), cl.CL_INVALID_VALUE, "the region is empty")
    return found


def _transfer_rectangle(
    reads: bool,
    command_queue: int, buffer: int, blocking: int, buffer_origin: int, host_origin: int, region: int,
    buffer_row: int, buffer_slice: int, host_row: int, host_slice: int, pointer: int,
    num: int, events: int, event: int,
) -> None:  # fmt: skip
    """Enqueue a copy of a rectangle of a buffer to the program's memory, or the other way."""
    queue = Queue.find(command_queue)
    memory = own_buffer(queue.context, buffer)
    require(pointer, cl.CL_INVALID_VALUE, "there is no place to read to" if reads else "there is nothing to write")
    sizes = _region(region)
    own = _rectangle(buffer_origin, sizes, buffer_row, buffer_slice)
    other = _rectangle(host_origin, sizes, host_row, host_slice)
    own.check(memory.size)
    waits = find_events(events, num, queue.context)
    memory.check_host(reads=reads, writes=not reads)
    outside = host.view(pointer, other.end)

    def work() -> None:
        if reads:
            copy_rectangle(memory.data, own, outside, other)
        else:
            copy_rectangle(outside, other, memory.data, own)
            memory.note_box(own)

    command = cl.CL_COMMAND_READ_BUFFER_RECT if reads else cl.CL_COMMAND_WRITE_BUFFER_RECT
    part = memory, own
    submit(queue, command, work, waits, event, blocking, Transfer(part) if reads else Transfer(None, part))


@entry
def clEnqueueReadBufferRect(
    command_queue: int, buffer: int, blocking: int, buffer_origin: int, host_origin: int, region: int,
    buffer_row: int, buffer_slice: int, host_row: int, host_slice: int, pointer: int,
    num: int, events: int, event: int,
) -> None:  # fmt: skip
    _transfer_rectangle(
        True,
        command_queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
        host_slice, pointer, num, events, event,
    )  # fmt: skip


@entry
def clEnqueueWriteBufferRect(
    command_queue: int, buffer: int, blocking: int, buffer_origin: int, host_origin: int, region: int,
    buffer_row: int, buffer_slice: int, host_row: int, host_slice: int, pointer: int,
    num: int, events: int, event: int,
) -> None:  # fmt: skip
    _transfer_rectangle(
        False,
        command_queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
        host_slice, pointer, num, events, event,
    )  # fmt: skip


@entry
def clEnqueueCopyBufferRect(
    command_queue: int, source: int, target: int, source_origin: int, target_origin: int, region: int,
    source_row: int, source_slice: int, target_row: int, target_slice: int, num: int, events: int, event: int,
) -> None:  # fmt: skip
    queue = Queue.find(command_queue)
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
    waits = find_events(events, num, queue.context)

    def work() -> None:
        copy_rectangle(given.data, own, taken.data, other)
        taken.note_box(other, (given, own))

    submit(queue, cl.CL_COMMAND_COPY_BUFFER_RECT, work, waits, event, transfer=Transfer((given, own), (taken, other)))


@entry
def clEnqueueMapBuffer(
    command_queue: int, buffer: int, blocking: int, flags: int, offset: int, size: int,
    num: int, events: int, event: int, errcode_ret: int,
) -> int:  # fmt: skip
    queue = Queue.find(command_queue)
    memory = own_buffer(queue.context, buffer)
    check_map_flags(flags)
    data = memory.part(offset, size)
    waits = find_events(events, num, queue.context)
    memory.check_host(reads=bool(flags & cl.CL_MAP_READ), writes=bool(flags & ~cl.CL_MAP_READ))
    pointer = address_of(data)
    mapping = memory.note_mapping(Mapping(pointer))

    def work() -> None:
        if flags & ~cl.CL_MAP_READ:  # What the program writes there, nobody sees.
            memory.note_defined(offset, size)

    transfer = Transfer.of_map((memory, Rectangle.of_part(offset, size)), flags, mapping.turns)
    submit(queue, cl.CL_COMMAND_MAP_BUFFER, work, waits, event, blocking, transfer)
    return pointer


def check_map_flags(flags: int) -> None:
    """Refuse flags that say nothing that can be done."""
    exclusive = not flags & cl.CL_MAP_WRITE_INVALIDATE_REGION or flags == cl.CL_MAP_WRITE_INVALIDATE_REGION
    require(not flags & ~_MAP and exclusive, cl.CL_INVALID_VALUE, f"{flags:#x} are no flags of a mapping")


@entry
def clEnqueueUnmapMemObject(command_queue: int, memobj: int, pointer: int, num: int, events: int, event: int) -> None:
    queue = Queue.find(command_queue)
    memory = Memory.find(memobj)
    require(memory.context is queue.context, cl.CL_INVALID_CONTEXT, "the memory is of another context")
    waits = find_events(events, num, queue.context)
    mapping = memory.take_mapping(pointer)
    work, ended = mapping.unmap or (lambda: None), mapping.turns[:1]
    del mapping.turns[:1]
    submit(queue, cl.CL_COMMAND_UNMAP_MEM_OBJECT, work, waits, event, unmapped=ended)


@entry
def clEnqueueMigrateMemObjects(
    command_queue: int, count: int, objects: int, flags: int, num: int, events: int, event: int
) -> None:
    queue = Queue.find(command_queue)
    require(count and objects, cl.CL_INVALID_VALUE, "there is no memory to move")
    require(not flags & ~_MIGRATION, cl.CL_INVALID_VALUE, f"{flags:#x} are no flags of a move")
    memories = Memory.find_all(objects, count)
    same = all(memory.context is queue.context for memory in memories)
    require(same, cl.CL_INVALID_CONTEXT, "the memory is of another context")
    waits = find_events(events, num, queue.context)
    submit(queue, cl.CL_COMMAND_MIGRATE_MEM_OBJECTS, lambda: None, waits, event)


@entry
def clEnqueueNDRangeKernel(
    command_queue: int, kernel: int, dimensions: int, offset: int, size: int, local: int,
    num: int, events: int, event: int,
) -> None:  # fmt: skip
    _enqueue(command_queue, kernel, (dimensions, offset, size, local), num, events, event)


@entry
def clEnqueueTask(command_queue: int, kernel: int, num: int, events: int, event: int) -> None:
    one = host.Sizes([1])
    _enqueue(command_queue, kernel, (1, 0, one.address, one.address), num, events, event, cl.CL_COMMAND_TASK)


def _enqueue(
    command_queue: int, kernel: int, sizes: tuple[int, int, int, int], num: int, events: int, event: int,
    command_type: int = cl.CL_COMMAND_NDRANGE_KERNEL,
) -> None:  # fmt: skip
    queue, found = Queue.find(command_queue), Kernel.find(kernel)
    require(found.program.context is queue.context, cl.CL_INVALID_CONTEXT, "the kernel is of another context")
    device = queue.device
    built = device in found.signatures
    require(built, cl.CL_INVALID_PROGRAM_EXECUTABLE, "the program is not built for the device of the queue")
    given = found.given()
    whole = read_range(found, device, *sizes)
    found.check_local(device)
    waits = find_events(events, num, queue.context)
    if 0 in whole[0]:  # OpenCL 2.1: nothing to do, in its turn.
        submit(queue, command_type, lambda: None, waits, event)
        return

    ending.load()

    def work() -> None:
        command = queue.running
        found.run(device, whole, given, command.event.turn if command is not None else None)

    submit(queue, command_type, work, waits, event)


@entry
def clEnqueueNativeKernel(
    command_queue: int, function: int, args: int, size: int, count: int, objects: int, places: int,
    num: int, events: int, event: int,
) -> None:  # fmt: skip
    Queue.find(command_queue)
    raise Refused(cl.CL_INVALID_OPERATION, "the device does not run functions of the host")
