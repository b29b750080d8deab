"""Control flow against an interpreter that runs each lane alone: structured and unstructured programs, calls, recursion, barriers."""

import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probe import LANES, Probe
from support.programs import LANE_NUMBERS, build_text, kernel_head
from support.strategies import CHECKED, ENGINES, RUNNING, WORD, effort, flow_programs, words

from vsim.program import Program

OPS = {
    "add": lambda x, k: x + k,
    "xor": lambda x, k: x ^ k,
    "mul": lambda x, k: x * k,
    "or": lambda x, k: x | k,
    "and": lambda x, k: x & ~k,
}


class Leave(Exception):
    """A lane leaves the body that it runs."""


# -- one lane --------------------------------------------------------------------------------------------------


def holds(condition, x):
    shift, limit = condition
    return (x >> shift & 3) < limit


def recursion(x):
    return (recursion(x - 1) * 3 ^ x) & WORD if x & 7 else x + 5 & WORD


class Lane:
    def __init__(self, x, bodies):
        self.x, self.bodies = x, bodies

    def body(self, found):
        with contextlib.suppress(Leave):
            self.run(found)

    def run(self, found):
        for kind, *rest in found:
            getattr(self, f"_{kind}")(*rest)

    def _op(self, name, k):
        self.x = OPS[name](self.x, k) & WORD

    def _early(self, condition):
        if holds(condition, self.x):
            raise Leave

    def _if(self, condition, then, otherwise):
        self.run(then if holds(condition, self.x) else otherwise)

    def _loop(self, depth, shift, found):
        """Once more than two bits of x at the beginning say."""
        for _ in range((self.x >> shift & 3) + 1):
            self.run(found)

    def _switch(self, index, cases):
        for case in cases[index:] if index < len(cases) else ():
            self.run(case)

    def _skip(self, found):
        pass

    def _call(self, condition, number):
        if holds(condition, self.x):
            self.body(self.bodies[number])

    _fcall = _ifcall = _call

    def _rec(self, condition, number):
        if holds(condition, self.x):
            self.x = recursion(self.x)

    def _tangle(self, blocks):
        at, fuel = 0, 6
        while at < len(blocks) and fuel:
            fuel -= 1
            ops, condition, target, always = blocks[at]
            self.run(ops)
            at = (
                target % len(blocks) if holds(condition, self.x) else at + 1 if always is None else always % len(blocks)
            )


# -- the same as vISA ------------------------------------------------------------------------------------------


