"""Operations rounded towards zero, made from the nearest result and the sign of its error.

For processors with fused products whose instructions have no rounding mode in them. The mode itself is in a register
there, and writing that takes some 150 cycles for an operation; compilers divide integers by such operations, and 32
lanes take 40 this way. If the nearest result lies beyond the exact one, seen from zero, the number before it is wanted:
its bits minus one. So infinity becomes the largest number where the exact result is finite.

The sign of an error is right even where the error itself underflows: it is a zero with that sign then, while an exact
result has the error +0. So errors of products, quotients and roots are computed of absolute values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.target import vector_bits
from vsim.semantics.core import signed_of

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

TOWARD_ZERO = 3
"""The number of the mode in %cr0."""


def toward_zero(b: Builder, op: str, data_type: DataType, operands: Sequence[Value]) -> Value | None:
    """An operation rounded towards zero; None for a sum and product of doubles, whose error is no double. It is made
    for one vector of floats after the other, so that the steps in between stay in registers.

    Args:
        op: ``fadd``, ``fmul``, ``fma``, ``fdiv``, ``sqrt`` or ``fptrunc``.
        data_type: of the result, f or df; that of the operands but for ``fptrunc``.
        operands: with equal numbers of lanes.
    """
    count, width = operands[0].lanes, vector_bits() // types.F.bits
    parts = []
    for first in range(0, count, width):
        places = list(range(first, min(first + width, count)))
        part = _toward_zero(b, op, data_type, [b.lanes(x, places) for x in operands])
        if part is None:
            return None
        parts.append(part)
    return b.concat(parts)


def _toward_zero(b: Builder, op: str, data_type: DataType, operands: Sequence[Value]) -> Value | None:
    """The same for few lanes."""
    match op:
        case "fadd":
            (near, error), zero = _sum(b, *operands), b.const(0.0, data_type)
            x, y = (b.absolute(v) < b.const(float("inf"), data_type) for v in operands)
            overflows = (b.absolute(near) == b.const(float("inf"), data_type)) & x & y
            opposite = ((near > zero) & (error < zero)) | ((near < zero) & (error > zero))
            return _before(b, near, opposite | overflows)
        case "fptrunc":
            near = b.cast(operands[0], data_type)
            return _before(b, near, _exceeds(b, near, operands[0]))
        case "fma" if data_type is types.F:
            x, y, z = (b.cast(v, types.DF) for v in operands)
            total, error = _sum(b, x * y, z)  # the product is exact
            near = b.cast(total, data_type)
            return _before(b, near, _exceeds(b, near, total, error))
        case "fmul":
            near, (x, y) = operands[0] * operands[1], (b.absolute(v) for v in operands)
            return _before(b, near, _negative(b, b.fma(x, y, b.negate(b.absolute(near)))))
        case "fdiv":
            near, (x, y) = b.fdiv(*operands), (b.absolute(v) for v in operands)
            return _before(b, near, _negative(b, b.fma(b.negate(b.absolute(near)), y, x)))
        case "sqrt":
            near, x = b.sqrt(operands[0]), b.absolute(operands[0])
            return _before(b, near, _negative(b, b.fma(b.negate(near), near, x)))
    return None


def _sum(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """The nearest sum and its error, which is exact; NaN where the sum is not finite."""
    total = x + y
    rest = total - x
    return total, (x - (total - rest)) + (y - rest)


def _exceeds(b: Builder, near: Value, total: Value, error: Value | None = None) -> Value:
    """Whether floats are farther from zero than the doubles that they were made of, with an error of these; not of NaN.

    The product of a float and an error that is not zero does not underflow in double.
    """
    back = b.cast(near, types.DF)
    rest = total - back
    return back * (rest + error if error is not None else rest) < b.const(0.0, types.DF)


def _negative(b: Builder, error: Value) -> Value:
    """Whether an error is less than +0, or -0, and not NaN."""
    bits = b.bitcast(error, signed_of(error.type.size))
    return (bits < b.const(0, bits.type)) & (error == error)


def _before(b: Builder, near: Value, where: Value) -> Value:
    """Results, and where the mask holds the numbers before them, seen from zero."""
    bits = b.bitcast(near, signed_of(near.type.size))
    return b.bitcast(b.select(where, bits - b.const(1, bits.type), bits), near.type)
