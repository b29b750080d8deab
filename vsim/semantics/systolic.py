"""dpas and dpasw: systolic dot products (manual: DPAS)."""

from __future__ import annotations

from visa import types
from visa.isa.enums import PRECISIONS
from visa.operands import General, Raw
from visa.program import Instruction
from visa.types import BF, DataType, F
from vsim.semantics.algebra import Algebra, Lanes, Machine, Step
from vsim.semantics.core import convert, mask_of, round_to_bf16, semantics, widen_bf16

_NAMES = {v: k for k, v in PRECISIONS.items()}


def bits_of(precision: str) -> int:
    """Bits of an element in memory; tf32 takes a whole dword."""
    return 32 if precision == "tf32" else 16 if precision in ("bf", "hf") else int(precision.strip("usbf"))


def element(a: Algebra, word: Lanes, index: int, precision: str) -> Lanes:
    """Element of a UD lane: F for floats, D for integers."""
    bits = bits_of(precision)
    if precision == "tf32":
        return a.bitcast(word & a.const(0xFFFFE000, types.UD), F)
    part = word >> a.const(bits * index, types.UD)
    if precision == "bf":
        return widen_bf16(a, a.cast(part, types.UW))
    if precision == "hf":
        return a.cast(a.bitcast(a.cast(part, types.UW), types.HF), F)
    if precision == "bf8":
        return a.cast(a.bitcast(a.cast((part & a.const(255, types.UD)) << a.const(8, types.UD), types.UW), types.HF), F)
    up = 32 - bits
    left = (
        a.bitcast(word << a.const(up - bits * index, types.UD), types.D)
        if up >= bits * index
        else a.bitcast(part << a.const(up, types.UD), types.D)
    )
    if precision.startswith("s"):
        return left >> a.const(up, types.D)
    return a.bitcast(a.bitcast(left, types.UD) >> a.const(up, types.UD), types.D)


@semantics(
    "dpas",
    "dpasw",
    within="Floats: products are added in order, each with one rounding; the manual leaves order and precision open. Integers: exact.",
)
def dpas(m: Machine, instruction: Instruction) -> Step:
    """dst[r][n] = src0[r][n] + sum over depth d and elements k of src1[d][n].k * src2[r][d].k

    Rows r run to ``count``; src1 holds one register row for each step of the depth, src2 eight dwords for each row (packed for narrow types).
    """
    args, a = instruction.args, m.algebra
    lanes, depth, rows = args["exec"].size, args["depth"], args["count"]
    weights, activations = _NAMES[args["src1_precision"]], _NAMES[args["src2_precision"]]
    real = weights in ("bf", "hf", "tf32", "bf8")
    per_word = 32 // max(bits_of(weights), bits_of(activations))
    dst, src0, src1, src2 = args["dst"], args["src0"], args["src1"], args["src2"]
    acc_type, dst_type = _accumulator(m, src0, real), _accumulator(m, dst, real)
    total_type = F if real else types.D
    word_bits = per_word * bits_of(weights)
    first = [_word_reader(m, src1, d * lanes * word_bits // 8, lanes, word_bits) for d in range(depth)]
    row_step = -(-lanes * acc_type.size // m.grf_size) * m.grf_size if acc_type.size == 4 else lanes * acc_type.size
    out_step = -(-lanes * dst_type.size // m.grf_size) * m.grf_size if dst_type.size == 4 else lanes * dst_type.size
    base = (
        m.function.variable_type(src2.var).size * src2.col + m.grf_size * src2.row if isinstance(src2, General) else 0
    )
    activation_bits = per_word * bits_of(activations)
    second = [
        [
            _word_reader(m, Raw(src2.var, 0), base + (r * depth + d) * activation_bits // 8, 1, activation_bits)
            for d in range(depth)
        ]
        for r in range(rows)
    ]
    accumulators = (
        [m.raw_reader(src0, r * row_step, lanes, acc_type if acc_type is not BF else types.UW) for r in range(rows)]
        if src0.var
        else []
    )
    writes = [m.raw_writer(dst, r * out_step, lanes, dst_type if dst_type is not BF else types.UW) for r in range(rows)]
    mask = mask_of(m, instruction)

    def step() -> None:
        active = mask()
        columns = [[element(a, w, k, weights) for k in range(per_word)] for w in (read() for read in first)]
        results = []
        for r in range(rows):
            total = a.const(0, total_type) if not accumulators else _widen(a, accumulators[r](), acc_type, total_type)
            for d in range(depth):
                word = second[r][d]()
                for k in range(per_word):
                    x, y = columns[d][k], element(a, word, k, activations)
                    total = a.fma(x, y, total) if real else total + x * y
            results.append(round_to_bf16(a, total) if dst_type is BF else convert(a, total, total_type, dst_type))
        for write, value in zip(writes, results, strict=True):
            write(value, active)

    return step


def _accumulator(m: Machine, raw: Raw, real: bool) -> DataType:
    found = m.function.variable_type(raw.var) if raw.var else (F if real else types.D)
    return found if found in (F, types.HF, BF, types.D, types.UD) else (F if real else types.D)


def _widen(a: Algebra, value: Lanes, found: DataType, wanted: DataType) -> Lanes:
    return widen_bf16(a, value) if found is BF else convert(a, value, found, wanted)


def _word_reader(m: Machine, raw: Raw, offset: int, count: int, bits: int) -> Lanes:
    """Words of up to 32 bits as UD lanes."""
    a = m.algebra
    if bits == 32:
        return m.raw_reader(raw, offset, count, types.UD)
    narrow = {16: types.UW, 8: types.UB}[max(bits, 8)]
    read = m.raw_reader(raw, offset, count, narrow)
    return lambda: a.cast(read(), types.UD)
