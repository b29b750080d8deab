"""Functions of doubles whose results are rounded to floats or halves: fused products and sums, and what processors
without an instruction for these do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from visakit import cache
from visakit.language.program import Instruction
from visakit.language.types import DF, DataType
from vsim.engines.llvm.ir.emitter import CALLED
from vsim.engines.llvm.ir.joins import if_any
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.target import fuses, vector_bits
from vsim.semantics.algebra import LARGEST_CHANGE, product_and_sum
from vsim.semantics.denormals import IN_DOUBLE

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

_SAVES_REGISTERS, _LEAST_BITS = '"no_caller_saved_registers" ', 256
"""A rare function that saves all registers lets the likely way keep its values in them. Where its result has fewer
bits, LLVM (22) ends it with ``vzeroupper``, which clears halves of them.
"""
_RARE = "rare_"
_INLINE = 512
"""Vectors of doubles whose powers, sines and logarithms are computed inline in a function of a kernel, at most: with
them, code would fill the processor's cache of 32 KB, and the processor wait for the rest of it.
"""


def has_many(instructions: Iterable[Instruction]) -> bool:
    """Whether functions of floats are so many in this code that they are to be called."""
    lanes: int = sum(i.args["exec"].size for i in instructions if i.desc.semantics in IN_DOUBLE)
    return lanes * DF.bits > _INLINE * vector_bits()


def rounded_once(b: Builder, compute: Callable[..., Value], data_type: DataType, *operands: Value) -> Value:
    """See :meth:`vsim.semantics.algebra.Algebra.rounded_once`.

    Where the processor does not fuse, a call would do it, lane by lane. So products and sums are rounded there, and
    only if a lane's result could be another one for that are all lanes computed again.
    """

    def fused(body: Builder, *given: Value) -> Value:
        return body.cast(compute(body, body.fma, *given), data_type)

    if fuses():
        return _out_of_line(b, fused, operands, CALLED) if b.calls_functions else fused(b, *operands)
    value = compute(b, product_and_sum, *operands)
    result, other = (b.cast(value * b.const(1 + change, DF), data_type) for change in (-LARGEST_CHANGE, LARGEST_CHANGE))
    doubtful = (result != other) & (value == value)
    return replaced(b, doubtful, fused, result, *operands)


def replaced(b: Builder, mask: Value, compute: Callable[..., Value], value: Value, *operands: Value) -> Value:
    """See :meth:`vsim.semantics.algebra.Algebra.replaced`; a function of the module has the rare computation."""
    (found,) = if_any(b, mask, lambda: [b.select(mask, _out_of_line(b, compute, operands, _RARE), value)], [value])
    return found


def _out_of_line(b: Builder, compute: Callable[..., Value], operands: Sequence[Value], kind: str) -> Value:
    """What a function computes, by a function of the module, which gets it if it has none.

    Args:
        kind: what its name begins with; of rare ones, which save the registers of their callers.
    """
    lanes, names = max(x.lanes for x in operands), [f"%x{n}" for n in range(len(operands))]
    body = type(b)(b.declarations)
    found = compute(body, *[Value(body, x.type, x.lanes, n) for x, n in zip(operands, names, strict=True)])
    found = body.broadcast(found, lanes)
    lines = [*body.lines, f"  ret {found.typed}", "}"]
    name = f"{kind}{cache.digest([line.encode() for line in lines])}"
    parameters = ", ".join(f"{x.ir} {n}" for x, n in zip(operands, names, strict=True))
    saves = _SAVES_REGISTERS if kind == _RARE and lanes * found.type.bits >= _LEAST_BITS else ""
    head = f"define internal {found.ir} @{name}({parameters}) #1 {saves}{{"
    b.declarations[name] = "\n".join([head, "entry:", *lines])
    arguments = ", ".join(x.typed for x in operands)
    return b.value(found.type, lanes, f"call {found.ir} @{name}({arguments})")
