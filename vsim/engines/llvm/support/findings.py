"""What compiled code calls when a check finds something: it fills a block of records."""

from __future__ import annotations

from functools import cache

from vsim.checks.kinds import KINDS, number_of
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import fill

ARGUMENTS = ("code", "site", "thread", "lane", "epoch", "address", "other", "times")
"""What ``record_finding`` is told, as i64; the work-group the worker knows."""
RECORD_FINDING = f"declare void @record_finding(ptr, ptr, {', '.join(['i64'] * len(ARGUMENTS))})"
MEET = "declare void @meet(ptr, ptr, i64, i64)"
"""What tells which instruction a thread comes to the group's barrier with: its number, and the thread's."""
KEYED = 1 << 32
"""Added to a code whose findings differ by another number."""


def keyed_number_of(code: str) -> int:
    """The number of a code, which says, too, whether findings with another second number are others."""
    return number_of(code) + (KEYED if KINDS[code].other else 0)


@cache
def recorder() -> str:
    """The module of ``record_finding``."""
    arguments = ", ".join(f"i64 %{name}" for name in ARGUMENTS)
    record = fill("findings", "record_finding", arguments=arguments)
    return module([record, fill("findings", "meet", code=keyed_number_of("K022"))], {})
