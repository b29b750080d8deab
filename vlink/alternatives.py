"""Several bodies of one name: compilers dump a kernel for each SIMD size, and with inline vISA a second time."""

from __future__ import annotations

from collections.abc import Sequence

from visakit.language.program import Function
from visakit.objects.index import DeclaredSizes
from visakit.objects.ze_info import ZeInfoError, kernel_info
from vlink.inputs import ObjectFile
from vlink.program_info import ProgramInfo
from vlink.symbols import Definition

Discarded = list[tuple[Definition, str]]
"""Omitted bodies, with the reason."""


def pick(objects: Sequence[ObjectFile], infos: Sequence[ProgramInfo]) -> Discarded:
    """Leave one body of each kernel: that with the SIMD size that ze_info has, the first of several.

    Of exported functions it is the first with a SIMD size of the kernels that are left. Where no body has the size, all
    stay, and their names are defined twice.
    """
    kernels: dict[str, list[tuple[ObjectFile, Function]]] = {}
    for o in objects:
        for kernel in o.kernels:
            kernels.setdefault(kernel.name, []).append((o, kernel))
    discarded: Discarded = []
    sizes = set()
    for name, bodies in kernels.items():
        wanted = {_simd_size(infos, name, kernel) for _, kernel in bodies}
        discarded += _leave_one(bodies, wanted if len(wanted) == 1 else set())
        sizes |= {kernel.simd_size for o, kernel in bodies if id(kernel) not in o.left_out}
    functions: dict[str, list[tuple[ObjectFile, Function]]] = {}
    for o in objects:
        for function in o.functions:
            if function.is_exported:
                functions.setdefault(function.name, []).append((o, function))
    for bodies in functions.values():
        discarded += _leave_one(bodies, sizes)
    return discarded


def _simd_size(infos: Sequence[ProgramInfo], name: str, kernel: Function) -> int:
    """The SIMD size of a kernel in ze_info; the kernel's if it is missing or invalid there."""
    for info in infos:
        try:
            description = kernel_info(info.tree, name, kernel.simd_size)
        except ZeInfoError:
            continue
        if description is not None:
            return description.simd_size
    return kernel.simd_size


def _leave_one(bodies: Sequence[tuple[ObjectFile, Function]], sizes: set[int]) -> Discarded:
    """Keep only the first body with one of the sizes, if there is one; returns the removed bodies."""
    fitting = [function for _, function in bodies if function.is_cm or function.simd_size in sizes]
    if len(bodies) < 2 or not fitting:
        return []
    others = [(o, function) for o, function in bodies if function is not fitting[0]]
    for o, function in others:
        o.left_out.add(id(function))
    reason = f"another body is linked, which is SIMD{fitting[0].simd_size}"
    return [(Definition(o, function, DeclaredSizes.of(function)), reason) for o, function in others]
