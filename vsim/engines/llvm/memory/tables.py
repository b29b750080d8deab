"""Small tables: lanes that load an element each, at an index of which it is known how large it is at most.

One comparison tells that the whole table is inside its buffer; no lane is looked at. A table of bytes is picked from
by permutation, 16 bytes at once, for all lanes together.
"""

from __future__ import annotations

from typing import NamedTuple

from visakit.language import types
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.index import WideIndex
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import LanePart
from vsim.engines.llvm.target import has_feature

LARGEST_TABLE = 1024
"""Bytes of a table; a range that is much larger than the memory at its beginning says nothing."""
ROW, MOST_ROWS = 16, 16
_PERMUTE = {16: ("llvm.x86.ssse3.pshuf.b.128", "ssse3"), 32: ("llvm.x86.avx2.pshuf.b", "avx2")}
"""By lanes, the instruction that picks among 16 bytes in each half of a vector, and its extension."""


class Table(NamedTuple):
    """The index of each lane in a table, the bytes of the table, and whether these are picked by permutation."""

    places: WideIndex
    size: int
    is_permuted: bool


def table_of(b: Builder, part: LanePart) -> Table | None:
    """The table that the lanes of a part load from."""
    index = part.offset.facts.wide_index
    if not part.space.is_flat or part.count != 1 or not index or not index.base or index.narrow.lanes != part.lanes:
        return None
    most = b.ranges.of(index.narrow.text)
    if most is None or (most + 1) * index.factor > LARGEST_TABLE:
        return None
    size = most * index.factor + part.size
    permutes = part.element.size == 1 and part.lanes in _PERMUTE and has_feature(_PERMUTE[part.lanes][1])
    if permutes and index.factor == 1 and size <= ROW * MOST_ROWS:
        return Table(index, -(-size // ROW) * ROW, True)
    return Table(index, size, False)


def picked(b: Builder, part: LanePart, table: Table, pointer: str) -> Value:
    """The bytes of all lanes out of a table of bytes at a host pointer, by permutation."""
    lanes = part.lanes
    name, _ = _PERMUTE[lanes]
    vector = f"<{lanes} x i8>"
    b.declare(name, vector, f"{vector}, {vector}")
    numbers = b.cast(b.retype(table.places.narrow, types.UD), types.UB)
    places = numbers & b.broadcast(b.const(ROW - 1, types.UB), lanes)
    found = []
    for at in range(0, table.size, ROW):
        row = b.load(types.UB, ROW, b.offset(pointer, at), 1)
        whole = b.lanes(row, [i % ROW for i in range(lanes)])
        found.append(b.value(types.UB, lanes, f"call {vector} @{name}({whole.typed}, {places.typed})"))
    bit = ROW
    while len(found) > 1:
        upper = (numbers & b.broadcast(b.const(bit, types.UB), lanes)) != b.const(0, types.UB)
        pairs = [found[n : n + 2] for n in range(0, len(found), 2)]
        found = [b.select(upper, pair[1], pair[0]) if len(pair) > 1 else pair[0] for pair in pairs]
        bit *= 2
    return b.bitcast(found[0], part.element)
