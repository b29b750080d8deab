"""How an instruction's operands are fetched, converted, masked and stored; the registry of what instructions do."""

from __future__ import annotations

from collections.abc import Callable

from visa import types
from visa.operands import ABS, NEG, NEG_ABS, NOT, SAT, Immediate, VectorOperand
from visa.program import Instruction
from visa.types import BF, DF, HF, UQ, UV, UW, VF, D, DataType, F, Q, V
from vsim.registers import DENORMAL_BITS
from vsim.semantics.algebra import Algebra, Lanes, Machine, Mask, Read, Step

Prepare = Callable[[Machine, Instruction], Step]
SEMANTICS: dict[str, Prepare] = {}
"""Semantics by the name in the instruction table."""
ALLOWED_DEVIATION: dict[str, str] = {}
"""Which freedom of the manual an instruction uses; those without an entry are exact."""


def semantics(*names: str, within: str = "") -> Callable[[Prepare], Prepare]:
    """Register what instructions do; ``within`` says what is chosen where the manual leaves a choice."""

    def register(prepare: Prepare) -> Prepare:
        for name in names:
            _register(name, prepare, within)
        return prepare

    return register


def _register(name: str, prepare: Prepare, within: str) -> None:
    SEMANTICS[name] = prepare
    if within:
        ALLOWED_DEVIATION[name] = within


def override_when(special: Callable[[Machine, Instruction], Step | None], *names: str) -> None:
    """Let instructions that are registered do something special where it applies."""
    for name in names:

        def prepare(m: Machine, instruction: Instruction, plain: Prepare = SEMANTICS[name]) -> Step:
            return special(m, instruction) or plain(m, instruction)

        SEMANTICS[name] = prepare


def both(mask: Mask, more: Mask) -> Mask:
    """The lanes of two masks, of which the first may be True for all."""
    return more if mask is True else mask & more


# -- conversion ------------------------------------------------------------------------------------------------


_PACKED = {V: types.W, UV: UW, VF: F}


def element_type(data_type: DataType) -> DataType:
    """The type that a packed-vector immediate has lane by lane."""
    return _PACKED.get(data_type, data_type)


def round_to_bf16(a: Algebra, x: Lanes) -> Lanes:
    """Float to the bits of bfloat16, nearest even; a NaN stays one."""
    bits = a.bitcast(x, types.UD)
    odd = (bits >> a.const(16, types.UD)) & a.const(1, types.UD)
    rounded = (bits + a.const(0x7FFF, types.UD) + odd) >> a.const(16, types.UD)
    quiet = (bits >> a.const(16, types.UD)) | a.const(0x40, types.UD)
    return a.cast(a.select(x == x, rounded, quiet), UW)


def widen_bf16(a: Algebra, bits: Lanes) -> Lanes:
    """Bits of bfloat16 to float."""
    return a.bitcast(a.cast(bits, types.UD) << a.const(16, types.UD), F)


def float_to_integer(a: Algebra, x: Lanes, source: DataType, target: DataType) -> Lanes:
    """Truncate; out of range gives the nearest end of the range, NaN gives 0 (manual, "Data type conversion")."""
    if source is HF:
        x, source = a.cast(x, F), F
    low, high = float(target.minimum), float(target.maximum + 1)
    fits = (x > a.const(low - 1.0, source)) if target.bits < 32 else (x >= a.const(low, source))
    fits = fits & (x < a.const(high, source))
    inside = a.cast(a.select(fits, x, a.const(0.0, source)), target)
    ends = a.select(x >= a.const(high, source), a.const(target.maximum, target), a.const(target.minimum, target))
    return a.select(fits, inside, a.select(x == x, ends, a.const(0, target)))


