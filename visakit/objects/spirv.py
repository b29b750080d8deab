"""SPIR-V, as far as the tools read it: its instructions, the kernels that vote, and whether work-items may wait.

The numbers are those of the specification of SPIR-V (2.3, 3.27 and 3.52).
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_HEADER_WORDS = 5
_ENTRY_POINT, _CONSTANT, _FUNCTION, _CALL = 15, 43, 54, 57
_VOTES = (261, 262)
"""OpGroupAll and OpGroupAny."""
_WORKGROUP = 2
"""The scope."""
_LABEL, _FUNCTION_END = 248, 56
_LAST_OF_CORE = 403
"""OpPtrDiff, behind which are the instructions of extensions."""
_ORDERING = frozenset((*range(224, 243), *range(259, 272), 318, 319, *range(321, 330), *range(333, 367)))
"""Barriers, atomics, and instructions of groups and sub-groups."""


class SpirvInstruction(NamedTuple):
    """An instruction: the position of its first word, its number, and its other words."""

    position: int
    opcode: int
    operands: tuple[int, ...]


def words(module: bytes) -> tuple[int, ...]:
    """A module in words.

    Raises:
        ValueError: its size is no multiple of four.
    """
    if len(module) % 4:
        raise ValueError("the module is damaged")
    return struct.unpack(f"<{len(module) // 4}I", module)


def instructions(module: tuple[int, ...]) -> Iterator[SpirvInstruction]:
    """The instructions of a module.

    Raises:
        ValueError: one has no words, or more than there are.
    """
    position = _HEADER_WORDS
    while position < len(module):
        count, opcode = module[position] >> 16, module[position] & 0xFFFF
        if not count or position + count > len(module):
            raise ValueError("the module is damaged")
        yield SpirvInstruction(position, opcode, module[position + 1 : position + count])
        position += count


def text(literal: tuple[int, ...]) -> str:
    """The text in words, which ends with a zero."""
    return struct.pack(f"<{len(literal)}I", *literal).split(b"\0")[0].decode("utf-8", "replace")


@lru_cache(maxsize=64)
def voting_kernels(module: bytes) -> frozenset[str]:
    """The kernels of a module that call ``work_group_any`` or ``work_group_all``, also in functions that they call.

    Raises:
        ValueError: the module is damaged.
    """
    kernels: dict[int, str] = {}
    constants: dict[int, int] = {}
    calls: defaultdict[int, set[int]] = defaultdict(set)
    votes: list[tuple[int, int]] = []
    function = 0
    for _, opcode, operands in instructions(words(module)):
        if opcode == _ENTRY_POINT:
            kernels[operands[1]] = text(operands[2:])
        elif opcode == _CONSTANT:
            constants[operands[1]] = operands[2]
        elif opcode == _FUNCTION:
            function = operands[1]
        elif opcode == _CALL:
            calls[function].add(operands[2])
        elif opcode in _VOTES:
            votes.append((function, operands[2]))
    voting = {function for function, scope in votes if constants.get(scope) == _WORKGROUP}
    while more := {caller for caller, called in calls.items() if called & voting} - voting:
        voting |= more
    return frozenset(name for number, name in kernels.items() if number in voting)


@lru_cache(maxsize=64)
def may_wait(module: bytes) -> bool:
    """Whether work-items of a module may wait for others, or order accesses to memory between them; also where an
    instruction of an extension, or a function from elsewhere, might do so.

    Raises:
        ValueError: the module is damaged.
    """
    has_body = True
    for _, opcode, _ in instructions(words(module)):
        if opcode in _ORDERING or opcode > _LAST_OF_CORE:
            return True
        if opcode == _FUNCTION:
            has_body = False
        elif opcode == _LABEL:
            has_body = True
        elif opcode == _FUNCTION_END and not has_body:
            return True
    return False
