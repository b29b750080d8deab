"""Rounding in the modes of %cr0, and rounding once (manual: chapter 2, "Type Conversion" and "Floating Point Mode").

The algebra rounds to nearest even. The other modes are made from that result and its *error*, the exact result
minus the rounded one: the mode says whether the neighbour above or below is wanted instead. Sums and products of
doubles have errors that are doubles themselves (Knuth's two-sum, the fused multiply-add), and of a quotient or root its
sign is enough.

*Round to odd* lets a result be rounded twice as if it were rounded once. A double that is not exact is moved to its
neighbour with an odd last bit: it is then never half-way between two floats, and lies on the side of the exact result.
Say 1 + 2**-24 + 2**-60 is to become a float, whose last place is 2**-23. The nearest double is 1 + 2**-24, just
half-way, and would go to the even 1.0; its error 2**-60 is positive, so its odd neighbour is 1 + 2**-24 + 2**-52, and
that goes up to 1 + 2**-23, the float nearest to the sum.
"""

from __future__ import annotations

import math

from visakit.language import types
from visakit.language.types import DF, HF, UQ, UW, DataType, F, Q
from vsim.semantics.algebra import Algebra, Lanes, Mask

WithError = tuple[Lanes, Lanes]
"""A double rounded to nearest even, and a double that has at least the sign of its error."""
UP, DOWN, TO_ZERO = 1, 2, 3
"""Rounding modes of %cr0 beside the nearest even."""
Rounding = Lanes | int
"""The rounding mode where it is known only when the instruction executes, or one of the above."""
_MORE_BITS = 52 - 23
"""Of the fraction of a double that a float does not have."""


# -- directed rounding -----------------------------------------------------------------------------------------


def to_odd(a: Algebra, total: Lanes, error: Lanes) -> Lanes:
    """Round to odd, given the nearest double and its error: to round that to a narrower type is to round once."""
    bits = a.bitcast(total, Q)
    zero, one = a.const(0, Q), a.const(1, Q)
    inexact = (error != a.const(0.0, DF)) & ((bits & one) == zero) & (error == error)
    outward = (error > a.const(0.0, DF)) == (total > a.const(0.0, DF))
    return a.bitcast(a.select(inexact, a.select(outward, bits + one, bits - one), bits), DF)


def is_direct(a: Algebra, t: DataType, rounding: Rounding | None) -> bool:
    """Whether the algebra itself rounds results of a type in this mode.

    Down is left out: there the sum of opposite numbers is -0, which the results made of the nearest ones do not know.
    """
    return a.directs and t in (F, DF) and isinstance(rounding, int) and rounding in (UP, TO_ZERO)


def _halves(a: Algebra, x: Lanes, source: DataType) -> tuple[Lanes, Lanes]:
    """A 64-bit integer as the sum of two doubles."""
    low = x & a.const(0xFFFFFFFF, source)
    return a.cast(x - low, DF), a.cast(low, DF)


def _double(a: Algebra, x: Lanes, source: DataType) -> WithError | tuple[Lanes, None]:
    """A number as a double, with its error where it may have one."""
    if source.is_integer and source.size == 8:
        return two_sum(a, *_halves(a, x, source))
    return a.cast(x, DF), None


def float_rounded_to_odd(a: Algebra, x: Lanes, source: DataType) -> Lanes:
    """A number as a float, rounded to odd, so that rounding it to a narrower format rounds once."""
    if source in (F, HF):
        return a.cast(x, F)
    exact, error = _double(a, x, source)
    if error is not None:
        exact = to_odd(a, exact, error)
    near = a.cast(exact, F)
    back, bits, one = a.cast(near, DF), a.bitcast(near, types.UD), a.const(1, types.UD)
    inexact = (back != exact) & (exact == exact) & ((bits & one) == a.const(0, types.UD))
    outward = a.absolute(exact) > a.absolute(back)
    return a.bitcast(a.select(inexact, a.select(outward, bits + one, bits - one), bits), F)


def directed(a: Algebra, x: Lanes, source: DataType, target: DataType, rounding: Rounding) -> Lanes:
    """Convert to a float type in the rounding mode of %cr0."""
    wide, error = _double(a, x, source)
    if target is DF:
        return wide if error is None else step_by_mode(a, wide, error, DF, rounding)
    if error is not None:
        wide = to_odd(a, wide, error)
    if target is F and source.is_integer and source.size <= 4 and isinstance(rounding, int) and rounding == TO_ZERO:
        kept = a.const((1 << 64) - (1 << _MORE_BITS), UQ)  # No float of these is a denormal, or too large.
        return a.cast(a.bitcast(a.bitcast(wide, UQ) & kept, DF), F)
    if is_direct(a, target, rounding):
        return a.in_mode("fptrunc", rounding, target, wide)
    near = a.cast(wide, target)
    return step_by_mode(a, near, wide - a.cast(near, DF), target, rounding, wide)


