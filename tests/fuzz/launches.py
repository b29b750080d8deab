"""Programs with their launches as one file, and their execution on both engines with everything around watched.

A file is a vISA text. Its first line is a comment with JSON: platform, kernel, sizes, ze_info, arguments, and how results
are compared (``compare``; nothing is where lanes may race). Instead of the text there may be the bytes of a module, or a
source in OpenCL C. As most of the time goes into compilers, a file may have several launches.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import numpy.typing as npt
from support.programs import same

from fuzz.guarded import Guarded
from fuzz.target import Finding
from vasm.assembler import assemble_text
from visakit import SimulationError, VisaError, VisaWarning
from visakit.compiler.ocloc import compile_source
from visakit.objects.image import LinkedImage, read_image
from vlink.linker import Linker, LinkOptions
from vsim.engines.llvm.target import VARIABLE as CPU
from vsim.engines.llvm.target import possible
from vsim.launch.last_launch import can_repeat
from vsim.launch.launch import (
    Argument,
    BufferArgument,
    ImageArgument,
    Launch,
    LocalArgument,
    SamplerArgument,
    ScalarArgument,
)
from vsim.program import Program
from vsim.result import LaunchResult

Json = dict[str, object]
Arrays = dict[int, npt.NDArray[np.generic]]
MARK = "// "
SECONDS = 4.0
"""What a launch may take on one engine, so that both end within what an input may take."""
MAXIMUM_BYTES = 64 << 20
"""What a launch may take of memory."""
TURNS = "round-robin"
SHORT = 0.1
"""Seconds that a launch may have taken that runs again."""
SLOW, LARGE = "S040", "S041"
PLAIN = "-cl-opt-disable"
"""The option of compilers that do not optimise: each variable is in private memory then."""
BFLOAT = "bf"
"""The type of a part that numpy does not have."""


@dataclass
class Execution:
    """A program, and one launch of it.

    Attributes:
        text: of the program, without the first line.
        isa: a module in place of the text, as base64.
        ze_info: JSON or YAML; may be empty.
        arguments: each an object with one of ``random`` (size and seed of a buffer), ``bytes`` (a buffer's contents,
            compressed, as base64), ``part`` (number of an earlier buffer, the first byte and how many), ``image`` (as
            ``bytes``, with ``dtype``, ``shape``, ``format``), ``scalar`` (its bytes), ``local`` (size) or ``sampler``.
        compare: of buffers by the numbers of their arguments: the size of a record, and the parts of it, each a type of
            numpy, or bf, with its offset and how many there are. Other bytes are not looked at.
        host_threads: how many threads of the host run groups, on the engine that has them.
        at_end: whether buffers end at a page without access, or begin behind one.
        source: whether the text is OpenCL C.
        options: of the compiler of a source.
        lenient: whether the image asks for zeros where compilers read beyond the end of a buffer.
        cpu: what native code is made for, where the environment does not say it and this machine has it.
        more: further launches of the same program: fields with other values, by these names.
        expected: contents of buffers afterwards out of a model, as base64, by the number of the argument.
    """

    text: str
    platform: str = "tgllp"
    kernel: str = ""
    global_size: list[int] = field(default_factory=lambda: [1])
    local_size: list[int] | None = None
    isa: str = ""
    ze_info: str = ""
    arguments: list[Json] = field(default_factory=list)
    compare: dict[str, tuple[int, list[tuple[str, int, int]]]] = field(default_factory=dict)
    at_end: bool = True
    schedule: str = ""
    host_threads: int = 1
    source: bool = False
    options: str = ""
    lenient: bool = False
    cpu: str = ""
    more: list[Json] = field(default_factory=list)
    expected: dict[str, str] = field(default_factory=dict)

    def launches(self) -> list[Execution]:
        """The launches of the file, in their order."""
        return [self, *(replace(self, **changes) for changes in self.more)]  # type: ignore[arg-type]

    def to_bytes(self) -> bytes:
        """The file."""
        head = asdict(self)
        del head["text"]
        return f"{MARK}{json.dumps(head)}\n{self.text}".encode("utf-8", "replace")

    @staticmethod
    def of(data: bytes) -> Execution:
        """Read a file."""
        first, _, text = data.decode("utf-8", "replace").partition("\n")
        return Execution(text, **json.loads(first.removeprefix(MARK)))


def packed(array: npt.NDArray[np.generic]) -> str:
    """Contents of an array for a file."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()


