"""Loops in which threads wait for what others write: of the same group and of other ones, in every order."""

import re

import numpy as np
import pytest
from support.programs import build_text, kernel_head

from visakit import SimulationError
from vsim.analysis.spin_loops import spins
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import Launch
from vsim.program import Program

ORDERS = ("", "reverse", "random:3", "round-robin")
ENGINES = pytest.mark.parametrize("engine", ["llvm", "numpy"])

RELAY = (
    kernel_head(
        "FLAG=uq OUT=uq THREADS=ud TURN=ud TIMES=ud ROUND=ud LANE=uw*8 AT=uq*8 X=ud*8 SEEN=ud*8 OLD=ud*8 NEW=ud*8 ZERO=ud*8 P1=P*8 P2=P*8",
        "FLAG OUT THREADS",
        name="relay",
        SimdSize=8,
    )
    + """mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
mad (M1, 8) X(0,0)<1> %thread_x(0,0)<0;1,0> 8:uw LANE(0,0)<1;1,0>
mov (M1, 8) AT(0,0)<1> FLAG(0,0)<0;1,0>
mov (M1, 8) ZERO(0,0)<1> 0:ud
mov (M1_NM, 1) TIMES(0,0)<1> 0:ud
mov (M1_NM, 1) ROUND(0,0)<1> 0:ud
add (M1_NM, 1) TURN(0,0)<1> THREADS(0,0)<0;1,0> -1:d
add (M1_NM, 1) TURN(0,0)<1> TURN(0,0)<0;1,0> (-)%thread_x(0,0)<0;1,0>
WAIT
cmp.eq (M1, 8) P2 LANE(0,0)<1;1,0> 0:uw
(!P2) goto (M1, 8) over
svm_atomic.inc (M1, 8) AT.0 OLD.0 %null.0 %null.0
over:
shl (M1, 8) AT(0,0)<1> X(0,0)<1;1,0> 2:ud
add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
mov (M1, 8) SEEN(0,0)<1> TURN(0,0)<0;1,0>
svm_scatter.4.1 (M1, 8) AT.0 SEEN.0
ret (M1, 1)
"""
)
LOAD, ATOMIC = "svm_gather.4.1 (M1, 8) AT.0 SEEN.0", "svm_atomic.or (M1, 8) AT.0 SEEN.0 ZERO.0 %null.0"
TEST = "cmp.ne (M1, 8) P1 SEEN(0,0)<1;1,0> TURN(0,0)<0;1,0>"
BACK = "(P1) goto (M1, 8) again"
COUNT = "add (M1_NM, 1) TIMES(0,0)<1> TIMES(0,0)<0;1,0> 1:ud"
WAITS = {
    "load": [LOAD, TEST, BACK],
    "atomic": [ATOMIC, TEST, BACK],
    "scalar jump": [LOAD, TEST, "(P1.any) jmp (M1, 1) again"],
    "left in the middle": [LOAD, TEST, "(!P1) goto (M1, 8) out", COUNT, "jmp (M1, 1) again", "out:"],
    "with a copy of the address": ["mov (M1, 8) AT(0,0)<1> FLAG(0,0)<0;1,0>", LOAD, TEST, BACK],
    "counts its rounds": [LOAD, COUNT, TEST, BACK],
    "loads its own address": [
        "svm_gather.8.1 (M1, 8) OUTSIDE.0 AT.0", LOAD, TEST, BACK,
    ],
}  # fmt: skip
OTHERS = {
    "counts": [COUNT, "cmp.lt (M1, 8) P1 TIMES(0,0)<0;1,0> 9:ud", BACK],
    "counts in memory": ["svm_atomic.inc (M1, 8) AT.0 %null.0 %null.0 %null.0", COUNT, "cmp.lt (M1, 8) P1 TIMES(0,0)<0;1,0> 9:ud", BACK],
    "moves through memory": [LOAD, "add (M1, 8) AT(0,0)<1> AT(0,0)<1;1,0> 4:ud", TEST, BACK],
    "stores": [LOAD, "svm_scatter.4.1 (M1, 8) AT.0 ZERO.0", TEST, BACK],
    "adds to the old value": [LOAD, "add (M1, 8) NEW(0,0)<1> SEEN(0,0)<1;1,0> 1:ud", "svm_atomic.cmpxchg (M1, 8) AT.0 OLD.0 SEEN.0 NEW.0",
                              "cmp.ne (M1, 8) P1 OLD(0,0)<1;1,0> SEEN(0,0)<1;1,0>", BACK],
    "tries again with the old value": ["add (M1, 8) NEW(0,0)<1> SEEN(0,0)<1;1,0> 1:ud", "mov (M1, 8) OLD(0,0)<1> SEEN(0,0)<1;1,0>",
                                       "svm_atomic.cmpxchg (M1, 8) AT.0 SEEN.0 OLD.0 NEW.0", "cmp.ne (M1, 8) P1 OLD(0,0)<1;1,0> SEEN(0,0)<1;1,0>", BACK],
    "follows pointers": ["svm_gather.8.1 (M1, 8) AT.0 AT.0", LOAD, TEST, BACK],
    "has a barrier": [LOAD, "barrier", TEST, BACK],
}  # fmt: skip


def relay(lines):
    return RELAY.replace("WAIT", "\n".join(["again:", *lines]))


