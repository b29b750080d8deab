"""Enqueues that the OpenCL Intercept Layer captured: the files in the folder of one.

The layer (control ``CaptureReplay``) leaves ``CLIntercept_Dump/<process>/Replay/Enqueue_<number>_<kernel>/`` with files
for the program, the sizes, each argument, and with the memory of buffers and images before and after the kernel ran:

========================== ===================================================================================
``enqueueNumber.txt``      the number of the enqueue
``kernelName.txt``         the name of the kernel
``worksizes.txt``          three lines of one to three numbers: global size, local size (0: the driver chose), offset
``buildOptions.txt``       of the program
``ArgumentDataTypes.txt``  a line with the type of each argument, as far as the program knows them
``kernel.cl``              the source, ended by a zero; ``kernel.spv`` instead of or beside it
``DeviceBinary<n>.bin``    the program binaries
``Argument<i>.bin``        the value of ``clSetKernelArg``, or a handle; equal handles are one object
``Local<i>.txt``           the size of an argument without a value: local memory, or a null pointer
``SVM_Arg_Offset_<i>.txt`` the offset of a pointer from the beginning of its memory
``Sampler<i>.txt``         the properties of a sampler, in OpenCL's words
``Image_MetaData_<i>.txt`` nine numbers: width, height, depth, bytes of a texel, two pitches, type, order, kind
``Pre``, ``Post``          ``Enqueue_<number>_Kernel_<kernel>_Arg_<i>_Buffer_<n>.bin``, the whole memory, and
                           ``..._Arg_<i>_Image_<n>_<width>x<height>x<depth>_<bits>bpp.raw``, its texels without gaps
========================== ===================================================================================
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from visakit.diagnostics import Diagnostic, LaunchError, Span
from vsim.launch.array_files import ArrayFileError, Take, no_limit, read_array
from vsim.launch.arrays import Bytes
from vsim.launch.launch import MAXIMUM_LOCAL, MAXIMUM_SIZE, SamplerArgument
from vsim.memory.images import CHANNEL_ORDERS, CHANNEL_TYPES, ImageFormat

NUMBER, NAME, SIZES = "enqueueNumber.txt", "kernelName.txt", "worksizes.txt"
OPTIONS, TYPES = "buildOptions.txt", "ArgumentDataTypes.txt"
SOURCE, INTERMEDIATE = "kernel.cl", "kernel.spv"
BEFORE, AFTER = "Pre", "Post"
_BINARY = re.compile(r"DeviceBinary(\d{1,4})\.bin")
_ARGUMENT = re.compile(r"(Argument|Local|SVM_Arg_Offset_|Sampler|Image_MetaData_)(\d{1,4})\.(bin|txt)")
_MEMORY = re.compile(r"Enqueue_0*(\d{1,18})_Kernel_.*_Arg_(\d{1,4})_(Buffer|Image)(?:_.*)?\.(?:bin|raw)")
MAXIMUM_WORDS = 1 << 16
"""Bytes of a file of numbers and words."""

IMAGE_KINDS = {(1, False): 0x10F4, (2, False): 0x10F1, (3, False): 0x10F2, (2, True): 0x10F5, (3, True): 0x10F3}
"""OpenCL's numbers of the kinds of images (``cl_mem_object_type``), by axes and whether the last one counts layers."""
ADDRESSING = {
    "CL_ADDRESS_NONE": "none", "CL_ADDRESS_CLAMP_TO_EDGE": "clamp_edge", "CL_ADDRESS_CLAMP": "clamp_border",
    "CL_ADDRESS_REPEAT": "repeat", "CL_ADDRESS_MIRRORED_REPEAT": "mirror",
}  # fmt: skip
FILTERS = {"CL_FILTER_NEAREST": "nearest", "CL_FILTER_LINEAR": "linear"}
TRUTH = {"CL_TRUE": True, "CL_FALSE": False}
NORMALIZED, ADDRESSED, FILTERED = "CL_SAMPLER_NORMALIZED_COORDS", "CL_SAMPLER_ADDRESSING_MODE", "CL_SAMPLER_FILTER_MODE"
COMPARED = "VISAKIT_COMPARE"
"""How a sampler compares, which OpenCL has no word for."""


class ImageData(NamedTuple):
    """The contents of ``Image_MetaData``: sizes of an image, and the format of its texels."""

    width: int
    height: int
    depth: int
    format: ImageFormat


