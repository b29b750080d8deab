"""``vsim --capture``: launches in the directory layout of the OpenCL Intercept Layer's captures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import count
from typing import NamedTuple

from visakit.diagnostics import Diagnostic, LaunchError, Span
from visakit.files import check_folder, make_directory, write_file
from visakit.objects.image import SLOT
from vsim.command.listing import argument_rows
from vsim.command.report import save_array
from vsim.launch.arguments import NULL
from vsim.launch.arrays import Bytes
from vsim.launch.dispatch import Dispatch
from vsim.launch.launch import Argument, BufferArgument, ImageArgument, Launch, LocalArgument, SamplerArgument
from vsim.launch.payload import surface_handle
from vsim.memory.images import CHANNEL_ORDERS, CHANNEL_TYPES, SurfaceImage
from vsim.memory.memory import AddressSpace, as_bytes
from vsim.program import Program
from vsim.sources import captures

SAMPLER_HANDLES, IMAGE_HANDLES = 0x20000, 0x30000
"""The first part of handles of samplers and images: a value that is no buffer's address."""
_ADDRESSING = {ours: theirs for theirs, ours in captures.ADDRESSING.items()} | {
    "clamp_to_edge": "CL_ADDRESS_CLAMP_TO_EDGE",
    "clamp": "CL_ADDRESS_CLAMP",
    "mirrored_repeat": "CL_ADDRESS_MIRRORED_REPEAT",
}


class CapturedMemory(NamedTuple):
    """CapturedMemory of an argument, and the name of its file in ``Pre`` and ``Post``."""

    name: str
    data: Bytes


class CaptureWriter:
    """Captures launches of a program, each in a new folder.

    Args:
        folder: the parent of these folders; existing ones stay.
        files: contents of the files about the program, by name.
        options: build options.
    """

    def __init__(self, folder: str, files: Mapping[str, bytes], options: str) -> None:
        self.folder, self.files, self.options = folder, files, options
        make_directory(folder)
        check_folder(folder)
        numbers = (name.split("_")[1] for name in os.listdir(folder) if name.startswith("Enqueue_"))
        self.numbers = count(max((int(n) for n in numbers if n.isascii() and n.isdigit()), default=-1) + 1)

    def before(self, program: Program, launch: Launch) -> LaunchCapture:
        """Write all that there is of a launch before it runs.

        Raises:
            LaunchError: the launch does not fit the kernel, or its arguments have names in another order than inputs.
            FileError: F001, a file cannot be written.
        """
        capture = LaunchCapture(self.folder, next(self.numbers), program.bind(launch), launch)
        capture.write_files({**self.files, captures.OPTIONS: os.fsencode(f"{self.options}\n")})
        capture.write_memory(captures.BEFORE)
        return capture


