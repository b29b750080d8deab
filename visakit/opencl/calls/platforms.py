"""Platforms and devices (OpenCL 3.0, chapter 4)."""

from __future__ import annotations

from visakit.opencl import info
from visakit.opencl.answers import find_platform
from visakit.opencl.calls import entry
from visakit.opencl.devices import DEVICE_ANSWERS, PLATFORM_ANSWERS, devices_of_type
from visakit.runtime import cl, host
from visakit.runtime.device import Device, host_nanoseconds, platform
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import give_handles


@entry
def clGetPlatformIDs(num_entries: int, platforms: int, num_platforms: int) -> None:
    give_handles([platform()], num_entries, platforms, num_platforms)


@entry
def clIcdGetPlatformIDsKHR(num_entries: int, platforms: int, num_platforms: int) -> None:
    give_handles([platform()], num_entries, platforms, num_platforms)


@entry
def clGetPlatformInfo(handle: int, name: int, size: int, value: int, size_ret: int) -> None:
    info.answer(PLATFORM_ANSWERS, find_platform(handle), name, size, value, size_ret)


@entry
def clGetDeviceIDs(handle: int, device_type: int, num_entries: int, devices: int, num_devices: int) -> None:
    find_platform(handle)
    give_handles(devices_of_type(device_type), num_entries, devices, num_devices)


@entry
def clGetDeviceInfo(device: int, name: int, size: int, value: int, size_ret: int) -> None:
    info.answer(DEVICE_ANSWERS, Device.find(device), name, size, value, size_ret)


@entry
def clCreateSubDevices(device: int, properties: int, num_devices: int, out_devices: int, num_ret: int) -> None:
    Device.find(device)
    raise CallError(cl.CL_INVALID_VALUE, "devices have no parts")


@entry
def clRetainDevice(device: int) -> None:
    Device.find(device).retain()


@entry
def clReleaseDevice(device: int) -> None:
    Device.find(device).release()


@entry
def clGetDeviceAndHostTimer(device: int, device_timestamp: int, host_timestamp: int) -> None:
    Device.find(device)
    require(device_timestamp and host_timestamp, cl.CL_INVALID_VALUE, "there is no place for the times")
    now = host_nanoseconds()
    host.write_size(device_timestamp, now)
    host.write_size(host_timestamp, now)


@entry
def clGetHostTimer(device: int, host_timestamp: int) -> None:
    Device.find(device)
    require(host_timestamp, cl.CL_INVALID_VALUE, "there is no place for the time")
    host.write_size(host_timestamp, host_nanoseconds())


@entry
def clUnloadPlatformCompiler(handle: int) -> None:
    find_platform(handle)


@entry
def clUnloadCompiler() -> None:
    """The compiler is a process that ends by itself."""
