"""Modules of Level Zero from SPIR-V: build flags, logs, linking, and the calls of Triton's driver."""

import ctypes
import struct
import subprocess

import numpy as np
import pytest
from support.levelzero_host import Failed, Session, given, made, sizes
from support.ocloc import needs_ocloc
from support.opencl_host import only_device
from support.programs import DATA
from support.spirv import assembled

from visakit.levelzero import ze
from visakit.runtime.specialisation import constant_size, linkage

pytestmark = needs_ocloc
only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))
ADD = """
kernel void add(global float *x, global const float *y, uint n, global char *scratch, global char *profile) {
  uint i = get_global_id(0);
  if (i < n) x[i] += y[i];
}
"""
CALLS = "int square(int x); kernel void calls(global int *x) { x[get_global_id(0)] = square(x[get_global_id(0)]); }"
SQUARE = "int square(int x) { return x * x; }"


@pytest.fixture(scope="module")
def spirv(tmp_path_factory):
    """SPIR-V of OpenCL C."""
    folder = tmp_path_factory.mktemp("spirv")

    def compiled(source):
        (folder / "k.cl").write_text(source)
        words = [
            "ocloc",
            "compile",
            "-file",
            "k.cl",
            "-device",
            "tgllp",
            "-spv_only",
            "-output",
            "k",
            "-output_no_suffix",
        ]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
        return next(path for path in (folder / "k.spv", folder / "k") if path.exists()).read_bytes()

    return compiled


@pytest.fixture
def session():
    return Session(None)


def log_of(session, name, *values):
    """The result of a call whose last parameter is a log, and the log."""
    place = sizes(0)
    result = session.host.result(name, *values, place)
    words = session.host.text("zeModuleBuildLogGetString", int(place[0]))
    session.host.zeModuleBuildLogDestroy(int(place[0]))
    return result, words


def test_functions_that_the_driver_of_triton_calls(session, spirv):
    host = session.host
    memory = np.zeros(1, "u4")
    host.zeDeviceGetMemoryProperties(session.device, memory, None)
    assert memory[0] == 1
    module = session.load(spirv(ADD), flags="-cl-intel-256-GRF-per-thread")
    kernel = session.kernel("add", module=module, group=(64, 1, 1))
    properties = made("ze_kernel_properties_t", ze.ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES)
    host.zeKernelGetProperties(kernel, properties)
    assert (properties.numKernelArgs, properties.spillMemSize) == (5, 0)
    x, seen = session.shared(np.arange(100, dtype="f4"))
    y, _ = session.shared(np.full(100, 2, "f4"))
    session.set(kernel, x, y, np.uint32(100), 0, 0)
    session.launch(kernel, (2, 1, 1))
    session.finish()
    assert (seen == np.arange(100) + 2).all()


def test_a_kernel_in_the_shape_of_triton(session):
    module = session.load(
        assembled((DATA / "levelzero/triton_sum.spvasm").read_text()), flags="-cl-intel-256-GRF-per-thread"
    )
    numbers = np.arange(150, dtype="f4")
    x, _ = session.shared(numbers)
    out, sums = session.shared(np.zeros(3, "f4"))
    kernel = session.kernel("sum_kernel", x, out, np.uint32(150), 0, 0, ("local", 16), module=module, group=(64, 1, 1))
    session.launch(kernel, (3, 1, 1))
    session.finish()
    assert sums.tolist() == [numbers[at : at + 64].sum() for at in (0, 64, 128)]


def test_errors_are_in_the_log(session, spirv):
    damaged = spirv(ADD)[:64]
    target = sizes(0)
    desc = session.module_desc(damaged, ze.ZE_MODULE_FORMAT_IL_SPIRV)
    result, words = log_of(session, "zeModuleCreate", session.context, session.device, desc, target)
    assert result == ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE and words and not target[0]
    desc = session.module_desc(spirv(ADD), ze.ZE_MODULE_FORMAT_IL_SPIRV)
    assert log_of(session, "zeModuleCreate", session.context, session.device, desc, target) == (0, "")


def test_modules_are_linked_by_the_names_that_they_export(session, spirv):
    host = session.host
    caller, callee = session.load(spirv(CALLS)), session.load(spirv(SQUARE))
    properties = made("ze_module_properties_t", ze.ZE_STRUCTURE_TYPE_MODULE_PROPERTIES)
    host.zeModuleGetProperties(caller, properties)
    assert properties.flags == ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS
    with pytest.raises(Failed, match="INVALID_MODULE_UNLINKED"):
        session.kernel("calls", module=caller)
    inspect = made(
        "ze_linkage_inspection_ext_desc_t", ze.ZE_STRUCTURE_TYPE_LINKAGE_INSPECTION_EXT_DESC,
        flags=ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS,
    )  # fmt: skip
    assert log_of(session, "zeModuleInspectLinkageExt", inspect, 2, sizes(caller, callee)) == (0, "imports: square\n")
    assert log_of(session, "zeModuleDynamicLink", 2, sizes(caller, callee)) == (0, "")
    x, seen = session.shared(np.arange(16, dtype="i4"))
    session.launch(session.kernel("calls", x, module=caller, group=(16, 1, 1)), (1, 1, 1))
    session.finish()
    assert (seen == np.arange(16) ** 2).all()


TWICE = """
int square(int x);
int cube(int x);
kernel void twice(global int *x) { x[0] = square(x[0]) + cube(x[0]); }
"""


