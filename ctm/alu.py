"""What the operations of the colour and the alpha unit compute, on one value for each processor of a group.

The arithmetic is that of 32-bit floats with denormals as zeros and one standard NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ctm import table
from vsim.arrays import Array, Bools

_TINY = np.float32(2.0**-126)
_NAN = np.uint32(0x7FFFFFFF).view(np.float32)


class UnitOperands(NamedTuple):
    """The operands of a unit: (3, N) of the colour unit, (N,) of the alpha unit."""

    a: Array
    b: Array
    c: Array


def _reciprocal_root(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def _sine(x: Array) -> Array:
    """Angles are fractions of a turn."""
    return np.asarray(np.sin(x * 2 * np.pi))


def _cosine(x: Array) -> Array:
    """Angles are fractions of a turn."""
    return np.asarray(np.cos(x * 2 * np.pi))


_TRANSCENDENTAL: dict[table.AluOperation, Callable[[Array], Array]] = {
    table.EX2: np.exp2,
    table.LN2: np.log2,
    table.RCP: np.reciprocal,
    table.RSQ: _reciprocal_root,
    table.SIN: _sine,
    table.COS: _cosine,
}
"""The operations that only the alpha unit has."""


def _minimum(x: UnitOperands) -> Array:
    return np.where(x.a < x.b, x.a, x.b)


def _maximum(x: UnitOperands) -> Array:
    return np.where((x.a >= x.b) & ~((x.a == 0) & (x.b == 0)), x.a, x.b)


# Like MIN and MAX: a NaN among the inputs gives operand B.


def _select_half(x: UnitOperands) -> Array:
    return np.where((x.c > 0.5) & ~np.isnan(x.a), x.a, x.b)


def _select_sign(x: UnitOperands) -> Array:
    return np.where((x.c >= 0) & ~np.isnan(x.a), x.a, x.b)


def _fraction(x: UnitOperands) -> Array:
    return np.asarray(x.a - np.floor(x.a), np.float32)


_COMMON: dict[table.AluOperation, Callable[[UnitOperands], Array]] = {
    table.MIN: _minimum,
    table.MAX: _maximum,
    table.CND: _select_half,
    table.CMP: _select_sign,
    table.FRC: _fraction,
}
"""The operations that both units have, but for MAD, which multiplies."""


class UnitArithmetic:
    """Both units for one instruction.

    Args:
        source: all channels of source 0, (4, N), whose gradients MDH and MDV take.
        legacy_multiply: zero times anything is zero.
    """

    def __init__(self, source: Array, legacy_multiply: bool) -> None:
        self.source, self.legacy_multiply = source, legacy_multiply

    def both(
        self, rgb: table.AluOperation, alpha: table.AluOperation, colours: UnitOperands, alphas: UnitOperands
    ) -> tuple[Array, Array]:
        """The results of the colour unit, (3, N), and of the alpha unit, (N,)."""
        dot = self._dot(rgb, colours, alphas)
        if alpha is table.DP:
            found = dot
        elif alpha in _TRANSCENDENTAL:
            found = np.asarray(_TRANSCENDENTAL[alpha](alphas.a), np.float32)
        else:
            found = self._common(alpha, alphas, self.source[3:])
        if rgb in (table.DP3, table.DP4, table.D2A):
            return np.stack([dot] * 3), found
        if rgb is table.SOP:
            return np.stack([found] * 3), found
        return self._common(rgb, colours, self.source[:3]), found

    def _dot(self, operation: table.AluOperation, colours: UnitOperands, alphas: UnitOperands) -> Array:
        """The sum of products that dot products of either unit give."""
        product = self._product(colours)
        if operation is table.DP3:
            return np.asarray(product.sum(axis=0))
        if operation is table.DP4:
            return np.asarray(product.sum(axis=0) + self._product(alphas))
        return np.asarray(product[0] + product[1] + colours.c[2])

    def _common(self, operation: table.AluOperation, x: UnitOperands, source: Array) -> Array:
        """What both units can do, each on its own channels."""
        if operation is table.MAD:
            return np.asarray(self._product(x) + x.c, np.float32)
        if operation in (table.MDH, table.MDV):
            neighbour = 1 if operation is table.MDH else 2
            gradient = _corner(source, 0) * x.b + _corner(source, neighbour)
            return np.asarray(gradient.reshape(x.b.shape))
        return _COMMON[operation](x)

    def _product(self, x: UnitOperands) -> Array:
        product = np.asarray(x.a * x.b)
        return np.where((x.a == 0) | (x.b == 0), np.float32(0), product) if self.legacy_multiply else product


def _corner(value: Array, corner: int) -> Array:
    """The value of one corner of each quad of 2 x 2 processors, in all four of them."""
    count = value.shape[-1]
    return np.asarray(np.take(value, np.minimum(np.arange(count) // 4 * 4 + corner, count - 1), axis=1))


def flushed(x: Array) -> Array:
    """Denormals are zeros of their sign."""
    return np.where(np.abs(x) < _TINY, np.copysign(np.float32(0), x), x).astype(np.float32)


def finished(x: Array, omod: int, clamp: int) -> Array:
    """A result with output modifier and clamp, standard NaN and no denormals."""
    factors = (1, 2, 4, 8, 0.5, 0.25, 0.125)
    if omod >= len(factors):
        return x.astype(np.float32)
    x = flushed(x * np.float32(factors[omod]))
    x = np.where(np.isnan(x), _NAN, x)
    return np.clip(np.nan_to_num(x, nan=0.0), 0, 1).astype(np.float32) if clamp else x.astype(np.float32)


def against_zero(x: Array, comparison: int) -> Bools:
    """A comparison by its code, for each processor."""
    comparisons: tuple[Bools, ...] = (x == 0, x < 0, x >= 0, x != 0)
    return comparisons[comparison]
