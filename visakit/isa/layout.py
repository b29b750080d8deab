"""The layout of an instruction: its fields in binary order, and the notation in which records write them down.

A layout lists the fields after the opcode byte, separated by blanks:

====== ============================================== =========================================
kind   field                                          value in ``Instruction.args``
====== ============================================== =========================================
ec     execution size and mask, one byte              :class:`~visakit.language.operands.Execution`
pr     predicate, two bytes                           ``PredicateControl`` or None
d: s:  vector operand, destination or source          one of the operand classes
w: r:  raw operand, destination or source             :class:`~visakit.language.operands.Raw`
T: S:  surface or sampler index, one byte             int
L:     label index, two bytes                         int
B: H:  unsigned integer of 1 or 2 bytes               int
W: I:  unsigned and signed integer of 4 bytes         int
X:     unsigned integer of 8 bytes                     int
A:     how a matrix is addressed: no byte, it follows int
       from the operands
N2:    name of a symbol, two bytes                    int, index into the function's strings
N4:    name of a source file, four bytes              int, index into the function's strings
n:x    count of the list field x, one byte            (none)
L*: r* list of labels or raw operands                 tuple
====== ============================================== =========================================

``B:a.5+b.3`` packs fields into bits, lowest first; ``B:=3`` is a constant, ``B:=a`` a copy of field ``a``;
``s?mode&4:x`` is present only if that bit of an earlier field is set, ``T?mode!4:x`` if it is not (fields of other kinds
likewise). ``r!`` is the list of render-target outputs, whose length follows from ``mode``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from visakit.isa.enums import TARGET_OUTPUTS


class Condition(NamedTuple):
    """A bit of an earlier field, and whether it must be set."""

    field: str
    bit: int
    is_set: bool

    def holds(self, value: int) -> bool:
        """Whether the bit is as it must be."""
        return bool(value & self.bit) == self.is_set


class Field(NamedTuple):
    """One field of the binary form. ``parts`` are (name, bits) of a packed integer."""

    name: str
    kind: str
    parts: tuple[tuple[str, int], ...] = ()
    constant: int | None = None
    copy_of: str = ""
    condition: Condition | None = None


_WIDTHS = {"B": 1, "H": 2, "W": 4, "I": 4, "X": 8, "n": 1}
_ITEM = re.compile(r"(?P<kind>[A-Za-z]\w?[*!]?)(?:\?(?P<cond>\w+)(?P<sign>[&!])(?P<bit>\d+))?(?::(?P<rest>.+))?$")


def parse_layout(layout: str) -> tuple[Field, ...]:
    """Fields of a layout in the notation above."""
    fields: list[Field] = []
    for item in layout.split():
        match = _ITEM.match(item)
        assert match, item
        kind, rest = match["kind"], match["rest"] or ""
        condition = Condition(match["cond"], int(match["bit"]), match["sign"] == "&") if match["cond"] else None
        if kind in ("ec", "pr"):
            fields.append(Field({"ec": "exec", "pr": "pred"}[kind], kind))
        elif rest.startswith("="):
            value = rest[1:]
            fields.append(Field("", kind, constant=int(value)) if value.isdigit() else Field("", kind, copy_of=value))
        elif kind in _WIDTHS and ("+" in rest or "." in rest):
            parts = [p.split(".") for p in rest.split("+")]
            fields.append(Field("", kind, parts=tuple((n, int(b)) for n, b in parts)))
        else:
            fields.append(Field(rest, kind, condition=condition))
    return tuple(fields)


def width_of(kind: str) -> int:
    """Bytes of an integer field."""
    return _WIDTHS[kind]


def target_outputs(mode: int) -> int:
    """Number of outputs of a render-target write with this mode: four colours, and one for each bit that adds one."""
    return 4 + sum(1 for bit in TARGET_OUTPUTS if mode & bit)
