"""Questions to the solver: whether a condition can hold under the facts of a launch.

A question about a lane is asked for a nameless lane, so that lanes that do the same ask it once. Products and quotients
of symbols, and what floats are, are hard for a solver: the first attempt knows of them only that equal ones are equal,
which is enough for most proofs. A quotient by a constant is the number whose product with it is below the whole by less
than the constant: that is all of it, and easier than the circuit of a division.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

import z3

from vsim.symbolic import terms
from vsim.symbolic.launch import THREAD, SymbolicLaunch
from vsim.symbolic.limits import answer_of
from vsim.symbolic.symbols import NO_LANE
from vsim.symbolic.terms import Condition, Term, identity, same_term

Result = TypeVar("Result")


class Possible(enum.Enum):
    """Whether a condition can hold."""

    NO = enum.auto()
    YES = enum.auto()
    UNKNOWN = enum.auto()


class Answer(NamedTuple):
    """An answer: with ``YES`` a model, which belongs to ``lane`` if the question was about one."""

    possible: Possible
    model: z3.ModelRef | None = None


z3.z3.Z3_DEBUG = False  # Z3's Python checks each operand, which takes more time than the operations.
_TRUE, _FALSE = z3.BoolVal(True), z3.BoolVal(False)
_HARD = {
    z3.Z3_OP_BUDIV, z3.Z3_OP_BUREM, z3.Z3_OP_BSDIV, z3.Z3_OP_BSREM, z3.Z3_OP_BSMOD, z3.Z3_OP_BUDIV_I,
    z3.Z3_OP_BUREM_I, z3.Z3_OP_BSDIV_I, z3.Z3_OP_BSREM_I, z3.Z3_OP_BSMOD_I,
}  # fmt: skip
_QUOTIENTS = {z3.Z3_OP_BUDIV, z3.Z3_OP_BUDIV_I}
_DIVISIONS = {*_QUOTIENTS, z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I}
_NO_OVERFLOW = {z3.Z3_OP_BUMUL_NO_OVFL, z3.Z3_OP_BSMUL_NO_OVFL, z3.Z3_OP_BSMUL_NO_UDFL}


class _Quotient(NamedTuple):
    """A symbol for the quotient of a whole by a constant, and all that is known of it."""

    symbol: Term
    whole: Term
    divisor: int
    facts: list[Condition]


_MOST_COMPARED = 64
"""Pairs of quotients of which a question says that they are equal where the wholes are."""
_MOST_SPLITS = 3
"""Signs by which a question with quotients is split."""


class Solver:
    """The questions of one proof.

    Args:
        seconds: how long one question may take.
    """

    def __init__(self, launch: SymbolicLaunch, seconds: float) -> None:
        self.launch, self.seconds = launch, seconds
        self.asked = 0
        self._known: dict[int, tuple[Term, Answer]] = {}
        self._abstract: dict[int, tuple[Term, Term]] = {}
        self._easy: dict[int, tuple[Term, Term]] = {}
        """Terms with symbols for the hard ones in them, by the number of the term."""
        self._multiplied: dict[int, tuple[Term, Term]] = {}
        """Terms with symbols for the quotients by constants in them, by the number of the term."""
        self._quotients: dict[tuple[int, int], _Quotient] = {}
        """Quotients by constants, by the number of the whole and the constant."""
        self._about: dict[str, _Quotient] = {}
        """The same by the names of their symbols."""
        self._plain: dict[int, tuple[Term, bool]] = {}
        self._nameless: dict[int, tuple[Term, Term]] = {}

    def possible(self, *conditions: Condition, named: bool = False) -> Answer:
        """Whether conditions can hold together in some launch.

        Args:
            named: the model is to have the symbols of the lanes.

        Raises:
            Undecided: a limit of the proof is reached.
        """
        whole = self.formula(conditions)
        if whole is False:
            return Answer(Possible.NO)
        question = terms.condition(whole)
        question = question if named else self.nameless(question)
        key = identity(question)
        if key not in self._known:
            self._known[key] = question, self._ask(question)
        return self._known[key][1]

    def formula(self, conditions: Sequence[Condition]) -> Condition:
        """Conditions with the facts that may say something about them."""
        whole: Condition = True
        for c in conditions:
            whole = terms.conjunction(whole, c)
        whole = self._with_known(self.launch.simplified(whole))
        if isinstance(whole, bool):
            return whole
        symbols = self.launch.symbols
        names = symbols.free(whole)
        facts = symbols.about(names)
        if THREAD in names:
            facts += self.launch.links()
        return self.launch.simplified(z3.And(whole, *facts))

    def _with_known(self, whole: Condition) -> Condition:
        """A conjunction of which each part is simplified under the others."""
        if isinstance(whole, bool) or not z3.is_and(whole):
            return whole
        parts = whole.children()
        known = [(c.arg(0), _FALSE) if z3.is_not(c) else (c, _TRUE) for c in parts]
        found = []
        for n, part in enumerate(parts):
            others = [pair for k, pair in enumerate(known) if k != n]
            found.append(self.launch.simplified(z3.substitute(part, *others)))
        if any(f is False for f in found):
            return False
        return self.launch.simplified(z3.And(*(terms.condition(f) for f in found)))

    def nameless(self, question: Condition | Term) -> Term:
        """A question about one lane as one about a nameless lane."""
        if isinstance(question, (int, bool)):
            return question
        key = identity(question)
        if key not in self._nameless:
            self._nameless[key] = question, self._without_lane(question)
        return self._nameless[key][1]

    def _without_lane(self, question: Term) -> Term:
        symbols = self.launch.symbols
        own = [n for n in symbols.free(question) if n in symbols.known and symbols.known[n].lane != NO_LANE]
        if len({symbols.known[n].lane for n in own}) != 1:
            return question
        pairs = [(symbols.expressions[n], _renamed(symbols.expressions[n], symbols.known[n].base + "@")) for n in own]
        return z3.substitute(question, *pairs)

    # -- the solver ----------------------------------------------------------------------------------------

    def _ask(self, question: Term) -> Answer:
        if z3.is_false(question):
            return Answer(Possible.NO)
        multiplied = self._without_divisions(question)
        if not same_term(multiplied, question) and self._cannot_by_cases(multiplied):
            return Answer(Possible.NO)
        easy = self._without_hard(multiplied)
        answer = self._check(easy)
        if answer.possible is Possible.NO or same_term(easy, multiplied):
            return answer
        return self._check(multiplied)

    def _cannot_by_cases(self, question: Term, splits: int = _MOST_SPLITS) -> bool:
        """Whether a question is false in each case of some signs that choose between numbers: sums of products by
        constants have a normal form once nothing is chosen, and a solver is slow to see that they are equal.
        """
        found = self.launch.simplified(question)
        if isinstance(found, bool):
            return not found
        sign = next(_chosen_signs(found), None) if splits else None
        if sign is None:
            return False
        cases = ((_TRUE, sign), (_FALSE, z3.Not(sign)))
        return all(
            self._cannot_by_cases(z3.And(z3.substitute(found, (sign, value)), known), splits - 1)
            for value, known in cases
        )

    def _check(self, question: Term) -> Answer:
        limits = self.launch.limits
        limits.check()
        left = min(self.seconds, limits.left)
        self.asked += 1
        solver = z3.SolverFor("QF_BV") if self._is_plain(question) else z3.Solver()
        solver.set("timeout", max(1, int(left * 1000)))
        solver.add(question)
        with limits.question(left):
            found = answer_of(solver)
        if found == z3.unknown:
            limits.check()
        if found == z3.unsat:
            return Answer(Possible.NO)
        return Answer(Possible.YES, solver.model()) if found == z3.sat else Answer(Possible.UNKNOWN)

    def _without_divisions(self, question: Term) -> Term:
        """A question in which quotients by constants are numbers of which all is known; examples of it are its own."""

        def multiplied(own: Term, new: list[Term]) -> Term:
            if (kind := own.decl().kind()) in _DIVISIONS and z3.is_bv_value(new[1]) and new[1].as_long():
                found = self._quotient_of(*new)
                return found if kind in _QUOTIENTS else new[0] - found * new[1]
            same = all(same_term(x, y) for x, y in zip(own.children(), new, strict=True))
            return own if same else own.decl()(*new)

        found = fold_term(question, self._multiplied, lambda own: own.children(), multiplied)
        facts, done, work = list[Condition](), dict[str, _Quotient](), [found]
        while work:
            for name in sorted(self.launch.symbols.free(work.pop()) & self._about.keys() - done.keys()):
                own = done[name] = self._about[name]
                facts += own.facts
                work += own.facts
        for one, other in list(combinations(done.values(), 2))[:_MOST_COMPARED]:
            if one.whole.size() == other.whole.size() and one.divisor == other.divisor:  # which the rest implies
                facts.append(z3.Implies(one.whole == other.whole, one.symbol == other.symbol))
        return z3.And(found, *facts) if facts else question

    def _quotient_of(self, whole: Term, divisor: Term) -> Term:
        key = identity(whole), divisor.as_long()
        if key not in self._quotients:
            found = z3.FreshConst(whole.sort(), "quotient")
            most, product = ((1 << whole.size()) - 1) // divisor.as_long(), found * divisor
            facts = [z3.ULE(found, most), z3.ULE(product, whole), z3.ULT(whole - product, divisor)]
            self._quotients[key] = self._about[found.decl().name()] = _Quotient(found, whole, key[1], facts)
        return self._quotients[key].symbol

    def _without_hard(self, question: Term) -> Term:
        """A question in which products and quotients of symbols, and functions of floats, are symbols: it can hold
        whenever the question can.
        """
        found, hard, done = self._eased(question), list[tuple[Term, Term]](), set[int]()
        while new := [(e, t) for e, t in self._hard_in([question, *(t for _, t in hard)]) if identity(t) not in done]:
            hard += new
            done |= {identity(t) for _, t in new}
        return z3.And(found, *(fact for easy, term in hard for fact in self._known_of(easy, term))) if hard else found

    def _hard_in(self, found: Sequence[Term]) -> list[tuple[Term, Term]]:
        """The hard terms below some terms, with the symbols for them."""
        seen, work, hard = set[int](), [c for t in found for c in ([t] if not _is_hard(t) else t.children())], []
        while work:
            own = work.pop()
            if identity(own) in seen:
                continue
            seen.add(identity(own))
            if _is_hard(own):
                hard.append((self._symbol_for(own), own))
            elif not same_term(self._easy[identity(own)][1], own) if identity(own) in self._easy else True:
                work += own.children()
        return hard

    def _known_of(self, easy: Term, hard: Term) -> list[Term]:
        """What is easily said of a quotient, which ``easy`` stands for."""
        kind = hard.decl().kind()
        if kind in (z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I):
            divisor = self._eased(hard.arg(1))
            return [z3.Implies(divisor != 0, z3.ULT(easy, divisor))]
        if kind in (z3.Z3_OP_BUDIV, z3.Z3_OP_BUDIV_I):
            divisor, whole = self._eased(hard.arg(1)), self._eased(hard.arg(0))
            return [z3.Implies(divisor != 0, z3.ULE(easy, whole))]
        return []

    def _eased(self, term: Term) -> Term:
        """A term with symbols for the hard ones in it."""

        def eased(own: Term, new: list[Term]) -> Term:
            if _is_hard(own):
                return self._symbol_for(own)
            same = all(same_term(x, y) for x, y in zip(own.children(), new, strict=True))
            return own if same else own.decl()(*new)

        return fold_term(term, self._easy, lambda own: [] if _is_hard(own) else own.children(), eased)

    def _is_plain(self, term: Term) -> bool:
        """Whether a formula is about bit-vectors alone."""

        def plain(own: Term, parts: list[bool]) -> bool:
            is_function = bool(parts) and own.decl().kind() == z3.Z3_OP_UNINTERPRETED
            return (z3.is_bv(own) or z3.is_bool(own)) and not is_function and all(parts)

        return fold_term(term, self._plain, lambda own: own.children(), plain)

    def _symbol_for(self, term: Term) -> Term:
        key = identity(term)
        if key not in self._abstract:
            self._abstract[key] = z3.FreshConst(term.sort(), "hard"), term
        return self._abstract[key][0]


def fold_term(
    term: Term,
    known: dict[int, tuple[Term, Result]],
    children_of: Callable[[Term], list[Term]],
    combine: Callable[[Term, list[Result]], Result],
) -> Result:
    """The result for a term out of those for its children, each of which is computed once and stays in ``known``, by
    the number of its term. Terms are too deep for recursion.
    """
    work = [term]
    while work:
        own = work[-1]
        children = [] if identity(own) in known else children_of(own)
        missing = [c for c in children if identity(c) not in known]
        if missing:
            work += missing
            continue
        if identity(own) not in known:
            known[identity(own)] = own, combine(own, [known[identity(c)][1] for c in children])
        work.pop()
    return known[identity(term)][1]


def _is_hard(term: Term) -> bool:
    kind = term.decl().kind()
    if kind in _NO_OVERFLOW:
        return True
    if kind in _HARD:
        return not z3.is_bv_value(term.arg(1))
    if kind == z3.Z3_OP_BMUL:
        return sum(not z3.is_bv_value(c) for c in term.children()) > 1
    return (kind == z3.Z3_OP_UNINTERPRETED and term.num_args() > 0) or (
        z3.is_bv(term) and any(z3.is_fp(c) for c in term.children())
    )


def _chosen_signs(term: Term) -> Iterator[Condition]:
    """Comparisons with constants that choose between numbers: a sign mostly."""
    seen, work = set[int](), [term]
    while work:
        own = work.pop()
        if identity(own) in seen:
            continue
        seen.add(identity(own))
        if z3.is_bv(own) and own.decl().kind() == z3.Z3_OP_ITE:
            condition = own.arg(0)
            if z3.is_app_of(condition, z3.Z3_OP_SLEQ) and any(map(z3.is_bv_value, condition.children())):
                yield condition
        work += own.children()


def _renamed(symbol: Term, name: str) -> Term:
    return z3.Const(name, symbol.sort())
