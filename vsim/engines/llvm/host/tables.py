"""Memory that compiled code is given: tables of buffers, surfaces and local ids, and the memory of worker threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.surfaces import table_entries
from vsim.engines.llvm.host.workers import frame_bytes
from vsim.launch import threads
from vsim.launch.arrays import Bytes, Words, address_of
from vsim.launch.dispatch import Dispatch
from vsim.launch.ndrange import Group
from vsim.memory.images import SurfaceImage
from vsim.memory.memory import AddressSpace, Buffer

ARENA_BYTES = 16 << 20
"""Memory for the frames of suspended threads of one work-group, at least."""
TURNS_ARENA_BYTES = 256 << 20
"""Memory for the frames of all threads under cooperative scheduling; the system backs touched pages only."""


Range = tuple[int, int, bool]
"""Memory that compiled code may touch: where it begins, bytes, whether it may be written."""


def aligned(size: int, align: int = 64) -> Bytes:
    """Zeroed memory that begins at a multiple of ``align``."""
    raw = np.zeros(size + align, np.uint8)
    start = -raw.ctypes.data % align
    return raw[start : start + size]


class SlotTable:
    """Where the buffers of an address space are; behind them stands an empty entry, for all slots beyond.

    The same follows for writes, with empty entries for read-only buffers.
    """

    def __init__(self) -> None:
        self.words: Words = np.zeros(0, np.uint64)
        self.address = 0
        """Where they are."""
        self.changes = -1

    @property
    def last(self) -> int:
        """The number of the empty entry."""
        return self.words.size // 6 - 1

    def update(self, memory: AddressSpace) -> None:
        """Follow the changes of the address space."""
        changes = memory.changes
        if self.changes == changes:
            return
        slots = list(memory.slots.items())
        count = max((slot for slot, _ in slots), default=0) + 2
        count = max(count, self.words.size // 6)
        self.words = np.zeros(6 * count, np.uint64)
        for slot, buffer in slots:
            self.words[3 * slot : 3 * slot + 3] = (buffer.address, buffer.host, buffer.room)
            if not buffer.read_only:
                at = 3 * (count + slot)
                self.words[at : at + 3] = (buffer.address, buffer.host, buffer.size)
        self.address = address_of(self.words)
        self.changes = changes


def fill_surfaces(table: Words, dispatch: Dispatch) -> None:
    """Write the surfaces and images of a launch into their table."""
    table.fill(0)
    separate = dispatch.separates_writes
    for number, surface in table_entries(dispatch):
        at = number * cx.SURFACE_ENTRY // 8
        if not isinstance(surface, Buffer):
            _fill_image(table[at:], surface)
            continue
        table[at], table[at + 1] = surface.host, surface.room
        if separate:
            table[at + cx.WRITTEN_SURFACES // 8 + 1] = 0 if surface.read_only else surface.size


def _fill_image(entry: Words, image: SurfaceImage) -> None:
    """Write an image into its entry of the table, and into that for writes."""
    entry[:2] = address_of(image.array), image.array.nbytes
    entry[cx.SURFACE_SIZES // 8 :].view(np.uint32)[: len(image.sizes)] = image.sizes
    entry[cx.WRITTEN_SURFACES // 8 + 1] = image.array.nbytes


def local_id_table(dispatch: Dispatch, group: Group, transposed: bool) -> Bytes:
    """Local ids of all threads of a group, room for three rows of words for each; ``transposed``: y counts up along the
    lanes.
    """
    row, count = threads.id_row_bytes(dispatch), dispatch.threads_of(group)
    step = threads.id_step_bytes(dispatch) // 2
    found = aligned(count * 3 * row + 64)
    words = found[: count * 3 * row].view(np.uint16).reshape(count, 3 * row // 2)
    for t in range(count):
        for dimension, ids in enumerate(threads.local_ids(dispatch, group, t, transposed)):
            words[t, dimension * step : dimension * step + ids.size] = ids
    return found


class WorkerMemory(NamedTuple):
    """Memory of one worker thread: the structure that compiled code gets, and the memory that it points to."""

    block: Words
    slm: Bytes
    scratch: Bytes
    arena: Bytes | None
    """Frames of threads that wait."""
    handles: Bytes | None
    """The records of waiting threads."""

    def __repr__(self) -> str:
        return f"<WorkerMemory: {self.slm.nbytes} bytes of local memory, {self.scratch.nbytes} of scratch memory>"


def worker_memory(
    dispatch: Dispatch, threads_per_group: int, first_slot: int, arena: Bytes | None = None
) -> WorkerMemory:
    """Memory for a worker that runs groups of so many threads, the first of which has a number among all that live.

    Args:
        arena: that of another worker, whose groups are under way together with those of this one.
    """
    slm_size, scratch_size = _rounded(dispatch.slm_room), _rounded(dispatch.scratch_size * threads_per_group)
    copies = 2 if dispatch.watches_undefined else 1  # memory, and its shadow behind it
    slm, scratch = aligned(slm_size * copies), aligned(scratch_size * copies)
    block = aligned(cx.WORKER_SIZE).view(np.uint64)
    block[cx.WORKER_SLM // 8], block[cx.WORKER_SCRATCH // 8] = address_of(slm), address_of(scratch)
    block[cx.WORKER_SLM_UNDEFINED // 8] = address_of(slm) + slm_size
    block[cx.WORKER_SCRATCH_UNDEFINED // 8] = address_of(scratch) + scratch_size
    block[cx.WORKER_SLOT // 8] = first_slot
    if dispatch.takes_turns:
        return WorkerMemory(block, slm, scratch, *_for_turns(block, threads_per_group, arena))
    if not dispatch.has_barrier:
        return WorkerMemory(block, slm, scratch, None, None)
    arena, handles = aligned(arena_bytes(dispatch, threads_per_group), cx.ARENA_ALIGN), aligned(2 * cx.HANDLE_SITES)
    block[cx.WORKER_ARENA // 8], block[cx.WORKER_HANDLES // 8] = address_of(arena), address_of(handles)
    block[cx.WORKER_ARENA_SIZE // 8] = arena.nbytes
    return WorkerMemory(block, slm, scratch, arena, handles)


def _rounded(size: int) -> int:
    """Bytes with room behind them."""
    return -(-size // 64) * 64 + 64


def arena_bytes(dispatch: Dispatch, threads: int) -> int:
    """Memory for the frames of a group's threads, each of which has the kernel's variables and what LLVM adds."""
    return min(max(ARENA_BYTES, threads * (4 * frame_bytes(dispatch.kernel) + 65536)), TURNS_ARENA_BYTES)


def _for_turns(block: Words, threads: int, arena: Bytes | None) -> tuple[Bytes, Bytes]:
    """Memory for the frames of threads that take turns; records and named barriers of a work-group."""
    if arena is None:
        arena = aligned(TURNS_ARENA_BYTES, cx.ARENA_ALIGN)
    records = aligned(cx.NAMED_SIZE + threads * cx.RECORD_SIZE)
    block[cx.WORKER_ARENA // 8], block[cx.WORKER_ARENA_SIZE // 8] = address_of(arena), arena.nbytes
    block[cx.WORKER_NAMED // 8] = address_of(records)
    block[cx.WORKER_RECORDS // 8] = address_of(records) + cx.NAMED_SIZE
    return arena, records
