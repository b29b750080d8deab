"""Inline assembly in the sources of other languages: C, C++ and OpenCL C, Python with Triton, and LLVM IR.

Each statement is found, its operands are counted, and its text is checked (:mod:`vasm.inline`). What the compiler
knows, and these files do not say, is not checked: types and sizes of operands, and numbers that are template arguments.
Statements that macros put together are counted and left out.
"""

from __future__ import annotations

import ast
import math
import re
import struct
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple, TypeGuard

from vasm.assembler import assemble_text
from vasm.inline import UNKNOWN_CONSTANT, Character, InlineText, Operand, Snippet, StatementSource, declared_names
from visakit.diagnostics import MAXIMUM_ERRORS, AssemblyError, Diagnostic, VisaError
from visakit.files import read_text
from visakit.isa import instruction_set

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?(?:\*/|\Z)|\\\r?\n)
    |(?P<raw>R"(?P<mark>[^()\\\s]{0,16})\((?P<body>.*?)(?:\)(?P=mark)"|\Z))
    |(?P<string>"(?:[^"\\\n]|\\.)*+"?)
    |(?P<other>'(?:[^'\\\n]|\\.)*+'?)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<number>\d[\w.]*)
    |(?P<sign>\S)""",
    re.VERBOSE | re.DOTALL,
)
_PYTHON_STRING = re.compile(r"""([rRuU]?)(\"""|'''|"|')(.*?)(?<!\\)(?:\\\\)*+\2""", re.DOTALL)
_IR = re.compile(r'\basm\s+(?:sideeffect\s+|alignstack\s+|inteldialect\s+|unwind\s+)*"([^"]*)"\s*,\s*"([^"]*)"\s*\(')
_ASM = frozenset({"asm", "__asm", "__asm__"})
_QUALIFIER = re.compile(r"volatile|__volatile__|inline|goto")
_CONSTANTS = frozenset("PinIJKLMNO")
_REGISTERS = frozenset("ra")
"""Constraints of the vector compiler, which writes registers with their regions."""
_FLAGS = re.compile(r"[=&+]+|@\d+")
_WITHOUT_SIZE = sorted(
    name
    for name, forms in instruction_set((4, 2)).by_mnemonic.items()
    if name[0] != "." and all("(exec)" not in form.text for form in forms)
)
"""Instructions that have no execution size to tell them by."""
_NAMES = "|".join(re.escape(name) for name in _WITHOUT_SIZE if "." in name or "_" in name)
_IS_VISA = re.compile(rf"""\(\s*(?:M\d|NoMask)|\.decl\b|^[\s{{"']*(?:{_NAMES})\b""")
_MAY_BE_VISA = re.compile(rf"^[\s{{]*(?:{'|'.join(map(re.escape, _WITHOUT_SIZE))})(?![\w.])")
"""One of these words, which other assemblers know, too: vISA in a file that has more of it."""
_IS_LABEL = re.compile(r"\s*[A-Za-z_]\w*:\s*")
"""A statement that is a label alone, to which those of other statements go."""
_FLOAT = re.compile(r"([-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d{1,3})?)([fF]?)")
_ESCAPES = {"n": "\n", "t": "\t", "r": " ", "0": " "}
_ELSEWHERE = frozenset({"V010", "V026"})
"""An undeclared name, which another statement of the file may declare."""


class Scan(NamedTuple):
    """What was found in files.

    Attributes:
        found: diagnostics, with places in the files.
        checked: how many statements were checked.
        skipped: how many were not, because macros put them together.
    """

    found: list[Diagnostic]
    checked: int
    skipped: int


def scan_files(files: Sequence[str], platform: str | None = None, max_errors: int = MAXIMUM_ERRORS) -> Scan:
    """Check all inline vISA of the files."""
    scans = [_scan_file(file, platform, max_errors) for file in files]
    return Scan([d for s in scans for d in s.found], sum(s.checked for s in scans), sum(s.skipped for s in scans))


def _scan_file(file: str, platform: str | None, max_errors: int) -> Scan:
    try:
        source = StatementSource(read_text(file), file)
        snippets = list(snippets_of(source.text, file))
    except VisaError as error:
        return Scan(error.diagnostics, 0, 0)
    texts = [InlineText(s, source) for s in snippets if s is not None]
    names = {name for t in texts for name in declared_names(t.body)}
    errors = cache(lambda text: _errors(text, file, platform, max_errors))  # Compilers copy statements.
    found = [d for t in texts for d in t.errors(errors(t.text)) if not _is_declared(d, names)]
    return Scan(found, len(texts), len(snippets) - len(texts))


