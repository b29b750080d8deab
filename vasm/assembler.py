"""One text to an object: parse, check, encode, wrap."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from visa.calls import calls_of, write_calls
from visa.cisa import write_module
from visa.collector import paused_collection
from visa.container import CALLS, LINES, VISA, Container
from visa.diagnostics import QUIET, AssemblyError, Collector, Diagnostic
from visa.elf import STB_GLOBAL, STB_LOCAL, STT_NOTYPE, Symbol
from visa.lines import write_lines
from visa.platforms import find
from visa.program import Module
from visa.text.parser import parse_module


@dataclass
class Assembly:
    """A parsed text with its CISA bytes and warnings."""

    module: Module
    isa: bytes
    warnings: list[Diagnostic]
    platform: str | None

    def object_bytes(self, debug: bool = False) -> bytes:
        """The ELF object; with ``debug`` it maps instructions to source lines."""
        container = Container(
            False,
            {VISA: self.isa, CALLS: write_calls(self.module, self.isa)},
            symbols(self.module, self.isa),
            self.platform or "",
        )
        if self.platform and (platform := find(self.platform)):
            container.grf_size = platform.grf_size
        if debug:
            container.sections[LINES] = write_lines(
                {f.name: (f.file, [i.line for i in f.instructions]) for f in self.module.all_functions}
            )
        return container.write()


def assemble_text(
    text: str, file: str = "<text>", platform: str | None = None, max_errors: int = 20, silent: frozenset[str] = QUIET
) -> Assembly:
    """Assemble one text; ``silent`` are the codes of warnings that are not reported.

    Raises:
        AssemblyError: with every error found, up to ``max_errors``.
    """
    collector = Collector(max_errors, silent)
    with paused_collection():
        module = parse_module(text, file, platform, collector)
        if collector.error_count:
            raise AssemblyError(collector.items)
        return Assembly(module, write_module(module), collector.items, platform)


def symbols(module: Module, isa: bytes) -> list[Symbol]:
    """Kernels and functions with their ranges in the bytes of the module, and the names that it does not define."""
    found: list[Symbol] = []
    ranges = _byte_ranges(isa, len(module.kernels), len(module.functions))
    for function, (offset, size) in zip(module.all_functions, ranges, strict=True):
        binding = STB_GLOBAL if function.is_kernel or function.is_exported else STB_LOCAL
        found.append(Symbol(function.name, offset, size, binding=binding, section=VISA))
    defined = {f.name for f in module.all_functions}
    names = (f.strings[call.string] for f in module.all_functions for call in calls_of(f))
    undefined = dict.fromkeys(name for name in names if name not in defined)
    return found + [Symbol(name, kind=STT_NOTYPE) for name in undefined]


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
