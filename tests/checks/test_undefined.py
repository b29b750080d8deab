"""The check of undefined values: every source of one with every sink is found, and nothing where it is mended, on both engines."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from support.programs import build_text, kernel_head
from support.strategies import ENGINES, FUZZ

from vsim.engines.llvm.ir.affine import BasePointer
from vsim.program import Program

SOURCES = {
    "register": ("", "mov (M1, {n}) X(0,0)<1> 3:d"),
    "half of a register": ("mov (M1, {h}) X(0,0)<1> 3:d", "mov (M1, {n}) X(0,0)<1> 3:d"),
    "predicated write": (
        "(P) mov (M1, {n}) X(0,0)<1> 3:d",
        "mov (M1, {n}) X(0,0)<1> 5:d\n(P) mov (M1, {n}) X(0,0)<1> 3:d",
    ),
    "one byte of four": (
        "mov (M1, {n}) W(0,0)<2> 3:w\nmov (M1, {n}) X(0,0)<1> XW(0,0)<1;1,0>",
        "mov (M1, {n}) XW(0,0)<1> 0:d\nmov (M1, {n}) W(0,0)<2> 3:w\nmov (M1, {n}) X(0,0)<1> XW(0,0)<1;1,0>",
    ),
    "sum": (
        "add (M1, {n}) X(0,0)<1> Y(0,0)<1;1,0> 3:d",
        "mov (M1, {n}) Y(0,0)<1> 3:d\nadd (M1, {n}) X(0,0)<1> Y(0,0)<1;1,0> 3:d",
    ),
    "masked bits": (
        "and (M1, {n}) X(0,0)<1> Y(0,0)<1;1,0> 7:d",
        "and (M1, {n}) X(0,0)<1> Y(0,0)<1;1,0> 7:d\nand (M1, {n}) X(0,0)<1> X(0,0)<1;1,0> 8:d",
    ),
    "selection": (
        "(Q) sel (M1, {n}) X(0,0)<1> 1:d 2:d",
        "setp (M1_NM, {n}) Q 5:ud\n(Q) sel (M1, {n}) X(0,0)<1> 1:d 2:d",
    ),
    "local memory": (
        "gather_scaled.4 (M1, {n}) %slm 0:ud OFFSETS.0 X.0",
        "mov (M1, {n}) Y(0,0)<1> 3:d\nscatter_scaled.4 (M1, {n}) %slm 0:ud OFFSETS.0 Y.0\n"
        "gather_scaled.4 (M1, {n}) %slm 0:ud OFFSETS.0 X.0",
    ),
    "address of a register": (
        "addr_add (M1_NM, 1) A0(0)<1> &Y 0:uw\nmov (M1, {n}) X(0,0)<1> r[A0(0),0]<1;1,0>:d",
        "mov (M1, {n}) Y(0,0)<1> 3:d\naddr_add (M1_NM, 1) A0(0)<1> &Y 0:uw\nmov (M1, {n}) X(0,0)<1> r[A0(0),0]<1;1,0>:d",
    ),
}
"""What leaves X undefined in some lane, and the same mended; n lanes, h half of them."""

SINKS = {
    "K010": "cmp.eq (M1, {n}) Q X(0,0)<1;1,0> 3:d\n(Q) goto (M1, {n}) behind\nmov (M1, {n}) Y(0,0)<1> 1:d\nbehind:",
    "K011": "and (M1, {n}) X(0,0)<1> X(0,0)<1;1,0> 0x1c:d\nmov (M1, {n}) Y(0,0)<1> 1:d\n"
    "scatter_scaled.4 (M1, {n}) T6 0:ud X.0 Y.0",
    "K012": "dword_atomic.add (M1, {n}) T6 OFFSETS.0 X.0 %null.0 %null.0",
    "K013": "scatter_scaled.4 (M1, {n}) T6 0:ud OFFSETS.0 X.0",
    "K014": "cmp.eq (M1, {n}) Q X(0,0)<1;1,0> 3:d\nmov (M1, {n}) Y(0,0)<1> 1:d\n"
    "(Q) scatter_scaled.4 (M1, {n}) T6 0:ud OFFSETS.0 Y.0",
}
"""Where it matters, by the code of the finding."""

TEXT = (
    kernel_head("OUT=uq@qword X=d*32 Y=d*32 XW=d*32")
    + """.decl W v_type=G type=w num_elts=64 align=GRF alias=<XW, 0>
