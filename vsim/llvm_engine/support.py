"""Functions around a kernel that do not depend on it: compiled once for a machine, then kept in memory and on disk.

The driver (``run``) takes work-groups from a common counter and calls ``group`` for those that follow each other in a row. Without barriers ``group`` is
compiled around the kernel; with barriers it is here, gets one group at a time, and resumes its threads in turn.
"""

from __future__ import annotations

from functools import cache

from vsim.llvm_engine import context as cx
from vsim.llvm_engine import native
from vsim.llvm_engine.cache import key, load, save
from vsim.llvm_engine.ir import module

_RECORDED = cx.FAULT_FIELDS[:-3]  # The group is the worker's.
RECORD_FAULT = f"declare void @record_fault(ptr, ptr, {', '.join(['i64'] * len(_RECORDED))})"
COMMON = "ptr noalias %ctx, ptr %worker, ptr %variant"
COMMON_TYPES = "ptr, ptr, ptr"
GROUP_ARGUMENTS = f"{COMMON}, i64 %first, i64 %groups"
"""The last two: the first group's number along x, and how many groups in a row."""

COROUTINES = f"""
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare i64 @llvm.coro.align.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare ptr @llvm.coro.free(token, ptr)
{native.coroutine_end()[0]}
"""


@cache
def compiled(text: str) -> bytes:
    """Object code of a module, out of memory, the disk or the compiler."""
    name = key(text, native.host())
    found = load(name)
    if found is None:
        found = native.compile_support(text)
        save(name, found)
    return found


def _field(name: str, base: str, offset: int, ty: str = "i64", volatile: bool = False) -> str:
    return f"%{name}.p = getelementptr i8, ptr {base}, i64 {offset}\n  %{name} = load {'volatile ' if volatile else ''}{ty}, ptr %{name}.p, align 8"


def _element(name: str, base: str, index: str) -> str:
    return f"%{name}.p = getelementptr i64, ptr {base}, i64 {index}\n  %{name} = load i64, ptr %{name}.p, align 8"


_HALT = f"""{_field("stop", "%ctx", cx.STOP, volatile=True)}
  {_field("failed", "%ctx", cx.FAULT, volatile=True)}
  %either = or i64 %stop, %failed
  %halt = icmp ne i64 %either, 0"""
"""Whether the run is to stop or has failed."""


def _thread_number(ordered: bool) -> tuple[str, str]:
    """What gives the number of a group's thread at place %t, and its name: with a schedule an order has the numbers."""
    if not ordered:
        return "", "%t"
    return _field("thread_order", "%variant", cx.VARIANT_ORDER, "ptr") + "\n  " + _element(
        "tn", "%thread_order", "%t"
    ), "%tn"


@cache
def driver(barriers: bool, ordered: bool) -> str:
    """``run(context, worker)``, ``record_fault`` and, for kernels with barriers, ``group``."""
    parts = [_run(ordered, rows=not (ordered or barriers)), _fault_recorder()]
    intrinsics = {"memset": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)", "least": "declare i64 @llvm.umin.i64(i64, i64)",
                  "most": "declare i64 @llvm.umax.i64(i64, i64)"}  # fmt: skip
    if barriers:
        parts.append(_phases(ordered))
        intrinsics["kernel"] = f"declare ptr @kernel({COMMON_TYPES}, i64, i64, ptr)"
        intrinsics["coroutines"] = "declare void @llvm.coro.resume(ptr)\ndeclare i1 @llvm.coro.done(ptr)"
    else:
        intrinsics["group"] = f"declare void @group({COMMON_TYPES}, i64, i64)"
    return module(parts, intrinsics)


