"""Kernels: arguments, properties, execution."""

from __future__ import annotations

import re
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from visakit.diagnostics import Label, SimulationError, Span, VisaError
from visakit.objects.yaml_lines import Tree
from visakit.runtime import cl, debugging, ending, host, profiling, svm
from visakit.runtime.device import Device
from visakit.runtime.errors import CallError, first_message, require, say
from visakit.runtime.images import Image, Sampler
from visakit.runtime.memory import Buffer, Memory
from visakit.runtime.objects import ApiObject
from visakit.runtime.order import Turn
from visakit.runtime.programs import Program
from visakit.runtime.settings import checks, engine, is_checking, schedule, thread_count
from vsim.launch.last_launch import can_repeat, with_numbers
from vsim.launch.launch import Argument, Launch, LocalArgument, ScalarArgument

if TYPE_CHECKING:
    from vsim.launch.dispatch import Dispatch
    from vsim.launch.signature import KernelSignature
    from vsim.program import Program as SimulatedProgram
    from vsim.result import LaunchResult

Sizes = tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, ...]]
"""Global size, local size (None where one is to be chosen), offset."""

NULL = ScalarArgument(bytes(8))
_ADDRESS_SPACES = {
    "__global": cl.CL_KERNEL_ARG_ADDRESS_GLOBAL, "__constant": cl.CL_KERNEL_ARG_ADDRESS_CONSTANT,
    "__local": cl.CL_KERNEL_ARG_ADDRESS_LOCAL, "__private": cl.CL_KERNEL_ARG_ADDRESS_PRIVATE,
}  # fmt: skip
_ACCESSES = {
    "__read_only": cl.CL_KERNEL_ARG_ACCESS_READ_ONLY, "__write_only": cl.CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
    "__read_write": cl.CL_KERNEL_ARG_ACCESS_READ_WRITE,
}  # fmt: skip
_QUALIFIERS = {
    "const": cl.CL_KERNEL_ARG_TYPE_CONST, "restrict": cl.CL_KERNEL_ARG_TYPE_RESTRICT,
    "volatile": cl.CL_KERNEL_ARG_TYPE_VOLATILE, "pipe": cl.CL_KERNEL_ARG_TYPE_PIPE,
}  # fmt: skip

_IMAGE_KINDS = {
    "image1d": cl.CL_MEM_OBJECT_IMAGE1D, "image1d_buffer": cl.CL_MEM_OBJECT_IMAGE1D_BUFFER,
    "image1d_array": cl.CL_MEM_OBJECT_IMAGE1D_ARRAY, "image2d": cl.CL_MEM_OBJECT_IMAGE2D,
    "image2d_array": cl.CL_MEM_OBJECT_IMAGE2D_ARRAY, "image3d": cl.CL_MEM_OBJECT_IMAGE3D,
}  # fmt: skip


@dataclass(frozen=True)
class KernelParameter:
    """A parameter of a kernel.

    Attributes:
        kind: ``buffer``, ``local``, ``image``, ``sampler`` or ``value``.
        size: bytes of a value.
        address, access, qualifiers: OpenCL's numbers for them.
        is_described: whether the compiler describes it; else names and types are unknown.
    """

    kind: str
    size: int
    name: str = ""
    type_name: str = ""
    address: int = cl.CL_KERNEL_ARG_ADDRESS_PRIVATE
    access: int = cl.CL_KERNEL_ARG_ACCESS_NONE
    qualifiers: int = 0
    is_described: bool = False

    def title(self, index: int) -> str:
        """Its name in messages: compilers of other languages do not name all."""
        return f"argument {index} ('{self.name}')" if self.name else f"argument {index}"


def parameters(signature: KernelSignature, tree: Tree) -> list[KernelParameter]:
    """The parameters of a kernel: as declared, where the compiler tells, else as the payload has them."""
    entries = tree.get("kernels_misc_info") or []
    assert isinstance(entries, list)
    own: Tree = next((e for e in entries if e.get("name") == signature.name), {})
    described = {int(a["index"]): a for a in own.get("args_info") or []}
    return [
        _declared(described[index]) if index in described else _deduced(signature, index)
        for index in range(signature.argument_count)
    ]


def _declared(entry: Tree) -> KernelParameter:
    type_name, _, size = str(entry.get("type_name")).partition(";")
    address, access = str(entry.get("address_qualifier")), str(entry.get("access_qualifier"))
    qualifiers = sum(_QUALIFIERS.get(word, 0) for word in str(entry.get("type_qualifiers")).split())
    kind = "value"
    if re.match(r"image\d|.*\bimage\dd_", type_name):
        kind = "image"
    elif type_name == "sampler_t":
        kind = "sampler"
    elif type_name.endswith("*"):
        kind = "local" if address == "__local" else "buffer"
    space = _ADDRESS_SPACES.get(address, cl.CL_KERNEL_ARG_ADDRESS_PRIVATE)
    allowed = _ACCESSES.get(access, cl.CL_KERNEL_ARG_ACCESS_NONE)
    return KernelParameter(
        kind, int(size or 0), str(entry.get("name") or ""), type_name, space, allowed, qualifiers, True
    )


