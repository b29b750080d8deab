"""Random commands, right and wrong: each is done, or refused with a message; the debugger never fails."""

import gc
import random
import weakref

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import FUZZ

from vsim.debug import Session
from vsim.debug.console import TABLE, Console
from vsim.launch.launch import Launch
from vsim.program import Program

TEXT = (
    kernel_head("Y=uq@qword N=d*8 A=uq*8 P=P*8", "Y", SimdSize=8, SLMSize=1)
    + """mov (M1, 8) N(0,0)<1> 0x76543210:uv
more:
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> -1:d
cmp.gt (M1, 8) P N(0,0)<1;1,0> 0:d
(P) goto (M1, 8) more
barrier
call (M1, 8) double
mov (M1, 8) A(0,0)<1> Y(0,0)<0;1,0>
svm_scatter.4.1 (M1, 8) A.0 N.0
ret (M1, 1)
double:
add (M1, 8) N(0,0)<1> N(0,0)<1;1,0> N(0,0)<1;1,0>
ret (M1, 8)
"""
)
WORDS = [
    "N",
    "A",
    "P",
    "Y",
    "Y[3]",
    "Y[3]@8",
    "N(0,1)<8;8,1>",
    "$lane",
    "$item_x",
    "$group",
    "slm[0]",
    "slm:f[0]@2",
    "scratch",
    "%r0",
    "%arg",
    "N+A",
    "N[3]",
    "$time",
    "(",
    "1",
    "0x10",
    "3.5",
    "more",
    "double",
    "*5",
    "*k+3",
    "19",
    "k",
    "0.1:3",
    "1.*",
    ":5",
    "*",
    "[0-3]",
    "=",
    "$a",
    "$",
    "$1",
    "check",
    "barrier",
    "call",
    "launch",
    "fault",
    "2",
    "7",
    "-1",
    "all",
    "threads",
    "lanes",
    "groups",
    "registers",
    "locals",
    "args",
    "slm",
    "buffers",
    "time",
    "breakpoints",
    "predicates",
    "line",
    "display",
    "functions",
    "{",
    "@",
    "T:ub",
    "N:f",
    "(" * 400,
    "9" * 5000,
    "Y[0]@99999999999",
]
PHRASES = [
    "N ==",
    "thread 0.1",
    "if N > 3",
    "N(0,2) = 5",
    "P = 1",
    "Y[2] = 7",
    "$a = N",
    "apply 0.* print N",
    '1, "{N}"',
]


@pytest.mark.parametrize("seed", range(40 if FUZZ else 3))
def test_random_commands(seed):
    session = weakref.ref(commanded(random.Random(seed)))
    gc.collect()
    assert session() is None  # Nothing keeps a session.


def commanded(choose):
    """A session that had random commands, and still answers."""
    program, array = Program(build_text(TEXT)), np.zeros(32, "i4")
    launches = [Launch("k", (size,), (16,), (0, 0, 0), program.convert("k", [array])) for size in (32, 16)]
    shown = []
    console = Console(Session(program, launches, check=choose.choice(("", "", "undefined"))), shown.append)
    commands = sorted(set(TABLE) - {"quit", "detach", "source", "commands"})
    for _ in range(250):
        words = [choose.choice((*WORDS, *PHRASES)) for _ in range(choose.choice((0, 0, 1, 1, 1, 2, 3)))]
        line = " ".join([choose.choice(commands) + choose.choice(("", "", "", "/x", "/4xw", "/q")), *words])
        console.run(line)
        console.complete(line[: choose.randrange(1, len(line) + 1)])
    assert any("error:" in text for text in shown)
    console.run("print 1 + 1")
    assert shown[-1].endswith(" = 2")
    return console.session
