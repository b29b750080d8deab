"""State of observers at some time, for launches that go back: the debugger's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, runtime_checkable

from vsim.launch.arrays import Array


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


def together(*parts: SavedObserver) -> SavedObserver:
    """Several parts as one."""

    def restore() -> None:
        for part in parts:
            part.restore()

    return SavedObserver(sum(part.size for part in parts), restore)
