"""Quotients by constants that are high halves of products: the rule is exact, and finds what compilers write."""

import pytest

pytest.importorskip("z3", reason="proofs need z3-solver")

import z3

from vsim.symbolic import magic_quotients, terms
from vsim.symbolic.magic_quotients import divisor_of

BITS = 8
X = z3.BitVec("x", BITS)


def high(x, factor, is_signed):
    """The high half of a product, as ``mulh`` computes it."""
    wide = terms.times(terms.extend(x, BITS, 2 * BITS, is_signed), factor & 0xFFFF, 2 * BITS)
    return terms.extract(terms.shift_right(wide, BITS, 2 * BITS, is_signed), 0, BITS, 2 * BITS)


def is_same(one, other):
    solver = z3.Solver()
    solver.add(one != other)
    return solver.check() == z3.unsat


def test_a_divisor_is_found_exactly_where_one_is():
    """For divisions by all numbers of six bits."""
    for most in (32, 63):
        for power in range(6, 10):
            for factor in range(1 << 6):
                found = [n * factor >> power for n in range(most + 1)]
                right = [d for d in range(2, most + 1) if found == [n // d for n in range(most + 1)]]
                assert divisor_of(factor, power, most) == (right[0] if right else None), (most, power, factor)


@pytest.mark.parametrize("is_signed", [False, True])
def test_shifted_products_are_quotients_or_stay(is_signed):
    """A rewritten product is equal for all numbers; others stay."""
    found = 0
    for factor in range(3, 128 if is_signed else 256, 2):
        for places in range(5):
            whole = high(X, factor, is_signed)
            new = magic_quotients.shifted(whole, places, BITS, is_signed)
            if new is not None:
                assert is_same(new, terms.shift_right(whole, places, BITS, is_signed)), (factor, places)
                found += 1
    assert found > 20


@pytest.mark.parametrize("divisor", [3, 5, 7, 10, 11, 13, 17, 21, 25, 100, 127])
def test_quotients_of_compilers_are_found(divisor):
    """The forms of Hacker's Delight, with a factor of nine bits if eight are too few: a sum, or half a difference."""
    unsigned, signed = [], []
    for places in range(BITS):
        factor = -(-(1 << (BITS + places)) // divisor)
        if divisor_of(factor, BITS + places, 255) == divisor and factor < 1 << BITS:
            unsigned.append(magic_quotients.shifted(high(X, factor, False), places, BITS, False))
        elif divisor_of(factor, BITS + places, 255) == divisor and places and factor < 2 << BITS:
            part = high(X, factor - (1 << BITS), False)
            rest = terms.plus(X, terms.minus(part, BITS), BITS) if divisor % 2 else terms.less(X, part, BITS)
            whole = terms.plus(terms.shift_right(rest, 1, BITS, False), part, BITS)
            unsigned.append(magic_quotients.shifted(whole, places - 1, BITS, False))
        if divisor_of(factor, BITS + places, 128) == divisor and factor < 1 << (BITS - 1):
            signed.append(magic_quotients.shifted(high(X, factor, True), places, BITS, True))
        elif divisor_of(factor, BITS + places, 128) == divisor and factor < 1 << BITS:
            whole = terms.plus(high(X, factor - (1 << BITS), True), X, BITS)
            signed.append(magic_quotients.shifted(whole, places, BITS, True))
    assert unsigned
    assert signed
    for term in unsigned:
        assert is_same(term, z3.UDiv(X, z3.BitVecVal(divisor, BITS)))
    for term in signed:
        assert is_same(term, X / z3.BitVecVal(divisor, BITS) + z3.If(X < 0, z3.BitVecVal(-1, BITS), 0))


def test_the_sign_of_a_product_is_that_of_its_factor():
    whole = high(X, 0x57, True)
    assert magic_quotients.with_its_sign(whole, BITS).eq(X)
    assert magic_quotients.with_its_sign(high(X, -3, True), BITS).eq(high(X, -3, True))
    assert magic_quotients.with_its_sign(high(X, 0x57, False), BITS).eq(high(X, 0x57, False))
