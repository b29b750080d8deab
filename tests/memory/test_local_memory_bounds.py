"""Places in local memory that are inside whatever the launch is, and local ids of rows that begin at 0."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head, ze_info_of
from support.strategies import ENGINES

from visakit import SimulationError
from vsim.engines.llvm.ir.affine import AffineLanes
from vsim.engines.llvm.ir.ranges import Ranges
from vsim.engines.llvm.pipeline import translate
from vsim.engines.llvm.plan import row_of
from vsim.engines.llvm.target import NATIVE, VARIABLE, possible
from vsim.launch.launch import Launch
from vsim.program import Program

KERNEL = (
    kernel_head("X=uw*16 Y=uw*16 OUT=uq AT=uq*16 N=ud*16 A=ud*16 B=ud*16", "X Y", at=32)
    + """.input OUT offset=128 size=8
.kernel_attr SimdSize=16
.kernel_attr SLMSize=1
mad (M1, 16) N(0,0)<1> Y(0,0)<1;1,0> {width}:uw X(0,0)<1;1,0>
shl (M1, 16) B(0,0)<1> N(0,0)<1;1,0> 2:ud
scatter_scaled.4 (M1, 16) %slm {to}:ud B.0 N.0
barrier
shl (M1, 16) A(0,0)<1> X(0,0)<1;1,0> 2:ud
gather_scaled.4 (M1, 16) %slm {first}:ud A.0 A.0
add (M1, 16) AT(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>
svm_scatter.4.1 (M1, 16) AT.0 A.0
ret (M1, 1)
"""
)


INFO, REQUIRED_INFO = (
    ze_info_of("buffer", "local_id=96", simd_size=16, slm_size=1024, barrier_count=1, **group)
    for group in ({}, {"required_work_group_size": [16, 16, 1]})
)


def program(width=16, first=0, info=INFO, to=0):
    """Work-items store their numbers in rows of local memory, and load a row from a byte on."""
    text = KERNEL.format(width=width, first=first, to=to)
    return Program(build_text(text, info=info))


def lowered(size, **options):
    given = program(**options)
    dispatch = given.bind(Launch("k", size, size, args=given.convert("k", [np.zeros(256, "u4")])))
    return translate(dispatch, True, row_of(dispatch)).text


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_of_other_shapes_have_separate_code(engine):
    """Rows of 16 begin at 0, those of 32 do not: one program runs both, and both again."""
    given = program(32)
    for width in (16, 32, 16, 32):
        found = np.zeros((8, 32), "u4")
        given.launch("k", (width, 8), (width, 8), [found.reshape(-1)], engine=engine)
        assert (found[:, :width] == np.arange(width)).all() and not found[:, width:].any()


def test_accesses_proved_inside_are_not_checked():
    """Rows at constant places; with a required group the places of all its work-items."""

    def checks(**options):
        return lowered((16, 16), **options).count(", !prof !1")

    assert checks(first=960) < checks(first=964)
    assert checks(first=960, info=REQUIRED_INFO) < checks(first=960)
    assert checks(first=960, info=REQUIRED_INFO) < checks(first=960, info=REQUIRED_INFO, to=4)


def table(first=0, lanes="and (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 0x3fc:ud"):
    """Work-items load words that others stored, each at an index that a mask bounds."""
    text = KERNEL.format(width=16, first=first, to=0)
    line = "shl (M1, 16) A(0,0)<1> X(0,0)<1;1,0> 2:ud"
    mixed = "xor (M1, 16) A(0,0)<1> N(0,0)<1;1,0> 0x55:ud\nshl (M1, 16) A(0,0)<1> A(0,0)<1;1,0> 2:ud"
    return Program(build_text(text.replace(line, f"{mixed}\n{lanes}"), info=REQUIRED_INFO))


@pytest.mark.parametrize("cpu", ["native", "x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("engine", ENGINES)
def test_tables_in_local_memory(engine, cpu, monkeypatch):
    monkeypatch.setenv(VARIABLE, cpu if cpu in possible() else NATIVE)
    found = np.zeros(256, "u4")
    table().launch("k", (16, 16), (16, 16), [found], engine=engine)
    assert (found == np.arange(256) ^ 0x55).all()


def test_places_that_a_mask_bounds_are_not_checked():
    def checks(**options):
        given = table(**options)
        dispatch = given.bind(Launch("k", (16, 16), (16, 16), args=given.convert("k", [np.zeros(256, "u4")])))
        return "@lanes_load_own" in translate(dispatch, True, row_of(dispatch)).text

    assert not checks()
    assert checks(first=4)
    assert checks(lanes="")


def test_places_beyond_a_table_are_a_fault():
    said = []
    for engine in ENGINES:
        with pytest.raises(SimulationError) as problem:
            table(first=4).launch("k", (16, 16), (16, 16), [np.zeros(256, "u4")], engine=engine)
        said.append(str(problem.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("info", [INFO, REQUIRED_INFO], ids=["any group", "required"])
@pytest.mark.parametrize("places", [{"first": 964}, {"to": 4}, {"first": 2048}])
def test_accesses_outside_are_faults(info, places):
    said = []
    for engine in ENGINES:
        with pytest.raises(SimulationError) as problem:
            program(info=info, **places).launch("k", (16, 16), (16, 16), [np.zeros(256, "u4")], engine=engine)
        said.append(str(problem.value))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("zext i16 %x to i32", 100),
        ("add nuw i32 %x, 28", 128),
        ("mul i32 %x, %y", 700),
        ("shl i32 %x, 3", 800),
        ("lshr i32 %x, 3", 12),
        ("and i32 %z, 63", 63),
        ("and i32 %x, %z", 100),
        ("or i32 %x, %y", 107),
        ("or i32 %x, 27", 127),
        ("trunc i64 %x to i8", 100),
        ("add i8 %x, %x", 200),
        ("mul i8 %x, %y", None),
        ("add i32 %x, -1", None),
        ("add i32 %x, %z", None),
        ("shl i32 %x, %y", None),
        ("shl i32 %x, 26", None),
        ("sub i32 %x, %y", None),
        ("or i32 %x, %z", None),
        ("add <4 x i32> %x, %y", 107),
        ("add <4 x i32> %x, %z", None),
        ("and <2 x i32> %z, <i32 1020, i32 7>", 1020),
        ("and <2 x i32> %z, <i32 -4, i32 7>", None),
        ("or <2 x i32> %x, <i32 1024, i32 1024>", 1124),
        ("shl <2 x i32> %x, <i32 1, i32 3>", 800),
        ("lshr <2 x i32> %x, <i32 1, i32 3>", 50),
        ("lshr <2 x i32> %z, <i32 24, i32 24>", 255),
        ("lshr <2 x i32> %x, %y", 100),
        ("zext <4 x i8> %z to <4 x i32>", 255),
        ("zext <4 x i16> %x to <4 x i32>", 100),
    ],
)
def test_upper_bounds_of_values(text, most):
    ranges = Ranges()
    ranges.most |= {"%x": 100, "%y": 7}
    ranges.note("%found", text)
    assert ranges.of("%found") == most


def compared(given):
    """The solver's verdict on the facts by which checks are left out."""
    pytest.importorskip("z3", reason="needs the extra prove (z3-solver)")
    from prove.fast_accesses import compare

    launch = Launch("k", (16, 16), (16, 16), args=given.convert("k", [np.zeros(256, "u4")]))
    return compare(given, launch).counts


def test_the_solver_agrees_with_places_that_are_not_checked():
    for given in (program(first=960, info=REQUIRED_INFO), table()):
        counts = compared(given)
        assert counts["inside proved"] >= 2
        assert not [kind for kind in counts if kind.endswith("refuted")]


def test_the_solver_refutes_a_range_that_is_too_small(monkeypatch):
    monkeypatch.setattr(Ranges, "of", lambda self, text: 0)
    assert compared(program(first=964, info=REQUIRED_INFO))["inside refuted"]


def test_the_solver_refutes_distances_that_are_wrong(monkeypatch):
    monkeypatch.setattr(AffineLanes, "distances", lambda self: [8 * k for k in range(self.row)])
    assert compared(program(info=REQUIRED_INFO))["distances refuted"]
