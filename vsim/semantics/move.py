"""Moves, selection, comparison, conversions between narrow floats, address arithmetic."""

from __future__ import annotations

from visa import types
from visa.isa.enums import RELATIONS
from visa.operands import ABS, NEG, NEG_ABS, SAT, SCALAR, Address, General, Immediate, Predicate, State
from visa.program import Instruction
from visa.types import HF, UB, UQ, UW, DataType, F
from vsim.semantics.algebra import Algebra, Lanes, Machine, Mask, Step
from vsim.semantics.core import (
    arithmetic_type,
    destination,
    element_type,
    float_type,
    integer_of,
    mask_of,
    operand,
    semantics,
    source,
    type_of_source,
)  # fmt: skip

_RELATION_NAMES = {v: k for k, v in RELATIONS.items()}


@semantics("mov")
def mov(m: Machine, instruction: Instruction) -> Step:
    """Copy with conversion. A predicate moves as its bits; an address variable takes a register's address or a plain value."""
    args = instruction.args
    dst, src, count = args["dst"], args["src0"], args["exec"].size
    if isinstance(src, Predicate):
        read, write = m.predicate_as_integer(src.var), destination(m, dst, 1, types.UD)
        mask = m.mask(args["exec"], None)
        return lambda: write(read(), mask())
    if isinstance(dst, Address):
        return _to_address(m, instruction)
    own = type_of_source(m, src)
    if (
        src.modifier in (ABS, NEG, NEG_ABS)
        and own.is_integer
        and (dst.modifier == SAT or m.type_of(dst).size > own.size)
    ):
        own = integer_of(8 if own.size >= 4 else max(4, m.type_of(dst).size), True)
    moved = src.modifier not in (ABS, NEG, NEG_ABS)
    read = source(m, src, count, own) if moved else operand(m, src, count, own)
    write, mask = destination(m, dst, count, own, moved=moved), mask_of(m, instruction)
    return lambda: write(read(), mask())


