"""Proofs of properties of a kernel: run the kernel on symbols, ask the solver, try its counterexamples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from visakit.diagnostics import Diagnostic, LaunchError, SimulationError, Span
from vsim.prove import bounds, divergence, races, refutation, undefined
from vsim.prove.bounds import PropertyViolation
from vsim.prove.refutation import Shows
from vsim.prove.subject import Subject, scope_of, symbolic_launch
from vsim.prove.verdict import Outcome, Refutation, Remark, Verdict
from vsim.result import LaunchResult
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.spaces import LOCAL, READ, SCRATCH_MEMORY
from vsim.symbolic.thread import SymbolicThread, Undecided

QUESTION_SECONDS = 10.0
"""How long the solver may think about one question, if there is time."""
REFUTATION_SECONDS = 10.0
"""How long a launch is looked for at least, when the time is up."""
MOST_TRIED = 3
"""Possible violations for which launches are tried."""


class Property(NamedTuple):
    """A property, and how it is proved.

    Attributes:
        violations: what may violate it, after the kernel has run on symbols.
        check: the checks that watch a launch which is to refute it.
        shows: how the result of such a launch refutes it.
    """

    title: str
    violations: Callable[[SymbolicThread, Solver], list[PropertyViolation]]
    check: str
    shows: Shows


def _nothing(result: LaunchResult) -> str:
    return ""


def _finding(result: LaunchResult) -> str:
    found = result.findings
    return f"{found[0].message} [{found[0].code}]" if found else ""


def _bounds(thread: SymbolicThread, solver: Solver) -> list[PropertyViolation]:
    return bounds.violations(thread.launch, thread.memory.messages, solver)


PROPERTIES = {
    "bounds": Property("every access is inside its memory", _bounds, "", _nothing),
    "undefined": Property("no undefined value reaches memory or a branch", undefined.violations, "undefined", _finding),
    "divergence": Property(
        "all work-items of a group come to a barrier", divergence.violations, "divergence", _finding
    ),
    "races": Property("no two work-items conflict between barriers", races.violations, "race,race-items", _finding),
}


def prove(subject: Subject, properties: Sequence[str], seconds: float) -> Iterator[Verdict]:
    """The verdicts on some properties of a kernel, each within so many seconds.

    Raises:
        LaunchError: P001, an assumption has no meaning; P002, no launch fulfils the assumptions.
    """
    started = time.monotonic()
    launch = symbolic_launch(subject)
    check_assumptions(subject, launch, Solver(launch, QUESTION_SECONDS, started + seconds))
    thread, problem = _run(launch, started + seconds)
    problem = problem or _changed_elements(thread)
    spent = time.monotonic() - started
    for name in properties:
        began = time.monotonic()
        deadline = began + max(seconds - spent, 1.0)
        verdict = Verdict(subject.kernel, name, Outcome.UNKNOWN, scope_of(launch))
        verdict.assumptions = [a.text for a in subject.assumptions]
        _Proof(subject, thread, PROPERTIES[name], Solver(launch, QUESTION_SECONDS, deadline), verdict).run(problem)
        verdict.seconds = spent + time.monotonic() - began
        yield verdict


def check_assumptions(subject: Subject, launch: SymbolicLaunch, solver: Solver) -> None:
    """See that some launch fulfils the assumptions: of none, everything could be proved."""
    if subject.assumptions and solver.possible(*launch.symbols.facts).possible is Possible.NO:
        span = Span(subject.assumptions[-1].where, 0)
        hint = "together they must leave some launch"
        raise LaunchError(Diagnostic("P002", "no launch fulfils the assumptions", span, hint))


def _run(launch: SymbolicLaunch, deadline: float) -> tuple[SymbolicThread, Remark | None]:
    """The kernel run on symbols, and where it could not go on, if anywhere."""
    thread = SymbolicThread(launch, deadline)
    try:
        thread.run()
    except Undecided as problem:
        function = problem.function or launch.kernel
        return thread, Remark(function, problem.number, problem.why, problem.hint)
    except SimulationError as error:
        function = thread.activation.machine.function
        return thread, Remark(function, thread.number, error.diagnostics[0].message, error.diagnostics[0].hint)
    return thread, None


def _changed_elements(thread: SymbolicThread) -> Remark | None:
    """The first instruction that may write an array whose elements have an assumption: elements that a thread loads
    later need not fulfil it.
    """
    launch = thread.launch
    for message in thread.memory.messages if launch.arrays_of_known_elements else ():
        if message.kind == READ or message.space.kind in (LOCAL, SCRATCH_MEMORY):
            continue
        for access in message.lanes:
            found = launch.candidates(message.space, access.address)
            known = [b for b in found if b.argument in launch.arrays_of_known_elements]
            if known or not found:
                name = known[0].name if known else "an array"
                why = f"it may write elements of '{name}' about which something is assumed"
                return Remark(message.function, message.number, why, "leave the assumption about elements out")
    return None


class _Proof:
    """The proof of one property."""

    def __init__(
        self, subject: Subject, thread: SymbolicThread, wanted: Property, solver: Solver, verdict: Verdict
    ) -> None:
        self.subject, self.thread, self.wanted, self.solver, self.verdict = subject, thread, wanted, solver, verdict

    def run(self, problem: Remark | None) -> None:
        """Find the verdict; ``problem`` is where the kernel could not be followed."""
        verdict = self.verdict
        found: list[PropertyViolation] = []
        try:
            found = self.wanted.violations(self.thread, self.solver)
        except Undecided as own:
            problem = problem or Remark(own.function or self.thread.launch.kernel, own.number, own.why, own.hint)
        for violation in [v for v in found if v.is_certain][:MOST_TRIED]:
            if self._refute(violation):
                break
        else:
            if not found and problem is None:
                verdict.outcome = Outcome.PROVED
            verdict.places = [*([problem] if problem else []), *(v.place for v in found)]
        verdict.asked = self.solver.asked

    def _refute(self, violation: PropertyViolation) -> bool:
        """Try launches in which a violation may occur; whether one shows it on both engines."""
        check, shows = self.wanted.check, self.wanted.shows
        self.solver.deadline = max(self.solver.deadline, time.monotonic() + REFUTATION_SECONDS)
        for launch in refutation.launches(self.subject, self.thread.launch, self.solver, violation.condition):
            said = refutation.run(self.subject, launch, check, shows)
            if all(said.values()):
                self.verdict.outcome = Outcome.REFUTED
                self.verdict.refutation = Refutation(launch, violation.place, said)
                return True
        return False
