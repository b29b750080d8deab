"""Values of integer expressions (manual, chapter 2)."""

from __future__ import annotations

import operator
from collections.abc import Callable

from visakit.text.problem import IN_EXPRESSIONS
from visakit.text.syntax import DispatchSimd, Operation, SizeOf, Value


class ExpressionError(ValueError):
    """An expression that has no value; the message says why, the hint what could be."""

    def __init__(self, message: str, hint: str) -> None:
        self.hint = hint
        super().__init__(message)


MAXIMUM_BITS = 128
"""Values beyond fit into no field; they must not grow without end."""


def _divide(a: int, b: int) -> int:
    """The quotient, rounded towards zero."""
    if b == 0:
        raise ExpressionError("division by zero", "a divisor is any number but 0")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_OPERATORS: dict[str, Callable[..., int]] = {
    "&": operator.and_,
    "^": operator.xor,
    "|": operator.or_,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    ">>>": lambda a, b: (a & (1 << 64) - 1) >> (b & 63),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b),
    "negate": operator.neg,
    "~": operator.invert,
    "!": lambda a: int(not a),
}


def evaluate(value: Value, size_of: Callable[[str], int | None], dispatch_simd: Callable[[], int]) -> int:
    """The value of an expression; ``size_of`` gives the bytes of a variable or of ``GRF``.

    Raises:
        ExpressionError: it names something unknown, divides by zero, is no integer or far too large.
    """
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        raise ExpressionError(f"{value} is not an integer", IN_EXPRESSIONS)
    if isinstance(value, SizeOf):
        size = size_of(value.name)
        if size is None:
            hint = "%sizeof takes a general variable that is declared, or GRF"
            raise ExpressionError(f"%sizeof of '{value.name}', which is not declared", hint)
        return size
    if isinstance(value, DispatchSimd):
        return dispatch_simd()
    assert isinstance(value, Operation)
    if value.operator == "?":
        chosen = value.operands[1 if evaluate(value.operands[0], size_of, dispatch_simd) else 2]
        return evaluate(chosen, size_of, dispatch_simd)
    found = _OPERATORS[value.operator](*(evaluate(part, size_of, dispatch_simd) for part in value.operands))
    if found.bit_length() > MAXIMUM_BITS:
        hint = f"values have {MAXIMUM_BITS} bits at most"
        raise ExpressionError("the value of this expression is far too large", hint)
    return found
