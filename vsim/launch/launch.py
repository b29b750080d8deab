"""Launches: what to run over which ND-range with which arguments; launch files; comparison with expected results."""

from __future__ import annotations

import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypedDict

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, Span, did_you_mean
from visakit.json_text import JsonPlaces, read_json
from visakit.usage import shown
from vsim.launch.array_files import ArrayFileError, Take, has_type, no_limit, read_array
from vsim.launch.arrays import Array
from vsim.launch.paths import LaunchPaths, PathError, is_one_of
from vsim.launch.schema import ARGUMENTS, FILE, LAUNCH, SAMPLER_STATE, check_keys

if TYPE_CHECKING:
    import numpy.typing as npt

SCALAR_TYPES = {
    "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8",
    "f16": "f2", "f32": "f4", "f64": "f8",
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
    "half": "f2", "float": "f4", "double": "f8", "bool": "u1",
}  # fmt: skip


CALLED = {"launches": "launch", "args": "argument", "inputs": "input", "constants": "constant", "outputs": "output"}
"""What messages call the entries of lists and objects of launch files."""
MAXIMUM_SIZE = 1 << 32
"""What sizes and offsets of an ND-range stay below: kernels get them as dwords."""
MAXIMUM_LOCAL = 1 << 28
"""What sizes of local memory stay below: the bits above are tags of pointers."""


def array_problem(value: object) -> tuple[str, str]:
    """Why a value cannot be the memory of a buffer or image, and a hint; two empty strings if it can.

    Read-only arrays are no problem: kernels may read them.
    """
    if not isinstance(value, np.ndarray):
        return f"is a {type(value).__name__}, not a numpy array", "pass numpy.array of it"
    if type(value) is not np.ndarray and type(value).__module__.startswith("numpy.ma"):
        return "is an array with a mask, which kernels do not see", "pass array.data, or array.filled(...)"
    if not value.flags.c_contiguous:
        return "is an array that is not contiguous", "pass numpy.ascontiguousarray of it"
    if value.dtype.hasobject:
        return f"is an array of Python objects (type {value.dtype})", "give it a type of numbers"
    if value.dtype.kind in "US":
        return f"is an array of texts (type {value.dtype})", "give it a type of numbers, or pass array.view('u1')"
    if not value.dtype.isnative:
        return f"is an array of another byte order (type {value.dtype})", "pass array.astype(dtype.newbyteorder('='))"
    return "", ""


@dataclass(kw_only=True, eq=False, repr=False)
class Checked:
    """What a launch file says of an array besides its contents: what to compare it with, and where it goes."""

    expect: Array | None = None
    rtol: float = 0.0
    atol: float = 0.0
    out: str = ""
    shared: str = ""


@dataclass(eq=False, repr=False)
class BufferArgument(Checked):
    """Global or constant memory; ``array`` is used in place.

    ``contents`` says what goes with the pointer that the kernel declares: elements of its type alone; for pointers to
    whole numbers, bits of any type; or bytes, whose type nobody says, whatever that of ``array`` is.
    """

    array: Array
    contents: Literal["elements", "bits", "bytes"] = "elements"

    def __repr__(self) -> str:
        return f"BufferArgument({_shown_array(self.array)})"


@dataclass
class ScalarArgument:
    """A scalar, vector or structure by value, as its bytes.

    ``reach`` is how many bytes it is meant to reach if it is an address; 0 where nobody says so.
    ``numbers`` is what a launch file has where it says no type: the kernel's, if that is known.
    """

    data: bytes
    reach: int = 0
    numbers: object = None


@dataclass
class LocalArgument:
    """Local memory of a size in bytes."""

    size: int


@dataclass(eq=False, repr=False)
class ImageArgument(Checked):
    """An image: array of (depth,) height, width, channels, and a format such as ``rgba_f32``.

    The first axis counts layers instead of depth if it is ``layered``.
    Kernels that say so in ze_info (``image2d_array_t``) need no ``layered``.
    """

    array: Array
    format: str
    layered: bool = False

    def __repr__(self) -> str:
        return f"Image({_shown_array(self.array)}, {self.format!r}{', layered=True' if self.layered else ''})"

    def __post_init__(self) -> None:
        problem, hint = array_problem(self.array)
        if problem:
            raise _fail(f"the array of an image {problem}", "<launch>", hint, "S003")


