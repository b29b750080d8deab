"""Prefetch for later work-groups: a thread also prefetches the places that the same thread of a later group accesses.

Groups are tiles of rows, with a cache line or two in each row. A group thus begins streams and leaves them before a
hardware prefetcher follows, and with cold caches a launch waits for most tiles. The later group is the next but some
along x, and at the end of a row of groups one of the next row; along y where lanes and groups go along y.

Accesses in loops are not prefetched: their streams are longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.passes.ahead import Ahead, prefetches
from vsim.engines.llvm.passes.lines import Line
from vsim.engines.llvm.passes.loops import InnermostLoops

THREADS_AHEAD = 16
"""Threads that run, at least, until the later group begins."""
MOST_LINES = 3000
"""Of a function: longer ones spend their time on other things than accesses."""
MOST_ACCESSES = 64
"""Of a thread: more accesses share their cache lines."""
_X = "%group_x"


def prefetch_groups(code: InnermostLoops) -> None:
    """Let the threads of a kernel prefetch the accesses of later groups."""
    if "group" not in code.blocks or code.line_count > MOST_LINES:
        return
    along = Ahead(code, {_X: _X})
    inside = set[str]().union(*code.loops.values())
    accesses: dict[str, Line] = {}
    for block in [block for name, block in code.blocks.items() if name in code.hot - inside]:
        for line in block.body:
            if line.place and along.changes(line.place):
                accesses.setdefault(line.place, line)
    apart = along.apart(accesses.values())
    if len(apart) <= MOST_ACCESSES:
        _prefetch(code, apart)


def _prefetch(code: InnermostLoops, accesses: list[Line]) -> None:
    outside = [name for name in code.definitions if code.home[name] in ("entry", "group")]
    along_y = code.definitions["%worker_x"].operation.endswith(f" {cx.WORKER_GROUP + 8}")
    rows = [name for name in outside if _loads(code, code.definitions[name], cx.WORKER_GROUP + 8 * (not along_y))]
    ahead = Ahead(code, {_X: f"{_X}.ahead"} | dict.fromkeys(rows, "%group_y.ahead"))
    names: dict[str, str] = {}
    shared: list[Line] = []
    for name in outside:
        if ahead.changes(name):
            shared += ahead.copies(name, names, "ahead")
    steps = Steps(ahead, names)
    prefetched = {line: list(steps.prefetch(line)) for line in accesses}
    for block in code.blocks.values():
        block.body = [
            new for line in block.body for new in (line, *steps.behind.get(line.result, ()), *prefetched.get(line, ()))
        ]
    entry = code.blocks["entry"].body
    entry += map(Line, _DISTANCE.format(counts=cx.COUNTS + 8 * along_y).split("\n"))
    later = _LATER.format(row=rows[0] if rows else "0")
    code.blocks["group"].body += [*map(Line, later.split("\n")), *shared, *steps.of_groups]


class Steps:
    """Distances of accesses from a group to the later one. A place is a sum of values times numbers, and its distance
    the sum of their steps; each step is computed once.

    Args:
        names: the copies of values that belong to the group.
    """

    def __init__(self, ahead: Ahead, names: Mapping[str, str]) -> None:
        self.ahead, self.names = ahead, names
        self.of_groups: list[Line] = []
        """What groups compute."""
        self.behind: dict[str, list[Line]] = {}
        """What threads compute behind the definition of a value."""
        self.steps: dict[str, str] = {}
        self.distances: dict[frozenset[tuple[str, int]], str] = {}

    def prefetch(self, line: Line) -> Iterator[Line]:
        """The prefetches of a load or store."""
        terms = {x: factor for x, factor in self.ahead.sum(line.place)[0].items() if self.ahead.changes(x)}
        own = [x for x in terms if not self._belongs_to_group(x)]
        if len(own) > 1 or not all(self._bits(x) for x in terms):
            yield from self.ahead.prefetch(line, dict(self.names), f"{line.place[1:]}.ahead")
            return
        key = frozenset(terms.items())
        if key not in self.distances:
            self.distances[key] = self._distance(terms, own[0] if own else "")
        place = f"{line.place}.later"
        yield Line(f"  {place} = getelementptr i8, ptr {line.place}, i64 {self.distances[key]}")
        yield from prefetches(line, place)

    def _distance(self, terms: Mapping[str, int], own: str) -> str:
        """A sum of steps times factors; ``own``: the value of them that belongs to a thread."""
        steps = {self._step(x): factor for x, factor in terms.items()}
        lines, total = self.behind.setdefault(own, []) if own else self.of_groups, "0"
        for step, factor in steps.items():
            product, result = (f"%step{len(self.distances)}{step[1:]}.{word}" for word in ("product", "sum"))
            lines.append(Line(f"  {product} = mul i64 {step}, {factor}"))
            lines.append(Line(f"  {result} = add i64 {total}, {product}"))
            total = result
        return total

    def _step(self, name: str) -> str:
        """How far a value moves."""
        if name not in self.steps:
            lines = self.of_groups if self._belongs_to_group(name) else self.behind.setdefault(name, [])
            copies, kind = dict(self.names), f"i{self._bits(name)}"
            lines += self.ahead.copies(name, copies, f"{name[1:]}.ahead")
            step = f"{name}.step"
            lines.append(Line(f"  {step} = sub {kind} {copies[name]}, {name}"))
            if kind != "i64":
                lines.append(Line(f"  {step}.wide = sext {kind} {step} to i64"))
                step += ".wide"
            self.steps[name] = step
        return self.steps[name]

    def _belongs_to_group(self, name: str) -> bool:
        return self.ahead.code.home[name] in ("entry", "group")

    def _bits(self, name: str) -> int:
        """Bits of an integer; 0 of other values."""
        kind = self.ahead.code.type_of(name) or ""
        return int(kind[1:]) if re.fullmatch(r"i\d+", kind) else 0


def _loads(code: InnermostLoops, line: Line, field: int) -> bool:
    """Whether a line loads a field of the worker."""
    place = code.definitions.get(line.place) if line.operation.startswith("load i64, ptr %") else None
    return place is not None and place.operation == f"getelementptr i8, ptr %worker, i64 {field}"


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
