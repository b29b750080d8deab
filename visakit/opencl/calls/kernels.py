"""Kernels (chapter 5.9)."""

from __future__ import annotations

from visakit.opencl import info
from visakit.opencl.calls import also, entry
from visakit.opencl.kernel_answers import PARAMETER_ANSWERS, WORK_GROUP_ANSWERS, sub_group_answer
from visakit.runtime import cl, host
from visakit.runtime.device import Device
from visakit.runtime.errors import CallError, require
from visakit.runtime.kernels import Kernel
from visakit.runtime.objects import give_handles
from visakit.runtime.programs import Program


@entry
def clCreateKernel(program: Program, kernel_name: int, errcode_ret: int) -> int:
    """A kernel of a built program by its name."""
    program.executables()
    require(kernel_name, cl.CL_INVALID_VALUE, "the kernel is not named")
    return Kernel(program, host.text_at(kernel_name)).handle


@entry
def clCreateKernelsInProgram(program: Program, num_kernels: int, kernels: int, num_kernels_ret: int) -> None:
    """All kernels of a built program, or how many there are."""
    names = program.kernel_names()
    require(not kernels or num_kernels >= len(names), cl.CL_INVALID_VALUE, f"there are {len(names)} kernels")
    if kernels:
        made = [Kernel(program, name) for name in names]
        give_handles(made, num_kernels, kernels, num_kernels_ret)
    else:
        host.write_u32(num_kernels_ret, len(names))


@entry
def clCloneKernel(source_kernel: Kernel, errcode_ret: int) -> int:
    """A kernel with copies of the arguments that were set."""
    return source_kernel.clone().handle


@entry
def clSetKernelArg(kernel: Kernel, arg_index: int, arg_size: int, arg_value: int) -> None:
    """Set an argument by its number."""
    kernel.set_argument(arg_index, arg_size, arg_value)


@entry
def clGetKernelArgInfo(kernel: Kernel, arg_index: int, name: int, size: int, value: int, size_ret: int) -> None:
    """Answer a question about an argument, if the binary describes arguments."""
    parameter = kernel.parameter(arg_index)
    known = parameter.is_described or name not in PARAMETER_ANSWERS
    require(known, cl.CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "the binary does not describe arguments")
    info.answer(PARAMETER_ANSWERS, parameter, name, size, value, size_ret)


@entry
def clGetKernelWorkGroupInfo(kernel: Kernel, device: int, name: int, size: int, value: int, size_ret: int) -> None:
    """Answer a question about a kernel on a device."""
    chosen = device_of(kernel, device)
    require(name != cl.CL_KERNEL_GLOBAL_WORK_SIZE, cl.CL_INVALID_VALUE, "only built-in kernels have a global size")
    info.answer(WORK_GROUP_ANSWERS, (kernel, chosen), name, size, value, size_ret)


def device_of(kernel: Kernel, handle: int) -> Device:
    """A device of a kernel; null is the only one.

    Raises:
        CallError: it is for another one, or for several.
    """
    devices = list(kernel.signatures)
    if not handle:
        require(len(devices) == 1, cl.CL_INVALID_DEVICE, "the kernel is for several devices")
        return devices[0]
    device = Device.find(handle)
    if device not in devices:
        raise CallError(cl.CL_INVALID_DEVICE, "the kernel is not for the device")
    return device


@also("clGetKernelSubGroupInfoKHR")
@entry
def clGetKernelSubGroupInfo(
    kernel: Kernel, device: int, name: int, input_size: int, input_value: int, size: int, value: int, size_ret: int
) -> None:
    """Answer a question about sub-groups for sizes of a group."""
    chosen = device_of(kernel, device)
    numbers = host.read_sizes(input_value, input_size // host.POINTER) if input_value else ()
    info.give(sub_group_answer(kernel, chosen, name, numbers, size // host.POINTER), size, value, size_ret)