def _unpacked(text: object) -> bytes:
    return zlib.decompress(base64.b64decode(str(text)))


# -- images ------------------------------------------------------------------------------------------------------------


class DiffersFromModel(Finding):
    """Both engines agree on something else than the model."""


def image_of(e: Execution) -> LinkedImage:
    """Assemble and link, through bytes as the commands do.

    Raises:
        VisaError: something is not accepted.
    """
    linker = Linker(LinkOptions(platform=e.platform))
    if e.source:
        linker.add_bytes(compile_source("x.cl", e.text.encode(), e.platform, e.options, None).zebin, "x.zebin")
    elif e.isa:
        linker.add_bytes(_unpacked(e.isa), "x.isa")
    else:
        linker.add_bytes(assemble_text(e.text, "x", e.platform).object_bytes(debug=True), "x.o")
    if e.ze_info:
        linker.add_info(e.ze_info.encode("utf-8", "replace"), "x.yaml")
    image = read_image(linker.run().image.to_bytes(), "x.bin")
    image.lenient_reads = e.lenient
    return image


# -- launches ----------------------------------------------------------------------------------------------------------


def _memory(contents: npt.NDArray[np.generic], e: Execution, guards: list[Guarded]) -> npt.NDArray[np.generic]:
    """A copy of an array in guarded memory."""
    guard = Guarded(contents.nbytes, max(contents.dtype.alignment, 1), e.at_end)
    guards.append(guard)
    guard.data[:] = np.frombuffer(contents.tobytes(), np.uint8)
    return guard.data.view(contents.dtype).reshape(contents.shape)


def _contents(item: Json) -> npt.NDArray[np.generic]:
    if "random" in item:
        size, seed = item["random"]  # type: ignore[misc]
        return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)
    array = np.frombuffer(_unpacked(item.get("bytes", item.get("image"))), np.dtype(str(item.get("dtype", "u1"))))
    return array.reshape(item["shape"]) if "shape" in item else array  # type: ignore[call-overload, no-any-return]


def _argument(item: Json, e: Execution, guards: list[Guarded], before: list[Argument]) -> Argument:
    if "part" in item:
        number, first, size = item["part"]  # type: ignore[misc]
        whole = before[number]
        assert isinstance(whole, BufferArgument)
        return BufferArgument(whole.array[first : first + size], contents="bytes")
    if "scalar" in item:
        return ScalarArgument(bytes.fromhex(str(item["scalar"])))
    if "local" in item:
        return LocalArgument(int(str(item["local"])))
    if "sampler" in item:
        return SamplerArgument(**item["sampler"])  # type: ignore[arg-type]
    array = _memory(_contents(item), e, guards)
    if "image" in item:
        return ImageArgument(array, str(item["format"]), bool(item.get("layered")))
    return BufferArgument(array, contents="bytes")


def arguments_of(e: Execution, guards: list[Guarded]) -> list[Argument]:
    """The arguments of a launch, with new arrays, whose guards join the list."""
    arguments: list[Argument] = []
    for item in e.arguments:
        arguments.append(_argument(item, e, guards, arguments))
    return arguments


@dataclass
class Outcome:
    """How a launch ended: the code of its error, or nothing; and its buffers and images afterwards, also after it ran
    again, if it did.
    """

    code: str
    message: str
    arrays: Arrays
    again: Arrays = field(default_factory=dict)


