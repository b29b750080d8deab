"""The OpenCL driver: functions called as a program calls them, on a program binary of the tests' data."""

import ctypes
import functools
import gc
import io
import re
import shutil
import struct
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support import levelzero_host
from support.opencl_host import Host, Session, only_device, sizes, text
from support.programs import DATA, eventually

from visakit.cli import APPS, choose
from visakit.commands.command import exit_code
from visakit.diagnostics import FileError, UsageError
from visakit.levelzero import ze
from visakit.objects.elf import read_elf
from visakit.opencl import interface
from visakit.opencl.calls import load
from visakit.opencl.devices import DEVICE_ANSWERS
from visakit.runtime import cl, device, kernels
from visakit.runtime.queue import Queue
from visakit.runtime.rectangles import Rectangle, overlap
from visakit.runtime.transfers import FILL_BLOCK

XELP = (DATA / "zebins" / "xelp.bin").read_bytes()
NOTIFY = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
EVENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)
GONE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))


@pytest.fixture
def session():
    return Session(XELP)


def function_address(made):
    return ctypes.cast(made, ctypes.c_void_p).value


# -- the table of functions


def test_every_function_of_the_table_is_there():
    served = {point.name for point in interface.served_points()}
    assert served == set(load())
    points = interface.entry_points()
    assert sum(point.in_table for point in points) == 149
    assert [p.name for p in points[:4]] == [
        "clGetPlatformIDs",
        "clGetPlatformInfo",
        "clGetDeviceIDs",
        "clGetDeviceInfo",
    ]
    assert (
        points[0].prototype
        == "int32_t clGetPlatformIDs(uint32_t num_entries, uintptr_t platforms, uintptr_t num_platforms)"
    )


# -- queries


def test_platform_and_device_answer():
    host = Host()
    assert host.words("clGetPlatformInfo", 0, cl.CL_PLATFORM_NAME) == "visakit"
    assert host.status("clGetDeviceIDs", 0, cl.CL_DEVICE_TYPE_CPU, 0, None, sizes(0)) == cl.CL_DEVICE_NOT_FOUND
    assert host.status("clGetDeviceIDs", 0, 0, 0, None, sizes(0)) == cl.CL_INVALID_DEVICE_TYPE
    assert host.status("clGetDeviceIDs", 0, cl.CL_DEVICE_TYPE_ALL, 0, None, None) == cl.CL_INVALID_VALUE
    one = device.platform().devices[0]
    name = host.words("clGetDeviceInfo", one.handle, cl.CL_DEVICE_NAME)
    assert name == "tgllp: Xe-LP (Tiger Lake), simulated"
    for question in DEVICE_ANSWERS:
        host.ask("clGetDeviceInfo", one.handle, question)
    board_of_another_maker = 0x4038  # CL_DEVICE_BOARD_NAME_AMD, which oneMKL asks for.
    assert host.status("clGetDeviceInfo", one.handle, board_of_another_maker, 0, None, None) == cl.CL_INVALID_VALUE
    assert host.status("clGetDeviceInfo", one.handle, 0x9999, 0, None, None) == cl.CL_INVALID_VALUE
    assert host.status("clGetDeviceInfo", one.handle, cl.CL_DEVICE_NAME, 3, sizes(0), None) == cl.CL_INVALID_VALUE
    assert host.status("clGetDeviceInfo", 0, cl.CL_DEVICE_NAME, 0, None, None) == cl.CL_INVALID_DEVICE
    assert host.status("clGetDeviceInfo", 0x1000, cl.CL_DEVICE_NAME, 0, None, None) == cl.CL_INVALID_DEVICE


@pytest.mark.parametrize(
    ("name", "number", "version", "counts", "units", "features"),
    [
        ("skl", 0x1912, 0x02400009, (1, 3, 8, 7), 24, 0),
        ("icllp", 0x8A52, 0x02C00000, (1, 8, 8, 7), 64, 0),
        ("tgllp", 0x9A49, 0x03000000, (1, 6, 16, 7), 96, 1),
        ("dg2", 0x56A0, 0x030DC008, (8, 4, 16, 8), 512, 3),
        ("pvc", 0x0BD5, 0x030F0007, (8, 16, 8, 8), 1024, 3),
        ("bmg", 0xE20B, 0x05004004, (5, 4, 8, 8), 160, 3),
        ("ptl", 0xB080, 0x07800004, (2, 6, 8, 10), 96, 3),
    ],
)
def test_attributes_of_the_hardware(name, number, version, counts, units, features, request):
    """Queries of ``cl_intel_device_attribute_query`` give the values of the drivers of these products."""
    request.getfixturevalue("only_tgllp")(name)
    host, one = Host(), device.platform().devices[0].handle

    def ask(*questions):
        return tuple(host.number("clGetDeviceInfo", one, question) for question in questions)

    extensions = set(host.words("clGetDeviceInfo", one, cl.CL_DEVICE_EXTENSIONS).split())
    assert {
        "cl_intel_device_attribute_query",
        "cl_khr_int64_base_atomics",
        "cl_khr_int64_extended_atomics",
    } < extensions
    assert ask(cl.CL_DEVICE_ID_INTEL, cl.CL_DEVICE_IP_VERSION_INTEL) == (number, version)
    assert counts == ask(
        cl.CL_DEVICE_NUM_SLICES_INTEL,
        cl.CL_DEVICE_NUM_SUB_SLICES_PER_SLICE_INTEL,
        cl.CL_DEVICE_NUM_EUS_PER_SUB_SLICE_INTEL,
        cl.CL_DEVICE_NUM_THREADS_PER_EU_INTEL,
    )
    assert ask(cl.CL_DEVICE_MAX_COMPUTE_UNITS, cl.CL_DEVICE_FEATURE_CAPABILITIES_INTEL) == (units, features)
    assert ("cl_intel_bfloat16_conversions" in extensions) == (features == 3)


