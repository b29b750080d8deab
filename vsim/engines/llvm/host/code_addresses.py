"""Room for native code: its parts must lie within 2 GiB of each other.

Code reaches its constants and tables by distances of 32 bits, and LLVM asks the system for memory of each part by
itself. The system takes the highest gap that is large enough, so that small parts may come to lie between libraries,
and large ones below everything that the process has allocated since: gigabytes of arrays, perhaps, and then LLVM ends
the process. So gaps that are too far from the one for large parts are filled while code is loaded.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ctypes import CDLL, c_int, c_long, c_size_t, c_void_p
from functools import cache
from typing import NamedTuple

from visakit.forks import free_in_child

REACH = 1 << 30
"""How far parts may be from each other, with half of what distances reach left for their sizes."""
_NO_RESERVE, _NO_REPLACE = 0x4000, 0x100000
"""Of Linux; not all versions of Python have names for these."""
_NOT_FOR_US = ("[stack]", "[vdso]", "[vvar", "[vsyscall]")
"""Mappings above and directly below which the system allocates no memory by itself."""


_ASIDE: list[int] = []
_PLACING = free_in_child(threading.RLock())
"""Held while gaps are filled: another thread's code would find some of them filled, and others free again."""


class Gap(NamedTuple):
    """Addresses where nothing is."""

    start: int
    end: int


@cache
def _libc() -> CDLL:
    found = CDLL(None)
    found.mmap.restype = c_void_p
    found.mmap.argtypes = [c_void_p, c_size_t, c_int, c_int, c_int, c_long]
    found.munmap.argtypes = [c_void_p, c_size_t]
    return found


@contextmanager
def near_each_other(size: int) -> Iterator[None]:
    """While it lasts, parts of so many bytes together come to lie near each other, wherever there is room."""
    with _PLACING:
        gaps = _gaps() if _mapped() > REACH else []
        filled = [gap for gap in distant_gaps(gaps, 2 * size + (1 << 20)) if _fill(gap)]
        try:
            yield
        finally:
            for gap in filled:
                _libc().munmap(gap.start, gap.end - gap.start)


def set_aside(size: int) -> None:
    """So many bytes of addresses are reserved where the system would not give out any."""
    _ASIDE.append(size)


def _mapped() -> int:
    """Bytes of addresses that the process uses, without reserved ones; much faster to read than the gaps."""
    with suppress(OSError), open("/proc/self/statm", "rb") as numbers:
        return int(numbers.read().split()[0]) * os.sysconf("SC_PAGESIZE") - sum(_ASIDE)
    return 0


def distant_gaps(gaps: list[Gap], size: int) -> list[Gap]:
    """Of gaps (the highest first) those above the first one with so many bytes that are too far from it."""
    above: list[Gap] = []
    for gap in gaps:
        if gap.end - gap.start >= size:
            return [other for other in above if other.end - gap.end > REACH]
        above.append(gap)
    return []


def _gaps() -> list[Gap]:
    """The gaps between the process's mappings, the highest first; empty if the system does not list mappings."""
    found: list[Gap] = []
    end = 0
    with suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            words = line.split()
            first, behind = (int(part, 16) for part in words[0].split("-"))
            is_ours = len(words) < 6 or not words[5].startswith(_NOT_FOR_US)
            if end and first > end and is_ours:
                found.append(Gap(end, first))
            end = behind
    return found[::-1]


def _fill(gap: Gap) -> bool:
    """Reserve the addresses of a gap; whether they were free still."""
    import mmap  # which few processes need

    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE | _NO_REPLACE
    found = _libc().mmap(gap.start, gap.end - gap.start, 0, flags, -1, 0)
    if found != gap.start and found not in (None, c_void_p(-1).value):
        _libc().munmap(found, gap.end - gap.start)  # An old system, which takes the address for a wish.
    return bool(found == gap.start)
