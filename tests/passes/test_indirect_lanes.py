"""Private arrays in registers: one instruction writes the element of each lane, and one instruction reads all elements."""

import re

import numpy as np
import pytest
from support.probe import translated
from support.programs import build_text
from support.strategies import ENGINES

import visakit
from vsim.analysis.arrays.lane_writes import lane_writes
from vsim.analysis.control_flow import control_flow
from vsim.engines.llvm.target import VARIABLE as CPU
from vsim.program import Program
from vsim.semantics.registers import layout_of

ROWS, LANES, SKIPS = 4, 8, 100
"""Lanes with an index from SKIPS on do not take part."""


def text():
    """X[index[lane]][lane] = lane + 1, and Y beside it; then OUT is what each lane reads back, and X."""
    lines = [
        ".version 4.1", '.kernel "k"', ".decl IN v_type=G type=uq num_elts=1", ".decl OUT v_type=G type=uq num_elts=1",
        f".decl X v_type=G type=ud num_elts={8 * ROWS} align=GRF", ".decl Y v_type=G type=ud num_elts=128 align=GRF",
        *(f".decl {n} v_type=G type=ud num_elts=8 align=GRF" for n in ("INDEX", "V", "GOT", "AT")),
        ".decl ATW v_type=G type=uw num_elts=16 align=GRF alias=<AT, 0>",
        ".decl OFF v_type=G type=uw num_elts=8 align=GRF",
        *(f".decl A{n} v_type=A num_elts=8" for n in range(3)), ".decl P1 v_type=P num_elts=8",
        *(f".decl P{n + 2} v_type=P num_elts=8" for n in range(2 * LANES)),
        ".input IN offset=64 size=8", ".input OUT offset=72 size=8", ".kernel_attr SimdSize=8",
        *(f"mov (M1_NM, 8) X({n},0)<1> 0:ud" for n in range(ROWS)), "mov (M1_NM, 8) GOT(0,0)<1> 0:ud",
        "svm_block_ld (2) IN(0,0)<0;1,0> INDEX.0", "mov (M1_NM, 8) V(0,0)<1> 0x76543210:v",
        "mul (M1_NM, 8) AT(0,0)<1> INDEX(0,0)<1;1,0> 0x20:ud",
        f"cmp.lt (M1, 8) P1 INDEX(0,0)<1;1,0> {SKIPS}:ud", "(!P1) goto (M1, 8) done",
        "addr_add (M1, 8) A0(0)<1> &X ATW(0,0)<16;8,2>", "addr_add (M1, 8) A2(0)<1> &Y ATW(0,0)<16;8,2>",
        "add (M1, 8) V(0,0)<1> V(0,0)<1;1,0> 1:ud",
    ]  # fmt: skip
    for variable in (0, 2):
        for lane in range(LANES):
            predicate = f"P{2 + lane + LANES * (variable == 2)}"
            lines += [f"setp (M1_NM, 8) {predicate} {1 << lane}:ud",
                      f"({predicate}) mov (M1, 8) r[A{variable}({lane}),0]<1>:ud V(0,{lane})<0;1,0>"]  # fmt: skip
    return "\n".join([
        *lines, "mov (M1_NM, 8) OFF(0,0)<1> 0x76543210:v", "mul (M1_NM, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> 4:uw",
        "add (M1, 8) OFF(0,0)<1> OFF(0,0)<1;1,0> ATW(0,0)<16;8,2>", "addr_add (M1, 8) A1(0)<1> &X OFF(0,0)<1;1,0>",
        "mov (M1, 8) GOT(0,0)<1> r[A1(0),0]<1,0>:ud", "done:", "svm_block_st (2) OUT(0,0)<0;1,0> GOT.0",
        "add (M1_NM, 1) OUT(0,0)<1> OUT(0,0)<0;1,0> 32:uq", "svm_block_st (8) OUT(0,0)<0;1,0> X.0", "ret (M1, 1)", "",
    ])  # fmt: skip


def launched(index, engine, whole=None):
    found = np.full((1 + ROWS, LANES), 99, "u4")
    Program(build_text(whole or text(), "tgllp")).launch(
        "k", LANES, LANES, [np.array(index, "u4"), found], engine=engine
    )
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("index", [[0, 1, 2, 3, 3, 2, 1, 0], [2, 1 << 20, 0, 3, SKIPS, 1, 1, 7000], [SKIPS] * 8])
def test_each_lane_has_its_element(index, engine):
    expected = np.zeros((1 + ROWS, LANES), "u4")
    for lane, row in enumerate(index):
        if row < SKIPS:
            expected[0, lane] = expected[1 + row, lane] = lane + 1
    assert launched(index, engine).tolist() == expected.tolist()


