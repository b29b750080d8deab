"""Properties of small kernels: proved with the right assumptions, refuted by a launch without them."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head

pytest.importorskip("z3", reason="proofs need z3-solver")

from vsim.program import Program
from vsim.prove.assumptions import Assumption, parse
from vsim.prove.prover import prove
from vsim.prove.subject import Subject
from vsim.prove.verdict import Outcome

HEAD = (
    kernel_head(
        "X=uq@qword N=d@dword LANE=uw*16 ITEM=d*16 I=d*1 J=d*16 FAR=q*16 AT=uq*16 V=ud*16 P1=P*16 P2=P*16",
        "X N",
        SimdSize=16,
    )
    + """mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:uv
add (M1_NM, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 8:uw
mad (M1, 16) ITEM(0,0)<1> %group_id_x(0,0)<0;1,0> 16:ud LANE(0,0)<1;1,0>
"""
)
STORE = """mov (M1, 16) FAR(0,0)<1> {index}
shl (M1, 16) FAR(0,0)<1> FAR(0,0)<1;1,0> 2:q
add (M1, 16) AT(0,0)<1> FAR(0,0)<1;1,0> X(0,0)<0;1,0>
mov (M1, 16) V(0,0)<1> ITEM(0,0)<1;1,0>
svm_scatter.4.1 (M1, 16) AT.0 V.0
"""
GUARDED = "cmp.{condition} (M1, 16) P1 ITEM(0,0)<1;1,0> N(0,0)<0;1,0>\n(P1) goto (M1, 16) out\n"
END = "out:\nret (M1, 1)\n"


def verdicts(lines, *assumptions, properties=("bounds",), local=(16,), seconds=60):
    program = Program(build_text(HEAD + lines, "tgllp"))
    assumed = [Assumption(text, "--assume") for text in assumptions]
    return list(prove(Subject(program, "k", assumed, local), properties, seconds))


def outcome(lines, *assumptions, **more):
    (verdict,) = verdicts(lines, *assumptions, **more)
    return verdict.outcome


OWN = STORE.format(index="ITEM(0,0)<1;1,0>")


@pytest.mark.parametrize(
    ("condition", "assumptions", "wanted"),
    [
        ("ge", ["N <= size(X) / 4"], Outcome.PROVED),
        ("gt", ["N < size(X) / 4"], Outcome.PROVED),
        ("gt", ["N <= size(X) / 4"], Outcome.REFUTED),
        ("ge", ["N <= size(X) / 4 + 1"], Outcome.REFUTED),
        ("ge", [], Outcome.REFUTED),
        ("ge", ["global_size == 64", "size(X) == 256"], Outcome.PROVED),
        ("ge", ["global_size == 64", "size(X) == 255", "N == 64"], Outcome.REFUTED),
    ],
)
def test_accesses_behind_a_guard(condition, assumptions, wanted):
    assert outcome(GUARDED.format(condition=condition) + OWN + END, *assumptions) is wanted


def test_launches_have_whole_groups():
    """The last work-item of a launch of groups of 16 has a number that ends in 15."""
    lines = "add (M1_NM, 1) I(0,0)<1> N(0,0)<0;1,0> -1:d\nor (M1_NM, 1) I(0,0)<1> I(0,0)<0;1,0> 15:d\n"
    store = STORE.format(index="I(0,0)<0;1,0>")
    assert outcome(lines + store + END, "N == global_size", "size(X) == 4 * N") is Outcome.PROVED
    assert outcome(lines + store + END, "N == global_size - 1", "size(X) == 4 * N") is Outcome.REFUTED


def test_both_sides_of_a_branch_meet_again():
    """Behind the branch each lane has the value of its side."""
    lines = (
        "cmp.lt (M1, 16) P1 ITEM(0,0)<1;1,0> N(0,0)<0;1,0>\n(P1) goto (M1, 16) low\n"
        "mov (M1, 16) J(0,0)<1> 0:d\ngoto (M1, 16) join\nlow:\nmov (M1, 16) J(0,0)<1> ITEM(0,0)<1;1,0>\njoin:\n"
    )
    store = STORE.format(index="J(0,0)<1;1,0>")
    assert outcome(lines + store + END, "0 < N <= size(X) / 4") is Outcome.PROVED
    assert outcome(lines + store + END, "0 < N <= size(X) / 4 + 1") is Outcome.REFUTED


def test_a_write_of_the_whole_thread_in_a_branch_is_seen_by_lanes_of_the_other_side():
    lines = (
        "mov (M1_NM, 1) I(0,0)<1> 0:d\n"
        "cmp.ge (M1, 16) P1 LANE(0,0)<1;1,0> 8:uw\n(P1) goto (M1, 16) over\nmov (M1_NM, 1) I(0,0)<1> 100:d\nover:\n"
    )
    store = STORE.format(index="I(0,0)<0;1,0>")
    assert outcome(lines + store + END, "size(X) == 404") is Outcome.PROVED
    assert outcome(lines + store + END, "size(X) == 400") is Outcome.REFUTED


def test_a_refutation_is_a_launch_that_both_engines_fault_in():
    (verdict,) = verdicts(GUARDED.format(condition="ge") + OWN + END)
    found = verdict.refutation
    assert set(found.engines) == {"numpy", "llvm"}
    assert all("[S030]" in said for said in found.engines.values())
    assert verdict.places == [] and found.place.instruction.desc.semantics == "svm_scatter"
    assert found.launch.args[0].array.nbytes < 4 * (1 + int(np.frombuffer(found.launch.args[1].data, "i4")[0]))


def test_unsupported_instructions_are_unknown_with_their_place():
    lines = "nbarrier.wait 1:ub\n" + GUARDED.format(condition="ge") + OWN + END
    program = Program(build_text(HEAD + lines, "pvc"))
    (verdict,) = prove(Subject(program, "k", (), (16,)), ["bounds"], 60)
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.places[0].instruction.desc.mnemonic.startswith("nbarrier")


def test_loops_with_a_known_number_of_rounds_run_round_by_round():
    lines = "mov (M1_NM, 1) I(0,0)<1> 0:d\nagain:\n" + STORE.format(index="I(0,0)<0;1,0>")
    lines += (
        "add (M1_NM, 1) I(0,0)<1> I(0,0)<0;1,0> 1:d\ncmp.lt (M1_NM, 1) P2 I(0,0)<0;1,0> 5:d\n(P2) jmp (M1, 1) again\n"
    )
    assert outcome(lines + END, "size(X) == 20") is Outcome.PROVED
    assert outcome(lines + END, "size(X) == 19") is Outcome.REFUTED


LOOP = "mov (M1_NM, 1) I(0,0)<1> {start}\ncmp.le (M1_NM, 16) P1 N(0,0)<0;1,0> {start}\n(P1) goto (M1, 16) out\nagain:\n"
NEXT = "add (M1_NM, 1) I(0,0)<1> I(0,0)<0;1,0> {step}:d\ncmp.lt (M1_NM, 16) P2 I(0,0)<0;1,0> N(0,0)<0;1,0>\n(P2) goto (M1, 16) again\n"


@pytest.mark.parametrize(
    ("start", "step", "assumptions", "wanted"),
    [
        ("0:d", 1, ["N <= size(X) / 4"], Outcome.PROVED),
        ("0:d", 1, ["N <= size(X) / 4 + 1"], Outcome.REFUTED),
        ("0:d", 4, ["N <= size(X) / 4"], Outcome.PROVED),
        ("3:d", 1, ["N <= size(X) / 4"], Outcome.PROVED),
        ("0:d", 1, [], Outcome.REFUTED),
    ],
)
def test_loops_whose_rounds_depend_on_an_argument(start, step, assumptions, wanted):
    lines = LOOP.format(start=start) + STORE.format(index="I(0,0)<0;1,0>") + NEXT.format(step=step)
    assert outcome(lines + END, *assumptions) is wanted


LANES = """mov (M1, 16) J(0,0)<1> {start}
again:
{body}add (M1, 16) J(0,0)<1> J(0,0)<1;1,0> 1:d
cmp.lt (M1, 16) P2 J(0,0)<1;1,0> N(0,0)<0;1,0>
(P2) goto (M1, 16) again
"""


def test_loops_that_lanes_leave_one_by_one():
    body = STORE.format(index="J(0,0)<1;1,0>")
    lines = GUARDED.format(condition="ge") + LANES.format(start="ITEM(0,0)<1;1,0>", body=body)
    assert outcome(lines + END, "N <= size(X) / 4") is Outcome.PROVED
    assert outcome(lines + END, "N <= size(X) / 4 + 1") is Outcome.REFUTED


def test_counters_behind_a_loop_have_their_last_value():
    lines = LOOP.format(start="0:d") + NEXT.format(step=1) + STORE.format(index="I(0,0)<0;1,0>")
    assert outcome(lines + END, "N < size(X) / 4") is Outcome.PROVED
    assert outcome(lines + END, "N <= size(X) / 4") is Outcome.REFUTED


def test_loops_in_loops():
    inner = LANES.format(start="0:d", body=STORE.format(index="J(0,0)<1;1,0>"))
    inner = inner.replace("again", "inner").replace("P2", "P3")
    lines = ".decl P3 v_type=P num_elts=16\n"
    text = LOOP.format(start="0:d") + inner + STORE.format(index="I(0,0)<0;1,0>") + NEXT.format(step=1)
    program = Program(build_text(HEAD.replace(".input X", lines + ".input X", 1) + text + END, "tgllp"))
    for assumption, wanted in [("N <= size(X) / 4", Outcome.PROVED), ("N <= size(X) / 4 + 1", Outcome.REFUTED)]:
        (verdict,) = prove(Subject(program, "k", [Assumption(assumption, "")], (16,)), ["bounds"], 60)
        assert verdict.outcome is wanted


def races(lines, *assumptions, local=(16,)):
    return outcome(lines + END, *assumptions, properties=("races",), local=local)


def test_work_items_that_write_their_own_elements_do_not_race():
    assert races(GUARDED.format(condition="ge") + OWN) is Outcome.PROVED


def test_work_items_that_write_the_elements_of_others_race():
    neighbour = "add (M1, 16) J(0,0)<1> ITEM(0,0)<1;1,0> 16:d\n" + STORE.format(index="J(0,0)<1;1,0>")
    assert races(GUARDED.format(condition="ge") + OWN + neighbour) is Outcome.REFUTED
    assert races(GUARDED.format(condition="ge") + neighbour) is Outcome.PROVED


def test_undefined_registers_that_reach_memory():
    lines = "mov (M1, 16) FAR(0,0)<1> ITEM(0,0)<1;1,0>\nshl (M1, 16) FAR(0,0)<1> FAR(0,0)<1;1,0> 2:q\n"
    lines += "add (M1, 16) AT(0,0)<1> FAR(0,0)<1;1,0> X(0,0)<0;1,0>\n"
    half = "cmp.ge (M1, 16) P1 LANE(0,0)<1;1,0> 8:uw\n(P1) mov (M1, 16) V(0,0)<1> 1:ud\n"
    store = "svm_scatter.4.1 (M1, 16) AT.0 V.0\n"
    other = half + "(!P1) mov (M1, 16) V(0,0)<1> 2:ud\n"
    cleared = half + "and (M1, 16) V(0,0)<1> V(0,0)<1;1,0> 0:ud\n"
    assumptions = ["global_size == 32", "size(X) == 128"]
    for own, wanted in [(half, Outcome.REFUTED), (other, Outcome.PROVED), (cleared, Outcome.PROVED)]:
        assert outcome(lines + own + store + END, *assumptions, properties=("undefined",)) is wanted


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [("N(0,0)<0;1,0> 5:d", Outcome.PROVED), ("LANE(0,0)<1;1,0> 20:uw", Outcome.PROVED)],
)
def test_barriers_that_all_work_items_reach_or_none(condition, wanted):
    lines = f"cmp.ge (M1, 16) P1 {condition}\n(P1) goto (M1, 16) out\nbarrier\n"
    assert outcome(lines + END, properties=("divergence",), local=(32,)) is wanted


def test_a_barrier_that_some_work_items_reach():
    lines = "cmp.ge (M1, 16) P1 LANE(0,0)<1;1,0> 8:uw\n(P1) goto (M1, 16) out\nbarrier\n"
    assert outcome(lines + END, "global_size == 64", properties=("divergence",), local=(32,)) is Outcome.UNKNOWN


def test_a_refutation_fulfils_assumptions_about_other_inputs():
    """The fault does not depend on N, and the launch has the N that is assumed all the same."""
    (verdict,) = verdicts(OWN + END, "N == 12", "size(X) == 8")
    assert verdict.outcome is Outcome.REFUTED
    assert int.from_bytes(verdict.refutation.launch.args[1].data, "little") == 12


INDIRECT = """add (M1_NM, 1) ADDRESS(0,0)<1> N(0,0)<0;1,0> 0:d
addr_add (M1_NM, 1) A0(0)<1> &TABLE ADDRESS(0,0)<0;1,0>
"""
TABLE = (
    ".decl TABLE v_type=G type=d num_elts=512 align=GRF\n"
    ".decl ADDRESS v_type=G type=uw num_elts=1 align=word\n"
    ".decl A0 v_type=A num_elts=1\n"
)


def indirect_outcome(lines, *assumptions):
    head = HEAD.replace(".input X", TABLE + ".input X", 1)
    program = Program(build_text(head + INDIRECT + lines + END, "tgllp"))
    assumed = [Assumption(text, "--assume") for text in assumptions]
    (verdict,) = prove(Subject(program, "k", assumed, (16,)), ("bounds",), 60)
    return verdict


def test_registers_of_many_places_may_hold_anything():
    """A register at an unknown byte: a read gives any number, and a write leaves any numbers in the variable."""
    write = "mov (M1_NM, 1) TABLE(1,0)<1> 5:d\nmov (M1_NM, 1) r[A0(0),0]<1>:d 7:d\n"
    read = "mov (M1_NM, 1) I(0,0)<1> r[A0(0),0]<0;1,0>:d\n"
    direct = "mov (M1_NM, 1) I(0,0)<1> TABLE(1,0)<0;1,0>\n"
    masked = "and (M1_NM, 1) I(0,0)<1> I(0,0)<0;1,0> 15:d\n"
    store = STORE.format(index="I(0,0)<0;1,0>")
    small = "0 <= N <= 2000"
    assert indirect_outcome(write + OWN, small, "size(X) == 4 * global_size").outcome is Outcome.PROVED
    for way in (read, direct):
        assert indirect_outcome(write + way + masked + store, small, "size(X) >= 64").outcome is Outcome.PROVED
        found = indirect_outcome(write + way + store, small, "size(X) >= 64")
        assert found.outcome is not Outcome.PROVED
    found = indirect_outcome(write + direct + store, small, "size(X) >= 32")  # It holds 5 or 7 in every launch.
    assert found.outcome is Outcome.UNKNOWN
    assert "on registers whose addresses depend on inputs" in found.places[0].why


@pytest.mark.parametrize(
    "text", ["size == 7", "count <= size(size)", "each(each) < count_of", "sized in size..9", "in != 1"]
)
def test_arguments_may_have_the_names_of_functions(text):
    assert parse(Assumption(text, "--assume"))
