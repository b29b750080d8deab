"""Lines to statements: the grammar of vISA with its nodes.

Nodes mean nothing yet, so equal texts of the process share them.
"""

from __future__ import annotations

import functools
from typing import cast

from visakit.text.grammar import Grammar, Unexpected
from visakit.text.syntax import DirectiveStatement, InstructionStatement, LabelStatement, Node, Placed, Statement
from visakit.text.syntax_errors import problem_of
from visakit.text.transformer import SyntaxTransformer

PLACED = frozenset(
    {"execution", "operand", "attached", "argument", "name_argument", "number_argument", "predication", "opcode",
     "position", "attribute", "setting"}
)  # fmt: skip


class LineReader(Grammar[Node]):
    """Reads lines; with ``cached`` False, Lark parses every one of them."""

    def __init__(self, cached: bool = True) -> None:
        super().__init__("visa", ("statement",), SyntaxTransformer(), Placed, PLACED, cached)

    def statement(self, line: str) -> Statement:
        """The statement of a line without comments that is not blank.

        Raises:
            Problem: the line does not follow the grammar.
        """
        try:
            return cast(Statement, self.parse(line, "statement"))
        except Unexpected as error:
            raise problem_of(error, line) from None


@functools.cache
def line_reader() -> LineReader:
    """The reader of the process."""
    return LineReader()


def head(statement: Statement, line: str) -> Placed:
    """What errors without a place of their own are about: the first word, or the opcode."""
    if isinstance(statement, InstructionStatement):
        return statement.opcode
    if isinstance(statement, DirectiveStatement):
        text = statement.word
    else:
        text = line.strip() if isinstance(statement, LabelStatement) else line.strip()[:1]
    return Placed(0, text, len(line) - len(line.lstrip()))
