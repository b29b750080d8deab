"""Answers to questions about kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from visakit.opencl import info
from visakit.opencl.info import Answers
from visakit.runtime import cl
from visakit.runtime.device import Device
from visakit.runtime.errors import CallError, require
from visakit.runtime.kernels import (
    Kernel,
    KernelParameter,
    attribute_text,
    local_bytes,
    private_bytes,
    required_sub_group,
    spilled_bytes,
)


def sub_group_answer(kernel: Kernel, device: Device, name: int, given: Sequence[int], room: int) -> bytes:
    """An answer about sub-groups.

    Args:
        given: the local size or the number of sub-groups that the question is about.
        room: dimensions of the local size that is asked for.

    Raises:
        CallError: it is no question that has an answer.
    """
    simd = kernel.signatures[device].simd
    most = device.model.group // simd
    items = math.prod(given)
    ranges = (cl.CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, cl.CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE)
    if name in ranges:
        require(1 <= len(given) <= 3, cl.CL_INVALID_VALUE, "a local size has one to three dimensions")
        return info.u64(min(simd, items) if name == ranges[0] else -(-items // simd))
    if name == cl.CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT:
        require(len(given) == 1, cl.CL_INVALID_VALUE, "the question is about one number of sub-groups")
        fits = 0 < given[0] <= most
        return info.sizes([given[0] * simd if fits else 0, *[int(fits)] * (max(room, 1) - 1)])
    if name == cl.CL_KERNEL_MAX_NUM_SUB_GROUPS:
        return info.u64(most)
    if name == cl.CL_KERNEL_COMPILE_NUM_SUB_GROUPS:
        return info.u64(0)
    if name == cl.CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL:
        return info.u64(required_sub_group(kernel, device))
    raise CallError(cl.CL_INVALID_VALUE, f"{name:#x} is no question that has an answer here")


KERNEL_ANSWERS: Answers[Kernel] = {
    cl.CL_KERNEL_FUNCTION_NAME: lambda k: info.text(k.name),
    cl.CL_KERNEL_NUM_ARGS: lambda k: info.u32(len(k.parameters)),
    cl.CL_KERNEL_REFERENCE_COUNT: lambda k: info.u32(k.references),
    cl.CL_KERNEL_CONTEXT: lambda k: info.handle(k.program.context),
    cl.CL_KERNEL_PROGRAM: lambda k: info.handle(k.program),
    cl.CL_KERNEL_ATTRIBUTES: lambda k: info.text(attribute_text(k)),
}


PARAMETER_ANSWERS: Answers[KernelParameter] = {
    cl.CL_KERNEL_ARG_ADDRESS_QUALIFIER: lambda p: info.u32(p.address),
    cl.CL_KERNEL_ARG_ACCESS_QUALIFIER: lambda p: info.u32(p.access),
    cl.CL_KERNEL_ARG_TYPE_NAME: lambda p: info.text(p.type_name),
    cl.CL_KERNEL_ARG_TYPE_QUALIFIER: lambda p: info.u64(p.qualifiers),
    cl.CL_KERNEL_ARG_NAME: lambda p: info.text(p.name),
}


Asked = tuple[Kernel, Device]


WORK_GROUP_ANSWERS: Answers[Asked] = {
    cl.CL_KERNEL_WORK_GROUP_SIZE: lambda a: info.u64(a[1].model.group),
    cl.CL_KERNEL_COMPILE_WORK_GROUP_SIZE: lambda a: info.sizes(_three(a[0].signatures[a[1]].required_size)),
    cl.CL_KERNEL_LOCAL_MEM_SIZE: lambda a: info.u64(local_bytes(*a)),
    cl.CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: lambda a: info.u64(a[0].signatures[a[1]].simd),
    cl.CL_KERNEL_PRIVATE_MEM_SIZE: lambda a: info.u64(private_bytes(a[0].signatures[a[1]])),
    cl.CL_KERNEL_SPILL_MEM_SIZE_INTEL: lambda a: info.u64(spilled_bytes(a[0].signatures[a[1]])),
}


def _three(size: Sequence[int] | None) -> list[int]:
    return [*(size or (0, 0, 0)), 1, 1][:3]