def convert(
    a: Algebra, x: Lanes, source: DataType, target: DataType, saturate: bool = False, rounding: Lanes | None = None
) -> Lanes:
    """Convert lanes between any two types as ``mov`` does.

    Args:
        saturate: clamp to the range of an integer target, or a float to [0, 1].
        rounding: the mode of %cr0 for results that are not exact; None is nearest even.
    """
    if source is BF:
        x, source = widen_bf16(a, x), F
    if saturate and target.is_float:
        zero, one = a.const(0.0, source if source.is_float else F), a.const(1.0, source if source.is_float else F)
        x = x if source.is_float else a.cast(x, F)
        source = source if source.is_float else F
        x = a.select(x > zero, a.select(x < one, x, one), zero)
    if target is BF:
        return round_to_bf16(a, x if source is F else a.cast(x, F))
    if source is target:
        return x
    if source.is_float and target.is_integer:
        return float_to_integer(a, x, source, target)
    if source.is_integer and target.is_integer and saturate:
        return saturate_integer(a, x, source, target)
    if rounding is not None and target in (F, HF, DF):
        return directed(a, x, source, target, rounding)
    if target is HF and source.is_integer:
        return a.cast(a.cast(x, F if source.size < 4 else DF), HF)
    return a.cast(x, target)


def saturate_integer(a: Algebra, x: Lanes, source: DataType, target: DataType) -> Lanes:
    """Clamp an integer to the range of another integer type."""
    low, high = max(target.minimum, source.minimum), min(target.maximum, source.maximum)
    if high < source.maximum:
        x = a.select(x > a.const(high, source), a.const(high, source), x)
    if low > source.minimum:
        x = a.select(x < a.const(low, source), a.const(low, source), x)
    return a.cast(x, target)


