"""High halves of products: of words and a constant in words, of dwords with a note of the qwords.

A quotient of words by a constant is written as ``mulh`` of dwords. Processors multiply four or eight qwords at once,
but sixteen or 32 words. With ``factor = high * 2**16 + low``, ``x * factor >> 32`` is the high half of ``x * high``,
and one more if ``x * low >> 16`` carries out of the low half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.language import types
from vsim.engines.llvm.ir.halves import half_of_product
from vsim.engines.llvm.ir.values import Value

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder


def high_product(b: Builder, x: Value, y: Value) -> Value | None:
    """See :meth:`vsim.semantics.algebra.Algebra.high_product`; for vectors of words times a constant, and for vectors
    whose qwords may be needed.
    """
    return _of_words(b, x, y) or _of_dwords(b, x, y)


def _of_dwords(b: Builder, x: Value, y: Value) -> Value | None:
    one, other = (v.facts.extended if v.constant is None else v for v in (x, y))
    if one is None or other is None:
        return None
    qwords = x * y
    high = b.cast(qwords >> b.const(types.UD.bits, qwords.type), types.UD)
    return high.with_facts(half=half_of_product(1, qwords, one, other))


def _of_words(b: Builder, x: Value, y: Value) -> Value | None:
    x, factor = (x, y.constant) if x.constant is None else (y, x.constant)
    words = _words_of(x) if x.type is types.UQ else None
    if words is None or factor is None or factor >> 32:
        return None
    low = words * b.const(factor >> 16, types.UW)
    total = low + _high_half(b, words, factor & 0xFFFF)
    return b.cast(_high_half(b, words, factor >> 16) + b.mask_to_int(total < low, types.UW), types.UD)


def _words_of(x: Value) -> Value | None:
    """The words, or bytes as words, that a vector of unsigned integers is the extension of."""
    narrow = x.facts.extended
    while narrow is not None and not narrow.type.is_signed:
        if narrow.type.size <= types.UW.size:
            return x.builder.cast(narrow, types.UW) if narrow.lanes > 1 else None
        narrow = narrow.facts.extended
    return None


def _high_half(b: Builder, words: Value, factor: int) -> Value:
    return b.cast((b.cast(words, types.UD) * b.const(factor, types.UD)) >> b.const(16, types.UD), types.UW)
