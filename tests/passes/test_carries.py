"""Sums of qwords that are written as sums of dwords with a carry."""

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.probe import LANES, Probe
from support.programs import build_text, ze_info_of
from support.strategies import CHECKED, ENGINES, RUNNING
from test_regions import ir_of

from visakit.language import types
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.carries import SumPart
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.program import Program

ENDS = [0, 1, 5, (1 << 31) - 1, 1 << 31, (1 << 32) - 4, (1 << 32) - 1]
DWORDS = st.lists(st.sampled_from(ENDS), min_size=LANES, max_size=LANES)
MIXED = [random.Random(n).choices(ENDS, k=LANES) for n in range(4)]
QWORD = ["mov (M1, 16) D(0,0)<2> LOW(0,0)<1;1,0>", "mov (M1, 16) D(0,1)<2> HIGH(0,0)<1;1,0>"]
FIRST = "addc (M1, 16) LOW(0,0)<1> C(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>"
SUMS = {
    "a scalar": ["addc (M1, 16) LOW(0,0)<1> C(0,0)<1> X(0,0)<1;1,0> Y(0,3)<0;1,0>",
                 "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> YH(0,3)<0;1,0>"],
    "a scalar, spread before": ["addc (M1, 16) LOW(0,0)<1> C(0,0)<1> Y(0,3)<0;1,0> X(0,0)<1;1,0>",
                                "add (M1, 16) HIGH(0,0)<1> 0x0:ud YH(0,3)<0;1,0>",
                                "add (M1, 16) HIGH(0,0)<1> HIGH(0,0)<1;1,0> C(0,0)<1;1,0>"],
    "qwords": ["addc (M1, 16) LOW(0,0)<1> C(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
               "add (M1, 16) HIGH(0,0)<1> YH(0,0)<1;1,0> XH(0,0)<1;1,0>",
               "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> HIGH(0,0)<1;1,0>"],
    "a sum of sums": ["addc (M1, 16) L(0,0)<1> C(0,0)<1> X(0,0)<1;1,0> Y(0,3)<0;1,0>",
                      "add (M1, 16) H(0,0)<1> XH(0,0)<1;1,0> YH(0,3)<0;1,0>",
                      "add (M1, 16) H(0,0)<1> C(0,0)<1;1,0> H(0,0)<1;1,0>",
                      "addc (M1, 16) LOW(0,0)<1> C(0,0)<1> L(0,0)<1;1,0> Y(0,5)<0;1,0>",
                      "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> H(0,0)<1;1,0>"],
    "another carry": ["addc (M1, 16) LOW(0,0)<1> C(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
                      "addc (M1, 16) L(0,0)<1> C(0,0)<1> XH(0,0)<1;1,0> Y(0,0)<1;1,0>",
                      "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> YH(0,0)<1;1,0>"],
    "a carry of another second operand": [FIRST, "addc (M1, 16) L(0,0)<1> C(0,0)<1> X(0,0)<1;1,0> YH(0,0)<1;1,0>",
                                          "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>"],
    "an operand that changes": ["addc (M1, 16) LOW(0,0)<1> C(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
                                "mov (M1, 16) X(0,0)<1> YH(0,0)<1;1,0>",
                                "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> X(0,0)<1;1,0>"],
    "a low dword that changes": ["addc (M1, 16) LOW(0,0)<1> C(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
                                 "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>",
                                 "add (M1, 16) LOW(0,0)<1> LOW(0,0)<1;1,0> 0x1:ud"],
    "a comparison of signed dwords": ["addc (M1, 16) L(0,0)<1> H(0,0)<1> XH(0,0)<1;1,0> YH(0,0)<1;1,0>",
                                      "add (M1, 16) LOW(0,0)<1> X(0,0)<1;1,0> Y(0,0)<1;1,0>",
                                      "cmp.lt (M1, 16) P1 SLOW(0,0)<1;1,0> SX(0,0)<1;1,0>",
                                      "(P1) sel (M1, 16) C(0,0)<1> 0x1:ud 0x0:ud",
                                      "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>"],
    "a comparison with another dword": [FIRST, "subb (M1, 16) L(0,0)<1> C(0,0)<1> LOW(0,0)<1;1,0> YH(0,0)<1;1,0>",
                                        "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>"],
    "a comparison of a high dword": [FIRST, "add (M1, 16) H(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>",
                                     "subb (M1, 16) L(0,0)<1> C(0,0)<1> H(0,0)<1;1,0> X(0,0)<1;1,0>",
                                     "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>"],
    "two high dwords": [FIRST, "add (M1, 16) LOW(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>",
                        "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> YH(0,0)<1;1,0>"],
    "a scalar in some lanes": ["(P1) mov (M1, 16) X(0,0)<1> Y(0,3)<0;1,0>", FIRST.replace("Y(0,0)<1", "Y(0,5)<0"),
                               "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> YH(0,3)<0;1,0>"],
    "two low dwords": [FIRST, "mov (M1, 16) HIGH(0,0)<1> LOW(0,0)<1;1,0>"],
    "signs of another dword": ["asr (M1, 16) XH(0,0)<1> SY(0,0)<1;1,0> 0x1f:ud", FIRST.replace("Y(0,0)<1", "Y(0,3)<0"),
                               "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>"],
    "two highest bits": ["asr (M1, 16) XH(0,0)<1> SX(0,0)<1;1,0> 0x1e:ud", FIRST.replace("Y(0,0)<1", "Y(0,3)<0"),
                         "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>"],
    "an index with its highest bit": ["shr (M1, 16) XH(0,0)<1> X(0,0)<1;1,0> 0x1f:ud", FIRST,
                                      "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> XH(0,0)<1;1,0>"],
}  # fmt: skip


