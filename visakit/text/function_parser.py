"""The statements of one function: instructions and labels."""

from __future__ import annotations

import functools
import re

from visakit.diagnostics import QUIET
from visakit.isa import InstructionDesc, instruction_set
from visakit.isa.layout import target_outputs
from visakit.isa.record import Flow
from visakit.language import types
from visakit.language.operands import NULL, SAT, Execution, Predicate, PredicateControl, with_modifier
from visakit.language.platforms import MAXIMUM_GRF_SIZE, PLATFORMS, Platform
from visakit.language.program import Fields, Function, Instruction
from visakit.rules.instruction_rules import Rules
from visakit.text.binder import Binder
from visakit.text.execution_syntax import ExecutionSyntax, is_execution
from visakit.text.instruction_syntax import is_pure, operands_of
from visakit.text.operand_syntax import OperandSyntax, OptionalVectorSyntax
from visakit.text.problem import Problem
from visakit.text.suffixes import elsewhere, resolve
from visakit.text.syntax import (
    InstructionStatement,
    NameNode,
    NumberNode,
    OpcodeNode,
    Placed,
    PredicationNode,
    VectorNode,
)

_USUAL_TYPES = ("d", "ud", "f", "q", "uq", "w", "uw", "df", "hf")
"""Types that are tried, in this order, for a number that does not say its own."""
_EMPTY_EXEC = Execution(1, 8)
_UNIFORM_EXEC = Execution(1, 0)


