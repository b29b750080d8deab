"""Runs launches: batches of work-groups, as many threads at once as pay."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from visa.diagnostics import Diagnostic, SimulationError
from vsim import threads
from vsim.abi import Bound, Group
from vsim.memory import SLM_ADDRESS_MASK
from vsim.numpy_engine.execution import Execution
from vsim.numpy_engine.memory import Rows

BATCH_THREADS = 512


def run(bound: Bound, max_seconds: float | None = None) -> None:
    """Run a bound launch to its end.

    Raises:
        SimulationError: the program did something without a defined result, or took too long.
    """
    started = time.monotonic()
    per_group = bound.threads_of(bound.group(0))
    groups_at_once = max(1, BATCH_THREADS // per_group)
    slots = min(groups_at_once, bound.group_count) * per_group
    if bound.private_slots:
        private = bound.memory.allocate("private memory", np.zeros(max(bound.private_size, 64) * slots, np.uint8))
        for at in bound.private_slots:
            bound.payload[at : at + 8] = private.address.to_bytes(8, "little")

    def deadline() -> None:
        if max_seconds is not None and time.monotonic() - started > max_seconds:
            raise SimulationError(Diagnostic("S040", f"kernel '{bound.kernel.name}' did not end within {max_seconds:g} seconds"))

    first = 0
    while first < bound.group_count:
        groups = [bound.group(i) for i in range(first, min(first + groups_at_once, bound.group_count))]
        _Batch(bound, groups).run(deadline if max_seconds is not None else None)
        deadline()
        first += len(groups)


class _Batch:
    """The threads of some work-groups."""

    def __init__(self, bound: Bound, groups: list[Group]) -> None:
        self.bound = bound
        self.members = [(n, g, t) for n, g in enumerate(groups) for t in range(bound.threads_of(g))]
        count = len(self.members)
        group_numbers = np.array([n for n, _, _ in self.members])
        self.execution = e = Execution(bound, count, group_numbers)
        e.locate = self.describe
        slm = max(bound.slm_size, 4)
        e.slm_space = Rows("local memory", np.zeros(slm * len(groups), np.uint8), (group_numbers * slm).reshape(-1, 1), bound.slm_size,
                           SLM_ADDRESS_MASK)  # fmt: skip
        scratch = max(bound.scratch_size, 4)
        places = (np.arange(count) * scratch).reshape(-1, 1)
        e.scratch_space = Rows("scratch memory", np.zeros(scratch * count, np.uint8), places, bound.scratch_size)
        lanes = np.zeros((count, 32), bool)
        for row, (_, g, t) in enumerate(self.members):
            lanes[row, : threads.lane_count(bound, g, t)] = True
        self.context = e.start(bound.kernel, lanes)
        self.fill()

    def fill(self) -> None:
        """Payload and predefined registers."""
        e, bound = self.execution, self.bound
        common: dict[tuple[int, int, int], bytes] = {}
        payloads = []
        for _, g, t in self.members:
            base = common.get(g.size)
            if base is None:
                base = common[g.size] = bound.payload_of(g)
            payloads.append(bytes(threads.thread_payload(bound, g, t, base)))
        matrix = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), -1)
        code = self.context.code
        for var, offset, size in threads.input_places(bound):
            root, start = code.layout.root(var)
            view = self.byte_view(root)
            if view is not None:
                view[:, start : start + size] = matrix[:, offset : offset + size]
        for kind, index, offset in threads.state_inputs(bound):
            e._state(1 if kind == 1 else 0, index, 0)[:, 0] = np.ascontiguousarray(matrix[:, offset : offset + 4]).view(np.uint32)[:, 0]
        slots = range(len(self.members))
        r0 = b"".join(threads.r0_of(bound, g, t, s) for s, (_, g, t) in zip(slots, self.members, strict=True))
        e.shared_register(threads.R0)[:] = np.frombuffer(r0, np.uint8).reshape(len(self.members), 64)
        identity = np.array([(s, *threads.sr0_of(bound.image.platform, s)) for s in slots], np.uint32)
        for register, column in ((threads.HW_ID, 0), (threads.SR0, 1), (threads.MSG0, 2)):
            e.shared_register(register).view(np.uint32)[:, 0] = identity[:, column]
        for axis in range(3):
            e.shared_register(threads.GROUP_ID + axis).view(np.uint32)[:, 0] = [g.id[axis] for _, g, _ in self.members]
        for row, (_, g, t) in enumerate(self.members):
            x, y, _ = threads.work_item(bound, g, t, 0)
            e.shared_register(threads.THREAD_X).view(np.uint16)[row, 0] = x // bound.simd & 0xFFFF
            e.shared_register(threads.THREAD_X + 1).view(np.uint16)[row, 0] = y & 0xFFFF

    def byte_view(self, root: int) -> Any:
        """Bytes of a root variable in the kernel's frame; None if nothing uses it."""
        code, views = self.context.code, self.context.views
        number = code.slot_numbers.get((root, np.dtype("u1")))
        if number is not None and number < len(views):
            return views[number]
        for (slot_root, kind), n in code.slot_numbers.items():
            if slot_root == root and isinstance(kind, np.dtype) and n < len(views):
                view = views[n]
                return view.view(np.uint8)
        return None

    def run(self, deadline: Any) -> None:
        self.execution.deadline = deadline
        self.execution.run()

    def describe(self, row: int, lane: int) -> str:
        """Lane, thread and work-item of a row."""
        _, g, t = self.members[row]
        item = threads.work_item(self.bound, g, t, lane)
        return f"lane {lane}, work-item ({item[0]}, {item[1]}, {item[2]}), work-group ({g.id[0]}, {g.id[1]}, {g.id[2]})"
