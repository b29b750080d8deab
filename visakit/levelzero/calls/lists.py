"""Command lists and queues; barriers, signals and times."""

from __future__ import annotations

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.calls.appending import append_to, appends, awaited
from visakit.levelzero.calls.contexts import context_device
from visakit.levelzero.device_properties import queue_groups
from visakit.levelzero.events import Fence, ZeEvent, finish
from visakit.levelzero.lists import CommandList, ListOperation, ListQueue, Work, nothing
from visakit.levelzero.memory import Range
from visakit.levelzero.parameters import described, find, find_all, need, tell_handle
from visakit.levelzero.structures import ze_command_list_desc_t, ze_command_queue_desc_t, ze_kernel_timestamp_result_t
from visakit.runtime import cl, host
from visakit.runtime.device import Device, host_nanoseconds
from visakit.runtime.errors import require
from visakit.runtime.queue import Queue

_QUEUE_FLAGS = (
    ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY | ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER
    | ze.ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT
)  # fmt: skip


def _check_group(device: Device, ordinal: int) -> None:
    groups = len(queue_groups(device))
    known = ordinal < groups
    require(known, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"group {ordinal} of queues; the device has {groups}")


def _queue(context: int, device: int, desc: int) -> ListQueue:
    """A new queue."""
    own, chosen = context_device(context, device)
    given = described(ze_command_queue_desc_t, desc, _QUEUE_FLAGS)
    known = given.mode <= ze.ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS
    known = known and given.priority <= ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH
    require(known, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, f"mode {given.mode}, priority {given.priority}")
    _check_group(chosen, given.ordinal)
    require(not given.index, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "a group has one queue")
    return ListQueue(own, chosen, given.flags, given.mode, given.priority, given.ordinal)


@entry
def zeCommandQueueCreate(context: int, device: int, desc: int, target: int) -> None:
    """A queue for command lists."""
    tell_handle(target, _queue(context, device, desc))


@entry
def zeCommandQueueExecuteCommandLists(queue: ListQueue, count: int, lists: int, fence: int) -> None:
    """Submit the commands of closed lists, and signal a fence behind them."""
    need(lists)
    require(count, ze.ZE_RESULT_ERROR_INVALID_SIZE, "there are no command lists")
    given = find_all(CommandList, lists, count)
    told = find(Fence, fence) if fence else None
    _check_closed(given, queue.ordinal)
    for one in given:
        one.submit(queue.core)
    if told is not None:
        ListOperation(cl.CL_COMMAND_MARKER, nothing, signal=told.state).submit(queue.core)
    queue.finish_synchronous()


def _check_closed(lists: list[CommandList], ordinal: int) -> None:
    """Refuse lists that execute commands at once, are of another group of queues, or take more commands."""
    wrong = ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE
    require(all(one.queue is None for one in lists), wrong, "the command list is an immediate one")
    require(all(one.ordinal == ordinal for one in lists), wrong, "the command list is of another group of queues")
    require(all(one.is_closed for one in lists), ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "a command list is not closed")


@entry
def zeCommandQueueSynchronize(queue: ListQueue, timeout: int) -> None:
    """Wait until a queue is empty, for so many nanoseconds."""
    finish(queue.core, timeout)


@entry
def zeCommandListCreate(context: int, device: int, desc: int, target: int) -> None:
    """A list that records commands."""
    own, chosen = context_device(context, device)
    given = described(ze_command_list_desc_t, desc)
    need(target)  # All flags are hints; as in Intel's driver, unknown ones are taken.
    _check_group(chosen, given.commandQueueGroupOrdinal)
    made = CommandList(own, chosen, given.flags, ordinal=given.commandQueueGroupOrdinal)
    host.write_size(target, made.handle)


@entry
def zeCommandListCreateImmediate(context: int, device: int, desc: int, target: int) -> None:
    """A list that executes commands at once."""
    queue = _queue(context, device, desc)
    need(target)
    made = CommandList(queue.context, queue.core.device, queue=queue, ordinal=queue.ordinal)
    host.write_size(target, made.handle)


@entry
def zeCommandListClose(command_list: CommandList) -> None:
    """End the recording of a list."""
    command_list.is_closed = True


@entry
def zeCommandListReset(command_list: CommandList) -> None:
    """Begin the recording of a list anew."""
    command_list.operations.clear()  # An immediate list has no operations.
    command_list.is_closed = False


