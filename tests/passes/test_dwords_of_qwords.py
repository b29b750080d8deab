"""Sums of 64 bits that are written as operations on dwords are sums, if they are; their lanes are as far apart as the index's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probe import Probe
from support.programs import build_text, kernel_head
from support.strategies import ENGINES, effort

from vsim.engines.llvm.pipeline import translate
from vsim.launch.launch import BufferArgument, Launch
from vsim.program import Program

LANES = 8
SUM = [
    "asr (M1, 8) SIGN(0,0)<1> INDEX(0,0)<1;1,0> 31:d",
    "addc (M1, 8) LOW(0,0)<1> CARRY(0,0)<1> PD(0,0)<0;1,0> INDEXU(0,0)<1;1,0>",
    "add (M1, 8) HIGH(0,0)<1> PD(0,1)<0;1,0> SIGN(0,0)<1;1,0>",
    "add (M1, 8) HIGH(0,0)<1> CARRY(0,0)<1;1,0> HIGH(0,0)<1;1,0>",
    "mov (M1, 8) DWORDS(0,0)<2> LOW(0,0)<1;1,0>",
    "mov (M1, 8) DWORDS(0,1)<2> HIGH(0,0)<1;1,0>",
]
TURNED = [
    SUM[0],
    "addc (M1, 8) LOW(0,0)<1> CARRY(0,0)<1> INDEXU(0,0)<1;1,0> PD(0,0)<0;1,0>",
    "add (M1, 8) HIGH(0,0)<1> SIGN(0,0)<1;1,0> PD(0,1)<0;1,0>",
    "add (M1, 8) HIGH(0,0)<1> HIGH(0,0)<1;1,0> CARRY(0,0)<1;1,0>",
    *reversed(SUM[4:]),
]
OTHERS = [
    "asr (M1, 8) SIGN(0,0)<1> INDEX(0,0)<1;1,0> 30:d",
    "asr (M1, 8) SIGN(0,0)<1> OTHER(0,0)<1;1,0> 31:d",
    "shr (M1, 8) SIGN(0,0)<1> INDEXU(0,0)<1;1,0> 31:d",
    "add (M1, 8) INDEX(0,0)<1> INDEX(0,0)<1;1,0> 1:d",
    "add (M1, 8) LOW(0,0)<1> LOW(0,0)<1;1,0> 4:d",
    "add (M1, 8) HIGH(0,0)<1> HIGH(0,0)<1;1,0> SIGN(0,0)<1;1,0>",
    "addc (M1, 8) LOW(0,0)<1> CARRY(0,0)<1> PD(0,1)<0;1,0> INDEXU(0,0)<1;1,0>",
    "addc (M1, 8) SPARE(0,0)<1> CARRY(0,0)<1> PD(0,0)<0;1,0> OTHERU(0,0)<1;1,0>",
    "add (M1, 8) HIGH(0,0)<1> CARRY(0,0)<1;1,0> HIGH(0,0)<1;1,0>",
    "cmp.lt (M1, 8) P1 LOWD(0,0)<1;1,0> INDEX(0,0)<1;1,0>",
    "(P1) sel (M1, 8) CARRY(0,0)<1> 1:ud 0:ud",
    "(P1) mov (M1, 8) LOW(0,0)<1> OTHER(0,0)<1;1,0>",
    "(P1) goto (M1, 8) behind",
    "mov (M1_NM, 1) PD(0,1)<1> OTHER(0,3)<0;1,0>",
    "mov (M1, 8) DWORDS(0,0)<2> OTHER(0,0)<1;1,0>",
]
ADDRESSES = [
    ".decl PD v_type=G type=ud num_elts=2 alias=<P, 0>",
    ".decl INDEXU v_type=G type=ud num_elts=8 alias=<INDEX, 0>",
    ".decl OTHERU v_type=G type=ud num_elts=8 alias=<OTHER, 0>",
    *(f".decl {name} v_type=G type=ud num_elts=8 align=GRF" for name in ("SIGN", "LOW", "HIGH", "CARRY", "SPARE")),
    ".decl LOWD v_type=G type=d num_elts=8 alias=<LOW, 0>",
    ".decl DWORDS v_type=G type=ud num_elts=16 alias=<ADDRESS, 0>",
]
NUMBERS = st.one_of(st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31), 2**31 - 4]), st.integers(-(2**31), 2**31 - 1))
POINTERS = st.one_of(st.sampled_from([0, 2**32 - 1, 2**32, 2**63 - 1, 2**64 - 1]), st.integers(0, 2**64 - 1))


def addresses(lines, pointer, index, other, running=None):
    """The qwords that lines leave, of each engine."""
    probe = Probe("tgllp", LANES, running)
    probe.fill(
        GIVEN=("uq", [pointer]), P=("uq", [0]), INDEX=("d", index), OTHER=("d", other), ADDRESS=("uq", [7] * LANES)
    )
    probe.predicate("P1", 0x35)
    probe.declarations += ADDRESSES
    probe.lines += ["mov (M1_NM, 1) P(0,0)<1> GIVEN(0,0)<0;1,0>", *lines]
    one, two = (probe.run(engine)["ADDRESS"][:LANES].tolist() for engine in ENGINES)
    assert one == two
    return one


@pytest.mark.parametrize("lines", [SUM, TURNED], ids=["in order", "turned"])
@effort(5)
@given(POINTERS, st.lists(NUMBERS, min_size=LANES, max_size=LANES), st.integers(1, 255))
def test_sums_are_those_of_qwords(lines, pointer, index, running):
    wanted = [(pointer + i) % 2**64 if running >> n & 1 else 7 for n, i in enumerate(index)]
    assert addresses(lines, pointer, index, index, running) == wanted


@effort(30)
@given(
    st.lists(st.tuples(st.integers(0, len(SUM)), st.sampled_from(OTHERS)), min_size=1, max_size=3),
    st.sampled_from([SUM, TURNED]),
    POINTERS,
    st.lists(NUMBERS, min_size=LANES, max_size=LANES),
    st.lists(NUMBERS, min_size=LANES, max_size=LANES),
)
def test_near_misses_of_the_pattern_keep_their_meaning(changes, lines, pointer, index, other):
    lines = list(lines)
    for at, line in sorted(changes, reverse=True):
        lines.insert(at, line)
    addresses(lines, pointer, index, other)


@pytest.mark.parametrize(
    ("at", "line"),
    [
        (1, "asr (M1, 8) SIGN(0,0)<1> OTHER(0,0)<1;1,0> 31:d"),
        (2, "addc (M1, 8) SPARE(0,0)<1> CARRY(0,0)<1> PD(0,0)<0;1,0> OTHERU(0,0)<1;1,0>"),
        (2, "add (M1, 8) LOW(0,0)<1> LOW(0,0)<1;1,0> 4:d"),
        (3, "add (M1, 8) HIGH(0,0)<1> SIGN(0,0)<1;1,0> SIGN(0,0)<1;1,0>"),
        (4, "add (M1, 8) HIGH(0,0)<1> CARRY(0,0)<1;1,0> HIGH(0,0)<1;1,0>"),
        (5, "mov (M1, 8) DWORDS(0,0)<2> OTHER(0,0)<1;1,0>"),
    ],
    ids=["sign", "carry", "low", "high", "carry twice", "another low"],
)
def test_parts_of_other_sums_make_none(at, line):
    lines = [*SUM[:at], line, *SUM[at:]]
    index = [-1, 5, 2**31 - 1, -(2**31), 0, 1, 2, 3]
    assert addresses(lines, 0x1_FFFF_FFF0, index, [7, -7, 0, -1, 20, 30, -30, 9]) != [0x1_FFFF_FFF0 + i for i in index]


KERNEL = (
    kernel_head("P=uq LANE=uw*8 INDEX=d*8 OTHER=d*8 ADDRESS=uq*8 X=ud*8")
    + """DECLARATIONS
.input P offset=64 size=8
.kernel_attr SimdSize=8
mov (M1, 8) LANE(0,0)<1> 0x76543210:uv
mul (M1, 8) INDEX(0,0)<1> LANE(0,0)<1;1,0> 4:uw
SUM
svm_gather.4.1 (M1, 8) ADDRESS.0 X.0
add (M1, 8) X(0,0)<1> X(0,0)<1;1,0> 1:ud
svm_scatter.4.1 (M1, 8) ADDRESS.0 X.0
ret (M1, 1)
"""
)


@pytest.mark.parametrize("lines", [SUM, TURNED], ids=["in order", "turned"])
def test_lanes_of_such_addresses_are_known(lines):
    """Code compares no addresses of lanes."""
    text = KERNEL.replace("DECLARATIONS", "\n".join(ADDRESSES)).replace("SUM", "\n".join(lines))
    program, out = Program(build_text(text)), np.arange(8, dtype="u4")
    dispatch = program.bind(Launch("k", (8,), (8,), args=[BufferArgument(out)]))
    assert "icmp eq <8 x i64>" not in translate(dispatch, full=True).text
    program.launch("k", 8, 8, [out], engine="llvm")
    assert out.tolist() == list(range(1, 9))
