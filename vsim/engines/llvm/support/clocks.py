"""Clocks of threads: what compiled code calls where they begin, come to a barrier, leave it and end
(``observers/clocks.py``).
"""

from __future__ import annotations

from functools import cache
from itertools import starmap

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.support.fields import load, store
from vsim.engines.llvm.support.templates import fill
from vsim.engines.llvm.support.values import COUNT_VALUE

_BLOCK = ("ctx", "block", cx.CLOCKS, "ptr")
_Field = tuple[str, str, int, str]


@cache
def helpers() -> str:
    """The module of what compiled code calls."""
    begun = ("block", "begun", cx.CLOCKS_BEGUN, "i64")
    ids = [("worker", axis, cx.WORKER_GROUP + 8 * n, "i64") for n, axis in enumerate("xyz")]
    counts = [("ctx", f"count_{axis}", cx.COUNTS + 8 * n, "i64") for n, axis in enumerate("xy")]
    begin = fill(
        "clocks",
        "begin",
        fields=_fields(_BLOCK, begun, *ids, *counts),
        sets=_sets(
            ("block", cx.CLOCKS_BEGUN, "%begun1"),
            ("clock", cx.CLOCK_TIME, "0"),
            ("clock", cx.CLOCK_SIGNALS, "0"),
            ("clock", cx.CLOCK_WAITS, "0"),
            ("clock", cx.CLOCK_SHOWN, "%shown"),
            ("clock", cx.CLOCK_GROUP, "%group"),
            ("clock", cx.CLOCK_THREAD, "%thread"),
            ("clock", cx.CLOCK_STACK, "0"),
        ),
    )
    texts = (begin, _arrive(), _leave(), _end(), _log(), _ran(), _call(), _return())
    return module(texts, {"count_value": COUNT_VALUE})


def _arrive() -> str:
    fields = _fields(_of_clock("time", cx.CLOCK_TIME), _of_clock("signals", cx.CLOCK_SIGNALS), _of_clock("group"))
    return fill("clocks", "arrive", fields=fields, counts=_sets(("clock", cx.CLOCK_SIGNALS, "%signals1")))


def _leave() -> str:
    of_site = {"threads": cx.WAIT_THREADS, "all_waited": cx.WAIT_WAITED, "longest": cx.WAIT_LONGEST}
    fields = _fields(
        _of_clock("time", cx.CLOCK_TIME),
        _of_clock("waits", cx.CLOCK_WAITS),
        _of_clock("group"),
        _of_clock("shown", cx.CLOCK_SHOWN),
        *(("site", name, offset, "i64") for name, offset in of_site.items()),
    )
    sets = _sets(
        ("clock", cx.CLOCK_TIME, "%time1"),
        ("clock", cx.CLOCK_WAITS, "%waits1"),
        *(("site", offset, f"%{name}1") for name, offset in of_site.items()),
    )
    return fill("clocks", "leave", fields=fields, sets=sets)


def _end() -> str:
    longest = ("block", "longest", cx.CLOCKS_LONGEST, "i64")
    fields = _fields(_BLOCK, longest, _of_clock("time", cx.CLOCK_TIME), _of_clock("shown", cx.CLOCK_SHOWN))
    return fill("clocks", "end", fields=fields, sets=_sets(("block", cx.CLOCKS_LONGEST, "%longest1")))


def _log() -> str:
    list_, used = ("block", "list", cx.CLOCKS_LIST, "ptr"), ("block", "used", cx.CLOCKS_USED, "i64")
    fields = _fields(_BLOCK, list_, used, _of_clock("group"), _of_clock("thread", cx.CLOCK_THREAD))
    columns = ("%group", "%thread", "%number", "%begin", "%end")
    sets = _sets(("block", cx.CLOCKS_USED, "%used1"), *(("record", 8 * n, value) for n, value in enumerate(columns)))
    empties = _fields(("block", "empties", cx.CLOCKS_EMPTY, "ptr"))
    return fill("clocks", "log", fields=fields, sets=sets, empties=empties)


def _ran() -> str:
    fields = _fields(_BLOCK, _of_clock("time", cx.CLOCK_TIME), _of_clock("stack", cx.CLOCK_STACK))
    return fill("clocks", "ran", fields=fields, sets=_sets(("clock", cx.CLOCK_TIME, "%time1")))


def _call() -> str:
    of_clock = {"time": cx.CLOCK_TIME, "stack": cx.CLOCK_STACK, "shown": cx.CLOCK_SHOWN}
    table, mask = ("block", "table", cx.CLOCKS_STACKS, "ptr"), ("block", "mask", cx.CLOCKS_STACKS_MASK, "i64")
    wants = store("block", "wanted.s", cx.CLOCKS_WANTED, "%key")
    return fill(
        "clocks",
        "call",
        fields=_fields(_BLOCK, *(_of_clock(*item) for item in of_clock.items())),
        table=_fields(table, mask),
        wants=f"{wants}\n{_fields(('block', 'makes', cx.CLOCKS_MAKES, 'ptr'))}",
        sets=_sets(("clock", cx.CLOCK_TIME, "%time1"), ("clock", cx.CLOCK_STACK, "%stack.n")),
    )


def _return() -> str:
    of_clock = {"time": cx.CLOCK_TIME, "stack": cx.CLOCK_STACK, "shown": cx.CLOCK_SHOWN}
    callers = ("block", "callers", cx.CLOCKS_CALLERS, "ptr")
    return fill(
        "clocks",
        "return",
        fields=_fields(_BLOCK, callers, *(_of_clock(*item) for item in of_clock.items())),
        sets=_sets(("clock", cx.CLOCK_TIME, "%time1"), ("clock", cx.CLOCK_STACK, "%caller")),
    )


def _of_clock(name: str, offset: int = cx.CLOCK_GROUP) -> _Field:
    return "clock", name, offset, "i64"


def _fields(*fields: _Field) -> str:
    """Loads of fields: the structure's name, the value's, offset and type."""
    return "\n".join(starmap(load, fields))


def _sets(*values: tuple[str, int, str]) -> str:
    """Stores into fields: the structure's name, offset and value."""
    return "\n".join(store(base, f"to{n}.s", offset, value) for n, (base, offset, value) in enumerate(values))
