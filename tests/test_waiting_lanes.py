"""Where lanes may wait: the next such place from each instruction on."""

import pytest
from conftest import build_text

from vsim.analysis.control_flow import control_flow
from vsim.analysis.reconvergence import reconvergence
from vsim.analysis.uniformity import uniform_predicates


def next_points(lines):
    """The next place at which lanes may wait for each instruction of a kernel."""
    head = [".version 4.1", '.kernel "k"', ".decl V v_type=G type=d num_elts=16", ".decl P1 v_type=P num_elts=16"]
    text = "\n".join([*head, ".kernel_attr SimdSize=16", *lines, ""])
    flow = control_flow(build_text(text).module.kernels[0])
    found = reconvergence(flow, frozenset(), 16, True)
    return [found.next_point(n) for n in range(flow.end)]


ADD = "add (M1, 16) V(0,0)<1> V(0,0)<1;1,0> 0x1:d"


def test_lanes_wait_only_where_a_branch_before_leads():
    # 0 goto END, 1 add, 2 goto INNER, 3 add, 4 INNER: add, 5 END: ret
    lines = ["(P1) goto (M1, 16) END", ADD, "(P1) goto (M1, 16) INNER", ADD, "INNER:", ADD, "END:", "ret (M1, 1)"]
    found = next_points(lines)
    assert found[0] == found[1], "nobody waits at INNER before its branch"
    assert found[2] == found[3] < found[0]


def test_a_way_back_opens_the_points_behind_it():
    # Lanes wait at INNER while others go back to BACK, in front of its branch.
    lines = ["BACK:", ADD, "(P1) goto (M1, 16) INNER", "(P1) goto (M1, 16) BACK", ADD, "INNER:", ADD, "ret (M1, 1)"]
    found = next_points(lines)
    inner = max(n for n in found if n is not None)
    behind = min(n for n in found if n is not None)
    assert behind < inner and set(found[:behind]) == {behind}


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