def test_both_interfaces_identify_a_device_by_the_same_number():
    opencl, one = Host(), device.platform().devices[0].handle
    level_zero = levelzero_host.Host()
    properties = levelzero_host.made("ze_device_properties_t", ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES)
    level_zero.zeDeviceGetProperties(one, properties)
    place = levelzero_host.made("ze_pci_ext_properties_t")
    level_zero.zeDevicePciGetPropertiesExt(one, place)

    ask = functools.partial(opencl.ask, "clGetDeviceInfo", one)
    assert ask(cl.CL_DEVICE_UUID_KHR) == bytes(properties.uuid)
    assert struct.unpack("<4I", ask(cl.CL_DEVICE_PCI_BUS_INFO_KHR)) == (0, place.address.bus, 0, 0) == (0, 3, 0, 0)
    assert (len(ask(cl.CL_DRIVER_UUID_KHR)), ask(cl.CL_DEVICE_LUID_VALID_KHR)) == (16, bytes(4))
    assert {"cl_khr_device_uuid", "cl_khr_pci_bus_info"} < set(ask(cl.CL_DEVICE_EXTENSIONS)[:-1].decode().split())


def test_sub_groups_may_wait_for_each_other_without_a_barrier():
    question = cl.CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS
    assert Host().number("clGetDeviceInfo", device.platform().devices[0].handle, question) == 1


def test_handles_of_another_kind_are_refused(session):
    host = session.host
    assert host.status("clRetainContext", session.queue) == cl.CL_INVALID_CONTEXT
    assert host.status("clFinish", session.context) == cl.CL_INVALID_COMMAND_QUEUE
    assert host.number("clGetCommandQueueInfo", session.queue, cl.CL_QUEUE_CONTEXT) == session.context
    host.clRetainContext(session.context)
    assert host.number("clGetContextInfo", session.context, cl.CL_CONTEXT_REFERENCE_COUNT) == 2
    host.clReleaseContext(session.context)
    host.clReleaseContext(session.context)
    # The queue keeps it.
    assert host.number("clGetCommandQueueInfo", session.queue, cl.CL_QUEUE_CONTEXT) == session.context
    assert host.number("clGetContextInfo", session.context, cl.CL_CONTEXT_NUM_DEVICES) == 1
    buffer = host.clCreateBuffer(session.context, 0, 16, None)
    host.clReleaseMemObject(buffer)
    assert host.status("clReleaseMemObject", buffer) == cl.CL_INVALID_MEM_OBJECT


# -- kernels


def test_a_kernel_runs_over_buffers(session):
    host = session.host
    y, x = np.ones(100, "f4"), np.arange(100, dtype="f4")
    to, source = session.buffer(y), session.buffer(x)
    kernel = session.kernel("saxpy", to, source, np.float32(2), np.uint32(100))
    event = session.run(kernel, (128,), (32,))
    assert (session.read(to, "f4", 100) == 1 + 2 * x * np.resize([1, 2, 4, 8], 100)).all()
    assert session.event_status(event) == cl.CL_COMPLETE
    assert host.number("clGetEventInfo", event, cl.CL_EVENT_COMMAND_TYPE) == cl.CL_COMMAND_NDRANGE_KERNEL
    times = [
        host.number("clGetEventProfilingInfo", event, name)
        for name in (cl.CL_PROFILING_COMMAND_QUEUED, cl.CL_PROFILING_COMMAND_SUBMIT, cl.CL_PROFILING_COMMAND_START,
                     cl.CL_PROFILING_COMMAND_END)
    ]  # fmt: skip
    assert times == sorted(times) and times[0] > 0


def test_queries_of_a_kernel(session):
    host = session.host
    kernel = session.kernel("saxpy")
    assert host.number("clGetKernelInfo", kernel, cl.CL_KERNEL_NUM_ARGS) == 4
    assert host.words("clGetProgramInfo", session.program, cl.CL_PROGRAM_KERNEL_NAMES) == "saxpy;steps;state"
    assert host.words("clGetKernelArgInfo", kernel, 1, cl.CL_KERNEL_ARG_NAME) == "x"
    assert host.words("clGetKernelArgInfo", kernel, 1, cl.CL_KERNEL_ARG_TYPE_NAME) == "float*"
    assert host.number("clGetKernelArgInfo", kernel, 1, cl.CL_KERNEL_ARG_TYPE_QUALIFIER) == cl.CL_KERNEL_ARG_TYPE_CONST
    question = cl.CL_KERNEL_ARG_ADDRESS_QUALIFIER
    assert host.number("clGetKernelArgInfo", kernel, 1, question) == cl.CL_KERNEL_ARG_ADDRESS_GLOBAL
    assert host.status("clGetKernelArgInfo", kernel, 4, question, 0, None, None) == cl.CL_INVALID_ARG_INDEX
    work = "clGetKernelWorkGroupInfo"
    assert host.number(work, kernel, 0, cl.CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE) == 32
    assert host.number(work, kernel, session.device, cl.CL_KERNEL_WORK_GROUP_SIZE) == 512
    assert host.number(work, kernel, session.device, cl.CL_KERNEL_SPILL_MEM_SIZE_INTEL) == 0
    steps = session.kernel("steps", 0, ("local", 128))
    assert host.number(work, steps, session.device, cl.CL_KERNEL_LOCAL_MEM_SIZE) == 128
    for name in (cl.CL_PROGRAM_BUILD_STATUS, cl.CL_PROGRAM_BUILD_LOG, cl.CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE):
        host.ask("clGetProgramBuildInfo", session.program, session.device, name)
    data = np.zeros(len(XELP), np.uint8)
    assert host.number("clGetProgramInfo", session.program, cl.CL_PROGRAM_BINARY_SIZES) == data.size
    host.clGetProgramInfo(session.program, cl.CL_PROGRAM_BINARIES, 8, sizes(data.ctypes.data), None)
    assert data.tobytes() == XELP


