"""Where lanes may wait: the next such place from each instruction on."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head

from vsim.analysis.control_flow import control_flow
from vsim.analysis.reconvergence import reconvergence
from vsim.analysis.uniformity import uniform_predicates
from vsim.program import Program


def analysed(lines, uniform=frozenset()):
    """The reconvergence of a kernel: where its lanes wait."""
    head = [".version 4.1", '.kernel "k"', ".decl V v_type=G type=d num_elts=16", ".decl P1 v_type=P num_elts=16"]
    head.append(".decl P2 v_type=P num_elts=16")
    text = "\n".join([*head, ".kernel_attr SimdSize=16", *lines, ""])
    return reconvergence(control_flow(build_text(text).module.kernels[0]), uniform, 16, True)


def next_points(lines):
    """The next place at which lanes may wait for each instruction of a kernel."""
    found = analysed(lines)
    return [found.next_point(n) for n in range(found.flow.end)]


ADD = "add (M1, 16) V(0,0)<1> V(0,0)<1;1,0> 0x1:d"


def test_lanes_wait_only_where_a_branch_before_leads():
    # 0 goto END, 1 add, 2 goto INNER, 3 add, 4 INNER: add, 5 END: ret
    lines = ["(P1) goto (M1, 16) END", ADD, "(P1) goto (M1, 16) INNER", ADD, "INNER:", ADD, "END:", "ret (M1, 1)"]
    found = next_points(lines)
    assert found[0] == found[1], "no lane waits at INNER before its branch"
    assert found[2] == found[3] < found[0]


def test_a_way_back_opens_the_points_behind_it():
    # Lanes wait at INNER while others go back to BACK, in front of its branch.
    lines = ["BACK:", ADD, "(P1) goto (M1, 16) INNER", "(P1) goto (M1, 16) BACK", ADD, "INNER:", ADD, "ret (M1, 1)"]
    found = next_points(lines)
    inner = max(n for n in found if n is not None)
    behind = min(n for n in found if n is not None)
    assert behind < inner and set(found[:behind]) == {behind}


def in_a_row(count):
    """Nests of two loops with an if in the inner one."""
    lines = []
    for n in range(count):
        lines += [f"OUTER{n}:", ADD, f"INNER{n}:", ADD, f"(P1) goto (M1, 16) SKIP{n}", ADD, f"SKIP{n}:", ADD]
        lines += [f"(P1) goto (M1, 16) INNER{n}", f"(P1) goto (M1, 16) OUTER{n}"]
    return [*lines, ADD, "ret (M1, 1)"]


def test_places_behind_each_other_share_the_mask_of_their_waiting_lanes():
    found = analysed(in_a_row(20))
    assert len(found.points) == 60
    assert len(set(found.points.values())) == len(set(analysed(in_a_row(2)).points.values())) <= 4
    for point, mask in found.points.items():
        for other, its in found.points.items():
            assert mask != its or point == other or abs(point - other) > 6, "one nest holds lanes at all of its points"


def test_a_loop_is_converged_if_its_branches_rejoin_inside():
    lines = ["LOOP:", ADD, "(P1) goto (M1, 16) SKIP", ADD, "SKIP:", ADD, "jmp (M1, 1) LOOP"]
    assert analysed(lines).converged == {0, 4}, "but not what some skip"


def test_a_loop_that_all_lanes_leave_at_once_keeps_them_together():
    loop = ["LOOP:", ADD, "(P1) goto (M1, 16) SKIP", ADD, "SKIP:", ADD, "(P2) goto (M1, 16) OUT", "jmp (M1, 1) LOOP"]
    lines = [*loop, "OUT:", ADD, "ret (M1, 1)"]
    assert analysed(lines, frozenset({2})).converged == {0, 4, 7, 8}
    assert analysed(lines).converged == {8}, "lanes that have left the loop wait behind it"
    assert analysed(["(P1) goto (M1, 16) OUT", *lines], frozenset({2})).converged == {0, 9}, "some never come in"


def test_lanes_that_wait_behind_a_loop_wait_while_an_overlapping_one_goes_further_back():
    # Lanes leave the second loop one by one; the others go back to FIRST with the first loop's scalar jump.
    jumps = ["FIRST:", ADD, "SECOND:", ADD, "(P1) jmp (M1, 1) FIRST", ADD, "(P2) goto (M1, 16) SECOND"]
    lines = [*jumps, ADD, "ret (M1, 1)"]
    assert analysed(lines, frozenset({1})).converged == {7}, "only behind both"


@pytest.mark.parametrize(("constant", "uniform"), [("0x5:uw", True), ("0x76543210:uv", False)])
def test_a_comparison_with_a_packed_vector_is_not_uniform(constant, uniform):
    head = [".version 4.1", '.kernel "k"', ".decl A v_type=G type=uw num_elts=16", ".decl P1 v_type=P num_elts=16"]
    lines = [".kernel_attr SimdSize=16", f"cmp.lt (M1_NM, 16) P1 A(0,0)<0;1,0> {constant}", "ret (M1, 1)"]
    assert (1 in uniform_predicates(build_text("\n".join([*head, *lines, ""])).module.kernels[0])) is uniform


@pytest.mark.parametrize(
    ("second", "uniform"),
    [
        ("cmp.lt (M5_NM, 16) P1 A(0,0)<0;1,0> 0x5:d", True),
        ("cmp.lt (M5_NM, 16) P1 A(0,0)<0;1,0> 0x6:d", False),
        ("cmp.gt (M5_NM, 16) P1 A(0,0)<0;1,0> 0x5:d", False),
        ("cmp.lt (M5_NM, 16) P1 A(0,0)<1;1,0> 0x5:d", False),
        ("cmp.lt (M5, 16) P1 A(0,0)<0;1,0> 0x5:d", False),
        ("cmp.lt (M1_NM, 16) P1 A(0,0)<0;1,0> 0x5:d", False),
        ("L: cmp.lt (M5_NM, 16) P1 A(0,0)<0;1,0> 0x5:d", False),
    ],
)
def test_a_comparison_in_two_halves_is_uniform(second, uniform):
    head = [".version 4.1", '.kernel "k"', ".decl A v_type=G type=d num_elts=16", ".decl P1 v_type=P num_elts=32"]
    lines = ["cmp.lt (M1_NM, 16) P1 A(0,0)<0;1,0> 0x5:d", *second.replace(": ", ":\n").splitlines(), "ret (M1, 1)"]
    text = "\n".join([*head, ".kernel_attr SimdSize=32", *lines, ""])
    assert (1 in uniform_predicates(build_text(text).module.kernels[0])) is uniform


@pytest.mark.parametrize(
    ("logic", "uniform"),
    [
        ("and (M1_NM, 16) P3 P1 P2", True),
        ("not (M1_NM, 16) P3 P1", True),
        ("xor (M1_NM, 16) P3 P1 P2", True),
        ("or (M1, 16) P3 P1 P2", False),
        ("or (M1_NM, 16) P3 P1 P4", False),
        ("or (M1_NM, 8) P3 P1 P2", False),
        ("or (M1_NM, 16) P3 P1 P5", False),
    ],
)
def test_logic_of_uniform_predicates_is_uniform(logic, uniform):
    """Except with an identity operand, or with P4, whose lanes differ, or P5, which has fewer lanes."""
    head = [".version 4.1", '.kernel "k"', ".decl A v_type=G type=d num_elts=16",
            *(f".decl P{n} v_type=P num_elts={8 if n == 5 else 16}" for n in range(1, 6))]  # fmt: skip
    lines = [f"cmp.lt (M1_NM, 16) P{n} A(0,{n})<0;1,0> 0x5:d" for n in (1, 2)]
    lines += [
        "cmp.lt (M1_NM, 16) P4 A(0,0)<1;1,0> 0x5:d",
        "cmp.lt (M1_NM, 8) P5 A(0,0)<0;1,0> 0x5:d",
        logic,
        "ret (M1, 1)",
    ]
    text = "\n".join([*head, ".kernel_attr SimdSize=16", *lines, ""])
    assert (3 in uniform_predicates(build_text(text).module.kernels[0])) is uniform


@pytest.mark.parametrize(
    ("bits", "uniform"), [("0xffff", True), ("0x0", True), ("0xffff0000", True), ("0xff", False), ("0xfffe", False)]
)
def test_a_constant_predicate_is_uniform(bits, uniform):
    head = [".version 4.1", '.kernel "k"', ".decl P1 v_type=P num_elts=16", ".kernel_attr SimdSize=16"]
    text = "\n".join([*head, f"setp (M1_NM, 16) P1 {bits}:ud", "ret (M1, 1)", ""])
    assert (1 in uniform_predicates(build_text(text).module.kernels[0])) is uniform


OVERLAPPING = (
    kernel_head("OUT=uq V=d*16 N=d*16 U=d P1=P P2=P*16", "OUT", SimdSize=16)
    + """svm_block_ld (4) OUT(0,0)<0;1,0> N.0
