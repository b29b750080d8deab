"""Products of dwords that are 64 bits wide: their high half, and both halves."""

from __future__ import annotations

from dataclasses import replace

from visakit.language import types
from visakit.language.operands import General, Indirect, VectorOperand
from visakit.language.program import Instruction
from visakit.language.types import UQ, Q
from vsim.semantics.algebra import Lanes, Machine, Step
from vsim.semantics.core import SEMANTICS, destination, mask_of, semantics, source, type_of_source


@semantics("mulh", by_lane=True)
def mulh(m: Machine, instruction: Instruction) -> Step:
    """The high half of the 64-bit product of 32-bit integers, each with its own sign."""
    args, a = instruction.args, m.algebra
    count = args["exec"].size
    signed = any(type_of_source(m, args[s]).is_signed or args[s].modifier for s in ("src0", "src1"))
    wide = Q if signed else UQ
    x, y = source(m, args["src0"], count, wide), source(m, args["src1"], count, wide)
    write, mask = destination(m, args["dst"], count, types.UD), mask_of(m, instruction)

    def high() -> Lanes:
        left, right = x(), y()
        found = a.high_product(left, right)
        return a.cast((left * right) >> a.const(32, wide), types.UD) if found is None else found

    return lambda: write(high(), mask())


def halves(instruction: Instruction, grf_size: int) -> tuple[VectorOperand, VectorOperand]:
    """Where a wide product goes: its low halves, and the high ones, as far behind as the instruction is laid out."""
    op, execution = instruction.args["dst"], instruction.args["exec"]
    rows = -(-(execution.payload or execution.size) * 4 // grf_size)
    if isinstance(op, Indirect):
        return op, replace(op, offset=op.offset + rows * grf_size)
    return op, General(op.var, op.row + rows, op.col, op.region)


def is_wide_product(instruction: Instruction) -> bool:
    """Whether an instruction has :func:`halves`; those of a lane depend on its operands alone."""
    return SEMANTICS.get(instruction.desc.semantics) is madw


@semantics("madw")
def madw(m: Machine, instruction: Instruction) -> Step:
    """64-bit src0 * src1 + src2; the high halves begin at the next register behind the low ones."""
    args, a = instruction.args, m.algebra
    count, t = args["exec"].size, m.type_of(args["dst"])
    wide = Q if t.is_signed else UQ
    reads = [source(m, args[s], count, wide) for s in ("src0", "src1", "src2")]
    (low, high), mask = [m.writer(half, count) for half in halves(instruction, m.grf_size)], mask_of(m, instruction)

    def step() -> None:
        x, y, z = (r() for r in reads)
        total, lanes = x * y + z, mask()
        low(a.cast(total, t), lanes)
        high(a.cast(total >> a.const(32, wide), t), lanes)

    return step
