"""The driver of kernels whose threads take turns: they wait at named or split barriers, in functions, for their turn.

A kernel that waits at the group's barrier, and nowhere else, does without (``driver.py``, "phases"). Here every
function in which a thread can wait is a coroutine with a frame in the worker's arena (``cooperative.ll``); no call
deepens the stack.
"""

from __future__ import annotations

from functools import cache

from vsim.engines.llvm.ir.intrinsics import coroutine_end
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.driver import (
    COMMON_TYPES,
    RECORDED,
    fault_recorder,
    stuck_record,
    thread_number,
    undefined_slm,
)
from vsim.engines.llvm.support.templates import fill

_DECLARATIONS = {
    "memset": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "least": "declare i64 @llvm.umin.i64(i64, i64)",
    "most": "declare i64 @llvm.umax.i64(i64, i64)",
    "zeros": "declare i64 @llvm.ctlz.i64(i64, i1)",
    "resume": "declare void @llvm.coro.resume(ptr)",
    "kernel": f"declare ptr @kernel({COMMON_TYPES}, i64, i64)",
}
MOVED = 1 << 32
"""Added to the number of threads that ran, for a thread that did more than yield."""
KERNEL_DECLARATIONS = {
    "frames": "declare ptr @frame_allocate(ptr, i64)",
    "arrive": "declare void @arrive(ptr, ptr, i64, i64)",
}
"""What kernels call."""


@cache
def driver(ordered: bool, at_once: bool = False, checked: bool = False, undefined: bool = False) -> str:
    """The module of ``run(context, worker)``, ``record_fault``, named barriers and memory for frames.

    Args:
        ordered: a schedule says in which order groups and threads run.
        at_once: as many groups begin at once as there is room for, not only where others wait for them.
        checked: checks watch the launch.
        undefined: the check of undefined values watches the launch.
    """
    order, thread = thread_number(ordered)
    begin_group = fill(
        "cooperative",
        "begin_group",
        order=fill("driver", "group_order") if ordered else "",
        first="%gn" if ordered else "%g0",
        thread_order=order,
        thread=thread,
        undefined=undefined_slm(undefined),
        zeros=_zeros(len(RECORDED) - 2),
        no_meeting=fill("findings", "no_meeting") if checked else "",
    )
    parts = [
        fill("cooperative", "run", one_by_one=str(not at_once).lower(), MOVED=MOVED),
        fill("cooperative", "halts", halt=fill("driver", "halt")),
        begin_group,
        fill("cooperative", "sweep", RAN_AND_MOVED=MOVED + 1),
        fill(
            "cooperative",
            "record_stuck",
            ended=fill("findings", "ended_threads") if checked else "",
            zeros=", ".join(stuck_record(len(RECORDED) - 4, "%ended" if checked else "0")),
        ),
        fill("cooperative", "arrive"),
        fill("cooperative", "frames"),
        fault_recorder(),
    ]
    return module(parts, _DECLARATIONS)


def _zeros(count: int) -> str:
    return ", ".join(["i64 0"] * count)


def function_begin() -> str:
    """The beginning of a function in which a thread can wait, behind its stack slots."""
    return fill("cooperative", "function_begin")


def function_first_suspend() -> str:
    """It waits until the driver runs it."""
    return fill("cooperative", "function_first_suspend")


def function_end() -> str:
    """Its end, behind the label ``exit``."""
    return fill("cooperative", "function_end") + "\n" + fill("driver", "coroutine_end", end=coroutine_end()[1])
