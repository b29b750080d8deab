"""What the operations of the colour and the alpha unit compute, on one value for each of many processors.

The arithmetic is that of 32-bit floats with denormals as zeros and one standard NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import visakit.ctm.table as table
from visakit.ctm.plan import PlannedOperand, UnitPlan
from visakit.forks import cached_property
from vsim.launch.arrays import Array, Bools

_SIGN, _EXPONENT = np.uint32(0x80000000), np.uint32(0x7F800000)
_NUMBERS = (np.float32(0), np.float32(0.5), np.float32(1))
"""What swizzles behind the four channels stand for."""
Slots = tuple[Callable[[int], Array], Callable[[int], Array], Callable[[int], Array]]
_NAN = np.uint32(0x7FFFFFFF).view(np.float32)


class SourceBank:
    """What the source slots of an instruction hold, on ``count`` processors.

    Args:
        slots: by unit, what gives a channel of each of its three slots: a value for each processor, or one for all.
        presubtract: the operation of each unit that makes source 3.
    """

    def __init__(self, slots: tuple[Slots, Slots], presubtract: tuple[int, int], count: int) -> None:
        self.slots, self.presubtract, self.count = slots, presubtract, count

    def channel(self, source: int, channel: int) -> Array:
        """A channel of a source; alpha comes from the alpha unit's slots, also where the colour unit reads it."""
        unit = int(channel == 3)
        slots = self.slots[unit]
        if source < 3:
            return slots[source](channel)
        kind = self.presubtract[unit]
        first = slots[0](channel)
        if kind == 0:
            return np.asarray(1 - 2 * first, np.float32)
        if kind == 3:
            return np.asarray(1 - first, np.float32)
        second = slots[1](channel)
        return np.asarray(second - first if kind == 1 else second + first, np.float32)


class UnitOperands:
    """The operands of a unit, (channels, count), each made at its first use.

    Args:
        rows: the channels of the unit that are computed, counted from its first one.
    """

    def __init__(self, bank: SourceBank, operands: tuple[PlannedOperand, ...], rows: tuple[int, ...]) -> None:
        self.bank, self.operands, self.rows = bank, operands, rows

    @cached_property
    def a(self) -> Array:
        """The first operand."""
        return self._operand(0)

    @cached_property
    def b(self) -> Array:
        """The second operand."""
        return self._operand(1)

    @cached_property
    def c(self) -> Array:
        """The third operand."""
        return self._operand(2)

    def _operand(self, which: int) -> Array:
        source, swizzle, modifier = self.operands[which]
        value = np.empty((len(self.rows), self.bank.count), np.float32)
        for place, row in enumerate(self.rows):
            channel = swizzle[row]
            value[place] = self.bank.channel(source, channel) if channel < 4 else _NUMBERS[min(channel, 6) - 4]
        if modifier & 2:
            np.abs(value, out=value)
        if modifier & 1:
            np.negative(value, out=value)
        return flushed(value)


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


_DOTS = (table.DP3, table.DP4, table.D2A)


