"""Whole parts of floats as integers, by the processor's own conversion, which has a result for every operand.

LLVM's ``fptosi`` and ``fptoui`` do not, so what does not fit must be selected away in front of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.target import has_feature, is_x86_64

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

_CONVERSIONS = {
    types.D: (
        (16, "avx512f", "avx512.mask.cvttps2dq.512"),
        (8, "avx", "avx.cvtt.ps2dq.256"),
        (4, "sse2", "sse2.cvttps2dq"),
    ),
    types.UD: (
        (16, "avx512f", "avx512.mask.cvttps2udq.512"),
        (8, "avx512vl", "avx512.mask.cvttps2udq.256"),
        (4, "avx512vl", "avx512.mask.cvttps2udq.128"),
    ),
}
"""Of how many floats, the required feature, the intrinsic. What does not fit, and NaN, gives -2**31, or 2**32 - 1."""
_TRUNCATES = 4
"""The operand for the rounding mode: the present one, as the instruction truncates anyway."""


def whole_part(b: Builder, x: Value, data_type: DataType) -> Value | None:
    """See :meth:`vsim.semantics.algebra.Algebra.whole_part`; for floats of x86-64 as D, and with AVX-512 as UD."""
    known = _CONVERSIONS.get(data_type, ()) if x.type is types.F and is_x86_64() else ()
    found = next(((n, name) for n, needed, name in known if n <= x.lanes and has_feature(needed)), None)
    if found is None:
        return None
    if data_type is types.UD:
        zero = b.const(0.0, types.F)
        return _converted(b, b.select(x > zero, x, zero), data_type, *found)
    zero, too_large = b.const(0, data_type), x >= b.const(2.0**31, types.F)
    inverted = zero - b.mask_to_int(too_large, data_type)  # -2**31 becomes 2**31 - 1.
    return b.select(x == x, _converted(b, x, data_type, *found) ^ inverted, zero)


def _converted(b: Builder, x: Value, data_type: DataType, width: int, name: str) -> Value:
    """The results of the instruction, for so many lanes at a time."""
    given, result = ir_type(types.F, width), ir_type(data_type, width)
    kinds, more = [given], ""
    if ".mask." in name:
        kinds += [result, f"i{max(width, 8)}"]
        more = f", {result} zeroinitializer, {kinds[-1]} -1"
    if name.endswith(".512"):
        kinds, more = [*kinds, "i32"], f"{more}, i32 {_TRUNCATES}"
    b.declare(f"llvm.x86.{name}", result, ", ".join(kinds))
    parts = []
    for first in range(0, x.lanes, width):
        part = b.lanes(x, list(range(first, first + width)))
        parts.append(b.value(data_type, width, f"call {result} @llvm.x86.{name}({part.typed}{more})"))
    return b.concat(parts)