def _deduced(signature: KernelSignature, index: int) -> KernelParameter:
    fields = signature.fields.get(index, ())
    spaces = {field.address_space for field in fields if field.kind == "arg_bypointer"}
    kind = next((k for k in ("image", "sampler") if k in spaces), "buffer" if spaces else "value")
    if any(field.is_local_pointer for field in fields):
        kind = "local"
    size = max((f.source_offset + f.size for f in fields if f.kind == "arg_byvalue"), default=8)
    return KernelParameter(kind, size)


@dataclass(frozen=True, eq=False)
class HeldArgument:
    """An argument of a command: its value for a launch, and the object that must live until the kernel has run."""

    argument: Argument
    held: ApiObject | None = None


class RepeatableLaunch(NamedTuple):
    """A launch that can be repeated as long as nothing changes: arguments, sizes, the memory of the context."""

    program: SimulatedProgram
    sizes: Sizes
    arguments: list[Argument]
    dispatch: Dispatch
    changes: int


class Setting(NamedTuple):
    """An argument that was set. A kernel does not keep its objects alive: the program must, until it is enqueued."""

    argument: Argument
    object: weakref.ref[ApiObject] | None

    @classmethod
    def of(cls, given: HeldArgument) -> Setting:
        """The setting for an argument."""
        return cls(given.argument, weakref.ref(given.held) if given.held is not None else None)

    def taken(self) -> HeldArgument:
        """The argument for a command, which keeps the object.

        Raises:
            CallError: the object was released.
        """
        held = self.object() if self.object is not None else None
        require(self.object is None or held is not None, cl.CL_INVALID_KERNEL_ARGS, "an argument was released")
        return HeldArgument(self.argument, held)


