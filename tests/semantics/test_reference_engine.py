"""Corners of the reference engine that generated programs hardly reach, on both engines: narrowed loops, inputs and predefined registers that only
indirect operands or callees see."""

import gc

import numpy as np
import pytest
from support.programs import build_text, kernel_head

from vsim.launch.launch import BufferArgument, Launch, ScalarArgument
from vsim.program import Program
from vsim.semantics import SEMANTICS

ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])
HEAD = (
    kernel_head("OUT=uq AT=uq*8 LANE=uw*8 GIVEN=ud*8 N=ud*8 X=ud*8 EIGHTH=ud QUARTER=ud A0=A P1=P*8 P2=P*8", "OUT")
    + """.input GIVEN offset=96 size=32
.kernel_attr SimdSize=8
mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
mov (M1, 8) X(0,0)<1> 0:ud
mov (M1, 8) N(0,0)<1> 0:ud
"""
)
STORE = """
mad (M1, 8) N(0,0)<1> %group_id_x(0,0)<0;1,0> 8:uw LANE(0,0)<1;1,0>
mul (M1, 8) AT(0,0)<1> N(0,0)<1;1,0> 4:uw
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 8) AT.0 X.0
ret (M1, 1)
"""


def run(lines, engine, groups=1, given=()):
    """X of the lanes of all groups, groups x 8."""
    out = np.zeros(8 * groups, "u4")
    values = np.zeros(8, "u4")
    values[: len(given)] = given
    before, _, after = lines.partition("---\n")
    program = Program(build_text(HEAD + before + STORE + after))
    program.run(
        Launch("k", (8 * groups,), (8,), args=[BufferArgument(out), ScalarArgument(values.tobytes())]), engine=engine
    )
    return out.reshape(groups, 8)


LOOP = """and (M1, 1) EIGHTH(0,0)<1> %group_id_x(0,0)<0;1,0> 7:ud
and (M1, 1) QUARTER(0,0)<1> %group_id_x(0,0)<0;1,0> 3:ud
again:
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 1:ud
cmp.eq (M1, 8) P1 N(0,0)<1;1,0> 3:ud
cmp.eq (M1, 8) P2 EIGHTH(0,0)<0;1,0> 1:ud
and (M1, 8) P1 P1 P2
(P1) goto (M1, 8) behind
cmp.lt (M1, 8) P1 N(0,0)<1;1,0> 5:ud
cmp.ne (M1, 8) P2 QUARTER(0,0)<0;1,0> 0:ud
and (M1, 8) P1 P1 P2
(P1) goto (M1, 8) again
add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 100:ud
barrier
behind:
add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> N(0,0)<1;1,0>"""


@ENGINES
def test_a_narrowed_loop_ends_behind_its_jump(engine):
    """A quarter of the threads leave the loop after one round; some jump far behind it, the rest leave together."""
    expected = np.array([101, 3, 105, 105, 101, 105, 105, 105])[np.arange(64) & 7]
    assert (run(LOOP, engine, groups=64) == expected[:, None]).all()


BACK = """and (M1, 1) EIGHTH(0,0)<1> %group_id_x(0,0)<0;1,0> 7:ud
cmp.eq (M1, 8) P2 EIGHTH(0,0)<0;1,0> 1:ud
before:
fcall (M1, 8) f 0 1
add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> %retval(0,0)<1;1,0>
again:
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> 1:ud
cmp.eq (M1, 8) P1 N(0,0)<1;1,0> 3:ud
and (M1, 8) P1 P1 P2
(P1) goto (M1, 8) before
cmp.lt (M1, 8) P1 N(0,0)<1;1,0> 5:ud
and (M1, 8) P1 P1 P2
(P1) goto (M1, 8) again
add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> N(0,0)<1;1,0>
---
.global_function "f"
.kernel_attr SimdSize=8
.kernel_attr Extern
.kernel_attr RetValSize=1
mov (M1, 8) %retval(0,0)<1> 100:ud
fret (M1, 8)
"""


@ENGINES
def test_a_loop_with_a_way_back_in_front_of_it_is_not_narrowed(engine):
    """An eighth of the threads stay in the loop, and go from there to a call in front of it."""
    expected = np.where(np.arange(64) & 7 == 1, 205, 101)
    assert (run(BACK, engine, groups=64) == expected[:, None]).all()


@ENGINES
def test_an_input_that_only_its_address_names(engine):
    given = np.arange(8) * 7 + 1
    found = run("mov (M1, 1) A0(0)<1> &GIVEN\nmov (M1, 8) X(0,0)<1> r[A0(0),0]<8;8,1>:ud", engine, given=given)
    assert (found == given).all()


def test_instructions_that_never_execute_are_not_prepared(monkeypatch):
    """Kernels of libraries are long, and a launch takes one way through them."""
    made, plain = [], SEMANTICS["bfrev"]
    monkeypatch.setitem(SEMANTICS, "bfrev", lambda m, i: made.append(m.prepared.here) or plain(m, i))
    lines = (
        "cmp.eq (M1, 8) P1 %group_id_x(0,0)<0;1,0> {}:ud\n(P1) goto (M1, 8) over\nbfrev (M1, 8) X(0,0)<1> 1:ud\nover:"
    )
    assert not run(lines.format(0), "numpy").any() and not made
    assert (run(lines.format(1), "numpy") == 1 << 31).all() and made == [5]


def test_a_launch_leaves_no_circles():
    """Registers are megabytes, and looking for circles takes a tenth of a second in a large program."""
    program = Program(build_text(HEAD + LOOP + STORE))
    launch = Launch("k", (64,), (8,), args=[BufferArgument(np.zeros(64, "u4")), ScalarArgument(bytes(32))])
    program.run(launch, engine="numpy")
    gc.collect()
    program.run(launch, engine="numpy")
    assert gc.collect() < 30


CALLEE = """fcall (M1, 8) f 0 1
mov (M1, 8) X(0,0)<1> %retval(0,0)<1;1,0>
---
.global_function "f"
.kernel_attr SimdSize=8
.kernel_attr Extern
.kernel_attr RetValSize=1
mov (M1, 8) %retval(0,0)<1> REGISTER(0,0)<0;1,0>
fret (M1, 8)
"""


@ENGINES
@pytest.mark.parametrize("register", ["%thread_x", "%group_id_x"])
def test_predefined_registers_in_a_callee(register, engine):
    found = run(CALLEE.replace("REGISTER", register), engine, groups=4)
    assert (found == np.arange(4)[:, None]).all()


@ENGINES
def test_predefined_registers_behind_addresses_are_those_of_the_group_in_every_batch(engine, monkeypatch):
    """Groups run one after the other, and none finds the header of the one before."""
    monkeypatch.setattr("vsim.engines.numpy.engine.TURN_THREADS", 1)
    groups, out = 4, np.zeros(32, np.uint32)
    lines = "addr_add (M1, 1) A0(0)<1> &%r0 4:uw\nadd (M1, 8) X(0,0)<1> X(0,0)<1;1,0> r[A0(0),0]<0;1,0>:ud"
    Program(build_text(HEAD + lines + STORE)).launch("k", 8 * groups, 8, [out, np.zeros(8, np.uint32)], engine=engine)
    assert out.tolist() == np.repeat(np.arange(groups), 8).tolist()
