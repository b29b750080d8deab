"""Programs: sources and binaries, what the compiler made of them for each device, and what it said."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opencl import cl, info
from opencl.context import Context
from opencl.device import Device
from opencl.errors import Refused, require
from opencl.info import Answers
from opencl.objects import ClObject
from visa.diagnostics import Diagnostic, VisaError, render
from visa.image import DATA_BASE, SLOT

if TYPE_CHECKING:
    from vsim.program import Program as SimulatedProgram
    from vsim.signature import KernelSignature

ARGUMENT_INFORMATION = "-cl-kernel-arg-info"
_LINKING = threading.Lock()
"""Data gets its place while a program is linked: one after the other."""


@dataclass(eq=False)
class Build:
    """What there is of a program for one device.

    Attributes:
        status: of the last build; ``log`` is what the compiler said.
        binary: the zebin; empty where there is none.
        binary_type: what it is.
        loaded: the program, ready to run.
    """

    status: int = cl.CL_BUILD_NONE
    options: str = ""
    log: str = ""
    binary: bytes = b""
    binary_type: int = cl.CL_PROGRAM_BINARY_TYPE_NONE
    loaded: SimulatedProgram | None = None
    kernels: list[str] = field(default_factory=list)


class Program(ClObject):
    """A program of a context.

    Attributes:
        source: OpenCL C; None for programs of binaries.
        builds: what there is for each device.
        kernel_count: kernels of it that the program holds, which keep it as it is.
    """

    invalid = cl.CL_INVALID_PROGRAM
    title = "program"

    def __init__(self, context: Context, source: bytes | None = None) -> None:
        super().__init__()
        self.context, self.source = context, source
        self.builds = {device: Build() for device in context.devices}
        self.kernel_count = 0

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"program {self.number}"

    def build(self, devices: Sequence[Device], options: str) -> None:
        """Build it for devices.

        Raises:
            Refused: it has kernels, cannot be built, or has errors, which the log then shows.
        """
        self.check_changeable()
        for device in devices:
            build = self.builds[device]
            if self.source is None:
                self._build_binary(build, device, options)
            else:
                self.builds[device] = self._build_source(self.source, device, options)
        if any(self.builds[device].status != cl.CL_BUILD_SUCCESS for device in devices):
            raise Refused(cl.CL_BUILD_PROGRAM_FAILURE, "the program has errors: its build log shows them")

    def check_changeable(self) -> None:
        """Refuse to build a program again that has kernels."""
        require(not self.kernel_count, cl.CL_INVALID_OPERATION, "the program has kernels")

    def _build_binary(self, build: Build, device: Device, options: str) -> None:
        require(build.binary, cl.CL_INVALID_BINARY, "there is no binary for the device")
        build.options = options
        self.load(build, device)

    def _build_source(self, source: bytes, device: Device, options: str) -> Build:
        from vsim.ocloc import compile_source

        build = Build(cl.CL_BUILD_ERROR, options)
        try:
            words = f"{absolute_includes(options)} {ARGUMENT_INFORMATION}"
            made = compile_source(self.name, source, device.model.device, words, None)
        except VisaError as error:
            build.log = _log(error.diagnostics)
            return build
        build.binary, build.log = made.zebin, _log(made.warnings)
        self.load(build, device)
        return build

    def load(self, build: Build, device: Device) -> None:
        """Make a program that runs of a binary; what is wrong goes into the log."""
        from vsim.program import Program as Simulated
        from vsim.zebins import read_program

        space = self.context.space
        build.status, build.binary_type = cl.CL_BUILD_ERROR, cl.CL_PROGRAM_BINARY_TYPE_NONE
        try:
            with _LINKING:
                slots = [slot - DATA_BASE // SLOT for slot in space.slots]
                first = max([slot + 1 for slot in slots if slot >= 0], default=0)
                image = read_program(build.binary, self.name, device.name, first)
                loaded = Simulated(image, space)
        except VisaError as error:
            build.log += _log(error.diagnostics)
            return
        for data in loaded.data:
            self.at_end(lambda data=data: space.free(data))  # type: ignore[misc]
        build.loaded, build.kernels = loaded, [name for name in loaded.kernels if not name.startswith("Intel_Symbol")]
        build.status, build.binary_type = cl.CL_BUILD_SUCCESS, cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE

    def executables(self) -> dict[Device, SimulatedProgram]:
        """The programs that can run, by device.

        Raises:
            Refused: there is none.
        """
        found = {device: build.loaded for device, build in self.builds.items() if build.loaded is not None}
        require(found, cl.CL_INVALID_PROGRAM_EXECUTABLE, "the program is built for no device")
        return found

    def signatures(self, kernel: str) -> dict[Device, KernelSignature]:
        """What a kernel wants of a launch, by device.

        Raises:
            Refused: there is no such kernel, or it has something that cannot be run.
        """
        programs = self.executables()
        known = {name for device in programs for name in self.builds[device].kernels}
        require(kernel in known, cl.CL_INVALID_KERNEL_NAME, f"there is no kernel '{kernel}'")
        try:
            return {device: program.signature(kernel) for device, program in programs.items()}
        except VisaError as error:
            self.context.report(render(error.diagnostics))
            raise Refused(cl.CL_INVALID_KERNEL_DEFINITION, str(error)) from None

    def kernel_is_gone(self) -> None:
        """A kernel of it is held no more."""
        self.kernel_count -= 1

    def kernel_names(self) -> list[str]:
        """The kernels, in the order of the program."""
        devices = self.executables()
        return list(dict.fromkeys(name for device in devices for name in self.builds[device].kernels))


def _log(items: Sequence[Diagnostic]) -> str:
    return render(items) + "\n" if items else ""


def absolute_includes(options: str) -> str:
    """Build options with the folders of headers as the program means them: the compiler runs in another one."""
    if "-I" not in options:
        return options
    found: list[str] = []
    words = iter(shlex.split(options, posix=False))
    for word in words:
        if word.startswith("-I"):
            folder = (word[2:] or next(words, "")).strip("\"'")
            path = os.path.abspath(folder)
            found += ["-I", f'"{path}"' if " " in path else path]
        else:
            found.append(word)
    return " ".join(found)


def create_with_binaries(
    context: Context, devices: Sequence[Device], binaries: Sequence[bytes]
) -> tuple[Program, list[int]]:
    """A program of zebins, one for each device, and what became of each of them."""
    from visa.zebin import is_zebin

    program = Program(context)
    program.builds = {device: Build(binary=binary) for device, binary in zip(devices, binaries, strict=True)}
    states = []
    for build in program.builds.values():
        is_known = build.binary[:8] == b"!<arch>\n" or is_zebin(build.binary)
        states.append(cl.CL_SUCCESS if is_known else cl.CL_INVALID_BINARY)
        build.binary_type = cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
    return program, states


PROGRAM_ANSWERS: Answers[Program] = {
    cl.CL_PROGRAM_REFERENCE_COUNT: lambda p: info.u32(p.references),
    cl.CL_PROGRAM_CONTEXT: lambda p: info.handle(p.context),
    cl.CL_PROGRAM_NUM_DEVICES: lambda p: info.u32(len(p.builds)),
    cl.CL_PROGRAM_DEVICES: lambda p: info.handles(list(p.builds)),
    cl.CL_PROGRAM_SOURCE: lambda p: (p.source or b"") + b"\0",
    cl.CL_PROGRAM_IL: lambda p: b"",
    cl.CL_PROGRAM_BINARY_SIZES: lambda p: info.sizes([len(b.binary) for b in p.builds.values()]),
    cl.CL_PROGRAM_NUM_KERNELS: lambda p: info.u64(len(p.kernel_names())),
    cl.CL_PROGRAM_KERNEL_NAMES: lambda p: info.text(";".join(p.kernel_names())),
    cl.CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT: lambda p: info.u32(0),
    cl.CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT: lambda p: info.u32(0),
}
BUILD_ANSWERS: Answers[Build] = {
    cl.CL_PROGRAM_BUILD_STATUS: lambda b: info.u32(b.status),
    cl.CL_PROGRAM_BUILD_OPTIONS: lambda b: info.text(b.options),
    cl.CL_PROGRAM_BUILD_LOG: lambda b: info.text(b.log),
    cl.CL_PROGRAM_BINARY_TYPE: lambda b: info.u32(b.binary_type),
    cl.CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: lambda b: info.u64(
        sum(data.size for data in b.loaded.data) if b.loaded else 0
    ),
}
