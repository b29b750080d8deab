"""Logic, shifts and bit fields (manual: "Logic instructions")."""

from __future__ import annotations

from collections.abc import Callable

from visa import types
from visa.operands import Predicate
from visa.program import Instruction
from visa.types import UQ, DataType
from vsim.semantics.algebra import Algebra, Lanes, Machine, Step
from vsim.semantics.core import (
    alu,
    bits_type,
    convert,
    destination,
    integer_of,
    mask_of,
    override_when,
    own_type,
    semantics,
    source,
    sources_of,
    type_of_source,
)  # fmt: skip


@alu(bits_type, "and")
def and_(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    return x & y


@alu(bits_type, "or")
def or_(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    return x | y


@alu(bits_type, "xor")
def xor(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    return x ^ y


@alu(bits_type, "not")
def not_(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    return ~x


def _on_predicates(m: Machine, instruction: Instruction) -> Step | None:
    """The same between predicates; None for registers."""
    args, name = instruction.args, instruction.desc.mnemonic
    dst, execution = args["dst"], args["exec"]
    if not isinstance(dst, Predicate):
        return None
    reads = [m.predicate_reader(args[s].var, execution.offset, execution.size) for s in sources_of(instruction)]
    write, mask = m.predicate_writer(dst.var, execution.offset, execution.size), mask_of(m, instruction)

    def step() -> None:
        x, *rest = (r() for r in reads)
        write(
            ~x if not rest else x & rest[0] if name == "and" else x | rest[0] if name == "or" else x ^ rest[0], mask()
        )

    return step


override_when(_on_predicates, "and", "or", "xor", "not")


def _shift_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    return integer_of(8 if 8 in (found[0].size, dst.size) else 4, found[0].is_signed)


def _count(a: Algebra, t: DataType, y: Lanes) -> Lanes:
    return y & a.const(t.bits - 1, t)


@alu(_shift_type, "shl")
def shl(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    return x << _count(a, t, y)


@alu(_shift_type, "asr")
def asr(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    signed = integer_of(t.size, True)
    return a.bitcast(a.bitcast(x, signed) >> a.bitcast(_count(a, t, y), signed), t)


@semantics("shr")
def shr(m: Machine, instruction: Instruction) -> Step:
    """A narrow source is zero-extended whatever its sign."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    own = type_of_source(m, args["src0"])
    t = integer_of(max(4, own.size), False)
    narrow = {1: types.UB, 2: types.UW}.get(own.size, t)
    x, y = source(m, args["src0"], count, narrow), source(m, args["src1"], count, t)
    write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)
    return lambda: write(convert(a, x(), narrow, t) >> _count(a, t, y()), mask())


def _rotate(name: str, left: bool) -> None:
    @semantics(name)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count = args["exec"].size
        t = {2: types.UW, 4: types.UD, 8: UQ}[max(2, type_of_source(m, args["src0"]).size)]
        x, y = source(m, args["src0"], count, t), source(m, args["src1"], count, t)
        write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)

        def step() -> None:
            value, n = x(), _count(a, t, y())
            back = _count(a, t, a.const(t.bits, t) - n)
            write((value << n) | (value >> back) if left else (value >> n) | (value << back), mask())

        return step


_rotate("rol", True)
_rotate("ror", False)


def _count_in_source(name: str, narrowest: int, function: Callable[[Algebra, Lanes], Lanes]) -> None:
    """An instruction that counts bits of the source's own type, which ``narrowest`` bytes are the least of, whatever the destination's."""

    @semantics(name)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count, own = args["exec"].size, type_of_source(m, args["src0"])
        t = {1: types.UB, 2: types.UW, 4: types.UD, 8: UQ}[max(narrowest, own.size)]
        x, mask = source(m, args["src0"], count, t), mask_of(m, instruction)
        work = t if t.size >= 4 else types.UD
        write = destination(m, args["dst"], count, work)
        return lambda: write(function(a, convert(a, x(), t, work)), mask())


_count_in_source("cbit", 1, lambda a, x: a.popcount(x))
_count_in_source("lzd", 4, lambda a, x: a.leading_zeros(x))


@alu(bits_type, "fbl")
def fbl(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    lowest = x & a.negate(x)
    return a.select(x == a.const(0, t), a.const(t.maximum, t), a.const(t.bits - 1, t) - a.leading_zeros(lowest))


@alu(own_type, "fbh")
def fbh(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    if t.is_signed:
        x = a.select(x < a.const(0, t), ~x, x)
    u = integer_of(t.size, False)
    bits = a.bitcast(x, u)
    return a.bitcast(a.select(bits == a.const(0, u), a.const(u.maximum, u), a.leading_zeros(bits)), t)


@alu(bits_type, "bfrev")
def bfrev(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    return a.reverse_bits(x)


@semantics("bfe")
def bfe(m: Machine, instruction: Instruction) -> Step:
    """(src >> offset) cut to width bits; a signed type extends the field's sign, a width of 0 gives 0."""
    args, a = instruction.args, m.algebra
    count, t = args["exec"].size, types.UD
    signed = m.type_of(args["src"]).is_signed
    w, o, s = (source(m, args[n], count, t) for n in ("width", "offset", "src"))
    write, mask = destination(m, args["dst"], count, types.D if signed else t), mask_of(m, instruction)

    def step() -> None:
        width, offset, value = _count(a, t, w()), _count(a, t, o()), s()
        up = _count(a, t, a.const(32, t) - width)
        if signed:
            field = ((a.bitcast(value, types.D) >> a.bitcast(offset, types.D)) << a.bitcast(up, types.D)) >> a.bitcast(
                up, types.D
            )
        else:
            field = ((value >> offset) << up) >> up
        write(a.select(width == a.const(0, t), a.const(0, types.D if signed else t), field), mask())

    return step


@semantics("bfi")
def bfi(m: Machine, instruction: Instruction) -> Step:
    """The low width bits of insert at offset, the other bits of base."""
    args, a = instruction.args, m.algebra
    count, t = args["exec"].size, types.UD
    w, o, s, b = (source(m, args[n], count, t) for n in ("width", "offset", "insert", "base"))
    write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)

    def step() -> None:
        width, offset, value, base = _count(a, t, w()), _count(a, t, o()), s(), b()
        one = a.const(1, t)
        field = ((one << width) - one) << offset
        write(((value << offset) & field) | (base & ~field), mask())

    return step


@semantics("bfn")
def bfn(m: Machine, instruction: Instruction) -> Step:
    """Bit i of the result is bit (4*z + 2*y + x) of the function, x, y and z being bit i of the three sources."""
    args, a = instruction.args, m.algebra
    count, table = args["exec"].size, args["function"]
    t = bits_type([type_of_source(m, args[s]) for s in sources_of(instruction)], m.type_of(args["dst"]), instruction)
    reads = [source(m, args[s], count, t) for s in sources_of(instruction)]
    write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)

    def step() -> None:
        x, y, z = (r() for r in reads)
        write(boolean_function(a, t, table, x, y, z), mask())

    return step


def boolean_function(a: Algebra, t: DataType, table: int, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """Any function of three bits, by Shannon expansion over z, then y, then x."""
    known = {0x96: lambda: x ^ y ^ z, 0x80: lambda: x & y & z, 0xFE: lambda: x | y | z}
    if table in known:
        return known[table]()

    def of_x(bits: int) -> Lanes | int:
        return {0: 0, 3: 1, 2: x}.get(bits) if bits != 1 else ~x

    def choose(selector: Lanes, one: Lanes | int, zero: Lanes | int) -> Lanes | int:
        if one is zero or (isinstance(one, int) and isinstance(zero, int) and one == zero):
            return one
        if isinstance(one, int):
            if isinstance(zero, int):
                return selector if one else ~selector
            return selector | zero if one else ~selector & zero
        if isinstance(zero, int):
            return selector & one if not zero else ~selector | one
        return zero ^ (selector & (one ^ zero))

    def of_xy(bits: int) -> Lanes | int:
        return choose(y, of_x(bits >> 2), of_x(bits & 3)) if bits >> 2 != bits & 3 else of_x(bits & 3)

    result = choose(z, of_xy(table >> 4), of_xy(table & 15)) if table >> 4 != table & 15 else of_xy(table & 15)
    return a.const(t.maximum if result else 0, t) if isinstance(result, int) else result
