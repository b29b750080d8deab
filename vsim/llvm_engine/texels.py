"""Loads and stores of texels, in functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from visa import types
from visa.types import DataType
from vsim.llvm_engine import context as cx
from vsim.llvm_engine.access import Access, AccessPattern, Fault, Place
from vsim.llvm_engine.ir import MASK, OLD_MASKED, SUFFIXES, Builder, Value, ir_type, module


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
                found = [
                    self.b.value(data_type, offset.lanes, f"extractvalue {result} {values}, {k}") for k in range(count)
                ]
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
                b.emit(
                    f"call void @{name}(ptr {place.pointer}, {offset.typed}, {part.typed}, {', '.join(v.typed for v in own)})"
                )
            first += lanes

    def _alike(self, address: Value, mask: Any) -> Iterator[tuple[Value, Value]]:
        """Address and mask with the same number of lanes, by the rows of the work-group."""
        b = self.b
        mask = Value(b, MASK, 1, "true") if mask is True else mask
        lanes = max(address.lanes, mask.lanes)
        return self._rows(b.broadcast(address, lanes), b.broadcast(mask, lanes), self.row or lanes)

    def resolve(self, place: Place, address: str, count: int, lane: Callable[[], str]) -> str:
        return self.b.assign(f"getelementptr i8, ptr {place.pointer}, i64 {address}")

    def _row(self, place: Place, low: Value, size: int, lanes: int, vector: Value | None) -> str:
        return self.b.assign(f"getelementptr i8, ptr {place.pointer}, i64 {self._address(place, low)}")

    def _function(self, op: str, data_type: DataType, lanes: int, count: int) -> tuple[str, str]:
        """Name and type of the result of a function: whole vectors where lanes follow each other, else a gather or scatter."""
        name, ir = f"texels_{op}_{ir_type(data_type, 1)}_{lanes}x{count}", ir_type(data_type, lanes)
        result = f"{{ {', '.join([ir] * count)} }}" if op == "load" else "void"
        if name not in self.helpers:
            b = Builder({})
            own, place = Texels(b, self._leave, self.helpers), Place(cx.SURFACE, "%base")
            offset, mask = Value(b, types.UQ, lanes, "%offsets"), Value(b, MASK, lanes, "%mask")
            values = [Value(b, data_type, lanes, f"%value{k}") for k in range(count)] if op == "store" else []
            given = ", ".join(["ptr %base", *(v.typed for v in (offset, mask, *values))])
            if op == "load":
                found = "poison"
                for k, value in enumerate(
                    own._guarded(mask, partial(own._load_part, place, offset, data_type, mask, count))
                ):
                    found = b.assign(f"insertvalue {result} {found}, {value.typed}, {k}")
                b.emit(f"ret {result} {found}")
            else:
                own._guarded(mask, partial(own._store_part, place, offset, values, mask, lanes))
                b.emit("ret void")
            self.helpers[name] = module(
                ["\n".join([f"define {result} @{name}({given}) #1 {{", "entry:", *b.lines, "}"])], b.intrinsics
            )
        vectors = ", ".join([ir] * count) if op == "store" else ""
        self.b.declare(
            name, result, f"ptr, {ir_type(types.UQ, lanes)}, {ir_type(MASK, lanes)}{', ' if vectors else ''}{vectors}"
        )
        return name, result

    def _shape(self, place: Place, offset: Value, size: int, vector: Value | None) -> AccessPattern:
        shape = super()._shape(place, offset, size, vector)
        shape.uniform = "false"  # Lanes outside the mask must be 0, and texels seldom are the same.
        return shape

    def _load_scattered(
        self, place: Place, offset: Value, data_type: DataType, vector: Value | None, count: int, rare: bool
    ) -> list[Value]:
        ir = ir_type(data_type, offset.lanes)
        return [
            self.b.value(
                data_type,
                offset.lanes,
                self._lanes_of("gather", ir, "", place, column, data_type, vector, f", {ir} zeroinitializer"),
            )
            for column, _ in self._columns(offset, data_type.size, count)
        ]

    def _store_scattered(
        self, place: Place, offset: Value, values: list[Value], vector: Value | None, rare: bool
    ) -> None:
        for value, (column, _) in zip(values, self._columns(offset, values[0].type.size, len(values)), strict=True):
            self.b.emit(self._lanes_of("scatter", "void", f"{value.typed}, ", place, column, value.type, vector, ""))

    def _lanes_of(
        self,
        op: str,
        result: str,
        value: str,
        place: Place,
        offset: Value,
        data_type: DataType,
        mask: Value | None,
        default: str,
    ) -> str:
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
