"""Launch plans: everything of a launch that its arguments do not change, made once for a kernel and an ND-range.

Groups at the rim of an ND-range may be smaller. Every combination of dimensions in which a group is partial
has a separate payload, table of local ids and sizes. There are eight at most; most launches need one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np

from visakit.language.program import LEAST_LANES
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.tables import WorkerMemory, aligned
from vsim.engines.llvm.host.workers import CALLERS_FRAME, Jobs, default_threads, frame_bytes
from vsim.engines.llvm.kernels import CompiledKernel
from vsim.launch.arrays import Array, Bytes, Words, address_of
from vsim.launch.dispatch import Dispatch
from vsim.launch.ndrange import Group

LIGHT_WORK = 1 << 14
"""Instructions in all threads of a launch up to which waking a worker costs more than running them."""
SLICE_WORK = 1 << 22
"""Instructions that the caller's thread runs before it looks for Ctrl-C and at the clock: some milliseconds."""
JOINED_WORK = 1 << 24
"""Instructions of a launch on several workers of which the caller's thread is one: it hears no Ctrl-C meanwhile."""
SHARES, LEAST_CHUNKS = 2, 128
"""Workers take groups from the counter in chunks. A chunk is an equal share of the groups that are left, divided by
the first number: the data of one are together, and the last ones are small. There are no more than the second number of
the smallest ones for each worker.
"""
LARGEST_LEAST, LARGEST_LOOPING = 64, 64
"""Groups of the smallest chunks, at most, and of the largest ones of kernels with loops, whose groups may take long."""


class Geometry(NamedTuple):
    """The shape of a launch: the size of partial groups along each dimension, and whether there are any."""

    whole: Group
    partial_size: tuple[int, ...]
    is_partial: tuple[bool, ...]
    threads_per_group: int
    full: bool
    """All lanes of every thread run when it begins."""


def geometry(dispatch: Dispatch) -> Geometry:
    """The shape of a launch."""
    axes = zip(dispatch.global_size, dispatch.group_counts, dispatch.local_size, strict=True)
    sizes = tuple(g - (count - 1) * n for g, count, n in axes)
    is_partial = tuple(size != n for size, n in zip(sizes, dispatch.local_size, strict=True))
    whole = dispatch.group(0)
    full = dispatch.kernel.is_cm or (whole.items % dispatch.simd == 0 and not any(is_partial))
    return Geometry(whole, sizes, is_partial, dispatch.threads_of(whole), full)


def of_small_groups(dispatch: Dispatch) -> Dispatch:
    """A launch whose groups are smaller than a thread, with threads of fewer lanes; any other launch unchanged."""
    summary = dispatch.signature.summary
    if dispatch.simd <= LEAST_LANES or dispatch.kernel.is_cm or dispatch.schedule or any(dispatch.observed):
        return dispatch
    if summary.calls or summary.counts_threads or dispatch.takes_turns:
        return dispatch
    width = max(LEAST_LANES, 1 << (prod(dispatch.local_size) - 1).bit_length())
    return replace(dispatch, width=width) if width < dispatch.simd else dispatch


def row_of(dispatch: Dispatch) -> int:
    """Lanes of a thread that make a row of the group, if every thread is part of a row or made of whole ones; else 0,
    as for lanes that are no work-items.
    """
    if not dispatch.has_rows:
        return 0
    x, y, z = dispatch.local_size
    if y == z == 1:
        return dispatch.simd
    if any(g % n for g, n in zip(dispatch.global_size, dispatch.local_size, strict=True)):
        return 0
    return _row(dispatch.simd, x, y)


def transposed_row_of(dispatch: Dispatch, shape: Geometry) -> int:
    """The same for a group whose lanes go along y first; 0 too where it is watched in which lane a work-item runs, and
    for a part of the groups, which are counted along x.
    """
    x, y, _ = dispatch.local_size
    if not dispatch.has_rows or dispatch.has_fixed_lanes or not shape.full or dispatch.part:
        return 0
    if 1 in (x, y) or dispatch.local_id_rows < 2:
        return 0
    return _row(dispatch.simd, y, x)


