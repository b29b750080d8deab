"""Kernels for one work-item a thread (``Target="cm"``): their lanes, jumps, calls and local ids."""

import numpy as np
import pytest
from support.programs import build_text, kernel_head, ze_info_of
from support.strategies import ENGINES

import vsim
from visakit import LinkError, SimulationError
from visakit.language.platforms import find

HEAD = """
.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl A v_type=G type=d num_elts=32 align=GRF
.decl C v_type=G type=d num_elts=32 align=GRF alias=<%arg, 0>
.decl P v_type=P num_elts=32
.input OUT offset={grf} size=8
.kernel_attr Target="cm"
svm_block_ld (8) OUT(0,0)<0;1,0> A.0
mov (M1, 32) C(0,0)<1> 0:d
"""
TAIL = ["svm_block_st (4) OUT(0,0)<0;1,0> %arg.0", "add (M1, 1) OUT(0,0)<1> OUT(0,0)<0;1,0> 64:ud"]
TAIL += ["svm_block_st (4) OUT(0,0)<0;1,0> %arg.64", "ret (M1, 1)"]
ONE = "add (M1, 32) C(0,0)<1> C(0,0)<1;1,0> 1:d"
FUNCTION = [
    '.global_function "f"', ".decl C v_type=G type=d num_elts=32 align=GRF alias=<%arg, 0>", '.kernel_attr Target="cm"',
    ".kernel_attr SimdSize=8", ".kernel_attr ArgSize=4", ".kernel_attr RetValSize=0", ONE, "fret (M1, 8)",
]  # fmt: skip


def counted(lines, engine, platform="dg2", behind=(), size=1, check=None):
    """The values of lanes 0 to 31 in C, which begins with zeros; A counts lanes."""
    text = "\n".join([HEAD.format(grf=find(platform).grf_size), *lines, *TAIL, *behind]) + "\n"
    array = np.arange(32, dtype="i4")
    vsim.load(build_text(text, platform)).launch("k", size, size, [array], engine=engine, check=check or [])
    return array.tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("platform", ["skl", "tgllp", "dg2", "pvc", "bmg"])