def test_programs_of_a_context_have_separate_data_in_one_address_space(session, capfd):
    other = session.load(XELP)
    out = np.zeros(4, "i4")
    for program, rounds in ((session.program, 2), (other, 1)):
        y = session.buffer(np.array([3, 4, 5, 6], "i4"))
        for _ in range(rounds):
            session.run(session.kernel("steps", y, ("local", 16), program=program), (4,), (4,))
        shown = session.buffer(out)
        session.run(session.kernel("state", shown, program=program), (1,))
        assert session.read(shown, "i4", 1)[0] == 3 + rounds  # counter: each program counts by itself
    assert capfd.readouterr().out.count("item 2 of 4: 720\n") == 2


def test_a_binary_of_native_code_alone_does_not_build_and_the_log_names_the_missing_part(session):
    """Libraries with native code for each device try it first, and fall back to other forms."""
    elf = read_elf(XELP, "")
    elf.sections = [s for s in elf.sections if s.name in (".ze_info", ".note.intelgt.compat")]
    elf.symbols, elf.relocations = [], []
    data = np.frombuffer(elf.write(), np.uint8)
    state, host = np.full(1, 77, np.int32), session.host
    given = (1, sizes(session.device), sizes(data.size), sizes(data.ctypes.data), state)
    program = host.clCreateProgramWithBinary(session.context, *given)
    assert state[0] == cl.CL_SUCCESS
    assert host.status("clBuildProgram", program, 0, None, None, None, None) == cl.CL_BUILD_PROGRAM_FAILURE
    log = host.words("clGetProgramBuildInfo", program, session.device, cl.CL_PROGRAM_BUILD_LOG)
    assert "this zebin holds native code, which cannot be disassembled, and no vISA text [C011]" in log
    assert "-cl-intel-emit-zebin-visa-sections" in log
    assert host.status("clCreateKernel", program, text("saxpy")) == cl.CL_INVALID_PROGRAM_EXECUTABLE
    data = np.frombuffer(b"no binary at all", np.uint8)
    given = (1, sizes(session.device), sizes(data.size), sizes(data.ctypes.data), state)
    assert host.status("clCreateProgramWithBinary", session.context, *given) == cl.CL_INVALID_BINARY
    assert state[0] == cl.CL_INVALID_BINARY


def test_arguments_are_checked(session):
    host = session.host
    kernel = session.kernel("saxpy")
    some, four = session.buffer(np.zeros(4, "f4")), np.zeros(1, "f4")

    def status(*given):
        return host.status("clSetKernelArg", kernel, *given)

    assert status(4, 8, sizes(some)) == cl.CL_INVALID_ARG_INDEX
    assert status(0, 4, sizes(some)) == cl.CL_INVALID_ARG_SIZE
    assert status(0, 8, sizes(session.queue)) == cl.CL_INVALID_MEM_OBJECT
    assert status(2, 3, four) == status(2, 0, four) == cl.CL_INVALID_ARG_SIZE
    assert status(0, 16, sizes(some, some)) == cl.CL_INVALID_ARG_SIZE
    assert status(2, 4, None) == cl.CL_INVALID_ARG_VALUE
    steps = session.kernel("steps")
    assert host.status("clSetKernelArg", steps, 1, 16, four) == cl.CL_INVALID_ARG_VALUE
    assert host.status("clSetKernelArg", steps, 1, 0, None) == cl.CL_INVALID_ARG_SIZE
    host.set_arguments(steps, some, ("local", 70000))
    enqueue = "clEnqueueNDRangeKernel"
    assert host.status(enqueue, session.queue, steps, 1, None, sizes(4), None, 0, None, None) == cl.CL_OUT_OF_RESOURCES
    assert (
        host.status(enqueue, session.queue, kernel, 1, None, sizes(4), None, 0, None, None) == cl.CL_INVALID_KERNEL_ARGS
    )
    host.set_arguments(kernel, some, some, np.float32(1), np.uint32(4))
    for given, expected in (
        ((4, None, sizes(4), None), cl.CL_INVALID_WORK_DIMENSION),
        ((1, None, sizes(1 << 33), None), cl.CL_INVALID_GLOBAL_WORK_SIZE),
        ((1, None, sizes(4), sizes(3)), cl.CL_INVALID_WORK_GROUP_SIZE),
        ((1, None, sizes(4), sizes(0)), cl.CL_INVALID_WORK_GROUP_SIZE),
        ((1, None, sizes(4096), sizes(1024)), cl.CL_INVALID_WORK_ITEM_SIZE),
        ((2, None, sizes(64, 64), sizes(64, 64)), cl.CL_INVALID_WORK_GROUP_SIZE),
        ((1, sizes(1 << 32), sizes(4), None), cl.CL_INVALID_GLOBAL_OFFSET),
        ((1, None, sizes(0), None), cl.CL_SUCCESS),
    ):
        assert host.status(enqueue, session.queue, kernel, *given, 0, None, None) == expected, given
    assert host.status("clCreateKernel", session.program, text("none")) == cl.CL_INVALID_KERNEL_NAME
    assert host.status("clBuildProgram", session.program, 0, None, None, None, None) == cl.CL_INVALID_OPERATION


