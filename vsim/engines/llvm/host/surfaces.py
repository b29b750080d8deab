"""The surfaces and samplers of a launch as compiled code sees them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import pairwise

from vsim.engines.llvm import Unsupported
from vsim.engines.llvm import abi as cx
from vsim.launch.arguments import URB
from vsim.launch.dispatch import Dispatch
from vsim.launch.payload import SURFACE_HANDLE_STEP
from vsim.memory.images import ImageKind, SurfaceImage
from vsim.memory.memory import Buffer


def kinds(dispatch: Dispatch) -> tuple[tuple[bool, int, ImageKind], ...]:
    """All images of a launch: bindless or not, number, kind."""
    both = ((False, dispatch.surfaces), (True, dispatch.bindless))
    return tuple(
        (bindless, number, surface.kind)
        for bindless, surfaces in both
        for number, surface in surfaces.items()
        if isinstance(surface, SurfaceImage)
    )


def apart(dispatch: Dispatch) -> frozenset[int]:
    """The numbers of the surfaces that are buffers, if no two of them share memory; else none."""
    buffers = {n: surface for n, surface in dispatch.surfaces.items() if isinstance(surface, Buffer)}
    ranges = sorted((b.host, b.host + b.size) for b in buffers.values())
    return frozenset(buffers) if all(end <= start for (_, end), (start, _) in pairwise(ranges)) else frozenset()


def made_for(dispatch: Dispatch) -> Hashable:
    """What code depends on besides the kernel: the images and samplers of the launch, whether surfaces share memory,
    and whether writes see other sizes than reads.

    Raises:
        Unsupported: there are more surfaces than the table holds.
    """
    surfaces, bindless, samplers = dispatch.surfaces, dispatch.bindless, dispatch.samplers
    for n in surfaces:
        if n >= cx.SURFACE_LIMIT and n != URB:
            raise Unsupported("more surfaces than the table holds")
    for handle in bindless:
        if handle // SURFACE_HANDLE_STEP >= cx.SURFACE_LIMIT:
            raise Unsupported("more surfaces than the table holds")
    found = kinds(dispatch), tuple(sorted(samplers.items())) if samplers else (), bool(apart(dispatch))
    return (*found, "separate writes") if dispatch.separates_writes else found


def table_index(bindless: bool, number: int) -> int:
    """The index into the table of surfaces: the URB and bindless surfaces follow the numbered ones."""
    if bindless:
        return cx.SURFACE_LIMIT + number // SURFACE_HANDLE_STEP
    return number if number != URB else cx.SURFACE_LIMIT


def table_entries(dispatch: Dispatch) -> Iterator[tuple[int, Buffer | SurfaceImage]]:
    """All surfaces of a launch, each with its entry of the table."""
    for number, surface in dispatch.surfaces.items():
        yield table_index(False, number), surface
    for handle, surface in dispatch.bindless.items():
        yield table_index(True, handle), surface
