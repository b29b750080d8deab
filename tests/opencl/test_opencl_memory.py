"""The OpenCL driver: images, samplers, and memory that the program and kernels know by the same address."""

import ctypes
import gc
import math
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from support.ocloc import needs_ocloc
from support.opencl_host import Session, only_device, sizes, text
from support.programs import eventually
from support.strategies import FUZZ
from test_opencl import XELP, function_address

from visakit.runtime import cl
from visakit.runtime.context import Context
from visakit.runtime.images import AXES, ELEMENTS, ORDERS, formats
from vsim.engines.llvm.improvement import Compilation
from vsim.memory.images import ImageFormat

only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))
FREED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)
RGBA8, R32F = (cl.CL_RGBA, cl.CL_UNORM_INT8), (cl.CL_R, cl.CL_FLOAT)


@pytest.fixture
def session():
    return Session(XELP)


def image(session, format, kind, width, height=0, depth=0, layers=0, flags=0, pitches=(0, 0), host=None, buffer=0):
    shape = struct.pack("<I4xQQQQQQIIQ", kind, width, height, depth, layers, *pitches, 0, 0, buffer)
    given = np.frombuffer(struct.pack("<II", *format), np.uint8), np.frombuffer(shape, np.uint8)
    return session.host.clCreateImage(session.context, flags, *given, host)


def read_image(session, made, origin, region, pitches=(0, 0), dtype="u1", count=0):
    out = np.zeros(count, dtype)
    session.host.clEnqueueReadImage(
        session.queue, made, 1, sizes(*origin), sizes(*region), *pitches, out, 0, None, None
    )
    return out


# -- images


def test_texels_are_written_read_copied_filled(session):
    host, queue = session.host, session.queue
    texels = np.arange(8 * 4 * 4, dtype="u1").reshape(4, 8, 4)
    flags = cl.CL_MEM_COPY_HOST_PTR
    one = image(session, RGBA8, cl.CL_MEM_OBJECT_IMAGE2D, 8, 4, flags=flags, host=texels)
    assert (read_image(session, one, (0, 0, 0), (8, 4, 1), count=128).reshape(4, 8, 4) == texels).all()
    other = image(session, RGBA8, cl.CL_MEM_OBJECT_IMAGE2D, 8, 4)
    host.clEnqueueCopyImage(queue, one, other, sizes(2, 1, 0), sizes(0, 2, 0), sizes(3, 2, 1), 0, None, None)
    colour = np.array([1.0, 0.5, -3.0, 0.0], "f4")
    host.clEnqueueFillImage(queue, other, colour, sizes(7, 0, 0), sizes(1, 2, 1), 0, None, None)
    expected = np.zeros_like(texels)
    expected[2:4, 0:3] = texels[1:3, 2:5]
    expected[:2, 7] = 255, 128, 0, 0
    assert (read_image(session, other, (0, 0, 0), (8, 4, 1), count=128).reshape(4, 8, 4) == expected).all()
    host.clEnqueueWriteImage(queue, other, 1, sizes(1, 1, 0), sizes(2, 1, 1), 0, 0, np.full(8, 77, "u1"), 0, None, None)
    expected[1, 1:3] = 77
    wide = read_image(session, other, (0, 1, 0), (8, 2, 1), (40, 0), count=72)
    assert (wide[:32].reshape(8, 4) == expected[1]).all() and (wide[40:].reshape(8, 4) == expected[2]).all()
    buffer = session.buffer(np.zeros(40, "u1"))
    host.clEnqueueCopyImageToBuffer(queue, other, buffer, sizes(0, 1, 0), sizes(4, 2, 1), 8, 0, None, None)
    assert (session.read(buffer, "u1", 40)[8:].reshape(2, 4, 4) == expected[1:3, :4]).all()
    host.clEnqueueCopyBufferToImage(queue, buffer, one, 8, sizes(0, 0, 0), sizes(4, 2, 1), 0, None, None)
    assert (read_image(session, one, (0, 0, 0), (4, 2, 1), count=32).reshape(2, 4, 4) == expected[1:3, :4]).all()


