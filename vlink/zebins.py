"""Zebins as inputs of the linker: their texts become objects, which those of one's own complete or replace."""

from __future__ import annotations

from collections.abc import Sequence

from visakit.diagnostics import AssemblyError, Collector
from visakit.language.platforms import find
from visakit.language.program import Module
from visakit.objects.zebin import Zebin, text_name
from visakit.text.parser import parse_module
from vlink.inputs import ObjectFile


def zebin_objects(zebin: Zebin) -> list[ObjectFile]:
    """An object for each kernel, with the functions that were compiled with it.

    A function that several kernels contain, word for word the same, is in the first object only.

    Raises:
        AssemblyError: texts have errors; those of all texts.
    """
    platform = find(zebin.platform)
    objects: list[ObjectFile] = []
    collector = Collector()
    for text in dict.fromkeys(zebin.texts):
        file = text_name(zebin.name, text)
        module = parse_module(text.text, file, platform.name if platform else None, collector)
        if text.is_kernel or not objects:
            name = f"{zebin.name}({text.name})"
            own = ObjectFile(name, Module(module.version, [], []), is_compiled=True)
            if platform:
                own.platform, own.grf_size = platform.name, platform.grf_size
            objects.append(own)
        objects[-1].module.kernels += module.kernels
        objects[-1].module.functions += module.functions
        for function in module.all_functions:
            objects[-1].lines[function.name] = file, [i.line for i in function.instructions]
    if collector.error_count:
        raise AssemblyError([d for d in collector.items if d.severity == "error"])
    return objects


def without_replaced(objects: Sequence[ObjectFile]) -> None:
    """Remove kernels and functions of the compiler that the user's objects also define."""
    own = [f for o in objects if not o.is_compiled for f in o.module.all_functions]
    kernels = {f.name for f in own if f.is_kernel}
    functions = {f.name for f in own if not f.is_kernel}
    for o in objects:
        if o.is_compiled and (kernels or functions):
            o.module.kernels = [k for k in o.module.kernels if k.name not in kernels]
            o.module.functions = [f for f in o.module.functions if f.name not in functions]
