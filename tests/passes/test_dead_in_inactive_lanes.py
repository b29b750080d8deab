"""Registers dead in lanes that left a loop: other lanes may overwrite them, unless an instruction reads other lanes."""

import numpy as np
import pytest
from support.probe import LANES, Probe, translated
from support.programs import build_text, kernel_head
from support.strategies import ENGINES

from vsim.program import Program

ROUNDS = [5, 1, 3, 2, 9, 4, 1, 6, 2, 7, 3, 8, 1, 5, 2, 4]
"""How often each lane goes through the loop."""

LOOKS = {
    "at itself": ("mov (M1, 16) SEEN(0,0)<1> V(0,0)<1;1,0>", lambda v, lane: v[lane]),
    "at one lane": ("mov (M1, 16) SEEN(0,0)<1> V(0,3)<0;1,0>", lambda v, lane: v[3]),
    "at words": ("mov (M1, 16) SEEN(0,0)<1> WORDS(0,0)<1;1,0>", lambda v, lane: v.view("u2")[lane]),
    "in pairs": ("mov (M1, 16) SEEN(0,0)<1> V(0,0)<2;2,0>", lambda v, lane: v[lane // 2 * 2]),
    "at the other half": ("mov (M1, 8) SEEN(0,0)<1> V(1,0)<1;1,0>", lambda v, lane: v[lane + 8] if lane < 8 else 0),
    "at the next lane": ("mov (M1, 8) SEEN(0,0)<1> V(0,1)<1;1,0>", lambda v, lane: v[lane + 1] if lane < 8 else 0),
    "by halves": (
        "mov (M1, 8) SEEN(0,0)<1> V(0,0)<1;1,0>\nmov (M3, 8) SEEN(1,0)<1> V(1,0)<1;1,0>",
        lambda v, lane: v[lane],
    ),
    "by halves, which are the other's": (
        "mov (M1, 8) SEEN(0,0)<1> V(1,0)<1;1,0>\nmov (M3, 8) SEEN(1,0)<1> V(0,0)<1;1,0>",
        lambda v, lane: v[lane ^ 8],
    ),
    "without a mask": ("mov (M1_NM, 16) SEEN(0,0)<1> V(0,0)<1;1,0>", None),
}


def model(look):
    """The last values that the lanes have read. Without a function each lane reads itself, active or not."""
    v, seen, left = np.zeros(LANES, "u4"), np.zeros(LANES, "u4"), np.array(ROUNDS)
    while (running := left > 0).any():
        v[running] += 1
        for lane in np.flatnonzero(running) if look else ():
            seen[lane] = look(v, lane) or seen[lane]
        left -= running
    return (seen if look else v).tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", LOOKS)
def test_reads_of_lanes_that_left_the_loop(kind, engine):
    line, look = LOOKS[kind]
    probe = Probe()
    probe.fill(SEEN=("ud", [0] * LANES), N=("d", ROUNDS))
    probe.declarations += [
        ".decl V v_type=G type=ud num_elts=16 align=GRF",
        ".decl WORDS v_type=G type=uw num_elts=32 alias=<V, 0>",
        ".decl AGAIN v_type=P num_elts=16",
    ]
    probe.lines += [
        "mov (M1, 16) V(0,0)<1> 0:ud",
        "ROUND:",
        "add (M1, 16) V(0,0)<1> V(0,0)<1;1,0> 1:ud",
        line,
        "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) AGAIN N(0,0)<1;1,0> 0:d",
        "(AGAIN) goto (M1, 16) ROUND",
    ]
    assert probe.run(engine)["SEEN"][:LANES].tolist() == model(look)


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_that_left_an_inner_loop_keep_live_values(engine):
    """V is what each lane has when it comes out; W is begun anew in each round of the outer loop, and so private in the inner."""
    probe = Probe()
    probe.fill(TOTAL=("ud", [0] * LANES), N=("d", ROUNDS))
    probe.declarations += [f".decl {name} v_type=G type=ud num_elts=16 align=GRF" for name in ("V", "W", "M")]
    probe.declarations += [".decl INNER v_type=P num_elts=16", ".decl OUTER v_type=P num_elts=16"]
    probe.lines += [
        "mov (M1, 16) V(0,0)<1> 1:ud",
        "ROUND:",
        "mov (M1, 16) W(0,0)<1> 3:ud",
        "mov (M1, 16) M(0,0)<1> N(0,0)<1;1,0>",
        "STEP:",
        "mul (M1, 16) V(0,0)<1> V(0,0)<1;1,0> W(0,0)<1;1,0>",
        "add (M1, 16) W(0,0)<1> W(0,0)<1;1,0> 2:ud",
        "add (M1, 16) M(0,0)<1> M(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) INNER M(0,0)<1;1,0> 0:d",
        "(INNER) goto (M1, 16) STEP",
        "add (M1, 16) TOTAL(0,0)<1> TOTAL(0,0)<1;1,0> V(0,0)<1;1,0>",
        "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) OUTER N(0,0)<1;1,0> 0:d",
        "(OUTER) goto (M1, 16) ROUND",
    ]
    expected = []
    for rounds in ROUNDS:
        v, total = 1, 0
        for n in range(rounds, 0, -1):
            for step in range(n):
                v = v * (3 + 2 * step) % 2**32
            total = (total + v) % 2**32
        expected.append(total)
    assert probe.run(engine)["TOTAL"][:LANES].tolist() == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("around", [0, 0xFFFF, 0x0F0F])
def test_a_register_that_one_branch_alone_writes(around, engine):
    """It begins with zeros for lanes that all go around the branch; the code behind is reached both ways."""
    probe = Probe()
    probe.fill(SEEN=("ud", [9] * LANES), X=("ud", range(LANES)))
    probe.predicate("AROUND", around)
    probe.declarations.append(".decl V v_type=G type=ud num_elts=16 align=GRF")
    probe.lines += [
        "(AROUND) goto (M1, 16) BEHIND",
        "mov (M1_NM, 16) V(0,0)<1> X(0,0)<1;1,0>",
        *["add (M1_NM, 16) V(0,0)<1> V(0,0)<1;1,0> 3:ud"] * 60,  # more than become a mask
        "BEHIND:",
        "mov (M1, 16) SEEN(0,0)<1> V(0,0)<1;1,0>",
    ]
    found = probe.run(engine)["SEEN"][:LANES].tolist()
    assert found == [0 if around == 0xFFFF else 180 + lane for lane in range(LANES)]


def selects_of(loop):
    """The instructions with which the IR merges lanes, of a loop over X and N, of which N is read afterwards."""
    text = (
        kernel_head("OUT=uq X=f*16 N=d*16 P1=P*16 P2=P*16", "OUT", SimdSize=16)
        + f"""svm_block_ld (4) OUT(0,0)<0;1,0> X.0
mov (M1, 16) N(0,0)<1> 0x0:d
ROUND:
{loop}
(P1) goto (M1, 16) ROUND
svm_block_st (4) OUT(0,0)<0;1,0> N.0
ret (M1, 1)
"""
    )
    ir = translated(Program(build_text(text)), [np.zeros(16, "i4")])
    return [line for line in ir.splitlines() if " = select <" in line and " x i1>" in line]


def test_dead_values_are_not_merged():
    """The IR of a loop of which only the counter is read afterwards selects nothing but the counter."""
    selects = selects_of("""mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> X(0,0)<1;1,0>
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> 0x1:d
cmp.gt (M1, 16) P1 X(0,0)<1;1,0> 0x3c000000:f""")
    assert {("x i32" in line, "x float" in line) for line in selects} == {(True, False)}


def test_values_that_are_read_by_halves_are_not_merged():
    """Each half of the lanes reads what its half of the write gave it; the two do not do the same."""
    selects = selects_of("""cmp.lt (M1, 16) P2 N(0,0)<1;1,0> 8:d
(P2) goto (M1, 16) behind
mov (M1, 16) X(0,0)<1> N(0,0)<1;1,0>
mul (M1, 16) X(0,0)<1> X(0,0)<1;1,0> 0x40400000:f
mov (M1, 8) N(0,0)<1> X(0,0)<1;1,0>
mov (M3, 8) N(1,0)<1> (-)X(1,0)<1;1,0>
behind:
add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> 0x1:d
cmp.lt (M1, 16) P1 N(0,0)<1;1,0> 1000:d""")
    assert not any("<16 x float>" in line for line in selects)