def test_layers_and_slices(session):
    host = session.host
    texels = np.arange(3 * 4 * 5, dtype="f4")
    for kind, given, region in (
        (cl.CL_MEM_OBJECT_IMAGE3D, {"height": 4, "depth": 3}, (5, 4, 3)),
        (cl.CL_MEM_OBJECT_IMAGE2D_ARRAY, {"height": 4, "layers": 3}, (5, 4, 3)),
        (cl.CL_MEM_OBJECT_IMAGE1D_ARRAY, {"layers": 12}, (5, 12, 1)),
    ):
        made = image(session, R32F, kind, 5, flags=cl.CL_MEM_COPY_HOST_PTR, host=texels, **given)
        assert (read_image(session, made, (0, 0, 0), region, dtype="f4", count=60) == texels).all()
        ask = lambda name, made=made: host.number("clGetImageInfo", made, name)  # noqa: E731
        assert ask(cl.CL_IMAGE_WIDTH) == 5 and ask(cl.CL_IMAGE_ELEMENT_SIZE) == 4 and ask(cl.CL_IMAGE_ROW_PITCH) == 20
        assert ask(cl.CL_IMAGE_SLICE_PITCH) == (20 if kind == cl.CL_MEM_OBJECT_IMAGE1D_ARRAY else 80)
        assert ask(cl.CL_IMAGE_ARRAY_SIZE) == given.get("layers", 0) and ask(cl.CL_IMAGE_DEPTH) == given.get("depth", 0)
        part = read_image(session, made, (1, 2, 0), (2, 1, 1), dtype="f4", count=2)
        assert list(part) == [11, 12]


def test_an_image_over_a_buffer_and_one_over_rows_with_gaps(session):
    host, queue = session.host, session.queue
    buffer = session.buffer(np.arange(16, dtype="f4"))
    row = image(session, R32F, cl.CL_MEM_OBJECT_IMAGE1D_BUFFER, 16, buffer=buffer)
    host.clEnqueueFillImage(queue, row, np.full(4, 5, "f4"), sizes(3, 0, 0), sizes(2, 1, 1), 0, None, None)
    assert list(session.read(buffer, "f4", 6)) == [0, 1, 2, 5, 5, 5]
    assert host.number("clGetImageInfo", row, cl.CL_IMAGE_BUFFER) == buffer
    memory = np.arange(24, dtype="f4")
    flags = cl.CL_MEM_USE_HOST_PTR
    gaps = image(session, R32F, cl.CL_MEM_OBJECT_IMAGE2D, 4, 3, flags=flags, pitches=(32, 0), host=memory)
    assert list(read_image(session, gaps, (0, 1, 0), (4, 1, 1), dtype="f4", count=4)) == [8, 9, 10, 11]
    pitch = sizes(0)
    where = (sizes(1, 1, 0), sizes(2, 2, 1), pitch, None)
    both = cl.CL_MAP_READ | cl.CL_MAP_WRITE
    pointer = host.clEnqueueMapImage(queue, gaps, 1, both, *where, 0, None, None)
    assert pointer == memory.ctypes.data + 36 and int(pitch[0]) == 32
    memory[17] = 99
    host.clEnqueueUnmapMemObject(queue, gaps, pointer, 0, None, None)
    assert list(read_image(session, gaps, (0, 2, 0), (4, 1, 1), dtype="f4", count=4)) == [16, 99, 18, 19]
    tight = image(session, R32F, cl.CL_MEM_OBJECT_IMAGE2D, 8, 3, flags=flags, host=memory)
    host.clEnqueueFillImage(queue, tight, np.full(4, 7, "f4"), sizes(0, 0, 0), sizes(1, 1, 1), 0, None, None)
    host.clFinish(queue)
    assert memory[0] == 7