class Writer:
    """Lines for statements. ``leave`` are the lines of an early return."""

    def __init__(self, leave, kind, numbers):
        self.leave, self.kind, self.numbers = leave, kind, numbers

    def label(self, stem):
        return f"{stem}_{self.kind}_{next(self.numbers)}"

    def condition(self, condition, predicate="P1"):
        shift, limit = condition
        return [f"shr (M1, 16) T(0,0)<1> X(0,0)<1;1,0> {shift}:ud", "and (M1, 16) T(0,0)<1> T(0,0)<1;1,0> 3:ud",
                f"cmp.lt (M1, 16) {predicate} T(0,0)<1;1,0> {limit}:ud"]  # fmt: skip

    def lines(self, found):
        return [line for kind, *rest in found for line in getattr(self, f"_{kind}")(*rest)]

    def _op(self, name, k):
        return [f"{name} (M1, 16) X(0,0)<1> X(0,0)<1;1,0> {(~k & WORD if name == 'and' else k):#x}:ud"]

    def _early(self, condition):
        result = ["mov (M1, 16) RESULT(0,0)<1> X(0,0)<1;1,0>"] if "fret" in self.leave else []
        return [*self.condition(condition), *result, f"(P1) {self.leave}"]

    def _if(self, condition, then, otherwise):
        other, end = self.label("else"), self.label("end")
        return [
            *self.condition(condition),
            f"(!P1) goto (M1, 16) {other}",
            *self.lines(then),
            f"goto (M1, 16) {end}",
            f"{other}:",
            *self.lines(otherwise),
            f"{end}:",
        ]

    def _loop(self, depth, shift, found):
        start, counter = self.label("loop"), f"COUNTER_{depth}"
        return [f"shr (M1, 16) {counter}(0,0)<1> X(0,0)<1;1,0> {shift}:ud", f"and (M1, 16) {counter}(0,0)<1> {counter}(0,0)<1;1,0> 3:ud", f"{start}:",
                *self.lines(found), f"cmp.gt (M1, 16) P1 {counter}(0,0)<1;1,0> 0:ud", f"add (M1, 16) {counter}(0,0)<1> {counter}(0,0)<1;1,0> -1:d",
                f"(P1) goto (M1, 16) {start}"]  # fmt: skip

    def _switch(self, index, cases):
        names, end = [self.label("case") for _ in cases], self.label("end")
        lines = [
            f"mov (M1_NM, 1) INDEX(0,0)<1> {index}:ud",
            f"switchjmp (M1, 1) INDEX(0,0)<0;1,0> ({', '.join(names)})",
            f"jmp (M1, 1) {end}",
        ]
        return [
            *lines,
            *(line for n, case in zip(names, cases, strict=True) for line in (f"{n}:", *self.lines(case))),
            f"{end}:",
        ]

    def _skip(self, found):
        end = self.label("over")
        return [f"jmp (M1, 1) {end}", *self.lines(found), f"{end}:"]

    def _call(self, condition, number):
        return (
            [*self.condition(condition), f"(P1) call (M1, 16) sub_{number}"]
            if self.kind != "f"
            else self._fcall(condition, number)
        )

    def _called(self, condition, name, indirect):
        address = [f"faddr {name} ADDRESS(0,0)<1>"] if indirect else []
        call = "ifcall (M1, 16) ADDRESS(0,0)<0;1,0> 2 2" if indirect else f"fcall (M1, 16) {name} 2 2"
        return [
            *self.condition(condition, "P2"),
            *address,
            "mov (M1, 16) ARG(0,0)<1> X(0,0)<1;1,0>",
            f"(P2) {call}",
            "(P2) mov (M1, 16) X(0,0)<1> RESULT(0,0)<1;1,0>",
        ]

    def _fcall(self, condition, number):
        return self._called(condition, f"f{number}", False)

    def _ifcall(self, condition, number):
        return self._called(condition, f"f{number}", True)

    def _rec(self, condition, number):
        return self._called(condition, "recursion", False)

    def _tangle(self, blocks):
        names, end = [self.label("block") for _ in blocks], self.label("out")
        lines = ["mov (M1, 16) FUEL(0,0)<1> 6:ud"]
        for n, (ops, condition, target, always) in enumerate(blocks):
            lines += [f"{names[n]}:", "cmp.eq (M1, 16) P1 FUEL(0,0)<1;1,0> 0:ud", f"(P1) goto (M1, 16) {end}", "add (M1, 16) FUEL(0,0)<1> FUEL(0,0)<1;1,0> -1:d",
                      *self.lines(ops), *self.condition(condition), f"(P1) goto (M1, 16) {names[target % len(blocks)]}"]  # fmt: skip
            lines += [] if always is None else [f"goto (M1, 16) {names[always % len(blocks)]}"]
        return [*lines, f"{end}:"]


VARIABLES = [f".decl {n} v_type=G type=ud num_elts=16 align=GRF" for n in ("T", "COUNTER_1", "COUNTER_2", "FUEL")]
VARIABLES += [".decl INDEX v_type=G type=ud num_elts=1", ".decl ADDRESS v_type=G type=ud num_elts=1", ".decl P1 v_type=P num_elts=16", ".decl P2 v_type=P num_elts=16",
              ".decl ARG v_type=G type=ud num_elts=16 align=GRF alias=<%arg, 0>", ".decl RESULT v_type=G type=ud num_elts=16 align=GRF alias=<%retval, 0>"]  # fmt: skip
RECURSION = ["and (M1, 16) T(0,0)<1> X(0,0)<1;1,0> 7:ud", "cmp.ne (M1, 16) P1 T(0,0)<1;1,0> 0:ud", "add (M1, 16) RESULT(0,0)<1> X(0,0)<1;1,0> 5:ud",
             "(!P1) goto (M1, 16) done", "add (M1, 16) ARG(0,0)<1> X(0,0)<1;1,0> -1:d", "fcall (M1, 16) recursion 2 2",
             "mul (M1, 16) RESULT(0,0)<1> RESULT(0,0)<1;1,0> 3:ud", "xor (M1, 16) RESULT(0,0)<1> RESULT(0,0)<1;1,0> X(0,0)<1;1,0>", "done:"]  # fmt: skip


