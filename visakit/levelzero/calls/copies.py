"""Copies and fills of memory; hints about it."""

from __future__ import annotations

import numpy as np

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.calls.appending import appends
from visakit.levelzero.device_properties import queue_groups
from visakit.levelzero.lists import CommandList, ListOperation, nothing
from visakit.levelzero.memory import Range
from visakit.levelzero.parameters import find, need
from visakit.levelzero.structures import ze_copy_region_t
from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.device import Device
from visakit.runtime.errors import refused_as, require
from visakit.runtime.rectangles import Rectangle, copy_rectangle
from visakit.runtime.transfers import CommandAccesses, fill, shared_part

_LARGEST_PATTERN = 1 << 20


def _copy(own: CommandList, target: int, source: int, size: int, origin: Context) -> ListOperation:
    need(target, source)
    to, given = Range(own.context, target, size), Range(origin, source, size)
    accesses = CommandAccesses(shared_part(origin, source, size), shared_part(own.context, target, size))
    return ListOperation(cl.CL_COMMAND_SVM_MEMCPY, lambda queue: host.move(to.host, given.host, size), accesses)


@appends
def zeCommandListAppendMemoryCopy(own: CommandList, target: int, source: int, size: int) -> ListOperation:
    """Copy bytes; source and target may overlap."""
    return _copy(own, target, source, size, own.context)


@appends
def zeCommandListAppendMemoryCopyWithParameters(
    own: CommandList, target: int, source: int, size: int, extension: int
) -> ListOperation:
    """The same; no extension changes it."""
    return _copy(own, target, source, size, own.context)


@appends
def zeCommandListAppendMemoryCopyFromContext(
    own: CommandList, target: int, context: int, source: int, size: int
) -> ListOperation:
    """The same, from memory of another context."""
    return _copy(own, target, source, size, find(Context, context) if context else own.context)


def _fill(own: CommandList, target: int, pattern: int, width: int, size: int) -> ListOperation:
    need(target, pattern)
    largest = min(int(queue_groups(own.device)[own.ordinal]["maxMemoryFillPatternSize"]), _LARGEST_PATTERN)
    require(0 < width <= largest, ze.ZE_RESULT_ERROR_INVALID_SIZE, f"a pattern of {width} bytes of up to {largest}")
    bits, place = host.read(pattern, width), Range(own.context, target, size)
    accesses = CommandAccesses(None, shared_part(own.context, target, size))
    return ListOperation(cl.CL_COMMAND_SVM_MEMFILL, lambda queue: fill(place.view, bits), accesses)


@appends
def zeCommandListAppendMemoryFill(own: CommandList, target: int, pattern: int, width: int, size: int) -> ListOperation:
    """Repeat a pattern in memory."""
    return _fill(own, target, pattern, width, size)


@appends
def zeCommandListAppendMemoryFillWithParameters(
    own: CommandList, target: int, pattern: int, width: int, size: int, extension: int
) -> ListOperation:
    """The same; no extension changes it."""
    return _fill(own, target, pattern, width, size)


def _box(address: int, pitch: int, slice_pitch: int) -> Rectangle:
    """A box of bytes; a depth of 0 means one slice."""
    need(address)
    box = ze_copy_region_t.at(address)
    region = box.width, max(box.height, 1), max(box.depth, 1)
    require(box.width, ze.ZE_RESULT_ERROR_INVALID_SIZE, "the region is empty")
    with refused_as(ze.ZE_RESULT_ERROR_INVALID_SIZE):
        return Rectangle.of((box.originX, box.originY, box.originZ), region, pitch, slice_pitch)


@appends
def zeCommandListAppendMemoryCopyRegion(
    own: CommandList, target: int, target_region: int, target_pitch: int, target_slice: int,
    source: int, source_region: int, source_pitch: int, source_slice: int,
) -> ListOperation:  # fmt: skip
    """Copy a box of bytes; pitches are in bytes, 0 for no gaps."""
    need(target, source, target_region, source_region)
    if not ze_copy_region_t.at(target_region).width and not ze_copy_region_t.at(source_region).width:
        return ListOperation(cl.CL_COMMAND_COPY_BUFFER_RECT, nothing)
    taken, given = _box(target_region, target_pitch, target_slice), _box(source_region, source_pitch, source_slice)
    require(taken.region == given.region, ze.ZE_RESULT_ERROR_INVALID_SIZE, "the regions have different sizes")
    to, origin = Range(own.context, target, taken.end), Range(own.context, source, given.end)

    def work(queue: object) -> None:
        written, data = to.view, origin.view
        copy_rectangle(data.copy() if np.may_share_memory(written, data) else data, given, written, taken)

    return ListOperation(cl.CL_COMMAND_COPY_BUFFER_RECT, work)


@entry
def zeCommandListAppendMemoryPrefetch(command_list: CommandList, pointer: int, size: int) -> None:
    """Nothing but checks: a hint."""
    need(pointer)


@entry
def zeCommandListAppendMemAdvise(
    command_list: CommandList, device: Device, pointer: int, size: int, advice: int
) -> None:
    """Nothing but checks: a hint."""
    need(pointer)
    known = advice <= ze.ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION
    require(known, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, f"advice {advice:#x}")
