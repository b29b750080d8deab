"""The race check of compiled code: summaries of the accesses to each unit of memory, ids, and the recording run.

**Summaries.** For each unit of memory (a dword) a word of 32 bits holds the last accessing thread, and the kind of its
access. Address space for the words is reserved once for the process. The address of a word follows from the
host's address of its unit: two additions lead from a pointer to the words of its memory.

**Ids.** A word is the id of a thread in a launch with the barriers behind it, ``first + group * span + thread <<
shift + epoch << flags``, and flags. Ids of a launch are greater than those of all earlier ones, so that words need no
clearing. One more number than threads stands for *many threads of the group*, one more group for *many groups*. Epochs
are counted modulo :data:`EPOCHS`.

**Flags.** One word is enough, as a barrier orders all that a group did before it: for its own group, only the accesses
of the newest epoch count, and these are reads (no flag), atomics (:data:`ATOMICS`), or a write or both
(:data:`WRITTEN`), of any thread. Other groups race with all of it, and :data:`MIXED` says that the earlier epochs
had something else. Where barriers are split, a thread that has arrived may be an epoch behind others: :data:`BEHIND`
says that the epoch before had something else. Kernels have the flags that they need.

What a word has lost only makes it more suspicious, never less. Where an access meets a word that it may conflict with,
the unit is marked. If there are marks after the launch, it runs again, from the same memory, in code that records each
access to marked units, and the exact analysis (:mod:`vsim.checks.races`) has the word.

Threads that access different bytes of a dword are suspicious, too. Where that is so of more dwords than can be
recorded, the launch runs again before that, in code whose units are the kernel's smallest stores (:data:`FINE`).
Words of small units take many times the memory that they are about. So it runs once for each window of the memory
that it writes, and keeps words for that alone.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from weakref import WeakKeyDictionary

import numpy as np

from visakit.forks import free_in_child
from visakit.isa.record import Access
from vsim.analysis.reachability import reachable
from vsim.checks.accesses import RECORD, Records, fence_of
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm import abi as cx
from vsim.launch.arrays import Array, Dwords, Words, address_of
from vsim.launch.dispatch import Dispatch
from vsim.launch.signature import KernelSignature
from vsim.semantics.messages import meaning

RECORDING = "race recording"
"""In the place of checks: the launch runs again, and records accesses to marked units."""
FINE = "fine race units"
"""Beside the check: units are the kernel's smallest stores, and cover a window of memory."""
PLACE_BITS = 42
"""Bits of a host address that choose its words."""
LARGEST_UNIT = 4
"""Bytes of a unit, but for code with smaller ones (:data:`FINE`)."""
Window = tuple[int, int]
"""The global memory whose words are kept: its first place, and bytes."""
WHOLE: Window = (0, 1 << PLACE_BITS)
EPOCHS, EPOCHS_OF_ITEMS = 64, 8
"""Epochs are counted modulo this; fewer where each work-item has an id."""
WRITTEN, MIXED, ATOMICS, BEHIND = 1, 2, 4, 8
"""Flags of a word."""
_ALIGNMENT = EPOCHS * 2 * BEHIND
"""Of the first id of a launch: epochs and flags use bits below it."""
_NO_RESERVE, _NO_REPLACE, _HUGE_PAGES = 0x4000, 0x100000, 14
"""Of Linux; not all versions of Python have names for these."""
_FIRST_PLACE = 1 << 44
"""Begin of the words: far from the system's own allocations, as linked code must lie close together."""
LISTED, RECORDED = 1 << 20, 1 << 22
"""Units of one launch that are noted where they are marked, and records of one run."""
CHOSEN = 1 << 15
"""Units whose accesses are recorded: if more are marked, the lowest ones and as many evenly from the others."""


# -- memory ----------------------------------------------------------------------------------------------------


