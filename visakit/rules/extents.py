"""How far operands reach: the bytes and elements of their variables, and where parts of messages begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from visakit.diagnostics import counted
from visakit.isa import InstructionDesc
from visakit.isa.enums import MATRIX_OFFSETS
from visakit.language.operands import SURFACE, Address, General, Indirect, Raw, State, region_elements
from visakit.language.platforms import SMALLEST_GRF_SIZE
from visakit.language.program import (
    FIRST_VARIABLE,
    READ_ONLY_VARIABLES,
    AliasCircle,
    Fields,
    Function,
    Instruction,
)
from visakit.rules.message_sizes import MATRIX_PAYLOAD, message_sizes
from visakit.rules.violation import Violation

_SCALAR = ("memory", "lsc", "sampler", "misc", "sync", "flow")
"""Categories of instructions whose vector operands are scalar operands, for every execution size: their regions are
ignored (manual, chapter 5, "Scalar Operands")."""


class _Place(NamedTuple):
    """The place of a variable: root variable and first byte in it, its bytes, and those of the root's storage."""

    root: int
    start: int
    size: int
    room: int


class Extents:
    """How far operands of one function reach, in bytes of their variables; ``grf_size`` in bytes, 0 where the platform
    is not known.
    """

    def __init__(self, function: Function, grf_size: int) -> None:
        self.function, self.grf_size = function, grf_size or SMALLEST_GRF_SIZE
        self._places: dict[int, _Place | None] = {}

    def place(self, var: int) -> _Place | None:
        """The place of a variable; None if its aliases are circular, which the layout of registers reports."""
        if var not in self._places:
            try:
                root, start = self.function.alias_root(var)
            except AliasCircle:
                self._places[var] = None
            else:
                room = self.function.variable_size(root, self.grf_size)
                if root >= FIRST_VARIABLE:  # Messages may fill its last register, as compilers have them do.
                    room = -(-room // self.grf_size) * self.grf_size
                self._places[var] = _Place(root, start, self.function.variable_size(var, self.grf_size), room)
        return self._places[var]

    def reaches(self, var: int, end: int) -> bool:
        """Whether a variable has the bytes before ``end``, and its root has room for them."""
        at = self.place(var)
        return at is not None and end <= at.size and at.start + end <= at.room

    def region(self, op: General, count: int) -> tuple[int, int]:
        """The first byte of a region of ``count`` elements, and the byte after its last."""
        size = self.function.variable_type(op.var).size
        low = op.row * self.grf_size + op.col * size
        return low, low + (max(region_elements(op.region, count)) + 1) * size

    def operand(self, name: str, op: object, count: int) -> Violation | None:
        """The error of the place of a vector operand of a number of elements."""
        if isinstance(op, General):
            low, end = self.region(op, count) if op.var else (0, 0)
            tail = f" and has {counted(count, 'element')}"
            return self._bytes(name, op.var, (low, end), "the operand", tail)
        if isinstance(op, Address):
            elements = count if name == "dst" else max(1, min(op.width, count))
            return self._elements(name, op.var, op.offset + elements)
        if isinstance(op, Indirect):
            vertical, width, _ = op.region
            rows = (count - 1) // width if vertical is None and width is not None else 0
            return self._elements(name, op.var, op.element + rows + 1)
        return None

    def state(self, name: str, op: State, count: int) -> Violation | None:
        """The error of the place of elements of a surface or sampler variable."""
        f, end = self.function, op.offset + count
        owner = f.surface_name(op.var) if op.kind == SURFACE else f.sampler_name(op.var)
        return _missing(name, owner, f.state_elements(op.kind, op.var), end)

    def message(self, name: str, raw: Raw, size: int) -> Violation | None:
        """The error of the place of bytes of a message."""
        if not raw.var:
            return None
        tail = f" and has {counted(size, 'byte')}"
        return self._bytes(name, raw.var, (raw.offset, raw.offset + size), "the message", tail, whole=False)

    def _bytes(
        self, name: str, var: int, place: tuple[int, int], what: str, tail: str, whole: bool = True
    ) -> Violation | None:
        """A variable that is too short for a place, from one byte to before another.

        ``whole``: of an ordinary variable its own bytes count, not those of its registers.
        """
        low, end = place
        at = self.place(var) if var else None
        if at is None or self.reaches(var, end):
            return None
        code = "W010"
        if at.start + end > at.room and (at.root < FIRST_VARIABLE or end <= at.size):
            code = "V032" if at.root < FIRST_VARIABLE else code
            var, low, end = at.root, low + at.start, end + at.start
        elif not whole and at.start + end <= at.room:
            return None
        size = self.function.variable_size(var, self.grf_size)
        room = f"'{self.function.variable_name(var)}', which has {size} bytes"
        message = f"{what} reaches to byte {end} of {room}"
        return Violation(code, message, f"it begins at byte {low}{tail}", name)

    def _elements(self, name: str, var: int, end: int) -> Violation | None:
        declared = self.function.addresses[var]
        return _missing(name, declared.name, declared.elements, end)


def _missing(name: str, owner: str, elements: int, end: int) -> Violation | None:
    """Elements before ``end`` that a variable with fewer does not have."""
    if end <= elements:
        return None
    message = f"the operand reaches element {end - 1} of '{owner}', which has {counted(elements, 'element')}"
    return Violation("W010", message, f"declare it with num_elts={end}", name)


class CheckedFields(NamedTuple):
    """The fields of a form whose extents are checked."""

    vectors: tuple[str, ...]
    raws: tuple[str, ...]
    lists: tuple[str, ...]
    written: tuple[str, ...]
    single: bool


_CHECKED_FIELDS: dict[InstructionDesc, CheckedFields] = {}


def checked_fields(desc: InstructionDesc) -> CheckedFields:
    """The fields of an instruction whose extents are checked."""
    found = _CHECKED_FIELDS.get(desc)
    if found is None:
        fields = [f for f in desc.fields if f.name and f.constant is None and not f.copy_of]
        found = _CHECKED_FIELDS[desc] = CheckedFields(
            tuple(f.name for f in fields if f.kind in ("d", "s")),
            tuple(f.name for f in fields if f.kind in ("r", "w")),
            tuple(f.name for f in fields if f.kind in ("r*", "r!")),
            tuple(f.name for f in fields if f.kind in ("d", "w")),
            desc.category in _SCALAR,
        )
    return found


def count_of(desc: InstructionDesc, execution_size: int) -> int:
    """Elements of a vector operand: one for each lane, but of scalar operands one."""
    return 1 if takes_scalars(desc) else execution_size


def takes_scalars(desc: InstructionDesc) -> bool:
    """Whether the vector operands of an instruction are scalar operands, whose regions are ignored."""
    return checked_fields(desc).single


def has_message(desc: InstructionDesc) -> bool:
    """Whether an instruction has message operands."""
    return bool(checked_fields(desc).raws or checked_fields(desc).lists)


def read_only_writes(function: Function, i: Instruction) -> Iterator[Violation]:
    """The destinations that are registers of the dispatcher and the hardware.

    Through an alias, %r0 is a register like others, as the reference finalizer has it.
    """
    for name in checked_fields(i.desc).written:
        op = i.args.get(name)
        if isinstance(op, (General, Raw)) and op.var in READ_ONLY_VARIABLES:
            owner = function.variable_name(op.var)
            yield Violation("V072", f"'{owner}' is only read", "write a variable of your own, and read that", name)


def message_overruns(extents: Extents, i: Instruction) -> Iterator[Violation]:
    """The operands of a message that exceed their variables."""
    fields, args = checked_fields(i.desc), i.args
    sizes = message_sizes(i, extents.grf_size)
    raws = [(name, args[name], sizes.get(name, 1)) for name in fields.raws if name in args]
    raws += [(name, raw, 1) for name in fields.lists for raw in args.get(name, ())]
    raws += [(name, raw, MATRIX_PAYLOAD) for name, raw in _matrix_payload(extents, args)]
    for name, raw, size in raws:
        violation = extents.message(name, raw, size) if size else None
        if violation:
            yield violation


def state_overruns(extents: Extents, i: Instruction) -> Iterator[Violation]:
    """The states of a move that reach beyond the elements of their variables: a lane takes an element each."""
    if i.desc.moves_states:
        for name in i.desc.classes:
            op = i.args[name]
            if isinstance(op, State) and (violation := extents.state(name, op, i.args["exec"].size)):
                yield violation


def _matrix_payload(extents: Extents, args: Fields) -> list[tuple[str, Raw]]:
    """The payload with the address of a block message, which is written as a scalar register."""
    if args.get("addressing") != MATRIX_OFFSETS:
        return []
    low, _ = extents.region(args["base"], 1)
    return [("base", Raw(args["base"].var, low))]


def unaligned_messages(extents: Extents, i: Instruction) -> Iterator[Violation]:
    """The parts of a message that do not begin with a register (manual, chapter 5, "Raw Operands")."""
    fields, args, grf = checked_fields(i.desc), i.args, extents.grf_size
    raws = [(name, args[name]) for name in fields.raws if name in args]
    if fields.lists:
        raws += [(name, raw) for name in fields.lists for raw in args.get(name, ())]
    for name, raw in [*raws, *_matrix_payload(extents, args)]:
        at = extents.place(raw.var) if raw.var else None
        unit = _unit(extents, i, name, raw)
        if at is None or not (at.start + raw.offset) % unit:
            continue
        owner = extents.function.variable_name(at.root)
        where = f"begins at byte {at.start + raw.offset} of '{owner}', not"
        if unit == grf:
            message = f"the message {where} with a register of {grf} bytes"
            hint = 'copy it with mov to the beginning of a register (manual, chapter 5, "Raw Operands")'
        else:
            message, hint = f"the operand {where} at a multiple of {unit} bytes", "copy it with mov to such a place"
        yield Violation("V056", message, hint, name)


def _unit(extents: Extents, i: Instruction, name: str, raw: Raw) -> int:
    """Alignment of a message operand in bytes: a register, unless the table has a smaller one."""
    unit = i.desc.message_alignment.get(name)
    if unit is None:
        return extents.grf_size
    size = extents.function.variable_type(raw.var).size if raw.var else 1
    return min(unit or size * i.args["exec"].size, extents.grf_size)
