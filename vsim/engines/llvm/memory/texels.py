"""Texels: loads and stores inside images, whose coordinates were checked, so that the bytes need no bounds.

Kernels have many of them with arbitrary lanes, so each kind is one function (type, lanes, elements),
shared by all modules: whole vectors where lanes follow each other, else a gather or scatter.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm import abi as cx
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.joins import if_any
from vsim.engines.llvm.ir.module import module
from vsim.engines.llvm.ir.types import MASK, ir_type
from vsim.engines.llvm.ir.values import Mask, Value
from vsim.engines.llvm.memory.access import PartAccess
from vsim.engines.llvm.memory.bounds import CheckedBounds, FaultExit, UncheckedBounds
from vsim.engines.llvm.memory.part import LanePart, rows
from vsim.engines.llvm.memory.scatter import HardwareGather, OutOfLineAccess
from vsim.engines.llvm.memory.space import MemorySpace
from vsim.engines.llvm.memory.watch import AccessWatch

SMALLEST_GATHERED = 4
"""Bytes of an element from which on the host's gathers can load it."""


class TexelAccess:
    """Loads and stores of texels in one function; ``row``: lanes in a row of the work-group, 0 if that is not known."""

    def __init__(self, b: Builder, leave: FaultExit, helpers: dict[str, str], row: int = 0) -> None:
        self.b, self.helpers, self.row = b, helpers, row
        self.out_of_line = OutOfLineAccess(b, CheckedBounds(b, leave, helpers))
        # Lanes outside the mask must be 0, and texels seldom are the same: no test for one place.
        self.parts = PartAccess(b, UncheckedBounds(b), HardwareGather(b))
        self.watch: AccessWatch | None = None

    def load(self, space: MemorySpace, address: Value, element: DataType, mask: Mask, count: int = 1) -> list[Value]:
        """``count`` consecutive elements for each lane; 0 where the mask does not hold."""
        b, parts = self.b, []
        for offset, own, first in self._rows(address, mask):
            part = LanePart(space, offset, own, element, count, offset.lanes, first)
            if offset.lanes == 1:
                found = if_any(b, own, partial(self.parts.load, part))
            elif element.size < SMALLEST_GATHERED:
                found = self.out_of_line.load(part, offset, own, rare=False)
            else:
                name, result = self._function("load", element, offset.lanes, count)
                values = b.assign(f"call {result} @{name}(ptr {space.pointer}, {offset.typed}, {own.typed})")
                found = [b.value(element, offset.lanes, f"extractvalue {result} {values}, {k}") for k in range(count)]
            self._tell(part, None)
            parts.append(found)
        return [b.concat(list(column)) for column in zip(*parts, strict=True)]

    def store(self, space: MemorySpace, address: Value, values: list[Value], mask: Mask) -> None:
        """Consecutive elements for each active lane; of lanes with one address the highest wins."""
        b, element = self.b, values[0].type
        for offset, own, first in self._rows(address, mask):
            lanes = offset.lanes
            part = LanePart(space, offset, own, element, len(values), lanes, first)
            row = list(range(first, first + lanes))
            mine = [b.broadcast(v if v.lanes in (1, lanes) else b.lanes(v, row), lanes) for v in values]
            if lanes == 1:
                if_any(b, own, partial(self.parts.store, part, mine))
            elif element.size < SMALLEST_GATHERED:
                self.out_of_line.store(part, offset, mine, own, rare=False)
            else:
                name, _ = self._function("store", element, lanes, len(values))
                operands = ", ".join(v.typed for v in (offset, own, *mine))
                b.emit(f"call void @{name}(ptr {space.pointer}, {operands})")
            self._tell(part, mine)

    def _tell(self, part: LanePart, values: list[Value] | None) -> None:
        """Tell a check of a store of values, or of a load."""
        if self.watch is not None:
            pointer, vector = part.space.pointer, part.mask
            assert pointer is not None and vector is not True
            if part.lanes == 1:
                self.watch.loop(part, part.offset, vector, values)
            else:
                self.watch.each(part, pointer, part.offset, vector, values)

    def _rows(self, address: Value, mask: Mask) -> Iterator[tuple[Value, Value, int]]:
        """Addresses and masks with the same number of lanes, by the rows of the work-group."""
        b = self.b
        given = Value(b, MASK, 1, "true") if mask is True else mask
        lanes = max(address.lanes, given.lanes)
        if self.watch is not None:
            self.watch.begin(lanes)
        for offset, own, first in rows(b.broadcast(address, lanes), b.broadcast(given, lanes), self.row or lanes):
            assert own is not True
            yield offset, own, first

    def _function(self, op: str, element: DataType, lanes: int, count: int) -> tuple[str, str]:
        """Name and result type of the function for a kind of access, which the module links to."""
        name, ir = f"texels_{op}_{ir_type(element, 1)}_{lanes}x{count}", ir_type(element, lanes)
        result = f"{{ {', '.join([ir] * count)} }}" if op == "load" else "void"
        if name not in self.helpers:
            self.helpers[name] = self._body(name, result, element, lanes, count)
        vectors = ", ".join([ir] * count) if op == "store" else ""
        arguments = f"ptr, {ir_type(types.UQ, lanes)}, {ir_type(MASK, lanes)}{', ' if vectors else ''}{vectors}"
        self.b.declare(name, result, arguments)
        return name, result

    def _body(self, name: str, result: str, element: DataType, lanes: int, count: int) -> str:
        """The module of a function; one without a result stores."""
        b, stores = Builder({}), result == "void"
        parts = PartAccess(b, UncheckedBounds(b), HardwareGather(b))
        offset, mask = Value(b, types.UQ, lanes, "%offsets"), Value(b, MASK, lanes, "%mask")
        values = [Value(b, element, lanes, f"%value{k}") for k in range(count)] if stores else []
        part = LanePart(MemorySpace(cx.SURFACE, "%base"), offset, mask, element, count, lanes)
        if stores:
            if_any(b, mask, partial(parts.store, part, values))
            b.emit("ret void")
        else:
            found = "poison"
            for k, value in enumerate(if_any(b, mask, partial(parts.load, part))):
                found = b.assign(f"insertvalue {result} {found}, {value.typed}, {k}")
            b.emit(f"ret {result} {found}")
        given = ", ".join(["ptr %base", *(v.typed for v in (offset, mask, *values))])
        text = "\n".join([f"define {result} @{name}({given}) #1 {{", "entry:", *b.lines, "}"])
        return module([text], b.declarations)