@pytest.mark.parametrize("watched", [False, True])
def test_of_a_number_with_surplus_bytes_the_first_are_taken(session, watched, monkeypatch, capfd):
    """Libraries rely on this behaviour of Intel's driver; each argument is reported once if kernels are watched."""
    monkeypatch.setattr(kernels, "is_checking", lambda: watched)
    y, x = session.buffer(np.zeros(4, "f4")), session.buffer(np.arange(4, dtype="f4"))
    kernel = session.kernel("saxpy", y, x, np.float32(2), np.uint64(0xFFFF_FFFF_0000_0003))
    session.host.set_arguments(kernel, y, x, np.array([2, 7, 7], "f4"), np.uint64(0xFFFF_FFFF_0000_0003))
    session.run(kernel, (4,))
    assert session.read(y, "f4", 4).tolist() == [0, 4, 16, 0]  # Times the program's table: 1, 2, 4.
    notes = [
        f"program {n}: argument {i}: note: set with {size} bytes, of which it takes the first 4"
        for n, i, size in ((1, "3 ('n') of 'saxpy'", 8), (1, "2 ('a') of 'saxpy'", 12))
    ]
    said = capfd.readouterr().err.splitlines()
    assert [re.sub(r"program \d+", "program 1", line) for line in said] == (notes if watched else [])


def test_a_fault_is_reported_and_gives_the_event_an_error(capfd):
    told = []
    notify = NOTIFY(lambda message, data, size, user: told.append(message.decode()))
    session = Session(XELP, notify=function_address(notify))
    host = session.host
    some = session.buffer(np.zeros(4, "f4"))
    kernel = session.kernel("saxpy", some, some, np.float32(1), np.uint32(64))
    event = session.run(kernel, (64,))
    later = sizes(0)
    host.clEnqueueMarkerWithWaitList(session.queue, 1, sizes(event), later)
    waited = host.status("clWaitForEvents", 1, sizes(event))
    assert waited == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    assert session.event_status(event) == cl.CL_OUT_OF_RESOURCES
    assert host.status("clFinish", session.queue) < 0 and host.status("clFinish", session.queue) == cl.CL_SUCCESS
    assert session.event_status(int(later[0])) == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    report = capfd.readouterr().err
    assert "of 4 bytes outside 'y or x'" in report and "which has 16 bytes" in report and "of 'saxpy'" in report
    assert "argument 0 ('y'): note: buffer " in report and "16 bytes, made by clCreateBuffer" in report
    assert told == [report.rstrip("\n")]
    file, line, shown = re.match(
        r"(/.*/program-\d+-saxpy\.visaasm):(\d+):\d+: error: .*\n \d+ \| (.*)\n", report
    ).groups()
    assert Path(file).read_text().split("\n")[int(line) - 1].rstrip() == shown
    assert re.search(r"^  registers of lane \d+: ", report, re.MULTILINE)
    # The program continues.
    host.set_arguments(kernel, some, some, np.float32(1), np.uint32(4))
    session.run(kernel, (4,))
    host.clFinish(session.queue)


# -- memory


@pytest.mark.parametrize("pattern", [1, 2, 4, 8, 16, 32, 64, 128])
def test_fills_of_many_blocks(session, pattern):
    """Sizes below, at and above a block are filled to the last byte, and bytes behind it keep their values."""
    host, bits = session.host, np.arange(1, pattern + 1, dtype="u1")
    for blocks, more in ((0, 1), (1, 0), (3, 5)):
        size = blocks * FILL_BLOCK + more * pattern
        buffer = session.buffer(np.zeros(size + 2 * pattern, "u1"))
        host.clEnqueueFillBuffer(session.queue, buffer, bits, pattern, pattern, size, 0, None, None)
        out = session.read(buffer, "u1", size + 2 * pattern)
        assert (out[pattern:-pattern].reshape(-1, pattern) == bits).all() and not out[:pattern].any()
        assert not out[-pattern:].any()


