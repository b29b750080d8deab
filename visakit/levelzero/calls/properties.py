"""Functions that release objects, and functions that tell the numbers and handles that objects were made with."""

from __future__ import annotations

from collections.abc import Callable

from visakit.levelzero.calls import CALLS
from visakit.levelzero.calls.lists import immediate_queue
from visakit.levelzero.events import EventPool, Fence, ZeEvent
from visakit.levelzero.kernels import ZeKernel
from visakit.levelzero.lists import CommandList, ListQueue
from visakit.levelzero.modules import ApiModule, BuildLog
from visakit.levelzero.parameters import find, tell, tell_handle
from visakit.runtime.calls import Call
from visakit.runtime.context import Context
from visakit.runtime.images import Image, Sampler
from visakit.runtime.objects import ApiObject

_ENDS: dict[str, type[ApiObject]] = {
    "zeContextDestroy": Context, "zeCommandQueueDestroy": ListQueue, "zeCommandListDestroy": CommandList,
    "zeEventPoolDestroy": EventPool, "zeEventDestroy": ZeEvent, "zeFenceDestroy": Fence, "zeKernelDestroy": ZeKernel,
    "zeModuleDestroy": ApiModule, "zeModuleBuildLogDestroy": BuildLog, "zeImageDestroy": Image,
    "zeSamplerDestroy": Sampler,
}  # fmt: skip
_NUMBERS: dict[str, Callable[[int], int]] = {
    "zeCommandQueueGetOrdinal": lambda queue: find(ListQueue, queue).ordinal,
    "zeCommandQueueGetIndex": lambda queue: find(ListQueue, queue).index,
    "zeCommandQueueGetFlags": lambda queue: find(ListQueue, queue).flags,
    "zeCommandQueueGetMode": lambda queue: find(ListQueue, queue).mode,
    "zeCommandQueueGetPriority": lambda queue: find(ListQueue, queue).priority,
    "zeCommandListGetOrdinal": lambda command_list: find(CommandList, command_list).ordinal,
    "zeCommandListGetFlags": lambda command_list: find(CommandList, command_list).flags,
    "zeCommandListImmediateGetIndex": lambda command_list: immediate_queue(command_list).index,
    "zeCommandListImmediateGetFlags": lambda command_list: immediate_queue(command_list).flags,
    "zeCommandListImmediateGetMode": lambda command_list: immediate_queue(command_list).mode,
    "zeCommandListImmediateGetPriority": lambda command_list: immediate_queue(command_list).priority,
    "zeEventPoolGetFlags": lambda pool: find(EventPool, pool).flags,
    "zeEventGetSignalScope": lambda event: find(ZeEvent, event).scopes[0],
    "zeEventGetWaitScope": lambda event: find(ZeEvent, event).scopes[1],
    "zeKernelGetIndirectAccess": lambda kernel: find(ZeKernel, kernel).indirect,
}
_HANDLES: dict[str, Callable[[int], ApiObject]] = {
    "zeCommandListGetDeviceHandle": lambda command_list: find(CommandList, command_list).device,
    "zeCommandListGetContextHandle": lambda command_list: find(CommandList, command_list).context,
    "zeEventPoolGetContextHandle": lambda pool: find(EventPool, pool).context,
}


def _ends(kind: type[ApiObject]) -> Call:
    return lambda handle: find(kind, handle).release()


def _tells(number: Callable[[int], int]) -> Call:
    return lambda handle, target: tell(target, number(handle))


def _tells_handle(one: Callable[[int], ApiObject]) -> Call:
    return lambda handle, target: tell_handle(target, one(handle))


CALLS.update({name: _ends(kind) for name, kind in _ENDS.items()})
CALLS.update({name: _tells(number) for name, number in _NUMBERS.items()})
CALLS.update({name: _tells_handle(one) for name, one in _HANDLES.items()})
