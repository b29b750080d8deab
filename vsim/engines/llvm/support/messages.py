"""Counts of messages to memory: what compiled code calls behind each access of lanes (``observers/messages.py``)."""

from __future__ import annotations

from functools import cache

from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import fill
from vsim.engines.llvm.support.values import COUNT_VALUE
from vsim.observe.messages import BANKS

_DECLARATIONS = {
    "cttz": "declare i64 @llvm.cttz.i64(i64, i1)",
    "count_value": COUNT_VALUE,
    "ctpop": "declare i64 @llvm.ctpop.i64(i64)",
    "ctlz": "declare i64 @llvm.ctlz.i64(i64, i1)",
}
ROW = ("ptr", "ptr", "ptr", "i64", "i64", "i64", "i64")
"""Types of the arguments of ``message_row``: the block, the instruction's counts, the memory's (null for addresses of
the flat space), the first lane's address, the distance of lanes in bytes, active lanes, and how they access memory.
"""
LANES = ("ptr", "ptr", "ptr", "ptr", "i64", "i64")
"""Those of ``message_lanes``: as before, but the addresses of all lanes."""


@cache
def helpers() -> str:
    """The module of what compiled code calls."""
    places = [f"  %bank{n} = getelementptr i64, ptr %banks, i64 {n}" for n in range(BANKS)]
    clear = [f"  store i64 0, ptr %bank{n}, align 8" for n in range(BANKS)]
    texts = (
        fill("messages", "bytes"),
        fill("messages", "row", touch=fill("messages", "touch", line="line.n", last="last", memory="own", next="next")),
        fill("messages", "lanes"),
        fill("messages", "sort"),
        fill(
            "messages",
            "lines",
            touch=fill("messages", "touch", line="line.own", last="last.t", memory="memory", next="after"),
        ),
        fill("messages", "banks", clear="\n".join([*places, *clear])),
        fill("messages", "end"),
    )
    return module(texts, _DECLARATIONS)
