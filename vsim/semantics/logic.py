"""Logic, shifts and bit fields (manual: chapter 6, "Logic and Shift Instructions"; LZD from "Arithmetic Instructions").

``bfn`` computes any function of three bits, given as its truth table. It is taken apart by Shannon's expansion, f = z ?
f1 : f0 and so on for y and x, and an expansion with constants becomes a single operation. 0xCA is z ? y : x in tables
of bits, its halves being 0xC (y, whatever x) and 0xA (x, whatever y): z ? y : x is x ^ (z & (y ^ x)), three operations
instead of a sum of four products.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import product

from visakit.isa.enums import LFSR_FORMS
from visakit.language import types
from visakit.language.operands import SAT, Predicate
from visakit.language.program import Instruction
from visakit.language.types import DataType
from vsim.semantics.algebra import Algebra, Lanes, Machine, Step
from vsim.semantics.conversion import convert
from vsim.semantics.core import (
    LaneFunction,
    alu,
    bits_type,
    destination,
    integer_of,
    kept_type,
    mask_of,
    override_when,
    own_type,
    semantics,
    source,
    sources_of,
    type_of_source,
    unsigned_of,
)  # fmt: skip
from vsim.semantics.wide import Wide, integer_result, left, right, wide_source

# -- bitwise operations, of registers and of predicates --------------------------------------------------------


@alu(bits_type, "and", by_low_bits=True)
def and_(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x & y."""
    return x & y


@alu(bits_type, "or", by_low_bits=True)
def or_(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x | y."""
    return x | y


@alu(bits_type, "xor", by_low_bits=True)
def xor(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x ^ y."""
    return x ^ y


@alu(bits_type, "not", by_low_bits=True)
def not_(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """~x."""
    return ~x


def _on_predicates(function: LaneFunction, name: str) -> None:
    """The same operation where the operands are predicates: on masks."""

    def special(m: Machine, instruction: Instruction) -> Step | None:
        args = instruction.args
        dst, execution = args["dst"], args["exec"]
        if not isinstance(dst, Predicate):
            return None
        reads = [m.predicate_reader(args[s].var, execution.offset, execution.size) for s in sources_of(instruction)]
        write, mask = m.predicate_writer(dst.var, execution.offset, execution.size), mask_of(m, instruction)
        a, t = m.algebra, types.BOOL_TYPE
        return lambda: write(function(a, t, *[read() for read in reads]), mask())

    override_when(special, name)


_on_predicates(and_, "and")
_on_predicates(or_, "or")
_on_predicates(xor, "xor")
_on_predicates(not_, "not")

# -- shifts and rotations, whose count is taken modulo the width -----------------------------------------------


def _shift_type(found: list[DataType], dst: DataType, instruction: Instruction) -> DataType:
    return integer_of(8 if 8 in (found[0].size, dst.size) else 4, found[0].is_signed)


def _count(a: Algebra, t: DataType, y: Lanes) -> Lanes:
    return y & a.const(t.bits - 1, t)


@alu(_shift_type, "shl")
def shl(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x << y."""
    return x << _count(a, t, y)


@alu(_shift_type, "asr")
def asr(a: Algebra, t: DataType, x: Lanes, y: Lanes) -> Lanes:
    """x >> y with copies of the sign shifted in."""
    signed = integer_of(t.size, True)
    return a.bitcast(a.bitcast(x, signed) >> a.bitcast(_count(a, t, y), signed), t)


def _whole_shift(move: Callable[[Algebra, Wide, Lanes], Wide], *names: str) -> None:
    """Shift in a wider type where a modifier left the range of the type, or saturation must see all bits."""

    def special(m: Machine, instruction: Instruction) -> Step | None:
        args, a = instruction.args, m.algebra
        count, dst, op = args["exec"].size, args["dst"], args["src0"]
        target, saturate = m.type_of(dst), dst.modifier == SAT
        if not saturate and not op.modifier:
            return None
        t = _shift_type([type_of_source(m, op)], target, instruction)
        y, mask = source(m, args["src1"], count, unsigned_of(t.size)), mask_of(m, instruction)
        x, write = wide_source(m, op, count), m.writer(dst, count)

        def step() -> None:
            n = convert(a, _count(a, unsigned_of(t.size), y()), unsigned_of(t.size), types.UQ)
            write(integer_result(a, move(a, x(), n), target, saturate), mask())

        return step

    override_when(special, *names)


_whole_shift(left, "shl")
_whole_shift(right, "asr")


@semantics("shr", by_lane=True)
def shr(m: Machine, instruction: Instruction) -> Step:
    """x >> y with zeros shifted in; a narrow source is zero-extended first, whatever its sign."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    own = type_of_source(m, args["src0"])
    t = unsigned_of(_shift_type([own], m.type_of(args["dst"]), instruction).size)
    narrow = unsigned_of(own.size) if own.is_signed and not args["src0"].modifier else t
    x, y = source(m, args["src0"], count, narrow), source(m, args["src1"], count, t)
    write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)
    return lambda: write(convert(a, x(), narrow, t) >> _count(a, t, y()), mask())


def _rotate(name: str, left: bool) -> None:
    """A rotation in the width of the source, at least 16 bits."""

    @semantics(name, by_lane=True)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count = args["exec"].size
        t = unsigned_of(max(2, type_of_source(m, args["src0"]).size))
        x, y = source(m, args["src0"], count, t), source(m, args["src1"], count, t)
        write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)

        def step() -> None:
            value, n = x(), _count(a, t, y())
            back = _count(a, t, a.const(t.bits, t) - n)
            ahead, behind = (n, back) if left else (back, n)
            found = a.rotated(value, ahead)
            write((value << ahead) | (value >> behind) if found is None else found, mask())

        return step


_rotate("rol", left=True)
_rotate("ror", left=False)

_REGISTER_BITS = {LFSR_FORMS[name]: bits for name, bits in (("b32", 32), ("b16v2", 16), ("b8v4", 8))}


@semantics(
    "lfsr",
    deviation="Galois registers that shift right: where a one falls out, the polynomial is XORed. That is the public "
    "name of the operation, and the one direction in which its published polynomials have their full period.",
)
def lfsr(m: Machine, instruction: Instruction) -> Step:
    """One step of the 32, 16 or 8-bit registers in a dword; 0xACE1 with 0xB400 is 0xE270."""
    args, a, t = instruction.args, m.algebra, types.UD
    count, bits = args["exec"].size, _REGISTER_BITS[args["function"]]
    lowest = sum(1 << at for at in range(0, 32, bits))
    seed, polynomial = (source(m, args[n], count, t) for n in ("src0", "src1"))
    write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)

    def step() -> None:
        x = seed()
        shifted = (x >> a.const(1, t)) & a.const(t.maximum ^ (lowest << (bits - 1)), t)
        filled = (x & a.const(lowest, t)) * a.const((1 << bits) - 1, t)
        write(shifted ^ (filled & polynomial()), mask())

    return step


