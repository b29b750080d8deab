"""Lane values: a scalar that is the same in every lane, or a vector with an element for each.

Operators emit an instruction where the builder stands and give its result; a scalar operand is broadcast, so that what
is uniform stays scalar. Affine values are *rematerialised*: they are emitted where they are used,
which for addresses of proved accesses is nowhere, and again where no earlier use dominates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, overload

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir import divisions
from vsim.engines.llvm.ir.affine import (
    AffineLanes,
    BasePointer,
    affine_masked,
    affine_product,
    affine_sum,
    uniform_rows,
)
from vsim.engines.llvm.ir.base_offset import base_offset_sum
from vsim.engines.llvm.ir.carries import carry_of, part_of_sum, signs
from vsim.engines.llvm.ir.facts import NO_FACTS, Facts
from vsim.engines.llvm.ir.halves import half_of_product, half_of_result, half_of_signs, with_half_of_sum
from vsim.engines.llvm.ir.index import WideIndex
from vsim.engines.llvm.ir.near import NearLanes, near_sum
from vsim.engines.llvm.ir.types import MASK, ir_type, literal, splat

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

MAXIMUM_DEPTH = 40
"""How many operations deep a value may wait to be emitted."""
MOST_IMPLIED = 500
"""Masks that one may imply; a text of thousands of branches would list all of them for each one."""
LARGEST_SHIFT = 16
"""Counts of shifts up to which affine lanes stay affine."""
_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "and": lambda x, y: x & y,
    "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y, "shl": lambda x, y: x << y, "lshr": lambda x, y: x >> y,
}  # fmt: skip
"""Operations on known scalar integers, which are kept as their unsigned bits."""
_TOTAL = ("add", "sub", "mul", "and", "or", "xor", "lshr", "ashr")
"""Operations on integers that have a result for all operands which the semantics give them."""
_NEUTRAL = {"mul": 1, "and": -1}
"""The constant that as the second operand changes nothing, where it is not 0."""
_LOW_ZEROS: dict[str, Callable[[int, int], int]] = {
    "add": min, "sub": min, "or": min, "and": max, "mul": lambda x, y: x + y,
}  # fmt: skip
"""How many of the lowest bits of a result are zero, of how many of its operands' are."""
_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


