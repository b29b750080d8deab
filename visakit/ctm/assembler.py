"""CTM text to shader modules: a line becomes a syntax node (``grammar``), a node becomes instructions (``operations``,
``flow``), and the module is checked as a whole (``checks``).
"""

from __future__ import annotations

import visakit.ctm.table as table
from visakit.ctm.builder import ModuleBuilder, StatementError, register_number
from visakit.ctm.checks import check_module
from visakit.ctm.flow import FlowEncoder, field_words
from visakit.ctm.grammar import LineGrammar, LineSyntaxError, line_grammar
from visakit.ctm.operations import arithmetic_words, fetch_words, kill_words
from visakit.ctm.program import ShaderModule
from visakit.ctm.syntax import (
    ArithmeticStatement,
    BoolConstantDirective,
    CtmStatement,
    EndStatement,
    Extent,
    ExternDirective,
    FetchStatement,
    FieldStatement,
    FloatConstantDirective,
    FunctionDirective,
    IntConstantDirective,
    KillStatement,
    ModeDirective,
    RawStatement,
    TargetDirective,
)
from visakit.diagnostics import MAXIMUM_ERRORS, AssemblyError, Collector, Diagnostic, Span

_BLANKS, _COMMENTS = " \t\f\r", ("//", ";", "#")


class TextAssembler:
    """One text."""

    def __init__(self, text: str, file: str, collector: Collector, grammar: LineGrammar) -> None:
        self.lines, self.collector, self.grammar = text.split("\n"), collector, grammar
        self.builder = ModuleBuilder(file)
        self.flow = FlowEncoder(self.builder)

    def run(self) -> ShaderModule:
        """The module; its errors go to the collector."""
        for number, line in enumerate(self.lines, 1):
            self.builder.line = number
            try:
                self._line(line.strip(_BLANKS))
            except LineSyntaxError as error:
                self._report(number, "T001", error.message, error.hint, error.extent)
            except StatementError as error:
                self._report(number, error.code, error.message, error.hint, error.extent)
            if self.collector.full:
                break
        self.flow.finish_calls()
        try:
            self.flow.close_all()
        except StatementError as error:
            self._report(self.builder.line, error.code, error.message, error.hint)
        for line_number, problem in check_module(self.builder.module, self.flow, len(self.lines)):
            self._report(line_number, problem.code, problem.message, problem.hint)
        return self.builder.module

    def _line(self, text: str) -> None:
        if not text:
            return
        found = self.grammar.statement(text)
        if found.label:
            self.builder.label(found.label)
        if found.statement is not None:
            self._statement(found.statement)

    def _statement(self, statement: CtmStatement) -> None:
        match statement:
            case ArithmeticStatement():
                self.builder.append(arithmetic_words(statement))
            case FetchStatement():
                self.builder.append(fetch_words(statement))
            case KillStatement():
                self.builder.append(kill_words(statement))
            case FieldStatement():
                self.builder.append(*field_words(statement))
            case RawStatement():
                self._raw(statement)
            case EndStatement():
                self.builder.module.end = self.builder.append(table.END)
            case FunctionDirective():
                self.flow.begin_function(statement)
            case ExternDirective():
                self.flow.declare(statement)
            case ModeDirective():
                self.builder.module.full = statement.full
            case TargetDirective():
                pass
            case FloatConstantDirective() | IntConstantDirective() | BoolConstantDirective():
                self._constant(statement)
            case _:
                self.flow.encode(statement)

    def _raw(self, statement: RawStatement) -> None:
        if any(word >> 32 for word in statement.words):
            raise StatementError("T002", "a word has 32 bits")
        self.builder.append(statement.words)

    def _constant(self, directive: FloatConstantDirective | IntConstantDirective | BoolConstantDirective) -> None:
        number, module = register_number(directive.register), self.builder.module
        if isinstance(directive, FloatConstantDirective):
            module.floats[number] = directive.values
        elif isinstance(directive, BoolConstantDirective):
            module.booleans[number] = directive.value
        else:
            for given, (what, low, high) in zip(directive.values, table.INT_CONSTANT, strict=True):
                if not low <= given.value <= high or given.value != int(given.value):
                    message = f"the {what} is {given.value:g}, it is a whole number from {low} to {high}"
                    raise StatementError("T004", message, extent=given.extent)
            count, start, step = (int(given.value) for given in directive.values)
            module.integers[number] = (count, start, step)

    def _report(self, number: int, code: str, message: str, hint: str, extent: Extent | None = None) -> None:
        """A problem of a line; without columns it is the whole statement's."""
        line = self.lines[number - 1] if 0 < number <= len(self.lines) else ""
        text = line.lstrip(_BLANKS)
        statement = text[: min((text.find(c) for c in _COMMENTS if c in text), default=len(text))]
        start, end = extent or Extent(0, len(statement.rstrip(_BLANKS)))
        column = len(line) - len(text) + start + 1 if text else 1
        span = Span(self.builder.module.file, number, column, max(1, end - start), line)
        self.collector.add(Diagnostic(code, message, span, hint))


def assemble(text: str, file: str = "<text>", max_errors: int = MAXIMUM_ERRORS, cache: bool = True) -> ShaderModule:
    """Assemble one text.

    Args:
        file: what messages call it.
        cache: whether lines of equal words share a derivation; without it Lark parses every line, to the same module.

    Raises:
        AssemblyError: with every error found, up to ``max_errors``.
    """
    collector = Collector(max_errors)
    module = TextAssembler(text, file, collector, line_grammar() if cache else LineGrammar(cached=False)).run()
    if collector.error_count:
        raise AssemblyError(collector.items)
    return module
