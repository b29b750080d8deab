"""Registers in subroutines: lanes that a call leaves out, and lanes that have returned, keep the values that they read later."""

import random

import numpy as np
import pytest
from support.probe import Probe, translated
from support.programs import build_text
from support.strategies import ENGINES

from vsim.analysis.control_flow import control_flow
from vsim.analysis.reconvergence import reconvergence
from vsim.program import Program

REGISTERS = "ABCDE"


class Routines:
    """A program with subroutines that call each other under predicates, with loops that lanes leave one by one, and early returns."""

    def __init__(self, seed):
        self.random, self.labels = random.Random(seed), 0
        self.counters = []
        count = self.random.randrange(1, 4)
        self.bodies = [self.body(2, range(n + 1, count), "ret (M1, 16)") for n in range(count)]
        self.main = self.body(3, range(count), None)

    def condition(self):
        bit = 1 << self.random.randrange(6)
        source = self.random.choice(REGISTERS)
        return [f"and (M1, 16) T(0,0)<1> {source}(0,0)<1;1,0> {bit}:ud", "cmp.ne (M1, 16) P1 T(0,0)<1;1,0> 0:ud"]

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def operation(self):
        choose = self.random
        to, one, other = (choose.choice(REGISTERS) for _ in range(3))
        if choose.random() < 0.05:
            return f"mov (M1, 16) {to}(0,0)<1> {one}(0,{choose.randrange(8)})<0;1,0>"
        if choose.random() < 0.2:
            return f"mov (M1, 16) {to}(0,0)<1> {one}(0,0)<1;1,0>"
        second = f"{other}(0,0)<1;1,0>" if choose.random() < 0.6 else f"{choose.randrange(1 << 8)}:ud"
        return f"{choose.choice(['add', 'xor', 'mul'])} (M1, 16) {to}(0,0)<1> {one}(0,0)<1;1,0> {second}"

    def body(self, depth, callees, early):
        lines = []
        for _ in range(self.random.randrange(2, 5)):
            kind = self.random.choice(["op", "op", "if", "loop", "call", "call", "early"])
            if kind == "if" and depth:
                other, done = self.label(), self.label()
                lines += [*self.condition(), f"(!P1) goto (M1, 16) {other}", *self.body(depth - 1, callees, early)]
                lines += [f"goto (M1, 1) {done}", f"{other}:", *self.body(depth - 1, callees, early), f"{done}:"]
            elif kind == "loop" and depth:
                again, counter = self.label(), f"N{len(self.counters)}"
                self.counters.append(counter)
                source = self.random.choice(REGISTERS)
                lines += [f"and (M1, 16) {counter}(0,0)<1> {source}(0,0)<1;1,0> 3:ud", f"{again}:"]
                lines += [
                    *self.body(depth - 1, callees, early),
                    f"add (M1, 16) {counter}(0,0)<1> {counter}(0,0)<1;1,0> -1:d",
                ]
                lines += [f"cmp.gt (M1, 16) P1 {counter}(0,0)<1;1,0> 0:d", f"(P1) goto (M1, 16) {again}"]
            elif kind == "call" and callees:
                sub = self.random.choice(callees)
                lines += [*self.condition(), f"{self.random.choice(['(P1) ', '(!P1) ', ''])}call (M1, 16) sub_{sub}"]
            elif kind == "early" and early:
                lines += [*self.condition(), f"(P1) {early}"]
            else:
                lines.append(self.operation())
        return lines

    def probe(self, observed, running):
        values = {name: ("ud", [self.random.randrange(1 << 16) for _ in range(16)]) for name in REGISTERS}
        probe = Probe(running=running)
        probe.fill(**values, SEEN=("ud", [0] * 16))
        variables = ["T", *self.counters]
        probe.declarations += [f".decl {n} v_type=G type=d num_elts=16 align=GRF" for n in variables]
        probe.declarations.append(".decl P1 v_type=P num_elts=16")
        probe.lines += [*self.main, f"mov (M1, 16) SEEN(0,0)<1> {observed}(0,0)<1;1,0>"]
        # What is not observed is dead behind the program.
        probe.lines += [f"mov (M1_NM, 16) {n}(0,0)<1> 0:ud" for n in REGISTERS]
        for n, body in enumerate(self.bodies):
            probe.subroutines += [f"sub_{n}:", *body, "ret (M1, 16)"]
        return probe


