"""Formats and kinds of images, and their counterparts in the runtime."""

from __future__ import annotations

from visakit.levelzero import ze
from visakit.levelzero.errors import refuse
from visakit.levelzero.layout import Structure
from visakit.runtime import cl
from visakit.runtime.errors import require
from visakit.runtime.images import ELEMENTS, ORDERS, Format, ImageShape

_LAYOUTS = {
    ze.ZE_IMAGE_FORMAT_LAYOUT_8: (8, 1), ze.ZE_IMAGE_FORMAT_LAYOUT_16: (16, 1), ze.ZE_IMAGE_FORMAT_LAYOUT_32: (32, 1),
    ze.ZE_IMAGE_FORMAT_LAYOUT_8_8: (8, 2), ze.ZE_IMAGE_FORMAT_LAYOUT_16_16: (16, 2),
    ze.ZE_IMAGE_FORMAT_LAYOUT_32_32: (32, 2), ze.ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8: (8, 4),
    ze.ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16: (16, 4), ze.ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32: (32, 4),
}  # fmt: skip
"""Bits of a component, and components."""
_TYPES = {
    ze.ZE_IMAGE_FORMAT_TYPE_UINT: "u", ze.ZE_IMAGE_FORMAT_TYPE_SINT: "i", ze.ZE_IMAGE_FORMAT_TYPE_UNORM: "unorm",
    ze.ZE_IMAGE_FORMAT_TYPE_SNORM: "snorm", ze.ZE_IMAGE_FORMAT_TYPE_FLOAT: "f",
}  # fmt: skip
_SWIZZLES = "rgba01xd"
_KINDS = {
    ze.ZE_IMAGE_TYPE_1D: cl.CL_MEM_OBJECT_IMAGE1D, ze.ZE_IMAGE_TYPE_1DARRAY: cl.CL_MEM_OBJECT_IMAGE1D_ARRAY,
    ze.ZE_IMAGE_TYPE_2D: cl.CL_MEM_OBJECT_IMAGE2D, ze.ZE_IMAGE_TYPE_2DARRAY: cl.CL_MEM_OBJECT_IMAGE2D_ARRAY,
    ze.ZE_IMAGE_TYPE_3D: cl.CL_MEM_OBJECT_IMAGE3D,
}  # fmt: skip


def image_format(given: Structure) -> Format:
    """A format.

    Raises:
        CallError: images do not have it here.
    """
    bits, components = _LAYOUTS.get(given.layout, (0, 0))
    swizzle = (given.x, given.y, given.z, given.w)
    if not bits or given.type not in _TYPES or max(swizzle) >= len(_SWIZZLES):
        refuse(ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, f"layout {given.layout}, type {given.type}")
    name = "".join(_SWIZZLES[n] for n in swizzle[:components])
    order = "rgba"[:components] if set(name) <= set("x01") else "depth" if name == "d" else name.replace("x", "a")
    element = f"{_TYPES[given.type]}{bits}"
    numbers = {name: number for number, name in ORDERS.items()}, {name: number for number, name in ELEMENTS.items()}
    known = order in numbers[0] and element in numbers[1]
    require(known, ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, f"components {name}, type {element}")
    return Format.of(numbers[0][order], numbers[1][element])


def image_shape(given: Structure) -> ImageShape:
    """The kind and the sizes of an image.

    Raises:
        CallError: there is no such kind, or it has mip maps.
    """
    kind = _KINDS.get(given.type)
    if kind is None:
        refuse(ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, f"images of kind {given.type}")
    require(given.miplevels <= 1, ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "mip maps are not there")
    return ImageShape(kind, given.width, given.height, given.depth, given.arraylevels, 0, 0, 0, 0, 0)
