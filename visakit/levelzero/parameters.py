"""Parameters of calls: handles, structures with their chains, arrays whose length the program asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from visakit.levelzero import ze
from visakit.levelzero.layout import Structure
from visakit.levelzero.structures import ze_base_desc_t
from visakit.runtime import host
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import ApiObject

Found = TypeVar("Found", bound=ApiObject)
Shape = TypeVar("Shape", bound=Structure)
_LONGEST_CHAIN = 256


def find(kind: type[Found], handle: int) -> Found:
    """The object of a handle.

    Raises:
        CallError: the handle is null, or of another object.
    """
    require(handle, ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, f"there is no {kind.title}")
    try:
        return kind.find(handle)
    except CallError as problem:
        raise CallError(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, problem.reason) from None


def find_all(kind: type[Found], address: int, count: int) -> list[Found]:
    """The objects of an array of handles."""
    need(address)
    require(count <= host.MAXIMUM_COUNT, ze.ZE_RESULT_ERROR_INVALID_SIZE, f"{count} handles")
    return [find(kind, handle) for handle in host.read_sizes(address, count)]


def need(*pointers: int) -> None:
    """Refuse null pointers."""
    require(all(pointers), ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER, "a pointer is null")


def structure(kind: type[Shape], address: int, *others: int) -> Shape:
    """The structure at an address, in place.

    Args:
        others: numbers by which the program may call it, besides its own and 0.

    Raises:
        CallError: the address is null, or the structure has another type.
    """
    need(address)
    found = kind.at(address)
    given = ze_base_desc_t.at(address).stype
    require(given in (0, kind.number, *others), ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"a structure of type {given:#x}")
    return found


def described(kind: type[Shape], address: int, known: int | None = None) -> Shape:
    """The structure at an address, in place, whose chain changes nothing.

    Args:
        known: flags that the program may give.

    Raises:
        CallError: the address is null, the structure has another type or unknown flags, or its chain has no end.
    """
    found = structure(kind, address)
    extensions(address)
    if known is not None:
        flags(found.flags, known)
    return found


def extensions(address: int) -> dict[int, int]:
    """The structures that a structure leads to: addresses by type.

    Raises:
        CallError: the chain has no end.
    """
    found: dict[int, int] = {}
    seen = {address}
    place = int(ze_base_desc_t.at(address).pNext or 0)
    while place:
        require(
            place not in seen and len(seen) < _LONGEST_CHAIN, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "the chain of structures has no end",
        )  # fmt: skip
        seen.add(place)
        found.setdefault(ze_base_desc_t.at(place).stype, place)
        place = int(ze_base_desc_t.at(place).pNext or 0)
    return found


def flags(value: int, known: int) -> int:
    """Flags.

    Raises:
        CallError: one is not known.
    """
    require(not value & ~known, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, f"flags {value:#x}")
    return value


def give(count: int, target: int, items: Sequence[bytes]) -> None:
    """Write as many elements as the program has room for; without room, how many there are.

    Args:
        count: the address of how many the program takes, and gets.
        target: the address of the array; 0 for none.
    """
    room = _room(count, len(items))
    if target and room:
        host.write(target, b"".join(items[:room]))


def _room(count: int, available: int) -> int:
    """How many elements the program takes; it gets how many there are, where it takes none or too many."""
    need(count)
    room = host.read_u32(count)
    if not room or room > available:
        host.write_u32(count, available)
    return room


def tell(target: int, value: int) -> None:
    """Write a number of four bytes that the program asks for."""
    need(target)
    host.write_u32(target, value)


def tell_handle(target: int, one: ApiObject) -> None:
    """Write a handle that the program asks for."""
    need(target)
    host.write_size(target, one.handle)


def give_handles(count: int, target: int, objects: Sequence[ApiObject]) -> None:
    """Write an array of handles, as far as the program asks."""
    give(count, target, [one.handle.to_bytes(8, "little") for one in objects])


def give_structures(
    count: int, target: int, kind: type[Structure], values: Sequence[Mapping[str, int | float | bytes]]
) -> None:
    """Write fields of an array of structures, as far as the program asks; the structures keep type and chain."""
    room = _room(count, len(values))
    if target:
        for number, fields in enumerate(values[:room]):
            fill(kind.at(target + number * kind.bytes()), fields)


def fill(target: Structure, values: Mapping[str, int | float | bytes]) -> None:
    """Set fields; of arrays from the first element on, zeros follow."""
    for name, value in values.items():
        if isinstance(value, bytes):
            field = getattr(target, name)
            size = len(bytes(field))
            host.write(target.place(name), value[:size].ljust(size, b"\0"))
        else:
            setattr(target, name, value)


def give_bytes(size: int, target: int, data: bytes) -> None:
    """Write bytes as far as the program has room, and how many there are.

    Args:
        size: the address of the room, where their number goes.
    """
    need(size)
    if target:
        room = host.read_sizes(size, 1)[0]
        host.write(target, data[:room])
    host.write_size(size, len(data))
