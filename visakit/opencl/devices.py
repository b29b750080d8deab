"""The platform and its devices, as OpenCL describes them."""

from __future__ import annotations

import struct
from collections.abc import Callable

import visakit
from visakit.opencl import info
from visakit.opencl.info import Answers, text, u32, u64
from visakit.runtime import cl
from visakit.runtime.device import (
    IMAGE_BUFFER,
    IMAGE_LAYERS,
    IMAGE_SIDE,
    VENDOR,
    VOLUME_SIDE,
    Device,
    Platform,
    compiler,
    platform,
)
from visakit.runtime.errors import CallError
from visakit.runtime.models import DPAS
from vsim.command.driver import machine_memory

ATOMIC_CAPABILITIES = (
    cl.CL_DEVICE_ATOMIC_ORDER_RELAXED | cl.CL_DEVICE_ATOMIC_ORDER_ACQ_REL | cl.CL_DEVICE_ATOMIC_ORDER_SEQ_CST
    | cl.CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM | cl.CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP | cl.CL_DEVICE_ATOMIC_SCOPE_DEVICE
    | cl.CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES
)  # fmt: skip
_SINGLE = (
    cl.CL_FP_DENORM | cl.CL_FP_INF_NAN | cl.CL_FP_ROUND_TO_NEAREST | cl.CL_FP_ROUND_TO_ZERO | cl.CL_FP_ROUND_TO_INF
)
USM_CAPABILITIES = cl.CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | cl.CL_UNIFIED_SHARED_MEMORY_CONCURRENT_ACCESS_INTEL
FLOAT_CAPABILITIES = _SINGLE | cl.CL_FP_FMA


Facts = Answers["Device"]


_EXTENSIONS = (
    "cl_khr_byte_addressable_store", "cl_khr_global_int32_base_atomics", "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics", "cl_khr_local_int32_extended_atomics", "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics", "cl_khr_icd", "cl_khr_fp16",
    "cl_khr_extended_versioning",
    "cl_khr_create_command_queue", "cl_intel_unified_shared_memory", "cl_intel_device_attribute_query",
    "cl_khr_device_uuid", "cl_khr_pci_bus_info",
    "cl_khr_subgroups", "cl_intel_subgroups", "cl_intel_required_subgroup_size", "cl_khr_il_program",
)  # fmt: skip


def extensions(device: Device) -> tuple[str, ...]:
    """The extensions that work."""
    model, double, images = device.model, ["cl_khr_fp64"], ["cl_khr_3d_image_writes", "cl_khr_depth_images"]
    floats = ["cl_intel_bfloat16_conversions"] if model.hardware.features & DPAS else []
    return (*_EXTENSIONS, *floats, *(double if model.has_double else []), *(images if model.has_images else []))


def _spirv_versions() -> tuple[tuple[int, int], ...]:
    """The versions of SPIR-V that programs may be of; none without a compiler."""
    return ((1, 0), (1, 1), (1, 2)) if compiler() else ()


def _c_versions(device: Device) -> list[tuple[tuple[int, int, int], str]]:
    return [((major, minor, 0), "OpenCL C") for major, minor in ((1, 0), (1, 1), (1, 2), (3, 0))]


def _features(device: Device) -> list[tuple[tuple[int, int, int], str]]:
    """The optional features of OpenCL C 3.0 that kernels may use."""
    names = [
        "__opencl_c_atomic_order_acq_rel", "__opencl_c_atomic_order_seq_cst", "__opencl_c_atomic_scope_all_devices",
        "__opencl_c_atomic_scope_device", "__opencl_c_generic_address_space", "__opencl_c_int64",
        "__opencl_c_program_scope_global_variables", "__opencl_c_subgroups",
        "__opencl_c_work_group_collective_functions",
    ]  # fmt: skip
    if device.model.has_double:
        names.append("__opencl_c_fp64")
    if device.model.has_images:
        names += ["__opencl_c_images", "__opencl_c_3d_image_writes", "__opencl_c_read_write_images"]
    return [((3, 0, 0), name) for name in names]


def _extension_versions(names: tuple[str, ...]) -> bytes:
    return info.versioned([((1, 0, 0), name) for name in names])


_VERSION_TEXT = f"OpenCL 3.0 visakit {visakit.__version__}"


PLATFORM_EXTENSIONS = ("cl_khr_icd", "cl_khr_extended_versioning", "cl_khr_create_command_queue")


