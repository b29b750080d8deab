"""The platform and its devices: one for each generation of GPUs that the program is to see."""

from __future__ import annotations

import os
import struct
import time
from functools import cache

from visakit.compiler.devices import compiler_driver, preferred_device
from visakit.forks import cached_property
from visakit.language.platforms import PLATFORMS, find
from visakit.runtime import cl
from visakit.runtime.models import MODELS
from visakit.runtime.objects import ApiObject
from visakit.runtime.settings import PLATFORM_SETTING, device_name
from vsim.command.driver import machine_memory

VENDOR = 0x8086
"""The maker's number on the bus."""
MAXIMUM_ALLOCATION = 0xFFFF_0000
"""Largest buffer in bytes: the size of a slot of the simulated address space."""
IMAGE_SIDE, VOLUME_SIDE, IMAGE_LAYERS, IMAGE_BUFFER = 16384, 2048, 2048, 1 << 27
"""Texels along an axis of an image, of one with depth; layers; texels of an image over a buffer."""


class Platform(ApiObject):
    """The only platform."""

    invalid = cl.CL_INVALID_PLATFORM
    title = "platform"

    def __init__(self) -> None:
        super().__init__()
        self.devices = [Device(self, name, index) for index, name in enumerate(_wanted_devices())]


class Device(ApiObject):
    """A simulated GPU; ``name`` is the platform's, in the words of the tools, ``index`` its place among the devices."""

    invalid = cl.CL_INVALID_DEVICE
    title = "device"

    def __init__(self, platform: Platform, name: str, index: int = 0) -> None:
        super().__init__()
        self.platform_handle = platform.handle
        self.name, self.index = name, index
        self.model = MODELS[name]

    def retain(self) -> None:
        """Devices of a platform are not counted."""

    def release(self) -> None:
        """Devices of a platform are not counted."""

    @property
    def full_name(self) -> str:
        """Its name for programs, in both interfaces."""
        return device_name() or f"{self.name}: {PLATFORMS[self.name].title}, simulated"

    @property
    def uuid(self) -> bytes:
        """Its identifier in both interfaces: vendor, product, and its number among the devices."""
        return struct.pack("<HHI8x", VENDOR, self.model.hardware.device_id, 0)[:15] + bytes([self.index])

    @property
    def bus_place(self) -> tuple[int, int, int, int]:
        """Domain, bus, device and function on the bus."""
        return 0, 3 + self.index, 0, 0

    @cached_property
    def maximum_allocation(self) -> int:
        """Bytes of the largest buffer."""
        return min(machine_memory() // 2, MAXIMUM_ALLOCATION)


@cache
def platform() -> Platform:
    """The platform with its devices."""
    return Platform()


def compiler() -> str | None:
    """The path of the compiler driver; None where it is not installed."""
    return compiler_driver()


def host_nanoseconds() -> int:
    """The clock of all times that the driver gives."""
    return time.perf_counter_ns()


def _wanted_devices() -> list[str]:
    """The names of the devices: those of the environment variable, else one that the compiler knows."""
    wanted = os.environ.get(PLATFORM_SETTING, "")
    names = [p.name for word in wanted.split(",") if (p := find(word.strip())) and p.name in MODELS]
    return list(dict.fromkeys(names)) or [preferred_device()]
