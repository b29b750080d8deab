"""What the fast engine makes of instructions on integers, as a question for the solver: the LLVM IR that it emits leaves
the same in registers as the symbolic engine, for all inputs.
"""

from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
import z3
from support.form_lines import line
from support.forms import LANES, Form, Operand
from support.programs import build_text
from support.scalar import SIZES

from prove.instructions import HARD, OF_FUNCTIONS, WIDE
from prove.straight_ir import NotRead, StraightIR, quotient, regrouped
from visakit.language.program import FIRST_VARIABLE
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program
from vsim.semantics.registers import layout_of
from vsim.symbolic.algebra import SymbolicAlgebra
from vsim.symbolic.registers import Piece, SymbolicRegisters, zeros
from vsim.symbolic.sequence import run_sequence
from vsim.symbolic.terms import expression

COUNT = LANES
"""Lanes of an instruction; of the smallest elements they fill a block that is stored."""
BYTES = 8 * COUNT
"""Of a variable."""
LANEWISE, ONE = "<1;1,0>", "<0;1,0>"


class QuotientAlgebra(SymbolicAlgebra):
    """Quotients are a function, as in the IR that is read."""

    def udiv(self, x, y):
        bits = x.type.bits
        return self.of(x.type, [quotient(*(expression(e, bits) for e in pair)) for pair in x.pairs(y)])


