"""Matrix products: of columns, which have an element for each lane, with rows, whose elements all lanes share.

A row is added up in the body of a loop, which takes its elements from memory, as processors multiply vectors by a
number out of memory. Its code is a tenth of unrolled code, and takes as long: rows do not wait
for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from visakit.language import types
from vsim.engines.llvm.ir.types import ir_type
from vsim.engines.llvm.ir.values import Value
from vsim.engines.llvm.target import has_feature

if TYPE_CHECKING:
    from vsim.engines.llvm.ir.builder import Builder

Element = Callable[[], Value]
"""Gives an element of a row, in one lane or in all."""
AddRow = Callable[[Sequence[Element], Value], Value]
"""Adds the products with the elements of a row to a total."""

FEW = 64
"""Products up to which there is no loop."""
_DOTS = (
    (16, "avx512vnni", "llvm.x86.avx512.vpdpbusd.512"),
    (8, "avx512vnni avx512vl", "llvm.x86.avx512.vpdpbusd.256"),
    (8, "avxvnni", "llvm.x86.avx512.vpdpbusd.256"),
)
_PAIRS = (
    (16, "avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
    (8, "avx2", "llvm.x86.avx2.pmadd.wd"),
    (4, "sse2", "llvm.x86.sse2.pmadd.wd"),
)
"""Instructions that multiply four unsigned bytes by signed ones and add all that, or pairs of signed words: of how many
dwords, the required features, their names.
"""


def products(b: Builder, columns: Sequence[Value], rows: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
    """Totals to which a matrix product is added, as :meth:`vsim.semantics.algebra.Algebra.products` has it."""
    columns = [c.emitted() for c in columns]
    lanes = max(v.lanes for v in (*columns, *totals))

    def add(elements: Sequence[Element], total: Value) -> Value:
        for column, x in zip(columns, elements, strict=True):
            total = b.fma(column, x(), total) if total.type.is_float else total + column * x()
        return total

    if len(columns) * len(rows) > FEW:
        return _in_loop(b, [rows], len(columns), [b.broadcast(t, lanes) for t in totals], add)
    found = []
    for row, total in zip(rows, totals, strict=True):
        found.append(add([partial(b.lanes, row, [k] * lanes) for k in range(len(columns))], total))
    return found


def products_of_bytes(
    b: Builder, columns: Sequence[Value], rows: Sequence[Value], signed: tuple[bool, bool]
) -> list[Value]:
    """Sums of products of bytes, as :meth:`vsim.semantics.algebra.Algebra.products_of_bytes` has it."""
    lanes = max(c.lanes for c in columns)
    columns = [b.broadcast(c, lanes).emitted() for c in columns]
    if _instruction(_DOTS, lanes):
        return _by_dots(b, columns, rows, signed)
    return _by_pairs(b, columns, rows, signed)


def _by_dots(b: Builder, columns: Sequence[Value], rows: Sequence[Value], signed: tuple[bool, bool]) -> list[Value]:
    """The instruction wants unsigned bytes and signed ones. Where both are the same, those of the rows get 128 more or
    less, so that the totals have to begin with the products of the columns and 128 less or more.
    """
    first, bias, of_columns = b.const(0, types.D), b.const(0x80808080, types.UD), signed[0]
    if signed[0] == signed[1]:
        for column in columns:
            first = _dot(b, first, bias, column) if of_columns else _dot(b, first, column, bias)
        # With signed columns these were products with 128, else with -128.
        first = b.const(0, types.D) - first
        rows = [row ^ bias for row in rows]

    def add(elements: Sequence[Element], total: Value) -> Value:
        for column, x in zip(columns, elements, strict=True):
            total = _dot(b, total, x(), column) if of_columns else _dot(b, total, column, x())
        return total

    return _in_loop(b, [rows], len(columns), [b.broadcast(first, columns[0].lanes)] * len(rows), add)


def _by_pairs(b: Builder, columns: Sequence[Value], rows: Sequence[Value], signed: tuple[bool, bool]) -> list[Value]:
    """Bytes at even places as words, then those at odd ones."""
    even, odd = zip(*(_words(b, column, signed[0]) for column in columns), strict=True)

    def add(elements: Sequence[Element], total: Value) -> Value:
        for word, x in zip((*even, *odd), elements, strict=True):
            total = total + _pair_sums(b, word, x())
        return total

    tables = list(zip(*(_words(b, row, signed[1]) for row in rows), strict=True))
    zero = b.broadcast(b.const(0, types.D), columns[0].lanes)
    return _in_loop(b, tables, len(columns), [zero] * len(rows), add)


def _words(b: Builder, x: Value, signed: bool) -> list[Value]:
    """The bytes of dwords at even places, and at odd ones, as words in the same places."""
    wide = types.W if signed else types.UW
    words = b.bitcast(b.regroup(x, types.UW, 2 * x.lanes), wide)
    eight = b.const(8, wide)
    even = (words << eight) >> eight
    return [b.regroup(half, types.UD, x.lanes) for half in (even, words >> eight)]


def _instruction(known: Sequence[tuple[int, str, str]], lanes: int) -> tuple[int, str] | None:
    """The instruction for so many dwords, or for a part of them: of how many, and its name."""
    return next(((n, name) for n, needed, name in known if n <= lanes and all(map(has_feature, needed.split()))), None)


def _dot(b: Builder, total: Value, unsigned: Value, signed: Value) -> Value:
    """Four products of bytes of each dword, added to a total."""
    lanes = max(v.lanes for v in (total, unsigned, signed))
    found = _instruction(_DOTS, lanes)
    assert found
    width, name = found
    dwords = ir_type(types.D, width)
    b.declare(name, dwords, ", ".join([dwords] * 3))  # Newer versions of LLVM make vectors of bytes of the factors.
    parts = []
    for first in range(0, lanes, width):
        part = list(range(first, first + width))
        operands = [b.lanes(b.broadcast(x, lanes), part).typed for x in (total, unsigned, signed)]
        parts.append(b.value(types.D, width, f"call {dwords} @{name}({', '.join(operands)})"))
    return b.concat(parts)


def _pair_sums(b: Builder, x: Value, y: Value) -> Value:
    """The sums of two products of words of each dword, D."""
    lanes = max(x.lanes, y.lanes)
    x, y = b.broadcast(x, lanes), b.broadcast(y, lanes)
    found = _instruction(_PAIRS, lanes)
    if found is None:
        both = [b.cast(b.regroup(v, types.W, 2 * lanes), types.D) for v in (x, y)]
        sums = both[0] * both[1]
        return b.lanes(sums, list(range(0, 2 * lanes, 2))) + b.lanes(sums, list(range(1, 2 * lanes, 2)))
    width, name = found
    dwords, words = ir_type(types.D, width), ir_type(types.W, 2 * width)
    b.declare(name, dwords, f"{words}, {words}")
    parts = []
    for first in range(0, lanes, width):
        part = list(range(first, first + width))
        factors = [b.regroup(b.lanes(v, part), types.W, 2 * width).typed for v in (x, y)]
        parts.append(b.value(types.D, width, f"call {dwords} @{name}({', '.join(factors)})"))
    return b.concat(parts)


# -- rows ------------------------------------------------------------------------------------------------------


def _in_loop(
    b: Builder, tables: Sequence[Sequence[Value]], width: int, totals: Sequence[Value], add: AddRow
) -> list[Value]:
    """A loop through rows; scratch memory holds the rows and their results.

    Args:
        tables: the rows; each may have several parts of as many elements, in one table each.
        width: elements of a row in each table.
        totals: one for each row, with all lanes.
        add: gets the elements of the first table, then those of the next one.
    """
    t, lanes, count = totals[0].type, totals[0].lanes, len(totals)
    of_row, of_total = width * tables[0][0].type.size, lanes * t.size
    results = -(-len(tables) * count * of_row // 64) * 64
    scratch = b.temporary(results + count * of_total)
    for n, row in enumerate(row for table in tables for row in table):
        b.store(b.broadcast(row, width), b.offset(scratch, n * of_row), _align(of_row))
    in_memory = any(x.text != totals[0].text for x in totals)
    for r, x in enumerate(totals if in_memory else []):
        b.store(x, b.offset(scratch, results + r * of_total), _align(of_total))
    head, behind, before = b.new_label("row"), b.new_label("behind"), b.mark()
    here = b.jump(head)
    b.label(head, before)
    number, following, at = b.new_name(), b.new_name(), len(b.lines)

    def place(size: int, first: int) -> str:
        """The place of this row among others of a size."""
        start = b.assign(f"mul i64 {number}, {size}")
        return b.offset(b.assign(f"getelementptr i8, ptr {scratch}, i64 {start}"), first)

    def element(n: int) -> Value:
        table, k = divmod(n, width)
        own = tables[0][0].type
        return b.load(own, 1, place(of_row, table * count * of_row + k * own.size), own.size)

    result = place(of_total, results)
    total = b.load(t, lanes, result, _align(of_total)) if in_memory else totals[0]
    b.store(add([partial(element, n) for n in range(len(tables) * width)], total), result, _align(of_total))
    b.emit(f"{following} = add i64 {number}, 1")
    last = b.assign(f"icmp eq i64 {following}, {count}")
    b.lines.insert(at, f"  {number} = phi i64 [ 0, %{here} ], [ {following}, %{b.block} ]")
    b.branch(last, behind, head)
    b.label(behind, before)
    return [b.load(t, lanes, b.offset(scratch, results + r * of_total), _align(of_total)) for r in range(count)]


def _align(size: int) -> int:
    """Of elements of a size behind each other."""
    return min(64, size & -size)
