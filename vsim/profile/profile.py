"""The profile of a kernel: its counts by instruction and by source line, ready for every kind of report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from visakit.forks import cached_property
from visakit.language.source_lines import SourcePlace, source_lines
from visakit.objects.image import LinkedImage
from visakit.text.printer import FunctionPrinter
from vsim.observe.messages import BufferCounts, MessageCounts
from vsim.observe.timeline import Timeline, Waits
from vsim.profile.counts import Counts, FunctionCounts
from vsim.profile.memory import MemoryObserver
from vsim.profile.pipes import pipe_of


class LaunchNote(NamedTuple):
    """A launch of a profile."""

    engine: str
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    groups: int
    threads: int


class InstructionRow(NamedTuple):
    """What an instruction did in all launches.

    Attributes:
        number: in its function.
        place: the source line by FILE and LOC, else the line of the vISA text; None if neither is known.
        executions: how often hardware threads executed it.
        width: the most lanes of a thread that it is for.
        active: the lanes in which it took effect, summed up.
        ways: of a branch, the threads of which all lanes took it, none did, some did.
        messages: what its messages did; None where accesses were not counted, or there were none.
        waits: of a barrier, how long threads waited there; None where that was not counted.
    """

    function: str
    number: int
    text: str
    place: SourcePlace | None
    pipe: str
    executions: int
    width: int
    active: int
    ways: tuple[int, int, int] | None
    messages: MessageCounts | None = None
    waits: Waits | None = None

    @property
    def possible(self) -> int:
        """The lanes that could have been active."""
        return self.executions * self.width


class LineRow(NamedTuple):
    """What the instructions of a source line did together; ``text`` is empty where the source is not known."""

    place: SourcePlace
    text: str
    instructions: Sequence[InstructionRow]

    @property
    def executions(self) -> int:
        return sum(row.executions for row in self.instructions)

    @property
    def active(self) -> int:
        return sum(row.active for row in self.instructions)

    @property
    def possible(self) -> int:
        return sum(row.possible for row in self.instructions)


class PipeRow(NamedTuple):
    """What went to a pipe: different instructions that executed, executions and active lanes."""

    pipe: str
    instructions: int
    executions: int
    active: int
    possible: int


SEVERAL = "(several callers)"
"""The name in a stack for callers that counts do not tell apart."""


def share(part: int, whole: int) -> float:
    """A part of a whole, from 0 to 1; 0 of nothing."""
    return part / whole if whole else 0.0


Stack = tuple[tuple[str, ...], SourcePlace | None]
"""The names of active functions, from the kernel on, and a source line."""


@dataclass
class KernelProfile:
    """A kernel's counts over its launches.

    Attributes:
        simd: work-items of a hardware thread.
        messages, buffers: counts of accesses, as :class:`MemoryObserver` has them; empty where they were not counted.
        timelines: of each launch; empty where they were not recorded.
    """

    image: LinkedImage
    kernel: str
    simd: int
    grf_size: int
    counts: Counts
    launches: list[LaunchNote] = field(default_factory=list)
    messages: dict[tuple[str, int], MessageCounts] = field(default_factory=dict)
    buffers: dict[tuple[str, str], BufferCounts] = field(default_factory=dict)
    timelines: list[Timeline] = field(default_factory=list)

    def add_accesses(self, seen: MemoryObserver) -> None:
        """Add the accesses of a launch."""
        for key, messages in seen.messages.items():
            if key in self.messages:
                self.messages[key].add(messages)
            else:
                self.messages[key] = messages
        for name, buffer in seen.buffers.items():
            if name in self.buffers:
                self.buffers[name].add(buffer)
            else:
                self.buffers[name] = buffer

    @cached_property
    def rows(self) -> list[InstructionRow]:
        """The instructions of all functions that executed, without directives."""
        return [row for own in self.counts.functions for row in self._rows(own)]

    def _rows(self, own: FunctionCounts) -> Iterable[InstructionRow]:
        function = own.function
        printer, places, waits = FunctionPrinter(function), source_lines(function), self._waits
        for number, instruction in enumerate(function.instructions):
            pipe = pipe_of(function, instruction, self.grf_size)
            if not pipe:
                continue
            place = places[number]
            if place is None:
                span = self.image.span(function, instruction.line)
                place = SourcePlace(span.file, span.line) if span.line else None
            executions, width = int(own.executions[number]), own.rules[number].width
            yield InstructionRow(
                function.name, number, printer.instruction(instruction), place, pipe, executions, width,
                own.active(number), own.ways(number), self.messages.get((function.name, number)),
                waits.get((function.name, number)),
            )  # fmt: skip

    @cached_property
    def _waits(self) -> dict[tuple[str, int], Waits]:
        """The waits of all launches at each barrier."""
        found: dict[tuple[str, int], Waits] = {}
        for timeline in self.timelines:
            for site, waits in timeline.waits.items():
                found.setdefault(site, type(waits)()).add(waits)
        return found

    @cached_property
    def stacks(self) -> Mapping[Stack, int]:
        """Executions by the names of active functions, from the kernel on, and source line. They are exact with
        timelines; without, :data:`SEVERAL` stands for callers that counts do not tell apart.
        """
        found = Counter[Stack]()
        if not self.timelines or not all(timeline.stacks for timeline in self.timelines):
            for row in self.rows:
                found[(*self.callers(row.function), row.function), row.place] += row.executions
            return +found
        places = {(row.function, row.number): row.place for row in self.rows}
        for timeline in self.timelines:
            for stack, counts in timeline.stacks.items():
                for key, count in counts.items():
                    if key in places:
                        found[stack, places[key]] += count
        return found

    @cached_property
    def _called_from(self) -> dict[str, set[str]]:
        """By name of a function the functions with a call of it that was executed; of calls by address, all of them."""
        found: dict[str, set[str]] = {}
        names = [own.function.name for own in self.counts.functions if not own.function.is_kernel]
        for own in self.counts.functions:
            for number, instruction in enumerate(own.function.instructions):
                if instruction.desc.flow.calls_function and own.executions[number]:
                    callee = instruction.args.get("name")
                    for name in names if callee is None else [own.function.strings[callee]]:
                        found.setdefault(name, set()).add(own.function.name)
        return found

    def callers(self, function: str) -> list[str]:
        """The functions that a function runs under, from the kernel on; :data:`SEVERAL` stands for those between, where
        not one function alone calls it.
        """
        chain: list[str] = []
        while function != self.kernel:
            known = self._called_from.get(function, set())
            if len(known) != 1 or known & {function, *chain}:
                return [self.kernel, SEVERAL, *chain]
            (function,) = known
            chain.insert(0, function)
        return chain

    @cached_property
    def lines(self) -> list[LineRow]:
        """The source lines with instructions, by file and number."""
        found: dict[SourcePlace, list[InstructionRow]] = {}
        for row in self.rows:
            if row.place is not None:
                found.setdefault(row.place, []).append(row)
        files = self.image.source_files()
        return [LineRow(place, files.text(place), found[place]) for place in sorted(found)]

    @cached_property
    def pipes(self) -> list[PipeRow]:
        """The instruction mix: the pipes, the busiest first."""
        found: dict[str, list[InstructionRow]] = {}
        for row in self.rows:
            if row.executions:
                found.setdefault(row.pipe, []).append(row)
        rows = [
            PipeRow(
                pipe, len(own), *(sum(getattr(r, name) for r in own) for name in ("executions", "active", "possible"))
            )
            for pipe, own in found.items()
        ]
        return sorted(rows, key=lambda row: (-row.executions, row.pipe))

    @property
    def executions(self) -> int:
        """Instructions that hardware threads executed."""
        return sum(row.executions for row in self.rows)

    @property
    def utilization(self) -> float:
        """SIMD utilisation: active lanes over the lanes that the executed instructions are for, from 0 to 1."""
        return share(sum(row.active for row in self.rows), sum(row.possible for row in self.rows))

    def hottest(self, count: int) -> list[LineRow]:
        """The source lines whose instructions executed most often."""
        lines = [line for line in self.lines if line.executions]
        return sorted(lines, key=lambda line: (-line.executions, line.place))[:count]
