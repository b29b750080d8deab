"""Reserved addresses, and physical memory that is mapped there."""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass, field

from visakit.levelzero import ze
from visakit.runtime import cl, svm
from visakit.runtime.allocation import Shared, map_file, map_zeros
from visakit.runtime.context import Context
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import ApiObject
from vsim.memory.memory import PAGE, AddressSpace


class PhysicalMemory(ApiObject):
    """Memory without an address: a file in memory."""

    invalid = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    title = "physical memory"

    def __init__(self, context: Context, size: int) -> None:
        super().__init__()
        self.context, self.size = context, size
        self.file = file = os.memfd_create("visakit")
        self.at_end(lambda: os.close(file))
        os.ftruncate(file, size)


@dataclass(eq=False)
class Reservation:
    """Addresses that a context has reserved.

    Attributes:
        allocation: kernels know it as memory; unmapped parts hold zeros.
        mapped: parts with physical memory, by address: size, memory and access.
    """

    allocation: Shared
    mapped: dict[int, tuple[int, PhysicalMemory, int]] = field(default_factory=dict)


_RESERVED: weakref.WeakKeyDictionary[AddressSpace, dict[int, Reservation]] = weakref.WeakKeyDictionary()


def reserve(context: Context, size: int) -> int:
    """Reserve addresses; gives the first one."""
    made = svm.allocate(context, size, 0, cl.CL_MEM_TYPE_DEVICE_INTEL)
    if made is None:
        raise CallError(ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "the system has no addresses left")
    _RESERVED.setdefault(context.space, {})[made.address] = Reservation(made)
    return made.address


def release(context: Context, pointer: int, size: int) -> None:
    """Forget a reservation, without its memory."""
    found = find(context, pointer, size)
    whole = found.allocation.address == pointer and found.allocation.size == size
    require(whole, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range is no whole reservation")
    del _RESERVED[context.space][pointer]


def find(context: Context, pointer: int, size: int) -> Reservation:
    """The reservation of a range.

    Raises:
        CallError: the range is in none.
    """
    allocation = svm.find(context, pointer)
    found = _RESERVED.get(context.space, {}).get(allocation.address) if allocation is not None else None
    if found is None or pointer + size > found.allocation.address + found.allocation.size:
        raise CallError(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"{size} bytes at {pointer:#x} are not reserved")
    return found


def map_physical(context: Context, pointer: int, size: int, memory: PhysicalMemory, offset: int, access: int) -> None:
    """Map physical memory at reserved addresses."""
    found = find(context, pointer, size)
    inside = offset + size <= memory.size
    require(inside, ze.ZE_RESULT_ERROR_INVALID_SIZE, f"{size} bytes at {offset} of {memory.size}")
    free = all(pointer + size <= at or at + length <= pointer for at, (length, _, _) in found.mapped.items())
    require(free, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory is mapped there")
    done = map_file(pointer, size, memory.file, offset)
    require(done, ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "the system cannot map it")
    found.mapped[pointer] = size, memory, access


def unmap(context: Context, pointer: int, size: int) -> None:
    """Take all memory away that is mapped in a range; zeros are there instead."""
    found = find(context, pointer, size)
    end = pointer + size
    inside = [at for at, (length, _, _) in found.mapped.items() if at < end and pointer < at + length]
    whole = all(pointer <= at and at + found.mapped[at][0] <= end for at in inside)
    require(whole, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the range contains a part of a mapping")
    require(map_zeros(pointer, size), ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "the system cannot unmap it")
    for at in inside:
        del found.mapped[at]


def _mapped_at(found: Reservation, pointer: int) -> int | None:
    """The address of the mapped range of a pointer; None where nothing is mapped."""
    return next((at for at, (size, _, _) in found.mapped.items() if at <= pointer < at + size), None)


def access_at(context: Context, pointer: int) -> tuple[int, int]:
    """The access at a pointer, and how many bytes behind it have the same one."""
    found = find(context, pointer, 1)
    end, place = found.allocation.address + found.allocation.size, pointer
    access: int | None = None
    while place < end:
        at = _mapped_at(found, place)
        own = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_NONE if at is None else found.mapped[at][2]
        if access is not None and own != access:
            break
        access = own
        place = at + found.mapped[at][0] if at is not None else min((m for m in found.mapped if m > place), default=end)
    assert access is not None  # The pointer is in the reservation.
    return access, place - pointer


def set_access(context: Context, pointer: int, access: int) -> None:
    """Change the access of a mapped range. Kernels may access it in any case."""
    found = find(context, pointer, 1)
    at = _mapped_at(found, pointer)
    if at is None:
        raise CallError(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "nothing is mapped there")
    size, memory, _ = found.mapped[at]
    found.mapped[at] = size, memory, access


def whole_pages(size: int) -> int:
    """A size of whole pages.

    Raises:
        CallError: it is no multiple of a page.
    """
    require(size and not size % PAGE, ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE, f"{size} bytes are no pages of {PAGE}")
    return size