@dataclass(frozen=True, repr=False)
class Capture:
    """One enqueue.

    Attributes:
        types: of the arguments in OpenCL C, if the capture has those of all; else empty.
        values: the arguments that were set, by number.
        locals: sizes of arguments without a value.
        offsets: of pointers into memory.
        before, after: the files of memory of buffers and images.
        binaries, sources: names of the files of program binaries, and of source and SPIR-V.
    """

    folder: str
    number: int
    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    global_offset: tuple[int, ...]
    options: str
    types: tuple[str, ...]
    values: dict[int, bytes] = field(default_factory=dict)
    locals: dict[int, int] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)
    samplers: dict[int, SamplerArgument] = field(default_factory=dict)
    images: dict[int, ImageData] = field(default_factory=dict)
    before: dict[int, str] = field(default_factory=dict)
    after: dict[int, str] = field(default_factory=dict)
    binaries: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def path(self, name: str) -> str:
        """The path of a file of the capture."""
        return os.path.join(self.folder, name)

    def fail(self, message: str, name: str = "", hint: str = "") -> LaunchError:
        """The error of a capture that cannot be read; ``name`` is the file that is at fault."""
        return _fail(message, os.path.join(self.folder, name) if name else self.folder, hint)

    @property
    def count(self) -> int:
        """Arguments that the capture knows."""
        known = (self.values, self.locals, self.offsets, self.samplers, self.images, self.before)
        return max((index for indices in known for index in indices), default=-1) + 1


def _fail(message: str, path: str, hint: str = "") -> LaunchError:
    return LaunchError(Diagnostic("S014", message, Span(path, 0), hint))


def contents(path: str, most: int | None = None, take: Take = no_limit) -> Bytes:
    """The bytes of a file of a capture; ``most``: their limit, ``take`` is called with their size before they are read.

    Raises:
        LaunchError: S014, it is no file, is larger, or cannot be read.
    """
    try:
        return read_array(path, most, take)
    except ArrayFileError as error:
        raise _fail(f"it cannot be read: {error}", path) from None


def read_capture(folder: str) -> Capture:
    """The capture in a folder, without the memory of its buffers.

    Raises:
        LaunchError: S014, the folder is no capture, or is damaged; the message names the file.
    """
    names = _names(folder, required=True)
    if SIZES not in names or NAME not in names:
        raise _no_capture(folder, names)
    kernel = _words(folder, NAME).strip()
    if not kernel:
        raise _fail("the name of a kernel was expected", os.path.join(folder, NAME))
    number = _numbers(folder, NUMBER, 1)[0]
    global_size, local_size, offset = _sizes(folder)
    capture = Capture(
        folder=folder, number=number, kernel=kernel, global_size=global_size,
        local_size=local_size, global_offset=offset,
        options=" ".join(_words(folder, OPTIONS).split()) if OPTIONS in names else "",
        types=tuple(_words(folder, TYPES).splitlines()) if TYPES in names else (),
        before=_memory(folder, BEFORE, number), after=_memory(folder, AFTER, number),
        binaries=tuple(sorted(name for name in names if _BINARY.fullmatch(name))),
        sources=tuple(name for name in (SOURCE, INTERMEDIATE) if name in names),
    )  # fmt: skip
    for name in sorted(names):
        if match := _ARGUMENT.fullmatch(name):
            _argument(capture, match[1], int(match[2]), name)
    return capture


def _no_capture(folder: str, names: set[str]) -> LaunchError:
    """The kind of a folder that is no capture."""
    wanted = "it is called Enqueue_<number>_<kernel>, in CLIntercept_Dump/<process>/Replay"
    inner = sorted(n for n in names if n.startswith("Enqueue_") and os.path.isdir(os.path.join(folder, n)))
    if inner:
        shown = ", ".join(inner[:5]) + (", ..." if len(inner) > 5 else "")
        wanted = f"it holds captures, of which one is replayed: {shown}"
    missing = SIZES if SIZES not in names else NAME
    return _fail(f"this is not a captured enqueue: there is no {missing}", folder, wanted)


def _names(folder: str, required: bool = False) -> set[str]:
    """The names in a folder; none if it need not be there and is not."""
    try:
        return set(os.listdir(folder))
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) and not required:
            return set()
        raise _fail(f"the folder cannot be read: {getattr(error, 'strerror', None) or error}", folder) from None


def _words(folder: str, name: str) -> str:
    """A small text."""
    path = os.path.join(folder, name)
    data = contents(path, MAXIMUM_WORDS)
    try:
        return data.tobytes().rstrip(b"\0").decode("utf-8")
    except UnicodeDecodeError:
        raise _fail("this is not a UTF-8 text", path) from None


