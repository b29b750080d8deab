"""Platforms and devices (OpenCL 3.0, chapter 4)."""

from __future__ import annotations

from visakit.opencl.answers import find_platform
from visakit.opencl.calls import also, entry
from visakit.opencl.devices import devices_of_type
from visakit.runtime import cl, host
from visakit.runtime.device import Device, host_nanoseconds, platform
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import give_handles


@also("clIcdGetPlatformIDsKHR")
@entry
def clGetPlatformIDs(num_entries: int, platforms: int, num_platforms: int) -> None:
    """The one platform."""
    give_handles([platform()], num_entries, platforms, num_platforms)


@entry
def clGetDeviceIDs(handle: int, device_type: int, num_entries: int, devices: int, num_devices: int) -> None:
    """The devices of a type."""
    find_platform(handle)
    give_handles(devices_of_type(device_type), num_entries, devices, num_devices)


@entry
def clCreateSubDevices(device: Device, properties: int, num_devices: int, out_devices: int, num_ret: int) -> None:
    """Refused: devices have no parts."""
    raise CallError(cl.CL_INVALID_VALUE, "devices have no parts")


@entry
def clGetDeviceAndHostTimer(device: Device, device_timestamp: int, host_timestamp: int) -> None:
    """The times of device and host, which are one clock, in nanoseconds."""
    require(device_timestamp and host_timestamp, cl.CL_INVALID_VALUE, "there is no place for the times")
    now = host_nanoseconds()
    host.write_size(device_timestamp, now)
    host.write_size(host_timestamp, now)


@entry
def clGetHostTimer(device: Device, host_timestamp: int) -> None:
    """The time of the host in nanoseconds."""
    require(host_timestamp, cl.CL_INVALID_VALUE, "there is no place for the time")
    host.write_size(host_timestamp, host_nanoseconds())


@entry
def clUnloadPlatformCompiler(handle: int) -> None:
    """Nothing: the compiler is a process that ends by itself."""
    find_platform(handle)


@entry
def clUnloadCompiler() -> None:
    """The compiler is a process that ends by itself."""
