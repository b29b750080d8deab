"""Python values as the arguments of a launch, by what the kernel says of them."""

from __future__ import annotations

import re
import struct
from typing import Any, NamedTuple

import numpy as np

from visa.diagnostics import Diagnostic, LaunchError, Span
from vsim.abi import KernelSignature
from vsim.images import ImageFormat
from vsim.launch import (
    SCALAR_TYPES,
    Argument,
    BufferArgument,
    ImageArgument,
    LocalArgument,
    SamplerArgument,
    ScalarArgument,
    scalar_bytes,
)

_CODES = {
    "i1": "<b",
    "u1": "<B",
    "i2": "<h",
    "u2": "<H",
    "i4": "<i",
    "u4": "<I",
    "i8": "<q",
    "u8": "<Q",
    "f2": "<e",
    "f4": "<f",
    "f8": "<d",
}


class _Rule(NamedTuple):
    """An argument by value: whether it is local memory, its type and number of elements if the kernel says, and its bytes."""

    local: bool
    type: str
    elements: int
    size: int


class Arguments:
    """Turns values into arguments of one kernel.

    Raises:
        LaunchError: S003 for a value that the argument cannot be; the message names the argument.
    """

    def __init__(self, signature: KernelSignature) -> None:
        self.signature = signature
        self.rules: dict[int, _Rule] = {}

    def fail(self, index: int, message: str, hint: str = "") -> LaunchError:
        return LaunchError(
            Diagnostic(
                "S003",
                f"kernel '{self.signature.name}': {self.signature.describe(index)} {message}",
                Span("<launch>", 0),
                hint,
            )
        )

    def argument(self, index: int, value: Any) -> Argument:
        """The argument that a value is."""
        if isinstance(value, (BufferArgument, ScalarArgument, LocalArgument, ImageArgument, SamplerArgument)):
            return value
        if isinstance(value, np.ndarray) and value.shape != ():
            return self._array(index, value)
        if isinstance(value, (np.generic, np.ndarray)):
            return ScalarArgument(value.tobytes())
        rule = self._rule(index)
        if rule.local and isinstance(value, int):
            return LocalArgument(value)
        if isinstance(value, (int, float, bool, list, tuple)):
            return ScalarArgument(self._scalar(index, value, rule))
        raise self.fail(
            index,
            f"cannot be a {type(value).__name__}",
            "pass a numpy array, a number, a numpy scalar (also of a structured dtype), Image or Sampler",
        )

    def _array(self, index: int, array: Any) -> Argument:
        if not array.flags.c_contiguous:
            raise self.fail(index, "is an array that is not contiguous", "pass numpy.ascontiguousarray of it")
        if not any(e.index == index and e.tree.get("addrspace") == "image" for e in self.signature.entries):
            return BufferArgument(array)
        format = ImageFormat.of(array)
        if format is None:
            hint = "the last axis is 1, 2 or 4 channels; name the format with Image(array, format)"
            raise self.fail(
                index, f"is an image, but no format goes with shape {array.shape} and type {array.dtype}", hint
            )
        return ImageArgument(array, str(format))

    def _rule(self, index: int) -> _Rule:
        """What an argument by value is: as the kernel declares it, else as many bytes as the payload has for it (4 where nothing is said)."""
        rule = self.rules.get(index)
        if rule is None:
            entry = next(
                (e for e in self.signature.entries if e.index == index and e.kind in ("arg_byvalue", "arg_bypointer")),
                None,
            )
            size, is_local = (entry.size or 4, entry.tree.get("addrmode") == "slm") if entry else (4, False)
            declared = re.fullmatch(r"([a-z]+)(\d*);(\d+)", self.signature.argument_types.get(index, ""))
            if declared and declared[1] in SCALAR_TYPES:
                rule = _Rule(is_local, declared[1], int(declared[2] or 1), int(declared[3]))
            else:
                rule = _Rule(is_local, "", 0, size)
            self.rules[index] = rule
        return rule

    def _scalar(self, index: int, value: Any, rule: _Rule) -> bytes:
        """Numbers as bytes: of the type that the kernel declares, else as Python types suggest."""
        if rule.elements == 1:
            try:
                return struct.pack(_CODES[SCALAR_TYPES[rule.type]], value)
            except (struct.error, OverflowError):
                pass  # The long way takes what C takes, and says what is wrong.
        numbers = list(value) if isinstance(value, (list, tuple)) else [value]
        name = rule.type
        if rule.elements and len(numbers) != rule.elements:
            raise self.fail(
                index, f"is {self._shown(index, name)}, which has {rule.elements} elements, found {len(numbers)}"
            )
        if not name:
            each = rule.size // max(1, len(numbers))
            real = any(isinstance(n, float) for n in numbers)
            name = {(2, True): "f16", (8, True): "f64", (1, False): "i8", (2, False): "i16", (8, False): "i64"}.get(
                (each, real), "f32" if real else "i32"
            )
        dtype = np.dtype(SCALAR_TYPES[name])
        if dtype.kind == "i":
            # An unsigned number may be given for a signed argument of its width, as in C.
            bits = 8 * dtype.itemsize
            numbers = [n - (1 << bits) if isinstance(n, int) and 1 << bits - 1 <= n < 1 << bits else n for n in numbers]
        try:
            return scalar_bytes(numbers, name, "<launch>").ljust(rule.size, b"\0")
        except LaunchError as error:
            raise self.fail(index, f"is {self._shown(index, name)}: {error.diagnostics[0].message}") from None

    def _shown(self, index: int, name: str) -> str:
        return self.signature.argument_types.get(index, name).partition(";")[0]
