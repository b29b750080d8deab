"""Implications between conditions: of any active lane, and of the parts of disjunctions."""

import pytest

pytest.importorskip("z3", reason="proofs need z3-solver")

import z3

from vsim.symbolic import terms
from vsim.symbolic.places import Part, any_of, split

A, B, C = z3.Bools("a b c")


def texts(conditions):
    return sorted(map(str, conditions))


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (True, []),
        (z3.And(A, z3.Not(B)), ["Not(b)", "a"]),
        (z3.Or(z3.And(A, B), z3.And(C, A)), ["Or(And(a, b), And(c, a))", "a"]),
        (z3.Not(z3.Or(A, z3.Not(B))), ["Not(a)", "b"]),
        (z3.Not(z3.And(z3.Or(A, B), z3.Or(A, C))), ["Not(And(Or(a, b), Or(a, c)))", "Not(a)"]),
        (z3.Or(A, B), ["Or(a, b)"]),
    ],
)
def test_implications_of_a_condition(condition, wanted):
    assert texts(terms.implied_by(condition)) == wanted


def test_deep_conditions_need_no_recursion():
    deep = z3.Or(z3.And(A, B), z3.And(C, A))
    for n in range(1500):
        deep = z3.And(deep, z3.Bool(f"d{n}"))
    assert any(part.eq(A) for part in terms.implied_by(deep))


def test_whether_any_lane_is_there():
    assert any_of([A, z3.And(A, B), z3.And(C, A), False]).eq(A)
    assert any_of([z3.And(A, B), z3.And(A, C)]).eq(z3.Or(z3.And(A, B), z3.And(A, C)))
    assert any_of([A, True]) is True and any_of([False]) is False


def test_lanes_that_leave_under_their_own_condition_all_leave():
    part = Part([A, z3.And(A, B), False])
    chosen, others = split(frozenset([part]), [A, z3.And(A, B), True])
    assert chosen == {part} and not others
