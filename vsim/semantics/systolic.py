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

from visakit.isa.systolic import BFLOAT_STAND_INS, FLOATS, NAMES, bits_of, group_of
from visakit.language import types
from visakit.language.operands import General, Raw
from visakit.language.program import Instruction
from visakit.language.types import BF, DF, HF, UB, UQ, UW, D, DataType, F
from vsim.semantics.algebra import Algebra, Lanes, Machine, Read, Step, Write
from vsim.semantics.conversion import convert, hf8_to_half, widen_bf16
from vsim.semantics.core import mask_of, semantics


def element(a: Algebra, word: Lanes, index: int, precision: str) -> Lanes:
    """Element of a UD lane: F for floats, D for integers."""
    bits = bits_of(precision)
    if precision == "tf32":
        return a.bitcast(word & a.const(0xFFFFE000, types.UD), F)
    part = _from_bit(a, word, bits * index)
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


def _from_bit(a: Algebra, word: Lanes, low: int) -> Lanes:
    """The bits of a UD lane from one on."""
    return word >> a.const(low, types.UD) if low else word


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
    add = (_products_of_bytes if _takes_bytes(weights, activations) else _products)(m, instruction)
    accumulators = _accumulators(m, args["src0"], rows, lanes, acc_type)
    writes = _results(m, args["dst"], rows, lanes, dst_type)
    mask = mask_of(m, instruction)

    def step() -> None:
        active = mask()
        totals = [convert(a, read(), acc_type, total_type) for read in accumulators]
        results = add(totals or [a.const(0, total_type)] * rows)
        for write, value in zip(writes, results, strict=True):
            write(convert(a, value, total_type, dst_type), active)

    return step


AddProducts = Callable[[list[Lanes]], list[Lanes]]
"""Adds the products of the weights with each row of activations to a total of each row."""


