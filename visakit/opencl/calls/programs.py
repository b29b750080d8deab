"""Programs (chapter 5.8)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from visakit.opencl import info
from visakit.opencl.answers import BUILD_ANSWERS, PROGRAM_ANSWERS
from visakit.opencl.calls import also, entry
from visakit.runtime import cl, host
from visakit.runtime.compiler import is_spirv
from visakit.runtime.context import Context
from visakit.runtime.device import Device, compiler
from visakit.runtime.errors import CallError, PartialSuccess, require
from visakit.runtime.programs import Build, Program, create_with_binaries, link
from visakit.runtime.specialisation import specialised

_LARGEST_INPUT = 1 << 31


def _given(place: int, size: int) -> bytes:
    """Bytes of the program, as many as it says.

    Raises:
        CallError: there cannot be so many.
    """
    require(size < _LARGEST_INPUT, cl.CL_INVALID_VALUE, f"{size} bytes")
    return host.read(place, size)


@contextmanager
def _notifying(program: Program, pfn_notify: int, user_data: int) -> Iterator[None]:
    """Call the function of the host, if there is one, when the program is made or cannot be made."""
    try:
        yield
    finally:
        if pfn_notify:
            host.call(pfn_notify, "pp", program.handle, user_data or None)


@entry
def clCreateProgramWithSource(context: Context, count: int, strings: int, lengths: int, errcode_ret: int) -> int:
    """A program of texts in OpenCL C, which are one text together."""
    require(count and strings, cl.CL_INVALID_VALUE, "a program has a source")
    places = host.read_sizes(strings, count)
    require(all(places), cl.CL_INVALID_VALUE, "a part of the source is null")
    given = host.read_sizes(lengths, count) if lengths else (0,) * count
    parts = [_given(p, n) if n else host.text_bytes(p) for p, n in zip(places, given, strict=True)]
    return Program(context, b"".join(parts)).handle


@entry
def clCreateProgramWithBinary(
    context: Context, num_devices: int, device_list: int, lengths: int, binaries: int, binary_status: int,
    errcode_ret: int,
) -> int:  # fmt: skip
    """A program of one zebin for each device."""
    require(device_list and num_devices, cl.CL_INVALID_VALUE, "binaries are for devices")
    require(lengths and binaries, cl.CL_INVALID_VALUE, "there are no binaries")
    devices = context.devices_at(device_list, num_devices)
    sizes, places = host.read_sizes(lengths, num_devices), host.read_sizes(binaries, num_devices)
    for number, (place, size) in enumerate(zip(places, sizes, strict=True)):
        if not place or not size:
            host.write_u32(binary_status and binary_status + 4 * number, cl.CL_INVALID_VALUE)
            raise CallError(cl.CL_INVALID_VALUE, f"binary {number} is empty")
    contents = [_given(place, size) for place, size in zip(places, sizes, strict=True)]
    program, states = create_with_binaries(context, devices, contents)
    for number, state in enumerate(states):
        host.write_u32(binary_status and binary_status + 4 * number, state)
    require(not any(states), cl.CL_INVALID_BINARY, "a binary is no zebin")
    return program.handle


@entry
def clCreateProgramWithBuiltInKernels(
    context: Context, num_devices: int, device_list: int, kernel_names: int, errcode_ret: int
) -> int:
    """Refused: the device has no built-in kernels."""
    require(device_list and num_devices and kernel_names, cl.CL_INVALID_VALUE, "kernels or devices are not named")
    context.devices_at(device_list, num_devices)
    raise CallError(cl.CL_INVALID_VALUE, "the device has no built-in kernels")


@entry
def clBuildProgram(
    program: Program, num_devices: int, device_list: int, options: int, pfn_notify: int, user_data: int
) -> None:
    """Compile and link a program for devices, by default for all of its devices."""
    devices = _devices(program, device_list, num_devices)
    require(pfn_notify or not user_data, cl.CL_INVALID_VALUE, "there is data for a function that is not there")
    program.check_changeable()
    needs_compiler = program.source is not None
    require(not needs_compiler or compiler(), cl.CL_COMPILER_NOT_AVAILABLE, "the compiler driver ocloc is not there")
    with _notifying(program, pfn_notify, user_data):
        program.build(devices, host.text_at(options))


@also("clCreateProgramWithILKHR")
@entry
def clCreateProgramWithIL(context: Context, il: int, length: int, errcode_ret: int) -> int:
    """A program of a module of SPIR-V."""
    require(il and length, cl.CL_INVALID_VALUE, "there is no module")
    module = _given(il, length)
    require(compiler(), cl.CL_INVALID_OPERATION, "without a compiler there is no SPIR-V")
    require(is_spirv(module), cl.CL_INVALID_VALUE, "it is no module of SPIR-V")
    return Program(context, module).handle


@entry
def clSetProgramSpecializationConstant(program: Program, spec_id: int, spec_size: int, spec_value: int) -> None:
    """Set a specialisation constant of SPIR-V, before the program is built."""
    require(program.is_intermediate, cl.CL_INVALID_PROGRAM, "the program is not of SPIR-V")
    require(spec_value, cl.CL_INVALID_VALUE, "there is no value")
    assert program.source is not None
    program.source = specialised(program.source, spec_id, _given(spec_value, spec_size))


@entry
def clCompileProgram(
    program: Program, num_devices: int, device_list: int, options: int, num_headers: int, headers: int, names: int,
    pfn_notify: int, user_data: int,
) -> None:  # fmt: skip
    """Compile a program with headers to an object for :func:`clLinkProgram`."""
    devices = _devices(program, device_list, num_devices)
    require(pfn_notify or not user_data, cl.CL_INVALID_VALUE, "there is data for a function that is not there")
    together = bool(num_headers) == bool(headers) == bool(names)
    require(together, cl.CL_INVALID_VALUE, "headers and their names belong together")
    program.check_changeable()
    require(compiler(), cl.CL_COMPILER_NOT_AVAILABLE, "the compiler driver ocloc is not there")
    texts = Program.find_all(headers, num_headers)
    titles = [host.text_at(place) for place in host.read_sizes(names, num_headers)]
    inside = all(title and not title.startswith("/") and ".." not in title.split("/") for title in titles)
    require(inside, cl.CL_INVALID_VALUE, "the name of a header is empty, or leads out of the folder")
    contents = {title: text.source or b"" for title, text in zip(titles, texts, strict=True)}
    with _notifying(program, pfn_notify, user_data):
        program.compile(devices, host.text_at(options), contents)


@entry
def clLinkProgram(
    context: Context, num_devices: int, device_list: int, options: int, num_programs: int, programs: int,
    pfn_notify: int, user_data: int, errcode_ret: int,
) -> int:  # fmt: skip
    """A program of compiled ones; where that fails, the program gets it with its log nevertheless."""
    devices = context.devices_at(device_list, num_devices)
    require(num_programs and programs, cl.CL_INVALID_VALUE, "there is nothing to link")
    require(pfn_notify or not user_data, cl.CL_INVALID_VALUE, "there is data for a function that is not there")
    parts = Program.find_all(programs, num_programs)
    require(compiler(), cl.CL_LINKER_NOT_AVAILABLE, "the compiler driver ocloc is not there")
    made = link(context, devices, parts, host.text_at(options))
    if pfn_notify:
        host.call(pfn_notify, "pp", made.handle, user_data or None)
    good = all(build.status == cl.CL_BUILD_SUCCESS for build in made.builds.values())
    raise PartialSuccess(made.handle, cl.CL_SUCCESS if good else cl.CL_LINK_PROGRAM_FAILURE)


def _devices(program: Program, address: int, count: int) -> list[Device]:
    """The devices of a program that are meant: all of them where none is named."""
    devices = program.context.devices_at(address, count) if address or count else list(program.builds)
    require(all(device in program.builds for device in devices), cl.CL_INVALID_DEVICE, "it is not for the device")
    return devices


@entry
def clGetProgramInfo(program: Program, name: int, size: int, value: int, size_ret: int) -> None:
    """Answer a question about a program; binaries go to the places that the program gives."""
    if name != cl.CL_PROGRAM_BINARIES:
        info.answer(PROGRAM_ANSWERS, program, name, size, value, size_ret)
        return
    builds = list(program.builds.values())
    if value:
        needed = host.POINTER * len(builds)
        require(size >= needed, cl.CL_INVALID_VALUE, "there is too little room for the pointers")
        for place, build in zip(host.read_sizes(value, len(builds)), builds, strict=True):
            if place:
                host.write(place, build.binary)
    host.write_size(size_ret, host.POINTER * len(builds))


@entry
def clGetProgramBuildInfo(program: Program, device: Device, name: int, size: int, value: int, size_ret: int) -> None:
    """Answer a question about a build for a device."""
    build = program.builds.get(device)
    require(build is not None, cl.CL_INVALID_DEVICE, "the program is not for the device")
    info.answer(BUILD_ANSWERS, build or Build(), name, size, value, size_ret)


@entry
def clSetProgramReleaseCallback(program: Program, pfn_notify: int, user_data: int) -> None:
    """Refused: programs have no destructors of global objects."""
    raise CallError(cl.CL_INVALID_OPERATION, "programs have no destructors of global objects")
