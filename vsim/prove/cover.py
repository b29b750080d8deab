"""A small set of launches that covers the lines of a kernel and both ways of its branches.

A simple launch begins. One goal after the other that no launch reached yet is asked for (:mod:`vsim.prove.witness`);
what each new launch reaches by the way counts. Launches that reach no goal alone are dropped in the end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from visakit.language.program import Function
from visakit.language.source_lines import source_lines
from vsim.analysis.active_lanes import may_divide
from vsim.launch.launch import Launch
from vsim.prove import refutation
from vsim.prove.goals import Goal
from vsim.prove.subject import Subject
from vsim.prove.witness import GoalFinding, GoalOutcome, WitnessSearch, executed_places
from vsim.symbolic.limits import Undecided


@dataclass
class CoveringLaunch:
    """A launch of the set.

    Attributes:
        reaches: the goals that it reaches, by number.
        fault: the end of the launch, if it is no good one.
        where: the launch file, if it was written.
    """

    launch: Launch
    reaches: set[int]
    fault: str = ""
    where: str = ""


@dataclass
class Cover:
    """The launches of a kernel, and the goals that none of them reaches."""

    goals: list[Goal]
    launches: list[CoveringLaunch] = field(default_factory=list)
    missed: list[GoalFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0


def divides(subject: Subject, function: Function, number: int) -> bool:
    """Whether an instruction is a branch or return that lanes may take or not."""
    return may_divide(function, function.instructions[number], subject.signature.simd)


def name_of(subject: Subject, function: Function, number: int) -> str:
    """An instruction in messages: its line, or its number where no line is known."""
    span, _ = subject.program.image.place(function, function.instructions[number])
    return f"{span.file}:{span.line}" if span.line else f"instruction {number} of '{function.name}'"


def ways_of(subject: Subject, function: Function, number: int) -> tuple[Goal, Goal]:
    """Both ways of a branch."""
    name, branch = name_of(subject, function, number), ((function, number),)
    return Goal(f"{name}, taken", branch, True), Goal(f"{name}, not taken", branch, False)


def all_goals(subject: Subject) -> list[Goal]:
    """The lines of a kernel and of the functions that it calls, and both ways of branches.

    Lines are those of the source; only of a function without any those of its text.
    """
    lines: dict[str, list[tuple[Function, int]]] = {}
    ways: list[Goal] = []
    signature = subject.signature
    for function in signature.image.functions_of(signature.kernel):
        origins = source_lines(function)
        for number, instruction in enumerate(function.instructions):
            if instruction.desc.is_directive:
                continue
            if origins[number] is not None or not any(origins):
                lines.setdefault(name_of(subject, function, number), []).append((function, number))
            if divides(subject, function, number):
                ways += ways_of(subject, function, number)
    return [*(Goal(name, tuple(spots)) for name, spots in lines.items()), *ways]


def cover(search: WitnessSearch) -> Cover:
    """The launches that cover a kernel."""
    started = time.monotonic()
    found, done, missed = Cover(all_goals(search.subject)), set[int](), dict[int, GoalFinding]()
    for launch in search.simple_launches():
        found.launches.append(CoveringLaunch(launch, _reached_by(search.subject, launch, found.goals)))
        done |= found.launches[-1].reaches
    for number, goal in enumerate(found.goals):
        if number in done:
            continue
        witness = search.find(goal)
        if witness.launch is None:
            missed[number] = witness
            continue
        own = CoveringLaunch(witness.launch, {number}, witness.fault)
        if not own.fault:  # Of other goals there may be launches without a fault.
            own.reaches |= _reached_by(search.subject, own.launch, found.goals)
        done |= own.reaches
        found.launches.append(own)
    for number, witness in missed.items():
        if number not in done:
            found.missed.append(witness)
        elif witness.outcome is GoalOutcome.UNREACHABLE:
            name = witness.goal.name
            found.notes.append(f"a launch reaches {name}, which was proved to be unreachable, a mistake of ours")
    found.launches = needed_launches(found.launches)
    found.seconds = time.monotonic() - started
    return found


def _reached_by(subject: Subject, launch: Launch, goals: list[Goal]) -> set[int]:
    """The goals that a launch reaches on both engines; none if it ends with a fault."""
    try:
        seen = [executed_places(subject, launch, engine, refutation.RUN_SECONDS) for engine in refutation.ENGINES]
    except Undecided:  # It took less time when it was found.
        return set()
    if any(places.ended_by for places in seen):
        return set()
    return {number for number, goal in enumerate(goals) if all(places.shows(goal) for places in seen)}


def needed_launches(launches: list[CoveringLaunch]) -> list[CoveringLaunch]:
    """Launches that reach a goal alone; the earliest launches, found for easy goals, are dropped first."""
    kept = list(launches)
    for own in launches:
        others = set[int]().union(*(other.reaches for other in kept if other is not own))
        if own.reaches <= others:
            kept = [other for other in kept if other is not own]
    return kept
