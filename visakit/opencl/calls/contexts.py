"""Contexts, command queues and events (chapters 4.4, 5.1 and 5.11)."""

from __future__ import annotations

from visakit.opencl import info
from visakit.opencl.answers import (
    QUEUE_ANSWERS,
    callback_of,
    profiling_time,
    read_properties,
)
from visakit.opencl.calls import also, entry
from visakit.opencl.devices import devices_of_type
from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.device import Device
from visakit.runtime.errors import CallError, refused_as, require
from visakit.runtime.events import Event, find_events, wait_for
from visakit.runtime.queue import Queue
from visakit.runtime.transfers import nothing

_QUEUE_PROPERTIES = cl.CL_QUEUE_PROFILING_ENABLE | cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
_ON_DEVICE = cl.CL_QUEUE_ON_DEVICE | cl.CL_QUEUE_ON_DEVICE_DEFAULT


@entry
def clCreateContext(
    properties: int, num_devices: int, devices: int, pfn_notify: int, user_data: int, errcode_ret: int
) -> int:
    """A context of devices; the function is called with errors of the context."""
    given = read_properties(properties)
    require(num_devices and devices, cl.CL_INVALID_VALUE, "a context has devices")
    require(pfn_notify or not user_data, cl.CL_INVALID_VALUE, "there is data for a function that is not there")
    return Context(Device.find_all(devices, num_devices), given, (pfn_notify, user_data)).handle


@entry
def clCreateContextFromType(
    properties: int, device_type: int, pfn_notify: int, user_data: int, errcode_ret: int
) -> int:
    """A context of all devices of a type."""
    given = read_properties(properties)
    require(pfn_notify or not user_data, cl.CL_INVALID_VALUE, "there is data for a function that is not there")
    return Context(devices_of_type(device_type), given, (pfn_notify, user_data)).handle


@entry
def clSetContextDestructorCallback(context: Context, pfn_notify: int, user_data: int) -> None:
    """Register a function that is called when the context goes."""
    require(pfn_notify, cl.CL_INVALID_VALUE, "there is no function to call")
    handle = context.handle
    context.at_end(lambda: host.call(pfn_notify, "pp", handle, user_data or None))


@entry
def clCreateCommandQueue(context: Context, device: int, properties: int, errcode_ret: int) -> int:
    """A queue with properties as one bit set, as OpenCL 1.2 makes it."""
    chosen = context.device(device)
    require(not properties & ~_QUEUE_PROPERTIES, cl.CL_INVALID_VALUE, f"{properties:#x} are no properties of queues")
    return Queue(context, chosen, properties).handle


@also("clCreateCommandQueueWithPropertiesKHR")
@entry
def clCreateCommandQueueWithProperties(context: Context, device: int, properties: int, errcode_ret: int) -> int:
    """A queue with properties as a list of names and values; there are no queues on devices."""
    chosen = context.device(device)
    bits, given = 0, host.properties(properties)
    for name, value in given:
        if name == cl.CL_QUEUE_PROPERTIES:
            require(not value & ~(_QUEUE_PROPERTIES | _ON_DEVICE), cl.CL_INVALID_VALUE, f"{value:#x} is not known")
            bits = value
        elif name != cl.CL_QUEUE_SIZE:
            raise CallError(cl.CL_INVALID_VALUE, f"{name:#x} is no property of queues here")
    require(not bits & _ON_DEVICE, cl.CL_INVALID_QUEUE_PROPERTIES, "the device has no on-device queues")
    require(cl.CL_QUEUE_SIZE not in dict(given), cl.CL_INVALID_VALUE, "only queues of devices have a size")
    array = host.pack_properties(given) if properties else b""
    return Queue(context, chosen, bits, array).handle


@entry
def clSetDefaultDeviceCommandQueue(context: Context, device: int, command_queue: int) -> None:
    """Refused: there are no queues on devices."""
    context.device(device)
    raise CallError(cl.CL_INVALID_OPERATION, "the device has no on-device queues")


@entry
def clSetCommandQueueProperty(command_queue: Queue, properties: int, enable: int, old_properties: int) -> None:
    """Refused: properties of a queue do not change."""
    raise CallError(cl.CL_INVALID_OPERATION, "properties of a queue do not change")