def _row(simd: int, length: int, count: int) -> int:
    """Of rows of a length the lanes in one, if every thread is part of one or made of whole ones; else 0."""
    if length % simd == 0:
        return simd
    return length if simd % length == 0 and count % (simd // length) == 0 else 0


class Work(NamedTuple):
    """Who runs the groups of a launch."""

    workers: int
    slice: int
    """How many groups the caller's thread runs at a time; 0 if threads of the pool run them."""
    with_caller: bool
    """Whether the caller's thread is one of several workers."""


def _instructions(dispatch: Dispatch, shape: Geometry) -> int:
    """Instructions of the text in all threads of a group."""
    return shape.threads_per_group * max(1, dispatch.signature.summary.instructions)


def work(dispatch: Dispatch, shape: Geometry, thread_count: int | None) -> Work:
    """How many workers run a launch; a short one, and one without loops on one worker, runs in the caller's thread."""
    per_group, repeats = _instructions(dispatch, shape), dispatch.signature.summary.repeats
    light = not repeats and dispatch.group_count * per_group <= LIGHT_WORK
    count = min(thread_count or default_threads(), dispatch.group_count)
    if light or dispatch.has_fixed_order:
        count = 1
    here = not repeats and not dispatch.takes_turns and frame_bytes(dispatch.kernel) <= CALLERS_FRAME
    slice_ = -(-SLICE_WORK // per_group) if here and count == 1 else 0
    return Work(count, slice_, here and count > 1 and dispatch.group_count * per_group <= JOINED_WORK)


def groups_together(dispatch: Dispatch, shape: Geometry) -> int:
    """How many groups are under way at once on one worker."""
    if not dispatch.overlaps_groups:
        return 1
    from vsim.launch.schedule import PRIVATE_TURN_THREADS, TURN_THREADS

    limit = PRIVATE_TURN_THREADS if dispatch.has_private_memory or dispatch.scratch_size else TURN_THREADS
    return max(1, min(limit // shape.threads_per_group, dispatch.group_count))


class LaunchPlan(NamedTuple):
    """What all launches of a kernel over one ND-range share: code, workers and everything in the context but the fields
    of one run.
    """

    kernel: CompiledKernel
    context: Words
    words: memoryview[int]
    """The context, for single words, which numpy reads more slowly."""
    places: tuple[int, int]
    """Addresses of the context and of the first worker's structure."""
    initial: Words
    """The context as every run begins with it."""
    surfaces: Words
    payloads: Sequence[tuple[Group, Bytes]]
    jobs: Jobs
    """What each worker is to do: function, context and its structure."""
    thread_slots: int
    """Threads that live at once, over all workers."""
    slice: int
    keep: Sequence[Array]
    """Arrays that the context points to."""
    workers: Sequence[WorkerMemory]

    def __repr__(self) -> str:
        return f"<LaunchPlan for {len(self.workers)} workers>"

    def stop(self) -> None:
        """Let the workers end."""
        self.context[cx.STOP // 8] = 1


def launch_plan(
    dispatch: Dispatch,
    shape: Geometry,
    kernel: CompiledKernel,
    workers: Sequence[WorkerMemory],
    wanted: Work,
    local_ids: Callable[[Group], Bytes],
) -> LaunchPlan:
    """The plan of a launch.

    Args:
        workers: memory of each of the workers, or of the groups that one runs together.
        local_ids: gives the table of local ids for the shape of a group.
    """
    context = aligned(cx.CONTEXT_SIZE).view(np.uint64)
    surfaces = np.zeros(cx.SURFACES_SIZE // 8, np.uint64)
    variants, payloads, keep = _variants(dispatch, shape, local_ids)
    fields = {
        cx.GROUP_COUNT: dispatch.group_count,
        cx.SURFACES: address_of(surfaces),
        cx.VARIANTS: address_of(variants),
        cx.SLM_SIZE: dispatch.slm_size,
        cx.SCRATCH_SIZE: dispatch.scratch_size,
        cx.LOCAL_ITEMS: shape.whole.items,
        **_dealing(dispatch, shape, wanted.workers, not kernel.transposed),
        cx.ROW_THREADS: shape.threads_per_group,
    }
    if dispatch.goes_by_rows and not kernel.transposed:
        fields[cx.ROW_THREADS] = max(1, dispatch.local_size[0] // dispatch.simd)
    if dispatch.schedule:
        order = dispatch.schedule.order(dispatch.group_count)
        keep.append(order)
        fields[cx.GROUP_ORDER] = address_of(order)
    for d in range(3):
        fields[cx.COUNTS + 8 * d] = dispatch.group_counts[d]
        fields[cx.PARTIAL + 8 * d] = shape.is_partial[d] << d
        fields[cx.OFFSETS + 8 * d] = dispatch.offset[d]
        fields[cx.LOCAL_SIZE + 8 * d] = dispatch.local_size[d]
    for offset, value in fields.items():
        context[offset // 8] = value
    words = [(kernel.native.address, address_of(context), address_of(w.block)) for w in workers[: wanted.workers]]
    jobs: Words = np.array(words, np.uint64).ravel()
    slots, all_jobs = len(workers) * shape.threads_per_group, Jobs(address_of(jobs), len(words), wanted.with_caller)
    keep += [variants, jobs]
    initial = context.copy()
    places = address_of(context), address_of(workers[0].block)
    shown: memoryview[int] = context.data.cast("B").cast("Q")
    return LaunchPlan(
        *(kernel, context, shown, places, initial, surfaces, payloads, all_jobs, slots),
        *(wanted.slice, keep, workers),
    )


def _dealing(dispatch: Dispatch, shape: Geometry, workers: int, along_x: bool) -> dict[int, int]:
    """How many groups a worker takes at a time: for how many that are left one of the smallest chunks more."""
    if dispatch.schedule:
        return {cx.CHUNK: 1, cx.SHARE: 1, cx.MOST: 1}
    least = max(1, min(LARGEST_LEAST, dispatch.group_count // (workers * LEAST_CHUNKS)))
    if along_x and dispatch.goes_by_rows:
        least += -least % dispatch.group_counts[0]
    largest = LARGEST_LOOPING if dispatch.signature.summary.repeats else SLICE_WORK // _instructions(dispatch, shape)
    return {cx.CHUNK: least, cx.SHARE: workers * SHARES * least, cx.MOST: max(1, largest // least)}


def _variants(
    dispatch: Dispatch, shape: Geometry, local_ids: Callable[[Group], Bytes]
) -> tuple[Words, list[tuple[Group, Bytes]], list[Array]]:
    """The table of variants, payloads by group, and the arrays that the table points to."""
    table = np.zeros(8 * cx.VARIANT_SIZE // 8, np.uint64)
    payloads: list[tuple[Group, Bytes]] = []
    keep: list[Array] = []
    for index in range(8 if any(shape.is_partial) else 1):
        x, y, z = (
            small if index >> d & 1 and is_partial else whole
            for d, (small, is_partial, whole) in enumerate(
                zip(shape.partial_size, shape.is_partial, dispatch.local_size, strict=True)
            )
        )
        group = Group((0, 0, 0), (x, y, z))
        payload, ids = np.zeros(len(dispatch.payload) + 64, np.uint8), local_ids(group)
        count = dispatch.threads_of(group)
        order: Array = dispatch.schedule.order(count) if dispatch.schedule else ids
        payloads.append((group, payload))
        keep += [ids, order]
        first = index * cx.VARIANT_SIZE // 8
        table[first : first + 5] = address_of(payload), address_of(ids), x * y * z, count, address_of(order)
    return table, payloads, keep
