"""Functions that compute one operation in a rounding mode of the processor.

They set the mode and restore it, and have nothing else in them, so nothing else can be moved to where the mode is set.
An operation made from the nearest result takes up to eighty instructions instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from visa.types import DataType
from vsim.llvm_engine.ir.emitter import Emitter
from vsim.llvm_engine.ir.types import ir_type, overload
from vsim.llvm_engine.ir.values import Value

_MODES = {1: (2, "round.upward"), 3: (0, "round.towardzero")}
"""LLVM's numbers and names of rounding modes of %cr0."""
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
