"""The property ``asserts``: no work-item prints that an assertion failed.

Compilers make of ``printf`` an atomic that takes room in the launch's printf buffer, and stores: the address of the
format first, in 64 bits. A store of the address of a text with the word *assert* there is a failed assertion.
"""

from __future__ import annotations

from collections.abc import Iterator

import z3

from vsim.memory.memory import AddressSpace
from vsim.observe.printf import string_at
from vsim.prove.bounds import PropertyViolation
from vsim.prove.verdict import Remark
from vsim.symbolic import terms
from vsim.symbolic.launch import SymbolicLaunch
from vsim.symbolic.memory import ExecutedMessage, LaneAccess
from vsim.symbolic.queries import Possible, Solver
from vsim.symbolic.spaces import FLAT, WRITE, SymbolicBuffer
from vsim.symbolic.terms import Condition
from vsim.symbolic.thread import SymbolicThread

WORD = "assert"
"""Texts with this word, in upper or lower case, say that an assertion failed."""
_BITS = 64


def says_so(text: str) -> bool:
    """Whether a text says that an assertion failed."""
    return WORD in text.lower()


def line_of(printed: str) -> str:
    """The first line that a launch printed of a failed assertion; empty for none."""
    return next((line for line in printed.splitlines() if says_so(line)), "")


def violations(thread: SymbolicThread, solver: Solver) -> Iterator[PropertyViolation]:
    """The stores of formats of failed assertions, each instruction once.

    Raises:
        Undecided: a limit of the proof is reached.
    """
    launch, seen = thread.launch, set[tuple[int, int]]()
    texts = _texts(launch.bound.memory, launch.buffers)
    for message in thread.memory.messages if texts else ():
        key = id(message.function), message.number
        if key in seen or message.kind != WRITE or message.space.kind != FLAT:
            continue
        launch.limits.at(message.function, message.number)
        for access, condition, text in _formats(launch, message, texts):
            buffers = launch.candidates(message.space, access.address)
            if buffers and not any(map(_is_printed, buffers)):
                continue
            answer = solver.possible(condition).possible
            if answer is not Possible.NO:
                seen.add(key)
                remark = Remark(message.function, message.number, f"it may print {text!r}")
                yield PropertyViolation(remark, condition, answer is Possible.YES)
                break


def _texts(memory: AddressSpace, buffers: list[SymbolicBuffer]) -> dict[int, str]:
    """The texts of failed assertions among the program's data, by their addresses."""
    found = {}
    for buffer in buffers:
        own = memory.slots.get(buffer.address >> 32)
        if own is None or buffer.argument is not None or _is_printed(buffer):
            continue
        at = own.address
        for piece in own.data.tobytes().split(b"\0"):
            if says_so(piece.decode("latin-1")):
                found[at] = string_at(memory, at)
            at += len(piece) + 1
    return found


def _is_printed(buffer: SymbolicBuffer) -> bool:
    return buffer.name == "printf"


def _formats(
    launch: SymbolicLaunch, message: ExecutedMessage, texts: dict[int, str]
) -> Iterator[tuple[LaneAccess, Condition, str]]:
    """The lanes that may store the address of a text, the condition, and the text."""
    each = 8 * message.size // max(len(message.values), 1)
    if 8 * message.size < _BITS or each not in (32, _BITS):
        return
    for n, access in enumerate(message.lanes):
        value = message.values[0][n]
        if each == 32:
            low, high = (terms.expression(column[n], 32) for column in message.values[:2])
            value = z3.Concat(high, low)
        value = launch.simplified(value)
        for address, text in texts.items():
            condition = terms.conjunction(access.guard, terms.equal(value, address, _BITS))
            if condition is not False:
                yield access, condition, text
