"""Lines to statements.

The terminals are those of ``grammar/visa.lark``, read out of the file, so the scanner and the Lark parser agree by construction
about what an operand looks like. The scanner serves valid text; what it cannot read goes to the Lark parser, which says what it expected.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visa.diagnostics import AssemblyError, Diagnostic, Span

LABEL, DIRECTIVE, INSTRUCTION, OPEN_SCOPE, CLOSE_SCOPE = (
    "label",
    "directive",
    "instruction",
    "open_scope",
    "close_scope",
)
_OPERANDS = (
    "STRING",
    "INDIRECT",
    "LSC_ADDRESS",
    "LSC_DATA",
    "VECTOR",
    "RAW",
    "IMMEDIATE",
    "NUMBER",
    "ADDRESS_OF",
    "GROUP",
    "ATTRIBUTE",
    "NAME",
)
_ARGUMENTS = ("STRING", "SETTING", "VERSION", "NUMBER", "NAME")

Token = tuple[str, str, int]
"""Terminal, text, column (from 0)."""


@dataclass(slots=True)
class Statement:
    """One statement of a line: its kind, its first word and the tokens behind it."""

    kind: str
    line: int
    head: Token
    predication: Token | None
    tokens: list[Token]


def grammar_text(name: str = "visa") -> str:
    """A grammar file of the package."""
    return (Path(__file__).parent.parent / "grammar" / f"{name}.lark").read_text(encoding="utf-8")


@functools.cache
def _patterns() -> dict[str, str]:
    return dict(re.findall(r"^([A-Z_]+)(?:\.\d+)?: /(.*)/$", grammar_text(), re.MULTILINE))


@functools.cache
def _token_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"[ \t\f]*(?:" + "|".join(f"(?P<{n}>{_patterns()[n]})" for n in names) + ")")


@functools.cache
def _head_pattern() -> re.Pattern[str]:
    p = _patterns()
    predicated = rf"(?:(?P<PREDICATION>{p['PREDICATION']})[ \t]*)?(?P<OPCODE>{p['OPCODE']})"
    return re.compile(
        rf"[ \t\f]*(?:(?P<LABEL>{p['LABEL']})|(?P<DIRECTIVE>{p['DIRECTIVE']})|{predicated}|(?P<BRACE>[{{}}])[ \t]*$)"
    )


_BLOCK_COMMENT = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|//[^\n]*', re.DOTALL)


def strip_block_comments(text: str, file: str) -> str:
    """Blank out ``/* */``, keeping line numbers and columns.

    Raises:
        AssemblyError: a comment does not end.
    """
    if "/*" not in text:
        return text

    def blank(m: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/*") else m[0]

    text = _BLOCK_COMMENT.sub(blank, text)
    rest = _BLOCK_COMMENT.sub(lambda m: " " * len(m[0]), text)
    if "/*" in rest:
        at = rest.index("/*")
        line = text.count("\n", 0, at) + 1
        column = at - (text.rfind("\n", 0, at) + 1)
        raise AssemblyError(
            Diagnostic(
                "V002",
                "this comment does not end",
                Span(file, line, column + 1, 2, text.splitlines()[line - 1]),
                "close it with */",
            )
        )
    return text


_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|(//)')


def strip_line_comment(line: str) -> str:
    """The line without ``// ...``."""
    at = line.find("//")
    if at < 0:
        return line
    if '"' not in line[:at]:
        return line[:at]
    for m in _QUOTED.finditer(line):
        if m[1]:
            return line[: m.start()]
    return line


def scan_line(line: str, number: int) -> Statement | int | None:
    """The statement of a line without comments; None for a blank line; the column of what cannot be read."""
    text = line.rstrip()
    if not text:
        return None
    m = _head_pattern().match(text)
    if m is None:
        return len(text) - len(text.lstrip())
    kind = m.lastgroup
    assert kind
    start = m.start(kind)
    head = (kind, m[kind], start)
    position, end = m.end(), len(text)
    if kind == "LABEL":
        return Statement(LABEL, number, head, None, [])
    if kind == "BRACE":
        return Statement(OPEN_SCOPE if m[kind] == "{" else CLOSE_SCOPE, number, head, None, [])
    directive = kind == "DIRECTIVE"
    match = _token_pattern(_ARGUMENTS if directive else _OPERANDS).match
    tokens: list[Token] = []
    while position < end:
        t = match(text, position)
        if t is None:
            while text[position] in " \t\f":
                position += 1
            return position
        name = t.lastgroup
        assert name
        tokens.append((name, t[name], t.start(name)))
        position = t.end()
    if directive:
        return Statement(DIRECTIVE, number, head, None, tokens)
    predication = ("PREDICATION", m["PREDICATION"], m.start("PREDICATION")) if m["PREDICATION"] else None
    return Statement(INSTRUCTION, number, head, predication, tokens)


def scan_operand(word: str) -> Token | None:
    """The operand that a word without blanks is, or None."""
    m = _token_pattern(_OPERANDS).match(word)
    return (m.lastgroup, word, 0) if m and m.end() == len(word) and m.lastgroup else None


@functools.cache
def lark_parser() -> Any:
    """The Lark parser of the grammar (LALR, contextual lexer)."""
    from lark import Lark

    return Lark(grammar_text(), parser="lalr", lexer="contextual", propagate_positions=True)


def statements_by_grammar(text: str) -> Iterator[Statement]:
    """All statements of a text without comments, parsed by Lark.

    Raises:
        lark.UnexpectedInput: the text does not follow the grammar.
    """
    from lark import Token as LarkToken
    from lark import Tree

    for node in lark_parser().parse(text).children:
        if not isinstance(node, Tree):
            continue
        tokens = [t for t in node.children if isinstance(t, LarkToken)]
        plain: list[Token] = [(t.type, str(t), (t.column or 1) - 1) for t in tokens]
        line = node.meta.line if plain or not node.meta.empty else 0
        if node.data == "instruction":
            predication = plain.pop(0) if plain[0][0] == "PREDICATION" else None
            yield Statement(INSTRUCTION, line, plain[0], predication, plain[1:])
        elif node.data in ("open_scope", "close_scope"):
            yield Statement(str(node.data), line, ("BRACE", "{" if node.data == "open_scope" else "}", 0), None, [])
        else:
            yield Statement(str(node.data), line, plain[0], None, plain[1:])


_TERMINAL_NAMES = {
    "VECTOR": "a register operand", "RAW": "a message operand", "IMMEDIATE": "an immediate", "NAME": "a name", "GROUP": "(mask, size)",
    "STRING": "a string", "OPCODE": "an instruction", "DIRECTIVE": "a directive", "LABEL": "a label", "_NEWLINE": "the end of the line",
    "SETTING": "name=value", "$END": "the end of the file", "PREDICATION": "a predicate", "ATTRIBUTE": "{NoMask}", "LBRACE": "'{'", "RBRACE": "'}'",
}  # fmt: skip


def expected_at(line: str) -> str:
    """What the grammar would accept where the line cannot be read."""
    from lark import UnexpectedInput

    try:
        lark_parser().parse(line + "\n")
    except UnexpectedInput as error:
        names = getattr(error, "allowed", None) or getattr(error, "expected", None) or set()
        shown = sorted(_TERMINAL_NAMES[n] for n in names if n in _TERMINAL_NAMES)
        return "expected " + ", ".join(shown) if shown else ""
    return ""
