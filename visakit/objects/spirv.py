"""SPIR-V, as far as the tools read it: its instructions, the kernels that vote, and those whose work-items never wait.

The numbers are those of the specification of SPIR-V (2.3, 3.27 and 3.52).
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
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


class _Calls:
    """The kernels of a module by the numbers of their functions, and which function calls which.

    Raises:
        ValueError: the module is damaged.
    """

    def __init__(self, module: bytes) -> None:
        self.kernels: dict[int, str] = {}
        self.callers: defaultdict[int, set[int]] = defaultdict(set)
        self.instructions: list[tuple[int, SpirvInstruction]] = []
        """Each with its function; 0 outside of all."""
        function = 0
        try:
            for i in instructions(words(module)):
                if i.opcode == _ENTRY_POINT:
                    self.kernels[i.operands[1]] = text(i.operands[2:])
                elif i.opcode == _FUNCTION:
                    function = i.operands[1]
                elif i.opcode == _CALL:
                    self.callers[i.operands[2]].add(function)
                self.instructions.append((function, i))
                function = 0 if i.opcode == _FUNCTION_END else function
        except IndexError:
            raise ValueError("the module is damaged") from None

    def kernels_with(self, functions: Iterable[int]) -> frozenset[str]:
        """The kernels that are some functions, or call them, also by way of others."""
        todo, found = [*functions], set[int]()
        while todo:
            if (function := todo.pop()) not in found:
                found.add(function)
                todo += self.callers[function]
        return frozenset(name for number, name in self.kernels.items() if number in found)


@lru_cache(maxsize=64)
def voting_kernels(module: bytes) -> frozenset[str]:
    """The kernels of a module that call ``work_group_any`` or ``work_group_all``, also in functions that they call.

    Raises:
        ValueError: the module is damaged.
    """
    calls = _Calls(module)
    constants = (i.operands for _, i in calls.instructions if i.opcode == _CONSTANT)
    scopes = {operands[1:2] for operands in constants if operands[2:] == (_WORKGROUP,)}
    return calls.kernels_with(f for f, i in calls.instructions if i.opcode in _VOTES and i.operands[2:3] in scopes)


@lru_cache(maxsize=64)
def unordered_kernels(module: bytes) -> frozenset[str]:
    """The kernels of a module whose work-items neither wait for others nor order accesses to memory between them, nor
    execute an instruction of an extension, or a function from elsewhere, that might do so.

    Raises:
        ValueError: the module is damaged.
    """
    calls = _Calls(module)
    bodies = {f for f, i in calls.instructions if i.opcode == _LABEL}
    ordering = {f for f, i in calls.instructions if i.opcode in _ORDERING or i.opcode > _LAST_OF_CORE}
    if 0 in ordering:  # For example a pointer to a function.
        return frozenset()
    ordering |= {*calls.kernels, *calls.callers} - bodies
    return frozenset(calls.kernels.values()) - calls.kernels_with(ordering)