def run_on(engine: str, program: Program, e: Execution, check: str = "") -> Outcome:
    """Run a launch on an engine; with ``check``, findings of these checks are its code.

    Raises:
        Finding: something around its arrays was written to.
    """
    guards: list[Guarded] = []
    arguments = arguments_of(e, guards)
    arrays = {n: a.array for n, a in enumerate(arguments) if isinstance(a, (BufferArgument, ImageArgument))}
    before, result, code, message = _copies(arrays), None, "", ""
    try:
        program.memory.limit = MAXIMUM_BYTES
        local = None if e.local_size is None else tuple(e.local_size)
        launch = Launch(e.kernel, tuple(e.global_size), local, (0, 0, 0), arguments)
        order = None
        if e.schedule:
            from vsim.launch.schedule import parse_schedule

            order = parse_schedule(e.schedule)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*runs on the numpy engine", VisaWarning)
            limits = {"threads": e.host_threads, "max_seconds": SECONDS}
            result = program.run(launch, engine=engine, **limits, schedule=order, check=check)
        code = result.findings[0].code if result.findings else ""
    except VisaError as error:
        code, message = error.diagnostics[0].code, str(error)
    owned = [number for number in arrays if "part" not in e.arguments[number]]
    after = _copies(arrays)
    is_plain = result is not None and result.engine == "llvm" and not code and not check
    again = is_plain and _runs_again(program, result, e.host_threads, arrays, before)
    for guard, number in zip(guards, owned, strict=True):
        guard.check(f"argument {number} on {engine}")
    return Outcome(code, message, after, arrays if again else {})


def _copies(arrays: Arrays) -> Arrays:
    return {number: array.copy() for number, array in arrays.items()}


def _runs_again(program: Program, result: LaunchResult, threads: int, arrays: Arrays, before: Arrays) -> bool:
    """Let the fast engine run a short launch again, with the same arrays as they were before; whether it did.

    Without limits it goes the short way of launches like the last one (page 140).

    Raises:
        Finding: there is an error.
    """
    if result.seconds > SHORT or not can_repeat(result.dispatch):
        return False
    for number, array in arrays.items():
        array[...] = before[number]
    program.memory.limit = None
    try:
        program.execute(result.dispatch, "llvm", threads)
    except VisaError as error:
        raise Finding(f"a second run on llvm: {error}") from None
    return True


def _numbers(stored: npt.NDArray[np.generic], dtype: str) -> npt.NDArray[np.generic]:
    """The numbers of a part: of bf the floats whose upper halves they are."""
    return (stored.astype("u4") << 16).view("f4") if dtype == BFLOAT else stored


def _compare(e: Execution, fast: Outcome, reference: Outcome, is_alone: bool) -> None:
    """Raise Finding where the engines did not do the same: a thread that is alone has the same fault, too."""
    if SLOW in (fast.code, reference.code):
        return
    if fast.code != reference.code or (is_alone and fast.message != reference.message):
        raise Finding(f"llvm: {fast.message or 'ended well'}; numpy: {reference.message or 'ended well'}")
    if fast.code:
        return
    for number, array in fast.again.items():
        if array.tobytes() != fast.arrays[number].tobytes():
            raise Finding(f"argument {number}: a second run on llvm leaves other bytes")
    for number, (step, parts) in e.compare.items():
        one, other = (
            np.frombuffer(o.arrays[int(number)].tobytes(), np.uint8).reshape(-1, step) for o in (fast, reference)
        )
        for dtype, offset, count in parts:
            stored = "<u2" if dtype == BFLOAT else dtype
            part = slice(offset, offset + count * np.dtype(stored).itemsize)
            for record in range(len(one)):
                x, y = (_numbers(side[record, part].view(stored), dtype) for side in (one, other))
                if not same(x, y):
                    at = next(n for n in range(count) if not same(x[n : n + 1], y[n : n + 1]))
                    raise Finding(
                        f"argument {number}, record {record}, {dtype} {at} at {offset}: llvm {x[at]}, numpy {y[at]}"
                    )