.decl OFFSETS v_type=G type=ud num_elts=32 align=GRF
.decl A0 v_type=A num_elts=1
.decl P v_type=P num_elts=32
.decl Q v_type=P num_elts=32
.decl T6 v_type=T num_elts=1
.input OUT offset=64 size=8
.kernel_attr SimdSize={n}
.kernel_attr SLMSize=1
mov (M1_NM, 8) OFFSETS(0,0)<1> 0x76543210:uv
add (M1_NM, 8) OFFSETS(1,0)<1> OFFSETS(0,0)<1;1,0> 8:ud
add (M1_NM, 16) OFFSETS(2,0)<1> OFFSETS(0,0)<1;1,0> 16:ud
shl (M1_NM, {n}) OFFSETS(0,0)<1> OFFSETS(0,0)<1;1,0> 2:ud
setp (M1_NM, {n}) P 5:ud
{source}
{sink}
ret (M1, {n})
"""
)


def in_halves(line: str, lanes: int) -> list[str]:
    """A line; of 32 lanes a message goes in two halves, as no message takes them all."""
    if lanes < 32 or not re.search("scaled|atomic", line):
        return [line]
    first, second = (line.replace("(M1, 32)", f"({mask}, 16)") for mask in ("M1", "M5"))
    return [first, re.sub(r"(OFFSETS|X|Y)\.0", r"\1.64", second)]


def text(lanes: int, source: str, sink: str) -> str:
    """The kernel with a source and a sink."""
    whole = TEXT.replace("{source}", source).replace("{sink}", sink).format(n=lanes, h=lanes // 2)
    return "\n".join(half for line in whole.splitlines() for half in in_halves(line, lanes))


def findings(lanes: int, source: str, sink: str, engine: str, schedule: str = "") -> list[tuple[str, str, int, int]]:
    """Codes, memory, first lanes and counts of the findings of a launch of three equal groups."""
    program = Program(build_text(text(lanes, source, sink)))
    result = program.launch(
        "k", 3 * lanes, lanes, [np.zeros(64, "u4")], engine=engine, schedule=schedule, check="undefined"
    )
    assert result.engine == engine
    return [(f.code, f.memory, f.who.lane, f.count) for f in result.findings]


PAIRS = [
    (source, sink)
    for source, sink in itertools.product(SOURCES, SINKS)
    if (source, sink) != ("one byte of four", "K011")  # whose address is made of the bytes that are defined
]
WAYS = list(itertools.product((8, 16, 32), ("", "reverse", "random:5", "round-robin")))
"""In how many lanes, and in which order groups run: each pair in one of them, in ``make pairs`` in all."""
CASES = [
    pytest.param(*pair, *way, id=", ".join(filter(None, (*pair, str(way[0]), way[1]))))
    for n, pair in enumerate(PAIRS)
    for m, way in enumerate(WAYS)
    if FUZZ or m == n * 5 % len(WAYS)
]


@pytest.mark.parametrize(("source", "sink", "lanes", "schedule"), CASES)
def test_defect_and_its_twin(source, sink, lanes, schedule):
    """Both engines have the same findings, in every order those of the ascending one."""
    defect, mended = SOURCES[source]
    wanted = findings(lanes, defect, SINKS[sink], "numpy")
    assert sink in [code for code, *_ in wanted]
    for engine in ENGINES:
        assert findings(lanes, defect, SINKS[sink], engine, schedule) == wanted
        assert findings(lanes, mended, SINKS[sink], engine, schedule) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_are_those_of_the_thread(engine):
    """The upper half of a thread stores: its first lane is lane 8."""
    sink = "(Q) scatter_scaled.4 (M3, 8) T6 0:ud OFFSETS.0 Y.0"
    source = "mov (M1, 16) Y(0,0)<1> 1:d\ncmp.eq (M3, 8) Q X(0,0)<1;1,0> 3:d"
    assert findings(16, source, sink, engine) == [("K014", "", 8, 3)]


@pytest.mark.parametrize(("distance", "slots"), [((5 << 32) - 16, 5), (5 << 32, 5), (64, 0), ((1 << 64) - 64, 0)])
def test_memory_beside_a_pointer_argument_is_looked_up_where_it_is(distance, slots):
    """Once for a launch: an address near the buffer is still one in the buffer, and shadows are buffers further on."""
    assert BasePointer("%payload", 8).moved(distance) == BasePointer("%payload", 8, slots, is_argument=False)
