"""A launch with everything that an engine may ask of it, and nothing that it may change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import prod
from operator import attrgetter, is_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from visakit.diagnostics import Diagnostic, SimulationError
from visakit.language.program import LEAST_LANES
from visakit.objects.image import SLOT, LinkedImage
from vsim.checks.names import GUARD, RACE_ITEMS, UNDEFINED
from vsim.launch.arrays import Bools
from vsim.launch.bound_launch import BoundLaunch
from vsim.memory.memory import Buffer

if TYPE_CHECKING:
    from vsim.checks.findings import Findings
    from vsim.launch.schedule import Schedule
    from vsim.observe.observer import Observer
    from vsim.observe.positions import ThreadPosition
    from vsim.observe.trace import Trace

LONGEST_ROW = 1024
"""Work-items in a row of an ND-range up to which threads without loops run in the order of rows: with four bytes for
each, the rows of a group are pages of memory, at each of which the processor's prefetcher begins anew (page 161).
"""
TIMEOUT = "S040"
LIMIT_HINT = "--max-seconds (in Python 'max_seconds') sets the limit"
Executed = dict[int, Bools]
"""By number of a function, which of its instructions executed."""


class GroupProgress(NamedTuple):
    """Progress of a launch: groups that have begun, and all of them."""

    begun: int
    total: int


@dataclass(frozen=True, eq=False, repr=False)
class Dispatch(BoundLaunch):
    """A launch, ready to run: the order of its groups and threads, and what watches them.

    Attributes:
        schedule: the order of groups and threads; None for the ascending one.
        part: the groups that run: from the first to before the second; None for all.
        coverage: marks of executed instructions, made by an observer; None without a profile.
        trace: receives the actions of threads, which makes the reference engine run the launch; None without a trace.
        findings: receives the findings of checks; None without checks.
        observers: observers of the launch besides its trace and checks.
        width: work-items of a thread, if they are fewer than the kernel was compiled for; 0 if they are not.
    """

    schedule: Schedule | None = None
    part: tuple[int, int] | None = None
    coverage: Executed | None = None
    trace: Trace | None = None
    findings: Findings | None = None
    observers: tuple[Observer, ...] = ()
    width: int = 0

    @property
    def simd(self) -> int:
        """Work-items of a hardware thread."""
        return self.width or self.signature.simd

    @property
    def lenient_reads(self) -> bool:
        """Whether some reads beyond the end of buffers and registers give zeros; checks report them instead."""
        return self.signature.image.lenient_reads and not self.checks

    @property
    def has_barrier(self) -> bool:
        """Whether the kernel itself has barriers that threads of its group wait at: not for groups of one thread,
        unless checks count their arrivals.
        """
        return self.signature.summary.has_barrier and (prod(self.local_size) > self.simd or self.findings is not None)

    @property
    def takes_turns(self) -> bool:
        """Whether the fast engine runs the threads of a group in turns, as they wait for each other elsewhere than at
        the group's barrier in the kernel itself.
        """
        return self.signature.summary.waits_elsewhere or self.overlaps_groups

    @property
    def overlaps_groups(self) -> bool:
        """Whether several groups are in flight if there is room, as threads may wait for other groups."""
        return self.signature.summary.spins or self.is_round_robin

    @property
    def is_round_robin(self) -> bool:
        """Whether a schedule asks that every thread runs up to its next access to memory, in turn."""
        return self.schedule is not None and self.schedule.is_round_robin

    @property
    def checks(self) -> frozenset[str]:
        """The checks that watch the launch, as :mod:`vsim.checks.selection` names them; ``guard`` where it has to."""
        if self.findings is None:
            return frozenset()
        wanted = self.findings.checks
        if self.notes_reads_beyond:
            return wanted | {GUARD}
        return wanted if self.memory.guarded else wanted - {GUARD}

    @property
    def notes_reads_beyond(self) -> bool:
        """Whether reads beyond the end of memory, which give zeros, are reported."""
        return self.findings is not None and self.signature.image.lenient_reads

    @property
    def watches_undefined(self) -> bool:
        """Whether the check of undefined values watches the launch."""
        return self.findings is not None and UNDEFINED in self.findings.checks

    @property
    def races_of_items(self) -> bool:
        """Whether races of the work-items of one thread are looked for."""
        return RACE_ITEMS in self.checks

    @property
    def instruction_count(self) -> int:
        """Instructions of the kernel and of all functions of its image."""
        return sum(len(f.instructions) for f in self.image.functions_of(self.kernel))

    @property
    def is_observed(self) -> bool:
        """Whether checks or other observers watch it."""
        return bool(self.observers or (self.findings is not None and self.checks))

    @property
    def tells_runs(self) -> bool:
        """Whether observers want to know which instructions ran, and how often."""
        return self._tells("ran")

    @property
    def tells_lanes(self) -> bool:
        """Whether observers want to know in how many lanes instructions took effect, and which way branches went."""
        return self._tells("took_effect", "branched")

    @property
    def tells_messages(self) -> bool:
        """Whether observers want counts of messages to memory."""
        return self._tells("sent", "served")

    @property
    def tells_clocks(self) -> bool:
        """Whether observers want a timeline of threads."""
        return self._tells("timed")

    def _tells(self, *events: str) -> bool:
        """Whether observers want one of these events, by their names in :class:`Observer`."""
        if not self.observers:
            return False
        from vsim.observe.observer import Observer, listeners

        return any(listeners(self.observers, getattr(Observer, event)) for event in events)

    @property
    def observed(self) -> tuple[frozenset[str], bool, bool, bool, bool]:
        """What compiled code must have for observers: checks; counters of blocks, of lanes and branches, of messages;
        clocks of threads.
        """
        if not self.observers:
            return self.checks, False, False, False, False
        return self.checks, self.tells_runs, self.tells_lanes, self.tells_messages, self.tells_clocks

    @property
    def has_rows(self) -> bool:
        """Whether lanes are work-items with local ids in rows."""
        return self.simd > 1 and not self.kernel.is_cm

    @property
    def goes_by_rows(self) -> bool:
        """Whether a row of work-items runs in all groups side by side before the next row does, unless lanes go along
        y.
        """
        length = self.local_size[0]
        if not self.has_rows or prod(self.local_size) == length or self.global_size[0] > LONGEST_ROW:
            return False
        if self.signature.summary.repeats or self.has_fixed_order or self.has_barrier or self.slm_size:
            return False
        return length >= LEAST_LANES and (length % self.simd == 0 or self.simd % length == 0)

    @property
    def goes_by_tiles(self) -> bool:
        """Whether a group of several rows of work-items runs before the next group does, also with lanes along x."""
        return prod(self.local_size) != self.local_size[0] and not self.goes_by_rows

    @property
    def has_fixed_order(self) -> bool:
        """Whether checks, counts or results depend on the order of threads; counters of what executes do not."""
        return bool(self.checks or self.schedule or self.needs_order or self.tells_messages or self.tells_clocks)

    @property
    def has_fixed_lanes(self) -> bool:
        """Whether observers or results depend on the mapping of work-items to lanes, too.

        Counts do, but may be made apart from the launch (:func:`vsim.engines.llvm.pipeline.translate`).
        """
        return self.has_fixed_order or (self.is_observed and not self.tells_lanes)

    @property
    def lanes_may_wait(self) -> bool:
        """Whether the kernel may have had barriers of sub-groups that its text does not show."""
        return self.signature.lanes_may_wait

    @property
    def needs_order(self) -> bool:
        """Whether the groups must run one after the other so that results are the same every time."""
        summary = self.signature.summary
        return summary.needs_order or (bool(summary.apart) and self._share_memory(summary.apart))

    def _share_memory(self, places: Iterable[int]) -> bool:
        """Whether two pointers or surfaces (:class:`vsim.analysis.atomics.Order`) lead to the same memory, or one does
        to no buffer.
        """
        ranges = []
        for place in places:
            address = int.from_bytes(self.payload[place : place + 8], "little") if place >= 0 else 0
            buffer = self.memory.slots.get(address // SLOT) if address else self.surfaces.get(~place)
            if not isinstance(buffer, Buffer):
                return True
            ranges.append((buffer.host, buffer.host + buffer.size))
        return any(end > start for (_, end), (start, _) in pairwise(sorted(ranges)))

    def with_numbers(self, values: Sequence[tuple[int, bytes]]) -> Dispatch:
        """The same launch with other numbers at some places of the payload."""
        changed = dict(values)
        kept = [(at, changed.get(at, data)) for at, data in self.arguments.values]
        return replace(self, arguments=self.arguments._replace(values=kept), payload=with_values(self.payload, values))

    def differs_in_numbers(self, other: Dispatch) -> bool:
        """Whether it is another launch or made of it by :meth:`with_numbers`, so that at most the payload differs."""
        if self is other:
            return True
        same = all(map(is_, _but_numbers(self), _but_numbers(other)))
        return same and self.arguments.surfaces is other.arguments.surfaces

    def timeout(self, seconds: float, positions: Iterable[ThreadPosition] = ()) -> SimulationError:
        """The error of a launch that took longer than it may, with where its threads were."""
        from vsim.observe.positions import notes  # which most launches do without

        message = f"kernel '{self.kernel.name}' did not end within {seconds:g} seconds"
        return SimulationError(Diagnostic(TIMEOUT, message, None, LIMIT_HINT, notes(self, positions)))


_but_numbers = attrgetter(*(f.name for f in fields(Dispatch) if f.name not in ("arguments", "payload")))
"""Of a launch, all that is the same with other numbers."""


def with_values(template: bytes, values: Iterable[tuple[int, bytes]]) -> bytes:
    """The payload that all groups share: a template with the values of arguments at their places."""
    payload = bytearray(template)
    for at, data in values:
        payload[at : at + len(data)] = data
    return bytes(payload)


def not_executed(image: LinkedImage) -> Executed:
    """Marks of all instructions of an image, as not executed."""
    return {n: np.zeros(len(function.instructions), bool) for n, function in enumerate(image.module.all_functions)}
