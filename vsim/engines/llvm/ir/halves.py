"""Operations on bits of qwords that are written as two on dwords.

Compilers for platforms that have few operations on integers of 64 bits write the others for each half::

    xor (M1, 16) LOW(0,0)<1>  X(0,0)<2;1,0> Y(0,0)<2;1,0>
    xor (M1, 16) HIGH(0,0)<1> X(0,1)<2;1,0> Y(0,1)<2;1,0>

Those of a product of dwords are ``mul`` and ``mulh`` of the same operands. Values know of which qwords they are a half,
and by which operations. Where both halves become qwords, the builder computes these from the qwords, so that nothing is
picked apart and interleaved. The dwords are there as well; LLVM removes unused ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from visakit.language import types

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder
    from vsim.engines.llvm.ir.values import Value

DEEPEST = 4
"""Operations on operations of so many levels are done again on qwords."""


class Half(NamedTuple):
    """The low (0) or the high dwords (1) of qwords, which may not exist yet."""

    number: int | None
    """None for a constant, which may be either."""
    value: Value
    """The qwords themselves (of a product, in its high half), or the constant dword, or the mask by which ``select``
    chooses.
    """
    op: str = ""
    """``and``, ``or``, ``xor`` or ``select`` of halves of other qwords, ``product`` or ``signs`` of dwords."""
    operands: tuple[Half, ...] = ()
    depth: int = 0


def half_of_result(op: str, x: Value, y: Value, mask: Value | None = None) -> Half | None:
    """Which half of qwords the result of an operation on dwords is; None if it is not known to be one."""
    one, other = x.facts.half or _constant(x), y.facts.half or _constant(y)
    if not (one and other) or {one.number, other.number} in ({None}, {0, 1}):
        return None
    depth = max(one.depth, other.depth) + 1
    number = other.number if one.number is None else one.number
    return Half(number, mask or x, op, (one, other), depth) if depth <= DEEPEST else None


def half_of_product(number: int, qwords: Value, x: Value, y: Value) -> Half:
    """The low (0) or the high dwords (1) of the product of dwords x and y; of low ones the qwords are not known."""
    depth = DEEPEST if qwords.type is types.Q else 0  # Sums that belong to a product of qwords have an unsigned one.
    return Half(number, qwords, "product", (Half(None, x), Half(None, y)), depth)


def half_of_signs(x: Value) -> Half:
    """The signs of dwords are the high dwords of their extensions."""
    return Half(1, x, "signs")


def with_half_of_sum(total: Value, x: Value, y: Value) -> Value:
    """The sum of x and y; if one of them is the high dwords of a product, it knows that it has others added to them."""
    for half, rest in ((x.facts.half, y), (y.facts.half, x)):
        if half and half.op == "product" and half.number == 1 and half.depth < DEEPEST:
            return total.with_facts(
                half=half._replace(operands=(*half.operands, Half(None, rest)), depth=half.depth + 1)
            )
    return total


def _constant(x: Value) -> Half | None:
    return None if x.constant is None or x.type.size != types.UD.size else Half(None, x)


def qwords_of_halves(b: Builder, low: Value, high: Value) -> Value | None:
    """Qwords of which dwords are the low and the high ones, as operations on qwords; None for any other dwords."""
    one, other = low.facts.half, high.facts.half
    if not (one and other and low.lanes == high.lanes):
        return None
    if one.op == "product":
        found = _product(b, one, other)
        return found and b.broadcast(found, low.lanes)
    return b.broadcast(_qwords(b, one, other), low.lanes) if _belong_together(one, other) else None


def _belong_together(low: Half, high: Half) -> bool:
    if low.op != high.op or low.op == "product" or low.number not in (0, None) or high.number not in (1, None):
        return False
    if low.number is None or high.number is None:
        return low.number is high.number
    if low.op in ("", "select") and low.value is not high.value and low.value.text != high.value.text:
        return False
    return all(map(_belong_together, low.operands, high.operands))


def _qwords(b: Builder, low: Half, high: Half) -> Value:
    if low.number is None:
        assert low.value.constant is not None and high.value.constant is not None
        return b.const(low.value.constant | high.value.constant << 32, types.UQ)
    if not low.op:
        return low.value
    x, y = (_qwords(b, one, other) for one, other in zip(low.operands, high.operands, strict=True))
    if low.op == "select":
        return b.merge(low.value, x, y)
    return x.binary(y, low.op, low.op)


def _product(b: Builder, low: Half, high: Half) -> Value | None:
    """The product of two dwords, or of two qwords: then the products of either's high dwords and the other's low ones
    are added to the high dwords.
    """
    if high.op != "product" or (low.number, high.number) != (0, 1):
        return None
    (x, y), (one, other, *terms) = ([half.value for half in part.operands] for part in (low, high))
    if not (_is_same(x, one) and _is_same(y, other)):
        return None
    if not terms:
        return b.retype(high.value, types.UQ)
    highs: dict[bool, Value] = {}
    for term in terms:
        found = next((pair for pair in _high_dwords(term, x, y) if pair[0] not in highs), None)
        if found is None:
            return None
        highs[found[0]] = found[1]
    left, right = _whole(b, x, highs.get(False)), _whole(b, y, highs.get(True))
    return left * right if left and right else None


def _high_dwords(term: Value, x: Value, y: Value) -> Iterator[tuple[bool, Value]]:
    """High dwords that belong to low ones y (True) or x (False), if a term is their product with the other low ones."""
    half = term.facts.half
    if half and half.op == "product" and not half.number:
        one, other = (factor.value for factor in half.operands)
        for factor, rest in ((one, other), (other, one)):
            yield from ((of_y, rest) for of_y, low in ((False, y), (True, x)) if _is_same(factor, low))


def _whole(b: Builder, low: Value, high: Value | None) -> Value | None:
    """Qwords of dwords of which the high ones may be zeros; None for dwords of none."""
    if high is None:
        return b.cast(b.retype(low, types.UD), types.UQ)
    if low.constant is not None and high.constant is not None:
        return b.const(low.constant | high.constant << types.UD.bits, types.UQ)
    half = high.facts.half
    if half and half.op == "signs" and _is_same(half.value, low):
        return b.retype(b.cast(b.retype(low, types.D), types.Q), types.UQ)
    return qwords_of_halves(b, low, high)


def _is_same(x: Value, y: Value) -> bool:
    """Whether dwords of any sign are the same."""
    if x.constant is None or y.constant is None:
        return x is y or x.text == y.text
    return not (x.constant ^ y.constant) % (1 << types.UD.bits)
