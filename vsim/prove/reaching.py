"""Goals of witnesses and what was found of them, as text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from visakit.language.program import Function
from visakit.text.printer import FunctionPrinter
from vsim.analysis.active_lanes import may_divide
from vsim.launch.launch import SCALAR_TYPES, BufferArgument, Launch, LocalArgument, ScalarArgument
from vsim.prove.report import SHOWN_PLACES, place_lines
from vsim.prove.subject import Subject
from vsim.prove.witness import Finding, Reached

SHOWN_ELEMENTS = 4


def divides(subject: Subject, function: Function, number: int) -> bool:
    """Whether an instruction is a branch or return that lanes may take or not."""
    return may_divide(function, function.instructions[number], subject.signature.simd)


def name_of(subject: Subject, function: Function, number: int) -> str:
    """An instruction in messages: its line, or its number where no line is known."""
    span, _ = subject.program.image.place(function, function.instructions[number])
    return f"{span.file}:{span.line}" if span.line else f"instruction {number} of '{function.name}'"


def lines_of(subject: Subject, found: Finding) -> Iterator[str]:
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
    for place in found.places[:SHOWN_PLACES]:
        yield from place_lines([subject.program] * 2, place)
    if len(found.places) > SHOWN_PLACES:
        yield f"  and {len(found.places) - SHOWN_PLACES} more instructions"
    if found.outcome is Reached.UNREACHABLE:
        yield from (f"  for: {text}" for text in found.scope)
    yield from (f"  assuming: {text}" for text in found.assumptions)


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
