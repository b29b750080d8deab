"""A sample of ``make prove``: instructions on integers against the scalar model, for all inputs."""

from random import Random

import pytest
from support.forms import KINDS

pytest.importorskip("z3", reason="needs the extra prove (z3-solver)")

import z3
from prove.instructions import EASY, Question, prove, questions

from visakit.language.program import FIRST_PREDICATE, FIRST_VARIABLE
from visakit.text.parser import parse_module
from vsim.semantics import SEMANTICS, wide
from vsim.semantics.registers import layout_of
from vsim.symbolic.algebra import SymbolicAlgebra
from vsim.symbolic.registers import SymbolicRegisters, unknown
from vsim.symbolic.sequence import run_sequence

ASKED = {name: asked for name in KINDS if (asked := list(questions(name)))}


@pytest.mark.parametrize("name", ASKED)
def test_instructions_agree_with_the_model(name):
    question = Random(name).choice(ASKED[name])
    assert prove(question, EASY) == "proved", question


@pytest.mark.parametrize("question", [
    Question("add", "b", ("b", "b"), ("", "(-)"), True),
    Question("shl", "d", ("d", "ud"), ("", ""), True),
    Question("mul", "uq", ("ud", "d"), ("(abs)", "(-)"), True),
    Question("mod", "d", ("d", "d"), ("", "")),
    Question("bfi", "ud", ("ud", "ud", "ud", "ud"), ("",) * 4),
    Question("dp4a", "d", ("ud", "d", "ud"), ("",) * 3, True),
    Question("mad", "uq", ("ud", "q", "q"), ("(-abs)", "(-)", "")),
], ids=lambda q: q.name)  # fmt: skip
def test_proofs(question):
    assert prove(question) == "proved"


def test_a_wrong_instruction_is_refuted(monkeypatch):
    monkeypatch.setitem(SEMANTICS, "min", SEMANTICS["max"])
    assert prove(Question("min", "d", ("d", "w"), ("", ""))).startswith("refuted")


def test_a_carry_that_is_lost_is_refuted(monkeypatch):
    """Sums of 64 bits saturate in 128 bits."""
    monkeypatch.setattr(wide, "negated", lambda a, x: (a.negate(x[0]), ~x[1]))
    assert prove(Question("add", "q", ("q", "q"), ("(-)", ""), True)).startswith("refuted")


def test_a_predicate_gets_the_bits_of_a_number():
    text = [
        ".version 4.1",
        '.kernel "k"',
        ".decl P1 v_type=P num_elts=16",
        ".decl S v_type=G type=ud num_elts=8 align=GRF",
    ]
    text += ["setp (M1_NM, 16) P1 S(0,0)<0;1,0>", ""]
    (function,) = parse_module("\n".join(text), platform="tgllp").kernels
    registers = SymbolicRegisters(layout_of(function, 32), unknown)
    run_sequence(function, 32, registers, SymbolicAlgebra())
    number = next(n for n, d in enumerate(function.predicates, FIRST_PREDICATE) if d.name == "P1")
    source = registers.read(FIRST_VARIABLE, 0, 4)
    solver = z3.Solver()
    solver.add(z3.Or(*((z3.Extract(k, k, source) == 1) != registers.predicate(number)[k] for k in range(16))))
    assert solver.check() == z3.unsat