def _numbers(folder: str, name: str, count: int) -> list[int]:
    """Numbers, one a line."""
    words = _words(folder, name).split()
    if len(words) != count or not all(_is_number(word) for word in words):
        what = "a number" if count == 1 else f"{count} numbers"
        raise _fail(f"{what} was expected, found {' '.join(words)!r:.80}", os.path.join(folder, name))
    return [int(word) for word in words]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 20


def _sizes(folder: str) -> tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, ...]]:
    """Global size, local size (None if the driver chose it) and offset."""
    path = os.path.join(folder, SIZES)
    lines = [line.split() for line in _words(folder, SIZES).splitlines()]
    numbers = [tuple(int(word) for word in line if _is_number(word)) for line in lines]
    dims = len(lines[0]) if lines else 0
    if len(lines) != 3 or not 1 <= dims <= 3 or any(len(line) != dims for line in [*lines, *numbers]):
        message = "three lines of one to three numbers were expected: global size, local size and offset"
        raise _fail(message, path)
    size, local, offset = numbers
    if max(size + local + offset) >= MAXIMUM_SIZE or min(size) < 1:
        raise _fail(f"global sizes are from 1 to {MAXIMUM_SIZE - 1}, others from 0 on; found {numbers}", path)
    if any(local) and not all(local):
        raise _fail(f"the local size {local} has a zero: a size, or zeros where the driver chose, was expected", path)
    return size, local if any(local) else None, offset


def _memory(folder: str, part: str, number: int) -> dict[int, str]:
    """The files of memory of an enqueue, by number of the argument."""
    names: dict[int, str] = {}
    for name in sorted(_names(os.path.join(folder, part))):
        match = _MEMORY.fullmatch(name)
        if match is None:
            continue
        path = os.path.join(folder, part, name)
        if int(match[1]) != number:
            raise _fail(f"this is memory of enqueue {match[1]}, the capture is of enqueue {number}", path)
        if int(match[2]) in names:
            raise _fail(f"there are two files for argument {match[2]}, '{name}' is one of them", path)
        names[int(match[2])] = path
    return names


def _argument(capture: Capture, kind: str, index: int, name: str) -> None:
    """Enter a file's statement about an argument."""
    folder = capture.folder
    if kind == "Argument":
        capture.values[index] = contents(capture.path(name), MAXIMUM_WORDS).tobytes()
    elif kind == "Local":
        size = _numbers(folder, name, 1)[0]
        if not 0 < size < MAXIMUM_LOCAL:
            raise capture.fail(f"local memory has from 1 to {MAXIMUM_LOCAL - 1} bytes, found {size}", name)
        capture.locals[index] = size
    elif kind == "SVM_Arg_Offset_":
        capture.offsets[index] = _numbers(folder, name, 1)[0]
    elif kind == "Sampler":
        capture.samplers[index] = _sampler(capture, name)
    else:
        capture.images[index] = _image(capture, name)


def _sampler(capture: Capture, name: str) -> SamplerArgument:
    """A sampler: ``CL_SAMPLER_ADDRESSING_MODE = CL_ADDRESS_REPEAT, ...``; missing values are OpenCL's defaults."""
    text = _words(capture.folder, name).strip()
    items = [] if text == "NULL" else [item.partition("=") for item in text.split(",") if item.strip()]
    state = {key.strip(): value.strip() for key, _, value in items}
    normalized = TRUTH.get(state.get(NORMALIZED, "CL_TRUE"))
    addressing = ADDRESSING.get(state.get(ADDRESSED, "CL_ADDRESS_CLAMP"))
    filtered = FILTERS.get(state.get(FILTERED, "CL_FILTER_NEAREST"))
    compared = state.get(COMPARED, "le")
    if (
        normalized is None
        or addressing is None
        or filtered is None
        or (text != "NULL" and not {NORMALIZED, ADDRESSED, FILTERED} & set(state))
    ):
        raise capture.fail(f"these are not properties of a sampler: {text!r:.160}", name)
    return SamplerArgument(normalized, addressing, filtered, compared)


def _image(capture: Capture, name: str) -> ImageData:
    """Sizes and format of an image."""
    width, height, depth, size, _, _, element, order, _ = _numbers(capture.folder, name, 9)
    orders = {code: word for word, code in CHANNEL_ORDERS.items()}
    elements = {code: word for word, code in CHANNEL_TYPES.items()}
    if order not in orders or element not in elements:
        message = f"images with channels of order {order:#x} and type {element:#x} are not known"
        raise capture.fail(message, name)
    format = ImageFormat(orders[order], elements[element])
    if format.size != size:
        raise capture.fail(f"texels of the format {format} have {format.size} bytes, not {size}", name)
    return ImageData(width, max(height, 1), max(depth, 1), format)
