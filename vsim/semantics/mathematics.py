"""Transcendental functions (manual: chapter 6, "Arithmetic Instructions": EXP, LOG, SIN, COS, POW, RSQRT,
INVM, RSQTM).

They are written in the algebra, so that every engine computes the same bits. Arguments are evaluated in double
precision and rounded once, which is more exact than the hardware must be (its limits are in the manual's math tables).
Each has three parts: *reduce* the argument to a short interval, sum a *polynomial* there, and undo the reduction. For
results of f and hf the polynomials are shorter: powers are the nearest floats, logarithms and sines are off by less
than 2**-32, which shows in the last place of one result in a hundred thousand (0.5001 units at most); and whole numbers
have 32 bits, as hosts convert few numbers of 64 bits at a time.

* 2**x: n is x rounded to a whole number, and 2**x = 2**n * 2**(x - n) with x - n between -1/2 and 1/2, where the Taylor
  polynomial of degree 13 is off by less than 2**-57. 2**10.75 = 2**11 * 2**-0.25 = 2048 * 0.8409. The power of two is
  bits, n + 1023 in the exponent field; in two halves, so that only the last product rounds a subnormal result. For f,
  n is rounded to an eighth, a table has the powers of the eighths, and degree 6 does: 2**10.75 = 2**10 * 2**(6 / 8).
* log2 x: the exponent field gives x = 2**n * m with m between sqrt(1/2) and sqrt(2). With s = (m - 1) / (m + 1),
  log2 x = n + 2 / ln 2 * (s + s**3 / 3 + s**5 / 5 + ...), where s**2 < 0.03. log2 12 = 4 + log2 0.75, and s = -1/7.
* sin x, cos x: k is x / (pi/2) rounded, and the rest x - k * pi/2 lies between -pi/4 and pi/4. One product would lose
  its low bits, so pi/2 has three parts (Cody and Waite), of which two have exact products with k below 2**21; for f
  two parts do. The parity of k chooses the rest's sine or cosine, its quadrant the sign: sin 5 = -cos 0.2876 = -0.9589,
  k being 3. For f below 2**17 k is a float that was added to 1.5 * 2**23, which leaves it in the lowest bits.
"""

from __future__ import annotations

import math
import struct
from functools import partial

from visakit.language.program import Instruction
from visakit.language.types import DF, UD, UQ, D, DataType, F, Q
from vsim.semantics import approximations
from vsim.semantics.algebra import Algebra, Fused, Lanes, Machine, Step, product_and_sum
from vsim.semantics.approximations import clamped, polynomial
from vsim.semantics.core import (
    LaneFunction,
    alu,
    destination,
    mask_of,
    operand,
    real_type,
    semantics,
    type_of_source,
    unsigned_of,
)  # fmt: skip

_EXP2 = [math.log(2) ** k / math.factorial(k) for k in range(14)]
_LOG2 = [2 / math.log(2) / (2 * k + 1) for k in range(11)]
_EXP2_OF_FLOAT = [
    0.6931471805599688, 0.240226506959128, 0.05550410855223231, 0.0096181290940698, 0.0013334388983585765,
    0.00015403734312077484,
]  # fmt: skip
"""(2**x - 1) / x between -1/16 and 1/16, interpolated: with it all floats have the nearest power."""
_EIGHTH = 49
"""The bit of a df whose place is an eighth of the exponent field's lowest bit."""
_EIGHTHS = [
    int.from_bytes(struct.pack(">d", power)) - (n << _EIGHTH)
    for n, power in enumerate((
        1.0, 1.0905077326652577, 1.189207115002721, 1.2968395546510096, 1.4142135623730951, 1.5422108254079407,
        1.681792830507429, 1.8340080864093424,
    ))
]  # fmt: skip
"""The bits of 2**(n / 8), less what n << 49 adds to them."""
_COUNTS_EIGHTHS = {F: 1.5 * 2.0**20, DF: 1.5 * 2.0**49}
"""Floats around it are eighths, whose number is their lowest bits."""
_LOG2_OF_FLOAT = [
    2.885390081789987, 0.9617966734515402, 0.5770835660065643, 0.41167376612987955, 0.3407120436569899
]  # fmt: skip
"""The same for the logarithm's factor of s, over s**2: off by less than 2**-37."""
_SIN = [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]
_COS = [(-1) ** k / math.factorial(2 * k) for k in range(10)]
_SIN_OF_FLOAT = [
    0.9999999999947998, -0.1666666662603685, 0.008333328252412725, -0.00019839044815773993, 2.7159146782995416e-06,
]  # fmt: skip
"""The sine over x, of x**2, between -0.8 and 0.8, interpolated in the same way: off by less than 2**-37."""
_COS_OF_FLOAT = [
    0.9999999999999307, -0.4999999999922016, 0.041666666524472866, -0.0013888879404333819, 2.47987263691341e-05,
    -2.7159117729553275e-07,
]  # fmt: skip
"""The cosine: off by less than 2**-43."""
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
"""Pi/2 in three parts of which the first two have trailing zero bits, so that small multiples of them are exact."""

