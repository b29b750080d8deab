"""ND-ranges: the checked sizes of an enqueue."""

from __future__ import annotations

import math
import re

from visakit.runtime import cl, host
from visakit.runtime.device import Device
from visakit.runtime.errors import require
from visakit.runtime.kernels import Kernel
from vsim.launch.launch import MAXIMUM_SIZE

Sizes = tuple[int, ...]
_STANDARD = re.compile(r"-cl-std=(?:CL)?(\d)\.")


def read_range(
    kernel: Kernel, device: Device, dimensions: int, offset: int, size: int, local: int
) -> tuple[Sizes, Sizes | None, Sizes]:
    """Global size, local size (None where one is to be chosen) and offset of an enqueue.

    Raises:
        CallError: the kernel cannot run over these sizes.
    """
    require(1 <= dimensions <= 3, cl.CL_INVALID_WORK_DIMENSION, f"there are 1 to 3 dimensions, found {dimensions}")
    global_size = host.read_sizes(size, dimensions) if size else (0,) * dimensions
    first = host.read_sizes(offset, dimensions) if offset else (0,) * dimensions
    small = all(n < MAXIMUM_SIZE for n in global_size)
    require(small, cl.CL_INVALID_GLOBAL_WORK_SIZE, "the device counts work-items with 32 bits")
    ends = all(a + b < MAXIMUM_SIZE for a, b in zip(first, global_size, strict=True))
    require(ends, cl.CL_INVALID_GLOBAL_OFFSET, "the device counts work-items with 32 bits")
    group = host.read_sizes(local, dimensions) if local else None
    _check_group(kernel, device, global_size, group)
    return global_size, group, first


def _check_group(kernel: Kernel, device: Device, size: Sizes, group: Sizes | None) -> None:
    required = kernel.signatures[device].required_size
    if required is not None:
        wanted, given = (*required, 1, 1)[:3], (*(group or required), 1, 1)[:3]
        require(wanted == given, cl.CL_INVALID_WORK_GROUP_SIZE, f"groups are {wanted}")
        group = group or wanted[: len(size)]
    if group is None:
        return
    limit = device.model.group
    require(all(group), cl.CL_INVALID_WORK_GROUP_SIZE, "a group has work-items")
    require(max(group) <= limit, cl.CL_INVALID_WORK_ITEM_SIZE, f"groups have {limit} work-items at most")
    require(math.prod(group) <= limit, cl.CL_INVALID_WORK_GROUP_SIZE, f"groups have {limit} work-items at most")
    if not may_be_uneven(kernel, device):
        even = not any(a % b for a, b in zip(size, group, strict=True))
        require(
            even, cl.CL_INVALID_WORK_GROUP_SIZE, "groups do not divide the range, which this program was not built for"
        )


def may_be_uneven(kernel: Kernel, device: Device) -> bool:
    """Whether the last groups may be smaller: the program was built as OpenCL C 2.0 or later."""
    options = kernel.program.builds[device].options
    standards = _STANDARD.findall(options)
    return bool(standards) and int(standards[-1]) >= 2 and "-cl-uniform-work-group-size" not in options
