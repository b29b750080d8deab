"""Shader modules into one program: slots one after the other, jumps filled in, constants merged or renumbered."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import visakit.ctm.table as table
from visakit.ctm.program import InstructionSlot, ShaderModule
from visakit.diagnostics import Diagnostic, LinkError, Span, did_you_mean

Constant = TypeVar("Constant")
Moves = dict[int, int]
"""Numbers of constants in the image, by their number in a module, where they differ."""


class ConstantMoves(NamedTuple):
    """The constants of a module that have other numbers in the image."""

    floats: Moves
    integers: Moves
    booleans: Moves


def link(modules: Sequence[ShaderModule]) -> ShaderModule:
    """One image, whose first slot is 0; US_CODE_OFFSET moves it without a new link.

    Raises:
        LinkError: undefined or duplicate names, more than 512 slots or than there are constants.
    """
    linking = ImageLinker(modules)
    for module, start in zip(modules, linking.starts, strict=True):
        linking.compare_kinds(module)
        linking.add(module, start)
    if linking.errors:
        raise LinkError(linking.errors)
    linking.image.end = modules[0].end
    return linking.image


class ImageLinker:
    """An image to which modules are added in turn.

    Attributes:
        starts: the first slot of each module.
        functions: slot of every exported name, and the module that defines it.
        errors: what does not fit together.
    """

    def __init__(self, modules: Sequence[ShaderModule]) -> None:
        file = modules[0].file if modules else ""
        self.image = ShaderModule("<image>", executable=True, full=any(m.full for m in modules), file=file)
        self.starts = [sum(len(m.slots) for m in modules[:n]) for n in range(len(modules))]
        self.functions: dict[str, tuple[int, ShaderModule]] = {}
        self.errors: list[Diagnostic] = []
        for module, start in zip(modules, self.starts, strict=True):
            self._export(module, start)
        total = sum(len(m.slots) for m in modules)
        if total > table.SLOTS:
            self._error("T021", f"the program needs slots up to {total - 1}, the last one is {table.SLOTS - 1}")
        if not modules or modules[0].end < 0:
            self._error("T022", "the first module has no 'end'", Span(modules[0].name, 0) if modules else None)

    def _error(self, code: str, message: str, span: Span | None = None, hint: str = "") -> None:
        self.errors.append(Diagnostic(code, message, span, hint))

    def _export(self, module: ShaderModule, start: int) -> None:
        for name in module.exported:
            if name in self.functions:
                other = self.functions[name][1].name
                self._error("T020", f"'{name}' is defined in {other} and in {module.name}", Span(module.name, 0))
            self.functions[name] = (start + module.labels[name], module)

    def compare_kinds(self, module: ShaderModule) -> None:
        """A function must be what its callers take it for: plain ones leave the branch counters alone."""
        for name, plain in module.plain.items():
            _, definer = self.functions.get(name, (0, module))
            if name in module.exported or definer.plain.get(name, plain) == plain:
                continue
            message = f"{module.name} takes '{name}' for {_kind(plain)}, in {definer.name} it is {_kind(not plain)}"
            hint = f".extern {name}" + ("" if plain else " plain")
            line = next((slot.line for slot in module.slots if slot.target == name), 0)
            self._error("T026", message, Span(module.file or module.name, line), f"declare it with {hint}")

    def add(self, module: ShaderModule, start: int) -> None:
        """The instructions, constants and labels of a module, from a slot on."""
        moves = ConstantMoves(
            self._constants(module, "float", table.FLOAT_CONSTANTS, self.image.floats, module.floats),
            self._constants(module, "integer", table.INT_CONSTANTS, self.image.integers, module.integers),
            self._constants(module, "boolean", table.BOOL_CONSTANTS, self.image.booleans, module.booleans),
        )
        decoded = [table.decode(s.words) for s in module.slots]
        if moves.floats and any(_reads_relative(kind, values) for kind, values in decoded):
            message = f"{module.name} reads constants through aL, so they cannot be renumbered"
            self._error("T025", message, Span(module.name, 0), "give the modules different constants")
        for number, (slot, (kind, values)) in enumerate(zip(module.slots, decoded, strict=True)):
            _renumber(kind, values, moves)
            if slot.target:
                jump = self._jump(module, start, number, values.get("jump", 0))
                if jump is None:
                    continue
                values["jump"] = jump
            self.image.slots.append(InstructionSlot(table.encode(kind, values), "", slot.line))
        labels = self.image.labels
        labels |= {n: start + at for n, at in module.labels.items() if n in module.exported or n not in labels}

    def _jump(self, module: ShaderModule, start: int, number: int, addend: int) -> int | None:
        """The target slot of the jump in a slot of a module; None if no module defines it, which is an error."""
        slot = module.slots[number]
        if slot.target in module.labels:
            target = start + module.labels[slot.target]
        elif slot.target in self.functions:
            target = self.functions[slot.target][0]
        else:
            message = f"'{slot.target}' is not defined; slot {number} of {module.name} jumps there"
            hint = did_you_mean(slot.target, self.functions)
            self._error("T023", message, Span(module.file or module.name, slot.line), hint)
            return None
        target += addend
        if target >= table.SLOTS:
            last = table.SLOTS - 1
            message = f"the jump in slot {number} of {module.name} goes to slot {target}, the last one is {last}"
            self._error("T021", message, Span(module.name, slot.line))
            return None
        return target

    def _constants(
        self, module: ShaderModule, kind: str, limit: int, taken: dict[int, Constant], own: dict[int, Constant]
    ) -> Moves:
        """Give constants their registers: their own where free or equal, else those of equal ones, else free ones."""
        moves: Moves = {}
        for number, value in own.items():
            if taken.get(number, value) == value:
                taken[number] = value
                continue
            equal = (n for n, v in taken.items() if v == value)
            free = (n for n in range(limit) if n not in taken and n not in own)
            place = next(itertools.chain(equal, free), None)
            if place is None:
                message = f"{module.name} needs more than the {limit} {kind} constants there are"
                self._error("T024", message, Span(module.name, 0))
                continue
            moves[number] = place
            taken[place] = value
        return moves


def _kind(plain: bool) -> str:
    return "plain" if plain else "one that keeps branch counters"


def _reads_relative(kind: int, values: table.Values) -> bool:
    """Whether an instruction reads a constant through aL."""
    return kind in (table.ALU, table.OUT) and any(
        values.get(f"{unit}_const{n}") and values.get(f"{unit}_rel{n}") for unit in table.UNITS for n in range(3)
    )


def _renumber(kind: int, values: dict[str, int], moves: ConstantMoves) -> None:
    """Give the constants of an instruction their numbers in the image."""
    if kind == table.FC:
        # Fields that the instruction does not read keep their values.
        if values.get("op", 0) in (table.LOOP, table.REP, table.ENDLOOP, table.ENDREP):
            values["int"] = moves.integers.get(values.get("int", 0), values.get("int", 0))
        if table.depends(values.get("func", 0), "bool"):
            values["bool"] = moves.booleans.get(values.get("bool", 0), values.get("bool", 0))
    elif kind != table.TEX:
        for name in (f"{unit}_%s{n}" for unit in table.UNITS for n in range(3)):
            number = values.get(name % "addr", 0)
            if values.get(name % "const") and not values.get(name % "rel"):
                values[name % "addr"] = moves.floats.get(number, number)
