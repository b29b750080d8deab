"""Memory between pages without access, with canaries: accesses outside of it are detected."""

from __future__ import annotations

import ctypes
import errno
import mmap
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fuzz.target import Finding

Bytes = npt.NDArray[np.uint8]
PAGE = mmap.PAGESIZE
CANARY = 0xA7
_PROT_NONE = 0


def _protect() -> Callable[[int, int, int], int] | None:
    """``mprotect`` of the C library, or None without it."""
    try:
        found = ctypes.CDLL(None, use_errno=True).mprotect
    except (OSError, AttributeError, TypeError):
        return None
    found.argtypes, found.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    return found


_MPROTECT = _protect()


class Guarded:
    """Zeroed memory of a size, as near to the page behind it as ``align`` lets it (or to the page before it).

    Attributes:
        data: the memory.
    """

    def __init__(self, size: int, align: int = 1, at_end: bool = True) -> None:
        room = max(PAGE, -(-size // PAGE) * PAGE)
        # The pages are kept by the arrays, which show parts of them; they are unmapped after the last array.
        whole = np.frombuffer(mmap.mmap(-1, room + 2 * PAGE), np.uint8)
        start = int(whole.__array_interface__["data"][0])
        if _MPROTECT is not None:
            for page in (start, start + PAGE + room):
                if _MPROTECT(page, PAGE, _PROT_NONE) and ctypes.get_errno() != errno.ENOMEM:  # The limit of mappings.
                    raise OSError(ctypes.get_errno(), "mprotect")
        offset = PAGE + ((room - size) // align * align if at_end else 0)
        self.data: Bytes = whole[offset : offset + size]
        self.before: Bytes = whole[PAGE:offset]
        self.behind: Bytes = whole[offset + size : PAGE + room]
        self.before[:], self.behind[:] = CANARY, CANARY

    def check(self, name: str) -> None:
        """Raise Finding if anything around the memory was written to."""
        for what, canaries in (("before", self.before), ("behind", self.behind)):
            touched = np.flatnonzero(canaries != CANARY)
            if touched.size:
                raise Finding(f"{touched.size} bytes {what} {name} were written to, the first is {touched[0]}")


def aligned(size: int, align: int = 64) -> Bytes:
    """Memory for the fast engine's workers: local and scratch memory, frames of threads, tables."""
    return Guarded(size, align).data


def guard_workers() -> None:
    """From now on the fast engine's memory lies between pages without access."""
    from vsim.engines.llvm import plan
    from vsim.engines.llvm.host import tables

    plan.aligned = tables.aligned = aligned
