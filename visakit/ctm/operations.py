"""Arithmetic and fetches to the fields of an instruction: operations into units, registers into source slots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import visakit.ctm.table as table
from visakit.ctm.builder import StatementError, encode_fields, register_number
from visakit.ctm.syntax import (
    ArithmeticStatement,
    ArithmeticUnit,
    CompareUnit,
    Extent,
    FetchCoordinates,
    FetchStatement,
    InlineNumber,
    KillStatement,
    MaskedDestination,
    OperationUnit,
    SetUnit,
    SourceOperand,
    UnitFlag,
)
from visakit.diagnostics import counted, did_you_mean

_ALL = "rgba"


class SourceAddress(NamedTuple):
    """What a source slot reads: a register (``r``), a constant (``c``) or a number by its code (``n``)."""

    kind: str
    number: int
    relative: int = 0


@dataclass(frozen=True, slots=True)
class UnitSource:
    """A source of a unit, with a swizzle of all four channels."""

    address: SourceAddress
    swizzle: str = _ALL
    negative: bool = False
    absolute: bool = False


_NOTHING = SourceAddress("n", 0)
_NUMBERS = {n: UnitSource(_NOTHING, n * 4) for n in "01"}
"""The numbers that swizzles have."""


def unit_source(operand: SourceOperand) -> UnitSource:
    """A source as the encoding has it.

    Raises:
        StatementError: T003 or T004, the number or the register does not exist.
    """
    place = operand.place
    if isinstance(place, InlineNumber):
        if place.value == 0:
            return UnitSource(_NOTHING, "0000", operand.negative, operand.absolute)
        if place.value not in table.INLINE_CODES:
            nearest = min(table.INLINE_CODES, key=lambda x: abs(x - place.value))
            hint = f"the nearest is {nearest:g}; or put it into a constant with .const"
            raise StatementError("T003", f"{place.text} is not an inline number", hint, operand.extent)
        address = SourceAddress("n", table.INLINE_CODES[place.value])
        return UnitSource(address, _ALL, operand.negative, operand.absolute)
    address = SourceAddress(place.file, register_number(place), int(place.relative))
    return UnitSource(address, _padded(operand.swizzle), operand.negative, operand.absolute)


def _padded(swizzle: str) -> str:
    """All four channels: the last one is repeated for missing ones."""
    return (swizzle + swizzle[-1] * 3)[:4] if swizzle else _ALL


class ArithmeticEncoder:
    """The fields of an ALU or OUT instruction, one operation after the other."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.reads: list[tuple[str, str, UnitSource]] = []
        """What the units read: unit, letter of the operand, source."""

    def add(self, unit: ArithmeticUnit) -> int:
        """An operation; ALU or OUT, whichever type of instruction it needs."""
        sources = [unit_source(o) for o in unit.operands]
        if isinstance(unit, CompareUnit):
            self.values |= {"result_wmask": 1, "result_op": table.COMPARISONS.index(unit.comparison)}
            self._operation(_difference(sources), sources, ("rgb",), unit.extent)
            return table.ALU
        destination = unit.destination
        units = _units_of(destination)
        _check_destination(unit)
        if destination.register.file == "r":
            self._write_register(destination, units)
        else:
            self._write_target(unit, units)
        self._operation(_difference(sources) if isinstance(unit, SetUnit) else unit.name, sources, units, unit.extent)
        return table.OUT if destination.register.file == "o" else table.ALU

    def _write_register(self, destination: MaskedDestination, units: tuple[str, ...]) -> None:
        register = destination.register
        for u in units:
            self.values[f"{u}_dst"] = register_number(register)
            if register.relative:
                self.values[f"{u}_dst_rel"] = 1
        self._mask("wmask", destination.mask)

    def _write_target(self, unit: OperationUnit | SetUnit, units: tuple[str, ...]) -> None:
        """An output by its number, predicates by the comparison with zero that makes them."""
        destination = unit.destination
        register = destination.register
        code = table.COMPARISONS.index(unit.comparison) if isinstance(unit, SetUnit) else register_number(register)
        for u in units:
            self.values[f"{u}_target"] = code
        self._mask("omask", destination.mask)

    def _mask(self, name: str, mask: str) -> None:
        for field, bits in zip((f"{name}_rgb", f"{name}_a"), table.mask_bits(mask), strict=True):
            self.values[field] = self.values.get(field, 0) | bits

    def _operation(self, name: str, sources: list[UnitSource], units: tuple[str, ...], extent: Extent) -> None:
        """Operation codes and operands of the units."""
        shorthand = table.SHORTHANDS.get(name)
        if shorthand:
            _count(name, shorthand.operands, sources, extent)
            sources = _in_order(shorthand, sources)
        operation = table.MAD if shorthand else table.OPERATIONS[name]
        for u in units:
            code = operation.code(u)
            if code is None:
                other, hint = ("alpha", "write only .a") if u == "rgb" else ("colour", "leave .a out of the mask")
                raise StatementError("T008", f"{name} is an operation of the {other} unit", hint, extent)
            _count(name, operation.operands, sources, extent)
            if f"{u}_op" in self.values:
                message = f"both operations use the {'alpha' if u == 'alpha' else 'colour'} unit"
                raise StatementError("T005", message, "one writes .rgb, the other .a", extent)
            self.values[f"{u}_op"] = code
            self.reads += [(u, letter, s) for letter, s in zip("abc", sources, strict=False)]
        if operation is table.DP4 and "alpha" not in units:
            self.reads += [("alpha", letter, s) for letter, s in zip("ab", sources, strict=False)]

    def place_sources(self) -> None:
        """Spread the registers over the three source slots of the colour and the alpha addresses."""
        slots, chosen = _source_slots(self.reads)
        values = self.values
        for k, slot in enumerate(slots):
            for unit in table.UNITS:
                kind, number, relative = slot.get(unit, _NOTHING)
                values[f"{unit}_addr{k}"] = number | (table.UNUSED_SOURCE if kind == "n" else 0)
                if kind == "c":
                    values[f"{unit}_const{k}"] = 1
                if relative:
                    values[f"{unit}_rel{k}"] = 1
        for unit, letter, s in self.reads:
            fields = table.OPERANDS[unit, letter]
            values[fields.select] = chosen.get(s.address, 0)
            values[fields.modifier] = int(s.negative) | int(s.absolute) << 1
            for name, channel in zip(fields.swizzle, _channels(unit, s), strict=True):
                values[name] = table.SWIZZLES.index(channel)

    def flag(self, flag: UnitFlag) -> None:
        """The contents of braces."""
        name, value = flag.name, flag.value
        if name == "clamp":
            self.values |= {"rgb_clamp": 1, "alpha_clamp": 1}
        elif name == "omod":
            code = _index(value, table.OMODS, "output modifier", flag)
            self.values |= {"rgb_omod": code, "alpha_omod": code}
        elif name in ("if", "pred"):
            selects = tuple(table.PRED_SELECTS)
            code = table.PRED_SELECTS[selects[_index(value, selects, "predicate", flag)]]
            self.values |= {"rgb_pred": code, "alpha_pred": code}
            self.values |= {"rgb_pred_inv": int(flag.inverted), "alpha_pred_inv": int(flag.inverted)}
        elif name == "alu":
            if value not in ("r", "a") or flag.detail not in table.COMPARISONS:
                shown = f"{value}.{flag.detail}" if flag.detail else value
                hint = "write {alu=r.ge} or {alu=a.ne}"
                raise StatementError("T010", f"'{shown}' is not a test of a result", hint, flag.extent)
            self.values |= {"result_wmask": 1, "result_sel": int(value == "a")}
            self.values["result_op"] = table.COMPARISONS.index(flag.detail)
        elif name in table.FLAGS:
            self.values[table.FLAGS[name]] = 1
        else:
            hint = did_you_mean(name, [*table.FLAGS, *table.VALUE_FLAGS])
            raise StatementError("T010", f"'{name}' is not a flag", hint, flag.extent)


