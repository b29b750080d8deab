"""The check of accesses outside arguments on the reference engine."""

from __future__ import annotations

import numpy as np

from vsim.checks.kinds import OUTSIDE
from vsim.engines.numpy.memory import FlatSpace, MessageAccess, SurfaceSpace
from vsim.engines.numpy.observers.findings import BatchFindings
from vsim.launch.arrays import Array, Bools
from vsim.memory.memory import SLM_ADDRESS_MASK, Buffer
from vsim.observe.observer import Event, Observer


class ArgumentsObserver(Observer):
    """Compares the accesses of a batch by address with the arguments."""

    def __init__(self, findings: BatchFindings) -> None:
        self.findings, self.memory = findings, findings.dispatch.memory

    def accessed(self, event: Event, access: MessageAccess) -> None:
        """Report the lanes whose bytes are not all of the argument to which their addresses belong."""
        found = self._addresses(access)
        outside = None if found is None else self._outside(found, access.size)
        if found is None or outside is None or not outside.any():
            return
        activation, width = self.findings.running.activation, access.shape[1]
        lanes, addresses = access.spread(outside), access.spread(found)
        execution = None if access.instruction is None else access.instruction.args.get("exec")
        is_by_lane = False
        if execution is not None and width in (1, execution.size):  # One address may stand for all lanes.
            is_by_lane = True
            shape = (access.shape[0], execution.offset + execution.size)
            wide = np.zeros(shape, bool), np.zeros(shape, np.uint64)
            for whole, part in zip(wide, (lanes, addresses), strict=True):
                whole[:, execution.offset :] = part
            lanes, addresses = wide
        shape = (self.findings.running.threads.count, lanes.shape[1])
        if access.shape[0] == 1:
            lanes = lanes & activation.active_rows[:, None]
        code = OUTSIDE[access.writes]
        self.findings.report(code, event, np.broadcast_to(lanes, shape), addresses, access.size, is_by_lane)

    def _addresses(self, access: MessageAccess) -> Array | None:
        """The addresses of the active lanes, also of surfaces; None for other memory."""
        space = access.space
        if space is self.findings.running.threads.slm:
            return access.address & np.uint64(SLM_ADDRESS_MASK)
        if isinstance(space, FlatSpace):
            return access.address if space.memory is self.memory else None
        if not (isinstance(space, SurfaceSpace) and self.findings.dispatch.has_table(space.table)):
            return None
        starts = {n: s.address for n, s in space.table.items() if isinstance(s, Buffer)}
        numbers = access.per_lane(space.number)
        bases = np.array([starts.get(n, 0) for n in numbers.tolist()], np.uint64)
        return bases + access.address.astype(np.uint64)

    def _outside(self, addresses: Array, bytes_each: int) -> Bools:
        """The active lanes that are outside."""
        slots, size = addresses >> np.uint64(32), np.uint64(bytes_each)
        found = np.zeros(slots.size, bool)
        ranges = {0: (0, self.findings.dispatch.slm_size)} | self.memory.readable_ranges()
        for slot in np.unique(slots).tolist():
            if slot in ranges:
                start, room = map(np.uint64, ranges[slot])
                offsets = addresses - start
                found |= (slots == slot) & ((offsets > room) | (offsets + size > room))
        return found
