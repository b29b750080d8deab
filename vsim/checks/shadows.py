"""Lane values with a shadow of their undefined bits.

A shadow is a lane value of unsigned integers of the same size, in which a bit is 1 where the value's is undefined;
that of a mask is a mask. None stands for "all of it is defined", so that nothing is computed, and no code emitted, for
most values. Moves, the operations on bits, shifts by defined counts and selections are exact, sums are undefined from
the lowest undefined bit up, and of everything else a lane is undefined as a whole: such shadows stay masks of lanes
until bits are needed.

``x & 0xff`` with x undefined in bits 16 to 31 has the shadow 0xffff0000 & 0xff, that is 0: it is defined. ``x * 3`` is
undefined in all 32 bits.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

from visakit.language.types import DataType
from vsim.semantics.algebra import Algebra, Lanes, Mask
from vsim.semantics.core import unsigned_of

TypeOf = Callable[[Lanes], DataType | None]
"""The type of the elements of a lane value of the engine's; None for a mask."""


class Shadow:
    """Which bits of a value are undefined: bits of an unsigned type, or whole lanes.

    The other form is made at each use, as code emitted in one branch is not available in another; value numbering
    emits equal code once.
    """

    __slots__ = ("_bits", "_lanes", "_size", "a")

    def __init__(self, a: Algebra, bits: Lanes = None, size: int = 0, lanes: Mask = None) -> None:
        self.a, self._bits, self._size, self._lanes = a, bits, size, lanes

    def lanes(self) -> Mask:
        """The lanes with undefined bits."""
        if self._lanes is not None:
            return self._lanes
        return self._bits != self.a.const(0, unsigned_of(self._size))

    def whole(self) -> Shadow:
        """The shadow of a value of which a lane is undefined as a whole where it is in part."""
        return self if self._lanes is not None else Shadow(self.a, lanes=self.lanes())

    def bits(self, size: int) -> Lanes:
        """The undefined bits of a value whose elements have so many bytes."""
        if self._bits is not None and self._size == size:
            return self._bits
        t = unsigned_of(size)
        return self.a.select(self.lanes(), self.a.const(t.maximum, t), self.a.const(0, t))


class Tracked:
    """A lane value with its shadow. The operators are those of the lane algebra.

    ``source`` is the operand that it was read from, with the types to which it was converted, so that ``x - x`` and
    ``x == x`` of integers, which compilers write, are known to be defined.
    """

    __slots__ = ("a", "shadow", "source", "value")

    def __init__(self, a: ShadowAlgebra, value: Lanes, shadow: Shadow | None = None, source: object = None) -> None:
        self.a, self.value, self.shadow, self.source = a, value, shadow, source

    def __add__(self, other: Tracked) -> Tracked:
        return self.a.total(self, other, self.value + other.value, self.a.bits_of_either(self, other))

    def __sub__(self, other: Tracked) -> Tracked:
        return self.a.total(self, other, self.value - other.value, self.a.either(self, other))

    def __mul__(self, other: Tracked) -> Tracked:
        return self.a.whole(self.value * other.value, self, other)

    def __and__(self, other: Tracked) -> Tracked:
        return self.a.conjunction(self, other)

    def __or__(self, other: Tracked) -> Tracked:
        return self.a.disjunction(self, other)

    def __xor__(self, other: Tracked) -> Tracked:
        return Tracked(self.a, self.value ^ other.value, self.a.either(self, other))

    def __invert__(self) -> Tracked:
        return Tracked(self.a, ~self.value, self.shadow)

    def __lshift__(self, other: Tracked) -> Tracked:
        return self.a.shifted(self, other, self.value << other.value, lambda x, n: x << n)

    def __rshift__(self, other: Tracked) -> Tracked:
        return self.a.shifted(self, other, self.value >> other.value, lambda x, n: x >> n)

    def __eq__(self, other: Tracked) -> Tracked:  # type: ignore[override]
        return self.a.compared(self.value == other.value, self, other)

    def __ne__(self, other: Tracked) -> Tracked:  # type: ignore[override]
        return self.a.compared(self.value != other.value, self, other)

    def __lt__(self, other: Tracked) -> Tracked:
        return self.a.compared(self.value < other.value, self, other)

    def __le__(self, other: Tracked) -> Tracked:
        return self.a.compared(self.value <= other.value, self, other)

    def __gt__(self, other: Tracked) -> Tracked:
        return self.a.compared(self.value > other.value, self, other)

    def __ge__(self, other: Tracked) -> Tracked:
        return self.a.compared(self.value >= other.value, self, other)

    __hash__ = None  # type: ignore[assignment]  # a comparison gives lanes