def test_unsupported_images_are_refused(session):
    def status(*given, **more):
        try:
            image(session, *given, **more)
        except Exception as problem:
            return problem.status
        return cl.CL_SUCCESS

    flat = cl.CL_MEM_OBJECT_IMAGE2D
    assert status((cl.CL_RGB, cl.CL_UNORM_INT8), flat, 4, 4) == cl.CL_IMAGE_FORMAT_NOT_SUPPORTED
    assert status((cl.CL_BGRA, cl.CL_FLOAT), flat, 4, 4) == cl.CL_IMAGE_FORMAT_NOT_SUPPORTED
    assert status(R32F, 0x1234, 4, 4) == cl.CL_INVALID_IMAGE_DESCRIPTOR
    assert status(R32F, flat, 4, 0) == cl.CL_INVALID_IMAGE_DESCRIPTOR
    assert status(R32F, flat, 1 << 20, 4) == cl.CL_INVALID_IMAGE_SIZE
    assert status(R32F, flat, 4, 4, pitches=(16, 0)) == cl.CL_INVALID_IMAGE_DESCRIPTOR
    assert status(R32F, flat, 4, 4, host=np.zeros(16, "f4")) == cl.CL_INVALID_HOST_PTR
    given = {"flags": cl.CL_MEM_COPY_HOST_PTR, "host": np.zeros(16, "f4")}
    assert status(R32F, flat, 4, 4, pitches=(8, 0), **given) == cl.CL_INVALID_IMAGE_DESCRIPTOR
    made, host, queue = image(session, R32F, flat, 4, 4), session.host, session.queue
    out = np.zeros(64, "f4")
    outside = (sizes(2, 0, 0), sizes(3, 1, 1), 0, 0, out, 0, None, None)
    assert host.status("clEnqueueReadImage", queue, made, 1, *outside) == cl.CL_INVALID_VALUE
    assert host.status("clEnqueueReadBuffer", queue, made, 1, 0, 4, out, 0, None, None) == cl.CL_INVALID_MEM_OBJECT
    other = image(session, RGBA8, flat, 4, 4)
    box = (sizes(0, 0, 0), sizes(0, 0, 0), sizes(1, 1, 1), 0, None, None)
    assert host.status("clEnqueueCopyImage", queue, made, other, *box) == cl.CL_IMAGE_FORMAT_MISMATCH
    near = (sizes(0, 0, 0), sizes(1, 1, 0), sizes(2, 2, 1), 0, None, None)
    assert host.status("clEnqueueCopyImage", queue, made, made, *near) == cl.CL_MEM_COPY_OVERLAP


def test_formats_that_are_said_are_taken(session):
    host, count = session.host, np.zeros(1, np.uint32)
    for kind in (cl.CL_MEM_OBJECT_IMAGE2D, cl.CL_MEM_OBJECT_IMAGE3D):
        host.clGetSupportedImageFormats(session.context, cl.CL_MEM_READ_WRITE, kind, 0, None, count)
        pairs = np.zeros((int(count[0]), 2), np.uint32)
        host.clGetSupportedImageFormats(session.context, cl.CL_MEM_READ_WRITE, kind, len(pairs), pairs, None)
        assert [tuple(p) for p in pairs.tolist()] == formats(cl.CL_MEM_READ_WRITE, kind) and len(pairs) > 30
        for order, element in pairs.tolist():
            image(session, (order, element), kind, 2, 2, 2)
    assert {o for o, _ in formats(cl.CL_MEM_READ_ONLY, cl.CL_MEM_OBJECT_IMAGE2D)} == set(ORDERS)
    assert len(ELEMENTS) == 12


