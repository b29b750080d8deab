"""Branches on what memory holds for a whole thread: its lanes go one way, which the code of the fast engine knows."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.counting import counted_alike
from support.probe import translated
from support.programs import LANE_NUMBERS, build_text, kernel_head
from support.strategies import ENGINES, effort

from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program

LANES = 16
TEXT = (
    kernel_head(
        "ROUNDS=uq OUT=uq LANE=uw*16 X=ud*16 N=d*16 A=ud*16 B=ud*16 S=uq AT=uq*16 P1=P*16 P2=P*16",
        "ROUNDS OUT",
        SimdSize=16,
    )
    + LANE_NUMBERS
    + """mad (M1, 16) X(0,0)<1> %thread_x(0,0)<0;1,0> 16:uw LANE(0,0)<1;1,0>
shl (M1_NM, 1) S(0,0)<1> %thread_x(0,0)<0;1,0> 2:uw
add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> ROUNDS(0,0)<0;1,0>
mov (M1, 16) AT(0,0)<1> S(0,0)<0;1,0>
svm_gather.4.1 (M1, 16) AT.0 N.0
mov (M1, 16) A(0,0)<1> X(0,0)<1;1,0>
cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:d
(!P1) goto (M1, 16) behind
again:
{inside}
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d
cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:d
(P1) goto (M1, 16) again
behind:
shl (M1, 16) B(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 16) AT(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 16) AT.0 A.0
ret (M1, 1)
"""
)
STEP = "mad (M1, 16) A(0,0)<1> A(0,0)<1;1,0> A(0,0)<1;1,0> X(0,0)<1;1,0>"
INSIDE = {
    "chain": STEP,
    "lanes that leave the loop": f"""{STEP}
and (M1, 16) B(0,0)<1> A(0,0)<1;1,0> 7:ud
cmp.eq (M1, 16) P2 B(0,0)<1;1,0> 5:ud
(P2) goto (M1, 16) behind""",
    "a loop of each lane": f"""and (M1, 16) B(0,0)<1> A(0,0)<1;1,0> 3:ud
add (M1, 16) B(0,0)<1> B(0,0)<1;1,0> 1:ud
own:
{STEP}
add (M1, 16) B(0,0)<1> B(0,0)<1;1,0> -1:d
cmp.ne (M1, 16) P2 B(0,0)<1;1,0> 0:ud
(P2) goto (M1, 16) own""",
    "lanes that count otherwise": f"""{STEP}
and (M1, 16) B(0,0)<1> A(0,0)<1;1,0> 1:ud
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> (-)B(0,0)<1;1,0>""",
}


def launch(inside, rounds, items, **options):
    """The results of the work-items, whose threads run the given numbers of rounds."""
    out = np.zeros(len(rounds) * LANES, "u4")
    given = Program(build_text(TEXT.format(inside=INSIDE[inside])))
    given.launch("k", (items,), (items,), [np.array(rounds, "i4"), out], **options)
    return out.tolist()


@pytest.mark.parametrize("inside", INSIDE)
@effort(8)
@given(st.lists(st.integers(-1, 6), min_size=1, max_size=6), st.integers(0, LANES - 1))
@example([3, 0, 5, 1], 0)
@example([0, 4], 5)
def test_results_are_those_of_lanes(inside, rounds, missing):
    items = len(rounds) * LANES - missing
    one, other = (launch(inside, rounds, items, engine=engine) for engine in ENGINES)
    assert one == other


@pytest.mark.parametrize("inside", INSIDE)
def test_counts_are_those_of_lanes(inside):
    assert counted_alike(lambda **options: launch(inside, [3, 0, 5, 1], 4 * LANES, **options))


CODE = (
    kernel_head(
        "CODE=uq OUT=uq LANE=uw*16 X=ud*16 OP=d*16 A=ud*16 B=ud*16 AT=uq*16 PC=uq*16 P1=P*16 P2=P*16 P3=P*16",
        "CODE OUT",
        SimdSize=16,
    )
    + LANE_NUMBERS
    + """mad (M1, 16) X(0,0)<1> %thread_x(0,0)<0;1,0> 16:uw LANE(0,0)<1;1,0>
