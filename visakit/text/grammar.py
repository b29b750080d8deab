"""Lark grammars, read a line or an operand at a time.

A line is cut into tokens by one regular expression made of the grammar's terminals. Which rules apply to it follows
from the *kinds* of its tokens alone, so Lark parses each sequence of kinds once; the derivation is kept and applied to
every further line of the same sequence: ``V34(0,0)<1>`` and ``V35(1,4)<2>`` have one derivation. What a process has
derived, others can use (:mod:`visakit.text.tables`): Lark is loaded when a line is unlike all lines before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from visakit.forks import cached_property
from visakit.text import tables
from visakit.text.tables import Derivation, Kept

if TYPE_CHECKING:
    from lark import Lark, Tree
    from lark.lexer import Token
    from lark.parsers.lalr_interactive_parser import InteractiveParser

MAXIMUM_DEPTH = 100
MAXIMUM_LINE, MAXIMUM_TOKENS = 100_000, 4000
MAXIMUM_KNOWN, MAXIMUM_KEY = 50_000, 2000

Node = TypeVar("Node")
Value = TypeVar("Value")
Key = TypeVar("Key", str, tuple[str, int])
Build = Callable[[list[str], list[int], str], object]
"""Makes a node of the texts and the columns of the tokens of a line, and of the line."""


class Unexpected(Exception):
    """A text that does not follow its grammar.

    ``text`` is the token that is not allowed at ``column`` (empty at the end of the line), ``before`` the tokens in
    front of it as (kind, column), ``expected`` the terminals that could have followed them. ``reason`` names another
    mistake. Of text that is no token, ``text`` is the first character.
    """

    def __init__(
        self,
        text: str,
        column: int,
        before: list[tuple[str, int]],
        expected: frozenset[str],
        reason: str = "",
        is_token: bool = True,
    ) -> None:
        self.text, self.column, self.before, self.expected, self.reason = text, column, before, expected, reason
        self.is_token = is_token
        super().__init__(reason or text)


class Tokens(NamedTuple):
    """The tokens of a line: kinds, with blanks between them, texts, and the columns where they begin."""

    key: str
    texts: list[str]
    columns: list[int]

    @property
    def kinds(self) -> list[str]:
        """The kind of each token."""
        return self.key.split()

    @property
    def end(self) -> int:
        """The column behind the last token."""
        return self.columns[-1] + len(self.texts[-1]) if self.texts else 0


class _Patterns(NamedTuple):
    """Blanks before a line, a token, a piece or a token; the kinds of their groups (:class:`tables.Scanner`)."""

    skipped: re.Pattern[str]
    token: re.Pattern[str]
    piece: re.Pattern[str]
    names: list[str]
    exact: list[dict[str, str]]


class Grammar(Generic[Node]):
    """A grammar of the package, and the methods that make nodes of what its rules find.

    Args:
        name: the file ``grammar/NAME.lark``.
        start: the rule that a text follows.
        actions: has a method for each rule, or alias, that is not inlined; it gets the list of its children: tokens as
            text, None for what an optional part leaves out, and what other methods returned.
        place: makes a node of a node of one of the ``placed`` rules, its text and its column.
        remember: whether derivations and nodes are kept; without it Lark parses every text.
        share: whether equal texts of a placed rule share a node; not if nodes hold the places of their parts.
    """

    pieces: tuple[tuple[str, str], ...] = ()
    """Patterns of parts that texts repeat, each with a character that can precede it. A piece is cut into the same
    tokens wherever it occurs.
    """

    def __init__(
        self,
        name: str,
        start: str,
        actions: object,
        place: Callable[[tuple[Node, str, int]], object],
        placed: frozenset[str],
        remember: bool = True,
        share: bool = True,
    ) -> None:
        self.name, self.start, self.remember, self._share = name, start, remember, remember and share
        self._actions, self._place, self._placed = actions, place, placed
        self._builds: dict[str, Build] = {}
        self._derived = 0
        self._pieces: tuple[dict[tuple[str, int], Tokens], ...] = tuple({} for _ in self.pieces)
        """The tokens of pieces, by text and column."""
        self.nodes: dict[str, dict[str, Node]] = {rule: {} for rule in placed}
        """What placed rules found, by rule and text: equal texts share a node."""

    @cached_property
    def lark(self) -> Lark:
        """The parser."""
        return tables.load(self.name, self.start)

    @cached_property
    def _kept(self) -> Kept:
        found = tables.read_kept(self.name) if self.remember else None
        return found or Kept(tables.scanner(self.lark), {})

    @cached_property
    def _patterns(self) -> _Patterns:
        kept = self._kept.scanner
        pieces = "".join(f"(?:{piece})()|" for _, piece in self.pieces)
        token, piece = (re.compile(f"(?a:{first}{kept.token}){kept.skipped}") for first in ("", pieces))
        return _Patterns(re.compile(kept.skipped), token, piece, ["", *kept.names], [{}, *kept.exact])

    def keep(self) -> None:
        """Let later processes use what this one has derived."""
        if self._derived:
            self._derived = 0
            tables.write_kept(self.name, self._kept)

    def parse(self, text: str) -> object:
        """The node of a text without line ends.

        Raises:
            Unexpected: the text does not follow the grammar.
        """
        if len(text) > MAXIMUM_LINE:
            raise Unexpected("", 0, [], frozenset(), f"a line has at most {MAXIMUM_LINE} characters")
        tokens = self.tokens(text)
        build = self._builds.get(tokens.key)
        if build is None:
            build = self._builder(self._derivation(tokens, text))
            if self.remember:
                _remember(self._builds, tokens.key, build)
        return build(tokens.texts, tokens.columns, text)

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text; what cannot be read is a token of a kind that no rule has."""
        lead = self._patterns.skipped.match(text)
        assert lead
        tokens = self._cut(text, lead.end(), len(self.pieces) if self.remember else 0)
        if len(tokens.texts) > MAXIMUM_TOKENS:
            raise Unexpected("", 0, [], frozenset(), f"a line has at most {MAXIMUM_TOKENS} words and signs")
        return tokens

    def _cut(self, text: str, start: int, pieces: int) -> Tokens:
        """The tokens of a text from a column on, with so many kinds of pieces, each of which is cut once."""
        _, token, piece, names, exact = self._patterns
        kinds: list[str] = []
        texts: list[str] = []
        columns: list[int] = []
        for m in (piece if pieces else token).finditer(text, start):
            at, column = m.lastindex, m.start()
            assert at
            found = text[column : m.end(at)]
            if at > pieces:
                kinds.append(exact[at - pieces].get(found, names[at - pieces]))
                texts.append(found)
                columns.append(column)
                continue
            known = self._pieces[at - 1].get((found, column))
            if known is None:
                known = self._cut(self.pieces[at - 1][0] + found, 1, 0)
                known = known._replace(columns=[column + behind - 1 for behind in known.columns])
                if len(found) <= MAXIMUM_KEY:
                    _remember(self._pieces[at - 1], (found, column), known)
            kinds.append(known.key)
            texts += known.texts
            columns += known.columns
        return Tokens(" ".join(kinds), texts, columns)

    # -- derivations ---------------------------------------------------------------------------------------

    def _derivation(self, tokens: Tokens, text: str) -> Derivation:
        """What Lark finds, or has found before."""
        key = tokens.key
        known = self._kept.derivations.get(key)
        if known is None:
            _check_depth(tokens.texts)
            known = _derivation(self._tree(tokens, text), 0)
            if self.remember:
                _remember(self._kept.derivations, key, known)
                self._derived += 1
        return known

    def _tree(self, tokens: Tokens, text: str) -> Tree[Token]:
        """Lark's tree; positions in it are numbers of tokens."""
        from lark import Token, UnexpectedToken

        parser = self.lark.parse_interactive()
        at = 0
        try:
            for at, kind in enumerate(tokens.kinds):
                parser.feed_token(Token(kind, "", at, 1, at + 1, 1, at + 2, at + 1))
            at = len(tokens.kinds)
            end = Token("$END", "", at, 1, at + 1, 1, at + 1, at)
            found: Tree[Token] = parser.feed_eof(end)  # type: ignore[no-untyped-call]
        except UnexpectedToken:
            raise self._unexpected(tokens, at) from None
        return found

    def _unexpected(self, tokens: Tokens, at: int) -> Unexpected:
        from lark import Token

        parser: InteractiveParser = self.lark.parse_interactive()
        for kind in tokens.kinds[:at]:
            parser.feed_token(Token(kind, ""))
        before = list(zip(tokens.kinds[:at], tokens.columns[:at], strict=True))
        end = at == len(tokens.kinds)
        column = tokens.end if end else tokens.columns[at]
        expected = frozenset(parser.accepts())  # type: ignore[no-untyped-call]
        is_token = end or tokens.kinds[at] != tables.UNREADABLE
        return Unexpected("" if end else tokens.texts[at], column, before, expected, is_token=is_token)

    def _builder(self, derivation: Derivation) -> Build:
        """What applies a derivation to the tokens of a line."""
        rule, first, last, children = derivation
        action: Callable[[list[object]], Node] = getattr(self._actions, rule)
        parts = [self._builder(c) if isinstance(c, (list, tuple)) else _leaf(c) for c in children]

        def build(texts: list[str], columns: list[int], line: str) -> object:
            return action([part(texts, columns, line) for part in parts])

        if rule not in self._placed:
            return build
        place, nodes = self._place, self.nodes[rule]

        def build_placed(texts: list[str], columns: list[int], line: str) -> object:
            column = columns[first]
            text = line[column : columns[last] + len(texts[last])]
            node = nodes.get(text)
            if node is None:
                node = action([part(texts, columns, line) for part in parts])
                if self._share:
                    _remember(nodes, text, node)
            return place((node, text, column))

        return build_placed


