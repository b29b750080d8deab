"""Contexts, and which memory is resident."""

from __future__ import annotations

from functools import cache

from visakit.levelzero import ze
from visakit.levelzero.calls import also, entry
from visakit.levelzero.parameters import described, find, find_all, need, tell_handle
from visakit.levelzero.structures import ze_context_desc_t
from visakit.runtime.context import Context
from visakit.runtime.device import Device, Platform, platform
from visakit.runtime.errors import require
from visakit.runtime.images import Image


def context_device(context: int, device: int) -> tuple[Context, Device]:
    """A context and one of its devices."""
    own, chosen = find(Context, context), find(Device, device)
    require(chosen in own.devices, ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "the device is not of the context")
    return own, chosen


@cache
def default_context() -> Context:
    """The context of programs that make none; all others share its addresses and allocations, as on a device."""
    return Context(platform().devices)


def _create(driver: int, desc: int, devices: list[Device], target: int) -> None:
    described(ze_context_desc_t, desc, ze.ZE_CONTEXT_FLAG_TBD)
    tell_handle(target, Context(devices, like=default_context()))


@entry
def zeContextCreate(driver: int, desc: int, target: int) -> None:
    """A context of all devices."""
    _create(driver, desc, find(Platform, driver).devices, target)


@entry
def zeContextCreateEx(driver: int, desc: int, count: int, devices: int, target: int) -> None:
    """A context of some devices; without any, of all."""
    own = find(Platform, driver)
    chosen = find_all(Device, devices, count) if count else own.devices
    _create(driver, desc, chosen, target)


@entry
def zeContextGetStatus(context: Context) -> None:
    """Nothing but the check of the handle."""


@entry
def zeContextSystemBarrier(context: int, device: int) -> None:
    """Nothing but checks: memory is coherent."""
    context_device(context, device)


@also("zeContextEvictMemory")
@entry
def zeContextMakeMemoryResident(context: int, device: int, pointer: int, size: int) -> None:
    """Nothing but checks: all memory is resident."""
    context_device(context, device)
    need(pointer)


@also("zeContextEvictImage")
@entry
def zeContextMakeImageResident(context: int, device: int, image: int) -> None:
    """Nothing but checks: all images are resident."""
    context_device(context, device)
    find(Image, image)
