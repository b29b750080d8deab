"""The registry of what instructions do, and what most of them share: operands, execution types, the predicated write.

An instruction is executed as the manual's chapters 2 ("Data Types") and 5 ("Operands") say: each source is a *region*
of a variable, converted to the *execution type* and passed through its *source modifier*; the result is converted to
the type of the destination, with *saturation* if the destination asks for it; and a *predicated write* stores the lanes
that the execution mask and the predicate enable. With variables of type ub ::

    (P1) add.sat (M1, 16) V3(0,0)<1> V1(0,0)<16;16,1> (-)V2(0,0)<16;16,1>

is computed in type q, because the modifier makes the sum signed and saturation must see the whole of it, then clamped
to 0 ... 255, and written in the lanes where P1 holds.

:func:`semantics` registers a function that prepares an instruction for a machine; :func:`alu` makes one out of a
function that computes lane by lane, with all of the above around it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from visakit.language import types
from visakit.language.operands import ABS, NEG, NEG_ABS, NOT, SAT, Immediate, VectorOperand
from visakit.language.program import Instruction
from visakit.language.types import BF, DF, HF, UQ, UW, D, DataType, F, Q
from vsim.semantics.algebra import Algebra, Lanes, Machine, Mask, Read, ReadMask, Step, Write
from vsim.semantics.conversion import convert, element_type
from vsim.semantics.registers import DENORMAL_BITS

Compare = Callable[[Lanes, Lanes], Mask]
COMPARISONS: dict[str, Compare] = {name: getattr(operator, name) for name in ("eq", "ne", "gt", "ge", "lt", "le")}
"""Comparisons by the word of the assembly language."""

Prepare = Callable[[Machine, Instruction], Step]
"""Prepares an instruction for a machine, as a function that executes it."""
LaneFunction = Callable[..., Lanes]
"""``function(algebra, execution type, *sources)``: one result for each lane."""

SEMANTICS: dict[str, Prepare] = {}
"""What an instruction does, by the name of the semantics in the instruction table."""
ALLOWED_DEVIATION: dict[str, str] = {}
"""What is done where the manual leaves a choice, by the name of the semantics; those without an entry are exact."""
BY_LANE: set[str] = set()
"""The lanewise semantics: a lane's result depends on its own elements and on uniform values alone."""


# -- registry --------------------------------------------------------------------------------------------------


def semantics(*names: str, deviation: str = "", by_lane: bool = False) -> Callable[[Prepare], Prepare]:
    """Register what instructions do.

    Args:
        deviation: the choice where the manual leaves one, for :data:`ALLOWED_DEVIATION`.
        by_lane: it belongs to :data:`BY_LANE`.
    """

    def register(prepare: Prepare) -> Prepare:
        for name in names:
            _register(name, prepare, deviation, by_lane)
        return prepare

    return register


def _register(name: str, prepare: Prepare, deviation: str, by_lane: bool) -> None:
    SEMANTICS[name] = prepare
    if deviation:
        ALLOWED_DEVIATION[name] = deviation
    if by_lane:
        BY_LANE.add(name)


def override_when(special: Callable[[Machine, Instruction], Step | None], *names: str) -> None:
    """Let registered instructions do something special where it applies, that is, where ``special`` gives a step."""
    for name in names:

        def prepare(m: Machine, instruction: Instruction, plain: Prepare = SEMANTICS[name]) -> Step:
            return special(m, instruction) or plain(m, instruction)

        SEMANTICS[name] = prepare


def nothing(m: Machine, instruction: Instruction) -> Step:
    """An instruction without functional effect."""
    return lambda: None


