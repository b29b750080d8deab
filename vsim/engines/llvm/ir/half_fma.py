"""Half multiplied and added with one rounding, in an out-of-line function.

No processor in reach has it, and the two dozen instructions that stand for one, written out a thousand times, took
minutes to compile where conversions of halves have to be split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from visakit.language import types
from visakit.language.types import HF, DataType
from vsim.engines.llvm.ir.types import ir_type, overload
from vsim.engines.llvm.ir.values import Value

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder


def half_fma(b: Builder, operands: Sequence[Value]) -> tuple[str, DataType, Sequence[Value]]:
    """The function, which the module gets if it has none: its name, the type of its result, its operands."""
    lanes = operands[0].lanes
    result = ir_type(HF, lanes)
    name = f"fma_half.{overload('half', lanes)}"
    if name not in b.declarations:
        body = type(b)(b.declarations)
        found = _fused(body, *[Value(body, HF, lanes, f"%{x}") for x in "xyz"])
        lines = [
            f"define internal {result} @{name}({', '.join(f'{result} %{x}' for x in 'xyz')}) #1 {{",
            *body.lines,
            f"  ret {found.typed}",
            "}",
        ]
        b.declarations[name] = "\n".join(lines)
    return name, HF, operands


def _fused(b: Builder, x: Value, y: Value, z: Value) -> Value:
    """In float the product is exact; the sum is rounded to odd, so that rounding it to half is the only rounding."""
    wide = [b.cast(v, types.F) for v in (x, y, z)]
    product, addend = wide[0] * wide[1], wide[2]
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    bits = b.bitcast(total, types.UD)
    one, zero, none = b.const(1, types.UD), b.const(0, types.UD), b.const(0.0, types.F)
    inexact = (error != none) & (error == error) & ((bits & one) == zero)
    outward = (error > none) ^ (total > none)
    odd = b.select(inexact, b.select(outward, bits - one, bits + one), bits)
    return b.cast(b.bitcast(odd, types.F), HF)


def rounded_to_odd(b: Builder, x: Value) -> Value:
    """A double as a float, rounded to odd, so that rounding it once more to half gives what one rounding would."""
    near = b.cast(x, types.F)
    back = b.cast(near, types.DF)
    bits = b.bitcast(near, types.UD)
    one, zero = b.const(1, types.UD), b.const(0, types.UD)
    bigger = b.absolute(x) > b.absolute(back)
    inexact = (back != x) & (x == x) & ((bits & one) == zero)
    return b.bitcast(b.select(inexact, b.select(bigger, bits + one, bits - one), bits), types.F)