def probe_of(lines, running=None, **variables):
    """Lines whose operands are results of instructions before, so that two that read one find the same value."""
    probe = Probe(running=running)
    probe.fill(**variables, **{name: ("ud", [9] * LANES) for name in ("LOW", "HIGH", "C", "L", "H")}, NONE=("ud", [0]))
    computed = [f"or (M1, 16) {name}(0,0)<1> {name}(0,0)<1;1,0> NONE(0,0)<0;1,0>" for name in variables]
    probe.fill(Q=("uq", [77] * LANES))
    probe.predicate("P1", 0x5A5A)
    probe.declarations += [".decl D v_type=G type=ud num_elts=32 alias=<Q, 0>"]
    probe.declarations += [f".decl S{name} v_type=G type=d num_elts=16 alias=<{name}, 0>" for name in ("LOW", "X", "Y")]
    probe.lines += [*computed, *lines, *QWORD, "add (M1, 16) Q(0,0)<1> Q(0,0)<1;1,0> 0x1:q"]
    return probe


@pytest.mark.parametrize("name", SUMS)
@CHECKED
@example(*MIXED, 0xFFFF)
@given(DWORDS, DWORDS, DWORDS, DWORDS, RUNNING)
def test_qwords_equal_their_dwords(name, x, xh, y, yh, running):
    probe = probe_of(SUMS[name], running, X=("ud", x), XH=("ud", xh), Y=("ud", y), YH=("ud", yh))
    found = {engine: probe.run(engine) for engine in ENGINES}
    for run in found.values():
        dwords = run["LOW"][:LANES].astype("u8") | run["HIGH"][:LANES].astype("u8") << np.uint64(32)
        wanted = [int(q) + 1 & (1 << 64) - 1 if running >> lane & 1 else 77 for lane, q in enumerate(dwords)]
        assert run["Q"][:LANES].tolist() == wanted
    assert all((found[ENGINES[0]][v] == found[ENGINES[1]][v]).all() for v in ("LOW", "HIGH", "Q"))


@CHECKED
@given(DWORDS, DWORDS)
def test_lanes_at_constant_distances(y, yh):
    """Eight lanes at distances that are no stride: their first one does not stand for all."""
    lines = [
        "add (M1, 16) X(0,0)<1> Y(0,3)<0;1,0> 0x13206574:uv",
        FIRST.replace("Y(0,0)<1", "Y(0,5)<0"),
        "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> YH(0,3)<0;1,0>",
        *QWORD,
    ]
    probe = probe_of([line.replace("16", "8") for line in lines], X=("ud", y), Y=("ud", y), YH=("ud", yh))
    del probe.lines[-3:]
    for run in map(probe.run, ENGINES):
        dwords = run["LOW"][:8].astype("u8") | run["HIGH"][:8].astype("u8") << np.uint64(32)
        assert run["Q"][:8].tolist() == dwords.tolist()


