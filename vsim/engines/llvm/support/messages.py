"""Counts of messages to memory: what compiled code calls behind each access of lanes (``observers/messages.py``)."""

from __future__ import annotations

from functools import cache

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.fields import add, load
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
    texts = (_bytes(), _row(), _lanes(), fill("messages", "sort"), _lines(), _banks(), _end())
    return module(texts, _DECLARATIONS)


def _touch(line: str, last: str, memory: str, after: str) -> str:
    return fill("messages", "touch", p="t", line=line, last=last, time="time.n", memory=memory, next=after)


def _joined(*texts: str) -> str:
    return "\n".join(texts)


def _bytes() -> str:
    adds = _joined(
        add("memory", "read", cx.MEMORY_READ, "%reads"),
        add("memory", "written", cx.MEMORY_WRITTEN, "%writes"),
        add("memory", "acts", cx.MEMORY_ATOMICS, "%acts"),
    )
    return fill("messages", "bytes", adds=adds)


def _row() -> str:
    return fill(
        "messages",
        "row",
        buffer=f"  %buffer = getelementptr i8, ptr %block, i64 {cx.MESSAGES_ADDRESSES}",
        slots=load("block", "slots", cx.MESSAGES_SLOTS, "ptr"),
        seen=load("block", "seen", cx.MESSAGES_SEEN),
        messages=add("site", "messages", cx.SITE_MESSAGES, "1"),
        kinds=load("own", "what", cx.MEMORY_KIND),
        collected=_joined(
            load("block", "intervals", cx.MESSAGES_INTERVALS, "ptr"),
            load("block", "collected", cx.MESSAGES_COLLECTED),
        ),
        turns_taken=_joined(
            add("site", "passes", cx.SITE_PASSES, "%turns"), add("site", "fewest", cx.SITE_FEWEST, "%turns")
        ),
        adds=_joined(
            add("site", "site_lines", cx.SITE_LINES, "%lines"),
            add("own", "own_lines", cx.MEMORY_LINES, "%lines"),
            add("site", "used", cx.SITE_USED, "%total"),
            add("site", "unaligned", cx.SITE_UNALIGNED, "%is_unaligned"),
        ),
        time=load("block", "time", cx.MESSAGES_TIME),
        last=load("own", "last", cx.MEMORY_LAST, "ptr"),
        touch=_touch("line.n", "last", "own", "next"),
    )


def _lanes() -> str:
    return fill(
        "messages",
        "lanes",
        fields=_joined(
            load("block", "slots", cx.MESSAGES_SLOTS, "ptr"),
            load("block", "intervals", cx.MESSAGES_INTERVALS, "ptr"),
            load("block", "collected", cx.MESSAGES_COLLECTED),
            load("block", "seen", cx.MESSAGES_SEEN),
            load("block", "who", cx.MESSAGES_WHO),
        ),
        adds=_joined(add("site", "read", cx.SITE_READ, "%reads"), add("site", "written", cx.SITE_WRITTEN, "%writes")),
        messages=add("site", "messages", cx.SITE_MESSAGES, "1"),
        kinds=load("own", "what", cx.MEMORY_KIND),
        atomics_done=add("site", "acts", cx.SITE_ATOMICS, "%n1"),
        serial=add("site", "serial", cx.SITE_SERIAL, "%a.most"),
    )


def _lines() -> str:
    return fill(
        "messages",
        "lines",
        fields=_joined(load("block", "memories", cx.MESSAGES_MEMORIES, "ptr"), load("block", "time", cx.MESSAGES_TIME)),
        lines_of_memory=add("memory", "own_lines", cx.MEMORY_LINES, "%fresh_lines"),
        touch=_touch("line.own", "last.t", "memory", "after"),
        adds=_joined(
            add("site", "site_lines", cx.SITE_LINES, "%lines"),
            add("site", "site_used", cx.SITE_USED, "%used"),
            add("site", "unaligned", cx.SITE_UNALIGNED, "%is_unaligned"),
        ),
    )


def _banks() -> str:
    places = [f"  %bank{n} = getelementptr i64, ptr %banks, i64 {n}" for n in range(BANKS)]
    clear = [f"  store i64 0, ptr %bank{n}, align 8" for n in range(BANKS)]
    turns = _joined(add("site", "passes", cx.SITE_PASSES, "%most"), add("site", "few", cx.SITE_FEWEST, "%fewest"))
    return fill("messages", "banks", clear=_joined(*places, *clear), turns_taken=turns)


def _end() -> str:
    return fill(
        "messages",
        "end",
        fields=_joined(
            load("block", "intervals", cx.MESSAGES_INTERVALS, "ptr"),
            load("block", "collected", cx.MESSAGES_COLLECTED),
            load("block", "seen", cx.MESSAGES_SEEN),
        ),
    )
