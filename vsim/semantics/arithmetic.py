"""Arithmetic (manual: "Arithmetic instructions")."""

from __future__ import annotations

import math

from visa import types
from visa.operands import SAT, General
from visa.program import Instruction
from visa.types import DF, HF, UQ, DataType, F, Q
from vsim.semantics.algebra import Algebra, Lanes, Machine, Mask, Step
from vsim.semantics.core import (
    alu,
    arithmetic_type,
    convert,
    destination,
    flush,
    integer_of,
    mask_of,
    operand,
    override_when,
    own_type,
    real_type,
    semantics,
    source,
    sources_of,
    step_by_mode,
    to_odd,
    two_sum,
)  # fmt: skip


def _directed_float(m: Machine, instruction: Instruction) -> Step | None:
    """Arithmetic on floats of one type where the program changes the rounding mode of %cr0; None where nearest even holds."""
    args, a = instruction.args, m.algebra
    name = instruction.desc.mnemonic
    names = sources_of(instruction)
    t = m.type_of(args["dst"])
    if (
        m.rounding() is None
        or t not in (HF, F, DF)
        or not all(m.type_of(args[s]) is t for s in names)
        or args["dst"].modifier == SAT
    ):
        return None
    count = args["exec"].size
    reads = [operand(m, args[s], count, DF) for s in names]
    store, mask = m.writer(args["dst"], count), mask_of(m, instruction)

    def write(value: Lanes, lanes: Mask) -> None:
        store(flush(a, value, t, m.denormals(t)), lanes)

    def step() -> None:
        operands = [read() for read in reads]
        if name.startswith("sqrt"):
            total, error = _root_with_error(a, *operands)
        elif name.startswith(("div", "inv")):
            total, error = _quotient_with_error(a, *[a.const(1.0, DF), *operands][-2:])
        else:
            total, error = _with_error(a, name, operands[0], operands[1], operands[-1])
        rounding = m.rounding()
        value = (
            step_by_mode(a, total, error, DF, rounding)
            if t is DF
            else convert(a, to_odd(a, total, error), DF, t, rounding=rounding)
        )
        write(value, mask())

    return step


def _lost(a: Algebra, x: Lanes, y: Lanes, product: Lanes) -> Lanes:
    """What a rounded product of doubles lacks; of a tiny one, whose error is no double, the smallest double with its sign."""
    lost = a.fma(x, y, a.negate(product))
    zero, one, scale, least = (a.const(v, DF) for v in (0.0, 1.0, 2.0**600, 2.0**-1074))
    swap = a.absolute(x) > a.absolute(y)
    small, large = a.select(swap, y, x), a.select(swap, x, y)
    more = a.select(a.absolute(large) < one, a.const(2.0**1000, DF), one)
    scaled = a.fma(small * scale, large * more, a.negate(product * scale * more))
    sign = a.select(scaled > zero, least, a.select(scaled < zero, a.negate(least), zero))
    return a.select(a.absolute(product) < a.const(2.0**-900, DF), sign, lost)