def two_sum(a: Algebra, x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """The rounded sum of doubles and its exact error."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def to_odd(a: Algebra, total: Lanes, error: Lanes) -> Lanes:
    """A rounded double with its error, rounded to odd instead, so that rounding to a narrower type afterwards rounds once."""
    bits = a.bitcast(total, Q)
    zero, one = a.const(0, Q), a.const(1, Q)
    inexact = (error != a.const(0.0, DF)) & ((bits & one) == zero) & (error == error)
    outward = (error > a.const(0.0, DF)) == (total > a.const(0.0, DF))
    return a.bitcast(a.select(inexact, a.select(outward, bits + one, bits - one), bits), DF)


def halves(a: Algebra, x: Lanes, source: DataType) -> tuple[Lanes, Lanes]:
    """A 64-bit integer as the sum of two doubles."""
    low = x & a.const(0xFFFFFFFF, source)
    return a.cast(x - low, DF), a.cast(low, DF)


def directed(a: Algebra, x: Lanes, source: DataType, target: DataType, rounding: Lanes) -> Lanes:
    """Round to a float type in the mode of %cr0."""
    if source.is_integer and source.size == 8:
        total, error = two_sum(a, *halves(a, x, source))
        if target is DF:
            return step_by_mode(a, total, error, DF, rounding)
        x, source = to_odd(a, total, error), DF
    wide = x if source is DF else a.cast(x, DF)
    if target is DF:
        return wide
    near = a.cast(wide, target)
    return step_by_mode(a, near, wide - a.cast(near, DF), target, rounding, wide)


def step_by_mode(
    a: Algebra, near: Lanes, error: Lanes, t: DataType, rounding: Lanes, sign_of: Lanes | None = None
) -> Lanes:
    """The result in the mode of %cr0, given the nearest one and a double that has the sign of what it lacks.

    ``sign_of``: doubles with the signs of the exact results, for those that round to zero.
    """
    word = {DF: UQ, F: types.UD, HF: UW}[t]
    one, sign, none = a.const(1, word), a.const(1 << (word.bits - 1), word), a.const(0, word)
    bits, zero = a.bitcast(near, word), a.const(0.0, DF)
    magnitude = bits & ~sign
    exact = a.bitcast(sign_of, UQ) >= a.const(1 << 63, UQ) if sign_of is not None else bits >= sign
    negative = a.select(magnitude == none, a.mask_to_int(exact, word), a.mask_to_int(bits >= sign, word)) != none
    outward, inward = (a.bitcast(m | (bits & sign), t) for m in (magnitude + one, magnitude - one))
    too_small, too_big = (
        a.select(negative, a.mask_to_int(p, word), a.mask_to_int(q, word)) != none
        for p, q in ((error < zero, error > zero), (error > zero, error < zero))
    )
    towards_zero, away = a.select(too_big, inward, near), a.select(too_small, outward, near)
    up, down = a.select(negative, towards_zero, away), a.select(negative, away, towards_zero)

    def mode(number: int) -> Mask:
        return rounding == a.const(number, types.UD)

    return a.select(mode(1), up, a.select(mode(2), down, a.select(mode(3), towards_zero, near)))


# -- operands --------------------------------------------------------------------------------------------------


def modify(a: Algebra, x: Lanes, data_type: DataType, modifier: int) -> Lanes:
    """Apply a source modifier to lanes of a type."""
    if modifier == NOT:
        return ~x
    if modifier in (ABS, NEG_ABS):
        x = (
            a.absolute(x)
            if data_type.is_float
            else (a.select(x < a.const(0, data_type), a.negate(x), x) if data_type.is_signed else x)
        )
    if modifier in (NEG, NEG_ABS):
        x = a.negate(x)
    return x


def source(m: Machine, op: VectorOperand, count: int, wanted: DataType | None = None, by_lane: bool = True) -> Read:
    """Lanes of a source in the wanted type (its own without), its modifier applied; ``by_lane`` as for :meth:`Machine.reader`."""
    a, own = m.algebra, element_type(m.type_of(op))
    read = m.reader(op, count, by_lane)
    target = wanted or (F if own is BF else own)
    modifier = op.modifier if op.modifier != SAT else 0
    if own is target and not modifier:
        return read
    if isinstance(op, Immediate) and not modifier:
        constant = convert(a, read(), own, target)
        return lambda: constant
    return lambda: modify(a, convert(a, read(), own, target), target, modifier)


def flush(a: Algebra, x: Lanes, data_type: DataType, where: Mask | None) -> Lanes:
    """Zeros of the same sign instead of denormals where the mask holds."""
    if where is None:
        return x
    word, tiny = {DF: (UQ, 2.0**-1022), F: (types.UD, 2.0**-126), HF: (UW, 2.0**-14)}[data_type]
    zero = a.bitcast(a.bitcast(x, word) & a.const(1 << (word.bits - 1), word), data_type)
    return a.select(where & (a.absolute(x) < a.const(tiny, data_type)), zero, x)


def operand(m: Machine, op: VectorOperand, count: int, wanted: DataType, by_lane: bool = True) -> Read:
    """A source of a computation: as :func:`source`, without denormals where %cr0 asks for that."""
    read, own = source(m, op, count, wanted, by_lane), type_of_source(m, op)
    if not wanted.is_float or not own.is_float or m.denormals(own) is None:
        return read
    exact, a = source(m, op, count, by_lane=by_lane), m.algebra
    return lambda: convert(a, flush(a, exact(), own, m.denormals(own)), own, wanted)


def type_of_source(m: Machine, op: VectorOperand) -> DataType:
    """Type of a source lane by lane; bf counts as f."""
    own = element_type(m.type_of(op))
    return F if own is BF else own


def destination(
    m: Machine, op: VectorOperand, count: int, produced: DataType, rounded: bool = False, moved: bool = False
) -> Callable[[Lanes, Mask], None]:
    """Stores results of a type into a destination, with its conversion and saturation.

    ``rounded``: the value was rounded as %cr0 asks or needs no rounding; ``moved``: it was copied, so that denormals of its type stay.
    """
    a, target = m.algebra, m.type_of(op)
    write = m.writer(op, count)
    saturate = op.modifier == SAT
    if target is produced and moved and not saturate:
        return write
    if target in DENORMAL_BITS and produced.is_float and m.denormals(target) is not None:
        plain = write

        def write(value: Lanes, mask: Mask) -> None:
            plain(flush(a, value, target, m.denormals(target)), mask)

    if target is produced and not saturate:
        return write
    if rounded or not target.is_float:
        return lambda value, mask: write(convert(a, value, produced, target, saturate), mask)
    return lambda value, mask: write(convert(a, value, produced, target, saturate, m.rounding()), mask)


def sources_of(instruction: Instruction) -> list[str]:
    """Names of the vector source fields."""
    return [f.name for f in instruction.desc.fields if f.kind == "s" and f.name]


def mask_of(m: Machine, instruction: Instruction) -> Callable[[], Mask]:
    """The lanes for which the instruction takes effect."""
    return m.mask(instruction.args["exec"], instruction.args.get("pred"))


# -- execution types -------------------------------------------------------------------------------------------

TypeRule = Callable[[list[DataType], DataType, Instruction], DataType]


def integer_of(size: int, signed: bool) -> DataType:
    """The integer type of a size in bytes, at least four."""
    return (Q if signed else UQ) if size == 8 else (D if signed else types.UD)


def float_type(found: list[DataType], dst: DataType) -> DataType | None:
    """Execution type if any operand is a float, else None."""
    floats = [t for t in found if t.is_float]
    if not floats:
        return None
    if DF in floats:
        return DF
    return HF if all(t is HF for t in floats) and not (dst.is_float and dst.size > 2) else F


def arithmetic_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """Execution type of arithmetic: floats win; integers compute in the widest type, twice as wide where saturation must see the whole result."""
    real = float_type(found, dst)
    if real:
        return real
    dst_op = instruction.args["dst"]
    negative = any(instruction.args[s].modifier in (NEG, NEG_ABS) for s in sources_of(instruction))
    signed = negative or any(t.is_signed for t in found)
    size = max(4, max(t.size for t in found), dst.size if dst.is_integer else 0)
    if (dst_op.modifier == SAT and size == 4) or dst.is_float:
        size = 8
    return integer_of(size, signed)


def own_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """The widest source type, at least 32 bits wide, with the signedness of the first source."""
    real = float_type(found, dst)
    return real or integer_of(max(4, *(t.size for t in found)), found[0].is_signed)


def bits_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """Bitwise operations: the widest operand, unsigned."""
    return integer_of(max(4, dst.size, *(t.size for t in found)), False)


def real_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """Float operations."""
    return float_type(found, dst) or F


# -- the common shape ------------------------------------------------------------------------------------------


def alu(
    rule: TypeRule, *names: str, rounded: bool = False, within: str = ""
) -> Callable[[Callable[..., Lanes]], Callable[..., Lanes]]:
    """Register an instruction that computes lane by lane: ``function(algebra, type, *sources)`` in the rule's execution type.

    ``rounded``: the function rounds its result itself, so %cr0 does not apply.
    """

    def register(function: Callable[..., Lanes]) -> Callable[..., Lanes]:
        def prepare(m: Machine, instruction: Instruction) -> Step:
            args, a = instruction.args, m.algebra
            count = args["exec"].size
            names_ = sources_of(instruction)
            dst_type = m.type_of(args["dst"])
            et = rule([type_of_source(m, args[s]) for s in names_], dst_type, instruction)
            reads = [operand(m, args[s], count, et) for s in names_]
            write = destination(m, args["dst"], count, et, rounded)
            mask = mask_of(m, instruction)
            if len(reads) == 1:
                (read,) = reads
                return lambda: write(function(a, et, read()), mask())
            if len(reads) == 2:
                first, second = reads
                return lambda: write(function(a, et, first(), second()), mask())
            return lambda: write(function(a, et, *[read() for read in reads]), mask())

        for name in names:
            _register(name, prepare, within)
        return function

    return register


def nothing(m: Machine, instruction: Instruction) -> Step:
    """An instruction without functional effect."""
    return lambda: None
