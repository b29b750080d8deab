"""Formats of four and eight bits: stochastic rounding, down-scaling and look-up (manual: chapter 6, SRND; DNSCL and
SHFL_IDX4 have no page, their definitions are those of the compiler's public intrinsics).

Stochastic rounding lays random bits right below the last place that stays, adds them, and cuts: a number that lies
three quarters of the way from one neighbour to the next becomes the next for three quarters of all random numbers. It
works on the magnitude, so both signs move alike.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from visakit.isa.enums import DOWNSCALE_MODES, DOWNSCALE_ROUNDINGS, DOWNSCALES
from visakit.language import types
from visakit.language.operands import SAT, Immediate, Raw
from visakit.language.program import Instruction
from visakit.language.types import BF, HF, UW, B, D, DataType, F
from vsim.semantics.algebra import Algebra, Lanes, Machine, Read, Step
from vsim.semantics.conversion import widen_bf16
from vsim.semantics.core import mask_of, semantics, source, unsigned_of

# -- to eight bits ---------------------------------------------------------------------------------------------


class _Format(NamedTuple):
    """A float of eight bits."""

    fraction: int
    smallest: int
    """Exponent of the smallest normal number."""
    largest: int
    """Code of the largest number."""
    beyond: int
    """Code of larger numbers."""
    nan: int


_BF8, _HF8 = _Format(2, -14, 0x7B, 0x7C, 0x7E), _Format(3, -6, 0x7E, 0x7F, 0x7F)


def _stochastic(a: Algebra, x: Lanes, noise: Lanes, kind: _Format, saturate: bool) -> Lanes:
    """F to a float of eight bits, as UD, with eight random bits (UD)."""
    fraction, smallest, largest, beyond, nan = kind
    t, cut = types.UD, 23 - fraction
    magnitude, sign = a.absolute(x), (a.bitcast(x, t) >> a.const(24, t)) & a.const(0x80, t)
    small = magnitude < a.const(2.0**smallest, F)
    steps = a.select(small, magnitude, a.const(0.0, F)) * a.const(2.0 ** (fraction - smallest), F)
    subnormal = a.cast(a.floor(steps + a.cast(noise, F) * a.const(2.0**-8, F)), t)
    moved = a.bitcast(magnitude, t) + (noise << a.const(cut - 8, t))
    normal = (moved >> a.const(cut, t)) - a.const((127 + smallest - 1) << fraction, t)
    code = a.select(small, subnormal, normal)
    code = a.select(code > a.const(largest, t), a.const(largest if saturate else beyond, t), code)
    return sign | a.select(x == x, code, a.const(nan, t))


@semantics(
    "srnd",
    deviation="The random bits are added right below the last place that is kept; the manual leaves their use open.",
)
def srnd(m: Machine, instruction: Instruction) -> Step:
    """Stochastic rounding of f to hf, and of hf or bf to bf8 (ub) or hf8 (b); saturated, to finite numbers."""
    args, a = instruction.args, m.algebra
    count, dst, src = args["exec"].size, args["dst"], args["src0"]
    mask, write = m.mask(args["exec"], None), m.writer(dst, count)
    value, random = source(m, src, count, F), _random_bits(m, instruction)
    if m.type_of(dst) is HF:

        def to_half() -> None:
            x = value()
            bits = a.bitcast(x, types.UD) + (random() & a.const(0x1FFF, types.UD))
            cut = a.cast(a.bitcast(bits & a.const(0xFFFFE000, types.UD), F), HF)
            write(a.select(x == x, cut, a.const(math.nan, HF)), mask())

        return to_half
    kind = _HF8 if m.type_of(dst) is B else _BF8

    def to_byte() -> None:
        code = _stochastic(a, value(), random() & a.const(255, types.UD), kind, dst.modifier == SAT)
        write(a.cast(code, m.type_of(dst)), mask())

    return to_byte


def _random_bits(m: Machine, instruction: Instruction) -> Read:
    """The bits of src1 as UD lanes, whatever its type."""
    a, op, count = m.algebra, instruction.args["src1"], instruction.args["exec"].size
    t, read = m.type_of(op), m.reader(op, count)
    if isinstance(op, Immediate) and t.is_integer:
        return lambda: a.cast(read(), types.UD)
    return lambda: a.cast(a.bitcast(read(), unsigned_of(t.size)), types.UD)


# -- to four bits ----------------------------------------------------------------------------------------------

_TO_E2M1 = frozenset({DOWNSCALES["bftoe2m1"], DOWNSCALES["hftoe2m1"]})
_FROM_BF = frozenset({DOWNSCALES["bftoe2m1"], DOWNSCALES["bftoint4"]})
_HALF_WAYS = ((0.25, False), (0.75, True), (1.25, False), (1.75, True), (2.5, False), (3.5, True), (5.0, False))
"""What lies half-way between the numbers of e2m1 (0, 1/2, 1, 3/2, 2, 3, 4, 6), and whether the even one is above."""


@semantics(
    "dnscl",
    deviation="Numbers out of range become the nearest in range, NaN becomes 0; the random words are added right below "
    "the last place that is kept.",
)
def dnscl(m: Machine, instruction: Instruction) -> Step:
    """Four numbers of a lane to four bits each, two of them in a byte.

    Modes 0 and 2 put the two words of a source into one byte, modes 1 and 3 the words of the same half of both sources.
    The bytes are 0 and 2 in modes 0 and 1, else 1 and 3; the others are 0. The low four bits of a byte are rounded with
    the low random word of src2, the high ones with the high word.
    """
    args, a, t = instruction.args, m.algebra, types.UD
    count, mode = args["exec"].size, args["mode"]
    words = [_words(m, args[n], count) for n in ("src0", "src1", "src2")]
    first = HF if args["conversion"] not in _FROM_BF else BF
    nearest = args["rounding"] == DOWNSCALE_ROUNDINGS["rne"]
    encode = _to_e2m1 if args["conversion"] in _TO_E2M1 else _to_int4
    write, mask = m.raw_writer(args["dst"], 0, count, t), mask_of(m, instruction)
    across, upper = (mode & bit for bit in (DOWNSCALE_MODES["mode1"], DOWNSCALE_MODES["mode2"]))

    def step() -> None:
        (low0, high0), (low1, high1) = words[0](), words[1]()
        noise = (None, None) if nearest else words[2]()
        pairs = ((low0, low1), (high0, high1)) if across else ((low0, high0), (low1, high1))
        total = a.const(0, t)
        for byte, pair in zip((1, 3) if upper else (0, 2), pairs, strict=True):
            for place, (word, random) in enumerate(zip(pair, noise, strict=True)):
                code = encode(a, _real(a, word, first), random)
                total = total | (code << a.const(8 * byte + 4 * place, t))
        write(total, mask())

    return step


def _words(m: Machine, raw: Raw, count: int) -> Read:
    """Gives the low and the high word of each dword, as UW lanes."""
    a, read = m.algebra, m.raw_reader(raw, 0, count, types.UD, by_lane=True)

    def both_words() -> tuple[Lanes, Lanes]:
        x = read()
        return a.cast(x, UW), a.cast(x >> a.const(16, types.UD), UW)

    return both_words


def _real(a: Algebra, word: Lanes, t: DataType) -> Lanes:
    """The bits of a half or bfloat16 as F."""
    return widen_bf16(a, word) if t is BF else a.cast(a.bitcast(word, HF), F)


def _moved(a: Algebra, x: Lanes, random: Lanes) -> Lanes:
    """The whole number at or below x and random bits behind its point, as UD."""
    return a.cast(a.floor(x + a.cast(random, F) * a.const(2.0**-16, F)), types.UD)


def _to_e2m1(a: Algebra, x: Lanes, random: Lanes | None) -> Lanes:
    """F to the code of e2m1, as UD; without random bits to the nearest."""
    t, magnitude = types.UD, a.absolute(x)
    sign = (a.bitcast(x, t) >> a.const(28, t)) & a.const(8, t)
    if random is None:
        code = a.const(0, t)
        for limit, above in _HALF_WAYS:
            half = a.const(limit, F)
            code = code + a.mask_to_int(magnitude >= half if above else magnitude > half, t)
        return sign | code
    held = a.select(magnitude < a.const(6.0, F), magnitude, a.select(x == x, a.const(6.0, F), a.const(0.0, F)))
    # Steps of 1/2 below 2, of 1 below 4, then of 2; codes 4 and 6 are where the next steps begin.
    halves, ones, twos = (_moved(a, held * a.const(s, F), random) for s in (2.0, 1.0, 0.5))
    upper = a.select(held < a.const(4.0, F), ones + a.const(2, t), twos + a.const(4, t))
    code = a.select(held < a.const(2.0, F), halves, upper)
    return sign | a.select(code > a.const(7, t), a.const(7, t), code)


def _to_int4(a: Algebra, x: Lanes, random: Lanes | None) -> Lanes:
    """F to a two's complement of four bits, as UD; without random bits to the nearest."""
    t, negative = types.UD, x < a.const(0.0, F)
    largest = a.select(negative, a.const(8.0, F), a.const(7.0, F))
    magnitude = a.absolute(x)
    held = a.select(magnitude < largest, magnitude, a.select(x == x, largest, a.const(0.0, F)))
    whole = a.cast(a.rint(held), t) if random is None else _moved(a, held, random)
    most = a.cast(largest, t)
    number = a.bitcast(a.select(whole > most, most, whole), D)
    return a.bitcast(a.select(negative, a.negate(number), number), t) & a.const(15, t)


