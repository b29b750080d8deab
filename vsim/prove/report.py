"""Verdicts as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visakit.text.printer import FunctionPrinter
from vsim.program import Program
from vsim.prove.verdict import Outcome, Remark, Verdict

SHOWN_PLACES = 5


def lines_of(program: Program, verdict: Verdict, second: Program | None = None) -> Iterator[str]:
    """The lines of a verdict: the result, the reason, and the launches; ``second`` has the second of two kernels."""
    programs = (program, second or program)
    yield f"{verdict.kernel}: {verdict.property} {verdict.outcome} ({verdict.seconds:.1f} s)"
    if verdict.refutation is not None:
        refutation = verdict.refutation
        if refutation.place is not None:
            yield from place_lines(programs, refutation.place)
        for engine, said in refutation.engines.items():
            yield f"    {engine}: {said}"
        if refutation.where:
            yield f"  launch: {refutation.where}"
    elif verdict.outcome is Outcome.UNKNOWN:
        yield from places_lines(programs, verdict.places)
    for text in verdict.scope:
        yield f"  for: {text}"
    for text in verdict.assumptions:
        yield f"  assuming: {text}"
    for text in verdict.notes:
        yield f"  note: {text}"


def places_lines(programs: Sequence[Program], places: Sequence[Remark]) -> Iterator[str]:
    """The first of some remarks, and how many follow."""
    for place in places[:SHOWN_PLACES]:
        yield from place_lines(programs, place)
    if len(places) > SHOWN_PLACES:
        yield f"  and {len(places) - SHOWN_PLACES} more instructions"


def place_lines(programs: Sequence[Program], place: Remark) -> Iterator[str]:
    """A remark about an instruction, with the instruction; ``programs`` are one, twice, or the two of a comparison."""
    span, _ = programs[place.side].image.place(place.function, place.instruction)
    shown = FunctionPrinter(place.function).instruction(place.instruction)
    where = f"{span}: " if span.line else ""
    yield f"  {where}{place.why}"
    owner = "" if programs[0] is programs[1] else f", {('first', 'second')[place.side]} program"
    yield f"    '{shown}' (instruction {place.number} of '{place.function.name}'{owner})"
    if place.hint:
        yield f"    hint: {place.hint}"
