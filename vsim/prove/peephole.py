"""Rules of compilers: whether two sequences of instructions leave the same in registers, for all inputs.

A rule is asked for each type, with and without saturation of the result, with modifiers of the inputs, and for floats
where denormals are kept and where they are taken as zeros, as far as the table allows both sides. Inputs are tried
first: constants fold, so that most wrong rules fall at once. Then the solver is asked, of floats with operations of
which no more is known than laws that hold bit for bit, and last with IEEE 754.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

import z3

from visakit.diagnostics import SimulationError
from visakit.language.platforms import find
from visakit.language.program import FIRST_PREDICATE, FIRST_VARIABLE, Function
from visakit.language.types import ALL, BF, BY_NAME, UNSIGNED_BY_SIZE, DataType, F
from vsim.prove.sequences import (
    KEEP_DENORMALS,
    MODIFIERS,
    Sequence,
    Variation,
    declarations,
    function_of,
    lines_of,
    refused,
    types_of,
    varied,
)
from vsim.prove.verdict import Outcome
from vsim.semantics.registers import DENORMAL_BITS, FloatModes, layout_of
from vsim.symbolic import floats, terms
from vsim.symbolic.algebra import SymbolicAlgebra
from vsim.symbolic.floats import ExactFloats, FloatModel, UninterpretedFloats
from vsim.symbolic.limits import answer_of
from vsim.symbolic.registers import PREDICATE_BITS, Piece, SymbolicRegisters, pieces_of, zeros
from vsim.symbolic.sequence import run_sequence
from vsim.symbolic.terms import Condition, Term

TYPES = tuple(t.name for t in sorted(ALL, key=lambda t: (t.is_float, t.size, t.is_signed)) if t.is_element)
"""Types that a rule may leave open, in the order of a report."""
TRIED, TRIED_FLOATS = 40, 250
"""Inputs that are tried before the solver is asked, of integers alone and with floats."""
_TACTICS = ("simplify", "propagate-values", "solve-eqs", "fpa2bv", "ackermannize_bv", "simplify", "bit-blast", "sat")


@dataclass(frozen=True)
class RewriteRule:
    """Two sequences that are to compute the same results: the names that both write, for a platform."""

    left: Sequence
    right: Sequence
    platform: str

    @property
    def sides(self) -> tuple[Sequence, Sequence]:
        """Both sequences."""
        return self.left, self.right

    @property
    def predicates(self) -> frozenset[str]:
        """Names of predicates."""
        return frozenset(self.left.predicates | self.right.predicates)

    @property
    def results(self) -> list[str]:
        """What is compared: names that both sides write, and inputs of one that the other overwrites.

        Raises:
            LaunchError: P004, nothing is written by both sides.
        """
        left, right = self.left, self.right
        if not left.results & right.results:
            raise refused("the sides of the rule write no name together", "both end with r, for example")
        overwritten = (left.results & set(right.inputs)) | (right.results & set(left.inputs))
        return sorted((left.results & right.results) | overwritten)

    @property
    def inputs(self) -> list[str]:
        """What both sides begin with."""
        return list(dict.fromkeys(self.left.inputs + self.right.inputs))


@dataclass
class RuleVerdict:
    """What is known of a variation of a rule.

    Attributes:
        inputs: of a refutation, bits by name, and the results of both sides.
    """

    variation: Variation
    keeps: bool
    outcome: Outcome
    inputs: dict[str, int] = field(default_factory=dict)
    results: tuple[dict[str, int], dict[str, int]] = field(default_factory=lambda: ({}, {}))
    seconds: float = 0.0


def variations(rule: RewriteRule) -> Iterator[Variation]:
    """All variations that a rule leaves open; the table may not allow them."""
    fixed = any(line.saturates for side in rule.sides for line in side.lines[-1:])
    types = TYPES if _leaves_types_open(rule) else ("",)
    for choice in itertools.product(types, (False,) if fixed else (False, True), _modifier_sets(rule)):
        yield Variation(*choice)


def _leaves_types_open(rule: RewriteRule) -> bool:
    """Whether a number or name has no type anywhere in the rule."""
    operands = [o for side in rule.sides for o in side.operands if o.text not in rule.predicates]
    typed = {o.text for o in operands if o.type and not o.is_number}
    return any(not o.type and (o.is_number or o.text not in typed) for o in operands)


def _modifier_sets(rule: RewriteRule) -> list[tuple[tuple[str, str], ...]]:
    """Inputs with modifiers: none, each one with each, and all of them."""
    names = [n for n in rule.inputs if n not in rule.predicates and _takes_modifiers(rule, n)]
    single: list[tuple[tuple[str, str], ...]] = [((name, modifier),) for name in names for modifier in MODIFIERS]
    together = [tuple((name, modifier) for name in names) for modifier in ("(-)", "(abs)")]
    return [(), *single, *(together if len(names) > 1 else ())]


def _takes_modifiers(rule: RewriteRule, name: str) -> bool:
    """Whether an input has no modifier in the rule, and is a source."""
    own = [o for side in rule.sides for line in side.lines for o in line.sources if o.text == name]
    return bool(own) and not any(o.modifier for o in own)


def prove(rule: RewriteRule, seconds: float, chosen: Iterable[Variation] | None = None) -> Iterator[RuleVerdict]:
    """The verdicts on variations, by default on all, that the table allows, each within so many seconds.

    Raises:
        LaunchError: P004, the rule has no meaning.
    """
    rule.results  # noqa: B018  # raises for a rule without results
    any_allowed = False
    for variation in chosen or variations(rule):
        proof = _Proof.of(rule, variation)
        if proof is not None:
            any_allowed = True
            yield from proof.verdicts(seconds)
    if not any_allowed:
        raise refused("no type of the table fits both sides of the rule", f"on {rule.platform}")


@dataclass
class _Proof:
    """One variation of a rule, as two functions with the same variables."""

    rule: RewriteRule
    variation: Variation
    types: dict[str, str]
    functions: tuple[Function, Function]

    @staticmethod
    def of(rule: RewriteRule, variation: Variation) -> _Proof | None:
        """None where the table does not allow it."""
        types = types_of(rule.sides, variation.type)
        found = []
        for side in rule.sides:
            function = function_of(varied(side, variation), types, rule.predicates, rule.platform)
            if function is None:
                return None
            found.append(function)
        return _Proof(rule, variation, types, (found[0], found[1]))

    @property
    def has_floats(self) -> bool:
        """Whether a name is a float."""
        return any(name not in self.rule.predicates and BY_NAME[t].is_float for name, t in self.types.items() if t)

    def verdicts(self, seconds: float) -> Iterator[RuleVerdict]:
        """The verdict where denormals are kept, and of floats where they are not."""
        for keeps in (True, False) if self.has_floats else (True,):
            started = time.monotonic()
            verdict = self._verdict(keeps, seconds)
            verdict.seconds = time.monotonic() - started
            yield verdict

    def _verdict(self, keeps: bool, seconds: float) -> RuleVerdict:
        verdict = RuleVerdict(self.variation, keeps, Outcome.UNKNOWN)
        tried = self._tried(keeps)
        if tried is None:
            models: list[FloatModel] = [ExactFloats()]
            if self.has_floats:
                models.insert(0, UninterpretedFloats())
            for model in models:
                answer, found = self._asked(keeps, model, seconds)
                if answer == z3.unsat:
                    verdict.outcome = Outcome.PROVED
                    return verdict
                if answer == z3.sat and isinstance(model, ExactFloats):
                    tried = found
        if tried is not None:
            verdict.outcome, verdict.inputs = Outcome.REFUTED, tried
            verdict.results = self._values(keeps, tried)
        return verdict

    # -- sides on registers --------------------------------------------------------------------------------

    def _run(self, inputs: Mapping[str, Term], keeps: bool, model: FloatModel) -> list[dict[str, Term]]:
        """The results of both sides."""
        modes = FloatModes(False, {} if keeps else dict(DENORMAL_BITS), False)
        found = []
        for function in self.functions:
            registers = _registers(function, inputs, self.rule.platform)
            run_sequence(function, registers.layout.grf_size, registers, SymbolicAlgebra(model), modes=modes)
            found.append({name: self._read(function, registers, name) for name in self.rule.results})
        return found

    def _read(self, function: Function, registers: SymbolicRegisters, name: str) -> Term:
        if name in self.rule.predicates:
            number = next(n for n, d in enumerate(function.predicates, FIRST_PREDICATE) if d.name == name)
            return terms.pick(registers.predicate(number)[0], 1, 0, 8)
        number = next(n for n, v in enumerate(function.variables, FIRST_VARIABLE) if v.name == name)
        return registers.read(number, 0, BY_NAME[self.types[name]].size)

    def _differ(self, left: Mapping[str, Term], right: Mapping[str, Term]) -> Condition:
        """Whether a result differs; any NaN is any other."""
        found: Condition = False
        for name in self.rule.results:
            t = None if name in self.rule.predicates else BY_NAME[self.types[name]]
            bits = 8 if t is None else t.bits
            same = terms.equal(left[name], right[name], bits)
            if t in floats.FRACTION:
                both = terms.conjunction(floats.is_nan(left[name], t), floats.is_nan(right[name], t))
                same = terms.disjunction(same, both)
            found = terms.disjunction(found, terms.negation(same))
        return found

    # -- values --------------------------------------------------------------------------------------------

    def _tried(self, keeps: bool) -> dict[str, int] | None:
        """Inputs for which the sides differ, if such ones are among the tried ones."""
        random = Random(0)
        for n in range(TRIED_FLOATS if self.has_floats else TRIED):
            inputs = {name: self._number(random, name, n) for name in self.rule.inputs}
            if self._differ(*self._run(inputs, keeps, ExactFloats())) is True:
                return inputs
        return None

    def _number(self, random: Random, name: str, n: int) -> int:
        if name in self.rule.predicates:
            return random.getrandbits(1)
        return drawn(random, BY_NAME[self.types[name]], n)

    def _values(self, keeps: bool, inputs: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
        left, right = self._run(inputs, keeps, ExactFloats())
        return {n: int(x) for n, x in left.items()}, {n: int(x) for n, x in right.items()}

    def _asked(self, keeps: bool, model: FloatModel, seconds: float) -> tuple[z3.CheckSatResult, dict[str, int] | None]:
        """The answer of the solver to the question whether the sides differ, and inputs for which they do."""
        symbols = {name: z3.BitVec(name, self._bits(name)) for name in self.rule.inputs}
        question = self._differ(*self._run(symbols, keeps, model))
        if isinstance(question, bool):
            return (z3.sat, dict.fromkeys(symbols, 0)) if question else (z3.unsat, None)
        solver = z3.Then(*_TACTICS).solver()
        solver.set("timeout", max(1, int(seconds * 1000)))
        solver.add(question)
        answer = answer_of(solver)
        if answer != z3.sat:
            return answer, None
        found = solver.model()
        return answer, {n: found.eval(x, model_completion=True).as_long() for n, x in symbols.items()}

    def _bits(self, name: str) -> int:
        return 1 if name in self.rule.predicates else BY_NAME[self.types[name]].bits


def _registers(function: Function, inputs: Mapping[str, Term], platform: str) -> SymbolicRegisters:
    """Registers in which inputs have terms and all others are zero."""
    names, bits = ([v.name for v in function.variables], [d.name for d in function.predicates])

    def contents(root: int, size: int) -> list[Piece]:
        own = zeros(root, size)
        if root >= FIRST_VARIABLE and (name := names[root - FIRST_VARIABLE]) in inputs:
            width = function.variables[root - FIRST_VARIABLE].type.size
            own[:width] = pieces_of(inputs[name], width)
        return own

    def predicate(number: int) -> list[Condition]:
        value = inputs.get(bits[number - FIRST_PREDICATE], 0)
        return [terms.equal(value, 1, 1)] + [False] * (PREDICATE_BITS - 1)

    known = find(platform)
    assert known is not None
    return SymbolicRegisters(layout_of(function, known.grf_size), contents, predicate)


_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 3.0, float("inf"), float("-inf"), float("nan"), 65504.0, 1e-40, 0.1)


def drawn(random: Random, t: DataType, n: int) -> int:
    """Bits of a number of a type: one of the ends of its range, a small one, or any."""
    kind = random.randrange(3) if n else 0
    if kind == 2:
        return random.getrandbits(t.bits)
    if not t.is_float:
        ends = (0, 1, t.maximum, t.minimum, t.maximum - 1)
        return (random.choice(ends) if kind == 0 else random.randint(0, 40)) & ((1 << t.bits) - 1)
    value = random.choice(_SPECIAL) if kind == 0 else random.choice((1, 100)) * random.uniform(-1, 1)
    if t is BF:
        return floats.float_bits(value, F) >> 16
    return floats.float_bits(value, t)


# -- engines ---------------------------------------------------------------------------------------------------

CELL = 64
"""Bytes of the array that a result of a side goes to."""


def program_of(rule: RewriteRule, verdict: RuleVerdict) -> str:
    """A kernel that computes both sides of a refutation: 64 bytes for each result, of the left side, then the right."""
    types, predicates = types_of(rule.sides, verdict.variation.type), rule.predicates
    text = [".version 4.1", '.kernel "rule"']
    text += [f".decl {name} v_type=G type=uq num_elts=1" for name in ("OUT__", "AT__")]
    code, at = [KEEP_DENORMALS] if verdict.keeps else [], 0
    for side, suffix in zip(rule.sides, ("__left", "__right"), strict=True):
        text += declarations(types, predicates, suffix)
        for name, value in verdict.inputs.items():
            own, lines = _constant(name, types, predicates, value, suffix)
            text, code = text + own, code + lines
        code += lines_of(varied(side, verdict.variation), types, predicates, suffix)
        for name in rule.results:
            own, lines = _stored(name, predicates, at, suffix)
            text, code, at = text + own, code + lines, at + CELL
    text += [".input OUT__ offset=64 size=8", ".kernel_attr SimdSize=1"]
    return "\n".join([*text, *code, "ret (M1, 1)", ""])


def _constant(
    name: str, types: Mapping[str, str], predicates: frozenset[str], value: int, suffix: str
) -> tuple[list[str], list[str]]:
    """Declarations and lines that give an input its bits."""
    whole = f"{name}{suffix}"
    if name in predicates:
        return [], [f"setp (M1_NM, 1) {whole} {value}:ud"]
    size = BY_NAME[types[name]].size
    own = UNSIGNED_BY_SIZE[size].name
    declared = [f".decl {whole}__bits v_type=G type={own} num_elts={64 // size} align=GRF alias=<{whole}, 0>"]
    immediate = f"{value:#x}:{'uw' if own == 'ub' else own}"
    return declared, [f"mov (M1_NM, 1) {whole}__bits(0,0)<1> {immediate}"]


def _stored(name: str, predicates: frozenset[str], at: int, suffix: str) -> tuple[list[str], list[str]]:
    """Declarations and lines that store a result at an offset of the array."""
    whole, declared, code = f"{name}{suffix}", list[str](), list[str]()
    if name in predicates:
        declared, whole = ([f".decl {whole}__value v_type=G type=ud num_elts=16 align=GRF"], f"{whole}__value")
        code = [f"mov (M1_NM, 1) {whole}(0,0)<1> {name}{suffix}"]
    code += [f"add (M1_NM, 1) AT__(0,0)<1> OUT__(0,0)<0;1,0> {at}:ud", f"svm_block_st (1) AT__(0,0)<0;1,0> {whole}.0"]
    return declared, code


RunText = Callable[[str, str, int], bytes]
"""Runs the kernel of a text on an engine, on an array of so many bytes, and gives its contents."""


def engine_results(rule: RewriteRule, verdict: RuleVerdict, run: RunText) -> dict[str, bool]:
    """Whether each engine computes the results of a refutation."""
    types, predicates = types_of(rule.sides, verdict.variation.type), rule.predicates
    text, found = program_of(rule, verdict), {}
    for engine in ("numpy", "llvm"):
        try:
            data = run(text, engine, 2 * CELL * len(rule.results))
        except SimulationError:
            found[engine] = False
            continue
        cells = iter(range(0, len(data), CELL))
        agrees = True
        for side in verdict.results:
            for name in rule.results:
                at = next(cells)
                size = 1 if name in predicates else BY_NAME[types[name]].size
                got = int.from_bytes(data[at : at + size], "little")
                agrees = agrees and _agree(got, side[name], None if name in predicates else BY_NAME[types[name]])
        found[engine] = agrees
    return found


def _agree(x: int, y: int, t: DataType | None) -> bool:
    """Whether results are the same; any NaN is any other."""
    if t in floats.FRACTION and floats.is_nan(x, t) is True:
        return floats.is_nan(y, t) is True
    return x == y


def shown(rule: RewriteRule, verdict: RuleVerdict, name: str, bits: int) -> str:
    """The number that bits are in the type of a name, of floats with the bits."""
    if name in rule.predicates:
        return str(bits)
    t = BY_NAME[types_of(rule.sides, verdict.variation.type)[name]]
    if not t.is_float:
        return str(terms.signed(bits, t.bits) if t.is_signed else bits)
    value = floats.float_of(bits << 16, F) if t is BF else floats.float_of(bits, t)
    return f"{value:g} ({bits:#x})"
