"""Old contents of memory, kept page by page where a launch writes first (copy on write)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from visakit.diagnostics import SimulationError
from vsim.engines.numpy.memory import MessageAccess
from vsim.launch.arrays import Array, Bytes, address_of

PAGE_BITS = 12
Page = tuple[int, int, int]
"""Number of a page of this process, and the place and size of the array that shows it: some arrays share memory."""


@dataclass
class OldPages:
    """Contents of pages before they were written."""

    kept: dict[Page, tuple[Bytes, Bytes]] = field(default_factory=dict)
    """The bytes of an array that a page has, and a copy of them."""

    def keep_written(self, access: MessageAccess, local: Iterable[Bytes]) -> None:
        """Keep what an access changes, but for arrays that are copied as a whole: a batch's own memory."""
        try:
            parts = access.parts()
        except SimulationError:
            return  # A fault follows, and nothing is written.
        for data, offsets, _ in parts:
            if not any(data is own for own in local):
                self._keep(data, offsets, access.size)

    def _keep(self, data: Bytes, offsets: Array, size: int) -> None:
        start = address_of(data)
        first = (offsets + start) >> PAGE_BITS
        last = (offsets + (start + size - 1)) >> PAGE_BITS
        for page in np.union1d(first, last).tolist():
            key = (page, start, data.size)
            if key not in self.kept:
                begin = max(0, (page << PAGE_BITS) - start)
                own = data[begin : ((page + 1) << PAGE_BITS) - start]
                self.kept[key] = own, own.copy()

    def keep_all(self, arrays: Iterable[Bytes]) -> None:
        """Keep whole arrays, unless a part of them is kept."""
        for data in arrays:
            if data.flags.writeable:
                self.kept.setdefault((-1, address_of(data), data.size), (data, data.copy()))

    def may_have(self, data: Bytes, columns: Array) -> bool:
        """Whether some bytes of an array may be among the contents; those of a batch's own memory never are."""
        places = columns + address_of(data)
        first, last = int(places.min()), int(places.max())
        return any(
            start <= last and first < start + size and (page < 0 or first >> PAGE_BITS <= page <= last >> PAGE_BITS)
            for page, start, size in self.kept
        )

    def restore(self) -> None:
        """Bring the contents back: those kept last first, as the first ones are the oldest."""
        for own, contents in reversed(self.kept.values()):
            own[:] = contents
        self.kept.clear()

    def absorb(self, later: OldPages) -> None:
        """Become the pages of a longer time: add the pages that were kept in the time after it."""
        for key, kept in later.kept.items():
            self.kept.setdefault(key, kept)