@needs_ocloc
@pytest.mark.parametrize("platform", ["skl", "tgllp", "dg2"])
def test_kernels_sample_and_write_images(platform, request):
    request.getfixturevalue("only_tgllp")(platform)
    source = """kernel void turn(read_only image2d_t from, sampler_t how, write_only image2d_t to, read_only image2d_array_t more) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  float4 texel = read_imagef(from, how, (float2)((at.x + 0.5f) / 8, (3.5f - at.y) / 4));
  write_imagef(to, at, texel + (float4)(get_image_width(from) / 255.0f, 0, 0, 0) + read_imagef(more, (int4)(at, 1, 0)));
}"""
    session = Session(None)
    program = session.build(source)
    host = session.host
    texels = np.arange(128, dtype="u1").reshape(4, 8, 4)
    more = np.zeros((2, 4, 8, 1), "f4")
    more[1, 2, 3] = 16 / 255
    given = {"flags": cl.CL_MEM_COPY_HOST_PTR | cl.CL_MEM_READ_ONLY}
    one = image(session, RGBA8, cl.CL_MEM_OBJECT_IMAGE2D, 8, 4, host=texels, **given)
    layers = image(session, R32F, cl.CL_MEM_OBJECT_IMAGE2D_ARRAY, 8, 4, layers=2, host=more, **given)
    to = image(session, RGBA8, cl.CL_MEM_OBJECT_IMAGE2D, 8, 4, flags=cl.CL_MEM_WRITE_ONLY)
    how = host.clCreateSampler(session.context, 1, cl.CL_ADDRESS_CLAMP_TO_EDGE, cl.CL_FILTER_NEAREST)
    kernel = session.kernel("turn", one, how, to, layers, program=program)
    assert host.status("clSetKernelArg", kernel, 0, 8, sizes(to)) == cl.CL_INVALID_ARG_VALUE  # write-only
    assert host.status("clSetKernelArg", kernel, 3, 8, sizes(one)) == cl.CL_INVALID_MEM_OBJECT  # no layers
    assert host.status("clSetKernelArg", kernel, 1, 8, sizes(one)) == cl.CL_INVALID_SAMPLER
    buffer = session.buffer(np.zeros(4, "f4"))
    assert host.status("clSetKernelArg", kernel, 0, 8, sizes(buffer)) == cl.CL_INVALID_MEM_OBJECT  # no image
    question = cl.CL_KERNEL_ARG_ACCESS_QUALIFIER
    assert host.number("clGetKernelArgInfo", kernel, 2, question) == cl.CL_KERNEL_ARG_ACCESS_WRITE_ONLY
    session.run(kernel, (8, 4))
    expected = texels[::-1].astype(int)
    expected[..., 0] += 8
    expected[2, 3, 0] += 16
    expected[..., 3] += 255  # alpha of the layers' format is 1
    out = read_image(session, to, (0, 0, 0), (8, 4, 1), count=128).reshape(4, 8, 4)
    assert (out == np.minimum(expected, 255)).all()


MOVES = {
    cl.CL_MEM_OBJECT_IMAGE1D: ("image1d_t", "get_global_id(0)", "4"),
    cl.CL_MEM_OBJECT_IMAGE2D: ("image2d_t", "(int2)(get_global_id(0), 0)", "(int2)(4, 1)"),
    cl.CL_MEM_OBJECT_IMAGE1D_ARRAY: ("image1d_array_t", "(int2)(get_global_id(0), 0)", "(int2)(4, 1)"),
    cl.CL_MEM_OBJECT_IMAGE3D: ("image3d_t", "(int4)(get_global_id(0), 0, 0, 0)", "(int4)(4, 1, 1, 0)"),
    cl.CL_MEM_OBJECT_IMAGE2D_ARRAY: ("image2d_array_t", "(int4)(get_global_id(0), 0, 0, 0)", "(int4)(4, 1, 1, 0)"),
}
MOVE = """kernel void move_{0}(read_write {1} it) {{
  {2} at = {3}; write_image{0}(it, at + {4}, read_image{0}(it, at));
}}
"""


