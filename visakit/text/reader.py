"""Lines to statements: the grammar of vISA with its nodes.

In front of the grammar stands a cache of operands by their text, which is that of the process: an operand means
nothing yet, so it is the same in every text.
"""

from __future__ import annotations

import functools
from typing import cast

from visakit.text.grammar import Grammar, Unexpected
from visakit.text.problem import Problem
from visakit.text.syntax import DirectiveStatement, InstructionStatement, LabelStatement, Node, Placed, Statement
from visakit.text.syntax_errors import problem_of
from visakit.text.transformer import SyntaxTransformer

PLACED = frozenset(
    {"operand", "attached", "argument", "name_argument", "number_argument", "predication", "opcode", "position",
     "attribute", "setting"}
)  # fmt: skip


class LineReader(Grammar[Node]):
    """Reads lines; with ``cached`` False, Lark parses every one of them."""

    def __init__(self, cached: bool = True) -> None:
        starts = ("statement", "operand", "name_argument")
        super().__init__("visa", starts, SyntaxTransformer(), Placed, PLACED, cached)
        self._operands, self._settings = self.nodes["operand"], self.nodes["setting"]
        self._directives: set[str] = set()

    def statement(self, line: str) -> Statement:
        """The statement of a line without comments that is not blank.

        Raises:
            Problem: the line does not follow the grammar.
        """
        known = self._directive(line) if self._directives else None
        if known is not None:
            return known
        try:
            statement = cast(Statement, self.parse(line, "statement"))
        except Unexpected as error:
            raise problem_of(error, line) from None
        if self.remember and isinstance(statement, DirectiveStatement) and statement.arguments and statement.settings:
            self._directives.add(statement.word)
        return statement

    def _directive(self, line: str) -> DirectiveStatement | None:
        """A directive with a name and settings, if such a directive and each of its settings were read before."""
        words = line.split()
        if words[0] not in self._directives or len(words) < 3:
            return None
        placed = []
        column = line.index(words[0]) + len(words[0])
        for word in words[2:]:
            node = self._settings.get(word)
            if node is None:
                return None
            column = line.index(word, column)
            placed.append(Placed(node, word, column))
            column += len(word)
        try:
            name = cast(Placed, self.parse(words[1], "name_argument"))
        except Unexpected:
            return None
        column = line.index(words[1], line.index(words[0]) + len(words[0]))
        return DirectiveStatement(words[0], [name._replace(column=column)], placed)

    def operand(self, word: str) -> Placed | None:
        """The operand that a word without blanks is; None if it is not one."""
        node = self._operands.get(word)
        if node is not None:
            return Placed(node, word, 0)
        try:
            return cast(Placed, self.parse(word, "operand"))
        except (Unexpected, Problem):
            return None


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
