"""Binding: which argument of a launch goes to which value of the payload, surface, image or sampler of the kernel.

Kernels with ze_info say so for each argument. Hand-written kernels without it bind arguments to their ``.input``
variables.
"""

from __future__ import annotations

from collections.abc import Callable

from visakit.diagnostics import counted, did_you_mean
from visakit.forks import cached_property
from visakit.language.platforms import SMALLEST_GRF_SIZE
from visakit.language.program import Input
from visakit.objects.payload import round_up
from visakit.objects.ze_info import KernelInfo, PayloadField
from vsim.launch.arguments import POINTER_BYTES, URB, ArgumentReader, Arguments
from vsim.launch.element_types import check_scalar
from vsim.launch.launch import (
    Argument,
    BufferArgument,
    ImageArgument,
    Launch,
    LocalArgument,
    SamplerArgument,
    ScalarArgument,
)
from vsim.launch.ndrange import IMPLICIT_BYTES, NdRange, implicit_arguments, local_id_table
from vsim.launch.payload import IMPLICIT_HANDLE, encoded
from vsim.launch.signature import KernelSignature
from vsim.memory.images import CHANNEL_ORDERS, CHANNEL_TYPES, SurfaceImage
from vsim.memory.memory import AddressSpace, Buffer, SamplerState

PRINTF_BYTES = 4 << 20
PRINTF_HEAD = 4
"""The beginning of an empty printf buffer: the offset of the first record, as a dword."""
ASSERT_BYTES = 64 << 10
ASSERT_HEAD = (ASSERT_BYTES, 0, 12)
"""The beginning of an empty buffer of assertions, in dwords: its size, no failure, the place of the first message."""
URB_NAME = "%urb"
"""The name of the argument with the buffer of URB writes."""
SURFACE_NUMBER_BYTES = 4
BY_VALUE = "arg_byvalue"
"""Ze_info's word for arguments that are bytes of the payload."""
IMPLICIT_BUFFER = "implicit_arg_buffer"
"""Ze_info's word for the address of the implicit arguments."""
_ADDRESS_MODES = {
    "none": 0, "clamp": 1, "clamp_border": 1, "clamp_edge": 2, "clamp_to_edge": 2, "repeat": 3, "mirror": 4,
    "mirrored_repeat": 4,
}  # fmt: skip
_NORMALIZED = 8
"""The encoding of addressing modes and normalised coordinates in the compiler's functions for images."""
MAXIMUM_PADDING = 8
"""Bytes that a structure in pieces may lack at its end."""


def bind(
    signature: KernelSignature, launch: Launch, nd_range: NdRange, memory: AddressSpace, guarded: bool = False
) -> Arguments:
    """Bind the arguments of a launch; arrays keep their addresses from launch to launch.

    Args:
        nd_range: the ND-range of the launch.
        guarded: give arguments that are parts of larger memory separate addresses.

    Raises:
        LaunchError: S010, they do not fit the kernel; the message names the argument.
    """
    reader = ArgumentReader(signature, launch, memory, guarded)
    if signature.info is None:
        return _InputBinder(reader).bind()
    return _FieldBinder(reader, signature.info, nd_range).bind()


def number_in_payload(signature: KernelSignature, index: int, argument: Argument) -> tuple[int, bytes] | None:
    """The place of an argument in the payload, and its bytes; None if it also binds a surface or a sampler."""
    if not isinstance(argument, ScalarArgument) or len(signature.fields.get(index, ())) != 1:
        return None
    for at, field in signature.layout.arguments:
        if field.argument == index:
            fits = field.kind == BY_VALUE and len(argument.data) == field.size
            return (at, argument.data) if fits else None
    return None


