"""The check of accesses outside arguments: what compiled code calls, and the table that it looks into."""

from __future__ import annotations

from functools import cache

import numpy as np

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host.findings import RECORD_FINDING
from vsim.engines.llvm.host.surfaces import table_entries
from vsim.engines.llvm.host.tables import address
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import fill
from vsim.launch.arrays import Words
from vsim.launch.dispatch import Dispatch
from vsim.memory.memory import Buffer

ARGUMENTS = ("active", "size", "code", "site", "thread", "lane0", "epoch")
"""What ``within_arguments`` is told behind the addresses of the lanes, as i64."""
_EVERYWHERE = (0, (1 << 64) - 1)


@cache
def helper() -> str:
    """The module of ``within_arguments``."""
    text = fill("arguments", "outside", arguments=", ".join(f"i64 %{name}" for name in ARGUMENTS))
    declarations = {"cttz": "declare i64 @llvm.cttz.i64(i64, i1)", "record_finding": RECORD_FINDING}
    return module([text], declarations)


def argument_table(dispatch: Dispatch, context: Words, surfaces: Words) -> Words:
    """By slot of the address space where the argument begins to which addresses there belong, and its bytes; enters it
    into the launch's context, and addresses of surfaces into their table. Slot 0, which has no buffer, is local memory.
    """
    for entry, surface in table_entries(dispatch):
        if isinstance(surface, Buffer):
            surfaces[(entry * cx.SURFACE_ENTRY + cx.SURFACE_ADDRESSES) // 8] = surface.address
    ranges = {0: (0, dispatch.slm_size)} | dispatch.memory.readable_ranges()
    found = np.empty((max(ranges) + 1, 2), np.uint64)
    found[:] = _EVERYWHERE
    for slot, own in ranges.items():
        found[slot] = own
    context[cx.ARGUMENTS // 8], context[cx.ARGUMENTS_COUNT // 8] = address(found), len(found)
    return found.reshape(-1)
