"""Operands to text that the assembler reads as the same operands."""

from __future__ import annotations

import re
import struct

from visakit.language import types
from visakit.language.operands import (
    MODIFIER_TEXT,
    SCALAR,
    SURFACE,
    Address,
    General,
    Immediate,
    Indirect,
    Predicate,
    Raw,
    State,
    VectorOperand,
)
from visakit.language.program import FIRST_PREDICATE, Function

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ESCAPES = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def quote(text: str) -> str:
    """A string literal."""
    out = "".join(
        c
        if c.isprintable() and c not in '"\\'
        else _ESCAPES.get(c) or "".join(f"\\x{byte:02x}" for byte in c.encode("utf-8", "surrogateescape"))
        for c in text
    )
    return f'"{out}"'


def immediate(op: Immediate) -> str:
    """An immediate; floats in decimal where that is exact and short, else their bits."""
    t, bits = op.type, op.bits
    if t is types.F or t is types.DF:
        value = struct.unpack(
            *(("<f", struct.pack("<I", bits & 0xFFFFFFFF)) if t is types.F else ("<d", struct.pack("<Q", bits)))
        )[0]
        text = repr(value)
        if len(text) <= 12 and re.fullmatch(r"-?\d+\.\d+", text):
            return f"{text}:{t}"
    return f"{bits:#x}:{t}"


class OperandPrinter:
    """Prints the operands of one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._shown: dict[tuple[int, bool], tuple[VectorOperand, str]] = {}

    def vector(self, op: VectorOperand, destination: bool) -> str:
        """An operand as the assembler reads it."""
        key = (id(op), destination)
        known = self._shown.get(key)
        if known is None:
            known = self._shown[key] = (
                op,
                self._vector(op, destination),
            )  # the operand is kept, so that its id stays its own
        return known[1]

    def _vector(self, op: VectorOperand, destination: bool) -> str:
        prefix = MODIFIER_TEXT.get(op.modifier, "")
        if isinstance(op, General):
            return f"{prefix}{self.place(op)}{self._region(op.region, destination)}"
        if isinstance(op, Immediate):
            return immediate(op)
        if isinstance(op, Address):
            return f"{prefix}{self.function.addresses[op.var].name}({op.offset})<{op.width}>"
        if isinstance(op, Predicate):
            return self.function.predicates[op.var - FIRST_PREDICATE].name
        if isinstance(op, Indirect):
            offset = f",{op.offset}" if op.offset else ""
            name = self.function.addresses[op.var].name
            return f"{prefix}r[{name}({op.element}){offset}]{self._region(op.region, destination)}:{op.type}"
        assert isinstance(op, State)
        name = self.function.surface_name(op.var) if op.kind == SURFACE else self.function.sampler_name(op.var)
        return f"{prefix}{name}({op.offset})"

    def _region(self, region: tuple[int | None, int | None, int | None], destination: bool) -> str:
        v, w, h = region
        if w is None or destination:
            return f"<{h}>"
        return f"<{w},{h}>" if v is None else f"<{v};{w},{h}>"

    def place(self, op: General) -> str:
        return f"{self.function.variable_name(op.var)}({op.row},{op.col})"

    def raw(self, op: Raw) -> str:
        return f"{self.function.variable_name(op.var)}.{op.offset}"

    def bare_raw(self, op: Raw) -> str:
        return self.raw(op) if op.offset else self.function.variable_name(op.var)

    def bare_scalar(self, op: VectorOperand) -> str:
        if isinstance(op, Immediate) and op.type is types.UD:
            return f"{op.bits:#x}"
        if isinstance(op, General) and op.region == SCALAR and not op.modifier:
            return self.place(op) if op.row or op.col else self.function.variable_name(op.var)
        return self.vector(op, False)

    def label(self, index: int) -> str:
        name = self.function.labels[index].name
        return name if _IDENTIFIER.fullmatch(name) else quote(name)

    def string(self, index: int) -> str:
        text = self.function.strings[index]
        return text if _IDENTIFIER.fullmatch(text) else quote(text)

    def quoted(self, index: int) -> str:
        return quote(self.function.strings[index])