@needs_ocloc
@pytest.mark.parametrize(("part", "platform"), [(0, "skl"), (1, "tgllp"), (2, "dg2")])
def test_images_that_a_kernel_reads_and_writes(part, platform, request):
    """In every kind and format, the texels are those of the first half of an image, bit by bit.

    A third of the kinds and formats go to one platform each, in ``make fuzz`` all to all; every platform has all kinds.
    """
    request.getfixturevalue("only_tgllp")(platform)
    session = Session(None)
    for k, (kind, (name, at, step)) in enumerate(MOVES.items()):
        vector = step.partition(")")[0].lstrip("(") if "(" in step else "int"
        program = session.build(
            "".join(MOVE.format(c, name, vector, at, step) for c in ("f", "i", "ui")), "-cl-std=CL3.0"
        )
        axes = {"height": 2, "depth": 2, "layers": 2}
        axes = axes if kind != cl.CL_MEM_OBJECT_IMAGE1D else {}
        both = formats(cl.CL_MEM_KERNEL_READ_AND_WRITE, kind)
        assert (
            len(both) > 30
            and session.host.number("clGetDeviceInfo", session.device, cl.CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS) >= 64
        )
        for order, element in both:
            if order == cl.CL_DEPTH:
                continue  # Depth images are a separate kind.
            if not FUZZ and (k + list(ORDERS).index(order) + list(ELEMENTS).index(element)) % 9 != 4 * part:
                continue  # Of the five kinds of images at least one has each format.
            form = ImageFormat(ORDERS[order], ELEMENTS[element])
            texels = np.arange(1, 1 + 32 * form.channels).astype(form.dtype).reshape(-1, 8, form.channels)
            texels = texels[:1] if not axes else texels
            one = image(session, (order, element), kind, 8, host=texels, flags=cl.CL_MEM_COPY_HOST_PTR, **axes)
            letter = {"i": "i", "u": "ui"}.get(form.element[0], "f") if "norm" not in form.element else "f"
            session.run(session.kernel(f"move_{letter}", one, program=program), (4,))
            last = {1: (8, 1, 1), 2: (8, 2, 1), 3: (8, 2, 2)}[AXES[kind]]
            out = read_image(
                session, one, (0, 0, 0), last, dtype=form.dtype, count=8 * form.channels * math.prod(last[1:])
            )
            assert (out.reshape(-1, 8, form.channels)[-1, 4:] == texels[0, :4]).all(), (platform, name, str(form))


LOOK = """kernel void look(read_only image2d_t from, sampler_t how, global int4 *to, float2 step, int whole) {
  int i = get_global_id(0) - 5;
  to[i + 5] = whole ? read_imagei(from, how, (int2)(i, 1)) : read_imagei(from, how, (float2)(i + 0.5f, 1.5f) * step);
  if (i == 0) to[16] = (int4)(get_image_channel_data_type(from), get_image_channel_order(from), get_image_dim(from));
}"""


@needs_ocloc
@pytest.mark.parametrize("platform", ["skl", "tgllp", "dg2"])
def test_whole_numbers_are_sampled_by_the_addressing_mode(platform, request):
    """The compiler lets kernels do a part of it, depending on the sampler's state."""
    request.getfixturevalue("only_tgllp")(platform)
    session = Session(None)
    program = session.build(LOOK)
    host = session.host
    texels = np.arange(-16, 16, dtype="i1").reshape(2, 4, 4)
    flags = cl.CL_MEM_COPY_HOST_PTR | cl.CL_MEM_READ_ONLY
    one = image(session, (cl.CL_RGBA, cl.CL_SIGNED_INT8), cl.CL_MEM_OBJECT_IMAGE2D, 4, 2, host=texels, flags=flags)
    places = np.arange(-5, 11)
    turned = np.where(places % 8 < 4, places % 8, 7 - places % 8)
    inside = np.clip(places, 0, 3)
    for mode, normalized, expected in (
        (cl.CL_ADDRESS_CLAMP_TO_EDGE, 0, inside), (cl.CL_ADDRESS_CLAMP, 0, None),
        (cl.CL_ADDRESS_CLAMP_TO_EDGE, 1, inside), (cl.CL_ADDRESS_CLAMP, 1, None),
        (cl.CL_ADDRESS_REPEAT, 1, places % 4), (cl.CL_ADDRESS_MIRRORED_REPEAT, 1, turned),
    ):  # fmt: skip
        how = host.clCreateSampler(session.context, normalized, mode, cl.CL_FILTER_NEAREST)
        wanted = texels[1][inside if expected is None else expected].astype(int)
        if expected is None:
            wanted[(places < 0) | (places > 3)] = 0
        for whole in (0,) if normalized else (0, 1):
            out = session.buffer(np.zeros(17 * 4, "i4"))
            step = np.array([0.25, 0.5] if normalized else [1, 1], "f4")
            session.run(session.kernel("look", one, how, out, step, np.array([whole], "i4"), program=program), (16,))
            found = session.read(out, "i4", 68).reshape(17, 4)
            assert (found[:16] == wanted).all(), (mode, normalized, whole, found[:16].tolist(), wanted.tolist())
            assert found[16].tolist() == [cl.CL_SIGNED_INT8, cl.CL_RGBA, 4, 2]


