"""A launch: kernel, ND-range and arguments; comparison of arrays with expected results."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from visakit.diagnostics import Diagnostic, LaunchError, Span, did_you_mean
from visakit.usage import shown
from vsim.launch.arrays import Array, DType

if TYPE_CHECKING:
    import numpy.typing as npt

SCALAR_TYPES = {
    "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8",
    "f16": "f2", "f32": "f4", "f64": "f8",
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
    "half": "f2", "float": "f4", "double": "f8", "bool": "u1",
}  # fmt: skip
MAXIMUM_SIZE = 1 << 32
"""Exclusive bound of sizes and offsets of an ND-range: kernels get them as dwords."""
MAXIMUM_LOCAL = 1 << 28
"""Exclusive bound of sizes of local memory in bytes: the higher bits of a pointer are its tag."""


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
    """A launch file's statements about an array besides its contents: expected results and output file."""

    expect: Array | None = None
    rtol: float = 0.0
    atol: float = 0.0
    out: str = ""
    shared: str = ""


@dataclass(eq=False, repr=False)
class BufferArgument(Checked):
    """Global or constant memory; ``array`` is used in place.

    ``contents`` is the set of declared pointers that take the array: ``elements`` only those to its type; ``bits`` also
    those to whole numbers; ``bytes`` all, for every type of ``array``.
    """

    array: Array
    contents: Literal["elements", "bits", "bytes"] = "elements"

    def __repr__(self) -> str:
        return f"BufferArgument({_shown_array(self.array)})"


@dataclass
class ScalarArgument:
    """A scalar, vector or structure by value, as its bytes.

    ``reach`` is the size in bytes of the memory at an address; 0 for an unknown size, or no address.
    ``numbers`` are the numbers of a launch file without a type: they get the type that the kernel declares. ``type`` is
    the type that the launch gives with its numbers; empty for bytes. ``is_bits``: whole numbers take the bits
    of floats, and floats those of unsigned numbers.
    """

    data: bytes
    reach: int = 0
    numbers: object = None
    type: str = field(default="", compare=False)
    is_bits: bool = field(default=False, compare=False)


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
            raise launch_error(f"the array of an image {problem}", "<launch>", hint, "S003")


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
        LaunchError: S010, a size or offset is invalid.
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
    """One to three sizes, given as a number or a sequence of numbers; the kernel's checks refuse zeros.

    Raises:
        LaunchError: S010, it has another type, or a number is negative or has more than 32 bits.
    """
    if type(value) is tuple and 0 < len(value) <= 3:  # which most are, and need no second tuple
        for n in value:
            if type(n) is not int or not 0 <= n < MAXIMUM_SIZE:
                break
        else:
            return value
    given = (value,) if isinstance(value, (int, np.integer)) else value
    try:
        sizes = tuple(operator.index(n) for n in given)  # type: ignore[attr-defined]
    except TypeError:
        sizes = ()
    if not 1 <= len(sizes) <= 3 or min(sizes) < 0 or max(sizes) >= MAXIMUM_SIZE:
        wanted = f"one to three whole numbers from {least} to {MAXIMUM_SIZE - 1}"
        raise launch_error(f"the {what} is {wanted}, found {shown(value)}", "<launch>", code="S010")
    return sizes


def launch_error(message: str, name: str, hint: str = "", code: str = "S001") -> LaunchError:
    """An error about the launch or launch file ``name``."""
    return LaunchError(Diagnostic(code, message, Span(name, 0), hint))


def _scalar_type(type_name: str, name: str) -> DType:
    """The elements of a type of numbers.

    Raises:
        LaunchError: S001, there is no such type; the message begins with ``name``.
    """
    if type_name not in SCALAR_TYPES:
        short = re.sub(r"^(u?)(int|float)(\d+)$", lambda m: (m[1] or m[2][0]) + m[3], type_name)
        hint = f"write {short}" if short in SCALAR_TYPES else did_you_mean(type_name, SCALAR_TYPES)
        hint = hint or f"types are {', '.join(list(SCALAR_TYPES)[:11])}"
        raise launch_error(f"'{type_name}' is not a type of a scalar", name, hint)
    return np.dtype(SCALAR_TYPES[type_name])


def scalar_bytes(value: object, type_name: str, name: str) -> bytes:
    """Bytes of a number or a list of them.

    Raises:
        LaunchError: S001, it is no number, or does not fit the type; the message begins with ``name``.
    """
    dtype = _scalar_type(type_name, name)
    given = value if isinstance(value, (list, tuple)) else (value,)
    numbers = [n for n in given if isinstance(n, (int, float))]
    if len(numbers) < len(given):
        raise launch_error(f"{shown(value)} is not a number or a list of numbers", name)
    misfit = f"{shown(numbers[0] if len(numbers) == 1 else value)} does not fit {type_name}"
    if dtype.kind == "f":
        try:
            with np.errstate(over="ignore"):
                found = np.array(numbers, dtype)
        except OverflowError:  # A whole number of Python beyond all floats.
            found = np.array(math.inf)
        if np.isinf(found).sum() != sum(n in (math.inf, -math.inf) for n in numbers):
            raise launch_error(misfit, name)
        return found.tobytes()
    bits = 8 * dtype.itemsize
    if any(n != n // 1 or not -(1 << (bits - 1)) <= n < 1 << bits for n in numbers):
        raise launch_error(misfit, name)
    return b"".join((int(n) & ((1 << bits) - 1)).to_bytes(dtype.itemsize, "little") for n in numbers)


def compare(got: Array, expected: Array, rtol: float, atol: float) -> str:
    """An empty string if every element is within ``atol + rtol * |expected|``, else where and by how much it is not."""
    got, expected = got.reshape(-1), expected.reshape(-1)
    if "V" in (got.dtype.kind, expected.dtype.kind) and got.dtype != expected.dtype:
        got, expected = got.view(np.uint8), expected.view(np.uint8)
    if got.dtype == np.uint8 and got.nbytes == expected.nbytes:  # a file without a type
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

    A single number is the expected value of all elements.

    Raises:
        AssertionError: an element differs; the message has the number of differing elements, and their places.
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
