"""Assumptions about the elements of arrays, in kernels that Intel's compiler made."""

import pytest
from support.ocloc import needs_ocloc

pytest.importorskip("z3", reason="proofs need z3-solver")

from visakit.compiler.ocloc import compile_source
from visakit.diagnostics import LaunchError
from vsim import load
from vsim.prove.assumptions import Assumption
from vsim.prove.prover import prove
from vsim.prove.subject import Subject
from vsim.prove.verdict import Outcome

pytestmark = needs_ocloc
KERNEL = """kernel void k(global int *x, global int *c, global float *f) {{
  size_t i = get_local_id(0);
  {body}
}}
"""
SIZES = ["count(x) >= 16", "count(c) >= 16"]
SMALL = "0 <= each(c) < 16"


def outcome(body, *assumptions, of="bounds"):
    zebin = compile_source("k.cl", KERNEL.format(body=body).encode(), "tgllp", "", None).zebin
    assumed = [Assumption(text, "--assume") for text in assumptions]
    (verdict,) = prove(Subject(load(zebin), "k", assumed, (16,)), [of], 60)
    return verdict.outcome


def test_elements_are_indices():
    assert outcome("x[c[i]] = 1;", SMALL, *SIZES) is Outcome.PROVED


def test_assumptions_do_not_cover_elements_that_the_kernel_changes():
    body = "c[i] = i * 1000;\n  barrier(CLK_GLOBAL_MEM_FENCE);\n  x[c[15 - i]] = 1;"
    assert outcome(body, SMALL, *SIZES) is not Outcome.PROVED


def test_parts_of_two_elements_are_none():
    body = "x[*(global int *)((global char *)c + i)] = 1;"
    assert outcome(body, SMALL, *SIZES, "count(x) < 100") is not Outcome.PROVED


@pytest.mark.parametrize(
    ("assumptions", "code"),
    [
        (["each(c) < 0", "each(c) > 0"], "P002"),
        (["each(c) < 0", "each(c) > 0", "count(c) == 0"], "P002"),
        (["each(f) < 16"], "P001"),
    ],
)
def test_assumptions_of_elements_that_cannot_be(assumptions, code):
    with pytest.raises(LaunchError) as caught:
        outcome("x[0] = c[i] + (int)f[i];", *assumptions, of="races")
    assert caught.value.diagnostics[0].code == code


def test_arrays_may_be_empty():
    body = "((global char *)x)[0] = 1;"
    assert outcome(body) is Outcome.REFUTED
    assert outcome(body, "size(x) > 0") is Outcome.PROVED


ASSERT = 'if (!({})) printf("Assertion failed: {}\\n");'


def test_assertions_by_printf():
    checked = ASSERT.format("c[i] < 16", "c[i]")
    assert outcome(checked, SMALL, of="asserts") is Outcome.PROVED
    assert outcome(checked, of="asserts") is Outcome.REFUTED
    assert outcome('if (c[i] < 16) printf("fine\\n");', of="asserts") is Outcome.PROVED


def test_launches_fulfil_assumptions_also_in_elements_that_nothing_loads():
    program = load(
        compile_source("k.cl", KERNEL.format(body="if (i < 4) x[c[i]] = 1;").encode(), "tgllp", "", None).zebin
    )
    assumed = [Assumption(text, "--assume") for text in ("7 <= each(c) < 9", "count(c) >= 16")]
    (verdict,) = prove(Subject(program, "k", assumed, (16,)), ["bounds"], 60)
    elements = verdict.refutation.launch.args[1].array
    assert elements.size >= 16 and set(elements.tolist()) <= {7, 8}
