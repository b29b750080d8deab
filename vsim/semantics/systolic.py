"""Systolic dot products (manual: chapter 6, "Arithmetic Instructions": DPAS, DPASW; BDPAS has no page).

``dpas`` multiplies a small matrix of packed *activations* (src2) by one of packed *weights* (src1) and adds that to the
accumulators (src0)::

    dst[r][n] = src0[r][n] + sum over depth d and elements k of src1[d][n].k * src2[r][d].k

A row r (there are ``count`` of them) is a register of exec size lanes n. Each step d of the ``depth`` takes a group of
elements k of each lane's weights and one of each row's activations, which all lanes of the row share: as many floats as
fit into a dword, and four integers, or eight if none of both has eight bits. A lane's groups fill one dword after the
other, from the low end on, and each register holds a dword of every lane; the groups of activations stand one behind
the other. So dpas.s4.u8.8.8 on 8 lanes is 8 rows of 8 sums of 8 * 4 products: a lane's dword of s4 weights is for two
steps, a dword of u8 activations for one.

``bdpas`` does it with blocks of up to 32 elements: the sum of a block is multiplied by a power of two of its lane
(src3) and by one of its row (src4). Each is a byte s that means 2**(s - 127), 255 is NaN, and %null stands for ones. 16
bytes of src3 and 8 of src4 belong to a block; those of the second block, which only e2m1 has, begin 32 bytes behind.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from visa import types
from visa.isa.systolic import BFLOAT_STAND_INS, FLOATS, NAMES, bits_of, group_of
from visa.operands import General, Raw
from visa.program import Instruction
from visa.types import BF, DF, HF, UB, UQ, UW, D, DataType, F, W
from vsim.semantics.algebra import Algebra, Lanes, Machine, Read, Step, Write
from vsim.semantics.conversion import convert, hf8_to_half, widen_bf16
from vsim.semantics.core import mask_of, semantics


def element(a: Algebra, word: Lanes, index: int, precision: str) -> Lanes:
    """Element of a UD lane: F for floats, D for integers."""
    bits = bits_of(precision)
    if precision == "tf32":
        return a.bitcast(word & a.const(0xFFFFE000, types.UD), F)
    part = word >> a.const(bits * index, types.UD)
    if precision == "bf":
        return widen_bf16(a, a.cast(part, UW))
    if precision == "hf":
        return a.cast(a.bitcast(a.cast(part, UW), HF), F)
    if precision == "bf8":
        return a.cast(a.bitcast(a.cast((part & a.const(255, types.UD)) << a.const(8, types.UD), UW), HF), F)
    if precision == "hf8":
        return a.cast(hf8_to_half(a, a.cast(part & a.const(255, types.UD), UB)), F)
    if precision == "e2m1":
        return _fp4(a, part)
    # An integer goes to the upper end of the dword, and comes back with its sign or zeros.
    up = 32 - bits
    if up >= bits * index:
        left = a.bitcast(word << a.const(up - bits * index, types.UD), D)
    else:
        left = a.bitcast(part << a.const(up, types.UD), D)
    if precision.startswith("s"):
        return left >> a.const(up, D)
    return a.bitcast(a.bitcast(left, types.UD) >> a.const(up, types.UD), D)


def _fp4(a: Algebra, word: Lanes) -> Lanes:
    """The low four bits as sign, two bits of exponent and one of fraction: half, times 2**14 for the smaller bias."""
    sign = (word & a.const(8, types.UD)) << a.const(12, types.UD)
    half = a.cast(a.bitcast(a.cast(sign | (word & a.const(7, types.UD)) << a.const(9, types.UD), UW), HF), F)
    return half * a.const(2.0**14, F)


_IN_ORDER = (
    "Floats: products are added in order, each with one rounding; the manual leaves order and precision open. "
    "Integers: exact."
)


@semantics(
    "dpasw",
    deviation="Each thread reads all of src2 itself, as dpas does, though the manual has two fused threads read a part "
    f"each and share it: right where both have the same in the whole of src2. {_IN_ORDER}",
)
@semantics("dpas", deviation=_IN_ORDER)
def dpas(m: Machine, instruction: Instruction) -> Step:
    """The matrix product above; floats are added in the order of d and k, each product with one rounding."""
    args, a = instruction.args, m.algebra
    lanes, rows = args["exec"].size, args["count"]
    weights, activations = _precisions(instruction)
    total_type = F if weights in FLOATS else D
    acc_type, dst_type = (_accumulator_type(m, args[n], total_type, weights) for n in ("src0", "dst"))
    products = (_products_of_pairs if _takes_pairs(weights, activations) else _products)(m, instruction)
    accumulators = _accumulators(m, args["src0"], rows, lanes, acc_type)
    writes = _results(m, args["dst"], rows, lanes, dst_type)
    mask = mask_of(m, instruction)

    def step() -> None:
        active, columns = mask(), products.columns()
        results = []
        for r in range(rows):
            total = convert(a, accumulators[r](), acc_type, total_type) if accumulators else a.const(0, total_type)
            results.append(convert(a, products.add(columns, r, total), total_type, dst_type))
        for write, value in zip(writes, results, strict=True):
            write(value, active)

    return step


class Products(NamedTuple):
    """How the products of the rows of activations with the weights are made and added."""

    columns: Callable[[], list[list[Lanes]]]
    """Reads all weights."""
    add: Callable[[list[list[Lanes]], int, Lanes], Lanes]
    """Adds the products of these weights with the row of this number to a total."""


def _products(m: Machine, instruction: Instruction) -> Products:
    """Element by element."""
    weights, activations = _precisions(instruction)
    a, depth, group = m.algebra, instruction.args["depth"], group_of(weights, activations)
    count = 32 // (group * bits_of(weights)) * group
    dwords = _weights(m, instruction, -(-depth * group // count))
    second = _activations(m, instruction, group, activations)

    def columns() -> list[list[Lanes]]:
        return [[element(a, w, k, weights) for k in range(count)] for w in (read() for read in dwords)]

    def add(columns: list[list[Lanes]], row: int, total: Lanes) -> Lanes:
        # The last dword of weights may hold a step too many.
        for x, y in zip((x for column in columns for x in column), second[row](), strict=False):
            total = a.fma(x, y, total) if weights in FLOATS else total + x * y
        return total

    return Products(columns, add)


def _takes_pairs(weights: str, activations: str) -> bool:
    """Whether elements are integers of which half a group fills a byte or two."""
    group = group_of(weights, activations)
    return weights not in FLOATS and all(group * bits_of(p) in (16, 32) for p in (weights, activations))


def _products_of_pairs(m: Machine, instruction: Instruction) -> Products:
    """For integers two products at a time, as processors have it: words are multiplied, and neighbours added. Integers
    are exact, in whatever order.

    Element k of a group goes with element k + group / 2: these halves of the group are the two words.
    """
    weights, activations = _precisions(instruction)
    args, a = instruction.args, m.algebra
    lanes, depth, group = args["exec"].size, args["depth"], group_of(weights, activations)
    raw, width = _raw_of(m, args["src2"]), group * bits_of(activations) // 8
    first = _words_of_weights(m, args["src1"], lanes, depth, group * bits_of(weights))
    rows = [_words(m, raw, r * depth * width, 2 * depth, width) for r in range(args["count"])]

    def columns() -> list[list[Lanes]]:
        return [_halves(a, read(), weights, group) for read in first]

    def add(columns: list[list[Lanes]], row: int, total: Lanes) -> Lanes:
        for k, halves in enumerate(_halves(a, rows[row](), activations, group)):
            for d, column in enumerate(columns):
                total = a.pair_sums(column[k], a.lanes(halves, [2 * d, 2 * d + 1] * lanes), 2 * lanes) + total
        return total

    return Products(columns, add)


def _words(m: Machine, raw: Raw, offset: int, count: int, width: int) -> Read:
    """Halves of groups of so many bytes, as words."""
    if width == 4:
        return m.raw_reader(raw, offset, count, UW)
    read = m.raw_reader(raw, offset, count, UB)
    return lambda: m.algebra.cast(read(), UW)


def _words_of_weights(m: Machine, raw: Raw, lanes: int, depth: int, bits: int) -> list[Read]:
    """The halves of each lane's group for each step of the depth, as words: two for each lane."""
    steps = 32 // bits

    def column(step: int) -> Read:
        dword, part = divmod(step, steps)
        read = _words(m, raw, 4 * lanes * dword, 2 * steps * lanes, bits // 8)
        if steps == 1:
            return read
        picks = [2 * steps * lane + 2 * part + half for lane in range(lanes) for half in (0, 1)]
        return lambda: m.algebra.lanes(read(), picks)

    return [column(d) for d in range(depth)]


def _halves(a: Algebra, words: Lanes, precision: str, group: int) -> list[Lanes]:
    """Elements of groups that are given as two words each: the first of each word, as signed words, the second, ..."""
    bits = bits_of(precision)
    wide = W if precision.startswith("s") else UW
    ends = [a.bitcast(words << a.const(16 - bits * (k + 1), UW), wide) for k in range(group // 2)]
    return [a.bitcast(end >> a.const(16 - bits, wide), W) for end in ends]


@semantics(
    "bdpas",
    deviation="Products and scaled sums of blocks are added in order in double precision, and the result is rounded; "
    "order and precision of the hardware are not published.",
)
def bdpas(m: Machine, instruction: Instruction) -> Step:
    """The sum of the matrix products of blocks, each with its scales."""
    args, a = instruction.args, m.algebra
    lanes, depth, rows = args["exec"].size, args["depth"], args["count"]
    weights, activations = _precisions(instruction)
    per_word = 32 // bits_of(weights)
    per_block = min(depth, 32 // per_word)
    acc_type, dst_type = (_accumulator_type(m, args[n], F, weights) for n in ("src0", "dst"))
    first, second = (
        _weights(m, instruction, depth),
        _activations(m, instruction, 32 // bits_of(activations), activations),
    )
    accumulators = _accumulators(m, args["src0"], rows, lanes, acc_type)
    of_lanes = [_scale_reader(m, args["src3"], 32 * block, lanes) for block in range(depth // per_block)]
    of_rows = [[_scale_reader(m, args["src4"], 32 * b + r, 1) for b in range(depth // per_block)] for r in range(rows)]
    writes = _results(m, args["dst"], rows, lanes, dst_type)
    mask = mask_of(m, instruction)

    def step() -> None:
        active, by_lane = mask(), [read() for read in of_lanes]
        columns = [[a.cast(element(a, w, k, weights), DF) for k in range(per_word)] for w in (read() for read in first)]
        results = []
        for r in range(rows):
            row = second[r]()
            total = a.cast(convert(a, accumulators[r](), acc_type, F), DF) if accumulators else a.const(0.0, DF)
            for block, scale in enumerate(by_lane):
                part = a.const(0.0, DF)
                for d in range(block * per_block, (block + 1) * per_block):
                    for k in range(per_word):
                        part = a.fma(columns[d][k], a.cast(row[d * per_word + k], DF), part)
                total = a.fma(part, scale * of_rows[r][block](), total)
            results.append(convert(a, a.cast(total, F), F, dst_type))
        for write, value in zip(writes, results, strict=True):
            write(value, active)

    return step


def _scale_reader(m: Machine, op: General, offset: int, count: int) -> Read:
    """Scales as doubles, from so many bytes behind an operand on."""
    a = m.algebra
    if not op.var:
        return lambda: a.const(1.0, DF)
    read = m.raw_reader(_raw_of(m, op), offset, count, UB)

    def scale() -> Lanes:
        exponent = a.cast(read(), UQ)
        power = a.bitcast((exponent + a.const(1023 - 127, UQ)) << a.const(52, UQ), DF)
        return a.select(exponent == a.const(255, UQ), a.const(math.nan, DF), power)

    return scale


# -- operands --------------------------------------------------------------------------------------------------


def _precisions(instruction: Instruction) -> tuple[str, str]:
    """Those of weights and activations."""
    return NAMES[instruction.args["src1_precision"]], NAMES[instruction.args["src2_precision"]]


def _weights(m: Machine, instruction: Instruction, count: int) -> list[Read]:
    """So many dwords a lane."""
    args, lanes = instruction.args, instruction.args["exec"].size
    return [m.raw_reader(args["src1"], 4 * lanes * n, lanes, types.UD) for n in range(count)]


def _activations(m: Machine, instruction: Instruction, group: int, precision: str) -> list[Callable[[], list[Lanes]]]:
    """What reads each row of activations, which all lanes share, from a register of any type on: the elements of the
    first step of the depth, of the second, ..., each in every lane.

    A row is taken apart as a whole: its words are the lanes of one value.
    """
    args, a = instruction.args, m.algebra
    lanes, raw, count = args["exec"].size, _raw_of(m, args["src2"]), args["depth"] * group
    bits = bits_of(precision)
    width = max(8, group * bits)

    def row(number: int) -> Callable[[], list[Lanes]]:
        byte, rest = divmod(number * count * bits, 8)
        read = _word_reader(m, raw, byte, max(1, count * bits // width), width)
        places = [divmod(rest + n * bits, width) for n in range(count)]

        def elements() -> list[Lanes]:
            words = read()
            columns = {low: element(a, words, low // bits, precision) for low in sorted({low for _, low in places})}
            return [a.lanes(columns[low], [word] * lanes) for word, low in places]

        return elements

    return [row(r) for r in range(args["count"])]


def _raw_of(m: Machine, op: Raw | General) -> Raw:
    """The bytes from an operand on."""
    if isinstance(op, Raw):
        return op
    return Raw(op.var, m.function.variable_type(op.var).size * op.col + m.grf_size * op.row)


def _word_reader(m: Machine, raw: Raw, offset: int, count: int, bits: int) -> Read:
    """Words of 8, 16 or 32 bits as UD lanes."""
    a = m.algebra
    if bits == 32:
        return m.raw_reader(raw, offset, count, types.UD)
    narrow = {16: UW, 8: UB}[bits]
    read = m.raw_reader(raw, offset, count, narrow)
    return lambda: a.cast(read(), types.UD)


def _accumulator_type(m: Machine, raw: Raw, total_type: DataType, weights: str) -> DataType:
    """The type of a variable that holds rows of sums; that of the sums where it says nothing."""
    found = m.function.variable_type(raw.var) if raw.var else total_type
    if weights == "bf" and found.name in BFLOAT_STAND_INS:
        return BF
    return found if found in (F, HF, BF, D, types.UD) else total_type


def _row_step(m: Machine, lanes: int, t: DataType) -> int:
    """Bytes from one row of sums to the next: rows of dwords begin on register boundaries, narrower ones are packed."""
    return -(-lanes * t.size // m.grf_size) * m.grf_size if t.size == 4 else lanes * t.size


def _accumulators(m: Machine, raw: Raw, rows: int, lanes: int, t: DataType) -> list[Read]:
    """Readers of the rows of src0; none for %null, which stands for zeros."""
    step, stored = _row_step(m, lanes, t), UW if t is BF else t
    return [m.raw_reader(raw, r * step, lanes, stored) for r in range(rows)] if raw.var else []


def _results(m: Machine, raw: Raw, rows: int, lanes: int, t: DataType) -> list[Write]:
    """Writers of the rows of dst."""
    step, stored = _row_step(m, lanes, t), UW if t is BF else t
    return [m.raw_writer(raw, r * step, lanes, stored) for r in range(rows)]