def alu(
    rule: TypeRule, *names: str, rounded: bool = False, deviation: str = "", by_low_bits: bool = False
) -> Callable[[LaneFunction], LaneFunction]:
    """Register an instruction that computes lane by lane in the rule's execution type.

    Args:
        rounded: the function rounds its result itself, so the rounding mode of %cr0 does not apply.
        deviation: as for :func:`semantics`.
        by_low_bits: as for :func:`kept_type`, of integers.
    """

    def register(function: LaneFunction) -> LaneFunction:
        def prepare(m: Machine, instruction: Instruction) -> Step:
            args, a, fields = instruction.args, m.algebra, sources_of(instruction)
            count, dst_type = args["exec"].size, m.type_of(args["dst"])
            t = rule([type_of_source(m, args[f]) for f in fields], dst_type, instruction)
            if by_low_bits:
                t = kept_type(t, dst_type, instruction)
            reads = [operand(m, args[f], count, t) for f in fields]
            write, mask = destination(m, args["dst"], count, t, rounded), mask_of(m, instruction)
            if len(reads) == 1:
                (read,) = reads
                return lambda: write(function(a, t, read()), mask())
            if len(reads) == 2:
                first, second = reads
                return lambda: write(function(a, t, first(), second()), mask())
            return lambda: write(function(a, t, *[read() for read in reads]), mask())

        for name in names:
            _register(name, prepare, deviation, by_lane=True)
        return function

    return register


# -- operands --------------------------------------------------------------------------------------------------


def sources_of(instruction: Instruction) -> list[str]:
    """Names of the vector source fields."""
    return [f.name for f in instruction.desc.fields if f.kind == "s" and f.name]


def type_of_source(m: Machine, op: VectorOperand) -> DataType:
    """Type of a source lane by lane; bf counts as f."""
    own = element_type(m.type_of(op))
    return F if own is BF else own


def modify(a: Algebra, x: Lanes, data_type: DataType, modifier: int, signed: bool | None = None) -> Lanes:
    """Apply a source modifier to lanes of a type: (abs), (-), (-abs) or (~).

    Args:
        signed: whether integers were of a signed type, by default ``data_type``'s; others are their own magnitudes.
    """
    if modifier == NOT:
        return ~x
    if modifier in (ABS, NEG_ABS):
        if data_type.is_float:
            x = a.absolute(x)
        elif data_type.is_signed if signed is None else signed:
            t = signed_of(data_type.size)
            x = a.select(a.bitcast(x, t) < a.const(0, t), a.negate(x), x)
    return a.negate(x) if modifier in (NEG, NEG_ABS) else x


def source(m: Machine, op: VectorOperand, count: int, wanted: DataType | None = None, by_lane: bool = True) -> Read:
    """Lanes of a source in the wanted type (its own without), with its source modifier applied.

    Args:
        by_lane: as for :meth:`Machine.reader`.
    """
    a, own = m.algebra, element_type(m.type_of(op))
    read = m.reader(op, count, by_lane)
    target = wanted or (F if own is BF else own)
    modifier = op.modifier if op.modifier != SAT else 0
    if own is target and not modifier:
        return read
    if isinstance(op, Immediate) and not modifier:
        constant = convert(a, read(), own, target)
        return lambda: constant
    if modifier in (ABS, NEG_ABS) and own.is_integer and own.size > target.size:  # else the sign would be dropped
        return lambda: convert(a, modify(a, read(), own, modifier), own, target)
    return lambda: modify(a, convert(a, read(), own, target), target, modifier, own.is_signed)


def operand(m: Machine, op: VectorOperand, count: int, wanted: DataType, by_lane: bool = True) -> Read:
    """A source of a computation: as :func:`source`, with zeros for denormals where %cr0 asks for that."""
    read, own = source(m, op, count, wanted, by_lane), type_of_source(m, op)
    if not wanted.is_float or not own.is_float or m.denormals(own) is None:
        return read
    exact, a = source(m, op, count, by_lane=by_lane), m.algebra
    return lambda: convert(a, flush(a, exact(), own, m.denormals(own)), own, wanted)


def flush(a: Algebra, x: Lanes, data_type: DataType, where: Mask | None) -> Lanes:
    """Zeros of the same sign instead of denormals where the mask holds."""
    if where is None:
        return x
    if where is True and (found := a.without_denormals(x)) is not None:
        return found
    if data_type is BF:
        sign, least = x & a.const(0x8000, UW), a.const(0x80, UW)
        return a.select(both(where, (x ^ sign) < least), sign, x)
    word, tiny = {DF: (UQ, 2.0**-1022), F: (types.UD, 2.0**-126), HF: (UW, 2.0**-14)}[data_type]
    zero = a.bitcast(a.bitcast(x, word) & a.const(1 << (word.bits - 1), word), data_type)
    return a.select(both(where, a.absolute(x) < a.const(tiny, data_type)), zero, x)


