"""Operations on bits of qwords that are written as two on their halves are operations on qwords, if they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probe import LANES, Probe, run_on_both_engines, translated
from support.programs import build_text, kernel_head
from support.strategies import RUNNING, effort

from vsim.program import Program

DECLARATIONS = [
    *(f".decl {n}D v_type=G type=ud num_elts=32 alias=<{n}, 0>" for n in "QRS"),
    *(f".decl {n}{k} v_type=G type=ud num_elts=16 align=GRF" for n in "XY" for k in (0, 1)),
    ".decl PAIR v_type=G type=ud num_elts=32 align=GRF",
]
CONSTANTS = ["0xffffffff:ud", "0x0:ud", "0x8421fedc:ud"]
READ = [f"mov (M1, 16) X{k}(0,0)<1> QD(0,{k})<2;1,0>" for k in (0, 1)]
WRITE = [f"mov (M1, 16) SD(0,{k})<2> X{k}(0,0)<1;1,0>" for k in (0, 1)]


def on(op, other, mask="M1", which=(0, 1), predicate=""):
    """An operation on halves, with those of a variable of qwords, or with an operand."""
    operands = [f"{other}(0,{k})<2;1,0>" if other in ("QD", "RD") else other.replace("#", str(k)) for k in (0, 1)]
    return [f"{predicate}{op} ({mask}, 16) X{k}(0,0)<1> X{k}(0,0)<1;1,0> {operands[k]}" for k in which]


LINES = [
    *(on(op, other) for op in ("and", "or", "xor") for other in ("QD", "RD", "Y#(0,0)<1;1,0>", *CONSTANTS)),
    on("sel", "RD", predicate="(P1) "),
    on("xor", "RD", predicate="(P1) "),
    [*on("and", CONSTANTS[0], which=(0,)), *on("and", CONSTANTS[2], which=(1,))],
    *(on("xor", "RD", which=(k,)) for k in (0, 1)),
    on("xor", "RD(0,0)<2;1,0>"),
    on("add", "RD"),
    on("or", "Q0(0,0)<0;1,0>"),
    [f"not (M1, 16) X{k}(0,0)<1> X{k}(0,0)<1;1,0>" for k in (0, 1)],
    [f"mov (M1, 16) Y{k}(0,0)<1> X{k}(0,0)<1;1,0>" for k in (0, 1)],
    [f"mov (M1, 16) X{k}(0,0)<1> RD(0,{1 - k})<2;1,0>" for k in (0, 1)],
    ["shr (M1, 16) R(0,0)<1> Q(0,0)<1;1,0> 0x5:uq"],
    ["(P1) mov (M1, 16) QD(0,1)<2> X0(0,0)<1;1,0>"],
    WRITE,
    READ,
]


@effort(6, 0.2, shrink=False)
@given(
    st.lists(st.sampled_from(LINES), min_size=1, max_size=8),
    st.integers(0, 8),
    RUNNING,
    st.integers(0, 0xFFFF),
    st.booleans(),
)
def test_halves_in_any_order(parts, ends, running, predicate, turned):
    """Operations on halves, some of them in a loop that the lanes leave one after the other, give the same qwords in
    registers and, stored as pairs of dwords, in memory.
    """
    probe, words = Probe(running=running), np.random.default_rng(7).integers(0, 1 << 32, 160, "u4")
    probe.fill(**{name: ("uq", words[32 * n : 32 * n + 32].tobytes()) for n, name in enumerate("QRS")})
    probe.fill(Q0=("ud", words[:16]))
    probe.buffer("MEM", bytes(8 * LANES))
    probe.fill(PLACES=("uq", [0] * LANES))
    probe.addresses("PLACES", "MEM", [8 * lane for lane in range(LANES)])
    probe.predicate("P1", predicate)
    probe.fill(N=("d", [1 + n * 7 % 5 for n in range(LANES)]))
    probe.declarations += [*DECLARATIONS, ".decl AGAIN v_type=P num_elts=16"]
    again = [
        "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) AGAIN N(0,0)<1;1,0> 0:d",
        "(AGAIN) goto (M1, 16) ROUND",
    ]
    pair = [f"mov (M1, 16) PAIR({2 * k},0)<1> X{1 - k if turned else k}(0,0)<1;1,0>" for k in (0, 1)]
    probe.lines += [f"mov (M1, 16) Y{k}(0,0)<1> {n}:ud" for n, k in enumerate((0, 1))]
    whole = [READ, ["ROUND:"], *parts[:ends], again, *parts[ends:], WRITE, pair]
    probe.lines += [line for part in whole for line in part]
    probe.lines.append("svm_scatter.4.2 (M1, 16) PLACES.0 PAIR.0")
    run_on_both_engines(probe)


KERNEL = (
    kernel_head("A=uq OUT=uq Q=uq*16 R=uq*16 S=uq*16")
    + "\n".join(DECLARATIONS)
    + """
.decl P1 v_type=P num_elts=16
.input A offset=64 size=8
.input OUT offset=72 size=8
.kernel_attr SimdSize=16
setp (M1_NM, 16) P1 0xf1:uw
svm_block_ld (8) A(0,0)<0;1,0> Q.0
add (M1_NM, 1) A(0,0)<1> A(0,0)<0;1,0> 128:uq
svm_block_ld (8) A(0,0)<0;1,0> R.0
LINES
svm_block_st (8) OUT(0,0)<0;1,0> S.0
ret (M1, 1)
"""
)


@pytest.mark.parametrize(
    ("lines", "compute"),
    [
        ([], lambda q, r, p: q),
        (on("xor", "RD"), lambda q, r, p: q ^ r),
        (on("and", CONSTANTS[2]) + on("or", "RD"), lambda q, r, p: q & np.uint64(0x8421FEDC8421FEDC) | r),
        (on("sel", "RD", predicate="(P1) "), lambda q, r, p: np.where(p, q, r)),
    ],
    ids=["copies", "xor", "constants", "selections"],
)
def test_halves_become_qwords_without_a_shuffle_of_both(lines, compute):
    program = Program(build_text(KERNEL.replace("LINES", "\n".join([*READ, *lines, *WRITE])), "xehp"))
    words, out = np.random.default_rng(3).integers(0, 2**64, 32, "u8"), np.zeros(16, "u8")
    assert "i32 0, i32 16, i32 1, i32 17," not in translated(program, [words, out])
    program.launch("k", 16, 16, [words, out], engine="llvm")
    running = np.array([0xF1 >> lane & 1 for lane in range(16)], bool)
    assert out.tolist() == compute(words[:16], words[16:], running).tolist()


def test_rows_of_other_qwords_are_interleaved():
    lines = [READ[0], READ[1].replace("QD", "RD"), *WRITE]
    program = Program(build_text(KERNEL.replace("LINES", "\n".join(lines)), "xehp"))
    words, out = np.random.default_rng(3).integers(0, 2**64, 32, "u8"), np.zeros(16, "u8")
    assert "i32 0, i32 16, i32 1, i32 17," in translated(program, [words, out])
    program.launch("k", 16, 16, [words, out], engine="llvm")
    low = np.uint64(0xFFFFFFFF)
    assert out.tolist() == (words[:16] & low | words[16:] & ~low).tolist()
