"""Affine lanes: the proved distances between the lanes of an integer vector, so that accesses need no test of each
lane.

The lanes form rows. Lane ``i`` of row ``r`` is ``root + offset + i * stride + r * row_stride``, where root and row
stride are scalars and offset and stride are constants. Constants are gathered in the offset, so that addresses which
differ by a constant share their root, and with it their checks.

Example: SIMD16, a work-group of 8 x 4. Two rows of the group fill a thread. The local x of the lanes is 0 1 ... 7 0 1
... 7: root 0, stride 1, rows of 8, row stride 0. The local y is y y ... y+1 y+1 ...: root y, stride 0, row stride 1.
The byte address ``base + 4 * (y * pitch + x)`` is found by the rules for sums and products: root ``base + 4 * y *
pitch``, stride 4, rows of 8, row stride ``4 * pitch``. It is two vector accesses of 32 bytes.

Not everything is proved at once. A 32-bit sum that is widened to 64 bits is affine after the conversion only if it did
not wrap around before; a value that was written under a mask is affine only in those lanes. Such *assumptions* are
carried along. A user of the lanes tests them (:meth:`AffineLanes.holds`) or proves them.

Lanes at constant distances that are no stride are known, too: compilers load three components that are the same for a
whole thread by four lanes, ``add (M1_NM, 4) AT(0,0)<1> BASE(0,0)<0;1,0> 0x8840:uv``.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from visakit.language import types
from visakit.language.types import DataType
from vsim.semantics.core import signed_of

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.values import Value

MAXIMUM_ASSUMPTIONS = 4
LARGEST_FACTOR = 1 << 20
LARGEST_OFFSET = 1 << 29
"""Of a constant in an address, and of a lane in its row, in bytes, so that bounds tell whether lanes wrapped around."""


@dataclass(slots=True, eq=False)
class Widening:
    """An assumption: the lanes did not wrap around in the type that they were converted from to a wider one."""

    affine: AffineLanes
    lanes: int
    source: DataType
    target: DataType

    def holds(self) -> str:
        """Emit the test (i1): the corner lanes, among which all others lie, fit the narrower
        type (the first one does).
        """
        known, target = self.affine, self.target
        b, narrow, wide = known.first_lane.builder, self.source, types.UQ if target.size == 8 else types.UD
        lowest = -(1 << (narrow.bits - 1)) if narrow.is_signed else 0
        first = b.retype(b.cast(b.retype(known.first_lane, narrow), target), wide) + b.const(-lowest, wide)
        corners = [first]
        if known.row_stride is not None:
            row_stride = b.retype(b.cast(b.retype(known.row_stride, narrow), target), wide)
            corners.append(first + row_stride.deferred("mul", b.const(self.lanes // known.row - 1, wide)))
        if known.stride:
            corners += [c + b.const((known.row - 1) * known.stride, wide) for c in corners]
        if not corners[1:]:
            return "true"
        beyond: Value = reduce(lambda x, y: x | y, corners[1:])
        if beyond.constant is not None:
            return str(beyond.constant < 1 << narrow.bits).lower()
        return (beyond < b.const(1 << narrow.bits, wide)).text


class AssumedMask(NamedTuple):
    """An assumption: a lane is inside a mask (SSA name). Lane 0 of the value is lane ``first`` of the mask."""

    name: str
    first: int = 0

    def shifted(self, lanes: int) -> AssumedMask:
        """The assumption for a value that begins so many lanes later."""
        return self._replace(first=self.first + lanes)


@dataclass(slots=True)
class AffineLanes:
    """The distances between the lanes of a vector; see the head of this module. One row has no row stride."""

    root: Value
    stride: int
    row: int
    row_stride: Value | None = None
    small: bool = False
    """Every lane is less than 2**12: a local id, which cannot wrap around when it is widened."""
    assumptions: tuple[Widening | AssumedMask, ...] = ()
    """Widenings that did not wrap around, and masks outside which nothing is known of a lane."""
    factor: int = 0
    """If the lanes are a multiple of the widened value plus a uniform value: that multiple; else 0."""
    first: int = 0
    """The lane of the widened value that is lane 0 here."""
    offset: int = 0
    steps: tuple[int, ...] = ()
    """Distances of all lanes from the first one, if they are constants and yet no stride, which is 0 then; one row."""
    added: Value | None = None
    """The uniform value beside that multiple and the offset, if one value alone was added to it; 0 before."""

    def __post_init__(self) -> None:
        self.assumptions = tuple(dict.fromkeys(self.assumptions))
        if self.root.constant:
            self.offset += self.root.constant
            self.root = self.root.builder.const(0, self.root.type)

    @property
    def first_lane(self) -> Value:
        """Lane 0."""
        return self.root.deferred("add", self.root.builder.const(self.offset, self.root.type))

    def distances(self) -> list[int]:
        """How far the lanes of a row are from its first one."""
        return list(self.steps) or [i * self.stride for i in range(self.row)]

    def steps_of_sum(self, other: AffineLanes, sign: int) -> tuple[int, ...] | None:
        """The steps of a sum (``sign`` 1) or a difference (-1); None where they are not known."""
        if (self.steps and (other.stride or other.steps)) or (other.steps and self.stride):
            return None
        return self.steps or tuple(sign * step for step in other.steps)

    def of_row(self, number: int) -> Value:
        """The first lane of a row."""
        if not number or self.row_stride is None:
            return self.first_lane
        first, stride = self.first_lane, self.row_stride
        return first.deferred("add", stride.deferred("mul", first.builder.const(number, first.type)))

    @property
    def masks(self) -> set[AssumedMask]:
        """The masks outside which nothing is known of a lane."""
        return {n for n in self.assumptions if isinstance(n, AssumedMask)}

    def holds_inside(self, names: Set[str]) -> bool:
        """Whether the assumed masks are among masks (SSA names) that hold for all lanes."""
        return all(not mask.first and mask.name in names for mask in self.masks)

    def is_certain_inside(self, names: Set[str]) -> bool:
        """Whether these masks (SSA names) are all that is assumed."""
        return len(self.masks) == len(self.assumptions) and self.holds_inside(names)

    def with_masks(self, change: Callable[[AssumedMask], AssumedMask]) -> AffineLanes:
        """The same under other masks."""
        if not self.masks:
            return self
        return replace(
            self, assumptions=tuple(change(n) if isinstance(n, AssumedMask) else n for n in self.assumptions)
        )

    def within_masks(self) -> AffineLanes:
        """The same, where all lanes that count are inside those masks."""
        return replace(self, assumptions=tuple(n for n in self.assumptions if not isinstance(n, AssumedMask)))

    def widened(self) -> Widening | None:
        """What was widened, if lanes are exactly that times the factor and something that is the same for all."""
        (only,) = self.assumptions if len(self.assumptions) == 1 else (None,)
        return only if self.factor and isinstance(only, Widening) else None

    def reach(self) -> int:
        """A distance in bytes: lanes that are less far from :attr:`added` did not wrap around on the way to 64 bits; 0
        where that is not known. An index that did, of signed 32 bits, is 2**31 or more in size.
        """
        widening, offset = self.widened(), (self.offset + (1 << 63)) % (1 << 64) - (1 << 63)
        if widening is None or widening.source is not types.D or not 0 < self.factor <= LARGEST_FACTOR:
            return 0
        if max(abs(offset), widening.lanes * abs(self.stride)) > LARGEST_OFFSET:
            return 0
        return (self.factor << 31) - 2 * LARGEST_OFFSET

    def added_by(self, other: Value, sign: int) -> Value | None:
        """:attr:`added` of the sum of these lanes and another value (``sign`` 1), or the difference (-1)."""
        if self.added is None or other.lanes > 1 or sign < 0:
            return None
        if other.constant is not None:
            return self.added
        return other if self.added.constant == 0 else None

    def holds(self) -> str:
        """Emit the test (i1) that no lane wrapped around on the way to a wider type."""
        tests = [test for n in self.assumptions if not isinstance(n, AssumedMask) and (test := n.holds()) != "true"]
        return reduce(lambda x, y: self.root.builder.assign(f"and i1 {x}, {y}"), tests) if tests else "true"

    def in_rows_of(self, row: int) -> AffineLanes | None:
        """The same in rows of another length, if that is possible."""
        if row == self.row:
            return self
        if self.row_stride is not None or self.steps:
            return None
        return replace(self, row=row, row_stride=self.root.builder.const(self.stride * row, self.root.type))

    def followed_by(self, other: AffineLanes) -> AffineLanes | None:
        """Two rows end to end."""
        if self.row_stride or other.row_stride or self.stride != other.stride or self.steps or other.steps:
            return None
        small, assumptions, row = self.small and other.small, self.assumptions + other.assumptions, self.row
        row_stride: Value | None
        if self.root is other.root or self.root.text == other.root.text:
            distance = other.offset - self.offset
            one_row = distance == row * self.stride
            row_stride = None if one_row else self.root.builder.const(distance, self.root.type)
            row = 2 * row if one_row else row
        else:
            row_stride = other.first_lane.deferred("sub", self.first_lane)
        return AffineLanes(self.root, self.stride, row, row_stride, small, assumptions, offset=self.offset)

    def part(self, first: int, count: int) -> AffineLanes | None:
        """Consecutive lanes: part of a row, or whole rows."""
        if self.steps:
            return None
        root = self.root
        r, i = divmod(first, self.row)
        if r and self.row_stride is not None:
            root = root.deferred("add", self.row_stride.deferred("mul", root.builder.const(r, root.type)))
        found = replace(self, root=root, first=self.first + first).with_masks(lambda mask: mask.shifted(first))
        if i + count <= self.row:
            found.row, found.row_stride, found.offset = count, None, found.offset + i * self.stride
            return found
        return None if i or count % self.row else found


class BasePointer(NamedTuple):
    """A pointer among a kernel's arguments: what holds them, and its byte there."""

    payload: str
    byte: int
    slots: int = 0
    """Number of buffers in the address space between the argument's buffer and the addressed one."""
    is_argument: bool = True
    """Whether the address is the argument, to which nothing was added."""

    def moved(self, distance: int) -> BasePointer:
        """The same behind a distance in bytes (as unsigned bits): where it leads into other buffers, these."""
        slots = self.slots + ((distance + (1 << 31) & (1 << 64) - 1) >> 32)
        return self._replace(slots=slots, is_argument=False)


