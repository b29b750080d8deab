"""An instruction on integers as a question for the solver: does it agree with the scalar model for all inputs?"""

import itertools
from dataclasses import dataclass
from functools import partial
from random import Random

import z3
from support.form_lines import line
from support.forms import ALL_INTEGERS, KINDS, LANES, SECOND, Form, Operand, expected
from support.scalar import INTEGERS, SHIFTS, SIZES

from prove.exact import Abstract, Exact, LowBits, SmallProducts, for_all
from visakit.language.platforms import find
from visakit.language.program import FIRST_PREDICATE, FIRST_VARIABLE
from visakit.text.parser import parse_module
from vsim.semantics.registers import layout_of
from vsim.symbolic.algebra import SymbolicAlgebra, SymbolicLanes
from vsim.symbolic.registers import PREDICATE_BITS, Piece, SymbolicRegisters, zeros
from vsim.symbolic.sequence import run_sequence
from vsim.symbolic.terms import condition, expression

SAME, EASY, HARD = 20_000, 6_000_000, 60_000_000
"""Steps of the solver for formulas that are nearly the same, for a question that is decided at once, and for any: some
0.01, 2 and 20 seconds.
"""
TACTICS = ("simplify", "bit-blast", "sat")
OF_FUNCTIONS = ("simplify", "propagate-values", "solve-eqs", "ackermannize_bv", *TACTICS)
"""Functions become equalities of their arguments, and bits clauses: faster than the tactics for QF_UFBV."""
DIVIDES = ("div", "mod")
MULTIPLIES = ("mul", "mad", "div", "mod", "mulh", "madw", "dp4a")
WIDE = {"sad2": 2, "sad2add": 2}
"""Lanes of instructions whose lanes see others; one of the rest."""


class AbstractLanes(SymbolicLanes):
    """Integers whose products are a function."""

    __slots__ = ("abstract",)

    def like(self, terms):
        return self.abstract.of(self.type, terms)

    def __mul__(self, other):
        bits, signed = self.type.bits, self.type.is_signed or self.abstract.signed
        pairs = [(expression(x, bits), expression(y, bits)) for x, y in self.pairs(other)]
        return self.abstract.of(self.type, [self.abstract.functions.product(x, y, signed) for x, y in pairs])


class AbstractAlgebra(SymbolicAlgebra):
    """Products and quotients are functions of which both sides know nothing (:class:`prove.exact.Abstract`).

    Args:
        signed: whether factors of unsigned types are numbers with a sign, too, which changes no bit of a product.
    """

    def __init__(self, functions, signed):
        super().__init__()
        self.functions, self.signed = functions, signed

    def of(self, data_type, found):
        lanes = super().of(data_type, found)
        if not lanes.type.is_float:
            lanes = AbstractLanes(lanes.type, found)
            lanes.abstract = self
        return lanes

    def udiv(self, x, y):
        bits = x.type.bits
        pairs = [(expression(a, bits), expression(b, bits)) for a, b in x.pairs(y)]
        return self.of(x.type, [self.functions.quotient(a, b) for a, b in pairs])


@dataclass(frozen=True)
class Question:
    """An instruction with types, modifiers and saturation."""

    name: str
    dst: str
    types: tuple
    modifiers: tuple
    saturate: bool = False
    chosen: int = 0
    """The function of bits; of others the predicate is open."""
    relation: str = "eq"

    def form(self, numbers, chosen):
        """The form of the scalar model: ``numbers`` of each source."""
        sources = zip(self.types, self.modifiers, numbers, strict=True)
        return Form(self.name, self.dst, tuple(Operand(*s) for s in sources), self.saturate, "nearest", True, (),
                    self.relation, chosen)  # fmt: skip

    @property
    def lanes(self):
        return WIDE.get(self.name, 1)

    @property
    def platform(self):
        return KINDS[self.name].platforms[-1]

    @property
    def line(self):
        numbers = [()] * len(self.types)
        return line(self.form(numbers, self.chosen), 0).replace(f"(M1, {LANES})", f"(M1, {self.lanes})")


def questions(name, share=1.0):
    """All types of an instruction and its results, with saturation, plain and with some of its modifiers.

    Args:
        share: a share of them, drawn.
    """
    kind, random = KINDS[name], Random(name)
    for family in kind.families:
        if not set(family) <= {*INTEGERS, "hf", "f", "df", "bf"} or not (ours := [t for t in family if t in INTEGERS]):
            continue
        columns = [ours] * kind.sources
        if name in SHIFTS:
            columns[1] = [t for t in ALL_INTEGERS if name not in ("rol", "ror") or t not in ("ub", "b")]
        if name == "sad2add":
            columns[2] = ("uw", "w")
        results = ALL_INTEGERS if name == "mul" else [t for t in kind.results or ours if t in INTEGERS]
        for *types, dst in itertools.product(*columns, results):
            for saturate in (False, True) if dst in kind.saturates else (False,):
                for modifiers in _modifiers(random, kind, len(types)):
                    if random.random() < share:
                        chosen = random.getrandbits(8) if name == "bfn" else 0
                        relation = random.choice(("eq", "ne", "gt", "ge", "lt", "le"))
                        yield Question(name, dst, tuple(types), modifiers, saturate, chosen, relation)


