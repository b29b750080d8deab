"""One operation on floats in a rounding mode.

Instructions of AVX-512 have the mode in them. Other processors take it from a register, which functions of the module
set and restore; they have nothing else in them, so nothing else can be moved to where the mode is set. That takes
ten times as long (compilers divide integers by such operations). An operation made from the nearest result takes up
to eighty instructions instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.emitter import Emitter
from vsim.engines.llvm.ir.toward_zero import TOWARD_ZERO, toward_zero
from vsim.engines.llvm.ir.types import ir_type, overload
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.target import fuses, has_feature

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

_MODES = {1: (2, "round.upward"), 3: (0, "round.towardzero")}
"""LLVM's numbers and names of rounding modes of %cr0."""
_CONTROL = {1: 0x4000, 3: 0x6000}
"""The same modes in MXCSR, where the nearest is 0."""
_EMBEDDED = {1: 10, 3: 11}
"""The same modes in an instruction of AVX-512, which raises no exceptions then."""
_VECTOR_BYTES = 64
_INSTRUCTIONS = {"fadd": "add", "fmul": "mul", "fma": "vfmadd", "fdiv": "div", "sqrt": "sqrt"}
_TEXT = """define internal {result} @{name}({parameters}) #3 {{
{begin}
  %found = call {result} @{intrinsic}({parameters}, metadata !"{mode}", metadata !"fpexcept.strict") #4
{end}
  ret {result} %found
}}
"""
_SET = ("  call void @llvm.set.rounding(i32 {number}) #4", "  call void @llvm.set.rounding(i32 1) #4")
_SET_MXCSR = (
    """  %before = alloca i32
  %within = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %before) #4
  %bits = load i32, ptr %before
  %changed = or i32 %bits, {bits}
  store i32 %changed, ptr %within
  call void @llvm.x86.sse.ldmxcsr(ptr %within) #4""",
    "  call void @llvm.x86.sse.ldmxcsr(ptr %before) #4",
)


def directed(
    b: Emitter, op: str, mode: int, data_type: DataType, operands: Sequence[Value]
) -> tuple[str, DataType, Sequence[Value]]:
    """The function, which the module gets if it has none: its name, the type of its result, its operands.

    Args:
        op: ``fadd``, ``fmul``, ``fma``, ``fdiv``, ``sqrt`` or ``fptrunc``.
        mode: of %cr0, up or towards zero.
        data_type: of the result; that of the operands but for ``fptrunc``.
    """
    result = ir_type(data_type, operands[0].lanes)
    types = dict.fromkeys([result, *(x.ir for x in operands)])
    suffix = ".".join(overload(t.strip("<>").rpartition(" ")[2], operands[0].lanes) for t in types)
    name = f"{op}_in_mode{mode}.{suffix}"
    if name not in b.declarations:
        number, words = _MODES[mode]
        if has_feature("sse2"):
            begin, end = _SET_MXCSR
            b.declare("llvm.x86.sse.stmxcsr", "void", "ptr")
            b.declare("llvm.x86.sse.ldmxcsr", "void", "ptr")
        else:
            begin, end = _SET
            b.declare("llvm.set.rounding", "void", "i32")
        intrinsic = f"llvm.experimental.constrained.{op}.{suffix}"
        b.declare(intrinsic, result, ", ".join([*(x.ir for x in operands), "metadata", "metadata"]))
        parameters = ", ".join(f"{x.ir} %x{n}" for n, x in enumerate(operands))
        b.declarations[name] = _TEXT.format(
            result=result,
            name=name,
            parameters=parameters,
            intrinsic=intrinsic,
            mode=words,
            begin=begin.format(number=number, bits=_CONTROL[mode]),
            end=end,
        )
    return name, data_type, operands


def embedded(b: Builder, op: str, mode: int, data_type: DataType, operands: Sequence[Value]) -> Value | None:
    """The operation as an instruction that has the mode in it; None where the processor has none.

    Args:
        op: as for :func:`directed`, as are the others.
    """
    if not has_feature("avx512f"):
        return None
    source, count = operands[0].type, operands[0].lanes
    width = _VECTOR_BYTES // source.size
    result, taken = ir_type(data_type, width), ir_type(source, width)
    if op == "fptrunc":
        name, kinds, more = "mask.cvtpd2ps", [taken, result, "i8"], f", {result} zeroinitializer, i8 -1"
    else:
        name = f"{_INSTRUCTIONS[op]}.{'ps' if source is types.F else 'pd'}"
        kinds, more = [taken] * len(operands), ""
    name = f"llvm.x86.avx512.{name}.512"
    b.declare(name, result, ", ".join([*kinds, "i32"]))
    parts = []
    for first in range(0, count, width):
        there = min(width, count - first)
        places = [first + min(lane, there - 1) for lane in range(width)]
        wide = [b.broadcast(x, width) if count == 1 else b.lanes(x, places) for x in operands]
        given = ", ".join(x.typed for x in wide)
        whole = b.value(data_type, width, f"call {result} @{name}({given}{more}, i32 {_EMBEDDED[mode]})")
        parts.append(b.lanes(whole, list(range(there))))
    return b.concat(parts)


def in_mode(b: Builder, op: str, mode: int, data_type: DataType, *operands: Value) -> Value:
    """An operation on floats or doubles in a rounding mode of the processor.

    Args:
        op: as for :func:`directed`.
    """
    lanes = max(x.lanes for x in operands)
    given = [b.broadcast(x, lanes) for x in operands]
    found = embedded(b, op, mode, data_type, given)
    if found is None and mode == TOWARD_ZERO and fuses():
        found = toward_zero(b, op, data_type, given)
    return found or b.call_own(*directed(b, op, mode, data_type, given))
