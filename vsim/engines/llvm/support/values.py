"""How often values were seen under keys: what compiled code calls (``observers/values.py`` has the table)."""

from __future__ import annotations

from functools import cache

from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import fill

COUNT_VALUE = "declare void @count_value(ptr, i64, i64)"


@cache
def helpers() -> str:
    """The module of ``count_value``."""
    return module([fill("values", "count")], {})
