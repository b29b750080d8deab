"""Images and samplers (chapters 5.3 and 5.7)."""

from __future__ import annotations

import struct

from visakit.opencl.calls import entry
from visakit.opencl.calls.enqueue import Submission, check_map_flags, enqueues, own_buffer
from visakit.runtime import cl, host
from visakit.runtime.context import Context
from visakit.runtime.errors import refused_as, require
from visakit.runtime.images import AXES, Format, Image, ImageShape, Sampler, create_image, formats
from visakit.runtime.memory import Mapping, Memory
from visakit.runtime.queue import Queue
from visakit.runtime.rectangles import Rectangle, copy_rectangle, overlap
from visakit.runtime.transfers import CommandAccesses, nothing
from vsim.launch.arrays import address_of


@entry
def clCreateImage(
    context: Context, flags: int, image_format: int, image_desc: int, host_ptr: int, errcode_ret: int
) -> int:
    """An image with a format and a shape; from a buffer or the program's memory where it says so."""
    return create_image(context, flags, Format.read(image_format), ImageShape.read(image_desc), host_ptr).handle


@entry
def clCreateImageWithProperties(
    context: Context, properties: int, flags: int, image_format: int, image_desc: int, host_ptr: int, errcode_ret: int
) -> int:
    """An image as of :func:`clCreateImage`, with a list of properties, which must be empty."""
    require(not host.properties(properties), cl.CL_INVALID_PROPERTY, "images have no properties here")
    given = bytes(8) if properties else b""
    return create_image(context, flags, Format.read(image_format), ImageShape.read(image_desc), host_ptr, given).handle


@entry
def clCreateImage2D(
    context: int, flags: int, image_format: int, width: int, height: int, row_pitch: int, host_ptr: int,
    errcode_ret: int,
) -> int:  # fmt: skip
    """An image as OpenCL 1.0 makes it."""
    shape = ImageShape(cl.CL_MEM_OBJECT_IMAGE2D, width, height, 1, 1, row_pitch, 0, 0, 0, 0)
    return _older(context, flags, image_format, shape, host_ptr)


@entry
def clCreateImage3D(
    context: int, flags: int, image_format: int, width: int, height: int, depth: int, row_pitch: int,
    slice_pitch: int, host_ptr: int, errcode_ret: int,
) -> int:  # fmt: skip
    """An image as OpenCL 1.0 makes it."""
    shape = ImageShape(cl.CL_MEM_OBJECT_IMAGE3D, width, height, depth, 1, row_pitch, slice_pitch, 0, 0, 0)
    return _older(context, flags, image_format, shape, host_ptr)


def _older(context: int, flags: int, image_format: int, shape: ImageShape, host_ptr: int) -> int:
    """An image as OpenCL 1.0 makes them: errors of its sizes have another status."""
    context_object = Context.find(context)
    with refused_as(cl.CL_INVALID_IMAGE_SIZE, instead_of=cl.CL_INVALID_IMAGE_DESCRIPTOR):
        return create_image(context_object, flags, Format.read(image_format), shape, host_ptr).handle


@entry
def clGetSupportedImageFormats(
    context: Context, flags: int, image_type: int, num_entries: int, image_formats: int, num_image_formats: int
) -> None:
    """The formats of a kind of image with such flags; none where the device has no images."""
    require(image_type in AXES, cl.CL_INVALID_VALUE, f"{image_type:#x} is no kind of image")
    require(num_entries or not image_formats, cl.CL_INVALID_VALUE, "the array has no elements")
    known = formats(flags, image_type) if context.has_images else []
    if image_formats:
        host.write(image_formats, b"".join(struct.pack("<II", *pair) for pair in known[:num_entries]))
    host.write_u32(num_image_formats, len(known))


def _sampler(context: Context, normalized: int, addressing: int, filter: int, given: bytes = b"") -> int:
    """The handle of a new sampler."""
    repeats = addressing in (cl.CL_ADDRESS_REPEAT, cl.CL_ADDRESS_MIRRORED_REPEAT)
    require(normalized or not repeats, cl.CL_INVALID_VALUE, "only normalised coordinates repeat")
    return Sampler(context, normalized, addressing, filter, given).handle


