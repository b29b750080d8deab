"""Lines of CTM text to syntax nodes: the grammar, and its expectations at an error."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from visakit.ctm.syntax import Extent, SourceLine
from visakit.ctm.table import OPERATIONS, SHORTHANDS, TEX_OPS
from visakit.ctm.transformer import PLACED, LineTransformer
from visakit.diagnostics import did_you_mean
from visakit.text.grammar import Grammar, Unexpected

TITLES = {
    "LABEL": "a label", "NAME": "a name", "INTEGER": "a whole number", "DECIMAL": "a number",
    "CHANNELS": "a dot and channels out of r, g, b, a, 0, h and 1", "OPERATION": "an operation", "FETCH": "a fetch",
    "COMPARISON": ".eq, .lt, .ge or .ne", "MODE": "full or partial",
    "R": "a register", "C": "a float constant", "I": "an integer constant", "B": "a boolean constant",
    "O": "an output", "T": "an input such as t0", "P": "a predicate", "FILE": "a register",
    "$END": "the end of the line", "DOTTED": "a word with a dot",
    "COMMA": "','", "EQUAL": "'='", "PLUS": "'+'",
    "LSQB": "'['", "RSQB": "']'", "LBRACE": "'{'", "RBRACE": "'}'", "VBAR": "'|'", "MINUS": "'-'", "BANG": "'!'",
}  # fmt: skip
"""Names of the grammar's terminals in messages, but for terminals of one word."""


class LineSyntaxError(Exception):
    """A line does not follow the grammar."""

    def __init__(self, message: str, hint: str, extent: Extent) -> None:
        self.message, self.hint, self.extent = message, hint, extent
        super().__init__(message)


def _placed(found: tuple[object, str, int]) -> object:
    """A node with its extent."""
    node, text, column = found
    return replace(node, extent=Extent(column, column + len(text)))  # type: ignore[type-var] # All have one.


class LineGrammar(Grammar[object]):
    """Reads lines; with ``cached`` False, Lark parses every one of them."""

    def __init__(self, cached: bool = True) -> None:
        super().__init__("ctm", "line", LineTransformer(), _placed, PLACED, cached, share=False)

    def statement(self, text: str) -> SourceLine:
        """A line without its indentation.

        Raises:
            LineSyntaxError: it does not follow the grammar.
        """
        try:
            return cast(SourceLine, self.parse(text))
        except Unexpected as error:
            raise _explained(error, text) from None


@functools.cache
def line_grammar() -> LineGrammar:
    """The grammar of the process."""
    return LineGrammar()


def _explained(error: Unexpected, text: str) -> LineSyntaxError:
    """The found and the expected tokens, in words."""
    expected = set(error.expected)
    if error.reason:
        return LineSyntaxError(error.reason, "", Extent(0, len(text)))
    if not error.text:
        return LineSyntaxError("the line ends too early", _expected(expected), Extent(error.column, error.column + 1))
    found = error.text if error.is_token else text[error.column :].split()[0]
    extent = Extent(error.column, error.column + len(found))
    if "OPERATION" in expected and "NAME" not in expected:  # The beginning of a statement, where nearly all can stand.
        hint = did_you_mean(found, _statement_words(expected)) or "docs/ctm.md has a table of all statements"
        return LineSyntaxError(f"'{found}' is not a statement", hint, extent)
    return LineSyntaxError(f"'{found}' is not allowed here", _expected(expected), extent)


def terminal_title(name: str) -> str:
    """What messages call a terminal: its title, or the word that it is."""
    return TITLES.get(name) or _words()[name]


@functools.cache
def _words() -> dict[str, str]:
    """Terminals that are one word, and the words."""
    return {t.name: t.pattern.value for t in line_grammar().lark.terminals if t.pattern.type == "str"}


def _expected(terminals: Iterable[str]) -> str:
    terminals = set(terminals)
    if "NAME" in terminals:  # every word can be a name
        terminals -= {t for t in _words() if t.isalpha()} | {"R", "C", "I", "B", "O", "T", "OPERATION", "FETCH", "MODE"}
    elif "BREAKLOOP" in terminals:
        return "expected an operation of flow control"
    names = sorted({terminal_title(t) for t in terminals}, key=lambda n: (n[0] == "'", n))
    if "a number" in names and "a whole number" in names:
        names.remove("a whole number")
    return "expected " + (", ".join(names[:-1]) + " or " + names[-1] if len(names) > 1 else "".join(names))


def _statement_words(terminals: Iterable[str]) -> list[str]:
    """The words that a statement can begin with."""
    fixed = [terminal_title(t) for t in terminals if t not in ("OPERATION", "FETCH", "LABEL", "$END")]
    return list(dict.fromkeys((*fixed, *OPERATIONS, *SHORTHANDS, *TEX_OPS)))
