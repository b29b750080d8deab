"""Text to syntax tree."""

from __future__ import annotations

import functools
import re
from itertools import pairwise
from typing import Any

from visa import types
from visa.diagnostics import AssemblyError, Collector, Diagnostic, Label, Span, did_you_mean
from visa.isa import InstructionDesc, instruction_set
from visa.isa.record import Flow, target_outputs
from visa.operands import NULL, SAT, Execution, Predicate, PredicateControl, with_modifier
from visa.platforms import PLATFORMS, Platform, find
from visa.program import (
    FIRST_PREDICATE,
    FIRST_SURFACE,
    FIRST_VARIABLE,
    Attribute,
    Declared,
    Function,
    Input,
    Instruction,
    LabelName,
    Module,
    Variable,
    predefined_strings,
)  # fmt: skip
from visa.text import scanner
from visa.text.operands import OperandReader, Problem, Symbol, split_list, unescape
from visa.text.rules import Rules
from visa.text.scanner import Statement, Token
from visa.text.shapes import Shapes
from visa.text.slots import ExecSlot, slots
from visa.text.suffixes import resolve

_PREDICATION = re.compile(r"\((?P<inverse>!)?(?P<name>%?\w+)(?:\.(?P<mode>any|all))?\)$")
_ALIAS = re.compile(r"<\s*(%?\w+)\s*,\s*(.+?)\s*>$")
_PLATFORM_COMMENT = re.compile(r"^//\s*Platform:\s*(\w+)", re.MULTILINE)
_BOOLEAN_ATTRIBUTES = ("Input", "Output", "Input_Output", "NoWidening", "DoNotSpill", "PayloadLiveOut")
_INTEGER_ATTRIBUTES = ("Scope", "SurfaceUsage")
KERNEL_ATTRIBUTES = (
    "Extern", "NoBarrier", "Callable", "Caller", "Composable", "Entry", "SepSpillPvtSS", "LTO_InvokeOptTarget", "Target", "SLMSize", "SpillMemOffset",
    "ArgSize", "RetValSize", "PerThreadInputSize", "SimdSize", "CrossThreadInputSize", "NBarrierCnt", "OutputAsmPath", "AsmName", "perThreadInputSize",
)  # fmt: skip
_EMPTY_EXEC = Execution(1, 8)
_UNIFORM_EXEC = Execution(1, 0)
_JUMPS = (Flow.GOTO, Flow.JUMP)


@functools.cache
def _position_marks(version: tuple[int, int]) -> tuple[str, ...]:
    """The directives that are instructions: source file and line of what follows."""
    forms = instruction_set(version).forms
    return tuple(f.mnemonic for f in forms if f.is_directive and f.flow is not Flow.LABEL)


class FunctionParser:
    """What the slots need while one function is read."""

    def __init__(self, function: Function, grf_size: int) -> None:
        self.function = function
        self.operands = OperandReader(function, grf_size)
        self.shapes = Shapes(self)
        self.labels: dict[str, int] = {}
        self.label_uses: dict[int, tuple[int, Token]] = {}
        self.label_lines: dict[int, int] = {}
        self.line = 0
        self.skip_label = ""

    def forget(self) -> None:
        """Names changed their meaning (a scope was opened or closed)."""
        self.operands.forget()
        self.shapes.forget()

    def label(self, name: str, token: Token | None = None) -> int:
        """Index of a label, which is made at its first use or definition."""
        index = self.labels.get(name)
        if index is None:
            index = self.labels[name] = len(self.function.labels)
            self.function.labels.append(LabelName(self.function.add_string(name), name))
        if token is not None:
            self.label_uses.setdefault(index, (self.line, token))
        return index


