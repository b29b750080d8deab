"""Devices: their properties."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.device_properties import (
    bus_address,
    cache_properties,
    compute_properties,
    device_properties,
    extended_properties,
    image_properties,
    memory_access,
    memory_properties,
    module_properties,
    queue_groups,
    vector_widths,
)
from visakit.levelzero.layout import Structure
from visakit.levelzero.parameters import extensions, fill, give, give_handles, give_structures, need, structure
from visakit.levelzero.structures import (
    ze_command_queue_group_properties_t,
    ze_device_cache_properties_t,
    ze_device_compute_properties_t,
    ze_device_external_memory_properties_t,
    ze_device_image_properties_t,
    ze_device_memory_access_properties_t,
    ze_device_memory_properties_t,
    ze_device_module_properties_t,
    ze_device_p2p_properties_t,
    ze_device_properties_t,
    ze_device_vector_width_properties_ext_t,
    ze_image_properties_t,
    ze_pci_ext_properties_t,
)
from visakit.runtime import host
from visakit.runtime.device import Device, Platform, host_nanoseconds
from visakit.runtime.queue import live_queues


def _answer(device: Device, target: Structure, values: Mapping[str, int | float | bytes]) -> None:
    """Fill a structure of properties, and the structures that it leads to."""
    chain = extensions(ctypes.addressof(target))
    fill(target, values)
    for stype, place in chain.items():
        extended_properties(device, stype, place)


@entry
def zeDeviceGet(driver: Platform, count: int, devices: int) -> None:
    """The devices, or how many there are."""
    give_handles(count, devices, driver.devices)


@entry
def zeDeviceGetSubDevices(device: Device, count: int, devices: int) -> None:
    """None: devices have no parts."""
    give(count, devices, [])


@entry
def zeDeviceGetRootDevice(device: Device, root: int) -> None:
    """Null: a device is no part of another one."""
    need(root)
    host.write_size(root, 0)


@entry
def zeDeviceGetProperties(device: Device, properties: int) -> None:
    """Name, identifiers, sizes and the clock of a device; the newer structure counts cycles in a second."""
    newer = ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
    target = structure(ze_device_properties_t, properties, newer)
    _answer(device, target, device_properties(device, counts_cycles=target.stype == newer))


@entry
def zeDeviceGetComputeProperties(device: Device, properties: int) -> None:
    """Limits of groups."""
    _answer(device, structure(ze_device_compute_properties_t, properties), compute_properties(device))


@entry
def zeDeviceGetModuleProperties(device: Device, properties: int) -> None:
    """Versions of SPIR-V, and what its modules may use."""
    _answer(device, structure(ze_device_module_properties_t, properties), module_properties(device))


@entry
def zeDeviceGetCommandQueueGroupProperties(device: Device, count: int, properties: int) -> None:
    """The groups of queues."""
    groups = queue_groups(device)
    give_structures(count, properties, ze_command_queue_group_properties_t, groups)


@entry
def zeDeviceGetMemoryProperties(device: Device, count: int, properties: int) -> None:
    """The memory of a device."""
    memory = memory_properties(device)
    give_structures(count, properties, ze_device_memory_properties_t, [memory])


@entry
def zeDeviceGetMemoryAccessProperties(device: Device, properties: int) -> None:
    """The kinds of accesses to each kind of memory."""
    _answer(device, structure(ze_device_memory_access_properties_t, properties), memory_access(device))


@entry
def zeDeviceGetCacheProperties(device: Device, count: int, properties: int) -> None:
    """The cache of a device."""
    found = cache_properties(device)
    give_structures(count, properties, ze_device_cache_properties_t, [found])


@entry
def zeDeviceGetImageProperties(device: Device, properties: int) -> None:
    """Limits of images; zeros where the device has none."""
    confused = ze_image_properties_t.number  # Intel's tests give it, and its driver takes it.
    _answer(device, structure(ze_device_image_properties_t, properties, confused), image_properties(device))


@entry
def zeDeviceGetExternalMemoryProperties(device: Device, properties: int) -> None:
    """None: memory is not shared with other processes."""
    names = ("memoryAllocationImportTypes", "memoryAllocationExportTypes", "imageImportTypes", "imageExportTypes")
    _answer(device, structure(ze_device_external_memory_properties_t, properties), dict.fromkeys(names, 0))


@entry
def zeDeviceGetP2PProperties(device: Device, peer: Device, properties: int) -> None:
    """Devices access the memory of each other."""
    _answer(device, structure(ze_device_p2p_properties_t, properties), {"flags": ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS})


@entry
def zeDeviceCanAccessPeer(device: Device, peer: Device, value: int) -> None:
    """Devices access the memory of each other."""
    need(value)
    host.write(value, b"\1")


@entry
def zeDeviceGetStatus(device: Device) -> None:
    """Nothing but the check of the handle."""


@entry
def zeDeviceGetGlobalTimestamps(device: Device, host_time: int, device_time: int) -> None:
    """The times of host and device, which are one clock, in nanoseconds."""
    need(host_time, device_time)
    host.write_size(host_time, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))  # SYCL reads this clock itself, too.
    host.write_size(device_time, host_nanoseconds())


@entry
def zeDeviceSetCacheAdviceExt(device: Device, pointer: int, size: int, region: int) -> None:
    """Nothing but checks: a hint."""
    need(pointer)


@entry
def zeDevicePciGetPropertiesExt(device: Device, properties: int) -> None:
    """The place of a device on its bus."""
    target = structure(ze_pci_ext_properties_t, properties)
    fill(target.address, bus_address(device))
    fill(target.maxSpeed, {"genVersion": -1, "width": -1, "maxBandwidth": -1})


@entry
def zeDeviceGetVectorWidthPropertiesExt(device: Device, count: int, properties: int) -> None:
    """Preferred widths of vectors, by type."""
    widths = vector_widths(device)
    give_structures(count, properties, ze_device_vector_width_properties_ext_t, [widths])


@entry
def zeDeviceSynchronize(device: Device) -> None:
    """Wait until all queues of a device are empty."""
    for queue in live_queues():
        if queue.device is device:
            queue.finish()
