"""Branches over few instructions become masks: nests of them do what each lane's own path says."""

import ast
import random
from collections import Counter

import numpy as np
import pytest
from support.counting import counted_alike
from support.probe import LANES, Probe
from support.programs import LANE_NUMBERS, PRIVATE_MEMORY, build_text, kernel_head, ze_info_of
from support.strategies import ENGINES

from visakit import SimulationError
from vsim.analysis.control_flow import control_flow
from vsim.analysis.if_conversion import masked_gotos
from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import BufferArgument, Launch
from vsim.profile.counts import Counts
from vsim.program import Program

NESTS = {
    "select": "if a: x = y + 1\nelse: x = y + 2",
    "guard": "if a: x = x + 5",
    "both": "if a and b: x = x + 5",
    "either": "if a or b: x = x + 5",
    "either, in a half": "if a:\n    if b or c: x = x + 1\n    y = x + 2\nelse: x = 7\nx = x + y",
    "halves of a half": "if a:\n    if b: x = 1\n    else: x = 2\n    y = x + y\nelse: y = 9",
    "one half alone": "if a:\n    if b: x = 1\n    y = x + y",
    "halves that do not meet": "if a:\n    if b: x = x + 1\n    else: x = x + 2\n    x = x + 4\nx = x + y",
}


class Emitted:
    """A nest in Python's words as vISA, as compilers lay it out: a goto over what lanes do not run."""

    def __init__(self, text):
        self.lines, self.labels = [], 0
        self.body(ast.parse(text).body)

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def body(self, statements):
        for s in statements:
            if hasattr(s, "test"):
                self.branch(s)
            else:
                self.lines.append(self.sum(s.targets[0].id, s.value))

    @staticmethod
    def sum(name, value):
        sources = [value.left, value.right] if hasattr(value, "left") else [value]
        words = [f"{s.id}(0,0)<1;1,0>" if hasattr(s, "id") else f"{s.value}:ud" for s in sources]
        return f"{'add' if len(words) == 2 else 'mov'} (M1, 16) {name}(0,0)<1> {' '.join(words)}"

    def branch(self, s):
        then, other, done = self.label(), self.label(), self.label()
        test = s.test
        names = [v.id for v in test.values] if hasattr(test, "values") else [test.id]
        either = hasattr(test, "op") and type(test.op).__name__ == "Or"
        for n, name in enumerate(names):
            last = n == len(names) - 1
            jumps = (f"({name})", then) if either and not last else (f"(!{name})", other)
            self.lines.append(f"{jumps[0]} goto (M1, 16) {jumps[1]}")
        self.lines.append(f"{then}:")
        self.body(s.body)
        if s.orelse:
            self.lines.append(f"goto (M1, 1) {done}")
        self.lines.append(f"{other}:")
        self.body(s.orelse)
        self.lines.append(f"{done}:")


def model(text, values, bits):
    found = []
    for lane in range(LANES):
        names = {"x": values[0][lane], "y": values[1][lane], **{p: bits[p] >> lane & 1 for p in "abc"}}
        exec(text, {}, names)
        found.append((names["x"], names["y"]))
    return found


class Marks(ast.NodeTransformer):
    """Assignments of a nest that note their numbers first."""

    def __init__(self):
        self.count = 0

    def visit_Assign(self, node):
        self.count += 1
        return [*ast.parse(f"note({self.count - 1})").body, node]


def model_counts(text, values, bits, running):
    """For each assignment of a nest, whether the thread executes it, and the number of lanes."""
    marks, lanes_of = Marks(), Counter()
    code = compile(ast.fix_missing_locations(marks.visit(ast.parse(text))), "nest", "exec")
    for lane in range(LANES):
        if running >> lane & 1:
            names = {"x": values[0][lane], "y": values[1][lane], **{p: bits[p] >> lane & 1 for p in "abc"}}
            exec(code, {"note": lambda n: lanes_of.update([n])}, names)
    return [(int(lanes_of[n] > 0), lanes_of[n]) for n in range(marks.count)]


def random_nest(choose, depth=0):
    """The lines of a nest."""
    pad, lines = "    " * depth, []
    for _ in range(choose.randrange(1, 4)):
        if depth < 3 and choose.random() < 0.6:
            tests = choose.sample("abc", choose.randrange(1, 3))
            lines.append(f"{pad}if {choose.choice([' and ', ' or ']).join(tests)}:")
            lines += random_nest(choose, depth + 1)
            if choose.random() < 0.5:
                lines += [f"{pad}else:", *random_nest(choose, depth + 1)]
        else:
            lines.append(f"{pad}{choose.choice('xy')} = {choose.choice('xy')} + {choose.randrange(9)}")
    return lines


