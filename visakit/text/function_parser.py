"""The statements of one function: instructions and labels."""

from __future__ import annotations

from visakit.isa import InstructionDesc, instruction_set
from visakit.isa.record import Flow, target_outputs
from visakit.language.operands import NULL, SAT, Execution, Predicate, PredicateControl, with_modifier
from visakit.language.platforms import PLATFORMS, Platform
from visakit.language.program import Fields, Function, Instruction
from visakit.text.binder import Binder
from visakit.text.instruction_syntax import is_pure, operands_of
from visakit.text.operand_syntax import ExecutionSyntax, OperandSyntax, OptionalVectorSyntax, is_execution
from visakit.text.problem import Problem
from visakit.text.suffixes import resolve
from visakit.text.syntax import InstructionStatement, NameNode, OpcodeNode, Placed, PredicationNode

_EMPTY_EXEC = Execution(1, 8)
_UNIFORM_EXEC = Execution(1, 0)


class FunctionParser:
    """Reads one function; ``grf_size`` in bytes, 0 where the platform is not known."""

    def __init__(self, function: Function, platform: Platform | None, grf_size: int) -> None:
        self.function, self.platform = function, platform
        self.table = instruction_set(function.version)
        self.binder = Binder(function, platform, grf_size)
        self.equal: dict[str, Instruction] = {}
        """Instructions by their lines, as long as names mean the same: equal lines, as in unrolled loops, share fields,
        so that whoever checks or encodes these need do it once."""
        self.label_lines: dict[int, int] = {}
        self.subroutine = ""
        """The subroutine that has just begun; a label of its name may follow, which says the same once more."""

    @property
    def line(self) -> int:
        """The line that is read."""
        return self.binder.line

    def forget(self) -> None:
        """Names changed their meaning: a scope was opened or closed."""
        self.equal.clear()

    def emit(self, mnemonic: str, args: Fields, line: int) -> None:
        """Append an instruction that has no operands to read."""
        self.function.instructions.append(Instruction(self.table.by_mnemonic[mnemonic][0], args, line))

    # -- instructions --------------------------------------------------------------------------------------

    def instruction(self, statement: InstructionStatement, text: str) -> None:
        """Bind an instruction and append it; ``text`` is its line.

        Raises:
            Problem: there is no such instruction, or an operand does not fit it.
        """
        opcode = statement.opcode.node
        assert isinstance(opcode, OpcodeNode)
        desc, fields, saturate = resolve(self.table, opcode.words, len(statement.operands))
        self._check_platform(desc)
        args: Fields = dict(fields)
        self._bind_operands(desc, statement.operands, args, text)
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
        made = Instruction(desc, args, self.line)
        self.function.instructions.append(made)
        if is_pure(desc):
            self.equal[text] = made

    def _check_platform(self, desc: InstructionDesc) -> None:
        if self.platform is not None and self.platform.name not in desc.platforms:
            having = ", ".join(n for n in PLATFORMS if n in desc.platforms)
            raise Problem("V060", f"{desc.mnemonic} does not exist on {self.platform.name}", f"it exists on {having}")

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

    def _bind_operands(self, desc: InstructionDesc, operands: list[Placed], args: Fields, text: str) -> None:
        position = 0
        for expected in operands_of(desc):
            if expected.many:
                args.setdefault(expected.name, ())
            while True:
                at = operands[position] if position < len(operands) else None
                if type(expected) is ExecutionSyntax and (at is None or not is_execution(at)):
                    if "optional-exec" not in desc.spelling:
                        message = f"{desc.mnemonic} needs a mask and an execution size"
                        raise Problem("V047", message, f"its form is: {desc.syntax}", at)
                    args["exec"] = _EMPTY_EXEC
                    break
                if _is_left_out(expected, at, args):
                    break
                if at is None:
                    message = f"{desc.mnemonic} needs {expected.what} here, the line ends"
                    raise Problem("V048", message, f"its form is: {desc.syntax}", Placed(0, " ", len(text.rstrip())))
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


def _is_left_out(expected: OperandSyntax, at: Placed | None, args: Fields) -> bool:
    """Whether the text has no operand here, and needs none."""
    if expected.many:
        return at is None
    if not expected.optional:
        return False
    if isinstance(expected, OptionalVectorSyntax) and expected.is_missing(args):
        return True
    return at is None or not expected.accepts(at)


def _complete(desc: InstructionDesc, args: Fields, saturate: bool) -> None:
    """Fill in what the text leaves out, as the encoding has it."""
    for f in desc.fields:
        if f.kind in ("r", "w"):
            args.setdefault(f.name, NULL)
        elif f.parts:
            for name, _ in f.parts:
                args.setdefault(name, 0)
        elif f.kind in ("B", "H", "W", "I", "X") and f.name:
            args.setdefault(f.name, 0)
        elif f.kind == "ec":
            args.setdefault("exec", _EMPTY_EXEC)
        elif f.kind == "r!" and len(args[f.name]) != (wanted := target_outputs(args["mode"])):
            found = len(args[f.name])
            message = f"this render-target write has {wanted} outputs, found {found}"
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
