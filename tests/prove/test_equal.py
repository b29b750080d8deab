"""Two kernels that leave the same memory for all launches, and kernels with planted faults."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head

pytest.importorskip("z3", reason="proofs need z3-solver")

from visakit.diagnostics import LaunchError
from vsim.program import Program
from vsim.prove import equal_launches
from vsim.prove.assumptions import Assumption
from vsim.prove.equal import EqualOptions, prove_equal
from vsim.prove.subject import Subject
from vsim.prove.verdict import Outcome

SIMD8 = (
    kernel_head("X=uq@qword Y=uq@qword N=d@dword LANE=uw*8 ITEM=d*8 I=d*1 FAR=q*8 FROM=uq*8 TO=uq*8 V=d*8 W=d*8")
    + """.decl F v_type=G type=f num_elts=8 align=GRF alias=<V,0>
.decl G v_type=G type=f num_elts=8 align=GRF alias=<W,0>
.decl P1 v_type=P num_elts=8
.decl P2 v_type=P num_elts=8
.input X offset=64 size=8
.input Y offset=72 size=8
.input N offset=80 size=4
.kernel_attr SimdSize=8
mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv
mad (M1, 8) ITEM(0,0)<1> %group_id_x(0,0)<0;1,0> 8:ud LANE(0,0)<1;1,0>
mov (M1, 8) FAR(0,0)<1> ITEM(0,0)<1;1,0>
shl (M1, 8) FAR(0,0)<1> FAR(0,0)<1;1,0> 2:q
add (M1, 8) FROM(0,0)<1> FAR(0,0)<1;1,0> X(0,0)<0;1,0>
add (M1, 8) TO(0,0)<1> FAR(0,0)<1;1,0> Y(0,0)<0;1,0>
"""
)
LOAD, STORE = "svm_gather.4.1 (M1, 8) FROM.0 V.0\n", "svm_scatter.4.1 (M1, 8) TO.0 V.0\n"
END = "out:\nret (M1, 1)\n"
TWICE = LOAD + "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> V(0,0)<1;1,0>\n" + STORE
GUARD = "cmp.ge (M1, 8) P1 ITEM(0,0)<1;1,0> N(0,0)<0;1,0>\n(P1) goto (M1, 8) out\n"


def verdict(first, second, *assumptions, **options):
    subjects = []
    for text in (first, second):
        program = Program(build_text(SIMD8 + text + END, "tgllp"))
        subjects.append(Subject(program, "k", [Assumption(a, "--assume") for a in assumptions], (8,)))
    return prove_equal(*subjects, EqualOptions(**options))


SHIFT = LOAD + "shl (M1, 8) V(0,0)<1> V(0,0)<1;1,0> 1:d\n" + STORE
PICK = LOAD + "cmp.lt (M1, 8) P2 V(0,0)<1;1,0> 0:d\n(P2) mov (M1, 8) V(0,0)<1> 0:d\n" + STORE
MASKED = "cmp.lt (M1, 8) P2 ITEM(0,0)<1;1,0> N(0,0)<0;1,0>\n" + LOAD.replace("svm", "(P2) svm")
MASKED += "shl (M1, 8) V(0,0)<1> V(0,0)<1;1,0> 1:d\n" + STORE.replace("svm", "(P2) svm")
TWO_STORES = LOAD + STORE + "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> V(0,0)<1;1,0>\n" + STORE
PRODUCT = LOAD + "mad (M1, 8) F(0,0)<1> F(0,0)<1;1,0> 0x40400000:f 0x3f800000:f\n" + STORE
APART = LOAD + "mul (M1, 8) G(0,0)<1> {}\nadd (M1, 8) F(0,0)<1> {}\n" + STORE


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (TWICE, SHIFT),
        (TWICE, TWO_STORES),
        (GUARD + TWICE, MASKED),
        (PICK, LOAD + "max (M1, 8) V(0,0)<1> V(0,0)<1;1,0> 0:d\n" + STORE),
    ],
)
def test_kernels_that_do_the_same_in_other_ways(first, second):
    assert verdict(first, second).outcome is Outcome.PROVED


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (TWICE, SHIFT.replace("1:d", "2:d")),
        (GUARD + TWICE, GUARD.replace("ge", "gt") + TWICE),
        (GUARD + TWICE, TWICE),
        (TWICE, TWICE.replace("add", "add.sat")),
        (PICK, PICK.replace("cmp.lt", "cmp.le").replace("0:d\n(P2)", "1:d\n(P2)")),
        (TWICE, LOAD + STORE),
        (TWICE, TWICE.replace("svm_scatter", "add (M1, 8) TO(0,0)<1> TO(0,0)<1;1,0> 4:uq\nsvm_scatter")),
        (TWICE, TWICE.replace("add (M1, 8)", "add (M1, 4)")),
    ],
)
def test_planted_faults(first, second):
    found = verdict(first, second)
    assert found.outcome is Outcome.REFUTED
    assert set(found.refutation.engines) == {"numpy", "llvm"}


def test_launches_with_races_refute_nothing():
    to_first = "mov (M1, 8) TO(0,0)<1> Y(0,0)<0;1,0>\n"
    last = to_first + "mov (M1, 8) V(0,0)<1> ITEM(0,0)<1;1,0>\n" + STORE
    found = verdict(last, to_first + "mov (M1, 8) V(0,0)<1> 0:d\n" + STORE)
    assert found.outcome is Outcome.UNKNOWN and "have races" in found.places[0].hint


def test_floats_bit_for_bit():
    swapped = PRODUCT.replace("F(0,0)<1;1,0> 0x40400000:f", "0x40400000:f F(0,0)<1;1,0>")
    rounded_twice = APART.format("F(0,0)<1;1,0> 0x40400000:f", "G(0,0)<1;1,0> 0x3f800000:f")
    assert verdict(PRODUCT, swapped).outcome is Outcome.PROVED
    assert verdict(PRODUCT, rounded_twice).outcome is Outcome.REFUTED
    assert verdict(PRODUCT, rounded_twice, reassociate=True).outcome is Outcome.PROVED
    assert "modulo" in verdict(PRODUCT, rounded_twice, reassociate=True).scope[-1]


LOOP = (
    "mov (M1_NM, 1) I(0,0)<1> 0:d\nmov (M1, 8) V(0,0)<1> 0:d\nagain:\nadd (M1, 8) V(0,0)<1> V(0,0)<1;1,0> 3:d\n"
    "add (M1_NM, 1) I(0,0)<1> I(0,0)<0;1,0> 1:d\ncmp.lt (M1_NM, 8) P2 I(0,0)<0;1,0> N(0,0)<0;1,0>\n"
    "(P2) goto (M1, 8) again\n"
)
NO_LOOP = "max (M1_NM, 1) I(0,0)<1> N(0,0)<0;1,0> 1:d\nmul (M1, 8) V(0,0)<1> I(0,0)<0;1,0> 3:d\n"


def test_loops_have_a_bound_which_the_verdict_says():
    found = verdict(LOOP + STORE, NO_LOOP + STORE, rounds=3)
    assert found.outcome is Outcome.PROVED
    assert "at most 3 rounds of each loop" in found.scope
    assert verdict(LOOP + STORE, NO_LOOP.replace("3:d", "2:d") + STORE).outcome is Outcome.REFUTED


def test_an_assumption_may_say_how_many_rounds_there_are():
    found = verdict(LOOP + STORE, "mov (M1, 8) V(0,0)<1> 18:d\n" + STORE, "N == 6", rounds=2)
    assert found.outcome is Outcome.PROVED
    assert not any("rounds" in text for text in found.scope)


def test_other_arguments_are_an_error():
    """P006."""
    text = SIMD8 + TWICE + END
    programs = [Program(build_text(own, "tgllp")) for own in (text, text.replace(".input N offset=80 size=4\n", ""))]
    with pytest.raises(LaunchError) as problem:
        prove_equal(*[Subject(program, "k", (), (8,)) for program in programs], EqualOptions())
    assert problem.value.diagnostics[0].code == "P006"


def test_a_refutation_is_a_launch_whose_results_differ():
    found = verdict(TWICE, SHIFT.replace("1:d", "2:d"))
    launch = found.refutation.launch
    number, results = int.from_bytes(launch.args[2].data, "little"), []
    for text in (TWICE, SHIFT.replace("1:d", "2:d")):
        program = Program(build_text(SIMD8 + text + END, "tgllp"))
        arrays = [np.array(a.array) for a in launch.args[:2]]
        program.launch("k", launch.global_size, launch.local_size, [*arrays, np.uint32(number)])
        results.append(arrays[1].tobytes())
    assert results[0] != results[1]


def test_engines_that_contradict_each_other_are_our_fault(monkeypatch):
    """P007."""
    run = equal_launches._run
    broken = {}

    def fake(subject, launch, engine, seconds):
        found = run(subject, launch, engine, seconds)
        return found if engine == "numpy" else broken.setdefault(id(launch), found)

    monkeypatch.setattr(equal_launches, "_run", fake)
    with pytest.raises(LaunchError) as problem:
        verdict(TWICE, SHIFT.replace("1:d", "2:d"))
    assert problem.value.diagnostics[0].code == "P007"


def test_a_launch_with_a_race_shows_nothing():
    racing = "mov (M1, 8) TO(0,0)<1> Y(0,0)<0;1,0>\nmov (M1, 8) V(0,0)<1> ITEM(0,0)<1;1,0>\n"
    other = racing + "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> 1:d\n"
    assert verdict(racing + STORE, other + STORE).outcome is Outcome.UNKNOWN
    apart = racing.replace("mov (M1, 8) TO(0,0)<1> Y(0,0)<0;1,0>\n", "")
    assert (
        verdict(apart + STORE, apart + "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> 1:d\n" + STORE).outcome is Outcome.REFUTED
    )
