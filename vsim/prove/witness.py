"""Witnesses: launches that come to an instruction, or to one way of a branch.

The run on symbols says under which conditions each lane executes each instruction. A model of one of them is a launch,
which both engines run: it is a witness if both come to the place. Contents of memory, and registers in closed loops,
may be anything on symbols, so a place whose conditions cannot hold is unreachable in truth.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import z3

from visakit.diagnostics import VisaError
from visakit.language.program import Function
from vsim.launch.launch import Launch
from vsim.observe.observer import Observer
from vsim.prove import refutation
from vsim.prove.bounds import PropertyViolation
from vsim.prove.goals import Goal, ReachConditions
from vsim.prove.prover import QUESTION_SECONDS, REFUTATION_SECONDS, changed_elements, remark_of, run_kernel
from vsim.prove.round_search import RoundSearch
from vsim.prove.subject import Subject, scope_of, symbolic_launch
from vsim.prove.verdict import Remark
from vsim.symbolic import terms
from vsim.symbolic.comparing import ROUNDS
from vsim.symbolic.limits import MEGABYTES, Limits, Undecided
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.terms import Condition

SMALL_NUMBER = 64
"""The largest loaded number that launches are looked for with first."""
ROUND_SECONDS = 30.0
"""How long a launch is looked for with few rounds of loops, if there is time."""
MOST_TRIED = 4
"""Conditions of a goal for which launches are tried; of conditions that are followed roughly only the first one."""
MOST_ROUGH = 2
"""Launches that are tried for such a condition."""


class GoalOutcome(enum.StrEnum):
    """What is known of a goal."""

    REACHED = "reached"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"


@dataclass
class GoalFinding:
    """What is known of a goal.

    Attributes:
        launch: that reaches it, as both engines said.
        fault: the end of this launch, if it is no good one.
        places: of ``unknown``, the instructions at fault.
        where: the launch file, if it was written.
    """

    kernel: str
    goal: Goal
    outcome: GoalOutcome
    scope: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    launch: Launch | None = None
    fault: str = ""
    places: list[Remark] = field(default_factory=list)
    seconds: float = 0.0
    where: str = ""


class ExecutedPlaces(Observer):
    """The instructions that threads executed in a launch, and the ways that lanes went at branches."""

    def __init__(self) -> None:
        self.threads: dict[tuple[int, int], int] = {}
        """How often threads executed an instruction."""
        self.took_all: dict[tuple[int, int], int] = {}
        """How often all lanes of a thread took a branch."""
        self.took_some: dict[tuple[int, int], int] = {}
        """How often some lanes of a thread took a branch, and others did not."""
        self.ended_by = ""
        """The fault in which the launch ended, if any."""

    def ran(self, function: Function, start: int, end: int, threads: int, lanes: object) -> None:
        for number in range(start, end):
            key = id(function), number
            self.threads[key] = self.threads.get(key, 0) + threads

    def branched(self, function: Function, number: int, taken: object, both: object) -> None:
        for counts, count in ((self.took_all, taken), (self.took_some, both)):
            key = id(function), number
            counts[key] = counts.get(key, 0) + int(count)  # type: ignore[call-overload]

    def shows(self, goal: Goal) -> bool:
        """Whether the launch reached a goal."""
        return any(self._shows((id(function), number), goal.way) for function, number in goal.spots)

    def _shows(self, key: tuple[int, int], way: bool | None) -> bool:
        took_all, came = self.took_all.get(key, 0), self.threads.get(key, 0)
        if way is None:
            return came > 0
        return took_all + self.took_some.get(key, 0) > 0 if way else came > took_all


def executed_places(subject: Subject, launch: Launch, engine: str, seconds: float) -> ExecutedPlaces:
    """The places that a launch comes to on an engine.

    Raises:
        Undecided: it takes too long.
    """
    found = ExecutedPlaces()
    try:
        own = refutation.fresh_launch(launch)
        subject.program.run(own, engine=engine, observers=[found], max_seconds=seconds)
    except VisaError as error:
        refutation.check_time(error)
        said = error.diagnostics[0]
        found.ended_by = f"{said.message} [{said.code}]"
    return found


class WitnessSearch:
    """The search for witnesses in one kernel, which runs on symbols once.

    Args:
        seconds: for the run on symbols and the first goal, and for each goal after it.
        rounds: of loops that run one by one where a goal depends on a closed loop.

    Raises:
        LaunchError: P001, an assumption has no meaning; P002, no launch fulfils the assumptions.
    """

    def __init__(self, subject: Subject, seconds: float, megabytes: int = MEGABYTES, rounds: int = ROUNDS) -> None:
        self.subject, self.most_rounds = subject, rounds
        self.launch = symbolic_launch(subject, Limits(seconds, megabytes))
        with self.launch.limits.watched():
            self.thread, self.problem = run_kernel(subject, self.launch)
            self.problem = self.problem or changed_elements(self.thread)
        self.solver = Solver(self.launch, QUESTION_SECONDS)
        self.conditions = ReachConditions(self.thread)
        self.rounds: RoundSearch | None = None
        """Made for the first goal that needs it."""

    def find(self, goal: Goal) -> GoalFinding:
        """A witness of a goal, or the reason against one."""
        started = time.monotonic()
        found = GoalFinding(self.subject.kernel, goal, GoalOutcome.UNKNOWN, scope_of(self.launch))
        found.assumptions = [a.text for a in self.subject.assumptions]
        self.launch.limits.begin()
        with self.launch.limits.watched():
            try:
                self._find(found)
            except Undecided as problem:
                found.places.append(remark_of(self.launch, problem))
        found.seconds = time.monotonic() - started
        return found

    def simple_launches(self) -> list[Launch]:
        """A launch with zeros in arrays if the assumptions leave that, and with large arrays likewise."""
        self.launch.limits.begin()
        refutation.whole_groups(self.launch)
        with contextlib.suppress(Undecided), self.launch.limits.watched():
            for model in refutation.models(self.launch, self.solver, True, refutation.LEVELS[0]):
                return [refutation.launch_of(self.subject, self.launch, model, [])]
        return []

    def _find(self, found: GoalFinding) -> None:
        tried, places = 0, dict[tuple[int, int], Remark]()
        for function, number, condition in self.conditions.of(found.goal):
            self.launch.limits.at(function, number)
            answer = self.solver.possible(condition).possible
            if answer is Possible.NO:
                continue
            why = "the solver does not know whether a lane reaches it"
            if answer is Possible.YES:
                wish = self._few_rounds(condition)
                violation = PropertyViolation(Remark(function, number, ""), condition, True, visible=wish)
                depends = refutation.obstacle(self.launch, violation)
                tried += 1
                most = (1, MOST_ROUGH) if depends else (MOST_TRIED, None)
                if tried <= most[0] and self._is_shown(found, violation, most[1]):
                    return
                why = f"it depends {depends}, and no" if depends else "no"
                why += " launch that was tried reaches it"
            places.setdefault((id(function), number), Remark(function, number, why))
        if places and self._is_shown_in_rounds(found):
            return
        found.places = [*([self.problem] if self.problem else []), *places.values()]
        if not found.places:
            found.outcome = GoalOutcome.UNREACHABLE

    def _few_rounds(self, condition: Condition) -> Condition:
        """That loops have few rounds, and that loaded numbers are small: then launches are small that come far."""
        symbols, wish = self.launch.symbols, True
        names = symbols.free(condition)
        rounds = [symbols.expressions[n] for n in names if n.startswith("round!")]
        loaded = [v.symbol for v in self.launch.loads if v.symbol.decl().name() in names]
        for own, most in [*((r, self.most_rounds) for r in rounds), *((v, SMALL_NUMBER) for v in loaded)]:
            wish = terms.conjunction(wish, z3.ULE(own, min(most, (1 << own.size()) - 1)))
        return wish

    def _is_shown(self, found: GoalFinding, violation: PropertyViolation, most: int | None) -> bool:
        """Whether a launch in which a condition may hold reaches the goal on both engines; ``most`` are tried."""
        limits = self.launch.limits
        try:
            with limits.shortened(REFUTATION_SECONDS):
                launches = refutation.launches(self.subject, self.launch, self.solver, violation, True)
                self._try(found, itertools.islice(launches, most))
        except Undecided:
            limits.check()
        return found.launch is not None

    def _is_shown_in_rounds(self, found: GoalFinding) -> bool:
        """Whether a launch with few rounds of loops reaches the goal: there nothing is followed roughly."""
        limits = self.launch.limits
        try:
            with limits.shortened(ROUND_SECONDS):
                if self.rounds is None:
                    self.rounds = RoundSearch(self.subject, limits, self.most_rounds)
                self._try(found, self.rounds.launches(found.goal))
        except Undecided:
            limits.check()
        return found.launch is not None

    def _try(self, found: GoalFinding, launches: Iterator[Launch]) -> None:
        """Look for a launch that reaches the goal, the best one without a fault."""
        for own in launches:
            fault = self.shown_by(found.goal, own)
            if fault is not None and (found.launch is None or not fault):
                found.outcome, found.launch, found.fault = GoalOutcome.REACHED, own, fault
            if fault == "":
                break

    def shown_by(self, goal: Goal, launch: Launch) -> str | None:
        """None if a launch does not reach a goal on both engines; else the fault in which it ends, or nothing."""
        fault = ""
        for engine in refutation.ENGINES:
            places = executed_places(self.subject, launch, engine, refutation.seconds_of_run(self.launch.limits))
            if not places.shows(goal):
                return None
            fault = fault or places.ended_by
        return fault
