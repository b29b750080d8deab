"""Counters that compilers keep for each lane are one number for the lanes that are still in the loop."""

import os
import random
from types import SimpleNamespace

import pytest
from support.probe import LANES, Probe, image_of
from support.strategies import ENGINES

from visakit.language import types
from vsim.analysis.control_flow import control_flow
from vsim.analysis.lockstep import lockstep_loops
from vsim.analysis.named_registers import variables
from vsim.engines.llvm.ir.affine import AffineLanes, AssumedMask
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.types import MASK, ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.lower.lockstep_registers import LockstepRegisters
from vsim.semantics.registers import layout_of

ROUNDS = [5, 1, 3, 2, 9, 4, 1, 6, 2, 7, 3, 8, 1, 5, 2, 4]
"""How often each lane goes through a loop."""
MEMORY = bytes(n * 37 % 251 for n in range(4096))
START, STEP = "mov (M1, 16) N(0,0)<1> 0:d", "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> 1:w"
AGAIN = ["add (M1, 16) LEFT(0,0)<1> LEFT(0,0)<1;1,0> -1:d", "cmp.gt (M1, 16) P LEFT(0,0)<1;1,0> 0:d"]
LOAD = [
    "add (M1, 16) PLACE(0,0)<1> LANE(0,0)<1;1,0> N(0,0)<1;1,0>",
    "and (M1, 16) PLACE(0,0)<1> PLACE(0,0)<1;1,0> 1023:d",
    "add (M1, 16) WHERE(0,0)<1> MEM(0,0)<0;1,0> PLACE(0,0)<1;1,0>",
    "svm_gather.1.1 (M1, 16) WHERE.0 FOUND.0",
    "mov (M1, 16) BYTE(0,0)<1> FOUND_BYTES(0,0)<4;1,0>",
    "mul (M1, 16) SUM(0,0)<1> SUM(0,0)<1;1,0> 31:d",
    "add (M1, 16) SUM(0,0)<1> SUM(0,0)<1;1,0> BYTE(0,0)<1;1,0>",
]
SAME = ["mov (M1, 16) PLACE(0,0)<1> N(0,0)<1;1,0>", *LOAD[1:]]
"""A load at one place for all lanes with the same count."""


def probe_of(lines, rounds=ROUNDS):
    """Lines whose lanes leave after so many rounds of the innermost loop."""
    probe = Probe("tgllp")
    probe.fill(
        LANE=("d", range(LANES)), LEFT=("d", rounds), ROUNDS=("d", rounds), OUTER=("d", rounds[::-1]),
        SUM=("ud", [0] * LANES), N=("d", [77] * LANES), M=("d", [78] * LANES), T=("d", [0] * LANES), SEEN=("d", [0] * LANES), S=("d", [3] * 8),
    )  # fmt: skip
    probe.buffer("MEM", MEMORY)
    probe.declarations += [
        *(
            f".decl {name} v_type=G type=d num_elts=16 align=GRF"
            for name in ("PLACE", "FOUND", "BYTE", "K0", "K1", "K2")
        ),
        ".decl FOUND_BYTES v_type=G type=ub num_elts=64 alias=<FOUND, 0>",
        ".decl WHERE v_type=G type=uq num_elts=16 align=GRF",
        ".decl N_F v_type=G type=f num_elts=16 alias=<N, 0>",
        ".decl A0 v_type=A num_elts=1",
        *(f".decl {name} v_type=P num_elts=16" for name in "PQR"),
    ]
    routine = lines.index("ROUTINE:") if "ROUTINE:" in lines else len(lines)
    probe.lines, probe.subroutines = lines[:routine], lines[routine:]
    return probe


def loop(body, front=(START,), back=(*AGAIN, "(P) goto (M1, 16) ROUND")):
    """A loop with lines in front of it and at its end."""
    return [*front, "ROUND:", *body, *back]


