"""Images as arguments: how their texels are stored, and how many axes they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vsim.launch.arrays import Array, Bytes, DType, address_of
from vsim.launch.launch import ImageArgument

ORDERS = {
    "r": "r001", "a": "000r", "rg": "rg01", "ra": "r00g", "rgba": "rgba", "bgra": "bgra", "argb": "gbar",
    "intensity": "rrrr", "luminance": "rrr1", "depth": "r001",
}  # fmt: skip
"""Sources of red, green, blue and alpha, by the order of the stored channels: a channel (r is the first), 0 or 1."""
ELEMENTS = {
    "f16": "f2", "f32": "f4", "u8": "u1", "u16": "u2", "u32": "u4", "i8": "i1", "i16": "i2", "i32": "i4",
    "unorm8": "u1", "unorm16": "u2", "snorm8": "i1", "snorm16": "i2",
}  # fmt: skip
"""Elements of images, and how they are stored."""
CHANNEL_TYPES = {
    "snorm8": 0x10D0, "snorm16": 0x10D1, "unorm8": 0x10D2, "unorm16": 0x10D3, "i8": 0x10D7, "i16": 0x10D8,
    "i32": 0x10D9, "u8": 0x10DA, "u16": 0x10DB, "u32": 0x10DC, "f16": 0x10DD, "f32": 0x10DE,
}  # fmt: skip
"""OpenCL's numbers of the types of channels (``cl_channel_type``), by our names."""
CHANNEL_ORDERS = {
    "r": 0x10B0, "a": 0x10B1, "rg": 0x10B2, "ra": 0x10B3, "rgba": 0x10B5, "bgra": 0x10B6, "argb": 0x10B7,
    "intensity": 0x10B8, "luminance": 0x10B9, "depth": 0x10BD,
}  # fmt: skip
"""OpenCL's numbers of the orders of channels (``cl_channel_order``), by our names."""


class ImageFormat(NamedTuple):
    """Order and element type of the channels, such as ``rgba`` and ``unorm8``."""

    order: str
    element: str

    @classmethod
    def parse(cls, text: str) -> ImageFormat | None:
        """The format that a text like ``rgba_f32`` names; None if there is no such format."""
        order, _, element = text.partition("_")
        return cls(order, element) if order in ORDERS and element in ELEMENTS else None

    @classmethod
    def of(cls, array: Array) -> ImageFormat | None:
        """The format of plain elements for the type and the last axis of an array; None if there is no such format."""
        order = {1: "r", 2: "rg", 4: "rgba"}.get(array.shape[-1] if array.ndim > 1 else 1)
        element = next(
            (name for name, stored in ELEMENTS.items() if array.dtype == stored and "norm" not in name), None
        )
        return cls(order, element) if order and element else None

    def __str__(self) -> str:
        return f"{self.order}_{self.element}"

    @staticmethod
    def names() -> list[str]:
        """All formats."""
        return [str(ImageFormat(order, element)) for order in ORDERS for element in ELEMENTS]

    @property
    def channels(self) -> int:
        """Stored channels."""
        return 1 + max("rgba".find(c) for c in ORDERS[self.order])

    @property
    def dtype(self) -> DType:
        """How an element is stored."""
        return np.dtype(ELEMENTS[self.element])

    @property
    def size(self) -> int:
        """Bytes of a texel."""
        return self.channels * self.dtype.itemsize

    @property
    def is_real(self) -> bool:
        """Whether texels are read as floats."""
        return self.element[0] == "f" or "norm" in self.element

    @property
    def scale(self) -> float:
        """The divisor of the elements of normalised formats; 0 for other formats."""
        return float(np.iinfo(ELEMENTS[self.element]).max) if "norm" in self.element else 0.0


class ImageKind(NamedTuple):
    """The part of an image that code is specialised for: format, number of axes, whether the last one counts layers."""

    format: ImageFormat
    axes: int
    layered: bool = False


@dataclass(eq=False, repr=False)
class SurfaceImage:
    """An image argument; ``sizes`` are width, height, and depth or layers, one for each axis."""

    name: str
    array: Array
    kind: ImageKind
    sizes: list[int]
    handle: int

    def __repr__(self) -> str:
        return f"<SurfaceImage '{self.name}' of {' x '.join(map(str, self.sizes))} texels>"

    @property
    def bytes(self) -> Bytes:
        """The memory of the image."""
        return self.array.reshape(-1).view(np.uint8)

    @property
    def host(self) -> int:
        """The address of the image in the host's memory."""
        return address_of(self.array)

    def texel_at(self, offset: int) -> str:
        """The coordinates of the texel that has a byte: ``(3, 5)`` is the fourth of the sixth row."""
        number, places = offset // self.kind.format.size, []
        for size in self.sizes:
            number, place = divmod(number, size)
            places.append(str(place))
        return f"({', '.join(places)})"


AXES = {
    "image_1d": 1,
    "image_1d_buffer": 1,
    "image_buffer": 1,
    "image_1d_array": 2,
    "image_2d_array": 3,
    "image_2d_array_depth": 3,
    "image_3d": 3,
}
"""Axes of the image types of ze_info; the others have two."""


def surface_image(name: str, argument: ImageArgument, declared: str, handle: int) -> SurfaceImage | str:
    """An image argument, or why its array cannot be an image.

    The array is (depth or layers x) height x width (x channels); of images with one axis width (x channels). There may
    be more leading axes of one element.

    Args:
        declared: the type in ze_info, such as ``image_2d_array``; empty if it is not known.
    """
    array, known = argument.array, ImageFormat.parse(argument.format)
    if known is None:
        return f"has the unknown format '{argument.format}'"
    if not array.size or not array.flags.c_contiguous:
        return f"is an image of shape {array.shape} that is {'not contiguous' if array.size else 'empty'}"
    axes = AXES.get(declared, 2) if declared else 3 if array.ndim == 4 else 2
    shape = list(array.shape)
    stored = shape.pop() if len(shape) > axes else 1
    while len(shape) > axes and shape[0] == 1:
        shape.pop(0)
    names = ", ".join(("depth or layers", "height", "width")[3 - axes :])
    if len(shape) != axes:
        return f"is an image of shape {array.shape}, but {names}, channels were expected"
    if stored != known.channels or array.dtype.itemsize != known.dtype.itemsize:
        found = f"{stored} channels" if array.ndim > axes else f"one channel (its shape {array.shape} is {names})"
        return (
            f"is an image of {found} of type {array.dtype}, but the format '{argument.format}' has "
            f"{known.channels} of type {known.dtype}"
        )
    kind = ImageKind(known, axes, argument.layered or "_array" in declared)
    return SurfaceImage(name, array, kind, [int(n) for n in reversed(shape)], handle)