def _run(ordered: bool, rows: bool) -> str:
    """Takes work-groups until there are none: chunks of them, within which ids count up like the digits of a clock.

    ``rows``: groups of one size that follow each other along x run in one call, where there is no local memory to clear.
    """
    first, order, several = "%g0", "", "1"
    if ordered:
        first = "%gn"
        order = _field("group_order", "%ctx", cx.GROUP_ORDER, "ptr") + "\n  " + _element("gn", "%group_order", "%g0")
    if rows:
        several = "%several"
    return f"""
define void @run(ptr noalias %ctx, ptr %worker) #0 {{
entry:
  {_field("count", "%ctx", cx.GROUP_COUNT)}
  {_field("nx", "%ctx", cx.COUNTS)}
  {_field("ny", "%ctx", cx.COUNTS + 8)}
  {_field("nz", "%ctx", cx.COUNTS + 16)}
  {_field("px", "%ctx", cx.PARTIAL)}
  {_field("py", "%ctx", cx.PARTIAL + 8)}
  {_field("pz", "%ctx", cx.PARTIAL + 16)}
  {_field("slm_size", "%ctx", cx.SLM_SIZE)}
  {_field("variants", "%ctx", cx.VARIANTS, "ptr")}
  {_field("chunk", "%ctx", cx.CHUNK)}
  {_field("slm", "%worker", cx.WORKER_SLM, "ptr")}
  %worker_x = getelementptr i8, ptr %worker, i64 {cx.WORKER_GROUP}
  %worker_y = getelementptr i8, ptr %worker, i64 {cx.WORKER_GROUP + 8}
  %worker_z = getelementptr i8, ptr %worker, i64 {cx.WORKER_GROUP + 16}
  %lx = sub i64 %nx, 1
  %ly = sub i64 %ny, 1
  %lz = sub i64 %nz, 1
  %wholex = icmp eq i64 %px, 0
  %row = select i1 %wholex, i64 %nx, i64 %lx
  %noslm = icmp eq i64 %slm_size, 0
  br label %fetch
fetch:
  %g0 = atomicrmw add ptr %ctx, i64 %chunk monotonic
  %ge = add i64 %g0, %chunk
  %gbig = icmp ugt i64 %ge, %count
  %gend = select i1 %gbig, i64 %count, i64 %ge
  %nothing = icmp uge i64 %g0, %count
  br i1 %nothing, label %done, label %begin
begin:
  {order}
  %gx0 = urem i64 {first}, %nx
  %gr0 = udiv i64 {first}, %nx
  %gy0 = urem i64 %gr0, %ny
  %gz0 = udiv i64 %gr0, %ny
  br label %group
group:
  %g = phi i64 [ %g0, %begin ], [ %g1, %ready ]
  %gx = phi i64 [ %gx0, %begin ], [ %gx2, %ready ]
  %gy = phi i64 [ %gy0, %begin ], [ %gy2, %ready ]
  %gz = phi i64 [ %gz0, %begin ], [ %gz2, %ready ]
  {_HALT}
  br i1 %halt, label %done, label %place
place:
  %ex = icmp eq i64 %gx, %lx
  %ey = icmp eq i64 %gy, %ly
  %ez = icmp eq i64 %gz, %lz
  %vx = select i1 %ex, i64 %px, i64 0
  %vy = select i1 %ey, i64 %py, i64 0
  %vz = select i1 %ez, i64 %pz, i64 0
  %v1 = or i64 %vx, %vy
  %v = or i64 %v1, %vz
  %variant = getelementptr [{cx.VARIANT_SIZE} x i8], ptr %variants, i64 %v
  br i1 %noslm, label %ready, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr align 64 %slm, i8 0, i64 %slm_size, i1 false)
  br label %ready
ready:
  store i64 %gx, ptr %worker_x, align 8
  store i64 %gy, ptr %worker_y, align 8
  store i64 %gz, ptr %worker_z, align 8
  %inrow = sub i64 %row, %gx
  %inchunk = sub i64 %gend, %g
  %alike = call i64 @llvm.umin.i64(i64 %inrow, i64 %inchunk)
  %alike1 = call i64 @llvm.umax.i64(i64 %alike, i64 1)
  %several = select i1 %noslm, i64 %alike1, i64 1
  call void @group(ptr %ctx, ptr %worker, ptr %variant, i64 %gx, i64 {several})
  %g1 = add i64 %g, {several}
  %gx1 = add i64 %gx, {several}
  %wrapx = icmp eq i64 %gx1, %nx
  %gx2 = select i1 %wrapx, i64 0, i64 %gx1
  %carryx = zext i1 %wrapx to i64
  %gy1 = add i64 %gy, %carryx
  %wrapy = icmp eq i64 %gy1, %ny
  %gy2 = select i1 %wrapy, i64 0, i64 %gy1
  %carryy = zext i1 %wrapy to i64
  %gz2 = add i64 %gz, %carryy
  %over = icmp uge i64 %g1, %gend
  br i1 %over, label %fetch, label %group
done:
  ret void
}}"""


def _fault_recorder() -> str:
    """``record_fault``: writes what went wrong, and who did it, into the context; the first fault stays."""
    group = "\n  ".join(
        _field(name, "%worker", cx.WORKER_GROUP + 8 * axis) for axis, name in enumerate(cx.FAULT_FIELDS[-3:])
    )
    stores = "\n".join(
        f"  %p{n} = getelementptr i8, ptr %ctx, i64 {cx.FAULT_INFO + 8 * n}\n  store i64 %{name}, ptr %p{n}, align 8"
        for n, name in enumerate(cx.FAULT_FIELDS)
    )
    return f"""
define void @record_fault(ptr %ctx, ptr %worker, {", ".join(f"i64 %{n}" for n in _RECORDED)}) #1 {{
  %f = getelementptr i8, ptr %ctx, i64 {cx.FAULT}
  %earlier = atomicrmw xchg ptr %f, i64 1 monotonic
  %mine = icmp eq i64 %earlier, 0
  br i1 %mine, label %record, label %end
record:
  {group}
{stores}
  br label %end
end:
  ret void
}}"""