def _modifiers(random, kind, count):
    plain = ("",) * count
    drawn = tuple(random.choice(sorted(set(kind.modifiers))) for _ in range(count))
    return (plain,) if drawn == plain else (plain, drawn)


def prove(question, steps=HARD):
    """``proved``, ``unknown``, or the values for which the instruction and the model differ.

    Products and quotients are numbers, or functions of which nothing is known, where that decides.
    """

    def concrete(steps):
        return _answer(question, steps, SymbolicAlgebra())

    def abstract(functions, signed, steps):
        with functions() as held:
            found, _ = _answer(question, steps, AbstractAlgebra(held, signed), held)
        return found if found == z3.unsat else z3.unknown, None

    # Functions decide all quotients, and products that are not the same in both formulas.
    ways = [concrete]
    if question.name in MULTIPLIES:
        ways = [partial(abstract, Abstract, signed) for signed in (False, True)]
        if question.name not in (*DIVIDES, "mulh", "madw") and not question.saturate:
            ways = [partial(abstract, partial(LowBits, 8 * SIZES[question.dst]), True)]
        if question.name == "dp4a":
            ways = [partial(abstract, partial(SmallProducts, 64), True)]
        if question.name not in DIVIDES:
            ways.insert(0, lambda steps: concrete(min(steps, SAME)))
    for limit in (EASY, HARD // 4, HARD):
        for way in ways if limit < HARD else [*ways, concrete]:
            found, model = way(limit)
            if found != z3.unknown:
                return "proved" if found == z3.unsat else f"refuted: {model}"
        if limit >= steps:
            break
    return "unknown"


def _answer(q, steps, algebra, held=None):
    """The answer of the solver to the question whether instruction and model differ, with functions or without."""
    symbols = {f"S0_{k}": [z3.BitVec(f"s{k}.{i}", 8 * SIZES[t]) for i in range(q.lanes)] for k, t in enumerate(q.types)}
    chosen = z3.BitVec("chosen", LANES)
    function, registers = _executed(q, symbols, chosen, algebra)
    numbers = [tuple(_number(x, t) for x in symbols[f"S0_{k}"]) for k, t in enumerate(q.types)]
    predicate = Exact(z3.ZeroExt(1, chosen), 0, (1 << LANES) - 1)
    form = q.form(numbers, q.chosen if q.name == "bfn" else predicate)
    wrong = []
    for condition_of, results in for_all(lambda: _expected(form, q)):
        for place, wanted in results:
            got, bits = _got(function, registers, place)
            wrong.append(z3.And(condition_of, got != _bits(wanted, bits)))
    solver = z3.Then(*(OF_FUNCTIONS if held and held.has_functions else TACTICS)).solver()
    solver.set("rlimit", steps)
    solver.add(*(held.facts if held else []), z3.Or(*wrong))
    answer = solver.check()
    return answer, solver.model() if answer == z3.sat else None


def _number(x, t):
    bits, signed = INTEGERS[t]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return Exact(x if signed else z3.ZeroExt(1, x), low, high)


def _bits(x, bits):
    return Exact.of(int(x) if isinstance(x, bool) else x).low_bits(bits)


def _expected(form, question):
    """The expected results: pairs of a place, and its number."""
    found = [(("D0", 0, question.dst), expected(form, 0))]
    if question.name in SECOND:
        value = SECOND[question.name](form, [s.lane(0) for s in form.sources])
        place = {"madw": ("D0", None, question.dst), "add3.o": ("P0", 0, "")}.get(question.name, ("E0", 0, "ud"))
        found.append((place, value))
    return found


def _executed(q, symbols, chosen, algebra):
    """The instruction on symbolic registers: the function and the registers afterwards."""
    declared = {"D0": q.dst, "E0": "ud"} | {f"S0_{k}": t for k, t in enumerate(q.types)}
    text = [".version 4.1", '.kernel "k"', ".decl P0 v_type=P num_elts=16"]
    text += [f".decl {name} v_type=G type={t} num_elts={256 // SIZES[t]} align=GRF" for name, t in declared.items()]
    (function,) = parse_module("\n".join([*text, q.line, ""]), platform=q.platform).kernels
    names = [v.name for v in function.variables]

    def contents(root, size):
        if root < FIRST_VARIABLE or (name := names[root - FIRST_VARIABLE]) not in symbols:
            return zeros(root, size)
        own = SIZES[declared[name]]
        pieces = [Piece(x, own, k) for x in symbols[name] for k in range(own)]
        return pieces + zeros(root, size - len(pieces))

    def bits(number):
        return [z3.Extract(k, k, chosen) == 1 for k in range(LANES)] + [False] * (PREDICATE_BITS - LANES)

    grf_size = find(q.platform).grf_size
    registers = SymbolicRegisters(layout_of(function, grf_size), contents, bits)
    run_sequence(function, grf_size, registers, algebra)
    return function, registers


def _got(function, registers, place):
    """The bits at a place, and how many."""
    name, element, t = place
    if name == "P0":
        number = next(n for n, d in enumerate(function.predicates, FIRST_PREDICATE) if d.name == name)
        bit = condition(registers.predicate(number)[element])
        return z3.If(bit, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)), 1
    number = next(n for n, v in enumerate(function.variables, FIRST_VARIABLE) if v.name == name)
    size = SIZES[t]
    at = registers.layout.grf_size if element is None else element * size
    return expression(registers.read(number, at, size), 8 * size), 8 * size
