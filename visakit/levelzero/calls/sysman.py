"""System management: the properties and the memory of devices, which runtimes ask for."""

from __future__ import annotations

from functools import cache

import visakit
from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.device_properties import bus_address, device_properties, free_memory
from visakit.levelzero.parameters import described, fill, give_handles, need, structure
from visakit.levelzero.structures import (
    zes_device_properties_t,
    zes_device_state_t,
    zes_mem_properties_t,
    zes_mem_state_t,
    zes_pci_properties_t,
)
from visakit.runtime import host
from visakit.runtime.device import Device, Platform, platform
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import ApiObject
from vsim.command.driver import machine_memory


class MemoryModule(ApiObject):
    """The memory of a device."""

    invalid = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    title = "memory module"

    def __init__(self, device: Device) -> None:
        super().__init__()
        self.device = device


@cache
def _memory(device: Device) -> MemoryModule:
    return MemoryModule(device)


@entry
def zesInit(flags: int) -> None:
    """Begin system management."""
    require(not flags, ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, f"flags {flags:#x}")
    platform()


@entry
def zesDriverGet(count: int, drivers: int) -> None:
    """The one driver."""
    give_handles(count, drivers, [platform()])


@entry
def zesDeviceGet(driver: Platform, count: int, devices: int) -> None:
    """The devices, or how many there are."""
    give_handles(count, devices, driver.devices)


@entry
def zesDeviceGetProperties(device: Device, properties: int) -> None:
    """Identifiers of a device, and its names; unknown ones are "unknown"."""
    target = described(zes_device_properties_t, properties)
    fill(target.core, device_properties(device, counts_cycles=False))
    names = {name: b"unknown\0" for name in ("serialNumber", "boardNumber", "brandName")}
    names |= {"modelName": bytes(target.core.name), "vendorName": b"visakit\0"}
    fill(target, {"numSubdevices": 0, **names, "driverVersion": visakit.__version__.encode() + b"\0"})


@entry
def zesDeviceGetState(device: Device, state: int) -> None:
    """A device is never reset or repaired."""
    fill(structure(zes_device_state_t, state), {"reset": 0, "repaired": 0})


@entry
def zesDevicePciGetProperties(device: Device, properties: int) -> None:
    """The place of a device on its bus; its speed is not known."""
    target = structure(zes_pci_properties_t, properties)
    fill(target.address, bus_address(device))
    fill(target.maxSpeed, {"gen": -1, "width": -1, "maxBandwidth": -1})
    fill(target, {"haveBandwidthCounters": 0, "havePacketCounters": 0, "haveReplayCounters": 0})


@entry
def zesDeviceEnumMemoryModules(device: Device, count: int, memory: int) -> None:
    """The memory of a device."""
    give_handles(count, memory, [_memory(device)])


def _none(name: str) -> None:
    """Serve a function that enumerates parts which a simulated device does not have."""

    def enumerate_none(device: Device, count: int, handles: int) -> None:
        give_handles(count, handles, [])

    enumerate_none.__name__ = name
    entry(enumerate_none)


for _part in (
    "DiagnosticTestSuites", "EngineGroups", "FabricPorts", "Fans", "Firmwares", "FrequencyDomains", "Leds",
    "PerformanceFactorDomains", "PowerDomains", "Psus", "RasErrorSets", "Schedulers", "StandbyDomains",
    "TemperatureSensors",
):  # fmt: skip
    _none(f"zesDeviceEnum{_part}")


@entry
def zesMemoryGetProperties(memory: MemoryModule, properties: int) -> None:
    """The size of the machine's memory, which is the device's."""
    target = structure(zes_mem_properties_t, properties)
    values = {"type": ze.ZES_MEM_TYPE_DDR, "onSubdevice": 0, "subdeviceId": 0, "location": ze.ZES_MEM_LOC_SYSTEM}
    fill(target, {**values, "physicalSize": machine_memory(), "busWidth": -1, "numChannels": -1})


@entry
def zesMemoryGetState(memory: MemoryModule, state: int) -> None:
    """Free bytes and size of the machine's memory."""
    target = structure(zes_mem_state_t, state)
    fill(target, {"health": ze.ZES_MEM_HEALTH_OK, "free": free_memory(), "size": machine_memory()})


@entry
def zesDriverGetDeviceByUuidExp(driver: Platform, low: int, high: int, device: int, on_part: int, part: int) -> None:
    """The device with an identifier; no device is a part of another one."""
    need(device, on_part, part)
    wanted = host.pack_sizes([low, high])
    found = next((d for d in driver.devices if d.uuid == wanted), None)
    if found is None:
        raise CallError(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "no device has this identifier")
    host.write_size(device, found.handle)
    host.write(on_part, b"\0")
    host.write_u32(part, 0)
