"""Moves, selection, comparison and addresses (manual: chapter 6, "Data Movement", "Comparison" and "Address
Instructions"; FADDR).

What sets them apart from arithmetic is that they keep bits: a copy keeps denormals and NaNs, and its execution type is
that of the source. Only a source modifier makes it a computation, which may need a wider type: (-)1 of type ub, moved
to w, is -1.
"""

from __future__ import annotations

from visakit.isa.enums import RELATIONS
from visakit.language import types
from visakit.language.operands import ABS, NEG, NEG_ABS, SAT, SCALAR, Address, General, Indirect, Predicate, State
from visakit.language.program import Instruction
from visakit.language.types import HF, UB, UQ, UW, DataType, F
from vsim.semantics.algebra import Lanes, Machine, Mask, Read, Step, Write
from vsim.semantics.conversion import convert, element_type, half_to_hf8, hf8_to_half, to_bf8, to_tf32
from vsim.semantics.core import (
    COMPARISONS,
    arithmetic_type,
    destination,
    float_type,
    integer_of,
    is_modified,
    kept_type,
    mask_of,
    operand,
    semantics,
    signed_of,
    source,
    type_of_source,
)  # fmt: skip
from vsim.semantics.registers import takes_address
from vsim.semantics.rounding import mirrored
from vsim.semantics.wide import clamped, compared, integer_result, is_negative, is_wide, magnitude, pick, wide_source

# -- moves -----------------------------------------------------------------------------------------------------


@semantics("mov", by_lane=True)
def mov(m: Machine, instruction: Instruction) -> Step:
    """Copy with conversion.

    A predicate moves as its bits; an address variable takes a register's address or a plain value.
    """
    args = instruction.args
    dst, src, count = args["dst"], args["src0"], args["exec"].size
    if isinstance(src, Predicate):
        read, write = m.predicate_as_integer(src.var), destination(m, dst, 1, types.UD)
        mask = m.mask(args["exec"], None)
        return lambda: write(read(), mask())
    if isinstance(dst, Address):
        return _to_address(m, instruction)
    target, computes = m.type_of(dst), src.modifier in (ABS, NEG, NEG_ABS)
    own = target if m.type_of(src) is target and not computes else type_of_source(m, src)
    if computes and own.is_integer:
        if own.size == 8 and (dst.modifier == SAT or target.is_float):
            return _wide_move(m, instruction)
        if dst.modifier == SAT or target.is_float or target.size > own.size:
            own = integer_of(8 if own.size >= 4 or target.is_float else max(4, target.size), True)
    read = operand(m, src, count, own) if computes else source(m, src, count, own)
    write, mask = destination(m, dst, count, own, moved=not computes), mask_of(m, instruction)
    return lambda: write(read(), mask())


def _wide_move(m: Machine, instruction: Instruction) -> Step:
    """A move of 64-bit integers with a modifier: to floats, or to the nearest integer."""
    args, a = instruction.args, m.algebra
    dst, count = args["dst"], args["exec"].size
    target, read, mask = m.type_of(dst), wide_source(m, args["src0"], count), mask_of(m, instruction)
    write = m.writer(dst, count)
    if target.is_integer:
        return lambda: write(clamped(a, read(), target), mask())

    def step() -> None:
        value, rounding, saturate = read(), m.rounding(), dst.modifier == SAT
        size, negative = magnitude(a, value)[0], is_negative(a, value)
        up = convert(a, size, UQ, target, saturate, rounding)
        down = convert(a, size, UQ, target, False, None if rounding is None else mirrored(a, rounding))
        if saturate:
            down = a.const(0, UW) if target is types.BF else a.const(0.0, target)
        elif target is types.BF:
            down = down | a.const(0x8000, UW)
        else:
            down = a.negate(down)
        write(a.select(negative, down, up), mask())

    return step


def _to_address(m: Machine, instruction: Instruction) -> Step:
    """A move into an address variable."""
    args = instruction.args
    src, count = args["src0"], args["exec"].size
    register = takes_address(m.function, instruction)
    read = m.address_of(register) if register else source(m, src, count, types.UD)
    write, mask = m.writer(args["dst"], count), mask_of(m, instruction)
    return lambda: write(read(), mask())


@semantics("addr_add")
def addr_add(m: Machine, instruction: Instruction) -> Step:
    """The address of a register, or of an address variable, plus bytes."""
    args = instruction.args
    count, base = args["exec"].size, args["src0"]
    first = m.address_of(base) if isinstance(base, General) else source(m, base, count, types.UD)
    second = source(m, args["src1"], count, types.UD)
    write, mask = m.writer(args["dst"], count), mask_of(m, instruction)
    return lambda: write(first() + second(), mask())


