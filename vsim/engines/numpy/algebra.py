"""The lane algebra on numpy arrays, threads x lanes; an axis of length 1 stands for "the same everywhere"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from visakit.language import types
from visakit.language.types import DataType
from vsim.launch.arrays import Array, Bools, DType, Dwords
from vsim.semantics.algebra import LARGEST_CHANGE, product_and_sum

Mask = Bools | Literal[True]
"""Lanes for which something holds; True for all of them."""

DTYPES: dict[DataType, DType] = {
    types.UB: np.dtype("u1"), types.UW: np.dtype("u2"), types.UD: np.dtype("u4"), types.UQ: np.dtype("u8"),
    types.B: np.dtype("i1"), types.W: np.dtype("i2"), types.D: np.dtype("i4"), types.Q: np.dtype("i8"),
    types.HF: np.dtype("f2"), types.F: np.dtype("f4"), types.DF: np.dtype("f8"), types.BF: np.dtype("u2"),
}  # fmt: skip
"""Types of elements in registers; the bits of bf are those of uw."""
_SWAPS = (
    (1, 0x5555555555555555),
    (2, 0x3333333333333333),
    (4, 0x0F0F0F0F0F0F0F0F),
    (8, 0x00FF00FF00FF00FF),
    (16, 0x0000FFFF0000FFFF),
    (32, 0xFFFFFFFF),
)


def _exact_fma(x: float, y: float, z: float) -> float:
    total = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(total) if total else x * y + z
    except OverflowError:
        return x * y + z


_slow_fma = np.frompyfunc(_exact_fma, 3, 1)


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _two_product(x: Array, y: Array) -> tuple[Array, Array]:
    def split(v: Array) -> tuple[Array, Array]:
        c = v * 134217729.0
        high = c - (c - v)
        return high, v - high

    product = x * y
    (xh, xl), (yh, yl) = split(x), split(y)
    return product, ((xh * yh - product) + xh * yl + xl * yh) + xl * yl


def _to_odd(total: Array, error: Array) -> Array:
    """A rounded sum with its error, as the neighbour with an odd last bit if the sum is not exact."""
    bits = np.ascontiguousarray(total).view(np.int64)
    inexact = (error != 0) & ((bits & 1) == 0) & np.isfinite(error)
    return np.where(inexact, np.where((error > 0) == (total > 0), bits + 1, bits - 1), bits).view(np.float64)


def fma_double(x: Array, y: Array, z: Array) -> Array:
    """Exact fused multiply-add of doubles (Boldo and Melquiond: rounding to odd makes the last addition round once)."""
    x, y, z = np.broadcast_arrays(x, y, z)
    high, low = _two_product(x, y)
    sum_high, sum_low = _two_sum(z, low)
    total_high, total_low = _two_sum(high, sum_high)
    result = total_high + _to_odd(*_two_sum(sum_low, total_low))
    magnitude = np.abs(high)
    plain = (
        np.isfinite(result)
        & (magnitude > 1e-250)
        & (magnitude < 1e250)
        & (np.abs(z) < 1e250)
        & (np.abs(x) < 1e150)
        & (np.abs(y) < 1e150)
    )
    if not plain.all():
        odd = ~plain
        result = result.copy()
        result[odd] = _fma_at_the_ends(x[odd], y[odd], z[odd])
    return result


def _fma_at_the_ends(x: Array, y: Array, z: Array) -> Array:
    """The same for numbers that are zero, infinite, or none, and for products near the ends of the range.

    A product with a zero or without a finite value is exact. One that is finite but beyond the range does not count
    against an infinite addend.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    result: Array = np.where(finite & np.isinf(z), z, x * y + z)
    rest = finite & np.isfinite(z) & (x != 0) & (y != 0)
    if rest.any():
        result[rest] = _slow_fma(x[rest], y[rest], z[rest]).astype(np.float64)
    return result


def broadcast(values: Array, shape: tuple[int, ...]) -> Array:
    """Values in a shape; numpy's own function takes its time even where there is nothing to do."""
    return values if values.shape == shape else np.broadcast_to(values, shape)


def any_lane(lanes: Bools) -> Bools:
    """The rows in which any lane holds."""
    found: Bools = np.logical_or.reduce(lanes, axis=1)
    return found


def lane_bits(lanes: Bools) -> Dwords:
    """Lanes of threads as the bits of a dword each."""
    found: Dwords = np.packbits(lanes, axis=1, bitorder="little").view("<u4")[:, 0]
    return found


def both(mask: Mask, more: Mask) -> Mask:
    """The lanes of two masks."""
    return more if mask is True else mask if more is True else mask & more