@entry
def clCreateSampler(context: Context, normalized: int, addressing: int, filter: int, errcode_ret: int) -> int:
    """A sampler; only normalised coordinates repeat."""
    return _sampler(context, normalized, addressing, filter)


@entry
def clCreateSamplerWithProperties(context: Context, properties: int, errcode_ret: int) -> int:
    """A sampler with properties as a list of names and values."""
    given = host.properties(properties)
    values = {
        cl.CL_SAMPLER_NORMALIZED_COORDS: 1,
        cl.CL_SAMPLER_ADDRESSING_MODE: cl.CL_ADDRESS_CLAMP,
        cl.CL_SAMPLER_FILTER_MODE: cl.CL_FILTER_NEAREST,
    }
    names = [name for name, _ in given]
    known = len(set(names)) == len(names) and set(names) <= set(values)
    require(known, cl.CL_INVALID_VALUE, "a property is not known, or given twice")
    normalized, addressing, filter = (values | dict(given)).values()
    array = host.pack_properties(given) if properties else b""
    return _sampler(context, normalized, addressing, filter, array)


def _image(queue: Queue, handle: int) -> Image:
    """An image of the queue's context."""
    image = Memory.find(handle)
    require(isinstance(image, Image), cl.CL_INVALID_MEM_OBJECT, "the memory is no image")
    require(image.context is queue.context, cl.CL_INVALID_CONTEXT, "the image is of another context")
    assert isinstance(image, Image)
    return image


def _three(address: int) -> tuple[int, ...]:
    require(address, cl.CL_INVALID_VALUE, "origin or region is not there")
    return host.read_sizes(address, 3)


