"""A sample of ``make prove``: instructions on integers against the scalar model, for all inputs."""

from random import Random

import pytest
from support.forms import KINDS

pytest.importorskip("z3", reason="needs the extra prove (z3-solver)")

from prove.instructions import Question, prove, questions

from vsim.semantics import SEMANTICS, wide

ASKED = {name: asked for name in KINDS if (asked := list(questions(name)))}


@pytest.mark.parametrize("name", ASKED)
def test_an_instruction_does_what_the_model_says(name):
    question = Random(name).choice(ASKED[name])
    assert not prove(question, 2).startswith("refuted"), question


@pytest.mark.parametrize("question", [
    Question("add", "b", ("b", "b"), ("", "(-)"), True),
    Question("shl", "d", ("d", "ud"), ("", ""), True),
    Question("mul", "uq", ("ud", "d"), ("(abs)", "(-)"), True),
    Question("mod", "d", ("d", "d"), ("", "")),
    Question("bfi", "ud", ("ud", "ud", "ud", "ud"), ("",) * 4),
], ids=lambda q: q.name)  # fmt: skip
def test_proofs(question):
    assert prove(question) == "proved"


def test_a_wrong_instruction_is_refuted(monkeypatch):
    monkeypatch.setitem(SEMANTICS, "min", SEMANTICS["max"])
    assert prove(Question("min", "d", ("d", "w"), ("", ""))).startswith("refuted")


def test_a_carry_that_is_lost_is_refuted(monkeypatch):
    """Of sums of 64 bits, which saturate in 128."""
    monkeypatch.setattr(wide, "negated", lambda a, x: (a.negate(x[0]), ~x[1]))
    assert prove(Question("add", "q", ("q", "q"), ("(-)", ""), True)).startswith("refuted")
