"""Lines of CTM text to syntax nodes, by Lark; what the grammar expected where a line is something else."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from lark import Lark, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from visakit.ctm.syntax import Extent, SourceLine
from visakit.ctm.table import OPERATIONS, SHORTHANDS, TEX_OPS
from visakit.ctm.transformer import LineTransformer
from visakit.diagnostics import did_you_mean
from visakit.text.tables import load

LineParser = Callable[[str], SourceLine]
CACHED_LINES = 1 << 15
TITLES = {
    "LABEL": "a label", "NAME": "a name", "INTEGER": "a whole number", "DECIMAL": "a number", "INDEX": "a number",
    "CHANNELS": "channels out of r, g, b, a, 0, h and 1", "OPERATION": "an operation", "FETCH": "a fetch",
    "FC_OPERATION": "an operation of flow control", "COMPARISON": "eq, lt, ge or ne", "MODE": "full or partial",
    "R": "a register", "C": "a float constant", "I": "an integer constant", "B": "a boolean constant",
    "O": "an output", "T": "an input such as t0", "P": "a predicate", "SET": "set", "TEST": "test", "TO": "to",
    "$END": "the end of the line", "<END-OF-FILE>": "the end of the line", "DOT": "'.' and channels",
    "COMMA": "','", "EQUAL": "'='", "PLUS": "'+'",
    "LSQB": "'['", "CLOSE": "']'", "LBRACE": "'{'", "RBRACE": "'}'", "VBAR": "'|'", "MINUS": "'-'", "BANG": "'!'",
    "COLON": "':'",
}  # fmt: skip
"""What messages call the grammar's terminals, but for those that are one word."""


class LineSyntaxError(Exception):
    """A line does not follow the grammar."""

    def __init__(self, message: str, hint: str, extent: Extent) -> None:
        self.message, self.hint, self.extent = message, hint, extent
        super().__init__(message)


@functools.cache
def line_grammar() -> Lark:
    """The parser of a line; its tables are kept in the user's cache directory until the grammar or Lark changes."""
    return load("ctm", "start", lexer="contextual", transformer=LineTransformer())


def parse_line(text: str) -> SourceLine:
    """A line without its indentation.

    Raises:
        LineSyntaxError: it does not follow the grammar.
    """
    try:
        # The transformer makes a SourceLine of the start rule; Lark's types know only of trees.
        return line_grammar().parse(text)  # type: ignore[return-value]
    except UnexpectedInput as error:
        raise _explained(error, text) from None


cached_line: LineParser = functools.lru_cache(CACHED_LINES)(parse_line)
"""The same; equal lines of a process are parsed once."""


def _explained(error: UnexpectedInput, text: str) -> LineSyntaxError:
    """What was found and what was expected, in words."""
    if isinstance(error, UnexpectedToken):
        token, expected = error.token, set(error.accepts or error.expected)
        if token.type == "$END":
            column = token.end_pos or 0
            return LineSyntaxError("the line ends too early", _expected(expected), Extent(column, column + 1))
        start = token.start_pos or 0
        extent = Extent(start, start + (len(_word(text[start:])) if token.type == "DOT" else len(token)))
    else:
        assert isinstance(error, UnexpectedCharacters)
        expected, start = set(error.allowed or ()), error.pos_in_stream or 0
        extent = Extent(start, start + len(_word(text[start:])))
    found = text[extent.start : extent.end]
    if "OPERATION" in expected:  # The beginning of a statement, where nearly everything could stand.
        hint = did_you_mean(found, _statement_words(expected)) or "docs/ctm.md has a table of all statements"
        return LineSyntaxError(f"'{found}' is no statement", hint, extent)
    return LineSyntaxError(f"'{found}' cannot stand here", _expected(expected), extent)


def _word(text: str) -> str:
    """What a message shows of a text that the grammar has no word for."""
    return text.split()[0] if text.split() else text[:1]


def terminal_title(name: str) -> str:
    """What messages call a terminal: its title, or the word that it is."""
    return TITLES.get(name) or _words()[name]


@functools.cache
def _words() -> dict[str, str]:
    """Terminals that are one word, and the words."""
    patterns = {t.name: t.pattern.value for t in line_grammar().terminals}
    return {name: p.removesuffix(r"\b").replace("\\", "") for name, p in patterns.items() if name not in TITLES}


def _expected(terminals: Iterable[str]) -> str:
    names = sorted({terminal_title(t) for t in terminals}, key=lambda n: (n[0] == "'", n))
    if "a number" in names and "a whole number" in names:
        names.remove("a whole number")
    return "expected " + (", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else "".join(names))


def _statement_words(terminals: Iterable[str]) -> list[str]:
    """The words that a statement can begin with."""
    fixed = [terminal_title(t) for t in terminals if t not in ("OPERATION", "FETCH", "LABEL", "$END")]
    return list(dict.fromkeys((*fixed, *OPERATIONS, *SHORTHANDS, *TEX_OPS)))
