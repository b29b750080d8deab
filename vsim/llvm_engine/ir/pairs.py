"""Pairs: of words, and of vectors one behind the other.

Products of words, of which neighbours are added, are one instruction of x86, which code generation finds in other
instructions, too, but takes five times as long for these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visa import types
from vsim.llvm_engine.ir.types import ir_type
from vsim.llvm_engine.ir.values import Value
from vsim.llvm_engine.runtime.target import has_feature

if TYPE_CHECKING:
    from vsim.llvm_engine.ir.builder import Builder

_INTRINSICS = (
    (32, "avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
    (16, "avx2", "llvm.x86.avx2.pmadd.wd"),
    (8, "sse2", "llvm.x86.sse2.pmadd.wd"),
)
"""The instruction: words that it takes, what a processor with it has, its name."""


def pair_sums(b: Builder, x: Value, y: Value) -> Value:
    """The sums, D, half as many lanes as words (a power of two, eight or more)."""
    count = x.lanes
    for width, feature, name in _INTRINSICS:
        if width <= count and has_feature(feature):
            words, sums = ir_type(types.W, width), ir_type(types.D, width // 2)
            b.declare(name, sums, f"{words}, {words}")
            parts = []
            for first in range(0, count, width):
                places = list(range(first, first + width))
                operands = f"{b.lanes(x, places).typed}, {b.lanes(y, places).typed}"
                parts.append(b.value(types.D, width // 2, f"call {sums} @{name}({operands})"))
            return b.concat(parts)
    products = b.cast(x, types.D) * b.cast(y, types.D)
    return b.lanes(products, list(range(0, count, 2))) + b.lanes(products, list(range(1, count, 2)))


def of_a_half(b: Builder, x: Value, indices: list[int]) -> Value | None:
    """Lanes of one of two vectors that were put one behind the other: lanes of that one. None for other lanes."""
    half = x.lanes // 2
    if x.halves is None or min(indices) // half != max(indices) // half:
        return None
    return b.retype(b.lanes(x.halves[min(indices) // half], [i % half for i in indices]), x.type)


def repeated_pair(b: Builder, x: Value, indices: list[int]) -> Value | None:
    """Two words that lie in one dword, again and again: a dword in all lanes, which is more quickly compiled than a
    choice among words. None for other lanes.
    """
    first, count = indices[0], len(indices)
    in_dwords = x.type.size == types.UW.size and first % 2 == x.lanes % 2 == count % 2 == 0
    if not in_dwords or count == 2 or indices != [first, first + 1] * (count // 2):
        return None
    dwords = b.regroup(x, types.UD, x.lanes // 2)
    return b.regroup(b.broadcast(b.lanes(dwords, [first // 2] * (count // 2)), count // 2), x.type, count)
