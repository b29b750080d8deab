"""Proofs of properties of a kernel: run the kernel on symbols, ask the solver, try its counterexamples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from visakit.diagnostics import Diagnostic, LaunchError, SimulationError, Span
from vsim.prove import asserts, bounds, divergence, races, refutation, undefined
from vsim.prove.bounds import PropertyViolation
from vsim.prove.refutation import Evidence
from vsim.prove.subject import Subject, scope_of, symbolic_launch
from vsim.prove.verdict import Outcome, Refutation, Remark, Verdict
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.limits import MEGABYTES, Limits, Undecided
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.spaces import LOCAL, READ, SCRATCH_MEMORY
from vsim.symbolic.thread import SymbolicThread

QUESTION_SECONDS = 10.0
"""How long the solver may think about one question, if there is time."""
REFUTATION_SECONDS = 10.0
"""How long launches are looked for that show one violation, if there is time."""
MOST_TRIED = 3
"""Possible violations for which launches are tried."""


class Property(NamedTuple):
    """A property, and how it is proved.

    Attributes:
        violations: what may violate it, after the kernel has run on symbols.
        evidence: how a launch shows that it does not hold.
    """

    title: str
    violations: Callable[[SymbolicThread, Solver], Iterator[PropertyViolation]]
    evidence: Evidence


def _is_outside(found: Diagnostic) -> bool:
    return found.code == "S030" and found.message.startswith(("access of", "write of"))


PROPERTIES = {
    "bounds": Property(
        "every access is inside its memory", bounds.violations, Evidence(found=_is_outside, is_fault=True)
    ),
    "undefined": Property("no undefined value reaches memory or a branch", undefined.violations, Evidence("undefined")),
    "divergence": Property(
        "all work-items of a group come to a barrier", divergence.violations, Evidence("divergence")
    ),
    "asserts": Property(
        "no work-item prints that an assertion failed", asserts.violations, Evidence(printed=asserts.line_of)
    ),
    "races": Property("no two work-items conflict between barriers", races.violations, Evidence("race,race-items")),
}


def prove(subject: Subject, properties: Sequence[str], seconds: float, megabytes: int = MEGABYTES) -> Iterator[Verdict]:
    """The verdicts on some properties of a kernel, each within so many seconds, all within so much memory.

    Raises:
        LaunchError: P001, an assumption has no meaning; P002, no launch fulfils the assumptions.
    """
    started = time.monotonic()
    launch = symbolic_launch(subject, Limits(seconds, megabytes))
    with launch.limits.watched():
        thread, problem = run_kernel(subject, launch)
        problem = problem or changed_elements(thread)
        spent = time.monotonic() - started
        for name in properties:
            began = time.monotonic()
            launch.limits.begin(max(seconds - spent, 1.0))
            verdict = Verdict(subject.kernel, name, Outcome.UNKNOWN, scope_of(launch))
            verdict.assumptions = [a.text for a in subject.assumptions]
            _Proof(subject, thread, PROPERTIES[name], Solver(launch, QUESTION_SECONDS), verdict).run(problem)
            verdict.seconds = spent + time.monotonic() - began
            yield verdict


def check_assumptions(subject: Subject, launch: SymbolicLaunch, solver: Solver) -> None:
    """See that some launch fulfils the assumptions: of none, everything could be proved."""
    if subject.assumptions and solver.possible(*launch.symbols.facts).possible is Possible.NO:
        span = Span(subject.assumptions[-1].where, 0)
        hint = "together they must leave some launch"
        raise LaunchError(Diagnostic("P002", "no launch fulfils the assumptions", span, hint))


def run_kernel(subject: Subject, launch: SymbolicLaunch) -> tuple[SymbolicThread, Remark | None]:
    """The kernel run on symbols, and where it could not go on, if anywhere."""
    thread = SymbolicThread(launch)
    try:
        check_assumptions(subject, launch, Solver(launch, QUESTION_SECONDS))
        thread.run()
    except Undecided as problem:
        return thread, remark_of(launch, problem)
    except SimulationError as error:
        function = thread.activation.machine.function
        return thread, Remark(function, thread.number, error.diagnostics[0].message, error.diagnostics[0].hint)
    return thread, None


def remark_of(launch: SymbolicLaunch, problem: Undecided) -> Remark:
    """The instruction at which a proof was given up, and why."""
    return Remark(problem.function or launch.kernel, problem.number, problem.why, problem.hint)


def changed_elements(thread: SymbolicThread) -> Remark | None:
    """The first instruction that may write an array whose elements have an assumption: elements that a thread loads
    later need not fulfil it.
    """
    launch = thread.launch
    for message in thread.memory.messages if launch.known_elements else ():
        if message.kind == READ or message.space.kind in (LOCAL, SCRATCH_MEMORY):
            continue
        for access in message.lanes:
            found = launch.candidates(message.space, access.address)
            known = [b for b in found if b.argument in launch.known_elements]
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
        verdict, tried = self.verdict, 0
        found: dict[tuple[object, ...], Remark] = {}
        try:
            for violation in self.wanted.violations(self.thread, self.solver):
                place = violation.place
                if violation.is_certain and tried < MOST_TRIED:
                    tried += 1
                    if self._refute(violation):
                        break
                    depends = refutation.obstacle(self.thread.launch, violation)
                    depends = f"it depends {depends}, and " if depends else ""
                    place = place._replace(why=f"{place.why}: {depends}no launch that was tried shows it")
                found[id(place.function), place.number, violation.other] = place
            else:
                if not found and problem is None:
                    verdict.outcome = Outcome.PROVED
        except Undecided as own:
            problem = problem or remark_of(self.thread.launch, own)
        if verdict.outcome is Outcome.UNKNOWN:
            verdict.places = [*([problem] if problem else []), *found.values()]
        verdict.asked = self.solver.asked

    def _refute(self, violation: PropertyViolation) -> bool:
        """Try launches in which a violation may occur; whether one shows it on both engines."""
        evidence, launch = self.wanted.evidence, self.thread.launch
        try:
            with launch.limits.shortened(REFUTATION_SECONDS):
                for own in refutation.launches(self.subject, launch, self.solver, violation, not evidence.is_fault):
                    said = refutation.run(self.subject, own, evidence, launch.limits)
                    if all(said.values()):
                        self.verdict.outcome = Outcome.REFUTED
                        self.verdict.refutation = Refutation(own, violation.place, said)
                        return True
                    if any(said.values()):
                        shown = ", ".join(f"{engine}: {text or 'nothing'}" for engine, text in said.items())
                        self.verdict.notes.append(f"the engines disagree about a launch, a mistake of ours: {shown}")
        except Undecided:
            launch.limits.check()
        return False
