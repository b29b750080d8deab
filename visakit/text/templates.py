"""Line templates: instructions like one that was seen before are put together of words that were read before.

A template is all that instructions of one predicate, opcode, execution mask and size have in common; for each of their
operands there is a memo of the words known so far and of the fields that they give. It is learned from an instruction
that the grammar has read, so it is right by construction; what does not fit a template word by word goes the long way
again. Errors are therefore always found, and worded, by the long way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visakit.isa import InstructionDesc
from visakit.language.operands import SAT, Predicate, with_modifier
from visakit.language.program import Fields, Instruction
from visakit.text.instruction_syntax import operands_of
from visakit.text.operand_syntax import ExecutionSyntax, OperandSyntax, RawSyntax, VectorSyntax
from visakit.text.problem import Problem
from visakit.text.reader import LineReader

if TYPE_CHECKING:
    from visakit.text.function_parser import FunctionParser
    from visakit.text.syntax import InstructionStatement

Memo = dict[str, Fields]
"""Words of one operand, and the fields that they give."""


class LineTemplate:
    """What the instructions of a template have in common; ``first`` is the number of the first operand's word."""

    def __init__(
        self,
        desc: InstructionDesc,
        saturate: bool,
        first: int,
        operands: tuple[OperandSyntax, ...],
        memos: dict[tuple[object, ...], Memo],
    ) -> None:
        self.desc, self.saturate, self.first, self.operands = desc, saturate, first, operands
        self.common: Fields = {}
        self.memos = [memos.setdefault(_meaning(o, desc, saturate), {}) for o in operands]


class LineTemplates:
    """The templates of one function, as long as its names mean the same."""

    def __init__(self, parser: FunctionParser, reader: LineReader) -> None:
        self.parser, self.reader = parser, reader
        self.known: dict[tuple[str | int, ...], LineTemplate] = {}
        self.memos: dict[tuple[object, ...], Memo] = {}
        self.lines: dict[str, Instruction] = {}

    def forget(self) -> None:
        """Names changed their meaning."""
        self.known.clear()
        self.lines.clear()
        self.memos.clear()

    def instruction(self, line: str, number: int) -> Instruction | None:
        """The instruction of a line without comments, or None if it must be read the long way.

        Equal lines, as in unrolled loops, share their fields, so that whoever checks or encodes them need do it once.
        """
        same = self.lines.get(line)
        if same is not None:
            return Instruction(same.desc, same.args, number)
        words = line.split()
        if len(words) < 3:
            return None
        template = self.known.get(_key(words))
        if template is None:
            return None
        args = template.common.copy()
        position = template.first
        for memo in template.memos:
            found = memo.get(words[position])
            if found is None:
                found = self._learn_word(template, position, words[position])
                if found is None:
                    return None
            args.update(found)
            position += 1
        made = self.lines[line] = Instruction(template.desc, args, number)
        return made

    def learn(
        self, statement: InstructionStatement, desc: InstructionDesc, saturate: bool, args: Fields, line: str
    ) -> None:
        """Keep the template of an instruction that was read the long way."""
        words = line.split()
        operands = operands_of(desc)
        if len(words) < 3 or any(not o.pure or o.optional or o.many for o in operands):
            return
        shown = [statement.predication.text] if statement.predication else []
        shown += [statement.opcode.text, *(o.text for o in statement.operands)]
        if statement.attribute or words != " ".join(shown).split():
            return
        rest = tuple(o for o in operands if type(o) is not ExecutionSyntax)
        first = len(words) - len(rest)
        if [o.text for o in statement.operands[len(statement.operands) - len(rest) :]] != words[first:]:
            return
        template = LineTemplate(desc, saturate, first, rest, self.memos)
        named: set[str] = set()
        for position in range(first, len(words)):
            found = self._learn_word(template, position, words[position])
            if found is None:
                return
            named |= set(found)
        template.common = {name: value for name, value in args.items() if name not in named}
        self.known[_key(words)] = template

    def _learn_word(self, template: LineTemplate, position: int, word: str) -> Fields | None:
        """The fields that a word gives in one place of a template; None if only the long way can tell."""
        operand = self.reader.operand(word)
        if operand is None:
            return None
        found: Fields = {}
        try:
            template.operands[position - template.first].bind(self.parser, operand, found)
        except Problem:
            return None
        if "predicate-copy" in template.desc.spelling and any(type(value) is Predicate for value in found.values()):
            return None
        if template.saturate:
            fields = template.desc.by_name
            found = {n: with_modifier(v, SAT) if fields[n].kind == "d" else v for n, v in found.items()}
        template.memos[position - template.first][word] = found
        return found


def _meaning(operand: OperandSyntax, desc: InstructionDesc, saturate: bool) -> tuple[object, ...]:
    """Operands of equal meaning share what is known of their words."""
    if type(operand) is VectorSyntax and "predicate-copy" not in desc.spelling:
        return VectorSyntax, operand.name, operand.destination, saturate
    return (RawSyntax, operand.name) if type(operand) is RawSyntax else (operand.name, desc, saturate)


def _key(words: list[str]) -> tuple[str | int, ...]:
    """Everything in front of the operands, and the number of words."""
    if words[0][0] == "(":
        return words[0], words[1], words[2], words[3] if len(words) > 3 else "", len(words)
    return words[0], words[1], words[2], len(words)