def test_buffers_are_read_written_copied_filled_and_mapped(session):
    host, queue = session.host, session.queue
    data = np.arange(64, dtype=np.uint8)
    whole = session.buffer(data)
    host.clEnqueueWriteBuffer(queue, whole, 1, 8, 2, np.array([100, 101], np.uint8), 0, None, None)
    host.clEnqueueCopyBuffer(queue, whole, whole, 8, 32, 2, 0, None, None)
    host.clEnqueueFillBuffer(queue, whole, np.array([7, 9], np.uint8), 2, 48, 16, 0, None, None)
    data[8:10] = data[32:34] = 100, 101
    data[48:] = np.resize([7, 9], 16)
    assert (session.read(whole, "u1", 64) == data).all()
    pointer = host.clEnqueueMapBuffer(queue, whole, 1, cl.CL_MAP_READ | cl.CL_MAP_WRITE, 4, 8, 0, None, None)
    assert host.number("clGetMemObjectInfo", whole, cl.CL_MEM_MAP_COUNT) == 1
    ctypes.memset(pointer, 3, 8)
    host.clEnqueueUnmapMemObject(queue, whole, pointer, 0, None, None)
    assert host.number("clGetMemObjectInfo", whole, cl.CL_MEM_MAP_COUNT) == 0
    assert host.status("clEnqueueUnmapMemObject", queue, whole, pointer, 0, None, None) == cl.CL_INVALID_VALUE
    assert (session.read(whole, "u1", 12) == [0, 1, 2, 3, *[3] * 8]).all()
    for name, given, expected in (
        ("clEnqueueCopyBuffer", (whole, whole, 0, 1, 2, 0, None, None), cl.CL_MEM_COPY_OVERLAP),
        ("clEnqueueCopyBuffer", (whole, whole, 0, 60, 8, 0, None, None), cl.CL_INVALID_VALUE),
        ("clEnqueueFillBuffer", (whole, data, 3, 0, 3, 0, None, None), cl.CL_INVALID_VALUE),
        ("clEnqueueFillBuffer", (whole, data, 4, 2, 4, 0, None, None), cl.CL_INVALID_VALUE),
        ("clEnqueueReadBuffer", (whole, 1, 0, 65, data, 0, None, None), cl.CL_INVALID_VALUE),
        ("clEnqueueReadBuffer", (whole, 1, 0, 4, None, 0, None, None), cl.CL_INVALID_VALUE),
        ("clEnqueueReadBuffer", (queue, 1, 0, 4, data, 0, None, None), cl.CL_INVALID_MEM_OBJECT),
        ("clEnqueueReadBuffer", (whole, 1, 0, 4, data, 1, None, None), cl.CL_INVALID_EVENT_WAIT_LIST),
        ("clEnqueueMapBuffer", (whole, 1, 64, 0, 4, 0, None, None), cl.CL_INVALID_VALUE),
    ):
        assert host.status(name, queue, *given) == expected, (name, given)


def test_flags_of_buffers(session):
    host, data = session.host, np.zeros(64, np.uint8)

    def status(flags, size, pointer):
        return host.status("clCreateBuffer", session.context, flags, size, pointer)

    assert status(0, 0, None) == cl.CL_INVALID_BUFFER_SIZE
    assert status(0, 1 << 40, None) == cl.CL_INVALID_BUFFER_SIZE
    assert status(0, 64, data) == cl.CL_INVALID_HOST_PTR
    assert status(cl.CL_MEM_COPY_HOST_PTR, 64, None) == cl.CL_INVALID_HOST_PTR
    assert status(cl.CL_MEM_READ_ONLY | cl.CL_MEM_WRITE_ONLY, 64, None) == cl.CL_INVALID_VALUE
    assert status(cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR, 64, data) == cl.CL_INVALID_VALUE
    assert status(1 << 40, 64, None) == cl.CL_INVALID_VALUE
    hidden = host.clCreateBuffer(session.context, cl.CL_MEM_HOST_NO_ACCESS, 64, None)
    read = host.status("clEnqueueReadBuffer", session.queue, hidden, 1, 0, 4, data, 0, None, None)
    assert read == cl.CL_INVALID_OPERATION


def test_memory_of_the_program_is_used_in_place(session):
    host = session.host
    y, x = np.zeros(8, "f4"), np.ones(8, "f4")
    to = session.buffer(y, cl.CL_MEM_USE_HOST_PTR)
    session.run(session.kernel("saxpy", to, session.buffer(x), np.float32(1), np.uint32(8)), (8,))
    host.clFinish(session.queue)
    assert (y == [1, 2, 4, 8, 1, 2, 4, 8]).all()
    assert host.number("clGetMemObjectInfo", to, cl.CL_MEM_HOST_PTR) == y.ctypes.data
    assert host.clEnqueueMapBuffer(session.queue, to, 1, cl.CL_MAP_READ, 8, 4, 0, None, None) == y.ctypes.data + 8


def test_parts_of_buffers(session):
    host = session.host
    whole = session.buffer(np.arange(256, dtype="f4"))

    def status(buffer, flags, origin, size):
        return host.status("clCreateSubBuffer", buffer, flags, cl.CL_BUFFER_CREATE_TYPE_REGION, sizes(origin, size))

    part = host.clCreateSubBuffer(whole, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, sizes(128, 64))
    assert host.number("clGetMemObjectInfo", part, cl.CL_MEM_ASSOCIATED_MEMOBJECT) == whole
    assert host.number("clGetMemObjectInfo", part, cl.CL_MEM_OFFSET) == 128
    y = session.buffer(np.zeros(4, "f4"))
    session.run(session.kernel("saxpy", y, part, np.float32(1), np.uint32(4)), (4,))
    assert (session.read(y, "f4", 4) == [32, 66, 136, 280]).all()
    next_one = host.clCreateSubBuffer(whole, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, sizes(256, 64))
    session.run(session.kernel("saxpy", next_one, part, np.float32(1), np.uint32(4)), (4,))  # S004 would be a failure
    assert (session.read(next_one, "f4", 4) == [96, 131, 202, 347]).all()
    assert status(part, 0, 0, 4) == cl.CL_INVALID_MEM_OBJECT
    assert status(whole, 0, 4, 4) == cl.CL_MISALIGNED_SUB_BUFFER_OFFSET
    assert status(whole, 0, 896, 256) == cl.CL_INVALID_VALUE
    assert status(whole, 0, 0, 0) == cl.CL_INVALID_BUFFER_SIZE
    read_only = host.clCreateBuffer(session.context, cl.CL_MEM_READ_ONLY, 256, None)
    assert status(read_only, cl.CL_MEM_WRITE_ONLY, 0, 4) == cl.CL_INVALID_VALUE