def one_by_one(ordered: bool) -> tuple[str, str, str]:
    """What stands around a kernel without barriers: groups, and the threads of each, one after the other. It ends what there is once for a launch, then
    for a group, then for a thread, which goes on to %next."""
    order, thread = _thread_number(ordered)
    launch = f"""  {_field("threads", "%variant", cx.VARIANT_THREADS)}
  %worker_x = getelementptr i8, ptr %worker, i64 {cx.WORKER_GROUP}
  %end = add i64 %first, %groups
  br label %group
group:
  %group_x = phi i64 [ %first, %entry ], [ %group_x1, %behind ]
  store i64 %group_x, ptr %worker_x, align 8"""
    group = f"""  br label %begin
begin:
  %t = phi i64 [ 0, %group ], [ %t1, %next ]
  {order}
  %thread = or i64 {thread}, 0"""
    return launch, group, f"""next:
  %t1 = add i64 %t, 1
  %more = icmp ult i64 %t1, %threads
  br i1 %more, label %begin, label %behind
behind:
  %group_x1 = add i64 %group_x, 1
  {_HALT}
  %last = icmp eq i64 %group_x1, %end
  %leave = or i1 %last, %halt
  br i1 %leave, label %done, label %group
done:
  ret void"""  # fmt: skip


def _phases(ordered: bool) -> str:
    """``group`` of a kernel with barriers, a coroutine: begins all threads, then resumes them in turn until all have ended."""
    order, thread = _thread_number(ordered)

    def record(kind: int) -> str:
        return (
            f"call void @record_fault(ptr %ctx, ptr %worker, i64 {kind}, {', '.join(['i64 0'] * (len(_RECORDED) - 1))})"
        )

    return f"""
define void @group({GROUP_ARGUMENTS}) #0 {{
entry:
  {_field("arena", "%worker", cx.WORKER_ARENA, "ptr")}
  {_field("arena_size", "%worker", cx.WORKER_ARENA_SIZE)}
  {_field("handles", "%worker", cx.WORKER_HANDLES, "ptr")}
  {_field("threads", "%variant", cx.VARIANT_THREADS)}
  br label %thread
thread:
  %t = phi i64 [ 0, %entry ], [ %t1, %after ]
  %used = phi i64 [ 0, %entry ], [ %used1, %after ]
  {order}
  %t1 = add i64 %t, 1
  %frame = getelementptr i8, ptr %arena, i64 %used
  %handle = call ptr @kernel(ptr %ctx, ptr %worker, ptr %variant, i64 {thread}, i64 %first, ptr %frame)
  %slot = getelementptr ptr, ptr %handles, i64 %t
  store ptr %handle, ptr %slot, align 8
  {_field("frame_size", "%worker", cx.WORKER_FRAME_SIZE)}
  {_field("frame_align", "%worker", cx.WORKER_FRAME_ALIGN)}
  %frame_more = add i64 %frame_size, 63
  %frame_mask = sub i64 0, %frame_align
  %frame_up = add i64 %frame_more, %frame_align
  %frame_even = and i64 %frame_up, %frame_mask
  %frame_space = and i64 %frame_even, -64
  %used1 = add i64 %used, %frame_space
  %next_end = add i64 %used1, %frame_space
  %full = icmp ugt i64 %next_end, %arena_size
  br i1 %full, label %nospace, label %after
after:
  %more = icmp ult i64 %t1, %threads
  br i1 %more, label %thread, label %phase
phase:
  br label %check
check:
  %c = phi i64 [ 0, %phase ], [ %c1, %check ]
  %ended = phi i64 [ 0, %phase ], [ %ended1, %check ]
  %cs = getelementptr ptr, ptr %handles, i64 %c
  %ch = load ptr, ptr %cs, align 8
  %isdone = call i1 @llvm.coro.done(ptr %ch)
  %isdone64 = zext i1 %isdone to i64
  %ended1 = add i64 %ended, %isdone64
  %c1 = add i64 %c, 1
  %cmore = icmp ult i64 %c1, %threads
  br i1 %cmore, label %check, label %checked
checked:
  {_HALT}
  br i1 %halt, label %done, label %balance
balance:
  %all = icmp eq i64 %ended1, %threads
  br i1 %all, label %done, label %some
some:
  %none = icmp eq i64 %ended1, 0
  br i1 %none, label %resume, label %stuck
resume:
  %r = phi i64 [ 0, %some ], [ %r1, %resume ]
  %rs = getelementptr ptr, ptr %handles, i64 %r
  %rh = load ptr, ptr %rs, align 8
  call void @llvm.coro.resume(ptr %rh)
  %r1 = add i64 %r, 1
  %rmore = icmp ult i64 %r1, %threads
  br i1 %rmore, label %resume, label %phase
stuck:
  {record(cx.BARRIER)}
  br label %done
nospace:
  {record(cx.FRAMES)}
  br label %done
done:
  ret void
}}"""