@pytest.mark.parametrize("seed", range(12))
def test_lanes_keep_live_registers(seed):
    program = Routines(seed)
    probe = program.probe(REGISTERS[seed % 5], 0xFFFF if seed % 3 else program.random.getrandbits(16) or 1)
    one, other = (probe.run(engine)["SEEN"].tolist() for engine in ENGINES)
    assert one == other


OVERWRITE = ["sub:", "mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0>", "ret (M1, 16)"]
OUTER = ["outer:", "{early}", "(SOME) call (M1, 16) sub", "mov (M1, 16) X(0,0)<1> 5:ud", "ret (M1, 16)", *OVERWRITE]
READERS = {
    "not called": (["(SOME) call (M1, 16) sub"], OVERWRITE),
    "wait behind the call": (
        ["(FEW) goto (M1, 16) FURTHER", "(SOME) call (M1, 16) sub", "mov (M1, 16) X(0,0)<1> 7:ud", "FURTHER:"],
        OVERWRITE,
    ),
    "have returned": (["call (M1, 16) sub"], ["sub:", "(SOME) ret (M1, 16)", *OVERWRITE[1:]]),
    "left out by the caller's call": (["(FEW) call (M1, 16) outer"], [line for line in OUTER if line != "{early}"]),
    "have returned to the caller's caller": (
        ["call (M1, 16) outer"],
        [line.format(early="(FEW) ret (M1, 16)") for line in OUTER],
    ),
}


@pytest.mark.parametrize("kind", READERS)
def test_inactive_lanes_keep_registers_over_a_subroutine(kind):
    lines, subroutines = READERS[kind]
    probe = Probe()
    probe.fill(X=("ud", range(3, 19)), SEEN=("ud", [0] * 16))
    probe.predicate("SOME", 0x0FF0)
    probe.predicate("FEW", 0x5A5A)
    probe.lines += [*lines, "mov (M1, 16) SEEN(0,0)<1> X(0,0)<1;1,0>", "mov (M1, 16) X(0,0)<1> 0:ud"]
    probe.subroutines += subroutines
    one, other = (probe.run(engine)["SEEN"].tolist() for engine in ENGINES)
    assert one == other


HEAD = [
    ".version 4.1",
    '.kernel "k"',
    ".decl OUT v_type=G type=uq num_elts=1",
    *(f".decl {n} v_type=G type=d num_elts=16 align=GRF" for n in "XN"),
    *(f".decl P{n} v_type=P num_elts=16" for n in (1, 2)),
    ".input OUT offset=64 size=8",
    ".kernel_attr SimdSize=16",
]
CALL = [
    "cmp.gt (M1, 16) P1 N(0,0)<1;1,0> 3:d",
    "(P1) call (M1, 16) sub",
    "svm_block_st (4) OUT(0,0)<0;1,0> N.0",
    "ret (M1, 1)",
]
ROUND = [
    "mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0>",
    "cmp.gt (M1, 16) P2 X(0,0)<1;1,0> 9:d",
    "(P2) goto (M1, 16) ROUND",
]
LOOP = ["sub:", "mov (M1, 16) X(0,0)<1> N(0,0)<1;1,0>", "ROUND:", *ROUND, "ret (M1, 16)"]


def merges(lines):
    """The number of merges in a kernel's IR: of values that some lanes wrote, with old values of the others."""
    program = Program(build_text("\n".join([*HEAD, *lines, ""])))
    ir = translated(program, [np.zeros(16, "i4")])
    return sum(" = select <16 x i1>" in line for line in ir.splitlines())


def test_registers_of_the_subroutine_alone_are_not_merged():
    assert merges([*CALL, *LOOP]) == 0
    read = ["mov (M1, 16) N(0,0)<1> X(0,0)<1;1,0>"]
    assert merges([*CALL[:2], *read, *CALL[2:], *LOOP]) > 0, "lanes that were not called read it"


def test_lanes_wait_in_a_subroutine_only_where_a_branch_before_leads():
    # 7 sub, 8 add, 9 goto OUT, 10 add, 11 OUT, 12 ret
    add = "add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 1:d"
    lines = [*CALL, "sub:", add, "(P1) goto (M1, 16) OUT", add, "OUT:", add, "ret (M1, 16)"]
    function = build_text("\n".join([*HEAD, *lines, ""])).module.kernels[0]
    found = reconvergence(control_flow(function), frozenset(), 16, True)
    sub, goto, out = 4, 6, 8
    assert [found.next_point(n) for n in (sub, goto - 1, goto, goto + 1)] == [None, None, out, out]
    assert found.waiting()[sub] == [] and found.waiting()[goto + 1] == [out]
