"""Subroutines that call themselves, by way of each other too: each lane to its own depth, against a model of one lane."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs import build_text, kernel_head
from support.strategies import CHECKED, ENGINES, WORD

from visakit import SimulationError
from vsim.program import Program

TEXT = (
    kernel_head("OUT=uq N=d*16 X=ud*16 T=ud*16 P1=P*16 P2=P*16", "OUT", SimdSize=16)
    + """svm_block_ld (4) OUT(0,0)<0;1,0> N.0
add (M1_NM, 1) OUT(0,0)<1> OUT(0,0)<0;1,0> 0x40:uq
svm_block_ld (4) OUT(0,0)<0;1,0> X.0
cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:d
FIRST
svm_block_st (4) OUT(0,0)<0;1,0> X.0
ret (M1, 16)
even:
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d
and (M1, 16) T(0,0)<1> X(0,0)<1;1,0> 1:ud
cmp.ne (M1, 16) P2 T(0,0)<1;1,0> 0:ud
(P2) goto (M1, 16) odd_ones
BARRIER
cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:d
(P1) call (M1, 16) OTHER
mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 3:ud
goto (M1, 16) both
odd_ones:
add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 7:ud
cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:d
(P1) call (M1, 16) even
xor (M1, 16) X(0,0)<1> X(0,0)<1;1,0> N(0,0)<1;1,0>
both:
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> 1:d
ret (M1, 16)
other:
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d
cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:d
(P1) call (M1, 16) even
add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 13:ud
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> 1:d
ret (M1, 16)
"""
)


def even(n, x, other):
    """The value of x of a lane after n nested calls and their returns."""
    n -= 1
    if x & 1:
        x = x + 7 & WORD
        x = even(n, x, other) if n > 0 else x
        return (x ^ n) & WORD
    if n > 0:
        x = others(n, x, other) if other == "other" else even(n, x, other)
    return x * 3 & WORD


def others(n, x, other):
    x = even(n - 1, x, other) if n > 1 else x
    return x + 13 & WORD


def text(other="other", first="(P1) call (M1, 16) even", barrier=""):
    return TEXT.replace("OTHER", other).replace("FIRST", first).replace("BARRIER\n", barrier)


@CHECKED
@given(
    st.lists(st.integers(0, 9), min_size=16, max_size=16),
    st.lists(st.integers(0, WORD), min_size=16, max_size=16),
    st.sampled_from(["even", "other"]),
)
def test_each_lane_to_its_depth(depths, values, other):
    found = Program(build_text(text(other)))
    wanted = [even(n, x, other) if n > 0 else x for n, x in zip(depths, values, strict=True)]
    for engine in ENGINES:
        memory = np.array([depths, values], "u4")
        assert found.launch("k", 16, 16, [memory], engine=engine).engine == engine
        assert memory[1].tolist() == wanted, engine


@pytest.mark.parametrize("schedule", ["", "reverse", "round-robin"])
def test_with_barriers_between(schedule):
    """Threads of one group, and what waits in subroutines while others are further down."""
    found = Program(build_text(text(barrier="barrier\n")))
    results = []
    for engine in ENGINES:
        memory = np.array([[3] * 16, list(range(0, 32, 2))], "u4")
        assert found.launch("k", 32, 32, [memory], engine=engine, schedule=schedule).engine == engine
        results.append(memory.tolist())
    assert results[0] == results[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_as_deep_as_calls_may_be(engine, monkeypatch):
    """A thousand; the next one is a fault. Lanes that never call do no harm, and the call of no lane at the end of the
    thousand has a frame."""
    monkeypatch.setenv("VISAKIT_GUARD", "1")
    found, memory = Program(build_text(text("even"))), np.zeros((2, 16), "u4")
    memory[0, 3] = 1000
    found.launch("k", 16, 16, [memory], engine=engine)
    memory[0, 3] = 1001
    with pytest.raises(SimulationError, match=r"calls are nested more than 1000 deep.*\[S030\]") as caught:
        found.launch("k", 16, 16, [memory], engine=engine)
    assert "call" in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_depth_is_that_of_nesting(engine):
    """Two calls one behind the other, each 600 deep."""
    memory = np.array([[600] * 16, range(16)], "u4")
    again = "(P1) call (M1, 16) even\ncmp.gt (M1, 16) P1 N(0,0)<1;1,0> 0:d\n"
    Program(build_text(text("even", again * 2))).launch("k", 16, 16, [memory], engine=engine)
    assert memory[1].tolist() == [even(600, even(600, x, "even"), "even") for x in range(16)]
