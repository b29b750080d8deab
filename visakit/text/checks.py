"""What is checked when all of a function, or all of a text, has been read."""

from __future__ import annotations

from visakit.binary.references import counts_threads
from visakit.diagnostics import Label, did_you_mean
from visakit.isa.record import Flow, Rule
from visakit.language.calls import mismatched_sizes
from visakit.language.program import FIRST_VARIABLE, Function, Instruction, Module, widest_instruction
from visakit.rules.instruction_rules import BITS_OF_A_FLOAT, ROW_OF_AN_ADDRESS, Rules
from visakit.rules.validation import overlaps
from visakit.text.function_parser import FunctionParser
from visakit.text.instruction_syntax import operands_of
from visakit.text.problem import Problem
from visakit.text.reader import LineReader
from visakit.text.source import Source
from visakit.text.syntax import InstructionStatement, Placed

_JUMPS = (Flow.GOTO, Flow.JUMP)


class Checks:
    """Checks the functions of a text; both sizes of registers as for :class:`Rules`."""

    def __init__(self, source: Source, reader: LineReader, grf_size: int, largest_grf_size: int) -> None:
        self.source, self.reader, self.grf_size, self.largest_grf_size = source, reader, grf_size, largest_grf_size

    def function(self, parser: FunctionParser) -> None:
        """A function that has been read: its labels, scopes, instructions and inputs."""
        self._labels(parser)
        function = parser.function
        if parser.binder.names.depth > 1 and parser.scopes_known:
            message = f"a scope of '{function.name}' is not closed"
            self.source.report(Problem("V007", message, "close it with }"), parser.line)
        self._rules(function, parser.platform.name if parser.platform else "")
        self._end(function)
        self._returns(function)
        self._inputs(function)
        self._threads(function)

    def _labels(self, parser: FunctionParser) -> None:
        names = [label.name for label in parser.function.labels]
        for index, (line, at) in sorted(parser.binder.label_uses.items()):
            if index not in parser.label_lines:
                hint = did_you_mean(names[index], [names[i] for i in parser.label_lines])
                if not hint:
                    is_call = any(i.line == line and i.desc.flow is Flow.CALL for i in parser.function.instructions)
                    hint = "fcall calls functions, call labels of its body" if is_call else f"write {names[index]}:"
                message = f"label '{names[index]}' is not defined in '{parser.function.name}'"
                self.source.report(Problem("V026", message, hint), line, at)

    def _rules(self, function: Function, platform: str) -> None:
        """What the manual forbids or advises against although it can be encoded."""
        rules = Rules(function, self.grf_size, self.source.collector.silent, self.largest_grf_size, platform)
        for i, v in rules.broken():
            at = self._operand(i, v.field)
            if at is not None and _is_meant(v.code, at.text):
                continue
            if v.code.startswith("W"):
                self.source.warn(v.code, v.message, i.line, at, v.hint)
            else:
                self.source.report(Problem(v.code, v.message, v.hint), i.line, at)

    def _end(self, function: Function) -> None:
        if not function.instructions:
            self.source.warn("W004", f"'{function.name}' has no instructions", function.line)
            return
        last = function.instructions[-1]
        broken = any(
            d.severity == "error" and d.span and d.span.line >= function.line for d in self.source.collector.items
        )
        if not broken and not (last.desc.flow.ends_lanes or last.desc.flow in _JUMPS):  # what cannot be read may end it
            end = "ret" if function.is_kernel else "fret"
            hint = "end it with ret (M1, 1)" if function.is_kernel else "end it with fret (M1, N), N lanes"
            self.source.warn("W003", f"'{function.name}' does not end with {end}", last.line, hint=hint)

    def _threads(self, function: Function) -> None:
        """A kernel that counts threads must say how many work-items each of them has."""
        if function.is_kernel and not function.attribute("SimdSize") and counts_threads(function):
            message = f"'{function.name}' reads %thread_x and does not say how many lanes a thread has"
            hint = f"write .kernel_attr SimdSize={widest_instruction(function)} after the declarations"
            self.source.warn("W016", message, function.line, hint=hint)

    def _returns(self, function: Function) -> None:
        """A ret of a function itself, where no subroutine is that it would return from."""
        if function.is_kernel:
            return
        called = {i.args["label"] for i in function.instructions if i.desc.flow is Flow.CALL}
        for i in function.instructions:
            if i.desc.flow is Flow.LABEL and i.args["label"] in called:
                return
            if i.desc.flow is Flow.RETURN and Rule.FUNCTION_ONLY not in i.desc.rules:
                message = f"{i.desc.mnemonic} in the function '{function.name}', outside its subroutines"
                hint = "fret returns from a function (manual, chapter 6, FRET)"
                self.source.warn("W018", message, i.line, self._operand(i, ""), hint)

    def _operand(self, i: Instruction, field: str) -> Placed | None:
        """Where a field of an instruction was written, or its opcode."""
        statements = self.reader.statements(self.source.code[i.line - 1])
        statement = next((s for s in statements if isinstance(s, InstructionStatement)), None)
        if statement is None:
            return None
        for expected, at in zip(operands_of(i.desc), statement.operands, strict=False):
            if expected.name == field:
                return at
        return statement.opcode

    def _inputs(self, function: Function) -> None:
        for v, i in overlaps(function):
            self.source.report(Problem(v.code, v.message, v.hint), i.line)
        for i in sorted((i for i in function.inputs if i.size), key=lambda i: i.offset):
            if i.variable_class != 0 or i.index < FIRST_VARIABLE:
                continue
            size = function.variables[i.index - FIRST_VARIABLE].size
            if i.size != size:
                name = function.variable_name(i.index)
                message = f"this input has {i.size} bytes, its variable '{name}' has {size}"
                self.source.warn("W009", message, i.line)

    def calls(self, module: Module) -> None:
        """Argument and return sizes of calls against the functions of this text."""
        for m in mismatched_sizes(module):
            passed = f"the call passes {m.instruction.args[m.field]} registers"
            problem = Problem("V028", f"{passed}, '{m.target.name}' declares {m.attribute}={m.declared}")
            note = Label(self.source.name_span(m.target.line, m.target.name), "the function is here")
            self.source.report(problem, m.instruction.line, self._operand(m.instruction, m.field), (note,))


def _is_meant(code: str, text: str) -> bool:
    """Whether an operand is written in the way that a rule warns of."""
    return (code == BITS_OF_A_FLOAT and "x" in text.lower()) or (code == ROW_OF_AN_ADDRESS and "&" not in text)