# -- memory with one address


@pytest.mark.parametrize("is_usm", [False, True])
def test_memory_that_is_freed_too_early_stays_until_queued_commands_are_over(session, is_usm):
    """The program's mistake, which Intel's driver does not notice, either: no signal."""
    host, mine = session.host, session.host.clCreateUserEvent(session.context)
    if is_usm:
        place, free = host.clHostMemAllocINTEL(session.context, None, 1 << 20, 0), "clMemFreeINTEL"
    else:
        place, free = host.clSVMAlloc(session.context, cl.CL_MEM_READ_WRITE, 1 << 20, 0), "clSVMFree"
    host.clEnqueueSVMMemFill(session.queue, place, np.array([7], "u4"), 4, 1 << 20, 1, sizes(mine), None)
    getattr(host, free)(session.context, place)
    kernel = session.kernel("saxpy")
    assert host.status("clSetKernelArgSVMPointer", kernel, 0, place) == cl.CL_INVALID_ARG_VALUE
    assert ctypes.string_at(place, 4) == bytes(4)
    host.clSetUserEventStatus(mine, cl.CL_COMPLETE)
    host.clFinish(session.queue)
    # The thread of the queue gives the memory back after it lets this one go.
    assert eventually(lambda: f"{place:x}-" not in Path("/proc/self/maps").read_text())


def test_svm_is_at_the_same_address_for_all(session):
    host, queue = session.host, session.queue
    flags = cl.CL_MEM_READ_WRITE | cl.CL_MEM_SVM_FINE_GRAIN_BUFFER
    y, x = (host.clSVMAlloc(session.context, flags, 64, 64) for _ in range(2))
    assert y and x and y != x and y % 128 == 0
    host.clEnqueueSVMMemFill(queue, y, np.array([1], "f4"), 4, 64, 0, None, None)
    given = np.arange(16, dtype="f4")
    host.clEnqueueSVMMemcpy(queue, 1, x, given, 64, 0, None, None)
    kernel = session.kernel("saxpy")
    host.clSetKernelArgSVMPointer(kernel, 0, y)
    host.clSetKernelArgSVMPointer(kernel, 1, x + 16)
    host.clSetKernelArg(kernel, 2, 4, np.array([2], "f4"))
    host.clSetKernelArg(kernel, 3, 4, np.array([12], "u4"))
    host.clSetKernelExecInfo(kernel, cl.CL_KERNEL_EXEC_INFO_SVM_PTRS, 16, sizes(x, y))
    session.run(kernel, (12,))
    host.clEnqueueSVMMap(queue, 1, cl.CL_MAP_READ, y, 64, 0, None, None)
    out = np.ctypeslib.as_array((ctypes.c_float * 16).from_address(y))
    assert (out[:12] == 1 + 2 * given[4:] * np.resize([1, 2, 4, 8], 12)).all() and (out[12:] == 1).all()
    host.clEnqueueSVMUnmap(queue, y, 0, None, None)
    assert host.status("clSetKernelArgSVMPointer", kernel, 0, 0x1234) == cl.CL_INVALID_ARG_VALUE
    assert host.status("clSetKernelArgSVMPointer", kernel, 2, y) == cl.CL_INVALID_ARG_INDEX
    assert host.status("clEnqueueSVMMemcpy", queue, 1, x, x + 4, 8, 0, None, None) == cl.CL_MEM_COPY_OVERLAP
    for call in (
        ("clEnqueueSVMMemcpy", queue, 1, x + 4, given, 64),
        ("clEnqueueSVMMemcpy", queue, 1, given, x + 60, 8),
        ("clEnqueueSVMMemFill", queue, x, np.array([1], "f4"), 4, 68),
        ("clEnqueueSVMMemFill", queue, given, np.array([1], "f4"), 4, (1 << 64) - 4),
    ):
        assert host.status(*call, 0, None, None) == cl.CL_INVALID_VALUE, call
    over = host.clCreateBuffer(session.context, cl.CL_MEM_USE_HOST_PTR, 32, x)
    too_large = (session.context, cl.CL_MEM_USE_HOST_PTR, 61, x + 4)
    assert host.status("clCreateBuffer", *too_large) == cl.CL_INVALID_BUFFER_SIZE
    host.clSetKernelExecInfo(kernel, cl.CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, None)
    assert host.number("clGetMemObjectInfo", over, cl.CL_MEM_USES_SVM_POINTER) == 1
    host.clSVMFree(session.context, y)
    assert host.status("clSetKernelArgSVMPointer", kernel, 0, y) == cl.CL_INVALID_ARG_VALUE
    assert host.status("clEnqueueSVMMemcpy", queue, 1, x, y, 64, 0, None, None) == cl.CL_INVALID_VALUE
    freed = []
    function = FREED(lambda queue, count, pointers, user: freed.append([pointers[n] for n in range(count)]))
    host.clEnqueueSVMFree(queue, 1, sizes(x), function_address(function), None, 0, None, None)
    host.clFinish(queue)
    assert freed == [[x]]
    assert host.clSVMAlloc(session.context, flags, 0, 0) == 0 and host.clSVMAlloc(session.context, flags, 64, 3) == 0


