"""Lanes that walk: each lane of a loop goes through consecutive elements of its own, as rows of a matrix or of a sparse
one, or bytes of a record. The elements ahead are loaded once, 16 bytes of each lane, and put into rows of lanes, so
that the rounds that follow load a vector each.

An access of a loop that counts and leaves memory alone remembers where its lanes would go on (``next``). If they do,
the first time fills its *window*, and later ones find their row there. Whatever writes memory, orders accesses or waits
forgets it.

Example: ``sum += a[row * n + k]``, of bytes. Round 0 loads lane by lane, round 1 fills the window with elements 1 to 16
of each lane, rounds 2 to 16 compare the addresses with ``next`` and load a row of the window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from visa import types
from vsim.llvm_engine.ir.builder import Builder
from vsim.llvm_engine.ir.types import MASK, ir_type
from vsim.llvm_engine.ir.values import Value
from vsim.llvm_engine.memory.part import LanePart
from vsim.llvm_engine.runtime import context as cx

WINDOW = 16
"""Bytes that are loaded ahead for each lane: four dwords, which vectors of four lanes transpose."""
MOST_WALKS = 4
"""So many accesses of a function have windows: the code for each takes time to compile."""
PREFETCHED = 64
"""Bytes behind a window from which on a cache line is asked for: processors follow few places that go on at a time."""
_LANES = (8, 16, 32)
_PARTS = {1: types.UB, 2: types.UW, 4: types.UD}
"""Elements that have windows, by their bytes."""


@dataclass(frozen=True)
class Walk:
    """An access whose lanes may walk.

    ``next``, ``place`` and ``window`` are stack slots: where the lanes would go on, the byte of the window at which the
    row for that lies, and the rows. At the window's end nothing is left in it.
    """

    b: Builder
    name: str
    index: types.DataType
    element: types.DataType
    lanes: int

    @property
    def row(self) -> int:
        """Bytes of a row of the window."""
        return self.lanes * self.element.size

    @property
    def end(self) -> int:
        """Bytes of the window."""
        return self.lanes * WINDOW

    def slots(self) -> list[str]:
        """Lines that make the stack slots."""
        return [
            f"  {self.name}.next = alloca {ir_type(self.index, self.lanes)}, align 64",
            f"  {self.name}.place = alloca i64, align 8",
            f"  {self.name}.window = alloca [{self.end} x i8], align 64",
        ]

    def forgetting(self) -> list[str]:
        """Lines after which nothing is known of memory."""
        return [
            f"  store {ir_type(self.index, self.lanes)} zeroinitializer, ptr {self.name}.next, align 64",
            f"  store i64 {self.end}, ptr {self.name}.place, align 8",
        ]

    def goes_on(self, offset: Value, vector: Value | None) -> Value:
        """Whether all active lanes are where they would go on."""
        b = self.b
        same = offset == b.load(self.index, self.lanes, f"{self.name}.next", 64)
        return Value(b, MASK, 1, b.all(same if vector is None else same | ~vector))

    def has_row(self) -> str:
        """Whether the window has a row for where the lanes would go on (i1)."""
        return self.b.assign(f"icmp ne i64 {self._place()}, {self.end}")

    def load(self, offset: Value, vector: Value | None) -> list[Value]:
        """The row of the window for where the lanes are; 0 for lanes that are not active."""
        b, place = self.b, self._place()
        found = b.load(self.element, self.lanes, b.offset(f"{self.name}.window", place), min(self.row, 64))
        b.emit(f"store i64 {b.assign(f'add i64 {place}, {self.row}')}, ptr {self.name}.place, align 8")
        self._remember(offset)
        return [found if vector is None else b.select(vector, found, b.const(0, self.element))]

    def begin(self, offset: Value) -> None:
        """The lanes were elsewhere; they may walk from here on."""
        self.b.emit(f"store i64 {self.end}, ptr {self.name}.place, align 8")
        self._remember(offset)

    def fill(self, offset: Value, vector: Value | None, at_first: str, chunk: Callable[[int], Value]) -> list[Value]:
        """Load what lies ahead, and give the first row; 0 for lanes that are not active.

        Args:
            at_first: the number of the first active lane, whose elements the lanes have that are not active.
            chunk: emits the load of the bytes of a lane, as four dwords.
        """
        b, ratio = self.b, types.UD.size // self.element.size
        rows: list[Value] = []
        for dwords in _transposed(b, [chunk(lane) for lane in range(self.lanes)]):
            for part in range(ratio):
                shifted = dwords >> b.const(8 * self.element.size * part, types.UD) if part else dwords
                rows.append(b.cast(shifted, _PARTS[self.element.size]))
        for n, row in enumerate(rows):
            b.store(row, b.offset(f"{self.name}.window", n * self.row), min(self.row, 64))
        b.emit(f"store i64 {self.row}, ptr {self.name}.place, align 8")
        if vector is not None:
            offset = b.select(vector, offset, b.broadcast(b.lane(offset, at_first), self.lanes))
        self._remember(offset)
        found = b.bitcast(rows[0], self.element)
        return [found if vector is None else b.select(vector, found, b.const(0, self.element))]

    def _place(self) -> str:
        return self.b.assign(f"load i64, ptr {self.name}.place, align 8")

    def _remember(self, offset: Value) -> None:
        b = self.b
        b.store(b.retype(offset, self.index) + b.const(self.element.size, self.index), f"{self.name}.next", 64)


def load_ahead(b: Builder, pointer: str) -> Value:
    """The bytes of a lane's window, as four dwords; what lies behind them is wanted soon."""
    b.declare("llvm.prefetch.p0", "void", "ptr, i32, i32, i32")
    b.emit(f"call void @llvm.prefetch.p0(ptr {b.offset(pointer, PREFETCHED)}, i32 0, i32 3, i32 1)")
    return b.load(types.UD, WINDOW // types.UD.size, pointer, 1)


def _transposed(b: Builder, chunks: list[Value]) -> list[Value]:
    """The first dwords of all lanes, the second ones, and so on, of four dwords for each lane."""
    lanes = len(chunks)
    lines = [b.concat(chunks[n::4]) for n in range(4)]  # of which line n has lanes n, n + 4, n + 8, ...

    def zipped(x: Value, y: Value, picks: tuple[int, int, int, int]) -> Value:
        """For every four dwords of two values, four of the eight."""
        places = [base + (p if p < 4 else lanes + p - 4) for base in range(0, lanes, 4) for p in picks]
        return b.mixed(x, y, places)

    low, high = (0, 4, 1, 5), (2, 6, 3, 7)
    found = []
    for picks in (low, high):
        pairs = [zipped(lines[0], lines[1], picks), zipped(lines[2], lines[3], picks)]
        found += [zipped(pairs[0], pairs[1], (0, 1, 4, 5)), zipped(pairs[0], pairs[1], (2, 3, 6, 7))]
    return found


class LaneWalks:
    """The accesses of one function whose lanes may walk."""

    def __init__(self, b: Builder, quiet: frozenset[int], at: Callable[[], int]) -> None:
        """``quiet``: instructions in loops that leave memory alone; ``at`` gives the one of this moment."""
        self.b, self.quiet, self.at = b, quiet, at
        self.known: dict[tuple[int, int], Walk] = {}
        """By instruction, and number among the accesses of it."""
        self.counted: dict[int, int] = {}
        self.emissions = 0

    def begin(self) -> None:
        """Begin an emission. Accesses that the first one did not have get no windows in the second."""
        self.counted = {}
        self.emissions += 1

    def walk(self, part: LanePart) -> Walk | None:
        """The walk of an access of this moment; None if it can have none. Its surface must be the same in all rounds,
        which the first emission cannot tell.
        """
        pc, element, index = self.at(), part.element, part.offset.type
        if pc not in self.quiet or part.count > 1 or element.size not in _PARTS or part.lanes not in _LANES:
            return None
        space, is_first = part.space, self.emissions == 1
        always_there = space.is_flat or is_first or space.pointer in self.b.levels
        if part.offset.lanes != part.lanes or space.kind not in (cx.FLAT, cx.SURFACE) or not always_there:
            return None
        number = self.counted[pc] = self.counted.get(pc, 0) + 1
        found = self.known.get((pc, number))
        if found is None and is_first and len(self.known) < MOST_WALKS:
            found = Walk(self.b, f"%walk{len(self.known)}", index, element, part.lanes)
            self.known[pc, number] = found
        if found is None or (found.index.size, found.element, found.lanes) != (index.size, element, part.lanes):
            return None
        return found

    def forget(self) -> None:
        """Emit that nothing is known of memory any more."""
        for walk in self.known.values():
            self.b.lines += walk.forgetting()