mov (M1, 16) A(0,0)<1> X(0,0)<1;1,0>
mov (M1, 16) PC(0,0)<1> CODE(0,0)<0;1,0>
next:
svm_gather.4.1 (M1, 16) PC.0 OP.0
add (M1, 16) PC(0,0)<1> PC(0,0)<1;1,0> 4:uq
cmp.eq (M1, 16) P1 OP(0,0)<1;1,0> 1:d
(P1) goto (M1, 16) square
cmp.eq (M1, 16) P2 OP(0,0)<1;1,0> 2:d
(P2) goto (M1, 16) odd
goto (M1, 16) behind
square:
mul (M1, 16) A(0,0)<1> A(0,0)<1;1,0> A(0,0)<1;1,0>
goto (M1, 16) next
odd:
and (M1, 16) B(0,0)<1> A(0,0)<1;1,0> 5:ud
{odd}
add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 3:ud
goto (M1, 16) next
behind:
shl (M1, 16) B(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 16) AT(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 16) AT.0 A.0
ret (M1, 1)
"""
)
HALVES = """add (M1, 8) AT(0,0)<1> CODE(0,0)<0;1,0> {0}:q
add (M3, 8) AT(2,0)<1> CODE(0,0)<0;1,0> {0}:q
"""
ODD = {
    "nothing": "",
    "lanes that stop": "cmp.eq (M1, 16) P3 B(0,0)<1;1,0> 5:ud\n(P3) goto (M1, 16) behind",
    "a load that no lane does": HALVES.format(-0x100000)
    + "cmp.eq (M1, 16) P3 B(0,0)<1;1,0> 9:d\n(P3) svm_gather.4.1 (M1, 16) AT.0 A.0",
    "a load of each half": HALVES.format(4).replace("4:q", "8:q", 1)
    + """svm_gather.4.1 (M1, 16) AT.0 B.0
add (M1, 16) A(0,0)<1> A(0,0)<1;1,0> B(0,0)<1;1,0>""",
    "lanes that skip an instruction": "cmp.eq (M1, 16) P3 B(0,0)<1;1,0> 5:ud\n"
    "(P3) add (M1, 16) PC(0,0)<1> PC(0,0)<1;1,0> 4:uq",
}


def interpreted(odd, items=3 * LANES - 2, **options):
    """What the lanes have when they have run a code, whose first instruction is in a loop."""
    out = np.zeros(3 * LANES, "u4")
    given = [np.array([2, 1, 2, 2, 1, 1, 2, 1, 1, 0, 0], "i4"), out]
    Program(build_text(CODE.format(odd=ODD[odd]))).launch("k", (items,), (items,), given, **options)
    return out.tolist()


@pytest.mark.parametrize("odd", ODD)
def test_interpreters_give_the_results_of_lanes(odd):
    one, other = (interpreted(odd, engine=engine) for engine in ENGINES)
    assert one == other
    assert counted_alike(lambda **options: interpreted(odd, **options))


@pytest.mark.parametrize(("odd", "parts"), [("nothing", False), ("lanes that stop", True)])
def test_the_code_of_interpreters_has_masks_where_lanes_part(odd, parts):
    """No branch of one bit is in front of the loop."""
    program = Program(build_text(CODE.format(odd=ODD[odd])))
    assert ("load <16 x i1>, ptr %em" in translated(program, [np.zeros(2, "i4"), np.zeros(LANES, "u4")])) == parts


@pytest.mark.parametrize(("inside", "parts"), [("chain", False), ("lanes that count otherwise", True)])
def test_the_code_has_masks_where_lanes_part(inside, parts):
    program = Program(build_text(TEXT.format(inside=INSIDE[inside])))
    arguments = program.convert("k", [np.zeros(2, "i4"), np.zeros(2 * LANES, "u4")])
    dispatch = program.bind(Launch("k", (2 * LANES,), (2 * LANES,), args=arguments))
    assert ("load <16 x i1>, ptr %em" in translate(dispatch, full=True, row=LANES).text) == parts
