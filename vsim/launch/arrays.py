"""The array types of the simulator, and where arrays are."""

from __future__ import annotations

from typing import Any

import numpy as np

_Shape = tuple[Any, ...]  # numpy.typing, which has a name for such arrays, takes half a millisecond to load.
Array = np.ndarray[_Shape, np.dtype[Any]]
"""An array whose elements have a type that is known when it runs: a user's buffer, lanes of a register."""
Bytes = np.ndarray[_Shape, np.dtype[np.uint8]]
Words = np.ndarray[_Shape, np.dtype[np.uint64]]
Dwords = np.ndarray[_Shape, np.dtype[np.uint32]]
Bools = np.ndarray[_Shape, np.dtype[np.bool_]]
Offsets = np.ndarray[_Shape, np.dtype[np.int64]]
DType = np.dtype[np.generic]
"""The type of an array's elements."""


def address_of(array: Array) -> int:
    """Where an array begins in the memory of this process."""
    return int(array.__array_interface__["data"][0])
