"""Quotients of vectors of integers, by way of doubles.

No processor in reach divides vectors of integers; LLVM divides lane by lane. A double holds any integer of 32 bits. If
x / y is no integer, it is at least 1 / y below the next one: by more than 2**-32 of itself, and a rounded quotient is
off by 2**-53. So its whole part is right.

Of a divisor that is equal for all lanes, one reciprocal serves them all. It is too large by 2**-49, more than three
roundings take away, so that a product is never below an integer that it should be; and by so little that no other
product reaches the next integer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.language import types
from vsim.engines.llvm.ir.types import ir_type, overload
from vsim.engines.llvm.ir.values import Value

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

_LARGEST = 4
"""Bytes of the integers."""
_MORE_THAN_ONE = 1.0 + 2.0**-49


def udiv(b: Builder, x: Value, y: Value) -> Value:
    """Unsigned quotient, y is not zero."""
    lanes = max(x.lanes, y.lanes)
    if y.constant is not None or x.type.size > _LARGEST or lanes == 1:
        return x.binary(y, "udiv", "")
    x = b.broadcast(x, lanes)
    return b.call_own(_function(b, x, y), x.type, [x, y])


def _function(b: Builder, x: Value, y: Value) -> str:
    """The function, which the module gets if it has none: its name.

    Args:
        x: a vector of unsigned integers.
        y: one, or one for each lane; not 0.
    """
    vector, divisor = ir_type(x.type, x.lanes), ir_type(x.type, y.lanes)
    kind = "quotients_by_one" if y.lanes == 1 else "quotients"
    name = f"{kind}.{overload(ir_type(x.type, 1), x.lanes)}"
    if name not in b.declarations:
        body = type(b)(b.declarations)
        found = _quotients(body, Value(body, x.type, x.lanes, "%x"), Value(body, x.type, y.lanes, "%y"))
        head = f"define internal {vector} @{name}({vector} %x, {divisor} %y) #0 {{"
        b.declarations[name] = "\n".join([head, *body.lines, f"  ret {found.typed}", "}"])
    return name


def _quotients(b: Builder, x: Value, y: Value) -> Value:
    dividend, divisor = b.cast(x, types.DF), b.cast(y, types.DF)
    if y.lanes > 1:
        return b.cast(b.fdiv(dividend, divisor), x.type)
    return b.cast(dividend * b.fdiv(b.const(_MORE_THAN_ONE, types.DF), divisor), x.type)
