"""Floats without denormals.

Processors with DAZ (MXCSR of x86) take denormal operands of operations on floats and doubles as zeros, at no cost. A
result may still be a denormal, which is right: x86 could make zeros of these, too, but it decides before it rounds to
the places that a denormal has, so that 2**-126 - 2**-150 would be 0, not 2**-126. So a value *without denormals*
remembers the one with them, which the next operation takes. Only where something else takes it, such as a store or a
copy, it is emitted: as that value times one.

A comparison is something else, as LLVM makes minima of comparisons and selections, and those give zeros for denormals
that a selection keeps.

Other values are compared and selected, as bits; but only once.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from visakit.language import types
from visakit.language.types import DataType
from vsim.engines.llvm.ir.emitter import FLUSHED, NAME
from vsim.engines.llvm.ir.facts import Facts
from vsim.engines.llvm.ir.intrinsics import opaque
from vsim.engines.llvm.ir.values import Rematerialized, Value
from vsim.engines.llvm.target import has_feature

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

_WORDS = {types.F: types.UD, types.DF: types.UQ, types.HF: types.UW}
_EXPONENTS = {types.F: 0x7F800000, types.DF: 0x7FF << 52, types.HF: 0x7C00}
"""The bits that are zeros in denormals and zeros alone."""
_BITS = re.compile(r"bitcast \(i\d+ (-?\d+) to")
"""A constant that is given by its bits."""
_VARIES = ("load ", "phi ", "call ", "alloca ")
_ONES = {types.F: 0x3F800000, types.DF: 0x3FF << 52}


def available() -> bool:
    """Whether the processor that code is made for has DAZ, and fused operations that heed it."""
    return has_feature("fma")


def without_denormals(b: Builder, x: Value) -> Value | None:
    """Zeros of the same sign instead of denormals; None for types that are no floats of LLVM."""
    if x.type not in _WORDS:
        return None
    if x.facts.denormal is not None:
        return x
    if not isinstance(x, Rematerialized):  # whose text would be emitted here
        bits = constant_bits(x)
        if bits is not None or b.is_whole(x):
            known = x if bits is None or not _is_denormal(bits, x.type) else b.const(_zero(bits, x.type), x.type)
            return known.with_facts(denormal=known)
    if not b.takes_zeros or x.type not in _ONES:
        return _selected(b, x)

    def text() -> str:
        one = b.broadcast(_one(b, x.type), x.lanes)
        return f"fmul {x.typed}, {one.text}{FLUSHED}"

    return Rematerialized(b, x.type, x.lanes, text, x.depth + 1, Facts(denormal=x))


def comes_of_constants(b: Builder, text: str) -> bool:
    """Whether the operands of an instruction are constants, or come out of constants alone."""
    return not text.startswith(_VARIES) and all(name in b.constants for name in NAME.findall(text))


def unknown_of_constants(b: Builder, *operands: Value) -> Value:
    """The last operand of a fused operation; if all are constants one that LLVM does not know, as it would compute the
    result itself, with denormals.
    """
    given = [x.facts.denormal or x for x in operands]
    last = given[-1]
    if not b.takes_zeros or not all(comes_of_constants(b, x.text) for x in given):
        return operands[-1]
    word = _WORDS[last.type]
    return b.bitcast(opaque(b, b.bitcast(last, word)), last.type)


def like(b: Builder, x: Value, found: Value) -> Value:
    """A value that was made lane by lane of what ``x`` remembers, but for signs, without denormals, as ``x`` is."""
    if b.takes_zeros and x.type in _ONES:
        return without_denormals(b, found) or found
    return found.with_facts(denormal=found)


def _selected(b: Builder, x: Value) -> Value:
    """Zeros of the same sign where the bits are those of a denormal, or of a zero.

    Where the processor takes zeros, LLVM makes a comparison of floats with zero of such a test if it knows the bits.
    It does so for half, too, which the processor extends to float: no denormal is left there.
    """
    word = _WORDS[x.type]
    bits, exponents = b.bitcast(x, word), b.const(_EXPONENTS[x.type], word)
    sign = bits & b.const(1 << (word.bits - 1), word)
    exponent = bits & (opaque(b, exponents) if b.takes_zeros else exponents)
    found = b.select(exponent == b.const(0, word), b.bitcast(sign, x.type), x)
    return found.with_facts(denormal=found)


def constant_bits(x: Value) -> int | None:
    """The bits of a scalar constant of floats; None for other values."""
    if x.lanes != 1 or x.type not in _WORDS or isinstance(x, Rematerialized):
        return None
    if found := _BITS.match(x.text):
        return int(found[1]) & ((1 << x.type.bits) - 1)
    if not x.text.startswith("0x") or x.type is types.HF:
        return None
    (number,) = struct.unpack(">d", bytes.fromhex(x.text[2:]))
    return int.from_bytes(struct.pack(">f" if x.type is types.F else ">d", number))


def is_plain_constant(x: Value) -> bool:
    """Whether a value is a scalar constant of floats, and no denormal."""
    bits = constant_bits(x)
    return bits is not None and not _is_denormal(bits, x.type)


def _is_denormal(bits: int, t: DataType) -> bool:
    return not bits & _EXPONENTS[t] and bool(bits << 1 & ((1 << t.bits) - 1))


def _zero(bits: int, t: DataType) -> float:
    return -0.0 if bits >> (t.bits - 1) else 0.0


def _one(b: Builder, t: DataType) -> Value:
    """1 of a type, of which LLVM does not know that it is 1: it leaves out products with that."""
    word = _WORDS[t]
    return b.bitcast(opaque(b, b.const(_ONES[t], word)), t)
