"""Anchors against code sinking: which values get one, and what LLVM makes of it."""

import ctypes

import numpy as np
import pytest
from test_narrow_threads import bound, of_suite, translated

from vsim.engines.llvm.host import native
from vsim.engines.llvm.passes.anchor import anchor

WEIGHTS = '!0 = !{}\n!1 = !{!"branch_weights", i32 1, i32 100000}\n'
ROW = "<8 x i32>"


def function(*blocks, arguments="ptr %p, i64 %c"):
    """The text of a function of blocks that a check each ends, but for the last one, which returns."""
    lines = [f"define void @f({arguments}) {{"]
    for n, block in enumerate(blocks):
        lines += [f"b{n}:", *(f"  {line}" for line in block)]
        if n == len(blocks) - 1:
            lines.append("  ret void")
        else:
            lines += [f"  %m{n} = and i64 %c, {1 << n}", f"  %c{n} = icmp ne i64 %m{n}, 0"]
            lines.append(f"  br i1 %c{n}, label %out, label %b{n + 1}, !prof !1")
    return "\n".join([*lines, "out:", "  ret void", "}"])


def anchored(*blocks):
    """The names of the values that get an anchor."""
    changed = anchor(function(*blocks)).split("\n")
    return [line.rpartition("%")[2].rstrip(")") for line in changed if line.startswith("  call void (...) @llvm.fake")]


X, Y, SUM = (
    f"%x = load {ROW}, ptr %p, align 4",
    f"%y = load {ROW}, ptr %p, align 4",
    f"%s = add {ROW} %x, %y",
)


def stored(value, kind=ROW):
    return f"store {kind} %{value}, ptr %p, align 4"


def test_a_sum_stays_with_its_addends():
    assert anchored([X, Y, SUM], [], [stored("s")]) == ["s"]


def test_operands_of_a_sum_move_with_it():
    """The product alone would be one vector, but two are kept for it."""
    product = f"%m = mul {ROW} %x, %y"
    assert anchored([X, Y, product, f"%s = add {ROW} %m, %x"], [stored("s")]) == ["s"]
    assert anchored([X, product.replace("%y", "%x"), f"%s = add {ROW} %m, %x"], [stored("s")]) == []


def test_a_value_moves_to_operands_that_live_there_anyway():
    assert anchored([X, Y, SUM], [stored("s"), stored("x")]) == []
    assert anchored([X, Y, SUM, stored("x")], [stored("s")]) == ["s"]


def test_a_wide_value_of_narrow_operands_moves():
    wide = f"%s = zext {ROW} %x to <8 x i64>"
    assert anchored([X, wide], [stored("s", "<8 x i64>")]) == []
    narrow = f"%s = trunc {ROW} %x to <8 x i8>"
    assert anchored([X, narrow], [stored("s", "<8 x i8>")]) == ["s"]


@pytest.mark.parametrize(
    ("operation", "kind"), [("add i64 %a, %b", "i64"), (f"icmp eq {ROW} %x, %y", "<8 x i1>")], ids=["scalar", "mask"]
)
def test_scalars_and_masks_move(operation, kind):
    numbers = ["%a = load i64, ptr %p, align 8", "%b = load i64, ptr %p, align 8"]
    assert anchored([X, Y, *numbers, f"%s = {operation}"], [stored("s", kind)]) == []


def test_values_of_unlikely_ways_move_there():
    text = function([X, Y, SUM], []).replace("out:\n", f"out:\n  {stored('s')}\n")
    assert anchor(text) == text


def test_invariants_of_a_loop_live_in_all_of_it():
    """A sum of rows that were loaded in front of a loop moves within the loop."""
    loop = "\n".join(
        [
            "define void @f(ptr %p, i1 %c) {\nfront:",
            *(f"  {line}" for line in (X, Y)),
            "  br label %loop\nloop:",
            f"  {SUM}",
            "  br i1 %c, label %out, label %on, !prof !1\non:",
            f"  {stored('s')}",
            "  br i1 %c, label %loop, label %out\nout:\n  ret void\n}",
        ]
    )
    assert anchor(loop) == loop
    inside = loop.replace(f"  {X}\n", "").replace(f"  {Y}\n", "").replace(f"  {SUM}", f"  {X}\n  {Y}\n  {SUM}")
    assert "fake.use" in anchor(inside)


def test_a_long_sum_keeps_no_addends():
    """Code of a sum of 48 rows, each behind a check, has half the size, as no row is kept; results are equal."""
    blocks = [[f"%s0 = load {ROW}, ptr %p, align 4"]]
    for n in range(1, 48):
        at = f"%a{n} = getelementptr i8, ptr %p, i64 {32 * n}"
        blocks.append([at, f"%x{n} = load {ROW}, ptr %a{n}, align 4", f"%s{n} = add {ROW} %s{n - 1}, %x{n}"])
    blocks.append([f"store {ROW} %s47, ptr %q, align 4"])
    text = function(*blocks, arguments="ptr %p, ptr %q, i64 %c")
    objects = [native.compile_object(f"{t}\n{WEIGHTS}") for t in (text, anchor(text))]
    assert len(objects[1]) < 0.8 * len(objects[0])
    rows, sums = np.arange(48 * 8, dtype="u4").reshape(48, 8), []
    for code in objects:
        engine, result = native.loaded([code]), np.zeros(8, "u4")
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
            engine.get_function_address("f")
        )
        call(rows.ctypes.data, result.ctypes.data, 0)
        sums.append(result.tolist())
    assert sums == [rows.sum(axis=0).tolist()] * 2


def test_a_kernel_with_anchors():
    """Sums of absolute differences are such sums."""
    program, work = of_suite("sad")
    assert anchor(translated(bound(program, work)).text).count("@llvm.fake.use(<") >= 8


def test_what_nothing_needs_gets_no_anchor():
    """A sum that only another one reads, which nothing reads, is not computed at all."""
    dead = f"%d = xor {ROW} %s, %s"
    assert anchored([X, Y, SUM], [dead]) == []
    assert anchored([X, Y, SUM], [dead, stored("d")]) == ["s"]
