"""Small tables: lanes that load an element each, at an index of which it is known how large it is at most.

One comparison tells that the whole table is inside its buffer; no lane is looked at. A table of bytes is picked from
by permutation, 16 or 64 bytes at once, for all lanes together. Where a table begins may be known when the code runs:
its index is a scalar and a small number (``ir/near.py``).
"""

from __future__ import annotations

from typing import NamedTuple

from visakit.language import types
from vsim.engines.llvm.ir.builder import Builder
from vsim.engines.llvm.ir.near import LARGEST_NUMBER, small_lanes, wraps_within
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.memory.part import LanePart
from vsim.engines.llvm.target import has_feature
from vsim.semantics.core import unsigned_of

LARGEST_TABLE = LARGEST_NUMBER
"""Bytes of a table; a range that is much larger than the memory at its beginning says nothing."""
ROW, WHOLE_ROW, LARGEST_PERMUTED = 16, 64, 256
"""Bytes of a row, for processors that pick from 16 bytes or from 64, and of the largest table of rows."""
_WHOLE_ROWS = "avx512vbmi"
_PERMUTE = {
    16: ("llvm.x86.ssse3.pshuf.b.128", "ssse3"),
    32: ("llvm.x86.avx2.pshuf.b", "avx2"),
    WHOLE_ROW: ("llvm.x86.avx512.permvar.qi.512", _WHOLE_ROWS),
}
"""By lanes, the instruction that picks among 16 bytes in each quarter of a vector, or among 64, and its extension."""
_PICK_FROM_TWO = "llvm.x86.avx512.vpermi2var.qi.512"


class Table(NamedTuple):
    """A table from a scalar offset on, of which each lane loads the element at its number times a factor.

    The numbers are unsigned; ``wraps`` (i1) tells that one of them wrapped around, so that there is no table. ``size``
    is the table's in bytes, ``permuted`` that of the vectors that pick from it, or 0.
    """

    numbers: Value
    factor: int
    start: Value
    wraps: str | None
    size: int
    permuted: int = 0


def table_of(b: Builder, part: LanePart) -> Table | None:
    """The table that the lanes of a part load from."""
    if part.count != 1 or part.offset.lanes != part.lanes:
        return None
    found = _by_index(b, part) or _by_sum(b, part)
    if found is None:
        return None
    found = found._replace(numbers=b.retype(found.numbers, unsigned_of(found.numbers.type.size)))
    width = WHOLE_ROW if has_feature(_WHOLE_ROWS) else part.lanes
    permutes = part.element.size == 1 and width in _PERMUTE and has_feature(_PERMUTE[width][1])
    if permutes and found.factor == 1 and found.size <= LARGEST_PERMUTED:
        return found._replace(size=-(-found.size // ROW) * ROW, permuted=width)
    return found


def _by_index(b: Builder, part: LanePart) -> Table | None:
    """A table that begins at a pointer."""
    index = part.offset.facts.wide_index
    if not part.space.is_flat or not index or not index.base or index.narrow.lanes != part.lanes:
        return None
    most = b.ranges.of(index.narrow.text)
    if most is None or (most + 1) * index.factor > LARGEST_TABLE:
        return None
    start = b.retype(index.base, part.offset.type).with_facts(base_pointer=part.offset.facts.base_pointer)
    return Table(index.narrow, index.factor, start, None, most * index.factor + part.size)


def _by_sum(b: Builder, part: LanePart) -> Table | None:
    """A table that begins at a scalar, which may be 0."""
    known = part.offset.facts.near or small_lanes(part.offset)
    if known is None:
        return None
    wraps, reach = known.wraps(), known.most * known.factor
    if not part.space.is_flat and known.scalar.constant is None:
        around = wraps_within(b.retype(known.scalar, unsigned_of(known.scalar.type.size)), reach)
        wraps = around if wraps is None else b.assign(f"or i1 {wraps}, {around}")
    return Table(known.small, known.factor, known.scalar, wraps, reach + part.size)


def picked(b: Builder, part: LanePart, table: Table, pointer: str) -> Value:
    """The bytes of all lanes out of a table of bytes at a host pointer, by permutation."""
    numbers = b.cast(table.numbers, types.UB)
    if table.permuted == WHOLE_ROW:
        numbers = b.mixed(numbers, numbers, [*range(part.lanes), *[-1] * (WHOLE_ROW - part.lanes)])
    found, bit = _rows_of_lanes(b, table, numbers, pointer)
    while len(found) > 1:
        upper = (numbers & b.broadcast(b.const(bit, types.UB), numbers.lanes)) != b.const(0, types.UB)
        pairs = [found[n : n + 2] for n in range(0, len(found), 2)]
        found = [b.select(upper, pair[1], pair[0]) if len(pair) > 1 else pair[0] for pair in pairs]
        bit *= 2
    return b.bitcast(b.lanes(found[0], list(range(part.lanes))), part.element)


def _rows_of_lanes(b: Builder, table: Table, numbers: Value, pointer: str) -> tuple[list[Value], int]:
    """What lanes pick from each row of a table, or from each two; and how many elements these have."""
    lanes, length = numbers.lanes, WHOLE_ROW if table.permuted == WHOLE_ROW else ROW
    vector, rows = f"<{lanes} x i8>", list[Value]()
    for at in range(0, table.size, length):
        row = b.load(types.UB, min(length, table.size - at), b.offset(pointer, at), 1)
        rows.append(b.lanes(row, [i % row.lanes for i in range(lanes)]))
    if length == WHOLE_ROW and len(rows) > 1:
        b.declare(_PICK_FROM_TWO, vector, f"{vector}, {vector}, {vector}")
        pairs = [(rows[n], rows[min(n + 1, len(rows) - 1)]) for n in range(0, len(rows), 2)]
        calls = (f"call {vector} @{_PICK_FROM_TWO}({x.typed}, {numbers.typed}, {y.typed})" for x, y in pairs)
        return [b.value(types.UB, lanes, call) for call in calls], 2 * length
    name, _ = _PERMUTE[lanes]
    b.declare(name, vector, f"{vector}, {vector}")
    places = numbers & b.broadcast(b.const(length - 1, types.UB), lanes)
    return [b.value(types.UB, lanes, f"call {vector} @{name}({row.typed}, {places.typed})") for row in rows], length
