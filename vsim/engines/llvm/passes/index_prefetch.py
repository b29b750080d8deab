"""Prefetch of rows of indices: of ``b`` in ``a[b[k * n + i]]``, where lanes count along ``i`` and rounds along ``k``.

A round waits for its row, and then for the elements that the indices select. Hardware prefetchers do not follow rows
that are more than a page apart. So each round also prefetches the row of a later round: it computes the address anew
from advanced counters.

Other rows are not prefetched: the processor has several rounds of such loops in flight, and a prefetch costs more than
it gains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import cached_property

from vsim.engines.llvm.passes.ahead import Ahead
from vsim.engines.llvm.passes.lines import DEFINED_OPERATIONS, Line
from vsim.engines.llvm.passes.loops import InnermostLoops

AHEAD = 350
"""Lines of IR that run while a row is on its way: it is so many rounds ahead, but at least one."""
NEAR = 2048
"""Bytes between rows that processors load ahead by themselves."""
_FAR = 1 << 32
"""Represents a product with a factor that is not a constant."""
_COUNT = re.compile(r"add (i32|i64) (%[\w.]+), (-?\d+)")
_STORE = re.compile(r"store (?:i32|i64) (%[\w.]+), ptr")


def prefetch_indices(code: InnermostLoops) -> None:
    """Let the loops of a function prefetch the rows of indices that they read."""
    for loop in code.loops.values():
        rows = _Rows(code, loop)
        if any(map(rows.has, rows.lines)):
            for name in loop:
                block = code.blocks[name]
                block.body = [new for line in block.body for new in (line, *rows.behind(line))]


class _Rows:
    """The rows of indices that a loop reads."""

    def __init__(self, code: InnermostLoops, loop: Set[str]) -> None:
        self.code, self.loop = code, loop
        self.lines = [line for name in loop for line in code.blocks[name].body]
        self.stores: dict[str, list[Line]] = {}
        for line in self.lines:
            if line.is_store:
                self.stores.setdefault(line.place, []).append(line)
        steps = {place: found for place in self.stores if (found := self._counter(place))}
        self.counters = {line.result: steps[line.place] for line in self.lines if line.result and line.place in steps}
        """Values of the loop to which each round adds a number: its type and the number."""
        self.selecting = self._selecting() if self.counters else set[str]()
        """Values of the loop that addresses of its loads depend on."""

    @cached_property
    def ahead(self) -> Ahead:
        """The values of later rounds, which most loops do not need: all of the function is looked at for them."""
        return Ahead(self.code, {name: f"{name}.ahead" for name in self.counters})

    def _counter(self, place: str) -> tuple[str, int] | None:
        store, *others = self.stores[place]
        found = _STORE.match(store.operation)
        line = self.code.definitions.get(found[1]) if found and not others else None
        step, kind = 0, ""
        while line and (count := _COUNT.fullmatch(line.operation)):
            step, kind = step + int(count[3]), count[1]
            line = self.code.definitions.get(count[2])
        return (kind, step) if step and line in self.lines and line.place == place else None

    def _selecting(self) -> set[str]:
        found = set[str]()
        worklist = [line.place for line in self.lines if line.result and line.place]
        worklist += [name for line in self.lines if line.opcode == "gather" for name in line.uses]
        while worklist:
            name = worklist.pop()
            if name not in found and self.code.home.get(name) in self.loop:
                found.add(name)
                worklist += self._operands(name)
        return found

    def _operands(self, name: str) -> tuple[str, ...]:
        """The operands of a value of the loop on likely ways; none of a loaded value."""
        line = self.code.definitions.get(name)
        if line is None:
            _, values = self.code.blocks[self.code.home[name]].phis[name]
            return tuple(value for block, value in values.items() if block in self.code.hot)
        return line.uses if line.opcode in DEFINED_OPERATIONS else ()

    def _step(self, place: str) -> int:
        """An estimate of the bytes that each round adds to an address."""
        terms, _ = self.ahead.sum(place)
        steps = {x: self.counters[x][1] if x in self.counters else _FAR * self.ahead.changes(x) for x in terms}
        return sum(factor * steps[x] for x, factor in terms.items())

    def has(self, line: Line) -> bool:
        """Whether a line loads a row of indices."""
        is_index = line.result in self.selecting and line.operation.startswith("load <")
        return is_index and abs(self._step(line.place)) > NEAR

    def behind(self, line: Line) -> Iterator[Line]:
        """Lines behind a line: the advanced value of a counter, or the prefetch of the row of a later round."""
        if line.result in self.counters:
            kind, step = self.counters[line.result]
            ahead = step * max(1, AHEAD // len(self.lines))
            yield Line(f"  {line.result}.ahead = add {kind} {line.result}, {ahead}")
        elif self.has(line):
            yield from self.ahead.prefetch(line, {}, f"{line.result[1:]}.ahead")
