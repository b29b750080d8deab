"""The observers that launches ask for by their options: trace and checks."""

from __future__ import annotations

from collections.abc import Iterator

from vsim.checks.names import CALLS, DIVERGENCE, GUARD, RACE, UNDEFINED
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Observer


def observers_of(dispatch: Dispatch) -> list[Observer]:
    """What watches a launch: its own observers, and those of its trace and its checks."""
    found = list(dispatch.observers)
    if dispatch.tells_messages:
        from vsim.engines.numpy.observers.messages import MessageObserver

        found.insert(0, MessageObserver(dispatch.observers))
    if dispatch.tells_clocks:
        from vsim.engines.numpy.observers.clocks import ClockObserver

        found.insert(0, ClockObserver(dispatch.observers))
    if dispatch.tells_lanes:
        from vsim.engines.numpy.observers.lanes import ActiveLanes

        found.append(ActiveLanes(dispatch, dispatch.observers))
    if dispatch.trace is not None:
        from vsim.engines.numpy.observers.trace import TraceObserver

        found.append(TraceObserver(dispatch, dispatch.trace))
    return [*found, *_checks(dispatch)] if dispatch.checks else found


def _checks(dispatch: Dispatch) -> Iterator[Observer]:
    from vsim.engines.numpy.observers.calls import CallsObserver
    from vsim.engines.numpy.observers.divergence import DivergenceObserver
    from vsim.engines.numpy.observers.findings import BatchFindings
    from vsim.engines.numpy.observers.guard import ArgumentsObserver
    from vsim.engines.numpy.observers.races import RaceObserver
    from vsim.engines.numpy.observers.undefined import UndefinedObserver

    findings, checks = BatchFindings(dispatch), dispatch.checks
    yield findings
    if RACE in checks:
        yield RaceObserver(dispatch)
    if UNDEFINED in checks:
        yield UndefinedObserver(findings)
    if DIVERGENCE in checks:
        yield DivergenceObserver(findings)
    if CALLS in checks:
        yield CallsObserver(findings)
    if GUARD in checks:
        yield ArgumentsObserver(findings)
