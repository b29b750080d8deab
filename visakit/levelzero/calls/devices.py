"""Devices: their properties."""

from __future__ import annotations

from collections.abc import Mapping

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.device_properties import (
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
    ze_pci_ext_properties_t,
)
from visakit.runtime import host
from visakit.runtime.device import Device, Platform, host_nanoseconds
from visakit.runtime.queue import live_queues


def _answer(
    device: int, kind: type[Structure], address: int, number: int, values: Mapping[str, int | float | bytes]
) -> None:
    """Fill a structure of properties, and the structures that it leads to."""
    target = structure(kind, address, number)
    chain = extensions(address)
    fill(target, values)
    for stype, place in chain.items():
        extended_properties(find(Device, device), stype, place)


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
    types = ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
    target = structure(ze_device_properties_t, properties, *types)
    chain = extensions(properties)
    fill(target, device_properties(own, counts_cycles=target.stype == types[1]))
    for stype, place in chain.items():
        extended_properties(own, stype, place)


@entry
def zeDeviceGetComputeProperties(device: int, properties: int) -> None:
    values = compute_properties(find(Device, device))
    number = ze.ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES
    _answer(device, ze_device_compute_properties_t, properties, number, values)


@entry
def zeDeviceGetModuleProperties(device: int, properties: int) -> None:
    values = module_properties(find(Device, device))
    number = ze.ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES
    _answer(device, ze_device_module_properties_t, properties, number, values)


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
    values = memory_access(find(Device, device))
    number = ze.ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES
    _answer(device, ze_device_memory_access_properties_t, properties, number, values)


@entry
def zeDeviceGetCacheProperties(device: int, count: int, properties: int) -> None:
    found = cache_properties(find(Device, device))
    give_structures(count, properties, ze_device_cache_properties_t, [found])


@entry
def zeDeviceGetImageProperties(device: int, properties: int) -> None:
    values = image_properties(find(Device, device))
    number = ze.ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES
    _answer(device, ze_device_image_properties_t, properties, number, values)


@entry
def zeDeviceGetExternalMemoryProperties(device: int, properties: int) -> None:
    find(Device, device)
    number = ze.ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES
    names = ("memoryAllocationImportTypes", "memoryAllocationExportTypes", "imageImportTypes", "imageExportTypes")
    _answer(device, ze_device_external_memory_properties_t, properties, number, dict.fromkeys(names, 0))


@entry
def zeDeviceGetP2PProperties(device: int, peer: int, properties: int) -> None:
    find(Device, device)
    find(Device, peer)
    number = ze.ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES
    access = ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS
    _answer(device, ze_device_p2p_properties_t, properties, number, {"flags": access})


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
    now = host_nanoseconds()
    host.write_size(host_time, now)
    host.write_size(device_time, now)


@entry
def zeDeviceSetCacheAdviceExt(device: int, pointer: int, size: int, region: int) -> None:
    find(Device, device)
    need(pointer)


@entry
def zeDevicePciGetPropertiesExt(device: int, properties: int) -> None:
    own = find(Device, device)
    target = structure(ze_pci_ext_properties_t, properties, ze.ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES)
    fill(target.address, {"domain": 0, "bus": 3 + own.index, "device": 0, "function": 0})
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
