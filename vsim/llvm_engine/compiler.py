"""Modules of IR: the driver loop and the functions that a launch can reach."""

from __future__ import annotations

from typing import Any

from visa.program import Body
from vsim.llvm_engine import context as cx
from vsim.llvm_engine import native
from vsim.llvm_engine.function import Function, Unit
from vsim.llvm_engine.ir import MASK, ir_type

_COROUTINES = """
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare i64 @llvm.coro.align.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare ptr @llvm.coro.free(token, ptr)
declare void @llvm.coro.resume(ptr)
declare i1 @llvm.coro.done(ptr)
"""


def module_text(bound: Any, full: bool, row: int = 0) -> tuple[str, list[Body]]:
    """The IR of a launch's kernel and everything that it can call, and the functions by number."""
    unit = Unit(bound, full, row)
    unit.function(bound.kernel)
    texts, done = [], 0
    while done < len(unit.wanted):
        texts.append(Function(unit, unit.wanted[done]).text())
        done += 1
    helpers = list(unit.helpers.values())
    parts = [*unit.intrinsics.values(), _driver(bound, unit), _fault_recorder(), *texts, *helpers]
    if bound.has_barrier:
        parts = [_COROUTINES, native.coroutine_end()[0], *parts]
    parts.append('attributes #0 = { nounwind "min-legal-vector-width"="512" "prefer-vector-width"="512" "no-trapping-math"="true" }')
    parts.append('attributes #1 = { nounwind noinline "min-legal-vector-width"="512" "prefer-vector-width"="512" }')
    parts.append("attributes #2 = { cold noinline nounwind }")
    parts.append('!0 = !{}\n!1 = !{!"branch_weights", i32 1, i32 100000}\n!2 = !{!"branch_weights", i32 1000, i32 1}')
    return "\n".join(parts), unit.wanted


def _fault_recorder() -> str:
    """``record_fault``: writes what went wrong, and who did it, into the context; the first fault stays."""
    names = cx.FAULT_FIELDS
    lines = [
        f"define internal void @record_fault(ptr %ctx, {', '.join(f'i64 %{n}' for n in names)}) #1 {{", f"  %f = getelementptr i8, ptr %ctx, i64 {cx.FAULT}",
        "  %earlier = atomicrmw xchg ptr %f, i64 1 monotonic", "  %mine = icmp eq i64 %earlier, 0", "  br i1 %mine, label %record, label %end", "record:",
    ]  # fmt: skip
    for n, name in enumerate(names):
        lines += [f"  %p{n} = getelementptr i8, ptr %ctx, i64 {cx.FAULT_INFO + 8 * n}", f"  store i64 %{name}, ptr %p{n}, align 8"]
    return "\n".join([*lines, "  br label %end", "end:", "  ret void", "}"])


def _field(name: str, base: str, offset: int, ty: str = "i64") -> list[str]:
    return [f"  %{name}.p = getelementptr i8, ptr {base}, i64 {offset}", f"  %{name} = load {ty}, ptr %{name}.p, align 8"]


def _element(name: str, base: str, index: str) -> list[str]:
    return [f"  %{name}.p = getelementptr i64, ptr {base}, i64 {index}", f"  %{name} = load i64, ptr %{name}.p, align 8"]


