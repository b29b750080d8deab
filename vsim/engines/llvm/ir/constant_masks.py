"""Masks that are constants, as ``setp`` of a number makes them: which lanes they hold for is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vsim.engines.llvm.ir.types import MASK
from vsim.engines.llvm.ir.values import Value

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

_WORDS = ("false", "true")


def constant_mask(b: Builder, bits: int, lanes: int) -> Value:
    """A mask that holds for the lanes of these bits."""
    words = [_WORDS[bits >> lane & 1] for lane in range(lanes)]
    return Value(b, MASK, lanes, words[0] if lanes == 1 else "<" + ", ".join(f"i1 {w}" for w in words) + ">")


def constant_lanes(b: Builder, mask: Value, indices: list[int]) -> Value | None:
    """Lanes of a mask by number, if it is such a constant."""
    bits = _bits(mask.text) if mask.type is MASK else None
    if bits is None:
        return None
    return constant_mask(b, sum((bits >> i & 1) << n for n, i in enumerate(indices)), len(indices))


def only_lane(mask: Value) -> int | None:
    """The one lane that a mask may hold for, if that is known."""
    for text in (mask.text, *mask.facts.implies):
        bits = _bits(text)
        if bits and bits & (bits - 1) == 0:
            return bits.bit_length() - 1
    return None


def _bits(text: str) -> int | None:
    if not text.startswith("<i1 "):
        return None
    words = text.strip("<>").split(", ")
    return sum((word == "i1 true") << lane for lane, word in enumerate(words))