def test_boxes_of_bytes(session):
    host, queue = session.host, session.queue
    data = np.arange(60, dtype=np.uint8)
    whole = session.buffer(data)
    out = np.zeros((2, 3), np.uint8)
    rect = (sizes(1, 2, 0), sizes(0, 0, 0), sizes(3, 2, 1), 10, 0, 3, 0)
    host.clEnqueueReadBufferRect(queue, whole, 1, *rect, out, 0, None, None)
    assert (out == [[21, 22, 23], [31, 32, 33]]).all()
    host.clEnqueueWriteBufferRect(queue, whole, 1, *rect, out + 100, 0, None, None)
    host.clEnqueueCopyBufferRect(
        queue, whole, whole, *(sizes(1, 2, 0), sizes(5, 4, 0)), sizes(3, 2, 1), 10, 0, 10, 0, 0, None, None
    )
    box = data.reshape(6, 10)
    box[2:4, 1:4] += 100
    box[4:6, 5:8] = box[2:4, 1:4]
    assert (session.read(whole, "u1", 60) == data).all()
    near = (sizes(1, 2, 0), sizes(2, 3, 0), sizes(3, 2, 1), 10, 0, 10, 0, 0, None, None)
    assert host.status("clEnqueueCopyBufferRect", queue, whole, whole, *near) == cl.CL_MEM_COPY_OVERLAP
    bad = (sizes(1, 2, 0), sizes(0, 0, 0), sizes(3, 2, 1), 2, 0, 3, 0)
    assert host.status("clEnqueueReadBufferRect", queue, whole, 1, *bad, out, 0, None, None) == cl.CL_INVALID_VALUE
    far = (sizes(9, 5, 0), sizes(0, 0, 0), sizes(3, 2, 1), 10, 0, 3, 0)
    assert host.status("clEnqueueReadBufferRect", queue, whole, 1, *far, out, 0, None, None) == cl.CL_INVALID_VALUE


@pytest.mark.parametrize("region", [(4, 1, 1), (1, 1, 1)])
def test_pitches_of_single_rows_mean_nothing(session, region):
    """Single rows accept pitches of any size."""
    host, out, most = session.host, np.zeros(4, "u1"), (1 << 64) - 1
    memory = session.buffer(np.arange(1, 5, dtype="u1"))
    pitches = (most,) * 4
    where = (sizes(0, 0, 0), sizes(0, 0, 0), sizes(*region), *pitches)
    host.clEnqueueReadBufferRect(session.queue, memory, 1, *where, out, 0, None, None)
    assert out.tolist() == [1, 2, 3, 4][: region[0]] + [0] * (4 - region[0])