@semantics("movs")
def movs(m: Machine, instruction: Instruction) -> Step:
    """Copy elements of a surface or sampler variable, or of registers to or from one: one for each lane."""
    args = instruction.args
    dst, src, count = args["dst"], args["src0"], args["exec"].size
    read = _states(m, src, count) if isinstance(src, State) else source(m, src, count, types.UD)
    write = _state_stores(m, dst, count) if isinstance(dst, State) else destination(m, dst, count, types.UD)
    mask = m.mask(args["exec"], None)
    return lambda: write(read(), mask())


def _states(m: Machine, op: State, count: int) -> Read:
    """Consecutive elements of a surface or sampler variable."""
    a = m.algebra
    reads = [m.state_reader(op.kind, op.var, op.offset + n) for n in range(count)]
    if count == 1:
        return reads[0]
    lane = a.iota(count, types.UD)

    def read() -> Lanes:
        found = reads[0]()
        for n, other in enumerate(reads[1:], 1):
            found = a.select(lane == a.const(n, types.UD), other(), found)
        return found

    return read


def _state_stores(m: Machine, op: State, count: int) -> Write:
    """Stores consecutive elements of a surface or sampler variable."""
    a, zero = m.algebra, m.algebra.const(0, types.UD)
    stores = [m.state_writer(op.kind, op.var, op.offset + n) for n in range(count)]
    if count == 1:
        return stores[0]

    def write(value: Lanes, mask: Mask) -> None:
        running = mask if mask is True else a.mask_to_int(mask, types.UD)
        for n, store in enumerate(stores):
            store(a.lanes(value, [n]), True if running is True else a.lanes(running, [n]) != zero)

    return write


@semantics("setp")
def setp(m: Machine, instruction: Instruction) -> Step:
    """Bit i of a scalar becomes lane i of the predicate; of a region, the lowest bit of element i."""
    args, a = instruction.args, m.algebra
    execution, op = args["exec"], args["src0"]
    write, mask = m.predicate_writer(args["dst"].var, execution.offset, execution.size), m.mask(execution, None)
    if isinstance(op, General | Indirect) and op.region != SCALAR and execution.size > 1:
        elements, one, zero = source(m, op, execution.size, types.UD), a.const(1, types.UD), a.const(0, types.UD)
        return lambda: write((elements() & one) != zero, mask())
    read = source(m, op, 1, types.UD)
    return lambda: write(m.predicate_from_integer(read(), execution.size), mask())


@semantics("faddr")
def faddr(m: Machine, instruction: Instruction) -> Step:
    """The address of a function or data symbol, as a uq; it is an error if no such symbol is defined."""
    address = m.symbol_address(instruction)
    if address is None:
        raise m.cannot(f"'{m.function.strings[instruction.args['name']]}' is not defined")
    value = m.algebra.const(address, UQ)
    write = destination(m, instruction.args["dst"], 1, UQ)
    return lambda: write(value, m.thread_mask())


# -- selection and comparison ----------------------------------------------------------------------------------


@semantics("sel", by_lane=True)
def sel(m: Machine, instruction: Instruction) -> Step:
    """src0 where the predicate holds, else src1, in all lanes of the execution mask; without a predicate src0."""
    args, a = instruction.args, m.algebra
    count, ops, dst = args["exec"].size, [args["src0"], args["src1"]], args["dst"]
    mask = m.mask(args["exec"], None)
    choose = m.predicate_bits(args["pred"], args["exec"]) if args["pred"] is not None else None
    if dst.modifier == SAT and is_wide(m, ops):
        target, store, numbers = m.type_of(dst), m.writer(dst, count), [wide_source(m, op, count) for op in ops]

        def step() -> None:
            number = numbers[0]()
            if choose:
                number = pick(a, choose(), number, numbers[1]())
            store(clamped(a, number, target), mask())

        return step
    t = _selection_type(m, instruction)
    x, y = (source(m, op, count, t) for op in ops)
    write = destination(m, dst, count, t, moved=True)
    if choose is None:
        return lambda: write(x(), mask())
    return lambda: write(a.select(choose(), x(), y()), mask())


def _selection_type(m: Machine, instruction: Instruction) -> DataType:
    """The type that holds the values of both sources: theirs, if it is the same and no sign changes."""
    ops = [instruction.args[s] for s in ("src0", "src1")]
    t, other = (element_type(m.type_of(op)) for op in ops)
    if t is other and not ((t.is_integer or t is types.BF) and is_modified(instruction)):
        return t
    target = m.type_of(instruction.args["dst"])
    t = arithmetic_type([type_of_source(m, op) for op in ops], target, instruction)
    return kept_type(integer_of(8, True), target, instruction) if t.is_integer and is_modified(instruction) else t


