"""Python values as the arguments of a launch, by what the kernel says of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from visa.diagnostics import Diagnostic, LaunchError, Span
from vsim.abi import Interface
from vsim.launch import SCALAR_TYPES, Argument, BufferArg, ImageArg, LocalArg, SamplerArg, ScalarArg, scalar_bytes

_IMAGE_TYPES = {"float32": "f32", "float16": "f16", "uint8": "u8", "uint16": "u16", "uint32": "u32", "int8": "i8", "int16": "i16", "int32": "i32"}
_CHANNELS = {1: "r", 2: "rg", 4: "rgba"}


class Arguments:
    """Turns values into arguments of one kernel.

    Raises:
        LaunchError: S003 for a value that the argument cannot be; the message names the argument.
    """

    def __init__(self, interface: Interface) -> None:
        self.interface = interface

    def fail(self, index: int, message: str, hint: str = "") -> LaunchError:
        return LaunchError(Diagnostic("S003", f"kernel '{self.interface.name}': {self.interface.describe(index)} {message}", Span("<launch>", 0), hint))

    def argument(self, index: int, value: Any) -> Argument:
        """The argument that a value is."""
        if isinstance(value, (BufferArg, ScalarArg, LocalArg, ImageArg, SamplerArg)):
            return value
        if isinstance(value, np.ndarray) and value.shape != ():
            return self._array(index, value)
        if isinstance(value, (np.generic, np.ndarray)):
            return ScalarArg(value.tobytes())
        size, is_local = self._declared(index)
        if is_local and isinstance(value, int):
            return LocalArg(value)
        if isinstance(value, (int, float, bool, list, tuple)):
            return ScalarArg(self._scalar(index, value, size))
        raise self.fail(
            index, f"cannot be a {type(value).__name__}", "pass a numpy array, a number, a numpy scalar (also of a structured dtype), Image or Sampler"
        )

    def _array(self, index: int, array: Any) -> Argument:
        if not array.flags.c_contiguous:
            raise self.fail(index, "is an array that is not contiguous", "pass numpy.ascontiguousarray of it")
        if not any(e.index == index and e.tree.get("addrspace") == "image" for e in self.interface.entries):
            return BufferArg(array)
        kind, channels = _IMAGE_TYPES.get(array.dtype.name), _CHANNELS.get(array.shape[-1] if array.ndim > 1 else 0)
        if kind is None or channels is None:
            hint = "the last axis is 1, 2 or 4 channels; name the format with Image(array, format)"
            raise self.fail(index, f"is an image, but no format goes with shape {array.shape} and type {array.dtype}", hint)
        return ImageArg(array, f"{channels}_{kind}")

    def _declared(self, index: int) -> tuple[int, bool]:
        """Bytes of an argument by value, and whether it is local memory (4 bytes where the image says nothing)."""
        for e in self.interface.entries:
            if e.index == index and e.kind in ("arg_byvalue", "arg_bypointer"):
                return e.size or 4, e.tree.get("addrmode") == "slm"
        return 4, False

    def _scalar(self, index: int, value: Any, size: int) -> bytes:
        """Numbers as bytes: of the type that the kernel declares, else as Python types suggest."""
        declared = re.fullmatch(r"([a-z]+)(\d*);(\d+)", self.interface.argument_types.get(index, ""))
        numbers = list(value) if isinstance(value, (list, tuple)) else [value]
        if declared and declared[1] in SCALAR_TYPES:
            name, count, total = declared[1], int(declared[2] or 1), int(declared[3])
            if len(numbers) != count:
                raise self.fail(index, f"is a {name}{declared[2]}, which has {count} elements, found {len(numbers)}")
        else:
            name, total = (
                ("f64" if size == 8 else "f16" if size == 2 else "f32") if any(isinstance(n, float) for n in numbers) else f"i{8 * size // len(numbers)}",
                size,
            )
            name = name if name in SCALAR_TYPES else "i32"
        integer = np.dtype(SCALAR_TYPES[name]).kind != "f"
        # An unsigned number may be given for a signed argument of its width and the other way round, as C does.
        bits = 8 * np.dtype(SCALAR_TYPES[name]).itemsize
        held = [n - (1 << bits) if integer and isinstance(n, int) and 1 << bits - 1 <= n < 1 << bits and SCALAR_TYPES[name][0] == "i" else n for n in numbers]
        try:
            return scalar_bytes(held, name, "<launch>").ljust(total, b"\0")
        except LaunchError as error:
            raise self.fail(index, f"is {self.interface.argument_types.get(index, name).partition(';')[0]}: {error.diagnostics[0].message}") from None