def _check_destination(unit: OperationUnit | SetUnit) -> None:
    destination = unit.destination
    if destination.register.file == "c":
        raise StatementError("T006", "a constant cannot be a destination", extent=destination.extent)
    predicates = destination.register.file == "p"
    if isinstance(unit, SetUnit) and not predicates:
        raise StatementError("T006", "set writes predicates", "write set.ge p.r, r0, r1", destination.extent)
    if predicates and not isinstance(unit, SetUnit):
        message = "predicates are written with set.eq, set.lt, set.ge or set.ne"
        raise StatementError("T006", message, "write set.ge p.r, r0, r1", destination.extent)


def _index(value: str, words: tuple[str, ...], what: str, flag: UnitFlag) -> int:
    if value not in words:
        raise StatementError("T010", f"there is no {what} '{value}'", f"{what}s are {', '.join(words)}", flag.extent)
    return words.index(value)


def _units_of(destination: MaskedDestination) -> tuple[str, ...]:
    """The units that write a destination."""
    mask = destination.mask
    if set(mask) - set(_ALL) or len(set(mask)) != len(mask):
        hint = "a mask has some of r, g, b and a, each once"
        raise StatementError("T006", f".{mask} is not a mask", hint, destination.extent)
    return tuple(u for u, channels in table.CHANNELS.items() if set(mask) & set(channels))


