"""Threads of fewer lanes than the kernel was compiled for: results, faults, and the kernels that have them."""

import re

import numpy as np
import pytest
from further import KERNELS as FURTHER
from ordinary import KERNELS as ORDINARY
from support.programs import build, build_text, kernel_head, ze_info_of
from support.strategies import ENGINES
from vsim_programs import program_of

import visakit
from visakit.diagnostics import SimulationError
from visakit.isa.record import Access
from vsim.analysis.lanes.order import order_may_count
from vsim.analysis.narrowing import narrowed
from vsim.engines.llvm.host.surfaces import apart
from vsim.engines.llvm.pipeline import translate
from vsim.engines.llvm.plan import geometry, of_small_groups, row_of
from vsim.launch.launch import Launch
from vsim.launch.schedule import parse_schedule
from vsim.program import Program
from vsim.semantics.registers import layout_of

KERNELS = ORDINARY | FURTHER
SKIPPED = {"offset_to_skip_per_thread_data_load": 128, "inline_data_payload_size": 32}
INFO = ze_info_of("buffer", "local_id=192", simd_size=32, **SKIPPED)
HEAD = (
    kernel_head("X=uw*32 OUT=uq S=ud A=ud*32 B=ud*32 PAIR=ud*64 AT=uq*32 P1=P*32", "X")
    + """.input OUT offset=256 size=8
.kernel_attr SimdSize=32
mul (M1_NM, 1) S(0,0)<1> %r0(0,1)<0;1,0> 0x20:ud
add (M1, 32) A(0,0)<1> S(0,0)<0;1,0> X(0,0)<1;1,0>
shl (M1, 32) B(0,0)<1> A(0,0)<1;1,0> 0x3:ud
add (M1, 32) AT(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>
lsc_load.ugm (M1, 32) PAIR:d32x2 flat[AT]:a64
"""
)
TAIL = """
OUT:
lsc_store.ugm (M1, 32) flat[AT]:a64 PAIR:d32x2
ret (M1, 1)
"""
BODIES = {
    "halves": "mul (M1, 16) PAIR(0,0)<1> PAIR(0,0)<1;1,0> A(0,0)<1;1,0>\nmul (M5, 16) PAIR(1,0)<1> PAIR(1,0)<1;1,0> A(1,0)<1;1,0>",
    "a sum of what all lanes have": """mov (M1_NM, 32) B(0,0)<1> 0x3:ud
mov (M1, 32) B(0,0)<1> X(0,0)<1;1,0>
add (M1_NM, 16) B(0,0)<1> B(0,0)<1;1,0> B(1,0)<1;1,0>
add (M1_NM, 8) B(0,0)<1> B(0,0)<1;1,0> B(0,8)<1;1,0>
add (M1_NM, 4) B(0,0)<1> B(0,0)<1;1,0> B(0,4)<1;1,0>
add (M1, 32) PAIR(2,0)<1> PAIR(2,0)<1;1,0> B(0,1)<0;1,0>""",
    "bits of all lanes": """setp (M1_NM, 32) P1 0xa0000000:ud
cmp.gt (M1, 32) P1 X(0,0)<1;1,0> 0x2:ud
mov (M1_NM, 1) S(0,0)<1> P1
add (M1, 32) PAIR(0,0)<1> PAIR(0,0)<1;1,0> S(0,0)<0;1,0>""",
    "a branch": "cmp.gt (M1, 32) P1 X(0,0)<1;1,0> 0x2:ud\n(P1) goto (M1, 32) OUT\nadd (M1, 32) PAIR(2,0)<1> PAIR(0,0)<1;1,0> 0x1:ud",
    "a loop of other lengths": """AGAIN:
add (M1, 32) PAIR(2,0)<1> PAIR(2,0)<1;1,0> PAIR(0,0)<1;1,0>
add (M1, 32) PAIR(0,0)<1> PAIR(0,0)<1;1,0> 0x5:ud
cmp.lt (M1, 32) P1 PAIR(0,0)<1;1,0> 0x80:ud
(P1) goto (M1, 32) AGAIN""",
    "a wide product": """mov (M1_NM, 32) B(0,0)<1> 0x3:ud
AGAIN:
add (M1, 32) PAIR(0,0)<1> PAIR(0,0)<1;1,0> 0x5:ud
cmp.lt (M1, 32) P1 PAIR(0,0)<1;1,0> 0x80:ud
(P1) goto (M1, 32) AGAIN
madw (M1, 16) B(0,0)<1> A(0,0)<1;1,0> A(0,0)<1;1,0> 0x5:ud
add (M1, 32) PAIR(2,0)<1> PAIR(2,0)<1;1,0> B(0,15)<0;1,0>""",
    "ids of all lanes": """mov (M1_NM, 32) B(0,0)<1> X(0,0)<1;1,0>
add (M1_NM, 16) B(0,0)<1> B(0,0)<1;1,0> B(1,0)<1;1,0>
add (M1, 32) PAIR(2,0)<1> PAIR(2,0)<1;1,0> B(0,7)<0;1,0>""",
}
PROGRAMS = {name: Program(build_text(f"{HEAD}{body}{TAIL}", "pvc", INFO)) for name, body in BODIES.items()}


