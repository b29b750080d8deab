"""Terms are bit-vectors and conditions: Python's numbers where they are constant, else expressions of Z3.

Constants fold in Python, which takes a hundredth of the solver's time for it, and keeps control flow and addresses
that depend on nothing symbolic plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import z3

# Z3 has no types; a term is an int (its bits, unsigned) or a BitVecRef, a condition a bool or a BoolRef.
Term: TypeAlias = Any
"""A bit-vector: its unsigned number, or an expression of the solver."""
Condition: TypeAlias = Term
"""A boolean: a bool, or an expression of the solver."""


def expression(x: Term, bits: int) -> Term:
    """A term as an expression of the solver."""
    return z3.BitVecVal(x, bits) if isinstance(x, int) else x


def condition(x: Condition) -> Condition:
    """A condition as an expression of the solver."""
    return z3.BoolVal(x) if isinstance(x, bool) else x


def identity(x: Term) -> int:
    """A number that an expression shares with equal ones as long as one of them lives, many times as fast as its id."""
    return int(x.ast.value)


def term_key(x: Term) -> object:
    """What equal terms have in common, as a key of a table that keeps them alive."""
    return x if isinstance(x, (int, bool)) else ("term", identity(x))


def value_in(model: z3.ModelRef, x: Term) -> int:
    """The number of a bit-vector in an example of the solver."""
    return x if isinstance(x, int) else int(model.eval(x, model_completion=True).as_long())


def same_term(x: Term, y: Term) -> bool:
    """Whether two terms are one and the same."""
    if x is y:
        return True
    if isinstance(x, (int, bool)) or isinstance(y, (int, bool)):
        return type(x) is type(y) and bool(x == y)
    return bool(x.ast.value == y.ast.value)


def signed(x: int, bits: int) -> int:
    """The signed number of some bits."""
    return x - (1 << bits) if x >> (bits - 1) else x


def folded(x: Term) -> Term:
    """A term of constants as its number, where the solver simplifies it to one."""
    if isinstance(x, int):
        return x
    found = z3.simplify(x)
    return found.as_long() if z3.is_bv_value(found) else found


# -- conditions ------------------------------------------------------------------------------------------------


def parts_of(condition: Condition) -> list[Condition]:
    """The conditions of a conjunction, and of the conjunctions in it, without constant ones."""
    found, work = list[Condition](), [condition]
    while work:
        own = work.pop()
        if isinstance(own, bool):
            continue
        if z3.is_and(own):
            work += own.children()
        else:
            found.append(own)
    return found


def implied_by(condition: Condition) -> list[Condition]:
    """The parts of a condition that hold whenever it does: of a conjunction all parts of its members, of a
    disjunction the parts that all members have. Lanes that left a loop in one of several rounds so still are under the
    conditions in front of it.
    """
    if isinstance(condition, bool):
        return []
    known: dict[tuple[int, bool], dict[int, Condition]] = {}
    work = [_positive(condition, True)]
    while work:  # Conditions are too deep for recursion.
        own, sign = work[-1]
        is_all, is_any = (z3.is_and(own), z3.is_or(own)) if sign else (z3.is_or(own), z3.is_and(own))
        children = _joined(own, sign, is_all) if is_all or is_any else []
        missing = [child for child in children if (identity(child[0]), child[1]) not in known]
        if missing:
            work += missing
            continue
        parts = [known[identity(child), its] for child, its in children]
        found = {name: part for own_parts in parts for name, part in own_parts.items()}
        if not is_all:
            names = set(parts[0]).intersection(*parts[1:]) if parts else set()
            whole = own if sign else negation(own)
            found = {name: part for name, part in found.items() if name in names} | {identity(whole): whole}
        known[identity(own), sign] = found
        work.pop()
    return [*found.values()]


def _joined(condition: Condition, sign: bool, is_all: bool) -> list[tuple[Condition, bool]]:
    """The parts of a conjunction or disjunction; of a conjunction also those of conjunctions in it."""
    found, work = list[tuple[Condition, bool]](), [_positive(child, sign) for child in condition.children()]
    while work:
        own, its = work.pop()
        if is_all and (z3.is_and(own) if its else z3.is_or(own)):
            work += [_positive(child, its) for child in own.children()]
        else:
            found.append((own, its))
    return found


def _positive(condition: Condition, sign: bool) -> tuple[Condition, bool]:
    """A condition without the negations in front of it, and the sign, which each of them has inverted."""
    while z3.is_not(condition):
        condition, sign = condition.arg(0), not sign
    return condition, sign


def negation(x: Condition) -> Condition:
    """not x."""
    if isinstance(x, bool):
        return not x
    return x.arg(0) if z3.is_not(x) else z3.Not(x)


def conjunction(x: Condition, y: Condition) -> Condition:
    """x and y."""
    if isinstance(x, bool):
        return y if x else False
    if isinstance(y, bool):
        return x if y else False
    return x if same_term(x, y) else z3.And(x, y)


def disjunction(x: Condition, y: Condition) -> Condition:
    """x or y."""
    if isinstance(x, bool):
        return True if x else y
    if isinstance(y, bool):
        return True if y else x
    return x if same_term(x, y) else z3.Or(x, y)


def difference(x: Condition, y: Condition) -> Condition:
    """Either x or y."""
    if isinstance(x, bool):
        return negation(y) if x else y
    if isinstance(y, bool):
        return negation(x) if y else x
    return False if same_term(x, y) else z3.Xor(x, y)


def choice(c: Condition, x: Condition, y: Condition) -> Condition:
    """x if c, else y, of conditions."""
    if isinstance(c, bool):
        return x if c else y
    if same_term(x, y):
        return x
    if isinstance(x, bool):
        return disjunction(c, y) if x else conjunction(negation(c), y)
    if isinstance(y, bool):
        return disjunction(negation(c), x) if y else conjunction(c, x)
    return z3.If(c, x, y)


# -- bit-vectors -----------------------------------------------------------------------------------------------


def pick(c: Condition, x: Term, y: Term, bits: int) -> Term:
    """x if c, else y."""
    if isinstance(c, bool):
        return x if c else y
    if same_term(x, y):
        return x
    return z3.If(c, expression(x, bits), expression(y, bits))


def invert(x: Term, bits: int) -> Term:
    """All bits the other way."""
    return ~x & ((1 << bits) - 1) if isinstance(x, int) else ~x


def minus(x: Term, bits: int) -> Term:
    """The number with which x adds up to zero."""
    return -x & ((1 << bits) - 1) if isinstance(x, int) else -x


def extract(x: Term, low: int, count: int, bits: int) -> Term:
    """``count`` bits of a term of ``bits`` bits, from ``low`` on."""
    if isinstance(x, int):
        return x >> low & ((1 << count) - 1)
    return x if count == bits else z3.Extract(low + count - 1, low, x)


def extend(x: Term, bits: int, to: int, with_sign: bool) -> Term:
    """A term with more bits: of its sign, or zeros."""
    if isinstance(x, int):
        return signed(x, bits) & ((1 << to) - 1) if with_sign else x
    return (z3.SignExt if with_sign else z3.ZeroExt)(to - bits, x)


Binary = Callable[[Term, Term], Term]


def _wrapped(operator: Binary, neutral: int | None, swaps: bool) -> Callable[[Term, Term, int], Term]:
    """An operation that folds constants, and operands that change nothing."""

    def combine(x: Term, y: Term, bits: int) -> Term:
        if isinstance(y, int):
            if isinstance(x, int):
                return operator(x, y) & ((1 << bits) - 1)
            if y == neutral:
                return x
        elif isinstance(x, int) and swaps and x == neutral:
            return y
        return operator(expression(x, bits), expression(y, bits))

    return combine


plus = _wrapped(lambda x, y: x + y, 0, True)
less = _wrapped(lambda x, y: x - y, 0, False)
_times = _wrapped(lambda x, y: x * y, 1, True)
_and = _wrapped(lambda x, y: x & y, None, True)
_or = _wrapped(lambda x, y: x | y, 0, True)
exclusive = _wrapped(lambda x, y: x ^ y, 0, True)


def times(x: Term, y: Term, bits: int) -> Term:
    """x * y."""
    return 0 if 0 in _constants(x, y) else _times(x, y, bits)


def both_bits(x: Term, y: Term, bits: int) -> Term:
    """The bits that x and y have."""
    constants = _constants(x, y)
    if 0 in constants:
        return 0
    if (1 << bits) - 1 in constants:
        return y if isinstance(x, int) and x == (1 << bits) - 1 else x
    return _and(x, y, bits)


def any_bits(x: Term, y: Term, bits: int) -> Term:
    """The bits that x or y has."""
    ones = (1 << bits) - 1
    return ones if ones in _constants(x, y) else _or(x, y, bits)


def _constants(*terms: Term) -> list[int]:
    return [t for t in terms if isinstance(t, int)]


def shift_left(x: Term, y: Term, bits: int) -> Term:
    """x moved up by y, which is below the width."""
    if isinstance(y, int):
        if y == 0 or isinstance(x, int):
            return x << y & ((1 << bits) - 1) if isinstance(x, int) else x
    elif isinstance(x, int) and x == 0:
        return 0
    return expression(x, bits) << expression(y, bits)


def shift_right(x: Term, y: Term, bits: int, with_sign: bool) -> Term:
    """x moved down by y, which is below the width, with copies of its sign or with zeros."""
    if isinstance(y, int):
        if y == 0:
            return x
        if isinstance(x, int):
            return (signed(x, bits) if with_sign else x) >> y & ((1 << bits) - 1)
    elif isinstance(x, int) and x == 0:
        return 0
    left, right = expression(x, bits), expression(y, bits)
    return left >> right if with_sign else z3.LShR(left, right)


def quotient(x: Term, y: Term, bits: int) -> Term:
    """The unsigned quotient; y is not zero."""
    if isinstance(y, int) and y == 1:
        return x
    if isinstance(x, int) and isinstance(y, int) and y:
        return x // y
    return z3.UDiv(expression(x, bits), expression(y, bits))


def equal(x: Term, y: Term, bits: int) -> Condition:
    """x == y."""
    if isinstance(x, int) and isinstance(y, int):
        return x == y
    if same_term(x, y):
        return True
    return expression(x, bits) == expression(y, bits)


def below(x: Term, y: Term, bits: int, with_sign: bool) -> Condition:
    """x < y."""
    if isinstance(x, int) and isinstance(y, int):
        return signed(x, bits) < signed(y, bits) if with_sign else x < y
    if same_term(x, y) or (not with_sign and isinstance(y, int) and y == 0):
        return False
    left, right = expression(x, bits), expression(y, bits)
    return left < right if with_sign else z3.ULT(left, right)


def numerals(term: Term) -> set[int]:
    """The numbers in a term of 64 bits."""
    if isinstance(term, int):
        return {term}
    found, seen, work = set[int](), set[int](), [term]
    while work:
        own = work.pop()
        if identity(own) in seen:
            continue
        seen.add(identity(own))
        if z3.is_bv_value(own):
            found.add(own.as_long())
        elif z3.is_bv(own):
            children = own.children()
            work += children
            if own.decl().kind() == z3.Z3_OP_CONCAT:
                found |= _parts(children)
    return found


def _parts(children: list[Term]) -> set[int]:
    """The numbers among the parts of a term, highest first, each with zeros in the place of the parts below it."""
    found, low = set[int](), 0
    for part in reversed(children):
        if z3.is_bv_value(part):
            found.add(part.as_long() << low)
        low += part.size()
    return found