def _errors(text: str, file: str, platform: str | None, max_errors: int) -> list[Diagnostic]:
    """What is wrong with a text."""
    try:
        assemble_text(text, file, platform, max_errors)
    except AssemblyError as error:
        return error.diagnostics
    return []


def _is_declared(d: Diagnostic, names: set[str]) -> bool:
    """Whether a finding is about a name that another statement of the file declares."""
    quoted = re.search(r"'([^']+)'", d.message)
    return d.code in _ELSEWHERE and quoted is not None and quoted[1] in names


def snippets_of(text: str, file: str) -> Iterator[Snippet | None]:
    """The inline vISA of a source; None for what macros put together."""
    if file.endswith(".py"):
        yield from _python(text)
    elif file.endswith(".ll"):
        yield from _ir(text)
    else:
        yield from _c(text)


# -- C, C++, OpenCL C --------------------------------------------------------------------------------------------------


class _Tokens:
    """The tokens of a C source, without comments."""

    def __init__(self, text: str) -> None:
        self.all = [m for m in _TOKEN.finditer(text) if m.lastgroup != "skip" and m["skip"] is None]
        self.at = 0

    def next(self) -> re.Match[str] | None:
        """The next token; None at the end."""
        self.at += 1
        return self.all[self.at - 1] if self.at <= len(self.all) else None


def _c(text: str) -> Iterator[Snippet | None]:
    found = list(_statements(_Tokens(text)))
    if any(s is None or _IS_VISA.search("".join(c for c, _ in s.characters)) for s in found):
        yield from found


def _statements(tokens: _Tokens) -> Iterator[Snippet | None]:
    while (token := tokens.next()) is not None:
        if token["word"] in _ASM:
            opened = tokens.next()
            while opened is not None and _QUALIFIER.fullmatch(opened["word"] or ""):
                opened = tokens.next()
            if opened is not None and opened[0] == "(":
                yield from _statement(_sections(tokens), token.start())


def _sections(tokens: _Tokens) -> list[list[re.Match[str]]]:
    """What stands between the parentheses of a statement, divided at its colons."""
    found: list[list[re.Match[str]]] = [[]]
    depth = 1
    while depth and (token := tokens.next()) is not None:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token[0], 0)
        if depth == 1 and token[0] == ":":
            found.append([])
        elif depth:
            found[-1].append(token)
    return found


def _statement(sections: list[list[re.Match[str]]], start: int) -> Iterator[Snippet | None]:
    template, *operands = sections
    characters = [c for t in template for c in _literal(t)]
    named = [o for section in operands[:2] for o in _operands(section)]
    written = "".join(c for c, _ in characters)
    if not any((_IS_VISA.search(written), _MAY_BE_VISA.match(written), _IS_LABEL.fullmatch(written))):
        return
    if any(t["raw"] is None and t["string"] is None for t in template):
        yield None
        return
    yield Snippet(characters, named, "%", start)


def _literal(token: re.Match[str]) -> list[Character]:
    """The characters of a string literal."""
    if token["raw"] is not None:
        return [(c, token.start("body") + n) for n, c in enumerate(token["body"])]
    return _unescaped(token[0][1:].removesuffix('"'), token.start() + 1) if token["string"] is not None else []


def _unescaped(body: str, start: int) -> list[Character]:
    found: list[Character] = []
    escapes = re.compile(r"\\(?:x[0-9a-fA-F]{1,2}|\r?\n|.)|[^\\]", re.DOTALL)
    for m in escapes.finditer(body):
        c = m[0]
        if len(c) > 1:
            c = "" if c[-1] == "\n" else chr(int(c[2:], 16)) if len(c) > 2 else _ESCAPES.get(c[1], c[1])
        found += [(c, start + m.start())] if c else []
    return found


def _operands(section: list[re.Match[str]]) -> Iterator[Operand]:
    """``[name] "constraint" (expression)``, divided by commas."""
    depth, name, constraint = 0, "", ""
    inside: list[str] = []
    for token in section:
        if depth == 0 and token["string"] is not None:
            constraint = token[0].strip('"')
        if token[0] in ("(", "["):
            depth += 1
        elif token[0] in (")", "]"):
            depth -= 1
            if depth == 0 and token[0] == ")":
                yield _operand(name, constraint, "".join(inside))
                name, constraint, inside = "", "", []
        elif depth == 1 and not constraint:
            name = token[0]
        elif depth:
            inside.append(token[0])


