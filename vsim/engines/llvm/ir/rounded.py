"""Functions of doubles whose results are rounded to floats or halves: fused products and sums, and what processors
without an instruction for these do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from visakit import cache
from visakit.language.types import DF, DataType
from vsim.engines.llvm.ir.joins import if_any
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.target import fuses
from vsim.semantics.algebra import LARGEST_CHANGE, product_and_sum

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder


def rounded_once(b: Builder, compute: Callable[..., Value], data_type: DataType, *operands: Value) -> Value:
    """See :meth:`vsim.semantics.algebra.Algebra.rounded_once`.

    Where the processor does not fuse, a call would do it, lane by lane. So products and sums are rounded there, and
    only if a lane's result could be another one for that are all lanes computed again.
    """
    if fuses():
        return b.cast(compute(b, b.fma, *operands), data_type)
    value = compute(b, product_and_sum, *operands)
    result, other = (b.cast(value * b.const(1 + change, DF), data_type) for change in (-LARGEST_CHANGE, LARGEST_CHANGE))
    doubtful = (result != other) & (value == value)
    (exact,) = if_any(b, doubtful, lambda: [b.cast(_out_of_line(b, compute, operands), data_type)])
    return b.select(doubtful, exact, result)


def _out_of_line(b: Builder, compute: Callable[..., Value], operands: Sequence[Value]) -> Value:
    """The function with fused products and sums, computed by a function that the module gets if it has none."""
    lanes, names = operands[0].lanes, [f"%x{n}" for n in range(len(operands))]
    body = type(b)(b.declarations)
    found = compute(body, body.fma, *[Value(body, x.type, x.lanes, n) for x, n in zip(operands, names, strict=True)])
    lines = [*body.lines, f"  ret {found.typed}", "}"]
    name = f"fused_{cache.digest([line.encode() for line in lines])}"
    parameters = ", ".join(f"{x.ir} {n}" for x, n in zip(operands, names, strict=True))
    b.declarations[name] = "\n".join([f"define internal {found.ir} @{name}({parameters}) #1 {{", *lines])
    arguments = ", ".join(x.typed for x in operands)
    return Value(b, DF, lanes, b.assign(f"call {found.ir} @{name}({arguments})"))
