"""Checks that texts and ze_info come from one compilation: ``.input`` variables and ze_info have equal offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visakit.binary.declarations import VARIABLE
from visakit.binary.references import references
from visakit.diagnostics import Diagnostic, Label, Span
from visakit.language.program import FIRST_VARIABLE, AliasCircle, Function, Input
from visakit.objects.payload import PayloadPlaces, payload_places
from visakit.objects.ze_info import kernel_info
from vlink.errors import LinkErrors
from vlink.program_info import ProgramInfo
from vlink.symbols import Definition


def check_payloads(
    kept: Sequence[Definition], infos: Sequence[ProgramInfo], platform: str, grf_size: int, errors: LinkErrors
) -> None:
    """Report the first difference of each kernel to ze_info: L021.

    Args:
        platform: the platform of the image, which determines the omitted parts of payloads.
        grf_size: bytes of a register.
    """
    for definition in kept:
        if definition.function.is_kernel:
            for info in infos:
                problem = _difference(definition.function, info, platform, grf_size)
                if problem:
                    note = Label(Span(info.name, 0), "ze_info")
                    hint = "link each text with the ze_info of the same compilation: same device, options and source"
                    errors.add(Diagnostic("L021", problem, definition.span, hint, (note,)))


def _difference(kernel: Function, info: ProgramInfo, platform: str, grf_size: int) -> str:
    """The difference of a text to ze_info; empty if they agree, or ze_info does not describe the kernel."""
    try:
        description = kernel_info(info.tree, kernel.name, 0)
    except ValueError:  # reported by the reader of ze_info
        description = None
    if description is None:
        return ""
    simd = kernel.integer_attribute("SimdSize", 0)
    if simd and not kernel.is_cm and description.simd_size and simd != description.simd_size:
        return f"kernel '{kernel.name}' has SIMD size {simd}, ze_info says {description.simd_size}"
    places = payload_places(description, grf_size, platform, kernel.inputs)
    return next(_misplaced(kernel, places, grf_size), "") if places.fields else ""


def _misplaced(kernel: Function, places: PayloadPlaces, grf_size: int) -> Iterator[str]:
    """An input after the local ids that ze_info does not have."""
    fields = [(at, at + field.size, field) for at, field in places.fields if field.size]
    ends = {end for _, end, _ in fields}
    for item in kernel.inputs:
        start, end = item.offset, item.offset + item.size
        if end <= grf_size + places.ids or item.size == 0:
            continue
        around = next((f for f in fields if f[0] <= start < f[1]), None)
        what = f".input '{_name(kernel, item)}' of kernel '{kernel.name}' has {item.size} bytes at {start}"
        if around is None:
            if item.kind >> 3 and not _is_used(kernel, item):
                continue  # Compilers omit unused arguments that they have added from ze_info.
            yield f"{what}, where ze_info has nothing"
        elif around[2].argument >= 0 and end > around[1] and end not in ends:
            at, reach, field = around
            yield f"{what}, ze_info has argument {field.argument} with {reach - at} bytes at {at}"


def _is_used(kernel: Function, item: Input) -> bool:
    """Whether an instruction names the variable of an input, or an alias of it."""
    named = {index for i in kernel.instructions for what, index in references(i) if what == VARIABLE}
    try:
        return item.variable_class != 0 or any(
            kernel.alias_root(n)[0] == kernel.alias_root(item.index)[0] for n in named
        )
    except AliasCircle:
        return True


def _name(kernel: Function, item: Input) -> str:
    if item.variable_class == 0 and item.index >= FIRST_VARIABLE:
        return kernel.variables[item.index - FIRST_VARIABLE].name
    return str(item.index)
