"""The check of accesses outside arguments: the table that compiled code looks into."""

from __future__ import annotations

import numpy as np

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.surfaces import table_entries
from vsim.engines.llvm.host.tables import Range
from vsim.engines.llvm.observers.launch import CompiledObserver
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Words, address_of
from vsim.launch.dispatch import Dispatch
from vsim.memory.memory import Buffer

_EVERYWHERE = (0, (1 << 64) - 1)


class ArgumentRanges(CompiledObserver):
    """By slot of the address space where the argument begins to which addresses there belong, and its bytes. Slot 0,
    which has no buffer, is local memory.
    """

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch = dispatch
        known = {0: (0, dispatch.slm_size)} | dispatch.memory.readable_ranges()
        self.table: Words = np.full((max(known) + 1, 2), np.array(_EVERYWHERE, np.uint64))
        for slot, own in known.items():
            self.table[slot] = own

    def prepare(self, engine: LaunchPlan) -> None:
        """Addresses of surfaces go into their table, too."""
        for entry, surface in table_entries(self.dispatch):
            if isinstance(surface, Buffer):
                engine.surfaces[(entry * cx.SURFACE_ENTRY + cx.SURFACE_ADDRESSES) // 8] = surface.address
        engine.context[cx.ARGUMENTS // 8] = address_of(self.table)
        engine.context[cx.ARGUMENTS_COUNT // 8] = len(self.table)

    def ranges(self) -> list[Range]:
        return [(address_of(self.table), self.table.nbytes, False)]
