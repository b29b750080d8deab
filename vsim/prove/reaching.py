"""Findings about goals, and covers, as text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from visakit.text.printer import FunctionPrinter
from vsim.launch.launch import SCALAR_TYPES, BufferArgument, Launch, LocalArgument, ScalarArgument
from vsim.prove.cover import Cover
from vsim.prove.report import place_lines, places_lines
from vsim.prove.subject import Subject
from vsim.prove.witness import GoalFinding, GoalOutcome

SHOWN_ELEMENTS = 4


def lines_of(subject: Subject, found: GoalFinding) -> Iterator[str]:
    """The lines of a finding: the outcome, the launch or the reason, and the launches that it is about."""
    yield f"{found.kernel}: {found.goal.name}: {found.outcome} ({found.seconds:.1f} s)"
    function, number = found.goal.spots[0]
    shown = FunctionPrinter(function).instruction(function.instructions[number])
    yield f"    '{shown}' (instruction {number} of '{function.name}')"
    if found.launch is not None:
        yield f"  launch: {launch_text(subject, found.launch)}"
        if found.fault:
            yield f"  note: this launch ends with a fault: {found.fault}"
        if found.where:
            yield f"  written: {found.where}"
        return
    yield from places_lines([subject.program] * 2, found.places)
    if found.outcome is GoalOutcome.UNREACHABLE:
        yield from (f"  for: {text}" for text in found.scope)
    yield from (f"  assuming: {text}" for text in found.assumptions)


def cover_lines(subject: Subject, found: Cover) -> Iterator[str]:
    """The lines of a cover: a table, the launches, and the goals that no launch reaches."""
    number = len(found.launches)
    yield f"{subject.kernel}: {number} launch{'' if number == 1 else 'es'} ({found.seconds:.1f} s)"
    yield from _table(found)
    for own in found.launches:
        yield f"  launch: {launch_text(subject, own.launch)}"
        if own.fault:
            yield f"    note: it ends with a fault: {own.fault}"
        if own.where:
            yield f"    written: {own.where}"
    for missed in found.missed:
        yield from _missed(subject, missed)
    if any(missed.outcome is GoalOutcome.UNREACHABLE for missed in found.missed):
        yield from (f"  for: {text}" for text in found.missed[0].scope)
    yield from (f"  assuming: {a.text}" for a in subject.assumptions)
    yield from (f"  note: {text}" for text in found.notes)


def _table(found: Cover) -> Iterator[str]:
    yield f"  {'':16} {'all':>5} {'covered':>8} {'unreachable':>12} {'unknown':>8}"
    for title, is_way in (("lines", False), ("ways of branches", True)):
        count = sum((goal.way is not None) is is_way for goal in found.goals)
        outcomes = [own.outcome for own in found.missed if (own.goal.way is not None) is is_way]
        left = [outcomes.count(outcome) for outcome in (GoalOutcome.UNREACHABLE, GoalOutcome.UNKNOWN)]
        yield f"  {title:16} {count:5} {count - sum(left):8} {left[0]:12} {left[1]:8}"


def _missed(subject: Subject, missed: GoalFinding) -> Iterator[str]:
    function, number = missed.goal.spots[0]
    branch = "" if missed.goal.way is None else f" (instruction {number} of '{function.name}')"
    yield f"  {missed.outcome}: {missed.goal.name}{branch}"
    if missed.outcome is GoalOutcome.UNKNOWN:
        yield from (f"  {line}" for place in missed.places[:1] for line in place_lines([subject.program] * 2, place))


def launch_text(subject: Subject, launch: Launch) -> str:
    """A launch in a line: its sizes and arguments; of arrays the bytes, and the first elements that are not zero."""
    sizes = "x".join(map(str, launch.global_size))
    local = "x".join(map(str, launch.local_size or ()))
    parts = [f"{sizes} work-items in groups of {local}" if local else f"{sizes} work-items"]
    for index, (name, argument) in enumerate(zip(subject.signature.names_in_order, launch.args, strict=True)):
        if isinstance(argument, BufferArgument):
            parts.append(f"{name} of {argument.array.nbytes} bytes")
            flat = argument.array.reshape(-1)
            parts += [f"{name}[{n}] = {flat[n]!s}" for n in np.flatnonzero(flat)[:SHOWN_ELEMENTS].tolist()]
        elif isinstance(argument, ScalarArgument):
            parts.append(f"{name} = {_number(subject, index, argument.data)}")
        elif isinstance(argument, LocalArgument):
            parts.append(f"{name} of {argument.size} bytes")
    return ", ".join(parts)


def _number(subject: Subject, index: int, data: bytes) -> str:
    """An argument by value in the type that the kernel declares; of others the bytes."""
    code = SCALAR_TYPES.get(subject.signature.declared_type(index), "")
    if not code or len(data) % np.dtype(code).itemsize:
        return f"0x{int.from_bytes(data, 'little'):x}"
    values = np.frombuffer(data, code).tolist()
    return str(values[0]) if len(values) == 1 else str(values)
