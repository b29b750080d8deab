"""Addresses of later rounds, threads or groups, for prefetches: copies of scalar values that are computed from advanced
counters. A prefetch of any address neither faults nor changes memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from vsim.engines.llvm.ir.emitter import NAME
from vsim.engines.llvm.passes.lines import DEFINED_OPERATIONS, Line, bytes_of
from vsim.engines.llvm.passes.loops import InnermostLoops

PREFETCH = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
"""The declaration that modules need."""
CACHE_LINE = 64
"""Bytes."""
NEAREST = 8
"""Blocks between a check and the block where its ways meet."""
DEEPEST = 32
"""Operations between a counter and an address that can be copied."""
_SUM = re.compile(r"(?:(?:add|or) i(?:32|64)|getelementptr i8, ptr) (\S+), (?:i64 )?(\S+)")
_PRODUCT, _SHIFT = (re.compile(rf"{name} i(?:32|64) (\S+), (-?\d+)") for name in ["mul", "shl"])
_SAME = re.compile(r"(?:zext|sext|trunc|bitcast) ")


class Ahead:
    """Values of a function after its counters have advanced.

    Args:
        advanced: the name of the advanced value of each counter.
    """

    def __init__(self, code: InnermostLoops, advanced: Mapping[str, str]) -> None:
        self.code, self.advanced = code, advanced
        self.sums: dict[str, tuple[dict[str, int], int]] = {}
        """See :meth:`sum`."""
        self.depths: dict[str, int] = dict.fromkeys(advanced, 0)
        """Of values that depend on counters, the longest way from one, in operations."""
        for block in code.blocks.values():
            for value in (*block.phis, *(line.result for line in block.body if line.result)):
                depths = [self.depths[operand] for operand in self.operands(value) if operand in self.depths]
                if depths and max(depths) < DEEPEST:
                    self.depths.setdefault(value, max(depths) + 1)

    def operands(self, name: str) -> tuple[str, ...]:
        """The operands of a value on likely ways; none of a value that is loaded, called or no scalar."""
        line = self.code.definitions.get(name)
        if line is None:
            return self._likely_value(name)
        return line.uses if line.opcode in DEFINED_OPERATIONS and "<" not in line.operation else ()

    def _likely_value(self, phi: str) -> tuple[str, ...]:
        """The value of a phi in front of which a check has an unlikely way, if it is computed in front of the check."""
        block = self.code.home.get(phi)
        if block is None:
            return ()
        arms = self.code.blocks[block].phis[phi][1]
        likely = {value for here, value in arms.items() if here in self.code.hot}
        if len(likely) != 1 or not all(self._is_behind(here, self.code.home.get(*likely)) for here in arms):
            return ()
        return tuple(likely)

    def _is_behind(self, block: str, other: str | None) -> bool:
        """Whether all ways to a block lead through another one, a few blocks before."""
        for _ in range(NEAREST):
            before = self.code.blocks[block].before
            if block == other or len(before) != 1:
                break
            (block,) = before
        return block == other

    def changes(self, name: str) -> bool:
        """Whether a value depends on a counter in a way that can be copied."""
        return name in self.depths

    def apart(self, lines: Iterable[Line]) -> list[Line]:
        """Loads and stores of separate cache lines, most likely: of several in one line the middle one."""
        places: dict[frozenset[tuple[str, int]], list[tuple[int, int, Line]]] = {}
        for number, line in enumerate(lines):
            terms, constant = self.sum(line.place)
            places.setdefault(frozenset(terms.items()), []).append((constant, number, line))
        found: list[Line] = []
        for near in map(sorted, places.values()):
            while near:
                count = sum(place < near[0][0] + CACHE_LINE // 2 for place, *_ in near)
                found.append(near[count // 2][2])
                near = near[count:]
        return found

    def sum(self, name: str) -> tuple[dict[str, int], int]:
        """A value as a sum of products of other values and numbers, and a number; wrap-arounds are ignored."""
        if name not in self.sums:
            self.sums[name] = self._found_sum(name)
        return self.sums[name]

    def _found_sum(self, name: str) -> tuple[dict[str, int], int]:
        if name.lstrip("-").isdecimal():
            return {}, int(name)
        line = self.code.definitions.get(name)
        if not self.changes(name) or name in self.advanced:
            return {name: 1}, 0
        if line is None or _SAME.match(line.operation):
            return self.sum(self.operands(name)[0])
        if found := _SUM.fullmatch(line.operation):
            (terms, constant), (others, other) = map(self.sum, found.groups())
            return {x: terms.get(x, 0) + others.get(x, 0) for x in terms | others}, constant + other
        product, shift = _PRODUCT.fullmatch(line.operation), _SHIFT.fullmatch(line.operation)
        if found := product or shift:
            terms, constant = self.sum(found[1])
            factor = int(found[2]) if product else 1 << int(found[2])
            return {x: factor * n for x, n in terms.items()}, factor * constant
        return {name: 1}, 0

    def prefetch(self, line: Line, names: dict[str, str], suffix: str) -> Iterator[Line]:
        """The lines that prefetch the cache lines that a load or store accesses after the advance.

        Args:
            names: the names of copies that exist; new ones are added.
        """
        yield from self.copies(line.place, names, suffix)
        yield from prefetches(line, names[line.place])

    def copies(self, name: str, names: dict[str, str], suffix: str) -> Iterator[Line]:
        """The lines that compute a value, whose name they put into ``names``."""
        if name in names:
            return
        if not self.changes(name) or name in self.advanced:
            names[name] = self.advanced.get(name, name)
            return
        for operand in self.operands(name):
            yield from self.copies(operand, names, suffix)
        line = self.code.definitions.get(name)
        if line is None:
            names[name] = names[self.operands(name)[0]]
        else:
            names[name] = f"{name}.{suffix}"
            yield Line(f"  {names[name]} = {NAME.sub(lambda operand: names[operand[0]], line.operation)}")


def prefetches(line: Line, place: str) -> Iterator[Line]:
    """Prefetches of all cache lines of a load or store, at another place."""
    for byte in range(0, bytes_of(line.kind), CACHE_LINE):
        at = f"{place}.{byte}" if byte else place
        if byte:
            yield Line(f"  {at} = getelementptr i8, ptr {place}, i64 {byte}")
        yield Line(f"  call void @llvm.prefetch.p0(ptr {at}, i32 {int(line.is_store)}, i32 3, i32 1)")