def _comparison_type(m: Machine, instruction: Instruction) -> DataType:
    """The type that holds the values of both sources: signed and wider where signs differ or a source is modified."""
    found = [type_of_source(m, instruction.args[s]) for s in ("src0", "src1")]
    real = float_type(found, found[0])
    if real:
        return real
    modified = any(instruction.args[s].modifier for s in ("src0", "src1"))
    size = max(t.size for t in found)
    if found[0].is_signed == found[1].is_signed and not modified:
        return integer_of(max(size, 4), found[0].is_signed)
    return integer_of(8 if size == 4 else max(4, size), True)


_RELATION_NAMES = {v: k for k, v in RELATIONS.items()}


@semantics("cmp", by_lane=True)
def cmp(m: Machine, instruction: Instruction) -> Step:
    """Compare: bits of a predicate, or all ones and all zeros in registers. NaN differs from everything."""
    args, a = instruction.args, m.algebra
    execution, dst = args["exec"], args["dst"]
    count, t = execution.size, _comparison_type(m, instruction)
    relation, mask = _RELATION_NAMES.get(args["rel_op"], "eq"), m.mask(execution, None)
    if is_wide(m, [args["src0"], args["src1"]]):
        first, second = (wide_source(m, args[s], count) for s in ("src0", "src1"))

        def holds() -> Mask:
            return compared(a, relation, first(), second())

    else:
        x, y = operand(m, args["src0"], count, t), operand(m, args["src1"], count, t)
        compare = COMPARISONS[relation]

        def holds() -> Mask:
            return compare(x(), y())

    if isinstance(dst, Predicate):
        write = m.predicate_writer(dst.var, execution.offset, count)
        return lambda: write(holds(), mask())
    # All ones or all zeros in the width of the destination, whatever its type.
    wide = UW if m.type_of(dst) is types.BF else m.type_of(dst)
    bits = signed_of(wide.size)
    write = m.writer(dst, count)

    def step() -> None:
        ones = a.negate(a.mask_to_int(holds(), bits))
        write(ones if wide is bits else a.bitcast(ones, wide), mask())

    return step


def _extreme(name: str, relation: str) -> None:
    """Minimum or maximum; of a NaN and a number the number."""
    better = COMPARISONS[relation]

    @semantics(name, by_lane=True)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count, ops, mask = args["exec"].size, [args["src0"], args["src1"]], m.mask(args["exec"], None)
        target, saturate = m.type_of(args["dst"]), args["dst"].modifier == SAT
        if is_wide(m, ops) and target.is_integer:
            first, second = (wide_source(m, op, count) for op in ops)
            store = m.writer(args["dst"], count)

            def wide_step() -> None:
                left, right = first(), second()
                best = pick(a, compared(a, relation, left, right), left, right)
                store(integer_result(a, best, target, saturate), mask())

            return wide_step
        t = _comparison_type(m, instruction)
        x, y = (operand(m, op, count, t) for op in ops)
        write = destination(m, args["dst"], count, t)

        def step() -> None:
            left, right = x(), y()
            if t.is_float:  # Before the comparison, so that the rest is one instruction of x86.
                right = a.select(right != right, left, right)
            write(a.select(better(left, right), left, right), mask())

        return step


_extreme("min", "lt")
_extreme("max", "gt")


# -- narrow floats, which registers hold as integers: bf8 as ub, hf8 as b, tf32 as ud --------------------------


@semantics("fcvt")
def fcvt(m: Machine, instruction: Instruction) -> Step:
    """Convert between a narrow format and hf or f; other types as ``mov`` does."""
    args, a = instruction.args, m.algebra
    count, dst, src = args["exec"].size, args["dst"], args["src0"]
    from_type, to_type = m.type_of(src), m.type_of(dst)
    read, mask = source(m, src, count), m.mask(args["exec"], None)
    write, saturate = m.writer(dst, count), dst.modifier == SAT

    def write_half(half: Lanes, lanes: Mask) -> None:
        write(convert(a, half, HF, to_type, saturate), lanes)

    if to_type is UB:
        return lambda: write(to_bf8(a, a.cast(read(), HF), saturate), mask())
    if to_type is types.B:
        return lambda: write(a.bitcast(half_to_hf8(a, a.cast(read(), HF), saturate), types.B), mask())
    if to_type is types.UD and from_type is F:
        return lambda: write(to_tf32(a, read()), mask())
    if from_type is UB:
        return lambda: write_half(a.bitcast(a.cast(read(), UW) << a.const(8, UW), HF), mask())
    if from_type is types.B:
        return lambda: write_half(hf8_to_half(a, a.bitcast(read(), UB)), mask())
    if from_type is types.UD and to_type is F:
        return lambda: write(convert(a, a.bitcast(read(), F), F, F, saturate), mask())
    convert_to = destination(m, dst, count, type_of_source(m, src))
    return lambda: convert_to(read(), mask())
