"""Traces: a line for each instruction that threads execute, with the values that it read and wrote.

The lines go out while the program runs, so that a trace takes no memory. The reference engine gives their contents, the
reads and writes of the semantics (:mod:`vsim.engines.numpy.observers.trace`).
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import numpy as np

from visakit.binary.declarations import ADDRESS, PREDICATE, SAMPLERS, SURFACES, VARIABLE
from visakit.binary.references import references
from visakit.diagnostics import Diagnostic, LaunchError, Span, did_you_mean
from visakit.language.program import FIRST_PREDICATE, FIRST_VARIABLE, MAXIMUM_THREAD_LANES, Function
from visakit.language.source_lines import printable, source_lines
from vsim.launch.arrays import Array, Bools
from vsim.launch.ndrange import Group, NdRange
from vsim.launch.threads import lane_count, place_of
from vsim.observe.selection import (
    GROUPS,
    INSTRUCTIONS,
    ITEM,
    LANES,
    LINES,
    MEMORY,
    THREADS,
    VARIABLES,
    Selection,
    shown_item,
)

if TYPE_CHECKING:
    from visakit.objects.image import LinkedImage
    from vsim.launch.bound_launch import BoundLaunch

LARGE = 1 << 24
"""Unsigned numbers from here on are shown in hexadecimal."""
NO_MATCH = "S015"
_HEADER = "# group, thread, function+instruction, line, lanes that execute, instruction; values read -> values written"
_NAMED_BY_WORDS = (VARIABLES, INSTRUCTIONS, MEMORY)


class Trace:
    """Where the lines of a trace go, and what of a launch they are about.

    Args:
        as_json: lines are JSON objects, as docs/json.md describes them.
    """

    def __init__(self, output: TextIO, selection: Selection | None = None, as_json: bool = False) -> None:
        self.output, self.as_json = output, as_json
        self.selection = Selection() if selection is None else selection
        self.matched: set[tuple[str, str]] = set()
        """Parts of the selection that something was of, which executes."""
        self.names: set[str] = set()
        """What the launches so far have that variables, instructions and memory could be called."""
        self.written = False
        """Whether an instruction has got a line."""

    def begin(self, kernel: str, simd: int, nd_range: NdRange) -> None:
        """Say what follows: a launch of a kernel."""
        if self.as_json:
            sizes = {"group_counts": nd_range.group_counts, "local_size": nd_range.local_size}
            self.write_json({"kernel": kernel, "simd": simd} | sizes)
            return
        counts, size = ("x".join(map(str, sizes)) for sizes in (nd_range.group_counts, nd_range.local_size))
        self.write(f"# kernel '{kernel}', SIMD{simd}, {counts} groups of {size} work-items, on the reference engine")
        self.write(_HEADER)

    def write(self, line: str) -> None:
        """One more line."""
        self.output.write(line + "\n")

    def write_json(self, tree: dict[str, object]) -> None:
        """One more line that is an object."""
        self.write(json.dumps(tree))

    # -- selection -----------------------------------------------------------------------------------------

    def is_about(self, dispatch: BoundLaunch, group: Group) -> bool:
        """Whether any thread of a group may be chosen."""
        number = group_number(dispatch.nd_range, group)
        if number not in self.selection.groups:
            return False
        places = [place_of(dispatch, item) for item in self.selection.items]
        return not places or any(place is not None and place[0] == number for place in places)

    def lanes_of(self, dispatch: BoundLaunch, group: Group, thread: int) -> Bools:
        """The chosen lanes of a thread, of 32."""
        chosen, number = self.selection, group_number(dispatch.nd_range, group)
        lanes = np.array([lane in chosen.lanes for lane in range(MAXIMUM_THREAD_LANES)])
        is_own = {GROUPS: number in chosen.groups, THREADS: thread in chosen.threads}
        is_own[LANES] = bool(lanes[: lane_count(dispatch, group, thread)].any())
        for option, numbers in ((GROUPS, chosen.groups), (THREADS, chosen.threads), (LANES, chosen.lanes)):
            if is_own[option]:
                self.matched.add((option, numbers.text))
        if chosen.items:
            of_items = np.zeros_like(lanes)
            for item in chosen.items:
                place = place_of(dispatch, item)
                if place is not None and place[:2] == (number, thread):
                    self.matched.add((ITEM, shown_item(item)))
                    of_items[slice(None) if dispatch.kernel.is_cm else place[2]] = True
            lanes &= of_items
        return lanes & (is_own[GROUPS] and is_own[THREADS])

    def instructions_of(self, function: Function, places: Sequence[Span]) -> Bools:
        """Which instructions of a function are chosen.

        Args:
            places: where they stand (:func:`instruction_places`).
        """
        chosen, found = self.selection, np.ones(len(places), bool)
        names = VariableNames(function) if chosen.variables else None
        for number, place in enumerate(places):
            if function.instructions[number].desc.is_directive:
                continue
            own = {(LINES, lines.text) for lines in chosen.lines if lines.has(place)}
            own |= {(INSTRUCTIONS, i.text) for i in chosen.instructions if i.has(function, number)}
            if names is not None:
                own |= {(VARIABLES, name) for name in names.of(number) & set(chosen.variables)}
            if chosen.instructions:
                self.names.add(function.instructions[number].desc.mnemonic)
            self.matched |= own
            options = {option for option, _ in own}
            asked = ((LINES, chosen.lines), (INSTRUCTIONS, chosen.instructions), (VARIABLES, chosen.variables))
            found[number] = all(option in options for option, wanted in asked if wanted)
        if names is not None:
            self.names |= {name for number in range(len(places)) for name in names.of(number)}
        return found

    def memory_lanes(self, places: Sequence[tuple[str, int, int]], size: int) -> Bools:
        """Which of some accesses of so many bytes are to chosen memory.

        Args:
            places: name of the memory, offset there and address (-1 where it has none) of each.
        """
        found = np.zeros(len(places), bool)
        for own in self.selection.memory:
            for n, (name, offset, address) in enumerate(places):
                if own.touches(name, offset, address, size):
                    found[n] = True
                    self.matched.add((MEMORY, own.text))
        self.names.update(name for names, _, _ in places for name in names.split(" or "))
        return found

    def check(self, file: str) -> None:
        """Refuse a selection of which something matches nothing that has executed.

        Raises:
            LaunchError: S015, it does so.
        """
        asked = list(self.selection.asked())
        missing = [part for part in asked if part not in self.matched]
        if not asked or (self.written and not missing):
            return
        if missing:
            option, text = missing[0]
            message = f"nothing that has executed matches '{option} {text}'"
            hint = did_you_mean(text.partition(":")[0], self.names) if option in _NAMED_BY_WORDS else ""
            if option == MEMORY and not hint and self.names:
                hint = f"it accesses {', '.join(sorted(self.names))}"
        else:
            options = " ".join(dict.fromkeys(f"{option} {text}" for option, text in asked))
            message, hint = f"nothing that has executed matches '{options}' at once", "each of them matches something"
        raise LaunchError(Diagnostic(NO_MATCH, message, Span(file, 0), hint))


class VariableNames:
    """The variables of a function that its instructions name; aliases of one variable are one."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.families: dict[int, set[str]] = {}
        for number, variable in enumerate(function.variables, FIRST_VARIABLE):
            root = function.alias_root(number)[0]
            self.families.setdefault(root, {function.variable_name(root)}).add(variable.name)

    def of(self, number: int) -> set[str]:
        """Names of all that an instruction reads or writes; what an address of registers leads to is not known."""
        found = set[str]()
        for what, index in references(self.function.instructions[number]):
            found |= self._names(what, index)
        return found

    def _names(self, what: int, index: int) -> set[str]:
        function = self.function
        if what == VARIABLE:
            root = function.alias_root(index)[0]
            return self.families.get(root, {function.variable_name(root)}) if root else set()
        if what == ADDRESS:
            return {function.addresses[index].name}
        if what == PREDICATE:
            return {function.predicates[index - FIRST_PREDICATE].name} if index else set()
        if what == SURFACES:
            return {function.surface_name(index)}
        return {function.sampler_name(index)} if what == SAMPLERS else set()