class _FieldBinder:
    """Binds by ze_info: goes through the values of the payload in ze_info's order."""

    def __init__(self, reader: ArgumentReader, info: KernelInfo, nd_range: NdRange) -> None:
        self.reader, self.signature, self.info, self.nd_range = reader, reader.signature, info, nd_range
        self.values: list[tuple[int, bytes]] = []
        self.samplers = {number: SamplerState(*sampler) for number, sampler in info.samplers.items()}
        self.printf: Buffer | None = None
        self.assertions: Buffer | None = None

    def bind(self) -> Arguments:
        """All arguments, checked."""
        signature, reader = self.signature, self.reader
        self._check_count()
        for index, number in signature.sampler_arguments:
            self.samplers[number] = reader.sampler(index)
        slm_size = self._locals()
        for at, field in signature.layout.arguments:
            _FIELDS.get(field.kind, _FieldBinder.other)(self, at, field)
        for handle, address in signature.layout.data.items():
            data = reader.memory.behind(address)
            if data is not None:
                reader.bindless[handle] = data
        surfaces = {number: reader.surface(index) for number, index in signature.surfaces}
        for number, address in signature.layout.data_surfaces.items():
            data = reader.memory.behind(address)
            if data is not None:
                surfaces[number] = data
        implicit = None
        asks = signature.summary.asks_for_ids
        if asks or any(field.kind == IMPLICIT_BUFFER for _, field in signature.layout.arguments):
            implicit = self.implicit, self._implicit_contents()
            reader.bindless[IMPLICIT_HANDLE] = self.implicit
        return Arguments(
            self.values,
            surfaces,
            reader.bindless,
            self.samplers,
            slm_size,
            self.printf,
            tuple(reader.nulls),
            reader.buffers,
            implicit=implicit,
            assertions=self.assertions,
        )

    def _check_count(self) -> None:
        signature, given = self.signature, len(self.reader.launch.args)
        expected = signature.argument_count
        if given != expected:
            named = ", ".join(signature.names_in_order)
            raise signature.error(
                f"it takes {counted(expected, 'argument')}, the launch has {given}",
                f"its arguments are {named}; give them by --arg or a launch file" if named else "",
            )

    def _locals(self) -> int:
        """Offsets of dynamic local memory, and how much there is; the kernel adds its static size itself."""
        end = 0
        for at, field in self.signature.layout.local_pointers:
            size = self.reader.read(field.argument, LocalArgument).size
            start = round_up(end, field.slm_alignment)
            self._put(at, start, field.size or 4)
            end = start + size
        return end

    def _put(self, at: int, value: int, size: int) -> None:
        if size:
            self.values.append((at, encoded(value, size)))

    def pointer(self, at: int, field: PayloadField) -> None:
        """The address of an array. Handles of surfaces and samplers are the same in every launch."""
        if field.address_space == "sampler":
            return
        if field.address_space == "image":
            self.reader.image(field.argument)
        elif field.is_handle:
            self.reader.by_handle(field.argument)
        else:
            self.address(at, field)

    def address(self, at: int, field: PayloadField) -> None:
        """The address of an array of any kind."""
        self._put(at, self.reader.buffer(field.argument).address, field.size)

    def by_value(self, at: int, field: PayloadField) -> None:
        """A scalar, vector or structure, or a piece of one; a structure may come without the padding at its end."""
        argument, pieces = self.reader.read(field.argument, ScalarArgument), self.signature.fields[field.argument]
        if argument.type:
            check_scalar(self.signature, field.argument, argument)
        data = argument.data
        given, start = len(data), field.source_offset
        is_whole = len(pieces) == 1
        end = max(piece.source_offset + piece.size for piece in pieces)
        size = pieces[0].size if is_whole else end
        if (is_whole and _dwords(given) != _dwords(size)) or given + MAXIMUM_PADDING < end:
            raise self.signature.error(
                f"{self.signature.describe(field.argument)} has {size} bytes, the launch gives {given}"
            )
        self.values.append((at, data[start : start + field.size]))

    def printf_buffer(self, at: int, field: PayloadField) -> None:
        """The buffer that the kernel prints to, empty."""
        self.printf = printf = self.reader.memory.block("printf", PRINTF_BYTES)
        printf.data[:4].view("<u4")[0] = PRINTF_HEAD
        self._put(at, printf.address, field.size)

    def assert_buffer(self, at: int, field: PayloadField) -> None:
        """The buffer of the messages of assertions that failed, empty."""
        self.assertions = assertions = self.reader.memory.block("assertions", ASSERT_BYTES)
        assertions.data[: 4 * len(ASSERT_HEAD)].view("<u4")[:] = ASSERT_HEAD
        self._put(at, assertions.address, field.size)

    def implicit_buffer(self, at: int, field: PayloadField) -> None:
        """The address of the buffer of sizes and ids, as today's compiler wants it on tgllp and before."""
        self._put(at, self.implicit.address, field.size)

    @cached_property
    def local_ids(self) -> bytes:
        """The local ids of a group, as functions that ask for them find them."""
        return local_id_table(self.nd_range.local_size, self.signature.simd)

    @cached_property
    def implicit(self) -> Buffer:
        """The buffer of implicit arguments.

        Raises:
            LaunchError: S010, they ask, and no answer is right for all groups.
        """
        sizes = zip(self.nd_range.global_size, self.nd_range.local_size, strict=True)
        if self.signature.summary.asks_for_ids and any(size % local for size, local in sizes):
            raise self.signature.error(
                f"functions ask for sizes or ids, which are given for whole groups of {self.nd_range.local_size}",
                "take a local size that divides the global size",
            )
        return self.reader.memory.block("implicit arguments", IMPLICIT_BYTES + len(self.local_ids))

    def _implicit_contents(self) -> bytes:
        printf, table = self.printf.address if self.printf else 0, self.implicit.address + IMPLICIT_BYTES
        return implicit_arguments(self.nd_range, self.signature.simd, printf, table) + self.local_ids

    def image_property(self, at: int, field: PayloadField) -> None:
        """Width, height, depth or layers of an image, 0 where it does not have them; its format in OpenCL's numbers."""
        image = self.reader.image(field.argument)
        layers = image.sizes[-1] if image.kind.layered else 0
        width, height, depth = (*(image.sizes[:-1] if layers else image.sizes), 0, 0)[:3]
        form = image.kind.format
        known = {
            "image_width": width, "image_height": height, "image_depth": depth, "image_array_size": layers,
            "image_channel_data_type": CHANNEL_TYPES[form.element], "image_channel_order": CHANNEL_ORDERS[form.order],
            "image_num_samples": 0, "image_num_mip_levels": 0,
        }  # fmt: skip
        if field.kind not in known:
            what = self.signature.describe(field.argument)
            raise self.signature.error(f"{what}: payload entry '{field.kind}' is not known")
        self._put(at, known[field.kind], field.size)

    def sampler_property(self, at: int, field: PayloadField) -> None:
        """A value of a sampler's state that the kernel needs for its part of sampling; 0 for parts of the hardware."""
        state = self.samplers.get(self.signature.sampler_of(field.argument), SamplerState())
        mode, value = _ADDRESS_MODES[state.addressing], 0
        if field.kind == "sampler_address":
            value = mode
        elif field.kind == "sampler_normalized":
            value = _NORMALIZED if state.normalized else 0
        elif field.kind == "sampler_snap_wa" and state.filter == "nearest" and mode == _ADDRESS_MODES["clamp"]:
            value = 0xFFFFFFFF
        self._put(at, value, field.size)

    def other(self, at: int, field: PayloadField) -> None:
        """Images and samplers have more than one kind of value; nothing else is known."""
        if field.kind.startswith("image_"):
            self.image_property(at, field)
        elif field.kind.startswith("sampler_"):
            self.sampler_property(at, field)
        else:
            raise self.signature.error(f"the payload entry '{field.kind}' is not known")


