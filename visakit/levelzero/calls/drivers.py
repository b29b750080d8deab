"""The driver (chapter *Drivers and Devices* of the programming guide)."""

from __future__ import annotations

import visakit
from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.calls.contexts import default_context
from visakit.levelzero.parameters import described, fill, flags, give_handles, give_structures, need, structure
from visakit.levelzero.structures import (
    ze_driver_extension_properties_t,
    ze_driver_ipc_properties_t,
    ze_driver_properties_t,
    ze_init_driver_type_desc_t,
)
from visakit.runtime import host
from visakit.runtime.device import Device, Platform, platform
from visakit.runtime.errors import require
from visakit.runtime.models import DPAS

VERSION = 1 << 16 | 14
"""The version of the interface that the driver has."""
_UUID = b"visakit level 0\0"
EXTENSIONS = (
    ze.ZE_PCI_PROPERTIES_EXT_NAME, ze.ZE_EU_COUNT_EXT_NAME, ze.ZE_DEVICE_IP_VERSION_EXT_NAME, ze.ZE_SUBGROUPS_EXT_NAME,
    ze.ZE_GLOBAL_OFFSET_EXP_NAME, ze.ZE_MODULE_PROGRAM_EXP_NAME, ze.ZE_KERNEL_MAX_GROUP_SIZE_PROPERTIES_EXT_NAME,
    ze.ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_NAME, ze.ZE_EVENT_QUERY_TIMESTAMPS_EXP_NAME,
    ze.ZE_IMMEDIATE_COMMAND_LIST_APPEND_EXP_NAME, ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_NAME,
    ze.ZE_MEMORY_FREE_POLICIES_EXT_NAME, ze.ZE_IMAGE_COPY_EXT_NAME, ze.ZE_DEVICE_VECTOR_SIZES_EXT_NAME,
    ze.ZE_LINKAGE_INSPECTION_EXT_NAME,
    ze.ZE_IMAGE_VIEW_EXT_NAME, ze.ZE_IMAGE_VIEW_EXP_NAME, ze.ZE_IMAGE_MEMORY_PROPERTIES_EXP_NAME,
    ze.ZE_KERNEL_SCHEDULING_HINTS_EXP_NAME, ze.ZE_FLOAT_ATOMICS_EXT_NAME,
    ze.ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_NAME, ze.ZE_IMAGE_QUERY_ALLOC_PROPERTIES_EXT_NAME,
)  # fmt: skip
"""The extensions that work on all devices; all are of version 1.0."""
_EMPTY = host.Sizes([0])
"""An empty text."""


def version_number() -> int:
    """The version of this package: a byte for the major and minor version, and 16 bits."""
    words = [*visakit.__version__.split("+")[0].split("."), "0", "0"]
    major, minor, patch = (int(word) if word.isdigit() else 0 for word in words[:3])
    return major << 24 | minor << 16 | patch


@entry
def zeInit(init_flags: int) -> None:
    """Begin; only GPUs are there."""
    known = ze.ZE_INIT_FLAG_GPU_ONLY | ze.ZE_INIT_FLAG_VPU_ONLY
    flags(init_flags, known)
    wanted = not init_flags or init_flags & ze.ZE_INIT_FLAG_GPU_ONLY
    require(wanted, ze.ZE_RESULT_ERROR_UNINITIALIZED, "all devices are GPUs")
    platform()


@entry
def zeInitDrivers(count: int, drivers: int, desc: int) -> None:
    """Begin, and get the one driver; only GPUs are there."""
    given = structure(ze_init_driver_type_desc_t, desc)
    need(count)
    require(given.flags, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, "no kind of drivers is wanted")
    wanted = given.flags & ze.ZE_INIT_DRIVER_TYPE_FLAG_GPU
    require(wanted, ze.ZE_RESULT_ERROR_UNINITIALIZED, "all devices are GPUs")
    give_handles(count, drivers, [platform()])


@entry
def zeDriverGet(count: int, drivers: int) -> None:
    """The one driver."""
    give_handles(count, drivers, [platform()])


@entry
def zeDriverGetApiVersion(driver: Platform, version: int) -> None:
    """The version of the interface: major in the upper 16 bits."""
    need(version)
    host.write_u32(version, VERSION)


@entry
def zeDriverGetProperties(driver: Platform, properties: int) -> None:
    """The identifier and version of the driver."""
    fill(described(ze_driver_properties_t, properties), {"uuid": _UUID, "driverVersion": version_number()})


@entry
def zeDriverGetIpcProperties(driver: Platform, properties: int) -> None:
    """None: handles are not shared with other processes."""
    target = structure(ze_driver_ipc_properties_t, properties)
    fill(target, {"flags": 0})


@entry
def zeDriverGetExtensionProperties(driver: Platform, count: int, properties: int) -> None:
    """The extensions that work on all devices."""
    has_short_floats = all(d.model.hardware.features & DPAS for d in driver.devices)
    names = (*EXTENSIONS, *([ze.ZE_BFLOAT16_CONVERSIONS_EXT_NAME] if has_short_floats else []))
    known: list[dict[str, int | float | bytes]] = [{"name": n.encode(), "version": 1 << 16} for n in names]
    give_structures(count, properties, ze_driver_extension_properties_t, known)


@entry
def zeDriverGetLastErrorDescription(driver: Platform, text: int) -> None:
    """An empty text: reasons of refusals are in the trace."""
    zerGetLastErrorDescription(text)


@entry
def zerGetLastErrorDescription(text: int) -> None:
    """An empty text: reasons of refusals are in the trace."""
    need(text)
    host.write_size(text, _EMPTY.address)


@entry
def zerTranslateDeviceHandleToIdentifier(device: Device) -> int:
    """The number of a device."""
    return platform().devices.index(device)


@entry
def zerTranslateIdentifierToDeviceHandle(identifier: int) -> int:
    """The device of a number."""
    known = platform().devices
    require(identifier < len(known), ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"there are {len(known)} devices")
    return known[identifier].handle


@entry
def zerGetDefaultContext() -> int:
    """The context of all devices that the driver makes itself."""
    return default_context().handle


@entry
def zeDriverGetDefaultContext(driver: Platform) -> int:
    """The context of all devices that the driver makes itself."""
    return default_context().handle
