"""Level Zero as a program calls it: objects, commands, results of wrong calls."""

import ctypes
import struct
import threading
import time

import numpy as np
import pytest
from support.levelzero_host import FOREVER, Failed, Host, Session, given, made, sizes, text
from support.opencl_host import only_device
from support.programs import DATA

from visakit.levelzero import interface, structures, ze
from visakit.levelzero.calls import load
from visakit.levelzero.events import Signal
from visakit.levelzero.modules import build_options
from visakit.runtime import objects
from visakit.runtime.queue import Queue

XELP = (DATA / "zebins" / "xelp.bin").read_bytes()
only_tgllp = pytest.fixture(autouse=True)(only_device("tgllp"))


@pytest.fixture
def session():
    return Session(XELP)


def saxpy(session, count=64):
    """A kernel with its arguments, and the arrays of the program; each launch adds 2, 4, 8 and 16 in turns."""
    y, seen = session.shared(np.zeros(count, "f4"))
    x, _ = session.shared(np.ones(count, "f4"))
    kernel = session.kernel("saxpy", y, x, np.float32(2), np.uint32(count), group=(16, 1, 1))
    return kernel, seen, np.tile(np.array([2, 4, 8, 16], "f4"), count // 4)


# -- tables


def test_every_function_of_the_tables_is_there():
    assert {point.name for point in interface.served_points()} == set(load())
    for entries in interface.tables().values():
        versions = [entry.version for entry in entries]
        assert all(version >> 16 == interface.MAJOR for version in versions)


def test_structures_have_the_sizes_of_c():
    assert structures.ze_device_properties_t.bytes() == 368
    assert structures.ze_kernel_timestamp_result_t.bytes() == 32
    assert structures.ze_image_desc_t.bytes() == 72


# -- driver and device


def test_functions_without_a_status(session):
    host = session.host
    assert host.zerGetDefaultContext() == host.zeDriverGetDefaultContext(session.driver)
    assert host.zerTranslateDeviceHandleToIdentifier(session.device) == 0
    assert host.zerTranslateIdentifierToDeviceHandle(0) == session.device
    assert ctypes.string_at(host.made("zerGetLastErrorDescription")) == b""


def test_the_device_answers():
    host = Host()
    host.zeInit(ze.ZE_INIT_FLAG_GPU_ONLY)
    (driver,) = host.all("zeDriverGet")
    desc = made(
        "ze_init_driver_type_desc_t", ze.ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC, flags=ze.ZE_INIT_DRIVER_TYPE_FLAG_GPU
    )
    count, found = np.ones(1, "u4"), sizes(0)
    host.zeInitDrivers(count, found, desc)
    assert int(found[0]) == driver
    (device,) = host.all("zeDeviceGet", driver)
    units = made("ze_eu_count_ext_t", ze.ZE_STRUCTURE_TYPE_EU_COUNT_EXT)
    properties = made("ze_device_properties_t", ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, pNext=given(units))
    host.zeDeviceGetProperties(device, properties)
    assert bytes(properties.name).rstrip(b"\0") == b"tgllp: Xe-LP (Tiger Lake), simulated"
    assert (properties.deviceId, properties.numSlices, units.numTotalEUs) == (0x9A49, 1, 96)
    compute = made("ze_device_compute_properties_t", ze.ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES)
    host.zeDeviceGetComputeProperties(device, compute)
    assert (compute.maxTotalGroupSize, list(compute.subGroupSizes)[:4]) == (512, [8, 16, 32, 0])
    assert host.all("zeDeviceGetSubDevices", device) == []
    room = made("ze_device_usablemem_size_ext_properties_t", ze.ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES)
    properties.pNext = given(room)
    host.zeDeviceGetProperties(device, properties)
    assert room.currUsableMemSize > 0
    hints = made("ze_scheduling_hint_exp_properties_t", ze.ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES)
    atomics = made(
        "ze_float_atomic_ext_properties_t", ze.ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES, pNext=given(hints)
    )
    modules = made("ze_device_module_properties_t", ze.ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, pNext=given(atomics))
    host.zeDeviceGetModuleProperties(device, modules)
    assert (atomics.fp16Flags, atomics.fp32Flags, atomics.fp64Flags) == (0x50005, 0x70007, 0)
    assert hints.schedulingHintFlags == 7


@pytest.mark.parametrize("name", [n for n in load() if n.startswith("zeDeviceGet") and n.endswith("Properties")])
def test_arrays_and_structures_of_properties(name):
    host = Host()
    (driver,) = host.all("zeDriverGet")
    (device,) = host.all("zeDeviceGet", driver)
    room = np.zeros(512, "u8")
    if len(host.points[name].parameters) == 3 and "P2P" not in name:
        count = np.zeros(1, "u4")
        host.result(name, device, count, None)
        assert host.result(name, device, count, room) == 0 and count[0] == 1
    else:
        peer = [device] if "P2P" in name else []
        assert host.result(name, device, *peer, room) == 0
        assert host.result(name, device, *peer, None) == ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER
    assert (
        host.result(name, 0, *[None] * (len(host.points[name].parameters) - 1))
        == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE
    )


# -- modules and kernels


def test_modules_name_kernels_and_give_their_binary(session):
    host = session.host
    names = [ctypes.string_at(place).decode() for place in host.all("zeModuleGetKernelNames", session.module)]
    assert names == ["saxpy", "steps", "state"]
    size = sizes(0)
    host.zeModuleGetNativeBinary(session.module, size, None)
    binary = np.zeros(int(size[0]), "u1")
    host.zeModuleGetNativeBinary(session.module, size, binary)
    again = Session(binary.tobytes())
    kernel, seen, added = saxpy(again)
    again.launch(kernel, (4, 1, 1))
    again.finish()
    assert (seen == added).all()


def test_kernels_tell_their_properties(session):
    host, kernel = session.host, session.kernel("steps")
    assert host.text("zeKernelGetName", kernel) == "steps"
    properties = made("ze_kernel_properties_t", ze.ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES)
    host.zeKernelGetProperties(kernel, properties)
    assert (properties.numKernelArgs, properties.maxSubgroupSize) == (2, session_simd(properties))
    x, y, z = (np.zeros(1, "u4") for _ in range(3))
    host.zeKernelSuggestGroupSize(kernel, 96, 7, 1, x, y, z)
    assert (x[0], 96 % x[0], 7 % y[0], z[0]) == (96, 0, 0, 1)


def test_properties_of_a_kernel_have_its_spills():
    """The size of spills is that of ze_info."""
    said, instead = b"grf_count:       128", b"spill_size:      128"
    assert said in XELP and len(said) == len(instead)
    session = Session(XELP.replace(said, instead, 1))
    for name, spilled in ("saxpy", 128), ("steps", 0):
        properties = made("ze_kernel_properties_t", ze.ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES)
        session.host.zeKernelGetProperties(session.kernel(name), properties)
        assert properties.spillMemSize == spilled


def session_simd(properties):
    """The width of threads, which the properties must be consistent with."""
    assert properties.maxNumSubgroups * properties.maxSubgroupSize == 512
    return properties.maxSubgroupSize


def test_a_kernel_with_local_memory_data_and_output(session, capfd):
    place, seen = session.shared(np.array([3, 2, 5, 4] * 4, "i4"))
    out, shown = session.shared(np.zeros(2, "i4"))
    session.launch(session.kernel("steps", place, ("local", 64), group=(16, 1, 1)), (1, 1, 1))
    session.launch(session.kernel("state", out, group=(1, 1, 1)), (1, 1, 1))
    session.finish()
    assert seen[:4].tolist() == [2, 6, 24, 120] and shown.tolist() == [4, 120]
    assert capfd.readouterr().out == "item 2 of 16: 24\n"


def test_global_data_has_an_address_for_copies(session):
    host, name = session.host, text("counter")
    size, place = sizes(0), sizes(0)
    host.zeModuleGetGlobalPointer(session.module, name, size, place)
    wrote, read = np.array([41], "i4"), np.zeros(1, "i4")
    host.zeCommandListAppendMemoryCopy(session.list, int(place[0]), wrote, 4, None, 0, None)
    host.zeCommandListAppendMemoryCopy(session.list, read, int(place[0]), 4, None, 0, None)
    out, shown = session.shared(np.zeros(2, "i4"))
    session.launch(session.kernel("state", out), (1, 1, 1))
    session.finish()
    assert (size[0], read[0], shown[0]) == (4, 41, 41)
    with pytest.raises(Failed, match="INVALID_GLOBAL_NAME"):
        host.zeModuleGetGlobalPointer(session.module, text("nothing"), size, place)


def test_functions_that_the_plugin_of_jax_calls(session):
    """The functions that its library imports; the loader answers zeDriverGetExtensionFunctionAddress in C."""
    host, device = session.host, session.device
    host.zeDriverGetProperties(session.driver, made("ze_driver_properties_t"))
    properties, compute = made("ze_device_properties_t"), made("ze_device_compute_properties_t")
    host.zeDeviceGetProperties(device, properties)
    host.zeDeviceGetComputeProperties(device, compute)
    assert properties.maxMemAllocSize and compute.maxTotalGroupSize and compute.numSubGroupSizes
    for name in ("zeDeviceGetMemoryProperties", "zeDeviceGetCacheProperties"):
        count = np.zeros(1, "u4")
        getattr(host, name)(device, count, None)
        assert count[0] == 1
    host.zeDevicePciGetPropertiesExt(device, made("ze_pci_ext_properties_t"))
    target, log = sizes(0), sizes(0)
    desc = session.module_desc(XELP, ze.ZE_MODULE_FORMAT_NATIVE)
    host.zeModuleCreate(session.context, device, desc, target, log)
    module = int(target[0])
    assert host.text("zeModuleBuildLogGetString", int(log[0])) == ""
    host.zeModuleBuildLogDestroy(int(log[0]))
    names = [ctypes.string_at(place).decode() for place in host.all("zeModuleGetKernelNames", module)]
    size, place = sizes(0), sizes(0)
    host.zeModuleGetGlobalPointer(module, text("counter"), size, place)
    assert "saxpy" in names and size[0] == 4 and place[0]
    y, seen = session.shared(np.zeros(64, "f4"))
    x, _ = session.shared(np.ones(64, "f4"))
    kernel = session.kernel("saxpy", y, x, np.float32(2), np.uint32(64), module=module, group=(16, 1, 1))
    done = session.event(session.pool())
    session.launch(kernel, (4, 1, 1), done)
    host.zeEventHostSynchronize(done, FOREVER)
    times = structures.ze_kernel_timestamp_result_t()
    host.zeEventQueryKernelTimestamp(done, times)
    assert seen.all() and 0 < times.context.kernelStart <= times.context.kernelEnd
    host.zeModuleDestroy(module)


def test_build_flags_of_level_zero_become_those_of_the_compiler():
    assert build_options("-ze-opt-large-register-file -g") == "-cl-intel-256-GRF-per-thread -g"
    assert build_options("-ze-opt-disable") == "-cl-opt-disable"
    assert build_options("-ze-opt-level 0") == build_options("-ze-opt-level=O0") == "-cl-opt-disable -ze-opt-level=O0"
    assert build_options("-ze-opt-level=2 -ze-take-global-address -ze-intel-emit-zebin-visa-sections") == (
        "-ze-opt-level=O2"
    )


# -- lists, queues, events


def test_recorded_lists_run_as_often_as_they_are_executed(session):
    host = session.host
    kernel, seen, added = saxpy(session)
    queue = host.made("zeCommandQueueCreate", session.context, session.device, session.queue_desc)
    desc = made("ze_command_list_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC)
    commands = host.made("zeCommandListCreate", session.context, session.device, desc)
    session.launch(kernel, (4, 1, 1), target=commands)
    session.set(kernel, session.shared(np.zeros(64, "f4"))[0])  # What was appended keeps its arguments.
    execute = queue, 1, sizes(commands), None
    assert host.result("zeCommandQueueExecuteCommandLists", *execute) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    host.zeCommandListClose(commands)
    for _ in range(3):
        host.zeCommandQueueExecuteCommandLists(*execute)
    host.zeCommandQueueSynchronize(queue, FOREVER)
    assert (seen == 3 * added).all()
    host.zeCommandListReset(commands)
    host.zeCommandListClose(commands)
    fence = host.made("zeFenceCreate", queue, made("ze_fence_desc_t", ze.ZE_STRUCTURE_TYPE_FENCE_DESC))
    assert host.result("zeFenceQueryStatus", fence) == ze.ZE_RESULT_NOT_READY
    host.zeCommandQueueExecuteCommandLists(queue, 1, sizes(commands), fence)
    host.zeFenceHostSynchronize(fence, FOREVER)
    assert (seen == 3 * added).all() and host.result("zeFenceQueryStatus", fence) == 0


def test_events_order_commands_and_give_times(session):
    host, pool = session.host, session.pool()
    gate, done = session.event(pool), session.event(pool, 1)
    kernel, seen, added = saxpy(session)
    session.launch(kernel, (4, 1, 1), done, [gate])
    assert host.result("zeEventQueryStatus", done) == ze.ZE_RESULT_NOT_READY
    assert host.result("zeEventHostSynchronize", done, 1000) == ze.ZE_RESULT_NOT_READY
    assert host.result("zeCommandListHostSynchronize", session.list, 0) == ze.ZE_RESULT_NOT_READY
    host.zeEventHostSignal(gate)
    host.zeEventHostSynchronize(done, FOREVER)
    assert (seen == added).all()
    times = structures.ze_kernel_timestamp_result_t()
    host.zeEventQueryKernelTimestamp(done, times)
    begin, end = struct.unpack_from("<2Q", bytes(times))
    assert 0 < begin <= end
    own, synchronized = structures.ze_kernel_timestamp_result_t(), structures.ze_kernel_timestamp_result_t()
    kind = "ze_event_query_kernel_timestamps_results_ext_properties_t"
    both = made(kind, pKernelTimestampsBuffer=given(own), pSynchronizedTimestampsBuffer=given(synchronized))
    host.zeEventQueryKernelTimestampsExt(done, session.device, np.ones(1, "u4"), both)
    count, alone = np.zeros(1, "u4"), structures.ze_kernel_timestamp_result_t()
    host.zeEventQueryTimestampsExp(done, session.device, count, None)
    host.zeEventQueryTimestampsExp(done, session.device, count, alone)
    assert count[0] == 1 and bytes(own) == bytes(synchronized) == bytes(alone) == bytes(times)
    written = np.zeros(4, "u8")
    host.zeCommandListAppendQueryKernelTimestamps(session.list, 1, sizes(done), written, None, None, 0, None)
    host.zeCommandListAppendEventReset(session.list, done)
    session.finish()
    assert written.tolist() == [begin, end] * 2
    assert host.result("zeEventQueryStatus", done) == ze.ZE_RESULT_NOT_READY


def test_events_that_count_need_no_reset(session):
    host = session.host
    counts = made("ze_event_pool_counter_based_exp_desc_t", ze.ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC)
    done = session.event(session.pool(chain=counts))
    kernel, seen, added = saxpy(session)
    for round in range(1, 4):
        session.launch(kernel, (4, 1, 1), done)
        host.zeEventHostSynchronize(done, FOREVER)
        assert (seen == round * added).all()
    assert host.result("zeEventHostReset", done) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_events_that_count_do_so_in_memory(session):
    host, (value, place) = session.host, (sizes(0), sizes(0))
    done, first = (
        host.made("zeEventCounterBasedCreate", session.context, session.device, None),
        session.event(session.pool()),
    )
    ask = "zeEventCounterBasedGetDeviceAddress", done, value, place
    assert host.result(*ask) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert host.result(ask[0], first, value, place) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    kernel, *_ = saxpy(session)
    session.launch(kernel, (4, 1, 1), done)
    session.finish()
    assert host.result(*ask) == 0
    counter = ctypes.c_uint64.from_address(int(place[0]))
    assert counter.value == value[0] == 1
    session.launch(kernel, (4, 1, 1), done, [first])
    assert host.result(*ask) == 0
    assert (int(value[0]), counter.value) == (2, 1)
    host.zeEventHostSignal(first)
    session.finish()
    assert counter.value == 2
    host.zeEventDestroy(done)
    assert host.result("zeMemFree", session.context, int(place[0])) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_events_are_signalled_when_a_wait_ends(session, monkeypatch):
    """The event of a command that the queue's thread runs."""
    change, pool = Signal.change, session.pool(2)
    first, event = session.event(pool), session.event(pool, 1)

    def slow(signal, status, times=(0, 0)):
        time.sleep(0.05)
        change(signal, status, times)

    monkeypatch.setattr(Signal, "change", slow)
    monkeypatch.setattr(Queue, "help_until", lambda queue, event: None)
    session.launch(saxpy(session)[0], (4, 1, 1), event, [first])
    session.host.zeEventHostSignal(first)
    session.finish()
    assert session.host.result("zeEventQueryStatus", event) == ze.ZE_RESULT_SUCCESS


def test_kernels_run_in_lists_of_other_contexts(session):
    kernel, seen, added = saxpy(session)
    desc = made("ze_context_desc_t", ze.ZE_STRUCTURE_TYPE_CONTEXT_DESC)
    other = session.host.made("zeContextCreate", session.driver, desc)
    commands = session.host.made("zeCommandListCreateImmediate", other, session.device, session.queue_desc)
    session.launch(kernel, (4, 1, 1), target=commands)
    session.host.zeCommandListHostSynchronize(commands, FOREVER)
    assert (seen == added).all()
    assert session.host.result("zeCommandListReset", commands) == 0


def test_contexts_share_addresses_and_memory_outlives_its_context(session):
    host, desc = session.host, made("ze_context_desc_t", ze.ZE_STRUCTURE_TYPE_CONTEXT_DESC)
    count, whole = 64, np.ones(64, "f4")
    y, seen = session.shared(np.zeros(count, "f4"))
    own = session.context
    session.context = host.made("zeContextCreate", session.driver, desc)
    x, _ = session.shared(whole)
    host.zeContextDestroy(session.context)
    kernel = session.kernel("saxpy", y, x, np.float32(2), np.uint32(count), group=(16, 1, 1))
    session.launch(kernel, (4, 1, 1))
    session.finish()
    assert (seen == 2 * whole * np.tile([1, 2, 4, 8], 16)).all()
    assert host.made("zeMemGetAddressRange", own, x + 8, None) == whole.nbytes
    host.zeMemFree(own, x)
    assert host.result("zeMemFree", own, x) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def groups_of(host, device):
    """Flags, largest patterns and queues of the groups of queues."""
    count = np.zeros(1, "u4")
    host.zeDeviceGetCommandQueueGroupProperties(device, count, None)
    found = (structures.ze_command_queue_group_properties_t * int(count[0]))()
    host.zeDeviceGetCommandQueueGroupProperties(device, count, ctypes.addressof(found))
    return [(one.flags, one.maxMemoryFillPatternSize, one.numQueues) for one in found]


@pytest.mark.parametrize("platform, pattern", [("tgllp", None), ("dg2", 16), ("pvc", 1), ("bmg", 1), ("ptl", 1)])
def test_devices_with_an_engine_for_copies_have_a_group_for_it(only_tgllp, platform, pattern):
    only_tgllp(platform)
    session = Session(None)
    _, *others = groups_of(session.host, session.device)
    assert others == ([] if pattern is None else [(ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY, pattern, 1)])


def counting(session):
    """An event that counts."""
    return session.host.made("zeEventCounterBasedCreate", session.context, session.device, None)


def test_lists_for_copies_only_copy(only_tgllp):
    only_tgllp("bmg")
    session = Session((DATA / "zebins" / "xe2.bin").read_bytes())
    host, context, device = session.host, session.context, session.device
    desc = made("ze_command_queue_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, ordinal=1)
    copies, queue = (
        host.made(name, context, device, desc) for name in ("zeCommandListCreateImmediate", "zeCommandQueueCreate")
    )
    x, seen = session.shared(np.zeros(4, "u4"))
    pattern, wrong = np.array([7], "u4"), ze.ZE_RESULT_ERROR_INVALID_SIZE
    assert host.result("zeCommandListAppendMemoryFill", copies, x, pattern, 4, 16, None, 0, None) == wrong
    host.zeCommandListAppendMemoryFill(copies, x, pattern, 1, 16, None, 0, None)
    host.zeCommandListHostSynchronize(copies, FOREVER)
    assert (seen == 0x07070707).all()
    assert host.made("zeCommandListGetOrdinal", copies) == host.made("zeCommandQueueGetOrdinal", queue) == 1
    kernel = session.kernel("saxpy", x, x, np.float32(2), np.uint32(4))
    wrong = ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE
    counts = made("ze_group_count_t", groupCountX=1, groupCountY=1, groupCountZ=1)
    done = counting(session)
    assert host.result("zeCommandListAppendLaunchKernel", copies, kernel, counts, done, 0, None) == wrong
    host.zeEventHostSynchronize(done, FOREVER)  # No command that was taken signals it.
    whole = host.made(
        "zeCommandListCreate", context, device, made("ze_command_list_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC)
    )
    host.zeCommandListClose(whole)
    assert host.result("zeCommandQueueExecuteCommandLists", queue, 1, sizes(whole), None) == wrong
    desc.ordinal = 2
    wrong = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert host.result("zeCommandQueueCreate", context, device, desc, sizes(0)) == wrong


@pytest.mark.parametrize("alignment", [0, 1, 12, 1 << 16, 1 << 17, 1 << 22, 1 << 30])
def test_kernels_use_memory_of_any_alignment(session, alignment):
    host, count, desc = session.host, 64, made("ze_host_mem_alloc_desc_t", ze.ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC)
    y = host.made("zeMemAllocHost", session.context, desc, 4 * count, alignment)
    seen = np.frombuffer((ctypes.c_float * count).from_address(y), "f4")
    x, _ = session.shared(np.ones(count, "f4"))
    session.launch(session.kernel("saxpy", y, x, np.float32(2), np.uint32(count), group=(16, 1, 1)), (4, 1, 1))
    session.finish()
    assert not y % max(alignment & -alignment, 1) and (seen == np.tile([2, 4, 8, 16], 16)).all()


@pytest.mark.parametrize("alignment", [(1 << 30) + 1, 1 << 31, (1 << 64) - 1])
def test_larger_alignments_are_refused(session, alignment):
    desc = made("ze_host_mem_alloc_desc_t", ze.ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC)
    result = session.host.result("zeMemAllocHost", session.context, desc, 64, alignment, sizes(0))
    assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT


def test_closed_lists_ignore_commands(session):
    host, flags = session.host, 0x7FFF_FFFF
    desc = made("ze_command_list_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, flags=flags)
    commands = host.made("zeCommandListCreate", session.context, session.device, desc)
    queue = host.made("zeCommandQueueCreate", session.context, session.device, session.queue_desc)
    x, seen = session.shared(np.zeros(4, "u4"))
    host.zeCommandListClose(commands)
    host.zeCommandListAppendMemoryFill(commands, x, np.array([7], "u4"), 4, 16, None, 0, None)
    host.zeCommandQueueExecuteCommandLists(queue, 1, sizes(commands), None)
    host.zeCommandQueueSynchronize(queue, FOREVER)
    assert not seen.any()


def test_events_of_commands_that_a_closed_list_ignores_stay_as_they_are(session):
    host, done, told = session.host, counting(session), session.event(session.pool())
    desc = made("ze_command_list_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC)
    commands = host.made("zeCommandListCreate", session.context, session.device, desc)
    host.zeCommandListClose(commands)
    for event in (done, told):
        host.zeCommandListAppendBarrier(commands, event, 0, None)
        host.zeCommandListAppendSignalEvent(commands, event)
    host.zeEventHostSynchronize(done, FOREVER)
    assert host.result("zeEventQueryStatus", told) == ze.ZE_RESULT_NOT_READY
    host.zeEventHostSignal(told)
    host.zeCommandListAppendEventReset(commands, told)
    queue = host.made("zeCommandQueueCreate", session.context, session.device, session.queue_desc)
    host.zeCommandQueueExecuteCommandLists(queue, 1, sizes(commands), None)
    host.zeEventHostSynchronize(told, FOREVER)


def test_synchronous_lists_return_when_commands_are_over():
    session = Session(XELP, ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    kernel, seen, added = saxpy(session)
    session.launch(kernel, (4, 1, 1))
    assert (seen == added).all()


def test_threads_wait_for_each_other(session):
    host, pool = session.host, session.pool()
    gate, done = session.event(pool), session.event(pool, 1)
    kernel, seen, added = saxpy(session)
    session.launch(kernel, (4, 1, 1), done, [gate])
    found = []
    waiter = threading.Thread(target=lambda: found.append(host.result("zeEventHostSynchronize", done, FOREVER)))
    waiter.start()
    host.zeEventHostSignal(gate)
    waiter.join(60)
    assert found == [0] and (seen == added).all()


# -- copies, fills, launches of other forms


def test_copies_fills_and_regions(session):
    host = session.host
    place, seen = session.shared(np.zeros(64, "u1"))
    host.zeCommandListAppendMemoryFill(session.list, place, np.array([1, 2, 3], "u1"), 3, 8, None, 0, None)
    session.finish()
    assert seen[:9].tolist() == [1, 2, 3, 1, 2, 3, 1, 2, 0]
    seen[:] = range(64)
    whole = made("ze_copy_region_t", originX=2, originY=1, width=3, height=2)
    there = made("ze_copy_region_t", width=3, height=2, depth=1)
    got = np.zeros(6, "u1")
    host.zeCommandListAppendMemoryCopyRegion(session.list, got, there, 0, 0, place, whole, 8, 0, None, 0, None)
    session.finish()
    assert got.tolist() == [10, 11, 12, 18, 19, 20]
    empty = made("ze_copy_region_t")
    host.zeCommandListAppendMemoryCopyRegion(session.list, got, empty, 0, 0, place, empty, 0, 0, None, 0, None)
    outside = "zeCommandListAppendMemoryCopy", session.list, place, got, 65, None, 0, None
    assert host.result(*outside) == ze.ZE_RESULT_ERROR_INVALID_SIZE


def test_launches_with_arguments_and_indirect_ones(session):
    host = session.host
    kernel, seen, added = saxpy(session)
    y, x = (sizes(int(place)) for place in (seen.ctypes.data, session.shared(np.ones(64, "f4"))[0]))
    values = [y, x, np.array([2], "f4"), np.array([64], "u4")]
    places = sizes(*(value.ctypes.data for value in values))
    host.zeCommandListAppendLaunchKernelWithArguments(
        session.list, kernel, 1 << 32 | 2, 1, 1 << 32 | 32, 1, places, None, None, 0, None
    )
    session.finish()
    assert (seen == added).all()
    counts, shown = session.shared(np.array([2, 1, 1, 0, 1, 1], "u4"))
    host.zeCommandListAppendLaunchKernelIndirect(session.list, kernel, counts, None, 0, None)
    number, _ = session.shared(np.array([2], "u4"))
    host.zeCommandListAppendLaunchMultipleKernelsIndirect(
        session.list, 2, sizes(kernel, kernel), number, counts, None, 0, None
    )
    session.finish()
    assert (seen == 3 * added).all() and shown[0] == 2


# -- memory


def test_properties_of_memory(session):
    host = session.host
    place, _ = session.shared(np.zeros(100, "u1"))
    properties = made("ze_memory_allocation_properties_t", ze.ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES)
    whose = sizes(0)
    host.zeMemGetAllocProperties(session.context, place + 7, properties, whose)
    assert (properties.type, int(whose[0])) == (ze.ZE_MEMORY_TYPE_SHARED, session.device)
    base, size = sizes(0), sizes(0)
    host.zeMemGetAddressRange(session.context, place + 99, base, size)
    assert (int(base[0]), int(size[0])) == (place, 100)
    host.zeMemFree(session.context, place)
    host.zeMemGetAllocProperties(session.context, place, properties, whose)
    assert (properties.type, int(whose[0])) == (ze.ZE_MEMORY_TYPE_UNKNOWN, 0)
    assert host.result("zeMemFree", session.context, place) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_memory_that_was_freed_is_not_used(session, capfd):
    """Neither memory freed before a command is appended, nor memory freed before a recorded command runs."""
    host, context, own = session.host, session.context, np.zeros(64, "u1")
    gone, kept = (session.shared(np.ones(64, "u1"))[0] for _ in range(2))
    desc = made("ze_command_list_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC)
    recorded = host.made("zeCommandListCreate", context, session.device, desc)
    copy, ends = ("zeCommandListAppendMemoryCopy", recorded), (0, 0, None)
    host.result(*copy, own, gone, 64, *ends)
    host.zeCommandListClose(recorded)
    host.zeMemFree(context, gone)
    queue = host.made("zeCommandQueueCreate", context, session.device, session.queue_desc)
    host.zeCommandQueueExecuteCommandLists(queue, 1, sizes(recorded), 0)
    assert host.result("zeCommandQueueSynchronize", queue, FOREVER) == ze.ZE_RESULT_ERROR_DEVICE_LOST
    assert f"64 bytes at {gone:#x} were freed before a command used them" in capfd.readouterr().err
    assert not own.any()
    pattern = np.zeros(1, "u1")
    for call in (
        ("zeCommandListAppendMemoryCopy", session.list, kept, gone, 64),
        ("zeCommandListAppendMemoryCopy", session.list, gone, kept, 64),
        ("zeCommandListAppendMemoryFill", session.list, gone, pattern, 1, 64),
        ("zeCommandListAppendWriteGlobalTimestamp", session.list, gone),
    ):
        assert host.result(*call, *ends) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, call


def test_physical_memory_keeps_its_contents_where_it_is_mapped(session):
    host, context, device = session.host, session.context, session.device
    page = host.made("zeVirtualMemQueryPageSize", context, device, 1)
    first, second = (host.made("zeVirtualMemReserve", context, None, 2 * page) for _ in range(2))
    desc = made("ze_physical_mem_desc_t", ze.ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, size=page)
    memory = host.made("zePhysicalMemCreate", context, device, desc)
    access = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
    host.zeVirtualMemMap(context, first + page, page, memory, 0, access)
    kernel = session.kernel("saxpy", first + page, session.shared(np.ones(64, "f4"))[0], np.float32(2), np.uint32(64))
    session.launch(kernel, (64, 1, 1))
    session.finish()
    assert (
        host.result("zeVirtualMemMap", context, first + page, page, memory, 0, access)
        == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    )
    host.zeVirtualMemMap(context, second, page, memory, 0, access)
    seen = np.frombuffer((ctypes.c_uint8 * 16).from_address(second), "f4")
    assert seen.tolist() == [2, 4, 8, 16]
    host.zeVirtualMemUnmap(context, first + page, page)
    host.zeVirtualMemFree(context, first, 2 * page)
    assert host.result("zeVirtualMemFree", context, first, 2 * page) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


# -- faults


def test_ranges_of_addresses_tell_their_access_and_are_unmapped_together(session):
    host, context = session.host, session.context
    page = host.made("zeVirtualMemQueryPageSize", context, session.device, 1)
    base = host.made("zeVirtualMemReserve", context, None, 4 * page)
    flags = ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST
    desc = made("ze_physical_mem_desc_t", ze.ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, size=page, flags=flags)
    memory = host.made("zePhysicalMemCreate", context, None, desc)

    def seen(place):
        access, size = np.zeros(1, "u4"), sizes(0)
        host.zeVirtualMemGetAccessAttribute(context, place, page, access, size)
        return int(access[0]), int(size[0]) // page

    none, writes = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_NONE, ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
    assert seen(base) == (none, 4)
    for place in (base + page, base + 2 * page):
        host.zeVirtualMemMap(context, place, page, memory, 0, writes)
    assert [seen(base + n * page) for n in range(4)] == [(none, 1), (writes, 2), (writes, 1), (none, 1)]
    host.zeVirtualMemSetAccessAttribute(context, base + 2 * page, page, none)
    assert [seen(base + n * page) for n in range(1, 3)] == [(writes, 1), (none, 2)]
    host.zeVirtualMemUnmap(context, base, 3 * page)
    host.zeVirtualMemUnmap(context, base, 4 * page)
    assert seen(base) == (none, 4)
    refused = "zeVirtualMemSetAccessAttribute", context, base, page, writes
    assert host.result(*refused) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    desc.flags = ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE
    refused = "zePhysicalMemCreate", context, None, desc, sizes(0)
    assert host.result(*refused) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


def test_a_part_of_mapped_memory_is_not_unmapped(session):
    host, context = session.host, session.context
    page = host.made("zeVirtualMemQueryPageSize", context, session.device, 1)
    base = host.made("zeVirtualMemReserve", context, None, 2 * page)
    desc = made("ze_physical_mem_desc_t", ze.ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, size=2 * page)
    memory = host.made("zePhysicalMemCreate", context, session.device, desc)
    host.zeVirtualMemMap(context, base, 2 * page, memory, 0, ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE)
    assert host.result("zeVirtualMemUnmap", context, base, page) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    host.zeVirtualMemUnmap(context, base, 2 * page)


def test_a_fault_is_a_lost_device_at_the_next_synchronisation(session, capfd):
    host, pool = session.host, session.pool()
    place, _ = session.shared(np.zeros(16, "i4"))
    done, later = session.event(pool), session.event(pool, 1)
    kernel = session.kernel("steps", place, ("local", 64), group=(16, 1, 1))
    session.launch(kernel, (2, 1, 1), done)
    host.zeCommandListAppendBarrier(session.list, later, 1, sizes(done))
    for event in (done, later):
        assert host.result("zeEventHostSynchronize", event, FOREVER) == ze.ZE_RESULT_ERROR_DEVICE_LOST
    assert host.result("zeCommandListHostSynchronize", session.list, FOREVER) == ze.ZE_RESULT_ERROR_DEVICE_LOST
    assert host.result("zeEventQueryStatus", done) == ze.ZE_RESULT_ERROR_DEVICE_LOST
    message = capfd.readouterr().err
    assert "outside 'y', which has 64 bytes" in message and "made by zeMemAllocShared" in message
    host.zeCommandListHostSynchronize(session.list, FOREVER)


# -- objects


def test_objects_of_the_runtime_die_with_those_of_the_program(session):
    host, kernel = session.host, saxpy(session)[0]
    held = objects._HELD
    before = len(held)
    for _ in range(3):
        session.launch(kernel, (4, 1, 1))
        pool = session.pool()
        event = session.event(pool)
        session.launch(kernel, (4, 1, 1), event)
        queue = host.made("zeCommandQueueCreate", session.context, session.device, session.queue_desc)
        module = session.load(XELP, ze.ZE_MODULE_FORMAT_NATIVE)
        session.finish()
        for name, handle in (("Event", event), ("EventPool", pool), ("CommandQueue", queue), ("Module", module)):
            host.functions[f"ze{name}Destroy"](handle)
    assert len(held) == before


def test_parts_that_a_simulated_device_does_not_have(session):
    """Unified Runtime asks for fans and frequencies, and takes none for an answer, but no refusal."""
    names = [name for name in session.host.points if name.startswith("zesDeviceEnum")]
    counts = {name: len(session.host.all(name, session.device)) for name in names}
    assert len(names) == 15 and {name: count for name, count in counts.items() if count} == {
        "zesDeviceEnumMemoryModules": 1
    }


def test_the_hosts_time_is_the_clock_that_runtimes_read_themselves(session):
    host_time, device_time = sizes(0), sizes(0)
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    session.host.zeDeviceGetGlobalTimestamps(session.device, host_time, device_time)
    assert before <= host_time[0] <= time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) and device_time[0]


# -- wrong calls


def test_null_and_wrong_handles_have_results(session):
    host = session.host
    for name, point in host.points.items():
        if name in ("zeInit", "zesInit") or point.refusal is not None:
            continue
        wrong = host.result(name, *[0] * len(point.parameters))
        assert wrong >= 0x7000_0000, name
        if point.parameters[0][1].startswith("h"):
            assert wrong == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, name
            other = session.context if "Context" not in point.parameters[0][1] else session.list
            assert (
                host.result(name, other, *[0] * (len(point.parameters) - 1)) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
            ), name
    assert host.zeDriverGetDefaultContext(0) == 0
    assert host.zerTranslateIdentifierToDeviceHandle(1) == 0
    assert host.zerTranslateDeviceHandleToIdentifier(session.context) == 0xFFFFFFFF


def test_chains_in_circles_and_wrong_types(session):
    host = session.host
    circle = made("ze_context_desc_t", ze.ZE_STRUCTURE_TYPE_CONTEXT_DESC)
    circle.pNext = given(circle)
    assert host.result("zeContextCreate", session.driver, circle, sizes(0)) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    other = made("ze_context_desc_t", ze.ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC)
    assert host.result("zeContextCreate", session.driver, other, sizes(0)) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    flags = made("ze_context_desc_t", ze.ZE_STRUCTURE_TYPE_CONTEXT_DESC, flags=64)
    assert host.result("zeContextCreate", session.driver, flags, sizes(0)) == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION


@pytest.mark.parametrize(
    "size, alignment, wanted",
    [
        (0, 0, ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE),
        (1 << 63, 0, ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE),
        (64, 1 << 40, ze.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT),
    ],
)
def test_sizes_and_alignments_that_cannot_be(session, size, alignment, wanted):
    desc = made("ze_device_mem_alloc_desc_t", ze.ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC)
    given = session.context, desc, size, alignment, session.device, sizes(0)
    assert session.host.result("zeMemAllocDevice", *given) == wanted


def test_kernels_refuse_wrong_arguments_and_groups(session):
    host, kernel = session.host, session.kernel("saxpy")
    wrong = [
        (9, 8, sizes(0), ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX),
        (0, 4, sizes(0), ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE),
        (0, 8, sizes(1 << 50), ze.ZE_RESULT_ERROR_INVALID_ARGUMENT),
        (2, 0, sizes(0), ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE),
    ]
    for index, size, value, wanted in wrong:
        assert host.result("zeKernelSetArgumentValue", kernel, index, size, value) == wanted
    for group in ((0, 1, 1), (513, 1, 1), (512, 2, 1), (1 << 31, 1 << 31, 1)):
        wanted = ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION
        assert host.result("zeKernelSetGroupSize", kernel, *group) == wanted
    kernel, *_ = saxpy(session)
    counts = made("ze_group_count_t", groupCountX=1 << 31, groupCountY=1, groupCountZ=1)
    launch = "zeCommandListAppendLaunchKernel", session.list, kernel, counts, None, 0, None
    assert host.result(*launch) == ze.ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION


def test_arguments_without_a_value_are_zero(session):
    kernel, seen, _ = saxpy(session)
    session.host.zeKernelSetArgumentValue(kernel, 2, 4, None)
    session.launch(kernel, (4, 1, 1))
    session.finish()
    assert not seen.any()
    session.host.zeKernelSetArgumentValue(kernel, 0, 8, None)


def test_numbers_that_are_set_with_fewer_bytes_keep_the_others(session):
    kernel, seen, _ = saxpy(session)
    for size, value in ((4, np.float32(3)), (2, np.uint16(0))):
        session.host.zeKernelSetArgumentValue(kernel, 2, size, np.array([value]))
    session.launch(kernel, (4, 1, 1))
    session.finish()
    assert seen[0] == 3
    session.host.zeKernelSetArgumentValue(kernel, 2, 1, np.ones(1, "u1"))
    session.launch(kernel, (4, 1, 1))
    session.finish()
    assert seen[0] == np.float32(3) + np.frombuffer(b"\1\0\x40\x40", "f4")[0]


def test_invalid_modules_are_refused(session):
    with pytest.raises(Failed, match="INVALID_NATIVE_BINARY"):
        session.load(b"nothing", ze.ZE_MODULE_FORMAT_NATIVE)
    with pytest.raises(Failed, match=r"INVALID_ARGUMENT|DEPENDENCY_UNAVAILABLE"):
        session.load(b"nothing")
    with pytest.raises(Failed, match="INVALID_KERNEL_NAME"):
        session.kernel("nothing")