_FIELDS: dict[str, Callable[[_FieldBinder, int, PayloadField], None]] = {
    "arg_bypointer": _FieldBinder.pointer, BY_VALUE: _FieldBinder.by_value, "buffer_address": _FieldBinder.address,
    "printf_buffer": _FieldBinder.printf_buffer, IMPLICIT_BUFFER: _FieldBinder.implicit_buffer,
    "assert_buffer": _FieldBinder.assert_buffer,
}  # fmt: skip


class _InputBinder:
    """Binds to ``.input`` variables, by name where the launch names an argument, else in order.

    A pointer goes into a qword input; without one, and images anyway, it is the surface T6, T7, ... in order; samplers
    are S0, S1, ... in order.
    """

    def __init__(self, reader: ArgumentReader) -> None:
        self.reader, self.signature = reader, reader.signature
        self.unused = list(self.signature.inputs)
        self.names: dict[int, str] = {}
        self.surface_inputs = list(self.signature.surface_inputs)
        self.values: list[tuple[int, bytes]] = []
        self.surfaces: dict[int, Buffer | SurfaceImage] = {}
        self.surface_count = 0
        self.samplers: dict[int, SamplerState] = {}
        self.slm_size = 0

    def bind(self) -> Arguments:
        """All arguments, checked."""
        reader = self.reader
        launch = reader.launch
        self._check_places()
        names = {id(argument): name for name, argument in launch.names.items()} if launch.names else {}
        for index, argument in enumerate(launch.args):
            name = names.get(id(argument))
            if isinstance(argument, SamplerArgument):
                self.samplers[len(self.samplers)] = reader.sampler(index)
            elif name == URB_NAME:
                self.surfaces[URB] = reader.surface(index)
            elif isinstance(argument, ImageArgument):
                self._add_surface(reader.image(index))
            else:
                self.names[index] = name = self._input_name(index, argument, name)
                self._bind_input(index, argument, name)
        if self.unused:
            raise self.signature.error(f".input '{self.unused[0]}' has no argument", self._inputs_hint())
        return Arguments(
            self.values,
            self.surfaces,
            reader.bindless,
            self.samplers,
            self.slm_size,
            nulls=tuple(reader.nulls),
            buffers=reader.buffers,
            inputs=self.names,
        )

    def _check_places(self) -> None:
        """Refuse inputs in %r0: bytes can declare them, but texts cannot."""
        register = self.signature.image.grf_size or SMALLEST_GRF_SIZE
        for name, declared in self.signature.inputs.items():
            if declared.size and declared.offset < register:
                where = (
                    f"begins at byte {declared.offset} of the payload, in '%r0', which has the first {register} bytes"
                )
                raise self.signature.error(f".input '{name}' {where}")

    def _inputs_hint(self) -> str:
        known = f"inputs are {', '.join(self.signature.inputs)}" if self.signature.inputs else "it has no inputs"
        return f"{known}; give them by --arg or a launch file (link a compiler's output with --ze-info)"

    def _size_hint(self, found: Input, name: str) -> str:
        """A hint about a value that is larger than its input."""
        if found.size >= POINTER_BYTES:
            return "it is an address: pass an array" if found.size == POINTER_BYTES else ""
        declared = self.signature.declared_type([*self.signature.inputs].index(name))
        return f"pass a number; the kernel declares it as {declared}" if declared else ""

    def _add_surface(self, surface: Buffer | SurfaceImage) -> int:
        """Append a surface; returns its number."""
        number = self.surface_count
        self.surfaces[number] = surface
        self.surface_count += 1
        return number

    def _input_name(self, index: int, argument: Argument, name: str | None) -> str:
        """The name of the input that an argument goes to; empty for a buffer that is a surface and nothing else."""
        inputs = self.signature.inputs
        if name is None:
            is_buffer = isinstance(argument, BufferArgument)
            if is_buffer and self.surface_inputs and not any(inputs[n].size == POINTER_BYTES for n in self.unused):
                return ""
            if not self.unused:
                if is_buffer and (index < len(inputs) or self.signature.has_surfaces):
                    return ""
                raise self.signature.error(
                    f"argument {index} has no .input to go to: the kernel has {len(inputs)}", self._inputs_hint()
                )
            return self.unused.pop(0)
        if name not in inputs:
            hint = did_you_mean(name, inputs) or self._inputs_hint()
            raise self.signature.error(f"there is no .input '{name}' for argument {index}", hint)
        if name in self.unused:
            self.unused.remove(name)
        return name

    def _bind_input(self, index: int, argument: Argument, name: str) -> None:
        """Put a buffer, a scalar or local memory into its input."""
        if isinstance(argument, BufferArgument):
            to = self.signature.inputs.get(name)
            if to is not None and to.size < POINTER_BYTES:
                raise self.signature.error(
                    f"argument {index} is an array, and .input '{name}' has {to.size} bytes: an address takes 8",
                    "give a number, or declare the variable as uq with size=8",
                )
            self._bind_buffer(index, to)
            return
        declared = self.signature.inputs[name]
        if isinstance(argument, ScalarArgument):
            if len(argument.data) > declared.size:
                words = f"argument {index} has {len(argument.data)} bytes, .input '{name}' has {declared.size}"
                raise self.signature.error(words, self._size_hint(declared, name))
            self.values.append((declared.offset, argument.data))
        elif isinstance(argument, LocalArgument):
            self._put(declared.offset, self.signature.slm_size + self.slm_size, min(declared.size, POINTER_BYTES))
            self.slm_size += argument.size

    def _bind_buffer(self, index: int, found: Input | None) -> None:
        """A buffer is a surface, and its address or the number of the surface goes into the input that there is."""
        buffer = self.reader.buffer(index)
        number = self._add_surface(self.reader.surface(index))
        if found is not None:
            if found.size >= POINTER_BYTES:
                self._put(found.offset, buffer.address, POINTER_BYTES)
        elif self.surface_inputs:
            state = self.surface_inputs.pop(0)
            self._put(state.offset, number, min(state.size, SURFACE_NUMBER_BYTES))

    def _put(self, at: int, value: int, size: int) -> None:
        self.values.append((at, encoded(value, size)))


def _dwords(size: int) -> int:
    """Dwords of a number of bytes, rounded up."""
    return -(-size // 4)