def _products(m: Machine, instruction: Instruction) -> AddProducts:
    """Element by element."""
    weights, activations = _precisions(instruction)
    a, depth, group = m.algebra, instruction.args["depth"], group_of(weights, activations)
    dwords, rows = _weights(m, instruction, depth * group), _activations(m, instruction, depth * group)

    def add(totals: list[Lanes]) -> list[Lanes]:
        # The last dword of weights may hold a step too many.
        elements = [element(a, word, k, weights) for word in dwords() for k in range(32 // bits_of(weights))]
        return a.products(elements[: depth * group], [row() for row in rows], totals)

    return add


def _takes_bytes(weights: str, activations: str) -> bool:
    """Whether elements are integers of a word in memory, four of which, narrowed to bytes, are a dword."""
    return weights not in FLOATS and min(bits_of(weights), bits_of(activations)) > 1


def _products_of_bytes(m: Machine, instruction: Instruction) -> AddProducts:
    """For integers four products at a time, as processors have it, of elements that are made bytes. Integers are exact,
    in whatever order.
    """
    weights, activations = _precisions(instruction)
    args, a = instruction.args, m.algebra
    count, bits = args["depth"] * group_of(weights, activations), bits_of(weights)
    dwords, raw, width = _weights(m, instruction, count), _raw_of(m, args["src2"]), 4 * bits_of(activations)
    reads = [_word_reader(m, raw, r * count // 4 * width // 8, count // 4, width) for r in range(args["count"])]

    def add(totals: list[Lanes]) -> list[Lanes]:
        parts = [_from_bit(a, word, low) for word in dwords() for low in range(0, 32, 4 * bits)]
        columns = [_as_bytes(a, part, weights) for part in parts[: count // 4]]
        signs = weights.startswith("s"), activations.startswith("s")
        found = a.products_of_bytes(columns, [_as_bytes(a, read(), activations) for read in reads], signs)
        return [total + products for total, products in zip(totals, found, strict=True)]

    return add


def _as_bytes(a: Algebra, word: Lanes, precision: str) -> Lanes:
    """The lowest four elements of UD lanes as bytes."""
    bits = bits_of(precision)
    if bits == 8:
        return word
    word = word & a.const((1 << 4 * bits) - 1, types.UD)
    # Two elements go to the upper half of the dword, then one of each pair to the byte above the other.
    for distance, kept in ((16 - 2 * bits, ((1 << 2 * bits) - 1) * 0x10001), (8 - bits, ((1 << bits) - 1) * 0x1010101)):
        word = (word | word << a.const(distance, types.UD)) & a.const(kept, types.UD)
    if precision.startswith("u"):
        return word
    signs = (word >> a.const(bits - 1, types.UD)) & a.const(0x1010101, types.UD)
    return word | ((signs << a.const(8, types.UD)) - (signs << a.const(bits, types.UD)))


@semantics(
    "bdpas",
    deviation="Products and scaled sums of blocks are added in order in double precision, and the result is rounded; "
    "order and precision of the hardware are not published.",
)
def bdpas(m: Machine, instruction: Instruction) -> Step:
    """The sum of the matrix products of blocks, each with its scales."""
    args, a = instruction.args, m.algebra
    lanes, depth, rows = args["exec"].size, args["depth"], args["count"]
    weights, _ = _precisions(instruction)
    per_word = 32 // bits_of(weights)
    per_block, per_row = min(depth * per_word, 32), depth * per_word
    acc_type, dst_type = (_accumulator_type(m, args[n], F, weights) for n in ("src0", "dst"))
    first, second = _weights(m, instruction, per_row), _activations(m, instruction, per_row)
    accumulators = _accumulators(m, args["src0"], rows, lanes, acc_type)
    blocks = range(per_row // per_block)
    of_lanes = [_scale_reader(m, args["src3"], 32 * block, lanes) for block in blocks]
    of_rows = [[_scale_reader(m, args["src4"], 32 * block + r, 1) for r in range(rows)] for block in blocks]
    writes = _results(m, args["dst"], rows, lanes, dst_type)
    mask = mask_of(m, instruction)

    def step() -> None:
        active, zero = mask(), a.const(0.0, DF)
        columns = [a.cast(element(a, word, k, weights), DF) for word in first() for k in range(per_word)]
        elements = [a.cast(row(), DF) for row in second]
        totals = [a.cast(convert(a, read(), acc_type, F), DF) for read in accumulators] or [zero] * rows
        for block in blocks:
            part = list(range(block * per_block, (block + 1) * per_block))
            of_block = [a.lanes(row, part) for row in elements]
            sums = a.products([columns[n] for n in part], of_block, [zero] * rows)
            scale = of_lanes[block]()
            totals = [a.fma(x, scale * of_rows[block][r](), totals[r]) for r, x in enumerate(sums)]
        for write, total in zip(writes, totals, strict=True):
            write(convert(a, a.cast(total, F), F, dst_type), active)

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


def _weights(m: Machine, instruction: Instruction, count: int) -> Callable[[], list[Lanes]]:
    """The dwords of so many weights of each lane."""
    args, bits = instruction.args, bits_of(_precisions(instruction)[0])
    lanes = args["exec"].size
    reads = [m.raw_reader(args["src1"], 4 * lanes * n, lanes, types.UD) for n in range(-(-count * bits // 32))]
    return lambda: [read() for read in reads]


def _activations(m: Machine, instruction: Instruction, count: int) -> list[Read]:
    """What reads so many activations of each row, one row behind the other from a register of any type on: the lanes of
    one value.
    """
    args, a, precision = instruction.args, m.algebra, _precisions(instruction)[1]
    raw, bits = _raw_of(m, args["src2"]), bits_of(precision)

    def row(number: int) -> Read:
        byte, rest = divmod(number * count * bits, 8)
        if bits >= 8:
            whole = _word_reader(m, raw, byte, count, bits)
            return lambda: element(a, whole(), 0, precision)
        read = _word_reader(m, raw, byte, -(-(rest + count * bits) // 8), 8)

        def elements() -> Lanes:
            bytes_of = a.lanes(read(), [(rest + n * bits) // 8 for n in range(count)])
            places = a.iota(count, types.UD) * a.const(bits, types.UD) + a.const(rest, types.UD)
            return element(a, bytes_of >> (places & a.const(7, types.UD)), 0, precision)

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