@pytest.mark.parametrize(
    "sources", [(CALLS,), (CALLS, ADD), (TWICE, SQUARE)], ids=["alone", "beside another", "one of two"]
)
def test_modules_without_a_function_that_they_use_cannot_be_linked(session, spirv, sources):
    modules = [session.load(spirv(source)) for source in sources]
    result, log = log_of(session, "zeModuleDynamicLink", len(modules), sizes(*modules))
    assert result == ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE
    assert ("cube" if sources[0] is TWICE else "square") in log
    with pytest.raises(Failed, match="INVALID_MODULE_UNLINKED"):
        session.kernel("calls" if sources[0] is CALLS else "twice", module=modules[0])


def test_several_modules_of_spirv_in_one(session, spirv):
    parts = [np.frombuffer(spirv(source), "u1") for source in (CALLS, SQUARE)]
    places, lengths = sizes(*(p.ctypes.data for p in parts)), sizes(*(p.size for p in parts))
    several = made(
        "ze_module_program_exp_desc_t", ze.ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, count=2,
        inputSizes=given(lengths), pInputModules=given(places),
    )  # fmt: skip
    desc = made("ze_module_desc_t", ze.ZE_STRUCTURE_TYPE_MODULE_DESC, pNext=given(several))
    target = sizes(0)
    session.host.zeModuleCreate(session.context, session.device, desc, target, None)
    x, seen = session.shared(np.arange(16, dtype="i4"))
    session.launch(session.kernel("calls", x, module=int(target[0]), group=(16, 1, 1)), (1, 1, 1))
    session.finish()
    assert (seen == np.arange(16) ** 2).all()


def test_several_program_binaries_in_one_module_are_refused(session):
    binary = np.frombuffer((DATA / "zebins" / "xelp.bin").read_bytes(), "u1")
    places, lengths = sizes(*[binary.ctypes.data] * 2), sizes(*[binary.size] * 2)
    several = made(
        "ze_module_program_exp_desc_t", ze.ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, count=2,
        inputSizes=given(lengths), pInputModules=given(places),
    )  # fmt: skip
    desc = made("ze_module_desc_t", ze.ZE_STRUCTURE_TYPE_MODULE_DESC, format=ze.ZE_MODULE_FORMAT_NATIVE)
    desc.pNext = given(several)
    with pytest.raises(Failed, match="UNSUPPORTED_FEATURE"):
        session.host.zeModuleCreate(session.context, session.device, desc, sizes(0), None)


def test_attributes_of_the_source(session, spirv):
    source = "__attribute__((reqd_work_group_size(8, 2, 1))) kernel void k(global int *x) { x[0] = 1; }"
    kernel = session.kernel("k", module=session.load(spirv(source)))
    size, place = np.zeros(1, "u4"), ctypes.create_string_buffer(200)
    session.host.zeKernelGetSourceAttributes(kernel, size, None)
    size[0] = 200
    session.host.zeKernelGetSourceAttributes(kernel, size, sizes(ctypes.addressof(place)))
    assert "reqd_work_group_size(8,2,1)" in place.value.decode() and size[0] == len(place.value) + 1
    with pytest.raises(Failed, match="GROUP_SIZE"):
        session.host.zeKernelSetGroupSize(kernel, 16, 1, 1)


def test_constants_have_the_sizes_of_their_types():
    def words(*numbers):
        return struct.pack(f"<{len(numbers)}I", *numbers)

    head = words(0x07230203, 0x10000, 0, 9, 0)
    types = words(4 << 16 | 21, 1, 16, 0, 3 << 16 | 22, 2, 64, 2 << 16 | 20, 3)
    decorations = b"".join(words(4 << 16 | 71, target, 1, number) for target, number in ((4, 10), (5, 11), (6, 12)))
    constants = words(4 << 16 | 50, 1, 4, 7, 5 << 16 | 50, 2, 5, 0, 0, 3 << 16 | 48, 3, 6)
    module = head + decorations + types + constants
    assert [constant_size(module, number) for number in (10, 11, 12)] == [2, 8, 1]


def test_names_that_are_linked(spirv):
    assert linkage(spirv(CALLS)).imports == ("square",)
    assert "square" in linkage(spirv(SQUARE)).exports


PICTURE = """
kernel void halve(read_only image2d_t in, write_only image2d_t out, sampler_t s) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(out, at, read_imageui(in, s, at) / 2);
}
"""


def test_images_samplers_and_copies(session, spirv):
    host = session.host
    first, second = session.image(8, 4), session.image(8, 4)
    sampler = host.made("zeSamplerCreate", session.context, session.device, made(
        "ze_sampler_desc_t", ze.ZE_STRUCTURE_TYPE_SAMPLER_DESC, addressMode=ze.ZE_SAMPLER_ADDRESS_MODE_CLAMP,
    ))  # fmt: skip
    texels = np.arange(128, dtype="u1").reshape(4, 8, 4)
    host.zeCommandListAppendImageCopyFromMemory(session.list, first, texels, None, None, 0, None)
    kernel = session.kernel("halve", first, second, sampler, module=session.load(spirv(PICTURE)), group=(8, 4, 1))
    session.launch(kernel, (1, 1, 1))
    part = made("ze_image_region_t", originX=2, originY=1, width=3, height=2, depth=1)
    whole, corner, third = np.zeros_like(texels), np.zeros((2, 3, 4), "u1"), session.image(8, 4)
    host.zeCommandListAppendImageCopy(session.list, third, second, None, 0, None)
    host.zeCommandListAppendImageCopyToMemory(session.list, whole, third, None, None, 0, None)
    host.zeCommandListAppendImageCopyToMemory(session.list, corner, second, part, None, 0, None)
    session.finish()
    assert (whole == texels // 2).all() and (corner == whole[1:3, 2:5]).all()
    outside = made("ze_image_region_t", originX=6, width=3, height=1, depth=1)
    copy = "zeCommandListAppendImageCopyToMemory", session.list, corner, second, outside, None, 0, None
    assert host.result(*copy) == ze.ZE_RESULT_ERROR_INVALID_SIZE
