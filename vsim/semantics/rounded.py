"""Sums, products, quotients and roots of floats, rounded once: to the type of the destination, in the mode of %cr0.

A result that is exact in neither the execution type nor the destination may not be rounded to the one and then to the
other: 1 + (2**-11 + 2**-30) of type f is half-way between two halves once it is a float, and would go down. So such
results are computed in double with their error, rounded to odd, and from there to the destination
(:mod:`vsim.semantics.rounding`). The same way leads to the other modes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

from visakit.language import types
from visakit.language.operands import SAT
from visakit.language.program import Instruction
from visakit.language.types import BF, DF, UQ, DataType
from vsim.semantics.algebra import Algebra, Lanes, Machine, Mask, Step
from vsim.semantics.conversion import convert
from vsim.semantics.core import float_type, flush_result, mask_of, operand, sources_of, type_of_source
from vsim.semantics.rounding import (
    DOWN,
    Rounding,
    WithError,
    fused_with_error,
    is_direct,
    narrow_fused,
    narrow_product,
    narrow_quotient,
    narrow_reciprocal,
    narrow_root,
    product_with_error,
    quotient_with_error,
    reciprocal_with_error,
    root_with_error,
    step_by_mode,
    sum_with_error,
    to_odd,
    two_sum,
)  # fmt: skip

Signs = Callable[..., Lanes]
"""Of bits of the operands: bits whose highest is set if a sum of theirs that is zero is -0 when rounded down."""


class RoundedOp(NamedTuple):
    """How an operation is computed."""

    primitive: str
    """Its name for :meth:`Algebra.in_mode`."""
    of_doubles: Callable[..., WithError]
    of_floats: Callable[..., WithError]
    signs: Signs | None = None
    of_one: bool = False
    """It divides one by its operand."""


ADD = RoundedOp("fadd", sum_with_error, two_sum, operator.or_)
MUL = RoundedOp("fmul", product_with_error, narrow_product)
FMA = RoundedOp("fma", fused_with_error, narrow_fused, lambda x, y, z: (x ^ y) | z)
DIV = RoundedOp("fdiv", quotient_with_error, narrow_quotient)
INV = RoundedOp("fdiv", reciprocal_with_error, narrow_reciprocal, of_one=True)
SQRT = RoundedOp("sqrt", root_with_error, narrow_root)


def compute(
    a: Algebra,
    op: RoundedOp,
    t: DataType,
    target: DataType,
    rounding: Rounding | None,
    operands: Sequence[Lanes],
) -> Lanes:
    """The result of an operation on lanes of the execution type, rounded once to another type.

    Args:
        rounding: the mode of %cr0; None is nearest even.
    """
    if target is t and rounding is not None and is_direct(a, t, rounding):
        whole = [a.const(1.0, t), *operands] if op.of_one else operands
        return a.in_mode(op.primitive, rounding, t, *whole)
    wide = [a.cast(x, DF) for x in operands]
    near, error = (op.of_doubles if t is DF else op.of_floats)(a, *wide)
    if op.signs and rounding is not None:
        near = _zeros_rounded_down(a, near, error, op.signs(*[a.bitcast(x, UQ) for x in wide]), rounding)
    if target is not DF:
        return convert(a, to_odd(a, near, error), DF, target, rounding=rounding)
    return near if rounding is None else step_by_mode(a, near, error, DF, rounding)


def _zeros_rounded_down(a: Algebra, near: Lanes, error: Lanes, signs: Lanes, rounding: Rounding) -> Lanes:
    """A sum that is exactly zero is -0 when rounding down, unless all that was added is +0."""
    if isinstance(rounding, int) and rounding != DOWN:
        return near
    zero = a.const(0.0, DF)
    negative = (near == zero) & (error == zero) & (signs >= a.const(1 << 63, UQ))
    if not isinstance(rounding, int):
        negative = negative & (rounding == a.const(DOWN, types.UD))
    return a.select(negative, a.const(-0.0, DF), near)


def in_mode_of(m: Machine, t: DataType, op: RoundedOp, nearest: Callable[..., Lanes]) -> Callable[..., Lanes]:
    """An operation on lanes of a type, with results of that type, in the rounding mode of the moment.

    Args:
        nearest: the operation of the algebra, which rounds to nearest even.
    """

    def result(*operands: Lanes) -> Lanes:
        rounding = m.rounding()
        return nearest(*operands) if rounding is None else compute(m.algebra, op, t, t, rounding, operands)

    return result


def rounded_step(m: Machine, instruction: Instruction, op: RoundedOp) -> Step | None:
    """An instruction on floats that is one operation, where the algebra's own would not round it as it should: in
    another mode than the nearest, or to a narrower type.
    """
    args, a, fields = instruction.args, m.algebra, sources_of(instruction)
    target, found = m.type_of(args["dst"]), [type_of_source(m, args[s]) for s in fields]
    t = float_type(found, target)
    if t is None or not target.is_float or not all(x.is_float for x in found):
        return None
    narrows = target is BF or target.size < t.size
    if m.rounding() is None and not narrows:
        return None
    count, saturate = args["exec"].size, args["dst"].modifier == SAT
    reads = [operand(m, args[s], count, t) for s in fields]
    write, mask = flush_result(m, target, m.writer(args["dst"], count)), mask_of(m, instruction)

    def step() -> None:
        value = compute(a, op, t, target, m.rounding(), [read() for read in reads])
        lanes: Mask = mask()
        write(convert(a, value, target, target, True) if saturate else value, lanes)

    return step