@dataclass
class SamplerArgument:
    """A sampler; see :class:`vsim.memory.memory.SamplerState`."""

    normalized: bool = False
    addressing: str = "none"
    filter: str = "nearest"
    compare: str = "le"


Argument = BufferArgument | ScalarArgument | LocalArgument | ImageArgument | SamplerArgument


@dataclass(eq=False, repr=False)
class Launch:
    """One run of a kernel. Sizes have one to three dimensions, in work-items.

    Raises:
        LaunchError: S010, a size or offset is none.
    """

    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None = None
    global_offset: tuple[int, ...] = (0, 0, 0)
    args: list[Argument] = field(default_factory=list)
    names: dict[str, Argument] = field(default_factory=dict)

    def __repr__(self) -> str:
        local = f" in groups of {self.local_size}" if self.local_size else ""
        return f"<Launch of '{self.kernel}' over {self.global_size}{local} with {len(self.args)} arguments>"

    def __post_init__(self) -> None:
        self.global_size = nd_sizes(self.global_size, "global size")
        if self.local_size is not None:
            self.local_size = nd_sizes(self.local_size, "local size")
        self.global_offset = nd_sizes(self.global_offset, "global offset", 0)


def _shown_array(array: Array) -> str:
    """An array in few words."""
    return f"<{array.dtype} array of shape {array.shape}>"


def nd_sizes(value: object, what: str, least: int = 1) -> tuple[int, ...]:
    """One to three sizes, given as a number or a sequence of numbers; zeros are left to who knows the kernel.

    Raises:
        LaunchError: S010, it is something else, or a number is negative or has more than 32 bits.
    """
    if type(value) is tuple and 0 < len(value) <= 3:  # which most are, and need no second tuple
        for n in value:
            if type(n) is not int or not 0 <= n < MAXIMUM_SIZE:
                break
        else:
            return value
    given = (value,) if isinstance(value, (int, np.integer)) else value
    try:
        found = tuple(operator.index(n) for n in given)  # type: ignore[attr-defined]
    except TypeError:
        found = ()
    if not 1 <= len(found) <= 3 or min(found) < 0 or max(found) >= MAXIMUM_SIZE:
        wanted = f"one to three whole numbers from {least} to {MAXIMUM_SIZE - 1}"
        raise _fail(f"the {what} is {wanted}, found {shown(value)}", "<launch>", code="S010")
    return found


def _fail(message: str, name: str, hint: str = "", code: str = "S001") -> LaunchError:
    return LaunchError(Diagnostic(code, message, Span(name, 0), hint))