def run(text, engine, groups=6, threads=4, **options):
    """The turns of all work-items; the flag counts the turns of threads, the last of which goes first."""
    flag, out = np.zeros(16, "u4"), np.zeros(groups * threads * 8, "u4")
    size = groups * threads * 8
    Program(build_text(text)).launch(
        "relay", size, threads * 8, [flag, out, np.uint32(groups * threads)], engine=engine, max_seconds=10, **options
    )
    assert flag[0] == groups * threads
    return out


@ENGINES
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", [k for k in WAITS if k != "loads its own address"])
def test_the_last_thread_goes_first(kind, order, engine):
    turns = np.repeat(np.arange(24)[::-1], 8)
    assert (run(relay(WAITS[kind]), engine, schedule=order) == turns).all()


@pytest.mark.parametrize("kind", WAITS)
def test_waits(kind):
    assert spins(build_text(relay(WAITS[kind]).replace("OUTSIDE", "X")).module.kernels[0], 32)


@pytest.mark.parametrize("kind", OTHERS)
def test_does_not_only_wait(kind):
    assert not spins(build_text(relay(OTHERS[kind])).module.kernels[0], 32)


@pytest.mark.parametrize(("lines", "locked"), [(OTHERS["adds to the old value"], False), (WAITS["atomic"], True)])
def test_only_kernels_that_wait_have_locked_atomics(lines, locked):
    """One worker runs both kernels, for the order of their results; the program may write the memory on which one waits."""
    arguments = [np.zeros(16, "u4"), np.zeros(64, "u4"), np.uint32(8)]
    dispatch = Program(build_text(relay(lines))).bind(Launch("relay", (64,), (32,), args=arguments))
    calls = re.findall(r"call .*@(lanes_(?:inc|or|cmpxchg)\w*)\(", translate(dispatch, full=True).text)
    assert calls and all(name.endswith("_rare") for name in calls) != locked


@ENGINES
def test_in_a_subroutine(engine):
    text = relay([]).replace("again:", "call (M1, 8) wait") + "\n".join(
        ["wait:", "again:", *WAITS["load"], "ret (M1, 8)"]
    )
    run(text, engine)


@ENGINES
def test_in_a_function(engine):
    body = "\n".join(["again:", *WAITS["atomic"]])
    for old, new in (("AT.0", "PLACE.0"), ("TURN(0,0)", "WANTED(0,0)")):
        body = body.replace(old, new)
    text = relay(
        ["mov (M1, 8) A0(0,0)<1> AT(0,0)<1;1,0>", "mov (M1_NM, 1) A1(0,0)<1> TURN(0,0)<0;1,0>", "fcall (M1, 8) wait 3 0"]
    ).replace(".decl P1 ", ".decl A0 v_type=G type=uq num_elts=8 align=GRF alias=<%arg, 0>\n"
              ".decl A1 v_type=G type=ud num_elts=8 align=GRF alias=<%arg, 64>\n.decl P1 ")  # fmt: skip
    text += f""".global_function "wait"
.decl PLACE v_type=G type=uq num_elts=8 align=GRF alias=<%arg, 0>
.decl WANTED v_type=G type=ud num_elts=8 align=GRF alias=<%arg, 64>
.decl SEEN v_type=G type=ud num_elts=8 align=GRF
.decl ZERO v_type=G type=ud num_elts=8 align=GRF
.decl P1 v_type=P num_elts=8
.kernel_attr SimdSize=8
.kernel_attr Extern
.kernel_attr ArgSize=3
.kernel_attr RetValSize=0
mov (M1, 8) ZERO(0,0)<1> 0:ud
{body}
fret (M1, 8)
"""
    run(text, engine)


@ENGINES
def test_lanes_of_a_thread_wait_for_other_threads_at_different_times(engine):
    """Half the lanes wait; the others have continued, and arrive at the next place first."""
    lines = ["cmp.lt (M1, 8) P2 LANE(0,0)<1;1,0> 4:uw", "(P2) goto (M1, 8) behind", "again:", *WAITS["load"], "behind:"]
    text = RELAY.replace("WAIT", "\n".join(lines)).replace("LANE(0,0)<1;1,0> 0:uw", "LANE(0,0)<1;1,0> 7:uw")
    run(text, engine)


@ENGINES
def test_a_wait_without_a_writer_ends_by_the_limit_of_time(engine):
    """Nobody writes that: the limit of time ends it, and says where the threads are."""
    lines = [LOAD, TEST.replace("TURN(0,0)<0;1,0>", "-1:d"), BACK]
    with pytest.raises(SimulationError, match="did not end within"):
        Program(build_text(relay(lines))).launch(
            "relay", 16, 16, [np.zeros(16, "u4"), np.zeros(16, "u4"), np.uint32(2)], engine=engine, max_seconds=0.3
        )


@ENGINES
def test_findings_in_kernels_that_spin(engine):
    """Atomics order what threads do; without them they race."""
    for kind, codes in (("atomic", set()), ("load", {"K001", "K003"})):
        program = Program(build_text(relay(WAITS[kind])))
        arrays = [np.zeros(16, "u4"), np.zeros(192, "u4"), np.uint32(24)]
        found = program.launch("relay", 192, 32, arrays, engine=engine, check="race").findings
        assert {f.code for f in found} == codes, kind
