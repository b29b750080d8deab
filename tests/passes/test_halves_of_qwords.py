"""Operations on bits of qwords that are written as two on their halves are operations on qwords, if they are."""

import re

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
    *(f".decl {n}{k}S v_type=G type=d num_elts=16 alias=<{n}{k}, 0>" for n in "XY" for k in (0, 1)),
    ".decl RDS v_type=G type=d num_elts=32 alias=<R, 0>",
    ".decl TERM v_type=G type=ud num_elts=16 align=GRF",
    ".decl PAIR v_type=G type=ud num_elts=32 align=GRF",
]
CONSTANTS = ["0xffffffff:ud", "0x0:ud", "0x8421fedc:ud"]
READ = [f"mov (M1, 16) X{k}(0,0)<1> QD(0,{k})<2;1,0>" for k in (0, 1)]
WRITE = [f"mov (M1, 16) SD(0,{k})<2> X{k}(0,0)<1;1,0>" for k in (0, 1)]


def on(op, other, mask="M1", which=(0, 1), predicate=""):
    """An operation on halves, with those of a variable of qwords, or with an operand."""
    operands = [f"{other}(0,{k})<2;1,0>" if other in ("QD", "RD") else other.replace("#", str(k)) for k in (0, 1)]
    return [f"{predicate}{op} ({mask}, 16) X{k}(0,0)<1> X{k}(0,0)<1;1,0> {operands[k]}" for k in which]


def product(x, y, *terms, sign=""):
    """Both halves of a product of dwords in X0 and X1, and products of dwords that are added to the high half."""
    lines = [f"mul (M1, 16) Y0{sign}(0,0)<1> {x} {y}", f"mulh (M1, 16) Y1{sign}(0,0)<1> {x} {y}"]
    for one, other in terms:
        lines += [f"mul (M1, 16) TERM(0,0)<1> {one} {other}", f"{ADD} Y1(0,0)<1;1,0> TERM(0,0)<1;1,0>"]
    return [*lines, *(f"mov (M1, 16) X{k}(0,0)<1> Y{k}(0,0)<1;1,0>" for k in (0, 1))]


ADD = "add (M1, 16) Y1(0,0)<1>"
X0, X1, R0, R1 = "X0(0,0)<1;1,0>", "X1(0,0)<1;1,0>", "RD(0,0)<2;1,0>", "RD(0,1)<2;1,0>"
C0, C1 = "0x9abcdef1:ud", "0x8421fedc:ud"
SIGNED = product("X0S(0,0)<1;1,0>", "RDS(0,0)<2;1,0>", sign="S")
SIGNED_SUM = [
    *SIGNED[:2],
    f"mul (M1, 16) TERM(0,0)<1> {X1} {R0}",
    f"{ADD} Y1(0,0)<1;1,0> TERM(0,0)<1;1,0>",
    *SIGNED[2:],
]
SIGNS = "asr (M1, 16) X1(0,0)<1> X0S(0,0)<1;1,0> 0x1f:d"
PRODUCTS = {
    "an extended dword and a constant": (
        [SIGNS, *product(X0, C0, (X0, "0x0:ud"), (X1, C0))],
        lambda q, r: signed(q).view("u8") * np.uint64(0x9ABCDEF1),
    ),
    "dwords": (product(X0, R0), lambda q, r: low(q) * low(r)),
    "a constant": (product(X0, C0), lambda q, r: low(q) * np.uint64(0x9ABCDEF1)),
    "zeros": (product(X0, R0, (X0, "0x0:ud"), (R0, "0x0:ud")), lambda q, r: low(q) * low(r)),
    "qwords": (product(X0, R0, (X0, R1), (X1, R0)), lambda q, r: q * r),
    "the other order": (product(X0, R0, (R0, X1), (R1, X0)), lambda q, r: q * r),
    "a qword and a constant": (product(X0, C0, (X0, C1), (X1, C0)), lambda q, r: q * np.uint64(0x8421FEDC9ABCDEF1)),
    "a square": (product(X0, X0, (X0, X1), (X0, X1)), lambda q, r: q * q),
    "a qword and a dword": (product(X0, R0, (X1, R0)), lambda q, r: q * low(r)),
}
OTHERS = {
    "half of the signs": (
        [SIGNS.replace("0x1f", "0x1e"), *product(X0, C0, (X1, C0))],
        lambda q, r: (low(q) + ((signed(q) >> 30).view("u8") << BITS)) * np.uint64(0x9ABCDEF1),
    ),
    "the signs of others": (
        [SIGNS.replace("X0S(0,0)<1;1,0>", "RDS(0,0)<2;1,0>"), *product(X0, C0, (X1, C0))],
        lambda q, r: (low(q) + ((signed(r) >> 31).view("u8") << BITS)) * np.uint64(0x9ABCDEF1),
    ),
    "another high half": (
        [product(X0, R0)[0], *product(X0, R1)[1:]],
        lambda q, r: low(low(q) * low(r)) + high(low(q) * (r >> BITS)),
    ),
    "another term": (product(X0, R0, (X1, R1)), lambda q, r: low(q) * low(r) + ((q >> BITS) * (r >> BITS) << BITS)),
    "a term twice": (product(X0, R0, (X1, R0), (X1, R0)), lambda q, r: (q + (q >> BITS << BITS)) * low(r)),
}
BITS = np.uint64(32)