# -- counting and finding bits ---------------------------------------------------------------------------------


def _count_in_source(name: str, narrowest: int, function: Callable[[Algebra, Lanes], Lanes]) -> None:
    """An instruction that counts bits of the source's own type, whatever the destination's.

    Args:
        narrowest: bytes to which narrower sources are extended.
    """

    @semantics(name, by_lane=True)
    def prepare(m: Machine, instruction: Instruction) -> Step:
        args, a = instruction.args, m.algebra
        count, own = args["exec"].size, type_of_source(m, args["src0"])
        t = unsigned_of(max(narrowest, own.size))
        x, mask = source(m, args["src0"], count, t), mask_of(m, instruction)
        work = t if t.size >= 4 else types.UD
        write = destination(m, args["dst"], count, work)
        return lambda: write(function(a, convert(a, x(), t, work)), mask())


_count_in_source("cbit", 1, lambda a, x: a.popcount(x))
_count_in_source("lzd", 4, lambda a, x: a.leading_zeros(x))


@alu(bits_type, "fbl")
def fbl(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """Number of the lowest one bit; all ones for zero."""
    lowest = x & a.negate(x)
    return a.select(x == a.const(0, t), a.const(t.maximum, t), a.const(t.bits - 1, t) - a.leading_zeros(lowest))


@alu(own_type, "fbh")
def fbh(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """Number of leading zeros, of negative numbers of leading ones; all ones if no other bit follows."""
    if t.is_signed:
        x = a.select(x < a.const(0, t), ~x, x)
    u = integer_of(t.size, False)
    bits = a.bitcast(x, u)
    return a.bitcast(a.select(bits == a.const(0, u), a.const(u.maximum, u), a.leading_zeros(bits)), t)


@alu(bits_type, "bfrev")
def bfrev(a: Algebra, t: DataType, x: Lanes) -> Lanes:
    """The bits from last to first."""
    return a.reverse_bits(x)


# -- bit fields and functions of bits --------------------------------------------------------------------------


@semantics("bfe", by_lane=True)
def bfe(m: Machine, instruction: Instruction) -> Step:
    """Extract a field: (src >> offset) cut to width bits, with its sign if the type is signed; no bits are 0."""
    args, a = instruction.args, m.algebra
    count, t = args["exec"].size, types.UD
    signed = m.type_of(args["src"]).is_signed
    result = types.D if signed else t
    w, o, s = (source(m, args[n], count, t) for n in ("width", "offset", "src"))
    write, mask = destination(m, args["dst"], count, result), mask_of(m, instruction)

    def step() -> None:
        width, offset, value = _count(a, t, w()), _count(a, t, o()), s()
        up = _count(a, t, a.const(32, t) - width)
        if signed:
            moved = a.bitcast(value, result) >> a.bitcast(offset, result)
            field = (moved << a.bitcast(up, result)) >> a.bitcast(up, result)
        else:
            field = ((value >> offset) << up) >> up
        write(a.select(width == a.const(0, t), a.const(0, result), field), mask())

    return step


@semantics("bfi", by_lane=True)
def bfi(m: Machine, instruction: Instruction) -> Step:
    """Insert a field: the low width bits of insert at offset, the other bits of base."""
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


@semantics("bfn", by_lane=True)
def bfn(m: Machine, instruction: Instruction) -> Step:
    """Bit i of the result is bit (4*z + 2*y + x) of the function, x, y and z being bit i of the three sources."""
    args, a = instruction.args, m.algebra
    count, table = args["exec"].size, args["function"]
    dst = m.type_of(args["dst"])
    t = bits_type([type_of_source(m, args[s]) for s in sources_of(instruction)], dst, instruction)
    t = kept_type(t, dst, instruction)
    reads = [source(m, args[s], count, t) for s in sources_of(instruction)]
    write, mask = destination(m, args["dst"], count, t), mask_of(m, instruction)

    def step() -> None:
        x, y, z = (r() for r in reads)
        write(boolean_function(a, t, table, x, y, z), mask())

    return step


_Bits = Callable[[Lanes, Lanes], Lanes]
_TABLES = (0xAA, 0xCC, 0xF0)
"""The truth tables of the three sources themselves."""


def _two_operations() -> Iterator[tuple[int, Callable[[Lanes, Lanes, Lanes], Lanes]]]:
    """Truth tables of x & (y | z) and its like, of which compilers make most instructions."""
    for outer, inner in product((operator.and_, operator.or_, operator.xor), repeat=2):
        for n in range(3):
            first, second = (k for k in range(3) if k != n)

            def formula(*v: Lanes, outer: _Bits = outer, inner: _Bits = inner, n: int = n, k: int = first) -> Lanes:
                return outer(v[n], inner(v[k], v[3 - n - k]))

            yield outer(_TABLES[n], inner(_TABLES[first], _TABLES[second])), formula


_OFTEN_USED = dict(_two_operations())
"""Truth tables that have a shorter formula than their expansion."""


def boolean_function(a: Algebra, t: DataType, table: int, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """Any function of three bits, by Shannon expansion over z, then y, then x."""
    if table in _OFTEN_USED:
        return _OFTEN_USED[table](x, y, z)

    def of_x(bits: int) -> Lanes | int:
        return {0: 0, 3: 1, 2: x}.get(bits) if bits != 1 else ~x

    def of_xy(bits: int) -> Lanes | int:
        return _choose(y, of_x(bits >> 2), of_x(bits & 3)) if bits >> 2 != bits & 3 else of_x(bits & 3)

    result = _choose(z, of_xy(table >> 4), of_xy(table & 15)) if table >> 4 != table & 15 else of_xy(table & 15)
    return a.const(t.maximum if result else 0, t) if isinstance(result, int) else result


def _choose(selector: Lanes, one: Lanes | int, zero: Lanes | int) -> Lanes | int:
    """Bits of ``one`` where the selector's are set, else of ``zero``; 0 and 1 stand for all zeros and all ones."""
    if one is zero or (isinstance(one, int) and isinstance(zero, int) and one == zero):
        return one
    if isinstance(one, int):
        if isinstance(zero, int):
            return selector if one else ~selector
        return selector | zero if one else ~selector & zero
    if isinstance(zero, int):
        return selector & one if not zero else ~selector | one
    return zero ^ (selector & (one ^ zero))
