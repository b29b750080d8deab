"""One program out of many: names, the compiler's description, addresses and symbols."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from visakit.diagnostics import Diagnostic, Span
from visakit.language.program import Module
from visakit.objects.elf import STB_GLOBAL, STB_LOCAL, STT_NOTYPE, STT_OBJECT, ElfSymbol
from visakit.objects.image import LinkedImage
from visakit.objects.lines import Lines
from vlink.data import DataLayout
from vlink.errors import LinkErrors
from vlink.inputs import VOID_PROGRAM, ObjectFile
from vlink.program_info import ProgramInfo
from vlink.symbols import Definition, References


def merge_modules(objects: Sequence[ObjectFile], kept: Sequence[Definition]) -> Module:
    """The module of the image; kernels are first in ``kept``. The version is that of the first object."""
    functions = [d.function for d in kept]
    return Module(
        objects[0].module.version, [f for f in functions if f.is_kernel], [f for f in functions if not f.is_kernel]
    )


def rename_duplicates(kept: Sequence[Definition], references: References) -> None:
    """Give functions that are private to their objects and share a name one each, and tell the callers.

    The functions of the objects are changed in place, as their relocations are later.
    """
    seen: dict[str, int] = {}
    renamed: set[Definition] = set()
    for d in kept:
        name = d.function.name
        count = seen[name] = seen.get(name, 0) + 1
        if count > 1:
            renamed.add(d)
            strings = d.function.strings  # Read before the name is another than that in the function's bytes.
            d.function.name = strings[d.function.name_index] = f"{name}.{count - 1}"
            d.function.encoded = None
    for d in kept if renamed else []:
        for reference in references[d]:
            if reference.target in renamed:
                d.function.strings[reference.call.string] = reference.target.function.name
                d.function.encoded = None


def _entries(info: ProgramInfo, key: str) -> list[object]:
    """A list of ze_info; empty where it has none."""
    entries = info.tree.get(key)
    return entries if isinstance(entries, list) else []


def merge_program_info(infos: Sequence[ProgramInfo], kernels: Collection[str], errors: LinkErrors) -> str:
    """The compiler's descriptions of all kernels, as JSON: it is YAML too, and read many times faster."""
    if not infos:
        return ""
    tree = dict(infos[0].tree)
    for key in ("kernels", "functions", "kernels_misc_info"):
        entries = [e for info in infos for e in _entries(info, key)]
        if len(infos) > 1:
            entries = [e for e in entries if not (isinstance(e, dict) and e.get("name") == VOID_PROGRAM)]
        if entries:
            tree[key] = entries
    described = {str(e.get("name")) for info in infos for e in _entries(info, "kernels") if isinstance(e, dict)}
    if kernels and described and described.isdisjoint(kernels):
        message = f"ze_info describes none of the kernels {', '.join(sorted(kernels))}"
        hint = f"it describes {', '.join(sorted(described))}"
        errors.add(Diagnostic("L021", message, Span(infos[0].name, 0), hint))
    return json.dumps(tree, indent=1, default=str)


def relocate_functions(kept: Sequence[Definition], references: References, data: DataLayout) -> list[str]:
    """Fill the relocation tables of the functions with the new names; returns the names still undefined."""
    kernels = sum(d.function.is_kernel for d in kept)
    function_numbers = {d: i - kernels for i, d in enumerate(kept)}
    data_numbers = {name: i for i, name in enumerate(data.symbols)}
    undefined: dict[str, None] = {}
    for d in kept:
        to_functions: dict[int, int] = {}
        to_data: dict[int, int] = {}
        for reference in references[d]:
            string, target = reference.call.string, reference.target
            if target is not None and target in function_numbers:
                to_functions[string] = function_numbers[target]
            elif reference.name in data_numbers:
                to_data[string] = data_numbers[reference.name]
            else:
                undefined[reference.name] = None
        d.function.function_relocations = sorted(to_functions.items())
        d.function.variable_relocations = sorted(to_data.items())
    return list(undefined)


def image_symbols(kept: Sequence[Definition], data: DataLayout, undefined: Sequence[str]) -> list[ElfSymbol]:
    """The symbols of the image: kernels and functions with their numbers of instructions, data, undefined names."""
    symbols: list[ElfSymbol] = []
    for i, d in enumerate(kept):
        size, _, is_exported, *_ = d.object.described(d.function)
        binding = STB_GLOBAL if d.function.is_kernel or is_exported else STB_LOCAL
        address = LinkedImage.function_address(i)
        symbols.append(ElfSymbol(d.function.name, address, size, binding=binding, section=".visa"))
    for name, symbol in data.symbols.items():
        symbols.append(ElfSymbol(name, data.address(symbol), symbol.size, STT_OBJECT, STB_GLOBAL, "*"))
    return symbols + [ElfSymbol(name, kind=STT_NOTYPE) for name in undefined]


def merge_lines(kept: Sequence[Definition]) -> Lines:
    """The source lines of the kernels and functions whose objects know them."""
    return {d.function.name: d.object.lines[d.function.name] for d in kept if d.function.name in d.object.lines}
