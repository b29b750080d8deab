"""Lines to statements: the grammar of vISA with its nodes.

Nodes mean nothing yet, so equal texts of the process share them.
"""

from __future__ import annotations

import functools
from typing import cast

from visakit.text.grammar import Grammar, Unexpected
from visakit.text.syntax import Node, Placed, Statement
from visakit.text.syntax_errors import problem_of
from visakit.text.transformer import SyntaxTransformer

PLACED = frozenset(
    {"execution", "operand", "attached", "argument", "name_argument", "number_argument", "predication", "opcode",
     "position", "attribute", "setting", "word", "label_name", "opening", "closing"}
)  # fmt: skip


_PLACE = functools.partial(tuple.__new__, Placed)
"""Makes a place of a tuple, in half the time that the class takes for its parts."""
_ENCLOSED = r"\([^()\"/]*+\)"
_END = r"(?=\Z|[ \t]++(?:\Z|[^\s:,\[<]))"
"""The end of a piece: no sign follows that a terminal looks ahead for over blanks, as in ``BB_1 :`` and ``(0) <1>``."""


class LineReader(Grammar[Node]):
    """Reads lines; with ``cached`` False, Lark parses every one of them."""

    pieces = (
        # An index and a region after a name, V34(0,0)<8;8,1>.
        ("a", rf"(?<=\w)(?:{_ENCLOSED}(?:<[^\s<>()\"/]*+>)?|<[^\s<>()\"/]*+>)(?::\w++)?{_END}"),
        # A mask and a size, (M1, 16); settings, v_type=G type=d num_elts=16 align=GRF.
        (" ", rf"(?<![^ \t])(?:{_ENCLOSED}|\w++=\w++(?: \w++=\w++)*+){_END}"),
    )

    def __init__(self, cached: bool = True) -> None:
        super().__init__("visa", "line", SyntaxTransformer(), _PLACE, PLACED, cached)

    def statements(self, line: str) -> tuple[Statement, ...]:
        """The statements of a line that is not blank: one, or several of which all but one open or close scopes.

        Raises:
            Problem: the line does not follow the grammar.
        """
        try:
            return cast(tuple[Statement, ...], self.parse(line))
        except Unexpected as error:
            raise problem_of(error, line) from None


@functools.cache
def line_reader() -> LineReader:
    """The reader of the process."""
    return LineReader()