@entry
def clGetCommandQueueInfo(command_queue: Queue, name: int, size: int, value: int, size_ret: int) -> None:
    """Answer a question about a queue."""
    require(name != cl.CL_QUEUE_SIZE, cl.CL_INVALID_COMMAND_QUEUE, "only queues of devices have a size")
    info.answer(QUEUE_ANSWERS, command_queue, name, size, value, size_ret)


@entry
def clFlush(command_queue: Queue) -> None:
    """Submit the commands of a queue."""
    command_queue.flush()


@entry
def clFinish(command_queue: Queue) -> None:
    """Wait until all commands of a queue are over."""
    command_queue.finish()


@entry
def clWaitForEvents(num_events: int, event_list: int) -> None:
    """Wait for events of one context; fails if one of their commands has failed."""
    require(num_events and event_list, cl.CL_INVALID_VALUE, "there is nothing to wait for")
    events = Event.find_all(event_list, num_events)
    require(len({e.context for e in events}) == 1, cl.CL_INVALID_CONTEXT, "events are of different contexts")
    wait_for(events)


@entry
def clGetEventProfilingInfo(event: Event, name: int, size: int, value: int, size_ret: int) -> None:
    """A time of a command, in nanoseconds."""
    info.give(profiling_time(event, name), size, value, size_ret)


@entry
def clCreateUserEvent(context: Context, errcode_ret: int) -> int:
    """An event that the program completes."""
    return Event(context, cl.CL_COMMAND_USER).handle


@entry
def clSetUserEventStatus(event: Event, execution_status: int) -> None:
    """Complete an event of the program, or let it fail by a negative status."""
    require(event.queue is None, cl.CL_INVALID_EVENT, "the event is a command's, not the program's")
    require(execution_status <= cl.CL_COMPLETE, cl.CL_INVALID_VALUE, "an event is completed, or fails")
    require(not event.is_over, cl.CL_INVALID_OPERATION, "the event was completed before")
    event.advance(execution_status)


@entry
def clSetEventCallback(event: Event, status: int, pfn_notify: int, user_data: int) -> None:
    """Register a function that is called when the command of an event reaches a state."""
    known = (cl.CL_SUBMITTED, cl.CL_RUNNING, cl.CL_COMPLETE)
    require(pfn_notify and status in known, cl.CL_INVALID_VALUE, "there is no function to call, or no such state")
    event.when(status, callback_of(event, pfn_notify, user_data))


@entry
def clEnqueueMarkerWithWaitList(command_queue: Queue, num_events: int, event_list: int, event: int) -> None:
    """An event that is complete after other events; without any, after all earlier commands."""
    events = find_events(event_list, num_events, command_queue.context)
    waits = events or command_queue.unfinished()
    give_event(command_queue.add(cl.CL_COMMAND_MARKER, nothing, waits, is_last=not events), event)


@entry
def clEnqueueBarrierWithWaitList(command_queue: Queue, num_events: int, event_list: int, event: int) -> None:
    """The same, and later commands wait for it."""
    waits = find_events(event_list, num_events, command_queue.context)
    give_event(command_queue.add(cl.CL_COMMAND_BARRIER, nothing, waits, is_barrier=True, is_last=not waits), event)


@entry
def clEnqueueMarker(command_queue: Queue, event: int) -> None:
    """An event that is complete after all earlier commands."""
    require(event, cl.CL_INVALID_VALUE, "there is no place for the event")
    give_event(command_queue.add(cl.CL_COMMAND_MARKER, nothing, command_queue.unfinished(), is_last=True), event)


@entry
def clEnqueueBarrier(command_queue: Queue) -> None:
    """Later commands wait for all earlier ones."""
    give_event(command_queue.add(cl.CL_COMMAND_BARRIER, nothing, [], is_barrier=True, is_last=True), 0)


@entry
def clEnqueueWaitForEvents(command_queue: Queue, num_events: int, event_list: int) -> None:
    """Later commands wait for events."""
    require(num_events and event_list, cl.CL_INVALID_VALUE, "there is nothing to wait for")
    with refused_as(cl.CL_INVALID_EVENT, instead_of=cl.CL_INVALID_EVENT_WAIT_LIST):
        events = find_events(event_list, num_events, command_queue.context)
    give_event(command_queue.add(cl.CL_COMMAND_BARRIER, nothing, events, is_barrier=True), 0)


def give_event(made: Event, place: int) -> None:
    """Hand out an event that the program wants to have; else only the driver keeps it."""
    if place:
        host.write_size(place, made.handle)
    else:
        made.release()