def probe_of(lines, values, bits, running=None):
    probe = Probe(running=running)
    probe.fill(x=("ud", values[0]), y=("ud", values[1]))
    for name, lanes in bits.items():
        probe.predicate(name, lanes)
    probe.lines += lines
    return probe


def masked_in(lines):
    """The gotos of the lines that become masks, and how many blocks the lines are then."""
    probe = probe_of(lines, [[0] * LANES] * 2, dict.fromkeys("abc", 1))
    probe.declarations += [".decl T v_type=G type=ud num_elts=16 align=GRF", ".decl I v_type=A num_elts=1"]
    probe.declarations += [".decl U v_type=G type=ud num_elts=16 align=GRF"]
    probe.declarations += [".decl UD v_type=G type=d num_elts=16 alias=<U, 0>"]
    probe.declarations += [".decl R v_type=G type=ud num_elts=64 align=GRF"]
    probe.declarations += [".decl C v_type=G type=ud num_elts=16 align=GRF", ".decl S v_type=S num_elts=1"]
    function = Program(build_text(probe._text(), probe.platform)).image.module.kernels[0]
    masked = masked_gotos(control_flow(function), LANES, 32)
    return masked, len(control_flow(function, masked=masked).starts)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", NESTS)
def test_lanes_go_their_own_ways(kind, engine):
    choose = random.Random(kind)
    lines = Emitted(NESTS[kind]).lines
    for _ in range(3):
        values = [[choose.randrange(100) for _ in range(LANES)] for _ in range(2)]
        bits = {p: choose.choice([0, 0xFFFF, choose.getrandbits(16)]) for p in "abc"}
        running = choose.choice([None, choose.getrandbits(16)])
        found = probe_of(lines, values, bits, running).run(engine)
        wanted = model(NESTS[kind], values, bits)
        for lane in range(LANES):
            runs = running is None or running >> lane & 1
            assert (found["x"][lane], found["y"][lane]) == (
                wanted[lane] if runs else (values[0][lane], values[1][lane])
            )


@pytest.mark.parametrize("kind", NESTS)
def test_branches_that_became_masks_are_counted_as_branches(kind):
    choose = random.Random(kind)
    lines = Emitted(NESTS[kind]).lines
    inside = next(n for n, line in enumerate(lines) if "goto" in line) + 1
    lines.insert(inside, "mov (M1_NM, 1) T(0,0)<1> 3:ud")  # which runs where no lane does, and is not counted then
    assert masked_in(lines)[1] == 1
    for bits in (dict.fromkeys("abc", 0), *({p: choose.getrandbits(16) for p in "abc"} for _ in range(3))):
        probe = probe_of(lines, [[1] * LANES] * 2, bits, choose.getrandbits(16))
        probe.declarations.append(".decl T v_type=G type=ud num_elts=16 align=GRF")
        assert counted_alike(probe.run)


MARK = "mov (M1_NM, 1) T(0,0)<1> 0x5eed:ud"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_counts_of_generated_nests_are_those_of_a_model(seed, engine):
    choose, counts = random.Random(seed), Counts()
    text = "\n".join(random_nest(choose))
    values = [[choose.randrange(100) for _ in range(LANES)] for _ in range(2)]
    bits = {p: choose.choice([0, 0xFFFF, choose.getrandbits(16)]) for p in "abc"}
    running = choose.getrandbits(16) | 1
    probe = probe_of([MARK, *Emitted(text).lines, MARK], values, bits, running)
    probe.declarations.append(".decl T v_type=G type=ud num_elts=16 align=GRF")
    probe.run(engine, observers=[counts])
    (own,) = counts.functions
    first, last = (n for n, i in enumerate(own.function.instructions) if str(0x5EED) in str(i.args))
    inside = [n for n in range(first + 1, last) if own.function.instructions[n].desc.mnemonic in ("add", "mov")]
    assert [(own.executions[n], own.active(n)) for n in inside] == model_counts(text, values, bits, running)


@pytest.mark.parametrize("kind", NESTS)
def test_nests_are_one_block(kind):
    lines = Emitted(NESTS[kind]).lines
    masked, blocks = masked_in(lines)
    assert len(masked) == sum("goto" in line for line in lines)
    assert blocks == 1


CARRY = "addc (M1_NM, 1) T(0,0)<1> C(0,0)<1> 0xffffffff:ud 5:ud"
TEMPORARY = "mov (M1_NM, 1) T(0,0)<1> 3:ud"


