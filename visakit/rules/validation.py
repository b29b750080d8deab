"""Conditions of modules that can run: complete references, and operands inside of their registers.

:func:`visakit.validate` looks at all of a module, whether it came from text, bytes, an object, an image or Python. The
assembler shows the same findings with their places (:mod:`visakit.rules.instruction_rules`), so each rule is here
alone.

Operands that exceed their variable have one rule: an error for predefined registers, a warning for ordinary variables,
and a fault when the instruction executes. docs/safety.md has the whole argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from visakit.binary.declarations import (
    LABEL,
    MAXIMUM_OFFSET,
    MAXIMUM_SIZE,
    MINIMUM_OFFSET,
    SAMPLERS,
    SURFACES,
    VARIABLE,
    exists,
)
from visakit.binary.references import references
from visakit.diagnostics import Diagnostic, FormatError, Span, counted
from visakit.isa import InstructionDesc
from visakit.isa.enums import MATRIX_OFFSETS
from visakit.language.operands import (
    EXEC_SIZES,
    NULL,
    SURFACE,
    Address,
    Execution,
    General,
    Indirect,
    Raw,
    State,
    region_elements,
)
from visakit.language.platforms import MAXIMUM_GRF_SIZE, SMALLEST_GRF_SIZE
from visakit.language.program import (
    FIRST_VARIABLE,
    MAXIMUM_PREDICATES,
    READ_ONLY_VARIABLES,
    AliasCircle,
    Fields,
    Function,
    Input,
    Instruction,
    Module,
)
from visakit.rules.call_rules import broken_calls, declared_sizes
from visakit.rules.message_sizes import MATRIX_PAYLOAD, message_sizes
from visakit.rules.operand_classes import wrong_class, wrong_modifier, wrong_together
from visakit.rules.violation import Violation

_MASKS = 16
_EXECUTIONS = frozenset(e for size in EXEC_SIZES for mask in range(_MASKS) if (e := Execution(size, mask)).is_within)
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


@dataclass(frozen=True)
class _Shape:
    """The fields of a form whose extents are checked."""

    vectors: tuple[str, ...]
    raws: tuple[str, ...]
    lists: tuple[str, ...]
    written: tuple[str, ...]
    single: bool


_SHAPES: dict[InstructionDesc, _Shape] = {}


def _shape(desc: InstructionDesc) -> _Shape:
    shape = _SHAPES.get(desc)
    if shape is None:
        fields = [f for f in desc.fields if f.name and f.constant is None and not f.copy_of]
        shape = _SHAPES[desc] = _Shape(
            tuple(f.name for f in fields if f.kind in ("d", "s")),
            tuple(f.name for f in fields if f.kind in ("r", "w")),
            tuple(f.name for f in fields if f.kind in ("r*", "r!")),
            tuple(f.name for f in fields if f.kind in ("d", "w")),
            desc.category in _SCALAR,
        )
    return shape


def count_of(desc: InstructionDesc, execution_size: int) -> int:
    """Elements of a vector operand: one for each lane, but of scalar operands one."""
    return 1 if takes_scalars(desc) else execution_size


def takes_scalars(desc: InstructionDesc) -> bool:
    """Whether the vector operands of an instruction are scalar operands, whose regions are ignored."""
    return _shape(desc).single


def has_message(desc: InstructionDesc) -> bool:
    """Whether an instruction has message operands."""
    return bool(_shape(desc).raws or _shape(desc).lists)


def read_only_writes(function: Function, i: Instruction) -> Iterator[Violation]:
    """The destinations that are registers of the dispatcher and the hardware.

    Through an alias, %r0 is a register like others, as the reference finalizer has it.
    """
    for name in _shape(i.desc).written:
        op = i.args.get(name)
        if isinstance(op, (General, Raw)) and op.var in READ_ONLY_VARIABLES:
            owner = function.variable_name(op.var)
            yield Violation("V072", f"'{owner}' is only read", "write a variable of your own, and read that", name)


def message_overruns(extents: Extents, i: Instruction) -> Iterator[Violation]:
    """The operands of a message that exceed their variables."""
    shape, args = _shape(i.desc), i.args
    sizes = message_sizes(i, extents.grf_size)
    raws = [(name, args[name], sizes.get(name, 1)) for name in shape.raws if name in args]
    raws += [(name, raw, 1) for name in shape.lists for raw in args.get(name, ())]
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
    shape, args, grf = _shape(i.desc), i.args, extents.grf_size
    raws = [(name, args[name]) for name in shape.raws if name in args]
    if shape.lists:
        raws += [(name, raw) for name in shape.lists for raw in args.get(name, ())]
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


# -- the parts of a function -------------------------------------------------------------------------------------------


def aliases(function: Function) -> Iterator[Violation]:
    """Aliases of undeclared variables, in circles, or that begin behind their variable on all platforms: operands that
    exceed it on this platform are found separately.
    """
    for number, v in enumerate(function.variables, FIRST_VARIABLE):
        if v.alias is None:
            continue
        index, offset = v.alias
        if index < 0 or offset < 0 or not exists(function, VARIABLE, index):
            yield Violation("C004", f"variable '{v.name}' is an alias of something that does not exist")
            return
        if index == NULL.var:
            yield Violation("C004", f"variable '{v.name}' begins at byte {offset} of %null, which has none")
        try:
            root, start = function.alias_root(number)
        except AliasCircle:
            continue  # which the layout of registers reports
        if start >= (size := function.variable_size(root, MAXIMUM_GRF_SIZE)):
            room = f"'{function.variable_name(root)}', which has {size} bytes"
            yield Violation("V031", f"'{v.name}' begins at byte {start} of {room}")


def inputs(function: Function) -> Iterator[Violation]:
    """Inputs in undeclared variables, or outside of the payload."""
    for n, i in enumerate(function.inputs):
        kinds = (VARIABLE, SAMPLERS, SURFACES)
        if i.variable_class >= len(kinds) or i.index < 0 or not exists(function, kinds[i.variable_class], i.index):
            yield Violation("C004", f"input {n} is the value of something that does not exist")
        elif not (MINIMUM_OFFSET <= i.offset <= MAXIMUM_OFFSET and 0 <= i.size <= MAXIMUM_SIZE):
            yield Violation("C004", f"input {n} has offset {i.offset} and size {i.size}, which no payload has")
    yield from (violation for violation, _ in overlaps(function))


def overlaps(function: Function) -> Iterator[tuple[Violation, Input]]:
    """Inputs that share bytes of the payload with the one before them, each with the second of them."""
    placed = sorted((i for i in function.inputs if i.size), key=lambda i: i.offset)
    for before, i in pairwise(placed):
        if i.offset < before.offset + before.size:
            line = f"that one is in line {before.line}" if before.line else ""
            yield Violation("V073", f"this input begins at byte {i.offset}, inside the one before it", line), i


def _declarations(function: Function) -> Iterator[Violation]:
    others = (*function.addresses, *function.predicates, *function.samplers, *function.surfaces)
    if len(function.predicates) > MAXIMUM_PREDICATES:
        many = f"{len(function.predicates)} predicates"
        yield Violation("C004", f"{many}, and instructions can name {MAXIMUM_PREDICATES}")
    for name, elements in [(d.name, d.elements) for d in others] + [(v.name, v.elements) for v in function.variables]:
        if elements < 0:
            yield Violation("C004", f"'{name}' has {elements} elements")
    yield from aliases(function)
    yield from inputs(function)
    yield from declared_sizes(function)


def _codes(i: Instruction) -> str:
    """Unknown codes, masks and sizes of an instruction."""
    args = i.args
    for name, codes in i.desc.enumerated:
        if name in args and args[name] not in codes:
            return f"has no {name} {args[name]}"
    execution = args.get("exec")
    if execution is not None and execution not in _EXECUTIONS:
        return f"has a mask and size that do not exist: {execution}"
    return ""


def _classes(i: Instruction) -> Iterator[Violation]:
    """Operands of classes, or with modifiers, that the instruction does not take."""
    desc, args = i.desc, i.args
    for name, classes in desc.classes.items():
        op = args.get(name)
        if op is None or (type(op) in classes and not op.modifier):
            continue
        message, hint = wrong_class(desc, name, op)
        if message:
            yield Violation("V055", message, hint, name)
            continue
        message, hint = wrong_modifier(desc, op, desc.by_name[name].kind == "d")
        if message:
            yield Violation("V037", message, hint, name)
    yield from (Violation("V055", *broken) for broken in wrong_together(i))


def _counts_forwards(op: object) -> bool:
    """Whether the numbers of an operand are in range."""
    if isinstance(op, General):
        return op.row >= 0 and op.col >= 0 and _is_region(op.region)
    if isinstance(op, Address):
        return op.offset >= 0
    return not isinstance(op, Indirect) or (op.element >= 0 and op.type.is_element and _is_region(op.region))


def _is_region(region: tuple[int | None, int | None, int | None]) -> bool:
    vertical, width, horizontal = region
    return (vertical or 0) >= 0 and (horizontal or 0) >= 0 and (width is None or width > 0)


class _FunctionPass:
    """One pass over a function.

    Valid operands and instructions are remembered by identity, as equal ones share their nodes.
    """

    def __init__(self, function: Function, grf_size: int) -> None:
        self.function, self.extents = function, Extents(function, grf_size)
        self.labels = {i.args["label"] for i in function.instructions if i.desc.flow.is_label}
        self._named: set[tuple[int, int]] = set()
        self._operands: set[tuple[int, int, bool]] = set()
        self._instructions: set[tuple[int, InstructionDesc]] = set()

    def findings(self) -> Iterator[tuple[Violation, int]]:
        """Broken rules with the number of the instruction; -1 for the function."""
        broken = list(_declarations(self.function))
        yield from ((v, -1) for v in broken)
        if any(v.code == "C004" for v in broken):
            return
        for n, i in enumerate(self.function.instructions):
            key = id(i.args), i.desc
            if key in self._instructions:
                continue
            violations = list(self._instruction(i))
            yield from ((v, n) for v in violations)
            if not violations:
                self._instructions.add(key)

    def _instruction(self, i: Instruction) -> Iterator[Violation]:
        problem = self._names(i) or _codes(i)
        if problem:
            yield Violation("C004", f"{i.desc.mnemonic} {problem}")
            return
        classes = list(_classes(i))
        if classes:
            yield from classes
            return
        yield from state_overruns(self.extents, i)
        shape, args = _shape(i.desc), i.args
        execution = args.get("exec")
        count = count_of(i.desc, execution.size if execution else 1)
        for name in shape.vectors:
            op = args.get(name)
            key = id(op), count, name == "dst"
            if op is None or key in self._operands:
                continue
            violation = self._operand(name, op, count)
            if violation:
                yield violation
            else:
                self._operands.add(key)
        yield from read_only_writes(self.function, i)
        yield from broken_calls(self.function, i)
        if shape.raws or shape.lists:
            if any(args[name].offset < 0 for name in shape.raws if name in args):
                yield Violation("C004", f"{i.desc.mnemonic} has a message part at a negative offset")
            else:
                yield from message_overruns(self.extents, i)

    def _operand(self, name: str, op: object, count: int) -> Violation | None:
        if not _counts_forwards(op):
            return Violation(
                "C004", "an operand has a negative row, column, element or stride, or no type of elements", "", name
            )
        return self.extents.operand(name, op, count)

    def _names(self, i: Instruction) -> str:
        """Names of an instruction that are not declared."""
        for pair in references(i):
            if pair in self._named:
                continue
            what, index = pair
            if index < 0 or not exists(self.function, what, index):
                return f"refers to number {index} of something that does not exist"
            if what == LABEL and index not in self.labels:
                return f"refers to label '{self.function.labels[index].name}', which is not defined"
            self._named.add(pair)
        return ""


def validate(module: Module, grf_size: int, name: str) -> list[Diagnostic]:
    """The work of :func:`visakit.validate`.

    Raises:
        FormatError: the module is not whole, or reaches beyond predefined registers.
    """
    errors: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    for function in module.all_functions:
        for v, n in _FunctionPass(function, grf_size).findings():
            where = f"instruction {n} of '{function.name}'" if n >= 0 else f"'{function.name}'"
            line = function.instructions[n].line if n >= 0 else 0
            severity, into = ("warning", warnings) if v.code.startswith("W") else ("error", errors)
            span = Span(function.file or name, line)
            into.append(Diagnostic(v.code, f"{v.message} ({where})", span, v.hint, severity=severity))
    if errors:
        raise FormatError(errors)
    return warnings
