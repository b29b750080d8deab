"""Section ``.visa.lines``: for each function its name, its file, and the source lines of its instructions and, in the
objects of texts, of its general variables.
"""

from __future__ import annotations

import struct

from visakit.diagnostics import Diagnostic, FormatError, Span
from visakit.language.program import Function

Lines = dict[str, tuple[str, list[int]]]
"""File and line numbers by function name: of each instruction, then of each variable if they are known."""


def lines_of(function: Function) -> list[int]:
    """The lines of the instructions of a function, then those of its variables."""
    return [item.line for items in (function.instructions, function.variables) for item in items]


def write_lines(lines: Lines) -> bytes:
    """Contents of the section."""
    return b"".join(
        f"{name}\0{file}\0".encode("utf-8", "surrogateescape")
        + struct.pack(f"<I{len(numbers)}I", len(numbers), *numbers)
        for name, (file, numbers) in lines.items()
    )


def read_lines(data: bytes, name: str) -> Lines:
    """The section of the file ``name``.

    Raises:
        FormatError: it is damaged.
    """
    lines: Lines = {}
    position = 0
    try:
        while position < len(data):
            name_end = data.index(b"\0", position)
            file_end = data.index(b"\0", name_end + 1)
            (count,) = struct.unpack_from("<I", data, file_end + 1)
            numbers = list(struct.unpack_from(f"<{count}I", data, file_end + 5))
            function, file = (
                data[a:b].decode("utf-8", "surrogateescape")
                for a, b in ((position, name_end), (name_end + 1, file_end))
            )
            lines[function] = (file, numbers)
            position = file_end + 5 + 4 * count
    except (ValueError, struct.error):
        raise FormatError(
            Diagnostic("C022", f"the line map is damaged at offset {position:#x}", Span(name, 0))
        ) from None
    return lines
