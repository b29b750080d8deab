"""Clocks of threads: what compiled code calls where they begin, come to a barrier, leave it and end
(``observers/clocks.py``).
"""

from __future__ import annotations

from functools import cache

from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import fill
from vsim.engines.llvm.support.values import COUNT_VALUE


@cache
def helpers() -> str:
    """The module of what compiled code calls."""
    functions = ("begin", "arrive", "leave", "end", "log", "ran", "call", "return")
    return module([fill("clocks", name) for name in functions], {"count_value": COUNT_VALUE})
