"""Boxes of bytes in memory, as the commands on rectangles have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from visakit.runtime import cl
from visakit.runtime.errors import require
from vsim.launch.arrays import Array, Bytes


class Rectangle(NamedTuple):
    """The layout of rows of bytes.

    Attributes:
        start: of the first byte.
        region: bytes of a row, rows, slices.
        row, slice: bytes from one to the next.
    """

    start: int
    region: tuple[int, int, int]
    row: int
    slice: int

    @classmethod
    def of(cls, origin: Sequence[int], region: Sequence[int], row: int, slice_: int) -> Rectangle:
        """A box at an origin (bytes, row, slice); a pitch of 0 means no gaps.

        Raises:
            CallError: a pitch is smaller than a row or slice.
        """
        width, height, depth = region
        require(not row or row >= width, cl.CL_INVALID_VALUE, f"rows of {width} bytes are {row} bytes apart")
        row = row or width
        fits = not slice_ or (slice_ >= row * height and not slice_ % row)
        require(fits, cl.CL_INVALID_VALUE, f"slices are {slice_} bytes apart")
        slice_ = slice_ or row * height
        x, y, z = origin
        return cls(x + y * row + z * slice_, (width, height, depth), row, slice_)

    @property
    def end(self) -> int:
        """Behind the last byte."""
        width, height, depth = self.region
        return self.start + (depth - 1) * self.slice + (height - 1) * self.row + width

    @classmethod
    def of_part(cls, start: int, size: int) -> Rectangle:
        """Bytes that follow each other."""
        return cls(start, (size, 1, 1), size, size)

    def rows(self, host: int) -> npt.NDArray[np.uint64]:
        """Where the rows of a box begin and end in memory at a place, n x 2."""
        size, rows, slices = self.region
        first = host + self.start + self.row * np.arange(rows)[None, :] + self.slice * np.arange(slices)[:, None]
        return np.stack([first.reshape(-1), first.reshape(-1) + size], 1).astype(np.uint64)

    def check(self, size: int) -> None:
        """Refuse a rectangle that exceeds a number of bytes."""
        require(self.end <= size, cl.CL_INVALID_VALUE, f"the region ends at {self.end}, the memory at {size}")

    def of_bytes(self, data: Bytes) -> Array:
        """The box in some memory: slices, rows, bytes."""
        width, height, depth = self.region
        # The pitch of a single row or slice means nothing, and may be more than numpy counts.
        strides = (self.slice if depth > 1 else 0, self.row if height > 1 else 0, 1)
        return np.lib.stride_tricks.as_strided(data[self.start :], (depth, height, width), strides)


def copy_rectangle(source: Bytes, given: Rectangle, target: Bytes, taken: Rectangle) -> None:
    """Copy a box."""
    np.copyto(taken.of_bytes(target), given.of_bytes(source))


def overlap(given: Rectangle, taken: Rectangle, distance: int) -> bool:
    """Whether boxes share a byte; ``distance`` is from the memory of the second one to that of the first."""
    a, b = given.start + distance, taken.start
    if a + given.end - given.start <= b or b + taken.end - taken.start <= a:
        return False
    if given.row != taken.row or given.slice != taken.slice:
        return True
    width, height, _ = given.region
    rows = (height - 1) * given.row + width
    return not (_fits(b - a, width, given.row) or _fits(b - a, rows, given.slice))


def _fits(distance: int, size: int, pitch: int) -> bool:
    """Whether gaps between pieces of a size at a pitch have room for others at a distance (appendix E)."""
    return size <= distance % pitch <= pitch - size
