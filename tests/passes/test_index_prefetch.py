"""Prefetch of rows of indices: at the places of later rounds, where rows are far from each other and select something."""

import ctypes

import numpy as np
import pytest
from support.prefetches import CALL, logging
from support.strategies import ENGINES
from test_narrow_threads import of_suite, translated

from visakit.diagnostics import SimulationError
from vsim.engines.llvm.host import native
from vsim.engines.llvm.passes.ahead import PREFETCH
from vsim.engines.llvm.passes.index_prefetch import prefetch_indices
from vsim.engines.llvm.passes.loops import with_changed_loops
from vsim.launch.launch import Launch

LOOP = """define i64 @f(ptr %rows, ptr %table, i64 %stride) {
entry:
  %s = alloca i32, align 8
  %sum = alloca i64, align 8
  store i32 0, ptr %s, align 8
  store i64 0, ptr %sum, align 8
  br label %loop
loop:
  %k = load i32, ptr %s, align 8
  %k1 = or i32 %k, 1
  %wide = sext i32 %k1 to i64
  %at = mul i64 %wide, %stride
  %out = icmp uge i64 %at, 1000000
  %likely = getelementptr i8, ptr %rows, i64 %at
  br i1 %out, label %edge, label %way, !prof !1
edge:
  br label %way
way:
  %place = phi ptr [ %likely, %loop ], [ %rows, %edge ]
  %row = load <4 x i32>, ptr %place, align 1
  %index = extractelement <4 x i32> %row, i64 2
  %more = zext i32 %index to i64
  %there = getelementptr i8, ptr %table, i64 %more
  %found = load i64, ptr %there, align 8
  %before = load i64, ptr %sum, align 8
  %after = add i64 %before, %found
  store i64 %after, ptr %sum, align 8
  %half = add i32 %k, 1
  %next = add i32 %half, 1
  store i32 %next, ptr %s, align 8
  %again = icmp ult i32 %next, 60
  br i1 %again, label %loop, label %done
done:
  ret i64 %after
}
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 100000}
"""
STRIDE = 4096


def prefetching(text):
    return with_changed_loops(text, prefetch_indices)


def run(text):
    """The sum of a loop, and the logged offsets from the first row."""
    engine = native.loaded([native.compile_object(f"{PREFETCH}\n{text}")])
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, ctypes.c_int64)(
        engine.get_function_address("f")
    )
    rows, table = np.zeros(STRIDE * 64, "u1"), np.arange(200, dtype="i8")
    rows.view("i4").reshape(64, -1)[:, 2] = 8 + np.arange(64) % 7 * 8
    table[0] = table.ctypes.data + 8 * 20
    return function(rows.ctypes.data, table.ctypes.data, STRIDE), (table[20:80] - rows.ctypes.data).tolist()


def test_places_are_those_of_later_rounds():
    """Each round prefetches the row of a later round, for all forms of the counter."""
    changed = prefetching(LOOP)
    assert changed.count(CALL) == 1
    _, places = run(logging(changed, "%row", "%table"))
    loaded, ahead = places[0::2], places[1::2]
    assert loaded == [STRIDE * (2 * k + 1) for k in range(30)]
    distance = (ahead[0] - loaded[0]) // (2 * STRIDE)
    assert distance >= 1 and all(
        there - here == 2 * distance * STRIDE for here, there in zip(loaded, ahead, strict=True)
    )
    assert run(LOOP)[0] == run(changed)[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("zext i32 %index", "zext i32 %k"),  # selects nothing
        ("mul i64 %wide, %stride", "shl i64 %wide, 8"),  # near each other
        ("mul i64 %wide, %stride", "mul i64 3, %stride"),  # the same row
        ("store i32 %next", "store i32 %index"),  # counts by a loaded number
    ],
)
def test_other_rows_are_left_alone(old, new):
    text = LOOP.replace(old, new)
    assert text != LOOP and prefetching(text) == text


def md(count, lists, rows):
    """Arguments of the neighbour lists of the suite."""
    numbers = np.random.default_rng(3)
    positions = numbers.random((count, 4), "f4")
    near = numbers.integers(0, count, (rows, count)).astype("i4")
    return [positions, near, np.zeros((count, 4), "f4"), np.int32(count), np.int32(lists), np.float32(0.5)]


@pytest.mark.parametrize("device", ["bmg", "tgllp"])
@pytest.mark.parametrize("rows", [13, 12, 0])
def test_lists_that_end_early(device, rows):
    """Rows that are prefetched may be outside; rows that are read may not, and faults are as on the reference engine."""
    seen = []
    for engine in ENGINES:
        program, _ = of_suite("md", device)
        arguments = md(256, 13, rows)
        try:
            program.launch(program.kernels[0], 256, 128, arguments, engine=engine, threads=1)
            seen.append(arguments[2].tobytes())
        except SimulationError as error:
            seen.append(str(error))
    assert seen[0] == seen[1] and isinstance(seen[0], str) == (rows < 13)
    launch = Launch("md", (256,), (128,), args=program.convert("md", md(256, 13, 13)))
    assert CALL in translated(program.bind(launch)).text
