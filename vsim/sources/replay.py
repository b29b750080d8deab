"""``vsim --replay``: captures as launches: the program of a capture, its arguments, and its expected results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

from visakit.diagnostics import FormatError
from visakit.files import MAXIMUM_INPUT
from visakit.objects.image import read_image
from visakit.objects.zebin import find_zebin, is_zebin, platform_of, read_zebin, with_text
from visakit.usage import check_platform, whole_number
from vsim.command.listing import argument_rows
from vsim.command.report import check_array
from vsim.command.session import LaunchSession
from vsim.launch.arguments import NULL
from vsim.launch.arrays import Array, Bytes
from vsim.launch.element_types import as_elements
from vsim.launch.launch import Argument, BufferArgument, Checked, ImageArgument, Launch, LocalArgument, ScalarArgument
from vsim.memory.images import AXES
from vsim.program import Program
from vsim.sources.captures import SOURCE, Capture, contents
from vsim.sources.programs import Loaded, compiled_program
from vsim.sources.zebins import is_compiled

Item = TypeVar("Item")
TOLERANCES = {"f2": 1e-2, "f4": 1e-5, "f8": 1e-12}
"""Relative tolerance of floats that a GPU has computed; other numbers must be equal."""
HANDLE_BYTES = (4, 8)
"""Of processes of 32 and 64 bits."""


class Tolerance(NamedTuple):
    """Tolerances of results; None for the default of the elements' type."""

    relative: float | None
    absolute: float | None

    def of(self, array: Array) -> tuple[float, float]:
        """Relative and absolute tolerance of an array."""
        default = TOLERANCES.get(array.dtype.str[1:], 0.0)
        return default if self.relative is None else self.relative, self.absolute or 0.0


def captured_program(capture: Capture, platform: str | None, options: str, max_seconds: float | None) -> Loaded:
    """The program of a capture: a program binary with vISA texts (for the requested platform, if any), else a build of
    the source or SPIR-V, for the requested platform or that of a program binary.

    Args:
        options: build options besides those of the capture.

    Raises:
        FormatError: the program is missing or damaged, or does not compile.
        UsageError: the platform of the build is unknown.
    """
    binaries = [
        (contents(capture.path(name), MAXIMUM_INPUT).tobytes(), capture.path(name)) for name in capture.binaries
    ]
    reasons: list[FormatError] = []
    for data, path in binaries:
        try:
            if _can_run(data, path, check_platform(platform)):
                return Loaded(data, path, platform)
        except FormatError as error:
            reasons.append(error)
    for name in capture.sources:
        data = contents(capture.path(name), MAXIMUM_INPUT).tobytes()
        if name == SOURCE:
            data = data.rstrip(b"\0")  # The end of the text, which programs from SPIR-V have, too.
        if data.strip():
            device = platform or next((p for p in map(_platform_of, binaries) if p), None)
            if device is None and reasons:
                raise _unknown_device(reasons[0], name)
            built = f"{capture.options} {options}".strip()
            return compiled_program(capture.path(name), data, device, built, max_seconds)
    if reasons:
        raise reasons[0]
    message = "it holds neither a program binary with vISA text nor source nor SPIR-V"
    raise capture.fail(message, "", "give the program with --visa")


def _unknown_device(reason: FormatError, source: str) -> FormatError:
    """The error of a program binary that identifies neither its contents nor the device of its source."""
    hint = f"with --platform the compiler takes {source}"
    return FormatError([replace(reason.diagnostics[0], hint=hint), *reason.diagnostics[1:]])


def text_program(capture: Capture, path: str, text: bytes) -> Loaded:
    """The program of a vISA text, such as the compiler's dumps have, with all else of a captured program binary.

    Raises:
        FormatError: that is damaged.
        LaunchError: S014, the capture has no zebin.
    """
    for name in capture.binaries:
        data = contents(capture.path(name), MAXIMUM_INPUT).tobytes()
        if is_zebin(data):
            return Loaded(with_text(data, capture.path(name), text, capture.kernel), path)
    message = f"it holds no zebin, which would say where the arguments of '{path}' are"
    raise capture.fail(message, "", "give a zebin or an image with --visa")