PLATFORM_ANSWERS: Answers[Platform] = {
    cl.CL_PLATFORM_PROFILE: lambda p: text("FULL_PROFILE"),
    cl.CL_PLATFORM_VERSION: lambda p: text(_VERSION_TEXT),
    cl.CL_PLATFORM_NUMERIC_VERSION: lambda p: u32(info.version(3, 0)),
    cl.CL_PLATFORM_NAME: lambda p: text("visakit"),
    cl.CL_PLATFORM_VENDOR: lambda p: text("visakit"),
    cl.CL_PLATFORM_EXTENSIONS: lambda p: text(" ".join(PLATFORM_EXTENSIONS)),
    cl.CL_PLATFORM_EXTENSIONS_WITH_VERSION: lambda p: _extension_versions(PLATFORM_EXTENSIONS),
    cl.CL_PLATFORM_ICD_SUFFIX_KHR: lambda p: text("VISA"),
    cl.CL_PLATFORM_HOST_TIMER_RESOLUTION: lambda p: u64(1),
}


def _number(value: int) -> Callable[[Device], bytes]:
    return lambda d: u32(value)


def _long(value: int) -> Callable[[Device], bytes]:
    return lambda d: u64(value)


def _image(value: int, encode: Callable[[int], bytes] = u64) -> Callable[[Device], bytes]:
    """A limit of images; 0 on devices without images."""
    return lambda d: encode(value if d.model.has_images else 0)


_IDENTITY: Facts = {
    cl.CL_DEVICE_TYPE: _long(cl.CL_DEVICE_TYPE_GPU),
    cl.CL_DEVICE_VENDOR_ID: _number(VENDOR),
    cl.CL_DEVICE_UUID_KHR: lambda d: d.uuid,
    cl.CL_DRIVER_UUID_KHR: lambda d: f"visakit {visakit.__version__}".encode()[:16].ljust(16, b"\0"),
    cl.CL_DEVICE_LUID_VALID_KHR: _number(0),
    cl.CL_DEVICE_LUID_KHR: lambda d: bytes(8),
    cl.CL_DEVICE_NODE_MASK_KHR: _number(0),
    cl.CL_DEVICE_PCI_BUS_INFO_KHR: lambda d: struct.pack("<4I", *d.bus_place),
    cl.CL_DEVICE_NAME: lambda d: text(d.full_name),
    cl.CL_DEVICE_VENDOR: lambda d: text("visakit"),
    cl.CL_DEVICE_PROFILE: lambda d: text("FULL_PROFILE"),
    cl.CL_DEVICE_VERSION: lambda d: text(_VERSION_TEXT),
    cl.CL_DEVICE_NUMERIC_VERSION: _number(info.version(3, 0)),
    cl.CL_DRIVER_VERSION: lambda d: text(visakit.__version__),
    cl.CL_DEVICE_OPENCL_C_VERSION: lambda d: text("OpenCL C 1.2 visakit"),
    cl.CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR: _number(info.version(1, 2)),
    cl.CL_DEVICE_OPENCL_C_ALL_VERSIONS: lambda d: info.versioned(_c_versions(d)),
    cl.CL_DEVICE_OPENCL_C_FEATURES: lambda d: info.versioned(_features(d)),
    cl.CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED: lambda d: text(""),
    cl.CL_DEVICE_EXTENSIONS: lambda d: text(" ".join(extensions(d))),
    cl.CL_DEVICE_EXTENSIONS_WITH_VERSION: lambda d: _extension_versions(extensions(d)),
    cl.CL_DEVICE_PLATFORM: lambda d: u64(d.platform_handle),
    cl.CL_DEVICE_PARENT_DEVICE: _long(0),
    cl.CL_DEVICE_REFERENCE_COUNT: _number(1),
    cl.CL_DEVICE_AVAILABLE: _number(1),
    cl.CL_DEVICE_ENDIAN_LITTLE: _number(1),
    cl.CL_DEVICE_ADDRESS_BITS: _number(64),
    cl.CL_DEVICE_HOST_UNIFIED_MEMORY: _number(1),
    cl.CL_DEVICE_ERROR_CORRECTION_SUPPORT: _number(0),
    cl.CL_DEVICE_PROFILING_TIMER_RESOLUTION: _long(1),
}


_HARDWARE: Facts = {
    cl.CL_DEVICE_IP_VERSION_INTEL: lambda d: u32(d.model.hardware.ip_number),
    cl.CL_DEVICE_ID_INTEL: lambda d: u32(d.model.hardware.device_id),
    cl.CL_DEVICE_NUM_SLICES_INTEL: lambda d: u32(d.model.hardware.slices),
    cl.CL_DEVICE_NUM_SUB_SLICES_PER_SLICE_INTEL: lambda d: u32(d.model.hardware.sub_slices),
    cl.CL_DEVICE_NUM_EUS_PER_SUB_SLICE_INTEL: lambda d: u32(d.model.hardware.units),
    cl.CL_DEVICE_NUM_THREADS_PER_EU_INTEL: lambda d: u32(d.model.hardware.threads),
    cl.CL_DEVICE_FEATURE_CAPABILITIES_INTEL: lambda d: u64(d.model.hardware.features),
}


