"""``vlink -r``: the merged module as an object again."""

from __future__ import annotations

from visa.cisa import write_module
from visa.container import INDEX, LINES, VISA, Container
from visa.elf import ElfSymbol
from visa.image import LinkedImage
from visa.index import write_index
from visa.lines import write_lines


def object_bytes(image: LinkedImage) -> bytes:
    """The module of a partial link as an object; its names are resolved anew when it is linked again."""
    for function in image.module.all_functions:
        function.function_relocations, function.variable_relocations = [], []
    symbols = [ElfSymbol(s.name, 0, s.size, s.kind, s.binding, s.section) for s in image.symbols]
    data = write_module(image.module)
    container = Container(
        False, {VISA: data, INDEX: write_index(image.module, data)}, symbols, image.platform, image.grf_size
    )
    if image.lines:
        container.sections[LINES] = write_lines(image.lines)
    return container.write()
