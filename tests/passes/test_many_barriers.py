"""Kernels with many barriers: what lanes, loops and the other threads leave there."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program

MANY_BARRIERS = 32
HEAD = (
    kernel_head("OUT=uq AT=uq TID=ud X=d*16 Y=d*16 N=d*16 PLACE=ud*16 P1=P*16 P2=P*16", "OUT", SimdSize=16, SLMSize=4)
    + """mov (M1_NM, 1) TID(0,0)<1> %thread_x(0,0)<0;1,0>
mul (M1_NM, 1) TID(0,0)<1> TID(0,0)<0;1,0> 0x40:ud
add (M1_NM, 1) AT(0,0)<1> OUT(0,0)<0;1,0> TID(0,0)<0;1,0>
svm_block_ld (4) AT(0,0)<0;1,0> X.0
mov (M1, 16) Y(0,0)<1> 0x1:d
mov (M1_NM, 8) PLACE(0,0)<1> 0x76543210:uv
add (M3_NM, 8) PLACE(1,0)<1> PLACE(0,0)<1;1,0> 0x8:ud
"""
)
TAIL = """xor (M1, 16) X(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>
svm_block_st (4) AT(0,0)<0;1,0> X.0
ret (M1, 1)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_values_live_across_many_barriers(engine):
    count = MANY_BARRIERS + 7
    lines = []
    for n in range(count):
        lines += [
            f"mad (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> X(0,0)<1;1,0> {n:#x}:d",
            f"cmp.gt (M1, 16) P1 Y(0,0)<1;1,0> {n * 1000:#x}:d",
            "barrier",
            "(P1) add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
        ]
    values = np.arange(64, dtype="i4") * 7 - 100
    x, y = values.copy(), np.ones(64, "i4")
    with np.errstate(over="ignore"):
        for n in range(count):
            y = y * x + np.int32(n)
            x = np.where(y > n * 1000, x + y, x)
    Program(build_text(HEAD + "\n".join(lines) + "\n" + TAIL)).launch("k", 64, 64, [values], engine=engine)
    assert (values == x ^ y).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_loops_around_many_barriers(engine):
    """Threads of a group go round a loop as often as the first lane says, which is the same in all of them."""
    body = ["add (M1, 16) Y(0,0)<1> Y(0,0)<1;1,0> X(0,0)<1;1,0>", "barrier"] * (MANY_BARRIERS + 1)
    lines = ["mov (M1, 16) N(0,0)<1> 0x0:d", "AGAIN:", *body, "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> 0x1:d"]
    lines += ["cmp.lt (M1, 16) P2 N(0,0)<1;1,0> 0x3:d", "(P2) goto (M1, 16) AGAIN"]
    values = np.arange(64, dtype="i4")
    expected = values ^ (1 + 3 * (MANY_BARRIERS + 1) * values)
    Program(build_text(HEAD + "\n".join(lines) + "\n" + TAIL)).launch("k", 64, 64, [values], engine=engine)
    assert (values == expected).all()


NEIGHBOURS = """and (M1_NM, 1) TID(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud
mul (M1_NM, 1) TID(0,0)<1> TID(0,0)<0;1,0> 0x40:ud
shl (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 2:ud
add (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> TID(0,0)<0;1,0>
scatter_scaled.4 (M1, 16) %slm 0:ud PLACE.0 X.0
barrier
xor (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 0x4:ud
gather_scaled.4 (M1, 16) %slm 0:ud PLACE.0 Y.0
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_of_one_thread_do_not_wait(engine):
    """Launches of one program with groups of one thread and of several: the code of one is not taken for the other."""
    program = Program(build_text(HEAD + NEIGHBOURS + TAIL))
    for local in (16, 64, 32, 16):
        values = np.arange(64, dtype="i4") * 5
        expected = values ^ values.reshape(-1, 2)[:, ::-1].reshape(-1)
        program.launch("k", 64, local, [values], engine=engine)
        assert (values == expected).all(), local


@pytest.mark.parametrize(("local", "waits"), [(16, False), (32, True), (64, True)])
def test_only_threads_that_are_not_alone_are_coroutines(local, waits):
    program = Program(build_text(HEAD + NEIGHBOURS + TAIL))
    dispatch = program.bind(Launch("k", (64,), (local,), args=[np.zeros(64, "i4")]))
    assert ("llvm.coro.suspend" in translate(dispatch, full=False).text) is waits
