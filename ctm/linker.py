"""Modules into one program: slots one after the other, jumps filled in, constants merged or renumbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctm import table
from ctm.program import Module, Slot
from visa.diagnostics import Diagnostic, LinkError, Span, did_you_mean

_REGISTERS = {"floats": 256, "integers": 32, "booleans": 32}


def link(modules: Sequence[Module]) -> Module:
    """One image, whose first slot is 0; US_CODE_OFFSET moves it without a new link.

    Raises:
        LinkError: undefined or duplicate names, more than 512 slots or than there are constants; all of them in ``diagnostics``.
    """
    errors: list[Diagnostic] = []
    image = Module(
        "<image>", executable=True, full=any(m.full for m in modules), file=modules[0].file if modules else ""
    )
    places: dict[str, tuple[int, Module]] = {}
    starts: list[int] = []
    for m in modules:
        starts.append(sum(len(o.slots) for o in modules[: len(starts)]))
        for name in m.exported:
            if name in places:
                errors.append(
                    Diagnostic(
                        "T020", f"'{name}' is defined in {places[name][1].name} and in {m.name}", Span(m.name, 0)
                    )
                )
            places[name] = (starts[-1] + m.labels[name], m)
    total = sum(len(m.slots) for m in modules)
    if total > table.SLOTS:
        errors.append(
            Diagnostic("T021", f"the program needs slots up to {total - 1}, the last one is {table.SLOTS - 1}")
        )
    if not modules or modules[0].end < 0:
        errors.append(
            Diagnostic("T022", "the first module has no 'end'", Span(modules[0].name, 0) if modules else None)
        )
    for m, start in zip(modules, starts, strict=True):
        moved = _constants(image, m, errors)
        if moved["floats"] and any(table.decode(s.words)[1].get(f"{u}_const{k}") and table.decode(s.words)[1].get(f"{u}_rel{k}")
                                   for s in m.slots if s.words[0] & 3 in (table.ALU, table.OUT) for u in ("rgb", "alpha") for k in range(3)):  # fmt: skip
            errors.append(
                Diagnostic(
                    "T025",
                    f"{m.name} reads constants through aL, so they cannot be renumbered",
                    Span(m.name, 0),
                    "give the modules different constants",
                )
            )
        for number, slot in enumerate(m.slots):
            kind, values = table.decode(slot.words)
            _renumber(kind, values, moved)
            if slot.target:
                target = (
                    start + m.labels[slot.target] if slot.target in m.labels else places.get(slot.target, (None, m))[0]
                )
                if target is None:
                    hint = did_you_mean(slot.target, places)
                    errors.append(
                        Diagnostic(
                            "T023",
                            f"'{slot.target}' is not defined; slot {number} of {m.name} jumps there",
                            Span(m.file or m.name, slot.line),
                            hint,
                        )
                    )
                    continue
                target += values.get("jump", 0)
                if target >= table.SLOTS:
                    errors.append(
                        Diagnostic(
                            "T021",
                            f"the jump in slot {number} of {m.name} goes to slot {target}, the last one is {table.SLOTS - 1}",
                            Span(m.name, slot.line),
                        )
                    )
                    continue
                values["jump"] = target
            image.slots.append(Slot(table.encode(kind, values), "", slot.line))
        image.labels |= {n: start + at for n, at in m.labels.items() if n in m.exported or n not in image.labels}
    if errors:
        raise LinkError(errors)
    image.end = modules[0].end
    return image


def _constants(image: Module, module: Module, errors: list[Diagnostic]) -> dict[str, dict[int, int]]:
    """Give the module's constants their registers: their own where free or equal, else equal ones, else free ones."""
    moved: dict[str, dict[int, int]] = {}
    for kind, limit in _REGISTERS.items():
        taken: dict[int, Any] = getattr(image, kind)
        moves = moved[kind] = {}
        for number, value in getattr(module, kind).items():
            if taken.get(number, value) != value:
                same = next((n for n, v in taken.items() if v == value), None)
                found = (
                    same
                    if same is not None
                    else next((n for n in range(limit) if n not in taken and n not in getattr(module, kind)), None)
                )
                if found is None:
                    errors.append(
                        Diagnostic(
                            "T024",
                            f"{module.name} needs more than the {limit} {kind[:-1]} constants there are",
                            Span(module.name, 0),
                        )
                    )
                    continue
                moves[number] = number = found
            taken[number] = value
    return moved


def _renumber(kind: int, values: dict[str, int], moved: dict[str, dict[int, int]]) -> None:
    if kind == table.FC:
        for field, which in (("int", "integers"), ("bool", "booleans")):
            if values.get(field, 0) in moved[which]:
                values[field] = moved[which][values.get(field, 0)]
    elif kind != table.TEX:
        for unit in ("rgb", "alpha"):
            for n in range(3):
                name = f"{unit}_addr{n}"
                if (
                    values.get(f"{unit}_const{n}")
                    and not values.get(f"{unit}_rel{n}")
                    and values.get(name, 0) in moved["floats"]
                ):
                    values[name] = moved["floats"][values.get(name, 0)]
