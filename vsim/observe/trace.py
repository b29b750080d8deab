"""Traces: a line for each instruction that threads execute, with what it read and wrote.

The lines go out while the program runs, so that a trace takes no memory. What a line says comes from the reference
engine, which shows what the semantics read and write (:mod:`vsim.engines.numpy.tracing`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from vsim.command.numbers import ALL_NUMBERS, Numbers
from vsim.launch.arrays import Array
from vsim.launch.ndrange import Group, NdRange

LARGE = 1 << 24
"""Unsigned numbers from here on are shown in hexadecimal."""


@dataclass(eq=False)
class Trace:
    """Where the lines of a trace go, and whose they are: work-groups, hardware threads of a group, and lanes."""

    output: TextIO
    groups: Numbers = ALL_NUMBERS
    threads: Numbers = ALL_NUMBERS
    lanes: Numbers = ALL_NUMBERS

    def begin(self, kernel: str, simd: int, nd_range: NdRange) -> None:
        """Say what follows: a launch of a kernel."""
        counts, size = ("x".join(map(str, sizes)) for sizes in (nd_range.group_counts, nd_range.local_size))
        self.write(f"# kernel '{kernel}', SIMD{simd}, {counts} groups of {size} work-items, on the reference engine")
        self.write(
            "# group, thread, function+instruction, lanes that execute, instruction; what it read -> what it wrote"
        )

    def write(self, line: str) -> None:
        """One more line."""
        self.output.write(line + "\n")


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
