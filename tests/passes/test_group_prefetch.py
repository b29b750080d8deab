"""Prefetch for later groups: at the places of the same thread there, also in the next row of groups; and nowhere else."""

import ctypes

import numpy as np
import pytest
from support.prefetches import CALL, logging
from support.strategies import ENGINES
from test_narrow_threads import of_suite, translated

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.host import native
from vsim.engines.llvm.passes.ahead import PREFETCH
from vsim.engines.llvm.passes.group_prefetch import THREADS_AHEAD, prefetch_groups
from vsim.engines.llvm.passes.loops import with_changed_loops
from vsim.engines.llvm.support import driver
from vsim.engines.llvm.variant import Variant
from vsim.launch.launch import Launch

ROW, COLUMN, X, THREADS = 4096, 128, 5, 8
LOOPS = [driver.loops(ordered=False, transposed=transposed) for transposed in (False, True)]
TEXT = f"""define void @group({driver.GROUP_ARGUMENTS}) {{
entry:
  %y.p = getelementptr i8, ptr %worker, i64 FIELD
  %y = load i64, ptr %y.p, align 8
  %base = load ptr, ptr %variant, align 8
  %rows = mul i64 %y, {THREADS}
GROUPS
  %column = mul i64 %group_x, {COLUMN}
{LOOPS[0].threads}
  br label %block0
block0:
  %y.thread = add i64 %rows, %thread
  %start = mul i64 %y.thread, {ROW}
  %at = add i64 %start, %column
  %outside = icmp uge i64 %at, 1000000
  %likely = getelementptr i8, ptr %base, i64 %at
  br i1 %outside, label %edge, label %way, !prof !1
edge:
  br label %way
way:
  %place = phi ptr [ %likely, %block0 ], [ %base, %edge ]
  %data = load <32 x i32>, ptr %place, align 1
  store <32 x i32> %data, ptr %place, align 1
  br label %next
{LOOPS[0].ends}
}}
!0 = !{{}}
!1 = !{{!"branch_weights", i32 1, i32 100000}}
"""


def text_of(axis):
    """The function where groups follow each other along an axis."""
    return TEXT.replace("GROUPS", LOOPS[axis].groups).replace("FIELD", str(cx.WORKER_GROUP + 8 - 8 * axis))


def places(threads, axis, y):
    """The places of accesses and of prefetches of a row of groups, in order, as rows and bytes in them."""
    changed = with_changed_loops(text_of(axis), prefetch_groups)
    assert changed.count(CALL) == COLUMN // 64  # once for the load and the store
    engine = native.loaded([native.compile_object(f"{PREFETCH}\n{logging(changed, '%data', '%worker')}")])
    arguments = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
    function = ctypes.CFUNCTYPE(None, *arguments)(engine.get_function_address("group"))
    context, worker, variant, log = (np.zeros(count, "i8") for count in (64, 64, 64, 3 * X * threads))
    data = np.zeros(ROW * THREADS * 4, "u1")
    context[cx.COUNTS // 8 + axis], context[cx.ROW_THREADS // 8] = X, threads
    worker[0], worker[cx.WORKER_GROUP // 8 + 1 - axis] = log.ctypes.data, y
    variant[0], variant[cx.VARIANT_THREADS // 8] = data.ctypes.data, threads
    function(context.ctypes.data, worker.ctypes.data, variant.ctypes.data, 0, X)
    found = [divmod(place, ROW) for place in (log - data.ctypes.data).tolist()]
    return found[0::3], [*found[1::3], *found[2::3]]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("threads", [1, 3, 4, 8, 17])
def test_places_are_those_of_later_groups(threads, axis):
    later = 1 + THREADS_AHEAD // threads
    loaded, ahead = places(threads, axis, y=1)
    groups = [(x, thread) for x in range(X) for thread in range(threads)]
    assert loaded == [(THREADS + thread, x * COLUMN) for x, thread in groups]
    behind = [(x + later, 1) if x + later < X else (x + later - X, 2) for x, _ in groups]
    wanted = [(y * THREADS + thread, x * COLUMN) for (x, y), (_, thread) in zip(behind, groups, strict=True)]
    assert ahead == [(row, byte + half) for half in (0, 64) for row, byte in wanted]


def test_places_that_are_the_same_in_all_groups_are_left_alone():
    text = text_of(0).replace("%column = mul i64 %group_x", "%column = mul i64 7")
    assert text != text_of(0) and CALL not in with_changed_loops(text, prefetch_groups)


@pytest.mark.parametrize("device", ["bmg", "tgllp"])
@pytest.mark.parametrize("size", [(64, 4), (1088, 8), (100, 30)])
def test_launches_are_as_on_the_reference_engine(device, size):
    """With and without later groups; prefetches reach beyond the arrays."""
    paths, seen = np.random.default_rng(4).integers(1, 1000, (size[0], size[0]), "i4"), []
    for engine in ENGINES:
        program, _ = of_suite("floyd", device)
        data = paths.copy()
        local = (64, 4) if size[0] % 64 == 0 else (10, 10)
        program.launch(program.kernels[0], size, local, [data, np.int32(size[0]), np.int32(3)], engine=engine)
        seen.append(data.tobytes())
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("size", "local", "schedule", "found"),
    [
        ((1088, 8), (64, 4), None, True),
        ((1024, 8), (64, 4), None, False),
        ((1024, 8), (64, 4), "reverse", True),
        ((4096, 8), (64, 1), None, False),
    ],
    ids=["tiles", "rows", "an order", "one row"],
)
def test_which_launches_prefetch(size, local, schedule, found):
    """Those whose groups are tiles. The processor's own prefetcher follows rows."""
    program, _ = of_suite("floyd", "bmg")
    arguments = program.convert("floyd", [np.zeros(4, "i4"), np.int32(1), np.int32(0)])
    launch = Launch("floyd", size, local, args=arguments)
    assert (CALL in translated(program.bind(launch, schedule=schedule)).text) == found


def test_tiles_and_rows_have_separate_code():
    program, _ = of_suite("floyd", "bmg")
    arguments = program.convert("floyd", [np.zeros(4, "i4"), np.int32(1), np.int32(0)])
    launches = [program.bind(Launch("floyd", (width, 8), (64, 4), args=arguments)) for width in (1024, 1088)]
    assert len({Variant.of(launch, True, 16, 0) for launch in launches}) == 2


def test_places_that_move_alike_share_a_step():
    """The step of a product of two values is computed once, behind the product."""
    far = "  %far = getelementptr i8, ptr %place, i64 8192\n  store <32 x i32> %data, ptr %far, align 1\n  store"
    text = (
        text_of(0)
        .replace("mul i64 %y.thread, 4096", "mul i64 %y.thread, %threads")
        .replace("  store <32", f"{far} <32")
    )
    changed = with_changed_loops(text, prefetch_groups)
    assert changed.count(CALL) == 2 * COLUMN // 64 and changed.count("%start.step = ") == 1
    in_thread = changed.partition("block0:")[2].partition("%at = ")[0]
    assert "%start.step = " in in_thread and " mul i64 %y.thread" in in_thread


def test_addresses_that_were_written_as_two_dwords():
    """The compiler for bmg multiplies the group's number by the size of groups in two dwords."""
    program, work = of_suite("copy4", "bmg")
    launch = Launch(program.kernels[0], (2048, 8), (64, 4), args=program.convert("copy4", work.args))
    assert CALL in translated(program.bind(launch)).text
