"""The surfaces and samplers of a launch as compiled code sees them."""

from __future__ import annotations

from collections.abc import Hashable

from vsim.arguments import URB
from vsim.dispatch import Dispatch
from vsim.images import ImageKind, SurfaceImage
from vsim.llvm_engine import Unsupported
from vsim.llvm_engine.runtime import context as cx
from vsim.payload import IMAGE_HANDLE_STEP


def kinds(dispatch: Dispatch) -> tuple[tuple[bool, int, ImageKind], ...]:
    """All images of a launch: bindless or not, number, kind."""
    surfaces = [(False, n, s.kind) for n, s in dispatch.surfaces.items() if isinstance(s, SurfaceImage)]
    return (*surfaces, *((True, handle, image.kind) for handle, image in dispatch.images.items()))


def made_for(dispatch: Dispatch) -> Hashable:
    """What code depends on besides the kernel: the images and samplers of the launch, and whether arrays are read-only.

    Raises:
        Unsupported: there are more surfaces than the table holds.
    """
    surfaces, images, samplers = dispatch.surfaces, dispatch.images, dispatch.samplers
    for n in surfaces:
        if n >= cx.SURFACE_LIMIT and n != URB:
            raise Unsupported("more surfaces than the table holds")
    for handle in images:
        if handle // IMAGE_HANDLE_STEP >= cx.SURFACE_LIMIT:
            raise Unsupported("more surfaces than the table holds")
    found = kinds(dispatch), tuple(sorted(samplers.items())) if samplers else ()
    return (*found, "read-only") if dispatch.has_read_only else found


def table_index(bindless: bool, number: int) -> int:
    """The entry of the table of surfaces: the URB and bindless images stand behind the numbered surfaces."""
    return cx.SURFACE_LIMIT + number // IMAGE_HANDLE_STEP if bindless else number if number != URB else cx.SURFACE_LIMIT
