"""Conversion between types, saturation and narrow formats (manual: chapter 2, "Type Conversion" and "Saturation";
FCVT).

What an engine's ``cast`` does is the easy part: integers wrap, floats round to nearest even. Here stands the rest:
floats that do not fit into an integer, saturation, the rounding mode of %cr0, and the formats that the algebra has no
lanes for: bfloat16 (the upper half of a float), tf32 (a float with ten fraction bits), bf8 (E5M2, the upper half of a
half) and hf8 (E4M3).

Formats that are a cut-off float round on the bits, as integers: to nearest even means adding just under half of the
last place that stays, and one more if that place is odd. Half a place is then carried to the even neighbour, and the
carry out of the fraction into the exponent is right, too. Of 0x3F808000, half-way between the bfloat16s 0x3F80 and
0x3F81: + 0x7FFF + 0 is 0x3F80FFFF, so 0x3F80.
"""

from __future__ import annotations

from visakit.language import types
from visakit.language.types import BF, DF, HF, UB, UV, UW, VF, DataType, F, V
from vsim.semantics.algebra import Algebra, Lanes
from vsim.semantics.rounding import DOWN, UP, Rounding, directed, float_rounded_to_odd

_PACKED = {V: types.W, UV: UW, VF: F}


def element_type(data_type: DataType) -> DataType:
    """The type that a packed-vector immediate has lane by lane."""
    return _PACKED.get(data_type, data_type)


def convert(
    a: Algebra, x: Lanes, source: DataType, target: DataType, saturate: bool = False, rounding: Rounding | None = None
) -> Lanes:
    """Convert lanes between any two types as ``mov`` does.

    Args:
        saturate: clamp to the range of an integer target, or a float to [0, 1].
        rounding: the mode of %cr0 for results that are not exact; None is nearest even.
    """
    if source is BF:
        x, source = widen_bf16(a, x), F
    if saturate and target.is_float:
        x, source = _saturate_float(a, x, source)
    if target is BF:
        return round_to_bf16(a, float_rounded_to_odd(a, x, source), rounding)
    if source is target:
        return x
    if target.is_integer:
        return _to_integer(a, x, source, target, saturate)
    if rounding is not None and target in (F, HF, DF):
        return directed(a, x, source, target, rounding)
    if target is HF and source.is_integer:
        return a.cast(a.cast(x, F if source.size < 4 else DF), HF)
    return a.cast(x, target)


# -- integers and saturation -----------------------------------------------------------------------------------


def _to_integer(a: Algebra, x: Lanes, source: DataType, target: DataType, saturate: bool) -> Lanes:
    """To an integer type: floats always clamp, integers only with saturation; else they wrap."""
    if source.is_float:
        return float_to_integer(a, x, source, target)
    return _saturate_integer(a, x, source, target) if saturate and source.is_integer else a.cast(x, target)


def float_to_integer(a: Algebra, x: Lanes, source: DataType, target: DataType) -> Lanes:
    """Truncate; out of range gives the nearest end of the range, NaN gives 0."""
    if source is HF:
        x, source = a.cast(x, F), F
    if target.bits < types.D.bits:
        return _saturate_integer(a, float_to_integer(a, x, source, types.D), types.D, target)
    if (found := a.whole_part(x, target)) is not None:
        return found
    low, high = float(target.minimum), float(target.maximum + 1)
    fits = (x >= a.const(low, source)) & (x < a.const(high, source))
    inside = a.cast(a.select(fits, x, a.const(0.0, source)), target)
    ends = a.select(x >= a.const(high, source), a.const(target.maximum, target), a.const(target.minimum, target))
    return a.select(fits, inside, a.select(x == x, ends, a.const(0, target)))


def _saturate_integer(a: Algebra, x: Lanes, source: DataType, target: DataType) -> Lanes:
    """Clamp an integer to the range of another integer type."""
    low, high = max(target.minimum, source.minimum), min(target.maximum, source.maximum)
    if high < source.maximum:
        x = a.select(x > a.const(high, source), a.const(high, source), x)
    if low > source.minimum:
        x = a.select(x < a.const(low, source), a.const(low, source), x)
    return a.cast(x, target)


def _saturate_float(a: Algebra, x: Lanes, source: DataType) -> tuple[Lanes, DataType]:
    """Clamp to [0, 1] in the type of the source, an integer as F; NaN becomes 0."""
    real = source if source.is_float else F
    zero, one = a.const(0.0, real), a.const(1.0, real)
    x = a.cast(x, real)
    return a.select(x > zero, a.select(x < one, x, one), zero), real


