"""Programs: sources and binaries, and for each device the compiler's result and log."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from visakit.collector import paused_collection
from visakit.diagnostics import VisaError
from visakit.forks import free_in_child
from visakit.objects.image import DATA_BASE, SLOT
from visakit.runtime import cl
from visakit.runtime.compiler import Made, is_bitcode, is_spirv, linked, log_of, object_of, whole_program
from visakit.runtime.context import Context
from visakit.runtime.device import Device
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import ApiObject
from visakit.runtime.settings import has_whole_pages
from visakit.runtime.texts import ProgramTexts, keep_source

if TYPE_CHECKING:
    from vsim.launch.signature import KernelSignature
    from vsim.program import Program as SimulatedProgram

_LINKING = free_in_child(threading.Lock())
"""Data gets its place while a program is linked: one after the other."""


@dataclass(eq=False)
class Build:
    """The state of a program for one device.

    Attributes:
        status: of the last build; ``log`` is the compiler's log.
        binary: the zebin; empty without one.
        binary_type: one of ``CL_PROGRAM_BINARY_TYPE_...``.
        loaded: the program, ready to run; None before it is built, and where it has no kernels.
        texts: its texts, which messages cite; None before it is built.
    """

    status: int = cl.CL_BUILD_NONE
    options: str = ""
    log: str = ""
    binary: bytes = b""
    binary_type: int = cl.CL_PROGRAM_BINARY_TYPE_NONE
    loaded: SimulatedProgram | None = None
    texts: ProgramTexts | None = None
    kernels: list[str] = field(default_factory=list)


class Program(ApiObject):
    """A program of a context.

    Attributes:
        source: OpenCL C or SPIR-V; None for linked programs and programs of binaries.
        builds: the state for each device.
        kernel_count: kernels of it that the program holds; while there are some, it cannot be built again.
        noted: kernels and arguments with a warning that was printed.
    """

    invalid = cl.CL_INVALID_PROGRAM
    title = "program"

    def __init__(self, context: Context, source: bytes | None = None, devices: Sequence[Device] = ()) -> None:
        super().__init__()
        self.context, self.source = context, source
        self.builds = {device: Build() for device in devices or context.devices}
        self.kernel_count = 0
        self.noted: set[tuple[str, int]] = set()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"program {self.number}"

    def name_on(self, device: Device) -> str:
        """What messages call what there is of it for a device."""
        return self.name if len(self.builds) == 1 else f"{self.name} for {device.name}"

    @property
    def is_intermediate(self) -> bool:
        """Whether its source is SPIR-V."""
        return self.source is not None and is_spirv(self.source)

    def build(self, devices: Sequence[Device], options: str) -> None:
        """Build it for devices.

        Raises:
            CallError: it has kernels, cannot be built, or has errors, which the log then shows.
        """
        self.check_changeable()
        keep_source(self.name, self.source)
        for device in devices:
            if self.source is None:
                self._build_binary(device, options)
            else:
                made = whole_program(self.name, self.source, device, options)
                self.take(device, options, made, cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE, cl.CL_INVALID_BUILD_OPTIONS)
        self.check_built(devices, cl.CL_BUILD_PROGRAM_FAILURE)

    def compile(self, devices: Sequence[Device], options: str, headers: Mapping[str, bytes]) -> None:
        """Make objects of it for devices, which are linked later.

        Raises:
            CallError: it has kernels, no source, or errors, which the log then shows.
        """
        self.check_changeable()
        if self.source is None:
            raise CallError(cl.CL_INVALID_OPERATION, "the program has no source")
        for device in devices:
            if self.is_intermediate:
                made = Made(self.source, "")
            else:
                made = object_of(self.name, self.source, device, options, headers)
            self.take(device, options, made, cl.CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, cl.CL_INVALID_COMPILER_OPTIONS)
        self.check_built(devices, cl.CL_COMPILE_PROGRAM_FAILURE)

    def check_changeable(self) -> None:
        """Refuse to build a program again that has kernels."""
        require(not self.kernel_count, cl.CL_INVALID_OPERATION, "the program has kernels")

    def check_built(self, devices: Sequence[Device], status: int) -> None:
        """Refuse with a status unless all builds are well."""
        good = all(self.builds[device].status == cl.CL_BUILD_SUCCESS for device in devices)
        require(good, status, "the program has errors: its build log shows them")

    def take(self, device: Device, options: str, made: Made, kind: int, unknown_options: int) -> None:
        """Make the compiler's result for a device the build.

        Raises:
            CallError: with ``unknown_options``, the compiler does not know an option.
        """
        status = cl.CL_BUILD_SUCCESS if made.data else cl.CL_BUILD_ERROR
        build = self.builds[device] = Build(status, options, made.log, made.data)
        require(not made.has_unknown_options, unknown_options, "the compiler does not know an option")
        if made.data and kind == cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE:
            self.load(build, device)
        elif made.data:
            build.binary_type = kind

    def _build_binary(self, device: Device, options: str) -> None:
        build = self.builds[device]
        require(build.binary, cl.CL_INVALID_BINARY, "there is no binary for the device")
        if is_spirv(build.binary) or is_bitcode(build.binary):
            made = linked(self.name, [build.binary], device, options, is_library=False)
            self.take(device, options, made, cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE, cl.CL_INVALID_BUILD_OPTIONS)
        elif build.loaded is None:
            build.options = options
            self.load(build, device)

    @paused_collection()
    def load(self, build: Build, device: Device) -> None:
        """Make an executable program of a binary; errors go into the log."""
        from visakit.objects.zebin import has_no_kernels
        from vsim.memory.memory import SLM_STEP
        from vsim.program import Program as Simulated
        from vsim.sources.zebins import read_program

        space = self.context.space
        build.texts = ProgramTexts(self.name_on(device), device.name, self.source, build.binary)
        if has_no_kernels(build.binary):
            build.status, build.binary_type = cl.CL_BUILD_SUCCESS, cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
            return
        build.status, build.binary_type = cl.CL_BUILD_ERROR, cl.CL_PROGRAM_BINARY_TYPE_NONE
        try:
            with _LINKING:
                slots = [slot - DATA_BASE // SLOT for slot in space.slots]
                first = max([slot + 1 for slot in slots if slot >= 0], default=0)
                image = read_program(build.binary, self.name_on(device), device.name, first)
                image.texts, image.file_of_text = build.texts.contents, build.texts.path
                image.runs_once = self.is_intermediate or self.source is None
                image.lenient_reads = True  # Compilers count on the memory and registers that a device has there.
                image.local_step = SLM_STEP if has_whole_pages() else 1
                loaded = Simulated(image, space)
        except VisaError as error:
            build.log += log_of(error.diagnostics)
            return
        for data in loaded.data:
            self.at_end(lambda data=data: space.free(data))  # type: ignore[misc]
        build.loaded, build.kernels = loaded, [name for name in loaded.kernels if not name.startswith("Intel_Symbol")]
        build.status, build.binary_type = cl.CL_BUILD_SUCCESS, cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE

    def executables(self) -> dict[Device, SimulatedProgram]:
        """The programs that can run, by device; none where the source has no kernel.

        Raises:
            CallError: it is built for no device.
        """
        built = cl.CL_BUILD_SUCCESS, cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
        is_built = any((build.status, build.binary_type) == built for build in self.builds.values())
        require(is_built, cl.CL_INVALID_PROGRAM_EXECUTABLE, "the program is built for no device")
        return {device: build.loaded for device, build in self.builds.items() if build.loaded is not None}

    def signatures(self, kernel: str) -> dict[Device, KernelSignature]:
        """Requirements of a kernel for a launch, by device.

        Raises:
            CallError: there is no such kernel, or it cannot run.
        """
        programs = self.executables()
        known = {name for device in programs for name in self.builds[device].kernels}
        require(kernel in known, cl.CL_INVALID_KERNEL_NAME, f"there is no kernel '{kernel}'")
        try:
            return {device: program.signature(kernel) for device, program in programs.items()}
        except VisaError as error:
            self.context.report_all(error.diagnostics)
            raise CallError(cl.CL_INVALID_KERNEL_DEFINITION, str(error)) from None

    def kernel_is_gone(self) -> None:
        """A kernel of it is held no more."""
        self.kernel_count -= 1

    def kernel_names(self) -> list[str]:
        """The kernels, in the order of the program."""
        devices = self.executables()
        return list(dict.fromkeys(name for device in devices for name in self.builds[device].kernels))


def create_with_binaries(
    context: Context, devices: Sequence[Device], binaries: Sequence[bytes]
) -> tuple[Program, list[int]]:
    """A program of zebins, one for each device, and the status of each."""
    from visakit.objects.zebin import has_no_kernels, is_zebin

    program = Program(context)
    program.builds = {device: Build(binary=binary) for device, binary in zip(devices, binaries, strict=True)}
    states = []
    for build in program.builds.values():
        kind = cl.CL_PROGRAM_BINARY_TYPE_NONE
        if build.binary[:8] == b"!<arch>\n" or is_zebin(build.binary) or has_no_kernels(build.binary):
            kind = cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
        elif is_spirv(build.binary):
            kind = cl.CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT
        elif is_bitcode(build.binary):
            kind = cl.CL_PROGRAM_BINARY_TYPE_LIBRARY
        states.append(cl.CL_SUCCESS if kind else cl.CL_INVALID_BINARY)
        build.binary_type = kind
    return program, states


def link(context: Context, devices: Sequence[Device], programs: Sequence[Program], options: str) -> Program:
    """A program of objects and libraries.

    Raises:
        CallError: a program is invalid, or the compiler does not know an option.
    """
    is_library = "-create-library" in options.split()
    kinds = (cl.CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT, cl.CL_PROGRAM_BINARY_TYPE_LIBRARY)
    made = Program(context, None, devices)
    for device in devices:
        builds = [p.builds[device] for p in programs if device in p.builds and p.builds[device].binary_type in kinds]
        whole = len(builds) == len(programs)
        require(whole or not builds, cl.CL_INVALID_OPERATION, "some programs are objects, others are not")
        require(whole, cl.CL_INVALID_PROGRAM, "a program is no object: it was not compiled for the device")
        result = linked(made.name, [b.binary for b in builds], device, options, is_library)
        kind = cl.CL_PROGRAM_BINARY_TYPE_LIBRARY if is_library else cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
        made.take(device, options, result, kind, cl.CL_INVALID_LINKER_OPTIONS)
    return made
