"""Runs launches: batches of work-groups, as many threads at once as pay."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from vsim import threads
from vsim.abi import Dispatch, Group
from vsim.memory import SLM_ADDRESS_MASK
from vsim.numpy_engine.execution import Execution
from vsim.numpy_engine.memory import Rows

BATCH_THREADS, PRIVATE_BATCH_THREADS = 2048, 512
"""Hardware threads at once; fewer where each of them has memory of its own."""


def run(dispatch: Dispatch, max_seconds: float | None = None) -> None:
    """Run a bound launch to its end.

    Raises:
        SimulationError: the program did something without a defined result, or took too long.
    """
    started = time.monotonic()
    per_group = dispatch.threads_of(dispatch.group(0))
    limit = PRIVATE_BATCH_THREADS if dispatch.private_slots or dispatch.scratch_size else BATCH_THREADS
    groups_at_once = max(1, limit // per_group)
    slots = min(groups_at_once, dispatch.group_count) * per_group
    dispatch.allocate_private(slots)

    def deadline() -> None:
        if max_seconds is not None and time.monotonic() - started > max_seconds:
            raise dispatch.timeout(max_seconds)

    batch: _Batch | None = None
    payloads: dict[tuple[int, int, int], Any] = {}
    order = dispatch.schedule.order(dispatch.group_count) if dispatch.schedule else range(dispatch.group_count)
    begin, end = dispatch.part or (0, dispatch.group_count)
    for first in range(begin, end, groups_at_once):
        groups = [dispatch.group(int(i)) for i in order[first : min(first + groups_at_once, end)]]
        if batch is None or batch.shape != [g.size for g in groups]:
            batch = _Batch(dispatch, groups, payloads)
        batch.run(groups, deadline if max_seconds is not None else None)
        deadline()


class _Batch:
    """The threads of some work-groups of given sizes; prepared once, run for many groups."""

    def __init__(self, dispatch: Dispatch, groups: list[Group], payloads: dict[tuple[int, int, int], Any]) -> None:
        self.dispatch, self.payloads = dispatch, payloads
        self.shape = [g.size for g in groups]
        counts = [dispatch.threads_of(g) for g in groups]
        orders = {c: dispatch.schedule.order(c) if dispatch.schedule else np.arange(c) for c in set(counts)}
        self.members = [(n, int(t)) for n, c in enumerate(counts) for t in orders[c]]
        count = len(self.members)
        self.group_numbers = np.array([n for n, _ in self.members])
        self.thread_numbers = np.array([t for _, t in self.members])
        self.execution = e = Execution(dispatch, count, self.group_numbers)
        e.locate, e.pixels = self.describe, self.pixels
        slm = max(dispatch.slm_size, 4)
        places = (self.group_numbers * slm).reshape(-1, 1)
        e.slm_space = Rows(
            "local memory", np.zeros(slm * len(groups), np.uint8), places, dispatch.slm_size, SLM_ADDRESS_MASK
        )
        scratch = max(dispatch.scratch_size, 4)
        e.scratch_space = Rows(
            "scratch memory",
            np.zeros(scratch * count, np.uint8),
            (np.arange(count) * scratch).reshape(-1, 1),
            dispatch.scratch_size,
        )
        self.lanes = np.zeros((count, 32), bool)
        for row, (n, t) in enumerate(self.members):
            self.lanes[row, : threads.lane_count(dispatch, groups[n], t)] = True
        for g in groups:
            if g.size not in payloads:
                payloads[g.size] = threads.group_payload(dispatch, g)
        self.matrix = np.concatenate([payloads[g.size][orders[c]] for g, c in zip(groups, counts, strict=True)])

    def run(self, groups: list[Group], deadline: Any) -> None:
        """Run these groups to their end."""
        self.groups = groups
        e = self.execution
        e.reset()
        self.context = e.start(self.dispatch.kernel, self.lanes.copy())
        self.fill()
        e.deadline = deadline
        e.run()

    def fill(self) -> None:
        """Payload and predefined registers."""
        e, dispatch, matrix = self.execution, self.dispatch, self.matrix
        code = self.context.code
        for var, offset, size in threads.input_places(dispatch):
            root, start = code.layout.root(var)
            view = self.byte_view(root)
            if view is not None:
                view[:, start : start + size] = matrix[:, offset : offset + size]
        for kind, index, number in threads.state_defaults(dispatch):
            e._state(kind, index, 0)[:, 0] = number
        for kind, index, offset in threads.state_inputs(dispatch):
            e._state(1 if kind == 1 else 0, index, 0)[:, 0] = np.ascontiguousarray(matrix[:, offset : offset + 4]).view(
                np.uint32
            )[:, 0]
        ids = np.array([g.id for g in self.groups], np.uint32)[self.group_numbers]
        e.shared_register(threads.R0)[:] = threads.r0_of(ids, self.thread_numbers)
        slots = range(len(self.members))
        identity = np.array([(s, *threads.sr0_of(dispatch.image.platform, s)) for s in slots], np.uint32)
        for register, column in ((threads.HW_ID, 0), (threads.SR0, 1), (threads.MSG0, 2)):
            e.shared_register(register).view(np.uint32)[:, 0] = identity[:, column]
        for axis in range(3):
            e.shared_register(threads.GROUP_ID + axis).view(np.uint32)[:, 0] = ids[:, axis]
        if any(e.code.slot_numbers.keys() & {(threads.THREAD_X + n, np.dtype("u2")) for n in (0, 1)}):
            for row, (n, t) in enumerate(self.members):
                x, y, _ = threads.work_item(dispatch, self.groups[n], t, 0)
                e.shared_register(threads.THREAD_X).view(np.uint16)[row, 0] = x // dispatch.simd & 0xFFFF
                e.shared_register(threads.THREAD_X + 1).view(np.uint16)[row, 0] = y & 0xFFFF

    def byte_view(self, root: int) -> Any:
        """Bytes of a root variable in the kernel's frame; None if nothing uses it."""
        code, views = self.context.code, self.context.frame.views
        for (slot_root, kind), n in code.slot_numbers.items():
            if slot_root == root and isinstance(kind, np.dtype) and n < len(views):
                return views[n].view(np.uint8)
        return None

    def pixels(self) -> list[Any]:
        """x and y of the work-items of all threads, threads x 32."""
        places = [
            [threads.work_item(self.dispatch, self.groups[n], t, lane)[:2] for lane in range(32)]
            for n, t in self.members
        ]
        both = np.array(places, np.int32)
        return [both[..., 0], both[..., 1]]

    def describe(self, row: int, lane: int) -> str:
        """Lane, thread and work-item of a row."""
        n, t = self.members[row]
        return threads.describe(self.dispatch, self.groups[n], t, lane)
