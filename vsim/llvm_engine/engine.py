"""Runs launches on compiled code."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from visa.cisa import write_module
from visa.diagnostics import Diagnostic, SimulationError
from visa.program import Function
from vsim import threads
from vsim.abi import Dispatch, Group
from vsim.llvm_engine import Unsupported, cache, native
from vsim.llvm_engine import context as cx
from vsim.llvm_engine.coverage import Marks
from vsim.llvm_engine.flow import may_go_back
from vsim.llvm_engine.surfaces import made_for, place_in_table
from vsim.llvm_engine.workers import POOL, default_threads
from vsim.memory import AddressSpace, Buffer

Words = npt.NDArray[np.uint64]
ARENA_BYTES = 16 << 20
MAXIMUM_SHAPES = 64
LIGHT_WORK = 1 << 14
"""Instructions in all threads of a launch up to which waking a worker costs more than running them."""
SLICE_WORK = 1 << 22
"""Instructions that the caller's thread runs before it looks for Ctrl-C and at the clock: some milliseconds."""


def aligned(size: int, align: int = 64) -> npt.NDArray[np.uint8]:
    """Zeroed memory that begins at a multiple of ``align``."""
    raw = np.zeros(size + align, np.uint8)
    start = -raw.ctypes.data % align
    return raw[start : start + size]


def address(array: npt.NDArray[Any]) -> int:
    """Where an array begins."""
    return int(array.__array_interface__["data"][0])


@dataclass
class Code:
    """Compiled code of a kernel with the functions that fault records name by number."""

    native: Any
    functions: list[Function]


@dataclass
class Worker:
    """Memory of one worker thread."""

    block: Words
    slm: npt.NDArray[Any]
    scratch: npt.NDArray[Any]
    arena: npt.NDArray[Any] | None = None
    handles: npt.NDArray[Any] | None = None


