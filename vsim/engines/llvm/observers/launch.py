"""The observers of one launch of compiled code: memory that the code fills, and its evaluation at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsim.checks.names import GUARD
from vsim.engines.llvm import Unsupported
from vsim.engines.llvm.host.tables import Range
from vsim.engines.llvm.plan import LaunchPlan
from vsim.launch.arrays import Words
from vsim.launch.dispatch import Dispatch
from vsim.observe.observer import Observer, listeners

_EVENTS = {"launch_begin", "launch_end", "ran", "took_effect", "branched", "sent", "served", "timed"}
"""The events that compiled code has for the observers of a caller."""


class CompiledObserver(Observer):
    """The host's half of an observer that the kernel's code was compiled for."""

    def prepare(self, engine: LaunchPlan) -> None:
        """Put the memory of compiled code in place, in the context of a plan."""

    def ranges(self) -> list[Range]:
        """The memory that the code accesses for it: for sanitized code."""
        return []


def refuse_events(observers: Sequence[Observer]) -> None:
    """Refuse observers of events that compiled code lacks.

    Raises:
        Unsupported: an observer wants another event.
    """
    for observer in observers:
        for name, event in vars(Observer).items():
            if not name.startswith("_") and name not in _EVENTS and getattr(type(observer), name) is not event:
                raise Unsupported(f"observer '{type(observer).__name__}' wants the event '{name}'")


def observe(dispatch: Dispatch, plan: LaunchPlan, slots: Words, besides: CompiledObserver | None) -> list[Observer]:
    """Begin the observation of a launch: prepare the memory of its observers, and return them in the order of
    ``launch_end``, the caller's last.

    Args:
        slots: the table of slots of the address space.
        besides: one more observer.

    Raises:
        Unsupported: a check cannot watch it on this engine.
    """
    found = [*_observers(dispatch), *([besides] if besides is not None else [])]
    for observer in found:
        observer.prepare(plan)
    guards = list[Observer]()
    if plan.kernel.native.guard is not None:
        from vsim.engines.llvm.observers.sanitizer import Sanitizer

        guards = [Sanitizer(dispatch, plan, slots, [r for o in found for r in o.ranges()])]
    for begin in listeners(dispatch.observers, Observer.launch_begin):
        begin(dispatch)
    return [*guards, *found, *dispatch.observers]


def _observers(dispatch: Dispatch) -> Iterator[CompiledObserver]:
    """The observers that the options of a launch need."""
    if dispatch.tells_runs or dispatch.tells_lanes:
        from vsim.engines.llvm.observers.coverage import RunCounts

        yield RunCounts(dispatch)
    if dispatch.tells_messages:
        from vsim.engines.llvm.observers.messages import CountedMessages

        yield CountedMessages(dispatch)
    if dispatch.tells_clocks:
        from vsim.engines.llvm.observers.clocks import ThreadTimes

        yield ThreadTimes(dispatch)
    if dispatch.findings is not None:
        from vsim.engines.llvm.observers.findings import FoundRecords

        undefined = None
        if dispatch.watches_undefined:
            from vsim.engines.llvm.observers.shadow_memory import UndefinedMemory

            undefined = UndefinedMemory(dispatch)
        yield FoundRecords(dispatch, None if undefined is None else undefined.check)
        if undefined is not None:
            yield undefined
    if GUARD in dispatch.checks:
        from vsim.engines.llvm.observers.argument_ranges import ArgumentRanges

        yield ArgumentRanges(dispatch)
