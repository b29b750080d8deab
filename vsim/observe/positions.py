"""Where the hardware threads of a launch are that was stopped."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from visakit.diagnostics import Label, Span, counted, listed, ranges_of
from visakit.language.program import Function
from visakit.text.printer import FunctionPrinter
from vsim.launch.ndrange import Group

if TYPE_CHECKING:
    from vsim.launch.bound_launch import BoundLaunch

MAXIMUM_PLACES, MAXIMUM_GROUPS = 8, 4
"""Places that an error names, and work-groups of each."""


_AT = (("is at", "are at"), ("waits at", "wait at"))
"""What is said of one thread and of several: where they are, or what holds them up."""


class ThreadPosition(NamedTuple):
    """Where one thread is: in front of an instruction, or held up at it by a barrier.

    Attributes:
        group: its work-group.
        thread: its number in that.
        number: of the instruction in the function; None for a thread that another one of its group takes turns with.
        waits: whether a barrier holds it up.
    """

    group: Group
    thread: int
    function: Function
    number: int | None
    waits: bool = False


def notes(dispatch: BoundLaunch, positions: Iterable[ThreadPosition]) -> tuple[Label, ...]:
    """A note for each instruction at which threads are, with all of them; those at which most are come first."""
    places: dict[tuple[str, int, bool], list[ThreadPosition]] = {}
    turns: list[ThreadPosition] = []
    for position in positions:
        if position.number is None:
            turns.append(position)
            continue
        number = next_instruction(position.function, position.number)
        places.setdefault((position.function.name, number, position.waits), []).append(position)
    shown = sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))
    found = [_note(dispatch, own, number, waits) for (_, number, waits), own in shown[:MAXIMUM_PLACES]]
    if rest := shown[MAXIMUM_PLACES:]:
        message = f"{counted(sum(len(own) for _, own in rest), 'thread')} in {counted(len(rest), 'more place')}"
        found.append(Label(Span(dispatch.image.file, 0), message))
    if turns:
        message = f"{_who(turns)} {'take' if len(turns) > 1 else 'takes'} turns with these, from barrier to barrier"
        found.append(Label(dispatch.image.span(dispatch.kernel, 0), message))
    return tuple(found)


def next_instruction(function: Function, number: int) -> int:
    """The first instruction from a number on that is no label and no mark."""
    last = len(function.instructions) - 1
    return next((n for n in range(number, last + 1) if not function.instructions[n].desc.is_directive), last)


def _note(dispatch: BoundLaunch, positions: list[ThreadPosition], number: int, waits: bool) -> Label:
    """Which threads are at an instruction."""
    function = positions[0].function
    instruction = function.instructions[number]
    text = FunctionPrinter(function).instruction(instruction)
    span, _ = dispatch.image.place(function, instruction)
    at = _AT[waits][len(positions) > 1]
    return Label(span, f"{_who(positions)} {at} '{text}' (instruction {number} of '{function.name}')")


def _who(positions: list[ThreadPosition]) -> str:
    """Threads by work-group."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for p in positions:
        groups.setdefault(p.group.id, []).append(p.thread)
    who = [f"{_threads(own)} of work-group {group}" for group, own in itertools.islice(groups.items(), MAXIMUM_GROUPS)]
    if len(groups) > MAXIMUM_GROUPS:
        more = sum(len(own) for own in itertools.islice(groups.values(), MAXIMUM_GROUPS, None))
        who.append(f"{counted(more, 'thread')} of {counted(len(groups) - MAXIMUM_GROUPS, 'more work-group')}")
    return listed(who)


def _threads(numbers: list[int]) -> str:
    """Numbers of threads, consecutive ones as a range: threads 0-3, 7."""
    return f"thread{'s' if len(numbers) > 1 else ''} {', '.join(ranges_of(sorted(numbers)))}"
