"""What Level Zero tells of a device: fields of structures and their values."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping

from visakit.levelzero import ze
from visakit.levelzero.parameters import fill
from visakit.levelzero.structures import (
    ze_device_ip_version_ext_t,
    ze_device_usablemem_size_ext_properties_t,
    ze_eu_count_ext_t,
    ze_float_atomic_ext_properties_t,
    ze_scheduling_hint_exp_properties_t,
)
from visakit.runtime.device import IMAGE_BUFFER, IMAGE_LAYERS, IMAGE_SIDE, VENDOR, VOLUME_SIDE, Device
from visakit.runtime.models import DP4A
from vsim.command.driver import machine_memory

Values = Mapping[str, int | float | bytes]
_INTEGRATED = ("skl", "icllp", "tgllp", "ptl")
_MOST = 0xFFFF_FFFF
_FIRST_COPY_ENGINE, _FILLS_BYTES = (12, 55), (12, 60)
"""Releases of the graphics core: the first one whose engine for copies Intel's driver gives to programs, and the first
one whose engine fills memory with a byte only, not with 16."""
HINTS = (
    ze.ZE_SCHEDULING_HINT_EXP_FLAG_OLDEST_FIRST | ze.ZE_SCHEDULING_HINT_EXP_FLAG_ROUND_ROBIN
    | ze.ZE_SCHEDULING_HINT_EXP_FLAG_STALL_BASED_ROUND_ROBIN
)  # fmt: skip
"""Orders of threads that a program may wish for."""
_ALL_SIZES = 0xFFFF_FFFF_FFFF_FFFF


def bus_address(device: Device) -> Values:
    """Its place on the bus."""
    return dict(zip(("domain", "bus", "device", "function"), device.bus_place, strict=True))


def device_properties(device: Device, counts_cycles: bool) -> Values:
    """The properties of a device.

    Args:
        counts_cycles: whether the resolution of timers is in cycles of a second, as since version 1.2, and not in
            nanoseconds.
    """
    hardware = device.model.hardware
    return {
        "type": ze.ZE_DEVICE_TYPE_GPU, "vendorId": VENDOR, "deviceId": hardware.device_id,
        "flags": ze.ZE_DEVICE_PROPERTY_FLAG_INTEGRATED if device.name in _INTEGRATED else 0,
        "subdeviceId": 0, "coreClockRate": 1000, "maxMemAllocSize": device.maximum_allocation,
        "maxHardwareContexts": 1 << 16, "maxCommandQueuePriority": 0, "numThreadsPerEU": hardware.threads,
        "physicalEUSimdWidth": device.model.sub_groups[0], "numEUsPerSubslice": hardware.units,
        "numSubslicesPerSlice": hardware.sub_slices, "numSlices": hardware.slices,
        "timerResolution": 1_000_000_000 if counts_cycles else 1, "timestampValidBits": 64,
        "kernelTimestampValidBits": 64, "uuid": device.uuid, "name": device.full_name.encode()[:255],
    }  # fmt: skip


def extended_properties(device: Device, stype: int, address: int) -> None:
    """Fill a structure that extends another one, if it is known."""
    hardware = device.model.hardware
    if stype == ze.ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT:
        fill(ze_device_ip_version_ext_t.at(address), {"ipVersion": hardware.ip_number})
    elif stype == ze.ZE_STRUCTURE_TYPE_EU_COUNT_EXT:
        fill(ze_eu_count_ext_t.at(address), {"numTotalEUs": hardware.all_units})
    elif stype == ze.ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES:
        fill(ze_device_usablemem_size_ext_properties_t.at(address), {"currUsableMemSize": free_memory()})
    elif stype == ze.ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES:
        fill(ze_scheduling_hint_exp_properties_t.at(address), {"schedulingHintFlags": HINTS})
    elif stype == ze.ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES:
        fill(ze_float_atomic_ext_properties_t.at(address), _float_atomics(device))


def _float_atomics(device: Device) -> Values:
    """Atomic operations on floats: of halves the compiler has no sum."""
    no_sum = (
        ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_LOAD_STORE | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX
        | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_LOAD_STORE | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_MIN_MAX
    )  # fmt: skip
    every = no_sum | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_ADD
    return {"fp16Flags": no_sum, "fp32Flags": every, "fp64Flags": every if device.model.has_double else 0}


def free_memory() -> int:
    """Bytes of memory of this machine that nothing uses."""
    return min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"), machine_memory())


def compute_properties(device: Device) -> Values:
    """Sizes of groups."""
    group, widths = device.model.group, device.model.sub_groups
    values: dict[str, int | float | bytes] = {"maxTotalGroupSize": group, "maxSharedLocalMemory": device.model.local}
    for axis in "XYZ":
        values |= {f"maxGroupSize{axis}": group, f"maxGroupCount{axis}": _MOST}
    return values | {"numSubGroupSizes": len(widths), "subGroupSizes": struct.pack(f"<{len(widths)}I", *widths)}


def module_properties(device: Device) -> Values:
    """Properties of programs and their numbers."""
    model = device.model
    supported = ze.ZE_DEVICE_MODULE_FLAG_FP16 | ze.ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS
    supported |= ze.ZE_DEVICE_MODULE_FLAG_FP64 if model.has_double else 0
    supported |= ze.ZE_DEVICE_MODULE_FLAG_DP4A if model.hardware.features & DP4A else 0
    real = (
        ze.ZE_DEVICE_FP_FLAG_DENORM | ze.ZE_DEVICE_FP_FLAG_INF_NAN | ze.ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST
        | ze.ZE_DEVICE_FP_FLAG_ROUND_TO_ZERO | ze.ZE_DEVICE_FP_FLAG_ROUND_TO_INF | ze.ZE_DEVICE_FP_FLAG_FMA
    )  # fmt: skip
    return {
        "spirvVersionSupported": 1 << 16 | 2, "flags": supported, "fp16flags": real,
        "fp32flags": real | ze.ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT, "fp64flags": real if model.has_double else 0,
        "maxArgumentsSize": 2048, "printfBufferSize": 4 << 20, "nativeKernelSupported": bytes(16),
    }  # fmt: skip


def queue_groups(device: Device) -> list[Values]:
    """The groups of queues: one whose queues do everything, and one for copies on devices with an engine for them."""
    every = (
        ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
        | ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS
    )  # fmt: skip
    whole: Values = {"flags": every, "maxMemoryFillPatternSize": _ALL_SIZES, "numQueues": 1}
    release = device.model.hardware.ip_version[:2]
    if release < _FIRST_COPY_ENGINE:
        return [whole]
    copy, pattern = ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY, 1 if release >= _FILLS_BYTES else 16
    return [whole, {"flags": copy, "maxMemoryFillPatternSize": pattern, "numQueues": 1}]


def memory_properties(device: Device) -> Values:
    """The memory."""
    return {
        "flags": 0, "maxClockRate": 1000, "maxBusWidth": 64, "totalSize": machine_memory(),
        "name": b"memory of the host",
    }  # fmt: skip


def memory_access(device: Device) -> Values:
    """Accesses to the kinds of allocations; other memory of the program is not shared."""
    every = ze.ZE_MEMORY_ACCESS_CAP_FLAG_RW | ze.ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC
    every |= ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT
    kinds = ("host", "device", "sharedSingleDevice", "sharedCrossDevice")
    return {**{f"{kind}AllocCapabilities": every for kind in kinds}, "sharedSystemAllocCapabilities": 0}


def cache_properties(device: Device) -> Values:
    """The cache."""
    return {"flags": 0, "cacheSize": 4 << 20}


def image_properties(device: Device) -> Values:
    """Limits of images; 0 on devices without images."""
    there = device.model.has_images
    limits = {
        "maxImageDims1D": IMAGE_SIDE, "maxImageDims2D": IMAGE_SIDE, "maxImageDims3D": VOLUME_SIDE,
        "maxImageBufferSize": IMAGE_BUFFER, "maxImageArraySlices": IMAGE_LAYERS, "maxSamplers": 16,
        "maxReadImageArgs": 128, "maxWriteImageArgs": 128,
    }  # fmt: skip
    return {name: limit if there else 0 for name, limit in limits.items()}


def vector_widths(device: Device) -> Values:
    """Widths of vectors, as OpenCL's driver names them."""
    widths = {"char": 16, "short": 8, "int": 4, "long": 1, "float": 1, "half": 8}
    widths["double"] = int(device.model.has_double)
    names = [f"{side}_vector_width_{name}" for side in ("preferred", "native") for name in widths]
    return {"vector_width_size": 0} | {name: widths[name.rpartition("_")[2]] for name in names}