@pytest.mark.parametrize("cpu", ["", "x86-64-v2"])
def test_what_the_block_has_written_before_and_other_lanes_have_stays(cpu, monkeypatch):
    """With and without an instruction of the host that scatters."""
    monkeypatch.setenv(CPU, cpu)
    written = "add (M1_NM, 8) X(1,0)<1> X(1,0)<1;1,0> 7:ud\nsetp (M1_NM, 8) P2 1:ud"
    whole = text().replace("setp (M1_NM, 8) P2 1:ud", written)
    one, other = (launched([1, SKIPS, 1, 2, 0, SKIPS, 3, 1], engine, whole) for engine in ENGINES)
    assert one.tolist() == other.tolist()
    assert one[2].tolist() == [1, 7, 3, 7, 7, 7, 7, 8]


def test_a_lane_beyond_the_array_may_reach_another_variable():
    """The arrays are 64 bytes apart in the file: row 6 of X is the first one of Y."""
    one, other = (launched([0, 0, 6, 0, 0, 0, 0, SKIPS], engine) for engine in ENGINES)
    assert one[0].tolist() == other[0].tolist() == [1, 2, 3, 4, 5, 6, 7, 0]


@pytest.mark.parametrize("index", [[0, 0, 0, 40, 0, 41, 0, 0], [SKIPS, 4, 0, 0, 0, 0, 0, 0]])
def test_the_first_lane_outside_is_a_fault(index):
    messages = []
    for engine in ENGINES:
        with pytest.raises(visakit.SimulationError, match="lies outside the registers") as caught:
            launched(index, engine)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def together(rows=ROWS):
    """The text where all lanes have the row of lane 0, and X so many rows."""
    whole = text().replace("AT(0,0)<1> INDEX(0,0)<1;1,0>", "AT(0,0)<1> INDEX(0,0)<0;1,0>")
    return whole.replace(
        f".decl X v_type=G type=ud num_elts={8 * ROWS}", f".decl X v_type=G type=ud num_elts={8 * rows}"
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("index", [[3] * 8, [2, SKIPS, 0, 0, SKIPS, SKIPS, 0, SKIPS], [1, 0, 0, 0, 0, 0, 0, SKIPS]])
def test_lanes_with_one_index_have_a_row(index, engine):
    """Lanes that do not take part keep theirs."""
    filled = together().replace("mov (M1_NM, 8) GOT", "mov (M1_NM, 8) X(2,0)<1> 5:ud\nmov (M1_NM, 8) GOT")
    expected = np.zeros((1 + ROWS, LANES), "u4")
    expected[3] = 5
    for lane, row in enumerate(index):
        if row < SKIPS:
            expected[0, lane] = expected[1 + index[0], lane] = lane + 1
    assert launched(index, engine, filled).tolist() == expected.tolist()


def test_a_row_beyond_the_array_may_be_another_variable():
    """Row 6 of X is the first one of Y."""
    one, other = (launched([6, 0, 0, 0, 0, 0, SKIPS, 0], engine, together()) for engine in ENGINES)
    assert one[0].tolist() == other[0].tolist() == [1, 2, 3, 4, 5, 6, 0, 8]


@pytest.mark.parametrize("index", [[40] + [0] * 7, [40, SKIPS, 0, SKIPS, 0, 0, 0, 0]])
def test_a_row_outside_is_a_fault_of_its_first_lane(index):
    messages = []
    for engine in ENGINES:
        with pytest.raises(visakit.SimulationError, match="lies outside the registers") as caught:
            launched(index, engine, together())
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_lanes_that_wrap_around_have_no_row():
    """Offset 0xfff0 is 16 bytes in front of the largest word: lane 4 reads element 0, as words wrap around."""
    wrapping = together(2050).replace("0x20:ud", "0xfff0:ud").replace("num_elts=128", "num_elts=16400")
    one, other = (launched([1] + [0] * 7, engine, wrapping) for engine in ENGINES)
    assert one.tolist() == other.tolist()
    assert one[0].tolist() == [1, 2, 3, 4, 0, 0, 0, 0]


PACKED, PLACED = "mov (M1_NM, 8) OFF(0,0)<1> 0x76543210:v", "addr_add (M1, 8) A1(0)<1> &X OFF(0,0)<1;1,0>"
BEHIND = PLACED.replace("&X", "&Y[32]")
SOME = f"{BEHIND}\ncmp.lt (M1, 8) P1 V(0,0)<1;1,0> 5:ud\n(!P1) goto (M1, 8) around\n{PLACED}\naround:"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("nothing", "", [1, 2, 3, 4, 5, 6, 7, 8]),
        (PACKED, PACKED.replace("0x76543210:v", "2:uw"), [3] * 8),
        (PACKED, "\n".join(f"mov (M1_NM, 4) OFF(0,{n})<1> 0x3210:v" for n in (0, 4)), [1, 2, 3, 4, 1, 2, 3, 4]),
        (PACKED, PACKED.replace("76543210", "01234567"), [8, 7, 6, 5, 4, 3, 2, 1]),
        (PLACED, SOME, [1, 2, 3, 4, 0, 0, 0, 0]),
    ],
)
def test_lanes_read_their_elements_of_a_row(old, new, expected):
    """One element of all lanes, one that two lanes share, another order, and lanes with the address of another row."""
    for engine in ENGINES:
        assert launched([1] + [0] * 7, engine, together().replace(old, new))[0].tolist() == expected