def _texels(image: Image, origin: int, region: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """An origin and a region in an image, checked."""
    start, size = _three(origin), _three(region)
    image.check_box(start, size)
    return start, size


def _transfer(
    reads: bool, queue: Queue, handle: int, blocking: int, origin: int, region: int, row: int, slice_: int,
    pointer: int,
) -> Submission:  # fmt: skip
    """Copy a box of an image to the program's memory, or the other way."""
    image = _image(queue, handle)
    start, size = _texels(image, origin, region)
    require(pointer, cl.CL_INVALID_VALUE, "there is no place to read to" if reads else "there is nothing to write")
    own, other = image.box(start, size), image.outside(size, row, slice_)
    image.check_host(reads=reads, writes=not reads)
    outside = host.view(pointer, other.end)

    def work() -> None:
        if reads:
            copy_rectangle(image.data, own, outside, other)
        else:
            copy_rectangle(outside, other, image.data, own)

    command = cl.CL_COMMAND_READ_IMAGE if reads else cl.CL_COMMAND_WRITE_IMAGE
    return Submission(command, work, CommandAccesses.of_host((image, own), reads), blocking)


@enqueues
def clEnqueueReadImage(
    queue: Queue, handle: int, blocking: int, origin: int, region: int, row: int, slice_: int, pointer: int
) -> Submission:
    """Copy a box of texels to the program's memory; pitches are in bytes, 0 for no gaps."""
    return _transfer(True, queue, handle, blocking, origin, region, row, slice_, pointer)


@enqueues
def clEnqueueWriteImage(
    queue: Queue, handle: int, blocking: int, origin: int, region: int, row: int, slice_: int, pointer: int
) -> Submission:
    """Copy a box of texels from the program's memory; pitches are in bytes, 0 for no gaps."""
    return _transfer(False, queue, handle, blocking, origin, region, row, slice_, pointer)


@enqueues
def clEnqueueCopyImage(
    queue: Queue, source: int, target: int, source_origin: int, target_origin: int, region: int
) -> Submission:
    """Copy a box of texels between images of one format."""
    given, taken = _image(queue, source), _image(queue, target)
    same = given.format[:2] == taken.format[:2]
    require(same, cl.CL_IMAGE_FORMAT_MISMATCH, "the images have different formats")
    start, size = _texels(given, source_origin, region)
    end, _ = _texels(taken, target_origin, region)
    own, other = given.box(start, size), taken.box(end, size)
    apart = given is not taken or not overlap(own, other, 0)
    require(apart, cl.CL_MEM_COPY_OVERLAP, "source and target overlap")
    work = lambda: copy_rectangle(given.data, own, taken.data, other)  # noqa: E731
    return Submission(cl.CL_COMMAND_COPY_IMAGE, work, CommandAccesses((given, own), (taken, other)))


def _in_buffer(image: Image, offset: int, size: tuple[int, ...], room: int) -> Rectangle:
    """Texels in a buffer, without gaps."""
    box = image.outside(size, 0, 0)._replace(start=offset)
    box.check(room)
    return box


@enqueues
def clEnqueueCopyImageToBuffer(
    queue: Queue, source: int, target: int, origin: int, region: int, offset: int
) -> Submission:
    """Copy a box of texels to a buffer, without gaps."""
    image, buffer = _image(queue, source), own_buffer(queue.context, target)
    start, size = _texels(image, origin, region)
    own, other = image.box(start, size), _in_buffer(image, offset, size, buffer.size)

    def work() -> None:
        copy_rectangle(image.data, own, buffer.data, other)
        buffer.note_box(other)

    accesses = CommandAccesses((image, own), (buffer, other))
    return Submission(cl.CL_COMMAND_COPY_IMAGE_TO_BUFFER, work, accesses)


@enqueues
def clEnqueueCopyBufferToImage(
    queue: Queue, source: int, target: int, offset: int, origin: int, region: int
) -> Submission:
    """Copy texels from a buffer, without gaps, to a box."""
    buffer, image = own_buffer(queue.context, source), _image(queue, target)
    start, size = _texels(image, origin, region)
    own, other = image.box(start, size), _in_buffer(image, offset, size, buffer.size)
    work = lambda: copy_rectangle(buffer.data, other, image.data, own)  # noqa: E731
    accesses = CommandAccesses((buffer, other), (image, own))
    return Submission(cl.CL_COMMAND_COPY_BUFFER_TO_IMAGE, work, accesses)


@enqueues
def clEnqueueFillImage(queue: Queue, handle: int, colour: int, origin: int, region: int) -> Submission:
    """Write one colour to a box of texels."""
    image = _image(queue, handle)
    require(colour, cl.CL_INVALID_VALUE, "there is no colour")
    start, size = _texels(image, origin, region)
    box, texel = image.box(start, size), host.as_array(image.format.texel(colour))

    def work() -> None:
        rows = box.of_bytes(image.data)
        rows[:] = host.repeated(texel, rows.shape[-1])

    return Submission(cl.CL_COMMAND_FILL_IMAGE, work, CommandAccesses(None, (image, box)))


@enqueues
def clEnqueueMapImage(
    queue: Queue, handle: int, blocking: int, flags: int, origin: int, region: int, row_ret: int, slice_ret: int
) -> Submission:
    """Give the program the address of a box of texels, and the pitches there in bytes."""
    image = _image(queue, handle)
    check_map_flags(flags)
    start, size = _texels(image, origin, region)
    has_slices = bool(image.slice_pitch)
    require(row_ret and (slice_ret or not has_slices), cl.CL_INVALID_VALUE, "there is no place for the pitches")
    image.check_host(reads=bool(flags & cl.CL_MAP_READ), writes=bool(flags & ~cl.CL_MAP_READ))
    inside = image.box(start, size)
    if image.shown is None:
        pointer, row, slice_ = address_of(image.data) + inside.start, inside.row, inside.slice
        mapping = image.note_mapping(Mapping(pointer))
        work = nothing
    else:
        shown = image.box(start, size, image.shape.row_pitch, image.shape.slice_pitch)
        outside = host.view(image.host_ptr, image.shown.end)
        pointer, row, slice_ = image.host_ptr + shown.start, shown.row, shown.slice
        writes = bool(flags & ~cl.CL_MAP_READ)
        back = (lambda: copy_rectangle(outside, shown, image.data, inside)) if writes else nothing
        mapping = image.note_mapping(Mapping(pointer, unmap=back))
        work = lambda: copy_rectangle(image.data, inside, outside, shown)  # noqa: E731
    one_row = image.kind == cl.CL_MEM_OBJECT_IMAGE1D_ARRAY
    host.write_size(row_ret, row)
    host.write_size(slice_ret, row if one_row else slice_ if has_slices else 0)
    accesses = CommandAccesses.of_map((image, inside), flags, mapping.turns)
    return Submission(cl.CL_COMMAND_MAP_IMAGE, work, accesses, blocking, address=pointer)
