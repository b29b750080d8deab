"""Loads, stores and atomics of many lanes at once, each checked against the bounds of its buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vsim.images import SurfaceImage
from vsim.memory import AddressSpace, Buffer, Bytes

Array = npt.NDArray[Any]
Fault = Callable[[int, int, str, int, int], Exception]
"""Makes the error for (row, lane, buffer name, offset, buffer size)."""


@dataclass
class Flat:
    """The 64-bit address space."""

    memory: AddressSpace


@dataclass
class Rows:
    """Memory of which every thread or group has its own part: bytes, and the place of each thread's part."""

    name: str
    data: Bytes
    base: Array
    size: int
    address_mask: int = 0xFFFF_FFFF_FFFF_FFFF


@dataclass
class Surface:
    """Surfaces by number, one number for each thread."""

    number: Array
    table: dict[int, Buffer | SurfaceImage]


def _gather(data: Bytes, offsets: Array, dtype: np.dtype[Any]) -> Array:
    size = dtype.itemsize
    values: Array
    if size == 1:
        values = data[offsets]
        return values
    if not (offsets & (size - 1)).any():
        values = data[: data.size // size * size].view(dtype)[offsets // size]
        return values
    index = offsets[..., None] + np.arange(size)
    values = np.ascontiguousarray(data[index]).view(dtype)[..., 0]
    return values


def _scatter(data: Bytes, offsets: Array, values: Array) -> None:
    size = values.dtype.itemsize
    if size == 1:
        data[offsets] = values
    elif not (offsets & (size - 1)).any():
        data[: data.size // size * size].view(values.dtype)[offsets // size] = values
    else:
        index = offsets[..., None] + np.arange(size)
        data[index] = np.ascontiguousarray(values)[..., None].view(np.uint8).reshape(index.shape)


class Access:
    """One message: the active lanes with their offsets, split by buffer."""

    def __init__(self, space: Any, address: Array, mask: Any, size: int, fault: Fault) -> None:
        self.fault, self.size = fault, size
        mask_array = np.ones((1, 1), bool) if mask is True else mask
        rows = (
            space.base.shape[0]
            if isinstance(space, Rows)
            else space.number.shape[0]
            if isinstance(space, Surface)
            else 1
        )
        self.shape = np.broadcast_shapes(address.shape, mask_array.shape, (rows, 1))
        self.mask = np.broadcast_to(mask_array, self.shape)
        self.all = mask is True or bool(self.mask.all())
        full = np.broadcast_to(address, self.shape)
        self.address = full.reshape(-1) if self.all else full[self.mask]
        self.space = space

    def lane(self, position: int) -> tuple[int, int]:
        """Row and lane of the n-th active lane."""
        place = position if self.all else int(np.flatnonzero(self.mask.reshape(-1))[position])
        return place // self.shape[1], place % self.shape[1]

    def per_lane(self, values: Array) -> Array:
        full = np.broadcast_to(values, self.shape)
        return full.reshape(-1) if self.all else full[self.mask]

    def spread(self, values: Array) -> Array:
        """Values of the active lanes back in their places, 0 elsewhere."""
        if self.all:
            return values.reshape(self.shape)
        out = np.zeros(self.shape, values.dtype)
        out[self.mask] = values
        return out

    def check(self, offsets: Array, size: int, name: str, chosen: Array | None = None) -> Array:
        """Offsets as signed integers; the first one that is not inside is a problem."""
        limit = size - self.size
        signed = offsets.astype(np.int64, copy=False)
        bad = (signed < 0) | (signed > limit)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            position = first if chosen is None else int(np.flatnonzero(chosen)[first])
            self.problems.append((position, name, int(signed[first]), size))
        return signed

    def parts(self) -> list[tuple[Bytes, Array, Array | None]]:
        """Bytes of a buffer, checked offsets, and which of the active lanes they are for (None for all).

        Raises:
            SimulationError: a lane is outside; the first one is told.
        """
        self.problems: list[tuple[int, str, int, int]] = []
        found = self._parts()
        if self.problems:
            position, name, offset, size = min(self.problems)
            raise self.fault(*self.lane(position), name, offset, size)
        return found

    def _parts(self) -> list[tuple[Bytes, Array, Array | None]]:
        if not self.address.size:
            return []
        space = self.space
        if isinstance(space, Rows):
            offsets = self.check(self.address & np.uint64(space.address_mask), space.size, space.name)
            return [(space.data, offsets + self.per_lane(space.base), None)]
        if isinstance(space, Surface):
            numbers = self.per_lane(space.number)
            low = int(numbers[0])
            keys = [low] if (numbers == low).all() else [int(n) for n in np.unique(numbers)]
            found = []
            for key in keys:
                chosen = None if len(keys) == 1 else numbers == key
                buffer = space.table.get(key)
                part = self.address if chosen is None else self.address[chosen]
                if not isinstance(buffer, Buffer):
                    self.problems.append(
                        (0 if chosen is None else int(np.flatnonzero(chosen)[0]), f"surface {key}", int(part[0]), 0)
                    )
                    continue
                found.append((buffer.data, self.check(part, buffer.size, buffer.name, chosen), chosen))
            return found
        slots = self.address >> np.uint64(32)
        first = slots[0]
        keys = [int(first)] if (slots == first).all() else [int(s) for s in np.unique(slots)]
        found = []
        for key in keys:
            chosen = None if len(keys) == 1 else slots == key
            buffer = space.memory.slots.get(key)
            part = self.address if chosen is None else self.address[chosen]
            if buffer is None:
                position = 0 if chosen is None else int(np.flatnonzero(chosen)[0])
                self.problems.append((position, "", int(part[0]), 0))
                continue
            offsets = self.check(part - np.uint64(buffer.address), buffer.size, buffer.name, chosen)
            found.append((buffer.data, offsets, chosen))
        return found


def load(access: Access, dtype: np.dtype[Any], count: int) -> list[Array]:
    """Consecutive elements for each lane, 0 outside the mask."""
    parts, found = access.parts(), []
    for k in range(count):
        if len(parts) == 1 and parts[0][2] is None:
            values = _gather(parts[0][0], parts[0][1] + k * dtype.itemsize, dtype)
        else:
            values = np.zeros(access.address.size, dtype)
            for data, offsets, chosen in parts:
                values[chosen] = _gather(data, offsets + k * dtype.itemsize, dtype)
        found.append(access.spread(values))
    return found


def store(access: Access, values: list[Array]) -> None:
    """Consecutive elements for each active lane, the first of all lanes first; of lanes with one address the last wins."""
    if not access.address.size:
        return
    parts = access.parts()
    for k, value in enumerate(values):
        active = access.per_lane(value)
        for data, offsets, chosen in parts:
            _scatter(data, offsets + k * value.dtype.itemsize, active if chosen is None else active[chosen])


def _signed(x: Array) -> Array:
    return x.view(f"i{x.itemsize}")


def _float(x: Array) -> Array:
    return x.view(f"f{x.itemsize}")


def _bits(x: Array) -> Array:
    return x.view(f"u{x.itemsize}")


_UPDATES: dict[str, Callable[..., Any]] = {
    "add": lambda old, x: old + x, "sub": lambda old, x: old - x, "inc": lambda old: old + old.dtype.type(1), "dec": lambda old: old - old.dtype.type(1),
    "min": lambda old, x: np.minimum(old, x), "max": lambda old, x: np.maximum(old, x), "xchg": lambda old, x: x, "and": lambda old, x: old & x,
    "or": lambda old, x: old | x, "xor": lambda old, x: old ^ x, "minsint": lambda old, x: _bits(np.minimum(_signed(old), _signed(x))),
    "maxsint": lambda old, x: _bits(np.maximum(_signed(old), _signed(x))), "load": lambda old: old,
    "cmpxchg": lambda old, x, y: np.where(old == x, y, old), "fcmpwr": lambda old, x, y: np.where(_float(old) == _float(x), y, old),
    "fmax": lambda old, x: _bits(np.where((_float(old) > _float(x)) | np.isnan(_float(x)), _float(old), _float(x))),
    "fmin": lambda old, x: _bits(np.where((_float(old) < _float(x)) | np.isnan(_float(x)), _float(old), _float(x))),
    "fadd": lambda old, x: _bits(_float(old) + _float(x)), "fsub": lambda old, x: _bits(_float(old) - _float(x)),
}  # fmt: skip


def _ordered(data: Bytes, offsets: Array, op: str, dtype: np.dtype[Any], sources: list[Array]) -> Array:
    """Old values of atomics at offsets that may repeat, as if done one after the other in order."""
    unique, inverse, counts = np.unique(offsets, return_inverse=True, return_counts=True)
    update = _UPDATES[op]
    if unique.size == offsets.size:
        old = _gather(data, offsets, dtype)
        _scatter(data, offsets, np.ascontiguousarray(update(old, *sources)))
        return old
    order = np.argsort(inverse, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    if op in ("add", "sub", "inc", "dec"):
        # Integers wrap: the old value of a lane is the first old value plus what the lanes before it added.
        step = np.ones(offsets.size, dtype) if not sources else sources[0]
        step = (np.zeros_like(step) - step) if op in ("sub", "dec") else step
        running = np.cumsum(step[order], dtype=dtype)
        before = running - step[order]
        first = _gather(data, unique, dtype)
        group = inverse[order]
        old = np.empty(offsets.size, dtype)
        old[order] = first[group] + (before - before[starts][group])
        ends = np.cumsum(counts) - 1
        _scatter(data, unique, first + (running[ends] - before[starts]))
        return old
    rank = np.empty(offsets.size, np.int64)
    rank[order] = np.arange(offsets.size) - starts[inverse[order]]
    old = np.empty(offsets.size, dtype)
    for r in range(int(counts.max())):
        now = rank == r
        value = _gather(data, offsets[now], dtype)
        old[now] = value
        _scatter(data, offsets[now], np.ascontiguousarray(update(value, *[s[now] for s in sources])))
    return old


def atomic(access: Access, op: str, dtype: np.dtype[Any], sources: list[Array]) -> Array:
    """Atomic operations in lane order; old values, 0 outside the mask."""
    old = np.zeros(access.address.size, dtype)
    active = [access.per_lane(s) for s in sources]
    for data, offsets, chosen in access.parts():
        if chosen is None:
            old = _ordered(data, offsets, op, dtype, active)
        else:
            old[chosen] = _ordered(data, offsets, op, dtype, [s[chosen] for s in active])
    return access.spread(old)