# -- narrow floats ---------------------------------------------------------------------------------------------


def round_bits(a: Algebra, bits: Lanes, t: DataType, drop: int) -> Lanes:
    """Cut the low bits of an unsigned integer, nearest even."""
    odd = (bits >> a.const(drop, t)) & a.const(1, t)
    return (bits + a.const((1 << (drop - 1)) - 1, t) + odd) >> a.const(drop, t)


def round_to_bf16(a: Algebra, x: Lanes, rounding: Rounding | None = None) -> Lanes:
    """F to the bits of bfloat16, nearest even or in the mode of %cr0; a NaN stays one."""
    t = types.UD
    bits = a.bitcast(x, t)
    if rounding is None:
        rounded = round_bits(a, bits, t, 16)
    else:
        mode = a.const(rounding, t) if isinstance(rounding, int) else rounding
        outward = mode == a.select(bits >= a.const(1 << 31, t), a.const(DOWN, t), a.const(UP, t))
        odd = (bits >> a.const(16, t)) & a.const(1, t)
        more = a.select(mode == a.const(0, t), a.const(0x7FFF, t) + odd, a.const(0, t))
        rounded = (bits + a.select(outward, a.const(0xFFFF, t), more)) >> a.const(16, t)
    quiet = (bits >> a.const(16, t)) | a.const(0x40, t)
    return a.cast(a.select(x == x, rounded, quiet), UW)


def widen_bf16(a: Algebra, bits: Lanes) -> Lanes:
    """Bits of bfloat16 to F."""
    return a.bitcast(a.cast(bits, types.UD) << a.const(16, types.UD), F)


def to_bf8(a: Algebra, x: Lanes, saturate: bool = False) -> Lanes:
    """HF to the bits of bf8 (E5M2), nearest even, saturated to a finite number; a NaN stays one."""
    bits = a.bitcast(x, UW)
    quiet, code = (bits >> a.const(8, UW)) | a.const(2, UW), round_bits(a, bits, UW, 8)
    if saturate:
        infinite = (code & a.const(0x7F, UW)) == a.const(0x7C, UW)
        code = a.select(infinite, code - a.const(1, UW), code)
    return a.cast(a.select(x == x, code, quiet), UB)


def to_tf32(a: Algebra, x: Lanes) -> Lanes:
    """F to tf32: ten fraction bits, nearest even, in the bits of a float."""
    bits = a.bitcast(x, types.UD)
    rounded = round_bits(a, bits, types.UD, 13) << a.const(13, types.UD)
    return a.select(a.absolute(x) < a.const(float("inf"), F), rounded, bits)


def hf8_to_half(a: Algebra, bits: Lanes) -> Lanes:
    """Bits of hf8 (E4M3, no infinities, all ones are NaN) to HF."""
    wide = a.cast(bits, UW)
    sign = (wide & a.const(0x80, UW)) << a.const(8, UW)
    rest = wide & a.const(0x7F, UW)
    # The exponent bias differs by 8: scale the reinterpreted half by 2**8.
    scaled = a.bitcast(rest << a.const(7, UW), HF) * a.const(256.0, HF)
    value = a.bitcast(a.bitcast(scaled, UW) | sign, HF)
    return a.select(rest == a.const(0x7F, UW), a.bitcast(sign | a.const(0x7E00, UW), HF), value)


def half_to_hf8(a: Algebra, x: Lanes, saturate: bool = False) -> Lanes:
    """HF to the bits of hf8, nearest even, out of range to NaN, or saturated to the largest number."""
    wide = a.cast(x, F)
    magnitude = a.absolute(wide)
    sign = a.cast((a.bitcast(x, UW) >> a.const(8, UW)) & a.const(0x80, UW), types.UD)
    small = magnitude < a.const(2.0**-6, F)
    # Below the normal range the steps are 2**-9 wide; above it three fraction bits are kept.
    steps = a.rint(a.select(small, magnitude, a.const(0.0, F)) * a.const(512.0, F))
    subnormal = a.cast(steps, types.UD)
    bits = round_bits(a, a.bitcast(magnitude, types.UD), types.UD, 20) - a.const((127 - 7) << 3, types.UD)
    code = a.select(small, subnormal, bits)
    nan = a.const(0x7F, types.UD)
    code = a.select((magnitude < a.const(465.0, F)) & (code < nan), code, nan)
    if saturate:
        code = a.select((magnitude == magnitude) & (code == nan), a.const(0x7E, types.UD), code)
    return a.cast(code | sign, UB)