class LaunchCapture:
    """The capture of one launch.

    Args:
        folder: that of all captures.
        dispatch: the launch, bound: its arrays have their addresses.
    """

    def __init__(self, folder: str, number: int, dispatch: Dispatch, launch: Launch) -> None:
        self.number, self.dispatch, self.launch = number, dispatch, launch
        self.kernel = dispatch.kernel.name
        self.folder = os.path.join(folder, f"Enqueue_{number}_{self.kernel.replace(os.sep, '_')}")
        self.memory: dict[int, CapturedMemory] = {}
        self.objects: dict[int, int] = {}
        """Numbers of memory objects by their handles."""
        self._check_order()

    def _check_order(self) -> None:
        """Arguments of a capture have numbers, not names: they go to inputs in order."""
        launch, signature = self.launch, self.dispatch.signature
        if signature.info is None and launch.names:
            names = {id(argument): name for name, argument in launch.names.items()}
            given = [names[id(argument)] for argument in launch.args if id(argument) in names]
            if given != [name for name in signature.inputs if name in given] or len(given) < len(launch.args):
                message = (
                    f"kernel '{self.kernel}' gets arguments by name in another order than that of its .input lines"
                )
                hint = "a capture numbers them; give them in that order"
                raise LaunchError(Diagnostic("S010", message, Span(signature.image.file, 0), hint))

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """Write the files of the program, of the sizes and of the arguments."""
        signature, launch = self.dispatch.signature, self.launch
        rows = {row["index"]: row["kind"] for row in argument_rows(signature)} if signature.info else {}
        everything = dict(files)
        everything[captures.NUMBER] = f"{self.number}\n".encode()
        everything[captures.NAME] = os.fsencode(self.kernel)
        everything[captures.SIZES] = _sizes_text(launch).encode()
        types = [signature.argument_types.get(n, "").partition(";")[0] for n in range(len(launch.args))]
        if types and all(types):
            everything[captures.TYPES] = "".join(f"{name}\n" for name in types).encode()
        for index, argument in enumerate(launch.args):
            everything |= self._argument(index, argument, rows.get(index, ""))
        make_directory(self.folder)
        for name, data in everything.items():
            self._write(name, data)

    def write_result(self) -> None:
        """Write the memory after the launch."""
        self.write_memory(captures.AFTER)

    def write_memory(self, part: str) -> None:
        """Write the present memory of all buffers and images."""
        make_directory(os.path.join(self.folder, part))
        for memory in self.memory.values():
            save_array(os.path.join(self.folder, part, memory.name), memory.data)

    def _write(self, name: str, data: bytes) -> None:
        write_file(os.path.join(self.folder, name), lambda stream: stream.write(data))

    def _argument(self, index: int, argument: Argument, kind: str) -> dict[str, bytes]:
        """The files of an argument, by name."""
        value = f"Argument{index}.bin"
        if isinstance(argument, LocalArgument):
            return {f"Local{index}.txt": str(argument.size).encode()}
        if isinstance(argument, SamplerArgument):
            return {value: _handle(SAMPLER_HANDLES + index), f"Sampler{index}.txt": _sampler_text(argument).encode()}
        if isinstance(argument, ImageArgument):
            return self._image(index, argument)
        memory = self.dispatch.memory
        if isinstance(argument, BufferArgument):
            return self._pointer(index, memory, memory.map(argument.array, "").address)
        is_pointer = kind in ("global", "constant", "surface") and argument.data != NULL
        if is_pointer:
            return self._pointer(index, memory, int.from_bytes(argument.data, "little"))
        return {value: argument.data}

    def _pointer(self, index: int, memory: AddressSpace, address: int) -> dict[str, bytes]:
        """A pointer into memory; the whole memory is captured."""
        whole = memory.slots[address // SLOT]
        self._add(index, "Buffer", whole.address, whole.data, ".bin")
        offset = f"{address - whole.address}\n".encode()
        return {f"Argument{index}.bin": _handle(whole.address), f"SVM_Arg_Offset_{index}.txt": offset}

    def _image(self, index: int, argument: ImageArgument) -> dict[str, bytes]:
        """An image; one array for two arguments is one object."""
        surface = self.dispatch.bindless[surface_handle(index)]
        assert isinstance(surface, SurfaceImage)
        args = self.launch.args
        first = next(n for n, a in enumerate(args) if isinstance(a, ImageArgument) and a.array is argument.array)
        handle = IMAGE_HANDLES + first
        width, height, depth = sizes = _image_sizes(surface)
        size = surface.kind.format.size
        self._add(index, "Image", handle, as_bytes(argument.array), f"_{width}x{height}x{depth}_{8 * size}bpp.raw")
        text = _image_text(surface, sizes)
        return {f"Argument{index}.bin": _handle(handle), f"Image_MetaData_{index}.txt": text.encode()}

    def _add(self, index: int, kind: str, handle: int, data: Bytes, end: str) -> None:
        """Have memory written."""
        number = self.objects.setdefault(handle, len(self.objects))
        name = f"Enqueue_{self.number:04}_Kernel_{self.kernel}_Arg_{index}_{kind}_{number:04}{end}"
        self.memory[index] = CapturedMemory(name.replace(os.sep, "_"), data)


def _handle(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _sizes_text(launch: Launch) -> str:
    """Global size, local size (zeros where one is chosen) and offset, each on a line."""
    dims = len(launch.global_size)
    lines = launch.global_size, launch.local_size or (0,) * dims, launch.global_offset[:dims]
    return "".join("".join(f"{n} " for n in (*line, *(0,) * (dims - len(line)))) + "\n" for line in lines)


def _sampler_text(sampler: SamplerArgument) -> str:
    """The properties of a sampler in OpenCL's words."""
    truth = {value: word for word, value in captures.TRUTH.items()}
    filters = {value: word for word, value in captures.FILTERS.items()}
    items = [
        (captures.NORMALIZED, truth[bool(sampler.normalized)]),
        (captures.ADDRESSED, _ADDRESSING[sampler.addressing]),
        (captures.FILTERED, filters[sampler.filter]),
    ]
    if sampler.compare != SamplerArgument.compare:
        items.append((captures.COMPARED, sampler.compare))
    return ", ".join(f"{key} = {value}" for key, value in items)


def _image_sizes(image: SurfaceImage) -> tuple[int, int, int]:
    """Width, height, and depth or layers; 1 for axes that the image does not have."""
    width, height, depth = (*image.sizes, 1, 1)[:3]
    return width, height, depth


def _image_text(image: SurfaceImage, sizes: tuple[int, int, int]) -> str:
    """The nine numbers of an image."""
    width, height, depth = sizes
    form, kind = image.kind.format, image.kind
    row = width * form.size
    numbers = [
        width, height, depth, form.size, row, row * height if kind.axes == 3 else 0,
        CHANNEL_TYPES[form.element], CHANNEL_ORDERS[form.order],
        captures.IMAGE_KINDS[kind.axes, kind.layered],
    ]  # fmt: skip
    return "\n".join(map(str, numbers))