def scalar_bytes(value: object, type_name: str, name: str) -> bytes:
    """Bytes of a number or a list of them.

    Raises:
        LaunchError: S001, it is none, or does not fit the type; ``name`` is what the message begins with.
    """
    if type_name not in SCALAR_TYPES:
        short = re.sub(r"^(u?)(int|float)(\d+)$", lambda m: (m[1] or m[2][0]) + m[3], type_name)
        hint = f"write {short}" if short in SCALAR_TYPES else did_you_mean(type_name, SCALAR_TYPES)
        hint = hint or f"types are {', '.join(list(SCALAR_TYPES)[:11])}"
        raise _fail(f"'{type_name}' is not a type of a scalar", name, hint)
    dtype = np.dtype(SCALAR_TYPES[type_name])
    given = value if isinstance(value, (list, tuple)) else (value,)
    numbers = [n for n in given if isinstance(n, (int, float))]
    if len(numbers) < len(given):
        raise _fail(f"{shown(value)} is not a number or a list of numbers", name)
    misfit = f"{shown(numbers[0] if len(numbers) == 1 else value)} does not fit {type_name}"
    if dtype.kind == "f":
        try:
            with np.errstate(over="ignore"):
                found = np.array(numbers, dtype)
        except OverflowError:  # A whole number of Python beyond all floats.
            found = np.array(math.inf)
        if np.isinf(found).sum() != sum(n in (math.inf, -math.inf) for n in numbers):
            raise _fail(misfit, name)
        return found.tobytes()
    bits = 8 * dtype.itemsize
    if any(n != n // 1 or not -(1 << (bits - 1)) <= n < 1 << bits for n in numbers):
        raise _fail(misfit, name)
    return b"".join((int(n) & ((1 << bits) - 1)).to_bytes(dtype.itemsize, "little") for n in numbers)


class _Checks(TypedDict):
    expect: Array | None
    rtol: float
    atol: float
    out: str
    shared: str


class LaunchEntries:
    """What launch files of all targets have in common: a list of launches, arrays by file name, expected results.

    Attributes:
        code: of errors about the file.
        read: paths of the arrays of the launch that is being read.
    """

    code = "S001"

    def __init__(self, tree: object, paths: LaunchPaths, name: str) -> None:
        """``tree`` is what JSON gives; ``name`` is what messages call the file.

        Raises:
            LaunchError: it has another shape.
        """
        self.paths, self.name = paths, name
        self.placed: Callable[[], AbstractContextManager[None]] = nullcontext
        """Has errors about parts of the file show their lines, if it is a file of its own."""
        self.read: list[str] = []
        self.take: Take = no_limit
        self.check: Take = no_limit
        """What is told of the bytes of arrays before they are read: of those that are memory of one launch, which count
        together, and of each that results are compared with.
        """
        launches = tree.get("launches") if isinstance(tree, dict) else None
        if not isinstance(tree, dict) or not isinstance(launches, list):
            keys = tree if isinstance(tree, dict) else ()
            raise self.fail("a launch file is a JSON object with a list 'launches'", name, _launches_hint(keys))
        check_keys(tree, FILE, name, self.fail)
        if not launches:
            raise self.fail("there is nothing to run: 'launches' is empty", name)
        self.entries: list[object] = launches

    @classmethod
    def parse(cls, text: str, paths: LaunchPaths, name: str) -> Self:
        """A launch file as text.

        Raises:
            LaunchError: it is not JSON or has another shape.
        """
        tree, places = read_json(text, name, cls.code, LaunchError), JsonPlaces(text, name, CALLED)
        with places.shown():
            found = cls(tree, paths, name)
        found.placed = places.shown
        return found

    @classmethod
    def parse_embedded(cls, text: str, image: str, out_dir: str | None, allow_paths: bool) -> Self:
        """The launch file in an image; the linker noted the way from there to the arrays.

        They and the outputs lie in the image's directory, the working one or ``out_dir``, unless paths are allowed.

        Raises:
            LaunchError: it is not JSON or has another shape.
        """
        tree = read_json(text, image, cls.code, LaunchError)
        way = tree.get("directory", "") if isinstance(tree, dict) else ""
        if not isinstance(way, str) or "\0" in way:
            raise _fail(f"'directory' is the way to the files, found {way!r:.80}", image, code=cls.code)
        return cls(tree, LaunchPaths.embedded(image, way, out_dir, allow_paths), image)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self)} launch{'es' if len(self) != 1 else ''}>"

    def fail(self, message: str, where: str, hint: str = "") -> LaunchError:
        """An error about a part of the file."""
        return _fail(message, where, hint, self.code)

    def array(self, name: object, where: str, take: Take) -> Array:
        """The contents of an array file (``.npy``, else bytes); ``take`` is told of them before they are read."""
        try:
            self.read.append(self.paths.input(name))
            return read_array(self.read[-1], take=take)
        except PathError as error:
            raise _fail(str(error), where, error.hint, error.code or self.code) from None
        except ArrayFileError as error:
            raise self.fail(f"'{name}' cannot be read: {error}", where) from None

    def output(self, name: object, where: str) -> str:
        """The name of an output; empty for none. What is there must be a file that may be replaced."""
        try:
            if name not in (None, ""):
                self.paths.output(name)
        except PathError as error:
            raise _fail(str(error), where, error.hint, error.code or self.code) from None
        return str(name or "")

    def checks(self, item: Mapping[str, object], where: str) -> _Checks:
        """What an array is compared with, and where it goes: the fields of :class:`Checked`."""
        wanted = item.get("expect")
        expect = None if wanted is None else self.array(wanted, f"{where}, expect", self.check)
        if expect is not None and not expect.size:
            raise self.fail(f"'{wanted}' has no elements, so nothing would be compared with it", f"{where}, expect")
        rtol, atol = self._tolerance(item, "rtol", where), self._tolerance(item, "atol", where)
        return {
            "expect": expect, "rtol": rtol, "atol": atol, "out": self.output(item.get("out"), f"{where}, out"),
            "shared": self.text(item, "shared", "", where),
        }  # fmt: skip

    def check_overwriting(self, item: Checked, where: str) -> None:
        """Refuse an output that is an array of its launch; an array of a later launch may be one."""
        if item.out and is_one_of(self.paths.output(item.out), self.read):
            raise self.fail(f"'{item.out}' would overwrite an array that the launch reads", f"{where}, out")

    def text(self, item: Mapping[str, object], key: str, default: str, where: str) -> str:
        """A value that is a text."""
        value = item.get(key, default)
        if not isinstance(value, str):
            raise self.fail(f"a text was expected, found {value!r:.80}", f"{where}, {key}")
        return value

    def truth(self, item: Mapping[str, object], key: str, where: str) -> bool:
        """A value that is true or false, also as 1 or 0; false if it is missing."""
        value = item.get(key, False)
        if value not in (False, True):
            raise self.fail(f"true or false was expected, found {value!r:.80}", f"{where}, {key}")
        return bool(value)

    def _tolerance(self, item: Mapping[str, object], key: str, where: str) -> float:
        value = item.get(key, 0.0)
        if not isinstance(value, (int, float)) or not 0 <= value <= sys.float_info.max:
            raise self.fail(f"a number from 0 on was expected, found {value!r:.80}", f"{where}, {key}")
        return float(value)