class NumpyAlgebra:
    """See :class:`vsim.semantics.algebra.Algebra`."""

    directs = False

    def __init__(self, exact: bool = True) -> None:
        self.exact = exact

    def power_of_whole(self, x: Array) -> None:
        """Nothing is known here before it is computed."""

    def in_mode(self, op: str, mode: int, data_type: DataType, *operands: Array) -> Array:
        raise NotImplementedError("numpy rounds to nearest even")

    def const(self, value: int | float, data_type: DataType) -> Array:
        if data_type.is_integer:
            value = int(value) & ((1 << data_type.bits) - 1)
            return np.full((1, 1), value, f"u{data_type.size}").view(DTYPES[data_type])
        return np.full((1, 1), value, DTYPES[data_type])

    def iota(self, count: int, data_type: DataType) -> Array:
        return np.arange(count, dtype=DTYPES[data_type]).reshape(1, count)

    def cast(self, x: Array, data_type: DataType) -> Array:
        return x.astype(DTYPES[data_type], copy=False)

    def bitcast(self, x: Array, data_type: DataType) -> Array:
        return (x if x.flags.c_contiguous or x.strides[-1] == x.itemsize else np.ascontiguousarray(x)).view(
            DTYPES[data_type]
        )

    def select(self, mask: Mask, x: Array, y: Array) -> Array:
        return x if mask is True else np.where(mask, x, y)

    def mask_to_int(self, mask: Mask, data_type: DataType) -> Array:
        return np.asarray(mask).astype(DTYPES[data_type])

    def products(self, columns: list[Array], rows: list[Array], totals: list[Array]) -> list[Array]:
        found = []
        for row, total in zip(rows, totals, strict=True):
            for k, column in enumerate(columns):
                x = self.lanes(row, [k])
                total = self.fma(column, x, total) if total.dtype.kind == "f" else total + column * x
            found.append(total)
        return found

    def products_of_bytes(self, columns: list[Array], rows: list[Array], signed: tuple[bool, bool]) -> list[Array]:
        width = len(columns)
        shared = [broadcast(row, (len(row), width)) for row in rows]
        # Threads x lanes x bytes of all columns, and threads x rows x bytes of a row.
        first, second = (
            np.stack(np.broadcast_arrays(*parts), axis).view("i1" if sign else "u1").astype(np.int32)
            for parts, axis, sign in zip((columns, shared), (2, 1), signed, strict=True)
        )
        found = first @ second.swapaxes(1, 2)
        return [found[:, :, r] for r in range(len(rows))]

    def udiv(self, x: Array, y: Array) -> Array:
        return x // y

    def fdiv(self, x: Array, y: Array) -> Array:
        return x / y

    def fma(self, x: Array, y: Array, z: Array) -> Array:
        if x.dtype == np.float64:
            return fma_double(x, y, z)
        total = (product := x.astype(np.float64) * y) + (wide := z.astype(np.float64))
        if x.dtype == np.float16:
            return _to_odd(*_two_sum(*np.broadcast_arrays(product, wide))).astype(np.float16)
        # A second rounding only matters where the double lies half-way between two floats, or the float is subnormal.
        bits = np.ascontiguousarray(total).view(np.int64)
        doubtful = ((bits & 0x1FFFFFFF) == 0x10000000) | ((np.abs(total) < 2.0**-125) & (total != 0))
        if doubtful.any():
            product, wide = np.broadcast_arrays(product, wide)
            total[doubtful] = _to_odd(*_two_sum(product[doubtful], wide[doubtful]))
        return total.astype(np.float32)

    def rounded_once(self, compute: Callable[..., Array], data_type: DataType, *operands: Array) -> Array:
        value, dtype = compute(self, product_and_sum, *operands), DTYPES[data_type]
        result, other = ((value * (1 + change)).astype(dtype) for change in (-LARGEST_CHANGE, LARGEST_CHANGE))
        doubtful = (result != other) & (value == value)

        def exact(algebra: NumpyAlgebra, *rest: Array) -> Array:
            return compute(algebra, fma_double, *rest).astype(dtype)

        return self.replaced(doubtful, exact, result, *operands)

    def replaced(self, mask: Array, compute: Callable[..., Array], value: Array, *operands: Array) -> Array:
        if mask.any():
            rest = [x[mask][None, :] for x in np.broadcast_arrays(*operands)]
            value[mask] = compute(self, *rest)[0]
        return value

    def sqrt(self, x: Array) -> Array:
        return np.sqrt(x)

    def without_denormals(self, x: Array) -> None:
        return None

    def whole_part(self, x: Array, data_type: DataType) -> None:
        return None

    def high_product(self, x: Array, y: Array) -> None:
        return None

    def element_plus(self, table: Sequence[int], number: Array, shift: int) -> Array:
        found: Array = np.array(table, np.uint64)[number & 7] + (number.astype(np.uint64) << np.uint64(shift))
        return found

    def absolute(self, x: Array) -> Array:
        return np.abs(x)

    def negate(self, x: Array) -> Array:
        return np.negative(x)

    def floor(self, x: Array) -> Array:
        return np.floor(x)

    def ceil(self, x: Array) -> Array:
        return np.ceil(x)

    def trunc(self, x: Array) -> Array:
        return np.trunc(x)

    def rint(self, x: Array) -> Array:
        return np.rint(x)

    def popcount(self, x: Array) -> Array:
        return np.bitwise_count(x).astype(x.dtype)

    def leading_zeros(self, x: Array) -> Array:
        width = 8 * x.itemsize
        shift = 1
        while shift < width:
            x = x | (x >> x.dtype.type(shift))
            shift *= 2
        return (width - np.bitwise_count(x).astype(x.dtype)).astype(x.dtype)

    def rotated(self, x: Array, count: Array) -> None:
        return None

    def reverse_bits(self, x: Array) -> Array:
        width = 8 * x.itemsize
        for shift, mask in _SWAPS:
            if shift < width:
                m, s = x.dtype.type(mask & ((1 << width) - 1)), x.dtype.type(shift)
                x = ((x >> s) & m) | ((x & m) << s)
        return x

    def lanes(self, x: Array, indices: list[int]) -> Array:
        return x if x.shape[1] == 1 else x[:, indices]