class ShadowAlgebra:
    """The lane algebra of values with shadows over that of an engine; see :class:`vsim.semantics.algebra.Algebra`."""

    def __init__(self, inner: Algebra, type_of: TypeOf) -> None:
        self.inner, self.type_of = inner, type_of
        self.directs, self.exact = inner.directs, inner.exact

    # -- shadows -------------------------------------------------------------------------------------------

    def of_bits(self, bits: Lanes, size: int) -> Shadow:
        """A shadow of bits of an unsigned type of a size."""
        return Shadow(self.inner, bits, size)

    def of_lanes(self, lanes: Mask) -> Shadow:
        """A shadow of whole lanes, or of a mask."""
        return Shadow(self.inner, lanes=lanes)

    def _own_bits(self, x: Tracked) -> Lanes:
        """The undefined bits of a value that has some, in the form in which operators take them: of a mask a mask."""
        assert x.shadow is not None
        t = self.type_of(x.value)
        return x.shadow.lanes() if t is None else x.shadow.bits(t.size)

    def _from_bits(self, like: Lanes, bits: Lanes) -> Shadow:
        t = self.type_of(like)
        return self.of_lanes(bits) if t is None else self.of_bits(bits, t.size)

    def union(self, *values: Tracked | Mask) -> Shadow | None:
        """The lanes in which any of several values is undefined; None if nowhere."""
        shadows = {id(v.shadow): v.shadow for v in values if isinstance(v, Tracked) and v.shadow is not None}
        found: Shadow | None = None
        for shadow in shadows.values():
            found = shadow.whole() if found is None else self.of_lanes(found.lanes() | shadow.lanes())
        return found

    def whole(self, result: Lanes, *operands: Tracked) -> Tracked:
        """A result that is undefined as a whole where an operand is undefined in part."""
        return Tracked(self, result, self.union(*operands))

    def compared(self, result: Mask, *operands: Tracked) -> Tracked:
        """A comparison."""
        return Tracked(self, result, None if self._is_same(*operands) else self.union(*operands))

    def _is_same(self, x: Tracked, y: Tracked) -> bool:
        """Whether two integers are the same operand."""
        t = self.type_of(x.value)
        return x.source is not None and x.source == y.source and t is not None and t.is_integer

    def either(self, x: Tracked, y: Tracked) -> Shadow | None:
        """The bits in which either is undefined; none of an operand with itself."""
        return None if self._is_same(x, y) else self.bits_of_either(x, y)

    def bits_of_either(self, x: Tracked, y: Tracked) -> Shadow | None:
        """The bits in which either is undefined."""
        if x.shadow is None or y.shadow is None or x.shadow is y.shadow:
            return x.shadow or y.shadow
        return self._from_bits(x.value, self._own_bits(x) | self._own_bits(y))

    def total(self, x: Tracked, y: Tracked, result: Lanes, undefined: Shadow | None) -> Tracked:
        """A sum or difference, of integers undefined from the lowest undefined bit up."""
        t = self.type_of(result)
        if undefined is None or t is None or not t.is_integer:
            return Tracked(self, result, undefined and self.union(x, y))
        bits = undefined.bits(t.size)
        return Tracked(self, result, self.of_bits(bits | (self.inner.const(0, unsigned_of(t.size)) - bits), t.size))

    def conjunction(self, x: Tracked, y: Tracked) -> Tracked:
        """``x & y``: a defined 0 of either decides a bit."""
        return Tracked(self, x.value & y.value, self._decided(x, y, lambda v: v))

    def disjunction(self, x: Tracked, y: Tracked) -> Tracked:
        """``x | y``: a defined 1 of either decides a bit."""
        return Tracked(self, x.value | y.value, self._decided(x, y, lambda v: ~v))

    def _decided(self, x: Tracked, y: Tracked, leaves_open: Callable[[Lanes], Lanes]) -> Shadow | None:
        """What is undefined where one operand is and the other leaves the bit open, as its value or shadow says."""
        if x.shadow is None and y.shadow is None:
            return None
        parts = []
        for one, other in ((x, y), (y, x)):
            if one.shadow is not None:
                parts.append(self._own_bits(one) & self._unsigned(leaves_open(other.value)))
        if x.shadow is not None and y.shadow is not None:
            parts.append(self._own_bits(x) & self._own_bits(y))
        found = parts[0]
        for part in parts[1:]:
            found = found | part
        return self._from_bits(x.value, found)

    def _unsigned(self, value: Lanes) -> Lanes:
        """The bits of an integer; a mask stays one."""
        t = self.type_of(value)
        return value if t is None else self.inner.bitcast(value, unsigned_of(t.size))

    def shifted(self, x: Tracked, count: Tracked, result: Lanes, shift: Callable[[Lanes, Lanes], Lanes]) -> Tracked:
        """A shift: undefined bits move along, as copies of an undefined sign do."""
        t = self.type_of(x.value)
        if x.shadow is None or count.shadow is not None or t is None:
            return self.whole(result, x, count)
        a, u = self.inner, unsigned_of(t.size)
        bits = shift(a.bitcast(x.shadow.bits(t.size), t), count.value)
        return Tracked(self, result, self.of_bits(a.bitcast(bits, u), t.size))

    # -- the algebra ---------------------------------------------------------------------------------------

    def const(self, value: int | float, data_type: DataType) -> Tracked:
        return Tracked(self, self.inner.const(value, data_type))

    def iota(self, count: int, data_type: DataType) -> Tracked:
        return Tracked(self, self.inner.iota(count, data_type))

    def cast(self, x: Tracked, data_type: DataType) -> Tracked:
        value, own = self.inner.cast(x.value, data_type), self.type_of(x.value)
        if x.shadow is None or own is None or not (own.is_integer and data_type.is_integer):
            return self.whole(value, x)
        a = self.inner
        bits = a.cast(a.bitcast(x.shadow.bits(own.size), own), data_type)
        shadow = self.of_bits(a.bitcast(bits, unsigned_of(data_type.size)), data_type.size)
        return Tracked(self, value, shadow, x.source and (x.source, data_type))

    def bitcast(self, x: Tracked, data_type: DataType) -> Tracked:
        return Tracked(self, self.inner.bitcast(x.value, data_type), x.shadow)

    def select(self, mask: Tracked | Mask, x: Tracked, y: Tracked) -> Tracked:
        if mask is True:
            return x
        value = self.inner.select(mask.value, x.value, y.value)
        t = self.type_of(value)
        shadow = None
        if x.shadow is not None or y.shadow is not None:
            shadow = self._selected(mask.value, x, y, t)
        if mask.shadow is None:
            return Tracked(self, value, shadow)
        chosen = Tracked(self, value, shadow)
        return Tracked(self, value, self.union(chosen, mask))

    def _selected(self, mask: Mask, x: Tracked, y: Tracked, t: DataType | None) -> Shadow:
        if x.shadow is y.shadow:
            assert x.shadow is not None
            return x.shadow
        if t is None:
            sides = [mask & x.shadow.lanes() if x.shadow else None, ~mask & y.shadow.lanes() if y.shadow else None]
            some = [s for s in sides if s is not None]
            return self.of_lanes(some[0] if len(some) == 1 else some[0] | some[1])
        none = self.inner.const(0, unsigned_of(t.size))
        bits = [v.shadow.bits(t.size) if v.shadow is not None else none for v in (x, y)]
        return self.of_bits(self.inner.select(mask, *bits), t.size)

    def mask_to_int(self, mask: Tracked | Mask, data_type: DataType) -> Tracked:
        if mask is True:
            return Tracked(self, self.inner.mask_to_int(True, data_type))
        value = self.inner.mask_to_int(mask.value, data_type)
        if mask.shadow is None:
            return Tracked(self, value)
        bits = self.inner.mask_to_int(mask.shadow.lanes(), unsigned_of(data_type.size))
        return Tracked(self, value, self.of_bits(bits, data_type.size))

    def products(self, columns: list[Tracked], rows: list[Tracked], totals: list[Tracked]) -> list[Tracked]:
        found = []
        for row, total in zip(rows, totals, strict=True):
            t = self.type_of(total.value)
            for k, column in enumerate(columns):
                x = self.lanes(row, [k])
                total = total + column * x if t is not None and t.is_integer else self.fma(column, x, total)
            found.append(total)
        return found

    def products_of_bytes(
        self, columns: list[Tracked], rows: list[Tracked], signed: tuple[bool, bool]
    ) -> list[Tracked]:
        values = self.inner.products_of_bytes([c.value for c in columns], [r.value for r in rows], signed)
        of_columns, found = self.union(*columns), []
        for row, value in zip(rows, values, strict=True):
            of_row = self.union(*(self.lanes(row, [k]) for k in range(len(columns))))
            both = [shadow.lanes() for shadow in (of_columns, of_row) if shadow is not None]
            found.append(Tracked(self, value, self.of_lanes(functools.reduce(operator.or_, both)) if both else None))
        return found

    def udiv(self, x: Tracked, y: Tracked) -> Tracked:
        return self.whole(self.inner.udiv(x.value, y.value), x, y)

    def fdiv(self, x: Tracked, y: Tracked) -> Tracked:
        return self.whole(self.inner.fdiv(x.value, y.value), x, y)

    def fma(self, x: Tracked, y: Tracked, z: Tracked) -> Tracked:
        return self.whole(self.inner.fma(x.value, y.value, z.value), x, y, z)

    def rounded_once(self, compute: Callable[..., Lanes], data_type: DataType, *operands: Tracked) -> Tracked:
        return self.whole(self.inner.rounded_once(compute, data_type, *[x.value for x in operands]), *operands)

    def replaced(self, mask: Tracked, compute: Callable[..., Lanes], value: Tracked, *operands: Tracked) -> Tracked:
        found = self.inner.replaced(mask.value, compute, value.value, *[x.value for x in operands])
        return self.whole(found, value, *operands)

    def in_mode(self, op: str, mode: int, data_type: DataType, *operands: Tracked) -> Tracked:
        return self.whole(self.inner.in_mode(op, mode, data_type, *[x.value for x in operands]), *operands)

    def power_of_whole(self, x: Tracked) -> None:
        """Nothing is known here, so that every engine finds the same."""

    def sqrt(self, x: Tracked) -> Tracked:
        return self.whole(self.inner.sqrt(x.value), x)

    def without_denormals(self, x: Tracked) -> Tracked | None:
        found = self.inner.without_denormals(x.value)
        return None if found is None else self.whole(found, x)

    def whole_part(self, x: Tracked, data_type: DataType) -> Tracked | None:
        found = self.inner.whole_part(x.value, data_type)
        return None if found is None else self.whole(found, x)

    def high_product(self, x: Tracked, y: Tracked) -> Tracked | None:
        found = self.inner.high_product(x.value, y.value)
        return None if found is None else self.whole(found, x, y)

    def element_plus(self, table: Sequence[int], number: Tracked, shift: int) -> Tracked | None:
        found = self.inner.element_plus(table, number.value, shift)
        return None if found is None else self.whole(found, number)

    def absolute(self, x: Tracked) -> Tracked:
        return self.whole(self.inner.absolute(x.value), x)

    def negate(self, x: Tracked) -> Tracked:
        return self.whole(self.inner.negate(x.value), x)

    def floor(self, x: Tracked) -> Tracked:
        return self.whole(self.inner.floor(x.value), x)

    def ceil(self, x: Tracked) -> Tracked:
        return self.whole(self.inner.ceil(x.value), x)

    def trunc(self, x: Tracked) -> Tracked:
        return self.whole(self.inner.trunc(x.value), x)

    def rint(self, x: Tracked) -> Tracked:
        return self.whole(self.inner.rint(x.value), x)

    def popcount(self, x: Tracked) -> Tracked:
        return self.whole(self.inner.popcount(x.value), x)

    def leading_zeros(self, x: Tracked) -> Tracked:
        return self.whole(self.inner.leading_zeros(x.value), x)

    def rotated(self, x: Tracked, count: Tracked) -> None:
        return None

    def reverse_bits(self, x: Tracked) -> Tracked:
        value, t = self.inner.reverse_bits(x.value), self.type_of(x.value)
        if x.shadow is None or t is None:
            return Tracked(self, value)
        return Tracked(self, value, self.of_bits(self.inner.reverse_bits(x.shadow.bits(t.size)), t.size))

    def lanes(self, x: Tracked, indices: list[int]) -> Tracked:
        value = self.inner.lanes(x.value, indices)
        if x.shadow is None:
            return Tracked(self, value)
        return Tracked(self, value, self._from_bits(x.value, self.inner.lanes(self._own_bits(x), indices)))
