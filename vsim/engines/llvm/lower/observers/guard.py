"""The check of accesses outside arguments, in compiled code: behind each access by address or to a surface a function
out of line compares the lanes' addresses with the argument whose they are (``observers/argument_ranges.py``).
"""

from __future__ import annotations

from visakit.language import types
from vsim.checks.kinds import OUTSIDE, number_of
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.observers.findings import FindingExits
from vsim.engines.llvm.lower.observers.selection import LoweredAccess
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.memory.part import mask_bits
from vsim.engines.llvm.support.within_arguments import ARGUMENTS
from vsim.memory.memory import SLM_ADDRESS_MASK
from vsim.observe.observer import Event, Observer


class ArgumentChecks(Observer):
    """What is looked at behind the accesses of one function."""

    def __init__(self, state: FunctionState, findings: FindingExits) -> None:
        self.state, self.findings = state, findings

    def accessed(self, event: Event, access: LoweredAccess) -> None:
        """Report the lanes whose bytes are not all of their argument."""
        space, address, size, mask, _ = access
        is_local = space.kind == cx.LOCAL and space.writable is not None
        if space.address is None and not space.is_flat and not is_local:
            return
        state, b = self.state, self.state.b
        address = b.cast(address, types.UQ)
        if is_local:  # Its table entry is that of addresses below 4 GiB.
            address = address & b.const(SLM_ADDRESS_MASK, types.UQ)
        if space.address is not None:
            address = address + Value(b, types.UQ, 1, space.address)
        lanes, first = max(address.lanes, 1 if mask is True else mask.lanes), "-1"
        execution = state.at.execution
        if execution is not None and lanes in (1, execution.size):  # One address may stand for all lanes.
            lanes, first = execution.size, str(execution.offset)
        places = b.temporary(8 * lanes + 64)
        b.store(b.broadcast(address, lanes), places, 8)
        values = {
            "active": mask_bits(b, None if mask is True else b.broadcast(mask, lanes), lanes),
            "size": str(size),
            "code": str(number_of(OUTSIDE[access.writes])),
            "site": str((state.module.number(state.function) << 32) + event.number),
            "thread": state.thread,
            "lane0": first,
            "epoch": self.findings.epoch(),
        }
        b.declare("within_arguments", "void", ", ".join(["ptr", "ptr", "ptr", *["i64"] * len(ARGUMENTS)]))
        texts = ", ".join(f"i64 {values[name]}" for name in ARGUMENTS)
        b.emit(f"call void @within_arguments(ptr %ctx, ptr %worker, ptr {places}, {texts}) #2")
