"""Images and samplers."""

from __future__ import annotations

from visakit.levelzero import ze
from visakit.levelzero.calls import also, entry
from visakit.levelzero.calls.appending import appends
from visakit.levelzero.calls.contexts import context_device
from visakit.levelzero.image_formats import image_format, image_shape
from visakit.levelzero.layout import Structure
from visakit.levelzero.lists import CommandList, ListOperation
from visakit.levelzero.memory import Range
from visakit.levelzero.parameters import described, fill, find, flags, need, structure
from visakit.levelzero.structures import (
    ze_image_allocation_ext_properties_t,
    ze_image_desc_t,
    ze_image_memory_properties_exp_t,
    ze_image_properties_t,
    ze_image_region_t,
    ze_sampler_desc_t,
)
from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.device import Device
from visakit.runtime.errors import refused_as, require
from visakit.runtime.images import AXES, Image, Sampler, create_image, create_view
from visakit.runtime.rectangles import Rectangle, copy_rectangle
from visakit.runtime.transfers import CommandAccesses

_ADDRESSING = {
    ze.ZE_SAMPLER_ADDRESS_MODE_NONE: cl.CL_ADDRESS_NONE, ze.ZE_SAMPLER_ADDRESS_MODE_REPEAT: cl.CL_ADDRESS_REPEAT,
    ze.ZE_SAMPLER_ADDRESS_MODE_CLAMP: cl.CL_ADDRESS_CLAMP_TO_EDGE,
    ze.ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER: cl.CL_ADDRESS_CLAMP,
    ze.ZE_SAMPLER_ADDRESS_MODE_MIRROR: cl.CL_ADDRESS_MIRRORED_REPEAT,
}  # fmt: skip
_FILTERS = {
    ze.ZE_SAMPLER_FILTER_MODE_NEAREST: cl.CL_FILTER_NEAREST, ze.ZE_SAMPLER_FILTER_MODE_LINEAR: cl.CL_FILTER_LINEAR,
}  # fmt: skip
Texels = tuple[tuple[int, int, int], tuple[int, int, int]]
"""Origin and sizes of a part of an image."""