class Kernel(ApiObject):
    """A kernel with its arguments.

    Attributes:
        signatures, loaded: the kernel's signature and its loaded program, by device.
        arguments: the arguments set so far.
        last: the last launch.
    """

    invalid = cl.CL_INVALID_KERNEL
    title = "kernel"

    def __init__(self, program: Program, name: str) -> None:
        super().__init__()
        self.program, self.name = program, name
        self.signatures = program.signatures(name)
        self.loaded = program.executables()
        device, self.signature = next(iter(self.signatures.items()))
        self.parameters = parameters(self.signature, self.loaded[device].tree)
        self.arguments: list[Setting | None] = [None] * len(self.parameters)
        self.last: RepeatableLaunch | None = None
        program.kernel_count += 1
        self.at_end(program.kernel_is_gone)

    def clone(self) -> Kernel:
        """Another kernel with the arguments that this one has now."""
        other = Kernel(self.program, self.name)
        other.arguments = list(self.arguments)
        return other

    def set_argument(self, index: int, size: int, value: int) -> None:
        """Set an argument out of the program's memory.

        Raises:
            CallError: there is no such argument, or its value is invalid.
        """
        parameter = self.parameter(index)
        if parameter.kind == "local":
            require(not value, cl.CL_INVALID_ARG_VALUE, "local memory has a size, and no value")
            require(size, cl.CL_INVALID_ARG_SIZE, "local memory has a size")
            self.arguments[index] = Setting(LocalArgument(size), None)
        elif parameter.kind == "value":
            require(value, cl.CL_INVALID_ARG_VALUE, "there is no value")
            require(size >= parameter.size, cl.CL_INVALID_ARG_SIZE, f"it has {parameter.size} bytes, found {size}")
            if size > parameter.size:
                self._note_surplus(index, size)
            self.arguments[index] = Setting(ScalarArgument(host.read(value, parameter.size)), None)
        else:
            require(size == host.POINTER, cl.CL_INVALID_ARG_SIZE, f"a handle has 8 bytes, found {size}")
            handle = host.read_sizes(value, 1)[0] if value else 0
            self.arguments[index] = Setting.of(self._object(parameter, handle))

    def _note_surplus(self, index: int, size: int) -> None:
        """Say once, where kernels are watched, that a number was set with more bytes than the parameter has.

        Intel's driver takes the first ones, and libraries rely on it; the specification has it refused.
        """
        own, noted = self.parameters[index], self.program.noted
        if is_checking() and (self.name, index) not in noted:
            noted.add((self.name, index))
            where = f"{self.program.name}: {own.title(index)} of '{self.name}'"
            say(f"{where}: note: set with {size} bytes, of which it takes the first {own.size}")

    def set_pointer(self, index: int, pointer: int) -> None:
        """Set an argument to an address in memory that the program shares with kernels.

        Raises:
            CallError: there is no such argument, or no such memory.
        """
        parameter = self.parameter(index)
        require(parameter.kind == "buffer", cl.CL_INVALID_ARG_INDEX, f"argument {index} is no pointer")
        svm.check_pointer(self.program.context, pointer)
        self.arguments[index] = Setting(ScalarArgument(pointer.to_bytes(8, "little")), None)

    def _object(self, parameter: KernelParameter, handle: int) -> HeldArgument:
        context = self.program.context
        if parameter.kind == "sampler":
            sampler = Sampler.find(handle)
            require(sampler.context is context, cl.CL_INVALID_SAMPLER, "it is of another context")
            return HeldArgument(sampler.argument, sampler)
        if not handle and parameter.kind == "buffer":
            return HeldArgument(NULL)
        memory = Memory.find(handle)
        require(memory.context is context, cl.CL_INVALID_MEM_OBJECT, "it is of another context")
        if parameter.kind == "image":
            return _image_argument(parameter, memory)
        require(isinstance(memory, Buffer), cl.CL_INVALID_ARG_VALUE, "the kernel takes a buffer")
        assert isinstance(memory, Buffer)
        return HeldArgument(ScalarArgument(memory.address.to_bytes(8, "little"), memory.size), memory)

    def parameter(self, index: int) -> KernelParameter:
        """The parameter of a number.

        Raises:
            CallError: it has fewer.
        """
        require(index < len(self.parameters), cl.CL_INVALID_ARG_INDEX, f"'{self.name}' has no argument {index}")
        return self.parameters[index]

    def given(self) -> list[HeldArgument]:
        """All arguments.

        Raises:
            CallError: one was not set.
        """
        missing = [n for n, setting in enumerate(self.arguments) if setting is None]
        require(not missing, cl.CL_INVALID_KERNEL_ARGS, f"arguments {missing} of '{self.name}' were not set")
        return [setting.taken() for setting in self.arguments if setting is not None]

    def check_local(self, device: Device) -> None:
        """Refuse a launch whose groups want more local memory than there is."""
        used, there = local_bytes(self, device), device.model.local
        require(used <= there, cl.CL_OUT_OF_RESOURCES, f"groups want {used} bytes of local memory, there are {there}")

    def run(self, device: Device, sizes: Sizes, given: Sequence[HeldArgument], turn: Turn | None = None) -> None:
        """Run it over a global size in groups of a local size, from an offset on, and print its output.

        Args:
            turn: the place of the command in the order of commands, if races of launches are checked.

        Raises:
            CallError: the kernel did something without a defined result; the report is printed.
        """
        try:
            program = self.loaded[device]
            result = self._execute(program, sizes, given, turn)
        except SimulationError as error:
            host.print_text(error.printf)
            self.report(error, given)
            raise CallError(cl.CL_OUT_OF_RESOURCES, first_message(error)) from None
        except VisaError as error:
            self.report(error, given)
            raise CallError(cl.CL_INVALID_KERNEL_ARGS, first_message(error)) from None
        if result.printed:
            host.print_text(result.printf)
        if diagnostics := result.diagnostics:
            self.program.context.report_all(diagnostics)

    def _execute(
        self, program: SimulatedProgram, sizes: Sizes, given: Sequence[HeldArgument], turn: Turn | None
    ) -> LaunchResult:
        """Run it, and look for races with launches that nothing orders with this one."""
        order = self.program.context.order
        if debugging.begins(self.name):
            with ending.watched():
                return debugging.debugged(program, self._launch(sizes, given))
        if order is None or turn is None:
            with ending.watched():
                return self._run(program, self._dispatch(program, sizes, given))
        with program.launch_lock:
            dispatch = self._dispatch(program, sizes, given)
            order.begins(turn, dispatch)
            with ending.watched():
                result = self._run(program, dispatch)
            order.ended(turn, dispatch, given)
            return result

    def _run(self, program: SimulatedProgram, dispatch: Dispatch) -> LaunchResult:
        """Run a launch, which a profile may count."""
        watching = profiling.watching()
        if watching is None:
            return program.execute(dispatch, engine(), thread_count())
        watched = replace(dispatch, observers=(*dispatch.observers, *watching.observers))
        result = program.execute(watched, engine(), thread_count())
        profiling.ended(watching, result)
        return result

    def _launch(self, sizes: Sizes, given: Sequence[HeldArgument]) -> Launch:
        return Launch(self.name, *sizes, [g.argument for g in given])

    def _dispatch(self, program: SimulatedProgram, sizes: Sizes, given: Sequence[HeldArgument]) -> Dispatch:
        """The input of an engine: that of the last launch, with new numbers, if this one has the same memory."""
        with program.launch_lock:
            arguments, changes = [g.argument for g in given], program.memory.changes
            last = self.last
            if last is not None and last.sizes == sizes and last.changes == changes and last.program is program:
                pairs = enumerate(zip(arguments, last.arguments, strict=True))
                changed = [(n, argument) for n, (argument, other) in pairs if argument != other]
                if not changed:
                    return last.dispatch
                made = with_numbers(last.dispatch, changed)
                if made is not None:
                    self.last = last._replace(arguments=arguments, dispatch=made)
                    return made
            check, launch = checks(), self._launch(sizes, given)
            made = program.bind(launch, schedule(), check=check or "")
            kept = can_repeat(made) and check is None
            self.last = RepeatableLaunch(program, sizes, arguments, made, program.memory.changes) if kept else None
            return made

    def report(self, error: VisaError, given: Sequence[HeldArgument]) -> None:
        """Report an error, and the buffers of the kernel."""
        first, *others = error.diagnostics
        labels = [*first.labels]
        for index, argument in enumerate(given):
            if whose := self._memory_of(argument):
                labels.append(Label(Span(self.parameters[index].title(index), 0), whose))
        self.program.context.report_all([replace(first, labels=tuple(labels)), *others])

    def _memory_of(self, argument: HeldArgument) -> str:
        """The memory that an argument leads to, in words; empty where it leads to none."""
        if isinstance(argument.held, Memory):
            memory = argument.held
            return f"{memory.name}, {memory.size} bytes, made by {memory.creator}"
        value = argument.argument
        if not isinstance(value, ScalarArgument) or len(value.data) != host.POINTER:
            return ""
        allocation = svm.find(self.program.context, int.from_bytes(value.data, "little"))
        return f"{allocation.buffer.name}, {allocation.size} bytes" if allocation else ""


