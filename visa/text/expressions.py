"""Integer expressions in the text language."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class ExpressionError(ValueError):
    """An expression that has no value; the message says why."""


@functools.cache
def _parser() -> Any:
    from lark import Lark

    from visa.text.scanner import grammar_text

    return Lark(grammar_text("expression"), parser="lalr")


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise ExpressionError("division by zero")
    return int(a / b) if abs(a) < 1 << 50 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


_BINARY: dict[str, Callable[[int, int], int]] = {
    "bit_and": lambda a, b: a & b, "bit_xor": lambda a, b: a ^ b, "bit_or": lambda a, b: a | b, "equal": lambda a, b: int(a == b),
    "unequal": lambda a, b: int(a != b), "less": lambda a, b: int(a < b), "greater": lambda a, b: int(a > b), "at_most": lambda a, b: int(a <= b),
    "at_least": lambda a, b: int(a >= b), "left": lambda a, b: a << (b & 63), "right": lambda a, b: a >> (b & 63),
    "right_unsigned": lambda a, b: (a & (1 << 64) - 1) >> (b & 63), "plus": lambda a, b: a + b, "minus": lambda a, b: a - b, "times": lambda a, b: a * b,
    "divide": _divide, "modulo": lambda a, b: a - b * _divide(a, b),
}  # fmt: skip
_UNARY: dict[str, Callable[[int], int]] = {
    "negate": lambda a: -a,
    "complement": lambda a: ~a,
    "invert": lambda a: int(not a),
}


def evaluate(text: str, size_of: Callable[[str], int | None], dispatch_simd: Callable[[], int]) -> int:
    """Value of an expression; ``size_of`` gives bytes of a variable or of ``GRF``.

    Raises:
        ExpressionError: it cannot be read, names something unknown or divides by zero.
    """
    text = text.strip()
    try:
        return int(text, 16) if text[:2] in ("0x", "0X") else int(text)
    except ValueError:
        pass
    from lark import LarkError

    try:
        tree = _parser().parse(text)
    except LarkError:
        raise ExpressionError(f"'{text}' is not an integer expression") from None

    def value(node: Any) -> int:
        name, children = node.data, node.children
        if name == "number":
            return int(children[0], 16) if children[0][:2] in ("0x", "0X") else int(children[0])
        if name == "size_of":
            size = size_of(str(children[0]))
            if size is None:
                raise ExpressionError(f"%sizeof of '{children[0]}', which is not declared")
            return size
        if name == "dispatch_simd":
            return dispatch_simd()
        if name == "choose":
            return value(children[1]) if value(children[0]) else value(children[2])
        if name in _UNARY:
            return _UNARY[name](value(children[0]))
        return _BINARY[name](value(children[0]), value(children[1]))

    return value(tree)
