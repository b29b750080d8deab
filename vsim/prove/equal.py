"""``equal``: two kernels leave the same in memory, for all launches.

A work-item of the one is compared with the same work-item of the other one (:mod:`vsim.prove.lane_pair`): by their own
stores and, between barriers, by what others find (:mod:`vsim.prove.effects`). If all work-items do the same up to a
barrier, all find the same memory behind it. This takes launches as free of races, and the first kernel's accesses as
inside their memory, which are for ``races`` and ``bounds`` to prove.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from visakit.diagnostics import Diagnostic, LaunchError, SimulationError
from visakit.language.program import Function
from vsim.analysis.atomics import depends_on_order
from vsim.command.listing import ArgumentRow, argument_rows
from vsim.launch.launch import Launch
from vsim.prove import equal_launches
from vsim.prove.effects import differences
from vsim.prove.float_laws import FloatLaws
from vsim.prove.lane_pair import Difference, LanePair, Side
from vsim.prove.prover import check_assumptions
from vsim.prove.refutation import ENGINES
from vsim.prove.subject import Subject, dimensions_of, scope_of, symbolic_launch
from vsim.prove.verdict import Outcome, Refutation, Remark, Verdict
from vsim.symbolic import terms
from vsim.symbolic.comparing import ROUNDS, ComparedThread, element_sizes
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.limits import MEGABYTES, Limits, Undecided
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.symbols import Uniformity
from vsim.symbolic.terms import Term, term_key

QUESTION_SECONDS = 10.0
REFUTATION_SECONDS = 20.0
"""How long a launch is looked for at least, when the time is up."""
SIMPLE_SECONDS = 5.0
"""How long a simple launch may take that is tried before anything is asked, and the search for one."""
MOST_TRIED = 3
RACED = "launches that show a difference have races, and the verdict is about launches without"
_UNUSED = "unused"
PROPERTY = "equal"


@dataclass(frozen=True)
class EqualOptions:
    """How kernels are compared.

    Attributes:
        seconds: for one comparison.
        megabytes: of memory for one comparison.
        rounds: of a loop that are followed.
        reassociate: whether sums and products of floats may have any order.
    """

    seconds: float = 60.0
    megabytes: int = MEGABYTES
    rounds: int = ROUNDS
    reassociate: bool = False


class _Unclear(Exception):
    """The comparison cannot go on: at an instruction of a kernel."""

    def __init__(self, side: int, function: Function, number: int, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.remark = Remark(function, number, why, hint, side)


def prove_equal(first: Subject, second: Subject, options: EqualOptions) -> Verdict:
    """Whether two kernels leave the same memory in all launches.

    Raises:
        LaunchError: P001, an assumption has no meaning; P002, no launch fulfils the assumptions; P006, the kernels do
            not take the same arguments; P007, the engines do not agree on a launch.
    """
    _check_arguments(first, second)
    return _Comparison(first, second, options).run()


def _check_arguments(first: Subject, second: Subject) -> None:
    one, other = first.signature, second.signature
    rows = argument_rows(one), argument_rows(other)
    text = ""
    if len(rows[0]) != len(rows[1]):
        text = f"'{one.name}' has {len(rows[0])} arguments, and '{other.name}' has {len(rows[1])}"
    for x, y in zip(*rows, strict=False):
        kinds = [_kind(x), _kind(y)]
        if not text and kinds[0] != kinds[1] and _UNUSED not in (x["kind"], y["kind"]):
            text = f"argument {x['index']} of '{one.name}' is {kinds[0]}, that of '{other.name}' is {kinds[1]}"
    if text:
        raise LaunchError(Diagnostic("P006", text, None, "kernels that are compared take the same launches"))


def _depends_on_order(subject: Subject) -> bool:
    """Whether atomics give results that depend on the order of threads."""
    image = subject.signature.image
    functions = image.functions_of(subject.signature.kernel)
    return any(depends_on_order(function.instructions, image.grf_size) for function in functions)


def _kind(row: ArgumentRow) -> str:
    if row["kind"] in ("value", "input"):
        return f"a value of {row['size']} bytes"
    return f"memory ({'global' if row['kind'] == 'surface' else row['kind']})"


class _Comparison:
    """One comparison of two kernels."""

    def __init__(self, first: Subject, second: Subject, options: EqualOptions) -> None:
        self.subjects, self.options = (first, second), options
        self.started = time.monotonic()
        self.limits = Limits(options.seconds, options.megabytes)
        names = dict.fromkeys([first.kernel, second.kernel])
        self.verdict = Verdict(" and ".join(names), PROPERTY, Outcome.UNKNOWN)
        self.verdict.assumptions = [a.text for a in first.assumptions]
        self.found: list[Difference] = []
        self.tried = 0

    def run(self) -> Verdict:
        """Compare them."""
        verdict = self.verdict
        try:
            with self.limits.watched():
                self._compare()
        except _Unclear as problem:
            verdict.places.append(problem.remark)
        except Undecided as problem:
            function = problem.function or self.subjects[0].signature.kernel
            verdict.places.append(Remark(function, problem.number, problem.why, problem.hint))
        else:
            if not self.found and verdict.refutation is None:
                verdict.outcome = Outcome.PROVED
        verdict.seconds = time.monotonic() - self.started
        return verdict

    def _compare(self) -> None:
        launches = self._launches()
        self.verdict.scope = scope_of(launches[0])
        self.solver = Solver(launches[0], QUESTION_SECONDS)
        check_assumptions(self.subjects[0], launches[0], self.solver)
        _fix(launches, self.solver)
        if self._is_shown_simply(launches[0]):
            with self.limits.shortened(SIMPLE_SECONDS), contextlib.suppress(Undecided, _Unclear):
                self._locate(launches)
            return
        sides = self._run(0, launches), self._run(1, launches)
        self._say(sides)
        self._check_barriers_agree(sides)
        for pair in self._pairs(sides):
            self._check_barriers(pair)
            for difference in differences(pair, sides[0].thread.phase):
                self.found.append(difference)
                if self._is_shown(pair, difference):
                    return
            if self.found and self.tried >= MOST_TRIED:
                return
            if (pair.outside or pair.takes_inside) and self._is_shown_outside(pair):
                return

    def _is_shown_simply(self, launch: SymbolicLaunch) -> bool:
        """Whether a simple launch shows a difference."""
        if self.options.reassociate or any(map(_depends_on_order, self.subjects)):
            return False
        with self.limits.shortened(SIMPLE_SECONDS), contextlib.suppress(Undecided):
            for own in equal_launches.simple_launches(self.subjects[0], launch, self.solver):
                if not equal_launches.compare_by(ENGINES[0], self.subjects, own, seconds=SIMPLE_SECONDS):
                    continue
                said = equal_launches.compare(self.subjects, own)
                if said is not None and all(said.values()):
                    self.verdict.outcome = Outcome.REFUTED
                    self.verdict.refutation = Refutation(own, None, said)
                    return True
        self.limits.check()
        return False

    def _locate(self, launches: tuple[SymbolicLaunch, SymbolicLaunch]) -> None:
        """Name an instruction where the kernels differ that a simple launch refutes."""
        sides = self._run(0, launches), self._run(1, launches)
        self._say(sides)
        found = (own for pair in self._pairs(sides) for own in differences(pair, sides[0].thread.phase))
        if (own := next(found, None)) is not None and self.verdict.refutation is not None:
            place = Remark(own.function, own.number, own.why, "", own.side)
            self.verdict.refutation = replace(self.verdict.refutation, place=place)

    def _pairs(self, sides: tuple[Side, Side]) -> Iterator[LanePair]:
        """Each lane with the one of the other kernel; those alike once."""
        written = frozenset(e.region for side in sides for e in side.thread.contents.effects)
        laws = FloatLaws(self.options.reassociate)
        lanes = [side.launch.lanes for side in sides]
        shapes: dict[tuple[object, ...], tuple[Term, ...]] = {}
        for k in range(max(lanes)):
            pair = LanePair(sides, (k % lanes[0], k % lanes[1]), written, laws, self.solver)
            shape = pair.shape()  # which is kept, as its terms' keys are those of living terms alone
            key = tuple(map(term_key, shape))
            if key not in shapes:
                shapes[key] = shape
                yield pair

    # -- the two runs --------------------------------------------------------------------------------------

    def _launches(self) -> tuple[SymbolicLaunch, SymbolicLaunch]:
        first, second = self.subjects
        dimensions = max(map(dimensions_of, self.subjects))
        one = symbolic_launch(first._replace(dimensions=dimensions), self.limits)
        same_names = first.signature.names_in_order == second.signature.names_in_order
        assumptions = first.assumptions if same_names else ()
        return one, symbolic_launch(second._replace(dimensions=dimensions, assumptions=assumptions), self.limits)

    def _run(self, side: int, launches: tuple[SymbolicLaunch, SymbolicLaunch]) -> Side:
        launch = launches[side]
        if self.options.reassociate:
            launch.float_modes = replace(launch.float_modes, flushed={})
        thread = ComparedThread(launch, "AB"[side], element_sizes(launches[0]), self.options.rounds)
        try:
            thread.run()
        except Undecided as problem:
            function = problem.function or launch.kernel
            raise _Unclear(side, function, problem.number, problem.why, problem.hint) from None
        except SimulationError as error:
            function, own = thread.activation.machine.function, error.diagnostics[0]
            raise _Unclear(side, function, thread.number, own.message, own.hint) from None
        return Side(self.subjects[side], launch, thread)

    def _say(self, sides: tuple[Side, Side]) -> None:
        """What the verdict is about."""
        scope = self.verdict.scope
        scope.append(f"launches without races in which '{self.subjects[0].kernel}' stays inside of its memory")
        if any(side.thread.bounded for side in sides):
            scope.append(f"at most {self.options.rounds} rounds of each loop")
        if self.options.reassociate:
            scope.append("floats modulo reassociation: sums and products in any order, fused or not, and any denormals")

    # -- barriers ------------------------------------------------------------------------------------------

    def _check_barriers_agree(self, sides: tuple[Side, Side]) -> None:
        counts = [len(side.thread.barriers) for side in sides]
        if counts[0] == counts[1]:
            return
        longer = 0 if counts[0] > counts[1] else 1
        function, number, _, _ = sides[longer].thread.barriers[min(counts)]
        raise _Unclear(longer, function, number, "the other kernel has fewer barriers")

    def _check_barriers(self, pair: LanePair) -> None:
        for one, other in zip(*(side.thread.barriers for side in pair.sides), strict=True):
            guards = [pair.term(side, own[2][pair.lanes[side]]) for side, own in enumerate((one, other))]
            if pair.possible(terms.difference(*guards)).possible is not Possible.NO:
                raise _Unclear(0, one[0], one[1], "one kernel may reach its barrier where the other one does not")

    # -- differences ---------------------------------------------------------------------------------------

    def _is_shown(self, pair: LanePair, difference: Difference) -> bool:
        """Whether a launch shows a difference; else the verdict has its place."""
        hint = self._hint(pair, difference)
        remark = Remark(difference.function, difference.number, difference.why, hint, difference.side)
        self.verdict.places.append(remark)
        self.tried += 1
        if self.tried > MOST_TRIED:
            return False
        for launch in self._candidates(pair, difference):
            said = equal_launches.compare(self.subjects, launch, self.options.reassociate)
            if said is None:
                self.verdict.places[-1] = remark._replace(hint=hint or RACED)
            if said is None or not all(said.values()):
                continue
            self.verdict.outcome = Outcome.REFUTED
            self.verdict.refutation = Refutation(launch, remark, said)
            self.verdict.places = []
            return True
        return False

    def _candidates(self, pair: LanePair, difference: Difference) -> Iterator[Launch]:
        """Launches that may show a difference; they are looked for even if the time is nearly up."""
        with self.limits.extended(REFUTATION_SECONDS):
            yield from equal_launches.launches(pair, difference.condition)

    def _is_shown_outside(self, pair: LanePair) -> bool:
        """Whether a launch shows a difference where the second kernel leaves its memory. If none does, the verdict is
        about launches in which it does not, of which there must be some.
        """
        shown = any(self._is_shown(pair, difference) for difference in pair.outside[:1])
        if shown:
            return True
        if not self.found:
            self.verdict.places = []
        self.tried -= 1
        text = f"launches in which '{self.subjects[1].kernel}' of the second program stays inside of its memory, too"
        if text not in self.verdict.scope:
            self.verdict.scope.append(text)
            self._check_not_empty(pair)
        return False

    def _check_not_empty(self, pair: LanePair) -> None:
        for access in pair.accesses(1):
            within = [*pair.inside(0), *pair.inside(1), access.guard]
            if pair.possible(*within).possible is Possible.NO and pair.possible(access.guard).possible is Possible.YES:
                own = access.access
                raise _Unclear(1, own.function, own.number, "it accesses memory outside in any case")

    def _hint(self, pair: LanePair, difference: Difference) -> str:
        if len({side.launch.lanes for side in pair.sides}) > 1 and pair.other_lanes(*difference.differing):
            return "it depends on other work-items of its thread, and the threads of the kernels differ in their width"
        return ""


def _fix(launches: tuple[SymbolicLaunch, SymbolicLaunch], solver: Solver) -> None:
    """Replace arguments and sizes by numbers where the assumptions leave one number."""
    first = launches[0]
    for name, symbol in [*first.symbols.expressions.items()]:
        own = first.symbols.known[name]
        if not own.is_input or own.scope is not Uniformity.LAUNCH:
            continue
        model = solver.possible(symbol == symbol, *first.symbols.about([name]), named=True).model
        if model is None:
            continue
        value = model.eval(symbol, model_completion=True)
        if solver.possible(symbol != value).possible is Possible.NO:
            for launch in launches:
                if name in launch.symbols.expressions:
                    launch.fix(launch.symbols.expressions[name], value.as_long())