def flush_result(m: Machine, target: DataType, write: Write) -> Write:
    """A predicated write with zeros for denormals where %cr0 asks for that; of bf where it does for f."""
    kept = F if target is BF else target
    if kept not in DENORMAL_BITS or m.denormals(kept) is None:
        return write
    return lambda value, mask: write(flush(m.algebra, value, target, m.denormals(kept)), mask)


def destination(
    m: Machine, op: VectorOperand, count: int, produced: DataType, rounded: bool = False, moved: bool = False
) -> Write:
    """Predicated write of results of a type into a destination, with its conversion and saturation.

    Args:
        produced: the type of the results.
        rounded: they were rounded as %cr0 asks or need no rounding.
        moved: they were copied, so that denormals of their type stay.
    """
    a, target = m.algebra, m.type_of(op)
    write = m.writer(op, count)
    saturate = op.modifier == SAT
    if target is produced and moved and not saturate:
        return write
    if produced.is_float:
        write = flush_result(m, target, write)
    if target is produced and not saturate:
        return write
    if rounded or not target.is_float:
        return lambda value, mask: write(convert(a, value, produced, target, saturate), mask)
    return lambda value, mask: write(convert(a, value, produced, target, saturate, m.rounding()), mask)


def mask_of(m: Machine, instruction: Instruction) -> ReadMask:
    """The lanes for which the instruction takes effect: the execution mask and the predicate."""
    return m.mask(instruction.args["exec"], instruction.args.get("pred"))


def both(mask: Mask, more: Mask) -> Mask:
    """The lanes of two masks, of which the first may be True for all."""
    return more if mask is True else mask & more


# -- execution types -------------------------------------------------------------------------------------------

TypeRule = Callable[[list[DataType], DataType, Instruction], DataType]
"""The execution type, by the types of the sources and of the destination."""


def is_modified(instruction: Instruction) -> bool:
    """Whether a source has a sign modifier."""
    return any(instruction.args[s].modifier in (ABS, NEG, NEG_ABS) for s in sources_of(instruction))


def integer_of(size: int, signed: bool) -> DataType:
    """The integer type of a size in bytes, at least four."""
    return (Q if signed else UQ) if size == 8 else (D if signed else types.UD)


def unsigned_of(size: int) -> DataType:
    """The unsigned integer type of a size in bytes."""
    return types.UNSIGNED_BY_SIZE[size]


def signed_of(size: int) -> DataType:
    """The signed integer type of a size in bytes."""
    return types.SIGNED_BY_SIZE[size]


def float_type(found: list[DataType], dst: DataType) -> DataType | None:
    """Execution type if any operand is a float, else None: HF only if all of them are."""
    floats = [t for t in found if t.is_float]
    if not floats:
        return None
    if DF in floats:
        return DF
    return HF if all(t is HF for t in floats) and not (dst.is_float and dst.size > 2) else F


def arithmetic_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """Execution type of arithmetic: floats win; integers compute in the widest type.

    They compute twice as wide where saturation or a destination of floats must see the whole result.
    """
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


def kept_type(t: DataType, dst: DataType, instruction: Instruction) -> DataType:
    """Execution type of an operation of which the low bits of integers follow from the low bits of its sources: only as
    wide as the destination, which drops the rest.
    """
    sees_all = instruction.args["dst"].modifier == SAT
    sees_all = sees_all or any(instruction.args[s].modifier in (ABS, NEG_ABS) for s in sources_of(instruction))
    if sees_all or not t.is_integer or not dst.is_integer or dst.size >= t.size:
        return t
    return signed_of(dst.size) if t.is_signed else unsigned_of(dst.size)


def own_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """The widest source type, at least 32 bits wide, with the signedness of the first source."""
    real = float_type(found, dst)
    return real or integer_of(max(4, *(t.size for t in found)), found[0].is_signed)


def bits_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """Bitwise operations: the widest operand, unsigned."""
    return integer_of(max(4, dst.size, *(t.size for t in found)), False)


def real_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    """Float operations; F for integers."""
    return float_type(found, dst) or F