@pytest.mark.parametrize(("whole", "expected"), [(text(), True), (together(), False)])
def test_only_lanes_with_an_index_each_are_gathered(whole, expected):
    ir = translated(Program(build_text(whole, "tgllp")), [np.zeros(8, "u4"), np.zeros((1 + ROWS, LANES), "u4")])
    assert ("masked.gather.v8i32.v8p0(<8 x ptr>" in ir) == expected


def runs_of(change):
    """The numbers of lanes that write together in the text with a change."""
    function = build_text(change(text()), "tgllp").module.kernels[0]
    found = lane_writes(function, layout_of(function, 32), control_flow(function).blocks())
    return [len(writes.instructions) for writes in found]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("nothing", "", [8, 8]),
        ("setp (M1_NM, 8) P4 4:ud", "setp (M1_NM, 8) P4 12:ud", [8]),
        ("setp (M1_NM, 8) P4 4:ud", "setp (M1, 8) P4 4:ud", [8]),
        ("A0(3),0]<1>:ud V(0,3)", "A0(3),0]<1>:ud V(0,2)", [8]),
        ("r[A0(3),0]<1>", "r[A0(4),0]<1>", [8]),
        ("(P4) mov", "(!P4) mov", [8]),
        ("setp (M1_NM, 8) P4 4:ud", "setp (M1_NM, 4) P4 4:ud", [8]),
        ("setp (M1_NM, 8) P4 4:ud", "setp (M1_NM, 8) P4 V(0,0)<0;1,0>", [8]),
        ("setp (M1_NM, 8) P4 4:ud", "cmp.eq (M1_NM, 8) P4 4:ud V(0,0)<1;1,0>", [8]),
        ("(P4) mov (M1, 8)", "(P4) mov (M1, 4)", [8]),
        ("(P4) mov", "mov", [8]),
        ("A0(3),0]<1>:ud V(0,3)", "A0(3),0]<1>:ud (-)V(0,3)", [8]),
        ("&Y ATW", "&V ATW", []),
    ],
)
def test_writes_of_one_lane_each_are_one_of_all_lanes(old, new, expected):
    assert runs_of(lambda whole: whole.replace(old, new)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (r"(r\[A0\(.*)<0;1,0>", r"\1<1;1,0>", [8]),
        (r"(r\[A0\(\d\),0\])<1>", r"\1<2>", [8]),
        (r"(r\[A0\(.*):ud V", r"\1:f V", [8]),
        (r"(r\[A0\(.*) V", r"\1 (-)V", [8]),
        (r"(r\[A0\(.*) V", r"\1 %r0", [8]),
        (r"(r\[A0\(.*) V\(0", r"\1 V(1", [8]),
        (r"mov (\(M1, 8\) r\[A0)", r"mov.sat \1", [8]),
        (r"mov (\(M1, 8\) r\[A0)", r"not \1", [8]),
        (r"mov \(M1, 8\) (r\[A0)", r"mov (M1, 1) \1", [8]),
        (r"(\.decl A0 v_type=A num_elts)=8", r"\1=4", [8]),
    ],
)
def test_other_writes_of_all_lanes_stay(old, new, expected):
    """Another row of elements, conversions, sources that change or are not there, addresses that are not there."""
    assert runs_of(lambda whole: re.sub(old, new, whole)) == expected
