"""Memory for the check of undefined values in compiled code: where shadows of buffers and surfaces lie."""

from __future__ import annotations

import numpy as np

from vsim.checks.undefined_memory import UndefinedCheck
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.surfaces import table_entries
from vsim.engines.llvm.host.tables import Range
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Words, address_of
from vsim.launch.dispatch import Dispatch


class UndefinedMemory(CompiledObserver):
    """The shadows of a launch's memory, in the tables that compiled code looks into.

    Raises:
        Unsupported: the address space has too many buffers for the table of slots.
    """

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch, self.check = dispatch, UndefinedCheck(dispatch)
        self.check.begin()
        self.slots = self._slot_table()

    def _slot_table(self) -> Words:
        """The table of slots with those of shadows and origins, twice: for reads, and for writes."""
        slots = self.dispatch.memory.slots
        last = max(slots, default=0)
        if last >= cx.UNDEFINED_SLOTS:
            raise Unsupported("the check of undefined values over more than 65,536 buffers")
        count = cx.ORIGIN_SLOTS + last + 2
        table = np.zeros((2, count, 3), np.uint64)
        for slot, buffer in slots.items():
            for read in (True, False):
                if read or not buffer.read_only:
                    table[int(not read), slot] = buffer.address, buffer.host, buffer.room if read else buffer.size
            for behind, memory in ((cx.UNDEFINED_SLOTS, self.check.validity), (cx.ORIGIN_SLOTS, self.check.origins)):
                beside = memory.slot(slot)
                assert beside is not None
                table[:, slot + behind] = buffer.address + (behind << 32), beside.host, beside.size
        return table.reshape(-1)

    def ranges(self) -> list[Range]:
        beside = [b for m in (self.check.validity, self.check.origins) for b in (*m.slots.values(), *m.others.values())]
        return [(address_of(self.slots), self.slots.nbytes, False), *((b.host, b.size, True) for b in beside)]

    def prepare(self, engine: LaunchPlan) -> None:
        """Enter the tables into the launch's context and its table of surfaces."""
        context, place = engine.context, cx.UNDEFINED_SURFACES // 8
        context[cx.SLOT_TABLE // 8], context[cx.SLOT_COUNT // 8] = address_of(self.slots), self.slots.size // 6 - 1
        for number, surface in table_entries(self.dispatch):
            at = number * cx.SURFACE_ENTRY // 8 + place
            engine.surfaces[at : at + 2] = self.check.validity.of(surface).host, self.check.origins.of(surface).host

    def launch_end(self, error: Exception | None) -> None:
        self.check.end()