@entry
def zeCommandListHostSynchronize(command_list: int, timeout: int) -> None:
    """Wait until an immediate list is empty, for so many nanoseconds."""
    finish(immediate_queue(command_list).core, timeout)


def immediate_queue(command_list: int) -> ListQueue:
    """The queue of an immediate list."""
    queue = find(CommandList, command_list).queue
    require(queue, ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "the command list is no immediate one")
    assert queue is not None
    return queue


@entry
def zeCommandListImmediateAppendCommandListsExp(
    command_list: int, count: int, lists: int, signal: int, wait_count: int, waits: int
) -> None:
    """Submit the commands of closed lists to an immediate list."""
    own = find(CommandList, command_list)
    queue = immediate_queue(command_list)
    given = find_all(CommandList, lists, count)
    states, event = awaited(wait_count, waits), find(ZeEvent, signal) if signal else None
    _check_closed(given, queue.ordinal)
    if states:
        append_to(own, ListOperation(cl.CL_COMMAND_MARKER, nothing), states, None)
    for one in given:
        one.submit(queue.core)
    if event is not None:
        append_to(own, ListOperation(cl.CL_COMMAND_MARKER, nothing), (), event)
    queue.finish_synchronous()


@entry
def zeCommandListIsImmediate(command_list: CommandList, target: int) -> None:
    """Whether a list executes commands at once."""
    need(target)
    host.write(target, bytes([command_list.queue is not None]))


@appends
def zeCommandListAppendBarrier(own: CommandList) -> ListOperation:
    """Later commands wait for all earlier ones."""
    return ListOperation(cl.CL_COMMAND_BARRIER, nothing)


@appends
def zeCommandListAppendMemoryRangesBarrier(own: CommandList, count: int, sizes: int, ranges: int) -> ListOperation:
    """The same: ranges of memory are not told apart."""
    need(sizes, ranges)
    host.read_sizes(ranges, count)
    return ListOperation(cl.CL_COMMAND_BARRIER, nothing)


@entry
def zeCommandListAppendSignalEvent(command_list: CommandList, event: ZeEvent) -> None:
    """Signal an event after all earlier commands."""
    append_to(command_list, ListOperation(cl.CL_COMMAND_MARKER, nothing), (), event)


@entry
def zeCommandListAppendWaitOnEvents(command_list: CommandList, count: int, events: int) -> None:
    """Later commands wait for events."""
    need(events)
    append_to(command_list, ListOperation(cl.CL_COMMAND_MARKER, nothing), awaited(count, events), None)


@entry
def zeCommandListAppendEventReset(command_list: CommandList, event: ZeEvent) -> None:
    """Reset an event after all earlier commands."""
    event.check_settable()

    def work(queue: Queue) -> None:
        event.state.change(cl.CL_QUEUED)

    append_to(command_list, ListOperation(cl.CL_COMMAND_MARKER, work), (), None)


@appends
def zeCommandListAppendWriteGlobalTimestamp(own: CommandList, target: int) -> ListOperation:
    """Write the time, in nanoseconds, to memory."""
    need(target)
    place = Range(own.context, target, host.POINTER)
    return ListOperation(cl.CL_COMMAND_MARKER, lambda queue: host.write_size(place.host, host_nanoseconds()))


@appends
def zeCommandListAppendQueryKernelTimestamps(
    own: CommandList, count: int, events: int, target: int, offsets: int
) -> ListOperation:
    """Write the times of events to memory, one behind the other or at offsets in bytes."""
    need(target)
    given = find_all(ZeEvent, events, count)
    size = ze_kernel_timestamp_result_t.bytes()
    offset = host.read_sizes(offsets, count) if offsets else tuple(size * n for n in range(count))
    places = [Range(own.context, target + distance, size) for distance in offset]
    return ListOperation(cl.CL_COMMAND_MARKER, _writes_times(given, places))


def _writes_times(events: list[ZeEvent], places: list[Range]) -> Work:
    def work(queue: Queue) -> None:
        for event, place in zip(events, places, strict=True):
            host.write(place.host, host.pack_sizes(event.state.times * 2))

    return work


@appends
def zeCommandListAppendHostFunction(own: CommandList, function: int, user_data: int, extension: int) -> ListOperation:
    """Call a function of the program."""
    need(function)
    return ListOperation(cl.CL_COMMAND_NATIVE_KERNEL, lambda queue: host.call(function, "p", user_data or None))
