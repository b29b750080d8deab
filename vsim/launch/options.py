"""Options of a launch: the keywords that :class:`vsim.Program` and :class:`vsim.Kernel` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, Span, UsageError, did_you_mean
from visakit.usage import check_text

if TYPE_CHECKING:  # Few launches have one.
    from collections.abc import Sequence

    from vsim.checks.selection import Wanted
    from vsim.launch.schedule import Schedule
    from vsim.observe.observer import Observer
    from vsim.observe.trace import Trace


class LaunchOptions(TypedDict, total=False):
    """How a launch runs. Every option may be missing.

    Attributes:
        engine: ``llvm``; ``numpy`` for the reference engine; ``auto`` (the default) for the fast one, and the reference
            engine where native code takes longer to make than the launch (:mod:`vsim.engines.tiers`).
        threads: worker threads; None for one for each CPU that the process may use.
        max_seconds: seconds after which the launch fails; None for no limit.
        profile: whether the result knows the instructions that executed.
        schedule: ``round-robin``, ``random:SEED`` or ``reverse``; empty or None for the ascending order of groups and
            threads.
        trace: receives a line for each instruction of each thread; the reference engine runs the launch.
        check: checks of the launch, separated by commas: ``race``, ``undefined``, ``divergence``, ``calls``, or
            ``all``; the result has their findings (:attr:`vsim.LaunchResult.findings`). A :class:`vsim.Checking` also
            says which findings are shown.
        observers: observers of the launch (docs/observers.md); the reference engine runs it, unless compiled code has
            their events.
    """

    engine: str
    threads: int | None
    max_seconds: float | None
    profile: bool
    schedule: Schedule | str | None
    trace: Trace | None
    check: Wanted
    observers: Sequence[Observer]


OPTIONS = frozenset(LaunchOptions.__annotations__)


def check_options(options: LaunchOptions) -> None:
    """Refuse keywords that are no options of a launch.

    Raises:
        UsageError: there is no such option.
    """
    for name in options.keys() - OPTIONS:
        hint = did_you_mean(name, OPTIONS) or f"options are {', '.join(sorted(OPTIONS))}"
        raise UsageError(f"a launch has no option '{name}'; {hint}")


def check_limits(threads: object, max_seconds: object) -> None:
    """Refuse limits that are no positive numbers.

    Raises:
        LaunchError: S002, ``threads`` or ``max_seconds`` is no such number.
    """
    if threads is not None and (not isinstance(threads, (int, np.integer)) or threads < 1):
        raise _bad_option("threads", "a whole number from 1 on", threads)
    if max_seconds is not None and (not isinstance(max_seconds, (int, float, np.number)) or not max_seconds >= 0):
        raise _bad_option("max_seconds", "a number of seconds", max_seconds)


def _bad_option(name: str, wanted: str, value: object) -> LaunchError:
    return LaunchError(Diagnostic("S002", f"'{name}' is {wanted}, found {value!r}", Span("<launch>", 0)))


def schedule_of(schedule: Schedule | str | None) -> Schedule | None:
    """A schedule, also given by its name; None for the ascending order.

    Raises:
        LaunchError: S002, there is no such schedule.
        UsageError: it is neither a schedule nor a str.
    """
    if not schedule:
        return None
    from vsim.launch.schedule import Schedule, parse_schedule

    return schedule if isinstance(schedule, Schedule) else parse_schedule(check_text(schedule, "the schedule"))


def checked_observers(observers: Sequence[Observer]) -> tuple[Observer, ...]:
    """The observers of a launch.

    Raises:
        UsageError: one of them is not an observer.
    """
    from vsim.observe.observer import Observer

    found = tuple(observers)
    for observer in found:
        if not isinstance(observer, Observer):
            raise UsageError(f"an observer is a vsim.Observer, found {type(observer).__name__}")
    return found
