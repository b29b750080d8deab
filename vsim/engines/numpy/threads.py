"""The hardware threads of a batch: what all functions of a thread share, and memory that each has for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from visakit.language.platforms import MAXIMUM_GRF_SIZE
from visakit.language.program import predefined_size
from vsim.engines.numpy.memory import PartitionedSpace
from vsim.launch.arrays import Array, Bools, Bytes
from vsim.launch.ndrange import Size
from vsim.observe.trace import Trace


class WorkItems(Protocol):
    """What the threads of a batch work on."""

    def describe(self, row: int, lane: int) -> str:
        """Lane, thread and work-item of a row, for errors."""

    def name(self, row: int) -> str:
        """Group and thread of a row, for traces."""

    def member(self, row: int) -> tuple[Size, int]:
        """The id of the group, and the thread, of a row."""

    def numbers(self) -> tuple[Array, Array]:
        """The linear number of the group and the thread of each row."""

    def work_items(self) -> Bools:
        """The lanes of all threads that are work-items, threads x 32."""

    def chosen(self, trace: Trace) -> Bools:
        """The lanes that a trace is about, threads x 32."""

    def pixels(self) -> list[Array]:
        """x and y of the work-items of all threads, threads x 32 each."""

    def start_value(self, register: int, data: Bytes) -> None:
        """Write what threads find in a predefined register when they start over its zeros."""


class SavedThreads(NamedTuple):
    """Local and scratch memory, and predefined registers by number."""

    slm: Bytes
    scratch: Bytes
    predefined: dict[int, Bytes]


class HardwareThreads:
    """Threads that run together, a row each.

    Args:
        rows: which rows of the whole batch they are; None for all.
    """

    def __init__(
        self, items: WorkItems, count: int, slm: PartitionedSpace, scratch: PartitionedSpace, rows: Array | None = None
    ) -> None:
        self.items, self.count, self.slm, self.scratch, self.rows = items, count, slm, scratch, rows
        self._predefined: dict[int, Bytes] = {}

    def restart(self) -> None:
        """Put memory and registers into their initial states."""
        self.slm.data[:] = 0
        self.scratch.data[:] = 0
        for number, register in self._predefined.items():
            register[:] = 0
            self.items.start_value(number, register)

    def saved(self) -> SavedThreads:
        """Copies of what all functions of a thread share."""
        registers = {number: register.copy() for number, register in self._predefined.items()}
        return SavedThreads(self.slm.data.copy(), self.scratch.data.copy(), registers)

    def restore(self, saved: SavedThreads) -> None:
        """Bring it back; registers that nothing had used begin anew."""
        self.slm.data[:], self.scratch.data[:] = saved.slm, saved.scratch
        for number, register in self._predefined.items():
            if number in saved.predefined:
                register[:] = saved.predefined[number]
            else:
                register[:] = 0
                self.items.start_value(number, register)

    def predefined(self, number: int) -> Bytes:
        """Bytes of a predefined variable, which all functions of a thread share."""
        found = self._predefined.get(number)
        if found is None:
            found = np.zeros((self.count, -(-predefined_size(number, MAXIMUM_GRF_SIZE) // 64) * 64), np.uint8)
            self._predefined[number] = found
            self.items.start_value(number, found)
        return found

    def describe(self, row: int, lane: int) -> str:
        """Lane, thread and work-item of a row."""
        return self.items.describe(row if self.rows is None else int(self.rows[row]), lane)

    def name(self, row: int) -> str:
        """Group and thread of a row, for traces."""
        return self.items.name(row if self.rows is None else int(self.rows[row]))

    def member(self, row: int) -> tuple[Size, int]:
        """The id of the group, and the thread, of a row."""
        return self.items.member(row if self.rows is None else int(self.rows[row]))

    def numbers(self) -> tuple[Array, Array]:
        """The linear number of the group and the thread of each of them."""
        groups, threads = self.items.numbers()
        return (groups, threads) if self.rows is None else (groups[self.rows], threads[self.rows])

    def work_items(self) -> Bools:
        """Their lanes that are work-items, threads x 32."""
        lanes = self.items.work_items()
        return lanes if self.rows is None else lanes[self.rows]

    def chosen(self, trace: Trace) -> Bools:
        """Their lanes that a trace is about, threads x 32."""
        found = self.items.chosen(trace)
        return found if self.rows is None else found[self.rows]

    def pixels(self) -> list[Array]:
        """x and y of the threads' work-items, threads x 32 each."""
        both = self.items.pixels()
        return both if self.rows is None else [axis[self.rows] for axis in both]

    # -- some of them --------------------------------------------------------------------------------------

    def narrowed(self, index: Array) -> HardwareThreads:
        """Some of these threads. Predefined registers are not copied: activations hold the ones in use
        (:meth:`RegisterFile.rows`).
        """
        return HardwareThreads(
            self.items,
            index.size,
            replace(self.slm, base=self.slm.base[index]),
            replace(self.scratch, base=self.scratch.base[index]),
            index if self.rows is None else self.rows[index],
        )