def step_by_mode(
    a: Algebra, near: Lanes, error: Lanes, t: DataType, rounding: Rounding, sign_of: Lanes | None = None
) -> Lanes:
    """The result in the rounding mode of %cr0, given the nearest one and a double with the sign of its error.

    Args:
        sign_of: doubles with the signs of the exact results, for results that round to zero.
    """
    word = {DF: UQ, F: types.UD, HF: UW}[t]
    one, sign, none = a.const(1, word), a.const(1 << (word.bits - 1), word), a.const(0, word)
    bits, zero = a.bitcast(near, word), a.const(0.0, DF)
    magnitude = bits & ~sign
    exact = a.bitcast(sign_of, UQ) >= a.const(1 << 63, UQ) if sign_of is not None else bits >= sign
    negative = a.select(magnitude == none, a.mask_to_int(exact, word), a.mask_to_int(bits >= sign, word)) != none
    # Of two numbers with one sign that follow each other the bits do, too.
    outward, inward = (a.bitcast(m | (bits & sign), t) for m in (magnitude + one, magnitude - one))

    def moved(where: tuple[Mask, Mask], to: Lanes) -> Lanes:
        """The nearest result, or its neighbour where negative, and where other results, are to move."""
        below, above = (a.mask_to_int(m, word) for m in where)
        return a.select(a.select(negative, below, above) != none, to, near)

    more, less = error > zero, error < zero
    towards_zero = moved((more, less), inward)
    known = rounding if isinstance(rounding, int) else None
    if known == TO_ZERO:
        return towards_zero
    away = moved((less, more), outward)
    if known == UP:
        return a.select(negative, towards_zero, away)
    if known == DOWN:
        return a.select(negative, away, towards_zero)
    up, down = a.select(negative, towards_zero, away), a.select(negative, away, towards_zero)

    def mode(number: int) -> Mask:
        return rounding == a.const(number, types.UD)

    return a.select(mode(UP), up, a.select(mode(DOWN), down, a.select(mode(TO_ZERO), towards_zero, near)))


def mirrored(a: Algebra, rounding: Rounding) -> Rounding:
    """The mode in which -x is rounded as x is in another: up and down change places."""
    if isinstance(rounding, int):
        return {UP: DOWN, DOWN: UP}.get(rounding, rounding)
    one, both = a.const(1, types.UD), a.const(3, types.UD)
    return ((rounding << one) | (rounding >> one)) & both


# -- results of floats and halves with their errors ------------------------------------------------------------
#
# Products of floats are exact in double, and no double that comes of floats is too large, or too small, for its error.


def narrow_product(a: Algebra, x: Lanes, y: Lanes) -> WithError:
    """The product of floats, as doubles."""
    return x * y, a.const(0.0, DF)


def narrow_fused(a: Algebra, x: Lanes, y: Lanes, z: Lanes) -> WithError:
    """The sum x * y + z of floats, as doubles."""
    return two_sum(a, x * y, z)


def narrow_quotient(a: Algebra, x: Lanes, y: Lanes) -> WithError:
    """The quotient of floats, as doubles, with the sign of the error (NaN where the quotient is exactly infinite)."""
    near = a.fdiv(x, y)
    rest = a.fma(a.negate(near), y, x)
    return near, a.select(y < a.const(0.0, DF), a.negate(rest), rest)


def narrow_reciprocal(a: Algebra, x: Lanes) -> WithError:
    """1 / x of floats, as :func:`narrow_quotient`."""
    return narrow_quotient(a, a.const(1.0, DF), x)


def narrow_root(a: Algebra, x: Lanes) -> WithError:
    """The square root of floats, as doubles, with the sign of the error."""
    near = a.sqrt(x)
    return near, a.fma(a.negate(near), near, x)


# -- results of doubles with their errors ----------------------------------------------------------------------