def affine_sum(x: Value, y: Value, sign: int) -> AffineLanes | None:
    """The affine lanes of a sum (``sign`` 1) or a difference (-1)."""
    lanes, t = max(x.lanes, y.lanes), x.type
    if lanes == 1 or not t.is_integer:
        return None
    left, right = x.affine_over(lanes), y.affine_over(lanes)
    if left is None or right is None:
        return None
    row = min(left.row, right.row)
    left, right = left.in_rows_of(row), right.in_rows_of(row)
    if left is None or right is None:
        return None
    steps = left.steps_of_sum(right, sign)
    if steps is None:
        return None
    b = x.builder

    def join(p: Value, q: Value) -> Value:
        return b.retype(p, t).deferred("add" if sign > 0 else "sub", b.retype(q, t))

    zero = b.const(0, t)
    row_stride = None
    if left.row_stride is not None or right.row_stride is not None:
        row_stride = join(left.row_stride or zero, right.row_stride or zero)
    return AffineLanes(
        join(left.root, right.root),
        left.stride + sign * right.stride,
        row,
        row_stride,
        assumptions=left.assumptions + right.assumptions,
        factor=left.factor + sign * right.factor if 1 in (x.lanes, y.lanes) else 0,
        first=left.first + right.first,
        offset=left.offset + sign * right.offset,
        steps=steps,
        added=left.added_by(y, sign) or right.added_by(x, sign),
    )


