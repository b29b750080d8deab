"""The fast path of the assembler: instructions whose shape was seen before are put together from words that were read before.

A shape is a predicate, an opcode, an execution mask and size, and a number of operands, each one word. It is learned from an instruction that the
scanner and the slots have read, so it is right by construction; whatever does not fit a shape word by word goes the long way again. Errors are
therefore always found, and worded, by the long way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from visa.isa import InstructionDesc
from visa.operands import SAT, Predicate, with_modifier
from visa.program import Instruction
from visa.text import scanner
from visa.text.operands import Problem
from visa.text.slots import ExecSlot, RawSlot, Slot, VectorSlot, slots

if TYPE_CHECKING:
    from visa.text.parser import FunctionParser
    from visa.text.scanner import Statement

Memo = dict[str, dict[str, Any]]


class Shape:
    """A form with what all its instructions have in common, and for each operand the words known so far."""

    def __init__(
        self,
        desc: InstructionDesc,
        common: dict[str, Any],
        saturate: bool,
        first: int,
        operands: tuple[Slot, ...],
        memos: dict[tuple[Any, ...], Memo],
    ) -> None:
        self.desc, self.common, self.saturate, self.first, self.slots = desc, common, saturate, first, operands
        self.memos = [memos.setdefault(_meaning(s, desc, saturate), {}) for s in operands]


class Shapes:
    """The shapes of one function."""

    def __init__(self, parser: FunctionParser) -> None:
        self.parser = parser
        self.known: dict[tuple[str | int, ...], Shape] = {}
        self.memos: dict[tuple[Any, ...], Memo] = {}

    def forget(self) -> None:
        """Names changed their meaning."""
        self.known.clear()
        self.memos.clear()

    def instruction(self, line: str, number: int) -> Instruction | None:
        """The instruction of a line without comments, or None if it must be read the long way."""
        words = line.split()
        if len(words) < 3:
            return None
        shape = self.known.get(_key(words))
        if shape is None:
            return None
        args = shape.common.copy()
        position = shape.first
        for memo in shape.memos:
            found = memo.get(words[position])
            if found is None:
                found = self._learn_word(shape, position, words[position])
                if found is None:
                    return None
            args.update(found)
            position += 1
        return Instruction(shape.desc, args, number)

    def learn(
        self, statement: Statement, desc: InstructionDesc, saturate: bool, args: dict[str, Any], line: str
    ) -> None:
        """Keep the shape of an instruction that was read the long way."""
        words = line.split()
        operands = slots(desc)
        if len(words) < 3 or any(not s.pure or s.optional or s.many for s in operands):
            return
        tokens = statement.tokens
        shown = [statement.predication[1]] if statement.predication else []
        shown += [statement.head[1], *(t[1] for t in tokens)]
        if words != " ".join(shown).split():
            return
        rest = [s for s in operands if type(s) is not ExecSlot]
        first = len(words) - len(rest)
        if [t[1] for t in tokens[len(tokens) - len(rest) :]] != words[first:]:
            return
        shape = Shape(desc, {}, saturate, first, tuple(rest), self.memos)
        named: set[str] = set()
        for position in range(first, len(words)):
            found = self._learn_word(shape, position, words[position])
            if found is None:
                return
            named |= set(found)
        shape.common = {name: value for name, value in args.items() if name not in named}
        self.known[_key(words)] = shape

    def _learn_word(self, shape: Shape, position: int, word: str) -> dict[str, Any] | None:
        """The fields that a word gives in one place of a shape; None if only the long way can tell."""
        token = scanner.scan_operand(word)
        if token is None:
            return None
        slot = shape.slots[position - shape.first]
        found: dict[str, Any] = {}
        try:
            slot.read(self.parser, token, found)
        except Problem:
            return None
        if "predicate-copy" in shape.desc.spelling and any(type(value) is Predicate for value in found.values()):
            return None
        if shape.saturate:
            found = {n: with_modifier(v, SAT) if shape.desc.by_name[n].kind == "d" else v for n, v in found.items()}
        shape.memos[position - shape.first][word] = found
        return found


def _meaning(slot: Slot, desc: InstructionDesc, saturate: bool) -> tuple[Any, ...]:
    """Slots of equal meaning share what is known of their words."""
    if type(slot) is VectorSlot and "predicate-copy" not in desc.spelling:
        return VectorSlot, slot.name, slot.destination, saturate
    return (RawSlot, slot.name) if type(slot) is RawSlot else (slot.name, desc, saturate)


def _key(words: list[str]) -> tuple[str | int, ...]:
    """Everything in front of the operands, and the number of words."""
    if words[0][0] == "(":
        return words[0], words[1], words[2], words[3] if len(words) > 3 else "", len(words)
    return words[0], words[1], words[2], len(words)