def bound(program, work, **options):
    """A launch of a kernel's work, or of small groups, and the translation of its code."""
    (name,) = program.kernels
    launch = Launch(name, work.global_size, work.local_size, args=program.convert(name, work.args))
    return of_small_groups(program.bind(launch, **options))


def translated(dispatch):
    """The code of a launch."""
    return translate(dispatch, geometry(dispatch).full, row_of(dispatch))


def of_suite(name, device="bmg", scale=64):
    """A program of the benchmark suite, and less work for it."""
    return Program(build(KERNELS[name].folder / device, device)), KERNELS[name].work(scale)


@pytest.mark.parametrize("items", [1, 7, 8, 13, 16, 17])
@pytest.mark.parametrize("name", BODIES)
def test_groups_smaller_than_a_thread(name, items):
    """Lanes without work-items, of which the last group has more, agree with the reference engine."""
    for size in (5 * items, 5 * items - items // 2):
        found = []
        for engine in ENGINES:
            data = np.arange(6 * 64, dtype="u4")
            PROGRAMS[name].launch("k", size, items, [data], engine=engine)
            found.append(data.tolist())
        assert found[0] == found[1]


@pytest.mark.parametrize(("items", "lanes"), [(1, 8), (8, 8), (9, 16), (16, 16), (17, 32), (40, 32)])
def test_threads_have_the_lanes_that_groups_need(items, lanes):
    program = PROGRAMS["a loop of other lengths"]
    arguments = program.convert("k", [np.arange(640, dtype="u4")])
    dispatch = of_small_groups(program.bind(Launch("k", (items,), (items,), args=arguments)))
    assert dispatch.simd == lanes
    assert f"<{lanes} x i1>, ptr %em" in translated(dispatch).text
    watched = program.bind(Launch("k", (items,), (items,), args=arguments), parse_schedule("reverse"))
    assert of_small_groups(watched).simd == 32


@pytest.mark.parametrize(
    ("name", "device", "width"),
    [
        ("spmm", "bmg", 16),
        ("sums", "bmg", 8),
        ("sums", "tgllp", 8),
        ("mvt", "bmg", 16),
        ("mvt", "tgllp", 16),
        ("crc", "bmg", 0),
        ("spmm", "tgllp", 0),
        ("gaussian", "bmg", 0),
    ],
)
def test_which_kernels_have_fewer_lanes(name, device, width):
    """Rows of a group that branch on memory, and lanes that go over separate rows, but not byte by byte, unless the launch
    is observed.
    """
    _, work = of_suite(name, device)
    program = program_of(KERNELS[name].folder / device)  # whose SPIR-V, where it is kept, tells of no barrier
    assert translated(bound(program, work)).width == width
    assert not translated(bound(program, work, profile=True)).width
    assert not translated(bound(program, work, check="race")).width


@pytest.mark.parametrize(
    ("name", "cut"),
    [("spmm", 0), ("sums", 0), ("sums", 5), ("sums", 39), ("mvt", 0), ("mvt", 13), ("nw", 0), ("unpack", 21)],
)
def test_results(name, cut):
    """Whole groups, and groups of which a thread has fewer work-items than lanes."""
    found = []
    for engine in ENGINES:
        program, work = of_suite(name)
        size = (work.global_size[0] - cut, *work.global_size[1:])
        program.launch(program.kernels[0], size, work.local_size, work.args, engine=engine)
        found.append(work.args[work.result].tobytes())
    assert found[0] == found[1]


SCALAR = "flat[OUT+0xfff0]:a64 S:d32"
WALK = """mov (M1_NM, 1) N(0,0)<1> 0x0:d
shl (M1_NM, 32) B(0,0)<1> A(0,0)<1;1,0> 0xa:ud
add (M1_NM, 32) AT(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>
FIRST
AGAIN:
lsc_store.ugm (M1MASK, 32) flat[AT]:a64 A:d32
add (M1_NM, 32) AT(0,0)<1> AT(0,0)<1;1,0> 0x4:uq
add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> 0x1:d
cmp.lt (M1_NM, 1) P2 N(0,0)<0;1,0> 0x40:d
(P2) goto (M1, 1) AGAIN
LAST
ret (M1, 1)
"""


def walks(first, last, version, mask=""):
    """A kernel in a version of the language: lanes walk through 256 dwords each and store under a mask, with lines in
    front of the loop and behind.
    """
    more = ".decl P2 v_type=P num_elts=1\n.decl N v_type=G type=d num_elts=1\n.decl NEAR v_type=G type=uq num_elts=32 align=GRF\n.input X"
    head = HEAD.replace("lsc_load.ugm (M1, 32) PAIR:d32x2 flat[AT]:a64\n", "").replace(".input X", more, 1)
    head = head.replace("add (M1, 32) A", "add (M1_NM, 32) A")
    loop = WALK.replace("MASK", mask).replace("FIRST", first).replace("LAST", last)
    return Program(build_text((head + loop).replace(".version 4.1", f".version {version}"), "pvc", INFO))


@pytest.mark.parametrize(
    ("version", "mask", "first", "last", "width"),
    [
        ("4.2", "", "", "", 8),
        ("4.1", "", "", "", 0),
        ("4.2", "_NM", "", "", 0),
        ("4.2", "", f"lsc_load.ugm (M1_NM, 1) S:d32 flat[OUT+0xfff0]:a64\nadd (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> 0x1:ud\nlsc_store.ugm (M1_NM, 1) {SCALAR}", "", 0),
        ("4.1", "", "", "lsc_load.ugm (M1, 32) A:d32 flat[AT+0x300]:a64\nlsc_store.ugm (M1, 32) flat[AT]:a64 A:d32", 0),
    ],
)  # fmt: skip
def test_threads_that_cannot_be_several(version, mask, first, last, width):
    """Stores of several rounds, between which a barrier may have been, stores regardless of the mask, scalar ones, and
    loads of what other lanes of the thread may have stored.
    """
    program, found = walks(first, last, version, mask), []
    launch = Launch("k", (20,), (20,), args=program.convert("k", [np.zeros(1 << 15, "u4")]))
    assert translated(program.bind(launch)).width == width
    for engine in ENGINES:
        data = np.zeros(1 << 15, "u4")
        program.launch("k", 32, 32, [data], engine=engine, threads=1)
        found.append(data.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(("version", "width"), [("4.1", 0), ("4.2", 8)])
def test_sub_groups_whose_barriers_leave_no_instruction(version, width):
    """Each round loads what another lane may have stored in the round before, in texts of compilers that would not say
    so; later ones leave fences.
    """
    near = "xor (M1, 32) B(0,0)<1> B(0,0)<1;1,0> 0x2000:ud\nadd (M1, 32) NEAR(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>"
    load = """lsc_load.ugm (M1, 32) B:d32 flat[NEAR]:a64
add (M1, 32) A(0,0)<1> A(0,0)<1;1,0> B(0,0)<1;1,0>
add (M1, 32) NEAR(0,0)<1> NEAR(0,0)<1;1,0> 0x4:uq
lsc_store"""
    more = ".decl P2 v_type=P num_elts=1\n.decl N v_type=G type=d num_elts=1\n.decl NEAR v_type=G type=uq num_elts=32 align=GRF\n.input X"
    head = HEAD.replace("lsc_load.ugm (M1, 32) PAIR:d32x2 flat[AT]:a64\n", "").replace(".input X", more, 1)
    loop = WALK.replace("MASK", "").replace("FIRST", near).replace("LAST", "").replace("lsc_store", load)
    program = Program(build_text((head + loop).replace(".version 4.1", f".version {version}"), "pvc", INFO))
    launch = Launch("k", (32,), (32,), args=program.convert("k", [np.zeros(1 << 15, "u4")]))
    assert translated(program.bind(launch)).width == width


def test_surfaces_that_share_memory():
    """Elements stored to one surface are not loaded from another, unless both are the same array."""
    program, work = of_suite("spmv", "tgllp")
    *inputs, x, y, rows = work.args
    for first, wanted in ((x, 1), (y, 0), (x, 1)):
        arguments = program.convert("spmv", [*inputs, first, y, rows])
        dispatch = program.bind(Launch("spmv", work.global_size, work.local_size, args=arguments))
        assert translated(dispatch).width == wanted
        assert bool(apart(dispatch)) == (wanted > 0) and apart(dispatch) <= set(range(5))


NEAR = "shl (M1, 32) B(0,0)<1> A(0,0)<1;1,0> 0xa:ud\nxor (M1, 32) B(0,0)<1> B(0,0)<1;1,0> 0x2000:ud\nadd (M1, 32) NEAR(0,0)<1> B(0,0)<1;1,0> OUT(0,0)<0;1,0>"
"""The places of lanes eight further, in a thread of eight lanes another one's."""
ORDERED = {
    "load first": (f"{NEAR}\nlsc_load.ugm (M1, 32) PAIR:d32 flat[NEAR]:a64\nadd (M1, 32) A(0,0)<1> A(0,0)<1;1,0> PAIR(0,0)<1;1,0>", ""),
    "store first": ("", f"{NEAR}\nmov (M1, 32) A(0,0)<1> 0x7:ud\nlsc_store.ugm (M1, 32) flat[NEAR]:a64 A:d32"),
    "store again": (f"{NEAR}\nmov (M1, 32) B(0,0)<1> 0x7:ud\nlsc_store.ugm (M1, 32) flat[NEAR]:a64 B:d32", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERED)
def test_lanes_that_all_load_or_store_first(name):
    """All lanes load what others store later, or store again what others have stored: a barrier of the sub-group may
    have been between both.
    """
    program, out = walks(*ORDERED[name], "4.1"), np.zeros(1 << 13, "u4")
    lanes = np.arange(32)
    wanted = np.zeros((32, 256), "u4")
    wanted[:, :64] = lanes[:, None]
    if name == "store first":
        wanted[:, 0] = 7
    for engine in ENGINES:
        out[:] = 0
        program.launch("k", 32, 32, [out], engine=engine)
        assert out.reshape(32, 256).tolist() == wanted.tolist()
    later = walks(*ORDERED[name], "4.2")
    dispatches = [p.bind(Launch("k", (32,), (32,), args=p.convert("k", [out]))) for p in (program, later)]
    assert [translated(dispatch).width for dispatch in dispatches] == [0, 8]


LOAD, STORE = "lsc_load.ugm (M1, 32) A:d32 flat[AT]:a64", "lsc_store.ugm (M1, 32) flat[AT]:a64 A:d32"
OTHER_LOAD, OTHER_STORE = (
    f"movs (M1_NM, 1) T6(0) {number}:ud\n{name} (M1, 16) T6 0:ud B.0 A.0"
    for number, name in ((0, "gather_scaled.4"), (1, "scatter_scaled.4"))
)
BTI_LOAD, BTI_STORE = "lsc_load.ugm (M1, 32) A:d32 bti(0x0)[B]:a32", "lsc_store.ugm (M1, 32) bti(0x1)[B]:a32 A:d32"
AGAIN = "(P1) goto (M1, 32) AGAIN"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((STORE,), False),
        ((LOAD, LOAD), False),
        ((LOAD, STORE), True),
        ((STORE, LOAD), True),
        ((STORE, STORE), True),
        (("AGAIN:", STORE, AGAIN), True),
        (("AGAIN:", LOAD, AGAIN, STORE), True),
        (("AGAIN:", LOAD, AGAIN), False),
        ((OTHER_LOAD, OTHER_STORE), False),
        ((OTHER_LOAD, OTHER_STORE, OTHER_LOAD), False),
        ((OTHER_STORE, OTHER_STORE), True),
        (("AGAIN:", OTHER_LOAD, AGAIN, OTHER_STORE), False),
        (("AGAIN:", OTHER_LOAD, OTHER_STORE, AGAIN), True),
        ((LOAD, OTHER_STORE), True),
        ((BTI_LOAD, BTI_STORE), False),
        ((BTI_LOAD, BTI_STORE.replace("0x1", "0x0")), True),
        ((BTI_LOAD, BTI_STORE.replace("bti(0x1)[B]", "ss(S,0x1)[B]")), True),
    ],
)
def test_accesses_whose_order_may_count(lines, expected):
    head = HEAD.replace("lsc_load.ugm (M1, 32) PAIR:d32x2 flat[AT]:a64\n", "").replace(LOAD + "\n", "")
    head = head.replace(".input X", ".decl T6 v_type=T num_elts=1\n.input X", 1)
    text = "\n".join([head, *lines, "ret (M1, 1)", ""])
    (kernel,) = visakit.read_module(visakit.assemble(text, platform="pvc")).kernels
    assert order_may_count(kernel, layout_of(kernel, 64), apart={0, 1}) == expected


ADD = "add (M1, 32) AT(0,0)<1> AT(0,0)<1;1,0> 0x4:uq"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((LOAD, STORE), False),
        ((STORE, LOAD, STORE), False),
        ((LOAD, STORE, LOAD.replace("AT]", "NEAR]")), True),
        ((LOAD, ADD, STORE), True),
        ((ADD, LOAD, STORE, ADD), False),
        ((LOAD.replace("A:d32", "AT:d32"), STORE), True),
        ((LOAD, STORE.replace("AT]", "AT+0x4]")), True),
        ((LOAD.replace("(M1, 32)", "(M1, 16)"), STORE.replace("(M1, 32)", "(M5, 16)")), True),
        (("AGAIN:", LOAD, AGAIN, STORE), True),
        (("AGAIN:", LOAD, STORE, AGAIN), True),
        ((BTI_LOAD, BTI_STORE.replace("0x1", "0x0")), False),
        ((BTI_LOAD.replace("0x0", "0x7"), BTI_STORE.replace("0x1", "0x8")), True),
        ((BTI_LOAD, BTI_STORE.replace("bti(0x1)", "bti(0x7)")), True),
        ((BTI_LOAD, BTI_STORE.replace("bti(0x1)[B]", "ss(S,0x1)[B]")), True),
        ((LOAD.replace("AT]", "NEAR]"), BTI_STORE), True),
        ((OTHER_STORE, OTHER_STORE), False),
        ((OTHER_STORE, OTHER_STORE.replace("scatter_scaled.4", "scatter4_scaled.R")), True),
    ],
)
def test_lanes_with_places_of_their_own(lines, expected):
    """Two accesses of lanes that keep apart are in order if each lane's are at one place, and happen once."""
    head = HEAD.replace("lsc_load.ugm (M1, 32) PAIR:d32x2 flat[AT]:a64\n", "").replace(LOAD + "\n", "")
    more = ".decl T6 v_type=T num_elts=1\n.decl NEAR v_type=G type=uq num_elts=32 align=GRF\n.input X"
    text = "\n".join([head.replace(".input X", more, 1), *lines, "ret (M1, 1)", ""])
    (kernel,) = visakit.read_module(visakit.assemble(text, platform="pvc")).kernels
    accesses = {n for n, i in enumerate(kernel.instructions) if i.desc.access is not Access.NONE}
    assert order_may_count(kernel, layout_of(kernel, 64), {0, 1}, accesses) == expected
    assert order_may_count(kernel, layout_of(kernel, 64), {0, 1}, set())


