"""Prefetch for later work-groups: a thread also prefetches the places that the same thread of a later group accesses.

Groups are tiles of rows, with a cache line or two in each row. A group thus begins streams and leaves them before a
hardware prefetcher follows, and with cold caches a launch waits for most tiles. The address in the later group is
computed anew from that group's number: along x, and at the end of a row of groups from the beginning of the next row;
along y where lanes and groups go along y.

Accesses in loops are not prefetched: their streams are longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.passes.ahead import Ahead
from vsim.engines.llvm.passes.lines import Line
from vsim.engines.llvm.passes.loops import InnermostLoops

THREADS_AHEAD = 16
"""Threads that run, at least, until the later group begins."""
MOST_LINES = 3000
"""Of a function: longer ones spend their time on other things than accesses."""
MOST_ACCESSES = 64
"""Of a thread: more accesses share their cache lines."""
MOST_OTHERS = 8
"""Accesses without prefetch, such as clamped ones, for each access with one. Kernels with more of them run in the order
of rows instead (``plan.py``).
"""
_X = "%group_x"


def prefetch_groups(code: InnermostLoops) -> None:
    """Let the threads of a kernel prefetch the accesses of later groups."""
    if "group" not in code.blocks or code.line_count > MOST_LINES:
        return
    along = Ahead(code, {_X: _X})
    inside = set[str]().union(*code.loops.values())
    accesses: dict[str, Line] = {}
    others = 0
    for block in [block for name, block in code.blocks.items() if name in code.hot - inside]:
        for line in block.body:
            if line.place and along.changes(line.place):
                accesses.setdefault(line.place, line)
            elif line.place and code.home.get(line.place, "entry") not in ("entry", "group"):
                others += 1
    apart = along.apart(accesses.values())
    if others // MOST_OTHERS < len(apart) <= MOST_ACCESSES:
        _prefetch(code, set(apart))


def _prefetch(code: InnermostLoops, accesses: Set[Line]) -> None:
    outside = [name for name in code.definitions if code.home[name] in ("entry", "group")]
    along_y = code.definitions["%worker_x"].operation.endswith(f" {cx.WORKER_GROUP + 8}")
    rows = [name for name in outside if _loads(code, code.definitions[name], cx.WORKER_GROUP + 8 * (not along_y))]
    ahead = Ahead(code, {_X: f"{_X}.ahead"} | dict.fromkeys(rows, "%group_y.ahead"))
    names: dict[str, str] = {}
    shared: list[Line] = []
    for name in outside:
        if ahead.changes(name):
            shared += ahead.copies(name, names, "ahead")

    def behind(line: Line) -> Iterator[Line]:
        if line in accesses:
            yield from ahead.prefetch(line, dict(names), f"{line.place[1:]}.ahead")

    for block in code.blocks.values():
        block.body = [new for line in block.body for new in (line, *behind(line))]
    entry = code.blocks["entry"].body
    entry[:] = [_WHOLE_GROUPS if line.result == "%row_threads" else line for line in entry]
    entry += map(Line, _DISTANCE.format(counts=cx.COUNTS + 8 * along_y).split("\n"))
    later = _LATER.format(row=rows[0] if rows else "0")
    code.blocks["group"].body += [*map(Line, later.split("\n")), *shared]


def _loads(code: InnermostLoops, line: Line, field: int) -> bool:
    """Whether a line loads a field of the worker."""
    place = code.definitions.get(line.place) if line.operation.startswith("load i64, ptr %") else None
    return place is not None and place.operation == f"getelementptr i8, ptr %worker, i64 {field}"


_WHOLE_GROUPS = Line("  %row_threads = or i64 %threads, 0")
"""All threads of a group run together: in the order of rows (``plan.py``) prefetches cost more than they gain."""
_DISTANCE = f"""\
  %later.q = udiv i64 {THREADS_AHEAD}, %threads
  %later = add i64 %later.q, 1
  %groups_x.p = getelementptr i8, ptr %ctx, i64 {{counts}}
  %groups_x = load i64, ptr %groups_x.p, align 8"""
_LATER = f"""\
  %x.later = add i64 {_X}, %later
  %is_behind = icmp uge i64 %x.later, %groups_x
  %x.behind = sub i64 %x.later, %groups_x
  {_X}.ahead = select i1 %is_behind, i64 %x.behind, i64 %x.later
  %carry = zext i1 %is_behind to i64
  %group_y.ahead = add i64 {{row}}, %carry"""
