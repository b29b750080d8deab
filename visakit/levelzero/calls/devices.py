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
from visakit.levelzero.parameters import extensions, fill, find, give, give_handles, give_structures, need, structure
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
def zeDeviceGet(driver: int, count: int, devices: int) -> None:
    give_handles(count, devices, find(Platform, driver).devices)


@entry
def zeDeviceGetSubDevices(device: int, count: int, devices: int) -> None:
    find(Device, device)
    give(count, devices, [])


@entry
def zeDeviceGetRootDevice(device: int, root: int) -> None:
    find(Device, device)
    need(root)
    host.write_size(root, 0)


@entry
def zeDeviceGetProperties(device: int, properties: int) -> None:
    own = find(Device, device)
    newer = ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
    target = structure(ze_device_properties_t, properties, newer)
    _answer(own, target, device_properties(own, counts_cycles=target.stype == newer))


@entry
def zeDeviceGetComputeProperties(device: int, properties: int) -> None:
    own = find(Device, device)
    _answer(own, structure(ze_device_compute_properties_t, properties), compute_properties(own))


@entry
def zeDeviceGetModuleProperties(device: int, properties: int) -> None:
    own = find(Device, device)
    _answer(own, structure(ze_device_module_properties_t, properties), module_properties(own))


@entry
def zeDeviceGetCommandQueueGroupProperties(device: int, count: int, properties: int) -> None:
    groups = queue_groups(find(Device, device))
    give_structures(count, properties, ze_command_queue_group_properties_t, groups)


@entry
def zeDeviceGetMemoryProperties(device: int, count: int, properties: int) -> None:
    memory = memory_properties(find(Device, device))
    give_structures(count, properties, ze_device_memory_properties_t, [memory])


@entry
def zeDeviceGetMemoryAccessProperties(device: int, properties: int) -> None:
    own = find(Device, device)
    _answer(own, structure(ze_device_memory_access_properties_t, properties), memory_access(own))


@entry
def zeDeviceGetCacheProperties(device: int, count: int, properties: int) -> None:
    found = cache_properties(find(Device, device))
    give_structures(count, properties, ze_device_cache_properties_t, [found])


@entry
def zeDeviceGetImageProperties(device: int, properties: int) -> None:
    own = find(Device, device)
    confused = ze_image_properties_t.number  # Intel's tests give it, and its driver takes it.
    _answer(own, structure(ze_device_image_properties_t, properties, confused), image_properties(own))


@entry
def zeDeviceGetExternalMemoryProperties(device: int, properties: int) -> None:
    own = find(Device, device)
    names = ("memoryAllocationImportTypes", "memoryAllocationExportTypes", "imageImportTypes", "imageExportTypes")
    _answer(own, structure(ze_device_external_memory_properties_t, properties), dict.fromkeys(names, 0))


@entry
def zeDeviceGetP2PProperties(device: int, peer: int, properties: int) -> None:
    own = find(Device, device)
    find(Device, peer)
    _answer(own, structure(ze_device_p2p_properties_t, properties), {"flags": ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS})


@entry
def zeDeviceCanAccessPeer(device: int, peer: int, value: int) -> None:
    find(Device, device)
    find(Device, peer)
    need(value)
    host.write(value, b"\1")


@entry
def zeDeviceGetStatus(device: int) -> None:
    find(Device, device)


@entry
def zeDeviceGetGlobalTimestamps(device: int, host_time: int, device_time: int) -> None:
    find(Device, device)
    need(host_time, device_time)
    host.write_size(host_time, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))  # SYCL reads this clock itself, too.
    host.write_size(device_time, host_nanoseconds())


@entry
def zeDeviceSetCacheAdviceExt(device: int, pointer: int, size: int, region: int) -> None:
    find(Device, device)
    need(pointer)


@entry
def zeDevicePciGetPropertiesExt(device: int, properties: int) -> None:
    own = find(Device, device)
    target = structure(ze_pci_ext_properties_t, properties)
    fill(target.address, bus_address(own))
    fill(target.maxSpeed, {"genVersion": -1, "width": -1, "maxBandwidth": -1})


@entry
def zeDeviceGetVectorWidthPropertiesExt(device: int, count: int, properties: int) -> None:
    widths = vector_widths(find(Device, device))
    give_structures(count, properties, ze_device_vector_width_properties_ext_t, [widths])


@entry
def zeDeviceSynchronize(device: int) -> None:
    own = find(Device, device)
    for queue in live_queues():
        if queue.device is own:
            queue.finish()