def function(name, lines):
    head = [f'.global_function "{name}"', ".decl X v_type=G type=ud num_elts=16 align=GRF", *VARIABLES, ".kernel_attr SimdSize=16", ".kernel_attr Extern",
            ".kernel_attr ArgSize=2", ".kernel_attr RetValSize=2", "mov (M1, 16) X(0,0)<1> ARG(0,0)<1;1,0>"]  # fmt: skip
    return [*head, *lines, "fret (M1, 16)"]


@effort(10, 0.8, shrink=False)
@given(flow_programs, st.lists(words, min_size=LANES, max_size=LANES), RUNNING)
def test_programs(program, x, running):
    main, bodies = program
    numbers = itertools.count()
    probe = Probe(running=running)
    probe.variable("X", "ud", x)
    probe.declarations += VARIABLES
    probe.lines += Writer("goto (M1, 16) behind", "main", numbers).lines(main)
    for n, body in enumerate(bodies):
        probe.subroutines += [f"sub_{n}:", *Writer("ret (M1, 16)", "sub", numbers).lines(body), "ret (M1, 16)"]
        lines = Writer("fret (M1, 16)", "f", numbers).lines(body)
        probe.functions += function(f"f{n}", [*lines, "mov (M1, 16) RESULT(0,0)<1> X(0,0)<1;1,0>"])
    probe.functions += function("recursion", RECURSION)
    wanted = list(x)
    for i in range(LANES):
        if running >> i & 1:
            lane = Lane(x[i], bodies)
            lane.body(main)
            wanted[i] = lane.x
    for engine in ENGINES:
        assert probe.run(engine)["X"][:LANES].tolist() == wanted, engine


# -- across threads --------------------------------------------------------------------------------------------

GROUP = (
    kernel_head("OUT=uq LANE=uw*16 ID=ud*16 TO=ud*16 X=ud*16 AT=uq*16 NUMBER=ud P1=P*16", "OUT", SimdSize=16, SLMSize=4)
    + LANE_NUMBERS
    + """and (M1_NM, 1) NUMBER(0,0)<1> %r0(0,2)<0;1,0> 0xff:ud
mad (M1, 16) ID(0,0)<1> NUMBER(0,0)<0;1,0> 16:uw LANE(0,0)<1;1,0>
shl (M1, 16) TO(0,0)<1> ID(0,0)<1;1,0> 2:ud
mul (M1, 16) X(0,0)<1> ID(0,0)<1;1,0> 7:ud
WORK
mul (M1, 16) AT(0,0)<1> ID(0,0)<1;1,0> 4:uw
add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 16) AT.0 X.0
ret (M1, 1)
"""
)
WRITE, READ = "scatter_scaled.4 (M1, 16) %slm 0:ud TO.0 X.0", "gather_scaled.4 (M1, 16) %slm 0:ud TO.0 X.0"
TURN = "xor (M1, 16) TO(0,0)<1> TO(0,0)<1;1,0> 0xfc:ud"
ROUND = "\n".join([READ, "add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 1:ud"])


def group(work, engine, platform="xehp", schedule=None):
    out = np.zeros(64, "u4")
    program = Program(build_text(GROUP.replace("WORK", "\n".join(work)), platform))
    program.launch("k", 64, 64, [out], engine=engine, schedule=schedule)
    return out.tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("meet", [["barrier"], ["sbarrier.signal", "sbarrier.wait"]], ids=["barrier", "split"])
def test_barriers(engine, meet):
    """Every thread reads the value of the opposite one, twice."""
    wanted = [7 * (63 - i) for i in range(64)]
    assert group([WRITE, *meet, TURN, READ], engine) == wanted
    twice = [WRITE, *meet, TURN, ROUND, *meet, WRITE, *meet, TURN, READ]
    assert group(twice, engine) == [7 * i + 1 for i in range(64)]