class FunctionParser:
    """Reads one function; ``grf_size`` in bytes, 0 where the platform is not known."""

    def __init__(self, function: Function, platform: Platform | None, grf_size: int, remember: bool = True) -> None:
        self.function, self.platform = function, platform
        self.table = instruction_set(function.version)
        self.binder = Binder(function, platform, grf_size, remember)
        self.equal: dict[str, Instruction] = {}
        """Instructions by their lines, as long as names mean the same: equal lines, as in unrolled loops, share fields,
        which are checked and encoded once."""
        self.label_lines: dict[int, int] = {}
        self.scopes_known = True
        """Whether every line with braces could be read."""
        self.subroutine = ""
        """The subroutine that has just begun; a label of its name may follow, which says the same once more."""

    @property
    def line(self) -> int:
        """The line that is read."""
        return self.binder.line

    def forget(self) -> None:
        """Names changed their meaning: a scope was opened or closed."""
        self.equal.clear()
        self.binder.forget()

    def emit(self, mnemonic: str, args: Fields, line: int) -> None:
        """Append an instruction that has no operands to read."""
        self.function.instructions.append(Instruction(self.table.by_mnemonic[mnemonic][0], args, line))

    # -- instructions --------------------------------------------------------------------------------------

    def instruction(self, statement: InstructionStatement, text: str) -> None:
        """Bind an instruction and append it; ``text`` is its line, or empty if other statements are on it.

        Raises:
            Problem: there is no such instruction, or an operand does not fit it.
        """
        try:
            desc, args = self._bound(statement)
        except Problem as problem:
            if problem.at is not None and _has_no_type(problem.at):
                problem.hint = self._typed(statement, problem.at) or problem.hint
            raise
        made = Instruction(desc, args, self.line)
        self.function.instructions.append(made)
        if text and is_pure(desc):
            self.equal[text] = made

    def _bound(self, statement: InstructionStatement) -> tuple[InstructionDesc, Fields]:
        """Record and fields of an instruction."""
        opcode = statement.opcode.node
        assert isinstance(opcode, OpcodeNode)
        desc, fields, saturate = resolve(self.table, opcode.words, len(statement.operands), self._name_of_platform)
        self._check_platform(desc)
        args: Fields = dict(fields)
        self._bind_operands(desc, statement, args)
        if statement.attribute is not None:
            self._bind_attribute(desc, statement.attribute, args)
        if desc.has_predicate:
            args["pred"] = self._predicate(statement.predication) if statement.predication else None
        elif statement.predication is not None:
            raise Problem(
                "V046",
                f"{desc.mnemonic} cannot be predicated: its encoding has no place for a predicate",
                f"its form is: {desc.syntax}",
                statement.predication,
            )
        _complete(desc, args, saturate)
        return desc, args

    @property
    def _name_of_platform(self) -> str:
        return self.platform.name if self.platform else ""

    def _typed(self, statement: InstructionStatement, at: Placed) -> str:
        """How to write a number without a type: with the first type that the instruction takes, those beside it first.

        Other numbers without a type get the same one, so that the hint of the first helps with the next.
        """
        largest_grf_size = self.platform.grf_size if self.platform else MAXIMUM_GRF_SIZE
        rules = Rules(self.function, self.binder.known_grf_size, QUIET, largest_grf_size, self._name_of_platform)
        end = at.column + len(at.text)  # a letter right behind it is C's way to say a type
        operands = [o for o in statement.operands if o.column != end]
        for name in dict.fromkeys((*self._types_beside(statement), *_USUAL_TYPES)):
            typed = [_with_type(o, name) if _has_no_type(o) else o for o in operands]
            try:
                desc, args = self._bound(statement._replace(operands=typed))
            except Problem:
                continue
            if not rules.check(Instruction(desc, args, self.line)):
                return f"a number is followed by its type: write {_with_type(at, name).text}"
        return ""

    def _types_beside(self, statement: InstructionStatement) -> list[str]:
        """Types of the registers of an instruction; the destination comes last."""
        names = [o.node.name for o in statement.operands if isinstance(o.node, VectorNode)]
        found = [symbol for name in names if (symbol := self.binder.names.find(name)) and symbol.kind == "V"]
        return [str(self.function.variable_type(symbol.index)) for symbol in (*found[1:], *found[:1])]

    def _check_platform(self, desc: InstructionDesc) -> None:
        if self.platform is not None and self.platform.name not in desc.platforms:
            platform, having = self.platform.name, ", ".join(n for n in PLATFORMS if n in desc.platforms)
            also = elsewhere(self.table, desc.mnemonic, platform)
            hint = f"{also}; {desc.mnemonic} exists on {having}" if also else f"it exists on {having}"
            raise Problem("V060", f"{desc.mnemonic} does not exist on {platform}", hint)

    def _bind_attribute(self, desc: InstructionDesc, attribute: Placed, args: Fields) -> None:
        """``{NoMask}``, the manual's spelling of a mask."""
        assert isinstance(attribute.node, NameNode)
        word = attribute.node.name
        if word.lower() != "nomask":
            raise Problem("V045", f"'{word}' is not an instruction attribute", "the only one is {NoMask}", attribute)
        if desc.has_exec:
            args["exec"] = Execution(args["exec"].size, args["exec"].mask | 8)

    def _predicate(self, at: Placed) -> PredicateControl:
        node = at.node
        assert isinstance(node, PredicationNode)
        mode = node.mode.removeprefix(".")
        if mode not in ("", "any", "all"):
            raise Problem("V001", f"'{node.mode}' is not a mode of a predicate", "modes are .any and .all", at)
        try:
            index = self.binder.symbol(node.name, "P").index
        except Problem as problem:
            problem.at = at
            raise
        return PredicateControl(index, node.inverse, mode)

    def _bind_operands(self, desc: InstructionDesc, statement: InstructionStatement, args: Fields) -> None:
        operands, position = statement.operands, 0
        for expected in operands_of(desc):
            if expected.many:
                args.setdefault(expected.name, ())
            while True:
                at = operands[position] if position < len(operands) else None
                if type(expected) is ExecutionSyntax and (at is None or not is_execution(at)):
                    if "optional-exec" not in desc.spelling:
                        message = f"{desc.mnemonic} needs a mask and an execution size"
                        is_all = len(desc.text) == 1
                        hint = f"write {desc.mnemonic} (M1, 1)" if is_all else f"its form is: {desc.syntax}"
                        raise Problem("V047", message, hint, at)
                    args["exec"] = _EMPTY_EXEC
                    break
                if _is_left_out(expected, at, args):
                    break
                if at is None:
                    message = f"{desc.mnemonic} needs {expected.what} here, the line ends"
                    last = operands[-1] if operands else statement.opcode
                    end = Placed(0, " ", last.column + len(last.text))
                    raise Problem("V048", message, f"its form is: {desc.syntax}", end)
                self._bind(desc, expected, at, args)
                position += 1
                if not expected.many:
                    break
        if position < len(operands):
            at = operands[position]
            message = f"'{at.text}' is one operand too many for {desc.mnemonic}"
            raise Problem("V049", message, f"its form is: {desc.syntax}", at)

    def _bind(self, desc: InstructionDesc, expected: OperandSyntax, at: Placed, args: Fields) -> None:
        try:
            expected.bind(self.binder, at, args)
        except Problem as problem:
            problem.at = problem.at or at
            if problem.code == "V012" and not problem.hint:
                problem.hint = f"expected {expected.what}; the form is: {desc.syntax}"
            elif problem.code == "V010" and desc.flow is Flow.CALL_ADDRESS and isinstance(at.node, NameNode):
                problem.hint = "fcall calls a function by its name, faddr puts its address into a variable"
            raise


