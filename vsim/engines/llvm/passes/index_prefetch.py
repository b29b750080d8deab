"""Prefetch of rows of indices: of ``b`` in ``a[b[k * n + i]]``, where lanes count along ``i`` and rounds along ``k``.

A round waits for its row, and then for the elements that the indices select. Hardware prefetchers do not follow rows
that are more than a page apart. So each round also prefetches the row of a later round: it computes the address anew
from advanced counters. A prefetch neither faults nor changes memory, whatever its address.

Other rows are not prefetched: the processor has several rounds of such loops in flight, and a prefetch costs more than
it gains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from vsim.engines.llvm.ir.emitter import NAME
from vsim.engines.llvm.passes.lines import Line
from vsim.engines.llvm.passes.loops import OPERATIONS, InnermostLoops

AHEAD = 350
"""Lines of IR that run while a row is on its way: it is so many rounds ahead, but at least one."""
NEAR = 2048
"""Bytes between rows that processors load ahead by themselves."""
PREFETCH = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
"""The declaration that modules need."""
_FAR = 1 << 32
"""Represents a factor that is not a constant."""
_COUNT = re.compile(r"add (i32|i64) (%[\w.]+), (-?\d+)")
_STORE = re.compile(r"store (?:i32|i64) (%[\w.]+), ptr")
_PRODUCT = re.compile(r"mul (?:i32|i64) %[\w.]+, (?:%[\w.]+|(-?\d+))")
_SHIFT = re.compile(r"shl (?:i32|i64) %[\w.]+, (\d+)")


def prefetch_indices(code: InnermostLoops) -> None:
    """Let the loops of a function prefetch the rows of indices that they read."""
    for loop in code.loops.values():
        rows = _Rows(code, loop)
        for name in [name for name in code.blocks if name in loop and rows.selecting]:
            body = []
            for line in code.blocks[name].body:
                body += [line, *rows.prefetches(line)]
            code.blocks[name].body = body


class _Rows:
    """The rows of indices that a loop reads."""

    def __init__(self, code: InnermostLoops, loop: Set[str]) -> None:
        self.code, self.loop = code, loop
        self.lines = [line for name in loop for line in code.blocks[name].body]
        self.stores: dict[str, list[Line]] = {}
        for line in self.lines:
            if line.is_store:
                self.stores.setdefault(line.place, []).append(line)
        self.counters = {place: found for place in self.stores if (found := self._counter(place))}
        """Stack slots to which each round adds a number: its type and the number."""
        self.selecting = self._selecting() if self.counters else set[str]()
        """Values of the loop that addresses of its loads depend on."""
        self.steps: dict[str, int | None] = {}
        """See :meth:`_step`."""

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
        return line.uses if line.opcode in OPERATIONS else ()

    def _step(self, name: str) -> int | None:
        """The number that each round adds to a value, as an estimate; None if the value changes in another way."""
        if self.code.home.get(name) not in self.loop:
            return 0
        if name not in self.steps:
            self.steps[name] = self._found_step(name, self.code.definitions.get(name))
        return self.steps[name]

    def _found_step(self, name: str, line: Line | None) -> int | None:
        if line and line.place:
            is_same = line.place not in self.stores and self._step(line.place) == 0
            return 0 if is_same else self.counters.get(line.place, ("", None))[1]
        operands = self._operands(name)
        steps = [self._step(operand) for operand in operands]
        if None in steps or not operands or (line is None and len(operands) > 1) or (line and "<" in line.operation):
            return None
        step = sum(step for step in steps if step)
        if not step or not line:
            return step
        if shift := _SHIFT.fullmatch(line.operation):
            return step << int(shift[1])
        product = _PRODUCT.fullmatch(line.operation)
        return step * int(product[1] or _FAR) if product else step

    def prefetches(self, line: Line) -> Iterator[Line]:
        """The lines that prefetch the row of a later round, if a line loads a row of indices."""
        if line.result not in self.selecting or not line.operation.startswith("load <"):
            return
        if abs(self._step(line.place) or 0) > NEAR:
            names: dict[str, str] = {}
            yield from self._ahead(line.place, names, f"{line.result[1:]}.ahead")
            yield Line(f"  call void @llvm.prefetch.p0(ptr {names[line.place]}, i32 0, i32 3, i32 1)")

    def _ahead(self, name: str, names: dict[str, str], suffix: str) -> Iterator[Line]:
        """The lines that compute a value of a later round, and its name in ``names``."""
        if name in names:
            return
        line = self.code.definitions.get(name)
        if not self._step(name):
            names[name] = name
        elif line is None:
            (value,) = self._operands(name)
            yield from self._ahead(value, names, suffix)
            names[name] = names[value]
        elif line.place:
            kind, step = self.counters[line.place]
            names[name] = f"{name}.{suffix}"
            yield Line(f"  {names[name]} = add {kind} {name}, {step * max(1, AHEAD // len(self.lines))}")
        else:
            for operand in line.uses:
                yield from self._ahead(operand, names, suffix)
            names[name] = f"{name}.{suffix}"
            yield Line(f"  {names[name]} = {NAME.sub(lambda operand: names[operand[0]], line.operation)}")