def low(x):
    return x & np.uint64(0xFFFFFFFF)


def signed(x):
    return low(x).astype("u4").view("i4").astype("i8")


def high(x):
    return x >> BITS << BITS


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
    *(lines for lines, _ in (*PRODUCTS.values(), *OTHERS.values())),
    SIGNED,
    SIGNED_SUM,
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


def run_kernel(lines):
    """Whether rows are interleaved, the two vectors of qwords, and the result."""
    program = Program(build_text(KERNEL.replace("LINES", "\n".join([*READ, *lines, *WRITE])), "xehp"))
    words, out = np.random.default_rng(3).integers(0, 2**64, 32, "u8"), np.zeros(16, "u8")
    interleaves = "i32 0, i32 16, i32 1, i32 17," in translated(program, [words, out])
    program.launch("k", 16, 16, [words, out], engine="llvm")
    return interleaves, words[:16], words[16:], out


@pytest.mark.parametrize("name", PRODUCTS)
def test_halves_of_products_become_products(name):
    lines, compute = PRODUCTS[name]
    interleaves, q, r, out = run_kernel(lines)
    assert not interleaves
    assert out.tolist() == compute(q, r).tolist()


def test_halves_of_products_with_signs():
    interleaves, q, r, out = run_kernel(SIGNED)
    assert not interleaves
    assert out.tolist() == (signed(q) * signed(r)).view("u8").tolist()


@pytest.mark.parametrize("name", OTHERS)
def test_halves_of_other_products_are_interleaved(name):
    lines, compute = OTHERS[name]
    interleaves, q, r, out = run_kernel(lines)
    assert interleaves
    assert out.tolist() == compute(q, r).tolist()


def test_sums_with_signed_products_are_interleaved():
    """The products of high dwords that make a product of qwords belong to an unsigned one."""
    interleaves, q, r, out = run_kernel(SIGNED_SUM)
    assert interleaves
    assert out.tolist() == ((signed(q) * signed(r)).view("u8") + ((q >> BITS) * low(r) << BITS)).tolist()


SCALARS = """mov (M1_NM, 1) X0S(0,0)<1> RDS(0,0)<0;1,0>
asr (M1_NM, 1) X1S(0,0)<1> X0S(0,0)<0;1,0> SHIFT:d
mul (M1_NM, 1) SD(0,0)<1> X0(0,0)<0;1,0> 0xc:ud
mulh (M1_NM, 1) Y1(0,0)<1> X0(0,0)<0;1,0> 0xc:ud
mul (M1_NM, 1) TERM(0,0)<1> X1(0,0)<0;1,0> 0xc:ud
add (M1_NM, 1) SD(0,1)<1> Y1(0,0)<0;1,0> TERM(0,0)<0;1,0>
add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> 0x5:uq"""


@pytest.mark.parametrize(("shift", "known"), [(31, True), (30, False)])
def test_halves_of_products_of_scalars(shift, known):
    """Both dwords of a product that are read as a qword: an index that is extended, times the size of an element."""
    lines = SCALARS.replace("SHIFT", hex(shift))
    program = Program(build_text(KERNEL.replace("LINES", lines), "xehp"))
    words, out = np.full(32, 0xFEDCBA98, "u8"), np.zeros(16, "u8")
    assert bool(re.search(r"sext i32 \S+ to i64", translated(program, [words, out]))) == known
    program.launch("k", 16, 16, [words, out], engine="llvm")
    extended = 0xFEDCBA98 - (1 << 32) if known else 0xFEDCBA98 + ((0xFEDCBA98 - (1 << 32) >> 30) << 32)
    assert int(out[0]) == (extended * 12 + 5) % (1 << 64)
