"""``vlink -r``: the merged module as an object again."""

from __future__ import annotations

from visakit.binary import write_module
from visakit.objects.container import INDEX, LINES, VISA, Container
from visakit.objects.elf import ElfSymbol
from visakit.objects.image import LinkedImage
from visakit.objects.index import Description, write_index
from visakit.objects.lines import write_lines


def object_bytes(image: LinkedImage) -> bytes:
    """The module of a partial link as an object; its names are resolved anew when it is linked again."""
    for function in image.module.all_functions:
        function.function_relocations, function.variable_relocations = [], []
    symbols = [ElfSymbol(s.name, 0, s.size, s.kind, s.binding, s.section) for s in image.symbols]
    data = write_module(image.module)
    index = write_index([Description.of(function) for function in image.module.all_functions], data)
    container = Container(False, {VISA: data, INDEX: index}, symbols, image.platform, image.grf_size)
    if image.lines:
        container.sections[LINES] = write_lines(image.lines)
    return container.write()