class Override(NamedTuple):
    """What is given elsewhere, and so not read out of a launch file.

    Attributes:
        sizes: values of ``global_size`` and ``local_size``.
        arguments: gives arguments by number, out of the kernel of a launch and what the launch calls its arguments.
    """

    sizes: Mapping[str, tuple[int, ...]]
    arguments: Callable[[str, Sequence[object]], Mapping[int, Argument]]


class LaunchFile(LaunchEntries):
    """Reads a launch file; shared buffers are kept from launch to launch."""

    def __init__(self, tree: object, paths: LaunchPaths, name: str) -> None:
        super().__init__(tree, paths, name)
        self.shared: dict[str, Array] = {}
        self.override = Override({}, lambda kernel, names: {})

    def launch(self, index: int) -> Launch:
        """The launch at an index; buffers are read now.

        Raises:
            LaunchError: S001, something in it is not what a launch has there, or an array cannot be read.
        """
        with self.placed():
            return self._launch(index)

    def _launch(self, index: int) -> Launch:
        entry = self.entries[index]
        self.read.clear()
        where = f"{self.name}, launch {index}"
        items = entry.get("args", []) if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(items, list):
            raise _fail("a launch is a JSON object whose 'args' is a list", f"{where}, args")
        check_keys(entry, LAUNCH, where, self.fail)
        size = self._sizes(entry, "global_size", where)
        if size is None:
            raise _fail(
                "a launch has a 'global_size'", where, "it is the number of work-items, such as [64] or [64, 64]"
            )
        launch = Launch(
            self.text(entry, "kernel", "", where),
            size,
            self._sizes(entry, "local_size", where),
            _sizes(entry, "global_offset", where) or (0, 0, 0),
        )
        names = [item.get("name") if isinstance(item, dict) else None for item in items]
        given = self.override.arguments(launch.kernel, names)
        if given and max(given) >= len(items):
            items = items + [{}] * (max(given) + 1 - len(items))
        for number, item in enumerate(items):
            place = f"{where}, argument {number}"
            if not isinstance(item, dict):
                raise _fail(f"an argument is a JSON object, found {item!r:.80}", place)
            argument = self._given(given[number], item, place) if number in given else self._argument(item, place)
            launch.args.append(argument)
            if name := self.text(item, "name", "", place):
                launch.names[name] = argument
        for number, argument in enumerate(launch.args):
            if isinstance(argument, Checked):
                self.check_overwriting(argument, f"{where}, argument {number}")
        return launch

    def _sizes(self, entry: Mapping[str, object], key: str, where: str) -> tuple[int, ...] | None:
        return self.override.sizes.get(key) or _sizes(entry, key, where)

    def _given(self, argument: Argument, item: Mapping[str, object], where: str) -> Argument:
        """An argument that is given elsewhere, with what the file says besides of its array."""
        if not isinstance(argument, Checked) or not ({"buffer", "image"} & item.keys()):
            return argument
        checks = self.checks(item, where)
        if checks["shared"]:
            argument.array = self.shared.setdefault(checks["shared"], argument.array)
        return replace(argument, **checks)

    def _argument(self, item: Mapping[str, object], where: str) -> Argument:
        kinds = [kind for kind in ARGUMENTS if kind.partition(" ")[0] in item]
        if not kinds:
            found, known = ", ".join(item) or "nothing", [kind.partition(" ")[0] for kind in ARGUMENTS]
            hint = next((h for h in (did_you_mean(key, known) for key in item) if h), "")
            wanted = f"{', '.join(known[:-1])} and {known[-1]}"
            raise _fail(f"an argument has one of {wanted}, found {found:.80}", where, hint)
        check_keys(item, kinds[0], where, self.fail)
        if "buffer" in item and item["buffer"] is None:
            return ScalarArgument(bytes(8))
        if "buffer" in item:
            is_later = self.text(item, "shared", "", where) in self.shared  # An earlier argument had the file's type.
            array = self._part(self._contents(item, "buffer", where), item.get("part"), where)
            says_type = has_type(str(item["buffer"])) and not is_later
            return BufferArgument(array, "bits" if says_type else "bytes", **self.checks(item, where))
        if "image" in item:
            array, checks = self._contents(item, "image", where), self.checks(item, where)
            form = self.text(item, "format", "rgba_f32", where)
            return ImageArgument(array, form, self.truth(item, "layered", where), **checks)
        if "scalar" in item:
            return self._scalar(item, where)
        if "local" in item:
            size = item["local"]
            if type(size) is not int or not 0 < size < MAXIMUM_LOCAL:
                raise _fail(
                    f"'local' is a number of bytes below {MAXIMUM_LOCAL}, found {size!r:.80}", f"{where}, local"
                )
            return LocalArgument(size)
        return self._sampler(item["sampler"], f"{where}, sampler")

    def _scalar(self, item: Mapping[str, object], where: str) -> ScalarArgument:
        """Numbers by value. Where the file does not say their type, the kernel may."""
        numbers = item["scalar"]
        if "type" in item:
            type_name = self.text(item, "type", "", where)
            where = f"{where}, {'scalar' if type_name in SCALAR_TYPES else 'type'}"
            return ScalarArgument(scalar_bytes(numbers, type_name, where))
        is_real = any(isinstance(n, float) for n in (numbers if isinstance(numbers, list) else [numbers]))
        return ScalarArgument(scalar_bytes(numbers, "f32" if is_real else "i32", f"{where}, scalar"), numbers=numbers)

    def _contents(self, item: Mapping[str, object], key: str, where: str) -> Array:
        """The array of a buffer or image: its own, or one that several launches share."""
        shared = self.text(item, "shared", "", where)
        array = self.shared.get(shared) if shared else None
        if array is None:
            array = np.ascontiguousarray(self.array(item[key], f"{where}, {key}", self.take))
            if shared:
                self.shared[shared] = array
        return array

    def _part(self, array: Array, part: object, where: str) -> Array:
        """The elements of an array that a buffer is, as a view of it; all of them if it says nothing."""
        if part is None:
            return array
        numbers = part if isinstance(part, list) and len(part) == 2 else ["", ""]
        first, count = (n if type(n) is int and n >= 0 else -1 for n in numbers)
        if first < 0 or count < 1 or first + count > array.size:
            words = f"'part' is [first element, how many] of {array.size} elements, found {part!r:.80}"
            raise self.fail(words, f"{where}, part")
        return array.reshape(-1)[first : first + count]

    def _sampler(self, state: object, where: str) -> SamplerArgument:
        """A sampler; what it does not say is as in :class:`SamplerArgument`."""
        if not isinstance(state, dict):
            raise self.fail(f"a JSON object was expected, found {state!r:.80}", where)
        check_keys(state, SAMPLER_STATE, where, self.fail)
        words = (self.text(state, f.name, str(f.default), where) for f in fields(SamplerArgument)[1:])
        return SamplerArgument(self.truth(state, "normalized", where), *words)


