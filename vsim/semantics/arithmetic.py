"""Arithmetic (manual: chapter 6, "Arithmetic Instructions"), without the transcendental functions and DPAS.

Most of it is one line over the lane algebra; what surrounds it (execution type, source modifiers, saturation,
predicated write) is :func:`vsim.semantics.core.alu`. Two families need more:

* integers with saturation whose results may need more than 64 bits are computed in 128 (:mod:`vsim.semantics.wide`);
* floats under a rounding mode of %cr0, or with a narrower result, are computed in double with the error of the result,
  and rounded from there (:mod:`vsim.semantics.rounded`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from visakit.language import types
from visakit.language.operands import SAT, SCALAR, General
from visakit.language.program import Instruction
from visakit.language.types import UQ, DataType, Q
from vsim.semantics.algebra import Algebra, Lanes, Machine, Mask, Read, ReadMask, Step, Write
from vsim.semantics.core import (
    LaneFunction,
    alu,
    arithmetic_type,
    destination,
    integer_of,
    is_modified,
    mask_of,
    operand,
    override_when,
    real_type,
    semantics,
    source,
    sources_of,
    type_of_source,
    unsigned_of,
)  # fmt: skip
from vsim.semantics.rounded import ADD, DIV, FMA, INV, MUL, SQRT, RoundedOp, in_mode_of, rounded_step
from vsim.semantics.wide import Wide, is_negative, is_wide, magnitude, plus, saturated_step, times, wide_source

# -- sums and products -----------------------------------------------------------------------------------------


@alu(arithmetic_type, "add", by_low_bits=True)
def add(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x + y."""
    return x + y


