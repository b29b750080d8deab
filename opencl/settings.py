"""How programs run: what the command ``visakit exec`` says by way of the environment."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from visa.diagnostics import LaunchError

if TYPE_CHECKING:
    from vsim.schedule import Schedule

from visa.usage import whole_number

PLATFORM_SETTING = "VISAKIT_OPENCL_PLATFORM"
"""Environment variable: platforms that are devices, with commas between them."""
ENGINE_SETTING = "VISAKIT_OPENCL_ENGINE"
THREADS_SETTING = "VISAKIT_OPENCL_THREADS"
SCHEDULE_SETTING = "VISAKIT_OPENCL_SCHEDULE"
TRACE_SETTING = "VISAKIT_OPENCL_TRACE"


@cache
def engine() -> str:
    """What executes kernels: native code, unless the reference engine is wanted.

    Programs may write memory while a kernel runs, so that it never begins anew (as ``auto`` would have it).
    """
    return "numpy" if os.environ.get(ENGINE_SETTING) == "numpy" else "llvm"


@cache
def schedule() -> Schedule | None:
    """The order in which groups and threads run; None for one after the other, up to barriers."""
    from vsim.schedule import parse_schedule

    wanted = os.environ.get(SCHEDULE_SETTING, "")
    try:
        return parse_schedule(wanted) if wanted else None
    except LaunchError:
        return None


@cache
def thread_count() -> int | None:
    """Worker threads of a kernel; None for one for each CPU."""
    wanted = whole_number(os.environ.get(THREADS_SETTING, ""))
    return None if wanted is None else max(1, wanted)
