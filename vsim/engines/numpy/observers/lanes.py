"""Counts the lanes in which instructions take effect, for observers that want to know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from visakit.language.operands import Execution, PredicateControl
from visakit.language.program import Function
from vsim.analysis.active_lanes import LaneRule, counted_at, lane_rules
from vsim.engines.numpy.activation import Running
from vsim.engines.numpy.machine import BatchExecution
from vsim.engines.numpy.registers import RegisterKind
from vsim.launch.arrays import Bools
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Event, Observer, listeners


class ActiveLanes(Observer):
    """Tells observers of the active lanes of instructions with a predicate, or for a part of the lanes.

    Args:
        observers: those of the launch.
    """

    running: Running

    def __init__(self, dispatch: Dispatch, observers: Sequence[Observer]) -> None:
        self.lanes, self.tells = dispatch.lanes, listeners(observers, Observer.took_effect)
        self._rules: dict[int, list[LaneRule]] = {}
        self._counted_at: dict[int, list[int | None]] = {}

    def prepare(self, engine: BatchExecution) -> None:
        self.running = engine.running

    def chooses(self, function: Function, number: int) -> bool:
        if id(function) not in self._counted_at:
            rules = self._rules[id(function)] = lane_rules(function, self.lanes)
            self._counted_at[id(function)] = counted_at(function, rules)
        return self._counted_at[id(function)][number] == number

    def before(self, event: Event) -> None:
        rule = self._rules[id(event.function)][event.number]
        assert rule.execution is not None
        first, end = rule.execution.offset, rule.execution.offset + rule.execution.size
        active = self.running.activation.active
        runs = active.any(axis=1, keepdims=True) if rule.execution.no_mask else active[:, first:end]
        if rule.predicate is not None:
            runs = runs & self._bits(event.function, rule.predicate, rule.execution)
        runs = np.broadcast_to(runs, (len(active), rule.width)) if runs.shape[1] == 1 else runs
        for tell in self.tells:
            tell(event.function, event.number, int(np.count_nonzero(runs)))

    def _bits(self, function: Function, predicate: PredicateControl, execution: Execution) -> Bools:
        """The predicate for each lane of an instruction, or one bit for all of them: threads x lanes."""
        found: Bools | None = self.running.activation.registers.find(RegisterKind.PREDICATE, predicate.var)
        if found is None:  # Nothing reads or writes it.
            found = np.zeros((1, execution.offset + execution.size), bool)
        if predicate.mode:
            own = found[:, : function.predicate_bits(predicate.var)]
            found = (np.logical_or if predicate.mode == "any" else np.logical_and).reduce(own, axis=1, keepdims=True)
        else:
            found = found[:, execution.offset : execution.offset + execution.size]
        return ~found if predicate.inverse else found
