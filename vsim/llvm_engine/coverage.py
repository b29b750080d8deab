"""Which blocks executed: a bit for each, kept in registers while a thread runs and gathered when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from visa.program import Function
from vsim.llvm_engine import context as cx
from vsim.llvm_engine.flow import analyse

if TYPE_CHECKING:  # A launch of compiled code needs none of it.
    from vsim.llvm_engine.ir import Builder


def _words(function: Function) -> int:
    return len(function.instructions) // 64 + 1


class Coverage:
    """The code that marks the blocks of one function; block n has the bit of its first instruction."""

    def __init__(self, functions: Sequence[Function], function: Function, starts: Sequence[int]) -> None:
        self.base = sum(_words(b) for b in functions[: functions.index(function)])
        self.used = sorted({start // 64 for start in starts})

    def declaration(self) -> tuple[list[str], list[str]]:
        """Room for the bits, which LLVM turns into registers, and what clears it."""
        return [f"  %covered{word} = alloca i64, align 8" for word in self.used], [
            f"  store i64 0, ptr %covered{word}, align 8" for word in self.used
        ]

    def mark(self, b: Builder, start: int) -> None:
        """This block executes."""
        word, bit = divmod(start, 64)
        old = b.assign(f"load i64, ptr %covered{word}, align 8")
        signed = 1 << bit if bit < 63 else -(1 << 63)
        b.emit(f"store i64 {b.assign(f'or i64 {old}, {signed}')}, ptr %covered{word}, align 8")

    def publish(self, b: Builder) -> None:
        """Add the bits to those of the other threads."""
        table = b.assign(f"load ptr, ptr {b.offset('%ctx', cx.COVERAGE)}, align 8")
        for word in self.used:
            place = b.offset(table, 8 * (self.base + word))
            mine, known = (
                b.assign(f"load i64, ptr %covered{word}, align 8"),
                b.assign(f"load atomic i64, ptr {place} monotonic, align 8"),
            )
            fresh = b.assign(f"icmp ne i64 {b.assign(f'or i64 {mine}, {known}')}, {known}")
            tell, told = b.new_label("tell"), b.new_label("told")
            b.emit(f"br i1 {fresh}, label %{tell}, label %{told}")
            b.label(tell)
            b.assign(f"atomicrmw or ptr {place}, i64 {mine} monotonic")
            b.emit(f"br label %{told}")
            b.label(told)


class Marks:
    """The gathered bits of a launch."""

    def __init__(self, dispatch: Any) -> None:
        self.words = np.zeros(sum(_words(b) for b in dispatch.image.module.all_functions), np.uint64)

    def tell(self, dispatch: Any, compiled: Sequence[Function]) -> None:
        """Write down in the launch which instructions executed: whole blocks."""
        functions = dispatch.image.module.all_functions
        at = 0
        for number, function in enumerate(functions):
            words = self.words[at : at + _words(function)]
            at += _words(function)
            if words.any() and any(function is c for c in compiled):
                bits = np.unpackbits(words.view(np.uint8), bitorder="little")
                starts = analyse(function, function.is_kernel).starts
                for start, end in zip(starts, [*starts[1:], len(function.instructions)], strict=True):
                    if bits[start]:
                        dispatch.coverage[number][start:end] = True