def _image_argument(parameter: KernelParameter, memory: Memory) -> HeldArgument:
    require(isinstance(memory, Image), cl.CL_INVALID_MEM_OBJECT, "the kernel takes an image")
    assert isinstance(memory, Image)
    wanted = _IMAGE_KINDS.get(re.sub(r"(_depth|_msaa)*_t$|^__\w+ ", "", parameter.type_name))
    fits = wanted in (None, memory.kind)
    if "_depth" in parameter.type_name:
        fits = fits and memory.format.order == cl.CL_DEPTH
    require(fits, cl.CL_INVALID_MEM_OBJECT, f"the kernel takes an {parameter.type_name}")
    reads, writes = memory.flags & cl.CL_MEM_WRITE_ONLY, memory.flags & cl.CL_MEM_READ_ONLY
    refused = {
        cl.CL_KERNEL_ARG_ACCESS_READ_ONLY: reads, cl.CL_KERNEL_ARG_ACCESS_WRITE_ONLY: writes,
        cl.CL_KERNEL_ARG_ACCESS_READ_WRITE: reads | writes,
    }  # fmt: skip
    allowed = not refused.get(parameter.access, 0)
    require(allowed, cl.CL_INVALID_ARG_VALUE, "the image was made for other accesses")
    return HeldArgument(memory.argument, memory)


def attributes(kernel: Kernel, device: Device) -> Tree:
    """The attributes that the source gives the kernel."""
    entries = kernel.loaded[device].tree.get("kernels") or []
    assert isinstance(entries, list)
    own: Tree = next((e for e in entries if e.get("name") == kernel.name), {})
    attributes = own.get("user_attributes") or {}
    return attributes if isinstance(attributes, dict) else {}


def local_bytes(kernel: Kernel, device: Device) -> int:
    """Bytes of local memory of a group, with the arguments that were set."""
    given = sum(g.argument.size for g in kernel.arguments if g and isinstance(g.argument, LocalArgument))
    return kernel.signatures[device].slm_size + given


def private_bytes(signature: KernelSignature) -> int:
    """Bytes of private and scratch memory of a work-item."""
    return (signature.private_size + signature.scratch_size) // max(1, signature.simd)


def spilled_bytes(signature: KernelSignature) -> int:
    """Bytes that the compiler's own code spills, of each hardware thread."""
    return signature.info.spill_size if signature.info is not None else 0


_SHOWN_ATTRIBUTES = ("reqd_work_group_size", "work_group_size_hint", "vec_type_hint", "intel_reqd_sub_group_size")


def required_sub_group(kernel: Kernel, device: Device) -> int:
    """The SIMD width that the source asks for; 0 where the compiler chose."""
    size = attributes(kernel, device).get("intel_reqd_sub_group_size", 0)
    return int(size) if isinstance(size, int) else 0


def attribute_text(kernel: Kernel) -> str:
    """The attributes as the source has them."""
    device = next(iter(kernel.signatures))
    words = []
    for name, value in attributes(kernel, device).items():
        if name in _SHOWN_ATTRIBUTES:
            shown = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words.append(f"{name}({shown})")
    return " ".join(words)
