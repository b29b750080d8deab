"""``vlink -r``: the merged module as an object again."""

from __future__ import annotations

import struct

from visa.cisa import write_module
from visa.container import LINES, VISA, Container, Symbol
from visa.image import Image


def object_bytes(image: Image) -> bytes:
    """The module of a partial link as an object; its names are resolved anew when it is linked again."""
    for body in image.module.bodies:
        body.function_relocations, body.variable_relocations = [], []
    symbols = [Symbol(s.name, 0, s.size, s.kind, s.binding, s.section) for s in image.symbols]
    container = Container(False, {VISA: write_module(image.module)}, symbols, image.platform, image.grf_size)
    if image.lines:
        container.sections[LINES] = b"".join(
            name.encode() + b"\0" + file.encode() + b"\0" + struct.pack(f"<I{len(n)}I", len(n), *n) for name, (file, n) in image.lines.items()
        )
    return container.write()