class ModuleParser:
    """Reads the statements of a text into a module and collects what is wrong with them; ``fast``: instructions of known shape go the short way."""

    def __init__(
        self, text: str, file: str, platform: Platform | None, collector: Collector, fast: bool = True
    ) -> None:
        self.file, self.platform, self.collector, self.fast = file, platform, collector, fast
        self.lines = text.split("\n")
        self.module = Module()
        self.current: FunctionParser | None = None
        self.version_seen = False
        self.places: dict[str, int] = {}
        self.grf_size = platform.grf_size if platform else 32

    # -- diagnostics ---------------------------------------------------------------------------------------

    def span(self, line: int, column: int = 0, length: int = 1) -> Span:
        text = self.lines[line - 1].rstrip("\r") if 0 < line <= len(self.lines) else ""
        return Span(self.file, line, column + 1, max(length, 1), text)

    def name_span(self, line: int, name: str) -> Span:
        """The place of a name in the line that defines it."""
        m = re.search(rf"(?<![\w%.]){re.escape(name)}(?!\w)", self.lines[line - 1])
        return self.span(line, m.start() if m else 0, len(name))

    def report(self, problem: Problem, line: int, token: Token | None, labels: tuple[Label, ...] = ()) -> None:
        token = problem.token or token
        span = self.span(line, token[2], len(token[1])) if token else self.span(line)
        self.collector.add(Diagnostic(problem.code, problem.message, span, problem.hint, labels))

    def warn(self, code: str, message: str, line: int, token: Token | None = None, hint: str = "") -> None:
        span = self.span(line, token[2], len(token[1])) if token else self.span(line)
        self.collector.add(Diagnostic(code, message, span, hint, (), "warning"))

    # -- statements ----------------------------------------------------------------------------------------

    def run(self) -> Module:
        try:
            text = scanner.strip_block_comments("\n".join(self.lines), self.file)
        except AssemblyError as error:
            for d in error.diagnostics:
                self.collector.add(d)
            return self.module
        for number, raw in enumerate(text.split("\n"), 1):
            line = scanner.strip_line_comment(raw) if "//" in raw else raw
            if (
                self.fast
                and self.current is not None
                and (known := self.current.shapes.instruction(line, number)) is not None
            ):
                self.current.function.instructions.append(known)
                continue
            statement = scanner.scan_line(line, number)
            if statement is None:
                continue
            self.line_text = line
            if isinstance(statement, int):
                self.report(
                    Problem("V001", "this cannot be read", scanner.expected_at(line)),
                    number,
                    ("", line[statement : statement + 1], statement),
                )
            else:
                self.statement(statement)
            if self.collector.full:
                return self.module
        self.finish_body()
        self.check_calls()
        if not self.version_seen:
            self.report(
                Problem(
                    "V005",
                    "the text is empty" if not text.strip() else "there is no .version",
                    "begin with '.version 4.1'",
                ),
                1,
                None,
            )
        elif not self.module.all_functions:
            self.report(
                Problem("V006", "there is no .kernel and no .global_function", 'name the kernel: .kernel "name"'),
                len(self.lines),
                None,
            )
        return self.module

    def statement(self, s: Statement) -> None:
        try:
            if s.kind == scanner.INSTRUCTION:
                self.instruction(s)
            elif s.kind == scanner.DIRECTIVE:
                self.directive(s)
            elif s.kind == scanner.LABEL:
                self.label(s)
            elif s.kind == scanner.OPEN_SCOPE:
                self.current_function(s).operands.names.open()
            else:
                operands = self.current_function(s).operands
                if operands.names.depth == 1:
                    raise Problem("V007", "this closes a scope that was not opened")
                operands.names.close()
                self.current_function(s).forget()
        except Problem as problem:
            self.report(problem, s.line, s.head)

    def current_function(self, s: Statement) -> FunctionParser:
        if self.current is None:
            raise Problem(
                "V006",
                f"'{s.head[1]}' stands before any .kernel or .global_function",
                "begin with '.version 4.1' and '.kernel \"name\"'",
            )
        self.current.line = s.line
        return self.current

    def label(self, s: Statement) -> None:
        parser = self.current_function(s)
        name = s.head[1].rstrip(": \t")
        if parser.skip_label == name:
            parser.skip_label = ""
            return
        index = parser.label(name)
        self.define_label(parser, index, name, s)
        self.emit(parser, ".label", {"label": index}, s.line)

    def define_label(self, parser: FunctionParser, index: int, name: str, s: Statement) -> None:
        if index in parser.label_lines:
            line = parser.label_lines[index]
            note = Label(self.name_span(line, name), "it was defined here")
            self.report(Problem("V024", f"label '{name}' is defined twice"), s.line, s.head, (note,))
        parser.label_lines.setdefault(index, s.line)
        parser.function.labels[index].line = s.line

    def emit(self, parser: FunctionParser, mnemonic: str, args: dict[str, Any], line: int) -> None:
        desc = instruction_set(self.module.version).by_mnemonic[mnemonic][0]
        parser.function.instructions.append(Instruction(desc, args, line))

    # -- instructions --------------------------------------------------------------------------------------

    def instruction(self, s: Statement) -> None:
        parser = self.current_function(s)
        self.check_predication(s)
        desc, fields, saturate = resolve(instruction_set(self.module.version), s.head[1])
        args: dict[str, Any] = dict(fields)
        tokens = s.tokens
        no_mask = False
        if tokens and tokens[-1][0] == "ATTRIBUTE":
            word = tokens[-1][1].strip("{} \t")
            if word.lower() != "nomask":
                raise Problem(
                    "V045", f"'{word}' is not an instruction attribute", "the only one is {NoMask}", tokens[-1]
                )
            no_mask, tokens = True, tokens[:-1]
        self.read_operands(parser, desc, tokens, args, s)
        if no_mask and desc.has_exec:
            args["exec"] = Execution(args["exec"].size, args["exec"].mask | 8)
        if s.predication is not None:
            if not desc.has_predicate:
                raise Problem(
                    "V046",
                    f"{desc.mnemonic} cannot be predicated: its encoding has no place for a predicate",
                    f"its form is: {desc.syntax}",
                    s.predication,
                )
            args["pred"] = self.predicate(parser, s.predication)
        elif desc.has_predicate:
            args["pred"] = None
        self.complete(desc, args, saturate, s)
        parser.function.instructions.append(Instruction(desc, args, s.line))
        if s.head[0] == "OPCODE":
            parser.shapes.learn(s, desc, saturate, args, self.line_text)

    def check_predication(self, s: Statement) -> None:
        if self.platform is not None and s.head[0] == "OPCODE":
            desc, _, _ = resolve(instruction_set(self.module.version), s.head[1])
            if self.platform.name not in desc.platforms:
                having = ", ".join(n for n in PLATFORMS if n in desc.platforms)
                raise Problem(
                    "V060", f"{desc.mnemonic} does not exist on {self.platform.name}", f"it exists on {having}"
                )

    def predicate(self, parser: FunctionParser, token: Token) -> PredicateControl:
        m = _PREDICATION.match(token[1])
        assert m
        try:
            index = parser.operands.symbol(m["name"], "P").index
        except Problem as problem:
            problem.token = token
            raise
        return PredicateControl(index, bool(m["inverse"]), m["mode"] or "")

    def read_operands(
        self, parser: FunctionParser, desc: InstructionDesc, tokens: list[Token], args: dict[str, Any], s: Statement
    ) -> None:
        position = 0
        for slot in slots(desc):
            if slot.many:
                args.setdefault(slot.name, ())
            while True:
                token = tokens[position] if position < len(tokens) else None
                if type(slot) is ExecSlot and (token is None or token[0] not in ("GROUP", "PREDICATION")):
                    if "optional-exec" not in desc.spelling:
                        raise Problem(
                            "V047",
                            f"{desc.mnemonic} needs a mask and an execution size",
                            f"its form is: {desc.syntax}",
                            token,
                        )
                    args["exec"] = _EMPTY_EXEC
                    break
                condition = getattr(slot, "condition", None)
                if slot.optional and (
                    token is None or not slot.accepts(token) or (condition and not args[condition[0]] & condition[1])
                ):
                    break
                if slot.many and token is None:
                    break
                if token is None:
                    raise Problem("V048", f"{desc.mnemonic} needs {slot.what} here, the line ends", f"its form is: {desc.syntax}",
                                  ("", " ", len(self.lines[s.line - 1].rstrip())))  # fmt: skip
                try:
                    slot.read(parser, token, args)
                except Problem as problem:
                    problem.token = problem.token or token
                    if problem.code == "V012" and not problem.hint:
                        problem.hint = f"expected {slot.what}; the form is: {desc.syntax}"
                    raise
                position += 1
                if not slot.many:
                    break
        if position < len(tokens):
            raise Problem(
                "V049",
                f"'{tokens[position][1]}' is one operand too many for {desc.mnemonic}",
                f"its form is: {desc.syntax}",
                tokens[position],
            )

    def complete(self, desc: InstructionDesc, args: dict[str, Any], saturate: bool, s: Statement) -> None:
        """Fill in what the text leaves out, as the encoding has it."""
        for f in desc.fields:
            if f.kind in ("r", "w"):
                args.setdefault(f.name, NULL)
            elif f.parts:
                for name, _ in f.parts:
                    args.setdefault(name, 0)
            elif f.kind in ("B", "H", "W", "I") and f.name:
                args.setdefault(f.name, 0)
            elif f.kind == "ec":
                args.setdefault("exec", _EMPTY_EXEC)
            elif f.kind == "r!" and len(args[f.name]) != (wanted := target_outputs(args["mode"])):
                raise Problem(
                    "V048",
                    f"this render-target write has {wanted} outputs, found {len(args[f.name])}",
                    f"its form is: {desc.syntax}",
                )
        args.update(desc.implied)
        if saturate:
            dst = next(f.name for f in desc.fields if f.kind == "d")
            args[dst] = with_modifier(args[dst], SAT)
        if desc.flow.is_scalar_jump:
            args["exec"] = _UNIFORM_EXEC
        elif "predicate-copy" in desc.spelling and type(args["src0"]) is Predicate:
            args["exec"] = _EMPTY_EXEC
            args["pred"] = None

    # -- directives ----------------------------------------------------------------------------------------

    def directive(self, s: Statement) -> None:
        word = s.head[1]
        if word == ".version":
            self.version(s)
            return
        if not self.version_seen:
            self.version_seen = True
            self.report(
                Problem("V005", "the first statement must be .version", "begin with '.version 4.1'"), s.line, s.head
            )
        if word in (".kernel", ".global_function"):
            self.open_function(s)
        elif word in _position_marks(self.module.version):
            self.instruction(s)
        elif word.startswith(".implicit_"):
            self.input(s, self.current_function(s))
        elif word in _DIRECTIVES:
            _DIRECTIVES[word](self, s, self.current_function(s))
        else:
            raise Problem(
                "V003",
                f"'{word}' is not a directive",
                did_you_mean(
                    word,
                    [*_DIRECTIVES, ".version", ".kernel", ".global_function", *_position_marks(self.module.version)],
                ),
            )

    def version(self, s: Statement) -> None:
        if len(s.tokens) != 1 or s.tokens[0][0] != "VERSION":
            raise Problem("V005", "the version is major.minor", "write '.version 4.1'")
        if self.current is None:
            major, minor = (int(n) for n in s.tokens[0][1].split("."))
            self.module.version = (4, 2) if (major, minor) >= (4, 2) else (4, 1)
            if (major, minor) not in ((4, 0), (4, 1), (4, 2)):
                self.warn(
                    "W001",
                    f"version {major}.{minor} is not known, the text is read as 4.{self.module.version[1]}",
                    s.line,
                    s.tokens[0],
                )
        self.version_seen = True

    def name_argument(self, s: Statement, what: str) -> str:
        if not s.tokens or s.tokens[0][0] not in ("STRING", "NAME"):
            raise Problem("V008", f"{s.head[1]} needs {what}", f'write {s.head[1]} "name"')
        kind, text, _ = s.tokens[0]
        if len(s.tokens) > 1:
            raise Problem("V049", f"'{s.tokens[1][1]}' is one argument too many", token=s.tokens[1])
        return unescape(text) if kind == "STRING" else text

    def open_function(self, s: Statement) -> None:
        name = self.name_argument(s, "a name")
        self.finish_body()
        if name in self.places:
            line = self.places[name]
            note = Label(self.name_span(line, name), "it was defined here")
            self.report(Problem("V025", f"'{name}' is defined twice"), s.line, s.tokens[0], (note,))
        self.places[name] = s.line
        is_kernel = s.head[1] == ".kernel"
        function = Function(name, is_kernel, self.module.version, file=self.file, line=s.line)
        function.strings = [name, *predefined_strings(self.module.version)]
        (self.module.kernels if is_kernel else self.module.functions).append(function)
        self.current = FunctionParser(function, self.grf_size)

    def finish_body(self) -> None:
        parser, self.current = self.current, None
        if parser is None:
            return
        for index, (line, token) in sorted(parser.label_uses.items()):
            if index not in parser.label_lines:
                name = parser.function.labels[index].name
                known = [parser.function.labels[i].name for i in parser.label_lines]
                self.report(
                    Problem(
                        "V026", f"label '{name}' is not defined in '{parser.function.name}'", did_you_mean(name, known)
                    ),
                    line,
                    token,
                )
        if parser.operands.names.depth > 1:
            self.report(
                Problem("V007", f"a scope of '{parser.function.name}' is not closed", "close it with }"),
                parser.line,
                None,
            )
        if parser.function.attribute("Target") is None:
            parser.function.attributes.append(Attribute(parser.function.add_string("Target"), "Target", b"\1"))

        self.check_rules(parser)

    # -- rules beyond the encoding -------------------------------------------------------------------------

    def check_rules(self, parser: FunctionParser) -> None:
        """What the manual forbids or advises against in a function that can be encoded."""
        function = parser.function
        rules = Rules(function, self.grf_size, self.collector.silent)
        for i in function.instructions:
            for v in rules.check(i):
                token = self.operand_token(i, v.field)
                if v.code.startswith("W"):
                    self.warn(v.code, v.message, i.line, token, v.hint)
                else:
                    self.report(Problem(v.code, v.message, v.hint), i.line, token)
        if not function.instructions:
            self.warn("W004", f"'{function.name}' has no instructions", function.line)
        elif not (function.instructions[-1].desc.flow.ends_lanes or function.instructions[-1].desc.flow in _JUMPS):
            self.warn(
                "W003",
                f"'{function.name}' does not end with {'ret' if function.is_kernel else 'fret'}",
                function.instructions[-1].line,
            )
        self.check_inputs(function)

    def operand_token(self, i: Instruction, field: str) -> Token | None:
        """The token that gave a field of an instruction, or its opcode."""
        statement = scanner.scan_line(scanner.strip_line_comment(self.lines[i.line - 1].rstrip("\r")), i.line)
        if not isinstance(statement, Statement):
            return None
        for slot, token in zip(slots(i.desc), statement.tokens, strict=False):
            if slot.name == field:
                return token
        return statement.head

    def check_inputs(self, function: Function) -> None:
        placed = sorted((i for i in function.inputs if i.size), key=lambda i: i.offset)
        for before, i in pairwise(placed):
            if i.offset < before.offset + before.size:
                self.warn(
                    "W008",
                    f"this input begins at byte {i.offset}, inside the one before it",
                    i.line,
                    None,
                    f"that one is in line {before.line}",
                )
        for i in placed:
            if (
                i.operand_class == 0
                and i.index >= FIRST_VARIABLE
                and i.size != (size := function.variables[i.index - FIRST_VARIABLE].size)
            ):
                self.warn(
                    "W009",
                    f"this input has {i.size} bytes, its variable '{function.variable_name(i.index)}' has {size}",
                    i.line,
                )

    def check_calls(self) -> None:
        """Argument and return sizes of calls against the functions of this text."""
        functions = {f.name: f for f in self.module.functions}
        for function in self.module.all_functions:
            for i in function.instructions:
                if not i.desc.names_symbol or i.desc.flow is not Flow.CALL_FUNCTION:
                    continue
                target = functions.get(function.strings[i.args["name"]])
                if target is None:
                    continue
                for field, attribute in (("arg_grf", "ArgSize"), ("ret_grf", "RetValSize")):
                    declared = target.attribute(attribute)
                    if declared is not None and declared.integer != i.args[field]:
                        problem = Problem(
                            "V028",
                            f"the call passes {i.args[field]} registers, '{target.name}' declares {attribute}={declared.integer}",
                        )
                        note = Label(self.name_span(target.line, target.name), "the function is here")
                        self.report(problem, i.line, self.operand_token(i, field), (note,))

    # -- settings of directives ----------------------------------------------------------------------------

    def settings(self, s: Statement) -> dict[str, tuple[str, Token]]:
        found: dict[str, tuple[str, Token]] = {}
        for token in s.tokens:
            if token[0] == "SETTING":
                name, _, value = token[1].partition("=")
                found[name.strip()] = (value.strip(), token)
        return found

    def decl(self, s: Statement, parser: FunctionParser) -> None:
        if not s.tokens or s.tokens[0][0] != "NAME":
            raise Problem(
                "V008",
                ".decl needs a name",
                "write .decl V32 v_type=G type=d num_elts=8",
                s.tokens[0] if s.tokens else None,
            )
        name, token = s.tokens[0][1], s.tokens[0]
        names, function = parser.operands.names, parser.function
        before = names.declared_here(name)
        if before is not None:
            note = (Label(self.name_span(before, name), "it was declared here"),) if before else ()
            self.report(
                Problem("V025", f"'{name}' is {'declared twice' if before else 'predefined'}"), s.line, token, note
            )
            return
        settings = self.settings(s)
        unknown = next(
            (
                t
                for k, (_, t) in settings.items()
                if k not in ("v_type", "type", "num_elts", "align", "alias", "attrs", "v_name")
            ),
            None,
        )
        if unknown is not None:
            raise Problem("V009", f"'{unknown[1].split('=')[0].strip()}' is not a setting of .decl", token=unknown)
        kind, kind_token = settings.get("v_type", ("", token))
        if kind not in ("G", "A", "P", "S", "T"):
            raise Problem(
                "V009",
                f"'{kind}' is not a kind of variable" if kind else ".decl needs v_type=",
                "kinds are G, A, P, S and T",
                kind_token,
            )
        elements = self.setting_integer(parser, settings, "num_elts", s, 1, 0xFFFF if kind != "P" else 32)
        string = function.add_string(name)
        attributes = self.variable_attributes(parser, settings)
        if kind == "G":
            index = FIRST_VARIABLE + len(function.variables)
            variable = self.general(parser, settings, s, string, name, elements)
            variable.attributes = attributes
            function.variables.append(variable)
        else:
            items, first = {
                "A": (function.addresses, 0),
                "P": (function.predicates, FIRST_PREDICATE),
                "S": (function.samplers, 0),
                "T": (function.surfaces, FIRST_SURFACE),
            }[kind]
            index = first + len(items)
            items.append(Declared(string, name, elements, attributes, s.line))
        names.define(name, Symbol("V" if kind == "G" else kind, index), s.line)
        if names.depth > 1:
            parser.forget()

    def setting_integer(
        self,
        parser: FunctionParser,
        settings: dict[str, tuple[str, Token]],
        name: str,
        s: Statement,
        low: int,
        high: int,
    ) -> int:
        if name not in settings:
            raise Problem("V009", f"{s.head[1]} needs {name}=")
        text, token = settings[name]
        try:
            return parser.operands.integer(text, low, high, name)
        except Problem as problem:
            problem.token = token
            raise

    def general(
        self,
        parser: FunctionParser,
        settings: dict[str, tuple[str, Token]],
        s: Statement,
        string: int,
        name: str,
        elements: int,
    ) -> Variable:
        if "type" not in settings:
            raise Problem("V009", ".decl of a general variable needs type=", "write type=d")
        type_name, token = settings["type"]
        data_type = types.BY_NAME.get(type_name.lower())
        if data_type is None or data_type.kind in (types.VECTOR, types.BOOL):
            raise Problem(
                "V022",
                f"'{type_name}' is not a type of a variable",
                did_you_mean(type_name.lower(), types.BY_NAME),
                token,
            )
        align = 0
        if "align" in settings:
            text, token = settings["align"]
            if text in types.ALIGNMENT_CODES:
                align = types.ALIGNMENT_CODES[text]
            elif re.fullmatch(r"[A-Za-z]\w*", text):
                raise Problem(
                    "V009",
                    f"'{text}' is not an alignment",
                    did_you_mean(text, types.ALIGNMENT_CODES) or "write GRF or a number of bytes",
                    token,
                )
            else:
                value = parser.operands.integer(text)
                if value not in types.ALIGNMENT_OF_BYTES:
                    raise Problem("V009", f"{value} is not an alignment", "it is 1, 2, 4, 8, 16, 32, 64 or 128", token)
                align = types.ALIGNMENT_OF_BYTES[value]
        alias = None
        if "alias" in settings:
            text, token = settings["alias"]
            m = _ALIAS.match(text)
            if not m:
                raise Problem("V009", f"'{text}' is not an alias", "write alias=<V32, 0>", token)
            try:
                index = parser.operands.symbol(m[1], "V").index
                offset = parser.operands.integer(m[2], 0, 0xFFFF, "byte offset")
            except Problem as problem:
                problem.token = token
                raise
            alias = (index, offset)
            size = parser.operands.size_of(m[1]) or 0
            if index >= FIRST_VARIABLE and offset + elements * data_type.size > size:
                raise Problem(
                    "V031",
                    f"'{name}' reaches to byte {offset + elements * data_type.size} of '{m[1]}', which has {size} bytes",
                    token=token,
                )
        return Variable(string, name, data_type, elements, align, alias, [], s.line)

    def variable_attributes(self, parser: FunctionParser, settings: dict[str, tuple[str, Token]]) -> list[Attribute]:
        if "attrs" not in settings:
            return []
        text, token = settings["attrs"]
        found = []
        for part in split_list(text.strip("{} \t")):
            name, _, value = (p.strip() for p in part.partition("="))
            if name not in _BOOLEAN_ATTRIBUTES and name not in _INTEGER_ATTRIBUTES:
                raise Problem(
                    "V027",
                    f"'{name}' is not an attribute of a variable",
                    did_you_mean(name, _BOOLEAN_ATTRIBUTES + _INTEGER_ATTRIBUTES),
                    token,
                )
            data = self.attribute_value(parser, value)
            found.append(Attribute(parser.function.add_string(name), name, data))
        return found

    def attribute_value(self, parser: FunctionParser, value: str) -> bytes | None:
        if not value:
            return None
        if value.startswith('"'):
            return unescape(value).encode()
        return (parser.operands.integer(value, -(1 << 31), (1 << 32) - 1) & 0xFFFFFFFF).to_bytes(4, "little")

    def kernel_attr(self, s: Statement, parser: FunctionParser) -> None:
        if not s.tokens or s.tokens[0][0] not in ("SETTING", "NAME"):
            raise Problem("V008", ".kernel_attr needs a name", "write .kernel_attr SimdSize=16")
        name, _, value = (p.strip() for p in s.tokens[0][1].partition("="))
        if name not in KERNEL_ATTRIBUTES:
            self.warn(
                "W002",
                f"'{name}' is not a known attribute of a kernel",
                s.line,
                s.tokens[0],
                did_you_mean(name, KERNEL_ATTRIBUTES),
            )
        data = self.attribute_value(parser, value)
        if name == "Target":
            targets = {b"cm": b"\0", b"3d": b"\1"}
            if data not in targets:
                raise Problem("V027", f"{value} is not a target", 'it is "cm" or "3d"', s.tokens[0])
            data = targets[data]
        if name == "SimdSize" and data is not None and int.from_bytes(data, "little") not in (0, 1, 8, 16, 32):
            raise Problem("V027", f"{value} is not a SIMD size", "it is 8, 16 or 32", s.tokens[0])
        if name == "AsmName":
            name = "OutputAsmPath"
        parser.function.attributes.append(Attribute(parser.function.add_string(name), name, data))

    def input(self, s: Statement, parser: FunctionParser) -> None:
        if not s.tokens or s.tokens[0][0] != "NAME":
            raise Problem("V008", f"{s.head[1]} needs a variable")
        token = s.tokens[0]
        try:
            symbol = parser.operands.symbol(token[1], "VST")
        except Problem as problem:
            problem.token = token
            raise
        settings = self.settings(s)
        offset = 0 if s.head[1] == ".parameter" else self.setting_integer(parser, settings, "offset", s, 0, 0x7FFF)
        size = (
            self.setting_integer(parser, settings, "size", s, 0, 0xFFFF)
            if "size" in settings
            else parser.operands.size_of(token[1]) or 4
        )
        kind = {"V": 0, "S": 1, "T": 2}[symbol.kind]
        if s.head[1].startswith(".implicit_") and "size" in settings:
            m = re.fullmatch(r"\.implicit_UNDEFINED_(\d+)", s.head[1])
            kind |= (int(m[1]) & 31 if m else 5) << 3
        parser.function.inputs.append(Input(kind, symbol.index, offset, size, s.line))

    def function(self, s: Statement, parser: FunctionParser) -> None:
        name = self.name_argument(s, "a name")
        index = parser.label(name)
        parser.function.labels[index].kind = 1
        self.define_label(parser, index, name, s)
        self.emit(parser, ".function", {"label": index}, s.line)
        parser.skip_label = name

    def funcdecl(self, s: Statement, parser: FunctionParser) -> None:
        self.name_argument(s, "a name")


_DIRECTIVES = {
    ".decl": ModuleParser.decl, ".kernel_attr": ModuleParser.kernel_attr, ".input": ModuleParser.input, ".parameter": ModuleParser.input,
    ".function": ModuleParser.function, ".funcdecl": ModuleParser.funcdecl,
}  # fmt: skip


def parse_module(
    text: str, file: str = "<text>", platform: str | None = None, collector: Collector | None = None
) -> Module:
    """Parse the text of a module.

    Args:
        text: vISA assembly, any line ends.
        file: the name that diagnostics show.
        platform: checks that every instruction exists there and gives the register size; without it any platform's are taken.
        collector: receives all diagnostics; without it errors are raised.

    Raises:
        AssemblyError: there are errors and no collector was given.
    """
    own = collector or Collector()
    named = find(platform) if platform else None
    text = text.replace("\r\n", "\n")
    parser = ModuleParser(text, file, named, own)
    if named is None and (m := _PLATFORM_COMMENT.search(text)) and (hinted := find(m[1])):
        parser.grf_size = hinted.grf_size
    module = parser.run()
    own.items.sort(key=lambda d: (d.span.line, d.span.column) if d.span else (0, 0))
    if collector is None and own.error_count:
        raise AssemblyError(own.items)
    return module