def _to_address(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    src, count = args["src0"], args["exec"].size
    # The encoding writes &V as a scalar region of V, so a scalar that is no word can only be an address.
    if isinstance(src, General) and src.region == SCALAR and m.type_of(src).size != 2:
        read = m.address_of(src)
    else:
        read = source(m, src, count, types.UD)
    write, mask = m.writer(args["dst"], count), mask_of(m, instruction)
    return lambda: write(read(), mask())


@semantics("addr_add")
def addr_add(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    count, base = args["exec"].size, args["src0"]
    first = m.address_of(base) if isinstance(base, General) else source(m, base, count, types.UD)
    second = source(m, args["src1"], count, types.UD)
    write, mask = m.writer(args["dst"], count), mask_of(m, instruction)
    return lambda: write(first() + second(), mask())


def _widest(m: Machine, instruction: Instruction) -> DataType:
    found = [type_of_source(m, args) for args in (instruction.args["src0"], instruction.args["src1"])]
    real = float_type(found, found[0])
    if real:
        return real
    modified = any(instruction.args[s].modifier for s in ("src0", "src1"))
    size = max(t.size for t in found)
    if found[0].is_signed == found[1].is_signed and not modified:
        return integer_of(max(size, 4), found[0].is_signed)
    return integer_of(8 if size == 4 else max(4, size), True)


@semantics("sel")
def sel(m: Machine, instruction: Instruction) -> Step:
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    types_ = [element_type(m.type_of(args[s])) for s in ("src0", "src1")]
    t = types_[0] if types_[0] is types_[1] and types_[0] is not types.BF else arithmetic_type([type_of_source(m, args[s]) for s in ("src0", "src1")],
                                                                                              m.type_of(args["dst"]), instruction)  # fmt: skip
    x, y = source(m, args["src0"], count, t), source(m, args["src1"], count, t)
    write, mask = destination(m, args["dst"], count, t, moved=True), m.mask(args["exec"], None)
    if args["pred"] is None:
        return lambda: write(x(), mask())
    choose = m.predicate_bits(args["pred"], args["exec"])
    return lambda: write(a.select(choose(), x(), y()), mask())


def compare(relation: str, x: Lanes, y: Lanes) -> Mask:
    """One of eq, ne, gt, ge, lt, le."""
    if relation == "eq":
        return x == y
    if relation == "ne":
        return x != y
    if relation in ("gt", "le"):
        return x > y if relation == "gt" else x <= y
    return x >= y if relation == "ge" else x < y


@semantics("cmp")
def cmp(m: Machine, instruction: Instruction) -> Step:
    args, a = instruction.args, m.algebra
    execution, dst = args["exec"], args["dst"]
    count = execution.size
    t = _widest(m, instruction)
    x, y = operand(m, args["src0"], count, t), operand(m, args["src1"], count, t)
    relation = _RELATION_NAMES.get(args["rel_op"], "eq")
    mask = m.mask(execution, None)
    if isinstance(dst, Predicate):
        write = m.predicate_writer(dst.var, execution.offset, count)
        return lambda: write(compare(relation, x(), y()), mask())
    # All ones or all zeros in the width of the destination, whatever its type.
    wide = m.type_of(dst)
    bits = {1: types.B, 2: types.W, 4: types.D, 8: types.Q}[wide.size]
    write = m.writer(dst, count)

    def step() -> None:
        ones = a.negate(a.mask_to_int(compare(relation, x(), y()), bits))
        write(ones if wide is bits or wide is types.BF else a.bitcast(ones, wide), mask())

    return step


def _extreme(name: str) -> None:
    @semantics(name)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count = args["exec"].size
        t = _widest(m, instruction)
        x, y = operand(m, args["src0"], count, t), operand(m, args["src1"], count, t)
        write, mask = destination(m, args["dst"], count, t), m.mask(args["exec"], None)

        def step() -> None:
            left, right = x(), y()
            first = left < right if name == "min" else left > right
            if t.is_float:
                first = first | (right != right)
            write(a.select(first, left, right), mask())

        return step


_extreme("min")
_extreme("max")


@semantics("setp")
def setp(m: Machine, instruction: Instruction) -> Step:
    """Bit i of the source becomes lane i of the predicate."""
    args = instruction.args
    execution = args["exec"]
    read = source(m, args["src0"], 1, types.UD)
    write, mask = m.predicate_writer(args["dst"].var, execution.offset, execution.size), m.mask(execution, None)
    return lambda: write(m.predicate_from_integer(read(), execution.size), mask())


@semantics("movs")
def movs(m: Machine, instruction: Instruction) -> Step:
    args = instruction.args
    dst, src, count = args["dst"], args["src0"], args["exec"].size
    read = m.state_reader(src.kind, src.var, src.offset) if isinstance(src, State) else source(m, src, 1, types.UD)
    mask = m.mask(args["exec"], None)
    if isinstance(dst, State):
        store = m.state_writer(dst.kind, dst.var, dst.offset)
        return lambda: store(read(), mask())
    write = destination(m, dst, count, types.UD)
    return lambda: write(read(), mask())


@semantics("faddr")
def faddr(m: Machine, instruction: Instruction) -> Step:
    address = m.symbol_address(instruction)
    if address is None:
        raise m.cannot(f"'{m.function.strings[instruction.args['name']]}' is not defined")
    value = m.algebra.const(address, UQ)
    write = destination(m, instruction.args["dst"], 1, UQ)
    return lambda: write(value, m.thread_mask())


# -- narrow floats ---------------------------------------------------------------------------------------------


def round_bits(a: Algebra, bits: Lanes, t: DataType, drop: int) -> Lanes:
    """Cut the low bits of an unsigned integer, nearest even."""
    odd = (bits >> a.const(drop, t)) & a.const(1, t)
    return (bits + a.const((1 << (drop - 1)) - 1, t) + odd) >> a.const(drop, t)


def to_bf8(a: Algebra, x: Lanes) -> Lanes:
    """HF lanes to the bits of bf8 (E5M2), nearest even."""
    bits = a.bitcast(x, UW)
    quiet = (bits >> a.const(8, UW)) | a.const(2, UW)
    return a.cast(a.select(x == x, round_bits(a, bits, UW, 8), quiet), UB)


def to_tf32(a: Algebra, x: Lanes) -> Lanes:
    """F lanes to tf32: ten fraction bits, nearest even, in the bits of a float."""
    bits = a.bitcast(x, types.UD)
    rounded = round_bits(a, bits, types.UD, 13) << a.const(13, types.UD)
    return a.select(a.absolute(x) < a.const(float("inf"), F), rounded, bits)


def hf8_to_half(a: Algebra, bits: Lanes) -> Lanes:
    """Bits of hf8 (E4M3, no infinities) to HF."""
    wide = a.cast(bits, UW)
    sign = (wide & a.const(0x80, UW)) << a.const(8, UW)
    rest = wide & a.const(0x7F, UW)
    # The exponent bias differs by 8: scale the reinterpreted half by 2**8.
    scaled = a.bitcast(rest << a.const(7, UW), HF) * a.const(256.0, HF)
    value = a.bitcast(a.bitcast(scaled, UW) | sign, HF)
    return a.select(rest == a.const(0x7F, UW), a.bitcast(sign | a.const(0x7E00, UW), HF), value)


def half_to_hf8(a: Algebra, x: Lanes) -> Lanes:
    """HF to the bits of hf8, nearest even, out of range to NaN."""
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
    code = a.select((magnitude == magnitude) & (magnitude < a.const(465.0, F)) & (code < nan), code, nan)
    return a.cast(code | sign, UB)


@semantics("fcvt")
def fcvt(m: Machine, instruction: Instruction) -> Step:
    """bf8 is type ub, hf8 is type b, tf32 is type ud."""
    args, a = instruction.args, m.algebra
    count, dst, src = args["exec"].size, args["dst"], args["src0"]
    from_type, to_type = m.type_of(src), m.type_of(dst)
    read, mask = source(m, src, count), m.mask(args["exec"], None)
    write = m.writer(dst, count)
    if to_type is UB:
        return lambda: write(to_bf8(a, a.cast(read(), HF)), mask())
    if to_type is types.B:
        return lambda: write(a.bitcast(half_to_hf8(a, a.cast(read(), HF)), types.B), mask())
    if to_type is types.UD and from_type is F:
        return lambda: write(to_tf32(a, read()), mask())
    if from_type is UB:
        return lambda: _store_half(a, a.bitcast(a.cast(read(), UW) << a.const(8, UW), HF), to_type, write, mask())
    if from_type is types.B:
        return lambda: _store_half(a, hf8_to_half(a, a.bitcast(read(), UB)), to_type, write, mask())
    if from_type is types.UD and to_type is F:
        return lambda: write(a.bitcast(read(), F), mask())
    convert_to = destination(m, dst, count, type_of_source(m, src))
    return lambda: convert_to(read(), mask())


def _store_half(a: Algebra, value: Lanes, to_type: DataType, write: object, mask: Mask) -> None:
    write(value if to_type is HF else a.cast(value, to_type), mask)  # type: ignore[operator]


@semantics(
    "srnd",
    within="The random bits are added right below the last place that is kept; the manual leaves their use open.",
)
def srnd(m: Machine, instruction: Instruction) -> Step:
    """Add the random bits below the result's last place, then cut."""
    args, a = instruction.args, m.algebra
    count, dst, src = args["exec"].size, args["dst"], args["src0"]
    mask, write = m.mask(args["exec"], None), m.writer(dst, count)
    value = source(m, src, count)
    random = m.reader(args["src1"], count)
    random_type = m.type_of(args["src1"])
    if m.type_of(src) is HF:

        def to_byte() -> None:
            noise = (
                random() if isinstance(args["src1"], Immediate) and random_type.is_integer else a.bitcast(random(), UW)
            )
            bits = a.bitcast(value(), UW) + (a.cast(noise, UW) & a.const(255, UW))
            write(a.cast(bits >> a.const(8, UW), UB), mask())

        return to_byte

    def to_half() -> None:
        noise = a.bitcast(random(), types.UD) if random_type.size == 4 else a.cast(a.bitcast(random(), UW), types.UD)
        bits = a.bitcast(value(), types.UD) + (noise & a.const(0x1FFF, types.UD))
        write(a.cast(a.bitcast(bits & a.const(0xFFFFE000, types.UD), F), HF), mask())

    return to_half
