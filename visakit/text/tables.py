"""Lark's tables, the scanner and the derivations of a grammar: made once, in wheels beside the grammar, else in the
user's cache directory. Either counts for the same text of the grammar alone.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from visakit import cache
from visakit.resources import resource

if TYPE_CHECKING:
    from lark import Lark
    from lark.lexer import TerminalDef

FOLDER = resource("grammar")
CACHE = "grammar"
"""Folder of the cache directory."""
UNREADABLE = "_UNREADABLE"
FORMAT = 5
"""Of the files of scanners and derivations; another one is not read."""
MAXIMUM_KEPT = 4000
"""Derivations in a file: so many that compilers' texts are read without Lark."""

Derivation = tuple[str, int, int, "list[Derivation | int | None]"]
"""A rule, its first and last token, and its children: derivations, numbers of tokens, None for omitted parts."""


def grammar_text(name: str) -> str:
    """A grammar file of the package."""
    return (FOLDER / f"{name}.lark").read_text(encoding="utf-8")


def load(name: str, start: str) -> Lark:
    """The LALR parser of a grammar of the package, from kept tables if there are any for it and for this Lark.

    Its trees have the places of their parts.
    """
    import hashlib

    import lark

    text = grammar_text(name)
    digest = hashlib.sha256("\0".join((lark.__version__, text, start)).encode()).digest()
    for kept in _found(f"{name}.tables"):
        if kept.startswith(digest):
            try:
                return lark.Lark.load(io.BytesIO(kept[len(digest) :]))
            except Exception:  # Tables of another Python can fail in any way; they are written anew.
                pass
    parser = lark.Lark(
        text,
        parser="lalr",
        lexer="basic",
        start=start,
        maybe_placeholders=True,
        propagate_positions=True,
        g_regex_flags=re.ASCII,
    )
    tables = io.BytesIO()
    parser.save(tables)
    cache.write(CACHE, f"{name}.tables", digest + tables.getvalue())
    return parser


def _found(name: str) -> Iterator[bytes]:
    """A file of the cache, then that of the wheel."""
    kept = cache.read(CACHE, name)
    if kept is not None:
        yield kept
    with contextlib.suppress(OSError):
        yield (FOLDER / name).read_bytes()


# -- the scanner -------------------------------------------------------------------------------------------------------


class Scanner(NamedTuple):
    """Patterns of a token and of the blanks and comments after it; for each group of the first a kind, and the kinds of
    exact texts. The group that matched is empty and marks the token's end.
    """

    token: str
    skipped: str
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
    groups += [_alternatives([text for text in signs if text not in first]), r"(?s:.)"]
    # Groups are at the ends of alternatives: re skips an alternative that begins with another character.
    token = "|".join(f"(?:{group})()" for group in groups)
    skipped = _skipped([parser.get_terminal(name).pattern.to_regexp() for name in parser.lexer_conf.ignore])
    names = ["", *(p.name for p in patterns), "", UNREADABLE]
    return Scanner(token, skipped, names, [signs if not name else words for name in names])


def _skipped(ignored: list[str]) -> str:
    """A pattern of everything that the grammar ignores: first blanks, a class of characters, which are most of it."""
    blanks = next(pattern for pattern in ignored if pattern[0] == "[").removesuffix("+")
    comments = "|".join(pattern for pattern in ignored if pattern[0] != "[")
    # A group does not repeat possessively: re of Python 3.11 forgets which group matched before it.
    return f"{blanks}*+(?:(?:{comments}){blanks}*+)*"


def _lead(pattern: str) -> str:
    """The first character, or class of characters, of a pattern."""
    found = re.match(r"\[[^\]]*\]|\\?.", pattern)
    assert found
    return re.escape("(") if found[0] == "(" else found[0]


def _alternatives(texts: list[str]) -> str:
    """A pattern of the longest of some signs; those of one character are a class. Without signs it matches nothing."""
    if not texts:
        return "(?!)"
    single = "".join(re.escape(text) for text in texts if len(text) == 1)
    longer = sorted((text for text in texts if len(text) > 1), key=len, reverse=True)
    return f"(?:{'|'.join([*map(re.escape, longer), *([f'[{single}]'] if single else [])])})"


# -- derivations -------------------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """The scanner of a grammar, and what Lark has derived so far, by start and kinds of tokens."""

    scanner: Scanner
    derivations: dict[str, Derivation]


def read_kept(name: str) -> Kept | None:
    """Kept scanner and derivations of a grammar; None without a file, or if the file has another version."""
    for data in _found(f"{name}.derivations"):
        kept = json.loads(data)
        if kept.get("format") == FORMAT and kept["grammar"] == grammar_text(name):
            return Kept(Scanner(*kept["scanner"]), kept["derivations"])
    return None


def write_kept(name: str, kept: Kept) -> None:
    """Keep the scanner and up to ``MAXIMUM_KEPT`` derivations for later processes."""
    derivations = dict(kept.derivations)
    while len(derivations) > MAXIMUM_KEPT:
        derivations.popitem()
    content = {"format": FORMAT, "grammar": grammar_text(name), "scanner": kept.scanner, "derivations": derivations}
    data = json.dumps(content, separators=(",", ":")).encode()
    cache.write(CACHE, f"{name}.derivations", data)