@pytest.mark.parametrize(
    ("inside", "behind", "is_masked"),
    [
        ([TEMPORARY, "add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> T(0,0)<0;1,0>"], [], True),
        ([TEMPORARY], ["add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> T(0,0)<0;1,0>"], False),
        ([TEMPORARY], [TEMPORARY, "add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> T(0,0)<1;1,0>"], False),
        ([TEMPORARY], [f"(b) {TEMPORARY}", "add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> T(0,0)<0;1,0>"], False),
        (["mov (M1_NM, 16) T(0,0)<1> 3:ud"], [], False),
        ([TEMPORARY.replace("T", "U")], [], False),
        ([TEMPORARY, TEMPORARY.replace("0)", "4)", 1)], [], False),
        ([TEMPORARY], ["gather4_scaled.R (M1, 16) T6 0x0:ud x.0 T.0"], False),
        ([TEMPORARY], ["sample_lz.RGBA (M1, 16) 0x0:uw S T6 R.0 x.0 T.0 x.0"], False),
        ([TEMPORARY], [TEMPORARY, "addr_add (M1_NM, 1) I(0)<1> &T 0x0:uw"], False),
        (["add (M1_NM, 1) T(0,0)<1> T(0,0)<0;1,0> 3:ud"], [], False),
        ([CARRY], [], True),
        ([CARRY], ["add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> C(0,0)<0;1,0>"], False),
        (["movs (M1_NM, 1) S(0) 1:ud"], [], True),
        (["movs (M1_NM, 1) S(0) 1:ud"], ["sample_3d.RGBA (M1, 16) 0x0:uw S T6 x.0 x.0 x.0 x.0"], False),
        (["add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> 1:ud"] * 100, [], False),
        (["mov (M1_NM, 1) %cr0(0,0)<1> 0x30:ud"], [], False),
        (["barrier"], [], False),
        (["raw_sends.15.1.0.3 (M1, 1) 0xf:ud 0x2000403:ud x.0 %null.0 U.0"], [], False),
        (["addr_add (M1_NM, 1) I(0)<1> &x 0x4:uw", "mov (M1_NM, 1) T(0,0)<1> r[I(0),0]<0;1,0>:ud"], [], False),
        (["mov (M1, 16) x(0,0)<1> r[I(0),0]<1;1,0>:ud"], [], False),
    ],
    ids=[
        "a temporary",
        "a register that is read behind",
        "a register that is read whole behind",
        "a register that may be written behind",
        "a whole register",
        "a register with another name",
        "two elements of a register",
        "a register that a message takes behind",
        "a register that is a coordinate behind",
        "a register whose address is taken behind",
        "a sum",
        "a temporary carry",
        "a carry that is read behind",
        "a sampler",
        "a sampler that is read behind",
        "much",
        "the control register",
        "a barrier",
        "a raw message",
        "a register by its address",
        "registers by their address",
    ],
)
def test_instructions_that_may_run_without_lanes(inside, behind, is_masked):
    masked, _ = masked_in(["(a) goto (M1, 16) L", *inside, "L:", *behind])
    assert bool(masked) == is_masked


@pytest.mark.parametrize("engine", ENGINES)
def test_elements_beside_a_temporary(engine):
    """Two blocks write an element each, and one reads both: then that of the first one counts only if lanes ran there."""
    lines = [
        "(a) goto (M1, 16) L",
        "mov (M1_NM, 1) T(0,4)<1> 5:ud",
        "add (M1, 16) y(0,0)<1> y(0,0)<1;1,0> T(0,4)<0;1,0>",
    ]
    lines += ["L:", TEMPORARY, "add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> T(0,0)<1;1,0>"]
    for bits in (0xFFFF, 0xFFFE):
        probe = probe_of(lines, [[10] * LANES] * 2, {"a": bits})
        probe.declarations.append(".decl T v_type=G type=ud num_elts=16 align=GRF")
        assert probe.run(engine)["x"][[0, 1, 4]].tolist() == [13, 10, 10 if bits == 0xFFFF else 15]