def _check_depth(texts: list[str]) -> None:
    """Brackets within brackets without end are not worth a parse."""
    depth = 0
    for text in texts:
        depth += (text[-1] in "([{") - (text in (")", "]", "}"))
        if depth > MAXIMUM_DEPTH:
            raise Unexpected("", 0, [], frozenset(), "this is nested too deeply")


def _leaf(token: int | None) -> Build:
    """The text of a token, or nothing."""
    if token is None:
        return lambda texts, columns, line: None
    return lambda texts, columns, line: texts[token]


def _derivation(tree: Tree[Token], depth: int) -> Derivation:
    """The rules of a tree, with numbers of tokens in place of these."""
    if depth > MAXIMUM_DEPTH:
        raise Unexpected("", 0, [], frozenset(), "this is nested too deeply")
    children: list[Derivation | int | None] = []
    for child in tree.children:
        if child is None:
            children.append(None)
        elif isinstance(child, str):
            children.append(child.start_pos)
        else:
            children.append(_derivation(child, depth + 1))
    first, last = (0, 0) if tree.meta.empty else (tree.meta.start_pos, tree.meta.end_pos - 1)
    return str(tree.data), first, last, children


def _remember(known: dict[Key, Value], key: Key, value: Value) -> None:
    """Keep a value, up to a number of values, and for texts that are short enough to occur twice."""
    if len(known) >= MAXIMUM_KNOWN:
        known.clear()
    if len(key) <= MAXIMUM_KEY:
        known[key] = value
