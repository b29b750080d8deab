"""Lane values: a scalar that is the same in every lane, or a vector with an element for each.

Operators emit an instruction where the builder stands and give its result; a scalar operand is broadcast, so that what
is uniform stays scalar. Values whose lanes are strided are *rematerialised*: they are emitted where they are used,
which for addresses of proved accesses is nowhere, and again where no earlier use dominates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.affine import AffineLanes, BasePointer, affine_product, affine_sum, uniform_rows
from vsim.engines.llvm.ir.base_offset import BaseOffset, base_offset_sum
from vsim.engines.llvm.ir.index import WideIndex
from vsim.engines.llvm.ir.types import MASK, ir_type, splat

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

MAXIMUM_DEPTH = 40
"""How many operations deep a value may wait to be emitted."""
LARGEST_SHIFT = 16
"""Counts of shifts up to which strided lanes stay strided."""
_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "and": lambda x, y: x & y,
    "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y, "shl": lambda x, y: x << y, "lshr": lambda x, y: x >> y,
}  # fmt: skip
"""Operations on known scalar integers, which are kept as their unsigned bits."""
_TOTAL = ("add", "sub", "mul", "and", "or", "xor", "lshr", "ashr")
"""Operations on integers that have a result for all operands which the semantics give them."""
_NEUTRAL = {"mul": 1, "and": -1}
"""The constant that as the second operand changes nothing, where it is not 0."""
_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


class Interleaved(NamedTuple):
    """Vectors of which a value has the first elements, then the second ones, and so on, from an element on.

    The value may have the same bits under another type.
    """

    rows: Sequence[Value | None]
    """None for one that is not known."""
    first: int

    @classmethod
    def of_pair(cls, before: Interleaved | None, number: int, row: Value) -> Interleaved:
        """Two rows: one is written, the other keeps its value if its elements have that size, too."""
        rows: list[Value | None] = [None, None]
        if before and len(before.rows) == 2 and not before.first:
            rows = [kept if kept and kept.type.size == row.type.size else None for kept in before.rows]
        rows[number] = row
        return cls(rows, 0)

    def part(self, data_type: DataType, indices: list[int]) -> tuple[Value, list[int]] | None:
        """A row, and numbers of its elements, that are elements of the value, under a type, by number."""
        count, start = len(self.rows), self.first + indices[0]
        every = indices == list(range(indices[0], indices[0] + count * len(indices), count))
        row = self.rows[start % count]
        if not every or row is None or row.type.size != data_type.size:
            return None
        return row, [(self.first + i) // count for i in indices]

    def dwords_of_qwords(self) -> tuple[Value, Value] | None:
        """The low and the high dwords, if the value is made of such pairs of integers."""
        if len(self.rows) != 2 or self.first:
            return None
        low, high = self.rows
        if low is None or high is None or any(not x.type.is_integer or x.type.size != 4 for x in (low, high)):
            return None
        return low, high

    def all_rows(self, value: Value) -> list[Value]:
        """The rows, if they are known and a value is made of all of their elements; else none."""
        rows = [row for row in self.rows if row]
        size = sum(row.lanes * row.type.size for row in rows)
        is_all = not self.first and len(rows) == len(self.rows) and size == value.lanes * value.type.size
        return rows if is_all else []

    def from_element(self, data_type: DataType, first: int) -> Interleaved | None:
        """What the elements of the value are from one on, counted under a type."""
        row = self.rows[0] or self.rows[-1]
        return Interleaved(self.rows, self.first + first) if row and row.type.size == data_type.size else None


class Value:
    """A lane value: LLVM type, name of the SSA value or constant, and the number if it is a known scalar integer."""

    __slots__ = (
        "affine", "base_offset", "base_pointer", "builder", "concatenated", "constant", "extended", "implies", "index",
        "interleaved", "inverse", "lanes", "narrow", "negated", "text", "type",
    )  # fmt: skip
    depth = 0

    def __init__(
        self, builder: Builder, data_type: DataType, lanes: int, text: str, constant: int | None = None
    ) -> None:
        self.builder, self.type, self.lanes, self.text, self.constant = builder, data_type, lanes, text, constant
        self.inverse: Value | None = None
        """The mask of which this is the opposite."""
        self.narrow: Value | None = None
        """The 32-bit value of which this is the zero extension."""
        self.extended: Value | None = None
        """The narrower integer of which this is the extension, by its sign or by zeros."""
        self.negated: Value | None = None
        """The integer of which this is the opposite."""
        self.affine: AffineLanes | None = None
        self.index: WideIndex | None = None
        """The index of 32 bits and the pointer of which this address was made."""
        self.base_offset: BaseOffset | None = None
        """The vector and the scalars of this sum, if the builder tracks them (``Builder.tracks_base_offset``)."""
        self.implies: frozenset[str] = frozenset()
        """Masks (SSA names) that hold wherever this mask does."""
        self.base_pointer: BasePointer | None = None
        """The pointer from which this address was computed."""
        self.interleaved: Interleaved | None = None
        """The vectors of which this was put together."""
        self.concatenated: tuple[Value, Value] | None = None
        """The vectors that this is, one behind the other."""

    @property
    def ir(self) -> str:
        """The LLVM type."""
        return ir_type(self.type, self.lanes)

    @property
    def typed(self) -> str:
        """Type and name, as operands are written."""
        return f"{ir_type(self.type, self.lanes)} {self.text}"

    def affine_over(self, lanes: int) -> AffineLanes | None:
        """What is known of the lanes of this value, as a scalar broadcast to so many."""
        return AffineLanes(self, 0, lanes) if self.lanes == 1 else self.affine

    def deferred(self, op: str, other: Value) -> Value:
        """An operation on integers that is emitted where its result is needed, which may be nowhere or off the hot
        path.
        """
        if self.constant is not None and other.constant is not None and op in _FOLDS:
            return self.builder.const(_FOLDS[op](self.constant, other.constant), self.type)
        if other.constant == _NEUTRAL.get(op, 0):
            return self
        if self.constant == _NEUTRAL.get(op, 0) and op in ("add", "mul", "or"):
            return self.builder.retype(other, self.type)

        def text() -> str:
            x, y = self.builder.match(self, other)
            return f"{op} {x.ir} {x.text}, {y.text}"

        depth, lanes = max(self.depth, other.depth) + 1, max(self.lanes, other.lanes)
        found = Rematerialized(self.builder, self.type, lanes, text, depth)
        if self.base_pointer or other.base_pointer:
            found.base_pointer = self._base_pointer(op, other)
        return found

    def copy(self, data_type: DataType) -> Value:
        """The same under a type with the same LLVM type."""
        found = Value(self.builder, data_type, self.lanes, self.text, self.constant)
        found.base_pointer, found.index = self.base_pointer, self.index
        return found

    def emitted(self) -> Value:
        """The same, emitted here."""
        return self

    # -- operators -----------------------------------------------------------------------------------------

    def binary(self, other: Value, integer: str, real: str) -> Value:
        """An instruction with two operands of one type; scalars are broadcast, constants folded."""
        op = real if self.type.is_float else integer
        if self.constant is not None and other.constant is not None and op in _FOLDS:
            return self.builder.const(_FOLDS[op](self.constant, other.constant), self.type)
        x, y = self.builder.match(self, other)
        found = self.builder.value(self.type, x.lanes, f"{op} {x.ir} {x.text}, {y.text}")
        if op in _TOTAL:
            found.affine = uniform_rows(self, other, op)
        if self.base_pointer or other.base_pointer:
            found.base_pointer = self._base_pointer(op, other)
        return found

    def _base_pointer(self, op: str, other: Value) -> BasePointer | None:
        """The pointer from which a sum or a difference was computed."""
        if op not in ("add", "sub"):
            return None
        distance = other.constant if self.base_pointer else self.constant
        found = self.base_pointer or (other.base_pointer if op == "add" else None)
        return found.moved(distance) if found and op == "add" and distance else found

    def _with_affine(
        self, known: AffineLanes | None, op: str, real: str, other: Value, index: WideIndex | None = None
    ) -> Value:
        """The result of an operation: deferred where its lanes, or their index, are known, else emitted."""
        base_offset = None
        if self.builder.tracks_base_offset and known is None and op in ("add", "sub"):
            base_offset = base_offset_sum(self, other, op)
        if known is None and base_offset is None and index is None:
            return self.binary(other, op, real)
        found = self.deferred(op, other)
        found.affine, found.base_offset, found.index = known, base_offset, index
        return found

    def __add__(self, other: Value) -> Value:
        if self.constant == 0 or other.constant == 0:
            kept = other if self.constant == 0 else self
            if kept.type.is_integer:
                return kept if kept.type is self.type else self.builder.retype(kept, self.type)
        if other.negated is not None:
            return self - other.negated
        if self.negated is not None:
            return other - self.negated
        index = self.index.plus(other) if self.index else other.index and other.index.plus(self)
        total = self._with_affine(affine_sum(self, other, 1), "add", "fadd", other, index)
        if self.narrow is not None and other.constant is not None:
            total.narrow = self.narrow + self.builder.const(other.constant, types.UD)
        return total

    def __sub__(self, other: Value) -> Value:
        return self._with_affine(affine_sum(self, other, -1), "sub", "fsub", other)

    def __mul__(self, other: Value) -> Value:
        if self.base_offset and other.constant is not None:
            return self._times(other.constant, "mul", other)
        known = affine_product(self, other) or affine_product(other, self)
        return self._with_affine(known, "mul", "fmul", other, self._index_times(other.constant))

    def _index_times(self, factor: int | None) -> WideIndex | None:
        return self.index.times(factor) if self.index and factor is not None else None

    def __lshift__(self, other: Value) -> Value:
        known = None
        if self.base_offset and other.constant is not None and other.constant <= LARGEST_SHIFT:
            return self._times(1 << other.constant, "shl", other)
        if other.constant is not None and other.constant <= LARGEST_SHIFT:
            known = affine_product(self, self.builder.const(1 << other.constant, self.type))
        factor = None if other.constant is None else 1 << other.constant
        return self._with_affine(known, "shl", "shl", other, self._index_times(factor))

    def _times(self, factor: int, op: str, other: Value) -> Value:
        """A base and a scalar offset, times a constant; ``op`` and ``other`` are the operation to emit."""
        assert self.base_offset
        found = self.deferred(op, other)
        found.base_offset = self.base_offset.times(factor)
        return found

    def __rshift__(self, other: Value) -> Value:
        return self.binary(other, "ashr" if self.type.is_signed else "lshr", "lshr")

    def __and__(self, other: Value | Literal[True]) -> Value:
        if other is True:
            return self
        if self.type is MASK:
            all_true = splat("i1 true", max(self.lanes, other.lanes))
            if all_true in (self.text, other.text):
                return other if self.text == all_true else self
        both = self.binary(other, "and", "and")
        if self.type is MASK:
            both.implies = self.implies | other.implies | {self.text, other.text}
        return both

    __rand__ = __and__

    @overload
    def __or__(self, other: Value) -> Value: ...

    @overload
    def __or__(self, other: Literal[True]) -> Literal[True]: ...

    def __or__(self, other: Value | Literal[True]) -> Value | Literal[True]:
        return True if other is True else self.binary(other, "or", "or")

    def __xor__(self, other: Value) -> Value:
        return self.binary(other, "xor", "xor")

    def __invert__(self) -> Value:
        if self.inverse is not None:
            return self.inverse
        ones = self.builder.splat_literal("true" if self.type is MASK else "-1", self.type, self.lanes)
        found = self.builder.value(self.type, self.lanes, f"xor {self.ir} {self.text}, {ones}")
        found.inverse = self
        return found

    def _compare(self, other: Value, name: str) -> Value:
        if self.lanes != other.lanes and self._extended_as(other):
            # LLVM compares the narrow operands, unless it would have to look through a broadcast.
            assert self.extended is not None and other.extended is not None
            return self.extended._compare(other.extended, name)
        x, y = self.builder.match(self, other)
        if self.type.is_float:
            text = f"fcmp {_FLOAT_PREDICATES[name]} {x.ir} {x.text}, {y.text}"
        else:
            sign = "" if name in ("eq", "ne") else "s" if self.type.is_signed else "u"
            text = f"icmp {sign}{name} {x.ir} {x.text}, {y.text}"
        return self.builder.value(MASK, x.lanes, text)

    def _extended_as(self, other: Value) -> bool:
        """Whether both are extensions from one type, in whose order they are."""
        narrow, to = self.extended, other.extended
        if narrow is None or to is None or narrow.type is not to.type:
            return False
        return self.type.is_signed or not narrow.type.is_signed

    def __eq__(self, other: Value) -> Value:  # type: ignore[override]
        return self._compare(other, "eq")

    def __ne__(self, other: Value) -> Value:  # type: ignore[override]
        return self._compare(other, "ne")

    def __lt__(self, other: Value) -> Value:
        return self._compare(other, "lt")

    def __le__(self, other: Value) -> Value:
        return self._compare(other, "le")

    def __gt__(self, other: Value) -> Value:
        return self._compare(other, "gt")

    def __ge__(self, other: Value) -> Value:
        return self._compare(other, "ge")

    __hash__ = object.__hash__


class Rematerialized(Value):
    """An integer value without side effects that is emitted where it is used, again where no earlier use dominates.

    One that is made of too many others is emitted at once, as any other value.
    """

    __slots__ = ("depth", "expression", "key", "name")

    def __init__(
        self, builder: Builder, data_type: DataType, lanes: int, expression: Callable[[], str] | None, depth: int
    ) -> None:
        self.builder, self.type, self.lanes, self.constant = builder, data_type, lanes, None
        self.expression, self.depth = expression, depth
        self.narrow, self.affine, self.implies, self.inverse, self.base_pointer = None, None, frozenset(), None, None
        self.base_offset = self.index = self.extended = self.negated = None
        self.interleaved = self.concatenated = None
        self.key = self.name = ""
        if depth > MAXIMUM_DEPTH:
            self.name, self.depth, self.expression = self.text, 0, None

    @property
    def text(self) -> str:  # type: ignore[override]
        """The name of the SSA value, which is emitted here unless one that dominates this place is known."""
        if self.expression and not (self.key and self.builder.is_available(self.key, self.name)):
            self.key = self.expression()
            self.name = self.builder.assign(self.key)
        return self.name

    def copy(self, data_type: DataType) -> Value:
        found = Rematerialized(self.builder, data_type, self.lanes, self.expression, self.depth)
        found.name = self.name
        found.base_pointer, found.index = self.base_pointer, self.index
        return found

    def emitted(self) -> Value:
        found = Value(self.builder, self.type, self.lanes, self.text)
        found.narrow, found.affine, found.base_pointer = self.narrow, self.affine, self.base_pointer
        found.base_offset, found.index = self.base_offset, self.index
        return found


Mask = Value | Literal[True]
"""A mask, or True where all lanes execute."""
