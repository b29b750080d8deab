"""Lark grammars, read a line or an operand at a time.

A line is cut into tokens by one regular expression made of the grammar's terminals. Which rules apply to it follows
from the *kinds* of its tokens alone, so Lark parses each sequence of kinds once; the derivation is kept and applied to
every further line of the same sequence: ``V34(0,0)<1>`` and ``V35(1,4)<2>`` have one derivation. The tables of Lark are
made once for a version of the grammar and of Lark, and kept in the user's cache directory.
"""

from __future__ import annotations

import functools
import hashlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from visa import cache

if TYPE_CHECKING:
    from lark import Lark, Tree
    from lark.lexer import TerminalDef, Token
    from lark.parsers.lalr_interactive_parser import InteractiveParser

FOLDER = Path(__file__).parent.parent / "grammar"
MAXIMUM_DEPTH = 100
MAXIMUM_KNOWN = 50_000
UNREADABLE = "_UNREADABLE"

Node = TypeVar("Node")
Kept = TypeVar("Kept")
Build = Callable[[list[str], list[int], str], object]
"""Makes a node of the texts and the columns of the tokens of a line, and of the line."""


class Unexpected(Exception):
    """A text that does not follow its grammar.

    ``text`` is what cannot stand at ``column`` (empty at the end of the line), ``before`` the tokens in front of it as
    (kind, column), ``expected`` the terminals that could have followed them. ``reason`` says what else is wrong.
    """

    def __init__(
        self, text: str, column: int, before: list[tuple[str, int]], expected: frozenset[str], reason: str = ""
    ) -> None:
        self.text, self.column, self.before, self.expected, self.reason = text, column, before, expected, reason
        super().__init__(reason or text)


class _Tokens(NamedTuple):
    """The tokens of a line: kinds, texts, and the columns where they begin."""

    kinds: list[str]
    texts: list[str]
    columns: list[int]


class Grammar(Generic[Node]):
    """A grammar of the package, and the methods that make nodes of what its rules find.

    Args:
        name: the file ``grammar/NAME.lark``.
        starts: the rules that a text can be.
        actions: has a method for each rule, or alias, that is not inlined; it gets the list of its children: tokens as
            text, None for what an optional part leaves out, and what other methods returned.
        place: makes a node of a node of one of the ``placed`` rules, its text and its column.
        remember: whether derivations are kept; without it Lark parses every text.
    """

    def __init__(
        self,
        name: str,
        starts: tuple[str, ...],
        actions: object,
        place: Callable[[Node, str, int], object],
        placed: frozenset[str],
        remember: bool = True,
    ) -> None:
        self.name, self.starts, self.remember = name, starts, remember
        self._actions, self._place, self._placed = actions, place, placed
        self._derivations: dict[str, Build] = {}
        self.nodes: dict[str, dict[str, Node]] = {rule: {} for rule in placed}
        """What placed rules found, by rule and text: equal texts share a node."""

    @functools.cached_property
    def lark(self) -> Lark:
        """The parser, made of the kept tables if there are any for this grammar and this Lark."""
        return load(self.name, self.starts)

    @functools.cached_property
    def _scanner(self) -> Scanner:
        return scanner(self.lark)

    def parse(self, text: str, start: str) -> object:
        """The node of a text without line ends.

        Raises:
            Unexpected: the text does not follow the grammar.
        """
        tokens = self.tokens(text)
        key = f"{start} {' '.join(tokens.kinds)}"
        build = self._derivations.get(key)
        if build is None:
            build = self._builder(self._derive(tokens, text, start), 0)
            if self.remember:
                _keep(self._derivations, key, build)
        return build(tokens.texts, tokens.columns, text)

    def tokens(self, text: str) -> _Tokens:
        """The tokens of a text; what cannot be read is a token of a kind that no rule has."""
        pattern, names, exact = self._scanner
        kinds, texts, columns = [], [], []
        for m in pattern.finditer(text.rstrip()):
            at = m.lastindex
            assert at
            token = m[at]
            kinds.append(exact[at].get(token, names[at]))
            texts.append(token)
            columns.append(m.start(at))
        return _Tokens(kinds, texts, columns)

    # -- derivations ---------------------------------------------------------------------------------------

    def _derive(self, tokens: _Tokens, text: str, start: str) -> Tree[Token]:
        """The tree that Lark finds; positions in it are numbers of tokens."""
        from lark import Token, UnexpectedToken

        parser = self.lark.parse_interactive(start=start)
        at = 0
        try:
            for at, kind in enumerate(tokens.kinds):
                parser.feed_token(Token(kind, "", at, 1, at + 1, 1, at + 2, at + 1))
            at = len(tokens.kinds)
            found: Tree[Token] = parser.feed_eof(Token("$END", "", at, 1, at + 1, 1, at + 1, at))  # type: ignore[no-untyped-call]
        except UnexpectedToken:
            raise self._unexpected(tokens, at, text, start) from None
        return found

    def _unexpected(self, tokens: _Tokens, at: int, text: str, start: str) -> Unexpected:
        from lark import Token

        parser: InteractiveParser = self.lark.parse_interactive(start=start)
        for kind in tokens.kinds[:at]:
            parser.feed_token(Token(kind, ""))
        before = list(zip(tokens.kinds[:at], tokens.columns[:at], strict=True))
        end = at == len(tokens.kinds)
        column = len(text.rstrip()) if end else tokens.columns[at]
        expected = frozenset(parser.accepts())  # type: ignore[no-untyped-call]
        return Unexpected("" if end else tokens.texts[at], column, before, expected)

    def _builder(self, tree: Tree[Token], depth: int) -> Build:
        """What applies a derivation to the tokens of a line."""
        if depth > MAXIMUM_DEPTH:
            raise Unexpected("", 0, [], frozenset(), "this is nested too deeply")
        action: Callable[[list[object]], Node] = getattr(self._actions, tree.data)
        parts = [self._part(child, depth) for child in tree.children]

        def build(texts: list[str], columns: list[int], line: str) -> object:
            return action([part(texts, columns, line) for part in parts])

        if tree.data not in self._placed:
            return build
        place, nodes = self._place, self.nodes[tree.data]
        first, last = tree.meta.start_pos, tree.meta.end_pos - 1

        def build_placed(texts: list[str], columns: list[int], line: str) -> object:
            column = columns[first]
            text = line[column : columns[last] + len(texts[last])]
            node = nodes.get(text)
            if node is None:
                node = action([part(texts, columns, line) for part in parts])
                if self.remember:
                    _keep(nodes, text, node)
            return place(node, text, column)

        return build_placed

    def _part(self, child: Tree[Token] | Token | None, depth: int) -> Build:
        from lark import Tree

        if child is None:
            return lambda texts, columns, line: None
        if isinstance(child, Tree):
            return self._builder(child, depth + 1)
        at = child.start_pos
        assert at is not None
        return lambda texts, columns, line: texts[at]


