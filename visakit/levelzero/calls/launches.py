"""Launches of kernels."""

from __future__ import annotations

import struct

from visakit.levelzero import ze
from visakit.levelzero.calls import also
from visakit.levelzero.calls.appending import appends
from visakit.levelzero.kernels import Size, ZeKernel, check_sizes
from visakit.levelzero.lists import CommandList, ListOperation
from visakit.levelzero.memory import Range
from visakit.levelzero.parameters import find_all, need
from visakit.levelzero.structures import ze_group_count_t
from visakit.runtime import cl, ending, host
from visakit.runtime.errors import require
from visakit.runtime.queue import Queue

_COUNTS = ze_group_count_t.bytes()


def _check_kernel(own: CommandList, kernel: ZeKernel) -> None:
    """Refuse a kernel of another device. One of another context is taken: it runs in its own context."""
    fits = kernel.device is own.device
    require(fits, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the kernel is of another device")


def _counts(address: int) -> Size:
    """The number of groups at an address."""
    x, y, z = struct.unpack("<3I", host.read(address, _COUNTS))
    return x, y, z


def _launch(kernel: ZeKernel, counts: Size) -> ListOperation:
    given, group, offset = kernel.check_launch(), kernel.group, kernel.offset
    check_sizes(counts, group, offset)
    ending.load()
    return ListOperation(cl.CL_COMMAND_NDRANGE_KERNEL, lambda queue: kernel.launch(queue, counts, group, offset, given))


@also("zeCommandListAppendLaunchCooperativeKernel")
@appends
def zeCommandListAppendLaunchKernel(own: CommandList, kernel: ZeKernel, counts: int) -> ListOperation:
    """Run a kernel with the arguments that it has now, in a number of groups."""
    _check_kernel(own, kernel)
    need(counts)
    return _launch(kernel, _counts(counts))


@appends
def zeCommandListAppendLaunchKernelWithParameters(
    own: CommandList, kernel: ZeKernel, counts: int, extension: int
) -> ListOperation:
    """The same; no extension changes it."""
    _check_kernel(own, kernel)
    need(counts)
    return _launch(kernel, _counts(counts))


@appends
def zeCommandListAppendLaunchKernelWithArguments(
    own: CommandList, kernel: ZeKernel, counts_xy: int, counts_z: int, sizes_xy: int, sizes_z: int, arguments: int,
    extension: int,
) -> ListOperation:  # fmt: skip
    """Set the size of groups and all arguments, and run a kernel."""
    _check_kernel(own, kernel)
    kernel.set_group(_split(sizes_xy, sizes_z))
    if kernel.parameters:
        need(arguments)
        for index, value in enumerate(host.read_sizes(arguments, len(kernel.parameters))):
            parameter = kernel.parameters[index]
            if parameter.kind == "local":
                need(value)
                kernel.set_argument(index, host.read_sizes(value, 1)[0], 0)
            else:
                kernel.set_argument(index, parameter.size if parameter.kind == "value" else host.POINTER, value)
    return _launch(kernel, _split(counts_xy, counts_z))


def _split(xy: int, z: int) -> Size:
    """Three numbers of a structure that is passed by value."""
    return xy & 0xFFFF_FFFF, xy >> 32, z & 0xFFFF_FFFF


@appends
def zeCommandListAppendLaunchKernelIndirect(own: CommandList, kernel: ZeKernel, counts: int) -> ListOperation:
    """Run a kernel; the numbers of groups are read when it begins."""
    _check_kernel(own, kernel)
    need(counts)
    place = Range(own.context, counts, _COUNTS)
    given, group, offset = kernel.check_launch(), kernel.group, kernel.offset
    ending.load()
    return ListOperation(
        cl.CL_COMMAND_NDRANGE_KERNEL, lambda queue: kernel.launch(queue, _counts(place.host), group, offset, given)
    )


@appends
def zeCommandListAppendLaunchMultipleKernelsIndirect(
    own: CommandList, count: int, kernels: int, number: int, counts: int
) -> ListOperation:
    """Run kernels; their number and the numbers of groups are read when they begin."""
    need(kernels, number, counts)
    found = find_all(ZeKernel, kernels, count)
    for kernel in found:
        _check_kernel(own, kernel)
    places = Range(own.context, counts, _COUNTS * count), Range(own.context, number, 4)
    taken = [(kernel, kernel.check_launch(), kernel.group, kernel.offset) for kernel in found]
    ending.load()

    def work(queue: Queue) -> None:
        for index, (kernel, given, group, offset) in enumerate(taken[: host.read_u32(places[1].host)]):
            kernel.launch(queue, _counts(places[0].host + _COUNTS * index), group, offset, given)

    return ListOperation(cl.CL_COMMAND_NDRANGE_KERNEL, work)