IDS = """.version 4.1
.kernel "k"
.decl IDS v_type=G type=uw num_elts=32 align=GRF
.decl OUT v_type=G type=uq num_elts=1
.decl OUT_D v_type=G type=ud num_elts=2 alias=<OUT, 0>
.decl V v_type=G type=ud num_elts=16 align=GRF
.decl LOW v_type=G type=ud num_elts=16 align=GRF
.decl HIGH v_type=G type=ud num_elts=16 align=GRF
.decl C v_type=G type=ud num_elts=16 align=GRF
.decl Q v_type=G type=uq num_elts=16 align=GRF
.decl D v_type=G type=ud num_elts=32 alias=<Q, 0>
.input IDS offset=32 size=64
.input OUT offset=128 size=8
.kernel_attr SimdSize=16
mov (M1, 16) V(0,0)<1> IDS({row},0)<1;1,0>
shl (M1, 16) V(0,0)<1> V(0,0)<1;1,0> 2:ud
addc (M1, 16) LOW(0,0)<1> C(0,0)<1> V(0,0)<1;1,0> OUT_D(0,0)<0;1,0>
add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> OUT_D(0,1)<0;1,0>
mov (M1, 16) D(0,0)<2> LOW(0,0)<1;1,0>
mov (M1, 16) D(0,1)<2> HIGH(0,0)<1;1,0>
svm_scatter.4.1 (M1, 16) Q.0 V.0
ret (M1, 1)
"""
INFO = ze_info_of("buffer", "local_id=96", simd_size=16)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [(16, 1), (8, 2)])
@pytest.mark.parametrize("axis", [0, 1])
def test_lanes_at_known_distances(axis, size, engine):
    """Local ids: lanes differ along a row, or from row to row."""
    found = np.full(16, 99, "u4")
    Program(build_text(IDS.format(row=axis), info=INFO)).launch("k", size, size, [found], engine=engine)
    assert found.tolist() == [4 * n if n < size[axis] else 99 for n in range(16)]


@pytest.mark.parametrize("name", ["ud", "d", "f"])
def test_a_carry_is_a_comparison_without_signs(name):
    """Registers forget what masks are, so that only the fact itself shows it."""
    b, t = Builder({}), types.BY_NAME[name]
    b.follows_carries = True
    b.begin("entry")
    x, y = (Value(b, t, 1, b.assign(f"load {ir_type(t, 1)}, ptr %p{n}")) for n in range(2))
    carried = ((x + y) < x).facts.carried
    assert (carried and carried.part) == (SumPart.CARRY if name == "ud" else None)


def test_sums_of_many_levels():
    """A number that is doubled again and again: each level has the one before it twice."""
    double = ["addc (M1, 16) LOW(0,0)<1> C(0,0)<1> LOW(0,0)<1;1,0> LOW(0,0)<1;1,0>",
              "add (M1, 16) HIGH(0,0)<1> HIGH(0,0)<1;1,0> HIGH(0,0)<1;1,0>",
              "add (M1, 16) HIGH(0,0)<1> C(0,0)<1;1,0> HIGH(0,0)<1;1,0>"]  # fmt: skip
    probe = probe_of(40 * double, X=("ud", [1]), Y=("ud", [1]))
    for run in map(probe.run, ENGINES):
        assert run["Q"][:LANES].tolist() == [(9 + (9 << 32) << 40 & (1 << 64) - 1) + 1] * LANES


@pytest.mark.parametrize("name", ["a scalar", "a scalar, spread before", "qwords", "a sum of sums"])
def test_addresses_are_sums_of_qwords(name):
    lines = [*SUMS[name], *QWORD, "svm_scatter.4.1 (M1, 16) Q.0 X.0"]
    head = [
        f".decl {v} v_type=G type=ud num_elts=16 align=GRF"
        for v in ("X", "XH", "Y", "YH", "LOW", "HIGH", "C", "L", "H")
    ]
    head += [".decl Q v_type=G type=uq num_elts=16 align=GRF", ".decl D v_type=G type=ud num_elts=32 alias=<Q, 0>"]
    assert "= zext <16 x i32>" in ir_of(lines, head)