def test_memory_that_was_freed_is_a_fault_and_no_crash(session, capfd):
    host = session.host
    y = host.clSVMAlloc(session.context, 0, 64, 0)
    kernel = session.kernel("saxpy")
    for index in (0, 1):
        host.clSetKernelArgSVMPointer(kernel, index, y)
    host.set_arguments(kernel)
    host.clSetKernelArg(kernel, 2, 4, np.array([2], "f4"))
    host.clSetKernelArg(kernel, 3, 4, np.array([16], "u4"))
    host.clSVMFree(session.context, y)
    event = session.run(kernel, (16,))
    assert host.status("clWaitForEvents", 1, sizes(event)) != cl.CL_SUCCESS
    assert session.event_status(event) < 0 and "kernel 'saxpy'" in capfd.readouterr().err


def test_unified_shared_memory(session):
    host, queue = session.host, session.queue
    made = {
        cl.CL_MEM_TYPE_HOST_INTEL: host.clHostMemAllocINTEL(session.context, None, 64, 0),
        cl.CL_MEM_TYPE_DEVICE_INTEL: host.clDeviceMemAllocINTEL(session.context, session.device, None, 64, 64),
        cl.CL_MEM_TYPE_SHARED_INTEL: host.clSharedMemAllocINTEL(session.context, session.device, None, 64, 0),
    }
    ask = "clGetMemAllocInfoINTEL"
    for kind, pointer in made.items():
        assert host.number(ask, session.context, pointer + 8, cl.CL_MEM_ALLOC_TYPE_INTEL) == kind
        assert host.number(ask, session.context, pointer + 8, cl.CL_MEM_ALLOC_BASE_PTR_INTEL) == pointer
        assert host.number(ask, session.context, pointer + 8, cl.CL_MEM_ALLOC_SIZE_INTEL) == 64
    assert host.number(ask, session.context, 0x10, cl.CL_MEM_ALLOC_TYPE_INTEL) == cl.CL_MEM_TYPE_UNKNOWN_INTEL
    one, two, _ = made.values()
    host.clEnqueueMemFillINTEL(queue, one, np.array([3], "u2"), 2, 64, 0, None, None)
    host.clEnqueueMemcpyINTEL(queue, 1, two, one, 64, 0, None, None)
    assert ctypes.string_at(two, 4) == b"\3\0\3\0"
    kernel = session.kernel("saxpy")
    host.clSetKernelArgMemPointerINTEL(kernel, 0, two)
    for pointer in made.values():
        host.clMemBlockingFreeINTEL(session.context, pointer)
    assert host.status("clMemFreeINTEL", session.context, one) == cl.CL_INVALID_VALUE
    assert host.status("clHostMemAllocINTEL", session.context, None, 0, 0) == cl.CL_INVALID_BUFFER_SIZE
    gc.collect()


