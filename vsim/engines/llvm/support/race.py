"""The check of races: what compiled code calls, to check an access or to record one (``host/race.py`` says how)."""

from __future__ import annotations

from functools import cache

from vsim.checks.accesses import RECORD
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.templates import fill

_CTTZ = {"cttz": "declare i64 @llvm.cttz.i64(i64, i1)"}
CHECK_ARGUMENTS = ("unit_bits", "kind", "me.w", "waits", "local", "id_step")
LOG_ARGUMENTS = ("unit_bits", "kind", "me.w", "signals", "waits", "local", "site", "lane0", "lost", "items")
EVENT_ARGUMENTS = ("kind", "me.w", "signals", "waits", "site", "named", "opening")


@cache
def helpers(recording: bool) -> str:
    """The module of what compiled code calls: to check an access, or to record one and events."""
    if not recording:
        check = fill("race", "who") + "\n" + fill("race", "check")
        return module([_helper("race_check", CHECK_ARGUMENTS, "", check)], _CTTZ)
    begin = fill("race", "begin_log") + "\n" + fill("race", "who_of_record")
    accessed = {
        "address": "shown", "size": "size", "lane": "lane.k", "kind": "kind.k", "space": "space", "lost": "lost.b",
        "items": "items.k",
    }  # fmt: skip
    ends = fill("race", "ends_of_log", stores=_stores(accessed))
    log = _helper("race_log", LOG_ARGUMENTS, begin, fill("race", "log"), ends)
    events = {"kind": "kind", "lane": "no_lane", "number": "named", "opening": "opening"}
    who = fill("race", "who_of_record") + "\n  %no_lane = add i64 255, 0"
    fields = fill("race", "fields")
    event = fill("race", "event", arguments=_typed(EVENT_ARGUMENTS), fields=fields, who=who, stores=_stores(events))
    ordered = fill("race", "ordered", fields=fields)
    return module([log, event, ordered], _CTTZ)


def _helper(name: str, arguments: tuple[str, ...], begin: str, act: str, ends: str = "") -> str:
    ends = ends or fill("race", "no_ends")
    fields = fill("race", "fields")
    return fill(
        "race", "helper", name=name, arguments=_typed(arguments), fields=fields, begin=begin, act=act, ends=ends
    )


def _typed(arguments: tuple[str, ...]) -> str:
    return ", ".join(f"i64 %{a}" for a in arguments)


def _stores(values: dict[str, str]) -> str:
    """Stores of the columns of a record."""
    values = {"sequence": "sequence1", "signals": "signals", "waits": "waits", "steps": "step", **values}
    values |= {n: n for n in ("function", "instruction", "group", "thread")}
    assert RECORD.fields is not None
    texts = []
    for name, value in values.items():
        ty, offset = f"i{8 * RECORD.fields[name][0].itemsize}", RECORD.fields[name][1]
        narrow = f"or i64 %{value}, 0" if ty == "i64" else f"trunc i64 %{value} to {ty}"
        texts.append(fill("race", "store", name=f"r.{name}", narrow=narrow, ty=ty, offset=offset))
    return "\n".join(texts)
