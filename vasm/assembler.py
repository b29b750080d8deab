"""One text to an object: parse, check, encode, wrap."""

from __future__ import annotations

import os
import struct
from collections.abc import Collection
from dataclasses import dataclass

from visakit.binary import write_module
from visakit.collector import paused_collection
from visakit.diagnostics import MAXIMUM_ERRORS, QUIET, AssemblyError, Collector, Diagnostic
from visakit.language.platforms import find
from visakit.language.program import Module
from visakit.objects.container import INDEX, LINES, VISA, Container
from visakit.objects.elf import STB_GLOBAL, STB_LOCAL, STT_NOTYPE, ElfSymbol
from visakit.objects.index import Description, write_index
from visakit.objects.lines import lines_of, write_lines
from visakit.text.parser import parse_module
from visakit.usage import check_name, check_platform, check_text


@dataclass(repr=False)
class Assembly:
    """A parsed text with its CISA bytes and warnings.

    Attributes:
        module: the syntax tree.
        isa: the CISA bytes of it.
        warnings: diagnostics that do not prevent an object.
        platform: the platform whose rules were checked; None if none were.
    """

    module: Module
    isa: bytes
    warnings: list[Diagnostic]
    platform: str | None

    def __repr__(self) -> str:
        names = ", ".join(f.name for f in self.module.all_functions)
        return f"<Assembly of {names}: {len(self.isa)} bytes, {len(self.warnings)} warnings>"

    def _repr_html_(self) -> str:
        from visakit import disassemble
        from visakit.notebook import diagnostics, highlighted

        return highlighted(disassemble(self.module)) + diagnostics(self.warnings)

    def object_bytes(self, debug: bool = False) -> bytes:
        """The ELF object; with ``debug`` it maps instructions to source lines."""
        descriptions = [Description.of(function) for function in self.module.all_functions]
        container = Container(
            False,
            {VISA: self.isa, INDEX: write_index(descriptions, self.isa)},
            symbols(self.module, self.isa, descriptions),
            self.platform or "",
        )
        if self.platform and (platform := find(self.platform)):
            container.grf_size = platform.grf_size
        if debug:
            container.sections[LINES] = write_lines({f.name: (f.file, lines_of(f)) for f in self.module.all_functions})
        return container.write()


def assemble_text(
    text: str,
    file: str | os.PathLike[str] = "<text>",
    platform: str | None = None,
    max_errors: int = MAXIMUM_ERRORS,
    silent: Collection[str] | None = None,
) -> Assembly:
    """Assemble one text.

    Args:
        file: what messages call the text.
        platform: check against this platform; a name or another name of :mod:`visakit.language.platforms`.
        max_errors: where to stop.
        silent: codes of warnings that are not reported; None for W005 and W007, which compilers cause all the time.

    Raises:
        AssemblyError: with every error found, up to ``max_errors``.
        UsageError: there is no such platform, the text is no str, or no error may be reported.
    """
    text, file, platform = check_text(text, "vISA text"), check_name(file, "a file"), check_platform(platform)
    collector = Collector(max_errors, QUIET if silent is None else frozenset(silent))
    with paused_collection():
        module = parse_module(text, file, platform, collector)
        if collector.error_count:
            raise AssemblyError(collector.items)
        return Assembly(module, write_module(module), collector.items, platform)


def symbols(module: Module, isa: bytes, descriptions: list[Description]) -> list[ElfSymbol]:
    """Kernels and functions with their ranges in the bytes of the module, and the names that it does not define."""
    found: list[ElfSymbol] = []
    ranges = _byte_ranges(isa, len(module.kernels), len(module.functions))
    for function, (offset, size) in zip(module.all_functions, ranges, strict=True):
        binding = STB_GLOBAL if function.is_kernel or function.is_exported else STB_LOCAL
        found.append(ElfSymbol(function.name, offset, size, binding=binding, section=VISA))
    defined = {f.name for f in module.all_functions}
    undefined = dict.fromkeys(name for d in descriptions for name in d.names if name not in defined)
    return found + [ElfSymbol(name, kind=STT_NOTYPE) for name in undefined]


def _byte_ranges(isa: bytes, kernels: int, functions: int) -> list[tuple[int, int]]:
    """Offset and size of each function, read out of the module's header."""
    position, found = 8, []
    for index in range(kernels + functions):
        is_kernel = index < kernels
        if index == kernels:
            position += 4
        position += 0 if is_kernel else 1
        (length,) = struct.unpack_from("<H", isa, position)
        position += 2 + length
        found.append(struct.unpack_from("<II", isa, position))
        position += 12 + 4 + 10 if is_kernel else 8 + 4
    return found