def _has_no_type(at: Placed) -> bool:
    """Whether this is a number that does not say its type."""
    return isinstance(at.node, NumberNode) and at.node.type is None


def _with_type(at: Placed, name: str) -> Placed:
    """A number with a type; a whole number gets a point before the type of a float, where it would be bits."""
    assert isinstance(at.node, NumberNode)
    value, text = at.node.value, at.text
    if types.BY_NAME[name].is_float and re.fullmatch(r"-?\d{1,300}", text):
        value, text = float(text), f"{text}.0"
    return at._replace(node=NumberNode(value, name), text=f"{text}:{name}")


def _is_left_out(expected: OperandSyntax, at: Placed | None, args: Fields) -> bool:
    """Whether the text has no operand here, and needs none."""
    if expected.many:
        return at is None
    if not expected.optional:
        return False
    if isinstance(expected, OptionalVectorSyntax) and expected.is_missing(args):
        return True
    return at is None or not expected.accepts(at)


@functools.cache
def _defaults(desc: InstructionDesc) -> tuple[tuple[str, object], ...]:
    """The fields that a text can omit, with the defaults of the encoding."""
    found: list[tuple[str, object]] = []
    for f in desc.fields:
        if f.kind in ("r", "w"):
            found.append((f.name, NULL))
        elif f.parts:
            found += [(name, 0) for name, _ in f.parts]
        elif f.kind in ("B", "H", "W", "I", "X") and f.name:
            found.append((f.name, 0))
        elif f.kind == "ec":
            found.append(("exec", _EMPTY_EXEC))
    return tuple(found)


@functools.cache
def _outputs(desc: InstructionDesc) -> str:
    """The list whose length the mode says; empty without one."""
    return next((f.name for f in desc.fields if f.kind == "r!"), "")


def _complete(desc: InstructionDesc, args: Fields, saturate: bool) -> None:
    """Fill in operands and fields that a text omits, with the defaults of the encoding."""
    for name, value in _defaults(desc):
        args.setdefault(name, value)
    if (outputs := _outputs(desc)) and len(args[outputs]) != (wanted := target_outputs(args["mode"])):
        message = f"this render-target write has {wanted} outputs, found {len(args[outputs])}"
        raise Problem("V048", message, f"its form is: {desc.syntax}")
    args.update(desc.implied)
    if saturate:
        dst = next(f.name for f in desc.fields if f.kind == "d")
        args[dst] = with_modifier(args[dst], SAT)
    if desc.flow.is_scalar_jump:
        args["exec"] = _UNIFORM_EXEC
    elif "predicate-copy" in desc.spelling and type(args["src0"]) is Predicate:
        args["exec"] = _EMPTY_EXEC
        args["pred"] = None