def names_of(lines):
    """The names of the lockstep variables."""
    function = image_of(probe_of(lines)._text(), "tgllp").module.kernels[0]
    layout, writers = layout_of(function, 32), {}
    for n, instruction in enumerate(function.instructions):
        for root in variables(layout, instruction.args.get("dst")):
            writers.setdefault(root, set()).add(n)
    loops = lockstep_loops(control_flow(function), layout, LANES, writers)
    return {function.variable_name(root) for each in loops for root, *_ in each.writers}


def same(lines, rounds=ROUNDS):
    """Both engines leave the same in all variables."""
    results = [probe_of(lines, rounds).run(engine) for engine in ENGINES]
    one, other = ({name: x.tolist() for name, x in found.items()} for found in results)
    assert one == other
    return results[0]


def test_counters_of_nested_loops():
    """Lanes leave the inner loop one by one, and the outer one; the counters of both are numbers."""
    outer = "add (M1, 16) OUTER(0,0)<1> OUTER(0,0)<1;1,0> -1:d"
    lines = [
        "mov (M1, 16) M(0,0)<1> 0:d",
        "OVER:",
        "mov (M1, 16) LEFT(0,0)<1> ROUNDS(0,0)<1;1,0>",
        *loop([*LOAD, STEP]),
        "add (M1, 16) SEEN(0,0)<1> SEEN(0,0)<1;1,0> N(0,0)<1;1,0>",
        "add (M1, 16) T(0,0)<1> M(0,0)<1;1,0> 1:d",
        "mov (M1, 16) M(0,0)<1> T(0,0)<1;1,0>",
        outer,
        "cmp.gt (M1, 16) Q OUTER(0,0)<1;1,0> 0:d",
        "(Q) goto (M1, 16) OVER",
    ]
    assert names_of(lines) == {"N", "M", "T"}
    found = same(lines)
    assert found["N"][:LANES].tolist() == ROUNDS
    assert found["M"][:LANES].tolist() == ROUNDS[::-1]


