"""Precisions of systolic products: what an element takes, how many a step multiplies, and which accumulators go with them
(manual, chapter 6: DPAS)."""

from __future__ import annotations

from visakit.isa.enums import PRECISIONS

NAMES = {code: name for name, code in PRECISIONS.items()}
FLOATS = ("bf", "hf", "tf32", "bf8", "hf8", "e2m1")
_FLOAT_BITS = {"tf32": 32, "bf": 16, "hf": 16, "bf8": 8, "hf8": 8, "e2m1": 4}
_INTEGER_RESULTS = frozenset(("d", "ud"))
_RESULTS = {"bf": frozenset(("f", "bf")), "hf": frozenset(("f", "hf"))}
BFLOAT_STAND_INS = frozenset(("w", "uw"))
"""Types that compilers wrote for accumulators of bf before there was bf."""


def bits_of(precision: str) -> int:
    """Bits of an element in memory; tf32 takes a whole dword."""
    return _FLOAT_BITS.get(precision) or int(precision[1:])


def group_of(weights: str, activations: str) -> int:
    """Elements of each lane, and of each row, that a step of the depth multiplies."""
    if weights in FLOATS:
        return 32 // bits_of(weights)
    return 4 if 8 in (bits_of(weights), bits_of(activations)) else 8


def row_bytes(weights: str, activations: str, depth: int) -> int:
    """Bytes of a row of activations."""
    return depth * group_of(weights, activations) * bits_of(activations) // 8


def results_of(weights: str) -> frozenset[str]:
    """The types of accumulators and results that go with a precision."""
    return _RESULTS.get(weights, frozenset(("f",))) if weights in FLOATS else _INTEGER_RESULTS