def _threads_fail_differently(e: Execution, image: LinkedImage, fast: Outcome, reference: Outcome) -> bool:
    """Whether both engines are right to name other faults: the reference engine runs the threads of a group together
    and names the fault of the first instruction, the other one that of the first thread in its order.
    """
    if fast.code == reference.code or {"", SLOW} & {fast.code, reference.code}:
        return False
    orders = ("reverse", *(f"random:{seed}" for seed in range(32)))
    program = Program(image)
    return any(run_on("llvm", program, replace(e, schedule=order)).code == reference.code for order in orders)


def _races(e: Execution, image: LinkedImage) -> bool:
    """Whether threads or groups race, so that results depend on their order: addresses that wrap around may be those of
    another argument.
    """
    return run_on("llvm", Program(image), replace(e, schedule=""), check="race").code in ("K001", "K003")


def _as_expected(e: Execution, engine: str, found: Outcome) -> None:
    """Raise Finding where the result of an engine differs from the model."""
    for number, expected in {} if found.code else e.expected.items():
        wanted = np.frombuffer(_unpacked(expected), np.uint8)
        wrong = np.flatnonzero(found.arrays[int(number)].view(np.uint8) != wanted)
        if wrong.size:
            said = f"argument {number} on {engine}: {wrong.size} bytes are wrong, the first is {wrong[0]}"
            raise DiffersFromModel(said)


def _run_launch(e: Execution, image: LinkedImage, programs: dict[str, Program]) -> str:
    """Run one launch on both engines; how it ended."""
    fast, reference = (run_on(engine, program, e) for engine, program in programs.items())
    is_one_group = math.prod(e.global_size) == math.prod(e.local_size or ())
    is_alone = is_one_group and math.prod(e.global_size) <= programs["llvm"].signature(e.kernel).simd
    if e.compare and not _threads_fail_differently(e, image, fast, reference):
        try:
            _compare(e, fast, reference, is_alone)
        except Finding:
            if not _races(e, image):
                raise
            return "races"
    for engine, found in (("llvm", fast), ("numpy", reference)):
        _as_expected(e, engine, found)
    codes = {fast.code, reference.code}
    return "slow" if SLOW in codes else "faulted" if codes != {""} else "accepted"


def _programs(image: LinkedImage) -> dict[str, Program]:
    """A program for each engine, so that buffers lie at the same addresses on both."""
    return {engine: Program(image) for engine in ("llvm", "numpy")}


@contextlib.contextmanager
def _made_for(cpu: str) -> Iterator[None]:
    """Native code is made for a processor meanwhile, unless the environment says for which one."""
    chosen = cpu in possible() and not os.environ.get(CPU)
    if chosen:
        os.environ[CPU] = cpu
    try:
        yield
    finally:
        if chosen:
            del os.environ[CPU]


def execute(data: bytes) -> str:
    """Execute a file on both engines.

    Returns:
        accepted, faulted (or another error of a launch), races (its results depend on the order), slow, or miscompiled
        (of a source: the model agrees with the compiler's code without optimisations alone).

    Raises:
        VisaError: the program is refused.
        Finding: something outside was touched, the engines disagree, or a model says something else.
    """
    e = Execution.of(data)
    with _made_for(e.cpu):
        try:
            return _run_launches(e, image_of(e))
        except DiffersFromModel:
            if not e.source or _run_launches(e, image_of(replace(e, options=PLAIN))) != "accepted":
                raise
            return "miscompiled"


def _run_launches(e: Execution, image: LinkedImage) -> str:
    """Run the launches of a file; how they ended."""
    programs, endings = _programs(image), []
    for number, launch in enumerate(e.launches()):
        if launch.schedule == TURNS:  # whose plans keep large stacks
            programs = _programs(image)
        try:
            endings.append(_run_launch(launch, image, programs))
        except Finding as finding:
            raise type(finding)(f"launch {number}: {finding}" if e.more else str(finding)) from None
    return next((ending for ending in ("slow", "faulted", "races") if ending in endings), "accepted")


__all__ = ["Execution", "SimulationError", "execute", "image_of", "packed"]
