"""Stream prefetch: each lane of a loop loads consecutive elements of a separate row: of a matrix or of a
sparse one, or bytes of a record. The next elements are loaded once, 32 bytes for each lane, and transposed into rows of
lanes, so that the following rounds load one vector each.

The address of such an access, in a read-only loop with an induction variable, is a base vector, computed in front of
the loop, plus a scalar (``ir/base_offset.py``). The access remembers the scalar at which its lanes would continue. If
they do, the access fills its *buffer*, and in later rounds the scalar selects the row there: one comparison for all
lanes.

Example: ``sum += a[row * n + k]``, of bytes. Round 0 loads lane by lane, round 1 fills the buffer with elements 1 to 32
of each lane, rounds 2 to 32 find that ``k`` is 1 to 31 more than at the fill, and load a row of the buffer.

**Why a row holds the value that a lane would load.** A fill reads PREFETCH_BYTES from one address of each lane on, all
inside of one buffer of the launch: active lanes give their address, inactive lanes use that of the first active one.
Row ``r`` then holds for every lane the element ``r`` beyond that address, as long as memory does not change.
Instructions that write memory, order accesses, wait or call invalidate all buffers before they act, anywhere in the
function, and each thread begins with invalid buffers. Writes of other threads need not be seen: nothing orders them
with the load. So a row is right for a lane whose address is that far beyond the lane's address at the fill. This must
hold for each active lane, by whichever path, and however late, it came to the access: each active lane must have had
the same base at the fill as now. If the base is a value from in front of the loop, its computation invalidates the
buffer, and so does the computation of a term added after a widening. If the base is the initial value of an induction
variable, an increment removes lanes that do not execute it from the *active* lanes, and any other write of the variable
invalidates the buffer (``memory/induction.py``). Lanes that were inactive at the fill have no row, unless the mask is a
value from in front of the loop, too: then the same lanes are active now. Then the distance of the two addresses is that
of the scalars, if no sum wraps around. Sums of addresses do not, as all rows are inside of a buffer; sums before a
widening are tested at the fill, for all rows; a scalar that wraps around is far from every row.

An invalid buffer has no rows. Its remaining fields only say when to fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import partial

from visakit.language import types
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.base_offset import BaseOffset
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.memory.induction import InductionVariables
from vsim.engines.llvm.memory.part import LanePart, mask_bits
from vsim.engines.llvm.target import vector_bits
from vsim.semantics.core import unsigned_of

PREFETCH_BYTES = 32
"""Bytes that a fill loads for each lane."""
CHUNK = 16
"""Bytes that are transposed at a time."""
MAXIMUM_STREAMS = 4
"""Most accesses of a function that have buffers: the code for each takes time to compile."""
PREFETCH_DISTANCE = 64
"""Distance of the prefetched cache line beyond the buffer, in bytes: processors follow few streams by themselves."""
_LANES = (8, 16, 32)
_SIZES = (1, 2, 4)
"""Bytes of the elements that have buffers."""


@dataclass(frozen=True)
class StreamBuffer:
    """The stack slots of an access that may be prefetched: prefetched rows, and their places (see :class:`Stream`)."""

    b: Builder
    name: str
    element: types.DataType
    lanes: int

    @property
    def row(self) -> int:
        """Bytes of a row."""
        return self.lanes * self.element.size

    @property
    def rows(self) -> int:
        """Rows of a full buffer."""
        return PREFETCH_BYTES // self.element.size

    def slots(self) -> list[str]:
        """Lines that make the stack slots; LLVM removes unused ones."""
        return [
            *(f"  {self.name}.{field} = alloca i64, align 8" for field in ("base", "rows", "active")),
            f"  {self.name}.window = alloca [{self.lanes * PREFETCH_BYTES} x i8], align 64",
        ]

    def cleared(self) -> list[str]:
        """Lines at the beginning of the function."""
        return [
            f"  store i64 -1, ptr {self.name}.base, align 8",  # where hardly any scalar is
            f"  store i64 0, ptr {self.name}.active, align 8",
            self.invalidation(),
        ]

    def invalidation(self) -> str:
        """The line that invalidates the buffer."""
        return f"  store i64 0, ptr {self.name}.rows, align 8"

    def field(self, name: str) -> str:
        """The contents of a slot (i64)."""
        return self.b.assign(f"load i64, ptr {self.name}.{name}, align 8")

    def set(self, name: str, value: str | int) -> None:
        """Set the contents of a slot (i64)."""
        self.b.emit(f"store i64 {value}, ptr {self.name}.{name}, align 8")

    def row_at(self, place: str) -> list[Value]:
        """The row at a byte of the buffer."""
        return [self.b.load(self.element, self.lanes, self.b.offset(f"{self.name}.window", place), min(self.row, 64))]

    def filled(self, helpers: dict[str, str], pointer: str, offsets: Value) -> list[Value]:
        """Fill the buffer, and give its first row. Out of line, as inline code takes time to compile.

        Args:
            pointer: the host pointer from which all lanes have ``offsets``.
        """
        b, index = self.b, offsets.type
        name = f"walk_{ir_type(index, 1)}_{self.element.size}_{self.lanes}"
        if name not in helpers:
            helpers[name] = _filler(name, index, self.element.size, self.lanes)
        b.declare(name, "void", "ptr, ptr, ptr")
        scratch = b.temporary(-(-self.lanes * index.size // 64) * 64)
        b.store(offsets, scratch, 64)
        b.emit(f"call void @{name}(ptr {pointer}, ptr {scratch}, ptr {self.name}.window)")
        return self.row_at("0")


@dataclass(frozen=True)
class Stream:
    """An access that may be prefetched: its addresses are a vector, constant while the buffer is valid, plus a scalar.

    ``base`` is the scalar of the first row of the buffer, ``rows`` its number of rows, ``active`` the lanes that it has
    elements for, if they may differ from round to round. The predicted place is that behind the last row. A scalar
    that wraps around is never predicted.
    """

    buffer: StreamBuffer
    base_offset: BaseOffset
    vector: Value | None
    """The active lanes, None for all."""
    same_lanes: bool
    """Whether the same lanes are active while the buffer is valid."""

    @property
    def unit(self) -> int:
        """Bytes for each unit of the scalar."""
        return self.base_offset.outer_factor if self.base_offset.narrow else 1

    def hits(self) -> str:
        """Whether the buffer has a row for the lanes (i1)."""
        b = self.buffer.b
        found = b.assign(f"icmp ult i64 {self._row()}, {self.buffer.field('rows')}")
        if self.same_lanes:
            return found
        others = b.assign(f"xor i64 {self.buffer.field('active')}, -1")
        more = b.assign(f"and i64 {mask_bits(b, self.vector, self.buffer.lanes)}, {others}")
        none_more = b.assign(f"icmp eq i64 {more}, 0")
        return b.assign(f"and i1 {found}, {none_more}")

    def load(self) -> list[Value]:
        """That row; inactive lanes have arbitrary values."""
        place = self.buffer.b.assign(f"mul i64 {self._row()}, {self.buffer.row}")
        return self.buffer.row_at(place)

    def continues(self) -> str:
        """Whether the lanes are at the predicted place (i1)."""
        b = self.buffer.b
        found = b.assign(f"icmp eq i64 {self._row()}, {self.buffer.field('rows')}")
        return b.assign(f"and i1 {found}, {self._fits()}") if self.base_offset.narrow else found

    def begin(self) -> None:
        """The prediction failed: predict from here on."""
        b, step = self.buffer.b, self.buffer.element.size // self.unit
        self.buffer.set("base", b.assign(f"add i64 {self._scalar()}, {step}"))
        self.buffer.set("rows", 0)

    def fill(self, helpers: dict[str, str], pointer: str, offsets: Value) -> list[Value]:
        """Fill the buffer, and give its first row; arguments as of :meth:`StreamBuffer.filled`."""
        found = self.buffer.filled(helpers, pointer, offsets)
        self.buffer.set("base", self._scalar())
        self.buffer.set("rows", self.buffer.rows)
        if not self.same_lanes:
            self.buffer.set("active", mask_bits(self.buffer.b, self.vector, self.buffer.lanes))
        return found

    def _scalar(self) -> str:
        b, scalar = self.buffer.b, self.base_offset.scalar
        return b.cast(b.retype(scalar, unsigned_of(scalar.type.size)), types.UQ).text

    def _row(self) -> str:
        """The row of the buffer for the lanes; a number beyond all rows if they are between two rows (i64)."""
        b, shift = self.buffer.b, (self.buffer.element.size // self.unit).bit_length() - 1
        distance = b.assign(f"sub i64 {self._scalar()}, {self.buffer.field('base')}")
        if not shift:
            return distance
        b.declare("llvm.fshr.i64", "i64", "i64, i64, i64")
        return b.assign(f"call i64 @llvm.fshr.i64(i64 {distance}, i64 {distance}, i64 {shift})")

    def _fits(self) -> str:
        """Whether no lane wraps around within the buffer before it is widened (i1)."""
        b, narrow = self.buffer.b, self.base_offset.narrow
        assert narrow
        source = narrow.type
        most = (1 << source.bits - source.is_signed) - 1
        fits = narrow <= b.broadcast(b.const(most - PREFETCH_BYTES, source), self.buffer.lanes)
        return b.all(fits if self.vector is None else fits | ~self.vector)


def _filler(name: str, index: types.DataType, size: int, lanes: int) -> str:
    """The module of a function that takes a host pointer, offsets of the lanes' next elements from there, and a buffer,
    and fills the buffer with rows of elements of a size.
    """
    declarations: dict[str, str] = {}
    b, element, row = Builder(declarations), unsigned_of(size), lanes * size
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

    A line has the chunks of every n-th lane. Two lines are interleaved chunk by chunk, as processors do it: then the
    bit of the lane's number that selects the line selects an element, and the half of a chunk becomes a bit of the
    line's number. One half of the lines is done before the other is loaded, so that registers suffice.
    """
    wide = min(count, max(wide, count // lanes))
    lines = count // wide
    elements = lanes * wide

    def interleaved_halves(x: Value, y: Value, first: int) -> Value:
        """Interleave the halves, from an element on, of all chunks."""
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
    """The accesses of one function that may be prefetched."""

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
        """Buffers that are valid until a value (SSA name) is computed anew."""

    def begin_anew(self) -> None:
        """Forget all accesses, before the first emission with new assumptions."""
        self.buffers, self.emissions = {}, 0
        self.inductions.forget()

    def begin(self, writers: Mapping[int, Set[int]]) -> None:
        """Begin an emission. Accesses that are new in the second emission get no buffers.

        Args:
            writers: the instructions that wrote each root variable in the emission before.
        """
        self.access_counts, self.dependents = {}, {}
        self.emissions += 1
        if self.emissions > 1 and self.buffers:
            self.inductions.learn(writers)

    def before(self, pc: int, only_reads: bool) -> None:
        """Emit the code in front of an instruction. ``only_reads``: it neither writes nor orders memory."""
        self.b.tracks_base_offset = pc in self.read_only_loops
        if not only_reads or pc in self.inductions.writers:
            self.invalidate()

    def increment(self, pc: int, mask: Mask) -> None:
        """Emit the code behind an increment, which lanes of a mask execute."""
        self.inductions.increment(pc)
        if mask is True:
            return
        loop, bits = self.inductions.slots[pc].variable.loop, mask_bits(self.b, mask, mask.lanes)
        for (at, _), buffer in self.buffers.items():
            if at in loop:
                buffer.set("active", self.b.assign(f"and i64 {buffer.field('active')}, {bits}"))

    def read(self, root: int, low: int, value: Value) -> Value:
        """A value read from a variable, with its base offset if it is an induction variable."""
        return (
            self.inductions.with_base_offset(self.read_only_loops.get(self.at()), root, low, value)
            if self.inductions.slots
            else value
        )

    def stream(self, part: LanePart, offset: Value, vector: Value | None) -> Stream | None:
        """The stream of an access at this place; None for an access without one, and in the first emission."""
        buffer = self._buffer(part)
        return self._stream(buffer, offset, vector) if buffer is not None and self.emissions > 1 else None

    def _buffer(self, part: LanePart) -> StreamBuffer | None:
        """The buffer of an access at this place; None if it can have none. Its surface must be the same in all rounds,
        which the first emission cannot tell.
        """
        pc, element = self.at(), part.element
        if pc not in self.read_only_loops or part.count > 1 or element.size not in _SIZES or part.lanes not in _LANES:
            return None
        space, is_first = part.space, self.emissions == 1
        always_there = space.is_flat or is_first or space.pointer in self.b.levels
        if part.offset.lanes != part.lanes or space.kind not in (cx.FLAT, cx.SURFACE) or not always_there:
            return None
        number = self.access_counts[pc] = self.access_counts.get(pc, 0) + 1
        found = self.buffers.get((pc, number))
        if found is None and is_first and len(self.buffers) < MAXIMUM_STREAMS:
            found = StreamBuffer(self.b, f"%walk{len(self.buffers)}", element, part.lanes)
            self.buffers[pc, number] = found
        return found if found is not None and (found.element, found.lanes) == (element, part.lanes) else None

    def _stream(self, buffer: StreamBuffer, offset: Value, vector: Value | None) -> Stream | None:
        """The stream of lanes whose addresses differ by a scalar from a vector computed in front of the loop."""
        base_offset = offset.facts.base_offset
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
        return Stream(buffer, base_offset, vector, same_lanes)

    def _first_line(self) -> int:
        """The line at which the code of the current loop begins."""
        loop = self.read_only_loops[self.at()].start
        labels = (f"check{loop}:", f"block{loop}:")
        return next(n for n, line in enumerate(self.b.lines) if line in labels)

    def _is_loop_invariant(self, value: Value, first: int) -> bool:
        """Whether a value is computed in front of a line."""
        name = value.text
        if not name.startswith("%") or name in self.b.levels:
            return True
        beginning = f"  {name} = "
        return any(line.startswith(beginning) for line in self.b.lines[:first])

    def invalidate(self) -> None:
        """Emit the invalidation of all buffers."""
        self.b.lines += [buffer.invalidation() for buffer in self.buffers.values()]

    def end(self) -> None:
        """End an emission: buffers become invalid where the values that they depend on are computed anew."""
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
                pending += [buffer.invalidation() for buffer in self.dependents[name]]
        self.b.lines = lines + pending