@dataclass
class LaunchPlan:
    """What all launches of a kernel over one ND-range share: code, workers and everything in the context but the fields of one run."""

    code: Code
    context: Words
    initial: Words
    variants: Words
    surfaces: Words
    payloads: list[tuple[Group, npt.NDArray[Any]]]
    jobs: Sequence[Callable[[], None]]
    thread_slots: int
    keep: list[Any]
    slice: int
    """Groups that run in the caller's thread at a time; 0 where workers run them all."""

    def stop(self) -> None:
        """Let the workers end."""
        self.context[cx.STOP // 8] = 1


class PreparedLaunch(NamedTuple):
    """A launch that ran well, whose arguments are still in place in its shape: what it takes to run it again."""

    dispatch: Dispatch
    thread_count: int | None
    changes: int
    shape: LaunchPlan


def _surface_table(table: Words, dispatch: Dispatch) -> None:
    table[:] = 0
    entries = [(place_in_table(False, n), s) for n, s in dispatch.surfaces.items()]
    entries += [(place_in_table(True, handle), image) for handle, image in dispatch.images.items()]
    for number, surface in entries:
        entry = table[number * cx.SURFACE_ENTRY // 8 :]
        if isinstance(surface, Buffer):
            entry[:2] = surface.host, surface.size
        else:
            entry[:2] = address(surface.array), surface.array.nbytes
            entry[cx.SURFACE_SIZES // 8 :].view(np.uint32)[: len(surface.sizes)] = surface.sizes


def _packed(numbers: list[int], objects: list[bytes]) -> bytes:
    """Functions and objects of a kernel as they are kept."""
    sizes = [len(o) for o in objects]
    return b"".join(
        [struct.pack(f"<{2 + len(numbers) + len(sizes)}I", len(numbers), len(sizes), *numbers, *sizes), *objects]
    )


def _unpacked(stored: bytes) -> tuple[list[int], list[bytes]]:
    functions, count = struct.unpack_from("<2I", stored)
    numbers, sizes = (
        struct.unpack_from(f"<{functions}I", stored, 8),
        struct.unpack_from(f"<{count}I", stored, 8 + 4 * functions),
    )
    ends = [8 + 4 * (functions + count) + sum(sizes[:n]) for n in range(count + 1)]
    return list(numbers), [stored[start:end] for start, end in pairwise(ends)]


def row_of(dispatch: Dispatch) -> int:
    """Lanes of a thread that make a row of the group, if every thread is part of a row or made of whole ones; else 0."""
    x, y, z = dispatch.local_size
    if y == z == 1:
        return dispatch.simd
    if any(g % n for g, n in zip(dispatch.global_size, dispatch.local_size, strict=True)):
        return 0
    if x % dispatch.simd == 0:
        return dispatch.simd
    return x if dispatch.simd % x == 0 and y % (dispatch.simd // x) == 0 else 0


def _run_here(shape: LaunchPlan, max_seconds: float | None) -> bool:
    """Run the groups of one worker in the caller's thread, which need not wake another; False if time was up."""
    context, (job,) = shape.context, shape.jobs
    first, end = int(context[cx.NEXT_GROUP // 8]), int(context[cx.GROUP_COUNT // 8])
    started = perf_counter()
    for start in range(first, end, shape.slice):
        if max_seconds is not None and perf_counter() - started > max_seconds:
            return False
        context[cx.NEXT_GROUP // 8], context[cx.GROUP_COUNT // 8] = start, min(start + shape.slice, end)
        job()
        if context[cx.FAULT // 8]:
            break
    return True


def _signed(value: Any) -> int:
    number = int(value)
    return number - (1 << 64) if number >> 63 else number


def _fault(dispatch: Dispatch, code: Code, context: Words) -> Exception:
    """The error that a fault record stands for."""
    start = cx.FAULT_INFO // 8
    record = dict(
        zip(cx.FAULT_FIELDS, (_signed(v) for v in context[start : start + len(cx.FAULT_FIELDS)]), strict=True)
    )
    kind, body_number, number = record["kind"], record["body"], record["instruction"]
    if kind == cx.FRAMES:
        return Unsupported("frames that do not fit")
    _find_lane(dispatch, kind, record)
    group = dispatch.group(
        record["group_x"]
        + dispatch.group_counts[0] * (record["group_y"] + dispatch.group_counts[1] * record["group_z"])
    )
    where = threads.describe(dispatch, group, record["thread"], record["lane"])
    function = code.functions[body_number] if body_number < len(code.functions) else dispatch.kernel
    if kind == cx.BARRIER:
        number = next(n for n, i in enumerate(function.instructions) if "barrier" in i.desc.mnemonic)
    instruction = function.instructions[number]
    span = dispatch.image.span(function, instruction.line)
    from visa.text.printer import FunctionPrinter

    text = FunctionPrinter(function).instruction(instruction)
    tail = f" by '{text}' (instruction {number} of '{function.name}', {where})"
    if kind == cx.BARRIER:
        return SimulationError(
            Diagnostic("S030", f"a barrier waits for threads of the work-group that never arrive{tail}", span)
        )
    if kind == cx.CALL:
        return SimulationError(
            Diagnostic("S030", f"there is no function at address {record['address']:#x}{tail}", span)
        )
    if kind == cx.DEPTH:
        return SimulationError(
            Diagnostic("S030", f"calls are nested more than {record['address'] - 1} deep{tail}", span)
        )
    if kind == cx.REGISTER:
        return SimulationError(
            Diagnostic(
                "S030",
                f"register address {record['address']} lies outside the registers whose addresses are taken{tail}",
                span,
            )
        )
    if kind == cx.IMAGE:
        return SimulationError(
            Diagnostic("S030", f"surface {record['number']} is used as an image, but is none,{tail}", span)
        )
    return SimulationError(
        Diagnostic(
            "S030", f"access of {record['bytes']} bytes outside {_memory_text(dispatch, kind, record)}{tail}", span
        )
    )


def _find_lane(dispatch: Dispatch, kind: int, record: dict[str, int]) -> None:
    """Of lanes that follow each other the first whose element is outside."""
    step, start, size = record["step"], record["address"], record["size"]
    if kind == cx.FLAT:
        buffer = dispatch.memory.slots.get((start & (1 << 64) - 1) >> 32)
        start, size = (start - buffer.address, buffer.size) if buffer else (-1, 0)
    inside = (size - start) // step if step and 0 <= start < size else 0
    record["lane"] += inside
    record["address"] += inside * step


def _memory_text(dispatch: Dispatch, kind: int, record: dict[str, int]) -> str:
    at, size = record["address"], record["size"]
    if kind == cx.FLAT:
        at &= (1 << 64) - 1
        buffer = dispatch.memory.slots.get(at >> 32)
        if buffer is None:
            return f"address {at:#x}, where there is no buffer,"
        return f"'{buffer.name}', which has {buffer.size} bytes, at offset {at - buffer.address}"
    if kind == cx.SURFACE:
        surface = dispatch.surfaces.get(record["number"])
        name = surface.name if isinstance(surface, Buffer) else f"surface {record['number']}"
        return f"'{name}', which has {size} bytes, at offset {at}"
    name = "local memory" if kind == cx.LOCAL else "scratch memory"
    return f"'{name}', which has {size} bytes, at offset {at}"


@dataclass
class Engine:
    """Runs launches of one program, and keeps what they share."""

    shapes: dict[tuple[Any, ...], LaunchPlan] = field(default_factory=dict)
    codes: dict[tuple[Any, ...], Code | Unsupported] = field(default_factory=dict)
    image_digest: bytes = b""
    table: Words = field(default_factory=lambda: np.zeros(0, np.uint64))
    table_entries: int = -1
    ids: dict[tuple[Any, ...], npt.NDArray[Any]] = field(default_factory=dict)
    workers: dict[tuple[int, int, int, bool], list[Worker]] = field(default_factory=dict)
    ready: PreparedLaunch | None = None

    def run(self, dispatch: Dispatch, thread_count: int | None = None, max_seconds: float | None = None) -> None:
        """Run a bound launch to its end.

        Raises:
            Unsupported: only the reference engine can run this kernel.
            SimulationError: the program did something without a defined result, or took too long.
        """
        ready, self.ready = self.ready, None
        if (
            ready is None
            or ready.dispatch is not dispatch
            or ready.thread_count != thread_count
            or ready.changes != dispatch.memory.changes
        ):
            ready = self._prepare(dispatch, thread_count)
        shape = ready.shape
        context = shape.context
        context[cx.NEXT_GROUP // 8] = dispatch.part[0] if dispatch.part else 0
        marks = Marks(dispatch) if dispatch.coverage is not None else None
        if marks:
            context[cx.COVERAGE // 8] = address(marks.words)
        in_time = _run_here(shape, max_seconds) if shape.slice else POOL.run(shape.jobs, shape.stop, max_seconds)
        if marks:
            marks.tell(dispatch, shape.code.functions)
        if context[cx.FAULT // 8]:
            raise _fault(dispatch, shape.code, context)
        if not in_time:
            assert max_seconds is not None
            raise dispatch.timeout(max_seconds)
        if not dispatch.private_slots:  # which begin with zeros
            self.ready = ready

    def _prepare(self, dispatch: Dispatch, thread_count: int | None) -> PreparedLaunch:
        """Put the arguments of a launch in place.

        Raises:
            Unsupported: only the reference engine can run this kernel.
        """
        if dispatch.schedule and dispatch.schedule.kind == "round-robin":
            raise Unsupported("one instruction of every thread in turn")
        shape = self._shape(dispatch, thread_count)
        dispatch.allocate_private(shape.thread_slots)
        _surface_table(shape.surfaces, dispatch)
        for group, payload in shape.payloads:
            data = dispatch.payload_of(group)
            payload.data[: len(data)] = data
        self._slot_table(dispatch.memory)
        context = shape.context
        context[:] = shape.initial
        context[cx.SLOT_TABLE // 8], context[cx.SLOT_COUNT // 8] = address(self.table), self.table.size // 3 - 1
        if dispatch.part:
            context[cx.GROUP_COUNT // 8] = dispatch.part[1]
        return PreparedLaunch(dispatch, thread_count, dispatch.memory.changes, shape)

    def _shape(self, dispatch: Dispatch, thread_count: int | None) -> LaunchPlan:
        """Everything of a launch that its arguments do not change.

        Raises:
            Unsupported: only the reference engine can run this kernel.
        """
        key = (
            dispatch.kernel.name, dispatch.global_size, dispatch.local_size, dispatch.offset, dispatch.slm_size, thread_count, dispatch.coverage is not None, dispatch.schedule,
            made_for(dispatch),
        )  # fmt: skip
        found = self.shapes.get(key)
        if found is not None:
            return found
        counts, groups = dispatch.group_counts, dispatch.group_count
        whole = dispatch.group(0)
        partial_sizes = [
            g - (c - 1) * n for g, c, n in zip(dispatch.global_size, counts, dispatch.local_size, strict=True)
        ]
        partial_flags = [int(p != n) for p, n in zip(partial_sizes, dispatch.local_size, strict=True)]
        items = whole.size[0] * whole.size[1] * whole.size[2]
        full = items % dispatch.simd == 0 and not any(partial_flags)
        code = self._code(dispatch, full, row_of(dispatch))
        per_group = dispatch.threads_of(whole)
        work, endless = per_group * max(1, len(dispatch.kernel.instructions)), may_go_back(dispatch.kernel)
        light = not endless and groups * work <= LIGHT_WORK
        count = (
            1 if light or dispatch.schedule or dispatch.needs_order else min(thread_count or default_threads(), groups)
        )
        context = aligned(cx.CONTEXT_SIZE).view(np.uint64)
        surfaces = np.zeros(2 * cx.SURFACE_LIMIT * cx.SURFACE_ENTRY // 8, np.uint64)
        variants = np.zeros(8 * cx.VARIANT_SIZE // 8, np.uint64)
        payloads: list[tuple[Group, npt.NDArray[Any]]] = []
        keep: list[Any] = []
        for index in range(8 if any(partial_flags) else 1):
            sizes = [
                partial_sizes[d] if index >> d & 1 and partial_flags[d] else dispatch.local_size[d] for d in range(3)
            ]
            group = Group((0, 0, 0), (sizes[0], sizes[1], sizes[2]))
            payload, ids = np.zeros(len(dispatch.payload) + 64, np.uint8), self._ids(dispatch, group)
            payloads.append((group, payload))
            keep.append(ids)
            order = dispatch.schedule.order(dispatch.threads_of(group)) if dispatch.schedule else ids
            keep.append(order)
            first = index * cx.VARIANT_SIZE // 8
            variants[first : first + 5] = (
                address(payload),
                address(ids),
                sizes[0] * sizes[1] * sizes[2],
                dispatch.threads_of(group),
                address(order),
            )
        fields = {
            cx.GROUP_COUNT: groups, cx.SURFACES: address(surfaces), cx.VARIANTS: address(variants), cx.SLM_SIZE: dispatch.slm_size,
            cx.SCRATCH_SIZE: dispatch.scratch_size, cx.LOCAL_ITEMS: items, cx.CHUNK: 1 if dispatch.schedule else max(1, min(64, groups // (count * 16))),
        }  # fmt: skip
        if dispatch.schedule:
            keep.append(dispatch.schedule.order(groups))
            fields[cx.GROUP_ORDER] = address(keep[-1])
        for d in range(3):
            fields |= {cx.COUNTS + 8 * d: counts[d], cx.PARTIAL + 8 * d: partial_flags[d] << d, cx.OFFSETS + 8 * d: dispatch.offset[d],
                       cx.LOCAL_SIZE + 8 * d: dispatch.local_size[d]}  # fmt: skip
        for offset, value in fields.items():
            context[offset // 8] = value
        workers = self._workers(dispatch, count, per_group, dispatch.has_barrier)
        jobs = [partial(code.native.run, address(context), address(w.block)) for w in workers]
        if len(self.shapes) >= MAXIMUM_SHAPES:
            self.shapes.clear()
        part = -(-SLICE_WORK // work) if count == 1 and not endless else 0
        found = self.shapes[key] = LaunchPlan(
            code, context, context.copy(), variants, surfaces, payloads, jobs, count * per_group, keep, part
        )
        return found

    def _code(self, dispatch: Dispatch, full: bool, row: int) -> Code:
        """Compiled code, out of memory, the disk or the compiler.

        Raises:
            Unsupported: the kernel needs something that only the reference engine does.
        """
        name = (
            dispatch.kernel.name,
            full,
            row,
            dispatch.coverage is not None,
            dispatch.schedule is not None,
            made_for(dispatch),
        )
        found = self.codes.get(name)
        if isinstance(found, Unsupported):
            raise found
        if found is None:
            if not self.image_digest:
                self.image_digest = write_module(dispatch.image.module)
            key = cache.key(
                self.image_digest,
                dispatch.image.ze_info,
                dispatch.image.platform,
                dispatch.grf_size,
                name,
                dispatch.simd,
                dispatch.local_id_rows,
                native.host(),
            )
            stored = cache.load(key)
            try:
                if stored is None:
                    from vsim.llvm_engine import compiler

                    translation = compiler.translate(dispatch, full, row)
                    functions, objects = translation.functions, translation.objects()
                    cache.save(key, _packed([dispatch.image.module.all_functions.index(b) for b in functions], objects))
                else:
                    numbers, objects = _unpacked(stored)
                    functions = [dispatch.image.module.all_functions[n] for n in numbers]
            except Unsupported as problem:
                self.codes[name] = problem
                raise
            found = self.codes[name] = Code(native.Native(objects), functions)
        return found

    def _slot_table(self, memory: AddressSpace) -> None:
        """Where the buffers are; behind them stands an empty entry, for all slots beyond."""
        if self.table_entries == memory.changes:
            return
        count = max(memory.slots, default=0) + 2
        self.table = np.zeros(3 * max(count, self.table.size // 3), np.uint64)
        for slot, buffer in memory.slots.items():
            self.table[3 * slot : 3 * slot + 3] = (buffer.address, buffer.host, buffer.size)
        self.table_entries = memory.changes

    def _ids(self, dispatch: Dispatch, group: Group) -> npt.NDArray[Any]:
        """Local ids of all threads of a group, three rows for each."""
        row = threads.id_row_bytes(dispatch)
        key = (group.size, dispatch.simd, row)
        found = self.ids.get(key)
        if found is None:
            count = dispatch.threads_of(group)
            found = aligned(count * 3 * row + 64)
            words = found[: count * 3 * row].view(np.uint16).reshape(count, 3, row // 2)
            for t in range(count):
                for dimension, ids in enumerate(threads.local_ids(dispatch, group, t)):
                    words[t, dimension, : dispatch.simd] = ids
            self.ids[key] = found
        return found

    def _workers(self, dispatch: Dispatch, count: int, per_group: int, barrier: bool) -> list[Worker]:
        key = (dispatch.slm_size, dispatch.scratch_size, per_group, barrier)
        found = self.workers.setdefault(key, [])
        while len(found) < count:
            block = aligned(cx.WORKER_SIZE).view(np.uint64)
            worker = Worker(block, aligned(dispatch.slm_size + 64), aligned(dispatch.scratch_size * per_group + 64))
            if barrier:
                worker.arena, worker.handles = aligned(ARENA_BYTES, cx.ARENA_ALIGN), aligned(8 * 1024)
                block[cx.WORKER_ARENA // 8], block[cx.WORKER_HANDLES // 8] = (
                    address(worker.arena),
                    address(worker.handles),
                )
                block[cx.WORKER_ARENA_SIZE // 8] = ARENA_BYTES
            block[cx.WORKER_SLM // 8], block[cx.WORKER_SCRATCH // 8] = address(worker.slm), address(worker.scratch)
            block[cx.WORKER_SLOT // 8] = len(found) * per_group
            found.append(worker)
        return found[:count]


__all__ = ["Engine", "Unsupported"]
