"""Programs (chapter 5.8)."""

from __future__ import annotations

from opencl import cl, host, info
from opencl.calls import entry
from opencl.context import Context
from opencl.device import Device, compiler
from opencl.errors import Refused, require
from opencl.programs import BUILD_ANSWERS, PROGRAM_ANSWERS, Build, Program, create_with_binaries


@entry
def clCreateProgramWithSource(context: int, count: int, strings: int, lengths: int, errcode_ret: int) -> int:
    found = Context.find(context)
    require(count and strings, cl.CL_INVALID_VALUE, "a program has a source")
    places = host.read_sizes(strings, count)
    require(all(places), cl.CL_INVALID_VALUE, "a part of the source is null")
    given = host.read_sizes(lengths, count) if lengths else (0,) * count
    parts = [host.read(p, n) if n else host.text_bytes(p) for p, n in zip(places, given, strict=True)]
    return Program(found, b"".join(parts)).handle


@entry
def clCreateProgramWithBinary(
    context: int, num_devices: int, device_list: int, lengths: int, binaries: int, binary_status: int, errcode_ret: int
) -> int:
    found = Context.find(context)
    require(device_list and num_devices, cl.CL_INVALID_VALUE, "binaries are for devices")
    require(lengths and binaries, cl.CL_INVALID_VALUE, "there are no binaries")
    devices = found.devices_at(device_list, num_devices)
    sizes, places = host.read_sizes(lengths, num_devices), host.read_sizes(binaries, num_devices)
    for number, (place, size) in enumerate(zip(places, sizes, strict=True)):
        if not place or not size:
            host.write_u32(binary_status and binary_status + 4 * number, cl.CL_INVALID_VALUE)
            raise Refused(cl.CL_INVALID_VALUE, f"binary {number} is empty")
    contents = [host.read(place, size) for place, size in zip(places, sizes, strict=True)]
    program, states = create_with_binaries(found, devices, contents)
    for number, state in enumerate(states):
        host.write_u32(binary_status and binary_status + 4 * number, state)
    require(not any(states), cl.CL_INVALID_BINARY, "a binary is no zebin")
    return program.handle


@entry
def clCreateProgramWithBuiltInKernels(
    context: int, num_devices: int, device_list: int, kernel_names: int, errcode_ret: int
) -> int:
    found = Context.find(context)
    require(device_list and num_devices and kernel_names, cl.CL_INVALID_VALUE, "kernels or devices are not named")
    found.devices_at(device_list, num_devices)
    raise Refused(cl.CL_INVALID_VALUE, "no device has kernels of its own")


@entry
def clRetainProgram(program: int) -> None:
    Program.find(program).retain()


@entry
def clReleaseProgram(program: int) -> None:
    Program.find(program).release()


@entry
def clBuildProgram(
    program: int, num_devices: int, device_list: int, options: int, pfn_notify: int, user_data: int
) -> None:
    found = Program.find(program)
    devices = _devices(found, device_list, num_devices)
    require(pfn_notify or not user_data, cl.CL_INVALID_VALUE, "there is data for a function that is not there")
    found.check_changeable()
    needs_compiler = found.source is not None
    require(not needs_compiler or compiler(), cl.CL_COMPILER_NOT_AVAILABLE, "the compiler driver ocloc is not there")
    try:
        found.build(devices, host.text_at(options))
    finally:
        if pfn_notify:
            host.call(pfn_notify, "pp", found.handle, user_data or None)


def _devices(program: Program, address: int, count: int) -> list[Device]:
    """The devices of a program that are meant: all of them where none is named."""
    devices = program.context.devices_at(address, count) if address or count else list(program.builds)
    require(all(device in program.builds for device in devices), cl.CL_INVALID_DEVICE, "it is not for the device")
    return devices


@entry
def clGetProgramInfo(program: int, name: int, size: int, value: int, size_ret: int) -> None:
    found = Program.find(program)
    if name != cl.CL_PROGRAM_BINARIES:
        info.answer(PROGRAM_ANSWERS, found, name, size, value, size_ret)
        return
    builds = list(found.builds.values())
    if value:
        needed = host.POINTER * len(builds)
        require(size >= needed, cl.CL_INVALID_VALUE, "there is too little room for the pointers")
        for place, build in zip(host.read_sizes(value, len(builds)), builds, strict=True):
            if place:
                host.write(place, build.binary)
    host.write_size(size_ret, host.POINTER * len(builds))


@entry
def clGetProgramBuildInfo(program: int, device: int, name: int, size: int, value: int, size_ret: int) -> None:
    found, chosen = Program.find(program), Device.find(device)
    build = found.builds.get(chosen)
    require(build is not None, cl.CL_INVALID_DEVICE, "the program is not for the device")
    info.answer(BUILD_ANSWERS, build or Build(), name, size, value, size_ret)


@entry
def clSetProgramReleaseCallback(program: int, pfn_notify: int, user_data: int) -> None:
    Program.find(program)
    raise Refused(cl.CL_INVALID_OPERATION, "programs have no destructors of global objects")