@pytest.mark.parametrize(
    ("goto", "is_masked"),
    [
        ("(a) goto (M1, 16) L", True),
        ("goto (M1, 16) L", True),
        ("(a.any) goto (M1, 16) L", False),
        ("(a) goto (M1, 1) L", False),
        ("(a) goto (M1, 8) L", False),
        ("goto (M3, 8) L", False),
    ],
)
def test_gotos_of_which_lanes_decide_alone(goto, is_masked):
    """Others take lanes by what others have, or not all of them."""
    masked, _ = masked_in([goto, "add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> 1:ud", "L:"])
    assert bool(masked) == is_masked


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_of_both_sides_meet_before_all_do(engine):
    """Lanes of A that jump to B skip the block that the rest of A and the other side run together."""
    lines = [
        "(!a) goto (M1, 16) ZERO",
        "mov (M1, 16) x(0,0)<1> 5:ud",
        "(b) goto (M1, 16) DONE",
        "goto (M1, 1) SUM",
        "ZERO:",
        "mov (M1, 16) x(0,0)<1> 0:ud",
        "SUM:",
        "add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> 2:ud",
        "DONE:",
        "add (M1, 16) y(0,0)<1> x(0,0)<1;1,0> 0:ud",
    ]
    bits = {"a": 0xF0F0, "b": 0xFF00, "c": 0}
    found = probe_of(lines, [[9] * LANES] * 2, bits).run(engine)
    a, b = ([bits[p] >> lane & 1 for lane in range(LANES)] for p in "ab")
    assert found["x"].tolist() == [(5 if y else 7) if x else 2 for x, y in zip(a, b, strict=True)]
    assert found["y"].tolist() == found["x"].tolist()


PRIVATE = (
    kernel_head("BASE=uq OUT=uq LANE=uw*16 AT=uq*16 FAR=uq*16 X=ud*16 P1=P*16 P2=P*16", "BASE OUT")
    + LANE_NUMBERS
    + """mul (M1, 16) AT(0,0)<1> LANE(0,0)<1;1,0> 4:uw
mul (M1, 16) FAR(0,0)<1> LANE(0,0)<1;1,0> 4:uw
add (M1, 16) FAR(0,0)<1> FAR(0,0)<1;1,0> OUT(0,0)<0;1,0>
add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> BASE(0,0)<0;1,0>
mul (M1, 16) X(0,0)<1> LANE(0,0)<1;1,0> 3:uw
svm_scatter.4.1 (M1, 16) AT.0 X.0
add (M1, 16) AT(0,0)<1> AT(0,0)<1;1,0> {moved}:q
setp (M1_NM, 16) P1 {some}:uw
setp (M1_NM, 16) P2 {others}:uw
{before}
(P1) goto (M1, 16) ELSE
svm_gather.4.1 (M1, 16) {place}.0 X.0
(P2) goto (M1, 16) ELSE
add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 100:ud
ELSE:
add (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 1:ud
svm_scatter.4.1 (M1, 16) FAR.0 X.0
ret (M1, 1)
"""
)


def private(some, others, place="AT", moved=0, mask="M1", before="mov (M1, 16) X(0,0)<1> 7:ud"):
    text = PRIVATE.format(some=some, others=others, place=place, moved=moved, before=before)
    text = text.replace("svm_gather.4.1 (M1,", f"svm_gather.4.1 ({mask},")
    return Program(build_text(text, "pvc", ze_info_of("private buffer", memory=PRIVATE_MEMORY, simd_size=16)))


def loads_are_masked(program):
    """Whether the gotos over the load only change masks."""
    dispatch = program.bind(Launch("k", (16,), (16,), args=[BufferArgument(np.zeros(16, "u4"))]))
    return "block13:" not in translate(dispatch, full=True).text


def test_loads_from_private_memory_run_without_lanes():
    assert loads_are_masked(private(1, 2))
    assert not loads_are_masked(private(1, 2, "FAR")), "other memory may be far away"
    loaded = "svm_gather.8.1 (M1, 16) AT.0 FAR.0"
    assert not loads_are_masked(private(1, 2, "FAR", before=loaded)), "an address in private memory leads anywhere"
    assert not loads_are_masked(private(1, 2, mask="M1_NM")), "it loads for all lanes, and only if some run"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("some", "others"), [(0, 0), (0xFFFF, 0), (0x0FF0, 0x3C3C), (0xFFFE, 1), (0x7FFF, 0xFFFF)])
def test_lanes_load_from_private_memory(some, others, engine):
    out = np.zeros(16, "u4")
    private(some, others).launch("k", 16, 16, [out], engine=engine)
    loaded = [3 * n + (0 if others >> n & 1 else 100) for n in range(16)]
    assert out.tolist() == [1 + (7 if some >> n & 1 else loaded[n]) for n in range(16)]


@pytest.mark.parametrize("moved", [-8, 1 << 20, 100, 112])
@pytest.mark.parametrize("some", [0, 0xFFFF, 0xFFF8, 0x1FFF, 0xFF3F])
def test_loads_outside_are_those_of_lanes_that_run(some, moved):
    outcomes = []
    for engine in ENGINES:
        out = np.zeros(16, "u4")
        try:
            private(some, 0, moved=moved).launch("k", 16, 16, [out], engine=engine)
            outcomes.append(out.tolist())
        except SimulationError as problem:
            outcomes.append(str(problem))
    assert outcomes[0] == outcomes[1]
    assert some != 0xFFFF or outcomes[0] == [8] * 16
