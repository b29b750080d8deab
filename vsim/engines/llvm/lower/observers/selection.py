"""The observers of a function that is lowered: each emits code at the events that it wants, when an instruction is
lowered.
"""

from __future__ import annotations

from typing import NamedTuple

from vsim.checks.names import CALLS, DIVERGENCE, GUARD, RACE
from vsim.engines.llvm.host.race import RECORDING
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.lower.faults import FaultExits
from vsim.engines.llvm.lower.masks import Masks
from vsim.engines.llvm.lower.observers.findings import FindingExits
from vsim.engines.llvm.lower.state import FunctionState
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.observe.observer import Observer


class LoweredAccess(NamedTuple):
    """An access of lanes to memory: ``size`` bytes each; ``kind`` as :class:`vsim.observe.observer.Observer` has it."""

    space: MemorySpace
    address: Value
    size: int
    mask: Mask
    kind: str

    @property
    def writes(self) -> bool:
        return self.kind != "read"


def observers_of(state: FunctionState, masks: Masks, exits: FaultExits, findings: FindingExits) -> list[Observer]:
    """The observers of a launch, for one of its functions."""
    dispatch, found = state.dispatch, list[Observer]()
    if dispatch.tells_runs:
        from vsim.engines.llvm.lower.observers.coverage import BlockCounters

        found.append(BlockCounters(state, masks))
    if dispatch.tells_lanes:
        from vsim.engines.llvm.lower.observers.coverage import LaneCounters

        found.append(LaneCounters(state, masks))
    if dispatch.tells_messages:
        from vsim.engines.llvm.lower.observers.messages import MessageCounters

        found.append(MessageCounters(state))
    if dispatch.tells_clocks:
        from vsim.engines.llvm.lower.observers.clocks import ThreadClocks

        found.append(ThreadClocks(state))
    if dispatch.checks:
        found += _checks(state, masks, exits, findings)
    return found


def _checks(state: FunctionState, masks: Masks, exits: FaultExits, findings: FindingExits) -> list[Observer]:
    from vsim.engines.llvm.lower.observers.calls import CallChecks
    from vsim.engines.llvm.lower.observers.divergence import DivergenceChecks
    from vsim.engines.llvm.lower.observers.guard import ArgumentChecks
    from vsim.engines.llvm.lower.observers.race import RaceChecks

    checks, found = state.dispatch.checks, list[Observer]()
    if checks & {RACE, RECORDING}:
        found.append(RaceChecks(state, findings))
    if state.dispatch.watches_undefined:
        from vsim.engines.llvm.lower.observers.undefined import UndefinedChecks

        found.append(UndefinedChecks(state, masks, exits, findings))
    if DIVERGENCE in checks:
        found.append(DivergenceChecks(state, masks, findings))
    if CALLS in checks:
        found.append(CallChecks(state, findings))
    if GUARD in checks:
        found.append(ArgumentChecks(state, findings))
    return found
