"""Where a processor may take denormals of f and df as zeros by itself, as the mode MXCSR.DAZ of x86 does.

The semantics take the denormals of operands and results of computations as zeros, of each type where %cr0 asks for
that. The mode does so with the operands of every operation on floats or doubles, and with no result. So it serves where
an instruction computes its result in one operation of the processor, or in several none of which can meet a denormal
that the semantics keep: of intermediate results, conversions and copies.
"""

from __future__ import annotations

from collections.abc import Iterable

from visakit.isa.record import Access, MemoryKind
from visakit.isa.systolic import FLOATS, NAMES
from visakit.language.program import Function, Instruction
from visakit.language.types import BF, DF, HF, F
from vsim.semantics.messages import equivalent
from vsim.semantics.raw_message import AtRunTime
from vsim.semantics.refused import RAW_MESSAGES
from vsim.semantics.registers import operand_type

_ONE_OPERATION = frozenset(
    (
        *("add", "mul", "mad", "div", "divm", "inv", "sqrt", "sqrtm", "rsqrt", "cmp", "min", "max", "mov", "sel"),
        *("frc", "rndd", "rndu", "rnde", "rndz"),
    )
)
IN_DOUBLE = frozenset(("exp", "log", "sin", "cos", "pow", "tanh", "sigm"))
"""Functions of f and hf, of which no intermediate result that counts is a denormal."""
_INTEGER_ATOMICS = ("lsc_atomic_i", "lsc_atomic_s", "lsc_atomic_u")


def takes_zeros(reached: Iterable[tuple[Function, int, Instruction]], grf_size: int) -> bool:
    """Whether that mode gives the results of the semantics in all instructions of a program that never writes %cr0."""
    return all(_takes_zeros(function, instruction, grf_size) for function, _, instruction in reached)


def _takes_zeros(function: Function, instruction: Instruction, grf_size: int) -> bool:
    desc, args = instruction.desc, instruction.args
    if desc.semantics in RAW_MESSAGES:
        try:
            same = equivalent(instruction, grf_size)
        except AtRunTime:  # it may be anything, and the reference engine runs it
            return False
        return same is None or _takes_zeros(function, same, grf_size)
    if desc.memory is MemoryKind.IMAGE:
        return False
    if desc.access is Access.ATOMIC:
        return desc.semantics.startswith(_INTEGER_ATOMICS)
    if "src1_precision" in args:
        return NAMES[args["src1_precision"]] not in FLOATS
    found = {t for op in args.values() if op is not None and (t := operand_type(function, op)).is_float}
    if not found:
        return True
    if desc.semantics in IN_DOUBLE:
        return found <= {F, HF}
    if desc.semantics not in _ONE_OPERATION:
        return False
    # Conversions to df meet denormals of results, those to bf denormals that may be rounded up to the smallest number.
    to = operand_type(function, args["dst"])
    return not (DF in found and len(found) > 1) and (to is not BF or desc.semantics == "mov")
