"""Instructions that compilers have split run together; dwords of qwords are written one half after the other."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probe import LANES, Probe, translated
from support.programs import build_text, kernel_head
from support.strategies import CHECKED, ENGINES, RUNNING

from visakit.diagnostics import SimulationError
from vsim.analysis.control_flow import control_flow
from vsim.analysis.register_accesses import Accesses
from vsim.analysis.split_instructions import SplitInstructions
from vsim.program import Program
from vsim.semantics.registers import layout_of

CARRIES = [
    "addc (M1, 8) A(0,0)<1> C0(0,0)<1> A(0,0)<1;1,0> B(0,0)<1;1,0>",
    "add (M1, 8) B(0,0)<1> C0(0,0)<1;1,0> B(0,0)<1;1,0>",
    "addc (M3, 8) A(1,0)<1> C1(0,0)<1> A(1,0)<1;1,0> B(1,0)<1;1,0>",
    "add (M3, 8) B(1,0)<1> C1(0,0)<1;1,0> B(1,0)<1;1,0>",
]
DECLARATIONS = [
    ".decl C0 v_type=G type=ud num_elts=8 align=GRF",
    ".decl C1 v_type=G type=ud num_elts=8 align=GRF",
    ".decl H v_type=G type=ud num_elts=32 alias=<Q, 0>",
    ".decl S v_type=G type=d num_elts=32 alias=<Q, 0>",
    ".decl A0 v_type=A num_elts=1",
    ".decl AGAIN v_type=P num_elts=16",
]


def joined(*lines, lanes=LANES, kept=frozenset(), atomics=False):
    """The numbers of instructions that run with an earlier one."""
    variables = [f".decl {n} v_type=G type=ud num_elts=16 align=GRF" for n in "AB"]
    variables.append(".decl Q v_type=G type=uq num_elts=16 align=GRF")
    head = [".version 4.1", '.kernel "k"', *variables, *DECLARATIONS, ".kernel_attr SimdSize=16"]
    function = build_text("\n".join([*head, *lines, "ret (M1, 1)"]) + "\n", "xehp").module.kernels[0]
    layout = layout_of(function, 32)
    split = SplitInstructions(function, layout, Accesses(function, layout.copy()), lanes, kept, atomics)
    split.join(control_flow(function).blocks())
    return split.left_out


def test_halves_with_separate_carries_run_together():
    assert joined(*CARRIES) == {2, 3}


def test_instructions_that_are_to_stay_and_those_of_lanes_that_a_thread_lacks_stay():
    """Either half may be one that is to stay."""
    assert joined(*CARRIES, kept={1}) == joined(*CARRIES, kept={3}) == {2}
    assert not joined(*CARRIES, lanes=8)


@pytest.mark.parametrize(
    "lines",
    [
        [CARRIES[0], "mov (M1, 8) A(1,0)<1> B(0,0)<1;1,0>", *CARRIES[2:]],
        [CARRIES[0], "mov (M1_NM, 1) B(0,0)<1> A(1,0)<0;1,0>", *CARRIES[2:]],
        ["mov (M1, 8) A(0,0)<1> B(0,0)<1;1,0>", "mov (M3, 8) A(1,0)<1> A(0,0)<1;1,0>"],
        ["mov (M1, 8) A(0,0)<1> B(0,0)<1;1,0>", "mov (M3_NM, 8) A(1,0)<1> B(1,0)<1;1,0>"],
        ["mov (M1, 8) A(0,0)<1> B(0,0)<1;1,0>", "L:", "mov (M3, 8) A(1,0)<1> B(1,0)<1;1,0>"],
        ["mov (M1, 8) A(0,0)<1> B(0,0)<1;1,0>", "mov (M3, 8) A(0,0)<1> B(1,0)<1;1,0>"],
        ["mov (M3, 8) A(1,0)<1> B(1,0)<1;1,0>", "mov (M1, 8) A(0,0)<1> B(0,0)<1;1,0>"],
        ["mov (M1, 8) A(0,0)<1> B(1,0)<1;1,0>", "mov (M3, 8) A(1,0)<1> B(2,0)<1;1,0>"],
        [*CARRIES, "mov (M1, 16) A(0,0)<1> C0(0,0)<1;1,0>"],
        [*CARRIES, "addr_add (M1_NM, 1) A0(0)<1> &C1 0:uw"],
        ["mov (M1, 8) A(0,0)<1> 0x76543210:uv", "mov (M3, 8) A(1,0)<1> 0x76543210:uv"],
        ["mov (M1, 8) S(0,0)<1> S(2,0)<1;1,0>", "mov (M3, 8) S(1,0)<1> (-)S(3,0)<1;1,0>"],
        ["mov (M1, 8) H(0,0)<1> H(2,0)<1;1,0>", "mov (M3, 8) H(1,0)<1> S(3,0)<1;1,0>"],
        ["svm_scatter.4.1 (M1, 8) Q.0 A.0", "svm_scatter.4.1 (M3, 8) Q.0 A.0"],
        [
            "mov (M1, 8) A(0,0)<1> B(0,0)<1;1,0>",
            "mov (M1_NM, 1) %cr0(0,0)<1> 0x4c0:ud",
            "mov (M3, 8) A(1,0)<1> B(1,0)<1;1,0>",
        ],
    ],
    ids=[
        "overwritten",
        "read by another",
        "reads the first",
        "mask",
        "label",
        "same place",
        "order",
        "beyond the variable",
        "a carry that another operand exceeds",
        "a carry whose address is taken",
        "lanes of a packed vector",
        "modifier",
        "type",
        "the same payload of messages",
        "a control register between them",
    ],
)
def test_other_pairs_of_instructions_stay(lines):
    assert not joined(*lines)


LINES = [
    *CARRIES,
    *(f"mov (M{1 + lane // 4}, 8) H({lane // 4},{k})<2> {x}({lane // 8},0)<1;1,0>"
      for lane in (0, 8) for k in (0, 1) for x in "AB"),
    *(f"xor (M{1 + lane // 4}, 8) {x}({lane // 8},0)<1> H({lane // 4},{k})<2;1,0> 0x9E3779B9:ud"
      for lane in (0, 8) for k in (0, 1) for x in "AB"),
    *(f"mov (M1, 16) H(0,{k})<2> {x}(0,0)<1;1,0>" for k in (0, 1) for x in "AB"),
    *(f"(P1) add (M1, 16) {x}(0,0)<1> H(0,{k})<2;1,0> {x}(0,0)<1;1,0>" for k in (0, 1) for x in "AB"),
    "(P1) mov (M1, 16) H(0,1)<2> A(0,0)<1;1,0>",
    "shr (M1, 16) Q(0,0)<1> Q(0,0)<1;1,0> 0x7:uq",
    "(P1) add (M1, 8) Q(0,0)<1> Q(0,0)<1;1,0> Q(2,0)<1;1,0>",
    "(!P1) mov (M1, 16) H(0,0)<2> 0x5:ud",
    "mov (M1, 8) A(0,0)<1> C1(0,0)<1;1,0>",
    "mov (M3, 8) B(1,0)<1> C0(0,0)<1;1,0>",
    "mov (M1_NM, 16) B(0,0)<1> H(0,1)<2;1,0>",
]  # fmt: skip


@CHECKED
@given(st.lists(st.sampled_from(LINES), min_size=3, max_size=14), st.integers(0, 14), RUNNING, st.integers(0, 0xFFFF))
def test_parts_of_registers_in_a_loop_that_lanes_leave(lines, ends, running, predicate):
    """Any parts in any order, some of them in a loop that the lanes leave one after the other."""
    probe = Probe(running=running)
    words = np.random.default_rng(5).integers(0, 1 << 32, 64, "u4")
    probe.fill(A=("ud", words[:16]), B=("ud", words[16:32]), Q=("uq", words[:32].tobytes()))
    probe.fill(N=("d", [1 + n * 7 % 5 for n in range(LANES)]))
    probe.predicate("P1", predicate)
    probe.declarations += DECLARATIONS
    begin = [f"mov (M1_NM, 8) C{n}(0,0)<1> {n}:ud" for n in (0, 1)]
    again = [
        "add (M1, 16) N(0,0)<1> N(0,0)<1;1,0> -1:d",
        "cmp.gt (M1, 16) AGAIN N(0,0)<1;1,0> 0:d",
        "(AGAIN) goto (M1, 16) ROUND",
    ]
    probe.lines += [*begin, "ROUND:", *lines[:ends], *again, *lines[ends:]]
    found = [probe.run(engine) for engine in ENGINES]
    for name in "ABQN":
        assert found[0][name].tolist() == found[1][name].tolist(), name


def test_qwords_that_a_loop_writes_in_halves_are_nothing_that_it_keeps():
    """Lanes that left the loop do not need the halves, so that no round reads those of the round before."""
    text = f""".version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1
{chr(10).join(f".decl {n} v_type=G type=ud num_elts=16 align=GRF" for n in "AB")}
.decl Q v_type=G type=uq num_elts=16 align=GRF
{chr(10).join(DECLARATIONS)}
.input OUT offset=64 size=8
.kernel_attr SimdSize=16
mov (M1, 16) A(0,0)<1> 0x3:ud
ROUND:
mov (M1, 8) H(0,0)<2> A(0,0)<1;1,0>
mov (M3, 8) H(2,0)<2> A(1,0)<1;1,0>
mov (M1, 8) H(0,1)<2> 0x1:ud
mov (M3, 8) H(2,1)<2> 0x1:ud
shr (M1, 16) Q(0,0)<1> Q(0,0)<1;1,0> 0x1:uq
mov (M1, 16) A(0,0)<1> H(0,0)<2;1,0>
cmp.gt (M1, 16) AGAIN A(0,0)<1;1,0> 7:ud
(AGAIN) goto (M1, 16) ROUND
svm_block_st (4) OUT(0,0)<0;1,0> A.0
ret (M1, 1)
"""
    ir = translated(Program(build_text(text, "xehp")), [np.zeros(64, "u1")])
    assert "<16 x i64>" in ir
    assert not re.search(r"(store <16 x i64>|select <16 x i1> [^,]*, <16 x i64>)", ir)


ATOMICS = ["svm_atomic.xchg (M1, 8) Q.0 B.0 A.0 %null.0", "svm_atomic.xchg (M3, 8) Q.64 B.32 A.32 %null.0"]


@pytest.mark.parametrize(
    ("lines", "atomics", "expected"),
    [
        (ATOMICS, True, {1}),
        (ATOMICS, False, set()),
        ([ATOMICS[0], ATOMICS[1].replace("Q.64", "Q.32")], True, set()),
        ([ATOMICS[0], ATOMICS[1].replace("xchg", "add")], True, set()),
        ([ATOMICS[0], "svm_atomic.add (M1, 8) Q.0 %null.0 A.0 %null.0", ATOMICS[1]], True, set()),
        ([ATOMICS[0], "svm_gather.4.1 (M1, 8) Q.0 C0.0", ATOMICS[1]], True, set()),
        ([ATOMICS[0], "mov (M3, 8) A(1,0)<1> B(0,0)<1;1,0>", ATOMICS[1]], True, set()),
        ([ATOMICS[0], "mov (M1, 8) C0(0,0)<1> C1(0,0)<1;1,0>", ATOMICS[1]], True, {2}),
    ],
)
def test_atomics_of_halves_run_together(lines, atomics, expected):
    """If nothing but arithmetic of other registers is between them."""
    assert joined(*lines, atomics=atomics) == expected


ATOMIC_KERNEL = (
    kernel_head("OUT=uq@qword X=ud*16 BYTE=ud*16 AT=uq*16 V=ud*16 OLD=ud*16 P1=P*16", "OUT", SimdSize=16)
    + """