# -- on doubles ------------------------------------------------------------------------------------------------


def _polynomial(a: Algebra, coefficients: list[float], x: Lanes) -> Lanes:
    return polynomial(a, product_and_sum, coefficients, x, DF)


def _power_of_two(a: Algebra, n: Lanes) -> Lanes:
    """2**n of Q lanes as df, n from -1022 to 1023."""
    return a.bitcast((n + a.const(1023, Q)) << a.const(52, Q), DF)


def exp2(a: Algebra, x: Lanes) -> Lanes:
    """2**x of df lanes."""
    held = clamped(a, x, -1100.0, 1100.0, DF)
    whole = a.rint(held)
    n = a.cast(whole, Q)
    half = n >> a.const(1, Q)
    value = _polynomial(a, _EXP2, held - whole) * _power_of_two(a, half) * _power_of_two(a, n - half)
    return a.select(x == x, value, x)


def log2(a: Algebra, x: Lanes) -> Lanes:
    """Logarithm to base 2 of df lanes: NaN below zero, -inf at zero."""
    zero, infinity = a.const(0.0, DF), a.const(math.inf, DF)
    tiny = x < a.const(2.0**-1022, DF)
    scaled = a.select(tiny, x * a.const(2.0**54, DF), x)
    bits = a.bitcast(scaled, UQ)
    exponent = a.bitcast(bits >> a.const(52, UQ), Q) - a.const(1023, Q)
    mantissa = a.bitcast((bits & a.const((1 << 52) - 1, UQ)) | a.const(1023 << 52, UQ), DF)
    large = mantissa > a.const(math.sqrt(2), DF)
    mantissa = a.select(large, mantissa * a.const(0.5, DF), mantissa)
    exponent = exponent + a.mask_to_int(large, Q) - a.select(tiny, a.const(54, Q), a.const(0, Q))
    one = a.const(1.0, DF)
    s = a.fdiv(mantissa - one, mantissa + one)
    value = a.cast(exponent, DF) + s * _polynomial(a, _LOG2, s * s)
    value = a.select(x == zero, a.negate(infinity), value)
    value = a.select(x < zero, a.const(math.nan, DF), value)
    return a.select((x == infinity) | (x != x), x, value)


def _sine(a: Algebra, x: Lanes, quarters: int) -> Lanes:
    """The sine of x + quarters * pi/2 of df lanes; arguments from 2**52 * pi/2 on give that of 0, infinities NaN."""
    turns = a.rint(x * a.const(2 / math.pi, DF))
    fits = a.absolute(turns) < a.const(2.0**52, DF)
    turns = a.select(fits, turns, a.const(0.0, DF))
    rest = a.select(fits, _without(a, x, turns, len(_HALF_PI)), a.const(0.0, DF))
    square = rest * rest
    sine, cosine = rest * _polynomial(a, _SIN, square), _polynomial(a, _COS, square)
    turns = turns + a.const(float(quarters), DF)
    quadrant = turns - a.const(4.0, DF) * a.floor(turns * a.const(0.25, DF))
    odd = (quadrant == a.const(1.0, DF)) | (quadrant == a.const(3.0, DF))
    value = a.select(odd, cosine, sine)
    value = a.select(quadrant < a.const(2.0, DF), value, a.negate(value))
    return a.select(a.absolute(x) < a.const(math.inf, DF), value, a.const(math.nan, DF))