def test_destructors_that_wait_in_the_midst_of_a_command_do_not_wait_for_it(session):
    """Python's collector runs them in whatever thread makes objects, that of a queue among them."""
    host, queue = session.host, session.queue
    x, y = (host.clSharedMemAllocINTEL(session.context, session.device, None, 64, 0) for _ in range(2))
    called = []

    def destructor(*given):
        host.clMemBlockingFreeINTEL(session.context, y)
        host.clFinish(queue)
        called.append(True)

    function, event = FREED(destructor), sizes(0)
    host.clEnqueueSVMFree(queue, 1, sizes(x), function_address(function), None, 0, None, event)
    host.clEnqueueMarkerWithWaitList(queue, 0, None, None)
    waiting = threading.Thread(target=host.clFinish, args=(queue,), daemon=True)
    waiting.start()
    waiting.join(60)
    assert not waiting.is_alive() and called == [True]
    assert host.status("clMemFreeINTEL", session.context, y) == cl.CL_INVALID_VALUE


def test_destructors_that_wait_in_the_midst_of_a_call_do_not_wait_for_commands(session):
    """A call may hold a lock that the command takes; then memory is freed when the command is over."""
    host, queue = session.host, session.queue
    pointer = host.clSharedMemAllocINTEL(session.context, session.device, None, 64, 0)
    space, gate = Context.find(session.context).space, host.clCreateUserEvent(session.context)
    host.clEnqueueMarkerWithWaitList(queue, 1, sizes(gate), None)

    def free():
        with space.launch_lock:
            host.clMemBlockingFreeINTEL(session.context, pointer)

    freeing = threading.Thread(target=free, daemon=True)
    freeing.start()
    freeing.join(10)
    assert not freeing.is_alive() and pointer >> 32 in space.slots
    host.clSetUserEventStatus(gate, cl.CL_COMPLETE)
    host.clFinish(queue)
    assert eventually(lambda: pointer >> 32 not in space.slots)


def test_compilations_wait_for_no_command(session):
    """A command may wait for the compilation in whose thread a destructor runs."""
    host, gate = session.host, session.host.clCreateUserEvent(session.context)
    pointer = host.clSharedMemAllocINTEL(session.context, session.device, None, 64, 0)
    host.clEnqueueMarkerWithWaitList(session.queue, 1, sizes(gate), None)
    compilation = Compilation(lambda: host.clMemBlockingFreeINTEL(session.context, pointer) or b"code")
    assert compilation.wait(10) and compilation.packed() == b"code"
    host.clSetUserEventStatus(gate, cl.CL_COMPLETE)
    host.clFinish(session.queue)


def test_contexts_have_different_shared_memory():
    """However many there are."""
    sessions = [Session(XELP) for _ in range(2)]
    pointers = [s.host.clSVMAlloc(s.context, 0, 4096, 0) for s in (sessions[0],) * 100 + (sessions[1],)]
    assert len(set(pointers)) == 101 and all(pointers)


# -- sub-groups


def test_queries_of_sub_groups(session):
    host, kernel = session.host, session.kernel("saxpy")

    def ask(name, *given, count=1):
        out = np.zeros(count, np.uint64)
        data = sizes(*given)
        host.clGetKernelSubGroupInfo(kernel, session.device, name, data.nbytes, data, out.nbytes, out, None)
        return out.tolist()

    assert ask(cl.CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, 64, 2) == [32]
    assert ask(cl.CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE, 33) == [2]
    assert ask(cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, 3, count=3) == [96, 1, 1]
    assert ask(cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT, 1000, count=2) == [0, 0]
    assert ask(cl.CL_KERNEL_MAX_NUM_SUB_GROUPS) == [16]
    assert text("x").value == b"x"
