"""The check of accesses outside arguments: what compiled code calls."""

from __future__ import annotations

from functools import cache

from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.findings import RECORD_FINDING
from vsim.engines.llvm.support.templates import fill

ARGUMENTS = ("active", "size", "code", "site", "thread", "lane0", "epoch")
"""What ``within_arguments`` is told behind the addresses of the lanes, as i64."""


@cache
def helper() -> str:
    """The module of ``within_arguments``."""
    text = fill("arguments", "outside", arguments=", ".join(f"i64 %{name}" for name in ARGUMENTS))
    declarations = {"cttz": "declare i64 @llvm.cttz.i64(i64, i1)", "record_finding": RECORD_FINDING}
    return module([text], declarations)