def _without(a: Algebra, x: Lanes, turns: Lanes, parts: int) -> Lanes:
    """x - turns * pi/2 of df lanes, of which so many parts count."""
    for part in _HALF_PI[:parts]:
        x = x - turns * a.const(part, DF)
    return x


# -- for floats ------------------------------------------------------------------------------------------------

_WHOLE_FLOATS = 1.5 * 2**23
"""Floats around it are whole numbers, which are their lowest bits."""


def _eighth_power(a: Algebra, number: Lanes) -> Lanes:
    """2**(number / 8) as df: of UD lanes in two's complement, whose bits from 3 on are added to the exponent field."""
    found = a.element_plus(_EIGHTHS, number, _EIGHTH)
    if found is None:
        elements = [a.const(e, UQ) for e in _EIGHTHS]
        for bit in (1, 2, 4):
            odd = (number & a.const(bit, UD)) != a.const(0, UD)
            elements = [a.select(odd, y, x) for x, y in zip(elements[::2], elements[1::2], strict=True)]
        found = elements[0] + (a.cast(number, UQ) << a.const(_EIGHTH, UQ))
    return a.bitcast(found, DF)


def _exp2_for_float(a: Algebra, fused: Fused, x: Lanes, t: DataType = DF) -> Lanes:
    """2**x of df or f lanes as df, to be rounded to f or hf; beyond their ranges it is any number that rounds to 0 or
    infinity.

    Floats are reduced as such, which is exact, and takes half as many vectors.
    """
    least, most, eighths = a.const(-200.0, t), a.const(200.0, t), a.const(_COUNTS_EIGHTHS[t], t)
    above = a.select(least > x, least, x)  # The rest keeps NaN and large numbers, which become NaN and infinity.
    shifted = a.select(above < most, above, most) + eighths
    rest = a.cast(above - (shifted - eighths), DF)
    power = _eighth_power(a, a.cast(a.bitcast(shifted, unsigned_of(t.size)), UD))
    return fused(power * rest, polynomial(a, fused, _EXP2_OF_FLOAT, rest, DF), power)


def _log2_of_float(a: Algebra, fused: Fused, x: Lanes, coefficients: list[float]) -> Lanes:
    """Logarithm to base 2 of f lanes, as df lanes: NaN below zero, -inf at zero."""
    zero, infinity = a.const(0.0, F), a.const(math.inf, F)
    single, exponent = approximations.split(a, x)
    mantissa = a.cast(single, DF)
    one = a.const(1.0, DF)
    s = a.fdiv(mantissa - one, mantissa + one)
    value = fused(s, polynomial(a, fused, coefficients, s * s, DF), a.cast(exponent, DF))
    value = a.select(x == zero, a.const(-math.inf, DF), value)
    value = a.select(x < zero, a.const(math.nan, DF), value)
    return a.select((x == infinity) | (x != x), a.cast(x, DF), value)


_LARGEST_ANGLE = 2.0**30
"""Arguments of f from here on, far beyond those whose sine is exact, have that of 0; D has all quarters below it."""
_NEAR = 2.0**17
"""Below it floats count the quarters, and rests are less than 0.8."""


def _rest(a: Algebra, fused: Fused, wide: Lanes, turns: Lanes) -> Lanes:
    """x - turns * pi/2 of df lanes, by two parts."""
    for part in _HALF_PI[:2]:
        wide = fused(turns, a.const(-part, DF), wide)
    return wide


def _sine_near_zero(a: Algebra, fused: Fused, wide: Lanes, turns: Lanes) -> Lanes:
    """The sine of x - turns * pi/2, which is less than 0.8, of df lanes."""
    rest = _rest(a, fused, wide, turns)
    return rest * polynomial(a, fused, _SIN_OF_FLOAT, rest * rest, DF)


def _cosine_near_zero(a: Algebra, fused: Fused, wide: Lanes, turns: Lanes) -> Lanes:
    """The cosine of the same."""
    rest = _rest(a, fused, wide, turns)
    return polynomial(a, fused, _COS_OF_FLOAT, rest * rest, DF)


