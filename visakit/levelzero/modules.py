"""Modules: programs that are built when they are made, and the compiler's logs."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from visakit.levelzero import ze
from visakit.runtime import cl
from visakit.runtime.compiler import is_spirv
from visakit.runtime.context import Context
from visakit.runtime.device import Device, compiler
from visakit.runtime.errors import CallError, require
from visakit.runtime.objects import ApiObject
from visakit.runtime.programs import Program, create_with_binaries, link
from visakit.runtime.specialisation import constant_size, linkage, specialised
from vsim.program import Program as SimulatedProgram

_FLAGS = {
    "-ze-opt-disable": "-cl-opt-disable", "-ze-opt-level=O0": "-cl-opt-disable -ze-opt-level=O0",
    "-ze-opt-large-register-file": "-cl-intel-256-GRF-per-thread",
    "-ze-opt-greater-than-4GB-buffer-required": "-cl-intel-greater-than-4GB-buffer-required",
    "-ze-opt-has-buffer-offset-arg": "-cl-intel-has-buffer-offset-arg",
    "-ze-intel-has-buffer-offset-arg": "-cl-intel-has-buffer-offset-arg", "-ze-fp64-gen-emu": "-cl-fp64-gen-emu",
}  # fmt: skip
"""Build flags, and their names for the compiler driver."""
_LEVEL = re.compile(r"-ze-opt-level[= ]O?(\d)(?!\S)")
_HINTS = (
    "-ze-intel-enable-auto-large-GRF-mode", "-cl-intel-enable-auto-large-GRF-mode",
    "-ze-take-global-address", "-ze-intel-64bit-addressing", "-ze-kernel-debug-enable",
    "-ze-intel-emit-zebin-visa-sections",
)  # fmt: skip
"""Build flags that change no result."""


def build_options(flags: str) -> str:
    """Build flags in the words of the compiler driver."""
    words = [_FLAGS.get(word, word) for word in _LEVEL.sub(r"-ze-opt-level=O\1", flags).split()]
    return " ".join(word for word in words if not word.startswith(_HINTS))


class BuildLog(ApiObject):
    """The compiler's messages."""

    invalid = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    title = "build log"

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


@dataclass
class ModulePart:
    """An input of a module.

    Attributes:
        constants: of specialisation constants that the program sets, a function that reads a number of bytes.
    """

    data: bytes
    options: str
    constants: Mapping[int, Callable[[int], bytes]] = field(default_factory=dict)

    def specialised(self) -> bytes:
        """The SPIR-V with its constants.

        Raises:
            CallError: the data are no SPIR-V, or it lacks a constant.
        """
        module = self.data
        require(is_spirv(module), ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, "it is no module of SPIR-V")
        for number, read in self.constants.items():
            module = specialised(module, number, read(constant_size(module, number)))
        return module


class ApiModule(ApiObject):
    """A module.

    Attributes:
        source: its SPIR-V; None for one of a binary.
        names: places of the names of its kernels, which the program may read as long as the module lives.
    """

    invalid = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    title = "module"

    def __init__(self, context: Context, device: Device, parts: Sequence[ModulePart], is_native: bool) -> None:
        super().__init__()
        self.context, self.device = context, device
        self.options = parts[0].options
        self.source: bytes | None = None
        self.names: list[ctypes.Array[ctypes.c_char]] = []
        if is_native:
            is_single = len(parts) == 1
            require(is_single, ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, f"{len(parts)} program binaries in one module")
            self.program, states = create_with_binaries(context, [device], [parts[0].data])
            require(not any(states), ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, "it is no program binary")
            return
        require(compiler(), ze.ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, "the compiler driver ocloc is not there")
        sources = [part.specialised() for part in parts]
        if len(sources) == 1:
            self.source = sources[0]
            self.program = Program(context, sources[0], [device])
        else:
            self.program = self._linked(sources)

    def is_gone(self) -> None:
        self.program.release()

    def build(self) -> None:
        """Build it. A module that imports functions of others has no kernels before it is linked with them.

        Raises:
            CallError: it has errors, which the log shows.
        """
        build = self.program.builds[self.device]
        try:
            if self.program.source is not None or build.binary:
                self.program.build([self.device], self.options)
            self.program.check_built([self.device], cl.CL_BUILD_PROGRAM_FAILURE)
        except CallError:
            if not (self.program.builds[self.device].binary and self.imports):
                raise

    def _linked(self, sources: Sequence[bytes]) -> Program:
        """A program of several modules of SPIR-V."""
        objects = [Program(self.context, source, [self.device]) for source in sources]
        for one in objects:
            one.compile([self.device], self.options, {})
            one.release()  # This list holds it.
        return link(self.context, [self.device], objects, self.options)

    def link(self, others: Sequence[ApiModule]) -> str:
        """Link functions and data that other modules export, if it imports them; gives the log.

        Raises:
            CallError: it cannot be linked.
        """
        wanted = set(linkage(self.source).imports) if self.source is not None else set()
        exporters = [m for m in others if m.source is not None and wanted & set(linkage(m.source).exports)]
        if not exporters or self.source is None:
            if wanted and not self._is_whole(self.program):
                raise ModuleLinkError(self.log)
            return ""
        made = self._linked([self.source, *(m.source for m in exporters if m.source is not None)])
        log = made.builds[self.device].log
        if not self._is_whole(made):
            made.release()
            raise ModuleLinkError(log)
        self.program.release()
        self.program = made
        return log

    def _is_whole(self, program: Program) -> bool:
        """Whether a program has all functions and data that it uses."""
        return program.builds[self.device].status == cl.CL_BUILD_SUCCESS

    @property
    def log(self) -> str:
        """The compiler's messages."""
        return self.program.builds[self.device].log

    @property
    def loaded(self) -> SimulatedProgram | None:
        """The program, ready to run; None for one without kernels."""
        return self.program.executables().get(self.device)

    @property
    def imports(self) -> list[str]:
        """Functions that other modules must have."""
        return [] if self.source is None else list(linkage(self.source).imports)

    def address_of(self, name: str) -> int:
        """The address of a function or of data; 0 without such a name."""
        loaded = self.loaded
        return (loaded.image.address_of(name) or 0) if loaded is not None else 0


class ModuleLinkError(CallError):
    """Modules cannot be linked."""

    def __init__(self, log: str) -> None:
        super().__init__(ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE, "the modules cannot be linked")
        self.log = log
