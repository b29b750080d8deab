"""Text to module.

A line is read by the grammar (:mod:`visakit.text.reader`) into a statement, which is bound by the parser of its
function into declarations and instructions.
"""

from __future__ import annotations

import re

from visakit.diagnostics import AssemblyError, Collector, Diagnostic, Label
from visakit.language.platforms import MAXIMUM_GRF_SIZE, Platform, find
from visakit.language.program import Attribute, Function, Instruction, Module, predefined_strings
from visakit.text.checks import Checks
from visakit.text.comments import without_comments
from visakit.text.directives import FUNCTION_DIRECTIVES, declare_input, name_argument
from visakit.text.function_parser import FunctionParser
from visakit.text.names import MAXIMUM_SCOPES
from visakit.text.problem import FollowUp, Problem
from visakit.text.reader import LineReader, line_reader
from visakit.text.source import Source
from visakit.text.syntax import (
    DirectiveStatement,
    InstructionStatement,
    LabelStatement,
    Placed,
    ScopeStatement,
    Statement,
)

_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates, except the ones for bytes that are no UTF-8."""
_PLATFORM_COMMENT = re.compile(r"^//\s*Platform:\s*(\w+)", re.MULTILINE)
MAXIMUM_COUNT = 0xFFFF
"""Kernels of a module, functions of a module, bytes of their names."""
_VERSIONS = ("4.0", "4.1", "4.2")
_BEGIN = "begin with '.version 4.1'"


class ModuleParser:
    """Reads the statements of a text into a module; the collector gets their errors.

    Args:
        text: vISA assembly with line feeds as line ends.
        file: the name that diagnostics show.
        platform: checks that every instruction exists there; without it any platform's are taken.
        grf_size: bytes of a register; 0 where the platform is not known.
        collector: receives the diagnostics.
        caches: without them the grammar reads, and the binder binds, every line anew.
    """

    def __init__(
        self, text: str, file: str, platform: Platform | None, grf_size: int, collector: Collector, caches: bool = True
    ) -> None:
        self.source = Source(text, file, collector)
        self.collector, self.platform, self.grf_size, self.caches = collector, platform, grf_size, caches
        self.reader = line_reader() if caches else LineReader(cached=False)
        self.checks = Checks(self.source, self.reader, grf_size, platform.grf_size if platform else MAXIMUM_GRF_SIZE)
        self.module = Module()
        self.current: FunctionParser | None = None
        self.version_seen = False
        self.homeless = False
        """A statement before the first kernel has been reported."""
        self.function_lines: dict[str, int] = {}

    def run(self) -> Module:
        """The module of the text; its errors are in the collector."""
        try:
            if not all(map(str.isascii, self.source.lines)):
                self._check_characters()
            self.source.code = without_comments(self.source.lines, self.source.file)
        except AssemblyError as error:
            for d in error.diagnostics:
                self.collector.add(d)
            return self.module
        equal: dict[str, Instruction] = {}
        instructions: list[Instruction] = []
        for number, line in enumerate(self.source.code, 1):
            known = equal.get(line)
            if known is not None:
                instructions.append(Instruction(known.desc, known.args, number))
            elif line and not line.isspace():
                self._line(line, number)
                if self.collector.full:
                    return self.module
                if self.caches and self.current is not None:
                    equal, instructions = self.current.equal, self.current.function.instructions
        self._finish_function()
        self.checks.calls(self.module)
        self._check_module()
        return self.module

    def _check_characters(self) -> None:
        """A str can hold what no text can: halves of characters.

        Raises:
            AssemblyError: this one does.
        """
        for number, line in enumerate(self.source.lines, 1):
            found = _HALF.search(line)
            if found is not None:
                message = f"U+{ord(found[0]):04X} is half of a character"
                raise AssemblyError(Diagnostic("V001", message, self.source.span(number, found.start())))

    def _check_module(self) -> None:
        if not self.version_seen:
            message = "there is no .version" if any(map(str.strip, self.source.code)) else "the text is empty"
            self.source.report(Problem("V005", message, _BEGIN), 1)
        elif not self.module.all_functions and not self.homeless:
            problem = Problem("V006", "there is no .kernel and no .global_function", 'name the kernel: .kernel "name"')
            self.source.report(problem, len(self.source.lines))

    # -- statements ----------------------------------------------------------------------------------------

    def _line(self, line: str, number: int) -> None:
        """The statements of a line: one, and scopes that open before it or close after it."""
        try:
            statements = self.reader.statements(line)
        except Problem as problem:
            self.source.report(problem, number)
            self._recover(line)
            if self.current is not None and ("{" in line or "}" in line):
                self.current.scopes_known = False
            return
        text = line if len(statements) == 1 else ""
        for statement in statements:
            try:
                self._statement(statement, text, number)
            except FollowUp:
                pass
            except Problem as problem:
                self.source.report(problem, number, statement.head)
                self._recover(line)

    def _recover(self, line: str) -> None:
        """Errors that only follow from one in this line are not reported: a missing version, uses of its variable."""
        self.version_seen = True
        words = line.split(maxsplit=2)
        if self.current is not None and len(words) > 1 and words[0] == ".decl":
            self.current.binder.names.misdeclared.add(words[1])

    def _statement(self, statement: Statement, text: str, number: int) -> None:
        at = statement.head
        if isinstance(statement, DirectiveStatement):
            self._directive(statement, at, number)
            return
        parser = self._function(at, number)
        if isinstance(statement, InstructionStatement):
            self._check_version(at, number)
            parser.instruction(statement, text)
        elif isinstance(statement, LabelStatement):
            self._label(parser, statement.name, at)
        else:
            _scope(parser, statement)

    def _function(self, at: Placed, number: int) -> FunctionParser:
        """The parser of the function that a statement is in."""
        if self.current is None:
            self._check_version(at, number)
            if self.homeless:
                raise FollowUp("V006", "it is not the first statement without a kernel")
            self.homeless = True
            raise Problem(
                "V006",
                f"'{at.text}' precedes the first .kernel or .global_function",
                "begin with '.version 4.1' and '.kernel \"name\"'",
            )
        self.current.binder.line = number
        return self.current

    def _check_version(self, at: Placed, number: int) -> None:
        """The version comes before all directives."""
        if not self.version_seen and at.text.startswith("."):
            self.version_seen = True
            self.source.report(Problem("V005", "the first statement must be .version", _BEGIN), number, at)

    def _label(self, parser: FunctionParser, name: str, at: Placed) -> None:
        if parser.subroutine == name:
            parser.subroutine = ""
            return
        index = parser.binder.label(name)
        self._define_label(parser, index, name, at)
        parser.emit(".label", {"label": index}, parser.line)

    def _define_label(self, parser: FunctionParser, index: int, name: str, at: Placed) -> None:
        if index in parser.label_lines:
            note = Label(self.source.name_span(parser.label_lines[index], name), "it was defined here")
            self.source.report(Problem("V024", f"label '{name}' is defined twice"), parser.line, at, (note,))
        parser.label_lines.setdefault(index, parser.line)
        parser.function.labels[index].line = parser.line

    # -- directives ----------------------------------------------------------------------------------------

    def _directive(self, statement: DirectiveStatement, at: Placed, number: int) -> None:
        word = statement.word
        if word == ".version":
            self._version(statement, number)
            return
        self._check_version(at, number)
        if word in (".kernel", ".global_function"):
            self._open_function(statement, number)
            return
        parser = self._function(at, number)
        if word == ".function":
            self._subroutine(parser, name_argument(statement), at)
        elif word == ".funcdecl":
            name_argument(statement)
        else:
            FUNCTION_DIRECTIVES.get(word, declare_input)(parser, self.source, statement)

    def _version(self, statement: DirectiveStatement, number: int) -> None:
        at = statement.arguments[0] if statement.arguments else None
        m = re.fullmatch(r"(\d{1,9})\.(\d{1,9})", at.text) if at else None
        if at is None or m is None:
            raise Problem("V005", "the version is major.minor", "write '.version 4.1'")
        if self.current is None:
            self.module.version = (4, 2) if (int(m[1]), int(m[2])) >= (4, 2) else (4, 1)
            if at.text not in _VERSIONS:
                message = f"version {at.text} is not known, the text is read as 4.{self.module.version[1]}"
                self.source.warn("W001", message, number, at)
        self.version_seen = True

    def _open_function(self, statement: DirectiveStatement, number: int) -> None:
        name = name_argument(statement)
        self._check_room(statement, name)
        self._finish_function()
        if name in self.function_lines:
            note = Label(self.source.name_span(self.function_lines[name], name), "it was defined here")
            problem = Problem("V025", f"'{name}' is defined twice")
            self.source.report(problem, number, statement.arguments[0], (note,))
        self.function_lines[name] = number
        is_kernel = statement.word == ".kernel"
        function = Function(name, is_kernel, self.module.version, file=self.source.file, line=number)
        function.strings = [name, *predefined_strings(self.module.version)]
        (self.module.kernels if is_kernel else self.module.functions).append(function)
        self.current = FunctionParser(function, self.platform, self.grf_size, self.caches)

    def _check_room(self, statement: DirectiveStatement, name: str) -> None:
        """One more function must have a place in the tables of the module."""
        at = statement.arguments[0]
        if len(name.encode("utf-8", "surrogateescape")) > MAXIMUM_COUNT:
            raise Problem("V029", f"the name has more than {MAXIMUM_COUNT} bytes", at=at)
        table = self.module.kernels if statement.word == ".kernel" else self.module.functions
        if len(table) >= MAXIMUM_COUNT:
            raise Problem("V029", f"a module has at most {MAXIMUM_COUNT} kernels and as many functions", at=at)

    def _finish_function(self) -> None:
        parser, self.current = self.current, None
        if parser is None:
            return
        if parser.function.attribute("Target") is None:
            parser.function.attributes.append(Attribute(parser.function.add_string("Target"), "Target", b"\1"))
        self.checks.function(parser)

    def _subroutine(self, parser: FunctionParser, name: str, at: Placed) -> None:
        index = parser.binder.label(name)
        parser.function.labels[index].kind = 1
        self._define_label(parser, index, name, at)
        parser.emit(".function", {"label": index}, parser.line)
        parser.subroutine = name


def _scope(parser: FunctionParser, statement: ScopeStatement) -> None:
    names = parser.binder.names
    if statement.opens:
        if names.depth >= MAXIMUM_SCOPES:
            raise Problem("V029", f"more than {MAXIMUM_SCOPES} scopes are open")
        names.open()
        return
    if names.depth == 1:
        unopened = Problem if parser.scopes_known else FollowUp
        raise unopened("V007", "this closes a scope that was not opened")
    names.close()
    parser.forget()


def parse_module(
    text: str, file: str = "<text>", platform: str | None = None, collector: Collector | None = None
) -> Module:
    """Parse the text of a module.

    Args:
        text: vISA assembly, any line ends.
        file: the name that diagnostics show.
        platform: checks that every instruction exists there and gives the register size; without it any platform's
            are taken.
        collector: receives all diagnostics; without it errors are raised.

    Raises:
        AssemblyError: there are errors and no collector was given.
    """
    own = collector or Collector()
    named = find(platform) if platform else None
    text = text.replace("\r\n", "\n") if "\r" in text else text
    module = module_parser(text, file, named, own).run()
    own.items.sort(key=lambda d: (d.span.line, d.span.column) if d.span else (0, 0))
    if collector is None and own.error_count:
        raise AssemblyError(own.items)
    return module


def module_parser(
    text: str, file: str, platform: Platform | None, collector: Collector, caches: bool = True
) -> ModuleParser:
    """The parser of a text; without a platform, a comment of the compiler may still tell the size of registers."""
    hinted = platform
    # Nearly all texts lack the comment; a search for lines that begin so takes a tenth of the time of a long text.
    if hinted is None and "Platform:" in text and (m := _PLATFORM_COMMENT.search(text)):
        hinted = find(m[1])
    return ModuleParser(text, file, platform, hinted.grf_size if hinted else 0, collector, caches)