class UnitArithmetic:
    """Both units for one instruction.

    Args:
        group: processors of a group, whose quads of 2 x 2 MDH and MDV look at.
        legacy_multiply: zero times anything is zero.
    """

    def __init__(self, rgb: UnitPlan, alpha: UnitPlan, bank: SourceBank, group: int, legacy_multiply: bool) -> None:
        self.rgb, self.alpha, self.bank = rgb, alpha, bank
        self.group, self.legacy_multiply = group, legacy_multiply

    def results(self) -> dict[int, Array]:
        """The channels that are read: a finished value for each processor."""
        found: dict[int, Array] = {}
        rgb, alpha = self.rgb, self.alpha
        special = None
        if alpha.channels or (rgb.channels and rgb.operation is table.SOP):
            special = self._alpha()
            if alpha.channels:
                found[3] = finished(special, alpha.omod, alpha.clamp)[0]
        if rgb.channels:
            value = finished(self._colours(special), rgb.omod, rgb.clamp)
            # One row stands for all channels where an operation gives them the same value.
            found |= {c: value[row if len(value) > 1 else 0] for row, c in enumerate(rgb.channels)}
        return found

    def _alpha(self) -> Array:
        """What the alpha unit gives, (1, count)."""
        operation = self.alpha.operation
        assert operation is not None
        if operation is table.DP:
            return self._dot()
        operands = UnitOperands(self.bank, self.alpha.operands, (0,))
        if operation in _TRANSCENDENTAL:
            return np.asarray(_TRANSCENDENTAL[operation](operands.a), np.float32)
        return self._common(operation, operands, (3,))

    def _colours(self, special: Array | None) -> Array:
        """What the colour unit gives, (channels, count) or (1, count)."""
        operation = self.rgb.operation
        assert operation is not None
        if operation is table.SOP:
            assert special is not None
            return special
        if operation in _DOTS:
            return self._dot()
        channels = self.rgb.channels
        return self._common(operation, UnitOperands(self.bank, self.rgb.operands, channels), channels)

    def _dot(self) -> Array:
        """The sum of products that dot products of either unit give, (1, count)."""
        colours = UnitOperands(self.bank, self.rgb.operands, (0, 1, 2))
        product = self._product(colours)
        if self.rgb.operation is table.DP3:
            return np.asarray(product.sum(axis=0))[None]
        if self.rgb.operation is table.DP4:
            alphas = self._product(UnitOperands(self.bank, self.alpha.operands, (0,)))
            return np.asarray(product.sum(axis=0) + alphas)
        return np.asarray(product[0] + product[1] + colours.c[2])[None]

    def _common(self, operation: table.AluOperation, x: UnitOperands, channels: tuple[int, ...]) -> Array:
        """What both units can do, each on its own channels."""
        if operation is table.MAD:
            return np.asarray(self._product(x) + x.c, np.float32)
        if operation in (table.MDH, table.MDV):
            source = np.empty((len(channels), self.bank.count), np.float32)
            for row, channel in zip(source, channels, strict=True):
                row[...] = self.bank.channel(0, channel)
            neighbour = 1 if operation is table.MDH else 2
            return np.asarray(self._corner(source, 0) * x.b + self._corner(source, neighbour))
        return _COMMON[operation](x)

    def _corner(self, value: Array, corner: int) -> Array:
        """The value of one corner of each quad of 2 x 2 processors, in all four of them."""
        place = np.arange(self.group)
        corners = np.minimum(place // 4 * 4 + corner, self.group - 1)
        return np.asarray(value.reshape(len(value), -1, self.group)[:, :, corners].reshape(value.shape))

    def _product(self, x: UnitOperands) -> Array:
        product = np.asarray(x.a * x.b)
        return np.where((x.a == 0) | (x.b == 0), np.float32(0), product) if self.legacy_multiply else product


def flushed(x: Array) -> Array:
    """Denormals are zeros of their sign; ``x`` of 32-bit floats is changed in place."""
    bits = x.view(np.uint32)
    np.bitwise_and(bits, _SIGN, out=bits, where=bits & _EXPONENT == 0)
    return x


def finished(x: Array, omod: int, clamp: int) -> Array:
    """A result with output modifier and clamp, standard NaN and no denormals."""
    factors = (1, 2, 4, 8, 0.5, 0.25, 0.125)
    if omod >= len(factors):
        return np.asarray(x, np.float32)
    x = flushed(x * np.float32(factors[omod]))
    x = np.where(np.isnan(x), _NAN, x)
    return np.clip(np.nan_to_num(x, nan=0.0), 0, 1).astype(np.float32) if clamp else x.astype(np.float32)


def against_zero(x: Array, comparison: int) -> Bools:
    """A comparison by its code, for each processor."""
    comparisons: tuple[Bools, ...] = (x == 0, x < 0, x >= 0, x != 0)
    return comparisons[comparison]