def _desc(device: Device, address: int) -> Structure:
    given = described(ze_image_desc_t, address)
    require(device.model.has_images, ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device has no images")
    flags(given.flags, ze.ZE_IMAGE_FLAG_KERNEL_WRITE | ze.ZE_IMAGE_FLAG_BIAS_UNCACHED)
    return given


@entry
def zeImageGetProperties(device: Device, desc: int, properties: int) -> None:
    """The flags that images of a description have."""
    image_format(_desc(device, desc).format)
    target = structure(ze_image_properties_t, properties)
    every = ze.ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT | ze.ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR
    fill(target, {"samplerFilterFlags": every})


@entry
def zeImageCreate(context: int, device: int, desc: int, target: int) -> None:
    """An image with a format and a shape."""
    own, chosen = context_device(context, device)
    given = _desc(chosen, desc)
    need(target)
    image = create_image(own, 0, image_format(given.format), image_shape(given), 0)
    host.write_size(target, image.handle)


@also("zeImageViewCreateExp")
@entry
def zeImageViewCreateExt(context: int, device: int, desc: int, image: int, target: int) -> None:
    """An image that shares the memory of another one."""
    own, chosen = context_device(context, device)
    whole = find(Image, image)
    given = _desc(chosen, desc)
    need(target)
    view = create_view(own, whole, image_format(given.format), image_shape(given))
    host.write_size(target, view.handle)


@entry
def zeImageGetMemoryPropertiesExp(image: Image, properties: int) -> None:
    """Bytes and pitches of an image."""
    target = structure(ze_image_memory_properties_exp_t, properties, ze.ZE_STRUCTURE_TYPE_IMAGE_MEMORY_EXP_PROPERTIES)
    fill(target, {"size": image.size, "rowPitch": image.row_pitch, "slicePitch": image.slice_pitch or image.size})


@entry
def zeImageGetAllocPropertiesExt(context: Context, image: Image, properties: int) -> None:
    """The number of an image's memory."""
    fill(structure(ze_image_allocation_ext_properties_t, properties), {"id": image.number})


@entry
def zeSamplerCreate(context: int, device: int, desc: int, target: int) -> None:
    """A sampler; refused where the device has no images."""
    own, chosen = context_device(context, device)
    given = described(ze_sampler_desc_t, desc)
    need(target)
    require(chosen.model.has_images, ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device has no images")
    known = given.addressMode in _ADDRESSING and given.filterMode in _FILTERS
    require(known, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, f"mode {given.addressMode}, filter {given.filterMode}")
    addressing, method = _ADDRESSING[given.addressMode], _FILTERS[given.filterMode]
    host.write_size(target, Sampler(own, int(bool(given.isNormalized)), addressing, method).handle)


def _texels(image: Image, region: int) -> Texels:
    """A part of an image; all of it without a region. Axes that the image does not have are ignored.

    Raises:
        CallError: it is not in the image.
    """
    if not region:
        return (0, 0, 0), image.shape.region
    box = ze_image_region_t.at(region)
    has_rows, has_slices = AXES[image.kind] > 1, AXES[image.kind] > 2
    origin = box.originX, box.originY if has_rows else 0, box.originZ if has_slices else 0
    sizes = box.width, max(box.height, 1) if has_rows else 1, max(box.depth, 1) if has_slices else 1
    with refused_as(ze.ZE_RESULT_ERROR_INVALID_SIZE):
        image.check_box(origin, sizes)
    return origin, sizes


def _copy_image(target: Image, source: Image, to: Texels, given: Texels) -> ListOperation:
    require(to[1] == given[1], ze.ZE_RESULT_ERROR_INVALID_SIZE, "the regions have different sizes")
    same = target.format.simulated == source.format.simulated
    require(same, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the images have different formats")
    inside, outside = source.box(*given), target.box(*to)

    def work(queue: object) -> None:
        data = source.data.copy() if source is target else source.data
        copy_rectangle(data, inside, target.data, outside)

    return ListOperation(cl.CL_COMMAND_COPY_IMAGE, work, CommandAccesses((source, inside), (target, outside)))


@appends
def zeCommandListAppendImageCopy(own: CommandList, target: Image, source: Image) -> ListOperation:
    """Copy all texels between images of one shape and format."""
    return _copy_image(target, source, _texels(target, 0), _texels(source, 0))


@appends
def zeCommandListAppendImageCopyRegion(
    own: CommandList, target: Image, source: Image, target_region: int, source_region: int
) -> ListOperation:
    """Copy a box of texels between images of one format."""
    return _copy_image(target, source, _texels(target, target_region), _texels(source, source_region))


def _transfer(
    own: CommandList, image: Image, pointer: int, region: int, pitches: tuple[int, int], reads: bool
) -> ListOperation:
    """Copy texels to memory, or from it."""
    need(pointer)
    texels = _texels(image, region)
    inside = image.box(*texels)
    with refused_as(ze.ZE_RESULT_ERROR_INVALID_SIZE):
        outside = image.outside(texels[1], *pitches)
    memory = Range(own.context, pointer, outside.end)

    def work(queue: object) -> None:
        if reads:
            copy_rectangle(image.data, inside, memory.view, outside)
        else:
            copy_rectangle(memory.view, outside, image.data, inside)

    command = cl.CL_COMMAND_READ_IMAGE if reads else cl.CL_COMMAND_WRITE_IMAGE
    part: tuple[Image, Rectangle] = (image, inside)
    return ListOperation(command, work, CommandAccesses.of_host(part, reads))


@appends
def zeCommandListAppendImageCopyToMemory(own: CommandList, target: int, image: Image, region: int) -> ListOperation:
    """Copy a box of texels to memory, without gaps."""
    return _transfer(own, image, target, region, (0, 0), reads=True)


@appends
def zeCommandListAppendImageCopyFromMemory(own: CommandList, image: Image, source: int, region: int) -> ListOperation:
    """Copy a box of texels from memory, without gaps."""
    return _transfer(own, image, source, region, (0, 0), reads=False)


@appends
def zeCommandListAppendImageCopyToMemoryExt(
    own: CommandList, target: int, image: Image, region: int, row: int, slice_: int
) -> ListOperation:
    """The same with pitches in bytes."""
    return _transfer(own, image, target, region, (row, slice_), reads=True)


@appends
def zeCommandListAppendImageCopyFromMemoryExt(
    own: CommandList, image: Image, source: int, region: int, row: int, slice_: int
) -> ListOperation:
    """The same with pitches in bytes."""
    return _transfer(own, image, source, region, (row, slice_), reads=False)