def _can_run(data: bytes, name: str, platform: str | None) -> bool:
    """Whether a program binary can run: an image, or a zebin with texts, for the requested platform.

    Raises:
        FormatError: it is neither, or damaged.
    """
    if not is_compiled(data):
        return platform in (None, read_image(data, name).platform)
    texts = find_zebin(data, name, platform)
    return texts is not None and platform in (None, read_zebin(*texts).platform)


def _platform_of(binary: tuple[bytes, str]) -> str:
    """The platform of a program binary; empty where it does not tell, or cannot be read."""
    try:
        return platform_of(*binary)
    except FormatError:
        return ""


class Replay(NamedTuple):
    """A capture as a launch. ``rest``: memory outside of the arguments' buffers with its results, by argument."""

    launch: Launch
    rest: list[tuple[int, Array, Checked]]


def replayed(capture: Capture, program: Program, tolerance: Tolerance) -> Replay:
    """The launch of a capture.

    Raises:
        LaunchError: S014, the capture is damaged; S011, the program has no such kernel.
    """
    return _Replayer(capture, program, tolerance).replay()


class _Replayer:
    """Makes the arguments of one launch."""

    def __init__(self, capture: Capture, program: Program, tolerance: Tolerance) -> None:
        self.capture, self.program, self.tolerance = capture, program, tolerance
        self.signature, self.take = program.signature(capture.kernel), program.memory.budget()
        self.memory: dict[bytes, Bytes] = {}
        """The bytes of buffers by their handles."""
        self.rest: list[tuple[int, Array, Checked]] = []

    def replay(self) -> Replay:
        """The launch."""
        capture, signature = self.capture, self.signature
        stray = sorted(set(capture.after) - set(capture.before))
        if stray:
            raise capture.fail(f"there is no memory of argument {stray[0]} from before the kernel", "Pre")
        args = [self._argument(row) for row in self._rows()]
        launch = Launch(signature.name, capture.global_size, capture.local_size, capture.global_offset, args=args)
        return Replay(launch, self.rest)

    def _rows(self) -> Iterator[tuple[int, str]]:
        """Number and kind of each argument; without ze_info, those of the capture."""
        if self.signature.info is not None:
            for row in argument_rows(self.signature):
                yield row["index"], row["kind"]
            return
        capture = self.capture
        for index in range(capture.count):
            is_memory = index in capture.before or index in capture.offsets
            yield index, (
                "image" if index in capture.images else "global" if is_memory
                else "sampler" if index in capture.samplers else "local" if index in capture.locals else "value"
            )  # fmt: skip

    def _argument(self, row: tuple[int, str]) -> Argument:
        """One argument."""
        index, kind = row
        capture = self.capture
        if kind in ("global", "constant", "surface"):
            return self._pointer(index)
        if kind == "image":
            return self._image(index)
        if kind == "local":
            return LocalArgument(self._known(index, capture.locals, f"Local{index}.txt"))
        if kind == "sampler":
            return self._known(index, capture.samplers, f"Sampler{index}.txt")
        if kind == "unused" and index not in capture.values:
            return ScalarArgument(NULL)
        return self._value(index)

    def _value(self, index: int) -> ScalarArgument:
        """A number, vector or structure, of the size that the kernel declares."""
        name = f"Argument{index}.bin"
        data = self._known(index, self.capture.values, name)
        size = self.signature.argument_types.get(index, "").partition(";")[2]
        if whole_number(size) not in (None, len(data)):
            described = self.signature.describe(index)
            raise self.capture.fail(f"{described} has {size} bytes, {len(data)} were captured", name)
        return ScalarArgument(data)

    def _known(self, index: int, items: Mapping[int, Item], name: str) -> Item:
        """The captured value of an argument."""
        if index not in items:
            described = self.signature.describe(index)
            raise self.capture.fail(f"kernel '{self.signature.name}': there is no {name} of {described}")
        return items[index]

    def _declared(self, index: int) -> str:
        """The type of an argument in OpenCL C; empty if it is unknown."""
        types = self.capture.types
        if len(types) == max(self.signature.argument_count, self.capture.count):
            return types[index]
        return self.signature.argument_types.get(index, "")

    def _pointer(self, index: int) -> Argument:
        """A pointer: into memory that the capture has, or null."""
        capture = self.capture
        value = capture.values.get(index, NULL)
        if index not in capture.before:
            if value == NULL:
                return ScalarArgument(NULL)
            message = f"there is no memory that {self.signature.describe(index)} points to"
            raise capture.fail(message, "Pre", "pointers that are in no argument are not captured")
        whole = self._whole(index, capture.before[index])
        offset = capture.offsets.get(index, 0)
        if offset and offset >= whole.nbytes:
            name = f"SVM_Arg_Offset_{index}.txt"
            raise capture.fail(f"the pointer leads to byte {offset} of {whole.nbytes} bytes", name)
        after = self._after(index, whole)
        argument = BufferArgument(as_elements(whole[offset:], self._declared(index)), "bytes")
        if offset:
            self.program.usm(whole)  # All of it has addresses: the kernel may reach memory before the argument.
            if after is not None:
                whole = as_elements(whole, self._declared(index))
                wanted = Checked()
                self._expect(wanted, whole, after)
                self.rest.append((index, whole, wanted))
        elif after is not None:
            self._expect(argument, argument.array, after)
        return argument

    def _whole(self, index: int, path: str) -> Bytes:
        """The memory of an argument before the kernel: that of an earlier one with the same handle, or a file's."""
        handle = self._handle(index)
        array = contents(path, take=self.program.memory.check if handle in self.memory else self.take)
        whole = self.memory.setdefault(handle, array) if handle != NULL else array
        if whole.nbytes != array.nbytes:
            message = f"the memory of argument {index} has another size than that of the same handle"
            raise self.capture.fail(message, "Pre")
        return whole

    def _handle(self, index: int) -> bytes:
        """The identity of the memory of an argument: an object of the process, or an address there."""
        name = f"Argument{index}.bin"
        handle = self._known(index, self.capture.values, name)
        if len(handle) not in HANDLE_BYTES:
            described = self.signature.describe(index)
            raise self.capture.fail(f"the handle of {described} has 4 or 8 bytes, {len(handle)} were captured", name)
        return handle

    def _after(self, index: int, before: Bytes) -> Bytes | None:
        """The bytes of an argument's memory after the kernel; None if the capture has none of any argument."""
        capture = self.capture
        if not capture.after:
            return None
        if index not in capture.after:
            raise capture.fail(f"there is no memory of argument {index} from after the kernel", "Post")
        after = contents(capture.after[index], take=self.program.memory.check)
        if after.nbytes != before.nbytes:
            message = (
                f"the memory of argument {index} had {before.nbytes} bytes before the kernel, {after.nbytes} after"
            )
            raise capture.fail(message, "Post")
        return after

    def _expect(self, argument: Checked, array: Array, after: Bytes) -> None:
        """Have an argument compared."""
        argument.expect = after.view(array.dtype)
        argument.rtol, argument.atol = self.tolerance.of(array)

    def _image(self, index: int) -> ImageArgument:
        """An image, of as many axes as the kernel wants."""
        capture, signature = self.capture, self.signature
        data = self._known(index, capture.images, f"Image_MetaData_{index}.txt")
        texels = self._whole(index, self._known(index, capture.before, f"file Pre/*_Arg_{index}_Image_*.raw"))
        declared = signature.image_type(index)
        axes = AXES.get(declared, 2) if declared else 3 if data.depth > 1 else 2
        sizes = [data.width, data.height, data.depth]
        wanted = data.width * data.height * data.depth * data.format.size
        if any(n != 1 for n in sizes[axes:]) or wanted != texels.nbytes or not wanted:
            shown = "x".join(map(str, sizes))
            message = f"argument {index} is an image of {shown} texels of {data.format.size} bytes and {axes} axes: "
            raise capture.fail(f"{message}{texels.nbytes} bytes are something else", f"Image_MetaData_{index}.txt")
        shape = (*reversed(sizes[:axes]), data.format.channels)
        array = texels.view(data.format.dtype).reshape(shape)
        argument = ImageArgument(array, str(data.format), "_array" in declared)
        after = self._after(index, texels)
        if after is not None:
            self._expect(argument, array, after)
        return argument


def run_replay(session: LaunchSession, capture: Capture, tolerance: Tolerance) -> None:
    """Run a capture in a session, and compare the results with the captured ones.

    Raises:
        LaunchError: S014, the capture is damaged; the launch does not fit the kernel.
        SimulationError: the kernel did something without a defined result.
    """
    replay = replayed(capture, session.program, tolerance)
    session.run_one(replay.launch, f"enqueue {capture.number}")
    for index, array, wanted in replay.rest:
        session.rows[-1]["checks"] += check_array(index, array, wanted)
