"""Powers of two by instructions of x86-64: of whole numbers, and of eighths out of a table in registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from visakit.language import types
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.target import has_feature, is_x86_64
from vsim.semantics.approximations import exp2_of_whole

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

_SCALES = ((16, "avx512f", "avx512.mask.scalef.ps.512"), (8, "avx512vl", "avx512.mask.scalef.ps.256"))
_PERMUTES = ((16, "avx512f", "avx512.permvar.si.512"), (8, "avx2", "avx2.permd"))
"""Of how many floats or dwords, the required feature, the intrinsic."""
_PRESENT_MODE = 4
"""The operand for the rounding mode, which instructions of 512 bits have: it makes no difference here."""
_COUNT, _ROW = 8, 4
"""Elements of a table, and dwords of the parts of a vector in which processors interleave two vectors."""


def _instruction(lanes: int, forms: Sequence[tuple[int, str, str]]) -> tuple[int, str]:
    """Of how many lanes an instruction is, and its intrinsic; 0 if the target has none."""
    known = ((n, name) for n, needed, name in forms if n <= lanes and has_feature(needed))
    return next(known, (0, "")) if is_x86_64() else (0, "")


def power_of_whole(b: Builder, x: Value) -> Value | None:
    """See :meth:`vsim.semantics.algebra.Algebra.power_of_whole`. AVX-512 scales by any power, subnormal or infinite."""
    if not b.is_whole(x):
        return None
    width, name = _instruction(x.lanes, _SCALES)
    x = b.cast(x, types.F)
    if not width:
        product: Value = exp2_of_whole(b, x)
        return product
    vector, bits = ir_type(types.F, width), f"i{width}"
    more, mode = (", i32", f", i32 {_PRESENT_MODE}") if name.endswith(".512") else ("", "")
    b.declare(f"llvm.x86.{name}", vector, f"{vector}, {vector}, {vector}, {bits}{more}")
    one = b.broadcast(b.const(1.0, types.F), width).typed
    parts = []
    for first in range(0, x.lanes, width):
        part = b.lanes(x, list(range(first, first + width))).typed
        text = f"call {vector} @llvm.x86.{name}({one}, {part}, {vector} zeroinitializer, {bits} -1{mode})"
        parts.append(b.value(types.F, width, text))
    return b.concat(parts)


def element_plus(b: Builder, table: Sequence[int], number: Value, shift: int) -> Value | None:
    """See :meth:`vsim.semantics.algebra.Algebra.element_plus`: the high dwords and the low dwords are two tables."""
    width, name = _instruction(number.lanes, _PERMUTES)
    if not width:
        return None
    half, rows = width // 2, range(0, width, _ROW)
    # Of two interleaved vectors, one has the first two dwords of all rows: those are to be the lanes of the first half.
    order = [lane for row in rows for lane in (row // 2, row // 2 + 1, row // 2 + half, row // 2 + half + 1)]
    vector = ir_type(types.UD, width)
    b.declare(f"llvm.x86.{name}", vector, f"{vector}, {vector}")
    words = [b.vector([e >> at & 0xFFFFFFFF for e in table] * (width // _COUNT), types.UD).typed for at in (0, 32)]
    parts = []
    for first in range(0, number.lanes, width):
        part = b.lanes(number, [first + n for n in order])
        low, high = (b.value(types.UD, width, f"call {vector} @llvm.x86.{name}({w}, {part.typed})") for w in words)
        high = high + (part << b.const(shift - 32, types.UD))
        for at in (0, 2):
            pairs = [n for row in rows for n in (row + at, width + row + at, row + at + 1, width + row + at + 1)]
            parts.append(b.regroup(b.mixed(low, high, pairs), types.UQ, half))
    return b.concat(parts)