@pytest.mark.parametrize("engine", ENGINES)
def test_named_barriers(engine):
    """The first two threads produce, the last two wait for both."""
    work = ["cmp.lt (M1_NM, 16) P1 NUMBER(0,0)<0;1,0> 2:ud", "(!P1) goto (M1, 16) consumer", WRITE, "nbarrier.signal 3:ub 2:ub", "goto (M1, 16) over", "consumer:",
            "nbarrier.wait 3:ub", TURN, READ, "over:"]  # fmt: skip
    assert group(work, engine, "pvc") == [7 * i for i in range(32)] + [7 * (63 - i) for i in range(32, 64)]


@pytest.mark.parametrize("schedule", [None, "reverse"])
@pytest.mark.parametrize("engine", ENGINES)
def test_named_barriers_with_roles(engine, schedule):
    """The first thread produces, the last two consume, the second does both; who consumes waits, and reads what all wrote."""
    signal = "nbarrier.signal 3:ub {}:uw 2:ub 3:ub"
    work = [WRITE, "cmp.eq (M1_NM, 16) P1 NUMBER(0,0)<0;1,0> 0:ud", "(P1) goto (M1, 16) first", "cmp.eq (M1_NM, 16) P1 NUMBER(0,0)<0;1,0> 1:ud", "(P1) goto (M1, 16) both",
            signal.format(2), "goto (M1, 16) met", "both:", signal.format(0), "met:", "nbarrier.wait 3:ub", TURN, READ, "goto (M1, 16) over", "first:", signal.format(1), "over:"]  # fmt: skip
    assert group(work, engine, "pvc", schedule) == [7 * i for i in range(16)] + [7 * (63 - i) for i in range(16, 64)]


@pytest.mark.parametrize("schedule", [None, "reverse"])
@pytest.mark.parametrize("engine", ENGINES)
def test_named_barriers_serve_other_threads_later(engine, schedule):
    """A barrier that opened twice for the first two threads does not open for the third, which waits for the fourth."""
    meet, late = (
        ["nbarrier.signal 3:ub 2:ub", "nbarrier.wait 3:ub"],
        ["nbarrier.signal 5:ub 1:ub", "nbarrier.wait 5:ub"],
    )
    work = ["cmp.lt (M1_NM, 16) P1 NUMBER(0,0)<0;1,0> 2:ud", "(!P1) goto (M1, 16) later", *meet, *meet, "later:", "barrier", "(P1) goto (M1, 16) over",
            "cmp.eq (M1_NM, 16) P1 NUMBER(0,0)<0;1,0> 2:ud", "(P1) goto (M1, 16) meeting", *late, *late, *late, "meeting:",
            WRITE, *meet, "xor (M1, 16) TO(0,0)<1> TO(0,0)<1;1,0> 0x7c:ud", READ, "over:"]  # fmt: skip
    assert group(work, engine, "pvc", schedule) == [7 * i for i in range(32)] + [7 * (95 - i) for i in range(32, 64)]


@CHECKED
@given(st.integers(0, 1), RUNNING)
def test_surfaces_are_chosen_at_run_time(which, running):
    """movs to a surface variable, and from it."""
    running |= 1
    probe = Probe(running=running)
    for name in ("FIRST", "SECOND"):
        probe.buffer(name, bytes([len(name)] * 64))
    probe.declarations += [".decl T10 v_type=T num_elts=1", ".decl NUMBER v_type=G type=ud num_elts=1"]
    probe.fill(OFFSETS=("ud", range(0, 64, 4)), FOUND=("ud", [7] * 16), BACK=("ud", [7]))
    probe.lines += [f"mov (M1_NM, 1) NUMBER(0,0)<1> {2 + which}:ud", "movs (M1_NM, 1) T10(0) NUMBER(0,0)<0;1,0>", "gather_scaled.1 (M1, 16) T10 0:ud OFFSETS.0 FOUND.0",
                    "movs (M1_NM, 1) BACK(0,0)<1> T10(0)"]  # fmt: skip
    wanted = [(5, 6)[which] if running >> i & 1 else 7 for i in range(16)]
    for engine in ENGINES:
        found = probe.run(engine)
        assert found["FOUND"].tolist() == wanted and found["BACK"][0] == 2 + which


COVERED = {
    "goto",
    "jmp",
    "switchjmp",
    "call",
    "ret",
    "fcall",
    "fret",
    "ifcall",
    "faddr",
    "barrier",
    "sbarrier.signal",
    "sbarrier.wait",
    "nbarrier.signal",
    "nbarrier.wait",
    "movs",
}