mov (M1, 8) X(0,0)<1> 0x76543210:uv
add (M3, 8) X(1,0)<1> X(0,0)<1;1,0> 0x8:ud
and (M1, 16) BYTE(0,0)<1> X(0,0)<1;1,0> 0x3:ud
mul (M1, 16) BYTE(0,0)<1> BYTE(0,0)<1;1,0> 0x4:ud
FAR
add (M1, 16) AT(0,0)<1> BYTE(0,0)<1;1,0> OUT(0,0)<0;1,0>
add (M1, 16) V(0,0)<1> X(0,0)<1;1,0> 0x5:ud
cmp.ne (M1, 16) P1 V(0,0)<1;1,0> 0x9:ud
mov (M1, 16) OLD(0,0)<1> 0x0:ud
svm_atomic.OP (M1, 8) AT.0 OLD.0 V.0 X.0
svm_atomic.OP (M3, 8) AT.64 OLD.32 V.32 X.32
shl (M1, 16) BYTE(0,0)<1> X(0,0)<1;1,0> 0x2:ud
add (M1, 16) BYTE(0,0)<1> BYTE(0,0)<1;1,0> 0x100:ud
add (M1, 16) AT(0,0)<1> BYTE(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 16) AT.0 OLD.0
ret (M1, 1)
"""
)


@pytest.mark.parametrize("predicate", ["", "(P1) "])
@pytest.mark.parametrize("op", ["xchg", "add", "cmpxchg"])
def test_lanes_of_both_halves_act_in_their_order(op, predicate):
    text = ATOMIC_KERNEL.replace("FAR\n", "").replace("svm_atomic.OP", f"{predicate}svm_atomic.{op}")
    if op != "cmpxchg":
        text = text.replace("V.0 X.0", "V.0 %null.0").replace("V.32 X.32", "V.32 %null.0")
    found = []
    for engine in ENGINES:
        data = np.arange(128, dtype="u4")
        Program(build_text(text)).launch("k", 16, 16, [data], engine=engine, threads=1)
        found.append(data.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("lane", [2, 8, 11])
def test_faults_of_atomics_name_their_half(lane):
    far = f"cmp.eq (M1, 16) P1 X(0,0)<1;1,0> {lane}:ud\n(P1) mov (M1, 16) BYTE(0,0)<1> 0x10000:ud\n"
    text = ATOMIC_KERNEL.replace("FAR\n", far).replace("svm_atomic.OP", "svm_atomic.cmpxchg")
    found = []
    for engine in ENGINES:
        with pytest.raises(SimulationError) as error:
            Program(build_text(text)).launch("k", 16, 16, [np.zeros(128, "u4")], engine=engine, threads=1)
        found.append(str(error.value))
    assert found[0] == found[1] and f"svm_atomic.cmpxchg (M{1 if lane < 8 else 3}, 8)" in found[0]
