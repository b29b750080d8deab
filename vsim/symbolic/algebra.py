"""The lane algebra on terms of a solver: a term for each lane, or one for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import z3

from visakit.language import types
from visakit.language.types import DataType
from vsim.symbolic import floats, magic_quotients, terms
from vsim.symbolic.floats import DOWN, NEAREST, TO_ZERO, UP, ExactFloats, FloatModel
from vsim.symbolic.terms import Condition, Term


def spread(x: list[Term], count: int) -> list[Term]:
    """The terms of so many lanes; one term is that of all."""
    return x * count if len(x) == 1 else x


class SymbolicMask:
    """A condition for each lane, or one for all of them."""

    __slots__ = ("terms",)
    __hash__ = None  # type: ignore[assignment]  # == makes a formula

    def __init__(self, terms: list[Condition]) -> None:
        self.terms = terms

    def _with(self, other: SymbolicMask | bool, combine: Callable[[Condition, Condition], Condition]) -> SymbolicMask:
        own = [other] if isinstance(other, bool) else other.terms
        count = max(len(self.terms), len(own))
        pairs = zip(spread(self.terms, count), spread(own, count), strict=True)
        return SymbolicMask([combine(x, y) for x, y in pairs])

    def __and__(self, other: SymbolicMask | bool) -> SymbolicMask:
        return self._with(other, terms.conjunction)

    def __or__(self, other: SymbolicMask | bool) -> SymbolicMask:
        return self._with(other, terms.disjunction)

    def __xor__(self, other: SymbolicMask | bool) -> SymbolicMask:
        return self._with(other, terms.difference)

    __rand__, __ror__, __rxor__, __ne__ = __and__, __or__, __xor__, __xor__  # type: ignore[assignment]

    def __eq__(self, other: SymbolicMask | bool) -> SymbolicMask:  # type: ignore[override]
        return ~(self ^ other)

    def __invert__(self) -> SymbolicMask:
        return SymbolicMask([terms.negation(x) for x in self.terms])


AnyMask: TypeAlias = SymbolicMask | Literal[True]
"""A mask, or True for all lanes."""


class SymbolicLanes:
    """Terms of a type: as many as there are lanes, or one for all of them. Floats are their bits."""

    __slots__ = ("terms", "type")
    __hash__ = None  # type: ignore[assignment]  # == makes a formula

    def __init__(self, data_type: DataType, terms: list[Term]) -> None:
        self.type, self.terms = data_type, terms

    def pairs(self, other: SymbolicLanes) -> list[tuple[Term, Term]]:
        """The terms of each lane of two values of one type."""
        assert self.type is other.type, (self.type.name, other.type.name)
        if len(self.terms) == len(other.terms):
            return list(zip(self.terms, other.terms, strict=True))
        count = max(len(self.terms), len(other.terms))
        return list(zip(spread(self.terms, count), spread(other.terms, count), strict=True))

    def like(self, terms: list[Term]) -> SymbolicLanes:
        """Other terms of the same type."""
        return SymbolicLanes(self.type, terms)

    def each(self, function: Callable[[Term], Term]) -> SymbolicLanes:
        """A function of each lane."""
        return self.like([function(x) for x in self.terms])

    def _with(self, other: SymbolicLanes, combine: Callable[[Term, Term, int], Term]) -> SymbolicLanes:
        return self.like([combine(x, y, self.type.bits) for x, y in self.pairs(other)])

    def _mask(self, other: SymbolicLanes, compare: Callable[[Term, Term], Condition]) -> SymbolicMask:
        return SymbolicMask([compare(x, y) for x, y in self.pairs(other)])

    def __and__(self, other: SymbolicLanes) -> SymbolicLanes:
        return self._with(other, terms.both_bits)

    def __or__(self, other: SymbolicLanes) -> SymbolicLanes:
        return self._with(other, terms.any_bits)

    def __xor__(self, other: SymbolicLanes) -> SymbolicLanes:
        return self._with(other, terms.exclusive)

    def __invert__(self) -> SymbolicLanes:
        return self.each(lambda x: terms.invert(x, self.type.bits))

    def __lshift__(self, other: SymbolicLanes) -> SymbolicLanes:
        return self._with(other, terms.shift_left)

    def __rshift__(self, other: SymbolicLanes) -> SymbolicLanes:
        return self._with(other, self._shifted_right)

    def _shifted_right(self, x: Term, y: Term, bits: int) -> Term:
        is_signed = self.type.is_signed
        if isinstance(y, int) and not isinstance(x, int):
            found = magic_quotients.shifted(x, y, bits, is_signed)
            if found is not None:
                return found
        return terms.shift_right(x, y, bits, is_signed)

    def __add__(self, other: SymbolicLanes) -> SymbolicLanes:
        return self._with(other, terms.plus)

    def __sub__(self, other: SymbolicLanes) -> SymbolicLanes:
        return self._with(other, terms.less)

    def __mul__(self, other: SymbolicLanes) -> SymbolicLanes:
        return self._with(other, terms.times)

    def __eq__(self, other: SymbolicLanes) -> SymbolicMask:  # type: ignore[override]
        return self._mask(other, lambda x, y: terms.equal(x, y, self.type.bits))

    def __ne__(self, other: SymbolicLanes) -> SymbolicMask:  # type: ignore[override]
        return ~(self == other)

    def __lt__(self, other: SymbolicLanes) -> SymbolicMask:
        return self._mask(other, self._below)

    def _below(self, x: Term, y: Term) -> Condition:
        if isinstance(y, int) and y == 0 and self.type.is_signed and not isinstance(x, int):
            x = magic_quotients.with_its_sign(x, self.type.bits)
        return terms.below(x, y, self.type.bits, self.type.is_signed)

    def __gt__(self, other: SymbolicLanes) -> SymbolicMask:
        return other.__lt__(self)

    def __le__(self, other: SymbolicLanes) -> SymbolicMask:
        return ~other.__lt__(self)

    def __ge__(self, other: SymbolicLanes) -> SymbolicMask:
        return ~self.__lt__(other)


class FloatLanes(SymbolicLanes):
    """The bits of floats; sums and products are those of a model."""

    __slots__ = ("model",)

    def __init__(self, data_type: DataType, terms: list[Term], model: FloatModel) -> None:
        super().__init__(data_type, terms)
        self.model = model

    def like(self, terms: list[Term]) -> FloatLanes:
        return FloatLanes(self.type, terms, self.model)

    def _operation(self, op: str, other: SymbolicLanes) -> FloatLanes:
        return self.like([self.model.operation(op, self.type, pair) for pair in self.pairs(other)])

    def __add__(self, other: SymbolicLanes) -> FloatLanes:
        return self._operation("fadd", other)

    def __sub__(self, other: SymbolicLanes) -> FloatLanes:
        return self + other.each(lambda x: floats.negative(x, self.type))

    def __mul__(self, other: SymbolicLanes) -> FloatLanes:
        return self._operation("fmul", other)

    def __eq__(self, other: SymbolicLanes) -> SymbolicMask:  # type: ignore[override]
        return self._mask(other, lambda x, y: floats.float_equal(x, y, self.type))

    def __ne__(self, other: SymbolicLanes) -> SymbolicMask:  # type: ignore[override]
        return ~(self == other)

    def __lt__(self, other: SymbolicLanes) -> SymbolicMask:
        return self._mask(other, lambda x, y: floats.float_below(x, y, self.type))

    def __le__(self, other: SymbolicLanes) -> SymbolicMask:
        return self._mask(other, lambda x, y: floats.float_below(x, y, self.type, or_equal=True))

    def __gt__(self, other: SymbolicLanes) -> SymbolicMask:
        return other.__lt__(self)

    def __ge__(self, other: SymbolicLanes) -> SymbolicMask:
        return other.__le__(self)


ELEMENTS = {types.BF: types.UW, types.V: types.W, types.UV: types.UW, types.VF: types.F}
"""Types of lanes for elements whose own type the algebra does not have."""


class SymbolicAlgebra:
    """See :class:`vsim.semantics.algebra.Algebra`.

    Args:
        directs: whether results in other rounding modes are the solver's; else they are made as on the engines.
    """

    exact = True

    def __init__(self, model: FloatModel | None = None, directs: bool = True) -> None:
        self.model, self.directs = model or ExactFloats(), directs

    def of(self, data_type: DataType, found: list[Term]) -> SymbolicLanes:
        """Lanes of a type."""
        own = ELEMENTS.get(data_type, data_type)
        return FloatLanes(own, found, self.model) if own.is_float else SymbolicLanes(own, found)

    def const(self, value: int | float, data_type: DataType) -> SymbolicLanes:
        if data_type.is_float and data_type is not types.BF:
            return self.of(data_type, [floats.float_bits(value, data_type)])
        return self.of(data_type, [int(value) & ((1 << data_type.bits) - 1)])

    def iota(self, count: int, data_type: DataType) -> SymbolicLanes:
        return self.of(data_type, [self.const(k, data_type).terms[0] for k in range(count)])

    def cast(self, x: SymbolicLanes, data_type: DataType) -> SymbolicLanes:
        source, target = x.type, ELEMENTS.get(data_type, data_type)
        if source is target:
            return x
        if source.is_float and target.is_float:
            return self.of(target, [floats.resized(e, source, target) for e in x.terms])
        if source.is_float:
            return self.of(target, [floats.to_integer(e, source, target) for e in x.terms])
        if target.is_float:
            return self.of(target, [floats.of_integer(e, source, target) for e in x.terms])
        if target.bits > source.bits:
            return self.of(target, [terms.extend(e, source.bits, target.bits, source.is_signed) for e in x.terms])
        return self.of(target, [terms.extract(e, 0, target.bits, source.bits) for e in x.terms])

    def bitcast(self, x: SymbolicLanes, data_type: DataType) -> SymbolicLanes:
        assert x.type.size == data_type.size
        return self.of(data_type, x.terms)

    def select(self, mask: AnyMask, x: SymbolicLanes, y: SymbolicLanes) -> SymbolicLanes:
        if mask is True:
            return x
        pairs, bits = x.pairs(y), x.type.bits
        count = max(len(mask.terms), len(pairs))
        lanes = zip(spread(mask.terms, count), pairs * (count // len(pairs)), strict=True)
        return self.of(x.type, [terms.pick(c, e, f, bits) for c, (e, f) in lanes])

    def mask_to_int(self, mask: AnyMask, data_type: DataType) -> SymbolicLanes:
        if mask is True:
            return self.const(1, data_type)
        return self.of(data_type, [terms.pick(c, 1, 0, data_type.bits) for c in mask.terms])

    # -- arithmetic ----------------------------------------------------------------------------------------

    def _operation(self, op: str, *operands: SymbolicLanes, mode: int = NEAREST) -> SymbolicLanes:
        t, count = operands[0].type, max(len(x.terms) for x in operands)
        columns = [spread(x.terms, count) for x in operands]
        return self.of(t, [self.model.operation(op, t, lane, mode) for lane in zip(*columns, strict=True)])

    def products(
        self, columns: list[SymbolicLanes], rows: list[SymbolicLanes], totals: list[SymbolicLanes]
    ) -> list[SymbolicLanes]:
        found = []
        for row, total in zip(rows, totals, strict=True):
            for k, column in enumerate(columns):
                x = self.lanes(row, [k])
                total = self.fma(column, x, total) if total.type.is_float else total + column * x
            found.append(total)
        return found

    def products_of_bytes(
        self, columns: list[SymbolicLanes], rows: list[SymbolicLanes], signed: tuple[bool, bool]
    ) -> list[SymbolicLanes]:
        def parts(x: SymbolicLanes, with_sign: bool) -> list[SymbolicLanes]:
            cut = (x.each(lambda e, k=k: terms.extract(e, 8 * k, 8, 32)) for k in range(4))  # type: ignore[misc]
            return [self.of(types.D, [terms.extend(e, 8, 32, with_sign) for e in c.terms]) for c in cut]

        own = [parts(column, signed[0]) for column in columns]
        found = []
        for row in rows:
            total = self.const(0, types.D)
            for k, column in enumerate(own):
                for x, y in zip(column, parts(self.lanes(row, [k]), signed[1]), strict=True):
                    total = total + x * y
            found.append(total)
        return found

    def udiv(self, x: SymbolicLanes, y: SymbolicLanes) -> SymbolicLanes:
        return self.of(x.type, [terms.quotient(*pair, x.type.bits) for pair in x.pairs(y)])

    def fdiv(self, x: SymbolicLanes, y: SymbolicLanes) -> SymbolicLanes:
        return self._operation("fdiv", x, y)

    def fma(self, x: SymbolicLanes, y: SymbolicLanes, z: SymbolicLanes) -> SymbolicLanes:
        return self._operation("fma", x, y, z)

    def sqrt(self, x: SymbolicLanes) -> SymbolicLanes:
        return self._operation("sqrt", x)

    def rounded_once(
        self, compute: Callable[..., SymbolicLanes], data_type: DataType, *operands: SymbolicLanes
    ) -> SymbolicLanes:
        return self.cast(compute(self, self.fma, *operands), data_type)

    def replaced(
        self, mask: SymbolicMask, compute: Callable[..., SymbolicLanes], value: SymbolicLanes, *operands: SymbolicLanes
    ) -> SymbolicLanes:
        return self.select(mask, compute(self, *operands), value)

    def power_of_whole(self, x: SymbolicLanes) -> None:
        """Nothing is known here before it is computed."""

    def in_mode(self, op: str, mode: int, data_type: DataType, *operands: SymbolicLanes) -> SymbolicLanes:
        if op == "fptrunc":
            (x,) = operands
            return self.of(data_type, [floats.resized(e, x.type, data_type, mode) for e in x.terms])
        return self._operation(op, *operands, mode=mode)

    # -- signs and whole numbers ---------------------------------------------------------------------------

    def without_denormals(self, x: SymbolicLanes) -> None:
        return None

    def whole_part(self, x: SymbolicLanes, data_type: DataType) -> None:
        return None

    def high_product(self, x: SymbolicLanes, y: SymbolicLanes) -> None:
        return None

    def element_plus(self, table: Sequence[int], number: SymbolicLanes, shift: int) -> None:
        return None

    def absolute(self, x: SymbolicLanes) -> SymbolicLanes:
        return x.each(lambda e: floats.absolute(e, x.type))

    def negate(self, x: SymbolicLanes) -> SymbolicLanes:
        if x.type.is_float:
            return x.each(lambda e: floats.negative(e, x.type))
        return x.each(lambda e: terms.minus(e, x.type.bits))

    def floor(self, x: SymbolicLanes) -> SymbolicLanes:
        return x.each(lambda e: floats.whole(e, x.type, DOWN))

    def ceil(self, x: SymbolicLanes) -> SymbolicLanes:
        return x.each(lambda e: floats.whole(e, x.type, UP))

    def trunc(self, x: SymbolicLanes) -> SymbolicLanes:
        return x.each(lambda e: floats.whole(e, x.type, TO_ZERO))

    def rint(self, x: SymbolicLanes) -> SymbolicLanes:
        return x.each(lambda e: floats.whole(e, x.type, NEAREST))

    # -- bits ----------------------------------------------------------------------------------------------

    def popcount(self, x: SymbolicLanes) -> SymbolicLanes:
        bits = x.type.bits

        def count(e: Term) -> Term:
            if isinstance(e, int):
                return e.bit_count()
            total: Term = 0
            for k in range(bits):
                total = terms.plus(total, terms.extend(terms.extract(e, k, 1, bits), 1, bits, False), bits)
            return total

        return x.each(count)

    def leading_zeros(self, x: SymbolicLanes) -> SymbolicLanes:
        bits = x.type.bits

        def count(e: Term) -> Term:
            found: Term = bits
            for k in range(bits):
                found = terms.pick(terms.equal(terms.extract(e, k, 1, bits), 1, 1), bits - 1 - k, found, bits)
            return found

        return x.each(count)

    def rotated(self, x: SymbolicLanes, count: SymbolicLanes) -> None:
        return None

    def reverse_bits(self, x: SymbolicLanes) -> SymbolicLanes:
        bits = x.type.bits

        def reverse(e: Term) -> Term:
            if isinstance(e, int):
                return int(f"{e:0{bits}b}"[::-1], 2)
            return z3.Concat(*[z3.Extract(k, k, e) for k in range(bits)])

        return x.each(reverse)

    def lanes(self, x: SymbolicLanes, indices: list[int]) -> SymbolicLanes:
        return x if len(x.terms) == 1 else self.of(x.type, [x.terms[k] for k in indices])
