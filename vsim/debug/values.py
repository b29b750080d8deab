"""Values of the debugger's expressions, and how they are shown: a variable is a table, its lanes across."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from visakit.diagnostics import ranges_of
from visakit.language import types
from visakit.language.types import DataType
from vsim.debug.locations import Location
from vsim.engines.numpy.algebra import DTYPES
from vsim.launch.arrays import Array, Bools, DType
from vsim.observe.trace import shown_number, shown_values

FORMATS = "xdutfcb"
GREY, PLAIN = "\x1b[90m", "\x1b[0m"
COLUMNS, WIDTH = 8, 110
C_TYPES = {
    "char": types.B, "uchar": types.UB, "short": types.W, "ushort": types.UW, "int": types.D, "uint": types.UD,
    "long": types.Q, "ulong": types.UQ, "half": types.HF, "float": types.F, "double": types.DF,
}  # fmt: skip
"""Words of OpenCL C for types, besides those of vISA."""
TYPES = {name: t for name, t in (types.BY_NAME | C_TYPES).items() if t in DTYPES}
_OF_DTYPE = {dtype: t.name for t, dtype in reversed(DTYPES.items())}


def type_name(dtype: DType) -> str:
    """The vISA type of numbers of numpy; numpy's word for others."""
    return "bool" if dtype.kind == "b" else _OF_DTYPE.get(dtype, dtype.name)


def type_of(dtype: DType) -> DataType:
    """The vISA type of elements; bytes for others."""
    return types.BY_NAME.get(type_name(dtype), types.UB)


@dataclass
class DebugValue:
    """Elements in threads: rows x elements, one row if it is the same for all threads.

    Attributes:
        type: the name of their type.
        by_lane: whether element n belongs to lane n.
        undefined: which elements have undefined bytes, if that is known.
        location: where the elements are, so that they can be changed, watched and traced back; None for results.
    """

    data: Array
    type: str
    by_lane: bool = False
    name: str = ""
    undefined: Bools | None = None
    location: Location | None = None

    @property
    def count(self) -> int:
        """Elements in each thread."""
        return int(self.data.shape[1])

    def row(self, n: int) -> Array:
        """The elements of one of the threads."""
        found: Array = self.data[n if len(self.data) > 1 else 0]
        return found


def converted(value: Array, dtype: DType) -> Array:
    """Numbers as elements of a type, integers modulo its size."""
    if dtype.kind == "b":
        found: Array = value != 0
        return found
    if dtype.kind in "iu" and value.dtype.kind in "iub":
        return value.astype(np.int64).astype(dtype)
    with np.errstate(all="ignore"):  # Numbers that the type has not: as the processor's conversion.
        return value.astype(dtype)


def shown_element(element: object, letter: str = "") -> str:
    """An element in a format of gdb's: x, d, u, t (binary), f, c, b (bits); that of its type if it is empty."""
    number = np.asarray(element)
    if not letter:
        return str(int(number)) if number.dtype == bool else shown_number(number[()])
    size = max(1, number.dtype.itemsize)
    bits = int(number.reshape(1).view(f"u{size}")[0])
    if letter == "f":
        width = {2: "f2", 4: "f4", 8: "f8"}.get(size)
        return shown_number(np.array(bits, f"u{size}").view(width)[()]) if width else str(float(bits))
    if letter == "d":
        return str(int(np.array(bits, f"u{size}").view(f"i{size}")[()]))
    if letter == "c":
        return f"{bits} {chr(bits & 0xFF)!r}"
    forms = {"x": f"0x{bits:x}", "u": str(bits), "t": f"{bits:b}", "b": f"{bits:0{size * 8}b}"}
    return forms[letter]


def shown_compact(value: DebugValue, row: int = 0, active: Bools | None = None, letter: str = "") -> str:
    """A value in one line: one number, or elements in braces; of lanes, the active ones."""
    elements = value.row(row)
    if elements.size == 1:
        return shown_element(elements[0], letter) + _mark(value, 0)
    if value.by_lane and active is not None and value.type != "bool":
        elements = elements[active[: elements.size]]
    if letter:
        return "{" + " ".join(shown_element(e, letter) for e in elements) + "}"
    return shown_values(elements) if elements.size else "{}"


def _mark(value: DebugValue, element: int) -> str:
    return "?" if value.undefined is not None and bool(value.undefined[element]) else ""


def table(
    value: DebugValue, row: int, active: Bools, letter: str = "", color: bool = False, width: int = WIDTH
) -> list[str]:
    """A value as lines: the numbers of lanes (or elements), and the elements below. Elements of lanes that do not run
    are grey, or in parentheses without colour; undefined ones have a question mark.

    Args:
        width: columns of a line.
    """
    elements = value.row(row)
    if value.type == "bool":
        letter = ""
    words = [shown_element(e, letter) + _mark(value, n) for n, e in enumerate(elements)]
    is_off = [value.by_lane and n < active.size and not active[n] for n in range(len(words))]
    plain = [f"({w})" if off and not color else w for w, off in zip(words, is_off, strict=True)]
    cell = max(max(map(len, plain)), len(str(len(plain) - 1))) + 2
    label = "lane" if value.by_lane else "element"
    columns = max(1, min(COLUMNS if cell > 6 else 2 * COLUMNS, (width - len(label)) // cell))
    lines = []
    for first in range(0, len(plain), columns):
        part = range(first, min(first + columns, len(plain)))
        lines.append(f"{label}" + "".join(f"{n:>{cell}}" for n in part))
        cells = [f"{plain[n]:>{cell}}" for n in part]
        lines.append(
            " " * len(label)
            + "".join(GREY + c + PLAIN if color and is_off[n] else c for n, c in zip(part, cells, strict=True))
        )
    return lines


def lane_list(lanes: Sequence[int]) -> str:
    """Numbers of lanes as Intel's gdb writes them: 3, [0-7], [0-3 8]."""
    words = ranges_of(lanes)
    return words[0] if len(words) == 1 and "-" not in words[0] else f"[{' '.join(words)}]"
