"""Array files: ``.npy`` with shape and type, any other file as bytes. A damaged file is an error when it is opened."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import BinaryIO

import numpy as np

from visakit.files import open_regular
from vsim.launch.arrays import Array, DType

KINDS = "biufV"
"""Kinds of numpy types whose elements have a meaning in memory: truth values, numbers, structures."""
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class ArrayFileError(Exception):
    """A file is not an array; the message has the reason."""


Take = Callable[[int], None]
"""Is told how many bytes an array has before it is read, and raises an error if they are too many."""


def no_limit(size: int) -> None:
    """Let arrays of any size be read."""


def has_type(path: str) -> bool:
    """Whether the file of an array has the type of its elements."""
    return path.endswith(".npy")


def read_array(path: str, most: int | None = None, take: Take = no_limit) -> Array:
    """The contents of an array file: ``.npy``, else bytes.

    Args:
        most: bytes that it may have; None for any number.
        take: called with its bytes before they are read.

    Raises:
        ArrayFileError: it cannot be read, is damaged or too large, or its elements have a type that no memory holds.
    """
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if most is not None and size > most:
                raise ArrayFileError(f"it has {size} bytes, more than {most}")
            if has_type(path):
                return _read_npy(stream, size, take)
            take(size)
            return np.fromfile(stream, np.uint8)
    except OSError as error:
        raise ArrayFileError(error.strerror or str(error)) from None
    except (ValueError, MemoryError) as error:
        raise ArrayFileError(str(error) or type(error).__name__) from None


def _read_npy(stream: BinaryIO, size: int, take: Take) -> Array:
    """A ``.npy`` file of a number of bytes; its header is believed only as far as the file has elements."""
    if stream.peek(4)[:4] == b"PK\3\4":  # type: ignore[attr-defined]
        raise ArrayFileError("it is an archive of arrays (.npz), not an array")
    shape, fortran, dtype = _header(stream)
    if dtype.kind not in KINDS or dtype.hasobject:
        raise ArrayFileError(f"its elements have type {dtype}; buffers hold numbers and structures of them")
    if not dtype.isnative:
        raise ArrayFileError(f"its numbers are in another byte order (type {dtype}); save array.astype('=')")
    count = 1
    for length in shape:
        if type(length) is not int or length < 0:  # True is an int, but no length.
            raise ArrayFileError(f"its header claims the shape {shape}")
        count *= length
    there = size - stream.tell()
    if count * dtype.itemsize > there:
        raise ArrayFileError(f"its header claims {count * dtype.itemsize} bytes of elements, the file has {there}")
    take(count * dtype.itemsize)
    array = np.fromfile(stream, dtype, count) if dtype.itemsize else np.empty(count, dtype)
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def _header(stream: BinaryIO) -> tuple[tuple[int, ...], bool, DType]:
    """Shape, whether the first axis varies fastest, and type."""
    try:
        version = np.lib.format.read_magic(stream)
        if version not in _READERS:
            raise ArrayFileError(f"it has version {version[0]}.{version[1]} of the format")
        with warnings.catch_warnings(action="ignore"):  # Of headers that Python 2 wrote, and of damaged ones.
            return _READERS[version](stream)
    except ArrayFileError:
        raise
    except Exception as error:  # The header is a Python expression; a damaged one fails in any way.
        reason = str(error).partition("\n")[0]
        raise ArrayFileError(f"it is not a .npy file, or its header is damaged: {reason:.120}") from None


class _Sink:
    """A stream of a type that numpy does not know: it writes into Python's files past Python, and misses errors."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def write(self, data: bytes) -> int:
        """Write all of it."""
        return self.stream.write(data)


def write_array(stream: BinaryIO, array: Array, with_header: bool) -> None:
    """Write an array: as a ``.npy`` file, or its elements alone."""
    if with_header:
        np.save(_Sink(stream), array)
    else:
        stream.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