@alu(arithmetic_type, "mul", by_low_bits=True)
def mul(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x * y; of integers the low half."""
    return x * y


@alu(arithmetic_type, "mad", by_low_bits=True)
def mad(a: Algebra, t: DataType, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """x * y + z; of floats with one rounding."""
    return a.fma(x, y, z) if t.is_float else x * y + z


@alu(arithmetic_type, "add3", by_low_bits=True)
def add3(a: Algebra, t: DataType, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """x + y + z of integers."""
    return x + y + z


@semantics("add3.o")
def add3_o(m: Machine, instruction: Instruction) -> Step:
    """add3 of 32-bit integers, whose predicate is a second result: the lanes of which the sum does not fit."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    t = m.type_of(args["dst"])
    wide = Q if t.is_signed else UQ
    reads = [source(m, args[s], count, wide) for s in ("src0", "src1", "src2")]
    write, mask = m.writer(args["dst"], count), m.mask(args["exec"], None)
    pred = args["pred"]
    flag = m.predicate_writer(pred.var, args["exec"].offset, count) if pred else None

    def step() -> None:
        x, y, z = (r() for r in reads)
        total = x + y + z
        narrow = a.cast(total, t)
        over, lanes = a.cast(narrow, wide) != total, mask()
        write(narrow, lanes)
        if flag:
            flag(over, lanes)

    return step


def _carry(name: str, second: str, compute: Callable[[Algebra, Lanes, Lanes], tuple[Lanes, Mask]]) -> None:
    """An instruction with a second destination: 1 where the result in UD went around."""

    @semantics(name, by_lane=True)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count, t = args["exec"].size, types.UD
        x, y = source(m, args["src0"], count, t), source(m, args["src1"], count, t)
        result, carry = destination(m, args["dst"], count, t), destination(m, args[second], count, t)
        mask = mask_of(m, instruction)

        def step() -> None:
            left, right, lanes = x(), y(), mask()
            value, around = compute(a, left, right)
            ones = a.mask_to_int(around, t)
            result(value, lanes)
            carry(ones, lanes)

        return step


def _sum_and_carry(a: Algebra, x: Lanes, y: Lanes) -> tuple[Lanes, Mask]:
    total = x + y
    return total, total < x


def _difference_and_borrow(a: Algebra, x: Lanes, y: Lanes) -> tuple[Lanes, Mask]:
    return x - y, x < y


_carry("addc", "carry", _sum_and_carry)
_carry("subb", "borrow", _difference_and_borrow)


# -- quotients, averages and roots -----------------------------------------------------------------------------


def exact_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """As :func:`arithmetic_type`, but wide enough for both sources where one is signed and the other is not, and for
    modified sources.
    """
    t = arithmetic_type(found, dst, instruction)
    mixed = any(x.is_signed for x in found) and any(not x.is_signed for x in found)
    return integer_of(8, True) if t.is_integer and (mixed or is_modified(instruction)) else t


@alu(exact_type, "avg")
def avg(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """Average of integers, half up: (x + y + 1) / 2."""
    # Half the sum without its overflow: both halves, and the bit that either lost.
    one = a.const(1, t)
    return (x >> one) + (y >> one) + ((x | y) & one)


def quotient(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """Quotient of integers towards zero, and the remainder, which has the sign of x.

    Division by zero gives all ones; of signed integers the end of the range on the side of x, and the remainder -1.
    """
    u = unsigned_of(t.size)
    zero, none = a.const(0, t), a.const(0, u)
    if t.is_signed:
        x_negative, y_negative = x < zero, y < zero
        ux, uy = a.bitcast(a.select(x_negative, a.negate(x), x), u), a.bitcast(a.select(y_negative, a.negate(y), y), u)
    else:
        ux, uy = x, y
    by_zero = uy == none
    q = a.udiv(ux, a.select(by_zero, a.const(1, u), uy))
    r = ux - q * uy
    ones = a.const(u.maximum, u)
    if not t.is_signed:
        return a.select(by_zero, ones, q), a.select(by_zero, ones, r)
    sq, sr = a.bitcast(q, t), a.bitcast(r, t)
    sq = a.select(x_negative ^ y_negative, a.negate(sq), sq)
    sr = a.select(x_negative, a.negate(sr), sr)
    end = a.select(x_negative, a.const(t.minimum, t), a.const(t.maximum, t))
    return a.select(by_zero, end, sq), a.select(by_zero, a.const(-1, t), sr)


_BY_ZERO = (
    "Integers: division by zero gives all ones (signed: the end of the range, remainder -1). Floats: correctly rounded."
)


@alu(exact_type, "div", deviation=_BY_ZERO)
def div(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x / y: correctly rounded, or towards zero for integers; the manual leaves division of integers by zero open."""
    return a.fdiv(x, y) if t.is_float else quotient(a, t, x, y)[0]


@alu(exact_type, "mod", deviation=_BY_ZERO)
def mod(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """Remainder of integers with the sign of x; the manual leaves division by zero open."""
    return quotient(a, t, x, y)[1]


@alu(real_type, "divm")
def divm(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x / y as IEEE 754 has it."""
    return a.fdiv(x, y)


_CORRECT = "Correctly rounded; the manual allows some units in the last place."


@alu(real_type, "sqrtm")
@alu(real_type, "sqrt", deviation=_CORRECT)
def sqrt(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """Square root, correctly rounded; the manual allows ``sqrt`` some units in the last place."""
    return a.sqrt(x)


@alu(real_type, "inv", deviation=_CORRECT)
def inv(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """1 / x, correctly rounded; the manual allows ``inv`` some units in the last place."""
    return a.fdiv(a.const(1.0, t), x)


# -- whole numbers and interpolation ---------------------------------------------------------------------------


def _sum_and_product(m: Machine, t: DataType) -> tuple[LaneFunction, LaneFunction]:
    """Sums and products that are steps of an instruction, in the rounding mode of %cr0."""
    return in_mode_of(m, t, ADD, operator.add), in_mode_of(m, t, MUL, operator.mul)


@semantics("frc", by_lane=True)
def frc(m: Machine, instruction: Instruction) -> Step:
    """What x has above the whole number at or below it."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    t = real_type([type_of_source(m, args["src0"])], m.type_of(args["dst"]), instruction)
    read, add = operand(m, args["src0"], count, t), in_mode_of(m, t, ADD, operator.add)
    write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)

    def step() -> None:
        x = read()
        write(add(x, a.negate(a.floor(x))), mask())

    return step


@alu(real_type, "rndd")
def rndd(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """The whole number at or below x."""
    return a.floor(x)


@alu(real_type, "rndu")
def rndu(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """The whole number at or above x."""
    return a.ceil(x)


@alu(real_type, "rnde")
def rnde(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """The nearest whole number, of two the even one."""
    return a.rint(x)


@alu(real_type, "rndz")
def rndz(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """The whole number towards zero."""
    return a.trunc(x)


@semantics(
    "lrp",
    deviation="(1 - x) * z is rounded, then added to x * y with one rounding; "
    "the manual leaves the intermediate precision open.",
    by_lane=True,
)
def lrp(m: Machine, instruction: Instruction) -> Step:
    """Linear interpolation x * y + (1 - x) * z; the manual leaves the intermediate precision open."""
    args, a, fields = instruction.args, m.algebra, sources_of(instruction)
    count = args["exec"].size
    t = real_type([type_of_source(m, args[s]) for s in fields], m.type_of(args["dst"]), instruction)
    reads = [operand(m, args[s], count, t) for s in fields]
    add, mul, fma = *_sum_and_product(m, t), in_mode_of(m, t, FMA, a.fma)
    write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)

    def step() -> None:
        x, y, z = (read() for read in reads)
        write(fma(x, y, mul(add(a.const(1.0, t), a.negate(x)), z)), mask())

    return step


_IN_ORDER = "Products and sums are rounded one after the other; the manual leaves the intermediate precision open."


@semantics("line", deviation=_IN_ORDER)
def line(m: Machine, instruction: Instruction) -> Step:
    """p * x + q with p and q in elements 0 and 3 of the first source."""
    t, coefficients, write, mask = _plane_operands(m, instruction)
    u = operand(m, instruction.args["src1"], instruction.args["exec"].size, t)
    add, mul = _sum_and_product(m, t)
    return lambda: write(add(mul(coefficients[0](), u()), coefficients[3]()), mask())


@semantics("plane", deviation=_IN_ORDER)
def plane(m: Machine, instruction: Instruction) -> Step:
    """p * u + q * v + r with p, q and r in elements 0, 1 and 3 of the first source.

    The second source has u of eight lanes, then v of them; its region does not count.
    """
    t, (p, q, _, r), write, mask = _plane_operands(m, instruction)
    op, count = instruction.args["src1"], instruction.args["exec"].size
    if not isinstance(op, General):
        raise m.cannot("the second source must be a register")
    pairs = operand(m, General(op.var, op.row, op.col, (1, 1, 0), op.modifier), 2 * count, t, by_lane=False)
    add, mul = _sum_and_product(m, t)
    places = [i // 8 * 16 + i % 8 for i in range(count)]

    def step() -> None:
        x = pairs()
        u, v = m.algebra.lanes(x, places), m.algebra.lanes(x, [i + 8 for i in places])
        write(add(add(mul(p(), u), mul(q(), v)), r()), mask())

    return step


def _plane_operands(m: Machine, instruction: Instruction) -> tuple[DataType, list[Read], Write, ReadMask]:
    """The execution type, the first four elements of the first source, and where the result goes."""
    args, op = instruction.args, instruction.args["src0"]
    count = args["exec"].size
    if not isinstance(op, General):
        raise m.cannot("the first source must be a register")
    t = real_type([m.type_of(op), m.type_of(args["src1"])], m.type_of(args["dst"]), instruction)
    coefficients = [operand(m, General(op.var, op.row, op.col + k, SCALAR, op.modifier), count, t) for k in range(4)]
    return t, coefficients, destination(m, args["dst"], count, t), mask_of(m, instruction)


# -- dot products and sums of differences ----------------------------------------------------------------------


def _dot_product(name: str, terms: int, homogeneous: bool = False) -> None:
    """The dot product of the first ``terms`` elements of each four, in all four lanes.

    Args:
        homogeneous: plus the fourth element of the second source, as if that of the first were 1.
    """

    @semantics(name, deviation=_IN_ORDER)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count = args["exec"].size
        if count % 4:
            raise m.cannot("it works on groups of four lanes")
        t = real_type([m.type_of(args["src0"]), m.type_of(args["src1"])], m.type_of(args["dst"]), instruction)
        x, y = (operand(m, args[s], count, t, by_lane=False) for s in ("src0", "src1"))
        write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)
        add, mul = _sum_and_product(m, t)

        def step() -> None:
            left, right, total = x(), y(), None
            for k in range(terms + homogeneous):
                index = [i // 4 * 4 + k for i in range(count)]
                last = a.lanes(right, index)
                product = last if homogeneous and k == terms else mul(a.lanes(left, index), last)
                total = product if total is None else add(total, product)
            write(total, mask())

        return step


_dot_product("dp2", 2)
_dot_product("dp3", 3)
_dot_product("dp4", 4)
_dot_product("dph", 3, homogeneous=True)


def _byte_of(a: Algebra, x: Lanes, index: int, signed: bool) -> Lanes:
    """Byte of a UD, sign- or zero-extended to D."""
    left = a.bitcast(x << a.const(24 - 8 * index, types.UD), types.D)
    if signed:
        return left >> a.const(24, types.D)
    return a.bitcast((x >> a.const(8 * index, types.UD)) & a.const(255, types.UD), types.D)


@semantics("dp4a", by_lane=True)
def dp4a(m: Machine, instruction: Instruction) -> Step:
    """src0 plus the products of the four bytes of src1 and of src2, whose types say whether bytes are signed."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    saturate = args["dst"].modifier == SAT
    signs = [m.type_of(args[s]).is_signed for s in ("src1", "src2")]
    base = source(m, args["src0"], count, Q)
    packed = [source(m, args[s], count, types.UD) for s in ("src1", "src2")]
    write, mask = destination(m, args["dst"], count, Q if saturate else types.D), mask_of(m, instruction)

    def step() -> None:
        total = base()
        x, y = (p() for p in packed)
        for k in range(4):
            total = total + a.cast(_byte_of(a, x, k, signs[0]) * _byte_of(a, y, k, signs[1]), Q)
        write(total if saturate else a.cast(total, types.D), mask())

    return step


@semantics("sad2", "sad2add")
def sad2(m: Machine, instruction: Instruction) -> Step:
    """|x[2i] - y[2i]| + |x[2i+1] - y[2i+1]| (plus src2) for each pair of bytes.

    The manual gives the even lane the result and leaves the odd one open, which gets the pair's sum, too.
    """
    args, a = instruction.args, m.algebra
    count, t = args["exec"].size, types.D
    x, y = (source(m, args[s], count, t, by_lane=False) for s in ("src0", "src1"))
    extra = source(m, args["src2"], count, t) if "src2" in args else None
    write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)
    partner = [i | 1 if i | 1 < count else i for i in range(count)]
    own = [i & ~1 for i in range(count)]

    def step() -> None:
        difference = x() - y()
        size = a.select(difference < a.const(0, t), a.negate(difference), difference)
        total = a.lanes(size, own) + a.lanes(size, partner)
        write(total + extra() if extra else total, mask())

    return step


# -- results that need more than the execution type has ---------------------------------------------------------


def _rounded(op: RoundedOp, *names: str) -> None:
    """Floats are rounded once, in the mode of %cr0."""
    override_when(lambda m, instruction: rounded_step(m, instruction, op), *names)


def _saturated(combine: Callable[[Algebra, Wide, Wide], Wide], *names: str) -> None:
    """Integers with saturation whose results may need more than 64 bits are computed in 128."""
    override_when(lambda m, instruction: saturated_step(m, instruction, combine), *names)


def _wide_quotient(m: Machine, instruction: Instruction) -> Step | None:
    """The quotient of 64-bit integers of both signs, or with modifiers: that of their magnitudes, with its sign."""
    args, a = instruction.args, m.algebra
    ops, count, target = [args["src0"], args["src1"]], args["exec"].size, m.type_of(args["dst"])
    if not is_wide(m, ops) or not target.is_integer:
        return None
    first, second = (wide_source(m, op, count) for op in ops)
    write, mask = m.writer(args["dst"], count), mask_of(m, instruction)

    def step() -> None:
        x, y = first(), second()
        divisor, below = magnitude(a, y)[0], is_negative(a, x)
        value, _ = quotient(a, UQ, magnitude(a, x)[0], divisor)
        value = a.select(below ^ is_negative(a, y), a.negate(value), value)
        end = a.select(below, a.const(1 << 63, UQ), a.const(Q.maximum, UQ))
        write(a.cast(a.select(divisor == a.const(0, UQ), end, value), target), mask())

    return step


override_when(_wide_quotient, "div")
_rounded(ADD, "add")
_rounded(MUL, "mul")
_rounded(FMA, "mad")
_rounded(DIV, "div", "divm")
_rounded(INV, "inv")
_rounded(SQRT, "sqrt", "sqrtm")
_saturated(times, "mul", "mad")
_saturated(plus, "add", "add3")