def _difference(sources: list[UnitSource]) -> str:
    """The operation whose result a comparison of one or two sources compares with zero."""
    return table.SUB.name if len(sources) == 2 else table.MOV.name


def _count(name: str, count: int, sources: list[UnitSource], extent: Extent) -> None:
    if len(sources) != count:
        message = f"{name} takes {counted(count, 'operand')}, found {len(sources)}"
        raise StatementError("T007", message, extent=extent)


def _in_order(shorthand: table.Shorthand, sources: list[UnitSource]) -> list[UnitSource]:
    """The operands of the MAD that a shorthand stands for."""
    named = _NUMBERS | dict(zip("ab", sources, strict=False))
    if "b" in named:
        named["-b"] = replace(named["b"], negative=not named["b"].negative)
    return [named[o] for o in shorthand.order]


def _channels(unit: str, source: UnitSource) -> str:
    """The part of a swizzle that a unit looks at."""
    return source.swizzle[:3] if unit == "rgb" else source.swizzle[3]


def _source_slots(
    reads: list[tuple[str, str, UnitSource]],
) -> tuple[list[dict[str, SourceAddress]], dict[SourceAddress, int]]:
    """What the three slots read for colour and alpha, and the slot of each address.

    A slot's colour channels come from one address and its alpha channel from another, or both from the same.
    """
    needs: dict[SourceAddress, set[str]] = {}
    for unit, _, s in reads:
        parts = {"alpha" if c == "a" else "rgb" for c in _channels(unit, s) if c in _ALL}
        if parts:
            needs.setdefault(s.address, set()).update(parts)
    slots: list[dict[str, SourceAddress]] = [{}, {}, {}]
    chosen: dict[SourceAddress, int] = {}
    for address, parts in sorted(needs.items(), key=lambda n: -len(n[1])):
        free = next((k for k, slot in enumerate(slots) if not parts & set(slot)), None)
        if free is None:
            message = "the instruction reads more registers and constants than there are source slots"
            raise StatementError("T009", message, "three for colour and three for alpha")
        slots[free] |= {part: address for part in parts}
        chosen[address] = free
    return slots, chosen


def arithmetic_words(statement: ArithmeticStatement) -> tuple[int, ...]:
    """The words of an ALU or OUT instruction.

    Raises:
        StatementError: T002 to T010, the machine cannot do this.
    """
    encoder = ArithmeticEncoder()
    kinds = [encoder.add(u) for u in statement.units]
    if len(set(kinds)) > 1:
        message = "one of the units writes an output, the other a register"
        raise StatementError("T005", message, "an instruction does one of both", statement.units[1].extent)
    for flag in statement.flags:
        encoder.flag(flag)
    encoder.place_sources()
    return encode_fields(kinds[0], encoder.values)


def _coordinate_fields(coordinates: FetchCoordinates) -> dict[str, int]:
    """The register and the channels of the four texture coordinates."""
    swizzle = coordinates.swizzle
    if set(swizzle) - set(_ALL):
        hint = "coordinates are channels r, g, b and a of the register"
        raise StatementError("T006", f".{swizzle} does not select a texture coordinate", hint, coordinates.extent)
    channels = zip("strq", _padded(swizzle), strict=True)
    return {"src": register_number(coordinates.register)} | {f"swiz_{c}": _ALL.index(s) for c, s in channels}


def fetch_words(statement: FetchStatement) -> tuple[int, ...]:
    """The words of a fetch.

    Raises:
        StatementError: T004, T006 or T010, a register, the swizzle or a flag does not exist.
    """
    for flag in statement.flags:
        if flag.name != "scaled":
            raise StatementError("T010", f"'{flag.name}' is not a flag of a fetch", "its flag is scaled", flag.extent)
    _units_of(statement.destination)
    wmask_rgb, wmask_a = table.mask_bits(statement.destination.mask)
    values = {
        "inst": table.TEX_OPS[statement.name],
        "tex_id": register_number(statement.input),
        "dst": register_number(statement.destination.register),
        "sem_acquire": 1,
        "unscaled": int(not statement.flags),
        "wmask_rgb": wmask_rgb,
        "wmask_a": wmask_a,
    }
    values |= {f"swiz_out_{c}": i for i, c in enumerate(_ALL)}
    values |= _coordinate_fields(statement.coordinates)
    return encode_fields(table.TEX, values)


def kill_words(statement: KillStatement) -> tuple[int, ...]:
    """The words of a texkill.

    Raises:
        StatementError: T004 or T006, the register or the swizzle does not exist.
    """
    coordinates = _coordinate_fields(statement.coordinates)
    return encode_fields(table.TEX, {"inst": table.TEX_KILL} | coordinates)