CONTINUE = ["and (M1, 16) T(0,0)<1> LEFT(0,0)<1;1,0> 1:d", "cmp.eq (M1, 16) Q T(0,0)<1;1,0> 0:d"]
REFUSED = {
    "begins apart": loop([*LOAD, STEP], front=["mov (M1, 16) N(0,0)<1> LANE(0,0)<1;1,0>"]),
    "begins in some lanes": ["cmp.gt (M1, 16) Q LANE(0,0)<1;1,0> 5:d", *loop([*LOAD, STEP], front=[f"(Q) {START}"])],
    "begins again in some lanes": ["cmp.gt (M1, 16) Q LANE(0,0)<1;1,0> 5:d",
        *loop([*LOAD, STEP], front=[START, f"(Q) {START.replace('0:d', '9:d')}"])],
    "begins with a packed vector": loop([*LOAD, STEP], front=["mov (M1, 16) N(0,0)<1> 0x76543210:uv"]),
    "begins without a mask": loop([*LOAD, STEP], front=["mov (M1_NM, 16) N(0,0)<1> 0:d"]),
    "begins far away": [START, "cmp.gt (M1, 16) Q LANE(0,0)<1;1,0> 5:d", "(Q) goto (M1, 16) HERE",
        "add (M1, 16) SEEN(0,0)<1> SEEN(0,0)<1;1,0> 1:d", "HERE:", *loop([*LOAD, STEP], front=[])],
    "steps apart": loop([*LOAD, "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> LANE(0,0)<1;1,0>"]),
    "steps in some lanes": loop([*LOAD, *CONTINUE, f"(Q) {STEP}"]),
    "steps without a mask": loop([*LOAD, STEP.replace("M1,", "M1_NM,")]),
    "steps behind a branch": loop([*LOAD, *CONTINUE, "(Q) goto (M1, 16) HERE", STEP, *LOAD, "HERE:"]),
    "steps in an inner loop": loop([*LOAD, "IN:", STEP, "add (M1, 16) OUTER(0,0)<1> OUTER(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) Q OUTER(0,0)<1;1,0> 0:d", "(Q) goto (M1, 16) IN"]),
    "steps by halves": loop([*LOAD, STEP.replace("16", "8"), "add (M3, 8) N(1,0)<1> N(1,0)<1;1,0> 1:w"]),
    "goes back in the middle": loop(
        [*LOAD, STEP, *AGAIN, *CONTINUE, "and (M1, 16) P P Q", "(P) goto (M1, 16) ROUND", *LOAD]
    ),
    "is entered in its middle": [START, "cmp.gt (M1, 16) Q LANE(0,0)<1;1,0> 5:d", "(Q) goto (M1, 16) MIDDLE",
        *loop(["add (M1, 16) SEEN(0,0)<1> SEEN(0,0)<1;1,0> 1:d", "MIDDLE:", *LOAD, STEP])],
    "steps behind a way back": loop([*LOAD, *AGAIN, *CONTINUE, "and (M1, 16) P P Q", "(P) goto (M1, 16) ROUND", STEP]),
    "steps again in some lanes": loop([*LOAD, *CONTINUE, STEP, f"(Q) {STEP}"]),
    "is a float": loop([*LOAD, "add (M1, 16) N_F(0,0)<1> N_F(0,0)<1;1,0> 1:f"], front=["mov (M1, 16) N_F(0,0)<1> 0:f"]),
    "steps in the first half": loop([*LOAD, STEP.replace("16", "8")]),
    "steps by other lanes": loop([*LOAD, "add (M1, 16) M(0,0)<1> M(0,0)<1;1,0> 1:w",
        "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> M(0,0)<0;8,1>"], front=[START, START.replace("N(", "M(")]),
    "steps by what began in some lanes": ["cmp.gt (M1, 16) Q LANE(0,0)<1;1,0> 5:d", "(Q) goto (M1, 16) HERE",
        START.replace("N(", "M("), "HERE:", *loop([*LOAD, "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> M(0,0)<1;1,0>",
        "add (M1, 16) M(0,0)<1> M(0,0)<1;1,0> 1:w"])],
    "is written at its address": ["addr_add (M1_NM, 1) A0(0)<1> &N 20:uw", *loop(
        [*LOAD, STEP, "mov (M1_NM, 1) r[A0(0),0]<1>:d 9:d"])],
    "steps by a shift": loop([*LOAD, "shl (M1, 16) N(0,0)<1> N(0,0)<1;1,0> 1:d"], front=[START.replace("0:d", "1:d")]),
    "loads nothing": loop(["add (M1, 16) SUM(0,0)<1> SUM(0,0)<1;1,0> N(0,0)<1;1,0>", STEP]),
    "calls": [*loop([*LOAD, "(Q) call (M1, 16) ROUTINE", STEP]), "ROUTINE:",
        "add (M1, 16) SEEN(0,0)<1> SEEN(0,0)<1;1,0> N(0,0)<1;1,0>", "ret (M1, 16)"],
    "is in a subroutine": ["cmp.gt (M1, 16) Q LANE(0,0)<1;1,0> 5:d", "(Q) call (M1, 16) ROUTINE", "ROUTINE:",
        *loop([*LOAD, STEP]), "ret (M1, 16)"],
    "ends in some lanes": [*loop([*LOAD, STEP, "cmp.gt (M1, 16) Q N(0,0)<1;1,0> LANE(0,0)<1;1,0>", "(Q) ret (M1, 16)"])],
    "leaves to the front": ["FRONT:", *loop(
        [*LOAD, STEP, *AGAIN, *CONTINUE, "and (M1, 16) P P Q", "(P) goto (M1, 16) FRONT"])],
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_variables_that_are_not_in_lockstep(kind):
    """Variables that may differ between lanes of the loop, or change in some lanes alone."""
    assert "N" not in names_of(REFUSED[kind])
    same(REFUSED[kind])


def test_lanes_of_others_are_no_scalar():
    """Readers of other lanes, or of all, see lanes that have left the loop."""
    lines = loop([*LOAD, STEP, "add (M1_NM, 16) SEEN(0,0)<1> SEEN(0,0)<1;1,0> N(0,0)<1;1,0>",
        "add (M1, 8) SEEN(0,0)<1> SEEN(0,0)<1;1,0> N(1,0)<1;1,0>", "mov (M1, 16) T(0,0)<1> N(0,3)<0;1,0>",
        "add (M1, 16) SEEN(0,0)<1> SEEN(0,0)<1;1,0> T(0,0)<1;1,0>"])  # fmt: skip
    assert names_of(lines) == {"N"}
    same(lines)


@pytest.mark.parametrize("far", [False, True])
def test_lanes_that_leave_read_what_they_have(far):
    """Lanes have separate counts behind the loop, and in it on a way out that skips the step."""
    out = ["(Q) goto (M1, 16) OUT", STEP, "goto (M1, 16) ON", "OUT:", *SAME, "goto (M1, 16) DONE", "ON:"]
    lines = [*loop([*SAME, *CONTINUE, *([STEP] if far else out)]), "DONE:"]
    lines += ["(Q) goto (M1, 16) LATE", *SAME, "LATE:"] if far else []
    assert names_of(lines) == {"N"}
    same(lines)


def test_halves_of_lanes_read_counts_of_the_others():
    """The second half counts with the lanes of the first one, some of which have left the loop."""
    half = [
        "mov (M3, 8) PLACE(1,0)<1> N(0,0)<1;1,0>",
        "add (M3, 8) WHERE(2,0)<1> MEM(0,0)<0;1,0> PLACE(1,0)<1;1,0>",
        "svm_gather.1.1 (M3, 8) WHERE.64 FOUND.32",
        "mov (M3, 8) BYTE(1,0)<1> FOUND_BYTES(1,0)<4;1,0>",
        "add (M3, 8) SUM(1,0)<1> SUM(1,0)<1;1,0> BYTE(1,0)<1;1,0>",
    ]
    lines = loop([*half, *LOAD, STEP])
    assert names_of(lines) == {"N"}
    same(lines)


def loaded(b, lanes=LANES, t=types.UD):
    """A value of which nothing is known."""
    return Value(b, t, lanes, b.assign(f"load {ir_type(t, lanes)}, ptr %p"))


def registers(b):
    """Lockstep registers of a loop in which variable 40 holds at all instructions."""
    loops = [SimpleNamespace(writers={(40, 0, 4): [5]}, holds=lambda place, pc: True)]
    return LockstepRegisters(b, SimpleNamespace(pointer=lambda key: "%slot"), LANES, loops)


@pytest.mark.parametrize(("name", "has_scalar"), [("ud", True), ("d", True), ("f", False)])
def test_only_integers_have_scalars(name, has_scalar):
    """A float read of an integer counter is another number."""
    b = Builder({})
    b.begin("entry")
    value, running = loaded(b, t=types.BY_NAME[name]), loaded(b, t=MASK)
    found = registers(b).with_scalar(("V", 40), 0, value, 6, running)
    assert (found is not value) == (found.facts.affine is not None) == has_scalar


@pytest.mark.parametrize(
    ("stride", "masks", "is_known"), [(0, [], True), (0, ["own"], True), (0, ["other"], False), (1, [], False)]
)
def test_scalars_are_of_the_lanes_that_run(stride, masks, is_known):
    """The first lane counts if it is known to be that of all lanes, in the mask that runs."""
    b = Builder({})
    b.begin("entry")
    names = {"own": loaded(b, t=MASK), "other": loaded(b, t=MASK)}
    first, assumed = loaded(b, 1), tuple(AssumedMask(names[n].text) for n in masks)
    value = loaded(b).with_facts(affine=AffineLanes(first, stride, LANES, assumptions=assumed))
    registers(b).keep((40, 0, 4), value, names["own"])
    assert (f"store i32 {first.text}," in b.lines[-1]) == is_known


class Random:
    """Loops of a seed, in which lockstep variables are nearly everywhere, and nearly none."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.labels = 0
        self.mild = self.random.random() < 0.7
        """Whether most writes are increments by constants, of all lanes in the loop."""

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def lines(self):
        return self.loop(0)

    def write(self, begins=False):
        r = self.random
        if self.mild and r.random() < 0.95:
            name = r.choice("NMT")
            if begins:
                return [f"mov (M1, 16) {name}(0,0)<1> {r.randrange(5)}:d"]
            return [f"add (M1, 16) {name}(0,0)<1> {name}(0,0)<1;1,0> {r.randrange(1, 5)}:d"]
        name, other = r.choice("NMT"), r.choice("NMT")
        source = r.choice([f"{r.randrange(5)}:d", "S(0,2)<0;1,0>", f"{other}(0,0)<1;1,0>", "LANE(0,0)<1;1,0>"])
        mask = r.choice(["(M1, 16)"] * 6 + ["(M1_NM, 16)"])
        predicate = r.choice([""] * 5 + ["(R) "])
        if r.random() < 0.3:
            return [f"{predicate}mov {mask} {name}(0,0)<1> {source}"]
        kind = r.choice(("add", "add", "add", "xor", "shl"))
        if kind == "shl":
            source = "1:d"
        return [f"{predicate}{kind} {mask} {name}(0,0)<1> {r.choice([name, other])}(0,0)<1;1,0> {source}"]

    def condition(self):
        r = self.random
        name = r.choice(["LANE", "LEFT", "N", "M", "SUM"])
        return [
            f"and (M1, 16) PLACE(0,0)<1> {name}(0,0)<1;1,0> {r.choice([1, 2, 3, 4])}:d",
            "cmp.eq (M1, 16) R PLACE(0,0)<1;1,0> 0:d",
        ]

    def body(self, depth):
        r, found = self.random, []
        for _ in range(r.randrange(2, 7)):
            kind = r.randrange(9)
            if kind < 4:
                found += self.write()
            elif kind < 6:
                found += [line.replace("N(0", f"{r.choice('NMT')}(0") for line in LOAD]
            elif kind == 6 and depth < 2:
                found += self.loop(depth + 1)
            else:
                label = self.label()
                found += [
                    *self.condition(),
                    f"(R) goto (M1, 16) {label}",
                    *(LOAD if self.mild else self.write()),
                    f"{label}:",
                ]
        return found

    def loop(self, depth):
        r, head, behind = self.random, self.label(), self.label()
        rounds, copy = f"K{depth}", r.choice(["ROUNDS", "OUTER"])
        found = [
            f"and (M1, 16) {rounds}(0,0)<1> {copy}(0,0)<1;1,0> 3:d",
            *self.write(True),
            *self.write(True),
            f"{head}:",
        ]
        found += self.body(depth)
        end = f"add (M1, 16) {rounds}(0,0)<1> {rounds}(0,0)<1;1,0> -1:d"
        more = f"cmp.gt (M1, 16) Q {rounds}(0,0)<1;1,0> 0:d"
        if r.random() < 0.3:
            found += [*self.condition(), f"(R) goto (M1, 16) {behind}"]
        if r.random() < 0.2:
            found += [end, more, *self.condition(), "and (M1, 16) R R Q", f"(R) goto (M1, 16) {head}"]
        found += [*self.body(2), end, more, f"(Q) goto (M1, 16) {head}", f"{behind}:"]
        return [*found, "add (M1, 16) SEEN(0,0)<1> SEEN(0,0)<1;1,0> N(0,0)<1;1,0>"]


SEEDS = int(os.environ.get("FUZZ_EXAMPLES", "6"))


def test_random_loops():
    """Engines agree, and lockstep variables are found in some."""
    found = 0
    for seed in range(SEEDS):
        r = Random(seed)
        lines = r.lines()
        found += bool(names_of(lines) & {"N", "M", "T"})
        same(lines, [r.random.randrange(9) for _ in range(LANES)])
    assert found, "no variable"