_COMPILER: Facts = {
    cl.CL_DEVICE_COMPILER_AVAILABLE: lambda d: u32(compiler() is not None),
    cl.CL_DEVICE_LINKER_AVAILABLE: lambda d: u32(compiler() is not None),
    cl.CL_DEVICE_BUILT_IN_KERNELS: lambda d: text(""),
    cl.CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION: lambda d: b"",
    cl.CL_DEVICE_IL_VERSION: lambda d: text(" ".join(f"SPIR-V_{a}.{b}" for a, b in _spirv_versions())),
    cl.CL_DEVICE_ILS_WITH_VERSION: lambda d: info.versioned([((*v, 0), "SPIR-V") for v in _spirv_versions()]),
}


_EXECUTION: Facts = {
    cl.CL_DEVICE_MAX_COMPUTE_UNITS: lambda d: u32(d.model.hardware.all_units),
    cl.CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: _number(3),
    cl.CL_DEVICE_MAX_WORK_ITEM_SIZES: lambda d: info.sizes([d.model.group] * 3),
    cl.CL_DEVICE_MAX_WORK_GROUP_SIZE: lambda d: u64(d.model.group),
    cl.CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: lambda d: u64(d.model.sub_groups[-1]),
    cl.CL_DEVICE_MAX_CLOCK_FREQUENCY: _number(1000),
    cl.CL_DEVICE_EXECUTION_CAPABILITIES: _long(cl.CL_EXEC_KERNEL),
    cl.CL_DEVICE_QUEUE_ON_HOST_PROPERTIES: _long(
        cl.CL_QUEUE_PROFILING_ENABLE | cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
    ),
    cl.CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES: _long(0),
    cl.CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE: _number(0),
    cl.CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE: _number(0),
    cl.CL_DEVICE_MAX_ON_DEVICE_QUEUES: _number(0),
    cl.CL_DEVICE_MAX_ON_DEVICE_EVENTS: _number(0),
    cl.CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES: _long(0),
    cl.CL_DEVICE_PARTITION_MAX_SUB_DEVICES: _number(0),
    cl.CL_DEVICE_PARTITION_PROPERTIES: _long(0),
    cl.CL_DEVICE_PARTITION_TYPE: _long(0),
    cl.CL_DEVICE_PARTITION_AFFINITY_DOMAIN: _long(0),
    cl.CL_DEVICE_PREFERRED_INTEROP_USER_SYNC: _number(1),
    cl.CL_DEVICE_MAX_PARAMETER_SIZE: _long(2048),
    cl.CL_DEVICE_PRINTF_BUFFER_SIZE: _long(4 << 20),
    cl.CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT: _number(1),
    cl.CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT: _number(1),
    cl.CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT: _number(1),
    cl.CL_DEVICE_MAX_NUM_SUB_GROUPS: lambda d: u32(d.model.group // d.model.sub_groups[0]),
    cl.CL_DEVICE_SUB_GROUP_SIZES_INTEL: lambda d: info.sizes(d.model.sub_groups),
    cl.CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS: _number(1),
    cl.CL_DEVICE_PIPE_SUPPORT: _number(0),
    cl.CL_DEVICE_MAX_PIPE_ARGS: _number(0),
    cl.CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS: _number(0),
    cl.CL_DEVICE_PIPE_MAX_PACKET_SIZE: _number(0),
}


_MEMORY: Facts = {
    cl.CL_DEVICE_GLOBAL_MEM_SIZE: lambda d: u64(machine_memory()),
    cl.CL_DEVICE_MAX_MEM_ALLOC_SIZE: lambda d: u64(d.maximum_allocation),
    cl.CL_DEVICE_GLOBAL_MEM_CACHE_TYPE: _number(cl.CL_READ_WRITE_CACHE),
    cl.CL_DEVICE_GLOBAL_MEM_CACHE_SIZE: _long(4 << 20),
    cl.CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE: _number(64),
    cl.CL_DEVICE_LOCAL_MEM_TYPE: _number(cl.CL_LOCAL),
    cl.CL_DEVICE_LOCAL_MEM_SIZE: lambda d: u64(d.model.local),
    cl.CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE: lambda d: u64(d.maximum_allocation),
    cl.CL_DEVICE_MAX_CONSTANT_ARGS: _number(8),
    cl.CL_DEVICE_MEM_BASE_ADDR_ALIGN: _number(1024),
    cl.CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE: _number(128),
    cl.CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE: _long(64 << 10),
    cl.CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE: lambda d: u64(d.maximum_allocation),
    cl.CL_DEVICE_SVM_CAPABILITIES: _long(cl.CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | cl.CL_DEVICE_SVM_FINE_GRAIN_BUFFER),
    cl.CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL: _long(USM_CAPABILITIES),
    cl.CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL: _long(USM_CAPABILITIES),
    cl.CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL: _long(USM_CAPABILITIES),
    cl.CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL: _long(USM_CAPABILITIES),
    cl.CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL: _long(0),
    cl.CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES: _long(ATOMIC_CAPABILITIES),
    cl.CL_DEVICE_ATOMIC_FENCE_CAPABILITIES: _long(ATOMIC_CAPABILITIES),
    cl.CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT: _number(0),
    cl.CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT: _number(0),
    cl.CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT: _number(0),
}


_NUMBERS: Facts = {
    cl.CL_DEVICE_SINGLE_FP_CONFIG: _long(FLOAT_CAPABILITIES | cl.CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT),
    cl.CL_DEVICE_HALF_FP_CONFIG: _long(FLOAT_CAPABILITIES),
    cl.CL_DEVICE_DOUBLE_FP_CONFIG: lambda d: u64(FLOAT_CAPABILITIES if d.model.has_double else 0),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR: _number(16),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT: _number(8),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT: _number(4),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG: _number(1),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT: _number(1),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE: lambda d: u32(d.model.has_double),
    cl.CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF: _number(8),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR: _number(16),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT: _number(8),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_INT: _number(4),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG: _number(1),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: _number(1),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE: lambda d: u32(d.model.has_double),
    cl.CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF: _number(8),
}


_IMAGES: Facts = {
    cl.CL_DEVICE_IMAGE_SUPPORT: _image(1, u32),
    cl.CL_DEVICE_MAX_READ_IMAGE_ARGS: _image(128, u32),
    cl.CL_DEVICE_MAX_WRITE_IMAGE_ARGS: _image(128, u32),
    cl.CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS: _image(128, u32),
    cl.CL_DEVICE_IMAGE2D_MAX_WIDTH: _image(IMAGE_SIDE),
    cl.CL_DEVICE_IMAGE2D_MAX_HEIGHT: _image(IMAGE_SIDE),
    cl.CL_DEVICE_IMAGE3D_MAX_WIDTH: _image(VOLUME_SIDE),
    cl.CL_DEVICE_IMAGE3D_MAX_HEIGHT: _image(VOLUME_SIDE),
    cl.CL_DEVICE_IMAGE3D_MAX_DEPTH: _image(VOLUME_SIDE),
    cl.CL_DEVICE_IMAGE_MAX_BUFFER_SIZE: _image(IMAGE_BUFFER),
    cl.CL_DEVICE_IMAGE_MAX_ARRAY_SIZE: _image(IMAGE_LAYERS),
    cl.CL_DEVICE_MAX_SAMPLERS: _image(16, u32),
    cl.CL_DEVICE_IMAGE_PITCH_ALIGNMENT: _number(0),
    cl.CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT: _number(0),
}


DEVICE_ANSWERS: Facts = {**_IDENTITY, **_HARDWARE, **_COMPILER, **_EXECUTION, **_MEMORY, **_NUMBERS, **_IMAGES}


def devices_of_type(wanted: int) -> list[Device]:
    """The devices that a type asks for.

    Raises:
        CallError: no such type exists, or no device has it.
    """
    known = cl.CL_DEVICE_TYPE_CPU | cl.CL_DEVICE_TYPE_GPU | cl.CL_DEVICE_TYPE_ACCELERATOR
    known |= cl.CL_DEVICE_TYPE_CUSTOM | cl.CL_DEVICE_TYPE_DEFAULT
    if wanted != cl.CL_DEVICE_TYPE_ALL and (not wanted or wanted & ~known):
        raise CallError(cl.CL_INVALID_DEVICE_TYPE, f"{wanted:#x} is no type of devices")
    devices = platform().devices
    if wanted == cl.CL_DEVICE_TYPE_ALL or wanted & cl.CL_DEVICE_TYPE_GPU:
        return devices
    if wanted & cl.CL_DEVICE_TYPE_DEFAULT:
        return devices[:1]
    raise CallError(cl.CL_DEVICE_NOT_FOUND, "all devices are GPUs")