@dataclass(frozen=True)
class Sequence:
    """Instructions between the loads of their sources and the store of their results.

    Args:
        lines: they write ``D0`` (and ``E0``), and read sources and the predicate ``P0``, whose bits are any.
        sources: types of variables whose contents are any, by name.
        results: types of the variables that are compared, by name.
        others: types of variables in between, by name.
    """

    lines: tuple
    sources: tuple
    results: tuple
    others: tuple = ()
    platform: str = "tgllp"

    @cached_property
    def dispatch(self):
        """A launch of the kernel."""
        declared = [*self.sources, *self.results, *self.others, ("BITS", "ud")]
        loaded = [name for name, _ in self.sources] + ["BITS"]
        text = [
            ".version 4.1",
            '.kernel "k"',
            ".decl OUT v_type=G type=uq num_elts=1",
            ".decl P0 v_type=P num_elts=16",
            *[f".decl {n} v_type=G type={t} num_elts={BYTES // SIZES[t]} align=GRF" for n, t in declared],
            ".input OUT offset=64 size=8",
            ".kernel_attr SimdSize=16",
            *[f"svm_block_ld (8) OUT(0,0)<0;1,0> {name}.0" for name in loaded],
            "setp (M1_NM, 16) P0 BITS(0,0)<0;1,0>",
            *self.lines,
            *[f"svm_block_st ({SIZES[t]}) OUT(0,0)<0;1,0> {name}.0" for name, t in self.results],
            "ret (M1, 1)",
            "",
        ]
        program = Program(build_text("\n".join(text), self.platform))
        return program.bind(Launch("k", (16,), (16,), args=[np.zeros(64, "u4")]))

    def symbols(self):
        """The contents of the sources, as elements of their types."""
        columns = [*self.sources, ("BITS", "ud")]
        return {n: [z3.BitVec(f"{n}.{k}", 8 * SIZES[t]) for k in range(BYTES // SIZES[t])] for n, t in columns}

    def of_fast_engine(self, symbols):
        """The results as the fast engine's IR computes them, and the conditions under which it has no result."""
        ir = StraightIR(symbols.values())
        ir.read(translate(self.dispatch, full=True).text)
        found = zip(self.results, ir.stored, strict=True)
        return {name: regrouped(elements, 8 * SIZES[t]) for (name, t), elements in found}, ir.poison

    def of_symbolic_engine(self, symbols):
        """The results as the semantics have them."""
        function, grf_size = self.dispatch.kernel, self.dispatch.grf_size
        names, types = [v.name for v in function.variables], dict(self.sources) | {"BITS": "ud"}

        def contents(root, size):
            name = names[root - FIRST_VARIABLE] if root >= FIRST_VARIABLE else ""
            if name not in symbols:
                return zeros(root, size)
            own = SIZES[types[name]]
            return [Piece(x, own, k) for x in symbols[name] for k in range(own)]

        registers = SymbolicRegisters(layout_of(function, grf_size), contents)
        computing = [i for i in function.instructions if i.desc.mnemonic not in ("svm_block_ld", "svm_block_st", "ret")]
        run_sequence(function, grf_size, registers, QuotientAlgebra(), computing)
        found = {}
        for name, t in self.results:
            root, size = names.index(name) + FIRST_VARIABLE, SIZES[t]
            found[name] = [expression(registers.read(root, at, size), 8 * size) for at in range(0, COUNT * size, size)]
        return found

    def prove(self, steps=HARD):
        """``proved``, ``unknown``, or the values for which the engines differ."""
        symbols = self.symbols()
        try:
            fast, poison = self.of_fast_engine(symbols)
        except NotRead as error:
            return f"unknown: {error}"
        wanted = self.of_symbolic_engine(symbols)
        pairs = [pair for name in wanted for pair in enumerate(zip(fast[name], wanted[name], strict=True))]
        wrong = [*poison, *((lane, got != want) for lane, (got, want) in pairs)]
        solver = z3.Then(*OF_FUNCTIONS).solver()
        solver.set("rlimit", steps)
        solver.add(z3.Or(*_of_any_lane(wrong, symbols)))
        found = solver.check()
        if found == z3.sat:
            # A function stands for quotients, so that an example may be none.
            return f"unknown: {solver.model()}" if "quotient" in solver.sexpr() else f"refuted: {solver.model()}"
        return "proved" if found == z3.unsat else "unknown"


def _of_any_lane(conditions, symbols):
    """Conditions, each with its lane, under names that the elements of this lane share with those of other lanes, so
    that equal ones are one; no two elements of a condition get one name.
    """
    shared = {name: z3.BitVec(f"{name}.lane", elements[0].size()) for name, elements in symbols.items()}
    found = {}
    for lane, condition in conditions:
        own = [(elements[lane], shared[name]) for name, elements in symbols.items() if lane < len(elements)]
        moved = z3.simplify(z3.substitute(condition, *own))
        found[moved.get_id()] = moved
    return found.values()


def _line(question, regions):
    """The text of an instruction of :data:`COUNT` lanes; instead of a region a source may have an immediate."""
    sources = []
    for t, modifier, region in zip(question.types, question.modifiers, regions, strict=True):
        immediate = "" if region.startswith("<") else region
        sources.append(Operand(t, modifier, (), immediate, region))
    form = Form(question.name, question.dst, tuple(sources), question.saturate, "nearest", True, (), question.relation,
                question.chosen)  # fmt: skip
    return line(form, 0)


def sequence_of(question, regions):
    """An instruction alone."""
    results = [("D0", question.dst)] + ([("E0", "ud")] if question.name in ("addc", "subb") else [])
    sources = tuple((f"S0_{k}", t) for k, t in enumerate(question.types))
    return Sequence((_line(question, regions),), sources, tuple(results), platform=question.platform)


def prove_translation(question, steps=HARD):
    """Like :func:`prove.instructions.prove`, for the fast engine's IR, with random regions and immediates."""
    random = Random(repr(question))
    regions = [_source(random, question, k) for k in range(len(question.types))]
    return sequence_of(question, regions).prove(steps)


def _source(random, question, k):
    """A region of a source, or an immediate where the form has one: a number with special treatment in operations."""
    t, whole = question.types[k], question.name in WIDE
    kind = LANEWISE if whole else random.choice((LANEWISE, LANEWISE, ONE, ""))
    if kind or question.modifiers[k] or t in ("ub", "b"):
        return kind or ONE
    bits = 8 * SIZES[t]
    number = random.choice((0, 1, 2, 3, 8, bits - 1, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1))
    return f"{number:#x}:{t}"
