"""Changes of memory: found, sent and merged in time that is linear in the size of the memory.

A changed page has a bit for each byte that says whether it changed, and the new values of the changed bytes. Many
changes in a page so cost at most a ninth more than the changed bytes, a single one 512 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vsim.launch.arrays import Bools, Bytes

PAGE = 4096
PAGES_AT_ONCE = 256
"""Pages compared at a time: temporary arrays fit into the cache for buffers of any size."""


@dataclass(frozen=True, eq=False, repr=False)
class Changes:
    """Bytes of a memory that changed: numbers of their pages, ascending; for each page a bit for each byte, that of
    the first byte being the highest of its eight; and new values of the bytes that changed.
    """

    pages: npt.NDArray[np.int64]
    marks: Bytes
    values: Bytes

    def write_to(self, memory: Bytes) -> None:
        """Give the bytes that changed their new values."""
        done = 0
        for start in range(0, self.pages.size, PAGES_AT_ONCE):
            pages = self.pages[start : start + PAGES_AT_ONCE]
            changed = np.unpackbits(self.marks[start : start + PAGES_AT_ONCE], axis=1).view(bool)
            count = int(np.count_nonzero(changed))
            whole, contents = _pages(memory, pages)
            contents[changed] = self.values[done : done + count]
            done += count
            _put(memory, whole, pages, contents)


def changes_between(old: Bytes, new: Bytes) -> Changes:
    """The difference between an old and the present state of memory. Both have the same size."""
    numbers, marks, values = [], [], []
    for start in range(0, -(-old.size // PAGE), PAGES_AT_ONCE):
        end = min(start + PAGES_AT_ONCE, -(-old.size // PAGE))
        pages = start + np.flatnonzero(_differ(old[start * PAGE : end * PAGE], new[start * PAGE : end * PAGE]))
        if pages.size:
            contents = _pages(new, pages)[1]
            changed = _pages(old, pages)[1] != contents
            numbers.append(pages)
            marks.append(np.packbits(changed, axis=1))
            values.append(contents[changed])
    if not numbers:
        return Changes(np.zeros(0, np.int64), np.zeros((0, PAGE // 8), np.uint8), np.zeros(0, np.uint8))
    return Changes(np.concatenate(numbers), np.concatenate(marks), np.concatenate(values))


def first_conflict(size: int, parts: list[Changes]) -> int | None:
    """The lowest byte of a memory that several parts changed; None without one."""
    changing = [p for p in parts if p.pages.size]
    if len(changing) < 2:
        return None
    taken = np.zeros((-(-size // PAGE), PAGE // 8), np.uint8)
    lowest: int | None = None
    for part in changing:
        both = taken[part.pages] & part.marks
        rows = np.flatnonzero(both.any(axis=1))
        if rows.size:
            at = int(part.pages[rows[0]]) * PAGE + int(np.unpackbits(both[rows[0]]).argmax())
            lowest = at if lowest is None else min(lowest, at)
        taken[part.pages] |= part.marks
    return lowest


def _differ(old: Bytes, new: Bytes) -> Bools:
    """For each page of some memory, whether anything in it differs."""
    full = old.size // PAGE * PAGE
    words = old[:full].view(np.uint64) != new[:full].view(np.uint64)
    pages = words.reshape(-1, PAGE // 8).any(axis=1)
    return pages if full == old.size else np.append(pages, not np.array_equal(old[full:], new[full:]))


def _pages(memory: Bytes, pages: npt.NDArray[np.int64]) -> tuple[int, Bytes]:
    """How many of these pages are whole, and a copy of all; the last page of memory is filled up with zeros."""
    full = memory.size // PAGE
    whole = int(np.searchsorted(pages, full))
    contents = np.zeros((pages.size, PAGE), np.uint8)
    contents[:whole] = memory[: full * PAGE].reshape(full, PAGE)[pages[:whole]]
    if whole < pages.size:
        contents[whole, : memory.size - full * PAGE] = memory[full * PAGE :]
    return whole, contents


def _put(memory: Bytes, whole: int, pages: npt.NDArray[np.int64], contents: Bytes) -> None:
    """The opposite of :func:`_pages`."""
    full = memory.size // PAGE
    memory[: full * PAGE].reshape(full, PAGE)[pages[:whole]] = contents[:whole]
    if whole < pages.size:
        memory[full * PAGE :] = contents[whole, : memory.size - full * PAGE]