def two_sum(a: Algebra, x: Lanes, y: Lanes) -> WithError:
    """The rounded sum of doubles and its exact error."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def sum_with_error(a: Algebra, x: Lanes, y: Lanes) -> WithError:
    """The sum of doubles."""
    near, error = two_sum(a, x, y)
    return near, _beyond_range(a, near, error, x, y, y)


def product_with_error(a: Algebra, x: Lanes, y: Lanes) -> WithError:
    """The product of doubles."""
    near = x * y
    return near, _beyond_range(a, near, _lost(a, x, y, near), x, y, y)


def fused_with_error(a: Algebra, x: Lanes, y: Lanes, z: Lanes) -> WithError:
    """The sum x * y + z of doubles, rounded once."""
    near, plain = a.fma(x, y, z), a.absolute(x * y)
    zero, one, huge, tiny = (a.const(v, DF) for v in (0.0, 1.0, 2.0**1000, 2.0**-900))
    # Scaled, so that the product does not overflow where the sum is in range, and that its error is a double.
    scale = a.select(plain > huge, a.const(2.0**-8, DF), a.select(plain < tiny, a.const(2.0**600, DF), one))
    swap = a.absolute(x) > a.absolute(y)
    small, large = a.select(swap, y, x) * scale, a.select(swap, x, y)
    product = small * large
    # Of an addend below all bits of a large product only the sign counts, which scaling could lose.
    total, low = two_sum(a, product, a.select((plain > huge) & (a.absolute(z) < one), z, z * scale))
    rest, least = two_sum(a, low, a.fma(small, large, a.negate(product)))
    error = (total - near * scale) + rest + least
    # Beside such an addend the product is nothing but the error; so it is where the scaled one is still too small.
    alone = (a.absolute(z) > a.const(2.0**-700, DF)) | (a.absolute(product) < a.const(2.0**-800, DF))
    finite = a.absolute(z) < a.const(math.inf, DF)
    sign = a.select((small > zero) == (large > zero), one, a.negate(one))
    sign = a.select((small == zero) | (large == zero), zero, sign)
    return near, _beyond_range(a, near, a.select((plain < tiny) & alone & finite, sign, error), x, y, z)


def quotient_with_error(a: Algebra, x: Lanes, y: Lanes) -> WithError:
    """The quotient of doubles, with the sign of the error (NaN where the quotient is exactly infinite)."""
    near, limit = a.fdiv(x, y), a.const(2.0**-800, DF)
    scale = a.select((a.absolute(x) < limit) | (a.absolute(near) < limit), a.const(2.0**150, DF), a.const(1.0, DF))
    rest = a.fma(a.negate(near * scale), y, x * scale)
    return near, a.select(y < a.const(0.0, DF), a.negate(rest), rest)


def reciprocal_with_error(a: Algebra, x: Lanes) -> WithError:
    """1 / x of doubles, as :func:`quotient_with_error`."""
    return quotient_with_error(a, a.const(1.0, DF), x)


def root_with_error(a: Algebra, x: Lanes) -> WithError:
    """The square root of doubles, with the sign of the error."""
    near, small = a.sqrt(x), x < a.const(2.0**-800, DF)
    scaled = near * a.select(small, a.const(2.0**100, DF), a.const(1.0, DF))
    return near, a.fma(a.negate(scaled), scaled, x * a.select(small, a.const(2.0**200, DF), a.const(1.0, DF)))


def _lost(a: Algebra, x: Lanes, y: Lanes, product: Lanes) -> Lanes:
    """The error of a rounded product; of a tiny one, whose error is no double, the smallest double with its sign."""
    lost = a.fma(x, y, a.negate(product))
    zero, one, scale, least = (a.const(v, DF) for v in (0.0, 1.0, 2.0**600, 2.0**-1074))
    swap = a.absolute(x) > a.absolute(y)
    small, large = a.select(swap, y, x), a.select(swap, x, y)
    more = a.select(a.absolute(large) < one, a.const(2.0**1000, DF), one)
    scaled = a.fma(small * scale, large * more, a.negate(product * scale * more))
    sign = a.select(scaled > zero, least, a.select(scaled < zero, a.negate(least), zero))
    return a.select(a.absolute(product) < a.const(2.0**-900, DF), sign, lost)


def _beyond_range(a: Algebra, near: Lanes, error: Lanes, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """The error, also where finite sources give a result that was rounded to infinity: the exact result is below."""
    infinity = a.const(math.inf, DF)
    finite = (a.absolute(x) < infinity) & (a.absolute(y) < infinity) & (a.absolute(z) < infinity)
    return a.select(finite & (a.absolute(near) == infinity), a.negate(near), error)
