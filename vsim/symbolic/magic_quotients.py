"""Quotients by constants that compilers write as high halves of products, as quotients again.

``x / 17`` becomes ``mulh(x, 0x78787879) >> 3``, and one more where x is negative. That such a product of 64 bits is a
quotient takes a solver minutes; written as a quotient it is what ``div`` computes. A term is a *scaled* number if it
is ``floor(x * factor / 2**power)`` for every x of its type:

* the high half of a product of x with a constant: ``power`` is the number of bits;
* a scaled number that is shifted: ``floor(floor(y) / 2**n) = floor(y / 2**n)``;
* ``x + scaled``, where the sum fits: ``factor`` grows by ``2**power``;
* ``((x - scaled) >> 1) + scaled``, which is ``(x + scaled) >> 1`` without the overflow.

It is ``floor(x / d)`` for x from 0 to ``most`` exactly if ``factor * d`` is more than ``2**power``, or equal, and if it
holds for the greatest x that is one less than a multiple of d: the error grows with x, and the quotient jumps behind
such numbers. For negative x it is then ``-floor(-x / d) - 1`` if the factor is not exact.
"""

from __future__ import annotations

from typing import NamedTuple

import z3

from vsim.symbolic.terms import Term, expression, minus, pick, quotient, same_term, signed


class _Scaled(NamedTuple):
    """``floor(x * factor / 2**power)``."""

    x: Term
    factor: int
    power: int
    is_signed: bool


def shifted(x: Term, places: int, bits: int, with_sign: bool) -> Term | None:
    """``x >> places`` as a quotient, if it is one; x is no number."""
    found = _shifted(_scaled(x, bits), places, with_sign)
    return None if found is None else _quotient(found, bits)


def with_its_sign(x: Term, bits: int) -> Term:
    """A term that is negative where x is: of the high half of a product with a positive constant, the other factor."""
    found = _scaled(x, bits)
    return found.x if found is not None and found.is_signed and found.factor > 0 else x


def divisor_of(factor: int, power: int, most: int) -> int | None:
    """The d above 1 for which ``floor(x * factor / 2**power)`` is ``floor(x / d)`` for all x from 0 to ``most``."""
    if factor <= 1:
        return None
    divisor = -(-(1 << power) // factor)  # If any is, it is this one: x = d - 1 gives 0, x = d gives 1.
    last = (most + 1) // divisor * divisor - 1
    if not 1 < divisor <= most or factor * divisor < 1 << power:
        return None
    return divisor if last * factor >> power == last // divisor else None


def _quotient(found: _Scaled, bits: int) -> Term | None:
    if not found.is_signed:
        divisor = divisor_of(found.factor, found.power, (1 << bits) - 1)
        return None if divisor is None else quotient(found.x, divisor, bits)
    divisor = divisor_of(found.factor, found.power, 1 << (bits - 1))
    if divisor is None or found.factor * divisor == 1 << found.power:
        return None
    negative = found.x < 0
    whole = quotient(pick(negative, minus(found.x, bits), found.x, bits), divisor, bits)
    return pick(negative, minus(whole, bits) - 1, whole, bits)  # No `~`, which the solver takes for no sum.


def _shifted(found: _Scaled | None, places: int, with_sign: bool) -> _Scaled | None:
    if found is None or found.is_signed is not with_sign:
        return None
    return found._replace(power=found.power + places)


def _scaled(term: Term, bits: int) -> _Scaled | None:
    if not z3.is_bv(term):
        return None
    kind = term.decl().kind()
    if kind == z3.Z3_OP_EXTRACT:
        return _high_half(term, bits)
    if kind in (z3.Z3_OP_BASHR, z3.Z3_OP_BLSHR) and z3.is_bv_value(term.arg(1)):
        places = term.arg(1).as_long()
        found = _scaled(term.arg(0), bits) if places < bits else None
        return _shifted(found, places, kind == z3.Z3_OP_BASHR)
    if kind == z3.Z3_OP_BADD and term.num_args() == 2:
        one, other = term.children()
        return _sum(one, other, bits) or _sum(other, one, bits)
    return None


def _sum(one: Term, other: Term, bits: int) -> _Scaled | None:
    """The sum of a term and a scaled number."""
    found = _scaled(other, bits)
    if found is None:
        return None
    grown = found._replace(factor=found.factor + (1 << found.power))
    if _is_equal(one, found.x) and 0 <= grown.factor <= 1 << found.power:
        return grown
    if found.is_signed or not 0 <= found.factor <= 1 << found.power:
        return None
    is_half = _is_equal(one, z3.LShR(found.x - other, expression(1, bits)))
    return grown._replace(power=found.power + 1) if is_half else None


def _is_equal(one: Term, other: Term) -> bool:
    """Whether terms are one, or the solver's shortest form of both is: differences may be sums."""
    return one.decl().kind() == other.decl().kind() and same_term(z3.simplify(one), z3.simplify(other))


def _high_half(term: Term, bits: int) -> _Scaled | None:
    """The high half of a product with a constant, as ``mulh`` makes it."""
    is_cut = z3.is_app_of(term, z3.Z3_OP_EXTRACT) and term.params() == [bits - 1, 0]
    wide = term.arg(0) if is_cut else None
    if wide is None or wide.size() != 2 * bits or wide.decl().kind() not in (z3.Z3_OP_BASHR, z3.Z3_OP_BLSHR):
        return None
    product, places = wide.children()
    if not z3.is_bv_value(places) or places.as_long() != bits or not z3.is_app_of(product, z3.Z3_OP_BMUL):
        return None
    if product.num_args() != 2:
        return None
    x, factor = product.children()
    if z3.is_bv_value(x):
        x, factor = factor, x
    is_signed = z3.is_app_of(x, z3.Z3_OP_SIGN_EXT)
    is_whole = is_signed or z3.is_app_of(x, z3.Z3_OP_ZERO_EXT)
    if not z3.is_bv_value(factor) or not is_whole or x.arg(0).size() != bits:
        return None
    number = factor.as_long()
    if is_signed:
        number = signed(number, 2 * bits)
        is_whole = -(1 << (bits - 1)) <= number < 1 << (bits - 1)
    return _Scaled(x.arg(0), number, bits, is_signed) if is_whole and number < 1 << bits else None
