"""Memory and functions of the program, by their addresses.

Calls pass pointers as numbers. The memory belongs to the program: a wrong pointer ends it, as with every driver.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from visakit.runtime import cl
from visakit.runtime.errors import require
from vsim.launch.arrays import Bytes

POINTER = 8
"""Bytes of a pointer, and of ``size_t``."""
MAXIMUM_COUNT = 1 << 20
"""Elements of an array that a program gives; a count that was negative is more."""


class _Place:
    """Bytes at an address, for numpy."""

    def __init__(self, address: int, size: int) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}


def view(address: int, size: int) -> Bytes:
    """The bytes at an address, in place."""
    return np.asarray(_Place(address, size)) if size else np.zeros(0, np.uint8)


def read(address: int, size: int) -> bytes:
    """A copy of the bytes at an address."""
    return ctypes.string_at(address, size)


def write(address: int, data: bytes) -> None:
    """Write bytes at an address."""
    ctypes.memmove(address, data, len(data))


def move(target: int, source: int, size: int) -> None:
    """Copy bytes, which may overlap, without Python's lock."""
    ctypes.memmove(target, source, size)


def text_bytes(address: int) -> bytes:
    """The bytes of a text that ends with a zero."""
    return ctypes.string_at(address)


def text_at(address: int) -> str:
    """A text that ends with a zero; empty for a null pointer."""
    return ctypes.string_at(address).decode("utf-8", "replace") if address else ""


def read_u32(address: int) -> int:
    """A number of four bytes."""
    return int.from_bytes(ctypes.string_at(address, 4), "little")


def read_sizes(address: int, count: int) -> tuple[int, ...]:
    """Numbers of eight bytes: sizes, pointers, handles.

    Raises:
        CallError: there are more than any program has.
    """
    require(count <= MAXIMUM_COUNT, cl.CL_INVALID_VALUE, f"an array has up to {MAXIMUM_COUNT} elements, found {count}")
    return struct.unpack(f"<{count}Q", ctypes.string_at(address, POINTER * count)) if count else ()


def write_size(address: int, value: int) -> None:
    """Write a number of eight bytes, unless the pointer is null."""
    if address:
        ctypes.memmove(address, value.to_bytes(8, "little"), 8)


def write_u32(address: int, value: int) -> None:
    """Write a number of four bytes, unless the pointer is null; negative ones, too."""
    if address:
        ctypes.memmove(address, (value & 0xFFFFFFFF).to_bytes(4, "little"), 4)


def properties(address: int) -> list[tuple[int, int]]:
    """A list of names and values, each of eight bytes, that ends with a zero; empty for a null pointer."""
    pairs: list[tuple[int, int]] = []
    while address:
        (name,) = read_sizes(address, 1)
        if not name:
            break
        pairs.append((name, read_sizes(address + POINTER, 1)[0]))
        address += 2 * POINTER
    return pairs


@lru_cache(maxsize=256)
def _function(address: int, kinds: str) -> Callable[..., None]:
    types = {"p": ctypes.c_void_p, "i": ctypes.c_int32, "s": ctypes.c_size_t}
    made: Callable[..., None] = ctypes.CFUNCTYPE(None, *[types[kind] for kind in kinds])(address)
    return made


def call(address: int, kinds: str, *values: int | bytes | None) -> None:
    """Call a function of the program. ``kinds`` has a letter for each value: p pointer, i int32, s size."""
    _function(address, kinds)(*values)


def as_array(data: bytes) -> Bytes:
    """Bytes for numpy."""
    return np.frombuffer(data, np.uint8)


def repeated(data: Bytes, size: int) -> Bytes:
    """Repeat bytes until a size is reached."""
    return np.tile(data, size // data.size)


class Sizes:
    """Numbers of eight bytes in memory of the driver's own, for a call that wants an address."""

    def __init__(self, values: Sequence[int]) -> None:
        self._cell = ctypes.create_string_buffer(pack_sizes(values))
        self.address = ctypes.addressof(self._cell)


def print_text(text: str) -> None:
    """Print a kernel's output through C's standard output, which keeps its order with the program's output."""
    if text:
        data = text.encode("utf-8", "surrogateescape")
        library = ctypes.CDLL(None)
        stream = ctypes.c_void_p.in_dll(library, "stdout")
        library.fwrite(data, ctypes.c_size_t(1), ctypes.c_size_t(len(data)), stream)
        flush()


def flush() -> None:
    """Write what C's standard output still holds."""
    library = ctypes.CDLL(None)
    library.fflush(ctypes.c_void_p.in_dll(library, "stdout"))


def pack_properties(pairs: Iterable[tuple[int, int]]) -> bytes:
    """Names and values as a list, which ends with a zero."""
    return pack_sizes([n for pair in pairs for n in pair] + [0])


def pack_sizes(values: Sequence[int]) -> bytes:
    """Numbers of eight bytes."""
    return struct.pack(f"<{len(values)}Q", *values)