class ShadowMemory:
    """Address space for words and marks, which the system backs with memory when it is touched, and the unused ids."""

    def __init__(self) -> None:
        self.lock = free_in_child(threading.Lock())
        self.next_id = 1 << 10
        room = 4 << PLACE_BITS
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE | _NO_REPLACE
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self.size = room + (1 << PLACE_BITS)
        found = libc.mmap(_FIRST_PLACE, self.size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if found != _FIRST_PLACE:
            raise Unsupported("the check 'race', as the system does not give it enough address space")
        self.start, self.marks = found, found + room
        libc.madvise(found, room, _HUGE_PAGES)
        self._libc = libc

    def ids(self, count: int) -> int:
        """The first of so many ids that no launch has had; of old ones nothing is left.

        Raises:
            Unsupported: there are not so many.
        """
        with self.lock:
            first = -(-self.next_id // _ALIGNMENT) * _ALIGNMENT
            if first + count >= 1 << 32:
                self._libc.madvise(self.start, self.size, mmap.MADV_DONTNEED)
                first = 1 << 10
            if first + count >= 1 << 32:
                raise Unsupported("the check 'race' of so many threads")
            self.next_id = first + count
            return first

    def words(self, first: int, count: int) -> Dwords:
        """So many words of units from a number on."""
        return np.ctypeslib.as_array((ctypes.c_uint32 * count).from_address(self.start + 4 * first))

    def set_marks(self, units: Words, value: int) -> None:
        """Mark units, or take their marks away."""
        whole = (ctypes.c_uint8 * (1 << PLACE_BITS)).from_address(self.marks)
        np.ctypeslib.as_array(whole)[units] = value

    def forget(self) -> None:
        """Give the memory of all words back: those of smaller units take many times that of others."""
        self._libc.madvise(self.start, self.marks - self.start, mmap.MADV_DONTNEED)


@cache
def shadow() -> ShadowMemory:
    """That of the process."""
    return ShadowMemory()


# -- launches --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Traits:
    """The traits of a kernel that its code depends on: whether it waits at group barriers or other barriers, has
    atomics or fences; and the number of lanes with separate ids, 0 if a thread has one id.
    """

    barriers: bool
    split: bool
    atomics: bool
    fences: bool
    lanes: int

    @property
    def epochs(self) -> int:
        """Epochs are counted modulo this."""
        return EPOCHS_OF_ITEMS if self.lanes else EPOCHS

    @property
    def ids(self) -> int:
        """Numbers of a thread: one, or one for each lane, one for all, and one for atomics of all."""
        return self.lanes + 2 if self.lanes else 1

    @property
    def flags(self) -> int:
        """Bits of a word below the epoch: those of the flags that the kernel needs."""
        if self.split:
            return BEHIND.bit_length()
        return (ATOMICS if self.atomics else MIXED if self.barriers else WRITTEN).bit_length()

    @property
    def shift(self) -> int:
        """Bits of a word below the thread."""
        return self.flags + (self.epochs.bit_length() - 1 if self.barriers else 0)


def _once_for_a_kernel(find: Callable[[Dispatch], Traits]) -> Callable[[Dispatch], Traits]:
    """What is found for a kernel is kept with its signature: to look takes longer than many a launch."""
    known: WeakKeyDictionary[KernelSignature, dict[tuple[bool, int], Traits]] = WeakKeyDictionary()

    def found(dispatch: Dispatch) -> Traits:
        own, key = known.setdefault(dispatch.signature, {}), (dispatch.takes_turns, _lanes_with_ids(dispatch))
        if key not in own:
            own[key] = find(dispatch)
        return own[key]

    return found


def _lanes_with_ids(dispatch: Dispatch) -> int:
    """The lanes of a thread whose accesses are told apart; 0 if none are."""
    return dispatch.simd if dispatch.races_of_items and RECORDING not in dispatch.checks else 0


@_once_for_a_kernel
def traits(dispatch: Dispatch) -> Traits:
    """Those of a launch's kernel with all that it can call."""
    reached = reachable(dispatch.image, dispatch.kernel)
    found = [meaning(instruction, dispatch.grf_size) for _, _, instruction in reached]
    return Traits(
        dispatch.has_barrier or dispatch.takes_turns,
        dispatch.takes_turns,
        any(i.desc.access is Access.ATOMIC for i in found),
        any(fence_of(i) is not None for i in found),
        _lanes_with_ids(dispatch),
    )


class RaceBlock:
    """What compiled code finds in a launch that is checked, or that records."""

    def __init__(self, dispatch: Dispatch, recording: bool = False, window: Window = WHOLE) -> None:
        memory, known = shadow(), traits(dispatch)
        slots = dispatch.threads_of(dispatch.group(0)) * known.ids + 1
        span = slots << known.shift
        first = memory.ids((dispatch.group_count + 1) * span)
        self.recording = recording
        self.list: Array = np.empty(RECORDED, RECORD) if recording else np.empty(LISTED, np.uint64)
        self.steps: Dwords = np.zeros((dispatch.group_count + 1) * slots if recording else 0, np.uint32)
        """How often each thread has ordered its work-items."""
        self.words: Words = np.zeros(cx.RACE_SIZE // 8, np.uint64)
        for field, value in {
            cx.RACE_WORDS: memory.start,
            cx.RACE_MARKS: memory.marks,
            cx.RACE_MASK: (1 << PLACE_BITS) - 1,
            cx.RACE_FIRST_ID: first,
            cx.RACE_SPAN: span,
            cx.RACE_SHIFT: known.shift,
            cx.RACE_EPOCHS: (known.epochs - 1) << known.flags if known.barriers else 0,
            cx.RACE_FLAGS: known.flags,
            cx.RACE_HALF: known.epochs // 2 if known.split else 0,
            cx.RACE_ALL_ID: first + dispatch.group_count * span,
            cx.RACE_LIST: address_of(self.list),
            cx.RACE_LIST_SIZE: self.list.size,
            cx.RACE_ATOMICS: known.fences,
            cx.RACE_WINDOW: window[0],
            cx.RACE_WINDOW_SIZE: window[1],
            cx.RACE_STEPS: address_of(self.steps),
        }.items():
            self.words[field // 8] = value

    @property
    def count(self) -> int:
        """Units that were marked, or records."""
        return int(self.words[cx.RACE_COUNT // 8])

    @property
    def unit_bits(self) -> int:
        """The size of a unit, as the bits of an address within it; 0 if none was marked."""
        return int(self.words[cx.RACE_UNIT_BITS // 8])

    @property
    def has_narrow(self) -> bool:
        """Whether accesses to parts of units were suspicious."""
        return bool(self.words[cx.RACE_NARROW // 8])

    @property
    def listed(self) -> Words:
        """The units that were marked, in ascending order, as far as there was room for them."""
        found: Words = np.sort(self.list[: min(self.count, self.list.size)])
        return found

    @property
    def records(self) -> Records:
        """What was recorded, as far as there was room."""
        found: Records = self.list[: min(self.count, self.list.size)]
        return found
