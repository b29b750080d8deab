"""State of observers at some time, for launches that go back: the debugger's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from vsim.launch.arrays import Array, Bytes

BLOCK = 1 << 14
"""Bytes that are compared and copied at once."""


class SavedObserver(NamedTuple):
    """What an observer knew.

    Attributes:
        size: bytes that are kept.
        restore: lets the observer know this again, and nothing else.
    """

    size: int
    restore: Callable[[], None]


@runtime_checkable
class Rewinds(Protocol):
    """An observer that can go back with its launch."""

    def saved(self) -> SavedObserver:
        """What it knows now."""


def contents(arrays: Iterable[Array]) -> SavedObserver:
    """The contents of some arrays, which stay the same arrays."""
    kept = [(array, array.copy()) for array in arrays]

    def restore() -> None:
        for array, copy in kept:
            array[...] = copy

    return SavedObserver(sum(copy.nbytes for _, copy in kept), restore)


class ArrayHistory:
    """Copies of arrays at several times: blocks that have not changed since the last copy are shared."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[Array, list[Array]]] = {}

    def contents(self, arrays: Iterable[Array]) -> SavedObserver:
        """As :func:`contents`, of arrays whose elements follow each other."""
        last, self._last, size = self._last, {}, 0
        kept: list[tuple[Bytes, list[Array]]] = []
        for array in arrays:
            assert array.flags.c_contiguous  # Else the next line copies it.
            data = array.reshape(-1).view(np.uint8)
            before = last.get(id(array), (array, []))[1]
            blocks = []
            for number, start in enumerate(range(0, data.size, BLOCK)):
                own = data[start : start + BLOCK]
                block = before[number] if number < len(before) else None
                if block is None or not np.array_equal(block, own):
                    block, size = own.copy(), size + own.size
                blocks.append(block)
            self._last[id(array)] = array, blocks
            kept.append((data, blocks))

        def restore() -> None:
            for data, blocks in kept:
                for number, block in enumerate(blocks):
                    data[number * BLOCK : number * BLOCK + block.size] = block

        return SavedObserver(size, restore)


def together(*parts: SavedObserver) -> SavedObserver:
    """Several parts as one."""

    def restore() -> None:
        for part in parts:
            part.restore()

    return SavedObserver(sum(part.size for part in parts), restore)