def _driver(bound: Any, unit: Unit) -> str:
    """``run(context, worker)``: takes work-groups from the common counter until there are none."""
    simd, em = bound.simd, ir_type(MASK, bound.simd)
    # With a schedule the counters count places in an order, and the order has the numbers of groups and threads.
    first_group, thread, group_number, thread_number = "%g0", "%t", [], []
    if bound.schedule:
        first_group, thread = "%gn", "%tn"
        group_number = [*_field("group_order", "%ctx", cx.GROUP_ORDER, "ptr"), *_element("gn", "%group_order", "%g0")]
        thread_number = [*_field("thread_order", "%variant", cx.VARIANT_ORDER, "ptr"), *_element("tn", "%thread_order", "%t")]
    unit.intrinsics.setdefault("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    lines = ["define void @run(ptr noalias %ctx, ptr %worker) #0 {", "entry:"]
    for name, offset in (("count", cx.GROUP_COUNT), ("nx", cx.COUNTS), ("ny", cx.COUNTS + 8), ("nz", cx.COUNTS + 16), ("px", cx.PARTIAL),
                         ("py", cx.PARTIAL + 8), ("pz", cx.PARTIAL + 16), ("slm_size", cx.SLM_SIZE)):  # fmt: skip
        lines += _field(name, "%ctx", offset)
    lines += _field("variants", "%ctx", cx.VARIANTS, "ptr")
    lines += _field("slm", "%worker", cx.WORKER_SLM, "ptr") + _field("arena", "%worker", cx.WORKER_ARENA, "ptr")
    lines += _field("handles", "%worker", cx.WORKER_HANDLES, "ptr") + _field("arena_size", "%worker", cx.WORKER_ARENA_SIZE)
    lines += [
        *_field("chunk", "%ctx", cx.CHUNK), "  %lx = sub i64 %nx, 1", "  %ly = sub i64 %ny, 1", "  %lz = sub i64 %nz, 1", "  br label %fetch", "fetch:",
        "  %g0 = atomicrmw add ptr %ctx, i64 %chunk monotonic", "  %ge = add i64 %g0, %chunk", "  %gbig = icmp ugt i64 %ge, %count",
        "  %gend = select i1 %gbig, i64 %count, i64 %ge", "  %nothing = icmp uge i64 %g0, %count", "  br i1 %nothing, label %done, label %begin", "begin:",
        # Divisions once for a chunk of groups; from group to group the ids count up like the digits of a clock.
        *group_number, f"  %gx0 = urem i64 {first_group}, %nx", f"  %gr0 = udiv i64 {first_group}, %nx", "  %gy0 = urem i64 %gr0, %ny", "  %gz0 = udiv i64 %gr0, %ny", "  br label %group",
        "next:", "  %g1 = add i64 %g, 1", "  %over = icmp uge i64 %g1, %gend", "  %gx1 = add i64 %gx, 1", "  %wrapx = icmp eq i64 %gx1, %nx",
        "  %gx2 = select i1 %wrapx, i64 0, i64 %gx1", "  %carryx = zext i1 %wrapx to i64", "  %gy1 = add i64 %gy, %carryx", "  %wrapy = icmp eq i64 %gy1, %ny",
        "  %gy2 = select i1 %wrapy, i64 0, i64 %gy1", "  %carryy = zext i1 %wrapy to i64", "  %gz2 = add i64 %gz, %carryy",
        "  br i1 %over, label %fetch, label %group", "group:", "  %g = phi i64 [ %g0, %begin ], [ %g1, %next ]", "  %gx = phi i64 [ %gx0, %begin ], [ %gx2, %next ]",
        "  %gy = phi i64 [ %gy0, %begin ], [ %gy2, %next ]", "  %gz = phi i64 [ %gz0, %begin ], [ %gz2, %next ]",
        *_field("stop", "%ctx", cx.STOP), *_field("failed", "%ctx", cx.FAULT), "  %either = or i64 %stop, %failed", "  %halt = icmp ne i64 %either, 0",
        "  br i1 %halt, label %done, label %place", "place:", "  %ex = icmp eq i64 %gx, %lx", "  %ey = icmp eq i64 %gy, %ly", "  %ez = icmp eq i64 %gz, %lz",
        "  %vx = select i1 %ex, i64 %px, i64 0", "  %vy = select i1 %ey, i64 %py, i64 0", "  %vz = select i1 %ez, i64 %pz, i64 0",
        "  %v1 = or i64 %vx, %vy", "  %v = or i64 %v1, %vz", f"  %variant = getelementptr [{cx.VARIANT_SIZE} x i8], ptr %variants, i64 %v",
        *_field("items", "%variant", cx.VARIANT_ITEMS), *_field("threads", "%variant", cx.VARIANT_THREADS),
        "  %noslm = icmp eq i64 %slm_size, 0", "  br i1 %noslm, label %ready, label %clear", "clear:",
        "  call void @llvm.memset.p0.i64(ptr align 64 %slm, i8 0, i64 %slm_size, i1 false)", "  br label %ready", "ready:", "  br label %thread", "thread:",
        "  %t = phi i64 [ 0, %ready ], [ %t1, %after ]", "  %used = phi i64 [ 0, %ready ], [ %used1, %after ]", *thread_number,
        f"  %first = mul i64 {thread}, {simd}",
        "  %left = sub i64 %items, %first", f"  %short = icmp ult i64 %left, {simd}", f"  %lanes = select i1 %short, i64 %left, i64 {simd}",
        f"  %gone = sub i64 {simd}, %lanes", f"  %bits64 = lshr i64 {(1 << simd) - 1}, %gone", f"  %bits = trunc i64 %bits64 to i{simd}",
        f"  %mask = bitcast i{simd} %bits to {em}" if simd > 1 else "  %mask = icmp ne i64 %lanes, 0", "  %t1 = add i64 %t, 1",
    ]  # fmt: skip
    arguments = f"ptr %ctx, ptr %worker, ptr %variant, i64 %gx, i64 %gy, i64 %gz, i64 {thread}, {em} %mask"
    if not bound.has_barrier:
        lines += [f"  call void @kernel({arguments}, ptr null)", "  %used1 = add i64 %used, 0", "  br label %after", "after:",
                  "  %more = icmp ult i64 %t1, %threads", "  br i1 %more, label %thread, label %finished", "finished:", "  br label %next", "done:", "  ret void", "}"]  # fmt: skip
        return "\n".join(lines)
    lines += [
        "  %frame = getelementptr i8, ptr %arena, i64 %used", f"  %handle = call ptr @kernel({arguments}, ptr %frame)",
        "  %slot = getelementptr ptr, ptr %handles, i64 %t", "  store ptr %handle, ptr %slot, align 8",
        *_field("frame_size", "%worker", cx.WORKER_FRAME_SIZE), *_field("frame_align", "%worker", cx.WORKER_FRAME_ALIGN),
        "  %frame_more = add i64 %frame_size, 63", "  %frame_mask = sub i64 0, %frame_align", "  %frame_up = add i64 %frame_more, %frame_align", "  %frame_even = and i64 %frame_up, %frame_mask", "  %frame_space = and i64 %frame_even, -64",
        "  %used1 = add i64 %used, %frame_space", "  %next_end = add i64 %used1, %frame_space", "  %full = icmp ugt i64 %next_end, %arena_size",
        "  br i1 %full, label %nospace, label %after", "after:", "  %more = icmp ult i64 %t1, %threads",
        "  br i1 %more, label %thread, label %phase", "phase:", "  br label %check", "check:", "  %c = phi i64 [ 0, %phase ], [ %c1, %check ]",
        "  %ended = phi i64 [ 0, %phase ], [ %ended1, %check ]", "  %cs = getelementptr ptr, ptr %handles, i64 %c", "  %ch = load ptr, ptr %cs, align 8",
        "  %isdone = call i1 @llvm.coro.done(ptr %ch)", "  %isdone64 = zext i1 %isdone to i64", "  %ended1 = add i64 %ended, %isdone64",
        "  %c1 = add i64 %c, 1", "  %cmore = icmp ult i64 %c1, %threads", "  br i1 %cmore, label %check, label %checked", "checked:",
        *_field("failed2", "%ctx", cx.FAULT), *_field("stop2", "%ctx", cx.STOP), "  %either2 = or i64 %failed2, %stop2", "  %bad2 = icmp ne i64 %either2, 0",
        "  br i1 %bad2, label %done, label %balance", "balance:", "  %all = icmp eq i64 %ended1, %threads", "  br i1 %all, label %finished, label %some",
        "finished:", "  br label %next", "some:", "  %none = icmp eq i64 %ended1, 0", "  br i1 %none, label %resume, label %stuck", "resume:", "  %r = phi i64 [ 0, %some ], [ %r1, %resume ]",
        "  %rs = getelementptr ptr, ptr %handles, i64 %r", "  %rh = load ptr, ptr %rs, align 8", "  call void @llvm.coro.resume(ptr %rh)",
        "  %r1 = add i64 %r, 1", "  %rmore = icmp ult i64 %r1, %threads", "  br i1 %rmore, label %resume, label %phase", "stuck:",
        *_record(cx.BARRIER, "s"), "  br label %done", "nospace:", *_record(cx.FRAMES, "n"), "  br label %done", "done:", "  ret void", "}",
    ]  # fmt: skip
    return "\n".join(lines)


def _record(kind: int, stem: str) -> list[str]:
    values = [str(cx.fault_place(kind, 0, 0)), *["0"] * 5, "%gx", "%gy", "%gz"]
    lines = []
    for n, value in enumerate(values):
        lines += [f"  %{stem}{n} = getelementptr i8, ptr %ctx, i64 {cx.FAULT_INFO + 8 * n}", f"  store i64 {value}, ptr %{stem}{n}, align 8"]
    return [*lines, f"  %{stem}f = getelementptr i8, ptr %ctx, i64 {cx.FAULT}", f"  store i64 1, ptr %{stem}f, align 8"]