def _sine_in_quadrant(a: Algebra, t: DataType, wide: Lanes, turns: Lanes, quadrant: Lanes) -> Lanes:
    """The sine of f or hf lanes whose rests are those of wide - turns * pi/2 (df), by their quadrants (UD).

    The sine and the cosine of the same argument share all but the last steps.
    """
    sine, cosine = (a.rounded_once(f, t, wide, turns) for f in (_sine_near_zero, _cosine_near_zero))
    value = a.select((quadrant & a.const(1, UD)) == a.const(0, UD), sine, cosine)
    unsigned = unsigned_of(t.size)
    sign = a.cast(quadrant, unsigned) << a.const(t.bits - 2, unsigned) & a.const(1 << t.bits - 1, unsigned)
    return a.bitcast(a.bitcast(value, unsigned) ^ sign, t)


def _sine_of_float(a: Algebra, t: DataType, x: Lanes, quarters: int) -> Lanes:
    """The sine of x + quarters * pi/2 of f or hf lanes."""
    single, whole = a.cast(x, F), a.const(_WHOLE_FLOATS, F)
    shifted = single * a.const(2 / math.pi, F) + whole
    quadrant = a.bitcast(shifted, UD) + a.const(quarters, UD)
    value = _sine_in_quadrant(a, t, a.cast(single, DF), a.cast(shifted - whole, DF), quadrant)
    near = a.absolute(single) < a.const(_NEAR, F)
    return a.replaced(~near, partial(_sine_far, t=t, quarters=quarters), value, single)


def _sine_far(a: Algebra, x: Lanes, t: DataType, quarters: int) -> Lanes:
    """The same for any f lanes: from 2**30 on that of 0, of infinities NaN."""
    wide = a.cast(a.select(a.absolute(x) < a.const(_LARGEST_ANGLE, F), x, a.const(0.0, F)), DF)
    turns = a.rint(wide * a.const(2 / math.pi, DF))
    quadrant = a.cast(a.cast(turns, D), UD) + a.const(quarters, UD)
    value = _sine_in_quadrant(a, t, _without(a, wide, turns, 2), a.const(0.0, DF), quadrant)
    return a.select(a.absolute(x) < a.const(math.inf, F), value, a.const(math.nan, t))


# -- instructions ----------------------------------------------------------------------------------------------

_ONCE = (
    "Computed in double precision and rounded once; the manual allows some units in the last place, "
    "and `--precision manual` uses three of them."
)
_UNPUBLISHED = "Computed in double precision and rounded once; the error of the hardware is not published."
_ARC = (
    "Computed in double precision and rounded once, for arguments up to 2**20; "
    "the manual bounds the error up to 32767 * pi. With `--precision manual` off by less than 2**-22."
)


def _arc(a: Algebra, t: DataType, x: Lanes, quarters: int) -> Lanes:
    """The sine of x + quarters * pi/2."""
    if t is DF:
        return _sine(a, x, quarters)
    if a.exact:
        return _sine_of_float(a, t, x, quarters)
    return a.cast(approximations.sine(a, a.cast(x, F), quarters), t)