def instruction_places(image: LinkedImage, function: Function) -> list[Span]:
    """Where the instructions of a function stand: in the program that was compiled, else in the text; line 0 if that is
    unknown.
    """
    origins = source_lines(function)
    return [
        image.span(function, i.line) if origin is None else Span(printable(origin.file), origin.line)
        for i, origin in zip(function.instructions, origins, strict=True)
    ]


def shown_place(place: Span) -> str:
    """A place as lines of a trace name it: the file without its folders."""
    return f"{os.path.basename(place.file)}:{place.line}" if place.line else "-"


def group_number(nd_range: NdRange, group: Group) -> int:
    """The linear number of a group, x fastest."""
    x, y, z = group.id
    columns, rows, _ = nd_range.group_counts
    return x + columns * (y + rows * z)


def shown_group(nd_range: NdRange, group: Group) -> str:
    """A group as lines of a trace name it: its number where they have one dimension, else its three ids."""
    x, y, z = group.id
    return f"g{x}" if nd_range.group_counts[1:] == (1, 1) else f"g({x},{y},{z})"


def shown_values(values: Array) -> str:
    """Elements of a register in braces: ``{2.5 x16}`` where all are equal, ``{0,4..60}`` where they are evenly spaced,
    else each of them. Bits are a number, the first one lowest: ``00ff``.
    """
    if values.dtype == bool:
        bits = sum(1 << n for n, bit in enumerate(values.tolist()) if bit)
        return f"{bits:0{-(-values.size // 4)}x}"
    words = [shown_number(v) for v in values]
    if len(words) > 2 and len(set(words)) == 1:
        return f"{{{words[0]} x{len(words)}}}"
    if len(words) > 3 and values.dtype.kind in "iu":
        numbers: list[int] = [int(v) for v in values]
        step = numbers[1] - numbers[0]
        if step and all(b - a == step for a, b in itertools.pairwise(numbers)):
            second = f",{words[1]}" if step != 1 else ""
            return f"{{{words[0]}{second}..{words[-1]}}}"
    return f"{{{' '.join(words)}}}"


def shown_number(value: object) -> str:
    """An element of an array: the shortest digits that mean it; large unsigned numbers, such as addresses, in
    hexadecimal.
    """
    if isinstance(value, np.unsignedinteger) and value >= LARGE:
        return f"{int(value):#x}"
    return str(value)
