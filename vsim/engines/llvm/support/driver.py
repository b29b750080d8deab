"""Functions around a kernel that do not depend on it: compiled once for a machine, then kept in memory and on disk.

The driver (``run``) takes work-groups from a common counter and calls ``group`` for consecutive groups of a
row. Without barriers ``group`` is compiled around the kernel (:func:`loops`); with barriers it is here, gets one group
at a time, and resumes its threads, which are coroutines, in turn.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.intrinsics import coroutine_end
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import accesses, fill

RECORDED = cx.FAULT_FIELDS[:-3]
"""What ``record_fault`` is told; the rest of a fault's fields, the work-group, the worker knows."""
RECORD_FAULT = f"declare void @record_fault(ptr, ptr, {', '.join(['i64'] * len(RECORDED))})"
COMMON = "ptr noalias %ctx, ptr %worker, ptr %variant"
COMMON_TYPES = "ptr, ptr, ptr"
GROUP_ARGUMENTS = f"{COMMON}, i64 %first, i64 %groups"
"""The last two: the first group's number along x (along y, where lanes go along y), and how many groups in a row."""


@cache
def driver(
    barriers: bool, ordered: bool, checked: bool, undefined: bool, threads_per_coroutine: int, transposed: bool
) -> str:
    """The module of ``run(context, worker)``, ``record_fault`` and, for kernels with barriers, ``group``.

    Args:
        ordered: a schedule says in which order groups and threads run.
        checked: checks watch the launch, and need the number of barriers that its threads have passed.
        undefined: the check for undefined values is among them.
        threads_per_coroutine: see ``passes/coarsen.py``.
        transposed: see :func:`loops`.
    """
    parts = [_run(ordered, not (ordered or barriers), undefined, transposed), fault_recorder()]
    declarations = {
        "memset": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        "least": "declare i64 @llvm.umin.i64(i64, i64)",
        "most": "declare i64 @llvm.umax.i64(i64, i64)",
    }
    if barriers:
        parts.append(_phases(ordered, checked, threads_per_coroutine))
        declarations["kernel"] = f"declare ptr @kernel({COMMON_TYPES}, i64, i64, ptr)"
        declarations["coroutines"] = "declare void @llvm.coro.resume(ptr)\ndeclare i1 @llvm.coro.done(ptr)"
    else:
        declarations["group"] = f"declare void @group({COMMON_TYPES}, i64, i64)"
    return module(parts, declarations)


@cache
def entry_with_zeros() -> str:
    """The module of what calls ``run`` where the processor is to take denormals of operands as zeros."""
    declarations = {
        "run": "declare void @run(ptr, ptr)",
        "store": "declare void @llvm.x86.sse.stmxcsr(ptr)",
        "load": "declare void @llvm.x86.sse.ldmxcsr(ptr)",
    }
    return module([fill("driver", "entry_with_zeros", name=cx.ENTRY_WITH_ZEROS)], declarations)


@cache
def guard() -> str:
    """The module of what guarded code calls (``passes/sanitize.py``)."""
    return module([fill("sanitizer", "guard")], {"cttz": "declare i64 @llvm.cttz.i64(i64, i1)"})


def _along_y(transposed: bool) -> dict[str, int]:
    """Values of fields of x and y, which change places where groups follow each other along y."""
    fields = {"COUNTS": cx.COUNTS, "PARTIAL": cx.PARTIAL, "WORKER_GROUP": cx.WORKER_GROUP} if transposed else {}
    return {name: field + 8 for name, field in fields.items()} | {f"{name}_Y": field for name, field in fields.items()}


def _run(ordered: bool, rows: bool, undefined: bool, transposed: bool) -> str:
    return fill(
        "driver",
        "run",
        order=fill("driver", "group_order") if ordered else "",
        first="%gn" if ordered else "%g0",
        several="%several" if rows else "1",
        undefined=undefined_slm(undefined),
        halt=fill("driver", "halt"),
        **_along_y(transposed),
    )


def undefined_slm(watched: bool) -> str:
    """What notes that nothing in local memory is defined, where the check of undefined values watches."""
    return fill("driver", "undefined_slm") if watched else ""


def fault_recorder() -> str:
    """The text of ``record_fault``."""
    group = [f"  %{name} = get i64, %worker, {cx.WORKER_GROUP + 8 * n}" for n, name in enumerate(cx.FAULT_FIELDS[-3:])]
    stores = [f"  set %ctx, {cx.FAULT_INFO + 8 * n}, %{name}" for n, name in enumerate(cx.FAULT_FIELDS)]
    arguments = ", ".join(f"i64 %{n}" for n in RECORDED)
    texts = {"group": accesses("\n".join(group)), "stores": accesses("\n".join(stores))}
    return fill("driver", "record_fault", arguments=arguments, **texts)


class Loops(NamedTuple):
    """The code around a kernel without barriers, whose threads run one after the other.

    ``groups`` ends the code that runs once for a launch, ``threads`` the code that runs once for a group; a thread's
    code ends with a branch to ``%next``, the first label of ``ends``.
    """

    groups: str
    threads: str
    ends: str


def loops(ordered: bool, transposed: bool) -> Loops:
    """The loops over groups and threads.

    Args:
        ordered: a schedule says in which order threads run.
        transposed: groups follow each other along y.
    """
    order, thread = thread_number(ordered)
    return Loops(
        fill("driver", "loop_over_groups", **_along_y(transposed)),
        fill("driver", "loop_over_threads", order=order, thread=thread),
        fill("driver", "ends_of_loops", halt=fill("driver", "halt")),
    )


def thread_number(ordered: bool) -> tuple[str, str]:
    """What gives the number of a group's thread at place %t, and its name."""
    return (fill("driver", "thread_order"), "%tn") if ordered else ("", "%t")


def _phases(ordered: bool, checked: bool, threads_per_coroutine: int) -> str:
    order, thread = thread_number(ordered)
    zeros = ["i64 0"] * (len(RECORDED) - 1)
    return fill(
        "driver",
        "phases",
        arguments=GROUP_ARGUMENTS,
        order=order,
        thread=thread,
        no_epoch=fill("findings", "no_epoch", no_meeting=fill("findings", "no_meeting")) if checked else "",
        next_epoch=fill("findings", "next_epoch") if checked else "",
        halt=fill("driver", "halt"),
        zeros=", ".join(zeros),
        stuck_order=fill("driver", "stuck_order") if ordered else "",
        stuck_thread="%un" if ordered else "%first_stuck",
        threads_per_coroutine=threads_per_coroutine,
        stuck_zeros=", ".join(stuck_record(len(zeros) - 3, "%ended1" if checked else "0")),
    )


def stuck_record(fields: int, ended: str) -> list[str]:
    """Fields of the record of threads that wait for ever, from the lane on; how many have ended goes to the address."""
    values = ["i64 0"] * fields
    values[RECORDED.index("address") - RECORDED.index("lane")] = f"i64 {ended}"
    return values


def coroutine_declarations() -> str:
    """The intrinsics of a kernel that is a coroutine."""
    return fill("driver", "coroutine_intrinsics", end=coroutine_end()[0])


def coroutine_begin() -> str:
    """The beginning of a kernel that is a coroutine, in front of its stack slots."""
    return fill("driver", "coroutine_begin")


def coroutine_first_suspend() -> str:
    """Behind its stack slots: the coroutine waits until the driver resumes it."""
    return fill("driver", "coroutine_first_suspend")


def coroutine_exit() -> str:
    """Its end, behind the label ``exit``."""
    return fill("driver", "coroutine_end", end=coroutine_end()[1])
