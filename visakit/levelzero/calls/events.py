"""Events, event pools and fences."""

from __future__ import annotations

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.events import EventPool, Fence, ZeEvent, wait_for
from visakit.levelzero.lists import ListQueue
from visakit.levelzero.parameters import described, extensions, fill, find, find_all, flags, need, structure
from visakit.levelzero.structures import (
    ze_event_counter_based_desc_t,
    ze_event_desc_t,
    ze_event_pool_counter_based_exp_desc_t,
    ze_event_pool_desc_t,
    ze_event_query_kernel_timestamps_results_ext_properties_t,
    ze_fence_desc_t,
    ze_kernel_timestamp_result_t,
)
from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.device import Device
from visakit.runtime.errors import CallError, require

_POOL_FLAGS = (
    ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ze.ZE_EVENT_POOL_FLAG_IPC | ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
    | ze.ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP
)  # fmt: skip
_SCOPES = ze.ZE_EVENT_SCOPE_FLAG_SUBDEVICE | ze.ZE_EVENT_SCOPE_FLAG_DEVICE | ze.ZE_EVENT_SCOPE_FLAG_HOST
_MOST = 1 << 24
_COUNTS = 1 << 31
"""A flag of the driver's own, so that an event that counts has flags in any case."""


@entry
def zeEventPoolCreate(context: Context, desc: int, count: int, devices: int, target: int) -> None:
    """A pool for a number of events."""
    given = structure(ze_event_pool_desc_t, desc)
    chain = extensions(desc)
    flags(given.flags, _POOL_FLAGS)
    require(0 < given.count < _MOST, ze.ZE_RESULT_ERROR_INVALID_SIZE, f"a pool of {given.count} events")
    if count:
        find_all(Device, devices, count)
    need(target)
    place, counts = chain.get(ze.ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC), 0
    if place is not None:
        counts = ze_event_pool_counter_based_exp_desc_t.at(place).flags | _COUNTS
    host.write_size(target, EventPool(context, given.flags, given.count, counts).handle)


@entry
def zeEventCreate(pool: EventPool, desc: int, target: int) -> None:
    """An event of a pool."""
    given = described(ze_event_desc_t, desc)
    need(target)
    scopes = flags(given.signal, _SCOPES), flags(given.wait, _SCOPES)
    require(given.index < pool.count, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"the pool has {pool.count} events")
    host.write_size(target, ZeEvent(pool.context, pool, scopes, pool.counts).handle)


@entry
def zeEventCounterBasedCreate(context: Context, device: Device, desc: int, target: int) -> None:
    """An event that counts the commands that signal it, without a pool."""
    need(target)
    counts, scopes = _COUNTS, (0, 0)
    if desc:
        given = described(ze_event_counter_based_desc_t, desc)
        counts |= given.flags
        scopes = flags(given.signal, _SCOPES), flags(given.wait, _SCOPES)
    host.write_size(target, ZeEvent(context, None, scopes, counts).handle)


@entry
def zeEventCounterBasedGetDeviceAddress(event: ZeEvent, value: int, address: int) -> None:
    """The number that an event that counts waits for, and the place of its count in memory."""
    need(value, address)
    number, place = event.count_in_memory()
    host.write_size(value, number)
    host.write_size(address, place)


@entry
def zeEventHostSignal(event: ZeEvent) -> None:
    """Signal an event; one that counts is refused."""
    event.check_settable()
    event.state.signal()


@entry
def zeEventHostReset(event: ZeEvent) -> None:
    """Reset an event; one that counts is refused."""
    event.check_settable()
    event.state.change(cl.CL_QUEUED)


@entry
def zeEventQueryStatus(event: ZeEvent) -> None:
    """Refuse with ZE_RESULT_NOT_READY unless an event is signalled."""
    event.state.ask(event.context.order)


@entry
def zeEventHostSynchronize(event: ZeEvent, timeout: int) -> None:
    """Wait for an event, for so many nanoseconds."""
    wait_for(event.state, timeout, event.context.order)


def _times(event: ZeEvent, *targets: int) -> None:
    """Write the times of the command that signalled an event."""
    require(event.has_times, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the pool's events have no times")
    event.state.ask(event.context.order)
    begin, end = event.state.times
    for target in targets:
        result = ze_kernel_timestamp_result_t.at(target)
        for clock in ("global", "context"):
            fill(getattr(result, clock), {"kernelStart": begin, "kernelEnd": end})


def _counted(event: int, device: int, count: int) -> tuple[ZeEvent, int]:
    """An event, and the caller's room for its results, whose number is written: one, for one device."""
    own = find(ZeEvent, event)
    find(Device, device)
    need(count)
    room = host.read_u32(count)
    host.write_u32(count, 1)
    return own, room


@entry
def zeEventQueryKernelTimestamp(event: ZeEvent, target: int) -> None:
    """Begin and end of the command that signalled an event, in nanoseconds."""
    need(target)
    _times(event, target)


@entry
def zeEventQueryKernelTimestampsExt(event: int, device: int, count: int, target: int) -> None:
    """The same for each device, and in the clock of the host."""
    own, room = _counted(event, device, count)
    if room and target:
        results = ze_event_query_kernel_timestamps_results_ext_properties_t.at(target)
        # Times in the clock of the program are laid out as those of the device are, and both have one clock here.
        places = results.pKernelTimestampsBuffer, results.pSynchronizedTimestampsBuffer
        _times(own, *(place for place in places if place))


@entry
def zeEventQueryTimestampsExp(event: int, device: int, count: int, target: int) -> None:
    """The same for each device."""
    own, room = _counted(event, device, count)
    if room and target:
        _times(own, target)


@entry
def zeEventGetEventPool(event: ZeEvent, target: int) -> None:
    """The pool of an event; refused where it has none."""
    need(target)
    if event.pool is None:
        raise CallError(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the event has no pool")
    host.write_size(target, event.pool.handle)


@entry
def zeEventGetCounterBasedFlags(event: ZeEvent, target: int) -> None:
    """The flags of an event that counts; refused for others."""
    need(target)
    require(event.counts, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the event does not count")
    host.write_u32(target, event.counts & ~_COUNTS)


@entry
def zeFenceCreate(queue: ListQueue, desc: int, target: int) -> None:
    """A fence of a queue."""
    given = described(ze_fence_desc_t, desc, ze.ZE_FENCE_FLAG_SIGNALED)
    need(target)
    host.write_size(target, Fence(queue.context, bool(given.flags)).handle)


@entry
def zeFenceHostSynchronize(fence: Fence, timeout: int) -> None:
    """Wait for a fence, for so many nanoseconds."""
    wait_for(fence.state, timeout, fence.context.order)


@entry
def zeFenceQueryStatus(fence: Fence) -> None:
    """Refuse with ZE_RESULT_NOT_READY unless a fence is signalled."""
    fence.state.ask(fence.context.order)


@entry
def zeFenceReset(fence: Fence) -> None:
    """Reset a fence."""
    fence.state.change(cl.CL_QUEUED)
