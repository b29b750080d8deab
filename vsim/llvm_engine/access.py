"""Emits loads, stores and atomics: contiguous and uniform addresses take vector and scalar paths, everything is bounds-checked.

``Place`` names a piece of memory: the flat address space, or a host pointer with a size (a surface, local memory, scratch).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from visa import types
from visa.types import DataType
from vsim.llvm_engine import context as cx
from vsim.llvm_engine.ir import OLD_MASKED, SUFFIXES, Builder, Value, ir_type
from vsim.llvm_engine.lanes import lane_function, row_function, widened_function


@dataclass
class Place:
    """Memory of a message. ``pointer`` and ``size`` are SSA values; None for the flat address space. ``inside``: whoever uses it checks addresses."""

    kind: int
    pointer: str | None = None
    size: str | None = None
    number: str = "0"
    address_mask: int | None = None
    inside: bool = False


@dataclass
class AccessPattern:
    """How the lanes of an access lie: where lane 0's element is or would be if they follow each other, and the address of all if they share it; whether
    they do (i1, perhaps constant)."""

    low: Value
    shared: Value
    contiguous: str = "false"
    uniform: str = "false"
    proved: bool = False


Emit = Callable[[], list[Value]]
Where = Callable[[], tuple[str, int, int, str]]
Fault = Callable[[str, int, str, str, Where], None]
"""Called with (condition, kind, number, size, where): leaves the function if the condition holds. ``where`` emits, off the way, lane, step to the
next lane's address, bytes of each lane and address."""


def _apart(b: Builder, vectors: list[Value]) -> list[Value]:
    """Vectors that memory holds one behind the other, whose elements belong to each lane in turn, as one vector for each of a lane's elements."""
    count, lanes = len(vectors), vectors[0].lanes
    return [_picked(b, vectors, [divmod(i * count + k, lanes) for i in range(lanes)]) for k in range(count)]