class Value:
    """A lane value: LLVM type, name of the SSA value or constant, and the number if it is a known scalar integer."""

    __slots__ = ("builder", "constant", "facts", "lanes", "text", "type")
    depth = 0

    def __init__(
        self,
        builder: Builder,
        data_type: DataType,
        lanes: int,
        text: str,
        constant: int | None = None,
        facts: Facts = NO_FACTS,
    ) -> None:
        self.builder, self.type, self.lanes, self.text, self.constant = builder, data_type, lanes, text, constant
        self.facts = facts

    @property
    def ir(self) -> str:
        """The LLVM type."""
        return ir_type(self.type, self.lanes)

    @property
    def typed(self) -> str:
        """Type and name, as operands are written."""
        return f"{ir_type(self.type, self.lanes)} {self.text}"

    def affine_over(self, lanes: int) -> AffineLanes | None:
        """The affine lanes of this value; a scalar is broadcast to so many lanes."""
        return AffineLanes(self, 0, lanes) if self.lanes == 1 else self.facts.affine

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
        pointer = self._base_pointer(op, other)
        zeros = _LOW_ZEROS[op](self.low_zeros, other.low_zeros) if op in _LOW_ZEROS else 0
        facts = Facts(base_pointer=pointer, low_zeros=zeros) if pointer or zeros else NO_FACTS
        return Rematerialized(self.builder, self.type, lanes, text, depth, facts)

    def copy(self, data_type: DataType) -> Value:
        """The same under a type with the same LLVM type."""
        return Value(self.builder, data_type, self.lanes, self.text, self.constant, self.facts.of_address())

    def with_facts(self, **changes: object) -> Value:
        """The same with other facts: fields of :class:`Facts`."""
        facts = self.facts._replace(**changes)  # type: ignore[arg-type] # The types are those of the fields.
        return Value(self.builder, self.type, self.lanes, self.text, self.constant, facts)

    def within(self, *others: Value) -> Value:
        """The same mask, which holds only where these others do."""
        implied = self.facts.implies.union(*({other.text, *other.facts.implies} for other in others))
        if len(implied) > MOST_IMPLIED:
            implied = frozenset(other.text for other in others)
        return self.with_facts(implies=implied)

    def emitted(self) -> Value:
        """The same, emitted here."""
        return self

    @property
    def emitted_text(self) -> str:
        """The name of the SSA value, or the constant; nothing if it was not emitted so far."""
        return self.text

    # -- operators -----------------------------------------------------------------------------------------

    def binary(self, other: Value, integer: str, real: str) -> Value:
        """An instruction with two operands of one type; scalars are broadcast, constants folded."""
        op = real if self.type.is_float else integer
        if self.constant is not None and other.constant is not None and op in _FOLDS:
            return self.builder.const(_FOLDS[op](self.constant, other.constant), self.type)
        x, y = self.builder.match(self.facts.denormal or self, other.facts.denormal or other)
        found = self.builder.value(self.type, x.lanes, f"{op} {x.ir} {x.text}, {y.text}")
        affine = uniform_rows(self, other, op) if op in _TOTAL else None
        pointer = self._base_pointer(op, other)
        if affine or pointer:
            found.facts = Facts(affine, pointer)
        return found

    def _base_pointer(self, op: str, other: Value) -> BasePointer | None:
        """The pointer from which a sum or a difference was computed."""
        mine, others = self.facts.base_pointer, other.facts.base_pointer
        if not (mine or others) or op not in ("add", "sub"):
            return None
        distance = other.constant if mine else self.constant
        found = mine or (others if op == "add" else None)
        return found and found.moved(distance if op == "add" and distance else 0)

    def _with_affine(
        self,
        known: AffineLanes | None,
        op: str,
        real: str,
        other: Value,
        index: WideIndex | None = None,
        near: NearLanes | None = None,
    ) -> Value:
        """The result of an operation: deferred where its lanes, or their index, are known, else emitted."""
        base_offset = None
        if known is not None:
            near = None
        elif op in ("add", "sub"):
            base_offset = base_offset_sum(self, other, op) if self.builder.tracks_base_offset else None
            near = near_sum(self, other) if op == "add" else None
        if known is None and base_offset is None and index is None:
            found = self.binary(other, op, real)
            return found.with_facts(near=near) if near else found
        return self.deferred(op, other).with_facts(affine=known, base_offset=base_offset, wide_index=index, near=near)

    def __add__(self, other: Value) -> Value:
        if self.constant == 0 or other.constant == 0:
            kept = other if self.constant == 0 else self
            if kept.type.is_integer:
                return kept if kept.type is self.type else self.builder.retype(kept, self.type)
        mine, others = self.facts, other.facts
        if others.negated is not None:
            return self - others.negated
        if mine.negated is not None:
            return other - mine.negated
        if self.builder.follows_divisions and (known := divisions.regrouped(self, other)) is not None:
            return known
        index = mine.wide_index.plus(other) if mine.wide_index else others.wide_index and others.wide_index.plus(self)
        total = self._with_affine(affine_sum(self, other, 1), "add", "fadd", other, index)
        total = total.with_low_zeros(min(self.low_zeros, other.low_zeros))
        if self.builder.follows_carries:
            total = total.with_facts(carried=part_of_sum(self, other))
        if self.builder.follows_divisions:
            total = total.with_facts(division=divisions.total(self, other))
        total = with_half_of_sum(total, self, other)
        if mine.narrow is not None and other.constant is not None:
            return total.with_facts(narrow=mine.narrow + self.builder.const(other.constant, types.UD))
        return total

    def __sub__(self, other: Value) -> Value:
        found = self._with_affine(affine_sum(self, other, -1), "sub", "fsub", other)
        return divisions.difference(self, other, found) if self.builder.follows_divisions else found

    def __mul__(self, other: Value) -> Value:
        if self.facts.base_offset and other.constant is not None:
            return self._times(other.constant, "mul", other)
        if self.type.is_integer and 0 in (self.constant, other.constant):
            return self.builder.const(0, self.type)
        known = affine_product(self, other) or affine_product(other, self)
        product = self._with_affine(known, "mul", "fmul", other, *self._facts_times(other.constant))
        if self.builder.follows_divisions:
            product = product.with_facts(division=divisions.product(self, other))
        if known is None and self.type in (types.UD, types.D):
            product = product.with_facts(half=half_of_product(0, product, self, other))
        return product.with_low_zeros(self.low_zeros + other.low_zeros)

    def _facts_times(self, factor: int | None) -> tuple[WideIndex | None, NearLanes | None]:
        """The index and the scalar that lanes are near to, of this value times a constant."""
        if factor is None:
            return None, None
        index, near = self.facts.wide_index, self.facts.near
        return index and index.times(factor), near and near.times(factor)

    def __lshift__(self, other: Value) -> Value:
        known = None
        if self.facts.base_offset and other.constant is not None and other.constant <= LARGEST_SHIFT:
            return self._times(1 << other.constant, "shl", other)
        if other.constant is not None and other.constant <= LARGEST_SHIFT:
            known = affine_product(self, self.builder.const(1 << other.constant, self.type))
        factor = None if other.constant is None else 1 << other.constant
        shifted = self._with_affine(known, "shl", "shl", other, *self._facts_times(factor))
        return shifted if other.constant is None else shifted.with_low_zeros(self.low_zeros + other.constant)

    def _times(self, factor: int, op: str, other: Value) -> Value:
        """A base and a scalar offset, times a constant; ``op`` and ``other`` are the operation to emit."""
        base_offset = self.facts.base_offset
        assert base_offset
        return self.deferred(op, other).with_facts(base_offset=base_offset.times(factor))

    def __rshift__(self, other: Value) -> Value:
        shifted = self.binary(other, "ashr" if self.type.is_signed else "lshr", "lshr")
        if self.type is types.D and other.constant == types.D.bits - 1:
            high_of = signs(self) if self.builder.follows_carries else None
            return shifted.with_facts(high_of=high_of, half=half_of_signs(self))
        return shifted

    def __and__(self, other: Value | Literal[True]) -> Value:
        if other is True:
            return self
        if self.type is MASK:
            all_true = splat("i1 true", max(self.lanes, other.lanes))
            if all_true in (self.text, other.text):
                return other if self.text == all_true else self
            return self.binary(other, "and", "and").within(self, other)
        known = affine_masked(self, other) or affine_masked(other, self)
        both = self._bits(other, "and")
        both = both.with_facts(affine=known) if known else both
        if self.facts.division or other.facts.division:
            both = both.with_facts(division=divisions.masked(self, other))
        return both.with_low_zeros(max(self.low_zeros, other.low_zeros))

    __rand__ = __and__

    @overload
    def __or__(self, other: Value) -> Value: ...

    @overload
    def __or__(self, other: Literal[True]) -> Literal[True]: ...

    def __or__(self, other: Value | Literal[True]) -> Value | Literal[True]:
        if other is True:
            return True
        if self._is_above(other) or other._is_above(self):
            return self + other
        return self._bits(other, "or")

    @property
    def low_zeros(self) -> int:
        """How many of the lowest bits are known to be zero in all lanes of an integer."""
        if self.constant is not None:
            return (self.constant & -self.constant).bit_length() - 1 if self.constant else 0
        return self.facts.low_zeros

    def with_low_zeros(self, count: int) -> Value:
        """The same, with a number of lowest bits that are known to be zero; floats have no such fact."""
        if count <= 0 or self.type.is_float or self.constant is not None:
            return self
        return self.with_facts(low_zeros=count)

    def _is_above(self, other: Value) -> bool:
        """Whether an integer has only bits below the lowest set bit of this one, and the distances between lanes are
        known for both: compilers write the sum of such numbers as ``or``.
        """
        lanes = max(self.lanes, other.lanes)
        if not self.low_zeros or lanes == 1 or not (self.affine_over(lanes) and other.affine_over(lanes)):
            return False
        most = self.builder.ranges.of(other.text) if other.constant is None else other.constant
        return most is not None and most < 1 << self.low_zeros

    def __xor__(self, other: Value) -> Value:
        return self._bits(other, "xor")

    def _bits(self, other: Value, op: str) -> Value:
        """An operation on bits, for which the halves of qwords are halves of the result."""
        found, half = self.binary(other, op, op), half_of_result(op, self, other)
        return found.with_facts(half=half) if half else found

    def __invert__(self) -> Value:
        if self.facts.inverse is not None:
            return self.facts.inverse
        ones = self.builder.splat_literal("true" if self.type is MASK else "-1", self.type, self.lanes)
        half = half_of_result("xor", self, self.builder.const(-1, self.type)) if self.facts.half else None
        facts = Facts(inverse=self, half=half)
        return self.builder.value(self.type, self.lanes, f"xor {self.ir} {self.text}, {ones}", facts)

    def _compare(self, other: Value, name: str) -> Value:
        if self.lanes != other.lanes and self._extended_as(other):
            # LLVM compares the narrow operands, unless it would have to look through a broadcast.
            narrow, others = self.facts.extended, other.facts.extended
            assert narrow is not None and others is not None
            return narrow._compare(others, name)
        x, y = self.builder.match(self, other)
        if self.type.is_float:
            text = f"fcmp {_FLOAT_PREDICATES[name]} {x.ir} {x.text}, {y.text}"
        else:
            sign = "" if name in ("eq", "ne") else "s" if self.type.is_signed else "u"
            text = f"icmp {sign}{name} {x.ir} {x.text}, {y.text}"
        known = divisions.comparison(self, other, name) if self.facts.division else None
        return self.builder.value(MASK, x.lanes, text, Facts(division=known) if known else NO_FACTS)

    def _extended_as(self, other: Value) -> bool:
        """Whether both are extensions from one type, in whose order they are."""
        narrow, to = self.facts.extended, other.facts.extended
        if narrow is None or to is None or narrow.type is not to.type:
            return False
        return self.type.is_signed or not narrow.type.is_signed

    def __eq__(self, other: Value) -> Value:  # type: ignore[override]
        return self._compare(other, "eq")

    def __ne__(self, other: Value) -> Value:  # type: ignore[override]
        return self._compare(other, "ne")

    def __lt__(self, other: Value) -> Value:
        found = self._compare(other, "lt")
        return found.with_facts(carried=carry_of(self, other)) if self.facts.carried else found

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
        self,
        builder: Builder,
        data_type: DataType,
        lanes: int,
        expression: Callable[[], str] | None,
        depth: int,
        facts: Facts = NO_FACTS,
    ) -> None:
        self.builder, self.type, self.lanes, self.constant, self.facts = builder, data_type, lanes, None, facts
        self.expression, self.depth = expression, depth
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
        found = Rematerialized(
            self.builder, data_type, self.lanes, self.expression, self.depth, self.facts.of_address()
        )
        found.name = self.name
        return found

    def with_facts(self, **changes: object) -> Value:
        facts = self.facts._replace(**changes)  # type: ignore[arg-type] # The types are those of the fields.
        found = Rematerialized(self.builder, self.type, self.lanes, self.expression, self.depth, facts)
        found.key, found.name = self.key, self.name
        return found

    def emitted(self) -> Value:
        return Value(self.builder, self.type, self.lanes, self.text, facts=self.facts.of_emitted())

    @property
    def emitted_text(self) -> str:
        return self.name


def float_of_bits(b: Builder, bits: int, data_type: DataType) -> Value:
    """A float in every lane, NaNs too, by its bits."""
    word = types.UNSIGNED_BY_SIZE[data_type.size]
    return Value(b, data_type, 1, f"bitcast ({ir_type(word, 1)} {literal(bits, word)} to {ir_type(data_type, 1)})")


Mask = Value | Literal[True]
"""A mask, or True where all lanes execute."""