@alu(real_type, "exp", rounded=True, deviation=_ONCE)
def exp(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """2**x, rounded once; the manual allows some units in the last place."""
    if t is DF:
        return exp2(a, x)
    whole = a.power_of_whole(x)  # e**x is a product of two powers for compilers, and one of them is whole.
    if whole is not None:
        return a.cast(whole, t)
    if not a.exact:
        return a.cast(approximations.exp2(a, a.cast(x, F)), t)
    return a.rounded_once(partial(_exp2_for_float, t=F), t, a.cast(x, F))


@alu(real_type, "log", rounded=True, deviation=_ONCE)
def log(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """Logarithm to base 2, rounded once; the manual allows some units in the last place."""
    if t is not DF and not a.exact:
        return a.cast(approximations.log2(a, a.cast(x, F)), t)
    if t is DF:
        return log2(a, x)
    return a.rounded_once(partial(_log2_of_float, coefficients=_LOG2_OF_FLOAT), t, a.cast(x, F))


@alu(real_type, "sin", rounded=True, deviation=_ARC)
def sin(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """Sine, rounded once; zeros keep their sign. The manual allows some error, up to 32767 * pi."""
    value = _arc(a, t, x, 0)
    return value if a.exact and t is not DF else a.select(x == a.const(0.0, t), x, value)


@alu(real_type, "cos", rounded=True, deviation=_ARC)
def cos(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """Cosine, rounded once. The manual allows some error, up to 32767 * pi."""
    return _arc(a, t, x, 1)


_SMALL = 2.0**-10
"""Below it tanh x is x - x**3 / 3, which is off by less than x**4 of itself."""


@alu(real_type, "tanh", rounded=True, deviation=_UNPUBLISHED)
def tanh(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """Hyperbolic tangent, 1 - 2 / (e**2x + 1), rounded once; zeros keep their sign."""
    wide, one = a.cast(x, DF), a.const(1.0, DF)
    far = one - a.fdiv(a.const(2.0, DF), exp2(a, wide * a.const(2 / math.log(2), DF)) + one)
    near = wide - wide * wide * wide * a.const(1 / 3, DF)
    value = a.select(a.absolute(wide) < a.const(_SMALL, DF), near, far)
    return a.select(x == a.const(0.0, t), x, a.cast(value, t))


@alu(real_type, "sigm", rounded=True, deviation=_UNPUBLISHED)
def sigm(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """The logistic function 1 / (1 + e**-x), rounded once."""
    one = a.const(1.0, DF)
    power = exp2(a, a.cast(x, DF) * a.const(-1 / math.log(2), DF))
    return a.cast(a.fdiv(one, one + power), t)


@alu(
    real_type,
    "pow",
    rounded=True,
    deviation="2**(y * log2 x) in double precision, rounded once; "
    "of df some thousand units in the last place where y * log2 x is large.",
)
def pow_(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x**y as 2**(y * log2 x): a negative x gives NaN, and x**0 is 1."""
    if t is DF:
        value = exp2(a, y * log2(a, x))
    else:
        logarithm = _log2_of_float(a, product_and_sum, a.cast(x, F), _LOG2)  # Else the power would change more.
        value = a.rounded_once(_exp2_for_float, t, a.cast(y, DF) * logarithm)
    return a.select((y == a.const(0.0, t)) | (x == a.const(1.0, t)), a.const(1.0, t), value)


@alu(
    real_type,
    "rsqrt",
    rounded=True,
    deviation="The rounded reciprocal of the rounded root; the manual allows some units in the last place.",
)
def rsqrt(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """1 / sqrt(x), both steps correctly rounded: within one unit in the last place, as the manual allows."""
    return a.fdiv(a.const(1.0, t), a.sqrt(x))


# -- where divisions and roots begin ------------------------------------------------------------------------------

_BEGINS = (
    "Correctly rounded; the manual says of the hardware's approximation, which is to be refined, only that it is one."
)


def _where_it_begins(name: str, fields: tuple[str, ...], compute: LaneFunction) -> None:
    """An instruction that begins what others refine; its predicate says which lanes have nothing to refine."""

    @semantics(name, deviation=_BEGINS, by_lane=True)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        execution, dst_type = args["exec"], m.type_of(args["dst"])
        count = execution.size
        t = real_type([type_of_source(m, args[f]) for f in fields], dst_type, instruction)
        reads = [operand(m, args[f], count, t) for f in fields]
        write, mask = destination(m, args["dst"], count, t, rounded=True), mask_of(m, instruction)
        flag = m.predicate_writer(args["early"].var, execution.offset, count)

        def step() -> None:
            value, lanes = compute(a, t, *[read() for read in reads]), mask()
            size = a.absolute(value)
            done = ~((size > a.const(0.0, t)) & (size < a.const(math.inf, t)))
            write(value, lanes)
            flag(done, lanes)  # Last: it may be the instruction's own predicate.

        return step


_where_it_begins("invm", ("src0", "src1"), lambda a, t, x, y: a.fdiv(x, y))
_where_it_begins("rsqtm", ("src0",), lambda a, t, x: a.fdiv(a.const(1.0, t), a.sqrt(x)))