mov (M1, 16) V(0,0)<1> 0x0:d
mov (M1, 1) U(0,0)<1> 0x0:d
FIRST:
add (M1, 16) V(0,0)<1> V(0,0)<1;1,0> 0x64:d
SECOND:
add (M1, 16) V(0,0)<1> V(0,0)<1;1,0> 0x1:d
add (M1_NM, 1) U(0,0)<1> U(0,0)<0;1,0> 0x1:d
cmp.eq (M1_NM, 1) P1 U(0,0)<0;1,0> 0x3:d
(P1) jmp (M1, 1) FIRST
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -0x1:d
cmp.gt (M1, 16) P2 N(0,0)<1;1,0> 0x0:d
(P2) goto (M1, 16) SECOND
svm_block_st (4) OUT(0,0)<0;1,0> V.0
ret (M1, 1)
"""
)


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_lanes_that_left_an_overlapping_loop_are_left_alone(engine):
    numbers = np.arange(16, dtype="i4") % 6
    Program(build_text(OVERLAPPING)).launch("k", 16, 16, [numbers], engine=engine)
    # The third pass of the thread goes back to FIRST; lanes that had left by then do not.
    assert numbers.tolist() == [{0: 101, 1: 101, 2: 102, 3: 204, 4: 205, 5: 206}[n % 6] for n in range(16)]


COUNTDOWN = (
    kernel_head("OUT=uq N=d*16 V=d*16 P1=P*16", "OUT", SimdSize=16)
    + """mov (M1, 8) N(0,0)<1> 0x76543210:uv
mov (M1, 8) N(1,0)<1> 0x76543210:uv
mov (M1, 16) V(0,0)<1> 0:d
again:
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d
add (M1, 16) V(0,0)<1> V(0,0)<1;1,0> 3:d
svm_block_st (4) OUT(0,0)<0;1,0> V.0
cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:d
(P1) goto (M1, 16) again
"""
)


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_lanes_that_go_on_behind_the_last_instruction_have_ended(engine):
    """A branch back may be the last one."""
    out = np.zeros(16, "i4")
    Program(build_text(COUNTDOWN)).launch("k", (16,), (16,), [out], engine=engine)
    assert out.tolist() == [3, 3, 6, 9, 12, 15, 18, 21] * 2