def affine_product(x: Value, factor: Value) -> AffineLanes | None:
    """The affine lanes of a product with a scalar."""
    found, b, t = x.facts.affine, x.builder, x.type
    if not found or factor.lanes > 1 or not t.is_integer:
        return None
    factor = b.retype(factor, t)
    known = factor.constant if factor.constant is not None and factor.constant < LARGEST_FACTOR else None
    if known is None and (found.stride or found.steps):
        return None
    row_stride = None if found.row_stride is None else b.retype(found.row_stride, t).deferred("mul", factor)
    root = b.retype(found.first_lane if known is None else found.root, t).deferred("mul", factor)
    known = known or 0
    return replace(
        found,
        root=root,
        stride=found.stride * known,
        row_stride=row_stride,
        small=False,
        factor=found.factor * known,
        offset=found.offset * known,
        steps=tuple(step * known for step in found.steps),
        added=found.added if found.added and found.added.constant == 0 else None,
    )


def uniform_rows(x: Value, y: Value, op: str) -> AffineLanes | None:
    """The affine lanes of an operation on lanes that are equal along one row or two: so are the results.

    Args:
        op: an operation of LLVM that has a result for all operands.
    """
    lanes, b, t = max(x.lanes, y.lanes), x.builder, x.type
    left, right = x.affine_over(lanes), y.affine_over(lanes)
    if lanes == 1 or not t.is_integer or left is None or right is None:
        return None
    if left.stride or right.stride or left.steps or right.steps:
        return None
    row = min(left.row, right.row)
    left, right = left.in_rows_of(row), right.in_rows_of(row)
    if left is None or right is None or lanes > 2 * row:
        return None

    assumptions = left.assumptions + right.assumptions
    if not all(isinstance(n, AssumedMask) for n in assumptions):
        return None
    first, second = (b.retype(left.of_row(n), t).deferred(op, b.retype(right.of_row(n), t)) for n in (0, 1))
    row_stride = None if row == lanes else second.deferred("sub", first)
    return AffineLanes(first, 0, row, row_stride, assumptions=assumptions)