def _together(b: Builder, values: list[Value]) -> list[Value]:
    """The opposite: vectors as memory holds them."""
    count, lanes = len(values), values[0].lanes
    return [
        _picked(b, values, [(e % count, e // count) for e in range(k * lanes, (k + 1) * lanes)]) for k in range(count)
    ]


def _picked(b: Builder, vectors: list[Value], places: list[tuple[int, int]]) -> Value:
    """A vector of lanes that are given as vector and lane; two vectors are mixed at a time."""
    lanes, found = vectors[0].lanes, vectors[0]
    for number, other in enumerate(vectors[1:], 1):
        picks = [
            lane if n == 0 and number == 1 else i if n < number else lanes + lane if n == number else -1
            for i, (n, lane) in enumerate(places)
        ]
        text = ", ".join(f"i32 {p}" if p >= 0 else "i32 poison" for p in picks)
        found = b.value(found.type, lanes, f"shufflevector {found.typed}, {other.typed}, <{lanes} x i32> <{text}>")
    return found


class Access:
    """Memory instructions of one function."""

    def __init__(self, builder: Builder, context: str, fault: Fault, helpers: dict[str, str]) -> None:
        self.b, self.context, self.helpers = builder, context, helpers
        self._leave = fault
        self._first_lane = 0

    # -- one element ---------------------------------------------------------------------------------------

    def fault(self, condition: str, place: Place, where: Where) -> None:
        """Leave the function if the condition holds; lanes are counted from the part of the access that is being emitted."""
        first = self._first_lane

        def counted() -> tuple[str, int, int, str]:
            lane, step, count, address = where()
            return (self.b.assign(f"add i64 {lane}, {first}") if first else lane), step, count, address

        self._leave(condition, place.kind, place.number, place.size or "0", counted)

    def offset_of(self, place: Place, address: Value) -> Value:
        """The address as the place takes it: 32 bits within surfaces and local memory, 64 in the flat space."""
        return address if place.pointer is None or address.narrow is None else address.narrow

    def _masked(self, place: Place, offset: Value) -> Value:
        return offset if place.address_mask is None else offset & self.b.const(place.address_mask, offset.type)

    def _wide(self, x: str, data_type: DataType) -> str:
        if data_type.size == 8:
            return x
        return self.b.assign(f"zext i32 {x} to i64") if x.startswith("%") else str(int(x) & (1 << 32) - 1)

    def _locate(self, place: Place, address: str, count: int) -> tuple[str, str]:
        """Whether any of ``count`` bytes from an address on is outside (i1), and the host pointer of the address if it is not."""
        b = self.b
        if place.pointer is None:
            base, pointer, size = self._buffer(address, b.assign)
            start = b.assign(f"sub i64 {address}, {base}")
        else:
            assert place.size
            pointer, size, start = place.pointer, place.size, address
        return self._within(start, pointer, size, count)

    def _buffer(self, address: str, assign: Callable[[str], str]) -> tuple[str, str, str]:
        """Address, host pointer and size of the buffer that an address of the flat space is in; the size is 0 if there is none."""
        b = self.b
        b.declare("llvm.umin.i64", "i64", "i64, i64")
        slot = assign(f"lshr i64 {address}, 32")
        slot = assign(f"call i64 @llvm.umin.i64(i64 {slot}, i64 {b.field(self.context, cx.SLOT_COUNT)})")
        entry = assign(
            f"getelementptr [{cx.SLOT_ENTRY} x i8], ptr {b.field(self.context, cx.SLOT_TABLE, 'ptr')}, i64 {slot}"
        )
        places = (
            entry,
            assign(f"getelementptr i8, ptr {entry}, i64 8"),
            assign(f"getelementptr i8, ptr {entry}, i64 16"),
        )
        base, pointer, size = (
            assign(f"load {ir}, ptr {at}, align 8, !invariant.load !0")
            for ir, at in zip(("i64", "ptr", "i64"), places, strict=True)
        )
        return base, pointer, size

    def _presume(self, low: Value, address: str, count: int) -> tuple[str, str]:
        """Like :meth:`_locate` for an address that is most likely in the buffer of the pointer that it was computed from."""
        b, base_pointer = self.b, low.base_pointer
        assert base_pointer
        given = b.once(
            f"load i64, ptr {b.once(f'getelementptr i8, ptr {base_pointer.payload}, i64 {base_pointer.byte}')}, align 1, !invariant.load !0"
        )
        base, pointer, size = self._buffer(given, b.once)
        return self._within(b.assign(f"sub i64 {address}, {base}"), pointer, size, count)

    def _within(self, start: str, pointer: str, size: str, count: int) -> tuple[str, str]:
        """Whether any of ``count`` bytes from a place on is outside, and where the place is."""
        b = self.b
        b.declare("llvm.usub.sat.i64", "i64", "i64, i64")
        assign = b.once if size in b.levels else b.assign
        limit = size if count == 1 else assign(f"call i64 @llvm.usub.sat.i64(i64 {size}, i64 {count - 1})")
        return b.assign(f"icmp uge i64 {start}, {limit}"), b.assign(f"getelementptr i8, ptr {pointer}, i64 {start}")

    def resolve(self, place: Place, address: str, count: int, lane: Callable[[], str]) -> str:
        """Host pointer of ``address``; ``count`` bytes from there on are inside, or the function is left.

        ``lane`` gives the one at the address.
        """
        outside, pointer = self._locate(place, address, count)
        self._check(outside, place, lambda: (lane(), 0, count, address))
        return pointer

    def _check(self, outside: str, place: Place, where: Where) -> None:
        """A fault, unless the same test was passed before."""
        fact = f"passed {outside}"
        if fact not in self.b.known:
            self.fault(outside, place, where)
            self.b.remember(fact, outside)

    # -- lanes ---------------------------------------------------------------------------------------------

    def _bits(self, vector: Value | None, lanes: int) -> str:
        """A mask (None for all lanes) as the bits of an i64."""
        b = self.b
        if vector is None:
            return str((1 << lanes) - 1) if lanes < 64 else "-1"
        if lanes == 1:
            return b.assign(f"zext i1 {vector.text} to i64")
        packed = b.assign(f"bitcast {vector.typed} to i{lanes}")
        return packed if lanes == 64 else b.assign(f"zext i{lanes} {packed} to i64")

    def _first(self, vector: Value | None, lanes: int) -> str:
        """The first active lane."""
        if vector is None:
            return "0"
        self.b.declare("llvm.cttz.i64", "i64", "i64, i1")
        return self.b.assign(f"call i64 @llvm.cttz.i64(i64 {self._bits(vector, lanes)}, i1 true)")

    def _last(self, vector: Value | None, lanes: int) -> str:
        """The last active lane."""
        if vector is None:
            return str(lanes - 1)
        self.b.declare("llvm.ctlz.i64", "i64", "i64, i1")
        behind = self.b.assign(f"call i64 @llvm.ctlz.i64(i64 {self._bits(vector, lanes)}, i1 true)")
        return self.b.assign(f"sub i64 63, {behind}")

    def load(self, place: Place, address: Value, data_type: DataType, mask: Any, count: int = 1) -> list[Value]:
        """``count`` consecutive elements for each lane, 0 where the mask does not hold."""
        b = self.b
        parts: list[list[Value]] = []
        bases = [""]
        for offset, part in self._parts(self.offset_of(place, address), count * data_type.size, mask):
            base = offset.affine.base.text if offset.affine and part is True else ""
            if base and base == bases[-1]:  # a row at the same place as the one before it
                parts.append(parts[-1])
            else:
                emit = partial(self._load_part, place, offset, data_type, part, count)
                parts.append(emit() if self._row_at_once(offset, count * data_type.size) else self._guarded(part, emit))
            bases.append(base)
        return [b.concat(list(column)) for column in zip(*parts, strict=True)]

    def store(self, place: Place, address: Value, values: list[Value], mask: Any) -> None:
        """Consecutive elements for each active lane; of lanes with one address the highest wins."""
        b, size = self.b, len(values) * values[0].type.size
        lanes = max(address.lanes, *(v.lanes for v in values), 1 if mask is True else mask.lanes)
        first = 0
        for offset, part in self._parts(self.offset_of(place, address), size, mask):
            row = list(range(first, first + offset.lanes))
            own = [v if v.lanes == 1 or offset.lanes in (1, lanes) else b.shuffle(v, row) for v in values]
            emit = partial(self._store_part, place, offset, own, part, lanes if address.lanes == 1 else offset.lanes)
            if self._row_at_once(offset, size):
                emit()
            else:
                self._guarded(part, emit)
            first += offset.lanes

    def _parts(self, offset: Value, size: int, mask: Any) -> Iterator[tuple[Value, Any]]:
        """An access by rows, where that makes the lanes of each row follow each other or share an address; else in one."""
        offset = self._settled(offset, mask)
        known = offset.affine
        if known is None or known.step not in (0, size):
            yield offset, mask
        else:
            yield from self._rows(offset, mask, known.row)

    def _rows(self, offset: Value, mask: Any, length: int) -> Iterator[tuple[Value, Any]]:
        """Rows of so many lanes, with their masks."""
        if length >= offset.lanes:
            yield offset, mask
            return
        for first in range(0, offset.lanes, length):
            row = list(range(first, first + length))
            self._first_lane = first
            yield self.b.shuffle(offset, row), mask if mask is True or mask.lanes == 1 else self.b.shuffle(mask, row)
        self._first_lane = 0

    def _settled(self, offset: Value, mask: Any) -> Value:
        """The address with what is known of the lanes that the mask leaves."""
        known = offset.affine
        if known is None or not known.masks:
            return offset
        inside = mask is not True and known.masks <= mask.inside | {mask.text}
        found = offset.copy(offset.type)
        found.affine = known.settled() if inside else None
        return found

    def _guarded(self, mask: Any, emit: Emit) -> list[Value]:
        """Emit what runs only if some lane is active; its values are 0 otherwise."""
        if mask is True:
            return emit()
        b = self.b
        some = b.any(mask)
        inside, behind, here, before = b.new_label("active"), b.new_label("behind"), b.block, b.mark()
        b.emit(f"br i1 {some}, label %{inside}, label %{behind}")
        b.label(inside, before)
        values = emit()
        last = b.end_block(behind)
        b.label(behind, before)
        zeros = [b.broadcast(b.const(0, v.type), v.lanes) for v in values]
        return [b.phi([v, zero], [last, here]) for v, zero in zip(values, zeros, strict=True)]

    def _row_at_once(self, offset: Value, size: int) -> bool:
        """Whether the lanes are one row of elements that follow each other: such an access needs no active lane."""
        known = offset.affine
        return offset.lanes > 1 and known is not None and known.row == offset.lanes and known.step == size

    def _shape(self, place: Place, offset: Value, size: int, vector: Value | None) -> AccessPattern:
        """How the active lanes lie, as far as it is proved, with the tests of what is not."""
        b, known, lanes, t = self.b, offset.affine, offset.lanes, offset.type
        if known is not None and known.row == lanes:
            low = b.retype(known.base, t)
            if known.step == size:
                return AccessPattern(low, low, contiguous=known.holds(), proved=True)
            return (
                AccessPattern(low, low, uniform=known.holds(), proved=True)
                if known.step == 0
                else AccessPattern(low, low)
            )
        offset = self._masked(place, offset)
        first = self._first(vector, lanes)
        at_first = b.value(t, 1, f"extractelement {offset.typed}, i64 {first}")
        low = at_first
        if first != "0":
            low = at_first - b.cast(Value(b, types.UQ, 1, first), t) * b.const(size, t)
        steps = Value(b, t, lanes, "<" + ", ".join(f"{ir_type(t, 1)} {i * size}" for i in range(lanes)) + ">")
        same, equal = offset == low + steps, offset == at_first
        if vector is not None:
            outside = ~vector
            same, equal = same | outside, equal | outside
        return AccessPattern(low, at_first, b.all(same), b.all(equal))

    def _ways(
        self, shape: AccessPattern, contiguous: Emit, uniform: Emit, scattered: Callable[[bool], list[Value]]
    ) -> list[Value]:
        """Code for each way in which the lanes may lie, behind the tests that are left to do; the values that it gives.

        Each way has checks of its own: where several accesses share addresses, LLVM decides once for all of them.
        """
        if "true" in (shape.contiguous, shape.uniform):
            return contiguous() if shape.contiguous == "true" else uniform()
        b, done = self.b, self.b.new_label("done")
        found: list[tuple[list[Value], str]] = []
        before = b.mark()
        for test, weight, emit in ((shape.contiguous, "", contiguous), (shape.uniform, ", !prof !2", uniform)):
            if test == "false":
                continue
            way, other = b.new_label("way"), b.new_label("other")
            b.emit(f"br i1 {test}, label %{way}, label %{other}{weight}")
            b.label(way, before)
            found.append((emit(), b.end_block(done)))
            b.label(other, before)
        found.append((scattered(shape.proved), b.end_block(done)))
        b.label(done, before)
        ends = [end for _, end in found]
        return [b.phi(column, ends) for column in zip(*(values for values, _ in found), strict=True)]

    def _row(self, place: Place, low: Value, size: int, lanes: int, vector: Value | None) -> str:
        """Host pointer of lane 0's element, where lanes follow each other. If not all of them are inside, the active ones must be."""
        b = self.b
        address = self._address(place, low)
        outside, pointer = self._of_row(place, low, address, lanes * size)
        if vector is None and not low.base_pointer:
            self._check(outside, place, lambda: ("0", size, size, address))
            return pointer
        fact = f"passed {outside} {vector.text if vector else ''}"
        if fact in b.known:
            return b.known[fact]
        edge, way, here, before = b.new_label("edge"), b.new_label("way"), b.block, b.mark()
        b.emit(f"br i1 {outside}, label %{edge}, label %{way}, !prof !1")
        b.label(edge, before)
        moved = self._part_of_row(place, low, size, self._bits(vector, lanes))
        end = b.end_block(way)
        b.label(way, before)
        return b.remember(fact, b.assign(f"phi ptr [ {pointer}, %{here} ], [ {moved}, %{end} ]"))

    def _of_row(self, place: Place, low: Value, address: str, count: int) -> tuple[str, str]:
        return self._presume(low, address, count) if low.base_pointer else self._locate(place, address, count)

    def _with_bounds(
        self, place: Place, shape: AccessPattern, size: int, lanes: int, vector: Value | None
    ) -> str | None:
        """Where it has to be tested whether lanes follow each other, and all of them are active, test in one whether all are inside; the row's pointer."""
        if place.pointer is not None or shape.contiguous in ("true", "false") or not shape.proved or vector is not None:
            return None
        outside, pointer = self._of_row(place, shape.low, self._address(place, shape.low), lanes * size)
        shape.contiguous = self.b.assign(f"and i1 {shape.contiguous}, {self.b.assign(f'xor i1 {outside}, true')}")
        return pointer

    def _part_of_row(self, place: Place, low: Value, size: int, bits: str) -> str:
        """Host pointer of where lane 0's element is or would be, if the active lanes are inside."""
        b, index = self.b, ir_type(low.type, 1)
        arguments, types_of, name = f"ptr {self.context}", "ptr", f"row_flat_{index}_{size}"
        if place.pointer is not None:
            arguments, types_of = f"ptr {place.pointer}, i64 {place.size}", "ptr, i64"
            name = f"row_region_{index}_{size}" + (f"_{place.address_mask:x}" if place.address_mask else "")
        if name not in self.helpers:
            self.helpers[name] = row_function(name, place.pointer is None, index, size, place.address_mask)
        b.declare(name, "{ i64, ptr }", f"{types_of}, {index}, i64")
        found = b.assign(f"call {{ i64, ptr }} @{name}({arguments}, {low.typed}, i64 {bits}) #2")
        bad, moved = (
            b.assign(f"extractvalue {{ i64, ptr }} {found}, 0"),
            b.assign(f"extractvalue {{ i64, ptr }} {found}, 1"),
        )
        self.fault(
            b.assign(f"icmp sge i64 {bad}, 0"), place, lambda: (bad, 0, size, b.assign(f"ptrtoint ptr {moved} to i64"))
        )
        return moved

    def _elements(self, pointer: str, data_type: DataType, count: int) -> list[Value]:
        """Consecutive elements, the same for all lanes."""
        return [self.b.load(data_type, 1, self.b.offset(pointer, k * data_type.size), 1) for k in range(count)]

    def _load_part(self, place: Place, offset: Value, data_type: DataType, mask: Any, count: int) -> list[Value]:
        b, size, lanes = self.b, count * data_type.size, offset.lanes
        if lanes == 1:
            whole = mask is True or mask.lanes == 1
            pointer = self.resolve(
                place, self._address(place, offset), size, lambda: "0" if whole else self._first(mask, mask.lanes)
            )
            return self._elements(pointer, data_type, count)
        vector = self._vector(mask, lanes)
        shape = self._shape(place, offset, size, vector)
        row = self._with_bounds(place, shape, size, lanes, vector)

        def contiguous() -> list[Value]:
            pointer = row or self._row(place, shape.low, size, lanes, vector)
            return _apart(
                b,
                [
                    self._load_vector(b.offset(pointer, k * lanes * data_type.size), data_type, lanes, m)
                    for k, m in self._masks(vector, lanes, count)
                ],
            )

        def uniform() -> list[Value]:
            pointer = self.resolve(place, self._address(place, shape.shared), size, lambda: self._first(vector, lanes))
            return [b.broadcast(v, lanes) for v in self._elements(pointer, data_type, count)]

        def scattered(rare: bool) -> list[Value]:
            return self._load_scattered(place, self._masked(place, offset), data_type, vector, count, rare)

        return self._ways(shape, contiguous, uniform, scattered)

    def _vector(self, mask: Any, lanes: int) -> Value | None:
        """A mask as a vector, None for all lanes."""
        return None if mask is True else self.b.broadcast(mask, lanes)

    def _address(self, place: Place, offset: Value) -> str:
        """A scalar offset as an i64 that counts in the place."""
        return self._wide(self._masked(place, offset).text, offset.type)

    def _columns(self, offset: Value, size: int, count: int) -> Iterator[tuple[Value, int]]:
        """Offsets of the elements of all lanes, one after the other, and the bytes behind the element that are to be checked with it."""
        for k in range(count):
            yield (offset + self.b.const(k * size, offset.type) if k else offset), 0 if k else (count - 1) * size

    def _masks(self, vector: Value | None, lanes: int, count: int) -> list[tuple[int, Value | None]]:
        """Masks of the vectors that the elements of all lanes fill, if each lane has ``count`` of them."""
        if vector is None or count == 1:
            return [(k, vector) for k in range(count)]
        return [(k, self.b.shuffle(vector, [(k * lanes + i) // count for i in range(lanes)])) for k in range(count)]

    def _load_vector(self, pointer: str, data_type: DataType, lanes: int, mask: Value | None) -> Value:
        b, ir = self.b, ir_type(data_type, lanes)
        if mask is None:
            return b.load(data_type, lanes, pointer, 1)
        name = f"llvm.masked.load.v{lanes}{SUFFIXES[ir_type(data_type, 1)]}.p0"
        b.declare(name, ir, f"ptr, i32, <{lanes} x i1>, {ir}" if OLD_MASKED else f"ptr, <{lanes} x i1>, {ir}")
        target = f"ptr {pointer}, i32 1" if OLD_MASKED else f"ptr align 1 {pointer}"
        return b.value(data_type, lanes, f"call {ir} @{name}({target}, {mask.typed}, {ir} zeroinitializer)")

    def _store_part(self, place: Place, offset: Value, values: list[Value], mask: Any, lanes: int) -> list[Value]:
        b, data_type, count = self.b, values[0].type, len(values)
        size = count * data_type.size
        vector = self._vector(mask, lanes)

        def single(address: Value) -> list[Value]:
            last = self._last(vector, lanes)
            pointer = self.resolve(place, self._address(place, address), size, lambda: last)
            for k, value in enumerate(values):
                element = (
                    value if value.lanes == 1 else b.value(value.type, 1, f"extractelement {value.typed}, i64 {last}")
                )
                b.store(element, b.offset(pointer, k * data_type.size), 1)
            return []

        if offset.lanes == 1:
            return single(offset)
        shape = self._shape(place, offset, size, vector)
        values = [b.broadcast(v, lanes) for v in values]
        row = self._with_bounds(place, shape, size, lanes, vector)

        def contiguous() -> list[Value]:
            pointer = row or self._row(place, shape.low, size, lanes, vector)
            for value, (k, m) in zip(_together(b, values), self._masks(vector, lanes, count), strict=True):
                self._store_vector(b.offset(pointer, k * lanes * data_type.size), value, m)
            return []

        def scattered(rare: bool) -> list[Value]:
            self._store_scattered(place, self._masked(place, offset), values, vector, rare)
            return []

        if not shape.proved:
            shape.uniform = "false"  # not worth a test: lanes seldom store to one place
        return self._ways(shape, contiguous, lambda: single(shape.shared), scattered)

    def _store_vector(self, pointer: str, value: Value, mask: Value | None) -> None:
        b, lanes = self.b, value.lanes
        if mask is None:
            b.store(value, pointer, 1)
            return
        name = f"llvm.masked.store.v{lanes}{SUFFIXES[ir_type(value.type, 1)]}.p0"
        b.declare(
            name, "void", f"{value.ir}, ptr, i32, <{lanes} x i1>" if OLD_MASKED else f"{value.ir}, ptr, <{lanes} x i1>"
        )
        target = f"ptr {pointer}, i32 1" if OLD_MASKED else f"ptr align 1 {pointer}"
        b.emit(f"call void @{name}({value.typed}, {target}, {mask.typed})")

    # -- lanes one by one ----------------------------------------------------------------------------------

    def _load_scattered(
        self, place: Place, offset: Value, data_type: DataType, vector: Value | None, count: int, rare: bool
    ) -> list[Value]:
        found = []
        for column, more in self._columns(offset, data_type.size, count):
            out = self._helper_call("load", place, column, vector, offset.lanes, data_type, [], rare, more)
            found.append(self.b.load(data_type, offset.lanes, out, 64))
        return found

    def _store_scattered(
        self, place: Place, offset: Value, values: list[Value], vector: Value | None, rare: bool
    ) -> None:
        for value, (column, more) in zip(values, self._columns(offset, values[0].type.size, len(values)), strict=True):
            self._helper_call("store", place, column, vector, offset.lanes, value.type, [value], rare, more)

    def _helper_call(
        self,
        op: str,
        place: Place,
        offset: Value,
        vector: Value | None,
        lanes: int,
        data_type: DataType,
        sources: list[Value],
        rare: bool = False,
        more: int = 0,
    ) -> str:
        """Call the loop that handles lanes one by one; leave the function if it reports a lane. Gives the place of the results.

        ``more``: bytes behind each element that must be inside, too.
        """
        b = self.b
        flat = place.pointer is None
        name = f"lanes_{op}_{'flat' if flat else 'region'}_{ir_type(offset.type, 1)}_{data_type.size}_{lanes}_{len(sources)}{'_rare' if rare else ''}"
        if name not in self.helpers:
            self.helpers[name] = lane_function(
                name, op, flat, ir_type(offset.type, 1), data_type.size, lanes, len(sources), rare
            )
        b.declare(
            name,
            "i64",
            ", ".join(["ptr, ptr, ptr, i64, i64", *(["ptr, i64"] if not flat else []), *["ptr"] * len(sources)]),
        )
        scratch = b.scratch(64 * (3 + len(sources)) + lanes * 8 * (2 + len(sources)))
        addresses = scratch
        if not (rare and self._lanes_from_narrow(addresses, offset)):
            b.store(b.broadcast(offset, lanes), addresses, 64)
        position = -(-lanes * 8 // 64) * 64
        result = b.offset(scratch, position)
        pointers = []
        for k, value in enumerate(sources):
            at = b.offset(scratch, position * (2 + k))
            b.store(b.broadcast(value, lanes), at, 64)
            pointers.append(f", ptr {at}")
        bits = self._bits(vector, lanes)
        region = "" if flat else f", ptr {place.pointer}, i64 {place.size}"
        bad = b.assign(
            f"call i64 @{name}(ptr {self.context}, ptr {addresses}, ptr {result}, i64 {bits}, i64 {more}{region}{''.join(pointers)}){' #2' if rare else ''}"
        )

        def where() -> tuple[str, int, int, str]:
            place_of = b.assign(f"getelementptr {ir_type(offset.type, 1)}, ptr {addresses}, i64 {bad}")
            return (
                bad,
                0,
                data_type.size + more,
                self._wide(
                    b.assign(f"load {ir_type(offset.type, 1)}, ptr {place_of}, align {offset.type.size}"), offset.type
                ),
            )

        self.fault(b.assign(f"icmp sge i64 {bad}, 0"), place, where)
        return result

    def _lanes_from_narrow(self, addresses: str, offset: Value) -> bool:
        """Compute addresses that may have wrapped around before they were widened, from what was widened; False if they are more than a multiple of it."""
        known = offset.affine
        widening = known.widened() if known else None
        if (
            known is None
            or widening is None
            or offset.type.size != 8
            or any(not isinstance(n, str) for n in widening.affine.needs)
        ):
            return False
        b, narrow = self.b, widening.affine
        source = ir_type(widening.source, 1)
        name = f"widened_{'s' if widening.source.is_signed else 'z'}{source}"
        if name not in self.helpers:
            self.helpers[name] = widened_function(name, widening.source)
        b.declare(name, "void", f"ptr, i64, i64, {source}, {source}, i64")
        jump = "0" if narrow.jump is None else narrow.jump.text
        shape = offset.lanes | known.first << 8 | narrow.row << 16 | narrow.step << 32
        b.emit(
            f"call void @{name}(ptr {addresses}, i64 {known.base.text}, i64 {known.factor}, {source} {narrow.base.text}, {source} {jump}, i64 {shape}) #2"
        )
        return True

    def mapped(self, place: Place, address: Value, size: int, mask: Any) -> Value:
        """The lanes whose first and last byte are inside a buffer (between two buffers there is always a gap)."""
        b, lanes = self.b, max(address.lanes, 1 if mask is True else mask.lanes)
        vector = self._vector(mask, lanes)
        found: Any = mask
        for offset in (address, address + b.const(size - 1, address.type)):
            out = self._helper_call(
                "mapped", place, b.broadcast(self._masked(place, offset), lanes), vector, lanes, types.UB, []
            )
            inside = b.load(types.UB, lanes, out, 64) != b.const(0, types.UB)
            found = inside if found is True else found & inside
        return cast(Value, found)

    def atomic(
        self, place: Place, op: str, address: Value, data_type: DataType, sources: list[Value], mask: Any
    ) -> Value:
        """Atomic operations in lane order; old values, 0 where the mask does not hold."""
        lanes = max([address.lanes, *(s.lanes for s in sources), 1 if mask is True else mask.lanes])
        b = self.b
        vector = self._vector(mask, lanes)
        offset = b.broadcast(self._masked(place, self.offset_of(place, address)), lanes)
        out = self._helper_call(op, place, offset, vector, lanes, data_type, sources)
        return b.load(data_type, lanes, out, 64)