def _launches_hint(keys: Iterable[str]) -> str:
    """What to do with an object that has no 'launches'."""
    return "the key is called 'launches'" if did_you_mean("launches", keys) else ""


def _sizes(entry: Mapping[str, object], key: str, where: str) -> tuple[int, ...] | None:
    """One to three sizes of a launch, which true and false are not; None if it does not have them."""
    value = entry.get(key)
    if value is None:
        return None
    numbers = [value] if type(value) is int else value
    if (
        not isinstance(numbers, list)
        or not 1 <= len(numbers) <= 3
        or not all(type(n) is int and 0 <= n < MAXIMUM_SIZE for n in numbers)
    ):
        wanted = f"{key} is a list of one to three numbers below {MAXIMUM_SIZE}"
        raise _fail(f"{wanted}, found {numbers!r:.80}", f"{where}, {key}")
    return tuple(numbers)


def parse_launch(text: str, directory: str, name: str, out_dir: str = "", sources: Sequence[str] = ()) -> LaunchFile:
    """A launch file as text; names of arrays are relative to ``directory``, those of outputs to ``out_dir``.

    ``sources`` are files that no output may overwrite.

    Raises:
        LaunchError: it is not JSON or has another shape.
    """
    return LaunchFile.parse(text, LaunchPaths(directory, out_dir, (), tuple(sources)), name)