def test_all_lanes_run_whatever_the_mask(platform, engine):
    row = find(platform).grf_size // 4
    lines = [f"add (M{m}, 4) C({4 * (m - 1) // row},{4 * (m - 1) % row})<1> {m}:d {m}:d" for m in range(1, 9)]
    assert counted(lines, engine, platform) == [2 * (lane // 4 + 1) for lane in range(32)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("width", [8, 16, 32])
def test_branches_of_a_part_of_the_lanes(width, engine):
    """Lanes beyond a branch go with the thread: they are in the branch while any other lane is, and behind it afterwards."""
    body = [f"add (M1, {width}) C(0,0)<1> C(0,0)<1;1,0> 1:d", "add (M1_NM, 1) C(0,7)<1> C(0,7)<0;1,0> 100:d"]

    def branch(least):
        return [f"cmp.ge (M1, {width}) P A(0,0)<1;1,0> {least}:d", f"(!P) goto (M1, {width}) over", *body, "over:", ONE]

    def wanted(least):
        return [1 + (least <= n < width) + (100 if n == 7 and least < width else 0) for n in range(32)]

    assert counted(branch(5), engine) == wanted(5)
    assert counted(branch(0), engine) == wanted(0)
    assert counted(branch(99), engine) == [1] * 32


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("width", [8, 16, 32])
def test_loops_of_a_part_of_the_lanes(width, engine):
    lanes = f"(M1, {width})"
    loop = ["back:", f"add {lanes} C(0,0)<1> C(0,0)<1;1,0> 1:d", f"cmp.lt {lanes} P C(0,0)<1;1,0> A(0,0)<1;1,0>"]
    found = counted([*loop, f"(P) goto {lanes} back", ONE], engine)
    assert found == [max(n, 1) + 1 if n < width else 1 for n in range(32)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scalar_jump_splits_no_lanes(engine):
    lines = ["cmp.gt (M1, 1) P A(0,5)<0;1,0> 3:d", "(P) jmp (M1, 1) over", ONE, "over:", ONE]
    assert counted(lines, engine) == [1] * 32


CALLS = ["call (M1, 1) s", "call (M1, 8) s", "fcall (M1, 1) f 4 0", "fcall (M1, 16) f 4 0", "fcall (M1_NM, 8) f 4 0"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("call", CALLS)
def test_callees_run_all_lanes(call, engine):
    behind = ["s:", ONE, "ret (M1, 8)", *FUNCTION] if call.startswith("call") else FUNCTION
    assert counted([call, ONE], engine, behind=behind) == [2] * 32


@pytest.mark.parametrize("engine", ENGINES)
def test_a_function_for_fewer_lanes_is_a_fault(engine):
    behind = ['.global_function "f"', ".kernel_attr ArgSize=4", ".kernel_attr RetValSize=0", "fret (M1, 1)"]
    with pytest.raises(SimulationError, match=r"function 'f' at address 0x1040 is for 16 lanes, the thread has 32"):
        counted(["fcall (M1, 1) f 4 0"], engine, behind=behind)


@pytest.mark.parametrize("engine", ENGINES)
def test_checks_find_nothing_in_lanes_that_are_no_work_items(engine):
    assert counted(["barrier", ONE], engine, size=1, check=["all"]) == [1] * 32


IDS = (
    kernel_head("OUT=uq@qword N=ud@dword V=ud*4 A=uq*1", name="ids")
    + """{ids}
.input OUT offset={out} size=8
.kernel_attr PerThreadInputSize={grf}
.kernel_attr Target="cm"
mul (M1, 1) N(0,0)<1> %group_id_x(0,0)<0;1,0> {size}:ud
and (M1, 1) V(0,3)<1> %r0(0,2)<0;1,0> 0xff:ud
add (M1, 1) N(0,0)<1> N(0,0)<0;1,0> V(0,3)<0;1,0>
mul (M1, 1) N(0,0)<1> N(0,0)<0;1,0> 16:ud
add (M1, 1) A(0,0)<1> OUT(0,0)<0;1,0> N(0,0)<0;1,0>
{moves}
svm_block_st (1) A(0,0)<0;1,0> V.0
ret (M1, 1)
"""
)
WHOLE = (".decl ID v_type=G type=uw num_elts=3 align=word", ".implicit_LOCAL_ID ID offset={grf} size=6", "ID(0,{n})")
ALONE = (
    "\n".join(f".decl ID{n} v_type=G type=uw num_elts=1 align=word" for n in range(3)),
    "\n".join(f".input ID{n} offset={{{n}}} size=2" for n in range(3)),
    "ID{n}(0,0)",
)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("local", [(5,), (4, 2), (3, 5), (3, 1, 7), (2, 3, 5)])
@pytest.mark.parametrize("platform", ["skl", "tgllp", "dg2", "pvc", "bmg"])
def test_local_ids_of_threads_that_are_one_work_item(platform, local, engine):
    """x, y and z are adjacent words, read as one variable or separately, with any other parts of the payload."""
    grf, size = find(platform).grf_size, int(np.prod(local))
    x, y, z = [*local, 1, 1][:3]
    wanted = [[i % x, i // x % y, i // (x * y) % z] for i in range(size)] * 2
    for (declared, inputs, use), beside in (
        (WHOLE, ""),
        (ALONE, f" other=8@{grf}"),
    ):
        moves = "\n".join(f"mov (M1, 1) V(0,{n})<1> {use.format(n=n)}<0;1,0>" for n in range(3))
        ids = declared + "\n" + inputs.format(grf, grf + 2, grf + 4, grf=grf)
        text = IDS.format(ids=ids, out=(3 if beside else 2) * grf, grf=grf, size=size, moves=moves)
        info = ze_info_of("buffer", f"packed_local_ids=6{beside}", name="ids", simd_size=1)
        program = vsim.load(build_text(text, platform, info))
        out = np.full((2 * size, 4), -1, "i4")
        program.launch("ids", (2 * local[0], *local[1:]), local, [out], engine=engine)
        assert out[:, :3].tolist() == wanted


UNUSED = """
.version 4.1
.kernel "ids"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl BASE v_type=G type=uq num_elts=1 align=qword
.decl X v_type=G type=uq num_elts=1 alias=<BASE, 0>
.input OUT offset=72 size=8
.implicit_UNDEFINED_12 BASE offset=64 size=8
.kernel_attr Target="cm"
{line}
ret (M1, 1)
"""


def test_an_implicit_input_that_nothing_reads_need_not_be_in_ze_info():
    info = ze_info_of("buffer@8", "packed_local_ids=6", name="ids", simd_size=1)
    build_text(UNUSED.format(line=""), "dg2", info)
    for line in ("mov (M1, 1) OUT(0,0)<1> X(0,0)<0;1,0>", "svm_block_st (1) OUT(0,0)<0;1,0> BASE.0"):
        with pytest.raises(LinkError, match=r"'BASE' of kernel 'ids' has 8 bytes at 64, where ze_info has nothing"):
            build_text(UNUSED.format(line=line), "dg2", info)


@pytest.mark.parametrize("engine", ENGINES)
def test_registers_are_read_before_they_are_written(engine):
    """The seventh of eight registers is compared, then written: LLVM 22 moves loads behind the write."""
    places = [f"add (M1_NM, 1) AT(0,0)<1> OUT(0,0)<0;1,0> {at}:ud" for at in range(0, 1088, 128)]
    loads, stores = (
        [line for at, place in enumerate(places[:-1]) for line in (place, f"svm_block_{op} (8) AT(0,0)<0;1,0> R.{128 * at}")]
        for op in ("ld", "st")
    )  # fmt: skip
    kinds = {"R": ("ud", 256), "D": ("d", 256), "B": ("ub", 1024), "BITS": ("ud", 16)}
    lines = [
        ".version 4.1", '.kernel "k"', *(f".decl {n} v_type=G type=uq num_elts=1 align=qword" for n in ("OUT", "AT")),
        *(f".decl {n} v_type=G type={t} num_elts={k} " + ("alias=<R,0>" if n in "DB" else "align=GRF") for n, (t, k) in kinds.items()),
        ".decl A v_type=A num_elts=16", ".decl P3 v_type=P num_elts=11", ".decl P9 v_type=P num_elts=32",
        ".input OUT offset=32 size=8", '.kernel_attr Target="cm"', *loads, places[-1], "svm_block_ld (4) AT(0,0)<0;1,0> BITS.0",
        "setp (M1_NM, 8) P3 BITS(0,3)<0;1,0>", *(f"addr_add (M1_NM, 1) A({n})<1> &B {40 * n + 16}:uw" for n in range(9)),
        "not (M5, 16) r[A(7),0]<1>:ub r[A(1),0]<2,1>:uw", "cmp.lt (M8, 4) P9 R(0,0)<2;1,0> 31809:ud",
        "(P3.any) and (M4, 2) R(0,6)<1> 828:ud R(5,3)<8;2,2>", "mov (M1, 16) D(18,0)<2> r[A(0),16]<1;1,0>:ud",
        "mov (M1_NM, 1) BITS(0,4)<1> P9", *stores, places[-1], "svm_block_st (2) AT(0,0)<0;1,0> BITS.0", "ret (M1, 1)",
    ]  # fmt: skip
    memory = np.full(272, 0x808080, "u4")
    vsim.load(build_text("\n".join(lines) + "\n", "skl")).launch("k", 1, 1, [memory], engine=engine)
    assert memory[260] == 0 and memory[6] == 0x808080 & 828