def test_boxes_overlap_where_they_share_a_byte():
    """Against a count of the bytes of both; rows may begin so far to the right that they go on in the next one."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        region = rng.integers(1, 4, 3)
        row = int(rng.integers(4, 7))
        slice_ = row * int(rng.integers(4, 6))
        boxes = [Rectangle.of(rng.integers(0, 6, 3).tolist(), region.tolist(), row, slice_) for _ in range(2)]
        bytes_of = []
        for box in boxes:
            marks = np.zeros(600, np.uint8)
            box.of_bytes(marks)[:] = 1
            bytes_of.append(marks)
        assert overlap(*boxes, 0) == bool((bytes_of[0] & bytes_of[1]).any())


# -- queues and events


def test_commands_wait_for_user_events(session):
    host, queue = session.host, session.queue
    mine = host.clCreateUserEvent(session.context)
    target, out = session.buffer(np.zeros(4, np.uint8)), np.full(4, 9, np.uint8)
    event = sizes(0)
    host.clEnqueueReadBuffer(queue, target, 0, 0, 4, out, 1, sizes(mine), event)
    host.clFlush(queue)
    assert session.event_status(int(event[0])) == cl.CL_SUBMITTED and (out == 9).all()
    called = threading.Event()
    function = EVENT(lambda e, status, user: called.set() if (e, status) == (int(event[0]), 0) else None)
    host.clSetEventCallback(int(event[0]), cl.CL_COMPLETE, function_address(function), None)
    host.clSetUserEventStatus(mine, cl.CL_COMPLETE)
    host.clWaitForEvents(1, event)
    assert (out == 0).all() and called.wait(10)
    assert host.status("clSetUserEventStatus", mine, cl.CL_COMPLETE) == cl.CL_INVALID_OPERATION
    assert host.status("clSetUserEventStatus", int(event[0]), cl.CL_COMPLETE) == cl.CL_INVALID_EVENT
    # Nobody need wait: the thread of the queue does it.
    host.clEnqueueFillBuffer(queue, target, out, 1, 0, 4, 0, None, event)
    assert eventually(lambda: session.event_status(int(event[0])) == cl.CL_COMPLETE)


def test_out_of_order_queues_go_on_and_barriers_hold():
    session = Session(XELP, cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    host, queue = session.host, session.queue
    mine = host.clCreateUserEvent(session.context)
    out, zeros = np.full(2, 9, np.uint8), session.buffer(np.zeros(2, np.uint8))
    first, second, behind = sizes(0), sizes(0), sizes(0)
    host.clEnqueueReadBuffer(queue, zeros, 0, 0, 1, out[:1], 1, sizes(mine), first)
    host.clEnqueueReadBuffer(queue, zeros, 0, 0, 1, out[1:], 0, None, second)
    host.clWaitForEvents(1, second)
    assert list(out) == [9, 0]
    host.clEnqueueBarrierWithWaitList(queue, 0, None, None)
    host.clEnqueueMarkerWithWaitList(queue, 0, None, behind)
    assert session.event_status(int(behind[0])) > cl.CL_COMPLETE
    host.clSetUserEventStatus(mine, -5)
    host.clFinish(queue)  # the program said so itself
    assert host.status("clWaitForEvents", 1, behind) in (cl.CL_SUCCESS, cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    assert session.event_status(int(first[0])) == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    assert list(out) == [9, 0]


def test_released_objects_die_and_call_back(session):
    host = session.host
    calls = []
    functions = [GONE(lambda handle, user, n=n: calls.append(n)) for n in range(2)]
    buffer = host.clCreateBuffer(session.context, 0, 64, None)
    for function in functions:
        host.clSetMemObjectDestructorCallback(buffer, function_address(function), None)
    kernel, mine = session.kernel("state", buffer), host.clCreateUserEvent(session.context)
    event = session.run(kernel, (1,), waits=(mine,))
    host.clReleaseMemObject(buffer)
    gc.collect()
    assert calls == []  # The command keeps it.
    host.clSetUserEventStatus(mine, cl.CL_COMPLETE)
    host.clWaitForEvents(1, sizes(event))
    host.clFinish(session.queue)

    def is_called():  # The queue's thread may be about to let it go.
        gc.collect()
        return bool(calls)

    assert eventually(is_called)
    assert calls == [1, 0]
    given = (1, None, sizes(1), None, 0, None, None)
    assert host.status("clEnqueueNDRangeKernel", session.queue, kernel, *given) == cl.CL_INVALID_KERNEL_ARGS


def test_the_loader_may_read_released_handles(session):
    """The loader follows handles before it calls the driver. New objects do not reuse released handles."""
    host = session.host
    table = ctypes.c_uint64.from_address(session.queue).value
    gone = []
    for _ in range(3):
        event = host.clCreateUserEvent(session.context)
        host.clReleaseEvent(event)
        gc.collect()
        gone.append(event)
    assert len(set(gone)) == 3
    assert [ctypes.c_uint64.from_address(handle).value for handle in gone] == [table] * 3
    assert [host.status("clReleaseEvent", handle) for handle in gone] == [cl.CL_INVALID_EVENT] * 3


def test_threads_may_share_all_objects(session):
    host, buffers = session.host, [session.buffer(np.zeros(64, "f4")) for _ in range(4)]
    x = session.buffer(np.ones(64, "f4"))
    problems = []

    def work(buffer):
        try:
            kernel = session.kernel("saxpy", buffer, x, np.float32(1), np.uint32(64))
            for _ in range(20):
                session.run(kernel, (64,))
            host.clFinish(session.queue)
        except Exception as problem:
            problems.append(problem)

    workers = [threading.Thread(target=work, args=(buffer,)) for buffer in buffers]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems
    for buffer in buffers:
        assert (session.read(buffer, "f4", 64) == 20 * np.resize([1, 2, 4, 8], 64)).all()


# -- the driver around it


def test_calls_are_traced():
    trace = io.StringIO()
    host = Host(trace)
    host.status("clGetPlatformInfo", 0x10, cl.CL_PLATFORM_NAME, 0, None, None)
    assert "clGetPlatformInfo(platform=0x10, " in trace.getvalue()
    assert " = CL_INVALID_PLATFORM: 0x10 is no platform [" in trace.getvalue()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_calls_go_on_where_a_trace_cannot(capfd):
    host = Host(open("/dev/full", "a", encoding="utf-8"))  # noqa: SIM115
    for _ in range(3):
        assert host.words("clGetPlatformInfo", 0, cl.CL_PLATFORM_NAME) == "visakit"
    said = "visakit: /dev/full: No space left on device; calls are not traced any more\n"
    assert capfd.readouterr().err == said


def test_memory_that_the_system_does_not_have_is_a_status(session, monkeypatch, capfd):
    def none_left(*given):
        raise MemoryError

    host = session.host
    monkeypatch.setattr("visakit.runtime.memory.np", SimpleNamespace(zeros=none_left, uint8=np.uint8))
    status = host.status("clCreateBuffer", session.context, 0, 64, None)
    assert status == cl.CL_MEM_OBJECT_ALLOCATION_FAILURE
    monkeypatch.undo()
    monkeypatch.setattr("visakit.runtime.queue.Event", none_left)
    assert host.status("clEnqueueMarker", session.queue, sizes(0)) == cl.CL_OUT_OF_HOST_MEMORY
    assert capfd.readouterr().err == ""


def test_a_queue_without_a_thread_runs_commands_in_the_program_s(session, monkeypatch):
    def none_left(thread):
        raise RuntimeError("can't start new thread")

    data = np.arange(64, dtype="u1")
    buffer = session.buffer(np.zeros(64, "u1"))
    monkeypatch.setattr(threading.Thread, "start", none_left)
    event = sizes(0)
    session.host.clEnqueueWriteBuffer(session.queue, buffer, 0, 0, 64, data, 0, None, event)
    assert session.event_status(int(event[0])) == cl.CL_COMPLETE
    assert (session.read(buffer, "u1", 64) == data).all()


def test_a_mistake_of_the_driver_is_a_status(monkeypatch, capfd):
    def broken(*given):
        raise ZeroDivisionError

    monkeypatch.setitem(load(), "clFinish", broken)
    assert Host().status("clFinish", 0) == cl.CL_OUT_OF_HOST_MEMORY
    assert "a mistake of the driver in clFinish" in capfd.readouterr().err


class Stop(BaseException):
    """What a timer raises in the middle of anything."""


def test_a_thread_that_is_stopped_leaves_the_queue_as_it_is(session, monkeypatch):
    def stop(*given):
        raise Stop

    monkeypatch.setitem(load(), "clFlush", stop)
    assert Host().status("clFlush", session.queue) == cl.CL_OUT_OF_HOST_MEMORY
    queue = Queue.find(session.queue)
    event = queue.add(cl.CL_COMMAND_MARKER, stop, [])
    event.wait()
    assert event.status == cl.CL_OUT_OF_RESOURCES and queue.running is None
    later = queue.add(cl.CL_COMMAND_MARKER, lambda: None, [])
    later.wait()
    assert later.status == cl.CL_COMPLETE


def test_words_of_the_command():
    assert "visakit COMMAND --help" in choose(["--help"]) and "0." in choose(["--version"])
    with pytest.raises(UsageError, match=r"COMMAND is missing\n\nUsage: visakit COMMAND"):
        choose([])
    _, name, words = choose(["exec", "--platform", "bmg", "./a.out", "--platform", "x"])
    assert (name, words) == ("visakit exec", ["--platform", "bmg", "--", "./a.out", "--platform", "x"])
    with pytest.raises(Exception, match="did you mean 'exec'"):
        choose(["exce"])


def said(capsys, *words):
    app, name, rest = choose(words)
    return exit_code(app, name, rest), *capsys.readouterr()


def test_wrong_words_are_wrong_usage(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for words, message in (
        (["exec"], "visakit exec: PROGRAM is missing; see visakit exec --help\n"),
        (
            ["exec", "--platform", "xehp", "x"],
            "visakit exec: --platform: there are no devices of 'xehp'; there are skl, ",
        ),
        (["exec", "--threads", "0", "x"], "visakit exec: --threads: '0' is not a whole number from 1 on\n"),
        (["exec", "--schedule", "rr", "x"], "visakit exec: --schedule: there is no schedule 'rr'"),
        (["exec", "--ocloc", "/no/ocloc", "x"], "visakit exec: --ocloc: there is no program '/no/ocloc'\n"),
        (["opencl"], "visakit opencl: --install is missing; see visakit opencl --help\n"),
    ):
        code, out, text = said(capsys, *words)
        assert (code, out) == (2, "") and text.startswith(message), words
    for name in APPS:
        code, out, text = said(capsys, name, "--help")
        assert (code, text) == (0, "") and "Examples" in out and "--install-completion" not in out


def test_a_file_that_is_no_program(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("visakit.opencl.library.library_path", lambda: tmp_path / "driver.so")
    (tmp_path / "k.cl").write_text("kernel void k() {}")
    code, _, text = said(capsys, "exec", str(tmp_path / "k.cl"))
    assert (
        code == 1 and "it cannot be run: Permission denied [F001]" in text and "this is OpenCL C: vsim runs it" in text
    )


def test_the_driver_compiles_without_deprecated_c(tmp_path, monkeypatch):
    """Since version 14 they are errors of gcc: integers as pointers, other pointers, functions without declarations."""
    from visakit.opencl import library

    wrong = "int-conversion", "incompatible-pointer-types", "implicit-function-declaration", "implicit-int"
    monkeypatch.setenv("CFLAGS", " ".join(["-O0", *(f"-Werror={name}" for name in wrong)]))
    library.build(tmp_path / "driver.so")


def test_a_copy_of_the_cache_names_its_own_driver(tmp_path):
    """A cache that was restored in another folder is a copy, and the first one may be gone."""
    from visakit.opencl import library

    for name in ("first", "copy"):
        (tmp_path / name).mkdir()
        if name == "copy":
            shutil.copytree(tmp_path / "first" / "driver", tmp_path / "copy" / "driver")
        folder = Path(library.icd_folder(tmp_path / name / "driver.so"))
        assert (folder / library.ICD_FILE).read_text() == f"{tmp_path / name / 'driver.so'}\n"


def test_without_a_c_compiler_the_message_names_the_missing_package(tmp_path, monkeypatch):
    from visakit.opencl import library

    monkeypatch.setenv("VISAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(library, "python_library", lambda: None)
    with pytest.raises(FileError) as caught:
        library.library_path()
    assert caught.value.diagnostics[0].code == "U005" and "libpython" in str(caught.value)
