"""Instructions made ready for execution: what an ALU or OUT instruction reads, computes and writes, worked out once."""

from __future__ import annotations

import functools
from typing import NamedTuple

import visakit.ctm.table as table


class PlannedSource(NamedTuple):
    """A source slot of a unit: a register (``r``), a float constant (``c``) or a number (``n``)."""

    kind: str
    number: int
    relative: int
    value: float


class PlannedOperand(NamedTuple):
    """An operand of a unit: a source (3 is the presubtracted one), the swizzle of its channels, a modifier's bits."""

    source: int
    swizzle: tuple[int, ...]
    modifier: int


class UnitPlan(NamedTuple):
    """One unit of an instruction.

    Attributes:
        code: of the operation, which is None if it does not exist.
        channels: the channels that are read; red, green and blue are 0 to 2, alpha is 3.
        registers, outs: channels that go to a register, and to an output or the predicates.
    """

    code: int
    operation: table.AluOperation | None
    sources: tuple[PlannedSource, ...]
    presubtract: int
    operands: tuple[PlannedOperand, PlannedOperand, PlannedOperand]
    channels: tuple[int, ...]
    registers: tuple[int, ...]
    outs: tuple[int, ...]
    destination: int
    destination_relative: int
    target: int
    omod: int
    clamp: int


class PlannedInstruction(NamedTuple):
    """A decoded instruction; ``units`` are colour and alpha, and empty where absent."""

    kind: int
    fields: table.Values
    units: tuple[UnitPlan, ...]


@functools.lru_cache(4 * table.SLOTS)
def planned(words: tuple[int, ...]) -> PlannedInstruction:
    """An instruction by its words."""
    kind, fields = table.decode(words)
    units = tuple(_unit(fields, unit) for unit in table.UNITS) if kind in (table.ALU, table.OUT) else ()
    return PlannedInstruction(kind, fields, units)


def written_channels(fields: table.Values, mask: str) -> tuple[int, ...]:
    """The channels of ``wmask`` or ``omask``."""
    bits = fields.get(f"{mask}_rgb", 0) | fields.get(f"{mask}_a", 0) << 3
    return tuple(c for c in range(4) if bits >> c & 1)


def _unit(f: table.Values, unit: str) -> UnitPlan:
    mine = (0, 1, 2) if unit == "rgb" else (3,)
    registers, outs = (tuple(c for c in written_channels(f, mask) if c in mine) for mask in ("wmask", "omask"))
    tested = (3 if f.get("result_sel") else 0,) if f.get("result_wmask") else ()
    channels = tuple(c for c in mine if c in registers or c in outs or c in tested)
    a, b, c = (_operand(f, unit, letter) for letter in "abc")
    code = f.get(f"{unit}_op", 0)
    return UnitPlan(
        code,
        table.BY_CODE[unit].get(code),
        tuple(_source(f, unit, slot) for slot in range(3)),
        f.get(f"{unit}_srcp", 0),
        (a, b, c),
        channels,
        registers,
        outs,
        f.get(f"{unit}_dst", 0),
        f.get(f"{unit}_dst_rel", 0),
        f.get(f"{unit}_target", 0),
        f.get(f"{unit}_omod", 0),
        f.get(f"{unit}_clamp", 0),
    )


def _source(f: table.Values, unit: str, slot: int) -> PlannedSource:
    at, relative = f.get(f"{unit}_addr{slot}", 0), f.get(f"{unit}_rel{slot}", 0)
    if f.get(f"{unit}_const{slot}"):
        return PlannedSource("c", at, relative, 0.0)
    if at & table.UNUSED_SOURCE:
        return PlannedSource("n", 0, 0, table.inline_value(at & ~table.UNUSED_SOURCE))
    return PlannedSource("r", at, relative, 0.0)


def _operand(f: table.Values, unit: str, letter: str) -> PlannedOperand:
    fields = table.OPERANDS[unit, letter]
    swizzle = tuple(f.get(name, 0) for name in fields.swizzle)
    return PlannedOperand(f.get(fields.select, 0), swizzle, f.get(fields.modifier, 0))
