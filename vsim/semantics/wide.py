"""Integers of 64 bits where a result must see more of them: sources of both signs, modifiers, saturation.

The manual mixes integer types freely, and gives calculations more precision than the destination has. Up to 32 bits
that is computed in 64. Of 64 bits, numbers have 128 here, in two's complement, as two unsigned halves. -2 is
(2**64 - 2, 2**64 - 1), low half first; as ``uq`` the bits of the low half are another number, (2**64 - 2, 0).
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.language.operands import ABS, NEG, NEG_ABS, SAT, VectorOperand
from visakit.language.program import Instruction
from visakit.language.types import UQ, DataType, Q
from vsim.semantics.algebra import Algebra, Lanes, Machine, Mask, Step
from vsim.semantics.conversion import convert
from vsim.semantics.core import integer_of, mask_of, sources_of, type_of_source

Wide = tuple[Lanes, Lanes]
"""Low and high halves, both UQ."""
ReadWide = Callable[[], Wide]


def is_wide(m: Machine, ops: list[VectorOperand]) -> bool:
    """Whether integers need more than 64 bits: one has 64, and signs differ or a modifier changes them."""
    found = [type_of_source(m, op) for op in ops]
    if any(t.is_float for t in found) or max(t.size for t in found) < 8:
        return False
    return len({t.is_signed for t in found}) > 1 or any(op.modifier for op in ops)


def wide_source(m: Machine, op: VectorOperand, count: int) -> ReadWide:
    """The exact numbers of an integer source with its modifier."""
    a, own = m.algebra, type_of_source(m, op)
    t = Q if own.is_signed else UQ
    read, element = m.reader(op, count), m.type_of(op)

    def number() -> Wide:
        x = a.cast(convert(a, read(), element, own), t)
        wide = a.bitcast(x, UQ), a.bitcast(x >> a.const(63, t), UQ) if t.is_signed else a.const(0, UQ)
        if op.modifier in (ABS, NEG_ABS):
            wide = magnitude(a, wide)
        return negated(a, wide) if op.modifier in (NEG, NEG_ABS) else wide

    return number


def negated(a: Algebra, x: Wide) -> Wide:
    """-x."""
    low, high = x
    return a.negate(low), ~high + a.mask_to_int(low == a.const(0, UQ), UQ)


def is_negative(a: Algebra, x: Wide) -> Mask:
    """Whether x is less than 0."""
    return a.bitcast(x[1], Q) < a.const(0, Q)


def magnitude(a: Algebra, x: Wide) -> Wide:
    """The absolute value of x."""
    return pick(a, is_negative(a, x), negated(a, x), x)


def pick(a: Algebra, mask: Mask, x: Wide, y: Wide) -> Wide:
    """x where the mask holds, else y."""
    return a.select(mask, x[0], y[0]), a.select(mask, x[1], y[1])


def plus(a: Algebra, x: Wide, y: Wide) -> Wide:
    """The sum: the low half went around if it is below a summand, which carries."""
    low = x[0] + y[0]
    return low, x[1] + y[1] + a.mask_to_int(low < x[0], UQ)


_ENOUGH = 1 << 62
"""A high half from which on no sum with a source of 64 bits comes back into the range of a type."""


def times(a: Algebra, x: Wide, y: Wide) -> Wide:
    """The product of sources: of their magnitudes, of the four products of their halves; a large one is cut."""
    (ux, _), (uy, _) = magnitude(a, x), magnitude(a, y)
    half, low_half, enough = a.const(32, UQ), a.const(0xFFFFFFFF, UQ), a.const(_ENOUGH, UQ)
    xl, xh, yl, yh = ux & low_half, ux >> half, uy & low_half, uy >> half
    middle = xh * yl + ((xl * yl) >> half)
    other = xl * yh + (middle & low_half)
    high = xh * yh + (middle >> half) + (other >> half)
    product = ux * uy, a.select(high < enough, high, enough)
    return pick(a, is_negative(a, x) ^ is_negative(a, y), negated(a, product), product)


def left(a: Algebra, x: Wide, count: Lanes) -> Wide:
    """x shifted left by 0 to 63."""
    low, high = x
    one, back = a.const(1, UQ), a.const(63, UQ) - count
    return low << count, (high << count) | ((low >> one) >> back)


def right(a: Algebra, x: Wide, count: Lanes) -> Wide:
    """x shifted right by 0 to 63, with its sign."""
    low, high = x
    one, back = a.const(1, UQ), a.const(63, UQ) - count
    upper = a.bitcast(a.bitcast(high, Q) >> a.bitcast(count, Q), UQ)
    return (low >> count) | ((high << one) << back), upper


def compared(a: Algebra, relation: str, x: Wide, y: Wide) -> Mask:
    """Whether a relation holds: by the high halves, which have the sign, else by the low ones."""
    same = x[1] == y[1]
    if relation in ("eq", "ne"):
        equal = same & (x[0] == y[0])
        return equal if relation == "eq" else ~equal
    if relation in ("gt", "le"):
        return compared(a, {"gt": "lt", "le": "ge"}[relation], y, x)
    less = (a.bitcast(x[1], Q) < a.bitcast(y[1], Q)) | (same & (x[0] < y[0]))
    return less if relation == "lt" else ~less


def clamped(a: Algebra, x: Wide, target: DataType) -> Lanes:
    """The nearest number of an integer type."""
    low, high = x
    minimum, maximum = a.const(target.minimum, target), a.const(target.maximum, target)
    above = (high != a.const(0, UQ)) | (low > a.const(target.maximum, UQ))
    below = (high != a.const(UQ.maximum, UQ)) | (low < a.const(target.minimum & UQ.maximum, UQ))
    if not target.is_signed:
        below = high == high
    inside = a.cast(low, target)
    return a.select(is_negative(a, x), a.select(below, minimum, inside), a.select(above, maximum, inside))


def integer_result(a: Algebra, x: Wide, target: DataType, saturate: bool) -> Lanes:
    """A number as an integer type: the nearest, or its low bits."""
    return clamped(a, x, target) if saturate else a.cast(x[0], target)


def _range(t: DataType, modifier: int) -> tuple[int, int]:
    """The least and the greatest number of an integer source."""
    low, high = t.minimum, t.maximum
    if modifier in (ABS, NEG_ABS):
        low, high = 0, max(-low, high)
    return (-high, -low) if modifier in (NEG, NEG_ABS) else (low, high)


def _fits(m: Machine, ops: list[VectorOperand], combine: Callable[[Algebra, Wide, Wide], Wide]) -> bool:
    """Whether 64 bits have all results of sources: with a sign if a source has one, or is negated."""
    ranges = [_range(type_of_source(m, op), op.modifier) for op in ops]
    (x, y), rest = ranges[:2], ranges[2:]
    ends = [u * v for u in x for v in y] if combine is times else [x[0] + y[0], x[1] + y[1]]
    signed = any(op.modifier in (NEG, NEG_ABS) or type_of_source(m, op).is_signed for op in ops)
    low, high = (end(ends) + sum(z[n] for z in rest) for n, end in enumerate((min, max)))
    return integer_of(8, signed).minimum <= low and high <= integer_of(8, signed).maximum


def saturated_step(m: Machine, instruction: Instruction, combine: Callable[[Algebra, Wide, Wide], Wide]) -> Step | None:
    """An instruction that saturates integers whose results may need more than 64 bits: the first two sources combined,
    plus the others.
    """
    args, a, fields = instruction.args, m.algebra, sources_of(instruction)
    ops, target = [args[s] for s in fields], m.type_of(args["dst"])
    saturates = args["dst"].modifier == SAT and target.is_integer
    if not saturates or not all(type_of_source(m, op).is_integer for op in ops) or _fits(m, ops, combine):
        return None
    count = args["exec"].size
    reads = [wide_source(m, args[s], count) for s in fields]
    write, mask = m.writer(args["dst"], count), mask_of(m, instruction)

    def step() -> None:
        x, y, *rest = (read() for read in reads)
        total = combine(a, x, y)
        for z in rest:
            total = plus(a, total, z)
        write(clamped(a, total, target), mask())

    return step
