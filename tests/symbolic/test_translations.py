"""A sample of ``make prove``: the fast engine's IR of instructions on integers, for all inputs."""

from random import Random

import pytest
from support.forms import KINDS

pytest.importorskip("z3", reason="needs the extra prove (z3-solver)")

import z3
from prove.instructions import EASY, Question, questions
from prove.straight_ir import INTRINSICS, StraightIR
from prove.translations import LANEWISE, ONE, Sequence, prove_translation, sequence_of

from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.values import Value

ASKED = {name: asked for name in KINDS if (asked := list(questions(name)))}


@pytest.mark.parametrize("name", ASKED)
def test_the_ir_of_instructions_agrees_with_the_semantics(name):
    for question in Random(name).choices(ASKED[name], k=3):
        assert prove_translation(question, EASY) == "proved", question


UD = (("A", "ud"), ("B", "ud"))
BYTES = (("A", "ub"), ("B", "ub"))
A, B, ONE_B = "A(0,0)<1;1,0>", "B(0,0)<1;1,0>", "B(0,0)<0;1,0>"
SEQUENCES = {
    "a sum that is written as or": (
        (
            "mov (M1, 16) X(0,0)<1> 0xfedcba98:uv",
            "mov (M1, 8) X(0,0)<1> 0x76543210:uv",
            "shl (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0x2:ud",
            "and (M1_NM, 1) B(0,0)<1> B(0,0)<0;1,0> 0x3:ud",
            f"or (M1, 16) D0(0,0)<1> X(0,0)<1;1,0> {ONE_B}",
        ),
        UD,
        "ud",
        (("X", "ud"),),
    ),
    "an absolute difference of bytes": (
        (
            f"cmp.gt (M1, 16) P0 {ONE_B} {A}",
            f"add (M1, 16) X(0,0)<1> {ONE_B} (-){A}",
            f"add (M1, 16) Y(0,0)<1> {A} (-){ONE_B}",
            "(P0) sel (M1, 16) D0(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
        ),
        BYTES,
        "ub",
        (("X", "ub"), ("Y", "ub")),
    ),
    "words that were bytes, compared": (
        (
            f"mov (M1, 16) X(0,0)<1> {A}",
            f"mov (M1_NM, 1) Y(0,0)<1> {ONE_B}",
            "cmp.lt (M1, 16) P0 X(0,0)<1;1,0> Y(0,0)<0;1,0>",
            f"(P0) sel (M1, 16) D0(0,0)<1> {A} {ONE_B}",
        ),
        (("A", "b"), ("B", "b")),
        "b",
        (("X", "w"), ("Y", "w")),
    ),
    "negated twice": (
        (f"mov (M1, 16) X(0,0)<1> (-){A}", f"add (M1, 16) D0(0,0)<1> {B} (-)X(0,0)<1;1,0>"),
        (("A", "d"), ("B", "d")),
        "q",
        (("X", "d"),),
    ),
    "a predicated write": (
        (f"mov (M1, 16) D0(0,0)<1> {A}", f"(P0) add (M1, 16) D0(0,0)<1> {A} {ONE_B}"),
        (("A", "w"), ("B", "uw")),
        "uw",
        (),
    ),
    "parts of dwords": (
        (f"mul (M1, 16) X(0,0)<1> {A} 0x9:ud", "shr (M1, 16) D0(0,0)<1> X(0,0)<1;1,0> 0x3:ud"),
        (("A", "ub"),),
        "ub",
        (("X", "ud"),),
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name):
    lines, sources, result, others = SEQUENCES[name]
    assert Sequence(lines, sources, (("D0", result),), others).prove() == "proved"


def test_a_wrong_instruction_is_refuted(monkeypatch):
    monkeypatch.setattr(Value, "__rshift__", lambda self, other: self.binary(other, "lshr", "lshr"))
    question = Question("asr", "d", ("d", "ud"), ("", ""))
    assert sequence_of(question, (LANEWISE, ONE)).prove().startswith("refuted")


def test_a_conversion_without_its_sign_is_refuted(monkeypatch):
    monkeypatch.setattr(Builder, "_conversion", _without_sign(Builder._conversion))
    assert sequence_of(Question("mov", "q", ("b",), ("",)), (LANEWISE,)).prove().startswith("refuted")


def _without_sign(convert):
    return lambda self, op, x, t: convert(self, "zext" if op == "sext" else op, x, t)


def test_a_count_beyond_the_width_has_no_result():
    """Even if the shifts of the solver or of the processor give the expected result."""
    ir = StraightIR([[z3.BitVec("x", 32)] * 2, [z3.BitVec("n", 32)] * 2])
    ir.read(
        "define void @f()\n  %a = load <2 x i32>, ptr %v1\n  %b = load <2 x i32>, ptr %v2\n"
        "  %c = shl <2 x i32> %a, %b\n  store <2 x i32> %c, ptr %r\n"
    )
    solver = z3.Solver()
    solver.add(z3.Or(*(condition for _, condition in ir.poison)))
    assert solver.check() == z3.sat
    assert solver.model()[z3.BitVec("n", 32)].as_long() >= 32


@pytest.mark.parametrize(("name", "operands", "wanted"), [
    ("sadd.sat", (100, 100), 127), ("sadd.sat", (-100, -100), -128), ("uadd.sat", (200, 100), -1),
    ("usub.sat", (3, 5), 0), ("ssub.sat", (-100, 100), -128), ("ctpop", (0x5B,), 5), ("ctlz", (0, 0), 8),
    ("ctlz", (0x10, 0), 3), ("bitreverse", (0x13,), -56), ("fshl", (0x12, 0x34, 12), 0x23),
    ("fshr", (0x12, 0x34, 4), 0x23), ("smin", (-1, 1), -1), ("umin", (-1, 1), 1), ("abs", (-128, 0), -128),
])  # fmt: skip
def test_intrinsics(name, operands, wanted):
    found = z3.simplify(INTRINSICS[name](*(z3.BitVecVal(x, 8) for x in operands)))
    assert found.as_signed_long() == wanted
