"""Kernels: properties and arguments."""

from __future__ import annotations

import math
from hashlib import blake2b

from visakit.levelzero import ze
from visakit.levelzero.calls import entry
from visakit.levelzero.device_properties import HINTS
from visakit.levelzero.kernels import ZeKernel
from visakit.levelzero.modules import ApiModule
from visakit.levelzero.parameters import described, extensions, fill, flags, give_bytes, need, structure
from visakit.levelzero.structures import (
    ze_kernel_desc_t,
    ze_kernel_max_group_size_properties_ext_t,
    ze_kernel_preferred_group_size_properties_t,
    ze_kernel_properties_t,
    ze_scheduling_hint_exp_desc_t,
)
from visakit.runtime import host
from visakit.runtime.errors import require
from visakit.runtime.kernels import attribute_text, private_bytes, required_sub_group, spilled_bytes

_INDIRECT = (
    ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE
    | ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED
)  # fmt: skip
_CACHES = ze.ZE_CACHE_CONFIG_FLAG_LARGE_SLM | ze.ZE_CACHE_CONFIG_FLAG_LARGE_DATA


@entry
def zeKernelCreate(module: ApiModule, desc: int, target: int) -> None:
    """A kernel of a module by its name."""
    known = ze.ZE_KERNEL_FLAG_FORCE_RESIDENCY | ze.ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY
    given = described(ze_kernel_desc_t, desc, known)
    need(given.pKernelName, target)
    host.write_size(target, ZeKernel(module, host.text_at(given.pKernelName)).handle)


@entry
def zeKernelSetCacheConfig(kernel: ZeKernel, config: int) -> None:
    """Nothing but checks: a hint."""
    flags(config, _CACHES)


@entry
def zeKernelSetGroupSize(kernel: ZeKernel, x: int, y: int, z: int) -> None:
    """The size of groups in later launches, in work-items."""
    kernel.set_group((x, y, z))


@entry
def zeKernelSuggestGroupSize(kernel: ZeKernel, x: int, y: int, z: int, to_x: int, to_y: int, to_z: int) -> None:
    """A size of groups that fits a global size, in work-items."""
    need(to_x, to_y, to_z)
    require(x and y and z, ze.ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION, "a size is 0")
    for place, size in zip((to_x, to_y, to_z), kernel.suggest((x, y, z)), strict=True):
        host.write_u32(place, size)


@entry
def zeKernelSuggestMaxCooperativeGroupCount(kernel: ZeKernel, target: int) -> None:
    """The number of groups that the hardware threads of the device hold at once."""
    need(target)
    hardware = kernel.device.model.hardware
    threads = -(-math.prod(kernel.group) // kernel.signature.simd)
    host.write_u32(target, hardware.slices * hardware.sub_slices * max(1, hardware.units * hardware.threads // threads))


@entry
def zeKernelSetArgumentValue(kernel: ZeKernel, index: int, size: int, value: int) -> None:
    """Set an argument by its number."""
    kernel.set_argument(index, size, value)


@entry
def zeKernelSetIndirectAccess(kernel: ZeKernel, access: int) -> None:
    """The kinds of memory that the kernel reaches by pointers in memory."""
    kernel.indirect = flags(access, _INDIRECT)


@entry
def zeKernelGetSourceAttributes(kernel: ZeKernel, size: int, target: int) -> None:
    """The attributes that the source gives the kernel, as text."""
    need(size)
    text = attribute_text(kernel).encode() + b"\0"
    room = host.read_u32(size)
    if target:
        host.write(host.read_sizes(target, 1)[0], text[:room])
    host.write_u32(size, len(text))


@entry
def zeKernelGetProperties(kernel: ZeKernel, properties: int) -> None:
    """Arguments, required sizes, memory and identifier of a kernel."""
    target = structure(ze_kernel_properties_t, properties)
    chain = extensions(properties)
    signature, limit = kernel.signature, kernel.device.model.group
    binary = kernel.program.builds[kernel.device].binary
    identity = blake2b(binary, digest_size=16).digest() + blake2b(kernel.name.encode(), digest_size=16).digest()
    required = kernel.required or (0, 0, 0)
    fill(
        target,
        {
            "numKernelArgs": len(kernel.parameters), "requiredGroupSizeX": required[0],
            "requiredGroupSizeY": required[1], "requiredGroupSizeZ": required[2], "requiredNumSubGroups": 0,
            "requiredSubgroupSize": required_sub_group(kernel, kernel.device), "maxSubgroupSize": signature.simd,
            "maxNumSubgroups": -(-limit // signature.simd), "localMemSize": signature.slm_size,
            "privateMemSize": private_bytes(signature),
            "spillMemSize": spilled_bytes(signature),
        },
    )  # fmt: skip
    host.write(target.place("uuid"), identity)
    if place := chain.get(ze.ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES):
        fill(ze_kernel_preferred_group_size_properties_t.at(place), {"preferredMultiple": signature.simd})
    if place := chain.get(ze.ZE_STRUCTURE_TYPE_KERNEL_MAX_GROUP_SIZE_EXT_PROPERTIES):
        fill(ze_kernel_max_group_size_properties_ext_t.at(place), {"maxGroupSize": limit})


@entry
def zeKernelGetName(kernel: ZeKernel, size: int, target: int) -> None:
    """The name of a kernel."""
    give_bytes(size, target, kernel.name.encode() + b"\0")


@entry
def zeKernelSetGlobalOffsetExp(kernel: ZeKernel, x: int, y: int, z: int) -> None:
    """The first global id of later launches."""
    kernel.offset = (x, y, z)


@entry
def zeKernelSchedulingHintExp(kernel: ZeKernel, hint: int) -> None:
    """Nothing but checks: a hint."""
    given = structure(ze_scheduling_hint_exp_desc_t, hint)
    flags(given.flags, HINTS)
