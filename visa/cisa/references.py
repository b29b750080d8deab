"""Which declarations an instruction refers to."""

from __future__ import annotations

from collections.abc import Iterator

from visa.operands import SURFACE, Address, General, Indirect, Predicate, Raw, State
from visa.program import FIRST_PREDICATE, FIRST_SURFACE, FIRST_VARIABLE, NAMED_SAMPLER, PREDEFINED_VARIABLES, Body, Instruction

VARIABLE, ADDRESS, PREDICATE, SURFACES, SAMPLERS, LABEL, STRING = range(7)


def references(instruction: Instruction) -> Iterator[tuple[int, int]]:
    """Pairs (what, index) of everything that the instruction names."""
    args = instruction.args
    for f in instruction.form.fields:
        kind, name = f.kind, f.name
        if not name or (name not in args and kind not in ("ec", "n")):
            continue
        if kind in ("d", "s"):
            op = args[name]
            if type(op) is General:
                yield VARIABLE, op.var
            elif type(op) in (Address, Indirect):
                yield ADDRESS, op.var
            elif type(op) is Predicate:
                yield PREDICATE, op.var
            elif type(op) is State:
                yield (SURFACES if op.kind == SURFACE else SAMPLERS), op.var
        elif kind in ("r", "w"):
            yield VARIABLE, args[name].var
        elif kind in ("r*", "r!"):
            yield from ((VARIABLE, r.var) for r in args[name] if type(r) is Raw)
        elif kind == "pr":
            if args[name]:
                yield PREDICATE, args[name].var
        elif kind == "T":
            yield SURFACES, args[name]
        elif kind == "S":
            yield SAMPLERS, args[name]
        elif kind == "L":
            yield LABEL, args[name]
        elif kind == "L*":
            yield from ((LABEL, n) for n in args[name])
        elif kind in ("N2", "N4"):
            yield STRING, args[name]
    if "variable" in args:
        yield (VARIABLE, ADDRESS, PREDICATE)[min(args["class"], 2)], args["variable"]


def exists(body: Body, what: int, index: int) -> bool:
    """Whether the body declares it, or it is predefined."""
    if what == VARIABLE:
        return index < len(PREDEFINED_VARIABLES) or FIRST_VARIABLE <= index < FIRST_VARIABLE + len(body.variables)
    if what == ADDRESS:
        return index < len(body.addresses)
    if what == PREDICATE:
        return FIRST_PREDICATE <= index < FIRST_PREDICATE + len(body.predicates)
    if what == SURFACES:
        return index < FIRST_SURFACE + len(body.surfaces)
    if what == SAMPLERS:
        return index == NAMED_SAMPLER or index < len(body.samplers)
    if what == LABEL:
        return index < len(body.labels)
    return index < len(body.strings)


_NAMES = ("variable", "address variable", "predicate", "surface", "sampler", "label", "string")


def invalid_reference(body: Body, instruction: Instruction) -> str:
    """What the instruction refers to that does not exist, or an empty string."""
    for what, index in references(instruction):
        if not exists(body, what, index):
            return f"{instruction.form.mnemonic} refers to {_NAMES[what]} {index}, which does not exist"
    return ""