def _quotient_with_error(a: Algebra, x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """The quotient of doubles, rounded, and a double with the sign of the error (NaN where the quotient is exactly infinite)."""
    near, limit = a.fdiv(x, y), a.const(2.0**-800, DF)
    scale = a.select((a.absolute(x) < limit) | (a.absolute(near) < limit), a.const(2.0**150, DF), a.const(1.0, DF))
    rest = a.fma(a.negate(near * scale), y, x * scale)
    return near, a.select(y < a.const(0.0, DF), a.negate(rest), rest)


def _root_with_error(a: Algebra, x: Lanes) -> tuple[Lanes, Lanes]:
    """The square root of doubles, rounded, and a double with the sign of the error."""
    near, small = a.sqrt(x), x < a.const(2.0**-800, DF)
    scaled = near * a.select(small, a.const(2.0**100, DF), a.const(1.0, DF))
    return near, a.fma(a.negate(scaled), scaled, x * a.select(small, a.const(2.0**200, DF), a.const(1.0, DF)))


def _with_error(a: Algebra, name: str, x: Lanes, y: Lanes, z: Lanes) -> tuple[Lanes, Lanes]:
    """The sum, product, or product and sum of doubles, rounded, and a double with the sign of the error."""
    infinity = a.const(math.inf, DF)
    if name == "add":
        near, error = two_sum(a, x, y)
    elif name == "mul":
        near = x * y
        error = _lost(a, x, y, near)
    else:
        near = a.fma(x, y, z)
        # Scaled, so that the product does not overflow where the sum is in range.
        scale = a.select(a.absolute(x * y) > a.const(2.0**1000, DF), a.const(2.0**-8, DF), a.const(1.0, DF))
        product = x * scale * y
        total, low = two_sum(a, product, z * scale)
        rest, tiny = two_sum(a, low, _lost(a, x * scale, y, product))
        error = (total - near * scale) + rest + tiny
    # What is finite but rounds to infinity lies below it.
    finite = (a.absolute(x) < infinity) & (a.absolute(y) < infinity) & (a.absolute(z) < infinity)
    return near, a.select(finite & (a.absolute(near) == infinity), a.negate(near), error)


@alu(arithmetic_type, "add")
def add(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    return x + y


@alu(arithmetic_type, "mul")
def mul(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    return x * y


@alu(arithmetic_type, "mad")
def mad(a: Algebra, t: DataType, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    return a.fma(x, y, z) if t.is_float else x * y + z


@alu(arithmetic_type, "add3")
def add3(a: Algebra, t: DataType, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    return x + y + z


def exact_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """As :func:`arithmetic_type`, but wide enough for both sources where one is signed and the other is not."""
    t = arithmetic_type(found, dst, instruction)
    mixed = t.is_integer and any(x.is_signed for x in found) and any(not x.is_signed for x in found)
    return integer_of(8, True) if mixed else t


@alu(exact_type, "avg")
def avg(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    # Half the sum without its overflow: both halves, and the bit that either lost.
    one = a.const(1, t)
    return (x >> one) + (y >> one) + ((x | y) & one)


def quotient(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """Quotient towards zero and remainder with the sign of x. Division by zero gives all ones (signed: the end of the range)."""
    u = UQ if t.size == 8 else types.UD
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


@alu(exact_type, "div", within=_BY_ZERO)
def div(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    return a.fdiv(x, y) if t.is_float else quotient(a, t, x, y)[0]


@alu(exact_type, "mod", within=_BY_ZERO)
def mod(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    return quotient(a, t, x, y)[1]


@alu(real_type, "divm")
def divm(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    return a.fdiv(x, y)


_CORRECT = "Correctly rounded; the manual allows some units in the last place."


@alu(real_type, "sqrtm")
@alu(real_type, "sqrt", within=_CORRECT)
def sqrt(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    return a.sqrt(x)


@alu(real_type, "invm")
@alu(real_type, "inv", within=_CORRECT)
def inv(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    return a.fdiv(a.const(1.0, t), x)


@alu(real_type, "frc")
def frc(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    return x - a.floor(x)


@alu(real_type, "rndd")
def rndd(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    return a.floor(x)


@alu(real_type, "rndu")
def rndu(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    return a.ceil(x)


@alu(real_type, "rnde")
def rnde(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    return a.rint(x)


@alu(real_type, "rndz")
def rndz(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    return a.trunc(x)


@alu(
    real_type,
    "lrp",
    within="(1 - x) * z is rounded, then added to x * y with one rounding; the manual leaves the intermediate precision open.",
)
def lrp(a: Algebra, t: DataType, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    return a.fma(x, y, (a.const(1.0, t) - x) * z)


def _dot(a: Algebra, x: Lanes, y: Lanes, terms: int, count: int, extra: bool = False) -> Lanes:
    total = None
    for k in range(terms + extra):
        index = [i // 4 * 4 + k for i in range(count)]
        product = a.lanes(y, index) if extra and k == terms else a.lanes(x, index) * a.lanes(y, index)
        total = product if total is None else total + product
    return total


_IN_ORDER = "Products and sums are rounded one after the other; the manual leaves the intermediate precision open."


def _dot_product(name: str, terms: int, extra: bool = False) -> None:
    @semantics(name, within=_IN_ORDER)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count = args["exec"].size
        t = real_type([m.type_of(args["src0"]), m.type_of(args["src1"])], m.type_of(args["dst"]), instruction)
        x, y = (operand(m, args[s], count, t, by_lane=False) for s in ("src0", "src1"))
        write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)
        return lambda: write(_dot(a, x(), y(), terms, count, extra), mask())


_dot_product("dp2", 2)
_dot_product("dp3", 3)
_dot_product("dp4", 4)
_dot_product("dph", 3, True)


@semantics("line", "plane", within=_IN_ORDER)
def line(m: Machine, instruction: Instruction) -> Step:
    """line: p*x + q with p and q in elements 0 and 3; plane: p*u + q*v + r with r in element 3 and v one register behind u."""
    args, _a = instruction.args, m.algebra
    count = args["exec"].size
    op = args["src0"]
    if not isinstance(op, General):
        raise m.cannot("the first source must be a register")
    first = [m.reader(General(op.var, op.row, op.col + k, (0, 1, 0)), count) for k in range(4)]
    u = operand(m, args["src1"], count, F)
    write, mask = destination(m, args["dst"], count, F), mask_of(m, instruction)
    if instruction.desc.mnemonic == "line":
        return lambda: write(first[0]() * u() + first[3](), mask())
    y = args["src1"]
    if not isinstance(y, General):
        raise m.cannot("the second source must be a register")
    v = m.reader(General(y.var, y.row + 1, y.col, y.region), count)
    return lambda: write(first[0]() * u() + first[1]() * v() + first[3](), mask())


@alu(own_type, "mulh")
def mulh(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    wide = Q if t.is_signed else UQ
    return a.cast((a.cast(x, wide) * a.cast(y, wide)) >> a.const(32, wide), t)


def _carry(name: str, second: str) -> None:
    @semantics(name)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count, t = args["exec"].size, types.UD
        x, y = source(m, args["src0"], count, t), source(m, args["src1"], count, t)
        result, carry = destination(m, args["dst"], count, t), destination(m, args[second], count, t)
        mask = mask_of(m, instruction)

        def step() -> None:
            left, right, lanes = x(), y(), mask()
            value = left + right if name == "addc" else left - right
            over = value < left if name == "addc" else left < right
            over_value = a.mask_to_int(over, t)
            result(value, lanes)
            carry(over_value, lanes)

        return step


_carry("addc", "carry")
_carry("subb", "borrow")


@semantics("add3.o")
def add3_o(m: Machine, instruction: Instruction) -> Step:
    """add3 whose predicate receives the overflow."""
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


@semantics("madw")
def madw(m: Machine, instruction: Instruction) -> Step:
    """64-bit src0 * src1 + src2; the high halves begin at the next register behind the low ones."""
    args, a = instruction.args, m.algebra
    count, op = args["exec"].size, args["dst"]
    t = m.type_of(op)
    signed = t.is_signed
    wide = Q if signed else UQ
    reads = [source(m, args[s], count, wide) for s in ("src0", "src1", "src2")]
    rows = -(-count * 4 // m.grf_size)
    low = m.writer(op, count)
    high = m.writer(General(op.var, op.row + rows, op.col, op.region), count)
    mask = mask_of(m, instruction)

    def step() -> None:
        x, y, z = (r() for r in reads)
        total, lanes = x * y + z, mask()
        low(a.cast(total, t), lanes)
        high(a.cast(total >> a.const(32, wide), t), lanes)

    return step


def byte_of(a: Algebra, x: Lanes, index: int, signed: bool) -> Lanes:
    """Byte of a UD, sign- or zero-extended to D."""
    left = a.bitcast(x << a.const(24 - 8 * index, types.UD), types.D)
    if signed:
        return left >> a.const(24, types.D)
    return a.bitcast((x >> a.const(8 * index, types.UD)) & a.const(255, types.UD), types.D)


@semantics("dp4a")
def dp4a(m: Machine, instruction: Instruction) -> Step:
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    saturate = args["dst"].modifier == SAT
    signs = [m.type_of(args[s]).is_signed for s in ("src1", "src2")]
    base_type = m.type_of(args["src0"])
    base = source(m, args["src0"], count, Q)
    packed = [source(m, args[s], count, types.UD) for s in ("src1", "src2")]
    write, mask = destination(m, args["dst"], count, Q if saturate else types.D), mask_of(m, instruction)

    def step() -> None:
        total = base()
        x, y = (p() for p in packed)
        for k in range(4):
            total = total + a.cast(byte_of(a, x, k, signs[0]) * byte_of(a, y, k, signs[1]), Q)
        write(total if saturate else a.cast(total, types.D), mask())

    assert base_type
    return step


@semantics("sad2", "sad2add")
def sad2(m: Machine, instruction: Instruction) -> Step:
    """|x[2i] - y[2i]| + |x[2i+1] - y[2i+1]| for each pair of bytes, in the even lanes' places."""
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


# -- what the common shape does not cover ----------------------------------------------------------------------


Wide = tuple[Lanes, Lanes]
"""128-bit integers: low and high halves, both UQ."""


def _widen(a: Algebra, x: Lanes, t: DataType) -> Wide:
    return a.bitcast(x, UQ), a.bitcast(x >> a.const(63, t), UQ) if t.is_signed else a.const(0, UQ)


def _wide_sum(a: Algebra, x: Wide, y: Wide) -> Wide:
    low = x[0] + y[0]
    return low, x[1] + y[1] + a.mask_to_int(low < x[0], UQ)


def _wide_product(a: Algebra, x: Lanes, y: Lanes, t: DataType) -> Wide:
    (ux, sx), (uy, sy) = _widen(a, x, t), _widen(a, y, t)
    half, low_half = a.const(32, UQ), a.const(0xFFFFFFFF, UQ)
    xl, xh, yl, yh = ux & low_half, ux >> half, uy & low_half, uy >> half
    middle = xh * yl + ((xl * yl) >> half)
    other = xl * yh + (middle & low_half)
    high = xh * yh + (middle >> half) + (other >> half)
    # A negative factor counts as itself plus 2**64.
    return ux * uy, high - (sx & uy) - (sy & ux)


def _wide_clamp(a: Algebra, x: Wide, t: DataType, target: DataType) -> Lanes:
    """The nearest number of a type to a 128-bit number, which is signed as ``t`` is."""
    low, high = x
    negative = a.bitcast(high, Q) < a.const(0, Q) if t.is_signed else low < low
    minimum, maximum = a.const(target.minimum, target), a.const(target.maximum, target)
    top = a.const(target.maximum, UQ)
    above = (high != a.const(0, UQ)) | (low > top)
    below = (
        (high != a.const(UQ.maximum, UQ)) | (low < a.const(target.minimum & UQ.maximum, UQ))
        if target.is_signed
        else high == high
    )
    inside = a.cast(low, target)
    return a.select(negative, a.select(below, minimum, inside), a.select(above, maximum, inside))


def _saturated(m: Machine, instruction: Instruction) -> Step | None:
    """add, add3, mul and mad of 64-bit integers with saturation; None for others, of which 64 bits hold the whole result."""
    args, a, name = instruction.args, m.algebra, instruction.desc.mnemonic
    found = [m.type_of(args[s]) for s in sources_of(instruction)]
    target = m.type_of(args["dst"])
    if (
        args["dst"].modifier != SAT
        or not target.is_integer
        or not all(t.is_integer for t in found)
        or max(t.size for t in found) < 8
    ):
        return None
    t = arithmetic_type(found, target, instruction)
    count = args["exec"].size
    reads = [source(m, args[s], count, t) for s in sources_of(instruction)]
    write, mask = m.writer(args["dst"], count), mask_of(m, instruction)

    def step() -> None:
        x, y, *rest = (read() for read in reads)
        total = _wide_product(a, x, y, t) if name in ("mul", "mad") else _wide_sum(a, _widen(a, x, t), _widen(a, y, t))
        for z in rest:
            total = _wide_sum(a, total, _widen(a, z, t))
        write(_wide_clamp(a, total, t, target), mask())

    return step


override_when(_directed_float, "add", "mul", "mad", "div", "divm", "inv", "invm", "sqrt", "sqrtm")
override_when(_saturated, "add", "mul", "mad", "add3")