# -- from four bits --------------------------------------------------------------------------------------------


@semantics("shfl_idx4")
def shfl_idx4(m: Machine, instruction: Instruction) -> Step:
    """Part j of a lane is part j of the table's dword that the j-th four bits of src1 name.

    The table has 16 dwords. A byte of src1 names two words, a word of src1 four bytes: with 0x1F as byte the lane gets
    the low word of dword 15 and the high word of dword 1.
    """
    args, a, t = instruction.args, m.algebra, types.UD
    count, parts = args["exec"].size, 2 * m.type_of(args["src1"]).size
    table, index = m.reader(args["src0"], 16, by_lane=False), source(m, args["src1"], count, t)
    write, mask = m.raw_writer(args["dst"], 0, count, t), mask_of(m, instruction)
    bits = 32 // parts

    def step() -> None:
        x, entries = index(), table()
        dwords = [a.lanes(entries, [k] * count) for k in range(16)]
        total = a.const(0, t)
        for part in range(parts):
            found = dwords
            for bit in range(4):
                one = (x & a.const(1 << (4 * part + bit), t)) != a.const(0, t)
                found = [a.select(one, found[k + 1], found[k]) for k in range(0, len(found), 2)]
            total = total | (found[0] & a.const(((1 << bits) - 1) << (bits * part), t))
        write(total, mask())

    return step