def _keep(known: dict[str, Kept], key: str, value: Kept) -> None:
    """Remember something, but never without end."""
    if len(known) >= MAXIMUM_KNOWN:
        known.clear()
    known[key] = value


def grammar_text(name: str) -> str:
    """A grammar file of the package."""
    return (FOLDER / f"{name}.lark").read_text(encoding="utf-8")


def load(name: str, starts: tuple[str, ...]) -> Lark:
    """The LALR parser of a grammar of the package, from kept tables if possible (see :mod:`visa.cache`)."""
    import lark

    text = grammar_text(name)
    digest = hashlib.sha256("\0".join((lark.__version__, text, *starts)).encode()).hexdigest()
    kept = cache.read("grammar", f"{name}-{digest}")
    if kept is not None:
        try:
            return lark.Lark.load(io.BytesIO(kept))
        except Exception:  # A damaged file can fail in any way; it is written anew.
            pass
    parser = lark.Lark(
        text, parser="lalr", lexer="basic", start=list(starts), maybe_placeholders=True, propagate_positions=True
    )
    tables = io.BytesIO()
    parser.save(tables)
    cache.write("grammar", f"{name}-{digest}", tables.getvalue())
    return parser


class Scanner(NamedTuple):
    """What cuts a line into tokens: a pattern whose groups are kinds; by group its kind, and the kinds of exact texts."""

    pattern: re.Pattern[str]
    names: list[str]
    exact: list[dict[str, str]]


def scanner(parser: Lark) -> Scanner:
    """Cuts as Lark's own lexer does: by priority; and a fixed word is that where a pattern finds the whole of it."""
    signs: dict[str, str] = {}
    words: dict[str, str] = {}
    patterns: list[TerminalDef] = []
    for terminal in parser.terminals:
        text = terminal.pattern.value
        if terminal.pattern.type == "str":
            (words if any(map(str.isalnum, text)) else signs)[text] = terminal.name
        elif terminal.name not in parser.lexer_conf.ignore:
            patterns.append(terminal)
    patterns.sort(key=lambda t: (-t.priority, t.name))
    # Half of all tokens are signs with which no pattern begins; tried first, they are found fast.
    leads = re.compile("|".join(_lead(p.pattern.value) for p in patterns))
    first = [text for text in signs if not leads.match(text)]
    groups = [_alternatives(first), *(p.pattern.to_regexp() for p in patterns)]
    groups += [_alternatives([text for text in signs if text not in first]), r"\S"]
    pattern = re.compile(rf"[ \t\f\r]*+(?:{'|'.join(f'({group})' for group in groups)})")
    names = ["", "", *(p.name for p in patterns), "", UNREADABLE]
    return Scanner(pattern, names, [signs if not name else words for name in names])


def _lead(pattern: str) -> str:
    """The first character, or class of characters, of a pattern."""
    found = re.match(r"\[[^\]]*\]|\\?.", pattern)
    assert found
    return re.escape("(") if found[0] == "(" else found[0]


def _alternatives(texts: list[str]) -> str:
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
