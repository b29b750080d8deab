"""Images: texels of a format in memory without gaps, and samplers."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.device import IMAGE_BUFFER, IMAGE_LAYERS, IMAGE_SIDE, VOLUME_SIDE
from visakit.runtime.errors import refused_as, require
from visakit.runtime.memory import Buffer, Memory, check_flags, host_bytes
from visakit.runtime.objects import ApiObject
from visakit.runtime.rectangles import Rectangle, copy_rectangle
from vsim.launch.arrays import Array, Bytes
from vsim.launch.launch import ImageArgument, SamplerArgument
from vsim.memory.images import ImageFormat

ORDERS = {
    cl.CL_R: "r", cl.CL_A: "a", cl.CL_RG: "rg", cl.CL_RA: "ra", cl.CL_RGBA: "rgba", cl.CL_BGRA: "bgra",
    cl.CL_ARGB: "argb", cl.CL_INTENSITY: "intensity", cl.CL_LUMINANCE: "luminance", cl.CL_DEPTH: "depth",
}  # fmt: skip
ELEMENTS = {
    cl.CL_SNORM_INT8: "snorm8", cl.CL_SNORM_INT16: "snorm16", cl.CL_UNORM_INT8: "unorm8",
    cl.CL_UNORM_INT16: "unorm16", cl.CL_SIGNED_INT8: "i8", cl.CL_SIGNED_INT16: "i16", cl.CL_SIGNED_INT32: "i32",
    cl.CL_UNSIGNED_INT8: "u8", cl.CL_UNSIGNED_INT16: "u16", cl.CL_UNSIGNED_INT32: "u32",
    cl.CL_HALF_FLOAT: "f16", cl.CL_FLOAT: "f32",
}  # fmt: skip
_ONLY = {
    "bgra": ("unorm8",), "argb": ("unorm8",), "depth": ("unorm16", "f32"),
    "intensity": ("unorm8", "unorm16", "f16", "f32"), "luminance": ("unorm8", "unorm16", "f16", "f32"),
    "a": ("unorm8", "unorm16", "f16", "f32"),
}  # fmt: skip
"""Element types that only some channel orders have."""
_READ_ONLY = ("intensity", "luminance", "a", "ra", "argb")
_STORED = {"intensity": "r", "luminance": "r", "depth": "r"}
"""Which components are stored, where the name of the order does not say it."""
AXES = {
    cl.CL_MEM_OBJECT_IMAGE1D: 1, cl.CL_MEM_OBJECT_IMAGE1D_BUFFER: 1, cl.CL_MEM_OBJECT_IMAGE1D_ARRAY: 2,
    cl.CL_MEM_OBJECT_IMAGE2D: 2, cl.CL_MEM_OBJECT_IMAGE2D_ARRAY: 3, cl.CL_MEM_OBJECT_IMAGE3D: 3,
}  # fmt: skip
"""The kinds of images, and their axes; layers count as one."""
LAYERED = (cl.CL_MEM_OBJECT_IMAGE1D_ARRAY, cl.CL_MEM_OBJECT_IMAGE2D_ARRAY)


class Format(NamedTuple):
    """A format of OpenCL, and its counterpart in the simulator."""

    order: int
    element: int
    simulated: ImageFormat

    @classmethod
    def read(cls, address: int) -> Format:
        """The format at an address.

        Raises:
            CallError: images do not have this format here.
        """
        require(address, cl.CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "there is no format")
        return cls.of(*struct.unpack("<II", host.read(address, 8)))

    @classmethod
    def of(cls, order: int, element: int) -> Format:
        """The format of an order of components and a type.

        Raises:
            CallError: images do not have this format here.
        """
        known = order in ORDERS and element in ELEMENTS
        require(known, cl.CL_IMAGE_FORMAT_NOT_SUPPORTED, f"order {order:#x}, type {element:#x}")
        name = ImageFormat(ORDERS[order], ELEMENTS[element])
        allowed = name.element in _ONLY.get(name.order, (name.element,))
        require(allowed, cl.CL_IMAGE_FORMAT_NOT_SUPPORTED, f"{name} is no format here")
        return cls(order, element, name)

    def texel(self, colour: int) -> bytes:
        """A texel of a colour: four numbers at an address, of the kind that the format takes."""
        name = self.simulated
        components = _STORED.get(name.order, name.order)
        if not name.is_real:
            kind = np.dtype("i4" if name.element[0] == "i" else "u4")
            values = np.frombuffer(host.read(colour, 16), kind).astype("i8")
            bits = 8 * name.dtype.itemsize - (name.element[0] == "i")
            least, most = (-(1 << bits) if name.element[0] == "i" else 0), (1 << bits) - 1
            values = np.clip(values, least, most)
        else:
            reals = np.frombuffer(host.read(colour, 16), "f4").astype("f8")
            if name.scale:
                lowest = -1.0 if name.element[0] == "s" else 0.0
                reals = np.rint(np.clip(np.nan_to_num(reals), lowest, 1.0) * name.scale)
            values = reals
        with np.errstate(over="ignore"):
            return np.array([values["rgba".index(c)] for c in components]).astype(name.dtype).tobytes()


def formats(flags: int, kind: int) -> list[tuple[int, int]]:
    """The formats of images of a kind that kernels access in a way."""
    writes = flags & cl.CL_MEM_KERNEL_READ_AND_WRITE or not flags & cl.CL_MEM_READ_ONLY
    pairs = []
    for order, name in ORDERS.items():
        for element, stored in ELEMENTS.items():
            flat = kind not in (cl.CL_MEM_OBJECT_IMAGE3D, cl.CL_MEM_OBJECT_IMAGE1D, cl.CL_MEM_OBJECT_IMAGE1D_BUFFER)
            fits = stored in _ONLY.get(name, (stored,)) and not (writes and name in _READ_ONLY)
            if fits and (name != "depth" or (flat and kind != cl.CL_MEM_OBJECT_IMAGE1D_ARRAY)):
                pairs.append((order, element))
    return pairs


class ImageShape(NamedTuple):
    """The contents of ``cl_image_desc``."""

    kind: int
    width: int
    height: int
    depth: int
    layers: int
    row_pitch: int
    slice_pitch: int
    mip_levels: int
    samples: int
    memory: int

    @classmethod
    def read(cls, address: int) -> ImageShape:
        """The description at an address."""
        require(address, cl.CL_INVALID_IMAGE_DESCRIPTOR, "there is no description")
        return cls(*struct.unpack("<I4xQQQQQQIIQ", host.read(address, 72)))

    def checked(self) -> ImageShape:
        """With ones for sizes that the kind does not have.

        Raises:
            CallError: a size is invalid.
        """
        require(self.kind in AXES, cl.CL_INVALID_IMAGE_DESCRIPTOR, f"{self.kind:#x} is no kind of image")
        require(not self.mip_levels and not self.samples, cl.CL_INVALID_IMAGE_DESCRIPTOR, "mip maps are not there")
        over = self.kind == cl.CL_MEM_OBJECT_IMAGE1D_BUFFER
        require(over or not self.memory, cl.CL_INVALID_OPERATION, "only images with one axis lie over buffers")
        volume, axes = self.kind == cl.CL_MEM_OBJECT_IMAGE3D, AXES[self.kind]
        side = IMAGE_BUFFER if over else VOLUME_SIDE if volume else IMAGE_SIDE
        layered = self.kind in LAYERED
        height = self.height if axes - layered > 1 else 1
        depth, layers = self.depth if volume else 1, self.layers if layered else 1
        for size, limit in ((self.width, side), (height, side), (depth, side), (layers, IMAGE_LAYERS)):
            require(size, cl.CL_INVALID_IMAGE_DESCRIPTOR, "a size is 0")
            require(size <= limit, cl.CL_INVALID_IMAGE_SIZE, f"{size} is more than {limit}")
        return self._replace(height=height, depth=depth, layers=layers)

    @property
    def region(self) -> tuple[int, int, int]:
        """Sizes in texels along the axes of origins and regions; layers count as an axis."""
        if self.kind == cl.CL_MEM_OBJECT_IMAGE1D_ARRAY:
            return self.width, self.layers, 1
        return self.width, self.height, self.depth * self.layers


class Image(Memory):
    """An image. ``data`` has its texels without gaps, whatever the layout of the program's memory.

    Attributes:
        shown: the rows of the program's memory (``CL_MEM_USE_HOST_PTR``) where they have gaps; else None.
    """

    def __init__(
        self, context: Context, flags: int, format: Format, shape: ImageShape, data: Bytes, host_ptr: int = 0,
        given: bytes = b"",
    ) -> None:  # fmt: skip
        super().__init__(context, flags, data, host_ptr, given)
        self.kind = shape.kind
        self.format, self.shape = format, shape
        self.below: Buffer | None = None
        tight = self.box((0, 0, 0), shape.region)
        outside = self.box((0, 0, 0), shape.region, shape.row_pitch, shape.slice_pitch)
        self.shown = outside if self.host_ptr and outside != tight else None

    @property
    def name(self) -> str:
        return f"image {self.number}"

    @property
    def parent(self) -> Memory | None:
        return self.below

    @property
    def texel_bytes(self) -> int:
        """Bytes of a texel."""
        return self.format.simulated.size

    @property
    def row_pitch(self) -> int:
        """Bytes from row to row, as the program knows it."""
        return self.shape.row_pitch or self.shape.width * self.texel_bytes

    @property
    def slice_pitch(self) -> int:
        """Bytes from slice to slice or layer to layer; 0 for images without."""
        if self.shape.kind == cl.CL_MEM_OBJECT_IMAGE1D_ARRAY:
            return self.shape.slice_pitch or self.row_pitch
        has_slices = AXES[self.shape.kind] == 3
        return (self.shape.slice_pitch or self.row_pitch * self.shape.height) if has_slices else 0

    @property
    def argument(self) -> ImageArgument:
        """The argument for a launch."""
        name, shape = self.format.simulated, self.shape
        counts = shape.region[AXES[shape.kind] - 1 :: -1]
        array: Array = self.data.view(name.dtype).reshape(*counts, name.channels)
        return ImageArgument(array, str(name), shape.kind in LAYERED)

    def box(self, origin: Sequence[int], region: Sequence[int], row: int = 0, slice_: int = 0) -> Rectangle:
        """Texels as bytes; without pitches as in ``data``. The pitch of layers of rows is the slice pitch."""
        texel = self.format.simulated.size
        width, height, _ = self.shape.region
        if self.shape.kind == cl.CL_MEM_OBJECT_IMAGE1D_ARRAY:
            row, slice_ = slice_ or row, 0
        row = row or width * texel
        place = origin[0] * texel, origin[1], origin[2]
        return Rectangle.of(place, (region[0] * texel, region[1], region[2]), row, slice_ or row * height)

    def outside(self, region: Sequence[int], row: int, slice_: int) -> Rectangle:
        """Texels in the program's memory, which begins with them; pitches of 0 mean no gaps.

        Raises:
            CallError: a pitch is smaller than a row or slice.
        """
        texel = self.texel_bytes
        width = region[0] * texel
        if self.shape.kind == cl.CL_MEM_OBJECT_IMAGE1D_ARRAY:
            row, slice_ = slice_ or row, 0
        require(AXES[self.shape.kind] > 2 or not slice_, cl.CL_INVALID_VALUE, "the image has no slices")
        return Rectangle.of((0, 0, 0), (width, region[1], region[2]), row, slice_)

    def check_box(self, origin: Sequence[int], region: Sequence[int]) -> None:
        """Refuse texels that are not in the image."""
        require(all(region), cl.CL_INVALID_VALUE, "the region is empty")
        inside = all(o + n <= size for o, n, size in zip(origin, region, self.shape.region, strict=True))
        require(inside, cl.CL_INVALID_VALUE, f"{tuple(region)} texels at {tuple(origin)} are not in the image")


def create_image(
    context: Context, flags: int, format: Format, shape: ImageShape, host_ptr: int, given: bytes = b""
) -> Image:
    """A new image.

    Raises:
        CallError: flags, format, sizes or pointer are invalid, or no device has images.
    """
    require(context.has_images, cl.CL_INVALID_OPERATION, "no device has images")
    whole = shape.checked()
    if whole.memory:
        return _over_buffer(context, flags, format, whole, host_ptr, given)
    require(whole.kind != cl.CL_MEM_OBJECT_IMAGE1D_BUFFER, cl.CL_INVALID_IMAGE_DESCRIPTOR, "there is no buffer")
    flags = check_flags(flags, host_ptr)
    pitches = host_ptr or not (whole.row_pitch or whole.slice_pitch)
    require(pitches, cl.CL_INVALID_IMAGE_DESCRIPTOR, "pitches are those of memory that is not given")
    texel = format.simulated.size
    require(not whole.row_pitch % texel, cl.CL_INVALID_IMAGE_DESCRIPTOR, "the pitch is no multiple of a texel")
    size = math.prod(whole.region) * texel
    require(size <= context.maximum_allocation, cl.CL_INVALID_IMAGE_SIZE, f"it would have {size} bytes")
    with refused_as(cl.CL_INVALID_IMAGE_DESCRIPTOR):
        image = Image(context, flags, format, whole, host_bytes(size), host_ptr, given)
        outside = image.box((0, 0, 0), whole.region, whole.row_pitch, whole.slice_pitch)
    if host_ptr and image.host_ptr and image.shown is None:
        image.data = host.view(host_ptr, size)
    elif host_ptr:
        inside = image.box((0, 0, 0), whole.region)
        copy_rectangle(host.view(host_ptr, outside.end), outside, image.data, inside)
    return image


def _over_buffer(context: Context, flags: int, format: Format, shape: ImageShape, host_ptr: int, given: bytes) -> Image:
    """An image over the memory of a buffer."""
    with refused_as(cl.CL_INVALID_IMAGE_DESCRIPTOR):
        buffer = Buffer.find(shape.memory)
    require(not host_ptr, cl.CL_INVALID_HOST_PTR, "the memory is that of a buffer")
    size = shape.width * format.simulated.size
    require(size <= buffer.size, cl.CL_INVALID_IMAGE_SIZE, f"the buffer has {buffer.size} bytes, the image {size}")
    require(buffer.context is context, cl.CL_INVALID_CONTEXT, "the buffer is of another context")
    flags = check_flags(flags, 0) if flags else buffer.flags & ~cl.CL_MEM_COPY_HOST_PTR
    image = Image(context, flags, format, shape, buffer.data[:size], 0, given)
    image.below = buffer
    buffer.note_defined()  # Texels count as defined.
    return image


def create_view(context: Context, image: Image, format: Format, shape: ImageShape) -> Image:
    """Another image over the texels of an image, which live as long as either.

    Raises:
        CallError: format or sizes are invalid, or the texels have other sizes.
    """
    whole = shape.checked()
    same = format.simulated.size == image.texel_bytes and whole.region == image.shape.region
    require(same, cl.CL_INVALID_IMAGE_SIZE, "the view's texels have other sizes or another number")
    return Image(context, image.flags, format, whole, image.data)


_ADDRESSING = {
    cl.CL_ADDRESS_NONE: "none", cl.CL_ADDRESS_CLAMP_TO_EDGE: "clamp_edge", cl.CL_ADDRESS_CLAMP: "clamp_border",
    cl.CL_ADDRESS_REPEAT: "repeat", cl.CL_ADDRESS_MIRRORED_REPEAT: "mirror",
}  # fmt: skip
_FILTERS = {cl.CL_FILTER_NEAREST: "nearest", cl.CL_FILTER_LINEAR: "linear"}


class Sampler(ApiObject):
    """How kernels read images."""

    invalid = cl.CL_INVALID_SAMPLER
    title = "sampler"

    def __init__(self, context: Context, normalized: int, addressing: int, filter: int, given: bytes = b"") -> None:
        require(context.has_images, cl.CL_INVALID_OPERATION, "no device has images")
        known = normalized in (0, 1) and addressing in _ADDRESSING and filter in _FILTERS
        require(known, cl.CL_INVALID_VALUE, "a property has no such value")
        super().__init__()
        self.context, self.normalized, self.addressing, self.filter = context, normalized, addressing, filter
        self.given = given

    @property
    def argument(self) -> SamplerArgument:
        """The argument for a launch."""
        return SamplerArgument(bool(self.normalized), _ADDRESSING[self.addressing], _FILTERS[self.filter])