def affine_masked(x: Value, mask: Value) -> AffineLanes | None:
    """The affine lanes of one row under a constant mask.

    Where the lowest bits of the root are zero, and the lanes differ in these bits alone, the mask applies to root and
    distances separately. Example: local ids of 32 lanes from a multiple of 32 on, and 15: two rows of 0 to 15.
    """
    known, kept, b, t = x.facts.affine, mask.constant, x.builder, x.type
    if known is None or kept is None or known.row_stride is not None:
        return None
    if not all(isinstance(n, AssumedMask) for n in known.assumptions):
        return None
    low = (1 << min(known.root.low_zeros if known.root.constant is None else t.bits, t.bits)) - 1
    offset = known.offset & (1 << t.bits) - 1
    places = [(offset & low) + distance for distance in known.distances()]
    if min(places) < 0 or max(places) > low:
        return None
    root = b.retype(known.root, t).deferred("add", b.const(offset & ~low, t)).deferred("and", b.const(kept & ~low, t))
    return _in_equal_rows(known, root, [place & kept for place in places])


def _in_equal_rows(known: AffineLanes, root: Value, distances: list[int]) -> AffineLanes | None:
    """Lanes at these distances from a root, in the longest rows of equal strides and distances."""
    row = lanes = len(distances)
    while row > 1:
        stride, from_row_to_row = distances[1] - distances[0], distances[row % lanes] - distances[0]
        if distances == [distances[0] + i % row * stride + i // row * from_row_to_row for i in range(lanes)]:
            row_stride = root.builder.const(from_row_to_row, root.type) if row < lanes else None
            return AffineLanes(root, stride, row, row_stride, known.small, known.assumptions, offset=distances[0])
        row //= 2
    return None


def affine_pair(low: Value, high: Value) -> AffineLanes | None:
    """The affine lanes of qwords, from their low and high dwords."""
    if low.facts.affine is None or high.facts.affine is None:
        return None
    b = low.builder
    halves = [b.cast(b.retype(x, types.UD), types.UQ) for x in (low, high)]
    upper = affine_product(halves[1], b.const(1 << 32, types.UQ))
    if upper is None:
        return None
    return affine_sum(halves[0], halves[1].with_facts(affine=upper), 1)


def affine_conversion(x: Value, target: DataType) -> AffineLanes | None:
    """The affine lanes of a value after a conversion to an integer type of another size."""
    b, known, source = x.builder, x.facts.affine, x.type
    if known is None:
        return None
    row_stride = None
    if known.row_stride is not None:
        own = signed_of(source.size) if known.small else source  # rows may come in any order
        row_stride = b.cast(b.retype(known.row_stride, own), target, deferred=True)
    fits = known.small or target.size < source.size
    if known.steps and not fits:
        return None
    if not fits and not known.stride and x.lanes <= 2 * known.row:
        return _same_converted(known, x.lanes, source, target)
    root = b.cast(b.retype(known.root if fits else known.first_lane, source), target, deferred=True)
    assumptions, factor = known.assumptions, 0
    if target.size < source.size:
        assumptions = _narrowed_assumptions(known, target)
    if not fits:
        assumptions, factor = (*assumptions, Widening(known, x.lanes, source, target)), 1
    if len(assumptions) > MAXIMUM_ASSUMPTIONS:
        return None
    offset = known.offset if fits else 0
    small = known.small and target.size > 1
    return replace(
        known,
        root=root,
        row_stride=row_stride,
        small=small,
        assumptions=assumptions,
        factor=factor,
        first=0,
        offset=offset,
        added=b.const(0, target) if factor else None,
    )


def _narrowed_assumptions(known: AffineLanes, target: DataType) -> tuple[Widening | AssumedMask, ...]:
    """The assumptions that remain in a narrower type: bits that are cut off may have wrapped around."""
    return tuple(n for n in known.assumptions if isinstance(n, AssumedMask) or n.source.size < target.size)


def _same_converted(known: AffineLanes, lanes: int, source: DataType, target: DataType) -> AffineLanes:
    """The affine lanes of one row or two, whose lanes are equal, after a conversion to a wider type."""
    b = known.root.builder
    first, second = (b.cast(b.retype(known.of_row(n), source), target, deferred=True) for n in (0, 1))
    row_stride = None if lanes == known.row else second.deferred("sub", first)
    return AffineLanes(first, 0, known.row, row_stride, known.small, known.assumptions)