def _operand(name: str, constraint: str, expression: str) -> Operand:
    """An operand by its constraint: a number, a predicate or a variable, perhaps with its region."""
    kind = _FLAGS.sub("", constraint).partition(".")[0]
    if kind in _CONSTANTS and (decimal := _FLOAT.fullmatch(expression)):
        t = "f" if decimal[2] else "df"
        return Operand(name, constant=_bits_of(float(decimal[1]), t), written=f":{t}")
    if kind in _CONSTANTS:
        known = re.fullmatch(r"-?(?:0[xX][0-9a-fA-F]{1,8}|[1-9]\d{0,9}|0)", expression)
        number = int(expression, 0) if known else UNKNOWN_CONSTANT
        # The compiler writes numbers of template arguments verbatim, others as operands.
        written = "" if kind == "P" else ":d" if number < 0 else ":ud"
        return Operand(name, constant=number, guessed=known is None, written=written)
    if kind in _REGISTERS:
        return Operand(name, written="(0,0)<1>" if constraint[:1] in ("=", "+") else "(0,0)<1;1,0>")
    return Operand(name, "P", 32) if kind == "cr" else Operand(name)


def _bits_of(value: float, t: str) -> int:
    """A number as an f or df, infinite where it is beyond."""
    form = "<f" if t == "f" else "<d"
    try:
        data = struct.pack(form, value)
    except OverflowError:
        data = struct.pack(form, math.copysign(math.inf, value))
    return int.from_bytes(data, "little")


# -- Python and LLVM IR ------------------------------------------------------------------------------------------------


def _python(text: str) -> Iterator[Snippet | None]:
    """Calls with ``asm="..."`` and ``constraints="..."``, as Triton's ``inline_asm_elementwise`` has them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    data = text.encode()
    lines = data.split(b"\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    characters = list(accumulate((len(line.decode()) + 1 for line in lines), initial=0))
    for node in ast.walk(tree):
        words = {k.arg: k.value for k in node.keywords} if isinstance(node, ast.Call) else {}
        if "asm" not in words or "constraints" not in words:
            continue
        template, constraints = words["asm"], words["constraints"]
        begin = starts[template.lineno - 1] + template.col_offset
        end = starts[(template.end_lineno or 1) - 1] + (template.end_col_offset or 0)
        literal = data[begin:end].decode()
        offset = characters[template.lineno - 1] + len(data[starts[template.lineno - 1] : begin].decode())
        if not _IS_VISA.search(str(template.value) if _is_text(template) else literal):
            continue
        if not _is_text(template) or not _is_text(constraints):
            yield None
            continue
        yield Snippet(_characters(literal, offset), _constrained(ast.literal_eval(constraints), ()), "$", offset)


def _characters(literal: str, offset: int) -> list[Character]:
    """The characters of strings one behind the other, with their places in the source."""
    found: list[Character] = []
    for m in _PYTHON_STRING.finditer(literal):
        at = offset + m.start(3)
        raw = [(c, at + n) for n, c in enumerate(m[3])]
        found += raw if m[1] in ("r", "R") else _unescaped(m[3], at)
    return found


def _is_text(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _ir(text: str) -> Iterator[Snippet | None]:
    """``asm "...", "constraints"(arguments)``."""
    for m in _IR.finditer(text):
        characters = [
            (chr(int(c[0][1:], 16)) if len(c[0]) > 1 else c[0], m.start(1) + c.start())
            for c in re.finditer(r"\\[0-9A-Fa-f]{2}|.", m[1], re.DOTALL)
        ]
        if not _IS_VISA.search("".join(c for c, _ in characters)):
            continue
        end = text.find("\n", m.end())
        arguments = text[m.end() : end if end >= 0 else len(text)].rpartition(")")[0].split(",")
        yield Snippet(characters, _constrained(m[2], arguments), "$", m.start())


def _constrained(constraints: str, arguments: Sequence[str]) -> list[Operand]:
    """Operands by the constraints of LLVM: results first, then the arguments; clobbers are not operands."""
    words = [w for w in constraints.split(",") if not w.startswith("~")]
    values = [a.split()[-1] if a.split() else "" for a in arguments]
    results = sum(w.startswith("=") for w in words)
    given = (values[n - results] if 0 <= n - results < len(values) else "" for n in range(len(words)))
    return [_operand("", word, value) for word, value in zip(words, given, strict=True)]
