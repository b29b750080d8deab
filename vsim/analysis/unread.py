"""Unread elements of vector loads.

Compilers put loads of neighbours together: of ``x[i]`` and ``x[i + 2]`` they make one load of three elements for each
lane, and drop the one in the middle. The program does not read it, so the program does not race on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from visakit.isa.record import Access, Payload
from visakit.language.operands import General, Raw, region_elements
from visakit.language.program import FIRST_VARIABLE, Function, Instruction
from visakit.rules.message_sizes import element_size, message_sizes
from vsim.launch.arrays import Bools
from vsim.semantics.messages import meaning
from vsim.semantics.registers import Layout, layout_of

_VECTORS = (Payload.CHANNELS, Payload.QWORDS, Payload.ELEMENTS)
"""Messages that load elements which follow each other, if no channel is left out between others."""


class ReadElements(NamedTuple):
    """The elements that the program reads of the ``size`` elements a load gets for each lane: firsts and lengths of
    runs.
    """

    size: int
    runs: tuple[tuple[int, int], ...]

    def within(self, first: int, count: int) -> list[tuple[int, int]]:
        """Those among so many elements from a first one on, counted from that."""
        edges = ((max(start, first), min(start + n, first + count)) for start, n in self.runs)
        return [(low - first, end - low) for low, end in edges if low < end]


def read_elements(function: Function, grf_size: int) -> dict[int, ReadElements]:
    """By number the loads of lanes of which some elements are read by an instruction, and others by none.

    Where none is read, all count: the program says that it loads them.
    """
    messages = {n: meaning(i, grf_size) for n, i in enumerate(function.instructions)}
    loads = {n: i for n, i in messages.items() if i.desc.access is Access.LOAD and _count(i, grf_size) > 1}
    if not loads:
        return {}
    layout = layout_of(function, grf_size)
    read = _read_bytes(layout, messages.values())
    found = {}
    for number, i in loads.items():
        size, raw = element_size(i), i.args["dst"]
        root, start = layout.root(raw.var)
        lanes = i.args["exec"].size
        step = -(-lanes * size // grf_size) * grf_size
        begins = [start + raw.offset + k * step for k in range(_count(i, grf_size))]
        used = [root not in read or bool(read[root][at : at + lanes * size].any()) for at in begins]
        if any(used) and not all(used):
            found[number] = ReadElements(len(used), tuple(_runs(used)))
    return found


def _count(i: Instruction, grf_size: int) -> int:
    """How many elements that follow each other in memory each lane of a load gets, part after part in registers; 0 for
    other messages.
    """
    execution, raw, channels = i.args.get("exec"), i.args.get("dst"), i.args.get("channel_mask", 1) & 15
    if execution is None or execution.size == 1 or not isinstance(raw, Raw) or raw.var < FIRST_VARIABLE:
        return 0
    if i.desc.payload not in _VECTORS or channels & (channels + (channels & -channels)):
        return 0
    size, total = element_size(i), message_sizes(i, grf_size).get("dst", 0)
    step: int = -(-execution.size * size // grf_size) * grf_size
    return -(-total // step)


def _runs(used: list[bool]) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.array([False, *used, False]).astype(np.int8)))
    for first, end in edges.reshape(-1, 2).tolist():
        yield first, end - first


def _read_bytes(layout: Layout, instructions: Iterable[Instruction]) -> dict[int, Bools]:
    """By variable which of its bytes some instruction may read; those whose address is taken are left out."""
    roots = {root for root, _ in layout.roots.values() if root >= FIRST_VARIABLE} - layout.file_offsets.keys()
    read = {root: np.zeros(layout.room(root), bool) for root in roots}
    for i in instructions:
        for f in i.desc.fields:
            op = i.args.get(f.name) if f.name and f.kind in "sr" else None
            if isinstance(op, (General, Raw)) and (root := layout.root(op.var)[0]) in read:
                low, end = _span(layout, op, i, f.name)
                read[root][low:end] = True
    return read


def _span(layout: Layout, op: General | Raw, i: Instruction, name: str) -> tuple[int, int]:
    """The bytes from the first to behind the last that an operand may read of its variable's root."""
    if isinstance(op, Raw):
        root, start = layout.root(op.var)
        size = message_sizes(i, layout.grf_size).get(name, layout.room(root))
        return start + op.offset, start + op.offset + size
    _, begin, size = layout.place(op)
    execution = i.args.get("exec")
    count = execution.size if execution is not None else 1
    return begin, begin + (max(region_elements(op.region, count)) + 1) * size
