"""Questions to the solver: whether a condition can hold under the facts of a launch.

A question about a lane is asked for a nameless lane, so that lanes that do the same ask it once. Products and quotients
of symbols, and what floats are, are hard for a solver: the first attempt knows of them only that equal ones are equal,
which is enough for most proofs.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Sequence
from typing import NamedTuple

import z3

from vsim.symbolic import terms
from vsim.symbolic.launch import THREAD, SymbolicLaunch
from vsim.symbolic.symbols import NO_LANE
from vsim.symbolic.terms import Condition, Term


class Possible(enum.Enum):
    """Whether a condition can hold."""

    NO = enum.auto()
    YES = enum.auto()
    UNKNOWN = enum.auto()


class Answer(NamedTuple):
    """An answer: with ``YES`` a model, which belongs to ``lane`` if the question was about one."""

    possible: Possible
    model: z3.ModelRef | None = None


_HARD = {
    z3.Z3_OP_BUDIV, z3.Z3_OP_BUREM, z3.Z3_OP_BSDIV, z3.Z3_OP_BSREM, z3.Z3_OP_BSMOD, z3.Z3_OP_BUDIV_I,
    z3.Z3_OP_BUREM_I, z3.Z3_OP_BSDIV_I, z3.Z3_OP_BSREM_I, z3.Z3_OP_BSMOD_I,
}  # fmt: skip
_NO_OVERFLOW = {z3.Z3_OP_BUMUL_NO_OVFL, z3.Z3_OP_BSMUL_NO_OVFL, z3.Z3_OP_BSMUL_NO_UDFL}


class Solver:
    """The questions of one proof.

    Args:
        seconds: how long one question may take.
        deadline: when no more are asked.
    """

    def __init__(self, launch: SymbolicLaunch, seconds: float, deadline: float) -> None:
        self.launch, self.seconds, self.deadline = launch, seconds, deadline
        self.asked = 0
        self._known: dict[int, tuple[Term, Answer]] = {}
        self._abstract: dict[int, tuple[Term, Term]] = {}

    def possible(self, *conditions: Condition, named: bool = False) -> Answer:
        """Whether conditions can hold together in some launch.

        Args:
            named: the model is to have the symbols of the lanes.
        """
        whole = self.formula(conditions)
        if whole is False:
            return Answer(Possible.NO)
        question = terms.condition(whole)
        question = question if named else self._nameless(question)
        key = question.get_id()
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
        """A condition in which the parts that must hold anyway are known to hold."""
        if isinstance(whole, bool) or not z3.is_and(whole):
            return whole
        pairs = [(c, z3.BoolVal(True)) for c in whole.children() if _is_symbol(c)]
        pairs += [(c.arg(0), z3.BoolVal(False)) for c in whole.children() if z3.is_not(c) and _is_symbol(c.arg(0))]
        if not pairs:
            return whole
        rest = self.launch.simplified(z3.substitute(whole, *pairs))
        known = [c for c in whole.children() if _is_symbol(c) or (z3.is_not(c) and _is_symbol(c.arg(0)))]
        return rest if rest is False else z3.And(*known, terms.condition(rest))

    def _nameless(self, question: Term) -> Term:
        """A question about one lane as one about a nameless lane."""
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
        easy = self._without_hard(question)
        answer = self._check(easy)
        if answer.possible is Possible.NO or easy.eq(question):
            return answer
        return self._check(question)

    def _check(self, question: Term) -> Answer:
        left = min(self.seconds, self.deadline - time.monotonic())
        if left <= 0:
            return Answer(Possible.UNKNOWN)
        self.asked += 1
        solver = z3.SolverFor("QF_BV") if _is_plain(question) else z3.Solver()
        solver.set("timeout", max(1, int(left * 1000)))
        solver.add(question)
        try:
            found = solver.check()
        except z3.Z3Exception:
            return Answer(Possible.UNKNOWN)
        if found == z3.unsat:
            return Answer(Possible.NO)
        return Answer(Possible.YES, solver.model()) if found == z3.sat else Answer(Possible.UNKNOWN)

    def _without_hard(self, question: Term) -> Term:
        """A question in which products and quotients of symbols, and functions of floats, are symbols: it can hold
        whenever the question can.
        """
        eased: dict[int, Term] = {}
        found, hard, done = self._eased(question, eased), list[tuple[Term, Term]](), set[int]()
        while new := [(e, t) for e, t in self._abstract.values() if e.get_id() in eased and t.get_id() not in done]:
            hard += new
            done |= {t.get_id() for _, t in new}
        return z3.And(found, *(fact for easy, term in hard for fact in self._known_of(easy, term, eased)))

    def _known_of(self, easy: Term, hard: Term, eased: dict[int, Term]) -> list[Term]:
        """What is easily said of a quotient, which ``easy`` stands for."""
        kind = hard.decl().kind()
        if kind in (z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I):
            divisor = self._eased(hard.arg(1), eased)
            return [z3.Implies(divisor != 0, z3.ULT(easy, divisor))]
        if kind in (z3.Z3_OP_BUDIV, z3.Z3_OP_BUDIV_I):
            divisor, whole = self._eased(hard.arg(1), eased), self._eased(hard.arg(0), eased)
            return [z3.Implies(divisor != 0, z3.ULE(easy, whole))]
        return []

    def _eased(self, term: Term, known: dict[int, Term]) -> Term:
        """A term with symbols for the hard ones in it; ``known`` are those of terms that were met."""
        work = [term]
        while work:
            own = work[-1]
            key = own.get_id()
            if key in known:
                work.pop()
                continue
            if _is_hard(own):
                known[key] = easy = self._symbol_for(own)
                known[easy.get_id()] = easy
                continue
            children = own.children()
            missing = [c for c in children if c.get_id() not in known]
            if missing:
                work += missing
                continue
            new = [known[c.get_id()] for c in children]
            same = all(x is y or x.eq(y) for x, y in zip(children, new, strict=True))
            known[key] = own if same else own.decl()(*new)
            work.pop()
        return known[term.get_id()]

    def _symbol_for(self, term: Term) -> Term:
        key = term.get_id()
        if key not in self._abstract:
            self._abstract[key] = z3.FreshConst(term.sort(), "hard"), term
        return self._abstract[key][0]


def _is_symbol(term: Term) -> bool:
    return bool(z3.is_const(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED)


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


def _is_plain(term: Term) -> bool:
    """Whether a formula is about bit-vectors alone."""
    seen, work = set[int](), [term]
    while work:
        own = work.pop()
        if own.get_id() in seen:
            continue
        seen.add(own.get_id())
        if not (z3.is_bv(own) or z3.is_bool(own)):
            return False
        if own.decl().kind() == z3.Z3_OP_UNINTERPRETED and own.num_args():
            return False
        work += own.children()
    return True


def _renamed(symbol: Term, name: str) -> Term:
    return z3.Const(name, symbol.sort())
