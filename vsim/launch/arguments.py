"""The arguments of a launch as a kernel takes them, and how they are read out of the launch, one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np

from visakit.diagnostics import Diagnostic, Span, did_you_mean
from visakit.objects.image import SLOT
from visakit.usage import warn
from vsim.launch.arrays import Array, address_of
from vsim.launch.element_types import check_elements
from vsim.launch.launch import (
    Argument,
    BufferArgument,
    ImageArgument,
    Launch,
    LocalArgument,
    SamplerArgument,
    ScalarArgument,
    array_problem,
)
from vsim.launch.payload import surface_handle
from vsim.launch.signature import KernelSignature
from vsim.memory.images import ImageFormat, SurfaceImage, surface_image
from vsim.memory.memory import ADDRESSING, COMPARISONS, FILTERS, AddressSpace, Buffer, SamplerState, allocation

URB = 0x10000
"""Number of the surface for the URB."""
POINTER_BYTES = 8
NULL = bytes(POINTER_BYTES)
"""The null pointer, as an argument by value."""
_TITLES: dict[type[Argument], str] = {
    BufferArgument: "a buffer", ScalarArgument: "a scalar", LocalArgument: "local memory", ImageArgument: "an image",
    SamplerArgument: "a sampler",
}  # fmt: skip
Wanted = TypeVar("Wanted", BufferArgument, ScalarArgument, LocalArgument, ImageArgument, SamplerArgument)


class Arguments(NamedTuple):
    """The checked arguments of a launch.

    Attributes:
        values: place and bytes of the values in the payload.
        surfaces: buffers and images by number of the surface; :data:`URB` is the target of URB writes.
        bindless: buffers and images by handle.
        samplers: by number.
        slm_size: bytes of local memory that arguments ask for.
        printf: the buffer for printed text; None if the kernel does not print.
        nulls: the names of null pointers in messages of faults.
        buffers: the memory of arguments by their numbers.
        implicit: the buffer of the implicit arguments, and its contents when the launch runs; None without them.
        inputs: of kernels without ze_info, which ``.input`` variables arguments went to, by their numbers.
        assertions: the buffer for messages of assertions that fail; None if the kernel has none.
    """

    values: list[tuple[int, bytes]]
    surfaces: dict[int, Buffer | SurfaceImage]
    bindless: dict[int, Buffer | SurfaceImage]
    samplers: dict[int, SamplerState]
    slm_size: int = 0
    printf: Buffer | None = None
    nulls: tuple[str, ...] = ()
    buffers: Mapping[int, Buffer] = MappingProxyType({})
    inputs: Mapping[int, str] = MappingProxyType({})
    implicit: tuple[Buffer, bytes] | None = None
    assertions: Buffer | None = None

    def __repr__(self) -> str:
        return f"<Arguments: {len(self.values)} values, {len(self.surfaces)} surfaces, {len(self.samplers)} samplers>"


class ArgumentReader:
    """The arguments of one launch, each converted to the kind that the kernel takes.

    Arrays get their addresses when they are first read.

    Raises:
        LaunchError: S010 for an argument of another type; the message names it.
    """

    def __init__(self, signature: KernelSignature, launch: Launch, memory: AddressSpace, guarded: bool = False) -> None:
        self.signature, self.launch, self.memory, self.guarded = signature, launch, memory, guarded
        self.buffers: dict[int, Buffer] = {}
        self.bindless: dict[int, Buffer | SurfaceImage] = {}
        self.nulls: list[str] = []
        if guarded:
            self._in_order()

    def read(self, index: int, wanted: type[Wanted]) -> Wanted:
        """An argument that can only be of one kind."""
        argument = self.launch.args[index]
        if not isinstance(argument, wanted):
            raise self._mismatch(index, _TITLES[wanted])
        return argument

    def _mismatch(self, index: int, wanted: str) -> Exception:
        argument = self.launch.args[index]
        given = _TITLES.get(type(argument), f"a {type(argument).__name__}")
        hint = ""
        if wanted == _TITLES[LocalArgument]:
            hint = 'write its bytes: local:BYTES on a command line, {"local": BYTES} in a launch file'
            size = int.from_bytes(argument.data, "little") if isinstance(argument, ScalarArgument) else 0
            size = argument.array.nbytes if isinstance(argument, BufferArgument) else size
            if 0 < size < 1 << 28:
                hint = hint.replace("BYTES", str(size))
        message = f"{self.signature.describe(index)} must be {wanted}, the launch gives {given}"
        return self.signature.error(message, hint)

    def buffer(self, index: int) -> Buffer:
        """The buffer of an array, or of a pointer given as eight bytes."""
        buffer = self.buffers.get(index)
        if buffer is None:
            buffer = self._buffer_of(self.launch.args[index], index)
            if self.buffers:
                self._warn_of_overlap(index, buffer)
            self.buffers[index] = buffer
        return buffer

    def _warn_of_overlap(self, index: int, found: Buffer) -> None:
        """Warn of memory that two arrays share in part. One array for two arguments is no mistake.

        Addresses do not count: the extent of their memory is unknown.
        """
        start, end = found.host, found.host + found.size
        arrays = [n for n in (*self.buffers, index) if isinstance(self.launch.args[n], BufferArgument)]
        for number in arrays[:-1] if index in arrays else ():
            other = self.buffers[number]
            if start < other.host + other.size and other.host < end and (start, found.size) != (other.host, other.size):
                signature = self.signature
                shared = min(end, other.host + other.size) - max(start, other.host)
                message = (
                    f"kernel '{signature.name}': {signature.describe(number)} and {signature.describe(index)} overlap: "
                    f"they share {shared} bytes of memory"
                )
                hint = "pass a copy of one of them, unless the kernel is meant to see its own writes"
                warn(Diagnostic("S004", message, Span("<launch>", 0), hint, severity="warning"))

    def _buffer_of(self, argument: Argument, index: int) -> Buffer:
        if isinstance(argument, BufferArgument):
            problem, hint = array_problem(argument.array)  # Now: it may have changed since the last launch.
            if problem:
                raise self.signature.error(f"{self.signature.describe(index)} {problem}", hint)
            check_elements(self.signature, index, argument)
            map_array, name = self._guarded if self.guarded else self.memory.map, self.signature.buffer_name(index)
            buffer: Buffer | None = map_array(argument.array, name)
            assert buffer is not None
            if buffer.read_only is argument.array.flags.writeable:
                self._protect(buffer, argument.array)
            return buffer
        if not isinstance(argument, ScalarArgument):
            raise self._mismatch(index, f"{_TITLES[BufferArgument]} or {_TITLES[ScalarArgument]}")
        if argument.data == NULL:
            return self._null(index)
        is_pointer = len(argument.data) == POINTER_BYTES
        buffer = self.memory.behind(int.from_bytes(argument.data, "little")) if is_pointer else None
        if buffer is None:
            raise self.signature.error(
                f"{self.signature.describe(index)} is a pointer: it must be an array, or an address in one, or None"
            )
        if self.guarded and argument.reach:
            buffer = self.memory.guard(buffer.part(buffer.name, buffer.address, min(buffer.size, argument.reach)))
        return buffer

    def _in_order(self) -> None:
        """Give parts of one memory addresses in the order of their places, which kernels may compare."""
        arrays = [
            (address_of(a.array), n, a.array)
            for n, a in enumerate(self.launch.args)
            if isinstance(a, BufferArgument) and not array_problem(a.array)[0]
        ]
        for _, index, array in sorted(arrays, key=lambda found: found[:2]):
            self._guarded(array, self.signature.buffer_name(index))

    def _guarded(self, array: Array, name: str) -> Buffer:
        """The buffer of an array; of one that is a part of another, a part of the memory of that."""
        whole = self.memory.map(allocation(array), name)
        start = address_of(array) - whole.host
        return self.memory.guard(whole.part(name, whole.address + start, array.nbytes))

    def _null(self, index: int) -> Buffer:
        """The buffer of a null pointer."""
        name = f"{self.signature.buffer_name(index)} (NULL)"
        self.nulls.append(name)
        return Buffer(name, 0, np.zeros(0, np.uint8))

    def _protect(self, found: Buffer, array: Array) -> None:
        """Have a kernel leave a read-only array alone, unless it has the same memory as an array that it may write."""
        is_read_only = not array.flags.writeable
        ends = found.host + found.size
        if is_read_only and any(
            not other.read_only and other.host < ends and found.host < other.host + other.size
            for other in self.buffers.values()
        ):
            return
        self.memory.protect(found, is_read_only)

    def image(self, index: int) -> SurfaceImage:
        """The image that an argument is."""
        argument = self.read(index, ImageArgument)
        handle = surface_handle(index)
        image = self.bindless.get(handle)
        if not isinstance(image, SurfaceImage):
            signature = self.signature
            problem, hint = array_problem(argument.array)
            if problem:
                raise signature.error(f"{signature.describe(index)} {problem}", hint)
            if not argument.array.flags.writeable:
                if not any(f.access == "readonly" for f in signature.fields.get(index, ())):
                    what = f"{signature.describe(index)} is an image that is read-only, and the kernel may write it"
                    raise signature.error(what, "pass a copy")
                argument = replace(argument, array=argument.array.copy())  # Where stray writes do no harm.
            made = surface_image(signature.buffer_name(index), argument, signature.image_type(index), handle)
            if isinstance(made, str):
                names = ImageFormat.names()
                hint = did_you_mean(argument.format, names) if argument.format not in names else ""
                raise signature.error(f"{signature.describe(index)} {made}", hint)
            image = self.bindless[handle] = made
        return image

    def surface(self, index: int) -> Buffer | SurfaceImage:
        """The image or buffer that an argument is."""
        if isinstance(self.launch.args[index], ImageArgument):
            return self.image(index)
        buffer = self.buffer(index)
        if buffer.address // SLOT in self.memory.guarded:  # Accesses outside of the argument are findings, not faults.
            return self.memory.behind(buffer.address) or buffer
        return buffer

    def by_handle(self, index: int) -> None:
        """Have the buffer that an argument is be found by the handle of its surface."""
        self.bindless[surface_handle(index)] = self.surface(index)

    def sampler(self, index: int) -> SamplerState:
        """The state of the sampler that an argument is."""
        argument = self.read(index, SamplerArgument)
        for what, value, known in (
            ("addressing", argument.addressing, ADDRESSING),
            ("filter", argument.filter, FILTERS),
            ("comparison", argument.compare, COMPARISONS),
        ):
            if value not in known:
                words = f"{self.signature.describe(index)} is a sampler with the unknown {what} {value!r}"
                raise self.signature.error(words, f"there are {', '.join(known)}")
        return SamplerState(argument.normalized, argument.addressing, argument.filter, argument.compare)
