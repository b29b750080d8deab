"""What the race check knows of a launch: the accesses to memory that threads made, and what orders them.

Both engines note the same records; the reference engine all of them, native code those to suspicious memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from visakit.isa.enums import FENCE_SCOPES, LSC_SFIDS
from visakit.language.program import Instruction
from vsim.launch.arrays import Array

READ, WRITE, ATOMIC, ATOMIC_READ, GROUP_FENCE, DEVICE_FENCE, ARRIVAL, DEPARTURE = range(8)
"""Kinds of records: accesses, fences by scope, and named barriers.

An atomic that only reads is a load, or a compare-and-exchange (of floats, too) that failed.
"""
KINDS = ("read", "write", "atomic", "atomic read")
"""Accesses, as findings name them."""
GLOBAL, LOCAL = 0, 1
"""Spaces: global memory, whose addresses are those of the host, and a group's local memory, whose are offsets."""
NO_LANE = 255
"""The lane number of an event of the whole thread."""

RECORD = np.dtype(
    [
        ("address", "u8"), ("sequence", "u8"), ("function", "u4"), ("instruction", "u4"), ("group", "u4"),
        ("thread", "u4"), ("signals", "u4"), ("waits", "u4"), ("size", "u4"), ("lane", "u1"), ("kind", "u1"),
        ("space", "u1"), ("lost", "u1"), ("number", "u4"), ("opening", "u4"), ("items", "u8"), ("steps", "u4"),
    ]
)  # fmt: skip
"""One access of one lane, or one event.

``sequence`` is the order of execution: lanes of one instruction share it. ``signals`` and ``waits`` count how often the
thread has arrived at its group's barrier, and left it. ``lost``: another lane of the instruction wrote another value to
the place. ``number`` and ``opening`` are those of a named barrier: how often it had opened, or the thread had waited.
Where races of work-items are looked for, ``items`` are the lanes whose access it is, as bits, with :data:`WHOLE` in
messages for the thread as a whole; ``steps`` counts the instructions of the thread so far that order its work-items
(:mod:`vsim.analysis.exchanges`).
"""
WHOLE = 1 << 32
Records = npt.NDArray[np.void]
Ranges = npt.NDArray[np.uint64]
"""Host addresses, first and behind the last, n x 2; in ascending order, and without places in common."""


@dataclass(frozen=True)
class LaunchAccesses:
    """What a launch did to global memory.

    Attributes:
        read, changed: where it read, and where it wrote or had atomics; ranges may hold more, never less.
        records: gives the accesses to ranges, and may give more.
    """

    read: Ranges
    changed: Ranges
    records: Callable[[Ranges], Records]


class AccessLog:
    """Records of a launch, in the order in which they were made."""

    def __init__(self) -> None:
        self._parts: list[Records] = []
        self.sequence = self.count = 0

    def begin(self) -> int:
        """The number of an instruction that executes now."""
        self.sequence += 1
        return self.sequence

    def add(self, count: int, **columns: Array | int) -> None:
        """So many records with these columns; a number is that of all of them."""
        part: Records = np.zeros(count, RECORD)
        for name, values in columns.items():
            part[name] = values
        self._parts.append(part)
        self.count += count

    def forget(self, sequence: int, count: int) -> None:
        """Forget all records but the first so many, which instructions up to a number have made."""
        kept: list[Records] = []
        self.sequence = sequence
        self.count = 0
        for part in self._parts:
            if self.count == count:
                break
            kept.append(part[: count - self.count])
            self.count += len(kept[-1])
        self._parts = kept

    def records(self) -> Records:
        """All of them."""
        found: Records = np.concatenate(self._parts) if self._parts else np.zeros(0, RECORD)
        self._parts = [found]
        return found


def fence_of(instruction: Instruction) -> int | None:
    """The kind of fence that an instruction is; None if it orders nothing. Raw messages are given as their equivalents.

    Fences of the load/store unit have a scope; a fence of global memory without one has device scope, a fence of
    local memory group scope.
    """
    args, fixed = instruction.args, instruction.desc.fixed
    if "scope" in args:
        wide = args["scope"] >= FENCE_SCOPES["tile"] and args["sfid"] != LSC_SFIDS["slm"]
        return DEVICE_FENCE if wide else GROUP_FENCE
    if "local" not in fixed or fixed["sw"]:
        return None
    return GROUP_FENCE if fixed["local"] else DEVICE_FENCE
