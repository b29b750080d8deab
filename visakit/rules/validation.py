"""Conditions of modules that can run: complete references, and instructions that keep the rules of texts.

:func:`visakit.validate` looks at all of a module, whether it came from text, bytes, an object, an image or Python. What
only bytes and Python can get wrong is here; the assembler shows broken rules with their places
(:mod:`visakit.rules.instruction_rules`).

Operands that exceed their variable have one rule: an error for predefined registers, a warning for ordinary variables,
and a fault when the instruction executes. docs/safety.md has the whole argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

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
from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.isa import InstructionDesc
from visakit.language.operands import (
    EXEC_SIZES,
    NULL,
    Address,
    Execution,
    General,
    Indirect,
)
from visakit.language.platforms import MAXIMUM_GRF_SIZE
from visakit.language.program import (
    FIRST_VARIABLE,
    MAXIMUM_PREDICATES,
    AliasCircle,
    Function,
    Input,
    Instruction,
    Module,
)
from visakit.rules.call_rules import declared_sizes
from visakit.rules.extents import checked_fields
from visakit.rules.instruction_rules import Rules
from visakit.rules.violation import Violation

_MASKS = 16
_EXECUTIONS = frozenset(e for size in EXEC_SIZES for mask in range(_MASKS) if (e := Execution(size, mask)).is_within)
_ADVICE = frozenset(f"W{n:03}" for n in range(100)) - {"W010"}
"""Warnings of texts that modules do without."""


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

    def __init__(self, function: Function, grf_size: int, platform: str) -> None:
        self.function, self.rules = function, Rules(function, grf_size, _ADVICE, platform=platform)
        self.labels = {i.args["label"] for i in function.instructions if i.desc.flow.is_label}
        self._named: set[tuple[int, int]] = set()
        self._operands: set[int] = set()
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
            problem = self._names(i) or _codes(i) or self._numbers(i)
            violations = [Violation("C004", f"{i.desc.mnemonic} {problem}")] if problem else self.rules.check(i)
            yield from ((v, n) for v in violations)
            if not violations:
                self._instructions.add(key)

    def _numbers(self, i: Instruction) -> str:
        """Operands and parts of messages with numbers that no text has."""
        shape, args = checked_fields(i.desc), i.args
        for op in map(args.get, shape.vectors):
            if id(op) not in self._operands:
                if not _counts_forwards(op):
                    return "has an operand with a negative row, column, element or stride, or no type of elements"
                self._operands.add(id(op))
        if any(args[name].offset < 0 for name in shape.raws if name in args):
            return "has a message part at a negative offset"
        return ""

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


def validate(module: Module, grf_size: int, name: str, platform: str = "") -> list[Diagnostic]:
    """The work of :func:`visakit.validate`.

    Raises:
        FormatError: the module is not whole, or breaks a rule of texts.
    """
    errors: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    for function in module.all_functions:
        for v, n in _FunctionPass(function, grf_size, platform).findings():
            where = f"instruction {n} of '{function.name}'" if n >= 0 else f"'{function.name}'"
            line = function.instructions[n].line if n >= 0 else 0
            severity, into = ("warning", warnings) if v.code.startswith("W") else ("error", errors)
            span = Span(function.file or name, line)
            into.append(Diagnostic(v.code, f"{v.message} ({where})", span, v.hint, severity=severity))
    if errors:
        raise FormatError(errors)
    return warnings