@pytest.mark.parametrize("row", [3, 37, 127])
def test_faults_name_the_usual_lane(row):
    found = []
    for engine in ENGINES:
        program, work = of_suite("sums")
        image, out, width = work.args
        short = out.reshape(-1)[: row * int(width) + 5].copy()
        with pytest.raises(SimulationError) as error:
            arguments = [image, short, width]
            program.launch("sums", work.global_size, work.local_size, arguments, engine=engine, threads=1)
        found.append(re.search(r"lane \d+, work-item .*", str(error.value))[0])
    assert found[0] == found[1], found


def test_instructions_for_fewer_lanes():
    text = f"{HEAD}mov (M1_NM, 32) A(0,0)<1> 0x1:ud\nmov (M5, 16) B(1,0)<1> 0x1:ud\nsetp (M1_NM, 32) P1 0xffffffff:ud{TAIL}"
    (kernel,) = visakit.read_module(visakit.assemble(text, platform="pvc")).kernels
    for independent in (False, True):
        *_, unmasked, upper, constant, _, store, _ = narrowed(kernel, 8, independent, 64).instructions
        assert unmasked.args["exec"].size == constant.args["exec"].size == (8 if independent else 32)
        assert "exec" not in upper.args
        assert (store.args["exec"].size, store.args["exec"].payload) == (8, 32)
    assert narrowed(kernel, 32, True, 64).instructions == kernel.instructions


@pytest.mark.parametrize("line", ["mov (M5, 16) A(1,0)<1> B(1,8)<1;1,0>", "(P1) mov (M1, 32) A(0,0)<1> B(0,8)<1;1,0>"])
def test_operands_beyond_their_variables_fault_for_absent_lanes_too(line):
    image = build_text(f"{HEAD}{line}{TAIL}", "pvc", INFO)
    found = []
    for engine in ENGINES:
        with pytest.raises(SimulationError, match="a region reaches byte 160 of 'B'") as error:
            Program(image).launch("k", (16,), (16,), [np.zeros(64, "u4")], engine=engine)
        found.append(str(error.value))
    assert found[0] == found[1]
