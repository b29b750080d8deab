"""Verdicts as text."""

from __future__ import annotations

from collections.abc import Iterator

from visakit.text.printer import FunctionPrinter
from vsim.program import Program
from vsim.prove.verdict import Outcome, Remark, Verdict

SHOWN_PLACES = 5


def lines_of(program: Program, verdict: Verdict) -> Iterator[str]:
    """The lines of a verdict: the result, the reason, and the launches."""
    yield f"{verdict.kernel}: {verdict.property} {verdict.outcome} ({verdict.seconds:.1f} s)"
    if verdict.refutation is not None:
        refutation = verdict.refutation
        yield from _place(program, refutation.place)
        for engine, said in refutation.engines.items():
            yield f"    {engine}: {said}"
        if refutation.where:
            yield f"  launch: {refutation.where}"
    elif verdict.outcome is Outcome.UNKNOWN:
        for place in verdict.places[:SHOWN_PLACES]:
            yield from _place(program, place)
        if len(verdict.places) > SHOWN_PLACES:
            yield f"  and {len(verdict.places) - SHOWN_PLACES} more instructions"
    for text in verdict.scope:
        yield f"  for: {text}"
    for text in verdict.assumptions:
        yield f"  assuming: {text}"
    for text in verdict.notes:
        yield f"  note: {text}"


def _place(program: Program, place: Remark) -> Iterator[str]:
    span, _ = program.image.place(place.function, place.instruction)
    shown = FunctionPrinter(place.function).instruction(place.instruction)
    where = f"{span}: " if span.line else ""
    yield f"  {where}{place.why}"
    yield f"    '{shown}' (instruction {place.number} of '{place.function.name}')"
    if place.hint:
        yield f"    hint: {place.hint}"
