"""The program's references to objects, and the questions that it asks of them, by kind of object."""

from __future__ import annotations

from collections.abc import Callable

from visakit.opencl import info
from visakit.opencl.answers import (
    CONTEXT_ANSWERS,
    EVENT_ANSWERS,
    IMAGE_ANSWERS,
    MEMORY_ANSWERS,
    SAMPLER_ANSWERS,
    find_platform,
)
from visakit.opencl.calls import CALLS
from visakit.opencl.devices import DEVICE_ANSWERS, PLATFORM_ANSWERS
from visakit.opencl.info import Answers, Subject
from visakit.opencl.kernel_answers import KERNEL_ANSWERS
from visakit.runtime.context import Context
from visakit.runtime.device import Device
from visakit.runtime.events import Event
from visakit.runtime.images import Image, Sampler
from visakit.runtime.kernels import Kernel
from visakit.runtime.memory import Memory
from visakit.runtime.objects import ApiObject
from visakit.runtime.programs import Program
from visakit.runtime.queue import Queue


def _counted(name: str, kind: type[ApiObject], before_release: Callable[[int], None] | None = None) -> None:
    """Register ``clRetain...`` and ``clRelease...`` of a kind of object."""

    def retain(handle: int) -> None:
        kind.find(handle).retain()

    def release(handle: int) -> None:
        item = kind.find(handle)
        if before_release is not None:
            before_release(handle)
        item.release()

    CALLS[f"clRetain{name}"], CALLS[f"clRelease{name}"] = retain, release


def _asked(name: str, find: Callable[[int], Subject], answers: Answers[Subject]) -> None:
    """Register a function that answers questions about a kind of object."""

    def ask(handle: int, name: int, size: int, value: int, size_ret: int) -> None:
        info.answer(answers, find(handle), name, size, value, size_ret)

    CALLS[name] = ask


_counted("Device", Device)
_counted("Context", Context)
_counted("CommandQueue", Queue, lambda queue: Queue.find(queue).flush())
_counted("MemObject", Memory)
_counted("Sampler", Sampler)
_counted("Program", Program)
_counted("Kernel", Kernel)
_counted("Event", Event)

_asked("clGetPlatformInfo", find_platform, PLATFORM_ANSWERS)
_asked("clGetDeviceInfo", Device.find, DEVICE_ANSWERS)
_asked("clGetContextInfo", Context.find, CONTEXT_ANSWERS)
_asked("clGetMemObjectInfo", Memory.find, MEMORY_ANSWERS)
_asked("clGetImageInfo", Image.find, IMAGE_ANSWERS)
_asked("clGetSamplerInfo", Sampler.find, SAMPLER_ANSWERS)
_asked("clGetKernelInfo", Kernel.find, KERNEL_ANSWERS)
_asked("clGetEventInfo", Event.find, EVENT_ANSWERS)
