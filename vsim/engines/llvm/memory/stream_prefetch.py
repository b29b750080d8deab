"""Lanes that walk: each lane of a loop goes through consecutive elements of its own, as rows of a matrix or of a sparse
one, or bytes of a record. The elements ahead are loaded once, 32 bytes of each lane, and put into rows of lanes, so
that the rounds that follow load a vector each.

An access of a loop that counts and leaves memory alone remembers where its lanes would go on. If they do, the first
time fills its *window*, and later ones find their row there. There are two ways to know where lanes are:

* The address is a vector that is computed in front of the loop, plus a scalar (``ir/base_offset.py``). Then the scalar
  tells the row of the window: one comparison for all lanes (:class:`ScalarStream`).
* Else the addresses of all lanes are compared with those at which they would go on (:class:`AddressStream`).

Example: ``sum += a[row * n + k]``, of bytes. Round 0 loads lane by lane, round 1 fills the window with elements 1 to 32
of each lane, rounds 2 to 32 find that ``k`` is 1 to 31 more than when it was filled, and load a row of the window.

**Why a row has what a lane would load.** A window is filled with the AHEAD bytes from one address of each lane on, all
of them inside of one buffer: active lanes give their own address, the others that of the first active one. Row ``r``
then has of every lane the element ``r`` behind that address, as long as memory stays what it was: instructions that
write memory, order accesses, wait or call forget all windows before they act, wherever in the function they are, and
each thread begins with none. What other threads write meanwhile need not be seen: nothing orders it with the load. So
a row is right for a lane whose address is that far behind the one with which the lane was filled. That must be known
of each active lane for itself, by whichever way, and however late, it came to the access:

* An :class:`AddressStream` keeps for each lane, active or not, the address of the next row: fill, and each row that is
  taken, move it on for all lanes together with the row. A row is taken if the address of every active lane is that
  one. Nothing is assumed of how lanes go through the loop.
* A :class:`ScalarStream` needs that each active lane had its own part of the sum when the window was filled, and has it
  still. Its own part is a value from in front of the loop: where that is computed anew, the window is forgotten, and
  so with what is added behind a widening. Or it is what a counter was before it was counted up: whoever did not count
  when others did is taken out of the *active* lanes, and somebody else who writes the counter makes the window
  forgotten (``memory/induction.py``). Lanes that were not active when the window was filled have no row, unless the
  mask is a value from in front of the loop, too: then the same lanes are active now. Then as many elements as
  scalars lie between the two addresses if no sum wraps around: those of addresses do not, as all rows are inside of
  a buffer; sums before a widening are tested where the window is filled, for all of its rows; a scalar that wraps
  around is far from every row.

A window that is forgotten has no rows. What is left in it says when to fill it, never what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from visakit.language import types
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.base_offset import BaseOffset
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.joins import first_of
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.ir.types import MASK, ir_type
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.memory.induction import InductionVariables
from vsim.engines.llvm.memory.part import LanePart, mask_bits
from vsim.engines.llvm.target import vector_bits
from vsim.semantics.core import unsigned_of

PREFETCH_BYTES = 32
"""Bytes that are loaded ahead for each lane."""
CHUNK = 16
"""Bytes that are put into rows at a time."""
MAXIMUM_STREAMS = 4
"""So many accesses of a function have windows: the code for each takes time to compile."""
PREFETCH_DISTANCE = 64
"""Bytes behind a window from which on a cache line is asked for: processors follow few places that go on at a time."""
_LANES = (8, 16, 32)
_PARTS = {1: types.UB, 2: types.UW, 4: types.UD}
"""Elements that have windows, by their bytes."""


class FillSource(NamedTuple):
    """Where lanes are whose next elements can be loaded: a host pointer, the offsets of all lanes from there, and the
    number of the first active one, whose offset the others have that are not active.
    """

    pointer: str
    offsets: Value
    at_first: str


@dataclass(frozen=True)
class StreamBuffer:
    """What an access whose lanes may walk keeps in stack slots: rows that were loaded ahead, and of which places they
    are (see :class:`AddressStream` and :class:`ScalarStream`).
    """

    b: Builder
    name: str
    index: types.DataType
    element: types.DataType
    lanes: int

    @property
    def row(self) -> int:
        """Bytes of a row."""
        return self.lanes * self.element.size

    @property
    def rows(self) -> int:
        """Rows of a window that is full."""
        return PREFETCH_BYTES // self.element.size

    @property
    def end(self) -> int:
        """Bytes of the window."""
        return self.lanes * PREFETCH_BYTES

    def slots(self) -> list[str]:
        """Lines that make the stack slots; what is not used of them LLVM removes."""
        return [
            f"  {self.name}.next = alloca {ir_type(self.index, self.lanes)}, align 64",
            *(f"  {self.name}.{field} = alloca i64, align 8" for field in ("place", "base", "rows", "active")),
            f"  {self.name}.window = alloca [{self.end} x i8], align 64",
        ]

    def cleared(self) -> list[str]:
        """Lines at the beginning of the function."""
        return [
            f"  store {ir_type(self.index, self.lanes)} zeroinitializer, ptr {self.name}.next, align 64",
            f"  store i64 -1, ptr {self.name}.base, align 8",  # where hardly any scalar is
            f"  store i64 0, ptr {self.name}.active, align 8",
            *self.invalidation(),
        ]

    def invalidation(self) -> list[str]:
        """Lines after which nothing is known of memory."""
        return [
            f"  store i64 {self.end}, ptr {self.name}.place, align 8",
            f"  store i64 0, ptr {self.name}.rows, align 8",
        ]

    def field(self, name: str) -> str:
        """What a slot holds (i64)."""
        return self.b.assign(f"load i64, ptr {self.name}.{name}, align 8")

    def set(self, name: str, value: str | int) -> None:
        """Change what a slot holds (i64)."""
        self.b.emit(f"store i64 {value}, ptr {self.name}.{name}, align 8")

    def row_at(self, place: str) -> list[Value]:
        """The row at a byte of the window."""
        return [self.b.load(self.element, self.lanes, self.b.offset(f"{self.name}.window", place), min(self.row, 64))]

    def filled(self, helpers: dict[str, str], source: FillSource) -> list[Value]:
        """Load what lies ahead, and give the first row. A function does it: code for that takes time to compile."""
        b, index = self.b, source.offsets.type
        name = f"walk_{ir_type(index, 1)}_{self.element.size}_{self.lanes}"
        if name not in helpers:
            helpers[name] = _filler(name, index, self.element.size, self.lanes)
        b.declare(name, "void", "ptr, ptr, ptr")
        scratch = b.scratch(-(-self.lanes * index.size // 64) * 64)
        b.store(source.offsets, scratch, 64)
        b.emit(f"call void @{name}(ptr {source.pointer}, ptr {scratch}, ptr {self.name}.window)")
        return self.row_at("0")


class Stream(Protocol):
    """An access of this moment, whose lanes may walk."""

    def hits(self) -> str:
        """Whether the lanes are where the window has a row for (i1)."""

    def load(self) -> list[Value]:
        """That row, with anything for lanes that are not active."""

    def continues(self) -> str:
        """Whether the lanes are where they would go on (i1)."""

    def begin(self) -> None:
        """The lanes were elsewhere; they may walk from here on."""

    def fill(self, helpers: dict[str, str], source: FillSource) -> list[Value]:
        """Load what lies ahead, and give the first row."""


@dataclass(frozen=True)
class AddressStream:
    """Addresses of all lanes are compared. ``next`` is where each lane would go on, ``place`` the byte of the window at
    which the row for that lies; at the window's end nothing is left in it, and ``next`` is where it may be filled.
    """

    buffer: StreamBuffer
    offset: Value
    vector: Value | None
    """The active lanes, None for all."""

    def hits(self) -> str:
        b, buffer = self.buffer.b, self.buffer
        _ = self.offset.text  # which all ways need
        has_row = b.assign(f"icmp ne i64 {buffer.field('place')}, {buffer.end}")
        ways = [(has_row, "", lambda: [Value(b, MASK, 1, self.continues())])]
        (found,) = first_of(b, ways, lambda: [Value(b, MASK, 1, "false")], b.new_label("done"))
        return found.text

    def continues(self) -> str:
        b, vector = self.buffer.b, self.vector
        same = self.offset == self._next()
        return b.all(same if vector is None else same | ~vector)

    def load(self) -> list[Value]:
        buffer, place = self.buffer, self.buffer.field("place")
        found = buffer.row_at(place)
        buffer.set("place", buffer.b.assign(f"add i64 {place}, {buffer.row}"))
        self._remember(self._next())  # Where lanes are that are not active does not matter: they may join later.
        return found

    def begin(self) -> None:
        self.buffer.set("place", self.buffer.end)
        self._remember(self.offset)

    def fill(self, helpers: dict[str, str], source: FillSource) -> list[Value]:
        b, offset = self.buffer.b, self.offset
        found = self.buffer.filled(helpers, source)
        self.buffer.set("place", self.buffer.row)
        if self.vector is not None:
            offset = b.select(self.vector, offset, b.broadcast(b.lane(offset, source.at_first), self.buffer.lanes))
        self._remember(offset)
        return found

    def _next(self) -> Value:
        return self.buffer.b.load(self.buffer.index, self.buffer.lanes, f"{self.buffer.name}.next", 64)

    def _remember(self, offset: Value) -> None:
        b, buffer = self.buffer.b, self.buffer
        after = b.retype(offset, buffer.index) + b.const(buffer.element.size, buffer.index)
        b.store(after, f"{buffer.name}.next", 64)


@dataclass(frozen=True)
class ScalarStream:
    """Addresses are a vector that does not change while the window is kept, plus a scalar.

    ``base`` is the scalar of the first row of the window, ``rows`` how many rows that has, ``active`` the lanes of
    which it has elements, where they may be others in each round. Behind the last row the lanes would go on. A scalar
    that wraps around is none that goes on.
    """

    buffer: StreamBuffer
    base_offset: BaseOffset
    vector: Value | None
    """The active lanes, None for all."""
    same_lanes: bool
    """Whether the same lanes are active as long as the window is kept."""

    @property
    def unit(self) -> int:
        """Bytes for each of the scalar."""
        return self.base_offset.outer_factor if self.base_offset.narrow else 1

    def hits(self) -> str:
        b = self.buffer.b
        found = b.assign(f"icmp ult i64 {self._row()}, {self.buffer.field('rows')}")
        if self.same_lanes:
            return found
        others = b.assign(f"xor i64 {self.buffer.field('active')}, -1")
        more = b.assign(f"and i64 {mask_bits(b, self.vector, self.buffer.lanes)}, {others}")
        none_more = b.assign(f"icmp eq i64 {more}, 0")
        return b.assign(f"and i1 {found}, {none_more}")

    def load(self) -> list[Value]:
        place = self.buffer.b.assign(f"mul i64 {self._row()}, {self.buffer.row}")
        return self.buffer.row_at(place)

    def continues(self) -> str:
        b = self.buffer.b
        found = b.assign(f"icmp eq i64 {self._row()}, {self.buffer.field('rows')}")
        return b.assign(f"and i1 {found}, {self._fits()}") if self.base_offset.narrow else found

    def begin(self) -> None:
        b, step = self.buffer.b, self.buffer.element.size // self.unit
        self.buffer.set("base", b.assign(f"add i64 {self._scalar()}, {step}"))
        self.buffer.set("rows", 0)

    def fill(self, helpers: dict[str, str], source: FillSource) -> list[Value]:
        found = self.buffer.filled(helpers, source)
        self.buffer.set("base", self._scalar())
        self.buffer.set("rows", self.buffer.rows)
        if not self.same_lanes:
            self.buffer.set("active", mask_bits(self.buffer.b, self.vector, self.buffer.lanes))
        return found

    def _scalar(self) -> str:
        b, scalar = self.buffer.b, self.base_offset.scalar
        return b.cast(b.retype(scalar, unsigned_of(scalar.type.size)), types.UQ).text

    def _row(self) -> str:
        """The row of the window at which the lanes are; a number beyond all rows if they are between two (i64)."""
        b, shift = self.buffer.b, (self.buffer.element.size // self.unit).bit_length() - 1
        distance = b.assign(f"sub i64 {self._scalar()}, {self.buffer.field('base')}")
        if not shift:
            return distance
        b.declare("llvm.fshr.i64", "i64", "i64, i64, i64")
        return b.assign(f"call i64 @llvm.fshr.i64(i64 {distance}, i64 {distance}, i64 {shift})")

    def _fits(self) -> str:
        """Whether no lane wraps around within the window before it is widened (i1)."""
        b, narrow = self.buffer.b, self.base_offset.narrow
        assert narrow
        source = narrow.type
        most = (1 << source.bits - source.is_signed) - 1
        fits = narrow <= b.broadcast(b.const(most - PREFETCH_BYTES, source), self.buffer.lanes)
        return b.all(fits if self.vector is None else fits | ~self.vector)


def _filler(name: str, index: types.DataType, size: int, lanes: int) -> str:
    """The module of a function that takes a host pointer, offsets of lanes from there on which they walk, and a window,
    and fills that with rows of elements of a size.
    """
    declarations: dict[str, str] = {}
    b, element, row = Builder(declarations), _PARTS[size], lanes * size
    b.begin("entry")
    b.declare("llvm.prefetch.p0", "void", "ptr, i32, i32, i32")

    def chunk(start: int, lane: int) -> Value:
        offset = b.cast(b.load(index, 1, b.offset("%offsets", lane * index.size), index.size), types.UQ)
        pointer = b.assign(f"getelementptr i8, ptr %memory, {offset.typed}")
        if not start:
            b.emit(f"call void @llvm.prefetch.p0(ptr {b.offset(pointer, PREFETCH_DISTANCE)}, i32 0, i32 3, i32 1)")
        return b.load(element, CHUNK // size, b.offset(pointer, start), 1)

    at, wide = 0, max(1, vector_bits() // (8 * row))
    for start in range(0, PREFETCH_BYTES, CHUNK):
        for group in _rows(b, lanes, CHUNK // size, wide, partial(chunk, start)):
            b.store(group, b.offset("%window", at), min(row, 64))
            at += group.lanes * size
    head = f"define void @{name}(ptr %memory, ptr %offsets, ptr %window) #0 {{\nentry:"
    return module(["\n".join([head, *b.lines, "  ret void", "}"])], declarations)


def _rows(b: Builder, lanes: int, count: int, wide: int, chunk: Callable[[int], Value]) -> list[Value]:
    """The first elements of all lanes, the second ones, and so on, of ``count`` elements for each lane, which ``chunk``
    emits; ``wide`` such rows, or more, in a vector.

    A line has the chunks of every so many-th lane. Two lines are zipped chunk by chunk, as processors do it: then what
    tells them apart tells apart elements, and half of a chunk another one. One half of the lines is done before the
    other is loaded, so that registers suffice.
    """
    wide = min(count, max(wide, count // lanes))
    lines = count // wide
    elements = lanes * wide

    def interleaved_halves(x: Value, y: Value, first: int) -> Value:
        """The halves of all chunks that begin at an element."""
        places = [base + first + n for base in range(0, elements, count) for n in range(count // 2)]
        return b.mixed(x, y, [at for place in places for at in (place, elements + place)])

    def combined(access_counts: range) -> list[Value]:
        if len(access_counts) == 1:
            return [b.concat([chunk(lane) for lane in range(access_counts[0], lanes, lines)])]
        pairs = zip(combined(access_counts[0::2]), combined(access_counts[1::2]), strict=True)
        return [interleaved_halves(x, y, first) for x, y in pairs for first in (0, count // 2)]

    order = [base + row * lines + n for row in range(wide) for base in range(0, elements, count) for n in range(lines)]
    return [b.lanes(line, order) for line in combined(range(lines))]


class StreamPrefetcher:
    """The accesses of one function whose lanes may walk."""

    def __init__(
        self, b: Builder, read_only_loops: Mapping[int, range], at: Callable[[], int], inductions: InductionVariables
    ) -> None:
        """``read_only_loops``: the read-only loop of each instruction in one; ``at`` gives the current instruction."""
        self.b, self.read_only_loops, self.at, self.inductions = b, read_only_loops, at, inductions
        self.buffers: dict[tuple[int, int], StreamBuffer] = {}
        """By instruction, and number among the accesses of it."""
        self.access_counts: dict[int, int] = {}
        self.emissions = 0
        self.dependents: dict[str, list[StreamBuffer]] = {}
        """The windows that hold as long as a value (SSA name) is not computed anew."""

    def begin_anew(self) -> None:
        """Forget all accesses, before an emission that is the first one with other assumptions."""
        self.buffers, self.emissions = {}, 0
        self.inductions.forget()

    def begin(self, writers: Mapping[int, Set[int]]) -> None:
        """Begin an emission. Accesses that the first one did not have get no windows in the second.

        Args:
            writers: the instructions that wrote each root variable in the emission before.
        """
        self.access_counts, self.dependents = {}, {}
        self.emissions += 1
        if self.emissions > 1 and self.buffers:
            self.inductions.learn(writers)

    def before(self, pc: int, only_reads: bool) -> None:
        """Emit what stands in front of an instruction. ``only_reads``: it leaves memory alone."""
        self.b.tracks_base_offset = pc in self.read_only_loops
        if not only_reads or pc in self.inductions.writers:
            self.invalidate()

    def increment(self, pc: int, mask: Mask) -> None:
        """Emit what stands behind an instruction that counts up, which lanes of a mask execute."""
        self.inductions.increment(pc)
        if mask is True:
            return
        loop, bits = self.inductions.slots[pc].variable.loop, mask_bits(self.b, mask, mask.lanes)
        for (at, _), buffer in self.buffers.items():
            if at in loop:
                buffer.set("active", self.b.assign(f"and i64 {buffer.field('active')}, {bits}"))

    def read(self, root: int, low: int, value: Value) -> Value:
        """A value that was read from a variable, with what is known of how it is counted up."""
        return (
            self.inductions.with_base_offset(self.read_only_loops.get(self.at()), root, low, value)
            if self.inductions.slots
            else value
        )

    def stream(self, part: LanePart, offset: Value, vector: Value | None) -> Stream | None:
        """How the lanes of an access of this moment walk; None if it has no window."""
        buffer = self._buffer(part)
        if buffer is None:
            return None
        by_scalar = self._by_scalar(buffer, offset, vector) if self.emissions > 1 else None
        return by_scalar or AddressStream(buffer, offset, vector)

    def _buffer(self, part: LanePart) -> StreamBuffer | None:
        """The window of an access of this moment; None if it can have none. Its surface must be the same in all rounds,
        which the first emission cannot tell.
        """
        pc, element, index = self.at(), part.element, part.offset.type
        if pc not in self.read_only_loops or part.count > 1 or element.size not in _PARTS or part.lanes not in _LANES:
            return None
        space, is_first = part.space, self.emissions == 1
        always_there = space.is_flat or is_first or space.pointer in self.b.levels
        if part.offset.lanes != part.lanes or space.kind not in (cx.FLAT, cx.SURFACE) or not always_there:
            return None
        number = self.access_counts[pc] = self.access_counts.get(pc, 0) + 1
        found = self.buffers.get((pc, number))
        if found is None and is_first and len(self.buffers) < MAXIMUM_STREAMS:
            found = StreamBuffer(self.b, f"%walk{len(self.buffers)}", index, element, part.lanes)
            self.buffers[pc, number] = found
        if found is None or (found.index.size, found.element, found.lanes) != (index.size, element, part.lanes):
            return None
        return found

    def _by_scalar(self, buffer: StreamBuffer, offset: Value, vector: Value | None) -> ScalarStream | None:
        """The walk of lanes whose addresses differ by a scalar from a vector that was computed in front of the loop."""
        base_offset = offset.base_offset
        if base_offset is None or base_offset.loop not in (None, self.read_only_loops[self.at()]):
            return None
        size, unit = buffer.element.size, base_offset.outer_factor
        if base_offset.narrow and (not 0 < unit <= size or size % unit):
            return None
        first = self._first_line()
        values = [value for value in (base_offset.lanes, base_offset.outer) if value is not None]
        if not all(self._is_loop_invariant(value, first) for value in values):
            return None
        same_lanes = base_offset.loop is None and (vector is None or self._is_loop_invariant(vector, first))
        for value in [*values, *([vector] if vector is not None and same_lanes else [])]:
            self.dependents.setdefault(value.text, []).append(buffer)
        return ScalarStream(buffer, base_offset, vector, same_lanes)

    def _first_line(self) -> int:
        """Where the code of the loop of this moment begins."""
        loop = self.read_only_loops[self.at()].start
        labels = (f"check{loop}:", f"block{loop}:")
        return next(n for n, line in enumerate(self.b.lines) if line in labels)

    def _is_loop_invariant(self, value: Value, first: int) -> bool:
        """Whether a value was computed in front of a line."""
        name = value.text
        if not name.startswith("%") or name in self.b.levels:
            return True
        beginning = f"  {name} = "
        return any(line.startswith(beginning) for line in self.b.lines[:first])

    def invalidate(self) -> None:
        """Emit that nothing is known of memory any more."""
        for buffer in self.buffers.values():
            self.b.lines += buffer.invalidation()

    def end(self) -> None:
        """End an emission: windows are forgotten where values that they hold with are computed anew."""
        if not self.dependents:
            return
        lines: list[str] = []
        pending: list[str] = []
        for line in self.b.lines:
            name, _, rest = line.strip().partition(" = ")
            if pending and not rest.startswith("phi "):
                lines, pending = lines + pending, []
            lines.append(line)
            if rest and name in self.dependents:
                pending += [text for buffer in self.dependents[name] for text in buffer.invalidation()]
        self.b.lines = lines + pending
