"""One operation on floats in a rounding mode.

Instructions of AVX-512 have the mode in them. Other processors take it from a register, which functions of the module
set and restore; they have nothing else in them, so nothing else can be moved to where the mode is set. That takes
forty times as long (compilers divide integers by such operations). An operation made from the nearest result takes up
to eighty instructions instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from visa import types
from visa.types import DataType
from vsim.llvm_engine.ir.emitter import Emitter
from vsim.llvm_engine.ir.types import ir_type, overload
from vsim.llvm_engine.ir.values import Value
from vsim.llvm_engine.runtime.target import has_feature

if TYPE_CHECKING:
    from vsim.llvm_engine.ir.builder import Builder

_MODES = {1: (2, "round.upward"), 3: (0, "round.towardzero")}
"""LLVM's numbers and names of rounding modes of %cr0."""
_EMBEDDED = {1: 10, 3: 11}
"""The same modes in an instruction of AVX-512, which raises no exceptions then."""
_VECTOR_BYTES = 64
_INSTRUCTIONS = {"fadd": "add", "fmul": "mul", "fma": "vfmadd", "fdiv": "div", "sqrt": "sqrt"}
_TEXT = """define internal {result} @{name}({parameters}) #3 {{
  call void @llvm.set.rounding(i32 {number}) #4
  %found = call {result} @{intrinsic}({parameters}, metadata !"{mode}", metadata !"fpexcept.strict") #4
  call void @llvm.set.rounding(i32 1) #4
  ret {result} %found
}}
"""


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
        intrinsic = f"llvm.experimental.constrained.{op}.{suffix}"
        b.declare("llvm.set.rounding", "void", "i32")
        b.declare(intrinsic, result, ", ".join([*(x.ir for x in operands), "metadata", "metadata"]))
        parameters = ", ".join(f"{x.ir} %x{n}" for n, x in enumerate(operands))
        b.declarations[name] = _TEXT.format(
            result=result, name=name, parameters=parameters, number=number, intrinsic=intrinsic, mode=words
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