def image_launch(text: str, image: str, out_dir: str | None = None, allow_paths: bool = False) -> LaunchFile:
    """The launch file in a vISA image; see :meth:`LaunchEntries.parse_embedded`."""
    return LaunchFile.parse_embedded(text, image, out_dir, allow_paths)


def compare(got: Array, expected: Array, rtol: float, atol: float) -> str:
    """An empty string if every element is within ``atol + rtol * |expected|``, else where and by how much it is not."""
    got, expected = got.reshape(-1), expected.reshape(-1)
    if "V" in (got.dtype.kind, expected.dtype.kind) and got.dtype != expected.dtype:
        got, expected = got.view(np.uint8), expected.view(np.uint8)
    if got.dtype == np.uint8 and got.nbytes == expected.nbytes:  # Of a file that says no type.
        got = got.view(expected.dtype)
    if got.size != expected.size:
        return f"{got.size} elements, expected {expected.size}"
    if got.dtype != expected.dtype and got.dtype.itemsize == expected.dtype.itemsize:
        got = got.view(expected.dtype)
    with np.errstate(all="ignore"):
        if rtol == 0 and atol == 0:
            wrong = ~((got == expected) | ((got != got) & (expected != expected)))
        else:
            g, e = got.astype(np.float64), expected.astype(np.float64)
            wrong = ~((np.abs(g - e) <= atol + rtol * np.abs(e)) | (g == e) | (np.isnan(g) & np.isnan(e)))
    places = np.flatnonzero(wrong)
    if not places.size:
        return ""
    shown = ", ".join(f"[{i}] is {got[i]!s}, expected {expected[i]!s}" for i in places[:4])
    with np.errstate(all="ignore"):
        largest = np.nanmax(np.abs(got[places].astype(np.float64) - expected[places].astype(np.float64)))
    return f"{places.size} of {got.size} elements differ (by up to {largest:g}): {shown}" + (
        ", ..." if places.size > 4 else ""
    )


def expect(
    got: npt.ArrayLike, expected: npt.ArrayLike, rtol: float = 0.0, atol: float = 0.0, name: str = "the result"
) -> None:
    """Check an array in a test: every element within ``atol + rtol * |expected|``, NaN equal to NaN.

    A single number stands for all elements.

    Raises:
        AssertionError: it is not; the message says how many elements differ, and where.
    """
    __tracebackhide__ = True
    got, wanted = np.asarray(got), np.asarray(expected)
    wanted = np.broadcast_to(
        wanted.astype(got.dtype) if wanted.shape == () else wanted, got.shape if wanted.size == 1 else wanted.shape
    )
    difference = compare(got, wanted, rtol, atol)
    if difference:
        raise AssertionError(f"{name}: {difference}")


def dimensions(size: Sequence[int], fill: int = 1) -> tuple[int, int, int]:
    """Three dimensions of one to three."""
    x, y, z = (*size, fill, fill)[:3] if len(size) < 3 else tuple(size[:3])
    return x, y, z
