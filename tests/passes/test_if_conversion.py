"""Branches over few instructions become masks: nests of them do what each lane's own path says."""

import random

import pytest
from support.counting import counted_alike
from support.probe import LANES, Probe
from support.programs import build_text
from support.strategies import ENGINES

from vsim.analysis.control_flow import control_flow
from vsim.analysis.if_conversion import masked_gotos
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
        import ast

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
        ([TEMPORARY], ["gather4_scaled.R (M1, 16) T6 0x0:ud x.0 T.0"], False),
        ([TEMPORARY], ["sample_lz.RGBA (M1, 16) 0x0:uw S T6 R.0 x.0 T.0 x.0"], False),
        ([TEMPORARY], [TEMPORARY, "addr_add (M1_NM, 1) I(0)<1> &T 0x0:uw"], False),
        (["add (M1_NM, 1) T(0,0)<1> T(0,0)<0;1,0> 3:ud"], [], False),
        ([CARRY], [], True),
        ([CARRY], ["add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> C(0,0)<0;1,0>"], False),
        (["movs (M1_NM, 1) S(0) 1:ud"], [], True),
        (["movs (M1_NM, 1) S(0) 1:ud"], ["sample_3d.RGBA (M1, 16) 0x0:uw S T6 x.0 x.0 x.0 x.0"], False),
        (["add (M1, 16) x(0,0)<1> x(0,0)<1;1,0> 1:ud"] * 100, [], False),
        (["barrier"], [], False),
        (["addr_add (M1_NM, 1) I(0)<1> &x 0x4:uw", "mov (M1_NM, 1) T(0,0)<1> r[I(0),0]<0;1,0>:ud"], [], False),
    ],
    ids=[
        "a temporary",
        "a register that is read behind",
        "a register that a message takes behind",
        "a register that is a coordinate behind",
        "a register whose address is taken behind",
        "a sum",
        "a temporary carry",
        "a carry that is read behind",
        "a sampler",
        "a sampler that is read behind",
        "much",
        "a barrier",
        "a register by its address",
    ],
)
def test_what_may_run_without_lanes(inside, behind, is_masked):
    masked, _ = masked_in(["(a) goto (M1, 16) L", *inside, "L:", *behind])
    assert bool(masked) == is_masked


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_of_both_sides_meet_before_all_do(engine):
    """Lanes of A that leave at B skip what the others of A and those of the other side run together."""
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
