"""Operations on floats of which nothing is known but laws: terms that are equal by the laws become one term.

The laws that hold bit for bit, for all numbers and all NaNs but their bits, where results are rounded to the nearest:
``x + y = y + x``, ``x * y = y * x``, also in ``x * y + z``; ``(-x) * y = -(x * y)``, also of quotients; ``x * 1 = x``;
``x * 2 = x + x``; ``x + -0 = x``, and ``x * y + -0 = x * y`` of a fused sum.

Modulo reassociation sums and products may have any order, and a fused sum is a product and a sum.
"""

from __future__ import annotations

import z3

from visakit.language.types import BY_NAME, DataType
from vsim.symbolic import terms
from vsim.symbolic.floats import float_bits
from vsim.symbolic.terms import Term

_OPERATIONS = ("fadd", "fmul", "fma", "fdiv")


class FloatLaws:
    """Makes the terms of operations.

    Args:
        reassociate: whether sums and products may have any order.
    """

    def __init__(self, reassociate: bool = False) -> None:
        self.reassociate = reassociate

    def made(self, name: str, operands: list[Term]) -> Term | None:
        """The term of an operation, by the name of its function; None for other functions, which have no laws."""
        op, _, kind = name.partition(".")
        if op not in _OPERATIONS or kind not in BY_NAME:
            return None
        return getattr(self, f"_{op}")(BY_NAME[kind], *operands)

    def _fadd(self, t: DataType, x: Term, y: Term) -> Term:
        minus_zero = 1 << (t.bits - 1)
        for one, other in ((x, y), (y, x)):
            if _number(one) == minus_zero:
                return other
        if not self.reassociate:
            return _function("fadd", t, *sorted((x, y), key=_rank))
        parts = sorted([*_addends(x, t), *_addends(y, t)], key=_rank)
        return _chain("fadd", t, parts)

    def _fmul(self, t: DataType, x: Term, y: Term) -> Term:
        (x, minus), (y, other) = _magnitude(x, t), _magnitude(y, t)
        found: Term
        if _number(x) == float_bits(1, t):
            found = y
        elif _number(y) == float_bits(1, t):
            found = x
        elif float_bits(2, t) in (_number(x), _number(y)):
            whole = y if _number(x) == float_bits(2, t) else x
            found = self._fadd(t, whole, whole)
        elif self.reassociate:
            found = _chain("fmul", t, sorted([*_parts("fmul", t, x), *_parts("fmul", t, y)], key=_rank))
        else:
            found = _function("fmul", t, *sorted((x, y), key=_rank))
        return found if minus == other else _negated(found, t)

    def _fma(self, t: DataType, x: Term, y: Term, z: Term) -> Term:
        is_product = _number(z) == 1 << (t.bits - 1)
        if self.reassociate or is_product:
            product = self._fmul(t, x, y)
            return product if is_product else self._fadd(t, product, z)
        (x, minus), (y, other) = _magnitude(x, t), _magnitude(y, t)
        first, second = sorted((x, y), key=_rank)
        for one, factor in ((first, second), (second, first)):
            if _number(one) == float_bits(1, t):
                return self._fadd(t, factor if minus == other else _negated(factor, t), z)
        return _function("fma", t, first if minus == other else _negated(first, t), second, z)

    def _fdiv(self, t: DataType, x: Term, y: Term) -> Term:
        (x, minus), (y, other) = _magnitude(x, t), _magnitude(y, t)
        found = _function("fdiv", t, x, y)
        return found if minus == other else _negated(found, t)


def _rank(x: Term) -> int:
    return int(x.get_id())


def _number(x: Term) -> int | None:
    return x.as_long() if z3.is_bv_value(x) else None


def _function(op: str, t: DataType, *operands: Term) -> Term:
    return z3.Function(f"{op}.{t.name}", *[z3.BitVecSort(t.bits)] * (len(operands) + 1))(*operands)


def _chain(op: str, t: DataType, operands: list[Term]) -> Term:
    found = operands[0]
    for own in operands[1:]:
        found = _function(op, t, found, own)
    return found


def _parts(op: str, t: DataType, x: Term) -> list[Term]:
    """The operands of sums, or products, of each other."""
    found, work = [], [x]
    while work:
        own = work.pop()
        if own.num_args() == 2 and own.decl().name() == f"{op}.{t.name}":
            work += own.children()
        else:
            found.append(own)
    return found


def _addends(x: Term, t: DataType) -> list[Term]:
    whole, minus = _magnitude(x, t)
    own = _parts("fadd", t, whole)
    if not minus or len(own) == 1:
        return own if not minus else [x]
    return [_negated(part, t) for part in own]


def _negated(x: Term, t: DataType) -> Term:
    return z3.simplify(terms.expression(x, t.bits) ^ (1 << (t.bits - 1)))


def _magnitude(x: Term, t: DataType) -> tuple[Term, bool]:
    """A number without the sign that its term puts before it, and whether there was one."""
    number = _number(x)
    if number is not None:
        sign = 1 << (t.bits - 1)
        return (z3.BitVecVal(number ^ sign, t.bits), True) if number & sign else (x, False)
    kind = x.decl().kind()
    is_negated = kind == z3.Z3_OP_BXOR or (kind == z3.Z3_OP_CONCAT and x.arg(0).decl().kind() == z3.Z3_OP_BNOT)
    if is_negated:
        other = _negated(x, t)
        if other.decl().kind() not in (z3.Z3_OP_BXOR, z3.Z3_OP_CONCAT):
            return other, True
    return x, False
