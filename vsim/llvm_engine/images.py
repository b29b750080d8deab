"""Finds images and samplers: code is emitted for each kind that the launch has, behind tests where the number is not known when it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeVar

from visa import types
from visa.types import DataType
from vsim.abi import IMAGE_HANDLE_STEP, URB, Bound
from vsim.images import ImageKind, SurfaceImage
from vsim.llvm_engine import Unsupported
from vsim.llvm_engine import context as cx
from vsim.llvm_engine.access import Access, Fault, Place, Shape
from vsim.llvm_engine.ir import MASK, OLD_MASKED, SUFFIXES, Builder, Value, ir_type
from vsim.memory import SamplerState
from vsim.semantics.algebra import ImageView

Choice = TypeVar("Choice", bound=Hashable)


@dataclass
class ImageNumber:
    """The number of a surface, or the handle of a bindless image."""

    bindless: bool
    value: Value


def kinds(bound: Bound) -> tuple[tuple[bool, int, ImageKind], ...]:
    """All images of a launch: bindless or not, number, kind. Code is made for them."""
    surfaces = [(False, n, s.kind) for n, s in bound.surfaces.items() if isinstance(s, SurfaceImage)]
    return (*surfaces, *((True, handle, image.kind) for handle, image in bound.images.items()))


def place_in_table(bindless: bool, number: int) -> int:
    """The entry of the table of surfaces: the URB and bindless images stand behind the numbered surfaces."""
    return cx.SURFACE_LIMIT + number // IMAGE_HANDLE_STEP if bindless else number if number != URB else cx.SURFACE_LIMIT


class Images:
    """Images and samplers in one function."""

    def __init__(self, builder: Builder, fault: Fault, bound: Bound) -> None:
        self.b, self.fault, self.bound = builder, fault, bound

    def with_image(self, image: ImageNumber, act: Callable[[ImageView], list[Value]]) -> list[Value]:
        """What ``act`` emits for the image; surfaces that are no image leave the function."""
        wanted = {number: kind for bindless, number, kind in kinds(self.bound) if bindless == image.bindless}
        return self._choose(image.value, wanted, None, lambda kind: act(self._view(image, kind)))

    def with_sampler(self, number: Value, act: Callable[[SamplerState], list[Value]]) -> list[Value]:
        return self._choose(number, self.bound.samplers, SamplerState(), act)

    def _view(self, image: ImageNumber, kind: ImageKind) -> ImageView:
        b, number = self.b, image.value
        table = b.assign(f"load ptr, ptr {b.offset('%ctx', cx.SURFACES)}, align 8, !invariant.load !0")
        if number.constant is not None:
            entry = b.offset(table, place_in_table(image.bindless, number.constant) * cx.SURFACE_ENTRY)
        else:
            index = b.cast(number, types.UQ)
            if image.bindless:
                index = b.udiv(index, b.const(IMAGE_HANDLE_STEP, types.UQ)) + b.const(cx.SURFACE_LIMIT, types.UQ)
            entry = b.assign(f"getelementptr [{cx.SURFACE_ENTRY} x i8], ptr {table}, i64 {index.text}")
        pointer = b.assign(f"load ptr, ptr {entry}, align 8, !invariant.load !0")
        size = b.assign(f"load i64, ptr {b.offset(entry, 8)}, align 8, !invariant.load !0")
        sizes = [b.value(types.D, 1, f"load i32, ptr {b.offset(entry, cx.SURFACE_SIZES + 4 * axis)}, align 4, !invariant.load !0") for axis in range(kind.axes)]
        return ImageView(kind, sizes, Place(cx.SURFACE, pointer, size, inside=True))

    def _choose(self, number: Value, wanted: dict[int, Choice], default: Choice | None, act: Callable[[Choice], list[Value]]) -> list[Value]:
        """``act`` for what a number means; where the number is not known now, a branch for each thing that it may mean."""
        if number.constant is not None:
            found = wanted.get(number.constant, default)
            if found is None:
                raise Unsupported(f"surface {number.constant}, which is no image")
            return act(found)
        b = self.b
        groups: dict[Choice, list[int]] = {}
        for n, choice in wanted.items():
            if choice != default:
                groups.setdefault(choice, []).append(n)
        tests = {choice: reduce(lambda x, y: x | y, (number == b.const(n, number.type) for n in numbers)) for choice, numbers in groups.items()}
        if default is None:
            if not tests:
                raise Unsupported("a surface in a launch without images")
            known: Value = reduce(lambda x, y: x | y, tests.values())
            self.fault((~known).text, cx.IMAGE, "0", "0", b.cast(number, types.UQ).text, "0")
            default, _ = tests.popitem()
        return self._branches(list(tests.items()), default, act)

    def _branches(self, tests: list[tuple[Choice, Value]], default: Choice, act: Callable[[Choice], list[Value]]) -> list[Value]:
        b = self.b
        if not tests:
            return act(default)
        before, done = b.mark(), b.new_label("chosen")
        arms: list[tuple[list[Value], str]] = []
        for choice, test in tests:
            way, other = b.new_label("way"), b.new_label("other")
            b.emit(f"br i1 {test.text}, label %{way}, label %{other}")
            b.label(way, before)
            arms.append((act(choice), b.end_block(done)))
            b.label(other, before)
        arms.append((act(default), b.end_block(done)))
        b.label(done, before)
        ends = [end for _, end in arms]
        return [self._joined(column, ends) for column in zip(*(values for values, _ in arms), strict=True)]

    def _joined(self, values: tuple[Value, ...], ends: list[str]) -> Value:
        lanes = max(v.lanes for v in values)
        if any(v.lanes != lanes and v.text.startswith("%") for v in values):
            raise Unsupported("kinds of images that give one lane and many")
        return self.b.phi([self.b.broadcast(v, lanes) for v in values], ends)


class Texels(Access):
    """Loads and stores of texels, which are known to be inside their image; ``row``: how many lanes make a row of the work-group, 0 if that is not known.

    They are functions of their own, for there are many of them and lanes may lie in any way.
    """

    def __init__(self, builder: Builder, fault: Fault, helpers: dict[str, str], row: int = 0) -> None:
        super().__init__(builder, "%ctx", fault, helpers)
        self.row = row

    def load(self, place: Place, address: Value, data_type: DataType, mask: Any, count: int = 1) -> list[Value]:
        """``count`` consecutive elements for each lane; 0 where the mask does not hold."""
        parts = []
        for offset, part in self._alike(address, mask):
            if offset.lanes == 1:
                found = self._guarded(part, partial(self._load_part, place, offset, data_type, part, count))
            elif data_type.size < 4:
                found = super()._load_scattered(place, offset, data_type, part, count, False)
            else:
                name, result = self._function("load", data_type, offset.lanes, count)
                values = self.b.assign(f"call {result} @{name}(ptr {place.pointer}, {offset.typed}, {part.typed})")
                found = [self.b.value(data_type, offset.lanes, f"extractvalue {result} {values}, {k}") for k in range(count)]
            parts.append(found)
        return [self.b.concat(list(column)) for column in zip(*parts, strict=True)]

    def store(self, place: Place, address: Value, values: list[Value], mask: Any) -> None:
        """Consecutive elements for each active lane; of lanes with one address the highest wins."""
        b, data_type, first = self.b, values[0].type, 0
        for offset, part in self._alike(address, mask):
            row, lanes = list(range(first, first + offset.lanes)), offset.lanes
            own = [b.broadcast(v if v.lanes in (1, lanes) else b.shuffle(v, row), lanes) for v in values]
            if lanes == 1:
                self._guarded(part, partial(self._store_part, place, offset, own, part, 1))
            elif data_type.size < 4:
                super()._store_scattered(place, offset, own, part, False)
            else:
                name, _ = self._function("store", data_type, lanes, len(values))
                b.emit(f"call void @{name}(ptr {place.pointer}, {offset.typed}, {part.typed}, {', '.join(v.typed for v in own)})")
            first += lanes

    def _alike(self, address: Value, mask: Any) -> Iterator[tuple[Value, Value]]:
        """Address and mask with the same number of lanes, by the rows of the work-group."""
        b = self.b
        mask = Value(b, MASK, 1, "true") if mask is True else mask
        lanes = max(address.lanes, mask.lanes)
        return self._rows(b.broadcast(address, lanes), b.broadcast(mask, lanes), self.row or lanes)

    def resolve(self, place: Place, address: str, count: str, lane: str, step: int = 0) -> str:
        return self.b.assign(f"getelementptr i8, ptr {place.pointer}, i64 {address}")

    def _function(self, op: str, data_type: DataType, lanes: int, count: int) -> tuple[str, str]:
        """Name and type of the result of a function: whole vectors where lanes follow each other, else a gather or scatter."""
        name, ir = f"texels_{op}_{ir_type(data_type, 1)}_{lanes}x{count}", ir_type(data_type, lanes)
        result = f"{{ {', '.join([ir] * count)} }}" if op == "load" else "void"
        if name not in self.helpers:
            b = Builder(self.b.intrinsics)
            own, place = Texels(b, self._leave, self.helpers), Place(cx.SURFACE, "%base")
            offset, mask = Value(b, types.UQ, lanes, "%offsets"), Value(b, MASK, lanes, "%mask")
            values = [Value(b, data_type, lanes, f"%value{k}") for k in range(count)] if op == "store" else []
            given = ", ".join(["ptr %base", *(v.typed for v in (offset, mask, *values))])
            if op == "load":
                found = "poison"
                for k, value in enumerate(own._guarded(mask, partial(own._load_part, place, offset, data_type, mask, count))):
                    found = b.assign(f"insertvalue {result} {found}, {value.typed}, {k}")
                b.emit(f"ret {result} {found}")
            else:
                own._guarded(mask, partial(own._store_part, place, offset, values, mask, lanes))
                b.emit("ret void")
            self.helpers[name] = "\n".join([f"define internal {result} @{name}({given}) #1 {{", "entry:", *b.lines, "}"])
        return name, result

    def _shape(self, place: Place, offset: Value, size: int, vector: Value | None, first: str) -> Shape:
        shape = super()._shape(place, offset, size, vector, first)
        shape.uniform = "false"  # Lanes outside the mask must be 0, and texels seldom are the same.
        return shape

    def _load_scattered(self, place: Place, offset: Value, data_type: DataType, vector: Value | None, count: int, rare: bool) -> list[Value]:
        ir = ir_type(data_type, offset.lanes)
        return [
            self.b.value(data_type, offset.lanes, self._lanes_of("gather", ir, "", place, column, data_type, vector, f", {ir} zeroinitializer"))
            for column, _ in self._columns(offset, data_type.size, count)
        ]

    def _store_scattered(self, place: Place, offset: Value, values: list[Value], vector: Value | None, rare: bool) -> None:
        for value, (column, _) in zip(values, self._columns(offset, values[0].type.size, len(values)), strict=True):
            self.b.emit(self._lanes_of("scatter", "void", f"{value.typed}, ", place, column, value.type, vector, ""))

    def _lanes_of(self, op: str, result: str, value: str, place: Place, offset: Value, data_type: DataType, mask: Value | None, default: str) -> str:
        """A call of ``llvm.masked.gather`` or ``scatter``."""
        assert mask
        b, lanes = self.b, offset.lanes
        ir, pointers, align = ir_type(data_type, lanes), f"<{lanes} x ptr>", "i32, " if OLD_MASKED else ""
        name = f"llvm.masked.{op}.v{lanes}{SUFFIXES[ir_type(data_type, 1)]}.v{lanes}p0"
        before, behind = (f"{ir}, ", "") if op == "scatter" else ("", f", {ir}")
        b.declare(name, result, f"{before}{pointers}, {align}{mask.ir}{behind}")
        places = b.assign(f"getelementptr i8, ptr {place.pointer}, {offset.typed}")
        target = f"{pointers} {places}, i32 4" if OLD_MASKED else f"{pointers} align 4 {places}"
        return f"call {result} @{name}({value}{target}, {mask.typed}{default})"
