"""Atomic operations of many lanes at once, as if the lanes acted one after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from vsim.engines.numpy.memory import MessageAccess, gather, scatter
from vsim.launch.arrays import Array, Bools, Bytes, DType, Offsets


def _signed(x: Array) -> Array:
    return x.view(f"i{x.itemsize}")


def _float(x: Array) -> Array:
    return x.view(f"f{x.itemsize}")


def _bits(x: Array) -> Array:
    return x.view(f"u{x.itemsize}")


def _bfloat(x: Array) -> Array:
    """Bits of bfloat16 as floats."""
    return (x.astype(np.uint32) << 16).view(np.float32)


def _to_bfloat(x: Array) -> Array:
    """Floats as bits of bfloat16, rounded to nearest even; a NaN stays one."""
    bits = x.view(np.uint32)
    upper = bits >> 16
    return np.where(np.isnan(x), upper | 0x40, (bits + (upper & 1) + 0x7FFF) >> 16).astype(np.uint16)


def _choose(condition: Bools, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


def _exchange(is_found: Callable[[Array, Array], Bools], old: Array, x: Array, y: Array) -> Array:
    return np.where(is_found(old, x), y, old)


_COMPARES: dict[str, Callable[[Array, Array], Bools]] = {
    "cmpxchg": lambda old, x: old == x,
    "fcmpwr": lambda old, x: _float(old) == _float(x),
    "bfcmpwr": lambda old, x: _bfloat(old) == _bfloat(x),
}
"""Whether an operation that compares has found its value."""
_UPDATES: dict[str, Callable[..., Array]] = {
    "add": lambda old, x: old + x,
    "sub": lambda old, x: old - x,
    "inc": lambda old: old + old.dtype.type(1),
    "dec": lambda old: old - old.dtype.type(1),
    "min": np.minimum,
    "max": np.maximum,
    "xchg": lambda old, x: x,
    "and": lambda old, x: old & x,
    "or": lambda old, x: old | x,
    "xor": lambda old, x: old ^ x,
    "minsint": lambda old, x: _bits(np.minimum(_signed(old), _signed(x))),
    "maxsint": lambda old, x: _bits(np.maximum(_signed(old), _signed(x))),
    "load": lambda old: old,
    "fmax": lambda old, x: _bits(np.where((_float(old) > _float(x)) | np.isnan(_float(x)), _float(old), _float(x))),
    "fmin": lambda old, x: _bits(np.where((_float(old) < _float(x)) | np.isnan(_float(x)), _float(old), _float(x))),
    "fadd": lambda old, x: _bits(_float(old) + _float(x)),
    "fsub": lambda old, x: _bits(_float(old) - _float(x)),
    "bfmax": lambda old, x: _choose((_bfloat(old) > _bfloat(x)) | np.isnan(_bfloat(x)), old, x),
    "bfmin": lambda old, x: _choose((_bfloat(old) < _bfloat(x)) | np.isnan(_bfloat(x)), old, x),
    "bfadd": lambda old, x: _to_bfloat(_bfloat(old) + _bfloat(x)),
    "bfsub": lambda old, x: _to_bfloat(_bfloat(old) - _bfloat(x)),
    **{op: partial(_exchange, found) for op, found in _COMPARES.items()},
}
"""New values from old ones and operands, unsigned bits all of them, by the data port's word for the operation."""
_SUMS = {"add": 1, "inc": 1, "sub": -1, "dec": -1}
"""Operations that add (or subtract) their operand, or 1 without one."""


def atomic(access: MessageAccess, op: str, dtype: DType, sources: list[Array]) -> Array:
    """Atomic operations in lane order; old values, 0 outside the mask."""
    old = np.zeros(access.address.size, dtype)
    active = [access.per_lane(s) for s in sources]
    for data, offsets, lanes in access.parts():
        if lanes is None:
            old = _update(data, offsets, op, dtype, active)
        else:
            old[lanes] = _update(data, offsets, op, dtype, [s[lanes] for s in active])
    return access.spread(old)


def only_reads(op: str, old: Array, sources: list[Array]) -> Bools | None:
    """The lanes of an atomic operation that have changed nothing; None if there cannot be any."""
    if op == "load":
        return np.ones(old.shape, bool)
    return ~_COMPARES[op](old, sources[0].view(old.dtype)) if op in _COMPARES else None


def _update(data: Bytes, offsets: Offsets, op: str, dtype: DType, sources: list[Array]) -> Array:
    """Atomics at offsets that may repeat; old values."""
    unique, inverse, counts = np.unique(offsets, return_inverse=True, return_counts=True)
    if unique.size == offsets.size:
        old = gather(data, offsets, dtype)
        scatter(data, offsets, np.ascontiguousarray(_UPDATES[op](old, *sources)))
        return old
    order = _Order(unique, inverse, counts)
    if op in _SUMS:
        step = sources[0] if sources else np.ones(offsets.size, dtype)
        return _running_sums(data, order, step if _SUMS[op] > 0 else np.negative(step))
    return _in_turns(data, offsets, order, op, dtype, sources)


class _Order:
    """Lanes sorted by offset, those of one offset in lane order.

    ``lanes`` are their numbers, ``group`` says for each which of the ``unique`` offsets it has, ``starts`` and
    ``counts`` where the lanes of each of these offsets stand.
    """

    def __init__(self, unique: Offsets, inverse: npt.NDArray[np.intp], counts: npt.NDArray[np.intp]) -> None:
        self.unique, self.counts = unique, counts
        self.lanes = np.argsort(inverse, kind="stable")
        self.group = inverse[self.lanes]
        self.starts = np.cumsum(counts) - counts


def _running_sums(data: Bytes, order: _Order, step: Array) -> Array:
    """Integers wrap: the old value of a lane is the first old value plus the sums of the lanes before it."""
    added = step[order.lanes]
    running = np.cumsum(added, dtype=step.dtype)
    before = running - added
    base = before[order.starts]
    first = gather(data, order.unique, step.dtype)
    old = np.empty(step.size, step.dtype)
    old[order.lanes] = first[order.group] + (before - base[order.group])
    scatter(data, order.unique, first + (running[order.starts + order.counts - 1] - base))
    return old


def _in_turns(data: Bytes, offsets: Offsets, order: _Order, op: str, dtype: DType, sources: list[Array]) -> Array:
    """The first lane of every offset, then the second, and so on."""
    turn = np.empty(offsets.size, np.int64)
    turn[order.lanes] = np.arange(offsets.size) - order.starts[order.group]
    old = np.empty(offsets.size, dtype)
    for now in range(int(order.counts.max())):
        lanes = turn == now
        value = gather(data, offsets[lanes], dtype)
        old[lanes] = value
        scatter(data, offsets[lanes], np.ascontiguousarray(_UPDATES[op](value, *[s[lanes] for s in sources])))
    return old
