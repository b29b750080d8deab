"""The source's variables in vISA: the compiler's DWARF names hardware registers, and its finalizer's table says which
variables of vISA these registers have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from visakit.diagnostics import VisaError
from visakit.language.program import FIRST_VARIABLE, Function
from visakit.objects.allocation import ALLOCATION, DWARF, Allocation, read_allocations
from visakit.objects.elf import read_elf
from vsim.debug.places import Places
from vsim.debug.source.dwarf import LocationEntry, SourceVariable, read_variables

STACK = _STACK_POINTER, _FRAME_POINTER = 10, 11
"""Predefined variables of vISA. The finalizer keeps them in the second half of one of the last registers."""
_LAST_REGISTERS = 125
_NAME = re.compile(r"\b(V)0*(\d+)\b")


class Found(NamedTuple):
    """A variable of vISA, and a byte of it."""

    variable: int
    byte: int


class SourceVariables:
    """The variables of a program's source.

    Attributes:
        problem: why none are known; empty if some are, or if the program has no DWARF.
    """

    def __init__(self, places: Places) -> None:
        self.places, self.image = places, places.image
        self.problem = ""
        self._mentions: dict[int, dict[int, tuple[int, int]]] = {}
        self._numbers: dict[int, dict[str, int]] = {}

    @cached_property
    def _known(self) -> tuple[dict[str, Allocation], dict[str, list[SourceVariable]]]:
        """The allocations of functions, and their variables, by the function's name in vISA."""
        allocations: dict[str, Allocation] = {}
        variables: dict[str, list[SourceVariable]] = {}
        data = self.image.zebin()
        try:
            sections = {s.name: s.data for s in read_elf(data, self.image.file, False).sections} if data else {}
            if ".debug_info" in sections and not any(name.startswith(DWARF) for name in sections):
                self.problem = "'visakit' has not compiled the program, which does not say where its variables are"
            for name in sections:
                if name.startswith(DWARF):
                    own = read_allocations(sections[ALLOCATION + name.removeprefix(DWARF)])
                    allocations |= {function.name: function for function in own}
                    for variable in read_variables(sections[name]):
                        function = max(own, key=lambda f: (f.begin <= variable.begin, f.begin))
                        variables.setdefault(function.name, []).append(variable)
        except ImportError:
            self.problem = "variables of the source need: pip install 'visakit[debug]'"
        except (ValueError, KeyError, VisaError) as error:
            self.problem = f"variables of the source are not known: {error}"
        return allocations, variables

    # -- names ---------------------------------------------------------------------------------------------

    def seen(self, function: Function, number: int) -> dict[str, SourceVariable]:
        """What the source's names mean at an instruction, the innermost scope first."""
        offset, found = self.offset(function, number), dict[str, SourceVariable]()
        if offset is None:
            return found
        for variable in sorted(self._known[1].get(function.name, ()), key=lambda v: -v.depth):
            if variable.is_seen_at(offset):
                found.setdefault(variable.name, variable)
        return found

    def place(self, variable: SourceVariable, function: Function, number: int) -> LocationEntry | None:
        """Where a variable is in front of an instruction; None where the compiler keeps it nowhere."""
        offset = self.offset(function, number)
        return None if offset is None else variable.place(offset)

    def offset(self, function: Function, number: int) -> int | None:
        """The native offset of an instruction: that of the next one that the finalizer has not dropped."""
        own = self._known[0].get(function.name)
        return None if own is None else own.offset_of(number)

    # -- registers -----------------------------------------------------------------------------------------

    def at_register(self, function: Function, number: int, place: LocationEntry, byte: int, grf: int) -> Found | None:
        """The variable of vISA that a byte of the hardware's registers belongs to; None if that is not clear.

        Args:
            place: the expression that names the registers, which holds for some native offsets.
        """
        own = self._known[0][function.name]
        begin = own.number_at(place.begin) if place.begin else number
        found: dict[Found, bool] = {}
        for v in own.variables:
            inside = self._inside(function, v.name, byte - v.register * grf - v.byte, grf)
            if inside is not None:
                found[inside] = found.get(inside, False) or v.first <= begin <= v.last
        live = [inside for inside, is_live in found.items() if is_live] or list(found)
        if len(live) > 1:
            live = self._mentioned(function, live, begin)
        if not found and byte // grf >= _LAST_REGISTERS and byte % grf >= grf // 2:
            rest = byte % grf - grf // 2
            return Found(_FRAME_POINTER if rest < 8 else _STACK_POINTER, rest % 8) if rest < 16 else None
        return live[0] if len(live) == 1 else None

    def _inside(self, function: Function, name: str, byte: int, grf: int) -> Found | None:
        """A byte of a variable by its name, in the variable that it is an alias of; None if it has no such byte."""
        number = self._variable_numbers(function).get(name)
        if number is None or not 0 <= byte < function.variable_size(number, grf):
            return None
        root, offset = function.alias_root(number)
        return Found(root, offset + byte)

    def _variable_numbers(self, function: Function) -> Mapping[str, int]:
        """Variables of a function by their names without zeros."""
        found = self._numbers.get(id(function))
        if found is None:
            pairs = ((_NAME.sub(r"\1\2", v.name), n) for n, v in enumerate(function.variables, FIRST_VARIABLE))
            found = self._numbers[id(function)] = dict(pairs)
        return found

    def _mentioned(self, function: Function, candidates: list[Found], number: int) -> list[Found]:
        """Variables that share a register: those among them that instructions use around one, from the first use to the
        last.
        """
        uses = self._mentions.get(id(function))
        if uses is None:
            uses = self._mentions[id(function)] = dict(self._uses(function))
        return [c for c in candidates if c.variable in uses and uses[c.variable][0] <= number <= uses[c.variable][1]]

    def _uses(self, function: Function) -> Iterator[tuple[int, tuple[int, int]]]:
        """The first and the last instruction that names a variable or an alias of it."""
        numbers = self._variable_numbers(function)
        found: dict[int, tuple[int, int]] = {i.index: (0, 0) for i in function.inputs if not i.variable_class}
        for n in range(len(function.instructions)):
            for match in _NAME.finditer(self.places.instruction_text(function, n)):
                if (number := numbers.get(match[1] + match[2])) is not None:
                    root = function.alias_root(number)[0]
                    found[root] = found.get(root, (n, n))[0], n
        yield from found.items()
